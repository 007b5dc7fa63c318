"""Fitting the energy model of dynamic voltage and frequency scaling (Choi et al. 2016, section II.C and D).

Equation (9) is linear in its constants: each run is a row, counts times voltages squared and voltages times
time are the columns. None of the constants can be negative.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dse.fitting.behaviours.nonnegative import nonnegative_least_squares
from dse.fitting.errors import FittingError
from dse.fitting.machine_fits import counters, linear
from dse.fitting.machine_fits.result import NOT_VISIBLE, Estimate, Fit, Runs, Setting
from dse.fitting.outliers import Outlier, Residuals, outliers
from dse.fitting.reading import Column, Measurements
from dse.fitting.statistics import Errors, correlated, dependent, errors, quantile, standard_errors, summary
from dse.models.platforms.dvfs_energy import CIRCUIT, LEAKAGE, OPERATIONS, constant_power, energies
from dse.system.arrays import Array, Bools
from dse.system.records import dataclass

_ALSO = {
    "flops": ("single", "flops_single", "single_flops", "SP"),
    "flops_double": ("double", "double_flops", "DP"),
    "integer_operations": ("integer", "int", "integers", "integer_ops"),
    "bytes_shared": ("shared", "shared_bytes", "shared_memory", "SM"),
    "bytes_L2": ("L2", "L2_bytes"),
    "bytes": ("memory", "memory_bytes", "mem", "dram", "dram_bytes", "bytes_dram"),
}
COLUMNS = (
    *(Column(o.count, o.unit, _ALSO[o.count]) for o in OPERATIONS),
    *counters.columns(),
    Column("core_voltage", "V", ("processor_voltage", "V_core", "V_proc"), required=True, positive=True),
    Column("memory_voltage", "V", ("V_mem",), required=True, positive=True),
    Column("core_frequency", "Hz", ("processor_frequency", "f_core", "f_proc"), positive=True),
    Column("memory_frequency", "Hz", ("f_mem",), positive=True),
    Column("time", "s", ("T",), required=True, positive=True),
    Column("energy", "J", ("E",), required=True, positive=True, instead="power"),
    Column("power", "W", ("P",), positive=True),
    Column("setting", text=True),
    Column("role", also=("type", "set"), text=True, choices=("training", "validation", "T", "V")),
)
_SETTING = ("core_frequency", "core_voltage", "memory_frequency", "memory_voltage")
# as many folds as the paper's
_SETTING_FOLDS = 16
_VAGUE, _DROWNED = 0.5, 100.0
# measured voltages of one setting differ by no more than this
_JITTER = 0.02


@dataclass(frozen=True, slots=True)
class _Problem:
    """Rows of equation (9) for all runs: columns by parameter name, energies, and each run's setting."""

    names: tuple[str, ...]
    rows: Array
    energy: Array
    relative: bool

    def weights(self, model: Array) -> Array:
        """Return what each run's error is multiplied by."""
        return 1 / model if self.relative else np.ones_like(model)

    def solve(self, kept: Bools | slice = slice(None)) -> Array:
        """Return the constants fitted to the ``kept`` runs."""
        rows, energy = self.rows[kept], self.energy[kept]
        return linear.relative(rows, energy) if self.relative else nonnegative_least_squares(rows, energy)


def fit(
    runs: Measurements, name: str, date: str, folds: int | None, confidence: float, *, relative: bool
) -> Fit:
    """Fit the circuit's constants, with cross-validation over settings.

    ``relative``: least squares of errors in percent (the papers report these), else in joules. Raises
    FittingError where the runs cannot tell the constants apart.
    """
    problems: list[str] = []
    counts = {k: v for k, v in runs.numbers.items() if k in _ALSO}
    counts |= counters.counted(runs.numbers, problems)
    if not counts and not problems:
        wanted = ", ".join(f"{o.count} [{o.unit}]" for o in OPERATIONS)
        problems.append(f"no operations are counted: at least one of the columns {wanted} is needed")
    settings, place = _settings(runs, problems)
    training = _training(runs)
    if problems:
        raise FittingError(runs.source, problems)
    idle = [k for k, v in counts.items() if not v.any()]
    problem = _problem(runs, {k: v for k, v in counts.items() if k not in idle}, relative)
    _refuse_undetermined(runs, problem, settings)
    found = problem.solve()
    model = problem.rows @ found
    validation, remarks = _validate(runs, problem, place, settings, training, folds)
    notes = [f"no run has any {k}, so what they cost stays unknown" for k in idle]
    estimates = _dvfs_estimates(problem, found, confidence)
    circuit = dict(zip(problem.names, found.tolist(), strict=True))
    names = [s.name for s in settings]
    return Fit(
        model="dvfs",
        name=name,
        source=runs.source,
        digest=runs.digest,
        date=date,
        confidence=confidence,
        method="non-negative least squares on equation (9) of Choi et al. 2016 (a convex quadratic program, "
        f"HiGHS), errors in {'percent' if relative else 'joules'}",
        parameters=estimates,
        errors={"energy": errors(model, problem.energy)},
        runs=Runs({"energy": problem.energy}, {"energy": model}, tuple(names[i] for i in place)),
        settings=tuple(_with_costs(s, circuit) for s in settings),
        validation=validation,
        notes=(*notes, *remarks),
        correlation=_dvfs_correlations(problem, model, estimates),
    )


