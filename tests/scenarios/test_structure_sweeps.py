"""Axes over flat names, and what the grid of a question over lists says of itself."""

from typing import Any

import pytest

import dse
from scenarios import ScenarioError
from scenarios.question import Limit


@pytest.mark.parametrize(
    ("path", "name", "unit"),
    [
        ("jobs.a.flops", "jobs.a.flops", "flop"),
        ("given.jobs.b.bytes", "jobs.b.bytes", "byte"),
        ("machine.gpu.energy_per_flop", "machine.gpu.energy_per_flop", "J/flop"),
        ("count.cpu", "count.cpu", ""),
        ("given.overhead", "overhead", "W"),
    ],
)
def test_numbers_under_flat_names_can_be_swept(ask: Any, path: str, name: str, unit: str) -> None:
    swept = ask(sweep={"study": {"path": path, "values": [1, 2]}})
    assert swept.axes[0].unit == unit
    assert [swept.question((i,)).given[name] for i in range(2)] == [1.0, 2.0]


def test_factors_multiply_what_the_row_or_the_machine_states(ask: Any) -> None:
    axes = {
        "work": {"path": "jobs.b.flops", "factors": [1, 10]},
        "speed": {"path": "machine.cpu.time_per_flop", "factors": [0.5]},
    }
    given = ask(sweep=axes).question((1, 0)).given
    assert given["jobs.b.flops"] == 2e10
    assert given["machine.cpu.time_per_flop"] == 9.5e-12 / 2


def test_limits_of_single_elements_can_be_swept(ask: Any) -> None:
    axes = {
        "all_of_it": {"path": "limits.time.max", "values": ["1 s"]},
        "host": {"path": "limits.time.cpu.max", "values": ["2 s", "3 s"]},
    }
    question = ask(sweep=axes).question((0, 1))
    assert set(question.limits) == {Limit("time", None, 1.0), Limit("time.cpu", None, 3.0)}


@pytest.mark.parametrize(
    ("axis", "key", "wrong", "right"),
    [
        ({"path": "jobs.c.flops", "values": [1]}, "path", "names nothing in this question", "jobs.a.flops"),
        ({"path": "jobs[0].flops", "values": [1]}, "path", "names nothing in this question", "jobs.a.flops"),
        ({"path": "time.cpu", "values": [1]}, "path", "is a metric", "limits.time.cpu.max"),
        ({"path": "limits.time.cpu", "values": [1]}, "path", "is not a bound", "limits.time.max"),
        ({"path": "limits.time.tpu.max", "values": [1]}, "path", "no limit", "limits.time.cpu"),
        ({"path": "decide.count.cpu.max", "values": [1]}, "", "", ""),
        ({"path": "rate.cpu", "values": [1]}, "path", "is not used with", "leave it out"),
        ({"path": "lane.a", "values": ["quick"]}, "values[0]", "is not a lane", "slow, fast"),
        ({"path": "lane.a", "start": 1, "stop": 2, "num": 3}, "num", "1.5 is not a lane", "slow, fast"),
        ({"path": "jobs.a.flops", "values": ["1 W"]}, "values[0]", "a power (W)", "flop"),
    ],
)
def test_mistakes_in_axes(ask: Any, complaint: Any, axis: Any, key: str, wrong: str, right: str) -> None:
    if not wrong:
        assert ask(sweep={"study": axis}).question((0,)).decide[0].maximum == 1.0
        return
    found = complaint(sweep={"study": axis})
    assert (found.key, wrong in found.wrong, right in found.right) == (f"sweep.study.{key}", True, True), (
        found
    )


@pytest.mark.parametrize("name", ["worker", "job", "time"])
def test_an_axis_cannot_have_the_name_of_a_dimension(complaint: Any, name: str) -> None:
    found = complaint(sweep={name: {"path": "overhead", "values": [1]}})
    assert (found.key, name in found.wrong) == (f"sweep.{name}", True)


def test_what_is_decided_somewhere_on_the_grid(ask: Any) -> None:
    axis = {"how": {"path": "mode", "values": ["even", "free"]}}
    every = ("count.cpu", "count.gpu", "lane.a", "lane.b")
    assert ask().decided() == every
    assert set(ask(sweep=axis).decided()) == {*every, "rate.cpu", "rate.gpu"}
    given = {"count": {"cpu": 1, "gpu": 1}, "lane": "fast"}
    assert ask(given=given).decided() == ()


def test_evaluating_refuses_unknowns_that_nobody_gave() -> None:
    regions = [{"name": "a", "flops": 1e9, "bytes": 1e9}]
    machine = {"cpu": "i7-2600k", "gpu": "gtx-titan-tang2017"}
    asked = {"model": "partition", "machine": machine, "given": {"regions": regions}}
    with pytest.raises(ScenarioError, match=r"share.a.cpu is to be decided"):
        dse.evaluate(asked)
    given = {"regions": regions, "share.a.cpu": 0}
    all_on_gpu = dse.evaluate(asked | {"given": given})
    # a gigabyte at 4.2 ps per byte takes longer than a gigaflop at 0.4 ps
    assert float(all_on_gpu.time) == pytest.approx(4.2e-3, rel=1e-12)
