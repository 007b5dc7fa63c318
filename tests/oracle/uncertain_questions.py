"""A question of n-body with numbers that are not known for sure, and changes of it."""

from __future__ import annotations

import copy
from typing import Any

BASE: dict[str, Any] = {
    "model": "nbody",
    "machine": "balanced",
    "given": {"bodies": 1e6, "flops_per_pair": 20},
    "decide": {"processors": {"min": 1, "max": 65536}, "memory": {}},
    "objective": {"minimize": "energy"},
    "limits": {"time": {"max": "10 s"}},
}


def asked(uncertain: Any = None, **changes: Any) -> dict[str, Any]:
    """Return the question with this [uncertain]; ``changes``: sections, or ``section__name`` one key."""
    data = copy.deepcopy(BASE)
    if uncertain is not None:
        data["uncertain"] = uncertain
    for path, value in changes.items():
        section, _, name = path.partition("__")
        data[section] = {**data.get(section, {}), name: value} if name else value
    return data


BODIES = {"uniform": [0.8e6, 1.2e6]}
