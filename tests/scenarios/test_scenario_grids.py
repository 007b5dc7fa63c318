"""A grid is the product of its axes, in SI, and gives the question at each point cheaply."""

import math
import pickle
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import scenarios
from dse import machines
from scenarios import Grid, ScenarioError, grid, load
from scenarios.question import Limit
from scenarios.questions import question

NBODY: dict[str, Any] = {
    "model": "nbody",
    "machine": "jaketown",
    "given": {"bodies": 1e6, "flops_per_pair": 20},
    "decide": {"processors": {"max": 64, "powers_of": 2}, "memory": {"max": "16 GiB"}},
    "objective": {"minimize": "energy"},
    "limits": {"time": {"max": "10 s"}},
}


def swept(axes: dict[str, Any], **changes: Any) -> Grid:
    return grid(load(NBODY | changes | {"sweep": axes}))


def test_without_a_sweep_there_is_one_point() -> None:
    found = grid(load(NBODY))
    assert (found.axes, found.shape, found.size) == ((), (), 1)
    assert found.question(()) == question(load(NBODY))
    with pytest.raises(IndexError):
        found.question((0,))


@given(
    st.floats(1e-3, 1e3),
    st.floats(1e-3, 1e3),
    st.integers(2, 60),
    st.sampled_from(["linear", "log", None]),
)
def test_steps_run_from_start_to_stop(start: float, stop: float, num: int, spacing: str | None) -> None:
    axis = {"path": "limits.time.max", "start": f"{start!r} ms", "stop": f"{stop!r} ms", "num": num}
    if abs(start - stop) < 1e-6 * start:
        return
    (found,) = swept({"deadline": axis | ({"spacing": spacing} if spacing else {})}).axes
    numbers = [float(v) for v in found.values]
    assert len(numbers) == num
    assert (numbers[0], numbers[-1]) == (pytest.approx(start / 1e3), pytest.approx(stop / 1e3))
    steps = [math.log(b / a) if spacing == "log" else b - a for a, b in pairwise(numbers)]
    # equal steps up to the rounding of the values themselves
    assert steps == pytest.approx([steps[0]] * len(steps), rel=1e-6, abs=1e-12 * max(numbers))


@given(st.lists(st.integers(2, 5), min_size=1, max_size=4), st.data())
def test_the_shape_is_the_product_of_the_axes(lengths: list[int], data: st.DataObject) -> None:
    paths = ["bodies", "flops_per_pair", "limits.power.max", "machine.leakage_power"]
    axes = {f"axis{i}": {"path": paths[i], "values": list(range(1, n + 1))} for i, n in enumerate(lengths)}
    found = swept(axes)
    assert found.shape == tuple(lengths)
    assert found.size == math.prod(lengths)
    index = tuple(data.draw(st.integers(0, n - 1)) for n in lengths)
    asked = found.question(index)
    values = [i + 1.0 for i in index]
    read = [
        asked.given["bodies"],
        asked.given["flops_per_pair"],
        next((x.maximum for x in asked.limits if x.name == "power"), None),
        asked.given["machine.leakage_power"],
    ]
    assert read[: len(values)] == values


def test_axes_carry_what_a_dataset_needs() -> None:
    found = swept(
        {
            "deadline": {"path": "limits.time.max", "values": ["1 ms", 5]},
            "flop_energy": {"path": "machine.energy_per_flop", "factors": [1, 0.5]},
            "who": {"path": "machine.base", "values": ["jaketown"]},
        }
    )
    base = machines.get("jaketown").parameters["energy_per_flop"]
    assert [a.name for a in found.axes] == ["deadline", "flop_energy", "who"]
    assert [a.values for a in found.axes] == [(1e-3, 5.0), (base, base / 2), ("jaketown",)]
    assert [a.unit for a in found.axes] == ["s", "J/flop", ""]
    assert [a.numeric for a in found.axes] == [True, True, False]
    assert found.axes[0].long_name == "greatest time of the run"
    assert found.axes[1].long_name == "energy of one flop"


def test_a_limit_may_be_introduced_by_its_axis() -> None:
    axis = {"path": "limits.power.max", "values": ["1 kW", "2 kW"]}
    found = swept({"cap": axis})
    assert [x.name for x in found.question((0,)).limits] == ["time", "power"]
    assert found.question((1,)).limits[1] == Limit("power", None, 2000.0)
    assert question(load(NBODY | {"sweep": {"cap": axis}})).limits == (Limit("time", None, 10.0),)


def test_a_limit_from_below_that_says_nothing_stays_open() -> None:
    found = swept({"target": {"path": "limits.efficiency.min", "values": [0, "1 GFLOPS/W"]}})
    assert found.axes[0].values == (0.0, 1e9)
    assert found.question((0,)).limits[1] == Limit("efficiency", None, None)
    assert found.question((1,)).limits[1] == Limit("efficiency", 1e9, None)


def test_a_given_may_come_from_its_axis_alone() -> None:
    found = swept({"size": {"path": "bodies", "values": [10, 20]}}, given={"flops_per_pair": 20})
    assert found.question((1,)).given["bodies"] == 20.0
    with pytest.raises(ScenarioError, match="has no value"):
        question(
            load(
                NBODY
                | {"given": {"flops_per_pair": 20}, "sweep": {"size": {"path": "bodies", "values": [1]}}}
            )
        )


