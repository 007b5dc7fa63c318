"""Decide now: one design, fixed before the uncertain becomes known.

``answer`` is the one place where such a question is answered: worlds are drawn as it says, or taken from the box of
all values where the worst is asked for (``solvers.robust.robust_box``), and ``solvers.robust.robust_answers`` finds
one design for them, with proof. What the answer says is said of these worlds. What the design is worth in others is
for a validation on fresh samples to say (``solvers.robust.validation``), at the end of ``answer_now``.
"""

from __future__ import annotations

import dataclasses
import math
import time
from typing import TYPE_CHECKING

from formulations.arithmetics import failures
from formulations.uncertainty.measures import MEAN, WORST, Measured, Quantile, cvar
from formulations.uncertainty.worlds import Worlds, of_values
from results.solution import Solution, Status
from results.uncertainty.fresh import Fresh
from scenarios.question import Question, fixed
from scenarios.questions import question as question_of
from scenarios.uncertainty.distributions import Marginal, Measure
from scenarios.uncertainty.drawing import box, draw, listed
from solvers.promises import chances
from solvers.robust import robust_box, validation
from solvers.robust.robust_answers import Asked, answered
from solvers.robust.robust_box import Boxed

if TYPE_CHECKING:
    from scenarios.language.scenario import Scenario

LISTED = 4096
"""Combinations of the values of uncertain numbers up to which each is a world of its own."""
__all__ = ["Asked", "answer", "answer_now", "answered", "sampled"]


def answer(scenario: Scenario) -> Solution:
    """Answer a scenario with [uncertain] and a measure. Raises ScenarioError where it is wrong."""
    return answer_now(question_of(scenario))


def answer_now(question: Question, *, fresh: bool = True) -> Solution:
    """Answer a question with uncertain numbers, a measure and at most one objective: one design for all worlds.

    Worlds are drawn as the question says. ``worst`` is over all values that the numbers can have where these are
    bounded, and then for the limits too; where some have no end, it is over the samples, and the answer says so.
    Never raises for a well-formed question.
    """
    began = time.perf_counter()
    uncertain, measure = question.uncertain, question.measure or Measure("worst")
    assert uncertain is not None, "only what is uncertain has worlds"
    try:
        samples = sampled(question)
        solution = _over(question, samples, measure)
        if fresh and solution.status in (Status.OPTIMAL, Status.FEASIBLE, Status.EVALUATED):
            solution = dataclasses.replace(solution, fresh=_validated(question, solution))
    except Exception as problem:
        text = failures.in_words(question, problem)
        solution = Solution(Status.ERROR, message=text, certificate="the solver failed")
    return dataclasses.replace(solution, seconds=time.perf_counter() - began)


def _validated(question: Question, solution: Solution) -> Fresh:
    """Judge the design of an answer in samples that it was not chosen on."""
    assert question.uncertain is not None, "only what is uncertain has worlds"
    seed = question.uncertain.sampling.seed + validation.SEED
    values = draw(question.uncertain, validation.FRESH, method="random", seed=seed)
    chosen = {n: v for n, v in solution.variables.items() if isinstance(v, str)}
    numbers = {n: v for n, v in solution.variables.items() if not isinstance(v, str)}
    worlds = of_values(fixed(dataclasses.replace(question, uncertain=None, measure=None), chosen), values)
    of = (
        question.measure.level
        if question.measure is not None and question.measure.kind == "quantile"
        else None
    )
    quantiles = sorted({*validation.QUANTILES, *(() if of is None else (of,))})
    return validation.validated(worlds, numbers, chances.promises(question), seed, quantiles)


def sampled(question: Question, count: int | None = None, *, seed: int | None = None) -> Worlds:
    """Return the worlds of a question, drawn as it says; ``count``, ``seed``: others than its own."""
    uncertain = question.uncertain
    assert uncertain is not None, "only what is uncertain has worlds"
    values = draw(uncertain, uncertain.sampling.samples if count is None else count, seed=seed)
    return of_values(dataclasses.replace(question, uncertain=None, measure=None), values)


def _over(question: Question, samples: Worlds, measure: Measure) -> Solution:
    """Answer over the samples, or at the worst over the box of all values where that is asked."""
    uncertain = question.uncertain
    assert uncertain is not None, "only what is uncertain has worlds"
    goal = question.objectives[0].name if question.objectives else ""
    ends = box(uncertain)
    bounded = all(math.isfinite(x) for e in ends.values() for x in e)
    sampling = uncertain.sampling
    drawn = f"{sampling.samples} samples ({sampling.method}, seed {sampling.seed})"
    wide = frozenset(x.name for x in question.limits if x.worst)
    promised = chances.counted(question, sampling.samples)
    if promised:
        drawn += f"; {chances.told(promised, sampling.samples, proved=chances.covered(question))}"
    # what may fail in some samples says nothing at a vertex
    everything = measure.kind == "worst" and not promised
    combinations = listed(uncertain, LISTED)
    # rows of a table beside continuous numbers: neither the rows alone nor the box of their ends is all there is
    open_rows = combinations is None and uncertain.tied
    if bounded and not open_rows and (everything or wide):
        words = (
            f"worst of {goal} over all values of {len(ends)} numbers"
            if everything
            else _words(measure, goal, drawn)
        )
        few = {n: _values(m) for n, m in uncertain.marginals.items() if m.discrete}
        asked = Boxed(samples.nominal, ends, None if everything else samples, wide, few)
        weighing = WORST if everything else _weighing(measure)

        def solved(w: Worlds) -> Solution:
            return answered(Asked(w, weighing, words, promised))

        if combinations is not None:
            solution = solved(asked.worlds(combinations, "world"))
        else:
            solution = robust_box.answered(asked, solved)
        return dataclasses.replace(solution, measure=words)
    words = _words(measure, goal, drawn)
    if measure.kind == "worst" or wide:
        endless = ", ".join(n for n, e in ends.items() if not all(map(math.isfinite, e)))
        since = f"{endless} has no end" if endless else "the rows of a table are worlds of their own"
        words += "; worst means these samples" + (f", since {since}" if endless or open_rows else "")
    return answered(Asked(samples, _weighing(measure), words, promised))


def _values(marginal: Marginal) -> tuple[float, ...]:
    weights = marginal.weights or (1.0,) * len(marginal.numbers)
    return tuple(sorted({v for v, w in zip(marginal.numbers, weights, strict=True) if w > 0}))


def _weighing(measure: Measure) -> Measured:
    if measure.kind == "quantile":
        return Quantile(measure.level or 0.0)
    if measure.kind == "cvar":
        return cvar(measure.level or 0.0)
    return MEAN if measure.kind == "mean" else WORST


def _words(measure: Measure, goal: str, drawn: str) -> str:
    if not goal:
        return f"limits in {drawn}"
    if measure.kind == "cvar":
        return f"mean of {goal} over the worst {100 * (1 - (measure.level or 0.0)):.4g} % of {drawn}"
    if measure.kind == "quantile":
        return f"{100 * (measure.level or 0.0):.4g} % quantile of {goal} over {drawn}"
    return f"{measure.kind} of {goal} over {drawn}"
