"""Limits on differences: what they are worth, the values that would do, and where whole numbers next change.

Held to the same question asked with the number moved.
"""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import pytest

import dse

BASE: dict[str, Any] = {
    "model": "nbody",
    "machine": "balanced",
    "given": {"bodies": 1e5, "flops_per_pair": 10, "budget": 50},
    "decide": {"processors": {"max": 4096}, "memory": {}},
    "define": {
        "rest": "budget - energy / 1 J",
        "net": "energy / 1 J - memory / 100 word",
        "far": "(energy / 1 J - 30)**2",
    },
    "objective": {"minimize": "time"},
}
LIMITS = [("rest", "min", 5.0), ("net", "max", 25.0), ("net", "max", -15.0), ("far", "max", 200.0)]
MOVED = 1e-4
# second-order terms of a central difference of a root near its end
AS_MOVED = 1e-3


def asked(name: str, side: str, bound: float, **more: Any) -> dict[str, Any]:
    return copy.deepcopy({**BASE, "limits": {name: {side: bound}}, **more})


def rate(low: dict[str, Any], high: dict[str, Any]) -> float:
    """Percent of the objective for each percent of what was moved."""
    values = [dse.solve(x).objective for x in (low, high)]
    return math.log(values[1] / values[0]) / math.log((1 + MOVED) / (1 - MOVED))


@pytest.mark.parametrize(("name", "side", "bound"), LIMITS)
def test_what_a_limit_and_the_numbers_behind_it_are_worth(name: str, side: str, bound: float) -> None:
    found = dse.solve(asked(name, side, bound))
    limit = rate(*(asked(name, side, bound * (1 + s * MOVED)) for s in (-1, 1)))
    assert found.limits[name].elasticity == pytest.approx(limit, rel=AS_MOVED)
    pairs = [asked(name, side, bound) for _ in range(2)]
    for question, sign in zip(pairs, (-1, 1), strict=True):
        question["given"]["bodies"] *= 1 + sign * MOVED
    assert found.parameters["bodies"] == pytest.approx(rate(*pairs), rel=AS_MOVED)


@pytest.mark.parametrize(("name", "side", "bound"), LIMITS)
def test_a_sweep_says_what_single_questions_say(name: str, side: str, bound: float) -> None:
    bounds = [bound * f for f in np.linspace(0.5, 3.0, 6).tolist()]
    sweep = {"b": {"path": f"limits.{name}.{side}", "values": bounds}}
    swept = dse.sweep(asked(name, side, bounds[0], sweep=sweep), progress=False)
    place = [str(n) for n in swept["limit"].values].index(name)
    for i, b in enumerate(bounds):
        alone = dse.solve(asked(name, side, b))
        rates, would_do = (float(swept[n].values[i, place]) for n in ("elasticity", "would_do"))
        if alone.objective is None:
            assert would_do == pytest.approx(alone.conflict[name], rel=1e-6)
        else:
            assert float(swept["objective"][i]) == pytest.approx(alone.objective, rel=1e-8)
            assert rates == pytest.approx(alone.limits[name].elasticity, rel=1e-4, abs=1e-9)


@pytest.mark.parametrize(
    ("name", "side", "bound", "more"),
    [
        ("rest", "min", 30.0, {}),
        ("rest", "min", 12.0, {"objective": {"minimize": "energy"}}),
        ("net", "max", -2000.0, {}),
        ("far", "max", 50.0, {}),
    ],
)
@pytest.mark.parametrize("whole", [False, True])
def test_the_value_that_would_do_does_and_a_tighter_one_does_not(
    name: str, side: str, bound: float, more: dict[str, Any], whole: bool
) -> None:
    decide = {"processors": {"max": 4096, "integer": whole}, "memory": {}}
    value = dse.solve(asked(name, side, bound, decide=decide, **more)).conflict[name]
    tighter = value + (1e-5 if side == "min" else -1e-5) * abs(value)
    assert dse.solve(asked(name, side, value, decide=decide, **more)).status == "optimal"
    assert dse.solve(asked(name, side, tighter, decide=decide, **more)).status == "infeasible"


