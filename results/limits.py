"""How limits are named in answers and datasets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from formulations import evaluation

if TYPE_CHECKING:
    from scenarios.question import Decision, Question


def limit_names(question: Question) -> tuple[str, ...]:
    """Names of all limits of a question, as ``Solution.limits`` and the ``limit`` dimension have them.

    User limits, bounds of decided variables, then those of the model's own limits that apply (to any
    machine that may be chosen) and are not waived. Where a name has limits on both sides it stands for the
    upper one, and ``name.min`` for the lower one.
    """
    rows: dict[evaluation.RowKey, None] = {}
    for machine in question.machines.values() or [{}]:
        given = {**question.given, **machine}
        # any point will do: which limits there are does not depend on the values
        x: dict[str, Any] = {d.name: _anywhere(d) for d in question.decide if d.name != "machine"}
        with np.errstate(all="ignore"):
            at = evaluation.metrics(question, {**given, **x})
            found = evaluation.ratios(question, {**given, **x, "machine": 1.0}, at)
        rows.update(dict.fromkeys(found))
    return tuple(dict.fromkeys(evaluation.label(key, rows) for key in rows))


def _anywhere(decision: Decision) -> Any:
    if decision.choices is not None:
        return decision.choices[0]
    return np.float64(decision.values[0] if decision.values else 2.0)


def base_name(limit: str) -> str:
    """Return what a limit limits: its name without the mark of the lower side."""
    return limit.removesuffix(".min")
