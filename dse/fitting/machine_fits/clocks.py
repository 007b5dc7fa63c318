"""Fitting time and power of one kernel over the clock of its processor, without voltages.

    time  = a + b/f                what the clock does not change, and cycles
    power = p0 + c (f/1 GHz)^k     what the clock does not change, and what it does

Each kernel of the data has constants of its own. For a fixed exponent both are linear in constants that cannot
be negative; the exponent is searched in between. The clock of least energy follows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from dse.fitting.errors import FittingError
from dse.fitting.machine_fits import linear
from dse.fitting.machine_fits.clock_file import CLOCK, UNIT_CLOCK
from dse.fitting.machine_fits.result import NOT_VISIBLE, Estimate, Fit, Runs
from dse.fitting.outliers import Outlier, Residuals, outliers
from dse.fitting.reading import Column, Measurements, stands
from dse.fitting.statistics import EXACT_SQUARES, errors, quantile, standard_errors, summary
from dse.fitting.table import Table
from dse.quantities import show
from dse.system.arrays import Array, Bools
from dse.system.records import dataclass

CLOCKS = "clocks"
"""The form of a fit without voltages."""
_CLOCK = Column(
    CLOCK, "Hz", ("frequency", "f_core", "f_proc", "f", "clock", "processor_frequency"), True, True
)
COLUMNS = (
    _CLOCK,
    Column("memory_frequency", "Hz", ("f_mem", "memory_clock"), positive=True),
    Column("time", "s", ("T",), required=True, positive=True),
    Column("power", "W", ("P",), required=True, positive=True, instead="energy"),
    Column("energy", "J", ("E",), positive=True),
    Column("kernel", "", ("application", "benchmark", "name"), text=True),
)
_VOLTAGES = (
    Column("core_voltage", "V", ("processor_voltage", "V_core", "V_proc")),
    Column("memory_voltage", "V", ("V_mem",)),
)
_FEWEST_CLOCKS = 4
# physics says 1 to 3 (voltage falls with the clock), idle clocks and turbo a little around it
LOWEST_EXPONENT, HIGHEST_EXPONENT = 0.25, 8.0
_STEPS, _REFINED, _SCANNED, _GOLDEN = 32, 5, 12, 40
# how far from the exponent of all runs that of most of them may lie
_SPREAD = 2.0
_CLOCK_FOLDS = 10
_VAGUE = 0.5


@dataclass(frozen=True, slots=True)
class _Kernel:
    """The runs of one kernel: name, places among all runs, clocks in GHz, times and powers."""

    name: str
    own: Bools
    clock: Array
    time: Array
    power: Array

    @property
    def of_time(self) -> Array:
        """The columns of a and b."""
        return np.stack([np.ones_like(self.clock), 1 / self.clock], axis=1)

    def of_power(self, exponent: float) -> Array:
        """Return the columns of p0 and c."""
        return np.stack([np.ones_like(self.clock), self.clock**exponent], axis=1)


@dataclass(frozen=True, slots=True)
class _Found:
    """What is fitted: a (s), b (1e9 cycles), p0 (W), c (W), k."""

    a: float
    b: float
    p0: float
    c: float
    k: float

    def time(self, clock: Array) -> Array:
        """Return the times at clocks in GHz."""
        return self.a + self.b / clock

    def power(self, clock: Array) -> Array:
        """Return the powers at clocks in GHz."""
        return self.p0 + self.c * clock**self.k


def meant(cells: Table, names: Mapping[str, str]) -> bool:
    """Whether a table is of clocks alone: it has a clock, and no voltage."""
    return stands(cells, _CLOCK, names) and not any(stands(cells, v, names) for v in _VOLTAGES)


def check(numbers: Mapping[str, Array], _: Callable[[int], str]) -> Sequence[tuple[int, str]]:
    """Return what makes runs useless: clocks that are nearly all alike."""
    clocks = numbers.get(CLOCK, np.zeros(0))
    known = np.unique(clocks[np.isfinite(clocks)])
    if not known.size or known.size >= _FEWEST_CLOCKS:
        return []
    few = f"the runs have {known.size} clock{'s' * (known.size > 1)}"
    return [(-1, f"{few}; at least {_FEWEST_CLOCKS} are needed for two constants and an exponent")]


def fit(runs: Measurements, name: str, date: str, confidence: float) -> Fit:
    """Fit both forms to each kernel; raises FittingError for one with fewer than four clocks."""
    kernels = list(_kernels(runs))
    wrong = [
        f"kernel {k.name!r} has {np.unique(k.clock).size} clocks: at least {_FEWEST_CLOCKS} are needed"
        for k in kernels
        if np.unique(k.clock).size < _FEWEST_CLOCKS
    ]
    if wrong:
        raise FittingError(runs.source, wrong)
    time, power = np.zeros(runs.runs), np.zeros(runs.runs)
    held = {"time": np.zeros(runs.runs), "power": np.zeros(runs.runs)}
    parameters: list[Estimate] = []
    notes: list[str] = []
    folds = 0
    for kernel in kernels:
        found = _fit_of_both_forms(kernel.clock, kernel.time, kernel.power)
        suffix = f".{kernel.name}" if len(kernels) > 1 else ""
        parameters += _clock_estimates(kernel, found, suffix, confidence)
        notes.append(_least_energy(kernel, found))
        time[kernel.own], power[kernel.own] = found.time(kernel.clock), found.power(kernel.clock)
        folds = min(_CLOCK_FOLDS, kernel.clock.size)
        part = np.arange(kernel.clock.size) % folds
        for fold in range(folds):
            out = part == fold
            less = _fit_of_both_forms(kernel.clock[~out], kernel.time[~out], kernel.power[~out], found.k)
            places = np.flatnonzero(kernel.own)[out]
            held["time"][places] = less.time(kernel.clock[out]) / kernel.time[out] - 1
            held["power"][places] = less.power(kernel.clock[out]) / kernel.power[out] - 1
    measured = _measured_by_name(runs)
    modelled = {"time": time, "power": power, "energy": power * time}
    return Fit(
        model="dvfs",
        name=name,
        source=runs.source,
        digest=runs.digest,
        date=date,
        confidence=confidence,
        method="time = a + b/f and power = p0 + c (f/1 GHz)^k for each kernel, least squares of relative errors, "
        "constants not negative",
        parameters=tuple(parameters),
        errors={k: errors(modelled[k], measured[k]) for k in modelled},
        runs=Runs(
            {**measured, "clock": runs.numbers[CLOCK]},
            modelled,
            tuple(_kernel_and_memory_clock(runs)),
            held=held,
        ),
        validation={f"{k} of runs held out, {folds} folds": summary(v) for k, v in held.items()},
        notes=tuple(notes),
        form=CLOCKS,
    )


def suspects(runs: Measurements) -> tuple[Outlier, ...]:
    """Return the runs whose time or power lies far from a robust fit."""
    error = {"time": np.zeros(runs.runs), "power": np.zeros(runs.runs)}
    for kernel in _kernels(runs):
        if np.unique(kernel.clock).size < _FEWEST_CLOCKS:
            return ()
        error["time"][kernel.own] = linear.robust(kernel.of_time, kernel.time)
        tried = [
            linear.robust(kernel.of_power(k), kernel.power)
            for k in np.geomspace(LOWEST_EXPONENT, HIGHEST_EXPONENT, _SCANNED)
        ]
        error["power"][kernel.own] = min(tried, key=lambda e: float(np.median(np.abs(e))))
    measured = _measured_by_name(runs)
    figures = {k: Residuals({"time": "s", "power": "W"}[k], measured[k], e) for k, e in error.items()}
    return outliers(runs, figures, 5)


def _measured_by_name(runs: Measurements) -> dict[str, Array]:
    n = runs.numbers
    power = n["power"] if "power" in n else n["energy"] / n["time"]
    return {"time": n["time"], "power": power, "energy": n["energy"] if "energy" in n else power * n["time"]}


def _kernel_and_memory_clock(runs: Measurements) -> list[str]:
    """Return the kernel of each run, with the clock of the memory where there are several."""
    found = list(runs.texts.get("kernel", ("",) * runs.runs))
    memory = runs.numbers.get("memory_frequency")
    if memory is not None and np.unique(memory).size > 1:
        found = [f"{k}@{m / 1e6:g}MHz" for k, m in zip(found, memory, strict=True)]
    return found


def _kernels(runs: Measurements) -> Iterator[_Kernel]:
    groups = _kernel_and_memory_clock(runs)
    measured = _measured_by_name(runs)
    clock = runs.numbers[CLOCK] / UNIT_CLOCK
    for name in dict.fromkeys(groups):
        own = np.array([g == name for g in groups])
        yield _Kernel(name, own, clock[own], measured["time"][own], measured["power"][own])


def _fit_of_both_forms(clock: Array, time: Array, power: Array, about: float | None = None) -> _Found:
    """Fit both forms; the exponent by a scan, or from one it is ``about``, and a search around the best."""
    kernel = _Kernel("", np.ones(clock.size, bool), clock, time, power)

    def squares(exponent: float) -> float:
        rows = kernel.of_power(exponent)
        model = rows @ linear.relative(rows, power)
        return float((np.log(model / power) ** 2).sum())

    ends = (LOWEST_EXPONENT, HIGHEST_EXPONENT) if about is None else (about / _SPREAD, about * _SPREAD)
    scanned = np.geomspace(*ends, _STEPS if about is None else _REFINED)
    best = int(np.argmin([squares(k) for k in scanned]))
    low, high = float(scanned[max(best - 1, 0)]), float(scanned[min(best + 1, scanned.size - 1)])
    k = _golden(squares, low, high)
    a, b = linear.relative(kernel.of_time, time).tolist()
    p0, c = linear.relative(kernel.of_power(k), power).tolist()
    return _Found(a, b, p0, c, k)


def _golden(f: Callable[[float], float], low: float, high: float) -> float:
    from scipy.optimize import minimize_scalar

    found = minimize_scalar(
        f, bounds=(low, high), method="bounded", options={"xatol": 1e-6, "maxiter": _GOLDEN}
    )
    return float(found.x)


def _clock_estimates(kernel: _Kernel, found: _Found, suffix: str, confidence: float) -> list[Estimate]:
    low, high = linear.intervals(kernel.of_time, kernel.time, np.array([found.a, found.b]), confidence)
    wide = _reach_of_power(kernel, found, confidence)
    rows = (
        ("fixed_time", found.a, "s", "a: time that the clock does not change", low[0], high[0]),
        (
            "cycles",
            found.b * UNIT_CLOCK,
            "",
            "b: cycles of the clock",
            low[1] * UNIT_CLOCK,
            high[1] * UNIT_CLOCK,
        ),
        (
            "fixed_power",
            found.p0,
            "W",
            "p0: power that the clock does not change",
            found.p0 - wide[0],
            found.p0 + wide[0],
        ),
        (
            "clock_power",
            found.c,
            "W",
            "c: power that the clock adds at 1 GHz",
            found.c - wide[1],
            found.c + wide[1],
        ),
        ("clock_exponent", found.k, "", "k: exponent of the clock", found.k - wide[2], found.k + wide[2]),
    )
    made = []
    for name, value, unit, meaning, least, most in rows:
        seen = value > 0 and not (name == "clock_exponent" and found.c == 0)
        off = max(value - max(0.0, least), most - value) / value if seen else 0.0
        doubt = "" if seen else NOT_VISIBLE
        if off > _VAGUE:
            doubt = f"uncertain by {100 * off:.0f} %"
        if name == "clock_exponent" and seen and not LOWEST_EXPONENT * 1.01 < value < HIGHEST_EXPONENT / 1.01:
            doubt = f"at the end of the exponents tried, {LOWEST_EXPONENT:g} to {HIGHEST_EXPONENT:g}"
        ends = (max(0.0, float(least)), float(most))
        made.append(Estimate(name + suffix, value, unit, *ends, meaning, doubt, written=False))
    return made


def _reach_of_power(kernel: _Kernel, found: _Found, confidence: float) -> Array:
    model = found.power(kernel.clock)
    rows = np.stack(
        [
            np.ones_like(model),
            kernel.clock**found.k,
            found.c * kernel.clock**found.k * np.log(kernel.clock),
        ],
        axis=1,
    )
    freedom = max(1, model.size - 3)
    variance = max(float(((kernel.power / model - 1) ** 2).sum()) / freedom, EXACT_SQUARES)
    reach: Array = quantile(confidence, freedom) * standard_errors(rows / model[:, None], variance)
    return reach


def _least_energy(kernel: _Kernel, found: _Found) -> str:
    """Say at which clock of the measured range the model takes least energy."""

    def energy(log: float) -> float:
        clock = np.exp(np.float64(log))
        return float(found.time(clock) * found.power(clock))

    # a sum of powers of the clock is convex in its logarithm
    ends = [float(np.log(end(kernel.clock))) for end in (np.min, np.max)]
    best = min((_golden(energy, *ends), *ends), key=energy)
    at_end = {ends[0]: ", the lowest clock measured", ends[1]: ", the highest clock measured"}.get(best, "")
    called = f"{kernel.name}: " if kernel.name else ""
    where = show(float(np.exp(best)) * UNIT_CLOCK, "Hz", 4)
    return f"{called}least energy by the model {show(energy(best), 'J', 4)} at {where}{at_end}"
