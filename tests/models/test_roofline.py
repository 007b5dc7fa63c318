"""The roofline of Choi et al. 2014: the table's derived figures, the equations' consequences, the edges."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse import machines, models
from dse.models.platforms.roofline import DATA, FLOP

DATA_DIR = Path(__file__).parents[1] / "data"
ROWS = list(csv.DictReader((DATA_DIR / "choi2014_derived.csv").open(encoding="utf-8")))
# the same arithmetic in another order
CLOSE = 1e-12


def run(machine: dict[str, float], **inputs: Any) -> dict[str, Any]:
    """All metrics of a run on a machine given by its parameters."""
    own = {f"machine.{k}": v for k, v in machine.items()}
    base = {"precision": "single", "level": "memory", "bytes_per_access": 1.0, "throttle": 1.0}
    return dict(models.evaluate(models.get("roofline"), {**own, **base, **inputs}))


def platform(row: dict[str, str]) -> dict[str, float]:
    return dict(machines.get(row["platform_id"].replace("_", "-") + "-choi2014").parameters)


@pytest.mark.parametrize("row", ROWS, ids=lambda r: r["platform_id"])
def test_the_figures_derived_from_table_i(row: dict[str, str]):
    """Balances, B- and B+, peak power, flop/J of flops alone, J/B of pure streaming, share of constant power."""
    m = platform(row)
    flops, stream = run(m, flops=1.0, bytes=0.0), run(m, flops=0.0, bytes=1.0)
    wanted = {k: float(v) for k, v in row.items() if k != "platform_id"}
    found = {
        "pi_flop_W": m["energy_per_flop"] / m["time_per_flop"],
        "pi_mem_W": m["energy_per_byte"] / m["time_per_byte"],
        "B_tau_flop_per_B": flops["balance"],
        "B_eps_flop_per_B": flops["energy_balance"],
        "B_minus_flop_per_B": flops["balance_low"],
        "B_plus_flop_per_B": flops["balance_high"],
        "peak_power_W": flops["peak_power"],
        "peak_flop_per_J_capped": flops["efficiency"],
        "peak_flop_per_J_uncapped": run(without_cap(m), flops=1.0, bytes=0.0)["efficiency"],
        "stream_J_per_B_capped": stream["energy"],
        "stream_B_per_J_capped": 1.0 / stream["energy"],
        "pi1_fraction": m["constant_power"] / flops["peak_power"],
    }
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        assert found[name] == pytest.approx(value, rel=CLOSE, abs=0), name


def without_cap(m: dict[str, float]) -> dict[str, float]:
    return {k: v for k, v in m.items() if k != "usable_power"}


@pytest.mark.parametrize("row", ROWS, ids=lambda r: r["platform_id"])
@pytest.mark.parametrize("throttle", [1.0, 2.0, 8.0])
def test_power_is_what_equation_7_says(row: dict[str, str], throttle: float):
    """Average power by the three pieces of (7), with B+ infinite where the cap is below the power of flops."""
    m = platform(row)
    intensity = np.geomspace(1e-3, 1e4, 500)
    found = run(m, flops=1e12, intensity=intensity, throttle=throttle)
    flop = m["energy_per_flop"] / m["time_per_flop"]
    byte = m["energy_per_byte"] / m["time_per_byte"]
    balance, low, high = found["balance"], found["balance_low"], found["balance_high"]
    assert low <= balance <= high
    pieces = [flop + byte * balance / intensity, flop * intensity / balance + byte]
    cases = [intensity >= high, intensity <= low]
    usable = m["usable_power"] / throttle
    np.testing.assert_allclose(
        found["power"], m["constant_power"] + np.select(cases, pieces, usable), rtol=1e-12
    )
    np.testing.assert_array_equal(found["regime"], np.select(cases, [0.0, 2.0], 1.0))


@pytest.mark.parametrize("precision", FLOP)
@pytest.mark.parametrize("level", DATA)
def test_each_precision_and_level_uses_its_own_costs(precision: str, level: str):
    m = without_cap(dict(machines.get("xeon-phi").parameters))
    found = run(m, flops=3e12, bytes=2e12, precision=precision, level=level, bytes_per_access=8.0)
    count = 2e12 / 8.0 if level == "random" else 2e12
    times = 3e12 * m[FLOP[precision][0]], count * m[DATA[level][0]]
    assert found["time"] == pytest.approx(max(times), rel=CLOSE)
    spent = 3e12 * m[FLOP[precision][1]] + count * m[DATA[level][1]]
    assert found["energy"] == pytest.approx(spent + 180.0 * max(times), rel=CLOSE)
    assert found["bandwidth"] == pytest.approx(2e12 / max(times), rel=CLOSE)


def test_bytes_and_intensity_say_the_same():
    m = platform(ROWS[0])
    by_bytes, by_intensity = run(m, flops=1e12, bytes=2.5e11), run(m, flops=1e12, intensity=4.0)
    assert by_bytes == by_intensity
    assert by_bytes["flops_per_byte"] == 4.0


def test_without_a_cap_the_two_ends_meet_at_the_balance():
    found = run(without_cap(platform(ROWS[0])), flops=1.0, bytes=1.0)
    assert found["balance_low"] == found["balance_high"] == found["balance"]
    assert found["regime"] == 2.0
    enough = platform(ROWS[0]) | {"usable_power": 1e6}
    assert run(enough, flops=1.0, bytes=1.0) == pytest.approx(found, rel=CLOSE)


def test_a_cap_below_the_power_of_flops_never_lets_go():
    """The NUC's graphics at its own cap: the printed (5) would give B+ = B."""
    m = dict(machines.get("nuc-gpu").parameters)
    found = run(m, flops=1e12, bytes=0.0)
    assert found["balance_high"] == math.inf
    assert found["regime"] == 1.0
    assert found["power"] == pytest.approx(m["constant_power"] + m["usable_power"], rel=CLOSE)


