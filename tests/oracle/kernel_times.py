"""Times of a made-up kernel, as they might be measured."""

from __future__ import annotations

from typing import Any

import numpy as np

NOISE = 0.03


def runs(seed: int, count: int = 150, noise: float = NOISE) -> dict[str, Any]:
    """Times of a made-up kernel: 4 us, 5 fs per product and 2 ps per entry of one factor."""
    rng = np.random.default_rng(seed)
    m, n, k = (np.round(np.exp(rng.uniform(np.log(8), np.log(4096), count))) for _ in range(3))
    seconds = 4e-6 + 5e-15 * m * n * k + 2e-12 * m * k
    return {
        "m": m,
        "n": n,
        "k": k,
        "latency [ms]": 1e3 * seconds * np.exp(noise * rng.standard_normal(count)),
    }
