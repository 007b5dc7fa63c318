"""Every wrong scenario is refused with file, key, what is wrong and what would be right; all at once."""

import re
import tomllib
from collections.abc import Callable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from scenarios import Problem, Scenario, ScenarioError, from_text, library, load, template
from scenarios.questions import question

Problems, Only = Callable[..., tuple[Problem, ...]], Callable[..., Problem]


def test_the_scenario_these_tests_spoil_is_right(good: Mapping[str, Any]) -> None:
    assert question(load(good)).given["bodies"] == 1e6


@pytest.mark.parametrize(
    ("changes", "key", "wrong", "right"),
    [
        ({"objectiv": {}}, "objectiv", "unknown key", "did you mean 'objective'"),
        ({"model": None}, "model", "no model", "dse models"),
        ({"model": "nbdy"}, "model", '"nbdy"', "did you mean 'nbody'? there are: nbody, matmul"),
        ({"model": 3}, "model", "3 is not text", "quotes"),
        ({"machine": "jaketwon"}, "machine", '"jaketwon"', "did you mean 'jaketown'"),
        ({"machine": None}, "machine", "no machine", 'machine = "jaketown"'),
        ({"machine": 5}, "machine", "5 is not a machine", "jaketown"),
        ({"machine": {"cpu": "jaketown", "gpu": "gtx590"}}, "machine", "map of machines", "base"),
        (
            {"machine": {"base": "jaketown", "energy_per_flp": 1}},
            "machine.energy_per_flp",
            "no machine parameter",
            "did you mean 'energy_per_flop'",
        ),
        (
            {"machine": {"base": "jaketown", "leakage_power": "10 kWh"}},
            "machine.leakage_power",
            "an energy (J), but a power (W)",
            '"10 W"',
        ),
        (
            {"machine": {"base": "jaketown", "leakage_power": -1}},
            "machine.leakage_power",
            "negative",
            "least 0 W",
        ),
        (
            {"machine": {"base": "jaketown", "leakage_power": True}},
            "machine.leakage_power",
            "not true",
            "number",
        ),
        ({"uncertain": {"n": {"uniform": [1, 2]}}}, "uncertain.n", '"n"', "there are: bodies"),
        ({"waive": ["replicaton"]}, "waive[0]", '"replicaton"', "did you mean 'replication'"),
        ({"idle": 1}, "idle", "1 is neither", "true or false"),
        ({"gap": 2}, "gap", "2 is not a relative gap", "between 0 and 1"),
        ({"title": 4}, "title", "4 is not text", "quotes"),
    ],
)
def test_mistakes_at_the_top(only: Only, changes: dict[str, Any], key: str, wrong: str, right: str) -> None:
    found = only(**changes)
    assert (found.key, wrong in found.wrong, right in found.right) == (key, True, True), found


@pytest.mark.parametrize(
    ("given", "key", "wrong", "right"),
    [
        ({"bodis": 1}, "given.bodis", '"bodis"', "did you mean 'bodies'"),
        ({"bodies": -5}, "given.bodies", "-5 is negative", "at least 1"),
        ({"bodies": 0}, "given.bodies", "too small", "at least 1"),
        ({"bodies": float("nan")}, "given.bodies", "nan is not a finite", "number"),
        ({"bodies": float("inf")}, "given.bodies", "inf is not a finite", "number"),
        ({"bodies": True}, "given.bodies", "not true", "number"),
        ({"bodies": "10 W"}, "given.bodies", "a power (W)", "20"),
        ({"bodies": "9**9**9"}, "given.bodies", "not one number", "write"),
        ({"bodies": [1, 2]}, "given.bodies", "not a list", "number"),
        ({"regions": [{"flops": 1}]}, "given.regions", "takes no tables", "single values"),
        ({"energy": 3}, "given.energy", "is a metric", "[limits]"),
        ({"energy_per_flop": 3}, "given.energy_per_flop", "machine table", "energy_per_flop = …"),
        ({"machine.energy_per_flop": 3}, "given.machine.energy_per_flop", "machine table", "base"),
        ({"processors": 3}, "decide.processors", "given and decided", "take it out"),
    ],
)
def test_mistakes_under_given(only: Only, given: dict[str, Any], key: str, wrong: str, right: str) -> None:
    given = {"flops_per_pair": 20, **({} if "bodis" in given else {"bodies": 1e6}), **given}
    found = only(given=given)
    assert (found.key, wrong in found.wrong, right in found.right) == (key, True, True), found


