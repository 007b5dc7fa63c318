"""Mistakes in what is decided, asked for, limited and swept are refused with key, what is wrong and what is right."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

import dse
from scenarios import Problem, ScenarioError, load

Problems, Only = Callable[..., tuple[Problem, ...]], Callable[..., Problem]


def test_what_is_decided_or_swept_is_not_missing(good: Mapping[str, Any]) -> None:
    missing = ["time_per_word", "time_per_message", "energy_per_word", "energy_per_message", "max_message"]
    table = {"base": "gtx590", **dict.fromkeys(missing, 1), "leakage_power": 0}
    decide = {"processors": {}, "memory": {}, "machine.memory_power_per_word": {"min": 1e-12, "max": 1e-6}}
    del table["time_per_word"]
    load(
        good
        | {
            "machine": table,
            "decide": decide,
            "sweep": {"link": {"path": "machine.time_per_word", "values": [1]}},
        }
    )


@pytest.mark.parametrize(
    ("decide", "key", "wrong", "right"),
    [
        ({"min": 8, "max": 4}, "", "min = 8 is above max = 4", "swap"),
        ({"min": 1.2, "max": 1.7, "integer": True}, "", "no whole number lies between min = 1.2", "widen"),
        ({"mx": 8}, ".mx", "unknown key", "did you mean 'max'"),
        ({"min": 0}, ".min", "too small", "at least 1"),
        ({"max": "3 W"}, ".max", "a power (W)", "20"),
        ({"max": float("inf")}, ".max", "inf is not a finite", "leave the key out"),
        ({"values": []}, ".values", "empty", "at least one"),
        ({"values": ["tree"]}, ".values[0]", "'tree'", "20"),
        ({"values": [1, True]}, ".values", "entry 2", "list"),
        ({"values": 4}, ".values", "4 is not a list", "list"),
        ({"values": [2, 2.5], "integer": True}, ".values", "2.5 is not a whole", "integer"),
        ({"powers_of": 1}, ".powers_of", "no powers", "at least 2"),
        ({"powers_of": 2.5}, ".powers_of", "not a whole number", "whole"),
        ({"powers_of": 2, "values": [1]}, "", "exclude each other", "one of them"),
        ({"divides": 32}, ".divides", "32 is not a name", '"NAME" or'),
        ({"max_halvings": 3}, ".max_halvings", "only a machine parameter", "min and max"),
        ({"integer": 1}, ".integer", "neither true nor false", "true or false"),
        (5, "", "5 is not a table", "[given]"),
    ],
)
def test_mistakes_under_decide(only: Only, decide: Any, key: str, wrong: str, right: str) -> None:
    found = only(decide={"processors": decide, "memory": {}})
    assert (found.key, wrong in found.wrong, right in found.right) == (
        f"decide.processors{key}",
        True,
        True,
    ), found


@pytest.mark.parametrize(
    ("name", "entry", "key", "wrong"),
    [
        ("machine.leakage_power", {"max_halvings": 3}, ".max_halvings", "leakage_power is 0"),
        ("machine.memory_capacity", {"max_halvings": 3}, ".max_halvings", "has no machine.memory_capacity"),
        ("machine.energy_per_flop", {"max_halvings": 3, "min": 1}, "", "sets both bounds"),
        (
            "machine.energy_per_flop",
            {"max_halvings": 2.5, "integer": True},
            ".max_halvings",
            "is not a whole number",
        ),
        ("machine.energy_per_flop", {"max_halvings": -1}, ".max_halvings", "are not possible"),
        ("machine.energy_per_flop", {"min": 0}, ".min", "cannot be 0"),
        ("energy_per_flop", {}, "", "is a machine parameter"),
        ("time", {}, "", "is a metric"),
        ("bodeis", {}, "", "no input or machine parameter"),
        ("machine", {"values": ["jaketown"]}, "", "given and decided"),
    ],
)
def test_mistakes_in_what_is_decided(
    only: Only, name: str, entry: dict[str, Any], key: str, wrong: str
) -> None:
    found = only(decide={"processors": {}, "memory": {}, name: entry})
    assert found.key == f"decide.{name}{key}"
    assert wrong in found.wrong, found


@pytest.mark.parametrize(
    ("objective", "key", "wrong", "right"),
    [
        ({"minimize": "enrgy"}, ".minimize", '"enrgy"', "did you mean 'energy'"),
        ({"minimize": ["time", "enrgy"]}, ".minimize[1]", '"enrgy"', "did you mean 'energy'"),
        ({"minimize": "energy", "maximize": "performance"}, "", "exclude each other", "keep one"),
        ({}, "", "nothing is minimised", "energy"),
        ({"minimize": []}, "", "nothing is minimised", "energy"),
        ({"minimize": 3}, ".minimize", "3 is not a name", "NAME"),
        ({"minimize": ["time", "time"]}, ".minimize[1]", "listed twice", "once"),
        ({"minimize": "bodies"}, ".minimize", "bodies is not decided", "metric or a decided"),
        ({"minimize": "halvings"}, ".minimize", "no machine parameter is decided", "max_halvings"),
        ({"minimize": "energy", "front": {"points": 9}}, ".front", "two objectives", "minimize = ["),
        (
            {"minimize": ["energy", "time"], "front": {"points": 1}},
            ".front.points",
            "too few for a front",
            "2",
        ),
        *(
            (
                {"minimize": ["energy", "time"], "front": {"points": n}},
                ".front.points",
                wrong,
                "keep to 10000",
            )
            for n, wrong in ((1e300, "points = 1e+300 is too many"), (10_001, "points = 10001 is too many"))
        ),
        (
            {"minimize": ["energy", "time"], "front": {"points": 9, "tolerance": 0.1}},
            ".front",
            "exclude",
            "one",
        ),
        (
            {"minimize": ["energy", "time"], "front": {"tolerance": 0}},
            ".front.tolerance",
            "is not a tolerance",
            "0 and 1",
        ),
        ({"minimize": "energy", "waive": ["x"]}, ".waive", "does not belong here", "top of the file"),
        ("energy", "", "not a table", "minimize"),
    ],
)
def test_mistakes_in_the_objective(only: Only, objective: Any, key: str, wrong: str, right: str) -> None:
    found = only(objective=objective)
    assert (found.key, wrong in found.wrong, right in found.right) == (f"objective{key}", True, True), found


@pytest.mark.parametrize(
    ("limits", "key", "wrong", "right"),
    [
        ({"power": {"max": "10 kWh"}}, "power.max", "an energy (J), but a power (W)", '"10 W"'),
        ({"power": {"max": "10"}}, "power.max", "has no unit", '"10 W"'),
        ({"power": {"max": "10 kw"}}, "power.max", "unknown unit", "did you mean"),
        ({"power": {"max": "ten W"}}, "power.max", "not one number", '"10 W"'),
        ({"tme": {"max": 1}}, "tme", '"tme"', "did you mean 'time'"),
        ({"time": {}}, "time", "neither min nor max", 'max = "10 s"'),
        ({"power": {}}, "power", "neither min nor max", 'max = "10 W"'),
        ({"time": 4}, "time", "4 is not a table", "{ max = 4 }"),
        ({"time": {"min": 2, "max": 1}}, "time", "above", "swap"),
        ({"time": {"max": -1}}, "time.max", "negative", "at least 0"),
        ({"time": {"max": float("nan")}}, "time.max", "nan is not a finite", "finite"),
        ({"time": {"max": 1e-320}}, "time.max", "too close to 0", "at least 1e-300"),
        ({"time": {"max": "1e-310 s"}}, "time.max", "too close to 0", "at least 1e-300"),
        ({"one_copy": {"max": 1}}, "one_copy", "always holds", "waive"),
        ({"bodies": {"max": 1}}, "bodies", "is not a decided number", "metric"),
        ({"memory": {"max": 1}}, "memory", "max under [decide] already", "one of the two"),
    ],
)
def test_mistakes_in_limits(only: Only, limits: dict[str, Any], key: str, wrong: str, right: str) -> None:
    found = only(limits=limits)
    assert (found.key, wrong in found.wrong, right in found.right) == (f"limits.{key}", True, True), found


@pytest.mark.parametrize(
    ("axis", "key", "wrong"),
    [
        ({"path": "limits.tim.max", "values": [1]}, ".path", "limits.tim.max"),
        ({"path": "limits.time", "values": [1]}, ".path", "is not a bound"),
        ({"path": "decide.bodies.max", "values": [1]}, ".path", "is not a decided number"),
        ({"path": "decide.processors.max_halvings", "values": [1]}, ".path", "no max_halvings"),
        ({"path": "processors", "values": [1]}, ".path", "is decided"),
        ({"path": "energy", "values": [1]}, ".path", "is a metric"),
        ({"path": "energy_per_flop", "values": [1]}, ".path", "is a machine parameter"),
        ({"path": "objective", "values": ["time"]}, ".path", "names nothing in this question"),
        ({"path": 3, "values": [1]}, ".path", "not text"),
        ({"values": [1]}, ".path", "no path"),
        ({"path": "bodies"}, "", "the axis is empty"),
        ({"path": "bodies", "values": []}, ".values", "the axis is empty"),
        ({"path": "bodies", "factors": []}, ".factors", "the axis is empty"),
        ({"path": "bodies", "start": 1, "stop": 9, "num": 0}, ".num", "num = 0 is not possible"),
        ({"path": "bodies", "start": 1, "stop": 9, "num": 2.5}, ".num", "not a whole number"),
        ({"path": "bodies", "start": 1, "stop": 9}, ".num", "num missing"),
        ({"path": "bodies", "start": 1, "stop": 9, "num": 3, "values": [1]}, "", "exclude each other"),
        ({"path": "bodies", "start": 1, "stop": 9, "num": 3, "spacing": "lg"}, ".spacing", '"lg"'),
        (
            {"path": "limits.time.max", "start": "1 s", "stop": "1000 ms", "num": 3},
            ".stop",
            'start = "1 s" and stop = "1000 ms" are the same',
        ),
        ({"path": "bodies", "values": [3, 4, 3]}, ".values", "3 stands on the axis more than once"),
        ({"path": "bodies", "values": ["1 W"]}, ".values[0]", "a power (W)"),
        (
            {"path": "limits.time.max", "values": ["1 W", "2 s", "3 W", "4 W"]},
            ".values[0]",
            "(2 more numbers here have this unit)",
        ),
        (
            {"path": "limits.time.max", "start": "1 W", "stop": "2 W", "num": 3},
            ".start",
            "(1 more number here has this unit)",
        ),
        (
            {"path": "machine.leakage_power", "start": "-3 W", "stop": "5 W", "num": 9, "spacing": "linear"},
            ".start",
            '"-3 W" is negative',
        ),
        (
            {"path": "machine.leakage_power", "start": "5 W", "stop": "-3 W", "num": 9, "spacing": "linear"},
            ".stop",
            '"-3 W" is negative',
        ),
        ({"path": "bodies", "values": [5, -1]}, ".values[1]", "negative"),
        (
            {"path": "machine.leakage_power", "start": 0, "stop": 9, "num": 3, "spacing": "log"},
            ".start",
            "end at 0",
        ),
        (
            {"path": "machine.leakage_power", "start": 9, "stop": -1, "num": 3, "spacing": "log"},
            ".stop",
            "end at -1",
        ),
        ({"path": "limits.power.max", "factors": [1]}, ".factors", "no value"),
        ({"path": "limits.time.max", "factors": ["1 s"]}, ".factors", "plain number"),
        ({"path": "limits.memory.max", "values": [5]}, ".path", "under [decide] already"),
        ({"path": "limits.time.min", "values": [5, 11]}, "", "above max = 10"),
        ({"path": "decide.processors.max", "values": [0]}, ".values[0]", "too small"),
        ({"path": "machine", "values": ["jaktown"]}, ".values[0]", '"jaktown"'),
        ({"path": "machine", "values": [3]}, ".values[0]", "3 is not a machine"),
        ({"path": "machine", "factors": [1]}, "", "needs its values"),
    ],
)
def test_mistakes_in_a_sweep(only: Only, axis: dict[str, Any], key: str, wrong: str) -> None:
    found = only(sweep={"study": axis})
    assert found.key == f"sweep.study{key}"
    assert wrong in found.wrong, found


def test_an_axis_named_for_an_input_is_told_to_write_it_as_its_path(only: Only) -> None:
    """And nothing is said of a value of the input, which the axis was to give."""
    found = only(given={"flops_per_pair": 20}, sweep={"bodies": {"values": [1e5, 1e6]}})
    assert found.key == "sweep.bodies.path"
    assert 'write path = "bodies"' in found.right


def test_a_misspelt_given_on_an_axis_is_told_what_was_meant(only: Only) -> None:
    found = only(sweep={"study": {"path": "given.bodeis", "values": [1, 2]}})
    assert "did you mean 'given.bodies'" in found.right


def test_a_misspelt_decision_is_never_what_was_meant_elsewhere(problems: Problems) -> None:
    """A name that does not exist is no help for another."""
    found = problems(
        decide={"processors": {}, "memory": {}, "enrgi": {}},
        objective={"minimize": "enrgy"},
        limits={"enrgyy": {"max": 1}},
        sweep={
            "a": {"path": "limits.enrgii.max", "values": [1, 2]},
            "b": {"path": "decide.enrg.max", "values": [1, 2]},
            "c": {"path": "enrgy", "values": [1, 2]},
        },
    )
    assert len(found) == 6
    assert not any("enrgi" in p.right for p in found)


def test_axes_that_get_in_each_others_way(problems: Problems) -> None:
    found = problems(
        sweep={
            "time": {"path": "bodies", "values": [1]},
            "again": {"path": "given.bodies", "values": [1]},
            "a/b": {"path": "machine.leakage_power", "values": [1]},
            "processors": {"path": "flops_per_pair", "values": [1]},
            "floor": {"path": "decide.memory.min", "values": [9]},
            "ground": {"path": "limits.memory.min", "values": [9]},
        }
    )
    assert {p.key: p.wrong for p in found} == {
        "sweep.time": "the dataset needs the name time for itself",
        "sweep.again.path": "given.bodies is swept by time already",
        "sweep.a/b": '"a/b" cannot name a dimension of a dataset',
        "sweep.processors": "the dataset needs the name processors for itself",
        "sweep.ground.path": "limits.memory.min is swept by floor already",
    }


def test_letters_of_names_are_those_from_a_to_z(problems: Problems) -> None:
    (found,) = problems(sweep={"gr\u00f6\u00dfe": {"path": "bodies", "values": [1]}})
    assert found.right == "use letters (a to z), digits and _, beginning with a letter"


def test_no_axis_has_a_name_that_its_dataset_needs(good: Mapping[str, Any]):
    measured = {
        "uncertain": {"bodies": {"uniform": [8e3, 1.2e4]}, "sampling": {"samples": 8}},
        "objective": {"minimize": "energy", "measure": "mean"},
    }
    swept = {"q": {"path": "flops_per_pair", "values": [10, 20]}}
    for more in ({}, measured):
        there = {str(n) for n in dse.sweep(good | more | {"sweep": swept}).variables} - {"q"}
        for name in there:
            with pytest.raises(ScenarioError, match=f"the dataset needs the name {name} for itself"):
                dse.load(good | more | {"sweep": {name: swept["q"]}})
    assert {"would_do", "kept", "kept_low", "promised", "fresh_q05", "promise"} <= there


@pytest.mark.parametrize("name", ["kept", "promised", "fresh_q05", "would_do"])
def test_an_own_number_with_a_name_of_the_dataset_has_a_variable_of_its_own(
    good: Mapping[str, Any], name: str
):
    asked = good | {
        "uncertain": {"bodies": {"uniform": [8e3, 1.2e4]}, "sampling": {"samples": 8}},
        "objective": {"minimize": "energy", "measure": "mean"},
        "sweep": {"q": {"path": "flops_per_pair", "values": [10, 20]}},
        "define": {name: "2 * energy"},
    }
    found = dse.sweep(asked)
    assert found[f"metric.{name}"].values == pytest.approx(2 * found["energy"].values)


@pytest.mark.parametrize("name", ["dominated", "joined", "enclosure", "enclosure_lower"])
def test_an_own_number_of_a_front_has_a_variable_of_its_own(good: Mapping[str, Any], name: str):
    goals = {"objective": {"minimize": ["time", "energy"]}, "define": {name: "2 * energy"}}
    found = dse.front(good | goals, points=3)
    assert found[f"metric.{name}"].values == pytest.approx(2 * found["energy"].values)


@pytest.mark.parametrize("name", ["dominated", "hypervolume_of", "front_time"])
def test_no_axis_of_fronts_has_a_name_that_fronts_need(good: Mapping[str, Any], name: str):
    axis = {name: {"path": "flops_per_pair", "values": [10, 20]}}
    assert dse.load(good | {"sweep": axis})
    with pytest.raises(ScenarioError, match=f"the dataset needs the name {name} for itself"):
        dse.load(good | {"sweep": axis, "objective": {"minimize": ["time", "energy"]}})


def test_no_axis_has_the_name_of_a_number_by_processor():
    axis = {"time_by_phase": {"path": "switch_time", "values": [0.1, 0.2]}}
    phases = [{"name": "a", "flops": 1e9}, {"name": "b", "flops": 1e9, "bytes": 1e9}]
    asked = {"model": "dvfs", "machine": "jetson-tk1-choi2016", "given": {"phases": phases}}
    with pytest.raises(ScenarioError, match="the dataset needs the name time_by_phase for itself"):
        dse.load(asked | {"objective": {"minimize": "energy"}, "sweep": axis})
