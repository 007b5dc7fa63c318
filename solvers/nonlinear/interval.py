"""Certified global minimum of one question by interval branch and bound, for problems without structure.

The question is the case of one point of ``solvers.nonlinear.search``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from dse.quantities import plural
from dse.system.arrays import Array
from formulations import evaluation
from formulations.arithmetics import enclosures
from formulations.evaluation import nearest
from results.solution import Status
from scenarios.question import Question
from solvers import beyond, boxes, judgement
from solvers.boxes import Space
from solvers.nonlinear import search
from solvers.nonlinear.search import Boxes, Found
from solvers.outcome import BY_INTERVALS, INFEASIBLE, OPTIMAL, Outcome

SOLVER = BY_INTERVALS
MOST_BOXES = 200_000
FEW_TIGHTENED = 3
"""Variables up to which a box with far ends is first cut to what limits leave: of more, it takes too long."""


def solve(question: Question, *, work: int = MOST_BOXES, near: Outcome | None = None) -> Outcome:
    """Minimise (or maximise) the first objective, certified, or prove that no design meets all limits.

    ``near``: the answer within the nearest ends of a search (``evaluation.nearest``); only the rest is searched.
    ``work``: boxes examined at most. When it ends the search the outcome is ``feasible`` with the bound reached, or
    ``error`` where no design was found. Without an objective the outcome is ``feasible`` (any design) or
    ``infeasible``.
    """
    where = boxes.spaces(question, 1)
    first = known = None
    if near is not None:
        first, known = _shells(question, where), _answer(question, where, near)
    elif any(map(any, where.ends)) and len(where.names) <= FEW_TIGHTENED:
        first = _within_limits(question, where)
    found = search.minimise(question, where, work, first, known)
    if not found.met[0]:
        if found.status[0] == INFEASIBLE:
            if not beyond.nothing_beyond(question):
                # an end that only a search has proves nothing
                far = _farthest(question)
                if far is not None:
                    return solve(far, work=work)
                return Outcome(Status.ERROR, solver=SOLVER, message=beyond.searched(question))
            text = f"interval arithmetic: no part of the box can meet all limits ({plural(found.work[0], 'box')})"
            return Outcome(Status.INFEASIBLE, certificate=text, solver=SOLVER)
        text = f"neither a design nor a proof of infeasibility after {plural(found.work[0], 'box')}"
        return Outcome(Status.ERROR, solver=SOLVER, message=text)
    x = dict(zip(where.names, map(float, found.x[0]), strict=True))
    if not question.objectives:
        return Outcome(Status.FEASIBLE, x, certificate="a design that meets all limits", solver=SOLVER)
    runs = int(search.runaways(question, where, found, work)[0])
    if runs >= 0:
        far = _farthest(question)
        farther = None if far is None else solve(far, work=work)
        if farther is not None and farther.status is Status.OPTIMAL:
            return farther
        name = where.names[runs]
        falls = x[name] <= where.low[0, runs] * (1 + search.AT_BOX_END)
        text = f"{name} reaches the end of its search box"
        return Outcome(Status.UNBOUNDED, x, certificate=text, solver=SOLVER, runaway=name, falls=bool(falls))
    return _outcome(question, found, x)


def optimum_beside(question: Question, x: Mapping[str, float], work: int) -> Outcome | None:
    """The optimum among the designs that hold all limits but for rounding, as ``x`` does; None where none is proved.

    A limit of 0 otherwise holds within a part of what it limits, which may move other numbers much farther.
    """
    where = boxes.spaces(question, 1)
    if any(map(any, where.ends)):
        return None
    known = np.array([[x[name] for name in where.names]]), np.array([np.inf])
    found = search.minimise(question, where, work, known=known, held=search.HELD_TO_ROUNDING)
    if found.status[0] != OPTIMAL:
        return None
    return _outcome(question, found, dict(zip(where.names, map(float, found.x[0]), strict=True)))


def _within_limits(question: Question, where: Space) -> Boxes:
    """The box that limits leave of one with ends far out, which else is halved again and again before they show."""
    low, high = boxes.tightened(question, where)
    every = search.whole(where, bounded=bool(question.objectives))
    return every if (low > high).any() else replace(every, low=low, high=high)


def _farthest(question: Question) -> Question | None:
    """Return the question with the farthest ends; None where it has them already, or none that only a search has."""
    found = replace(question, reach=np.inf)
    near, far = boxes.space(question), boxes.space(found)
    same = np.array_equal(near.low, far.low) and np.array_equal(near.high, far.high)
    return None if same else found


def _outcome(question: Question, found: Found, x: dict[str, float]) -> Outcome:
    value, low = (_of_user(question, float(a[0])) for a in (found.value, found.bound))
    gap = float(judgement.relative_gap(value, low))
    if gap <= question.gap:
        text = f"interval branch and bound: {found.work[0]} boxes leave a gap of {gap:.1e}"
        ends = zip(x, *found.ends[:, 0].tolist(), strict=True)
        ranges = {name: (least, most) for name, least, most in ends if least < most}
        return Outcome(Status.OPTIMAL, x, low, text, SOLVER, ranges=ranges)
    # what is searched ends somewhere; the gap is told with the answer: another method may have the better bound
    low = _of_user(question, min(float(found.bound[0]), beyond.least(question, float(found.value[0]))))
    if judgement.believed(judgement.judge(question, {n: np.float64(v) for n, v in x.items()}, low)).closed[0]:
        text = f"interval branch and bound: {found.work[0]} boxes leave 0, but for rounding of what cancels"
        return Outcome(Status.OPTIMAL, x, low, text, SOLVER)
    text = f"interval branch and bound stopped after {plural(found.work[0], 'box')}"
    return Outcome(Status.FEASIBLE, x, low if np.isfinite(low) else None, text, SOLVER)


def _of_user(question: Question, least: float) -> float:
    """The user's objective from what is minimised, infinite where that has no end."""
    endless = evaluation.inverted(question) and least <= 0
    return np.inf if endless else float(evaluation.to_minimise(question, least))


def _shells(question: Question, where: Space) -> Boxes:
    """Boxes that cover what lies beyond the nearest ends of a search."""
    inner = boxes.space(nearest(question))
    every = list(beyond.outside(inner, where.low[0], where.high[0]))
    low, high = (
        np.array(side).reshape(-1, len(where.names))
        for side in (zip(*every, strict=True) if every else ((), ()))
    )
    key = np.full(len(low), -np.inf if question.objectives else 0.0)
    return Boxes(np.zeros(len(low), np.intp), low, high, key, np.ones_like(low))


def _answer(question: Question, where: Space, near: Outcome) -> tuple[Array, Array]:
    """The design of an answer, where it has one, and its bound, which stays in the proof."""
    if near.x is None:
        # a place in the box that is no worse than any other to begin with
        return enclosures.centres(where.low, where.high), np.array([np.inf])
    x = np.array([[near.x[name] for name in where.names]])
    if not question.objectives:
        return x, np.array([np.inf])
    if near.bound is None or (evaluation.inverted(question) and near.bound <= 0):
        return x, np.array([-np.inf])
    return x, np.array([evaluation.to_minimise(question, near.bound)])
