"""Korthikanti et al. 2022, Reducing Activation Recomputation in Large Transformer Models: memory and batch times.

Nothing is fitted to these rows: kernels are those of measured matrix products, links those of another measurement.
"""

from __future__ import annotations

from dse.papers.megatron import batches
from dse.papers.paper import Paper

__all__ = ["paper"]

paper = Paper(
    batches.PAPER,
    title="Memory and batch times of Megatron-LM",
    citation="Korthikanti et al. 2022, arXiv 2205.05198",
    answers=batches.answers,
    draw=batches.draw,
)
