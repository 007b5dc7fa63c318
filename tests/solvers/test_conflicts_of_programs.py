"""Conflicts of programs are minimal where amounts have no end, and named where a search leaves them open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

import dse
from dse.system.arrays import Array, Bools, Codes, Indices
from results.dataset import CONFLICTING
from results.solution import Status
from scenarios import questions
from solvers.mechanisms import conflicts, why

TWO_KINDS: dict[str, Any] = {
    "model": "blocks",
    "machine": {"b0": "xeon-phi-choi2014", "b1": "gtx-titan-choi2014"},
    "given": {"flops": 14.58e12, "intensity": 2.7648},
    "decide": {"count.b0": {"max": 5}, "count.b1": {"max": 2}},
    "limits": {
        "performance": {"min": 1.6e12},
        "block_types": {"max": 1},
        "efficiency": {"min": 2.6e9},
    },
    "objective": {"minimize": "energy"},
}
"""The first kind is too inefficient, however many there are; of the second kind two are too slow."""
THREE_SETS: dict[str, Any] = {
    "model": "blocks",
    "machine": {
        "b0": "arndale-gpu-choi2014",
        "b1": {"base": "i7-2600k-tang2017", "usable_power": 88.9647},
    },
    "given": {
        "flops": 6.937e12,
        "intensity": 0.3534,
        "fixed_power": 190.823,
        "throttle": 2.33337,
        "throttle.b0": 2.00706,
    },
    "decide": {"count.b0": {"max": 5}, "count.b1": {"max": 7}},
    "limits": {
        "block_types": {"max": 1},
        "blocks": {"min": 8},
        "block_power": {"max": 326.315},
        "power": {"max": 328.487},
    },
    "objective": {"maximize": "efficiency"},
}


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (TWO_KINDS, {("performance", "block_types", "efficiency", "count.b1")}),
        (
            THREE_SETS,
            {
                ("block_types", "blocks", "count.b0", "count.b1"),
                ("block_types", "blocks", "power", "count.b0"),
            },
        ),
    ],
)
def test_a_count_without_an_end_takes_no_part_in_a_conflict_without_it(
    asked: dict[str, Any], expected: set[tuple[str, ...]]
) -> None:
    """Without an end of a count no row said of any count whether there is any of it."""
    told = dse.solve(asked)
    assert set(told.conflicts) == expected
    limits, decide = asked["limits"], asked["decide"]
    for conflict in expected:
        for but in ("", *conflict):
            kept = {n: v for n, v in limits.items() if n in conflict and n != but}
            free = {n: v if n in conflict and n != but else {} for n, v in decide.items()}
            found = dse.solve({**asked, "limits": kept, "decide": free})
            assert (found.status is Status.INFEASIBLE) == (not but), (conflict, but)


def test_limits_that_conflict_are_named_where_their_search_is_left_open() -> None:
    """What proves that there is no design may go further than the searches for conflicts: none was named."""

    def met(points: Indices, kept: Bools) -> Codes:
        # without the first two there are designs, and of the rest the searches tell nothing
        return np.where(kept[:, :2].all(axis=1), conflicts.NOT_KNOWN, conflicts.CAN_HOLD).astype(np.int8)

    def values(points: Indices, names: Sequence[str]) -> Mapping[str, Array]:
        return {n: np.full(points.size, {"block_types": 2.0, "count.b1": 1.0}.get(n, np.inf)) for n in names}

    names = ("performance", "block_types", "efficiency", "count.b1")
    told = why.explained(why.Why(names, met, values, lambda _: questions.question(dse.load(TWO_KINDS))))
    assert told.minimal == (names,)
    assert not told.certain
    # at most 1 of count.b1 is asked for more than at most 2
    assert told.feasible_values == {n: 2.0 if n == "block_types" else None for n in names}


KINDS: dict[str, Any] = {
    "model": "blocks",
    "machine": {"cpu": "i7-2600k-tang2017", "gpu": "gtx-750-tang2017"},
    "given": {"flops": 4e10, "bytes": 1e10},
    "decide": {"count.cpu": {"max": 3}, "count.gpu": {"max": 3}},
    "objective": {"minimize": "energy"},
}


@pytest.mark.parametrize(
    ("ends", "named", "value"),
    [
        # no mix draws so much and no more; without the other end there are some
        ((125.0, 130.0), {"power", "power.min"}, ("power", 130.84597875569)),
        ((100.0, 105.0), {"power", "power.min"}, ("power.min", 97.8)),
        # 3 of each draw 269.6 W, so that 280 W fail alone
        ((280.0, 300.0), {"power.min", "count.cpu", "count.gpu"}, None),
        # nothing is above the one and below the other
        ((200.0, 150.0), {"power", "power.min"}, None),
    ],
)
def test_of_a_limit_with_two_ends_those_are_named_that_conflict(
    ends: tuple[float, float], named: set[str], value: tuple[str, float] | None
) -> None:
    low, high = ends
    paths = {"limits.power.min": [low, low], "limits.power.max": [high, high]}
    found = dse.sweep({**KINDS, "sweep": {"r": {"paths": paths}}}, progress=False)
    for row in (0, 1):
        clash = found["limit"].values[found["binding"].values[row] == CONFLICTING]
        assert set(clash.tolist()) == named
        if value is not None:
            told = dict(zip(found["limit"].values.tolist(), found["would_do"].values[row], strict=True))
            assert told[value[0]] == pytest.approx(value[1], rel=1e-9)
    if low < high:
        alone = dse.solve({**KINDS, "limits": {"power": {"min": low, "max": high}}})
        assert f"≥ {low:g} W" in str(alone)
        assert f"≤ {high:g} W" in str(alone)


@pytest.mark.parametrize("goal", ["time", "energy", "power"])
def test_what_has_a_least_count_is_there_though_it_has_no_end(goal: str) -> None:
    """Of a count without an end no row says whether there is any: the time fell without limit, the energy had none."""
    asked = {
        **KINDS,
        "decide": {"count.cpu": {"min": 2}, "count.gpu": {"min": 2, "max": 2}},
        "limits": {"block_types": {"max": 1}},
        "objective": {"minimize": goal},
    }
    told = dse.solve(asked)
    assert told.status is Status.INFEASIBLE
    assert set(told.conflicts[0]) == {"block_types", "count.cpu", "count.gpu"}
    assert told.conflict["block_types"] == 2.0
    assert dse.solve({**asked, "limits": {"block_types": {"max": 2}}}).status is not Status.INFEASIBLE


ENERGY_AND_POWER: dict[str, Any] = {
    "model": "lu",
    "machine": {
        "time_per_flop": 4.929e-11,
        "time_per_word": 3.622e-09,
        "time_per_message": 0.0002476,
        "energy_per_flop": 1.841e-09,
        "energy_per_word": 0.0,
        "energy_per_message": 0.0,
        "memory_power_per_word": 9.491e-07,
        "leakage_power": 0.7345,
        "max_message": 20.86,
    },
    "given": {"order": 5076.0},
    "objective": {"minimize": "time"},
    "limits": {"efficiency": {"min": 3.606e8}, "power_per_processor": {"max": 2.168}},
}
SLOWEST = {"processors": {"values": [849, 4287]}, "memory": {"values": [12712, 13049, 40934]}}


@pytest.mark.parametrize(
    "decide",
    [
        {"processors": {}, "memory": {}},
        SLOWEST,
        {**SLOWEST, "machine.memory_power_per_word": {"values": [2.37e-07, 3.8e-06]}},
    ],
)
def test_energy_and_power_conflict_at_any_time_that_a_step_may_take(decide: dict[str, Any]):
    machine, limits = ENERGY_AND_POWER["machine"], ENERGY_AND_POWER["limits"]
    answer = dse.solve(dse.load({**ENERGY_AND_POWER, "decide": decide}))
    assert answer.status is Status.INFEASIBLE
    assert answer.conflicts == (("efficiency", "power_per_processor"),)
    # flops cost energy, and so does time, so that (energy/flops - e)(power - leakage) >= e leakage
    e, leakage = machine["energy_per_flop"], machine["leakage_power"]
    least = leakage + e * leakage / (1.0 / limits["efficiency"]["min"] - e)
    would_do = answer.conflict["power_per_processor"]
    assert would_do is not None
    assert would_do >= least > limits["power_per_processor"]["max"]
    again = {**limits, "power_per_processor": {"max": would_do * (1 + 1e-9)}}
    assert (
        dse.solve(dse.load({**ENERGY_AND_POWER, "decide": decide, "limits": again})).status is Status.OPTIMAL
    )
