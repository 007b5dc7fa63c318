"""Rows of this report beside ours."""

from __future__ import annotations

from dse.papers.exabounds2012.systems import PAPER
from dse.papers.rows import EXACT, Rows

__all__ = ["EXACT", "derived", "holds", "printed", "says"]

# the model takes its powers and sums in another order than the report's formulas
_rows = Rows(PAPER, derives=1e-9)
says, printed, derived, holds = _rows.says, _rows.printed, _rows.derived, _rows.holds
