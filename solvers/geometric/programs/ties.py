"""Which of many optimal designs to hand out, and how far the others reach: what decides, in which order.

Whole numbers and forms that divisors depend on are settled by branching, the rest in the optimal face
(``solvers.geometric.programs.optimal_face``).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import partial

import numpy as np

from dse.system.records import dataclass
from formulations import canonical as canon
from formulations.arithmetics.maxima import names_in, split
from formulations.arithmetics.posynomial import Posynomial
from formulations.canonical import Array, Canonical
from formulations.grids.batch import Batch, Table
from formulations.problem import Goal, Problem, Row, Variable, symbols
from formulations.row_keys import RowKey
from formulations.tolerances import TIE
from scenarios.question import Decision
from solvers import side_by_side
from solvers.geometric.kernel import gp
from solvers.geometric.programs import branch, multipliers, optimal_face
from solvers.geometric.programs.optimal_face import Solver, Stages
from solvers.outcome import ENUMERATION

SETTLED_WIDTH = 1e-2
NUDGE = 1e-7
NUDGES = tuple(NUDGE * 10.0 ** (-k / 2) for k in range(5))
"""Where a nudge moves the goal by more than a tie may differ by, a smaller one is tried."""
NEXT = 0.1
MOST_TIE_NODES = 300


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
    known: gp.Result | None = None,
    *,
    ranged: bool = True,
    after: int = 0,
) -> Chosen:
    """Break ties among the designs that are as good as ``y``; ``stages``: what decides, by default the tie rule.

    ``known``: what the kernel says of the goal's optimum, with the whole numbers of ``y`` held, where that is at hand.
    ``ranged``: whether anybody asks how far variables range, which for whole numbers and forms is two searches each.
    ``after``: ranges are those among the designs that are best by so many of the stages (1 where the first one is the
    objective itself).

    Whole numbers and the forms that make a problem signomial are settled first by branching, the rest in the face.
    """
    c = canon.canonical(problem, goal)
    stages = tie_goals(problem, goal.name if goal else "") if stages is None else stages
    ranges: dict[str, tuple[float, float]] = {}
    if c.allowed or c.divisors:
        first = y
        y, ranges = _settled_by_ties(problem, goal, c, stages, y, ranged)
        known = known if y is first else None
    fixed = {c.names[i]: float(np.exp(y[i])) for i in c.allowed}
    settled = canon.canonical(problem, goal, fixed=fixed) if fixed else c
    r = multipliers.at(settled, y) if known is None else known
    rule, here = _rule(problem, settled, stages, y), np.zeros(1, np.intp)
    found = optimal_face.choose(
        rule, here, dataclasses.replace(r, y=y[None]), after=after if ranged else None
    )
    for name, low, high in zip(c.names, found.low[0], found.high[0], strict=True):
        if low < high:
            ranges[name] = (float(np.exp(low)), float(np.exp(high)))
    return Chosen(found.y[0], ranges, float(found.first[0]))


def _rule(problem: Problem, c: Canonical, stages: Sequence[Goal], y: Array) -> Stages:
    """The tie rule at one optimum; the divisors' forms keep their value, those of stages are their tangents there."""
    table, wanted, none = _tangents(c, y), [], np.zeros((0, y.size))
    for stage in stages:
        one = canon.canonical(dataclasses.replace(problem, rows=()), stage)
        wanted.append(_tangents(one, y))
    low, high = c.low[None], c.high[None]
    tangents = dataclasses.replace(
        c, exponents=table.exponents, logc=table.logc, low=low, high=high, divisors=(), forms=none
    )
    batch = Batch(problem.question, problem, (1,), tangents)
    return optimal_face.stages(batch, wanted, side_by_side.solve, c.forms)


def _tangents(c: Canonical, y: Array) -> Table:
    a, b = canon.restriction(c, y[None])
    return Table(a[0], b, c.ptr)


