"""Rows of the paper beside ours, in the few shapes that the sections need."""

from __future__ import annotations

from dse.reproduction.exabounds2012.systems import PAPER
from dse.reproduction.report import Row, Statement, Value, Verdict
from dse.reproduction.sources import rounding, statements

# two ways of floating-point arithmetic to one number
EXACT = 1e-12


def says(statement: str) -> Statement:
    """Return what the paper says under that id."""
    return statements(PAPER)[statement]


def printed(
    statement: str,
    item: str,
    number: str,
    ours: float,
    unit: str = "",
    *,
    slack: float = 0.0,
    remark: str = "",
) -> Row:
    """Return a number that must equal the print to its last digit; ``slack``: rounding of what it comes from."""
    return Row(
        says(statement),
        item,
        float(number),
        ours,
        unit,
        tolerance=rounding(number) + slack + EXACT,
        remark=remark,
    )


def derived(
    statement: str,
    item: str,
    paper: Value,
    ours: Value,
    unit: str = "",
    *,
    corrected: Value | None = None,
    tolerance: float = 1e-9,
    remark: str = "",
) -> Row:
    """Return what the paper's formula gives, and the corrected one, beside the model."""
    return Row(says(statement), item, paper, ours, unit, corrected, tolerance, remark)


def holds(statement: str, item: str, *, ours: bool, remark: str = "") -> Row:
    """Return a statement that is true or not by our model."""
    return Row(says(statement), item, "yes", "yes" if ours else "no", remark=remark)


def unchecked() -> list[Row]:
    """Return the statements that nothing printed could check."""
    return [Row(s, "", "stated", "") for s in statements(PAPER).values() if s.fault == Verdict.UNCHECKED]