def test_bounds_of_decisions_can_be_swept() -> None:
    decide = {
        "processors": {"max": 64, "powers_of": 2},
        "memory": {},
        "machine.energy_per_flop": {"max_halvings": 8},
    }
    found = swept(
        {
            "available": {"path": "decide.processors.max", "factors": [1, 4]},
            "progress": {"path": "decide.machine.energy_per_flop.max_halvings", "values": [0, 3]},
        },
        decide=decide,
    )
    asked = found.question((1, 1))
    base = machines.get("jaketown").parameters["energy_per_flop"]
    assert asked.decide[0].maximum == 256.0
    assert asked.decide[2].minimum == base / 8
    assert asked.decide == question(load(NBODY | {"decide": _progressed(decide, 256, 3)})).decide


def _progressed(decide: dict[str, Any], processors: int, halvings: int) -> dict[str, Any]:
    return decide | {
        "processors": {"max": processors, "powers_of": 2},
        "machine.energy_per_flop": {"max_halvings": halvings},
    }


def test_names_can_be_swept() -> None:
    fft = {"model": "fft", "machine": "jaketown", "given": {"points": 1024}, "decide": {"processors": {}}}
    axes = {"exchange": {"path": "all_to_all", "values": ["tree", "naive"]}}
    found = grid(load(fft | {"sweep": axes}))
    assert [found.question((i,)).given["all_to_all"] for i in (0, 1)] == ["tree", "naive"]


def test_each_machine_of_an_axis_is_asked_as_if_it_stood_in_the_file() -> None:
    names = ["jaketown", "balanced"]
    found = swept({"who": {"path": "machine", "values": names}, "size": {"path": "bodies", "values": [7]}})
    for i, name in enumerate(names):
        alone = question(load(NBODY | {"machine": name, "given": {"bodies": 7, "flops_per_pair": 20}}))
        asked = found.question((i, 0))
        assert replace(asked, scenario_text="") == replace(alone, scenario_text="")
    # the two machines have words of 4 and 8 bytes
    assert [found.question((i, 0)).decide[1].maximum for i in (0, 1)] == [2.0**32, 2.0**31]


def test_changes_of_the_machine_table_stay_along_an_axis_of_bases() -> None:
    table = {"base": "jaketown", "leakage_power": 7}
    found = swept({"who": {"path": "machine.base", "values": ["balanced", "jaketown"]}}, machine=table)
    assert [found.question((i,)).given["machine.leakage_power"] for i in (0, 1)] == [7.0, 7.0]
    with pytest.raises(ScenarioError, match=r"machine\.base"):
        swept({"who": {"path": "machine", "values": ["balanced"]}}, machine=table)


def test_word_sizes_can_be_swept_and_bytes_follow() -> None:
    found = swept({"word": {"path": "machine.word_size", "values": [4, "8 B"]}})
    assert [found.question((i,)).decide[1].maximum for i in (0, 1)] == [2.0**32, 2.0**31]
    assert found.question((1,)).given["machine.word_size"] == 8.0


def test_axis_values_that_would_differ_between_machines_are_refused() -> None:
    who = {"path": "machine", "values": ["jaketown", "balanced"]}
    for other in (
        {"path": "decide.memory.max", "values": ["1 GiB"]},
        {"path": "machine.energy_per_flop", "factors": [1, 2]},
    ):
        with pytest.raises(ScenarioError, match="differ between the machines"):
            swept({"who": who, "other": other})


def test_points_share_what_the_axes_leave_alone() -> None:
    """A point is made without reading the question again: what it shares with others is the same object."""
    found = swept(
        {
            "deadline": {"path": "limits.time.max", "values": [1, 2]},
            "size": {"path": "bodies", "values": [1e3, 1e6]},
        }
    )
    first, last = found.question((0, 0)), found.question((1, 1))
    assert first.model is last.model
    assert first.decide is last.decide
    assert first.objectives is last.objectives
    assert first.limits != last.limits
    assert first.given["bodies"] != last.given["bodies"]


def test_a_grid_travels_to_other_processes() -> None:
    found = swept({"size": {"path": "bodies", "values": [10, 20]}})
    assert pickle.loads(pickle.dumps(found)).question((1,)) == found.question((1,))


def test_a_grid_that_nobody_can_go_through_is_refused_before_its_values_are_made() -> None:
    axis = {"start": 1, "stop": 2, "num": 10_000_000}
    axes = {"a": {"path": "bodies", **axis}, "b": {"path": "flops_per_pair", **axis}}
    many = {f"q{i}": {"path": "a", "values": [1, 2]} for i in range(1100)}
    with pytest.raises(ScenarioError) as told:
        scenarios.load({"model": "nbody", "machine": "balanced", "given": {"bodies": 1e5}, "sweep": many})
    assert any(p.wrong.endswith(" = 1.36e+331 points") for p in told.value.problems)
    with pytest.raises(ScenarioError, match=r"sweep: the axes have 10000000 \* 10000000 = 1e\+14 points"):
        swept(axes)
