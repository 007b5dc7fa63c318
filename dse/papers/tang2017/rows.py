"""Rows of this paper beside ours."""

from __future__ import annotations

from dse.papers.rows import EXACT, Rows
from dse.papers.tang2017.platforms import PAPER

__all__ = ["EXACT", "derived", "holds", "printed", "says"]

_rows = Rows(PAPER)
says, printed, derived, holds = _rows.says, _rows.printed, _rows.derived, _rows.holds
