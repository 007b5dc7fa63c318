"""The whole model beside a second derivation that counts in loops, at machines that state more or less."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import oracle_exabounds as loops
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse import models

EXABOUNDS = models.get("exabounds")
RTOL = 1e-9
System = Callable[..., dict[str, Any]]
TYPICAL = {
    "Hz": 2e9,
    "V": 1.0,
    "F": 1e-9,
    "A": 1.0,
    "K": 300.0,
    "s": 1e3,
    "failure/s": 1e-9,
    "byte": 1e6,
    "byte/s": 1e9,
    "byte/cycle": 0.1,
    "J/byte": 1e-10,
    "W/byte": 1e-10,
    "W": 5.0,
    "ohm": 1e-7,
    "USD": 100.0,
    "USD/J": 4e-8,
    "USD/W": 0.2,
    "USD/Hz": 1e-18,
    "1/byte": 48.0,
    "cycle": 20.0,
    "instruction": 1e12,
}
FAMILIES = {"count": (1, 6), "parallelism": (1, 6), "power_efficiency": (0.6, 1), "stacked_dies": (1, 4)}
# constants that the second derivation has as the paper prints them
KEPT = (
    "machine.io_",
    "machine.volt",
    "machine.thermal_voltage_slope",
    "machine.clock",
    "machine.leakage_ideality",
)


def drawn(seed: int) -> dict[str, float]:
    """Return a point at which every quantity is left out with an even chance, where it may be."""
    chance, found = random.Random(seed), dict[str, float]()
    for name, q in EXABOUNDS.parameters().items():
        if name.startswith(KEPT) and name != "machine.voltage":
            continue
        if (q.optional or q.default is not None) and chance.random() < 0.5:
            continue
        family = name.removeprefix("machine.").partition(".")[0]
        if family in FAMILIES:
            found[name] = chance.uniform(*FAMILIES[family])
        elif family == "threshold_voltage":
            found[name] = chance.uniform(0.0, 0.4)
        elif q.maximum == 1.0:
            found[name] = chance.uniform(0.0, 0.5)
        else:
            found[name] = TYPICAL.get(q.unit, 10.0) * 10 ** chance.uniform(-1, 1)
    return found


@pytest.mark.parametrize("seed", range(3))
def test_points_drawn_differ_in_what_they_state(seed: int):
    assert set(drawn(seed)) != set(drawn(seed + 1))


@settings(max_examples=75, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_loops_find_the_same(system: System, seed: int):
    x = drawn(seed)
    got = system(x)
    given_ = {"control_share": 0.15, "data_share.core": 0.5, "parallelism.core": 4.0}
    g = given_ | {k: v for k, v in x.items() if not k.startswith("machine.")}
    m = {k.removeprefix("machine."): v for k, v in x.items() if k.startswith("machine.")}
    parts = loops.cycles_per_instruction(m, g)
    whole = sum(parts.values())
    wanted = {f"cpi.{part}": pytest.approx(v, rel=RTOL, abs=1e-9 * whole) for part, v in parts.items()}
    wanted |= {"cpi": whole, "time": loops.run_time(m, g)}
    towers = loops.tower(m, g, 1.0)
    wanted |= {f"power.{level}": w for level, w in zip(loops.NAMES, towers, strict=True)}
    wanted |= {"power": towers[-1], "idle_power": loops.tower(m, g, 0.0)[-1], "cores": loops.copies(m)[0]}
    failures = loops.failures(m)
    wanted |= {f"mtbf.{level}": 1 / f for level, f in zip(loops.NAMES, failures, strict=True) if f}
    bill = loops.bill(m, g)
    wanted |= bill | {"cost": sum(bill.values())}
    wanted["energy"] = towers[-1] * wanted["time"]
    for name, value in wanted.items():
        assert got[name] == (pytest.approx(value, rel=RTOL) if isinstance(value, float) else value), name
    assert sum(got[f"power_added.{level}"] for level in loops.NAMES) == pytest.approx(towers[-1], rel=1e-6)
    parts_of_power = ("dynamic", "leakage", "memory", "data", "ohmic", "glue", "delivery")
    assert sum(got[f"power_{p}"] for p in parts_of_power) == pytest.approx(towers[-1], rel=1e-6)
    added = sum(got[f"cost_added.{level}"] for level in loops.NAMES)
    assert added == pytest.approx(bill["cost_hardware"], rel=1e-6)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), level=st.sampled_from(loops.NAMES[1:]))
def test_scaling_coefficients_are_the_slopes_of_performance(system: System, seed: int, level: str):
    """(10), (11) and (14) beside differences of the model's own performance; (12) keeps it constant."""
    x = drawn(seed)
    count = f"machine.count.{level}"
    x[count] = x.get(count, 1.5)
    got, h = system(x), 1e-5

    def rate(n: float, work: float) -> float:
        return system(x | {count: x[count] * n, "instructions": x["instructions"] * work})["performance"]

    ahead, behind = rate(1 + h, 1), rate(1 - h, 1)
    here = got["performance"]
    # a kink between the two has no one slope
    if abs((ahead - here) - (here - behind)) < 1e-3 * h * here:
        slope = (ahead - behind) / (2 * h * x[count])
        scale = here / x[count]
        assert got[f"strong_scaling.{level}"] == pytest.approx(slope, rel=1e-4, abs=1e-4 * scale)
    weak = (rate(1, 1 + h) - rate(1, 1 - h)) / (2 * h * x["instructions"])
    assert got["weak_scaling"] == pytest.approx(weak, rel=1e-3, abs=1e-5 * here / x["instructions"])
    if got["weak_scaling"]:
        wanted = -got[f"strong_scaling.{level}"] / got["weak_scaling"]
        assert got[f"isoefficiency.{level}"] == pytest.approx(wanted, rel=1e-6)
    n, p = x[count], got[f"amdahl.{level}"]
    alone = system(x | {count: 1.0})["performance"]
    if n > 1.01:
        assert here / alone == pytest.approx(1 / ((1 - p) + p / n), rel=1e-6)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_no_run_beats_the_laws_of_work_and_span_or_the_roofline(system: System, seed: int):
    got = system(drawn(seed))
    assert got["time"] >= got["work_law"] * (1 - 1e-12)
    assert got["time"] >= got["span_law"] * (1 - 1e-12)
