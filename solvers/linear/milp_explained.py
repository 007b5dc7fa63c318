"""What the limits and machine parameters of a linear or mixed-integer program are worth at its optimum.

For a linear program the rates at which the optimum moves: exact directional derivatives, each from a small linear
program over the rows that hold with equality, so that a degenerate vertex is seen (relaxing and tightening then
differ, and the rate for relaxing is told). For whole numbers: where the answer next changes.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from dse.models.model import MACHINE_PREFIX
from dse.system.arrays import Array, Bools, Indices
from dse.system.records import dataclass
from formulations import evaluation
from formulations.arithmetics.posynomial import NotPosynomial
from formulations.programs.program import Program, linear_cost, program
from formulations.row_keys import RowKey
from scenarios.question import Question
from solvers.linear import highs, milp, supports
from solvers.linear.linear_program import ROUNDED_AWAY, Numbers, Result, left_of_rows
from solvers.mechanisms import two_sides
from solvers.mechanisms.two_sides import Sides

RATE_ROUNDING = 1e-9
LEAST_COLUMN = 1e-3
TWO_SIDED = 1e-6
NUMBER_STEP = 1e-6
CLEARLY_BETTER = 1e-6
PAST = 1e-9


@dataclass(frozen=True, slots=True)
class Rate:
    """Percent of the objective per percent of a limit or number; ``one_sided``: for what betters the objective only."""

    value: float
    one_sided: bool


def rates(p: Program, best: Result) -> dict[RowKey, Rate]:
    """Elasticities of the objective by the user's limits, where an LP's optimum has a derivative from some side.

    None of limits of 0: percent of nothing is no rate.
    """
    u, n = best.u, best.numbers
    if u is None or n is None or best.cost is None or best.multipliers is None or best.value <= 0:
        return {}
    # what a front holds is no limit of the question
    found, active, asked = {}, _active(p, n, u), evaluation.bounds(p.question)
    for i, key in enumerate(p.keys):
        if key is None or key.side == "model":
            continue
        if asked.get(key.name, (None, None))[key.side == "max"] == 0.0:
            continue
        if not active[i]:
            found[key] = Rate(0.0, one_sided=False)
            continue
        slopes = [_one_sided_slope(p, best, s * _room(p, n, u, i)) for s in (1.0, -1.0)]
        if slopes[0] is None:
            continue
        relaxed = _relative(p, best, slopes[0])
        twosided = slopes[1] is not None and not _differ(relaxed, -_relative(p, best, slopes[1]))
        # a lower limit is relaxed by making it smaller
        side = -1.0 if key.side == "min" else 1.0
        rate = side * p.sign * relaxed
        found[key] = Rate(0.0 if abs(rate) < RATE_ROUNDING else rate, one_sided=not twosided)
    return found


def _room(p: Program, n: Numbers, u: Array, i: int) -> Array:
    """Room for one row alone: what it divides by, so that it is a part of its limit."""
    return np.where(np.arange(len(n.rows)) == i, float(p.denominators[i] @ u), 0.0)


def moves_at_once(p: Program, best: Result | None, key: RowKey) -> bool:
    """Whether the optimum of an LP is better as soon as a limit gives at all."""
    if best is None or best.u is None or best.numbers is None or best.cost is None:
        return False
    room = _room(p, best.numbers, best.u, p.keys.index(key))
    slope = _one_sided_slope(p, best, room)
    return slope is not None and slope < 0.0


def kept_choice(p: Program, rest: Result | None) -> Result | None:
    """The optimum of the LP that the whole numbers leave, ``rest``; None where nothing is divisible."""
    divisible = any(isinstance(c, str) and not w for c, w in zip(p.columns, p.integer, strict=True))
    return rest if divisible and p.goal is not None else None


def _relative(p: Program, best: Result, change: float) -> float:
    """The relative change of the ratio that a change of what was minimised means."""
    assert p.under is not None, "only with an objective does it change"
    assert best.u is not None, "only an optimum changes"
    assert best.cost is not None, "only an optimum changes"
    if p.goal is not None and not p.goal[:-1].any():
        # minus the denominator was minimised, over the numerator: the ratio is -1 over that
        return change / -float(best.cost @ best.u)
    return change / (best.value * float(p.under @ best.u)) if p.under[:-1].any() else change / best.value


def _differ(one: float, other: float) -> bool:
    """Whether two rates of change, to one side and to the other, are not the same."""
    return abs(one - other) > TWO_SIDED * max(abs(one), abs(other), RATE_ROUNDING)


def _active(p: Program, n: Numbers, u: Array) -> Bools:
    """Which rows hold with equality; the first of ``n`` are those of the program."""
    return n.equal | (left_of_rows(n.rows, u, (p.numerators, p.denominators), LEAST_COLUMN) <= RATE_ROUNDING)


def _one_sided_slope(p: Program, best: Result, give: Array) -> float | None:
    """How fast the optimum falls (< 0) or rises as each row is given so much room: exact, from one side."""
    n, u, cost = best.numbers, best.u, best.cost
    assert n is not None, "an optimum has a program"
    assert u is not None, "an optimum has a design"
    assert cost is not None, "an optimum has a cost"
    tight, at_low, at_high = _tight_at(p, n, u)
    rows = n.rows[tight].copy()
    rows[:, -1] = -give[tight]
    low, high = np.where(at_low, 0.0, -math.inf), np.where(at_high, 0.0, math.inf)
    slope = np.append(cost[:-1], 0.0)
    found = highs.minimise(Numbers(rows, n.equal[tight], low, high, np.zeros_like(at_low)), slope)
    return None if found.u is None else found.value


def _tight_at(p: Program, n: Numbers, u: Array) -> tuple[Bools, Bools, Bools]:
    """Which rows hold with equality, and which columns are at their lower and upper ends."""
    size = np.maximum(np.abs(u[:-1]), LEAST_COLUMN)
    at_low = u[:-1] - n.low <= RATE_ROUNDING * size
    at_high = n.high - u[:-1] <= RATE_ROUNDING * size
    return _active(p, n, u), at_low, at_high


def parameters(p: Program, best: Result) -> tuple[dict[str, Rate], list[str]]:
    """Percent of the objective per percent of every machine parameter at the optimum of an LP, and where there is none.

    From the Lagrangian; where more rows and ends hold than say where the optimum is, its multipliers may not be unique,
    and the change to each side is a small program. There is no rate of the numbers, named apart, at which what is
    minimised or a row that holds with equality jumps.
    """
    n = best.numbers
    if (
        best.u is None
        or best.multipliers is None
        or n is None
        or p.goal is None
        or best.value <= 0
        or p.exact
    ):
        return {}, []
    question, found, jumps = p.question, {}, list[str]()
    tight, at_low, at_high = _tight_at(p, n, best.u)
    several = sum(map(np.count_nonzero, (tight, at_low, at_high))) > best.u.size - 1
    for name, value in question.given.items():
        if not name.startswith(MACHINE_PREFIX) or not isinstance(value, float) or value == 0:
            continue
        sides = _sides(p, name, value, best)
        if sides is None:
            continue
        counts = np.append(True, tight[: len(best.multipliers)] | (best.multipliers != 0))
        if (sides.leaps & counts).any() or sides.broken[1:].any():
            jumps.append(name)
            continue
        if ((np.isnan(sides.behind) | np.isnan(sides.ahead)) & counts).any():
            continue
        ends = []
        for s, side in ((1.0, sides.ahead), (-1.0, sides.behind)):
            goal, *rows = np.where(counts, side, 0.0)
            slope = goal + best.multipliers @ rows
            if several:
                give = np.append(rows, np.zeros(len(n.rows) - len(rows)))
                moved = _one_sided_slope(p, best, -s * give)
                slope = None if moved is None else goal + s * moved
            ends.append(slope)
        if ends[0] is None or ends[1] is None:
            continue
        more, less = _relative(p, best, ends[0]), _relative(p, best, ends[1])
        apart = _differ(more, less)
        # of less and more of a number what betters the objective
        better = max(less, 0.0) if max(less, 0.0) >= -min(more, 0.0) else more
        rate = p.sign * (better if apart else more)
        rate = 0.0 if abs(rate) < RATE_ROUNDING else rate
        found[name] = Rate(rate, one_sided=apart)
    return found, jumps


def _sides(p: Program, name: str, value: float, best: Result) -> Sides | None:
    """Slopes of what is minimised, and of each row, in one number's logarithm; None where others have other rows."""
    assert best.u is not None, "only an optimum has a Lagrangian"

    def at(factors: Array, _: Indices) -> Array:
        given = p.question.given
        found = [
            _moved(replace(p.question, given={**given, name: value * f}), best) for f in factors.tolist()
        ]
        if any(one is None for one in found):
            raise NotPosynomial("other rows")
        return np.array(found)[:, None]

    terms = np.vstack([linear_cost(*milp.objective(p), best.value), p.rows])
    # what is left of large terms is rounding
    scale = np.maximum(np.abs(terms) @ np.abs(best.u), LEAST_COLUMN)
    try:
        found = two_sides.sides(at, at(np.ones(1), np.arange(1))[0, 0], 1, NUMBER_STEP, scale)
    except NotPosynomial:
        return None
    return Sides(found.behind[0], found.ahead[0], found.leaps[0], found.broken[0])


