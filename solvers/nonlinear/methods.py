"""Questions whose arithmetic is not a ratio of posynomials: which method answers them, surest first."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from formulations import evaluation
from formulations.arithmetics.posynomial import NotPosynomial
from formulations.programs.program import is_linear, product
from results.solution import Status
from scenarios.question import Question
from solvers import boxes, designs, enumeration, judgement
from solvers.designs import Grid
from solvers.outcome import BY_INTERVALS, BY_SCIP, NO_PROOF, Outcome

FEW_FREE, SHORT_SEARCH = 3, 3000
ENUMERATED_FIRST = 4_000_000
"""Designs that are all tried, or excluded by intervals, before programs are solved for the factors of a product."""
CLOSE = 1e-3
"""A gap that samples are not asked to close."""
FINAL = (Status.OPTIMAL, Status.INFEASIBLE, Status.UNBOUNDED)


def unstructured(question: Question, every: Grid | None = None) -> Outcome:
    """Enumeration where all is discrete, interval branch and bound where a proof is within reach, else a sampler.

    ``every``: what ``designs.grid`` says of the question, where that is known.
    """
    every = designs.grid(question) if every is None else every
    count = None if every is None else every.size
    if count is not None and count <= ENUMERATED_FIRST:
        return enumeration.optimum(question, every)
    found = answered_as_product(question)
    if found is not None and found.status is not Status.FEASIBLE:
        return found
    if count is not None and count <= enumeration.MOST_ENUMERATED:
        return enumeration.optimum(question, every)
    if found is not None:
        return found
    from solvers.linear.boxes import program_boxes
    from solvers.nonlinear import interval, poles

    # what interval arithmetic proves at once is surest; where it takes long, SCIP mostly does not
    short = (partial(interval.solve, work=SHORT_SEARCH),) if designs.free(question) <= FEW_FREE else ()
    found = program_boxes.minimise(question)
    last = len(question.decide) > FEW_FREE or not question.objectives
    if found is not None and (last or found.status is not Status.FEASIBLE):
        return found
    tried: list[Outcome] = [] if found is None else [found]
    by_scip = partial(_answered_by_scip, tried=tried)
    for method in (*short, by_scip, interval.solve):
        try:
            found = method(question)
        except (ArithmeticError, ValueError) as problem:
            name = getattr(method, "func", method).__module__
            found = Outcome(Status.ERROR, message=f"{name}: {problem}")
        ended = poles.followed(question, found)
        # where nothing is minimised any design is the answer
        if (
            ended.status in FINAL
            or found.status in FINAL
            or (found.x is not None and not question.objectives)
        ):
            return ended
        tried.append(found)
    return _sampled(question, tried)


def in_reach_of_intervals(question: Question) -> bool:
    """Whether a short search over intervals may close a question with one objective."""
    if not question.decide or len(question.objectives) != 1 or not designs.plain(question):
        return False
    if any(
        d.choices is not None or d.base is not None or any(x <= 0 for x in d.values or ())
        for d in question.decide
    ):
        return False
    return designs.free(question) <= FEW_FREE and not is_linear(question)


def listed_optimum(question: Question) -> Outcome | None:
    """Return the optimum of a question in whole or listed numbers alone, ties settled exactly.

    None where a short search over intervals does not find it.
    """
    if designs.free(question) or not in_reach_of_intervals(question):
        return None
    return short_optimum(question)


def short_optimum(question: Question) -> Outcome | None:
    """Return the optimum where a short search over intervals finds it, and None where it does not."""
    found = short_answer(question)
    return found if found is not None and found.status is Status.OPTIMAL else None


def short_answer(question: Question) -> Outcome | None:
    """Return what a short search over intervals proves: an optimum, or that there is none; None where it does not."""
    from solvers.nonlinear import interval

    try:
        found = interval.solve(question, work=SHORT_SEARCH)
    except (ArithmeticError, ValueError):
        return None
    return found if found.status in FINAL else None


def among_as_good(question: Question, x: Mapping[str, float]) -> Outcome | None:
    """The optimum among designs that hold limits but for rounding, as ``x`` does; None where intervals find none."""
    from solvers.nonlinear import interval

    if not (designs.free(question) and in_reach_of_intervals(question)):
        return None
    try:
        return interval.optimum_beside(question, x, SHORT_SEARCH)
    except (ArithmeticError, ValueError):
        return None


def settles_ties(question: Question, solver: str) -> bool:
    """Whether what a solver hands out of designs that are as good goes by the order of ties."""
    # with gaps between all values intervals meet all designs that are as good
    return solver != BY_SCIP and (solver != BY_INTERVALS or not designs.free(question))


def _answered_by_scip(question: Question, tried: Sequence[Outcome]) -> Outcome:
    """SCIP's answer near by, to which 1e20 is infinite, with what intervals say of the rest.

    Its bound, of floating point, is not believed where a design that was ``tried`` before is better.
    """
    from solvers.nonlinear import interval, scip

    asked = evaluation.nearest(question)
    known = [o.x for o in tried if o.x is not None]
    near = scip.believed(asked, scip.solve(asked, known=known), known)
    met = near.x is not None and question.objectives
    if not (met or near.status is Status.INFEASIBLE) or not any(map(any, boxes.space(question).ends)):
        return near
    found = interval.solve(question, work=SHORT_SEARCH, near=near)
    again = scip.believed(asked, near, () if found.x is None else [found.x])
    if again is not near and found.status is not Status.UNBOUNDED:
        found = dataclasses.replace(found, status=Status.FEASIBLE, bound=None)
    text = f"{again.certificate}; beyond the box of that search: {found.certificate}"
    return dataclasses.replace(
        found, certificate=text, solver=near.solver if found.x == near.x else found.solver
    )


def answered_as_product(question: Question) -> Outcome | None:
    """Return the answer where the objective is a product of two ratios over a program; None where it is not.

    Of a greatest product it is only told where that has no end: other methods find the others sooner.
    """
    if not is_linear(question):
        return None
    try:
        from solvers.linear import program_product

        p = product(question)
        if p is None:
            return None
        return program_product.without_end(p) if p.sign < 0 else program_product.minimise(p)
    except (NotPosynomial, ArithmeticError):
        return None


def _sampled(question: Question, tried: list[Outcome]) -> Outcome:
    """Sample as the last resort, which says so; hand out the best design that anything found, with the best bound.

    Where the bound leaves less than samples find, none are taken.
    """
    if question.objectives and any(o.x is not None for o in tried):
        near = best_tried(question, tried)
        open_by = (
            math.inf if near.bound is None else judgement.relative_gap(_reached(question, near), near.bound)
        )
        if open_by <= CLOSE:
            return near
    from solvers.sampling import sampler

    every = [*tried, sampler.solve(question)]
    found = [o for o in every if o.x is not None]
    if not found:
        return dataclasses.replace(every[-1], message="; ".join(o.message for o in every if o.message))
    return best_tried(question, every) if question.objectives else found[0]


def best_tried(question: Question, tried: Sequence[Outcome]) -> Outcome:
    """Return the best design that methods found, with the best bound of them all that it does not disprove."""
    best = min((o for o in tried if o.x is not None), key=lambda o: question.sign * _reached(question, o))
    value = _reached(question, best)
    bounds = [
        (question.sign * o.bound, o)
        for o in tried
        if o.bound is not None and not judgement.disproves(question, value, o.bound)
    ]
    if not bounds:
        return dataclasses.replace(best, bound=None)
    bound, by = max(bounds, key=lambda one: one[0])
    if by is best:
        return best
    text = f"{by.certificate}; its design is that of {best.certificate.removeprefix(NO_PROOF)}"
    return dataclasses.replace(best, bound=question.sign * bound, certificate=text)


def _reached(question: Question, found: Outcome) -> float:
    """What the design of an outcome reaches of the objective."""
    x = {n: np.float64(v) for n, v in (found.x or {}).items()}
    with np.errstate(all="ignore"):
        return float(evaluation.objective(question, x, evaluation.metrics(question, x)))
