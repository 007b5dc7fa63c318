"""Which limits of an infeasible question contradict each other, and the feasible value of each.

Works on any question a few variables wide: designs are found and their absence is proved by enumeration and
by interval branch and bound, so that nothing here needs structure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dse.models.model import ModelLimit
from dse.system.arrays import Array, Codes, Points
from formulations import evaluation
from formulations.arithmetics.many import Differ, plain
from formulations.arithmetics.posynomial import NotPosynomial
from formulations.problem import Problem, formulate
from formulations.programs.program import is_linear
from formulations.tolerances import HOLDS
from results.solution import Status
from scenarios.define import divisors
from scenarios.question import Limit, Question, freed, with_asked_gaps, without
from solvers import boxes, designs, enumeration
from solvers.designs import Table
from solvers.enumeration import ONE
from solvers.explaining import hopeless, least_values, wider
from solvers.explaining.known_designs import Known, broken, not_allowed, why_listed
from solvers.geometric import cases
from solvers.geometric.explaining import relaxed_limits
from solvers.geometric.programs import branch
from solvers.linear import milp_conflicts
from solvers.linear.boxes import program_boxes
from solvers.mechanisms.conflicts import (
    CAN_HOLD,
    CANNOT_HOLD,
    FEW_LIMITS,
    FEW_SEARCHED,
    NOT_KNOWN,
    by_set,
)
from solvers.mechanisms.why import Why, of_each, remembered
from solvers.nonlinear import feasibility, interval, methods
from solvers.nonlinear.search import FEASIBLE_BOXES
from solvers.outcome import INFEASIBLE, OPTIMAL, Outcome

SETS_LEFT_OPEN, FEWEST_BOXES = 4, 400
"""Searches for a design that meets some limits after which, if they stay open, others are given fewer and fewer boxes,
and how few at last."""
MOST_DESIGNS_KEPT = 2_000_000
SUBSET_BOXES = 20_000
ENDS = {Status.FEASIBLE: CAN_HOLD, Status.INFEASIBLE: CANNOT_HOLD}


def limit_names(question: Question) -> tuple[str, ...]:
    """Names of all limits that may be in conflict, in file order.

    Limits, bounds or whole numbers of variables, model's own; of what always holds what given numbers alone do not see
    to. Raises Differ where points of a question have others.
    """
    names = dict.fromkeys(limit.name for limit in question.limits)
    gaps = with_asked_gaps(question)
    names |= dict.fromkeys(
        d.name for d in question.decide if d.name in gaps or not (d.minimum is None and d.maximum is None)
    )
    # a limit that needs what this question does not state is not there
    somewhere = {d.name: np.float64(d.values[0] if d.values else 1.0) for d in question.decide}
    with np.errstate(all="ignore"):
        there = evaluation.metrics(question, somewhere)
    held = hopeless.held_by_all(question) if question.model.always & set(there) else frozenset()
    own = [
        x.name
        for x in question.model.limits
        if not (x.name in held if x.always else _always_divides(question, x, there))
    ]
    names |= dict.fromkeys(n for n in own if n in there and n not in question.waive)
    return tuple(names)


def _always_divides(question: Question, limit: ModelLimit, there: Mapping[str, Any]) -> bool:
    """Whether given numbers alone divide each other as a limit asks: no design breaks it."""
    if not limit.divides or not set(limit.divides) <= set(question.given) - {d.name for d in question.decide}:
        return False
    holds = np.asarray(plain(there.get(limit.name, np.nan)) <= 1.0)
    if holds.any() and not holds.all():
        raise Differ(holds)
    return bool(holds.all())


def why(question: Question) -> Why:
    """What tells why a question has no design, whatever its equations are.

    A set is met when a known design breaks only limits outside it, and otherwise decided by interval branch and bound.
    """
    names = limit_names(question)
    if not question.decide:
        return _why_broken(question, names)
    quick = designs.few(question) is not None and not any(d.name in names for d in question.decide)
    linear = None if quick else _why_of_linear(question)
    if linear is not None:
        return linear
    held = hopeless.held_by_all(question)
    names = tuple(n for n in names if n not in held)
    held = hopeless.held_by_lists(question, names)
    # of how many limits all sets are named goes by those that are asked for
    fewer = len(held.intersection(names))
    names = tuple(n for n in names if n not in held)
    known = _known_designs(question, names)
    alone = known.complete and known.decided.isdisjoint(names)
    # of a program the first set is told, as where its conflicts are searched for
    told_of_every = not (quick and is_linear(question))
    ended = set[str]()
    values = of_each(partial(feasible_value, question, ended=ended))
    few = (FEW_LIMITS if alone else FEW_SEARCHED) - fewer
    of_ended = partial(frozenset[str], ended)
    lost = hopeless.broken_by_all(question, names, 1)
    met = hopeless.unless_broken(by_set(known.met), lost)
    found = Why(
        names,
        met,
        values,
        lambda _: question,
        few,
        of_every_set=told_of_every,
        ended=of_ended,
        always=question.model.always,
        lost=lost,
    )
    # a set that has to be searched is asked for more than once
    return remembered(found)


def _why_broken(question: Question, names: tuple[str, ...]) -> Why:
    """The same where nothing is decided: the limits that are broken."""
    t = Table(question, {})
    at, every = enumeration.numbers(t, question, ONE)
    # a limit on what does not exist is none
    ratios = {k: v for k, v in every.items() if not np.isnan(np.asarray(plain(v), dtype=float)).any()}
    return why_listed(names, t, at, ratios)


def _why_of_linear(question: Question) -> Why | None:
    """The same of limits that are all affine and conflict, whatever the objective is; None of others."""
    if not is_linear(question):
        return None
    try:
        problem = formulate(replace(question, objectives=()), searched=True)
        if problem.program is None:
            return None
        found = milp_conflicts.why(problem.program, wider.ended(problem))
        whole = np.ones((1, len(found.names)), bool)
        return found if found.met(ONE, whole)[0] == CANNOT_HOLD else None
    except (NotPosynomial, ArithmeticError):
        return None


def _known_designs(question: Question, names: tuple[str, ...]) -> Known:
    """What is known of one question: enumerable designs (of the whole box), and designs scattered over the domain."""
    own = [limit.name for limit in question.model.limits]
    # bounds on menus are limits like others: designs beyond them are known, too
    free = tuple(d if d.menu is None else freed(d) for d in question.decide)
    every = designs.everything(
        replace(question, decide=free, limits=(), waive=question.waive | frozenset(own))
    )
    complete = every is not None and every.size <= MOST_DESIGNS_KEPT
    listed = every if complete else designs.grid(without(question, own))
    none = np.zeros((1, 0), dtype=np.int64)
    decided = frozenset(d.name for d in question.decide if d.menu is None)
    open_sets: list[Collection[str]] = []

    def search(_: Points, free: Collection[str]) -> Codes:
        # where many sets stay open others like them mostly do, too
        most = max(FEASIBLE_BOXES // max(len(open_sets) - SETS_LEFT_OPEN, 1), FEWEST_BOXES)
        told = _others_feasibility(question, free, learn, most)
        if told[0] == NOT_KNOWN:
            open_sets.append(free)
        return told

    known = Known(names, none, complete, decided, search, hopeless.entering(question, names))

    def learn(t: Table) -> None:
        _, ratios = enumeration.numbers(t, question, ONE)
        masks = broken(ratios, names, (1, t.size)) | not_allowed(t, names)
        known.broken = np.union1d(known.broken, masks)[None]

    if listed is not None and listed.size <= MOST_DESIGNS_KEPT:
        for part in listed.parts(question):
            learn(part)
    if not (complete and known.decided.isdisjoint(names)):
        wide = boxes.space(without(question, names))
        u = np.random.default_rng(0).random((4096, len(wide.names)))
        points = wide.spread(wide.low, wide.high, u)
        learn(Table(question, dict(zip(wide.names, points.T, strict=True))))
    return known


def _others_feasibility(
    question: Question, free: Collection[str], learn: Callable[[Table], None], most: int
) -> Codes:
    """Whether the other limits of one question can hold together.

    ``learn``: what a design tells of other sets. ``most``: boxes in which designs are searched for.
    """
    relaxed = _dividing(without(question, free))
    if any(map(_leaves_nothing, relaxed.limits)):
        return np.array([CANNOT_HOLD], np.int8)
    every = designs.grid(relaxed)
    if every is not None and every.size <= designs.OUTRIGHT:
        found = enumeration.optimum(replace(relaxed, objectives=()), every)
        if found.x is not None:
            learn(Table(question, {n: np.array([v]) for n, v in found.x.items()}))
        # what is beyond the designs that were tried may need a search
        if found.status in ENDS:
            return np.array([ENDS[found.status]], np.int8)
    known, x = milp_conflicts.affine_feasibility(relaxed)
    if x is not None:
        learn(Table(question, {n: np.array([v]) for n, v in x.items()}))
    problem, asked = None, replace(relaxed, objectives=())
    if known == NOT_KNOWN and not relaxed.model.black_box:
        problem = formulate(asked, searched=True)
        known = _by_rows(problem)
    # geometric programs may go on for long where a short search over them has not ended: intervals come before
    last = problem is not None and problem.rows is not None and problem.program is None
    # nor are programs sooner where only what is set free can be divided
    last |= not designs.free(question)
    if known == NOT_KNOWN and not last:
        known = _by_structure_alone(asked, problem)
    if known != NOT_KNOWN:
        return np.array([known], np.int8)
    where = boxes.spaces(relaxed, 1)
    design = np.full(where.low.shape, np.nan)
    told = feasibility.anywhere(relaxed, where, design, most)
    if told[0] == CAN_HOLD and not np.isnan(design).any():
        learn(Table(question, dict(zip(where.names, design.T, strict=True))))
    return np.array([_by_structure_alone(asked, problem)], np.int8) if last and told[0] == NOT_KNOWN else told


def _by_structure_alone(question: Question, problem: Problem | None) -> int:
    """Whether limits can hold together as far as their structure tells it."""
    found = _by_structure(question, problem)
    return NOT_KNOWN if found is None else ENDS.get(found.status, NOT_KNOWN)


def _leaves_nothing(limit: Limit) -> bool:
    """Whether the two ends of a limit are farther apart, the wrong way round, than the slack of both."""
    if limit.minimum is None or limit.maximum is None:
        return False
    return limit.minimum - limit.maximum > 2.0 * HOLDS * (abs(limit.minimum) + abs(limit.maximum))


def _by_rows(problem: Problem) -> int:
    """Whether limits that are rows of posynomials can hold together: any design ends that search."""
    if problem.rows is None or problem.program is not None:
        return NOT_KNOWN
    of = relaxed_limits.why(problem, most=branch.FEW_NODES_OF_A_SET)
    return int(np.asarray(of.met(ONE, np.ones((1, len(of.names)), bool)))[0])


def _by_structure(question: Question, problem: Problem | None = None) -> Outcome | None:
    """The optimum of a question whose limits have structure, or a proof that there is no design; None of others.

    ``problem``: the question's, where it is known already.
    """
    found = methods.answered_as_product(question) or program_boxes.minimise(question)
    if found is not None or question.model.black_box:
        return found
    problem = problem or formulate(question, searched=True)
    if problem.rows is None or problem.program is not None:
        return None
    outcome = cases.optimise(problem, ties=False).outcome
    return None if outcome.status in (Status.ERROR, Status.UNBOUNDED) else outcome


def _dividing(question: Question) -> Question:
    """Return a question whose counts are the divisors of what they have to divide, by limits that are in force.

    Of whole numbers whose product divides another one each divides it.
    """
    decided = {d.name: d for d in question.decide}

    def whole(name: str) -> bool:
        number = question.given.get(name)
        return decided[name].count if name in decided else isinstance(number, float) and number.is_integer()

    for x in question.model.limits:
        number = question.given.get(x.divides[0]) if x.divides and x.name not in question.waive else None
        if (
            x.either
            or not isinstance(number, float)
            or not number.is_integer()
            or not 1 <= number <= divisors.LARGEST_DIVIDED
        ):
            continue
        parts = [n for n in x.divides[1:] if n in decided and decided[n].choices is None]
        if not all(map(whole, x.divides[1:])):
            continue
        menu = divisors.divisors(int(number))
        for name in parts:
            d = decided[name]
            values = menu if d.values is None else tuple(v for v in d.values if v in menu)
            # without one that divides, its values break the limit as they are
            decided[name] = replace(d, integer=False, values=values, endless=False) if values else d
    return replace(question, decide=tuple(decided[d.name] for d in question.decide))


def feasible_value(question: Question, name: str, *, ended: set[str] | None = None) -> float | None:
    """Return the value of one limit that would make the question feasible with all others kept, or None.

    Where a search ends before it has proved that nothing less is feasible, the name joins ``ended``.
    """

    def least(asked: Question, count: int) -> tuple[Codes, Array]:
        found = solve(_dividing(asked))
        if ended is not None and found.status not in (Status.OPTIMAL, Status.INFEASIBLE):
            ended.add(name)
        if found.x is None:
            return np.full(count, INFEASIBLE, np.int8), np.full(count, np.nan)
        x = np.array([[found.x[d.name] for d in asked.decide]])
        return np.full(count, OPTIMAL, np.int8), least_values.at_designs(asked, x)

    value = float(least_values.feasible_values(question, 1, name, least)[0])
    return value if math.isfinite(value) else None


def solve(question: Question) -> Outcome:
    """The optimum by enumeration where combinations are few, else by interval branch and bound."""
    every = designs.grid(question)
    if every is None or every.size > MOST_DESIGNS_KEPT:
        found = _by_structure(question)
        if found is None or found.status is Status.FEASIBLE:
            found = interval.solve(question, work=SUBSET_BOXES)
        return found
    try:
        return enumeration.optimum(question, every)
    except OverflowError as problem:
        return Outcome(Status.ERROR, message=str(problem))