def test_a_missing_input_says_where_to_put_it(only: Only) -> None:
    found = only(given={"bodies": 1e6})
    assert found.key == "given.flops_per_pair"
    assert "has no value" in found.wrong
    assert "under [given]" in found.right
    assert "[decide] flops_per_pair" in found.right


def test_a_machine_of_table_two_is_told_what_to_supply(only: Only) -> None:
    found = only(machine="gtx590", decide={"processors": {}, "memory": {}})
    assert found.key == "machine"
    for name in ("time_per_word", "energy_per_message", "memory_power_per_word", "max_message"):
        assert name in found.wrong
        assert f'{name} = "' in found.right
    assert "time_per_flop" not in found.wrong
    assert 'base = "gtx590"' in found.right
    assert "placeholders" in found.right
    assert "[decide]" in found.right


def test_all_mistakes_of_a_file_come_at_once_and_none_twice(problems: Problems) -> None:
    found = problems(
        machine="jaketwon",
        titel="x",
        given={"bodis": 1, "flops_per_pair": -1},
        decide={"processors": {"mim": 1}, "memory": {"max": "5 s"}},
        objective={"minimize": "enrgy"},
        limits={"power": {"max": "10 kWh"}, "time": 3},
        sweep={"study": {"path": "bodies", "values": []}},
    )
    assert sorted(p.key for p in found) == sorted(
        [
            "machine",
            "titel",
            "given.bodis",
            "given.flops_per_pair",
            "decide.processors.mim",
            "decide.memory.max",
            "objective.minimize",
            "limits.power.max",
            "limits.time",
            "sweep.study.values",
        ]
    )


def test_the_message_lists_every_mistake_with_its_file() -> None:
    text = 'model = "nbdy"\nidle = 3\n'
    with pytest.raises(ScenarioError) as caught:
        from_text(text, "deadline.toml")
    assert str(caught.value).startswith("2 mistakes in deadline.toml\n  idle: 3 is neither")
    assert "did you mean 'nbody'" in str(caught.value)


def test_a_scenario_made_from_keywords_speaks_the_same_language() -> None:
    with pytest.raises(ScenarioError) as caught:
        Scenario(model="nbody", decide={"processors": {"mx": 3}}, limits={"time": 5})
    assert [p.key for p in caught.value.problems] == ["decide.processors.mx", "limits.time"]
    assert "pydantic" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_choice_among_machines_must_be_complete(only: Only) -> None:
    found = only(
        machine=None, decide={"machine": {"values": ["jaketown", "gtx590"]}, "processors": {}, "memory": {}}
    )
    assert found.key == "decide.machine.values[1]"
    assert "time_per_word" in found.wrong


def test_bytes_need_a_word_size(only: Only) -> None:
    table = dict.fromkeys(
        ("time_per_flop", "time_per_word", "time_per_message", "energy_per_flop", "energy_per_word"), 1e-9
    ) | {"energy_per_message": 0, "memory_power_per_word": 0, "leakage_power": 0, "max_message": 1e3}
    found = only(machine=table)
    assert found.key == "decide.memory.max"
    assert "bytes" in found.wrong
    assert "machine.word_size" in found.right


