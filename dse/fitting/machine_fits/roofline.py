"""Fitting the power-capped energy roofline (Choi et al. 2014, equations (1) and (3), section V.A).

    T = λ + max(W τ_flop, Q τ_mem, (W ε_flop + Q ε_mem)/Δπ)
    E = W ε_flop + Q ε_mem + π1 T

with the launch time λ of a run, and one more term in maximum and sums for each further kind of operation that
has a column (``roofline_terms``). Non-linear least squares of log(model/measured), which is the relative error
to first order, in the logarithms of the parameters, from several starts; time and energy are weighted by the
spread of each. What the runs do not show is taken out. Where they show a cap, the model without one (Δπ
infinite) is fitted beside it, and the errors of the two are compared as in the paper.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from dse.fitting.errors import FittingError
from dse.fitting.machine_fits.result import NOT_VISIBLE, Comparison, Estimate, Fit, Runs
from dse.fitting.machine_fits.roofline_search import (
    Found,
    Hidden,
    cheaper,
    nearby,
    reduced,
    robust,
    solve,
    spread,
    thinned,
)
from dse.fitting.machine_fits.roofline_terms import ALWAYS, KINDS, LAUNCH_BOUND, Kind, Problem
from dse.fitting.outliers import Outlier, Residuals, outliers
from dse.fitting.reading import Column, Measurements
from dse.fitting.statistics import Errors, dependent, errors, summary
from dse.system.arrays import Array

_COUNTS = tuple(Column(k.count, k.unit, k.also, required=k.count in ALWAYS) for k in KINDS)
_TIME = Column("time", "s", ("T",), required=True, positive=True)
_ENERGY = Column("energy", "J", ("E",), required=True, positive=True, instead="power")
_POWER = Column("power", "W", ("P",), positive=True)
COLUMNS = (*_COUNTS, _TIME, _ENERGY, _POWER)
ONLY_TIME = (*_COUNTS, _TIME)
_FEWEST_INTENSITIES = 3
_ROOFLINE_FOLDS = 10
_SAME = 1e-6
_VAGUE = 0.5
_MEANINGS = {
    "constant_power": ("W", "power drawn whatever runs"),
    "usable_power": ("W", "power available to operations on top of constant power"),
    "launch_time": ("s", "fixed time of a run before its flops and bytes"),
}


def check(numbers: Mapping[str, Array], run: Callable[[int], str]) -> Sequence[tuple[int, str]]:
    """Return what makes runs useless for the roofline: too few, nothing done, one intensity."""
    there = [k for k in KINDS if k.count in numbers]
    amounts = [numbers[k.count] for k in there]
    if not {k.count for k in there} >= set(ALWAYS) or not amounts[0].size:
        return []
    wrong: list[tuple[int, str]] = []
    fewest = sum(2 if {"energy", "power"} & numbers.keys() else 1 for _ in there) + 2
    if amounts[0].size < fewest:
        few = f"{amounts[0].size} runs are too few for {fewest} parameters"
        wrong.append((-1, f"{few}: at least {fewest} are needed"))
    for i in np.flatnonzero(sum(a != 0 for a in amounts) == 0).tolist():
        nothing = f"{run(i)} has neither flops nor bytes: the model gives it no time; leave it out"
        wrong.append((i, nothing))
    wrong += [
        (-1, f"no run has any {k.count}: their costs cannot be found; add runs with {k.count}")
        for k, a in zip(there, amounts, strict=True)
        if k.count in ALWAYS and not np.nan_to_num(a, nan=1.0).any()
    ]
    flops, bytes_ = (numbers[name] for name in ALWAYS)
    if not wrong and len(there) == len(ALWAYS) and np.isfinite(flops + bytes_).all():
        wrong += _one_intensity(flops, bytes_)
    return wrong


def _one_intensity(flops: Array, bytes_: Array) -> list[tuple[int, str]]:
    share = np.sort(flops / np.maximum(flops + bytes_, np.finfo(float).tiny))
    distinct = 1 + int((np.diff(share) > _SAME * share[1:]).sum())
    if distinct >= _FEWEST_INTENSITIES:
        return []
    return [
        (
            -1,
            f"flops and bytes are collinear: the runs have {distinct} intensit{'y' if distinct == 1 else 'ies'} "
            f"(flops per byte), at least {_FEWEST_INTENSITIES} are needed; add runs with more and with fewer "
            "flops per byte",
        )
    ]


def fit(runs: Measurements, name: str, date: str, confidence: float) -> Fit:
    """Fit all parameters that the runs show, and those of the model without a power cap beside them.

    Raises FittingError where the runs cannot determine them.
    """
    problem, units = _problem(runs)
    few = thinned(problem)
    whole = solve(few, (1.0, 1.0))
    whole = solve(few, spread(whole), nearby(whole.theta))
    chosen, hidden = reduced(whole)
    _refuse_dependent(runs.source, chosen)
    chosen, hidden = cheaper(chosen, hidden)
    if few is not problem:
        chosen = _of_all(problem, chosen)
    measured = _measured_with_rates(runs)
    figures = _figures(chosen, measured, units)
    of_chosen = {k: errors(figures[k], measured[k]) for k in figures}
    capped = problem.cap in chosen.problem.free
    free, hidden_free = _uncapped(chosen) if capped else (chosen, {})
    beside = _figures(free, measured, units) if capped else {}
    return Fit(
        model="roofline",
        name=name,
        source=runs.source,
        digest=runs.digest,
        date=date,
        confidence=confidence,
        method=f"non-linear least squares of relative errors of time{'' if problem.energy is None else ' and energy'} "
        "on equations (1) and (3) of Choi et al. 2014 with a launch time, several starts",
        parameters=_roofline_estimates(chosen, units, confidence, hidden),
        errors=of_chosen,
        runs=Runs(measured, figures, chosen.problem.regimes(chosen.theta), beside),
        validation=_held_out(chosen),
        uncapped=_roofline_estimates(free, units, confidence, hidden_free) if capped else (),
        uncapped_errors={k: errors(v, measured[k]) for k, v in beside.items()},
        comparisons=tuple(
            _compare(k, figures, beside, measured[k])
            for k in ("performance", "energy", "power")
            if k in beside
        ),
        notes=_notes(runs, chosen, hidden),
        correlation=chosen.correlation(),
    )


def suspects(runs: Measurements) -> tuple[Outlier, ...]:
    """Return the runs whose time or energy lies far from a robust fit."""
    problem, _ = _problem(runs)
    measured = _measured_with_rates(runs)
    named = zip((("time", "s"), ("energy", "J")), robust(problem), strict=False)
    figures = {what: Residuals(unit, measured[what], error) for (what, unit), error in named}
    return outliers(runs, figures, len(problem.free))


def _problem(runs: Measurements) -> tuple[Problem, Array]:
    """Return the runs to fit, and the SI unit of each parameter."""
    kinds = tuple(k for k in KINDS if k.count in runs.numbers and runs.numbers[k.count].any())
    amounts, time, energy = (
        np.stack([runs.numbers[k.count] for k in kinds]),
        runs.numbers["time"],
        _measured_energy(runs),
    )
    if len(kinds) > len(ALWAYS):
        for group in dependent(amounts.T / amounts.sum(axis=0)[:, None], [k.count for k in kinds]):
            wrong = f"{', '.join(group)} are in proportion in all runs: their costs cannot be separated"
            raise FittingError(runs.source, [f"{wrong}; add runs with more of one and less of the others"])
    size = np.array([np.median(a[a > 0]) for a in amounts])
    t, e = float(np.median(time)), 1.0 if energy is None else float(np.median(energy))
    whole = Problem(kinds, amounts / size[:, None], time / t, None if energy is None else energy / e, ())
    # without energies nothing tells a cap from a rate
    free = (*range(len(kinds)), whole.launch) if energy is None else tuple(range(whole.launch + 1))
    return replace(whole, free=free), np.concatenate([t / size, e / size, [e / t, e / t, t]])


def _measured_energy(runs: Measurements) -> Array | None:
    if "energy" in runs.numbers:
        return runs.numbers["energy"]
    return runs.numbers["power"] * runs.numbers["time"] if "power" in runs.numbers else None


def _refuse_dependent(source: str, found: Found) -> None:
    """Raise FittingError where several parameters have one and the same effect on all runs, naming what is missing."""
    problem = found.problem
    jacobian = problem.jacobian(found.theta, found.weights)
    active = [i for i in range(len(problem.free)) if np.abs(jacobian[:, i]).max() > 0]
    names = [problem.names[problem.free[i]] for i in active]
    groups = dependent(jacobian[:, active], names)
    if not groups:
        return
    held = sorted(set(problem.regimes(found.theta)))
    words = {k.bound for k in problem.kinds} | {"cap-bound"}
    lacking = f"none is {' or '.join(sorted(words - set(held)))}"
    launch = "" if problem.launch in problem.free else ", and no launch time is visible"
    raise FittingError(
        source,
        [
            f"{', '.join(g)} cannot be separated: all runs are {' or '.join(held)}, {lacking}{launch}; add runs of "
            "other intensities (flops per byte), or short ones"
            for g in groups
        ],
    )


def _uncapped(chosen: Found) -> tuple[Found, dict[int, Hidden]]:
    """Fit the model without a cap: every rate, and the launch time where the runs show one."""
    problem = chosen.problem
    rates = {*range(len(problem.kinds)), *problem.free} - {problem.cap}
    whole = replace(problem, free=tuple(sorted(rates)))
    few = thinned(whole)
    free, hidden = cheaper(solve(few, chosen.weights), {})
    return (free if few is whole else _of_all(whole, free)), hidden


def _of_all(problem: Problem, found: Found) -> Found:
    """Fit all runs, with the terms that were found by some of them, and from there."""
    return solve(replace(problem, free=found.problem.free), found.weights, [found.theta])


def _measured_with_rates(runs: Measurements) -> dict[str, Array]:
    """Return what was measured of every run, with its rates, by name."""
    counts = {k.count: runs.numbers[k.count] for k in KINDS if k.count in runs.numbers}
    energy = _measured_energy(runs)
    return {**_rates_of_runs(counts, runs.numbers["time"], energy), **counts}


def _figures(found: Found, measured: dict[str, Array], units: Array) -> dict[str, Array]:
    """Return the same by the model."""
    time, energy = found.problem.model(found.theta)
    t, power = units[found.problem.launch], units[found.problem.constant]
    counts = {k.count: measured[k.count] for k in KINDS if k.count in measured}
    return _rates_of_runs(counts, time * t, None if found.problem.energy is None else energy * power * t)


def _rates_of_runs(counts: dict[str, Array], time: Array, energy: Array | None) -> dict[str, Array]:
    # a run without flops performs what it has; relative errors are the same
    work = counts["flops"]
    for other in counts.values():
        work = np.where(work > 0, work, other)
    found = {"performance": work / time, "time": time}
    return found if energy is None else {**found, "energy": energy, "power": energy / time}


def _compare(what: str, with_cap: dict[str, Array], without: dict[str, Array], measured: Array) -> Comparison:
    from scipy.stats import ks_2samp

    with warnings.catch_warnings():
        # where the exact p-value cannot be computed, SciPy says so and gives the asymptotic one
        warnings.simplefilter("ignore", RuntimeWarning)
        found = ks_2samp(without[what] / measured - 1, with_cap[what] / measured - 1)
    return Comparison(what, float(found.statistic), float(found.pvalue))


def _held_out(found: Found) -> dict[str, Errors]:
    """Return the errors of time and energy on runs left out, every tenth together, with the same terms."""
    problem = found.problem
    count = min(_ROOFLINE_FOLDS, problem.time.size)
    fold = np.arange(problem.time.size) % count
    errs: dict[str, Array] = {}
    for k in range(count):
        kept = fold != k
        theta = solve(problem.part(kept), found.weights, [found.theta]).theta
        time, energy = problem.part(~kept).model(theta)
        pairs = [("time", time, problem.time)]
        pairs += [] if problem.energy is None else [("energy", energy, problem.energy)]
        for what, model, measured in pairs:
            errs[what] = np.append(errs.get(what, []), model / measured[~kept] - 1)
    return {f"{what} of runs held out, {count} folds": summary(v) for what, v in errs.items()}


def _roofline_estimates(
    found: Found, units: Array, confidence: float, hidden: dict[int, Hidden]
) -> tuple[Estimate, ...]:
    """Return what is known of every parameter; an interval covers the model with and without hidden terms."""
    reach = found.reach(confidence)
    ends = [_intervals(f, confidence) for f in (found, *(h.before for h in hidden.values()))]
    made = []
    for i, name in enumerate(found.problem.names):
        unit, meaning = _meaning(found.problem.kinds, name)
        made_of = Estimate(name, float(found.theta[i]), unit, 0.0, 0.0, meaning)
        if i in hidden:
            made_of = _unseen(made_of, found, i, hidden[i].before, confidence)
        elif i not in reach:
            continue
        elif reach[i] == 0:
            made_of = _unseen(made_of, found, i, None, confidence)
        else:
            low, high = min(e[i][0] for e in ends if i in e), max(e[i][1] for e in ends if i in e)
            wide = max(made_of.value - low, high - made_of.value) / made_of.value
            doubt = f"uncertain by {100 * wide:.0f} %" if wide > _VAGUE else ""
            made_of = replace(made_of, low=low, high=high, doubt=doubt)
        u = float(units[i])
        made.append(replace(made_of, value=made_of.value * u, low=made_of.low * u, high=made_of.high * u))
    return tuple(made)


def _meaning(kinds: Sequence[Kind], name: str) -> tuple[str, str]:
    for k in kinds:
        if name == k.time:
            return f"s/{k.unit}", f"time of one {k.meaning} at full rate"
        if name == k.energy:
            return f"J/{k.unit}", f"energy of one {k.meaning}"
    return _MEANINGS[name]


def _intervals(found: Found, confidence: float) -> dict[int, tuple[float, float]]:
    theta = found.theta
    return {
        i: (max(0.0, float(theta[i]) - r), float(theta[i]) + r) for i, r in found.reach(confidence).items()
    }


def _unseen(made: Estimate, found: Found, i: int, before: Found | None, confidence: float) -> Estimate:
    """Say what is known of a term that no run shows: a value that has no effect, and the bounds on it.

    ``before``: the fit that still had it, whose interval says how far it may lie inside the noise.
    """
    problem, theta = found.problem, found.theta
    reach = 0.0 if before is None else before.reach(confidence)[i]
    most = float(before.theta[i]) + reach if before is not None and reach else 0.0
    if i == problem.cap:
        ends = _intervals(found, confidence)
        places = range(len(problem.kinds), problem.constant)
        least = np.array([ends[k][0] if k in ends else 0.0 for k in places])
        drawn = float((least @ problem.amounts / problem.model(theta)[0]).max())
        if before is not None and reach:
            drawn = min(drawn, max(0.0, float(before.theta[i]) - reach))
        doubt = f"{NOT_VISIBLE}: no run shows a cap, it is not below the least value"
        return replace(made, value=np.inf, low=drawn, high=np.inf, doubt=doubt, written=False)
    if i < len(problem.kinds):
        busy, amount = problem.busy(theta)[0], problem.amounts[i]
        rate = float((busy[amount > 0] / amount[amount > 0]).min())
        bound = f"no run shows itself {problem.kinds[i].bound}, the greatest value that holds none back"
        return replace(made, value=rate, high=max(rate, most), doubt=f"{NOT_VISIBLE}: {bound}")
    written = i != problem.launch
    return replace(made, value=0.0, high=most, doubt=NOT_VISIBLE, written=written)


def _notes(runs: Measurements, found: Found, hidden: dict[int, Hidden]) -> tuple[str, ...]:
    """Say which terms hold which runs, and which terms are not needed."""
    regimes = found.problem.regimes(found.theta)
    counts = ", ".join(f"{regimes.count(r)} {r}" for r in dict.fromkeys(sorted(regimes)))
    notes = [f"of {len(regimes)} runs, as fitted: {counts}"]
    if LAUNCH_BOUND in regimes:
        notes.append("a launch-bound run is shorter than twice the launch time")
    for i, h in hidden.items():
        notes.append(f"the runs do not show {found.problem.names[i]}: {h.why}")
    idle = [k.count for k in KINDS if k.count in runs.numbers and not runs.numbers[k.count].any()]
    notes += [f"no run has any {count}, so what they cost stays unknown" for count in idle]
    if found.problem.energy is None:
        notes.append("no energies were measured: costs in energy and powers are not in the machine file")
    elif "energy" not in runs.numbers:
        notes.append("energies are power times time")
    elif "power" in runs.numbers:
        notes.append("the column of power is not used, since there is one of energy")
    return tuple(notes)
