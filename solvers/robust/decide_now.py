"""Decide now: one design, fixed before the uncertain becomes known.

``answer`` is the one place where such a question is answered: worlds are drawn as it says, or taken from the box of
all values where the worst is asked for (``solvers.robust.boxes.robust_box``), and ``solvers.robust.robust_answers``
finds one design for them, with proof. What the answer says is said of these worlds. What the design is worth in others
is for a validation on fresh samples to say (``solvers.robust.validation``), at the end of ``answer_now``.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dse.quantities import level_text, plural
from formulations.uncertainty.measures import WORST, Weighing
from formulations.uncertainty.worlds import SAMPLE, Cap, Worlds, of_values
from results.provenance import drawn_from
from results.solution import Solution, Status
from results.telling.fresh import Fresh
from scenarios.distributions import Marginal, Measure
from scenarios.question import Question, fixed, large_are_good
from scenarios.questions import question as question_of
from scenarios.uncertainty import uncertain_words
from scenarios.uncertainty.drawing import box, draw, listed
from scenarios.uncertainty.promises import promises
from scenarios.uncertainty.worst_cases import AT_WORST, LISTED, all_at_worst, over_box
from solvers.judgement import asked_limits
from solvers.robust import validation
from solvers.robust.asked import Asked
from solvers.robust.boxes import robust_box
from solvers.robust.boxes.robust_box import Boxed
from solvers.robust.robust_answers import answered, guarded, weighing
from solvers.robust.searches import chances

if TYPE_CHECKING:
    from scenarios.language.scenario import Scenario

__all__ = ["Asked", "answer", "answer_now", "answered", "sampled"]


def answer(scenario: Scenario) -> Solution:
    """Answer a scenario with [uncertain] and a measure. Raises ScenarioError where it is wrong."""
    return answer_now(question_of(scenario))


def answer_now(question: Question, *, fresh: bool = True, brief: bool = False) -> Solution:
    """Answer a question with uncertain numbers, a measure and at most one objective: one design for all worlds.

    Worlds are drawn as the question says. ``worst`` is over all values that the numbers can have where these are
    bounded, and then for the limits too; where some have no end, it is over the samples, and the answer says so.
    ``brief``: without why there is no design. Never raises for a well-formed question.
    """
    began = time.perf_counter()
    solution = guarded(question, lambda: _answered_and_validated(question, fresh=fresh, brief=brief))
    told = uncertain_words.why(question) if solution.world == SAMPLE else ""
    proof, spare = solution.certificate, ", ".join(sorted(_spare(question) - question.waive))
    if spare and solution.status is not Status.ERROR:
        proof += f"; one design may have more than some samples need, so that {spare} is no limit here"
    return dataclasses.replace(
        solution,
        sampling=told,
        tables=drawn_from(question),
        certificate=proof,
        waived=tuple(sorted(question.waive)),
        seconds=time.perf_counter() - began,
    )


def _answered_and_validated(question: Question, *, fresh: bool, brief: bool) -> Solution:
    asked, caps = parted(question)
    samples = dataclasses.replace(sampled(asked), caps=caps)
    solution = _answer_over_samples(asked, samples, asked.measure or AT_WORST, brief=brief)
    if fresh and solution.status in (Status.OPTIMAL, Status.FEASIBLE, Status.EVALUATED):
        return dataclasses.replace(
            solution, fresh=validated(question, solution.variables, solution.metrics)[0]
        )
    if solution.status is Status.INFEASIBLE:
        # limits on measures are no limits of any sample
        return dataclasses.replace(solution, limits={**asked_limits(question), **solution.limits})
    return solution


def parted(question: Question) -> tuple[Question, tuple[Cap, ...]]:
    """Return a question whose limits hold in worlds, and those on a mean or CVaR over all of them.

    A limit on a quantile is one that may fail in its share of the samples, one on the worst holds in each of them.
    """
    limits, caps = [], list[Cap]()
    for x in question.limits:
        measure = question.measures.get(x.name)
        if measure is None or measure.kind == "worst":
            limits.append(x)
        elif measure.kind == "quantile":
            limits.append(dataclasses.replace(x, probability=measure.level, confidence=0.0))
        else:
            of = weighing(measure)
            assert isinstance(of, Weighing), "a mean or CVaR"
            ends = (("max", x.maximum), ("min", x.minimum))
            caps += [Cap(x.name, of, side, end) for side, end in ends if end is not None]
    goal = question.objectives[0].name if question.objectives else ""
    measure = question.measures.get(goal, question.measure)
    return dataclasses.replace(question, limits=tuple(limits), measure=measure), tuple(caps)


def validated(
    question: Question, design: Mapping[str, Any], metrics: Mapping[str, float] | None = None
) -> list[Fresh]:
    """Judge a design in samples that it was not chosen on, or one at each of N points.

    ``question``: of N points with ``Many`` numbers (N, 1); ``design``: what is decided, then (N, 1) too; ``metrics``:
    what the measures came to in the samples.
    """
    told = {
        n: validation.Chosen(m, large_are_good(question, n), (metrics or {}).get(n, math.nan))
        for n, m in question.measures.items()
    }
    question, _ = parted(question)
    uncertain = question.uncertainty
    seed = uncertain.sampling.seed + validation.VALIDATION_SEED
    values = draw(uncertain, validation.FRESH, method="random", seed=seed)
    chosen = {n: v for n, v in design.items() if isinstance(v, str)}
    numbers = {n: v for n, v in design.items() if not isinstance(v, str)}
    worlds = of_values(fixed(in_one_sample(question), chosen), values)
    measure = question.measure
    of = {measure.level or 0.0} if measure is not None and measure.kind == "quantile" else set()
    promised = [p for p in promises(question) if not question.measures.keys() & p.names]
    return validation.validated(worlds, numbers, promised, seed, sorted({*validation.QUANTILES, *of}), told)


def sampled(question: Question, count: int | None = None) -> Worlds:
    """Return the worlds of a question, drawn as it says; ``count``: another than its own."""
    uncertain = question.uncertainty
    values = draw(uncertain, uncertain.sampling.samples if count is None else count)
    return of_values(in_one_sample(question), values)


def in_one_sample(question: Question) -> Question:
    """Return what is asked in each sample of the one design for all, which may have more than some of them need."""
    waive = question.waive | _spare(question)
    return dataclasses.replace(question, uncertain=None, measure=None, waive=waive)


def _spare(question: Question) -> frozenset[str]:
    return frozenset(x.name for x in question.model.limits if x.spare)


def _answer_over_samples(question: Question, samples: Worlds, measure: Measure, *, brief: bool) -> Solution:
    """Answer over the samples, or at the worst over the box of all values where that is asked."""
    uncertain = question.uncertainty
    goal = question.objectives[0].name if question.objectives else ""
    ends, sampling = box(uncertain), uncertain.sampling
    drawn = f"{plural(sampling.samples, 'sample')} ({sampling.method}, seed {sampling.seed})"
    wide = frozenset(x.name for x in question.limits if x.worst)
    promised = chances.counted(question, sampling.samples)
    if promised:
        drawn += f"; {chances.promise_words(promised, sampling.samples, proved=chances.covered(question))}"
    everything, combinations = all_at_worst(question, measure), listed(uncertain, LISTED)
    if over_box(question, measure):
        of = measure.of or goal
        words = (
            f"{f'worst of {of}' if of else 'limits'} over all values of {plural(len(ends), 'number')}"
            if everything
            else _measure_words(measure, goal, drawn)
        )
        few = {n: _possible_values(m) for n, m in uncertain.marginals.items() if m.discrete}
        asked = Boxed(samples.nominal, ends, None if everything else samples, wide, few)
        weighed = WORST if everything else weighing(measure)

        def solved(w: Worlds) -> Solution:
            return answered(Asked(w, weighed, words, promised), brief=brief)

        def solved_briefly(w: Worlds) -> Solution:
            return answered(Asked(w, weighed, words, promised), brief=True, tied=False)

        if combinations is not None:
            solution = solved(asked.worlds(combinations, "case"))
        else:
            solution = robust_box.answered(asked, solved, solved_briefly)
        return dataclasses.replace(solution, measure=words)
    words = _measure_words(measure, goal, drawn)
    if measure.kind == "worst" or wide:
        endless = ", ".join(n for n, e in ends.items() if not all(map(math.isfinite, e)))
        since = f"{endless} has no end" if endless else "the rows of a table are samples of their own"
        told = endless or (combinations is None and uncertain.tied)
        words += "; worst means these samples" + (f", since {since}" if told else "")
    return answered(Asked(samples, weighing(measure), words, promised), brief=brief)


def _possible_values(marginal: Marginal) -> tuple[float, ...]:
    weights = marginal.weights or (1.0,) * len(marginal.numbers)
    return tuple(sorted({v for v, w in zip(marginal.numbers, weights, strict=True) if w > 0}))


def _measure_words(measure: Measure, goal: str, drawn: str) -> str:
    goal = measure.of or goal
    if not goal:
        return f"limits in {drawn}"
    level = measure.level or 0.0
    if measure.kind == "cvar" and level:
        return f"mean of {goal} over the worst {level_text(1 - level, 100)} % of {drawn}"
    if measure.kind == "quantile":
        return f"{level_text(level, 100)} % quantile of {goal} over {drawn}"
    return f"{'mean' if measure.kind == 'cvar' else measure.kind} of {goal} over {drawn}"
