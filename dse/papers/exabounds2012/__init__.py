"""Stanley-Marbell 2012: ExaBounds, bounds on performance, power, reliability and cost of large systems.

What the report prints is in ``data/exabounds2012_*.csv``: Tables 1 to 5 and what its text says (statements).
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
from dse.papers.exabounds2012.systems import PAPER
from dse.papers.paper import Paper

__all__ = ["paper"]

paper = Paper(
    PAPER,
    title="ExaBounds, large systems level by level: the report beside our answers",
    citation="P. Stanley-Marbell, IBM Research Report RZ 3883, 2012",
    sections=(table_one.rows, tables.rows, correlator.rows, performance_rows.rows, power_rows.rows),
    draw=pictures.draw,
)
