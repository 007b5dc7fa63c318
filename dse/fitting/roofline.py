"""Fitting the power-capped energy roofline (Choi et al. 2014, equations (1) and (3), section V.A).

    T = max(W τ_flop, Q τ_mem, (W ε_flop + Q ε_mem)/Δπ)
    E = W ε_flop + Q ε_mem + π1 T

Non-linear least squares of log(model/measured), which is the relative error to first order, in the logarithms
of the parameters, from several starts; time and energy are weighted by the spread of each. The model without a
cap (Δπ infinite) is fitted beside it, and the errors of the two are compared as in the paper.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from dse.fitting.errors import FittingError
from dse.fitting.nonnegative import nonnegative_least_squares
from dse.fitting.reading import Array, Column, Measurements
from dse.fitting.result import Comparison, Estimate, Fit, Runs
from dse.fitting.statistics import Mask, dependent, errors, quantile, standard_errors

COLUMNS = (
    Column("flops", "flop", ("W", "work"), required=True),
    Column("bytes", "byte", ("Q", "traffic"), required=True),
    Column("time", "s", ("T",), required=True, positive=True),
    Column("energy", "J", ("E",), required=True, positive=True),
)
NAMES = {
    "time_per_flop": ("s/flop", "time of one flop at full rate"),
    "time_per_byte": ("s/byte", "time of one byte at full bandwidth"),
    "energy_per_flop": ("J/flop", "energy of one flop"),
    "energy_per_byte": ("J/byte", "energy of one byte"),
    "constant_power": ("W", "power drawn whatever runs"),
    "usable_power": ("W", "power available to operations on top of constant power"),
}
_TF, _TM, _EF, _EM, _P1, _CAP = range(6)
_FEWEST_RUNS, _FEWEST_INTENSITIES = 6, 3
_SAME = 1e-6
# where a starting cap lies among the powers that the runs draw, and how far from the fastest runs the rates
_CAPS, _RATES = (0.75, 0.9, 1.0, 1.3), (0.0, 0.2)
# far beyond any machine, in the logarithm
_FAR = 40.0
_SEED, _TRIES, _NEAR = 20140519, 8, 0.1
_EQUAL_SPREAD = 1e-9
_VAGUE = 0.5
_SIGNIFICANT = 0.05
# below this mean square of relative errors, runs count as exact
_EXACT = 1e-18


@dataclass(frozen=True, slots=True)
class _Problem:
    """Runs to fit, in units in which their medians are one; ``free``: which of the six parameters are fitted."""

    flops: Array
    bytes: Array
    time: Array
    energy: Array
    free: tuple[int, ...]

    def model(self, theta: Array) -> tuple[Array, Array, Array]:
        """Return time and energy of each run, and which term of the maximum holds (0, 1, 2)."""
        terms = np.stack(
            [
                self.flops * theta[_TF],
                self.bytes * theta[_TM],
                (self.flops * theta[_EF] + self.bytes * theta[_EM]) / theta[_CAP],
            ]
        )
        which = terms.argmax(axis=0)
        time = terms.max(axis=0)
        energy = self.flops * theta[_EF] + self.bytes * theta[_EM] + theta[_P1] * time
        return time, energy, which

    def residuals(self, theta: Array, weights: tuple[float, float]) -> Array:
        """Return log(model/measured) of all times, then of all energies, each times its weight."""
        time, energy, _ = self.model(theta)
        return np.concatenate(
            [weights[0] * np.log(time / self.time), weights[1] * np.log(energy / self.energy)]
        )

    def jacobian(self, theta: Array, weights: tuple[float, float]) -> Array:
        """Return the derivatives of ``residuals`` by the free parameters themselves (not their logarithms)."""
        time, energy, which = self.model(theta)
        slope = np.zeros((6, time.size))
        slope[_TF] = np.where(which == 0, self.flops, 0.0)
        slope[_TM] = np.where(which == 1, self.bytes, 0.0)
        slope[_EF] = np.where(which == 2, self.flops / theta[_CAP], 0.0)
        slope[_EM] = np.where(which == 2, self.bytes / theta[_CAP], 0.0)
        slope[_CAP] = np.where(which == 2, -time / theta[_CAP], 0.0)
        of_energy = theta[_P1] * slope
        of_energy[_EF] += self.flops
        of_energy[_EM] += self.bytes
        of_energy[_P1] += time
        both = np.concatenate([weights[0] * slope / time, weights[1] * of_energy / energy], axis=1)
        return both[list(self.free)].T

    def inside(self, free: Array) -> Array:
        """Return all six parameters from the logarithms of the free ones; the others hold no run back."""
        theta = np.array([0.0] * _CAP + [np.inf])
        theta[list(self.free)] = np.exp(free)
        return theta

    def residuals_by_logarithm(self, free: Array, weights: tuple[float, float]) -> Array:
        """Return the residuals at the logarithms of the free parameters."""
        return self.residuals(self.inside(free), weights)

    def jacobian_by_logarithm(self, free: Array, weights: tuple[float, float]) -> Array:
        """Return their derivatives by the logarithms of the free parameters."""
        return self.jacobian(self.inside(free), weights) * np.exp(free)


@dataclass(frozen=True, slots=True)
class _Found:
    """A fitted model: parameters, sum of squares, weights of time and energy errors."""

    problem: _Problem
    theta: Array
    squares: float
    weights: tuple[float, float]

    @property
    def freedom(self) -> int:
        return 2 * self.problem.time.size - len(self.problem.free)


@dataclass(frozen=True, slots=True)
class _Hidden:
    """A term that the runs do not show: the fit that still had it, and the p-value of the test against it."""

    before: _Found
    p_value: float


def fit(runs: Measurements, name: str, date: str, confidence: float) -> Fit:
    """Fit the six parameters, and the five of the model without a power cap beside them.

    Raises FittingError where the runs cannot determine them.
    """
    flops, bytes_, time, energy = (runs.numbers[c.name] for c in COLUMNS)
    _refuse_runs(runs.source, flops, bytes_)
    size = [float(np.median(v[v > 0])) for v in (flops, bytes_, time, energy)]
    w, q, t, e = size
    whole = _Problem(flops / w, bytes_ / q, time / t, energy / e, (_TF, _TM, _EF, _EM, _P1, _CAP))
    units = np.array([t / w, t / q, e / w, e / q, e / t, e / t])
    capped = _solve(whole, (1.0, 1.0))
    capped = _solve(whole, _spread(capped), capped)
    chosen, hidden = _reduced(capped)
    free = _solve(replace(whole, free=(_TF, _TM, _EF, _EM, _P1)), capped.weights)
    _refuse_dependent(runs.source, chosen)
    figures = [_figures(f, size) for f in (chosen, free)]
    measured = _rates(flops, bytes_, time, energy)
    return Fit(
        model="roofline",
        name=name,
        source=runs.source,
        digest=runs.digest,
        date=date,
        confidence=confidence,
        method="non-linear least squares of relative errors of time and energy on equations (1) and (3) of "
        "Choi et al. 2014, several starts",
        parameters=_estimates(chosen, units, confidence, hidden),
        errors={k: errors(figures[0][k], measured[k]) for k in measured},
        runs=Runs({**measured, "flops": flops, "bytes": bytes_}, figures[0], _regimes(chosen), figures[1]),
        uncapped=_estimates(free, units, confidence, {}),
        uncapped_errors={k: errors(figures[1][k], measured[k]) for k in measured},
        comparisons=tuple(_compare(k, figures, measured[k]) for k in ("performance", "energy", "power")),
        notes=_notes(chosen, hidden),
    )


def _refuse_runs(source: str, flops: Array, bytes_: Array) -> None:
    wrong = []
    if flops.size < _FEWEST_RUNS:
        wrong.append(f"{flops.size} runs are too few for six parameters: at least {_FEWEST_RUNS} are needed")
    if (idle := np.flatnonzero((flops == 0) & (bytes_ == 0))).size:
        wrong.append(
            f"run {idle[0] + 1} has neither flops nor bytes: the model gives it no time; leave it out"
        )
    for what, values in (("flops", flops), ("bytes", bytes_)):
        if not values.any():
            wrong.append(f"no run has any {what}: their costs cannot be found; add runs with {what}")
    share = np.sort(flops / np.maximum(flops + bytes_, np.finfo(float).tiny))
    distinct = 1 + int((np.diff(share) > _SAME * share[1:]).sum())
    if not wrong and distinct < _FEWEST_INTENSITIES:
        wrong.append(
            f"flops and bytes are collinear: the runs have {distinct} intensit{'y' if distinct == 1 else 'ies'} "
            f"(flops per byte), at least {_FEWEST_INTENSITIES} are needed; add runs with more and with fewer "
            "flops per byte"
        )
    if wrong:
        raise FittingError(source, wrong)


def _solve(problem: _Problem, weights: tuple[float, float], before: _Found | None = None) -> _Found:
    """Find the least sum of squares from several starts, or from the parameters found before and near them.

    The maximum makes the sum of squares kinked, with shallow minima beside the least one: hence the many starts.
    """
    from scipy.optimize import least_squares

    free = list(problem.free)
    starts = _starts(problem) if before is None else _nearby(before.theta)
    best: _Found | None = None
    for start in starts:
        x = np.log(start[free])
        found = least_squares(
            problem.residuals_by_logarithm,
            x,
            problem.jacobian_by_logarithm,
            args=(weights,),
            bounds=(x - _FAR, x + _FAR),
            xtol=1e-12,
            ftol=1e-12,
            gtol=1e-12,
            max_nfev=300,
        )
        if best is None or 2 * found.cost < best.squares:
            best = _Found(problem, problem.inside(found.x), 2 * float(found.cost), weights)
    assert best is not None
    return best


def _starts(problem: _Problem) -> list[Array]:
    """Guess energies from the linear part, rates from the fastest runs, and the cap from the powers drawn."""
    w, q, t, e = problem.flops, problem.bytes, problem.time, problem.energy
    linear = nonnegative_least_squares(np.stack([w, q, t], axis=1) / e[:, None], np.ones_like(e))
    least = 1e-2 * np.array([np.median(e[x > 0] / x[x > 0]) for x in (w, q, t)])
    ef, em, p1 = np.maximum(linear, least)
    drawn = float(np.quantile((w * ef + q * em) / t, 0.95))
    found = []
    for share, cap in product(_RATES, _CAPS if _CAP in problem.free else (np.inf,)):
        tf, tm = (float(np.quantile(t[x > 0] / x[x > 0], share)) for x in (w, q))
        found.append(np.array([tf, tm, ef, em, p1, cap * drawn]))
    return found


def _nearby(theta: Array) -> list[Array]:
    random = np.random.default_rng(_SEED)
    return [theta, *(theta * np.exp(_NEAR * random.standard_normal(6)) for _ in range(_TRIES))]


def _spread(found: _Found) -> tuple[float, float]:
    """Return weights that make the errors of time and of energy equally wide."""
    time, energy = np.split(found.problem.residuals(found.theta, (1.0, 1.0)), 2)
    wide = np.maximum([np.sqrt((time**2).mean()), np.sqrt((energy**2).mean())], _EQUAL_SPREAD)
    ratio = float(np.clip(wide[0] / wide[1], 1e-2, 1e2))
    return 1.0, ratio


def _refuse_dependent(source: str, found: _Found) -> None:
    """Raise FittingError where several parameters have one and the same effect on all runs."""
    jacobian = found.problem.jacobian(found.theta, found.weights)
    names = [list(NAMES)[i] for i in found.problem.free]
    active = [i for i in range(len(names)) if np.abs(jacobian[:, i]).max() > 0]
    groups = dependent(jacobian[:, active], [names[i] for i in active])
    if groups:
        held = sorted(set(_regimes(found)))
        wrong = [
            f"{', '.join(g)} cannot be told apart: all runs are {' or '.join(held)}; add runs of other "
            "intensities (flops per byte)"
            for g in groups
        ]
        raise FittingError(source, wrong)


def _regimes(found: _Found) -> tuple[str, ...]:
    words = ("compute-bound", "memory-bound", "cap-bound")
    return tuple(words[i] for i in found.problem.model(found.theta)[2])


def _figures(found: _Found, size: list[float]) -> dict[str, Array]:
    w, q, t, e = size
    time, energy, _ = found.problem.model(found.theta)
    return _rates(found.problem.flops * w, found.problem.bytes * q, time * t, energy * e)


def _rates(flops: Array, bytes_: Array, time: Array, energy: Array) -> dict[str, Array]:
    # a run without flops performs bytes; relative errors are the same
    work = np.where(flops > 0, flops, bytes_)
    return {"performance": work / time, "time": time, "energy": energy, "power": energy / time}


def _compare(what: str, figures: list[dict[str, Array]], measured: Array) -> Comparison:
    from scipy.stats import ks_2samp

    capped, free = (f[what] / measured - 1 for f in figures)
    found = ks_2samp(free, capped)
    return Comparison(what, float(found.statistic), float(found.pvalue))


def _reduced(found: _Found) -> tuple[_Found, dict[int, _Hidden]]:
    """Take out the terms of the maximum that the runs do not show, one after the other.

    A term that is not there still catches the slowest runs of those it might hold, so that it must earn its
    parameter: the fit without it has to be significantly worse (F test). One term always stays.
    """
    hidden: dict[int, _Hidden] = {}
    while len(terms := [i for i in found.problem.free if i in {_TF, _TM, _CAP}]) > 1:
        tried = {i: less for i in terms if (less := _without(found, i)) is not None}
        p = {i: _p_value(found, less) for i, less in tried.items()}
        worst = max(p, key=p.__getitem__, default=None)
        if worst is None or p[worst] <= _SIGNIFICANT:
            break
        hidden[worst] = _Hidden(found, p[worst])
        found = tried[worst]
    return found, hidden


def _without(found: _Found, i: int) -> _Found | None:
    """Return the fit without a term; None where it leaves a run without any time."""
    less = replace(found.problem, free=tuple(k for k in found.problem.free if k != i))
    start = less.inside(np.log(found.theta[list(less.free)]))
    return _solve(less, found.weights, replace(found, theta=start)) if less.model(start)[0].all() else None


def _p_value(found: _Found, less: _Found) -> float:
    from scipy.special import fdtrc

    variance = max(found.squares / found.freedom, _EXACT)
    return float(fdtrc(1, found.freedom, max(less.squares - found.squares, 0.0) / variance))


def _estimates(
    found: _Found, units: Array, confidence: float, hidden: dict[int, _Hidden]
) -> tuple[Estimate, ...]:
    """Return what is known of every parameter; an interval covers the model with and without hidden terms."""
    reach = dict(zip(found.problem.free, _reach(found, confidence), strict=True))
    fits = [found, *(h.before for h in hidden.values())]
    ends = [_intervals(f, confidence) for f in fits]
    made = []
    for i, (name, (unit, meaning)) in enumerate(NAMES.items()):
        value, doubt = float(found.theta[i]), ""
        if i in hidden:
            value, low, high, doubt = _bound(found, i, hidden[i].before, confidence)
        elif i not in reach:
            continue
        elif reach[i] == 0:
            value, low, high, doubt = _bound(found, i, None, confidence)
        else:
            low, high = min(e[i][0] for e in ends), max(e[i][1] for e in ends)
            wide = max(value - low, high - value)
            doubt = f"uncertain by {100 * wide / value:.0f} %" if wide > _VAGUE * value else ""
        scale = float(units[i])
        made.append(Estimate(name, value * scale, unit, low * scale, high * scale, meaning, doubt))
    return tuple(made)


def _intervals(found: _Found, confidence: float) -> dict[int, tuple[float, float]]:
    pairs = zip(found.problem.free, _reach(found, confidence), strict=True)
    return {i: (max(0.0, float(found.theta[i]) - r), float(found.theta[i]) + r) for i, r in pairs}


def _reach(found: _Found, confidence: float) -> list[float]:
    """Return how far the interval of each free parameter reaches; 0 for a term that holds no run."""
    jacobian = found.problem.jacobian(found.theta, found.weights)
    active: Mask = np.abs(jacobian).max(axis=0) > 0
    reach = np.zeros(active.size)
    wide = standard_errors(jacobian[:, active], max(found.squares / found.freedom, _EXACT))
    reach[active] = quantile(confidence, found.freedom) * wide
    return reach.tolist()


def _bound(
    found: _Found, i: int, before: _Found | None, confidence: float
) -> tuple[float, float, float, str]:
    """Say what is known of a term that no run shows: value, least, greatest, and the doubt.

    ``before``: the fit that still had it, whose interval says how far it may lie inside the noise.
    """
    problem, theta = found.problem, found.theta
    time = problem.model(theta)[0]
    reach = 0.0 if before is None else _reach(before, confidence)[before.problem.free.index(i)]
    there = float(before.theta[i]) if before is not None and reach else None
    if i == _CAP:
        flop, byte = (_intervals(found, confidence)[k][0] for k in (_EF, _EM))
        drawn = float(((problem.flops * flop + problem.bytes * byte) / time).max())
        least = drawn if there is None else min(drawn, max(0.0, there - reach))
        return np.inf, least, np.inf, "no run shows a cap: it is not below the least value"
    amount, what = (problem.flops, "compute-bound") if i == _TF else (problem.bytes, "memory-bound")
    some = amount > 0
    most = float((time[some] / amount[some]).min())
    greatest = most if there is None else max(most, there + reach)
    return most, 0.0, greatest, f"no run shows itself {what}: the greatest value that holds none back"


def _notes(found: _Found, hidden: dict[int, _Hidden]) -> tuple[str, ...]:
    """Say which terms hold which runs, and which terms are not needed."""
    regimes = _regimes(found)
    counts = ", ".join(f"{regimes.count(r)} {r}" for r in dict.fromkeys(sorted(regimes)))
    notes = [f"of {len(regimes)} runs, as fitted: {counts}"]
    for i, h in hidden.items():
        without = f"without it they are fitted as well (F test, p = {h.p_value:.2g})"
        notes.append(f"the runs do not show {list(NAMES)[i]}: {without}")
    return tuple(notes)