def _problem(runs: Measurements, counts: dict[str, Array], relative: bool) -> _Problem:
    core, memory, time = (runs.numbers[k] for k in ("core_voltage", "memory_voltage", "time"))
    columns = {
        o.capacitance: counts[o.count] * (memory if o.memory else core) ** 2
        for o in OPERATIONS
        if o.count in counts
    }
    columns |= dict(zip((q.name for q in LEAKAGE), (core * time, memory * time, time), strict=True))
    energy = runs.numbers["energy"] if "energy" in runs.numbers else runs.numbers["power"] * time
    return _Problem(tuple(columns), np.stack(list(columns.values()), axis=1), energy, relative)


def suspects(runs: Measurements) -> tuple[Outlier, ...]:
    """Return the runs whose energy lies far from a robust fit."""
    counts = {k: v for k, v in runs.numbers.items() if k in _ALSO} | counters.counted(runs.numbers, [])
    problem = _problem(runs, {k: v for k, v in counts.items() if v.any()}, relative=True)
    error = linear.robust(problem.rows, problem.energy)
    return outliers(runs, {"energy": Residuals("J", problem.energy, error)}, len(problem.names))


def _settings(runs: Measurements, problems: list[str]) -> tuple[list[Setting], list[int]]:
    """Return the settings in order of appearance, with mean voltages and frequencies, and each run's place.

    Measured voltages of one setting may differ a little; more than that is noted as a mistake.
    """
    there = [k for k in _SETTING if k in runs.numbers]
    rows = np.stack([runs.numbers[k] for k in there], axis=1)
    named = runs.texts.get("setting")
    keys = list(named) if named else [_call(dict(zip(there, row, strict=True))) for row in rows.tolist()]
    order = list(dict.fromkeys(keys))
    place = [order.index(k) for k in keys]
    settings = []
    for i, key in enumerate(order):
        own = rows[np.array(place) == i]
        mean = own.mean(axis=0)
        apart = [k for k, far in zip(there, np.abs(own / mean - 1).max(axis=0) > _JITTER, strict=True) if far]
        if apart:
            wrong = f"the runs of setting {key!r} differ in {', '.join(apart)}"
            problems.append(f"{wrong}: give each combination a name of its own in a column called setting")
        # a mean of equal numbers may differ from them by rounding
        at = np.where((own == own[0]).all(axis=0), own[0], mean)
        settings.append(Setting(key, dict(zip(there, at.tolist(), strict=True)), {}))
    return settings, place


def _call(values: dict[str, float]) -> str:
    if "core_frequency" in values and "memory_frequency" in values:
        return f"{values['core_frequency'] / 1e6:g}-{values['memory_frequency'] / 1e6:g}"
    return f"{values['core_voltage'] * 1e3:.0f}mV-{values['memory_voltage'] * 1e3:.0f}mV"


def _with_costs(setting: Setting, circuit: dict[str, float]) -> Setting:
    core, memory = setting.measured["core_voltage"], setting.measured["memory_voltage"]
    power = constant_power(circuit, core, memory)
    return Setting(
        setting.name, setting.measured, {**energies(circuit, core, memory), "constant_power": power}
    )


def _training(runs: Measurements) -> Bools | None:
    """Return which runs the file calls training (else validation), None where it has no such column."""
    roles = runs.texts.get("role")
    return None if roles is None else np.array([r.lower().startswith("t") for r in roles])


def _refuse_undetermined(runs: Measurements, problem: _Problem, settings: Sequence[Setting]) -> None:
    """Raise FittingError where the runs do not determine every constant, saying what is missing."""
    needed, n = len(problem.names), problem.energy.size
    groups = dependent(problem.rows / problem.energy[:, None], problem.names)
    wrong = [f"{', '.join(g)} cannot be separated: {_reason_undetermined(g, settings)}" for g in groups]
    if n <= needed:
        few = f"{n} runs are too few for {needed} constants ({', '.join(problem.names)})"
        wrong = [f"{few}: at least {needed + 1} are needed, and more make the intervals narrower"]
    if wrong:
        raise FittingError(runs.source, wrong)


