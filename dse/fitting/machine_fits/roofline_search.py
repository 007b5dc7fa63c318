"""The least sum of squares of a roofline over its parameters, and which of its terms the runs show."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np

from dse.fitting.behaviours.nonnegative import nonnegative_least_squares
from dse.fitting.machine_fits.roofline_terms import Problem, Weights
from dse.fitting.statistics import EXACT_SQUARES, correlated, quantile, scale, standard_errors
from dse.system.arrays import Array, Bools
from dse.system.records import dataclass

# where a starting cap lies among the powers that the runs draw, how far from the fastest runs the rates,
# and which part of the shortest run is launch time
_CAPS, _RATES, _LAUNCHES = (0.75, 0.9, 1.0, 1.3), (0.0, 0.2), (0.02, 0.7)
_SHORT = 0.05
_SEED, _TRIES, _START_SPREAD = 20140519, 2, 0.1
# of the starts tried a little, so many are followed to the end
_COARSE_STEPS, _FOLLOWED, _MOST_STEPS = 20, 2, 300
# runs beyond these are left out of a search, and come in again at its end
_MANY = 500
_EQUAL_SPREAD = 1e-9
_SIGNIFICANT = 0.05
# times the spread of the times: how far a run has to lie beyond a kink
_BEYOND_NOISE = 3.0
_ROBUST_ROUNDS = 12


@dataclass(frozen=True, slots=True)
class Found:
    """A fitted model: parameters, sum of squares, weights of time and energy."""

    problem: Problem
    theta: Array
    squares: float
    weights: Weights

    @property
    def freedom(self) -> int:
        """Figures beyond what the parameters take."""
        return max(1, self.problem.figures - len(self.problem.free))

    @property
    def variance(self) -> float:
        """Of the weighted residuals."""
        return max(self.squares / self.freedom, EXACT_SQUARES)

    def reach(self, confidence: float) -> dict[int, float]:
        """Return how far the interval of each free parameter reaches; 0 for a term that holds no run."""
        jacobian = self.problem.jacobian(self.theta, self.weights)
        active: Bools = np.abs(jacobian).max(axis=0) > 0
        found = np.zeros(active.size)
        wide = standard_errors(jacobian[:, active], self.variance)
        found[active] = quantile(confidence, self.freedom) * wide
        return dict(zip(self.problem.free, found.tolist(), strict=True))

    def correlation(self) -> tuple[tuple[str, str, float], ...]:
        """Return the pairs of parameters that runs show, with the correlation of their estimates."""
        names = [self.problem.names[k] for k in self.problem.free]
        return correlated(self.problem.jacobian(self.theta, self.weights), names)


@dataclass(frozen=True, slots=True)
class Hidden:
    """A term that the runs do not show: the fit that still had it, and the p-value of the test against it."""

    before: Found
    p_value: float

    @property
    def why(self) -> str:
        """Why the runs do not show it, in words."""
        if self.p_value > _SIGNIFICANT:
            return f"without it they are fitted as well (F test, p = {self.p_value:.2g})"
        return "none takes longer by it than by other rates, beyond the noise"


def solve(
    problem: Problem,
    weights: Weights,
    starts: list[Array] | None = None,
) -> Found:
    """Find the least sum of squares from several starts (default: guessed from the runs).

    The maximum makes the sum of squares kinked, with shallow minima beside the least one: hence the many starts.
    """
    free = list(problem.free)
    tried = sorted(
        (
            _least_squares_fit(problem, weights, np.log(s[free]), _COARSE_STEPS)
            for s in starts or _guesses(problem)
        ),
        key=lambda f: f.squares,
    )
    polished = [
        _least_squares_fit(problem, weights, np.log(f.theta[free]), _MOST_STEPS) for f in tried[:_FOLLOWED]
    ]
    return min(polished, key=lambda f: f.squares)


def _least_squares_fit(problem: Problem, weights: Weights, x: Array, most: int) -> Found:
    # MINPACK is several times faster than the others; least_squares takes a third longer for the same numbers
    from scipy.optimize import leastsq

    found, _, told, *_ = leastsq(
        problem.residuals_by_logarithm,
        x,
        (weights,),
        problem.jacobian_by_logarithm,
        full_output=True,
        xtol=1e-12,
        ftol=1e-12,
        gtol=1e-12,
        maxfev=most,
    )
    return Found(problem, problem.inside(found), float(told["fvec"] @ told["fvec"]), weights)


def _guesses(problem: Problem) -> list[Array]:
    """Guess energies from the linear part, rates from the fastest runs, the cap from the powers drawn."""
    n, t, many = problem.amounts, problem.time, len(problem.kinds)
    costs, drawn = np.ones(many + 1), 1.0
    if problem.energy is not None:
        rows = np.vstack([n, t]) / problem.energy
        least = 1e-2 * np.array([1 / np.median(row[row > 0]) for row in rows])
        costs = np.maximum(nonnegative_least_squares(rows.T, np.ones_like(t)), least)
        drawn = float(np.quantile(costs[:many] @ n / t, 0.95))
    short = float(np.quantile(t, _SHORT))
    found = []
    for share, cap, launch in product(
        _RATES,
        _CAPS if problem.cap in problem.free else (np.inf,),
        _LAUNCHES if problem.launch in problem.free else (0.0,),
    ):
        rates = [float(np.quantile(t[x > 0] / x[x > 0], share)) for x in n]
        found.append(np.array([*rates, *costs, cap * drawn, launch * short]))
    return found


def nearby(theta: Array) -> list[Array]:
    """Return starts at and around parameters found before."""
    random = np.random.default_rng(_SEED)
    return [
        theta,
        *(theta * np.exp(_START_SPREAD * random.standard_normal(theta.size)) for _ in range(_TRIES)),
    ]


def spread(found: Found) -> Weights:
    """Return weights that make the errors of time and of energy equally wide."""
    if found.problem.energy is None:
        return 1.0, 1.0
    time, energy = np.split(found.problem.residuals(found.theta, (1.0, 1.0)), 2)
    wide = np.maximum([np.sqrt((time**2).mean()), np.sqrt((energy**2).mean())], _EQUAL_SPREAD)
    return 1.0, float(np.clip(wide[0] / wide[1], 1e-2, 1e2))


def thinned(problem: Problem) -> Problem:
    """Return the problem of at most so many runs, drawn at random: enough to search among terms and starts."""
    n = problem.time.size
    if n <= _MANY:
        return problem
    return problem.part(np.sort(np.random.default_rng(_SEED).choice(n, _MANY, replace=False)))


def robust(problem: Problem) -> list[Array]:
    """Return log(model/measured) of times, and of energies, under a fit that gross errors hardly move.

    Cauchy's loss by reweighted least squares, with the scale of each kind of error from the median of its sizes;
    from the guesses, and the least squares, that have the least scales.
    """
    few = thinned(problem)
    starts = [solve(few, (1.0, 1.0)).theta, *_guesses(few)]
    best = sorted(starts, key=lambda theta: _scale(few, theta))[:_FOLLOWED]
    return _errors(problem, min((_reweighted(few, s) for s in best), key=lambda theta: _scale(few, theta)))


def _scale(problem: Problem, theta: Array) -> float:
    return float(np.prod([scale(e, len(problem.free)) for e in _errors(problem, theta)]))


def _reweighted(problem: Problem, theta: Array) -> Array:
    for _ in range(_ROBUST_ROUNDS):
        found = _errors(problem, theta)
        wide = [scale(e, len(problem.free)) for e in found]
        trust = [1 / (w * np.hypot(1.0, e / w)) for e, w in zip(found, wide, strict=True)]
        free = np.log(theta[list(problem.free)])
        theta = _least_squares_fit(problem, (trust[0], trust[-1]), free, _COARSE_STEPS).theta
    return theta


def _errors(problem: Problem, theta: Array) -> list[Array]:
    return np.split(problem.residuals(theta, (1.0, 1.0)), problem.figures // problem.time.size)


def reduced(found: Found) -> tuple[Found, dict[int, Hidden]]:
    """Take out the terms of the time that the runs do not show, one after the other.

    A term that is not there still catches the slowest runs of those it might hold, so that it must earn its
    parameter: the fit without it has to be significantly worse (F test). A cap that is not needed goes first,
    since it also makes do for rates that are there. One term of the maximum always stays.
    """
    hidden: dict[int, Hidden] = {}
    while True:
        problem = found.problem
        bounds = [i for i in problem.free if i in problem.bounds]
        terms = [i for i in problem.free if i == problem.launch or (i in bounds and len(bounds) > 1)]
        p = _fits_without_terms(found, terms)
        idle = {i: v for i, v in p.items() if v[0] > _SIGNIFICANT or not _stands_out(found, i)}
        if not idle:
            return found, hidden
        first = problem.cap if problem.cap in idle else max(idle, key=lambda i: idle[i][0])
        hidden[first] = Hidden(found, idle[first][0])
        found = idle[first][1]


def _stands_out(found: Found, i: int) -> bool:
    """Whether some run takes longer by a kind of operation than by the others, beyond the noise; other terms do.

    Where a rate takes over from another is chosen by the runs: it may catch those that noise made slow at the end of
    their range, and the F test knows nothing of that choice.
    """
    problem, many = found.problem, len(found.problem.kinds)
    if i >= many:
        return True
    times = problem.amounts * found.theta[:many, None]
    noise = np.sqrt((_errors(problem, found.theta)[0] ** 2).mean())
    return bool((times[i] > np.exp(_BEYOND_NOISE * noise) * np.delete(times, i, axis=0).max(axis=0)).any())


def cheaper(found: Found, hidden: dict[int, Hidden]) -> tuple[Found, dict[int, Hidden]]:
    """Take out the terms of the energy that the runs do not show, by the same test; one always stays."""
    hidden = dict(hidden)
    while len(costs := [i for i in found.problem.free if i in found.problem.costs]) > 1:
        p = _fits_without_terms(found, costs)
        first = max(p, key=lambda i: p[i][0], default=None)
        if first is None or p[first][0] <= _SIGNIFICANT:
            break
        hidden[first] = Hidden(found, p[first][0])
        found = p[first][1]
    return found, hidden


def _fits_without_terms(found: Found, terms: list[int]) -> dict[int, tuple[float, Found]]:
    without = {i: _fit_without_term(found, i) for i in terms}
    return {i: (_p_value(found, less), less) for i, less in without.items() if less is not None}


def _fit_without_term(found: Found, i: int) -> Found | None:
    """Return the fit without a term; None where it leaves a run without any time or energy."""
    less = replace(found.problem, free=tuple(k for k in found.problem.free if k != i))
    theta = less.inside(np.log(found.theta[list(less.free)]))
    time, energy = less.model(theta)
    if not time.all() or not (less.energy is None or energy.all()):
        return None
    return solve(less, found.weights, nearby(theta))


def _p_value(found: Found, less: Found) -> float:
    from scipy.special import fdtrc

    return float(fdtrc(1, found.freedom, max(less.squares - found.squares, 0.0) / found.variance))
