"""ACT (Gupta et al. 2022): the carbon of making and running a machine, its published figures beside ours.

``data/act/parts.csv`` holds its bills of materials, ``data/act/published.csv`` the results that its own program gives
and the vendors' assessments (source and licence beside them).
"""

from __future__ import annotations

from dse.papers.act import carbon_rows, pictures
from dse.papers.paper import Paper

__all__ = ["paper"]

paper = Paper(
    carbon_rows.PAPER,
    title="Carbon of making and running a machine: ACT's figures beside ours",
    citation="U. Gupta et al., ACT, ISCA 2022; facebookresearch/ACT (MIT)",
    answers=carbon_rows.answers,
    draw=pictures.draw,
)
