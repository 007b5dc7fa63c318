"""One design for many worlds, where each world is a geometric program: a master problem that grows by cuts.

The master holds, of each limit, the worlds that are needed so far, and of the objective's measure the cuts made so far
(``formulations.uncertainty.world_cuts``): it asks for less than the question does, so its proved bound is a bound of
the question. Its design is judged in every world; what is broken there, and the measure where it lies above the
master's, is added. When nothing is left to add, the master's design is the question's optimum. This is the
cutting-set method (Mutapcic and Boyd, Optimization Methods and Software 24, 2009), and for the measure Kelley's
with posynomials for planes.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dse.system.arrays import Array
from dse.system.records import dataclass
from formulations import canonical as canon
from formulations.grids.divided import take
from formulations.problem import Kind
from formulations.row_keys import RowKey
from formulations.uncertainty import world_cuts
from formulations.uncertainty.measures import WORST, Weighing
from formulations.uncertainty.robust import Posed
from formulations.uncertainty.world_cuts import Point
from formulations.uncertainty.worlds import Worlds
from results.solution import Status
from scenarios.question import Question
from solvers.geometric import structured
from solvers.geometric.points.geometric_answers import PROOFS
from solvers.geometric.programs import kinks
from solvers.geometric.programs.unbounded import runaway
from solvers.outcome import Outcome
from solvers.robust.masters.master import MASTER_ROUNDS, Master, Round, grow, middle_design

if TYPE_CHECKING:
    from solvers.geometric.structured import Optimum

Elasticity = tuple[float, bool]
DISCRETE = "whole numbers and listed values change by jumps"
UNKNOWN = "the multipliers are not known"


@dataclass(frozen=True, slots=True)
class Found:
    """What a method found of a question in many worlds.

    ``outcome``: design and bound of the measure. ``elasticities``: percent of the measure per percent of each limit,
    where that is known, and whether that holds for relaxing only; ``unweighed``: why it is not. ``needed``: of each
    limit the worlds that the proof rests on. ``cuts``: how many the measure took. ``left_out``: of each limit with a
    probability the worlds in which it may fail.
    """

    outcome: Outcome
    elasticities: Mapping[RowKey, Elasticity] = field(default_factory=dict)
    needed: Mapping[RowKey, tuple[int, ...]] = field(default_factory=dict)
    cuts: int = 1
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    left_out: Mapping[str, frozenset[int]] = field(default_factory=dict)
    unweighed: str = ""

    def closed(self, question: Question) -> bool:
        """Whether nothing is left to ask: a proof that there is no design, or a design within the gap asked for."""
        status = self.outcome.status
        return status is not Status.ERROR and (status is not Status.FEASIBLE or not question.objectives)


def minimise(asked: Posed, measure: Weighing, *, tied: bool = True) -> Found:
    """Find the design whose objective has the least measure over the worlds, with every limit held in each of them.

    ``tied``: settle ties by the rule, at the nominal numbers, and weigh limits. Raises NotPosynomial where the measure
    cannot be cut: a mean of ratios of sums.
    """
    if measure == WORST and _is_nothing_somewhere(asked):
        return _any_design(asked)
    return minimise_master(Master(asked, measure, world_cuts.exact_goal(asked, measure)), tied=tied)


def minimise_master(master: Master, *, tied: bool = True) -> Found:
    """Find the best design of a master of one point, which holds nothing yet."""
    asked = master.asked
    *_, last = grow(master, middle_design(asked), partial(_search_alone, tied=tied))
    found = last.told[1]
    if not last.there[0]:
        return Found(_answer_of_empty_master(found.outcome, master), needed=needed_worlds(master.worlds()))
    if last.more[0]:
        words = f"{MASTER_ROUNDS} rounds of cuts did not close the gap"
        return Found(dataclasses.replace(found.outcome, status=Status.FEASIBLE, x={**last.x}, message=words))
    if not tied:
        return Found(dataclasses.replace(found.outcome, x={**last.x}), needed=needed_worlds(master.worlds()))
    found, x = _settled_ties(last)
    outcome = dataclasses.replace(found.outcome, x=x, solver="dse cuts over samples")
    elasticities, why = _weights_of_limits(master, found)
    return Found(
        outcome,
        elasticities,
        needed_worlds(master.worlds()),
        master.cuts,
        _ranges_of_decided(asked, found),
        unweighed="" if elasticities else why,
    )


def _is_nothing_somewhere(asked: Posed) -> bool:
    """Whether what is maximised is 0 at every design in one of the worlds."""
    goal = asked.goal
    if goal is None or goal.sign > 0:
        return False
    there = [np.broadcast_to(c != 0, asked.worlds.size) for c in goal.numerator.terms.values()]
    return not np.all(np.any(there, axis=0))


def _any_design(asked: Posed) -> Found:
    """What is said where the worst of the objective is 0, whatever the design."""
    free = dataclasses.replace(asked, goal=None)
    found = minimise(free, WORST)
    if found.outcome.x is None:
        return found
    name = asked.worlds.nominal.objectives[0].name
    text = f"{name} is 0 in a {asked.worlds.word} at every design"
    outcome = dataclasses.replace(found.outcome, status=Status.OPTIMAL, bound=0.0, certificate=text)
    return dataclasses.replace(found, outcome=outcome)


def endless(asked: Posed) -> tuple[str, bool] | None:
    """Name a variable along which the objective improves for ever in every world, and whether it falls.

    That follows from exponents, which are the same in all worlds. None where there is none, or equations are others.
    """
    posed, worlds = [r for r in (asked.goal, *asked.rows) if r is not None], asked.worlds
    plain = all(r.denominator.is_monomial and not world_cuts.has_maxima(r.numerator) for r in posed)
    if asked.goal is None or worlds.caps or not plain:
        return None
    names, keys, shape = (
        tuple(v.name for v in asked.variables),
        tuple(r.key for r in asked.rows),
        (worlds.size,),
    )
    # no bound may rest on an end that only a search has
    box = canon.boxes(asked.variables, shape, far=True)
    c = canon.arrays(names, [(r.numerator, r.denominator) for r in posed], keys, *box, shape)
    there = np.isfinite(c.logc[: worlds.measured]).all()
    return runaway(take(c, [0]), asked.variables) if there else None


def _search_alone(master: Master, *, tied: bool) -> tuple[Point, Array, tuple[structured.Searched, Optimum]]:
    searched = structured.search(master.problem(), tied=tied)
    found = structured.settle(searched, tied=False)
    return _design(master.asked, found), _bound(found), (searched, found)


def _design(asked: Posed, found: Optimum) -> dict[str, float]:
    x = found.outcome.x
    return {v.name: math.nan if x is None else float(x[v.name]) for v in asked.variables}


def _settled_ties(last: Round[tuple[structured.Searched, Optimum]]) -> tuple[Optimum, dict[str, float]]:
    """Settle ties in the last master; what then breaks a world that it does not hold is left."""
    chosen = structured.settle(last.told[0])
    there = _design(last.master.asked, chosen)
    if chosen.outcome.x is None or not last.master.still_met(there, _bound(chosen))[0]:
        return last.told[1], {**last.x}
    return chosen, there


def _bound(found: Optimum) -> Array:
    return np.array([math.nan if found.outcome.bound is None else found.outcome.bound])


def _answer_of_empty_master(outcome: Outcome, master: Master) -> Outcome:
    """What a master without a design says of the question."""
    if outcome.status is Status.INFEASIBLE:
        worlds = {i for _, i in master.worlds()}
        text = "no design meets all limits"
        text += f" in {some_worlds(master.asked.worlds, worlds)}" if worlds else ""
        return dataclasses.replace(outcome, certificate=f"{text}; {PROOFS[Kind.GP]}")
    return outcome


def needed_worlds(held: Iterable[tuple[RowKey, int]]) -> dict[RowKey, tuple[int, ...]]:
    """The worlds in which a master holds its limits, by limit."""
    found: dict[RowKey, tuple[int, ...]] = {}
    for key, i in held:
        found[key] = tuple(sorted({*found.get(key, ()), i}))
    return found


def some_worlds(worlds: Worlds, some: set[int]) -> str:
    """Name the first of some worlds: ``sample 3``, or ``vertices 0, 1``."""
    numbers = ", ".join(map(str, sorted(some)[:6])) + (", …" if len(some) > 6 else "")
    return f"{worlds.word if len(some) == 1 else worlds.plural} {numbers}"


def _weights_of_limits(master: Master, found: Optimum) -> tuple[dict[RowKey, Elasticity], str]:
    """Percent of the measure per percent of a limit: its multipliers, summed over the worlds that the master holds.

    Without them, why.
    """
    goal = master.goal
    if any(v.discrete for v in master.asked.variables):
        return {}, DISCRETE
    if not found.places or goal is None or goal.log2:
        return {}, "the objective is a logarithm" if goal is not None and goal.log2 else UNKNOWN
    duals = kinks.attained(found.places[0]).duals
    if not duals.known.all():
        return {}, UNKNOWN
    elasticities: dict[RowKey, Elasticity] = {}
    for key, multiplier, one_sided in zip(duals.keys, duals.value[0], duals.one_sided[0], strict=True):
        if key.side in ("max", "min"):
            toward = -1.0 if key.side == "max" else 1.0
            before, side = elasticities.get(key, (0.0, False))
            elasticities[key] = before + toward * goal.sign * float(multiplier), side or bool(one_sided)
    return elasticities, ""


def _ranges_of_decided(asked: Posed, found: Optimum) -> dict[str, tuple[float, float]]:
    names = {v.name for v in asked.variables}
    return {n: ends for n, ends in (found.ranges or {}).items() if n in names}
