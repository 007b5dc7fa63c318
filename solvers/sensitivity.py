"""What relaxing each limit, or bettering each machine parameter, would buy."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from formulations import evaluation
from formulations.canonical import Array, Canonical
from formulations.evaluation import RowKey
from scenarios.question import Decision, Limit, Question
from solvers import multipliers
from solvers.multipliers import Multipliers
from solvers.polish import derivatives

_Holder = TypeVar("_Holder", Limit, Decision)
ACTIVE = 1e-7
STEP = 1e-4
KINK = 1e-2


@dataclass(frozen=True, slots=True)
class Duals:
    """Multipliers of the rows at an optimum; ``least`` and ``most`` differ where they are not unique (degenerate)."""

    keys: tuple[RowKey, ...]
    value: Array
    least: Array
    most: Array
    known: bool

    @property
    def one_sided(self) -> Array:
        """Where only the value for relaxing is meant."""
        return np.asarray(self.most - self.least > 1e-6 * (1.0 + np.abs(self.least)))


def duals(c: Canonical, y: Array, found: Multipliers | None = None) -> Duals:
    """Find the multipliers at the optimum y, by the program whose divisors are their tangents at y."""
    found = multipliers.at(c, y) if found is None else found
    lam, known = found.rows, found.proved
    f, g, _ = derivatives(c, y)
    near_end = (y - c.low < ACTIVE) | (c.high - y < ACTIVE)
    active = np.flatnonzero(f[1:] > -ACTIVE)
    least, most = lam.copy(), lam.copy()
    rows = np.concatenate([g[1:][active], np.eye(y.size)[near_end]])
    if active.size and np.linalg.matrix_rank(rows, tol=1e-7) < rows.shape[0]:
        least, most, known = _extremes(c, y, g, active, lam)
    return Duals(c.keys, np.where(known, least, lam), least, most, known)


def _extremes(c: Canonical, y: Array, g: Array, active: np.ndarray, lam: Array) -> tuple[Array, Array, bool]:
    """Smallest and largest multiplier of every active row over all optimal multipliers (linear programs)."""
    least, most = np.zeros_like(lam), np.zeros_like(lam)
    low, high = extremes(c, y, g, active, np.eye(active.size))
    known = np.isfinite(low)
    least[active], most[active] = np.where(known, np.maximum(low, 0.0), 0.0), np.where(known, high, 0.0)
    return least, most, bool(known.all())


def extremes(c: Canonical, y: Array, g: Array, active: np.ndarray, costs: Array) -> tuple[Array, Array]:
    """Smallest and largest value of costs @ multipliers over all optimal multipliers of the active rows.

    ``g``: gradients of all rows at y. Infinite where there is no end, and where there are no multipliers.
    """
    from scipy.optimize import linprog

    down = np.eye(y.size)[y - c.low < ACTIVE]
    up = np.eye(y.size)[c.high - y < ACTIVE]
    columns = np.concatenate([g[1:][active], -down, up]).T
    slackened = 1e-7 * np.abs(g[0]).max(initial=1.0)
    both = np.concatenate([columns, -columns])
    right = np.concatenate([-g[0] + slackened, g[0] + slackened])

    def end(cost: Array) -> float:
        whole = np.concatenate([cost, np.zeros(columns.shape[1] - cost.size)])
        found = linprog(whole, A_ub=both, b_ub=right, method="highs")
        return float(found.fun) if found.status == 0 else -np.inf

    return np.array([end(cost) for cost in costs]), -np.array([end(-cost) for cost in costs])


def numeric_duals(question: Question, x: Mapping[str, float]) -> Duals:
    """Multipliers where the arithmetic gave no structure: gradients of logarithms by central differences.

    Non-negative least squares on the active limits; ``known`` only where they explain the gradient of the
    objective, and where neither it nor an active limit has a kink (the two sides of a maximum meet), since there
    a central difference is the slope of nothing.
    """
    from scipy.optimize import nnls

    names = [d.name for d in question.decide]
    count = len(names)
    point = {n: np.full(2 * count + 1, float(x[n])) for n in names}
    for i, n in enumerate(names):
        point[n][1 + i] *= 1 + STEP
        point[n][1 + count + i] *= 1 - STEP
    goal, rows = _logs(question, point, 2 * count + 1)
    keys = tuple(rows)
    width = math.log1p(STEP) - math.log1p(-STEP)

    def slope(f: Array) -> Array:
        # of what is 0 or infinite all along there is none (NaN): its logarithm has no differences
        with np.errstate(invalid="ignore"):
            return np.asarray((f[1 : 1 + count] - f[1 + count :]) / width)

    # a limit on a step has no slope where it steps
    def kinked(f: Array) -> bool:
        with np.errstate(invalid="ignore"):
            bend = f[1 : 1 + count] + f[1 + count :] - 2 * f[0]
        return bool(np.any(np.abs(bend) > KINK * width))

    active = [k for k in keys if rows[k][0] > -1e-6 and np.isfinite(rows[k]).all()]
    g0 = slope(goal)
    if not np.all(np.isfinite([g0, *(slope(rows[k]) for k in active)])):
        none = np.zeros(len(keys))
        return Duals(keys, none, none, none, known=False)
    lam, left = (
        nnls(np.array([slope(rows[k]) for k in active]).reshape(len(active), count).T, -g0)
        if active
        else (np.zeros(0), float(np.abs(g0).max(initial=0.0)))
    )
    value = np.array([lam[active.index(k)] if k in active else 0.0 for k in keys])
    known = bool(left <= 1e-4 * max(1.0, float(np.abs(g0).max(initial=0.0))))
    known = known and not any(kinked(f) for f in (goal, *(rows[k] for k in active)))
    return Duals(keys, value, value, value, known)


def parameter_elasticities(question: Question, x: Mapping[str, float], d: Duals) -> dict[str, float]:
    """Percent of the objective per percent of each given number, by the envelope theorem.

    The Lagrangian is differenced numerically in each parameter at the optimal point with optimal multipliers: one
    vectorised evaluation of the model.
    """
    names = [n for n, v in question.given.items() if not isinstance(v, str) and v > 0]
    if not names or not question.objectives or not d.known or not np.all(np.isfinite(d.value)):
        return {}
    count = len(names)
    factors = np.ones((count, 2 * count))
    factors[np.arange(count), np.arange(count)] += STEP
    factors[np.arange(count), count + np.arange(count)] -= STEP
    given: dict[str, Any] = dict(question.given)
    given |= {n: given[n] * factors[i] for i, n in enumerate(names)}
    moved = dataclasses.replace(question, given=given)
    total, rows = _logs(moved, {n: np.full(2 * count, float(v)) for n, v in x.items()}, 2 * count)
    for key, lam in zip(d.keys, d.value, strict=True):
        if lam > 0 and key in rows:
            total = total + lam * rows[key]
    slope = (total[:count] - total[count:]) / (math.log1p(STEP) - math.log1p(-STEP))
    scaled = per_objective(question, x) * slope
    return {n: float(s) for n, s in zip(names, scaled, strict=True) if math.isfinite(s) and abs(s) > 1e-9}


def _logs(question: Question, x: Mapping[str, Array], size: int) -> tuple[Array, dict[RowKey, Array]]:
    """Logarithm of what is minimised, and of every limit's ratio, at many points."""
    with np.errstate(all="ignore"):
        at = evaluation.metrics(question, x)
        wanted = question.objectives[0]
        value = np.broadcast_to(np.asarray(evaluation.objective(question, x, at), dtype=float), (size,))
        log = value * math.log(2.0) if wanted.name == "halvings" else np.log(value)
        rows = {
            key: np.broadcast_to(_log_ratio(key, ratio, at), (size,))
            for key, ratio in evaluation.ratios(question, x, at).items()
        }
    return np.asarray(-log if wanted.maximize else log), rows


