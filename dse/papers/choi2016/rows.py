"""Rows of this paper beside ours."""

from __future__ import annotations

from dse.papers.choi2016.jetson import PAPER
from dse.papers.rows import Rows

__all__ = ["holds", "says"]

_rows = Rows(PAPER)
says, holds = _rows.says, _rows.holds
