"""One processor that costs a billion times as much as the others: what it is not given is the rest of large numbers."""

from __future__ import annotations

import random
from typing import Any

import pytest

import dse

BASE = {"base": "gtx-titan-choi2014", "constant_power": 0, "usable_power": 1e30}
KINDS = {
    "a": {"energy_per_flop": 3e-11, "energy_per_byte": 7e-10},
    "b": {"energy_per_flop": 7e-11, "energy_per_byte": 1.3e-10},
}


def partition(seed: int, dearer: float, *, divisible: bool) -> dict[str, Any]:
    rng = random.Random(seed)
    regions = [
        {
            "name": f"r{i}",
            "flops": 10 ** rng.uniform(9, 12),
            "bytes": 10 ** rng.uniform(8, 12),
            "divisible": divisible,
        }
        for i in range(12)
    ]
    dear = {name: value * dearer for name, value in KINDS["a"].items()}
    return {
        "model": "partition",
        "machine": {name: BASE | kind for name, kind in (KINDS | {"c": dear}).items()},
        "given": {"regions": regions, "link_bandwidth": 1e10},
        "objective": {"minimize": "energy"},
    }


def least_energy(question: dict[str, Any]) -> float:
    """Without constant power each region costs the least by itself."""
    return sum(
        min(
            r["flops"] * k["energy_per_flop"] + r["bytes"] * k["energy_per_byte"]
            for k in (question["machine"][name] for name in KINDS)
        )
        for r in question["given"]["regions"]
    )


@pytest.mark.parametrize("divisible", [False, True])
@pytest.mark.parametrize("dearer", [1e4, 1e9, 1e13])
@pytest.mark.parametrize("seed", [1, 2])
def test_its_least_energy_is_never_bounded_from_above(seed: int, dearer: float, divisible: bool) -> None:
    question = partition(seed, dearer, divisible=divisible)
    found, least = dse.solve(question), least_energy(question)
    assert found.status in ("optimal", "feasible")
    assert found.objective >= least * (1 - 1e-9)
    assert found.bound is None or found.bound <= least * (1 + 1e-12)
    if found.status == "optimal" or dearer < 1e6:
        assert found.status == "optimal"
        assert found.objective == pytest.approx(least, rel=1e-6)
