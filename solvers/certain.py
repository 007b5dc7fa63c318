"""From a question whose numbers are certain to a certified, re-evaluated, explained answer."""

from __future__ import annotations

import math
import time
from dataclasses import field, replace
from functools import partial

import numpy as np

from dse import models
from dse.system.records import dataclass
from formulations import evaluation, failures
from formulations.problem import Kind, Problem, formulate
from formulations.programs.program import is_linear
from formulations.tolerances import HOLDS
from results.solution import Solution, Status
from results.stores.files.trouble import StoreError
from results.telling.limits import base_name
from results.wording import called_by_name, units_of
from scenarios.question import Question
from scenarios.sweep import undefined
from solvers import anchors, choices, designs, enumeration, judgement
from solvers.designs import Grid
from solvers.explaining import explanation, wider
from solvers.explaining.wider import Tried
from solvers.geometric import cases, structured
from solvers.geometric.explaining import relaxed_limits
from solvers.geometric.programs import branch, ties
from solvers.mechanisms.why import Why, explained, first_of, remembered
from solvers.nonlinear import methods, poles
from solvers.outcome import NO_PROOF, OF_SETS, Outcome


def answer(question: Question, *, neighbours: bool = True, brief: bool = False, why: bool = True) -> Solution:
    """Answer a question whose numbers are certain, as ``solvers.answer`` does."""
    began = time.perf_counter()
    if anchors.has_anchors(question):
        solution = anchors.answered(
            question,
            lambda q: answer(q, neighbours=False),
            lambda q: answer(q, neighbours=neighbours, brief=brief, why=why),
        )
        solution = replace(solution, seconds=time.perf_counter() - began)
        return called_by_name(question, solution, units_of(question))
    try:
        # what overflows shows in the answer, or in its message
        with np.errstate(all="ignore"):
            solution = _answer(question, neighbours and not brief, brief=brief, why=why)
    except StoreError:
        raise
    except Exception as problem:
        solution = _failed(question, problem)
    held = wider.held(question, solution) if solution.status is Status.OPTIMAL else {}
    # what is as small as can be has one value, whatever rounding leaves it; where any design will do none is optimal
    ranges = {
        n: _told_range(question, n, ends)
        for n, ends in (solution.ranges if question.objectives else {}).items()
        if n not in {o.name for o in question.objectives}
    }
    solution = replace(solution, held=held, ranges=ranges, seconds=time.perf_counter() - began)
    return called_by_name(question, solution, units_of(question))


def _told_range(question: Question, name: str, ends: tuple[float, float]) -> tuple[float, float]:
    """Return the range of a decided number without ends that only a search has."""
    if not any(d.name == name and d.values is None for d in question.decide):
        return ends
    low, high = evaluation.told_range(question, name, *ends)
    return float(low), float(high)


def _failed(question: Question, problem: Exception) -> Solution:
    """What a failure comes to: a stranger's equations that no method here can run go to a sampler."""
    model = question.model
    if question.decide and not models.our_own(model) and not model.black_box:
        box = replace(model, black_box=f"raises {type(problem).__name__}: {problem}")
        return answer(replace(question, model=box))
    return Solution(
        Status.ERROR, message=failures.in_words(question, problem), certificate="the solver failed"
    )


@dataclass(frozen=True, slots=True)
class _Kept:
    """What is known of the choices of one question, by their identity: problems, searches, why there is no design."""

    problems: dict[int, Problem] = field(default_factory=dict)
    tried: dict[int, Tried] = field(default_factory=dict)
    whys: dict[int, Why] = field(default_factory=dict)


