"""Choi, Dukhan, Liu, Vuduc 2014: Algorithmic time, energy, and power on candidate HPC compute building blocks.

What the paper prints is in ``data/choi2014/platforms.csv`` (Table I, in SI units, with the doubtful cells named) and
``data/choi2014/statements.csv`` (what its text says).
"""

from __future__ import annotations

from dse.papers.choi2014 import (
    constant_power,
    curve_data,
    model_rows,
    pictures,
    preview,
    table_one,
    throttling,
)
from dse.papers.choi2014.platforms import PAPER
from dse.papers.choi2014.rows import answers
from dse.papers.paper import Paper

__all__ = ["constant_power", "model_rows", "paper", "preview", "table_one", "throttling"]

paper = Paper(
    PAPER,
    title="Algorithmic time, energy, and power on building blocks: the paper beside our answers",
    citation="J. Choi, M. Dukhan, X. Liu, R. Vuduc, IPDPS 2014",
    answers=answers,
    draw=pictures.draw,
    data=curve_data.write,
)
