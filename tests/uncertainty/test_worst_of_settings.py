"""The worst case of what is picked from a list: settings of clocks, each with numbers of its own."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import dse
from results.solution import Status

FREE = {"core_voltage": 1.0, "memory_voltage": 1.0, "energy_per_flop": 1e-11, "energy_per_byte": 1e-11}
SETTINGS = [
    {"name": "fast", "core_frequency": 1e9, "memory_frequency": 1e9, "constant_power": 3.0, **FREE},
    {"name": "slow", "core_frequency": 5e8, "memory_frequency": 1e9, "constant_power": 2.0, **FREE},
]
PHASES = [{"name": "near", "flops": 1e10, "bytes": 1e10}, {"name": "far", "flops": 2e9, "bytes": 3e10}]
SWITCHING = {"switch_time": 0.1, "switch_energy": 0.3}
NAMES = [f"setting.{p['name']}" for p in PHASES]
EVERY = list(itertools.product((s["name"] for s in SETTINGS), repeat=2))
LOW, NOMINAL, HIGH = 2.0, 16.0, 32.0


def asked(**more: Any) -> dict[str, Any]:
    return {
        "model": "dvfs",
        "machine": {"flops_per_cycle": NOMINAL, "bytes_per_cycle": NOMINAL, "settings": SETTINGS},
        "given": {"phases": PHASES, **SWITCHING},
        **more,
    }


def uncertain(number: str) -> dict[str, Any]:
    return {number: {"uniform": [LOW, HIGH]}}


def metric(name: str, number: str, settings: tuple[str, ...]) -> list[float]:
    """Its values in the box, evaluated at each by itself."""
    found = []
    for x in np.geomspace(LOW, HIGH, 9):
        source = asked()
        source["machine"] = {**source["machine"], number.removeprefix("machine."): float(x)}
        source["given"] = {**source["given"], **dict(zip(NAMES, settings, strict=True))}
        found.append(float(dse.solve(source).metrics[name]))
    return found


@pytest.mark.parametrize("number", ["machine.flops_per_cycle", "machine.bytes_per_cycle"])
@pytest.mark.parametrize("name", ["energy", "time", "efficiency", "performance", "energy_delay"])
def test_the_worst_end_of_a_number_is_found_whatever_is_picked(name: str, number: str) -> None:
    larger = name in ("efficiency", "performance")
    source = asked(
        objective={"maximize" if larger else "minimize": name, "measure": "worst"},
        uncertain=uncertain(number),
    )
    found = dse.solve(source)
    worst, best = (min, max) if larger else (max, min)
    assert found.status is Status.OPTIMAL
    assert found.objective == pytest.approx(best(worst(metric(name, number, s)) for s in EVERY), rel=1e-9)


@pytest.mark.parametrize("most", [41.0, 45.0, 60.0])
def test_a_limit_at_its_worst_holds_in_the_whole_box(most: float) -> None:
    number = "machine.bytes_per_cycle"
    source = asked(
        objective={"minimize": "time", "measure": "mean"},
        limits={"energy": {"max": most, "worst": True}},
        uncertain={**uncertain(number), "sampling": {"samples": 4, "seed": 1}},
    )
    found = dse.solve(source)
    picked = tuple(SETTINGS[int(found.variables[n]) - 1]["name"] for n in NAMES)
    assert found.status is Status.OPTIMAL
    assert max(metric("energy", number, picked)) <= most * (1 + 1e-9)