def _reason_undetermined(group: tuple[str, ...], settings: Sequence[Setting]) -> str:
    leaks = {q.name for q in LEAKAGE}
    if not leaks & set(group):
        return "their counts are in proportion in all runs; add runs with more of one and less of the others"
    if not leaks >= set(group):
        return (
            "time is in proportion to these counts in all runs; add runs that take longer, such as idle ones"
        )
    core, memory = ({s.measured[k] for s in settings} for k in ("core_voltage", "memory_voltage"))
    said = [
        f"the {what} has only {len(v)} voltage{'s' * (len(v) > 1)} ({', '.join(f'{x:g} V' for x in sorted(v))})"
        for what, v in (("core", core), ("memory", memory))
        if len(v) < 2
    ]
    return f"{' and '.join(said) or 'core and memory voltages change together'}; add runs at other voltages"


def _dvfs_estimates(problem: _Problem, found: Array, confidence: float) -> tuple[Estimate, ...]:
    model = problem.rows @ found
    weights = problem.weights(model)
    freedom = model.size - found.size
    variance = float((((model - problem.energy) * weights) ** 2).sum()) / freedom
    reach = quantile(confidence, freedom) * standard_errors(problem.rows * weights[:, None], variance)
    known = {q.name: q for q in CIRCUIT}
    found = np.where(reach > _DROWNED * found, 0.0, found)
    return tuple(
        Estimate(n, x, known[n].unit, max(0.0, x - r), x + r, known[n].meaning, _doubt(x, r))
        for n, x, r in zip(problem.names, found.tolist(), reach.tolist(), strict=True)
    )


def _dvfs_correlations(
    problem: _Problem, model: Array, estimates: Sequence[Estimate]
) -> tuple[tuple[str, str, float], ...]:
    """Return the correlations of the constants that the runs show; what is held at 0 moves with none."""
    shown = [i for i, e in enumerate(estimates) if e.value > 0]
    jacobian = problem.rows[:, shown] * problem.weights(model)[:, None]
    return correlated(jacobian, [problem.names[i] for i in shown])


def _doubt(value: float, reach: float) -> str:
    if value == 0:
        return f"{NOT_VISIBLE}: the least squares would have it negative or zero"
    return f"uncertain by {100 * reach / value:.0f} %" if reach > _VAGUE * value else ""


def _validate(
    runs: Measurements,
    problem: _Problem,
    place: Sequence[int],
    settings: Sequence[Setting],
    training: Bools | None,
    folds: int | None,
) -> tuple[dict[str, Errors], list[str]]:
    """Return errors on held-out settings: the hold-out method, and k folds over runs and over fold means."""
    of, many = np.array(place), len(settings)
    if folds is not None and not 2 <= folds <= many:
        wrong = f"{folds} folds of {many} settings: give between 2 and {many}"
        raise FittingError(runs.source, [wrong])
    if many < 2:
        return {}, ["one setting only: there is nothing to validate on"]
    found, notes = {}, []
    held = ~training if training is not None else of % 2 == 1
    how = "the runs marked so" if training is not None else "every other setting"
    predicted = _predict(problem, held)
    if held.all() or not held.any():
        notes.append("all runs have the same role: there is no hold-out")
    elif predicted is None:
        notes.append(f"hold-out ({how}) is not possible: what is left does not determine the constants")
    else:
        found[f"hold-out, {how}"] = errors(predicted, problem.energy[held])
    count = folds or min(many, _SETTING_FOLDS)
    parts = [of % count == k for k in range(count)]
    tried = [_predict(problem, part) for part in parts]
    known = [(p, problem.energy[part]) for p, part in zip(tried, parts, strict=True) if p is not None]
    if len(known) < count:
        lost = [s.name for i, s in enumerate(settings) if tried[i % count] is None]
        why = f"without {', '.join(lost)} the rest does not determine the constants"
        notes.append(f"{count}-fold cross-validation is not possible: {why}")
    else:
        signed = [p / e - 1 for p, e in known]
        found[f"{count}-fold over settings, all runs"] = summary(np.concatenate(signed))
        means = np.array([np.abs(x).mean() for x in signed])
        found[f"{count}-fold over settings, means of the folds"] = summary(means)
    return found, notes


def _predict(problem: _Problem, held: Bools) -> Array | None:
    """Return the energies of the held-out runs by the model fitted to the others; None where they do not do."""
    kept = ~held
    columns = problem.rows[kept] / problem.energy[kept, None]
    if not held.any() or kept.sum() <= len(problem.names) or dependent(columns, problem.names):
        return None
    predicted: Array = problem.rows[held] @ problem.solve(kept)
    return predicted
