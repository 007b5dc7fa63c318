"""Questions that state several levels of memory or a network: where they are stated, and what is wrong."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import dse
from dse import workloads
from results.solution import Solution
from scenarios import ScenarioError

TITAN: dict[str, Any] = {
    "model": "roofline",
    "machine": "gtx-titan-choi2014",
    "given": {"flops": 1e11, "bytes": 1e9, "bytes_L2": 2e10},
}


def solved(**changes: Any) -> Solution:
    return dse.solve(copy.deepcopy(TITAN) | changes)


def test_they_may_be_given_decided_defined_or_swept():
    """One energy by every way of saying the same."""
    given = {"flops": 1e11, "bytes": 1e9}
    wanted = solved().metrics["energy"]
    goal = {"objective": {"minimize": "energy"}}
    decided = solved(given=given, decide={"bytes_L2": {"min": "20 GB"}}, **goal)
    assert decided.objective == pytest.approx(wanted, rel=1e-9)
    defined = solved(given={**given, "tiles": 20}, define={"bytes_L2": "bytes * tiles"})
    assert defined.metrics["energy"] == wanted
    swept = copy.deepcopy(TITAN) | {"given": given}
    swept["sweep"] = {"traffic": {"path": "given.bytes_L2", "values": [1e9, 2e10]}}
    found = dse.evaluate(swept)
    assert float(found["energy"][1]) == pytest.approx(wanted, rel=1e-12)
    assert found["energy_L2"].attrs["units"] == "J"
    assert "balance" not in found


def test_a_question_without_them_is_what_it_was():
    found = dse.solve(TITAN | {"given": {"flops": 1e11, "bytes": 1e9}})
    assert "balance" in found.metrics
    assert not any(n.endswith(("_L2", "_L1", "_random")) for n in found.metrics)


def test_kernels_have_their_own_levels():
    """One kernel with levels beside one without; each under its name, by workload and by input."""
    size = workloads.get("gemm-levels").times(1e9)
    assert size == {"flops": 2e9, "bytes": 3.125e7, "bytes_L2": 2.5e8, "bytes_L1": 2e9}
    kernels = [
        {"name": "tiles", "workload": "gemm-levels", "size": 1e9},
        {"name": "stream", "model": "roofline", "given": {"flops": 1e9, "bytes": 1e9}},
    ]
    both = dse.solve({"machine": TITAN["machine"], "kernels": kernels})
    apart = [dse.solve(TITAN | {"given": given}) for given in (size, {"flops": 1e9, "bytes": 1e9})]
    assert both.metrics["energy"] == pytest.approx(sum(x.metrics["energy"] for x in apart), rel=1e-12)
    assert "tiles.energy_L1" in both.metrics
    assert "stream.energy_L1" not in both.metrics
    shared = dse.solve({"machine": TITAN["machine"], "kernels": kernels, "given": {"accesses": 1e6}})
    assert shared.metrics["stream.energy_random"] == shared.metrics["tiles.energy_random"] == 1e6 * 4.8e-8


BAD: list[tuple[dict[str, Any], str, str]] = [
    ({"machine": "arndale-gpu-choi2014"}, "machine", "has no time_per_byte_L2, energy_per_byte_L2"),
    ({"given": {**TITAN["given"], "level": "L1"}}, "given.level", '"L1" is not a choice of level'),
    (
        {"given": {"flops": 1, "flops_double": 1, "bytes": 1, "precision": "double"}},
        "given.precision",
        "double",
    ),
    ({"given": {"flops": 1, "bytes_L2": 1}}, "given.bytes", "needs bytes or intensity"),
    ({"given": {"flops": 0, "bytes": 0, "bytes_L2": 0}}, "given.flops", "there is nothing to run"),
    ({"given": {**TITAN["given"], "bytes_L2": "3 s"}}, "given.bytes_L2", "3 s"),
    ({"given": {**TITAN["given"], "bytes_L2": -1}}, "given.bytes_L2", "negative"),
    ({"given": {**TITAN["given"], "bytes_L3": 1}}, "given.bytes_L3", "no input"),
    ({"limits": {"balance": {"max": 1}}}, "limits.balance", "balance"),
]


@pytest.mark.parametrize(("changes", "key", "wrong"), BAD)
def test_what_is_wrong_is_said_once(changes: dict[str, Any], key: str, wrong: str):
    with pytest.raises(ScenarioError) as caught:
        dse.load(copy.deepcopy(TITAN) | changes)
    (problem,) = caught.value.problems
    assert problem.key == key
    assert wrong in problem.wrong


def test_two_networks_are_refused():
    two = {"base": "balanced", "torus_dimensions": 3, "fat_tree_arity": 16}
    asked = {"model": "nbody", "machine": two, "given": {"bodies": 1e5, "flops_per_pair": 1}}
    asked["given"] |= {"processors": 10, "memory": 1e5}
    with pytest.raises(ScenarioError) as caught:
        dse.load(asked)
    assert [p.wrong for p in caught.value.problems] == [
        "torus_dimensions and fat_tree_arity are two networks"
    ]
