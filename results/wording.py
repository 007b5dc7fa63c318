"""What the numbers of an answer are called and mean, as its question and the question's model say it.

``called_by_name`` gives an answer all of that; ``words_of`` what an answer has lost that was read back from JSON.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dse.models.model import left_out
from dse.models.shared import validity
from formulations import evaluation
from formulations.tolerances import HOLDS, NEXT_TO
from results.telling import families
from results.telling.division import divisions
from scenarios.question import machine_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from results.solution import Solution
    from scenarios.question import Decision, Question


def called_by_name(question: Question, solution: Solution, units: Mapping[str, str]) -> Solution:
    """Return an answer with what its numbers are: names, units, lists, menus, and what was asked."""
    own = replace(
        solution,
        title=question.title,
        scenario=question.scenario_text,
        objective_name=question.objectives[0].name if question.objectives else "",
        units=units,
        bytes_per_word=question.bytes_per_word,
        maximize=bool(question.objectives) and question.objectives[0].maximize,
        waived=tuple(sorted(question.waive)),
        outside=validity.outside(question.model, solution.metrics, HOLDS),
        left_out=left_out(question.model),
        sources=sources_of(question, solution.variables),
        fractions=families.fractions_of(question, solution.variables),
    )
    return words_of(question, own)


def words_of(question: Question, solution: Solution) -> Solution:
    """Return an answer with the words for its numbers that only its question has, and JSON does not keep."""
    clashing = {*solution.conflict}.union(*solution.conflicts)
    return replace(
        solution,
        flags={q.name: q.flags for q in question.model.metrics if q.flags},
        index=families.index_of(question.model),
        given={n: float(v) for n, v in families.given_of(question).items()},
        menus=families.menus_of(question.model),
        whole=tuple(d.name for d in question.decide if d.integer),
        between=between_allowed(question, solution.conflict),
        alternatives=tuple(
            replace(a, between=between_allowed(question, a.conflict)) for a in solution.alternatives
        ),
        meanings={x.name: x.meaning for x in question.model.limits if x.name in clashing},
        divisions=divisions(
            question.model.limits, {**question.given, **solution.metrics, **solution.variables}
        ),
    )


def sources_of(question: Question, variables: Mapping[str, float | str]) -> Mapping[str, str]:
    """Return where the numbers of the machine come from, of several that of the chosen one."""
    chosen = variables.get("machine")
    key = machine_key("machine", chosen) if isinstance(chosen, str) else ""
    return question.sources.get(key, {})


def units_of(question: Question) -> dict[str, str]:
    """Return the unit of every metric, decided and given number of a question, by name."""
    names = [q.name for q in question.model.metrics] + [d.name for d in question.decide if d.choices is None]
    names += families.given_of(question)
    return {n: evaluation.quantity(question.model, n).unit for n in [*names, "halvings"]}


def between_allowed(question: Question, needed: Mapping[str, float | None]) -> tuple[str, ...]:
    """What is decided and would have to have a value that it may not have, whatever the bounds on it."""
    values = ((d, needed.get(d.name)) for d in question.decide)
    return tuple(d.name for d, value in values if value is not None and not _may_be(d, value))


def _may_be(d: Decision, value: float) -> bool:
    """Whether a decided number may have a value, whatever the bounds on it."""
    beyond = d.values is not None and d.endless and not d.values[0] <= value <= d.values[-1]
    if d.values is not None and not beyond:
        return bool(np.isclose(d.values, value, rtol=NEXT_TO, atol=0.0).any())
    return not d.integer or math.isclose(value, round(value), rel_tol=NEXT_TO)
