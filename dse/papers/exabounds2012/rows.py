"""Functions of this report by the lines that they answer."""

from __future__ import annotations

from functools import cache

from dse.papers.comparer import Answers
from dse.papers.sources import table

PAPER = "exabounds2012"
answers = Answers(PAPER)


@cache
def printed(name: str) -> dict[str, float]:
    """Return the numbers of Table 2, 3 or 4 ("table2_app", …) by their symbols, SI."""
    return {row["symbol"]: float(row["value_SI"]) for row in table(f"{PAPER}/{name}") if row["value_SI"]}
