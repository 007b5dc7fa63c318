"""Which of many optimal designs to hand out, and how far the others reach.

The optimal set of a geometric program is a face: along it no term of the goal and no term of a limit with a positive
multiplier changes. Ties are broken by moving inside that face, so nothing of the objective is given away; only terms
too small to matter (below TIE) are let go, and then the goal itself stays as a row.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from formulations import canonical as canon
from formulations.canonical import Array, Canonical
from formulations.evaluation import RowKey
from formulations.maxima import names_in, split
from formulations.posynomial import Posynomial
from formulations.problem import Goal, Problem, Row, Variable, symbols
from formulations.tolerances import TIE
from scenarios.question import Decision
from solvers import branch, gp, multipliers, side_by_side
from solvers.multipliers import Multipliers
from solvers.outcome import ENUMERATION

SAME = 1e-2
NUDGE = 1e-7
NEXT = 0.1
MOST = 300


@dataclass(frozen=True, slots=True)
class Chosen:
    """The design handed out (log variables), and the interval of optimal values of each variable that is not unique.

    ``first``: proven lower bound (log) of the first tie breaker over the optimal face.
    """

    y: Array
    ranges: dict[str, tuple[float, float]]
    first: float


def tie_goals(problem: Problem, optimised: str) -> list[Goal]:
    """What ties go to, in order (``Question.tie_order``), then smaller decided quantities in file order."""
    goals = []
    unknowns = {v.name for v in problem.variables}
    known = problem.known or symbols(problem.question)
    for name in dict.fromkeys((*problem.question.tie_order, *(v.name for v in problem.variables))):
        r = None if name == optimised else known.get(name)
        if (
            r is None
            or not r.numerator.terms
            or (name in problem.question.ties and not r.denominator.is_monomial)
        ):
            continue
        pair = split((r.numerator, r.denominator))
        # a maximum that this problem does not hold decides no tie
        if names_in(pair) <= unknowns:
            goals.append(Goal(name, *pair))
    return goals


def unsettled(problem: Problem, solver: str) -> tuple[str, ...]:
    """Return the names in the file's order of ties by which ``solver`` could not settle the ties of this problem."""
    question = problem.question
    goal = question.objectives[0].name if question.objectives else ""
    asked = [name for name in question.ties if name != goal]
    if not asked or solver == ENUMERATION:
        return ()
    if problem.program is not None:
        settled = {name for name, *_ in problem.program.ties}
    elif problem.rows is None and not problem.cases:
        settled = set()
    else:
        settled = {g.name for case in problem.cases or (problem,) for g in tie_goals(case, goal)}
    return tuple(name for name in asked if name not in settled)


def coordinate(name: str, power: float) -> Goal:
    """Minimise (power 1) or maximise (power -1) one variable."""
    return Goal(name, Posynomial({((name, power),): 1.0}), Posynomial({(): 1.0}))


def no_worse(goal: Goal, log_value: float) -> Row:
    """A row that keeps the goal at its optimum, within TIE."""
    scale = Posynomial({(): float(np.exp(-(log_value + TIE)))})
    return Row(RowKey("optimum", "model"), goal.numerator * scale, goal.denominator)


def choose(
    problem: Problem,
    goal: Goal | None,
    y: Array,
    stages: Sequence[Goal] | None = None,
    known: Multipliers | None = None,
    *,
    ranged: bool = True,
    after: int = 0,
) -> Chosen:
    """Break ties among the designs that are as good as ``y``; ``stages``: what decides, by default the tie rule.

    ``known``: multipliers of the goal's optimum, where they are at hand. ``ranged``: whether anybody asks how far whole
    numbers and forms range, each of which is two searches. ``after``: ranges are those among the designs that are best
    by so many of the stages (1 where the first one is the objective itself).

    Whole numbers and the forms that make a problem signomial are settled first by branching, the rest in the face.
    """
    c = canon.canonical(problem, goal)
    stages = tie_goals(problem, goal.name if goal else "") if stages is None else stages
    ranges: dict[str, tuple[float, float]] = {}
    if c.allowed or c.divisors:
        y, ranges = _settle(problem, goal, c, stages, y, ranged)
    fixed = {c.names[i]: float(np.exp(y[i])) for i in c.allowed}
    settled = canon.canonical(problem, goal, fixed=fixed) if fixed else c
    flat = _face(
        settled, y, multipliers.at(settled, y) if known is None or c.allowed or c.divisors else known
    )
    first = None
    for number, stage in enumerate((*stages, None)):
        if flat.shape[1] == 0:
            break
        if number == after:
            ranges |= _extent(problem, goal, fixed, y, flat, stages[:after])
        if stage is None:
            break
        y, flat, bound = _descend(problem, goal, stage, fixed, y, flat)
        first = bound if first is None else first
    if first is None:
        first = float(canon.values(canon.canonical(problem, stages[0]), y[None])[0, 0]) if stages else 0.0
    return Chosen(y, ranges, first)


