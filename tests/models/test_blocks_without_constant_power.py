"""Blocks that draw nothing at a standstill: 0 W for 0 flops is no efficiency, and no design for a limit on energy."""

from typing import Any

import pytest

import dse
from results.solution import Solution, Status

FLOPS, BYTES = 1e12, 1e11


def block(energy_per_flop: float, energy_per_byte: float, constant: float) -> dict[str, float]:
    return {
        "time_per_flop": 1e-12,
        "energy_per_flop": energy_per_flop,
        "time_per_byte": 2e-12,
        "energy_per_byte": energy_per_byte,
        "constant_power": constant,
    }


def solved(objective: dict[str, str], limits: dict[str, Any], energy_per_flop: float = 3e-11) -> Solution:
    """Alone the blocks a need 34 J (30 J of flops, 4 J of bytes); b draws 10 W beside."""
    return dse.solve(
        {
            "model": "blocks",
            "machine": {"a": block(energy_per_flop, 4e-11, 0.0), "b": block(3e-11, 4e-11, 10.0)},
            "given": {"flops": FLOPS, "bytes": BYTES, "sharing": "free"},
            "decide": {"count.a": {"max": 2}, "count.b": {"max": 1}},
            "objective": objective,
            "limits": limits,
        }
    )


@pytest.mark.parametrize(
    ("objective", "best"), [({"minimize": "energy"}, 34.0), ({"maximize": "efficiency"}, FLOPS / 34.0)]
)
def test_the_best_is_not_a_standstill(objective: dict[str, str], best: float) -> None:
    found = solved(objective, {})
    assert found.status is Status.OPTIMAL
    assert found.objective == pytest.approx(best, rel=1e-9)
    # of what is as good the least time, with both blocks at full speed
    assert found.metrics["time"] == pytest.approx(0.5, rel=1e-9)
    assert all(s.elasticity is None or s.elasticity == s.elasticity for s in found.limits.values())


@pytest.mark.parametrize(
    ("limits", "conflict", "value"),
    [
        ({"energy": {"max": 20.0}, "time": {"max": 10.0}}, "energy", 34.0),
        ({"energy": {"max": 20.0}}, "energy", 34.0),
        ({"efficiency": {"min": 4e10}, "time": {"max": 12.0}}, "efficiency", FLOPS / 34.0),
    ],
)
def test_what_no_work_meets_conflicts_alone(limits: dict[str, Any], conflict: str, value: float) -> None:
    found = solved({"minimize": "energy"}, limits)
    assert found.status is Status.INFEASIBLE
    assert found.conflicts == ((conflict,),)
    assert found.conflict[conflict] == pytest.approx(value, rel=1e-6)
