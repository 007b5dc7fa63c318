"""Partitions asked for at their own optima, and for what can be 0."""

from __future__ import annotations

from typing import Any

import pytest

import dse
from results.solution import Status
from solvers.linear import milp
from solvers.linear.linear_program import End, Result


def processor(*costs: float) -> dict[str, float]:
    """Time and energy of a flop, of a byte, and constant power."""
    names = ("time_per_flop", "energy_per_flop", "time_per_byte", "energy_per_byte", "constant_power")
    return dict(zip(names, costs, strict=True))


def region(name: str, flops: float, data: float, *, divisible: bool) -> dict[str, Any]:
    return {"name": name, "flops": flops, "bytes": data, "divisible": divisible}


def transfer(name: str, data: float, source: str, target: str) -> dict[str, Any]:
    return {"name": name, "bytes": data, "from": source, "to": target}


FOUR = {
    "model": "partition",
    "given": {
        "regions": [
            region("r0", 84.08e9, 5.508e9, divisible=True),
            region("r1", 0.0, 3.448e9, divisible=False),
            region("r2", 86.72e9, 2e9, divisible=False),
            region("r3", 20e9, 0.0, divisible=True),
        ],
        "order": "listed",
        "transfers": [
            transfer("t0", 1.197e9, "r0", "r1"),
            transfer("t1", 0.6345e9, "r1", "r2"),
            transfer("t2", 0.6037e9, "r2", "r3"),
            transfer("t3", 0.0644e9, "r1", "r3"),
            transfer("t4", 6.181e9, "r0", "r1"),
        ],
        "link_bandwidth": 1e9,
    },
    "machine": {
        "a": processor(5.23e-12, 40.52e-12, 3e-10, 3.955e-10, 46.31),
        "b": processor(89.41e-12, 13.47e-12, 1e-10, 2e-10, 10.0),
    },
    "objective": {"minimize": "power"},
    "limits": {"energy": {"max": 203.237082048}},
}
TRIO = {
    "model": "partition",
    "given": {
        "regions": [
            region("r0", 48.88e9, 4.646e9, divisible=False),
            region("r1", 45730000000.00001, 8271000000.000001, divisible=True),
        ],
        "order": "listed",
        "transfers": [transfer("t0", 0.0, "r0", "r1")],
        "link_latency": 0.1,
        "link_energy_per_byte": 1e-10,
        "links": [
            {"name": "l0", "bandwidth": 2e9, "latency": 0.0, "energy_per_byte": 0.0, "from": "c", "to": "a"}
        ],
    },
    "machine": {
        "a": processor(1e-11, 2e-11, 0.0, 8.085000000000002e-10, 10.0),
        "b": processor(0.0, 6.933e-11, 7.791e-10, 4.993e-10, 24.14),
        "c": processor(1e-11, 3.492e-11, 3.8660000000000004e-10, 1e-10, 42.46000000000001),
    },
    "objective": {"minimize": "time"},
}
PAIR = {
    "model": "partition",
    "given": {
        "regions": [region(f"r{i}", 1e10 * (i + 1.1), 2.8e9 + 1e9 * i, divisible=True) for i in range(2)],
        "order": "listed",
    },
    "machine": {
        "a": processor(2e-11, 3e-11, 5.58e-10, 4e-10, 5.0),
        "b": processor(9.45e-12, 2e-11, 3.896e-10, 8.135e-10, 87.96),
    },
}


def test_designs_that_a_limit_leaves_few_of_are_found():
    found = dse.solve(FOUR)
    assert found.status is Status.OPTIMAL, found.message
    assert found.objective == pytest.approx(59.8624, rel=1e-5)


def test_of_two_limits_in_conflict_both_values_are_told():
    found = dse.solve(FOUR | {"limits": FOUR["limits"] | {"bytes.a": {"max": 8.956e9}}})
    assert found.status is Status.INFEASIBLE
    assert found.conflict == {
        "energy": pytest.approx(413.335, rel=1e-5),
        "bytes.a": pytest.approx(10.9525e9, rel=1e-5),
    }


def test_an_optimum_is_found_again_with_itself_as_the_limit():
    least = dse.solve(TRIO | {"objective": {"minimize": "power"}}).objective
    assert least is not None
    found = dse.solve(TRIO | {"limits": {"power": {"max": least}}})
    assert found.status is Status.OPTIMAL, found.message
    assert found.metrics["power"] == pytest.approx(least, rel=2e-8)


def test_a_search_that_fails_on_its_way_hands_out_the_design_that_it_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    least = milp.least

    def failing(*asked: Any) -> Result:
        found = least(*asked)
        return Result(End.FAILED, found.u, found.value)

    monkeypatch.setattr(milp, "least", failing)
    found = dse.solve({**FOUR, "limits": {}})
    assert found.status is Status.FEASIBLE, found.message
    assert found.bound is None
    assert "no bound was found" in found.certificate