def of_batch(batch: Batch, solve: Solver) -> Stages | None:
    """The tie rule of many optima; None where something that it asks for is not a posynomial over a monomial."""
    assert batch.problem.goal is not None, "a batch has a goal"
    wanted = tie_goals(batch.problem, batch.problem.goal.name)
    if not all(g.denominator.is_monomial for g in wanted):
        return None
    return optimal_face.stages(batch, [batch.of([(g.numerator, g.denominator)]) for g in wanted], solve)


def _settled_by_ties(
    problem: Problem, goal: Goal | None, c: Canonical, stages: Sequence[Goal], y: Array, ranged: bool
) -> tuple[Array, dict[str, tuple[float, float]]]:
    """Range of every whole number and form over the optimal designs; where not unique, the tie rule by branching.

    The goal is nudged by a tiny power of what decides the tie: unlike a row that holds the goal at its optimum
    this leaves the feasible set as wide as it is.
    """
    ranges: dict[str, tuple[float, float]] = {}
    loose = not ranged
    directions = [*np.eye(len(c.names))[list(c.allowed)], *c.forms] if ranged else []
    reach = partial(_least_of_form, problem, goal, c, y)
    lows = side_by_side.run([partial(reach, sign * d) for d in directions for sign in (1.0, -1.0)])
    for direction, low, high in zip(directions, lows[::2], [-x for x in lows[1::2]], strict=True):
        alone = np.flatnonzero(direction)
        whole = alone.size == 1 and int(alone[0]) in c.allowed
        if high - low > (1e-12 if whole else SETTLED_WIDTH):
            loose = True
            if alone.size == 1:
                ranges[c.names[alone[0]]] = (float(np.exp(low)), float(np.exp(high)))
    if not loose:
        return y, ranges
    for nudge in NUDGES:
        nudged_problem, nudged_goal = _nudged(problem, goal, stages, y, nudge)
        found = branch.minimise(canon.canonical(nudged_problem, nudged_goal), most=MOST_TIE_NODES)
        if found.y is None:
            break
        if goal is None or _as_good(c, y, found.y[: y.size]):
            return found.y[: y.size], ranges
    return y, ranges


def _as_good(c: Canonical, y: Array, other: Array) -> bool:
    """Whether the goal at two designs is the same but for what a tie may differ by."""
    return bool(np.ptp(canon.values(c, np.stack([y, other]))[:, 0]) <= TIE)


def _least_of_form(problem: Problem, goal: Goal | None, c: Canonical, y: Array, direction: Array) -> float:
    """The least value of a linear form over the optimal designs."""
    names = [v.name for v in problem.variables]
    for nudge in NUDGES:
        power = 1.0 if goal is None else nudge
        key = tuple(sorted((n, power * float(e)) for n, e in zip(names, direction, strict=True) if e != 0))
        nudged = _goal_times(goal, Posynomial({key: 1.0}))
        c_nudged = canon.canonical(problem, nudged)
        found = branch.minimise(c_nudged, gap=nudge * SETTLED_WIDTH / 10, incumbent=y, most=MOST_TIE_NODES)
        if found.y is None:
            break
        if goal is None or _as_good(c, y, found.y):
            return float(direction @ found.y)
    return float(direction @ y)


def _nudged(
    problem: Problem, goal: Goal | None, stages: Sequence[Goal], y: Array, nudge: float
) -> tuple[Problem, Goal]:
    """Add one variable per stage, above that stage's value; the goal times tiny powers of them."""
    point = {v.name: float(x) for v, x in zip(problem.variables, np.exp(y), strict=True)}
    variables, rows, weight = (
        list(problem.variables),
        list(problem.rows or ()),
        1.0 if goal is None else nudge,
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
    return wider, _goal_times(goal, Posynomial({tuple(sorted(powers)): 1.0}))


def _goal_times(goal: Goal | None, factor: Posynomial) -> Goal:
    one = Posynomial({(): 1.0})
    base = goal or Goal("tie", one, one)
    return dataclasses.replace(base, numerator=base.numerator * factor)