def _moved(question: Question, best: Result) -> Array | None:
    """What is minimised, and each row, at an optimum of other numbers; None where these have other rows."""
    try:
        p = program(question)
    except (NotPosynomial, ArithmeticError):
        return None
    assert best.u is not None, "only an optimum has a Lagrangian"
    assert best.multipliers is not None, "only an LP has multipliers"
    rows = p.rows
    if len(rows) != len(best.multipliers):
        return None
    cost = linear_cost(*milp.objective(p), best.value)
    return np.append(cost @ best.u, rows @ best.u)


def next_change(p: Program, best: Result, key: RowKey, now: float = 1.0) -> tuple[float, float] | None:
    """By which factor a limit has to give for a better design, and the ratio of the best one there.

    The factor is that of the limit's ratio (value/bound of an upper limit), which today is to be at most ``now``. None
    where no room ever helps.
    """
    if _one_of_many(p, key):
        return None
    goal, under = milp.objective(p)
    better = goal - best.value * (1.0 - CLEARLY_BETTER) * under
    n = milp.numbers(p, drop=[key], more=(better,))
    i = p.keys.index(key)
    first = milp.least(p, n, p.numerators[i], p.denominators[i])
    if first.u is None or first.bound <= now * (1.0 - PAST) or not math.isfinite(first.value):
        return None
    factor = max(first.value, now)
    past = ROUNDED_AWAY if p.integer.all() else PAST
    relaxed = replace(milp.numbers(p, factors={key: factor * (1.0 + past)}), known=best.known)
    there = milp.least(p, relaxed, goal, under, first.u)
    # what is better from a limit of 0 on, little by little, has no step that would be a change
    if there.u is None or (not now and there.value >= best.value * (1.0 - 2.0 * CLEARLY_BETTER)):
        return None
    return factor, there.value


def _one_of_many(p: Program, key: RowKey) -> bool:
    """Whether a limit says how many of several things there may be, and other such limits would remain.

    What one more of them buys is then often rounding alone, for which the search has no bounds.
    """
    kept, every = (supports.few_of_several(milp.numbers(p, drop=drop)).sum() for drop in ([key], []))
    return bool(0 < kept < every)