def _answer(
    question: Question,
    neighbours: bool,
    *,
    brief: bool = False,
    why: bool = True,
    kept: _Kept | None = None,
) -> Solution:
    """``brief``: without what stands beside the optimum (ties, sensitivities).

    Nor, where no neighbours are asked for, with why there is none: of many points nobody reads that of a losing choice.
    ``why``: whether it is told at all. ``kept``: what brief answers found and the whole answer need not repeat.
    """
    with_conflicts = why and (neighbours or not brief)
    if question.decide and (question.search is not None or question.model.black_box):
        from solvers.sampling import sampled  # slow to import, and most questions never come here

        return sampled.answer(question, _solution_of, lambda q: answer(q, neighbours=False))
    if choices.categorical(question):
        own = _Kept()
        return choices.best_of(
            question,
            lambda q: _answer(q, False, brief=True, kept=own),
            lambda q: _answer(q, neighbours, brief=brief, why=why, kept=own),
            (lambda q: _why_not(q, own)) if with_conflicts else None,
            explanation.over_choices if neighbours else None,
        )
    if brief and designs.few(question) is not None:
        # what recognition finds is told of the best choice only
        return _answer_by_listing(question)
    kept = kept or _Kept()
    known = None if brief else kept.tried.get(id(question))
    if known is not None and isinstance(known.found, structured.Optimum) and known.found.tied is not None:
        tried = replace(known, found=known.found.tied())
    else:
        problem = kept.problems.get(id(question)) or formulate(question, searched=True)
        kept.problems[id(question)] = problem
        if problem.kind is Kind.EVALUATION:
            return _evaluated_solution(question)
        ask = partial(_searched_in_box, brief=brief)
        tried = wider.without_end(problem) or wider.settled(ask(problem), ask)
    kept.tried[id(question)] = tried
    outcome = poles.followed(question, tried.outcome)
    if outcome.x is None or outcome.status is Status.UNBOUNDED:
        why_none = (lambda: explained(why_without_design(tried.problem))) if with_conflicts else None
        return judgement.without_design(question, outcome, why_none)
    solution = _solution_of(question, outcome)
    if brief or solution.status not in (Status.OPTIMAL, Status.FEASIBLE):
        return solution
    solution = _ties_told(tried.problem, solution)
    if outcome.solver == OF_SETS:
        from solvers.counting import whole

        found = whole.next_changes(question, solution.objective or 0.0) if neighbours else {}
        return judgement.changed(solution, found)
    if not isinstance(tried.found, structured.Optimum):
        from solvers.linear import programs

        assert tried.problem.program is not None, "this is how programs are settled"
        return programs.explained(tried.problem.program, tried.found, solution, neighbours)
    return explanation.explained(tried.problem, solution, tried.found, neighbours)


def _answer_by_listing(question: Question) -> Solution:
    """Answer a question of few designs by trying them all, without what stands beside the optimum."""
    outcome = enumeration.optimum(question)
    return (
        judgement.without_design(question, outcome) if outcome.x is None else _solution_of(question, outcome)
    )


def _ties_told(problem: Problem, solution: Solution) -> Solution:
    """Say which names in the file's order of ties settled nothing, or that none did: not every method goes by them."""
    left = ties.unsettled(problem, solution.solver)
    if left:
        said = f"ties were not settled by {', '.join(left)}: this method cannot go by it"
    elif solution.status is Status.OPTIMAL and not methods.settles_ties(problem.question, solution.solver):
        said = ties.UNSETTLED
    else:
        return solution
    return replace(solution, certificate=f"{solution.certificate}; {said}")


def _searched_in_box(problem: Problem, *, brief: bool) -> Tried:
    """Search a problem in its own box."""
    every = cases.scanned(problem)
    if not _is_structured(problem, every):
        outcome = _of_sets(problem) or methods.unstructured(problem.question, every)
        return Tried(problem, structured.Optimum(outcome, ranges=dict(outcome.ranges)))
    if problem.program is not None:
        # imported where it is taken: a first answer waits for what it needs
        from solvers.linear import programs

        def refuted() -> Outcome | None:
            from solvers.counting import whole

            return whole.refutation(problem.question)

        return Tried(problem, programs.optimise(problem.program, ties=not brief, refuted=refuted))
    # one number of several choices is searched in the same calls of the kernel, while each choice has intervals of its
    # own; of two whole numbers a tree of geometric programs may take thousands of nodes
    listed = _listed(problem) if not brief or len(problem.question.decide) > 1 else None
    if listed is not None or not brief:
        return Tried(problem, listed or cases.optimise(problem))
    found = cases.optimise(problem, ties=False)
    if found.outcome.status in (Status.FEASIBLE, Status.ERROR):
        return Tried(problem, _listed(problem) or found)
    among = found.tied or (lambda: found)
    return Tried(problem, replace(found, tied=lambda: _listed(problem) or among()))


def _of_sets(problem: Problem) -> Outcome | None:
    """The optimum of whole numbers in affine forms that no program states; None of any other question."""
    if not _is_without_program(problem):
        return None
    from solvers.counting import whole

    return whole.optimum(problem.question)


def _is_without_program(problem: Problem) -> bool:
    """Whether a question in affine forms has many designs, no divisible number, and no program that states it."""
    question = problem.question
    few = designs.free(question) or designs.few(question) is not None
    return problem.program is None and not few and is_linear(question)


def _listed(problem: Problem) -> structured.Optimum | None:
    """The optimum by intervals where all numbers have gaps, ties settled exactly; None where they do not find it."""
    listed = methods.listed_optimum(problem.question)
    if listed is None:
        return None
    found = structured.Optimum(listed, ranges=dict(listed.ranges))
    return replace(found, tied=lambda: found)


def _is_structured(problem: Problem, scanned: Grid | None) -> bool:
    """Whether a problem is solved by its program, its rows or those of its cases, not from its equations alone.

    ``scanned``: the designs that are tried in place of its cases (see ``cases.scanned``).
    """
    if not problem.question.decide or designs.few(problem.question) is not None:
        return False
    rows = problem.program is not None or problem.rows is not None
    return rows or (bool(problem.cases) and scanned is None)


