"""Rows of a paper beside ours, in the few shapes that the sections of most papers need."""

from __future__ import annotations

from dataclasses import dataclass

from dse.papers.report import Row, Statement, Value
from dse.papers.sources import rounding, statements

# two ways of floating-point arithmetic to one number
EXACT = 1e-12


@dataclass(frozen=True, slots=True)
class Rows:
    """Makes rows for the statements of one paper; ``derives`` is the tolerance of what is derived."""

    paper: str
    derives: float = EXACT

    def says(self, statement: str) -> Statement:
        """Return what the paper says under that id; KeyError where it says nothing."""
        return statements(self.paper)[statement]

    def printed(
        self,
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
        """Return a number that must equal the print to its last digit; ``slack``: rounding of what it comes from.

        Where the print is wrong, ours must be ``corrected`` to the last digit of the arithmetic.
        """
        tolerance = EXACT if corrected is not None else rounding(number) + slack + EXACT
        return Row(self.says(statement), item, float(number), ours, unit, corrected, tolerance, remark)

    def derived(
        self,
        statement: str,
        item: str,
        paper: Value,
        ours: Value,
        unit: str = "",
        *,
        corrected: Value | None = None,
        tolerance: float | None = None,
        remark: str = "",
    ) -> Row:
        """Return what the paper's formula gives, and the corrected one, beside the model."""
        within = self.derives if tolerance is None else tolerance
        return Row(self.says(statement), item, paper, ours, unit, corrected, within, remark)

    def holds(
        self, statement: str, item: str, *, ours: bool, corrected: bool | None = None, remark: str = ""
    ) -> Row:
        """Return a statement that is true or not; ``ours``: by our model, ``corrected``: by the paper's formulas."""
        right = None if corrected is None or corrected else "no"
        return Row(self.says(statement), item, "yes", "yes" if ours else "no", corrected=right, remark=remark)