def _settle(
    problem: Problem, goal: Goal | None, c: Canonical, stages: Sequence[Goal], y: Array, ranged: bool
) -> tuple[Array, dict[str, tuple[float, float]]]:
    """Range of every whole number and form over the optimal designs; where not unique, the tie rule by branching.

    The goal is nudged by a tiny power of what decides the tie: unlike a row that holds the goal at its optimum
    this leaves the feasible set as wide as it is.
    """
    ranges: dict[str, tuple[float, float]] = {}
    loose = not ranged
    directions = [*np.eye(len(c.names))[list(c.allowed)], *c.forms] if ranged else []
    reach = partial(_reach, problem, goal, c, y)
    lows = side_by_side.run([partial(reach, sign * d) for d in directions for sign in (1.0, -1.0)])
    for direction, low, high in zip(directions, lows[::2], [-x for x in lows[1::2]], strict=True):
        alone = np.flatnonzero(direction)
        whole = alone.size == 1 and int(alone[0]) in c.allowed
        if high - low > (1e-12 if whole else SAME):
            loose = True
            if alone.size == 1:
                ranges[c.names[alone[0]]] = (float(np.exp(low)), float(np.exp(high)))
    if not loose:
        return y, ranges
    nudged_problem, nudged_goal = _nudged(problem, goal, stages, y)
    found = branch.minimise(canon.canonical(nudged_problem, nudged_goal), most=MOST)
    return (y if found.y is None else found.y[: y.size]), ranges


def _reach(problem: Problem, goal: Goal | None, c: Canonical, y: Array, direction: Array) -> float:
    """The least value of a linear form over the optimal designs."""
    names = [v.name for v in problem.variables]
    power = 1.0 if goal is None else NUDGE
    key = tuple(sorted((n, power * float(e)) for n, e in zip(names, direction, strict=True) if e != 0))
    nudged = _times(goal, Posynomial({key: 1.0}))
    c_nudged = canon.canonical(problem, nudged)
    found = branch.minimise(c_nudged, gap=NUDGE * SAME / 10, incumbent=y, most=MOST)
    if found.y is None or (goal and np.ptp(canon.values(c, np.stack([y, found.y]))[:, 0]) > 10 * TIE):
        return float(direction @ y)
    return float(direction @ found.y)


def _nudged(problem: Problem, goal: Goal | None, stages: Sequence[Goal], y: Array) -> tuple[Problem, Goal]:
    """Add one variable per stage, above that stage's value; the goal times tiny powers of them."""
    point = {v.name: float(x) for v, x in zip(problem.variables, np.exp(y), strict=True)}
    variables, rows, weight = (
        list(problem.variables),
        list(problem.rows or ()),
        1.0 if goal is None else NUDGE,
    )
    powers = []
    for stage in stages:
        if not stage.denominator.is_monomial:
            continue
        name, now = f"least {stage.name}", stage.numerator(**point) / stage.denominator(**point)
        # wide on both sides: a stage that gives way to an earlier one may grow by any factor
        variables.append(Variable(name, now * 1e-30, now * 1e30, True, True, Decision(name)))
        above = Posynomial({((name, 1.0),): 1.0})
        rows.append(Row(RowKey(name, "model"), stage.numerator, stage.denominator * above))
        powers.append((name, weight))
        weight *= NEXT
    wider = dataclasses.replace(problem, variables=tuple(variables), rows=tuple(rows))
    return wider, _times(goal, Posynomial({tuple(sorted(powers)): 1.0}))


def _times(goal: Goal | None, factor: Posynomial) -> Goal:
    one = Posynomial({(): 1.0})
    base = goal or Goal("tie", one, one)
    return dataclasses.replace(base, numerator=base.numerator * factor)


def _face(c: Canonical, y: Array, known: Multipliers) -> Array:
    """Directions (n, d) along which nothing that matters to the optimum changes; the divisors' forms stay."""
    a, b = canon.restriction(c, y[None])
    slack = -canon.values(c, y[None])[0]
    matter = stiff(known.rows, gp.weights(a, b, c.ptr, y[None])[0], slack, c.row_of_term)
    pushed = (known.low > 1e-7) | (known.high > 1e-7) | (c.high - c.low < 1e-13)
    return null(np.concatenate([a[0][matter], c.forms, np.eye(y.size)[pushed]]))


