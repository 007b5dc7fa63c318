"""Operators and layers that LLMCompass measured on A100, beside the operators of ``transformer_inference``.

Times lie in ``data/llmcompass/*.csv`` (source and licence beside them). Statements are our own, recomputed from them.
"""

from __future__ import annotations

from dse.papers.llmcompass import comparison, pictures
from dse.papers.paper import Paper

__all__ = ["paper"]

paper = Paper(
    comparison.PAPER,
    title="Measured operators and layers of a decoder on A100, beside the model of serving",
    citation="measured by LLMCompass (Zhang et al., ISCA 2024; BSD-3-Clause): 84 operators alone, 24 of layers",
    answers=comparison.answers,
    draw=pictures.draw,
)
