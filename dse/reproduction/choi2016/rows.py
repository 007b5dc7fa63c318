"""Rows of the paper beside ours, in the few shapes that the sections need."""

from __future__ import annotations

from dse.reproduction.choi2016.jetson import PAPER
from dse.reproduction.report import Row, Statement, Verdict
from dse.reproduction.sources import statements


def says(statement: str) -> Statement:
    """Return what the paper says under that id."""
    return statements(PAPER)[statement]


def holds(statement: str, item: str, *, ours: bool, remark: str = "") -> Row:
    """Return a statement that is true or not; ``ours``: whether it is by our model."""
    return Row(says(statement), item, "yes", "yes" if ours else "no", remark=remark)


def unchecked() -> list[Row]:
    """Return the statements that only measurements could check."""
    found = statements(PAPER).values()
    return [Row(s, "", "stated", "") for s in found if s.fault == Verdict.UNCHECKED]
