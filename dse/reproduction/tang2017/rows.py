"""Rows of the paper beside ours, in the few shapes that the sections need."""

from __future__ import annotations

from dse.reproduction.report import Row, Statement, Value, Verdict
from dse.reproduction.sources import rounding, statements
from dse.reproduction.tang2017.platforms import PAPER

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
    corrected: float | None = None,
    remark: str = "",
) -> Row:
    """Return a number that must equal the print to its last digit; ``slack``: rounding of what it comes from."""
    tolerance = rounding(number) + slack if corrected is None else EXACT
    return Row(says(statement), item, float(number), ours, unit, corrected, tolerance, remark)


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


def holds(statement: str, item: str, *, ours: bool, corrected: bool | None = None, remark: str = "") -> Row:
    """Return a statement that is true or not; ``ours``: by our model, ``corrected``: by the paper's formulas."""
    right = None if corrected is None or corrected else "no"
    return Row(says(statement), item, "yes", "yes" if ours else "no", corrected=right, remark=remark)


def unchecked() -> list[Row]:
    """Return the statements that only measurements or missing counts could check."""
    found = statements(PAPER).values()
    return [Row(s, "", "stated", "") for s in found if s.fault == Verdict.UNCHECKED]
