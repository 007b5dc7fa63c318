"""Tang, Barrett, Cook, Hu 2017: PeaPaw, performance- and energy-aware partitioning of workload.

What the paper prints is in ``data/tang2017/*.csv``: Tables III and IV (processors), V and VI, the case studies'
partitions, and what its text says (statements).
"""

from __future__ import annotations

from dse.papers.paper import Paper
from dse.papers.tang2017 import comparisons, estimation, pictures, surfaces, tables
from dse.papers.tang2017.platforms import PAPER, answers

__all__ = ["comparisons", "estimation", "paper", "tables"]

paper = Paper(
    PAPER,
    title="PeaPaw, workload partitions on heterogeneous platforms: the paper beside our answers",
    citation="L. Tang, R. F. Barrett, J. Cook, X. S. Hu, ACM TODAES 22(3), 2017",
    answers=answers,
    draw=pictures.draw,
    data=surfaces.write,
)
