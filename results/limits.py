"""How limits are named in answers and datasets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from formulations import evaluation
from scenarios.question import combinations

if TYPE_CHECKING:
    from scenarios.question import Decision, Question


def limit_names(question: Question) -> tuple[str, ...]:
    """Names of all limits of a question, as ``Solution.limits`` and the ``limit`` dimension have them.

    User limits, bounds of decided variables, then those of the model's own limits that apply (to any
    choice among names that may be made) and are not waived. Where a name has limits on both sides it stands for the
    upper one, and ``name.min`` for the lower one.
    """
    rows: dict[evaluation.RowKey, None] = {}
    for _, chosen in combinations(question):
        # any point will do: which limits there are does not depend on the values
        x: dict[str, Any] = {d.name: _anywhere(d) for d in chosen.decide}
        with np.errstate(all="ignore"):
            found = evaluation.ratios(chosen, x, evaluation.metrics(chosen, x))
        rows.update(dict.fromkeys(found))
    return tuple(dict.fromkeys(evaluation.label(key, rows) for key in rows))


def _anywhere(decision: Decision) -> Any:
    return np.float64(decision.values[0] if decision.values else 2.0)


def base_name(limit: str) -> str:
    """Return what a limit limits: its name without the mark of the lower side."""
    return limit.removesuffix(".min")
