"""Questions of every class, and what takes the place of an idea's one home to see who goes on without it."""

from __future__ import annotations

from typing import Any

GONE = "the one home of this idea is gone"
MANY = 1000
NBODY = {
    "model": "nbody",
    "machine": "balanced",
    "given": {"bodies": 1e5, "flops_per_pair": 10},
    "objective": {"minimize": "energy"},
}
REGIONS = [{"name": f"r{i}", "flops": 1e9 * (i + 1), "bytes": 1e8} for i in range(3)]
PARTITION = {
    "model": "partition",
    "machine": {"cpu": "i3-2100t", "gpu": "gtx-750-tang2017"},
    "objective": {"minimize": "energy"},
}
CLASSES: dict[str, dict[str, Any]] = {
    "geometric program": {
        **NBODY,
        "decide": {"processors": {"max": 100}, "memory": {}},
        "limits": {"time": {"max": 1e-6}, "energy": {"max": 1e-3}},
    },
    "ratios of sums": {
        **NBODY,
        "decide": {"processors": {"max": 100}, "memory": {}},
        "limits": {"time": {"max": 1e-6}, "power": {"max": 1.0}},
    },
    "table": {
        **PARTITION,
        "given": {"regions": [{**r, "divisible": False} for r in REGIONS]},
        "limits": {"time": {"max": 1e-6}, "energy": {"max": 1e-3}},
    },
    "one decided number": {
        "model": "fft",
        "machine": "balanced",
        "given": {"points": 1e6, "all_to_all": "tree"},
        "decide": {"processors": {"max": 1e12}},
        "objective": {"minimize": "energy"},
        "limits": {"time": {"max": 1e-9}, "power": {"max": 1e-3}},
    },
}
MET: dict[str, dict[str, Any]] = {
    "geometric program": {"limits": {"time": {"max": 1e4}}},
    "ratios of sums": {"limits": {"time": {"max": 1e4}, "power": {"max": 1e6}}},
    "table": {"limits": {"time": {"max": 1e4}}},
    "one decided number": {"limits": {"time": {"max": 1e4}, "power": {"max": 1e9}}},
}
LINEAR = PARTITION | {
    "given": {"regions": [{**r, "divisible": True} for r in REGIONS]},
    "limits": {"time": {"max": 1e-6}},
}


def gone(*_: Any, **__: Any) -> Any:
    raise RuntimeError(GONE)