def _log_ratio(key: RowKey, ratio: Array, at: Mapping[str, Array]) -> Array:
    if key.name == "halvings":
        return np.asarray(at["halvings"]) * (math.log(2.0) if key.side == "max" else -math.log(2.0))
    return np.log(ratio)


def per_objective(question: Question, x: Mapping[str, float]) -> float:
    """Turns a slope of the log of what is minimised into percent of the user's objective."""
    wanted = question.objectives[0]
    sign = -1.0 if wanted.maximize else 1.0
    if wanted.name != "halvings":
        return sign
    halved = float(evaluation.metrics(question, x)["halvings"]) * math.log(2.0)
    return 1.0 / halved if abs(halved) > 1e-12 else math.nan


def limit_elasticity(
    question: Question, x: Mapping[str, float], key: RowKey, multiplier: float
) -> float | None:
    """Percent of the objective per percent of the limit's value (negative: relaxing a max lowers a minimum)."""
    side = -1.0 if key.side == "max" else 1.0
    if key.name == "halvings":
        side *= math.log(2.0) * (bound_of(question, key) or math.nan)
    e = side * multiplier * per_objective(question, x)
    return e if math.isfinite(e) else None


def with_limit(question: Question, key: RowKey, value: float | None) -> Question:
    """Give the same question with one of the user's limits or bounds at another value (None: gone)."""

    def moved(holder: _Holder) -> _Holder:
        if holder.name != key.name:
            return holder
        if key.side == "max":
            return holder if holder.maximum is None else dataclasses.replace(holder, maximum=value)
        return holder if holder.minimum is None else dataclasses.replace(holder, minimum=value)

    limits, decide = tuple(map(moved, question.limits)), tuple(map(moved, question.decide))
    return dataclasses.replace(question, limits=limits, decide=decide)


def bound_of(question: Question, key: RowKey) -> float | None:
    """The user's value of a limit or bound; None for a model's own limit."""
    if key.side == "model":
        return None
    low, high = evaluation.bounds(question)[key.name]
    return high if key.side == "max" else low
