"""Runs that vTrain's authors measured: what constants fitted to them miss, on runs that the fits have not seen.

Bang et al. 2024, vTrain: the measured iteration times of its validation, a part of which is in ``data/vtrain2024``.
Statements are our own, recomputed from that part.
"""

from __future__ import annotations

from dse.papers.paper import Paper
from dse.papers.vtrain2024 import comparison

__all__ = ["paper"]

paper = Paper(
    comparison.PAPER,
    title="Iteration times of Megatron-DeepSpeed: fitted, held out, and the plans chosen",
    citation="measured by the authors of vTrain (VIA-Research/vTrain, MIT): 900 runs on one node, 73 on many",
    answers=comparison.answers,
    draw=comparison.draw,
)
