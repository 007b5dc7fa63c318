"""Measured matrix products: a data-sheet roofline beside fitted forms, on shapes that the fits have not seen.

No paper: times measured on an H100 and an A100, a sample of which is in ``data/gemm/*.csv`` (source and licence beside
it). Statements are our own, recomputed from that sample.
"""

from __future__ import annotations

from dse.papers.gemm import comparison, pictures
from dse.papers.paper import Paper

__all__ = ["paper"]

paper = Paper(
    comparison.PAPER,
    title="Measured matrix products: the data sheet beside fitted forms",
    citation="measured by ai-dynamo/aiconfigurator (Apache-2.0); a sample: 2231 of 17 871 runs, 1821 of 4620",
    answers=comparison.answers,
    draw=pictures.draw,
)
