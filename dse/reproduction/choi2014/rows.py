"""Rows of the paper beside ours, in the few shapes that the sections need."""

from __future__ import annotations

from dse.reproduction.choi2014.platforms import PAPER, Told
from dse.reproduction.report import Row, Statement, Value, Verdict
from dse.reproduction.sources import rounding, statements

# two ways of floating-point arithmetic to one number
EXACT = 1e-12


def says(statement: str) -> Statement:
    """Return what the paper says under that id."""
    return statements(PAPER)[statement]


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


def derived(
    statement: str,
    item: str,
    paper: Value,
    ours: Value,
    unit: str = "",
    *,
    corrected: Value | None = None,
    tolerance: float = EXACT,
    remark: str = "",
) -> Row:
    """Return what the paper's formulas give on its constants, beside the model on the catalogue's machines."""
    return Row(says(statement), item, paper, ours, unit, corrected, tolerance, remark)


def holds(statement: str, item: str, *, ours: bool, remark: str = "") -> Row:
    """Return a statement that is true or not; ``ours``: whether it is by our model."""
    return Row(says(statement), item, "yes", "yes" if ours else "no", remark=remark)


def unchecked() -> list[Row]:
    """Return the statements that only measurements could check."""
    found = statements(PAPER).values()
    return [Row(s, "", "stated", "") for s in found if s.fault == Verdict.UNCHECKED]
