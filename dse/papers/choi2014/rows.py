"""Rows of this paper beside ours."""

from __future__ import annotations

from dse.papers.choi2014.platforms import PAPER, Told
from dse.papers.report import Row
from dse.papers.rows import EXACT, Rows
from dse.papers.sources import rounding

__all__ = ["EXACT", "derived", "holds", "printed", "says"]

_rows = Rows(PAPER)
says, derived, holds = _rows.says, _rows.derived, _rows.holds


def printed(
    statement: str, item: str, number: str, ours: float | Told, unit: str = "", remark: str = ""
) -> Row:
    """Return a number that must equal the print to its last digit, or within the rounding of Table I."""
    value, slack = (ours.value, ours.slack) if isinstance(ours, Told) else (ours, 0.0)
    paper = float(number)
    strict = rounding(number)
    beyond = abs(value - paper) > strict * abs(paper)
    if beyond and slack:
        remark = "; ".join(part for part in (remark, "within the rounding of Table I") if part)
    return Row(
        says(statement), item, paper, value, unit, tolerance=strict + slack / abs(paper), remark=remark
    )