@pytest.mark.parametrize("goal", ["link_time", "link_bytes"])
def test_nothing_that_crosses_the_link_is_nothing_at_all(goal: str) -> None:
    """Shares that differ by rounding left a millionth of a byte to cross."""
    given = {
        "regions": [
            region("r0", 30e9, 2.63e9, divisible=True),
            region("r1", 64.63e9, 7.398e9, divisible=True),
            region("r2", 10e9, 6.434e9, divisible=True),
            region("r3", 10e9, 0.0, divisible=True),
        ],
        "order": "listed",
        "transfers": [
            transfer("t0", 2e9, "r2", "r3"),
            transfer("t1", 2.66e9, "r0", "r3"),
            transfer("t2", 805899999.9999999, "r1", "r2"),
            transfer("t3", 1e9, "r1", "r3"),
            transfer("t4", 6.258e9, "r0", "r2"),
        ],
        "link_bandwidth": 3e9,
        "unused": "off",
    }
    machine = {
        "a": processor(8.830999999999999e-11, 2e-11, 1.935e-10, 2.0430000000000003e-10, 21.509999999999998),
        "b": processor(3e-11, 2.02e-12, 6.899000000000001e-10, 1.881e-10, 10.0),
    }
    found = dse.solve(
        {"model": "partition", "given": given, "machine": machine, "objective": {"minimize": goal}}
    )
    assert (found.status, found.objective, found.bound) == (Status.OPTIMAL, 0.0, 0.0)
    assert found.metrics["link_bytes"] == 0.0


@pytest.mark.parametrize("goal", ["energy", "energy_delay"])
def test_what_costs_nothing_is_proved_to(goal: str) -> None:
    """Rounding left a bound above the energy, and of products intervals ended at an energy below 0."""
    given = {
        "regions": [
            region("r0", 11220000000.000002, 2.845e9, divisible=True),
            region("r1", 30e9, 8266999999.999999, divisible=True),
            region("r2", 20e9, 3e9, divisible=True),
            region("r3", 49.84e9, 1e9, divisible=True),
        ],
        "order": "listed",
        "unused": "off",
    }
    machine = {
        "a": processor(2e-11, 0.0, 5.58e-10, 0.0, 0.0),
        "b": processor(9.449999999999999e-12, 0.0, 3.8960000000000003e-10, 8.135e-10, 87.96),
    }
    found = dse.solve(
        {"model": "partition", "given": given, "machine": machine, "objective": {"minimize": goal}}
    )
    assert (found.status, found.objective, found.bound, found.gap) == (Status.OPTIMAL, 0.0, 0.0, 0.0)
    assert {found.variables[f"share.r{k}.a"] for k in range(4)} == {1.0}


def test_a_difference_that_can_be_0_is_proved_to_be():
    asked = PAIR | {
        "define": {"apart": "maximum(time.a - time.b, time.b - time.a)"},
        "objective": {"minimize": "apart"},
    }
    found = dse.solve(asked)
    assert (found.status, found.objective, found.bound) == (Status.OPTIMAL, 0.0, 0.0)
    assert found.metrics["apart"] == 0.0


def whole_pair(goal: str, name: str, most: float) -> dict[str, Any]:
    """Six whole regions, of which three pass data."""
    sizes = ((67.74, 4.194), (19.29, 3.0), (38.81, 2.746), (10.67, 0.0), (26.51, 7.612), (30.0, 6.443))
    return {
        "model": "partition",
        "given": {
            "regions": [region(f"r{i}", 1e9 * f, 1e9 * b, divisible=False) for i, (f, b) in enumerate(sizes)],
            "order": "listed",
            "transfers": [
                transfer("t0", 8.473e9, "r1", "r5"),
                transfer("t1", 1e9, "r1", "r2"),
                transfer("t2", 0.0, "r0", "r3"),
            ],
            "link_bandwidth": 1e10,
            "link_latency": 0.02,
            "unused": "off",
        },
        "machine": {
            "a": processor(1.194e-11, 8.083e-11, 3.19e-11, 3e-10, 20.32) | {"usable_power": 5.4},
            "b": processor(6.589e-11, 0.0, 2e-10, 1.556e-10, 30.0),
        },
        "objective": {"minimize": goal},
        "limits": {name: {"max": most}},
    }


@pytest.mark.parametrize("name", ["link_bytes", "time.a", "bytes.a", "flops.b"])
def test_a_limit_of_0_has_the_next_change_of_one_just_above(name: str) -> None:
    none, little = (dse.solve(whole_pair("time", name, most)).limits[name] for most in (0.0, 1e-6))
    assert none.binding
    assert little.next_change is not None
    assert none.next_change == pytest.approx(little.next_change, rel=1e-9)
    assert none.next_objective == pytest.approx(little.next_objective, rel=1e-9)


@pytest.mark.parametrize("more", [{}, {"order": "listed", "unused": "off"}])
def test_what_is_better_from_a_limit_of_0_on_has_no_change_and_no_percentage(more: dict[str, str]) -> None:
    found = dse.solve(
        PAIR
        | {
            "given": {"regions": PAIR["given"]["regions"]} | more,
            "objective": {"minimize": "time"},
            "limits": {"time.a": {"max": 0}},
        }
    )
    state = found.limits["time.a"]
    assert (found.status, state.binding) == (Status.OPTIMAL, True)
    assert (state.elasticity, state.next_change) == (None, None)


def test_listed_designs_have_a_next_change_from_0_too() -> None:
    asked = {
        "model": "matmul",
        "machine": "balanced",
        "given": {"order": 4000},
        "decide": {"processors": {"values": [1, 4, 16, 64]}, "memory": {"values": [3e5, 1e6, 4e6, 16e6]}},
        "define": {"more": "processors - 1"},
        "objective": {"minimize": "time"},
    }
    found = dse.solve(asked | {"limits": {"more": {"max": 0}}})
    beyond = dse.solve(asked | {"limits": {"more": {"max": 3}}})
    assert found.limits["more"].next_change == 3.0
    assert found.limits["more"].next_objective == beyond.objective
