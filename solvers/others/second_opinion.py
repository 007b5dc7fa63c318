"""Another answer to the same question: the Pyomo model that a user gets, solved by SCIP, beside none of our methods.

It is an opinion, to be held against an answer that has a proof: SCIP computes in floating point, and its
"infeasible" alone proves nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field

import numpy as np

from dse.system.records import dataclass
from formulations import evaluation
from formulations.problem import Kind, formulate
from formulations.tolerances import HOLDS
from results.solution import Status
from scenarios.question import Question, combinations
from solvers.others import pyomo_answers, pyomo_solvers

SOLVER = "scip"


@dataclass(frozen=True, slots=True)
class Opinion:
    """What came out: ``optimal``, ``feasible``, ``infeasible``, ``evaluated``, or ``error`` where nothing did.

    ``metrics``: only where nothing is decided.
    """

    status: Status
    objective: float | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    message: str = ""


def ask(question: Question, seconds: float) -> Opinion:
    """Answer a question by other means than ``solvers.answer``, within about so many seconds.

    Solves in this process: whoever calls must be able to end it. Never raises: what fails is an ``error``.
    """
    try:
        found = [_ask(q, seconds) for _, q in combinations(question)]
    except Exception as problem:  # whatever it is, there is no opinion then
        return Opinion(Status.ERROR, message=f"{type(problem).__name__}: {problem}")
    unsure = next((o for o in found if o.status is Status.ERROR), None)
    if len(found) == 1 or unsure is not None:
        return unsure or found[0]
    return _best_opinion(question, found)


def _best_opinion(question: Question, found: list[Opinion]) -> Opinion:
    """Return the best of the opinions on each choice among names."""
    designs = [o for o in found if o.status is not Status.INFEASIBLE]
    if not designs:
        return found[0]
    values = [math.inf if o.objective is None else question.sign * o.objective for o in designs]
    best = designs[int(np.argmin(values))]
    return Opinion(Status.OPTIMAL, best.objective) if best.status is Status.EVALUATED else best


def _ask(question: Question, seconds: float) -> Opinion:
    problem = formulate(question)
    if problem.kind is Kind.EVALUATION:
        return _evaluated_opinion(question)
    model = pyomo_answers.model_of(problem)
    claim = pyomo_solvers.run(model, SOLVER, seconds)
    if claim.infeasible or not claim.design:
        return Opinion(Status.INFEASIBLE if claim.infeasible else Status.ERROR, message=str(claim))
    found = pyomo_answers.judged(question, pyomo_answers.design(model, question))
    if found.status is Status.ERROR:
        return Opinion(Status.ERROR, message=f"{claim}, but {found.message}")
    sure = claim.optimal and bool(question.objectives)
    return Opinion(Status.OPTIMAL if sure else Status.FEASIBLE, found.objective)


def _evaluated_opinion(question: Question) -> Opinion:
    """Evaluate in plain floats."""
    with np.errstate(all="ignore"):
        at = {n: float(v) for n, v in evaluation.metrics(question, {}).items()}
        ratios = evaluation.ratios(question, {}, at)
        worst = max((float(r) for r in ratios.values() if not math.isnan(float(r))), default=0.0)
        value = float(evaluation.objective(question, {}, at)) if question.objectives else None
    status = Status.EVALUATED if worst <= 1 + HOLDS else Status.INFEASIBLE
    return Opinion(status, value, at)
