"""A limit of 0 that nothing meets: what the value would have to be is the least there is, the other limits kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dse
from results.solution import Status

DECIDED = (
    {"processors": {"max": 4096}, "memory": {}},
    {"processors": {"max": 4096, "integer": True}, "memory": {}},
    {"processors": {"max": 4096, "powers_of": 2}, "memory": {}},
)
KERNELS = [
    {"name": "forces", "model": "nbody", "given": {"bodies": 1e5, "flops_per_pair": 10}},
    {"name": "product", "model": "matmul", "given": {"order": 1000}, "repeat": 20},
]


def _nbody(**more: Any) -> dict[str, Any]:
    given = {"bodies": 1e5, "flops_per_pair": 10}
    asked = {"model": "nbody", "machine": "balanced", "given": given, "decide": DECIDED[0]}
    return asked | {"objective": {"minimize": "energy"}} | more


def _assert_least(asked: dict[str, Any], name: str, limits: dict[str, Any]) -> None:
    found = dse.solve(asked | {"limits": {**limits, name: {"max": 0}}})
    least = dse.solve(asked | {"limits": limits, "objective": {"minimize": name}})
    assert found.status is Status.INFEASIBLE, found.message
    assert least.status is Status.OPTIMAL
    assert found.conflict == {name: pytest.approx(least.objective, rel=1e-6)}


@pytest.mark.parametrize("decided", DECIDED, ids=["divisible", "whole", "powers"])
@pytest.mark.parametrize(
    ("name", "limits"),
    [
        ("time", {}),
        ("energy", {}),
        ("power", {"time": {"max": "50 ms"}}),
        ("time", {"energy": {"max": "80 J"}}),
    ],
)
def test_the_value_that_would_do_is_the_least_of_the_metric(
    name: str, limits: dict[str, Any], decided: dict[str, Any]
):
    _assert_least(_nbody(decide=decided), name, limits)


@pytest.mark.parametrize("name", ["time", "energy"])
def test_of_several_kernels_too(name: str):
    decided = {f"{k}.{n}": v for k in ("forces", "product") for n, v in DECIDED[0].items()}
    asked = {
        "machine": "balanced",
        "kernels": KERNELS,
        "decide": decided,
        "objective": {"minimize": "energy"},
    }
    _assert_least(asked, name, {})


def test_values_beyond_1e8_have_no_more_digits_than_floats():
    """A limit of 0 divides by what is next to it, which of large numbers made infinite ones, and an error."""
    asked = _nbody(
        given={"bodies": 1e11, "flops_per_pair": 10}, decide={"processors": {"max": 1e9}, "memory": {}}
    )
    _assert_least(asked, "energy", {})


def test_at_many_points_of_which_some_have_a_limit_of_zero():
    values = ["0 W", "500 W", "1 kW"]
    power = {"path": "limits.power.max", "values": values}
    asked = _nbody(limits={"time": {"max": "50 ms"}}, sweep={"cap": power})
    found = dse.sweep(asked)
    singly = [dse.solve(_nbody(limits={"time": {"max": "50 ms"}, "power": {"max": v}})) for v in values]
    which = list(found["limit"].values).index("power")
    for k, one in enumerate(singly[:2]):
        assert found["would_do"].values[k, which] == pytest.approx(one.conflict["power"], rel=1e-6)
    assert found["status"].values.tolist() == [3, 3, 1]
    assert np.isnan(found["would_do"].values[2]).all()


@pytest.mark.parametrize("decided", DECIDED, ids=["divisible", "whole", "powers"])
def test_at_many_points_with_a_limit_of_zero_everywhere(decided: dict[str, Any]):
    time = {"path": "limits.time.max", "values": ["40 ms", "50 ms"]}
    found = dse.sweep(_nbody(decide=decided, limits={"power": {"max": 0}}, sweep={"deadline": time}))
    which = list(found["limit"].values).index("power")
    for k, limit in enumerate(time["values"]):
        least = dse.solve(
            _nbody(decide=decided, limits={"time": {"max": limit}}, objective={"minimize": "power"})
        )
        assert found["would_do"].values[k, which] == pytest.approx(least.objective, rel=1e-6)


BLOCKS = {
    "model": "blocks",
    "machine": {"titan": "gtx-titan-choi2014", "arndale": "arndale-gpu-choi2014", "phi": "xeon-phi-choi2014"},
    "given": {"flops": "1 Pflop", "intensity": 2, "sharing": "free", "fixed_power": "50 W"},
    "objective": {"minimize": "energy"},
    "limits": {"time": {"max": 0}},
}


def test_no_time_at_all_is_infeasible_however_many_blocks_there_may_be():
    """More blocks take less time without end, and none of them takes none: it ended without an answer."""
    some = {"count.arndale": {"max": 30}, "count.titan": {"values": [0, 2, 4]}}
    found = dse.solve(BLOCKS | {"decide": some})
    assert (found.status, found.conflict) == (Status.INFEASIBLE, {"time": None})


def test_the_least_time_of_a_linear_program_has_all_its_digits_however_small_it_is():
    """It was told as 1 + time, less 1."""
    asked = BLOCKS | {
        "given": BLOCKS["given"] | {"flops": "1 Mflop"},
        "decide": {f"count.{n}": {"max": 10000} for n in BLOCKS["machine"]},
    }
    found = dse.solve(asked)
    least = dse.solve(asked | {"limits": {}, "objective": {"minimize": "time"}})
    assert least.objective is not None
    assert least.objective < 1e-9
    assert found.conflict == {"time": pytest.approx(least.objective, rel=1e-12, abs=0.0)}


def test_no_time_at_all_is_a_conflict_by_itself_where_blocks_are_few():
    few = {f"count.{n}": {"max": 4} for n in BLOCKS["machine"]}
    found = dse.solve(BLOCKS | {"decide": few})
    least = dse.solve(BLOCKS | {"decide": few, "limits": {}, "objective": {"minimize": "time"}})
    assert found.status is Status.INFEASIBLE
    assert found.conflict == {"time": pytest.approx(least.objective, rel=1e-6)}


def test_how_far_a_search_went_is_told_of_what_nobody_bounds():
    some = {"count.arndale": {"max": 30}, "count.titan": {"values": [0, 2, 4]}}
    found = dse.solve(BLOCKS | {"decide": some, "limits": {"time": {"max": "1e-15 s"}}})
    assert "count.arndale up to" not in found.message
    assert "count.titan up to" not in found.message
