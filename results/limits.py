"""How limits are named in answers and datasets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from formulations.evaluation import RowKey

if TYPE_CHECKING:
    from scenarios.question import Decision, Limit, Question


def limit_keys(question: Question) -> dict[RowKey, str]:
    """Every limit of a question with its name in ``Solution.limits`` and along the ``limit`` dimension.

    In the order of the rows: user limits, bounds of decided variables, the model's own limits that are not
    waived. A limit goes by the name of what it limits; where both sides are limited, that name is the upper
    limit's and ``name.min`` the lower one's.
    """
    rows: dict[RowKey, None] = {}
    limited: tuple[Limit | Decision, ...] = (*question.limits, *question.decide)
    for asked in limited:
        if asked.maximum is not None:
            rows[RowKey(asked.name, "max")] = None
        if asked.minimum is not None:
            rows[RowKey(asked.name, "min")] = None
    for own in question.model.limits:
        if own.name not in question.waive:
            rows[RowKey(own.name, "model")] = None
    return {row: _key(row, RowKey(row.name, "max") in rows) for row in rows}


def _key(row: RowKey, upper: bool) -> str:
    return f"{row.name}.min" if row.side == "min" and upper else row.name