def test_whole_numbers_change_where_it_is_said() -> None:
    decide = {"processors": {"max": 4096, "integer": True}, "memory": {}}
    found = dse.solve(asked("rest", "min", 5.0, decide=decide))
    change = found.limits["rest"].next_change
    assert change is not None
    there, before = (dse.solve(asked("rest", "min", b, decide=decide)) for b in (change, change * (1 + 1e-5)))
    assert before.variables["processors"] == found.variables["processors"]
    assert there.variables["processors"] != found.variables["processors"]
    assert there.objective == pytest.approx(found.limits["rest"].next_objective, rel=1e-6)


def test_limits_with_structure_are_explained_by_it_whatever_is_sought() -> None:
    define = {**BASE["define"], "gain": "rest + 0.2 s / time"}
    more = {"define": define, "objective": {"maximize": "gain"}}
    found = dse.solve(
        asked("rest", "min", 9.5, decide={"processors": {"max": 4096, "integer": True}, "memory": {}}, **more)
    )
    least_energy = dse.solve(asked("rest", "min", 0.0, objective={"minimize": "energy"})).objective
    assert found.conflicts == (("rest",),)
    assert found.conflict["rest"] == pytest.approx(50.0 - least_energy, rel=1e-6)


BLOCKS: dict[str, Any] = {
    "model": "blocks",
    "given": {"flops": "1 Pflop", "bytes": "1 TB"},
    "machine": {"titan": "gtx-titan-choi2014", "apu": "apu-gpu-choi2014"},
    "objective": {"minimize": "energy"},
}
PARTITION: dict[str, Any] = {
    "model": "partition",
    "machine": {"cpu": "i7-2600k-tang2017", "gpu": "gtx-750-tang2017"},
    "given": {"regions": [{"name": "a", "flops": "90 Gflop", "bytes": "14 GB"}]},
    "objective": {"minimize": "energy"},
}


@pytest.mark.parametrize(
    ("base", "kept", "definition", "side", "bounds"),
    [
        (BLOCKS, {"blocks": {"max": 5}}, "3 - time / 100 s", "min", [2.98, 2.7]),
        (BLOCKS, {"blocks": {"max": 5}}, "0.3 - time / 100 s", "min", [-0.1, 0.0, 0.2]),
        (BLOCKS, {"blocks": {"max": 5}}, "time / 100 s - 0.3", "max", [-0.2, 0.0, 0.05]),
        (PARTITION, {}, "3 - time / 1 s", "min", [2.99, 3.5]),
        (PARTITION, {}, "time / 1 s - 1.5 * energy / 100 J", "max", [-5.0, -1.0]),
    ],
)
def test_of_linear_programs_the_value_that_would_do_is_the_least_of_the_difference(
    base: dict[str, Any], kept: dict[str, Any], definition: str, side: str, bounds: list[float]
) -> None:
    def limited(bound: float, **more: Any) -> dict[str, Any]:
        return {**base, "define": {"dd": definition}, "limits": {**kept, "dd": {side: bound}}, **more}

    axis = {"b": {"path": f"limits.dd.{side}", "values": bounds}}
    swept = dse.sweep(limited(bounds[0], sweep=axis), progress=False)
    place = [str(n) for n in swept["limit"].values].index("dd")
    for i, bound in enumerate(bounds):
        value = dse.solve(limited(bound)).conflict["dd"]
        tighter = value + (1e-5 if side == "min" else -1e-5) * abs(value)
        assert dse.solve(limited(value)).status == "optimal"
        assert dse.solve(limited(tighter)).status == "infeasible"
        assert float(swept["would_do"].values[i, place]) == pytest.approx(value, rel=1e-7)