def why_without_design(problem: Problem) -> Why:
    """What tells why a question has no design, in which nothing is chosen by name."""
    from solvers.explaining import subsets

    if not _is_structured(problem, cases.scanned(problem)):
        if _is_without_program(problem):
            from solvers.counting import whole

            return whole.why_alone(problem.question) or subsets.why(problem.question)
        # what is minimised has no part in why nothing can be
        limits = formulate(replace(problem.question, objectives=()), searched=True)
        if limits.program is None and _is_structured(limits, cases.scanned(limits)):
            return replace(relaxed_limits.why(limits), always=problem.question.model.always)
        told = subsets.why(problem.question)
        # of what is scanned for an optimum the cases may tell what no list does
        return first_of(told, relaxed_limits.why(limits)) if limits.cases and limits.program is None else told
    if problem.program is None:
        told = relaxed_limits.why(problem)
        if not (problem.cases and methods.in_reach_of_intervals(problem.question)):
            return told
        # one program tells sooner than intervals do, several cases later
        near = subsets.why(problem.question)
        quick = relaxed_limits.why(problem, most=branch.FEW_NODES_OF_A_SET)
        return first_of(first_of(quick, near) if len(problem.cases) == 1 else near, told)
    from solvers.linear import milp_conflicts

    def by_sets(name: str) -> float:
        from solvers.counting import whole

        return whole.value_alone(problem.question, name)

    return milp_conflicts.why(problem.program, wider.ended(problem), by_sets)


def _why_not(question: Question, kept: _Kept) -> Why:
    """What tells why a choice that was answered briefly has no design."""
    from solvers.explaining import subsets

    place = id(question)
    if place not in kept.whys:
        tried = kept.tried.get(place)
        if tried is not None or question.decide:
            # few designs are listed, and nothing was formulated
            problem = formulate(question, searched=True) if tried is None else tried.problem
            kept.whys[place] = remembered(why_without_design(problem))
        else:
            kept.whys[place] = remembered(subsets.why(question))
    return kept.whys[place]


def _evaluated_solution(question: Question) -> Solution:
    """Nothing decided: the numbers, and whether every limit holds; OverflowError where they leave what floats hold."""
    solution = _solution_of(
        question, Outcome(Status.EVALUATED, {}, certificate="evaluated; nothing was decided")
    )
    if not all(map(math.isfinite, solution.metrics.values())):
        failures.refuse_overflow(question)
    broken = [name for name, state in solution.limits.items() if state.slack < -HOLDS]
    if not broken:
        return solution
    would = {base_name(n): solution.limits[n].value for n in broken}
    return replace(
        solution,
        status=Status.INFEASIBLE,
        message="",
        metrics={**solution.metrics, **dict.fromkeys(undefined.lost(question, solution.metrics), math.nan)},
        # where several are broken no value of one of them would do
        conflict=would if len(would) == 1 else dict.fromkeys(would),
        conflicts=tuple((n,) for n in would),
        certificate="evaluated; a limit is broken",
    )


def checked(question: Question, outcome: Outcome) -> Solution:
    """Return an outcome as an answer: re-evaluated in plain floats, with names and units."""
    return called_by_name(question, _solution_of(question, outcome), units_of(question))


def _solution_of(question: Question, outcome: Outcome) -> Solution:
    """Re-evaluate the model in plain floats at the point and judge the outcome by that alone."""
    x = dict(outcome.x or {})
    plain = {n: np.float64(v) for n, v in x.items()}
    judged = judgement.believed(judgement.judge(question, plain, outcome.bound, known=outcome.judged))
    solution = replace(
        judged.solutions(outcome.status)[0],
        certificate=outcome.certificate,
        solver=outcome.solver,
        message=outcome.message,
        next_best=outcome.next_best,
    )
    evaluated = outcome.status is Status.EVALUATED
    fault = failures.no_number(question, judged.at) if evaluated else judged.fault()
    if fault:
        return replace(solution, status=Status.ERROR, message=fault)
    return solution if evaluated else as_closed(question, solution, closed=bool(judged.closed[0]))


def as_closed(question: Question, solution: Solution, *, closed: bool) -> Solution:
    """Return an answer called optimal where its gap is ``closed``, and feasible where it is not."""
    if solution.status is Status.FEASIBLE and closed and question.objectives:
        # a search that stopped left more, to its own rounding
        left = f"its bound and the design evaluated again leave a gap of {solution.gap:.2g}"
        text = f"{solution.certificate.removeprefix(NO_PROOF)}; {left}"
        return replace(solution, status=Status.OPTIMAL, certificate=text)
    if solution.status is Status.OPTIMAL and not closed:
        above = f"the gap {solution.gap} is above the {question.gap:g} asked for"
        text = f"{solution.certificate}; {above if solution.gap is not None else 'no bound was found'}"
        return replace(solution, status=Status.FEASIBLE, certificate=text)
    return solution
