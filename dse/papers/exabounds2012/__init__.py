"""Stanley-Marbell 2012: ExaBounds, bounds on performance, power, reliability and cost of large systems.

What the report prints is in ``data/exabounds2012/*.csv``: Tables 1 to 5 and what its text says (statements).
"""

from __future__ import annotations

from dse.papers.exabounds2012 import (
    correlator,
    performance_rows,
    pictures,
    power_rows,
    table_one,
    tables,
)
from dse.papers.exabounds2012.rows import PAPER, answers
from dse.papers.paper import Paper

__all__ = ["correlator", "paper", "performance_rows", "power_rows", "table_one", "tables"]

paper = Paper(
    PAPER,
    title="ExaBounds, large systems level by level: the report beside our answers",
    citation="P. Stanley-Marbell, IBM Research Report RZ 3883, 2012",
    answers=answers,
    draw=pictures.draw,
)