@pytest.mark.parametrize("model", ["blocks", "dvfs", "exabounds", "partition", "sockets"])
def test_models_over_lists_know_no_idling(model: str) -> None:
    data = tomllib.loads(template(model))
    load(data | {"idle": False})
    with pytest.raises(ScenarioError) as caught:
        load(data | {"idle": True})
    (found,) = caught.value.problems
    assert (found.key, found.wrong.startswith(f"{model} does not support idle")) == ("idle", True)


@pytest.mark.parametrize("work", [{"flops": 0, "bytes": "0 B"}, {"flops": "0 flop", "intensity": 2}])
@pytest.mark.parametrize(
    ("model", "machine"),
    [("roofline", "gtx-titan-choi2014"), ("blocks", {"gpu": "gtx-titan-choi2014"})],
)
def test_a_run_does_something(model: str, machine: Any, work: dict[str, Any]) -> None:
    asked = {"model": model, "machine": machine}
    load(asked | {"given": work | {"flops": 1}})
    with pytest.raises(ScenarioError) as caught:
        load(asked | {"given": work})
    (found,) = caught.value.problems
    assert (found.key, found.wrong) == ("given.flops", "there is nothing to run: no flops and no bytes")
    assert found.right == "write flops or bytes above 0"


@pytest.mark.parametrize(
    ("given", "sweep", "wrong"),
    [
        ({"intensity": 2}, {"f": {"path": "flops", "values": [0, 1e12]}}, True),
        ({"bytes": 0}, {"f": {"path": "flops", "start": 0, "stop": 1e12, "num": 3}}, True),
        ({"bytes": 1}, {"f": {"path": "flops", "values": [0, 1e12]}}, False),
        # along one axis not both at once, along two they are
        ({}, {"f": {"paths": {"flops": [0, 1], "bytes": [1, 0]}}}, False),
        ({}, {"f": {"path": "flops", "values": [0, 1]}, "b": {"path": "bytes", "values": [0, 1]}}, True),
    ],
)
def test_a_run_does_something_at_every_point(
    given: dict[str, Any], sweep: dict[str, Any], *, wrong: bool
) -> None:
    asked = {"model": "roofline", "machine": "gtx-titan-choi2014", "given": given, "sweep": sweep}
    if not wrong:
        assert "f" in load(asked).sweep
        return
    with pytest.raises(ScenarioError) as caught:
        load(asked)
    (found,) = caught.value.problems
    assert found.key == "sweep.f"
    assert "nothing to run: no flops and no bytes" in found.wrong


@pytest.mark.parametrize("flops", [0, 0.0, "0 flop", "0 Gflop"])
def test_a_region_does_something(flops: float | str) -> None:
    regions = [{"name": "a", "flops": 1e9, "bytes": 1e9}, {"name": "b", "flops": flops, "bytes": "0 MB"}]
    asked = {"model": "partition", "machine": {"cpu": "i7-2600k", "gpu": "gtx-titan-tang2017"}}
    with pytest.raises(ScenarioError) as caught:
        load(asked | {"given": {"regions": regions}, "objective": {"minimize": "time"}})
    (found,) = caught.value.problems
    assert "flops = 0 and bytes = 0" in found.wrong
    assert "write one above 0, or take the row out" in found.right


def test_one_machine_under_decide_is_told_where_it_belongs() -> None:
    question = {"model": "nbody", "given": {"bodies": 1e5, "flops_per_pair": 10}}
    with pytest.raises(ScenarioError) as caught:
        load(question | {"decide": {"machine": "balanced", "processors": {"max": 64}, "memory": {}}})
    (found,) = caught.value.problems
    assert (found.key, found.wrong) == (
        "decide.machine",
        '"balanced" is one machine, which leaves nothing to decide',
    )
    assert 'machine = "balanced" at the top' in found.right
    assert '{ values = ["balanced", …] }' in found.right


