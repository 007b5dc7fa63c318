"""Choi and Vuduc 2016: Analyzing the energy efficiency of the fast multipole method using a DVFS-aware energy model.

What the paper prints is in ``data/choi2016/table*.csv`` and ``data/choi2016/statements.csv`` (what its text says);
``data/choi2016/example_phases.csv`` are phases of our own.
"""

from __future__ import annotations

from dse.papers.choi2016 import autotuning, multipole, pictures, table_one
from dse.papers.choi2016.jetson import PAPER
from dse.papers.choi2016.rows import answers
from dse.papers.paper import Paper

__all__ = ["autotuning", "multipole", "paper", "table_one"]

paper = Paper(
    PAPER,
    title="The DVFS-aware energy model: the paper beside our answers",
    citation="J. W. Choi, R. W. Vuduc, 2016",
    answers=answers,
    draw=pictures.draw,
)
