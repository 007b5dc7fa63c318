"""Choi and Vuduc 2016: Analyzing the energy efficiency of the fast multipole method using a DVFS-aware energy model.

What the paper prints is in ``data/choi2016_table*.csv`` and ``data/choi2016_statements.csv`` (what its text says);
``data/choi2016_example_phases.csv`` are phases of our own.
"""

from __future__ import annotations

from dse.papers.choi2016 import autotuning, multipole, pictures, table_one
from dse.papers.choi2016.jetson import PAPER
from dse.papers.paper import Paper

__all__ = ["paper"]

paper = Paper(
    PAPER,
    title="The DVFS-aware energy model: the paper beside our answers",
    citation="J. W. Choi, R. W. Vuduc, 2016",
    sections=(table_one.rows, autotuning.rows, multipole.rows),
    draw=pictures.draw,
    in_data_order=True,
)