@settings(max_examples=25, deadline=None)
@given(
    free=st.sets(
        st.sampled_from(
            ["time_per_flop", "energy_per_flop", "time_per_byte", "energy_per_byte", "constant_power"]
        )
    )
)
def test_any_cost_may_be_zero(free: set[str]):
    """Time and energy stay finite numbers, and nothing fails."""
    m = platform(ROWS[0]) | dict.fromkeys(free, 0.0)
    found = run(m, flops=1e9, bytes=1e9)
    assert math.isfinite(found["time"])
    assert math.isfinite(found["energy"])
    assert found["energy"] == found["energy_flop"] + found["energy_data"] + found["energy_constant"]
    assert not any(
        math.isnan(v) for k, v in found.items() if k in {"balance_low", "balance_high", "peak_power"}
    )


@settings(max_examples=25, deadline=None)
@given(k=st.floats(1.0, 64.0), intensity=st.floats(1e-2, 1e3), row=st.sampled_from(ROWS))
def test_throttling_never_helps_and_never_costs_more_than_its_factor(
    k: float, intensity: float, row: dict[str, str]
):
    m = platform(row)
    full, less = (run(m, flops=1e12, intensity=intensity, throttle=x) for x in (1.0, k))
    assert full["time"] <= less["time"] <= full["time"] * k * (1 + CLOSE)
    assert less["energy"] >= full["energy"]
    divided = run(m | {"usable_power": m["usable_power"] / k}, flops=1e12, intensity=intensity)
    assert divided["time"] == less["time"]


@pytest.mark.parametrize("row", ROWS, ids=lambda r: r["platform_id"])
def test_a_launch_time_is_added_to_the_time_and_paid_at_constant_power(row: dict[str, str]):
    m = platform(row)
    plain, none, some = (
        run(m | d, flops=1e9, bytes=1e9) for d in ({}, {"launch_time": 0.0}, {"launch_time": 0.5})
    )
    assert none == plain
    assert some["time"] == pytest.approx(plain["time"] + 0.5, rel=CLOSE)
    assert some["energy"] == pytest.approx(plain["energy"] + 0.5 * m["constant_power"], rel=CLOSE)
    for same in ("balance", "balance_low", "balance_high", "peak_power", "regime", "energy_data"):
        assert some[same] == plain[same]
