"""Questions whose model takes maxima, and what is said where two of their terms meet."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dse
from results.solution import Solution, Status
from results.telling.render import parts

TITAN = dict(dse.machines.get("gtx-titan-choi2014").parameters)
# the gap asked of a search
PROVEN = 1e-6


def ask(given: dict[str, Any], **entries: Any) -> Solution:
    base = {"model": "roofline", "machine": "gtx-titan-choi2014", "given": {"flops": 1e12} | given}
    return dse.solve(base | entries)


def energy_per_flop(intensity: Any) -> Any:
    """(1) and (3) for one flop, typed again."""
    dynamic = TITAN["energy_per_flop"] + TITAN["energy_per_byte"] / intensity
    time = np.maximum(TITAN["time_per_flop"], TITAN["time_per_byte"] / intensity)
    return dynamic + TITAN["constant_power"] * np.maximum(time, dynamic / TITAN["usable_power"])


def test_least_energy_over_intensity_lies_at_the_user_s_end():
    found = ask({}, decide={"intensity": {"min": 0.125, "max": 64}}, objective={"minimize": "energy"})
    assert found.status is Status.OPTIMAL
    assert found.objective == pytest.approx(1e12 * energy_per_flop(64.0), rel=PROVEN)


def test_an_intensity_without_end_runs_away():
    found = ask({}, decide={"intensity": {}}, objective={"minimize": "energy_data"})
    assert found.status is Status.UNBOUNDED
    assert found.runaway == "intensity"
    assert found.message == "intensity grows without limit"


def test_least_usable_power_for_a_performance():
    """In the capped regime Δπ = R (εf + εm/I), in closed form; percent for percent."""
    found = ask(
        {"intensity": 0.25},
        decide={"machine.usable_power": {}},
        objective={"minimize": "machine.usable_power"},
        limits={"performance": {"min": "50 GFLOPS"}},
    )
    wanted = 50e9 * (TITAN["energy_per_flop"] + TITAN["energy_per_byte"] / 0.25)
    assert found.status is Status.OPTIMAL
    assert found.objective == pytest.approx(wanted, rel=PROVEN)
    assert found.limits["performance"].elasticity == pytest.approx(1.0, rel=1e-3)
    assert found.metrics["regime"] == 1.0


@pytest.mark.parametrize(("regime", "end"), [({"min": 1}, "balance_high"), ({"min": 2}, "balance_low")])
def test_a_regime_can_be_asked_for(regime: dict[str, float], end: str):
    """The best flop/J while the cap, or memory, still bounds the run is that at the end of the regime."""
    found = ask(
        {},
        decide={"intensity": {"min": 0.01, "max": 1000}},
        objective={"maximize": "efficiency"},
        limits={"regime": regime},
    )
    assert found.status is Status.OPTIMAL
    there = found.metrics[end]
    assert found.variables["intensity"] == pytest.approx(there, rel=1e-5)
    assert found.objective == pytest.approx(1.0 / energy_per_flop(there), rel=1e-5)


def test_an_efficiency_out_of_reach_says_what_would_do():
    found = ask(
        {"intensity": 2},
        decide={"throttle": {"max": 20}, "machine.energy_per_byte": {"max_halvings": 10}},
        objective={"minimize": "halvings"},
        limits={"efficiency": {"min": "10 GFLOPS/W"}},
    )
    assert found.status is Status.INFEASIBLE
    assert found.conflict["efficiency"] == pytest.approx(3.474e9, rel=1e-3)


def test_where_a_maximum_has_its_kink_the_worth_is_that_of_relaxing():
    """k = Δπ/(εm R) at R = 1/τm: relaxed, the throttle goes with 1/R; tightened, no throttle does."""
    found = ask(
        {"flops": 0, "bytes": 1e12},
        decide={"throttle": {"max": 100}},
        objective={"maximize": "throttle"},
        limits={"bandwidth": {"min": "239 GB/s"}},
    )
    assert found.status is Status.OPTIMAL
    assert found.limits["bandwidth"].elasticity == pytest.approx(-1.0, rel=1e-6)
    assert found.limits["bandwidth"].one_sided
    assert found.parameters["machine.usable_power"] == pytest.approx(1.0, rel=1e-6)
    assert found.parameters["machine.energy_per_byte"] == pytest.approx(-1.0, rel=1e-6)
    # faster memory buys nothing, and with slower memory there is no answer at all
    assert "machine.time_per_byte" not in found.parameters


def test_least_energy_with_a_launch_time_is_still_a_geometric_program():
    """E = W ε + Q ε + π1 (λ + max(...)), at the end of the box; λ's share of the energy is its elasticity."""
    found = ask(
        {},
        machine={"base": "gtx-titan-choi2014", "launch_time": "100 ms"},
        decide={"intensity": {"min": 0.125, "max": 64}},
        objective={"minimize": "energy"},
        limits={"performance": {"min": "1 GFLOPS"}},
    )
    fixed = 0.1 * TITAN["constant_power"]
    wanted = 1e12 * energy_per_flop(64.0) + fixed
    assert found.status is Status.OPTIMAL
    assert "convex in log variables" in found.certificate
    assert found.objective == pytest.approx(wanted, rel=PROVEN)
    assert found.parameters["machine.launch_time"] == pytest.approx(fixed / wanted, rel=1e-4)


def test_the_longest_launch_time_for_a_performance():
    """λ = W/R - max(...), where it is decided itself."""
    found = ask(
        {"intensity": 4},
        decide={"machine.launch_time": {}},
        objective={"maximize": "machine.launch_time"},
        limits={"performance": {"min": "100 GFLOPS"}},
    )
    busy = max(TITAN["time_per_flop"], TITAN["time_per_byte"] / 4)
    dynamic = TITAN["energy_per_flop"] + TITAN["energy_per_byte"] / 4
    assert found.status is Status.OPTIMAL
    assert found.objective == pytest.approx(
        10 - 1e12 * max(busy, dynamic / TITAN["usable_power"]), rel=PROVEN
    )


def test_a_regime_is_shown_by_its_name():
    shown = {row[0]: row[1] for part in parts(ask({"intensity": 1000})) for row in part.rows}
    assert shown["regime"] == "compute"
    swept = dse.sweep(
        {
            "model": "roofline",
            "machine": "gtx-titan-choi2014",
            "given": {"flops": 1},
            "sweep": {"i": {"path": "intensity", "values": [1, 20, 1000]}},
        }
    )
    assert swept.regime.attrs["flag_meanings"] == "compute cap memory"
    assert list(swept.regime) == [2.0, 1.0, 0.0]
