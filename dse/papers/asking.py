"""Asking our own solver: a question as a mapping in, a certified answer out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import scenarios.questions
from results.solution import Solution, Status
from scenarios.questions import question as as_question
from solvers.answer import answer

NO_RUN = "no run"


def ask(question: Mapping[str, Any]) -> Solution:
    """Answer a question shaped like a scenario file (SI numbers) by the way every scenario goes.

    At which limits the answer next changes is not looked for: no paper says it.
    """
    return answer(as_question(scenarios.load(question)), neighbours=False)


def metrics(
    model: str, machine: str | Mapping[str, Any], given: Mapping[str, Any], *waive: str
) -> Mapping[str, float]:
    """Every metric of a design where nothing is decided; ``waive`` sets limits of the model aside.

    Raises RuntimeError where the design breaks a limit or the answer is an error.
    """
    question: dict[str, Any] = {"model": model, "machine": machine, "given": given}
    if waive:
        question["waive"] = list(waive)
    found = ask(question)
    if found.status is not Status.EVALUATED:
        msg = f"{model} at {given}: {found.status} {found.message} {dict(found.conflict)}"
        raise RuntimeError(msg)
    return found.metrics


def told(solution: Solution, name: str) -> float | str:
    """Return a number of an answer: the objective, a decided variable or a metric; else why there is none."""
    if solution.status is Status.INFEASIBLE:
        return NO_RUN
    if solution.status is not Status.OPTIMAL:
        return f"{solution.status} {solution.message}".strip()
    if name == "objective" and solution.objective is not None:
        return solution.objective
    value = solution.variables[name] if name in solution.variables else solution.metrics[name]
    return value if isinstance(value, str) else float(value)
