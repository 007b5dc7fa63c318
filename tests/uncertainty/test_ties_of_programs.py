"""Of equally good designs for many worlds of linear programs the one is told that the rule of one world takes."""

from __future__ import annotations

from typing import Any

import pytest

import dse

REGIONS = [
    {"name": "one", "flops": "200 Gflop", "bytes": "400 GB"},
    {"name": "two", "flops": "400 Gflop", "bytes": "800 GB"},
    {"name": "three", "flops": "100 Gflop", "bytes": "200 GB"},
]
QUESTION: dict[str, Any] = {
    "model": "partition",
    "given": {"regions": REGIONS},
    "machine": {
        "cpu": {"base": "nuc-cpu-choi2014"},
        "gpu": {"base": "nuc-gpu-choi2014", "constant_power": "0 W"},
    },
    "objective": {"minimize": "time"},
}
# bytes take longer than flops, in every sample: the times are those of the nominal question
UNCERTAIN = {
    "machine.cpu.time_per_flop": {"uniform": ["10 ps/flop", "30 ps/flop"]},
    "sampling": {"samples": 32},
}


def many(of: dict[str, Any], measure: dict[str, Any]) -> Any:
    return dse.solve({**of, "uncertain": UNCERTAIN, "objective": {**of["objective"], **measure}})


@pytest.mark.parametrize("measure", [{"measure": "mean"}, {"cvar": 0.9}, {"measure": "worst"}])
def test_shares_that_are_equally_good_go_by_the_rule_of_one_world(measure: dict[str, Any]) -> None:
    """Any split of three alike regions with the same sum takes the same time and energy: the first share is least."""
    one, found = dse.solve(QUESTION), many(QUESTION, measure)
    assert one.ranges["share.one.cpu"] == (0.0, 1.0)
    assert found.status == "optimal"
    assert found.objective == pytest.approx(one.objective, rel=2e-9)
    for name, value in one.variables.items():
        assert found.variables[name] == pytest.approx(value, abs=1e-6)


def test_a_metric_goes_before_the_smaller_share() -> None:
    """With a price of an idle second, less energy is told of designs that take equally long."""
    dear = {"name": "four", "flops": "3 Tflop", "bytes": "1 GB"}
    of = {**QUESTION, "given": {"regions": [*REGIONS[:2], dear]}, "limits": {"time": {"max": "60 s"}}}
    of = {**of, "objective": {"minimize": "energy_link"}}
    found, one = many(of, {"measure": "mean"}), dse.solve(of)
    assert found.status == "optimal"
    assert found.objective == 0.0
    assert found.metrics["time"] == pytest.approx(one.metrics["time"], rel=1e-6)


def test_whole_regions_that_are_equally_good_go_by_the_rule_of_one_world() -> None:
    alike = [{**REGIONS[0], "name": n, "divisible": False} for n in ("a", "b", "c")]
    of = {**QUESTION, "given": {"regions": alike}}
    one, found = dse.solve(of), many(of, {"measure": "mean"})
    assert found.status == "optimal"
    assert len({*one.variables.values()}) == 2, "some regions on each side, and which of them is a tie"
    assert found.variables == pytest.approx(one.variables, abs=1e-6)
