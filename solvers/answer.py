"""From a question to its answer: of certain numbers, or of uncertain ones that are decided now."""

from __future__ import annotations

from results.solution import Solution
from scenarios.question import Question
from solvers import certain


def answer(question: Question, *, neighbours: bool = True, brief: bool = False) -> Solution:
    """Answer a question with at most one objective.

    ``neighbours``: for integer problems also look for the limit values at which the answer next changes (slower).
    ``brief``: only the objective, its bound and status are of interest: any of the best designs is handed out, and why
    there is none is not told.
    Never raises for a well-formed question: what goes wrong becomes status ``error`` with its message. Only a
    database that is asked to keep the trials of a sampler, and cannot, is a StoreError.
    """
    if question.uncertain is not None:
        from solvers.robust import decide_now  # slow to import, and most questions are certain

        return decide_now.answer_now(question, fresh=not brief)
    return certain.answer(question, neighbours=neighbours, brief=brief)
