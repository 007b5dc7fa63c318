"""Decoders: weights of published models, collectives by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dse.models.transformers import collectives as c
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
    over = c.Link(8e-6, 1 / 300e9)
    assert c.halving_all_reduce(1e6, 4.0, over) == pytest.approx(4 * 8e-6 + 1.5e6 / 300e9)
    assert c.halving_gather(1e6, 4.0, over) == pytest.approx(2 * 8e-6 + 0.75e6 / 300e9)
    assert c.halving_all_reduce(1e6, 1.0, over) == 0
    # a ring moves as much in more messages
    assert c.ring_all_reduce(1e6, 4.0, 4.0, over, over) == pytest.approx(6 * 8e-6 + 1.5e6 / 300e9)


def test_a_ring_over_two_nodes_by_hand() -> None:
    """Eight processors, four in each of two nodes: three steps of a quarter inside, one of an eighth between them."""
    inside, between = c.Link(2e-6, 1 / 300e9), c.Link(9e-6, 1 / 25e9)
    time = 3 * (2e-6 + 0.25e6 / 300e9) + 1 * (9e-6 + 0.125e6 / 25e9)
    assert c.ring_gather(1e6, 8.0, 4.0, inside, between) == pytest.approx(time)
    assert c.ring_all_reduce(1e6, 8.0, 4.0, inside, between) == pytest.approx(2 * time)
    assert c.ring_gather(1e6, 1.0, 1.0, inside, between) == 0


def test_devices_beyond_the_heads_of_keys_hold_copies() -> None:
    """Two heads of keys and values over eight devices: each holds one, and the copies are weights as well."""
    shape = _decoder(layers=1, hidden=64, heads=8, kv_heads=2, ffn=256, vocabulary=1, gated="off")
    assert shape.own_cache(2.0) == 2 * 8
    assert shape.own_cache(8.0) == 2 * 8
    assert shape.own_matrices(2.0) == shape.matrix_weights / 2
    assert shape.own_matrices(8.0) == 64 * (2 * 8 + 2 * 8) + 2 * 64 * 32
    assert 8 * shape.own_matrices(8.0) - shape.matrix_weights == 64 * 2 * 8 * (8 - 2)


@pytest.mark.parametrize(
    ("kv_heads", "tensor", "fits"),
    [(8, 4, True), (8, 8, True), (8, 16, True), (8, 32, True), (8, 3, False), (6, 4, False), (5, 5, False),
     (1, 32, True), (32, 8, True)],
)  # fmt: skip
def test_heads_of_keys_divide_heads_and_fit_the_devices(kv_heads: int, tensor: int, fits: bool) -> None:
    """32 heads; 6 of keys on 4 devices and 5 at all are refused."""
    shape = _decoder(layers=1, hidden=64, heads=32, kv_heads=kv_heads, ffn=256, vocabulary=1)
    assert all(ratio <= 1 for ratio in shape.kv_split(float(tensor)).values()) == fits
    assert _decoder(layers=1, hidden=64, heads=32, ffn=256, vocabulary=1).kv_split(3.0) == {}
