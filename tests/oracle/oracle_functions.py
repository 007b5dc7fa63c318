"""Questions whose definitions ask a fitted model: each typed again, every whole design, by the numbers in its file.

Nothing is read from [define] or [models]. What a product takes is computed in logarithms (``oracle_gemm.metrics``).
"""

from __future__ import annotations

import tomllib
from typing import Any

import numpy as np
from oracle_gemm import MEASURED, Array, Found, metrics

NAMES = ("gemm_cheapest_tokens", "gemm_split_over_two_gpus")
TOKENS = "every whole number of tokens and GPUs, products typed by hand, by the model file"
SPLIT = "every whole number of rows, by both model files"


def answer(name: str, _source: dict[str, Any], _index: tuple[int, ...]) -> Found:
    """Answer one of the questions."""
    return _split() if name == "gemm_split_over_two_gpus" else _tokens()


def _file(machine: str) -> dict[str, Any]:
    return tomllib.loads((MEASURED / f"gemm-{machine}.toml").read_text(encoding="utf-8"))


def _split() -> Found:
    """Least time in which two GPUs do 4096 rows together, 1 to 4095 of them on the H100."""
    rows = np.arange(1.0, 4096.0)
    at = {"n": np.full(rows.shape, 8192.0), "k": np.full(rows.shape, 8192.0)}
    fast, slow = (
        metrics(_file(machine), {"m": m, **at})["latency"]
        for machine, m in (("h100", rows), ("a100", 4096 - rows))
    )
    return Found(float(np.maximum(fast, slow).min()), "finish", SPLIT)


def _tokens() -> Found:
    """Least price of a million tokens over 1 to 32768 tokens at once on 1, 2, 4 or 8 GPUs."""
    file = _file("h100")
    assert (file["columns"]["m"]["least"], file["columns"]["m"]["greatest"]) == (1, 32768)
    m, gpus = (v.ravel() for v in np.meshgrid(np.arange(1.0, 32769.0), [1.0, 2.0, 4.0, 8.0]))

    def product(n: Array | float, k: Array | float) -> Array:
        for name, x in (("n", n), ("k", k)):
            column = file["columns"][name]
            assert np.all((column["least"] <= np.asarray(x)) & (np.asarray(x) <= column["greatest"]))
        return metrics(file, {"m": m, "n": np.broadcast_to(n, m.shape), "k": np.broadcast_to(k, m.shape)})[
            "latency"
        ]

    attention = product((4096 + 2 * 1024) / gpus, 4096) + product(4096, 4096 / gpus)
    perceptron = product(2 * 14336 / gpus, 4096) + product(4096, 14336 / gpus)
    layer = attention + perceptron
    price = 2.5 / 3600 * gpus * 32 * layer * 1e6 / m
    return Found(float(price[layer <= 150e-6].min()), "price", TOKENS)