def stiff(rows: Array, weights: Array, slack: Array, row: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Tell which terms matter to an optimum: of the goal and of rows with a multiplier, if not too small to count."""
    force = np.concatenate([[1.0], rows])[row]
    tight = np.concatenate([[0.0], slack[1:]])[row] < 1e-6
    return np.asarray((force > 1e-7) & tight & (weights * force > TIE))


def null(rows: Array) -> Array:
    """Orthonormal directions that the rows do not see; single variables stay single."""
    n = rows.shape[1]
    if rows.shape[0] == 0:
        return np.eye(n)
    _, s, v = np.linalg.svd(rows)
    rank = int((s > 1e-9 * max(1.0, float(s.max(initial=0.0)))).sum())
    null = v[rank:].T
    alone = [i for i in range(n) if np.abs(rows[:, i]).max() < 1e-12]
    return np.eye(n)[:, alone] if len(alone) == null.shape[1] else null


def _reduced(
    problem: Problem,
    goals: Sequence[Goal],
    target: Goal | None,
    fixed: dict[str, float],
    y: Array,
    flat: Array,
) -> tuple[Canonical, Array, Array, NDArray[np.intp]]:
    """Arrays in face coordinates t (y + flat t): target over the rows, the goals kept, the box as rows."""
    c = canon.canonical(problem, target, extra=[_held(goal, problem, y) for goal in goals], fixed=fixed)
    a, b = canon.restriction(c, y[None])
    b = b + (a @ y)
    over = canon.values(c, y[None])[0, 1:]
    lift = np.concatenate([[0.0], np.maximum(over, 0.0) + 1e-11])
    b = b - lift[c.row_of_term]
    n = y.size
    free = c.high - c.low > 1e-13
    sides = np.concatenate([np.eye(n)[free], -np.eye(n)[free]])
    ends = np.concatenate([(y - c.high)[free], (c.low - y)[free]])
    a2 = np.concatenate([a[0], sides]) @ flat
    b2 = np.concatenate([b[0], np.minimum(ends, -1e-11)])
    ptr = np.concatenate([c.ptr, c.ptr[-1] + np.arange(1, ends.size + 1)])
    return c, a2, b2, _without_constant_rows(a2, ptr, b2)


def _one(goal: Goal | None) -> list[Goal]:
    return [] if goal is None else [goal]


def _held(goal: Goal, problem: Problem, y: Array) -> Row:
    point = {v.name: float(x) for v, x in zip(problem.variables, np.exp(y), strict=True)}
    return no_worse(goal, float(np.log(goal.numerator(**point)) - np.log(goal.denominator(**point))))


def _without_constant_rows(a: Array, ptr: NDArray[np.intp], b: Array) -> NDArray[np.intp]:
    """Switch off rows that cannot change along the face (they hold already)."""
    for k in range(1, ptr.size - 1):
        rows = slice(ptr[k], ptr[k + 1])
        if np.abs(a[rows]).max(initial=0.0) < 1e-12:
            b[rows] = -np.inf
    return ptr


def _span(c: Canonical) -> float:
    return float((c.high - c.low).max() * np.sqrt(c.high.size) + 1.0)


def _extent(
    problem: Problem,
    goal: Goal | None,
    fixed: dict[str, float],
    y: Array,
    flat: Array,
    also: Sequence[Goal] = (),
) -> dict[str, tuple[float, float]]:
    """Smallest and largest optimal value of each variable that the face leaves open; ``also``: other goals kept."""
    c, a, b, ptr = _reduced(problem, [*_one(goal), *also], None, fixed, y, flat)
    open_ones = [i for i in range(y.size) if np.abs(flat[i]).max() > 1e-9]
    goals = np.array([sign * flat[i] for i in open_ones for sign in (1.0, -1.0)])
    many = np.broadcast_to(a, (len(goals), *a.shape)).copy()
    many[:, 0, :] = goals
    logc = np.broadcast_to(b, (len(goals), b.size)).copy()
    logc[:, 0] = 0.0
    span = np.full((len(goals), flat.shape[1]), _span(c))
    r = side_by_side.solve(many, logc, ptr, -span, span)
    out = {}
    for j, i in enumerate(open_ones):
        low, high = y[i] + r.value[2 * j], y[i] - r.value[2 * j + 1]
        if np.all(r.status[2 * j : 2 * j + 2] == 0) and high - low > 1e-6:
            out[c.names[i]] = (float(np.exp(low)), float(np.exp(high)))
    return out


def _descend(
    problem: Problem, goal: Goal | None, stage: Goal, fixed: dict[str, float], y: Array, flat: Array
) -> tuple[Array, Array, float]:
    """Move inside the face to the least ``stage``; the new face is what it leaves open; the stage's proven bound."""
    c, a, b, ptr = _reduced(problem, _one(goal), stage, fixed, y, flat)
    span = np.full((1, flat.shape[1]), _span(c))
    r = side_by_side.solve(a, b[None], ptr, -span, span)
    if r.status[0] != 0:
        return y, flat, float(r.bound[0])
    moved = y + flat @ r.y[0]
    row = np.repeat(np.arange(ptr.size - 1), np.diff(ptr))
    slack = -gp.evaluate(a[None], b[None], ptr, r.y)[0]
    matter = stiff(r.multipliers[0], gp.weights(a[None], b[None], ptr, r.y)[0], slack, row)
    return moved, flat @ null(a[matter]), float(r.bound[0])
