"""Decoders: weights of published models, collectives by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dse.models.transformers import decoder as t


def _decoder(**given: Any) -> t.Decoder:
    return t.decoder(SimpleNamespace(**{"gated": "on", "tied": "off"} | given))


@pytest.mark.parametrize(
    ("published", "shape"),
    [
        # Llama 3 8B and 70B: what their model cards print
        (8.03e9, {"layers": 32, "hidden": 4096, "heads": 32, "kv_heads": 8, "ffn": 14336,
                  "vocabulary": 128256}),
        (70.55e9, {"layers": 80, "hidden": 8192, "heads": 64, "kv_heads": 8, "ffn": 28672,
                   "vocabulary": 128256}),
        # Brown et al. 2020, Table 2.1; positions (25 million weights) and biases are left out
        (174.6e9, {"layers": 96, "hidden": 12288, "heads": 96, "vocabulary": 50257,
                   "gated": "off", "tied": "on"}),
    ],
)  # fmt: skip
def test_weights_of_published_models(published: float, shape: dict[str, Any]) -> None:
    """All weights are what is published, to the digits that are."""
    assert _decoder(**shape).parameters == pytest.approx(published, rel=1e-3)


def test_heads_of_their_own_size() -> None:
    """A head size that is stated need not be hidden/heads."""
    stated = _decoder(layers=1, hidden=10, heads=2, head_size=7, ffn=1, vocabulary=1)
    assert stated.query_width == 14
    assert stated.cache_width == 28
    assert stated.layer_weights == 10 * (14 + 28) + 14 * 10 + 3 * 10 + 20


def test_collectives_by_hand() -> None:
    """Four processors, 1 MB, 300 GB/s, 8 us; nothing on one processor."""
    over = t.Link(8e-6, 1 / 300e9)
    assert t.all_reduce_time(1e6, 4.0, over) == pytest.approx(4 * 8e-6 + 1.5e6 / 300e9)
    assert t.gather_time(1e6, 4.0, over) == pytest.approx(2 * 8e-6 + 0.75e6 / 300e9)
    assert t.all_reduce_time(1e6, 1.0, over) == 0
