"""A question of several kernels, and changes of it."""

from __future__ import annotations

import copy
from typing import Any

FORCES = {"name": "forces", "model": "nbody", "given": {"bodies": 1e5, "flops_per_pair": 10}}
PRODUCT = {"name": "product", "model": "matmul", "given": {"order": 1000}, "repeat": 20}
SPMV = {"name": "spmv", "workload": "spmv", "size": 1e9}
QUESTION: dict[str, Any] = {
    "machine": "balanced",
    "kernels": [FORCES, PRODUCT],
    "decide": {"processors": {"max": 4096}, "forces.memory": {}, "product.memory": {}},
    "objective": {"minimize": "energy"},
    "limits": {"time": {"max": "1 s"}},
}


def asked(**changes: Any) -> dict[str, Any]:
    """Return the question with other entries; None takes one out."""
    found = {**copy.deepcopy(QUESTION), **changes}
    return {k: v for k, v in found.items() if v is not None}


def kernels(*changed: dict[str, Any]) -> list[dict[str, Any]]:
    """Return both kernels, each with its changes."""
    both = zip((FORCES, PRODUCT), (*changed, {}), strict=False)
    return [{k: v for k, v in {**own, **more}.items() if v is not None} for own, more in both]