def test_a_machine_that_is_chosen_and_lacks_a_number_may_have_it_stated_for_all() -> None:
    """What is advised does: the parameter is defined, and the question has no mistakes."""
    machine = {"values": ["balanced", "intel-atom-d2500"]}
    question = {
        "model": "nbody",
        "given": {"bodies": 1e5, "flops_per_pair": 10},
        "decide": {"machine": machine, "processors": {"max": 64}, "memory": {}},
        "objective": {"minimize": "energy"},
    }
    with pytest.raises(ScenarioError) as caught:
        load(question)
    (found,) = caught.value.problems
    assert found.key == "decide.machine.values[1]"
    assert "machine.base" not in found.right
    advised = dict(re.findall(r'"(machine\.\w+)" = ("[^"]+")', found.right.partition("[define] ")[2]))
    assert len(advised) == 7
    load(question | {"define": {name: value.strip('"') for name, value in advised.items()}})


def test_machine_files_of_a_ready_question_stand_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As tables do, and not in the folder in which somebody works."""
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "own.toml").write_text(
        Path(str(files("dse.machines") / "balanced.toml")).read_text()
    )
    text = Path(str(library()["nbody_least_energy"])).read_text()
    (tmp_path / "there" / "ready.toml").write_text(re.sub('machine = ".*"', 'machine = "./own.toml"', text))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "scenarios.language.ready.library", lambda: {"ready": tmp_path / "there" / "ready.toml"}
    )
    text = load("ready").text
    assert '# machine file "./own.toml"' in text
    assert str(tmp_path) not in text


@pytest.mark.parametrize(
    ("changes", "key", "wrong", "right"),
    [
        ({"limits": {"words": {"max": "-3 kB"}}}, "limits.words.max", '"-3 kB" is negative', "at least 0 B"),
        (
            {"limits": {"words": {"min": "9 kB", "max": "3 kB"}}},
            "limits.words",
            'min = "9 kB" is above',
            "swap",
        ),
        ({"limits": {"time": {"max": "-3 s"}}}, "limits.time.max", '"-3 s" is negative', "at least 0 s"),
        (
            {"decide": {"processors": {}, "memory": {"min": "2 B"}}},
            "decide.memory.min",
            '"2 B" is too small',
            "at least 4 B",
        ),
        (
            {"decide": {"processors": {}, "memory": {"values": ["1 kB", "-8 B"]}}},
            "decide.memory.values[1]",
            '"-8 B" is negative',
            "at least 4 B",
        ),
        (
            {"decide": {"processors": {}, "memory": {"min": -8}}},
            "decide.memory.min",
            "-8 is negative",
            "at least 1 word",
        ),
        (
            {"sweep": {"t": {"path": "limits.time.max", "values": ["1 s", "-2 ms"]}}},
            "sweep.t.values[1]",
            '"-2 ms" is negative',
            "at least 0 s",
        ),
        (
            {"sweep": {"m": {"path": "decide.memory.max", "start": "2 B", "stop": "9 kB", "num": 3}}},
            "sweep.m.start",
            '"2 B" is too small',
            "at least 4 B",
        ),
        (
            {"uncertain": {"machine.time_per_flop": {"values": ["1 ns/flop", "-2 ns/flop"]}}},
            "uncertain.machine.time_per_flop.values[1]",
            '"-2 ns/flop" is negative',
            "at least 0 s/flop",
        ),
    ],
)
def test_a_wrong_bound_is_named_in_the_unit_of_the_file(
    only: Only, changes: dict[str, Any], key: str, wrong: str, right: str
) -> None:
    found = only(**changes)
    assert (found.key, wrong in found.wrong, right in found.right) == (key, True, True), found


def test_a_key_that_would_fill_pages_is_told_by_its_ends(good: Mapping[str, Any]) -> None:
    with pytest.raises(ScenarioError) as caught:
        load({**good, "limits": {"x" * 100_000: {"max": 1}}})
    assert caught.value.problems[0].key == "limits." + "x" * 100_000
    assert len(str(caught.value)) < 1000
