"""Maps of machines: names, files, tables with a base, whole tables; choices and sweeps of single entries."""

from pathlib import Path
from typing import Any

import pytest

from dse import machines
from scenarios import from_text, grid
from scenarios.question import Decision, combinations

CPU, GPU = "i7-2600k", "gtx-titan-tang2017"
OWN = {"time_per_flop": "1 ps/flop", "energy_per_flop": 2e-10}


def test_every_entry_has_its_own_parameters(ask: Any) -> None:
    given = ask(machine={"cpu": CPU, "gpu": {"base": GPU, "usable_power": "150 W"}, "own": OWN}).question(())
    for entry, name in (("cpu", CPU), ("gpu", GPU)):
        own = machines.get(name).parameters
        assert given.given[f"machine.{entry}.time_per_flop"] == own["time_per_flop"]
        assert given.given[f"machine.{entry}.energy_per_flop"] == own["energy_per_flop"]
    assert given.given["machine.gpu.usable_power"] == 150.0
    assert given.given["machine.own.time_per_flop"] == 1e-12
    assert "machine.cpu.usable_power" not in given.given


def test_a_machine_file_beside_the_scenario_can_be_an_entry(toy: Any, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        '[parameters]\ntime_per_flop = "3 ps/flop"\nenergy_per_flop = "1 pJ/flop"\n', encoding="utf-8"
    )
    text = """
        model = "toy"
        machine = { cpu = "mine.toml", gpu = { base = "mine.toml", usable_power = 5 } }
        [[given.jobs]]
        flops = 1
        [decide]
        "machine.third" = { values = ["mine.toml", "i7-2600k"] }
    """
    asked = from_text(text, str(tmp_path / "question.toml"))
    question = grid(asked).question(())
    assert question.given["machine.cpu.time_per_flop"] == 3e-12
    assert question.given["machine.gpu.time_per_flop"] == 3e-12
    assert asked.text.count("sha256") == 1
    chosen = [q.given["machine.third.time_per_flop"] for _, q in combinations(question)]
    assert chosen == [3e-12, machines.get(CPU).parameters["time_per_flop"]]


@pytest.mark.parametrize(
    ("machine", "key", "wrong", "right"),
    [
        (None, "machine", "needs at least 2 machines, and the map of them is not there", "cpu = "),
        ("jaketown", "machine", "one for each worker, not on a single machine", "machine = { cpu"),
        ({"base": CPU}, "machine", "not on a single machine", "machine = { cpu"),
        (OWN, "machine", "not on a single machine", "machine = { cpu"),
        ({"cpu": CPU}, "machine", "at least 2 machines, and the map of them names only cpu", "gpu ="),
        ({}, "machine", "at least 2 machines", "gpu ="),
        ({"cpu": CPU, "a.b": GPU}, "machine.a.b", "holds a dot", '"a-b"'),
        ({"cpu": CPU, "min": GPU}, "machine.min", "reserved name", '"min_1"'),
        ({"cpu": CPU, "gpu": 5}, "machine.gpu", "5 is not a machine", "base"),
        ({"cpu": CPU, "gpu": "i7-2600"}, "machine.gpu", 'no machine "i7-2600"', "i7-2600k"),
        ({"cpu": CPU, "gpu": "gtx-titan"}, "machine.gpu", "ambiguous", "in full"),
        ({"cpu": CPU, "gpu": {"base": "nix"}}, "machine.gpu.base", 'no machine "nix"', "there are"),
        ({"cpu": CPU, "gpu": {"base": GPU, "usable_powr": 5}}, "machine.gpu.usable_powr", "no machine par", "did you"),
        ({"cpu": CPU, "gpu": {"base": GPU, "usable_power": "5 J"}}, "machine.gpu.usable_power", "an energy", "W"),
        ({"cpu": CPU, "gpu": {"time_per_flop": 1}}, "machine.gpu", "has no energy_per_flop", "machine.gpu = {"),
        ({"cpu": CPU, "gpu": {"a": CPU, "b": GPU}}, "machine.gpu", "one machine as gpu", "jaketown"),
        (5, "machine", "5 is not a machine", "jaketown"),
    ],
)  # fmt: skip
def test_mistakes_in_maps(complaint: Any, machine: Any, key: str, wrong: str, right: str) -> None:
    found = complaint(machine=machine)
    assert (found.key, wrong in found.wrong, right in found.right) == (key, True, True), found


def test_every_entry_is_read_before_any_mistake_is_told(complaints: Any) -> None:
    found = complaints(machine={"cpu": "nix", "gpu": {"time_per_flop": 1}, "third": "jaketwon"})
    assert [p.key for p in found] == ["machine.cpu", "machine.gpu", "machine.third"]


def test_what_an_entry_lacks_may_be_decided_or_swept(ask: Any) -> None:
    machine = {"cpu": {"time_per_flop": 1}, "gpu": {"energy_per_flop": 1}}
    decide = {"machine": {"cpu": {"energy_per_flop": {"max": 1}}}}
    axis = {"speed": {"path": "machine.gpu.time_per_flop", "values": ["1 ps/flop", "2 ps/flop"]}}
    question = ask(machine=machine, decide=decide, sweep=axis).question((1,))
    assert question.decide[0] == Decision("machine.cpu.energy_per_flop", None, 1.0)
    assert question.given["machine.gpu.time_per_flop"] == 2e-12


def test_halvings_count_from_the_machine_of_the_entry(ask: Any) -> None:
    base = machines.get(GPU).parameters["energy_per_flop"]
    question = ask(decide={"machine.gpu.energy_per_flop": {"max_halvings": 3}}).question(())
    assert (question.decide[0].base, question.decide[0].minimum) == (base, base / 8)


def test_machines_of_single_entries_can_be_chosen(ask: Any) -> None:
    names = [CPU, "i3-2100t"]
    decide = {"machine": {"cpu": {"values": names}, "gpu": {"values": [GPU, "gtx-750"]}}}
    question = ask(machine=None, decide=decide).question(())
    assert question.decide[:2] == (
        Decision("machine.cpu", choices=tuple(names)),
        Decision("machine.gpu", choices=(GPU, "gtx-750")),
    )
    assert not any(n.startswith("machine.") for n in question.given)
    chosen = list(combinations(question))
    assert [c for c, _ in chosen] == [
        {"machine.cpu": c, "machine.gpu": g} for c in names for g in (GPU, "gtx-750")
    ]
    for choice, left in chosen:
        for entry in ("cpu", "gpu"):
            own = machines.get(choice[f"machine.{entry}"]).parameters["time_per_flop"]
            assert left.given[f"machine.{entry}.time_per_flop"] == own
        assert not any(d.choices for d in left.decide)


def test_one_entry_given_and_one_chosen(ask: Any) -> None:
    question = ask(machine={"gpu": GPU}, decide={"machine.cpu": {"values": [CPU, "i3-2100t"]}}).question(())
    assert "machine.gpu.time_per_flop" in question.given
    (_, first), _ = combinations(question)
    assert first.given["machine.cpu.time_per_flop"] == machines.get(CPU).parameters["time_per_flop"]


@pytest.mark.parametrize(
    ("decide", "key", "wrong", "right"),
    [
        ({"machine": {"values": [CPU]}}, "decide.machine", "one machine for each worker", '"machine.cpu"'),
        ({"machine.cpu": {"values": [CPU]}}, "decide.machine.cpu", "given and decided", "cpu = …"),
        ({"machine.third": {}}, "decide.machine.third", "no machine to choose", "values"),
        ({"machine.third": {"values": ["nix"]}}, "decide.machine.third.values[0]", '"nix"', "there are"),
        ({"machine.third": {"values": [3]}}, "decide.machine.third.values[0]", "3 is not a machine", "name"),
        ({"machine.third": {"values": [CPU], "max": 2}}, "decide.machine.third", "has no max", "values only"),
        ({"machine.third": {"values": ["fmm-settings"]}}, "decide.machine.third", "no time_per_flop", "off the"),
        ({"machine.usable_power": {}}, "decide.machine.usable_power", "one machine", "machine.cpu.usable_power"),
        ({"machine.cpu.time_per_flp": {}}, "decide.machine.cpu.time_per_flp", "no input", "did you mean"),
        ({"cpu.time_per_flop": {}}, "decide.cpu.time_per_flop", "machine parameter", "machine.cpu.time_per"),
    ],
)  # fmt: skip
def test_mistakes_in_choices_of_entries(
    complaints: Any, decide: Any, key: str, wrong: str, right: str
) -> None:
    found = complaints(decide=decide)
    assert found[0].key.startswith(key), found
    assert wrong in found[0].wrong, found
    assert right in found[0].right, found


def test_whole_machines_of_one_entry_can_be_swept(ask: Any) -> None:
    names = [CPU, "i3-2100t"]
    swept = ask(sweep={"which": {"path": "machine.cpu", "values": names}})
    for i, name in enumerate(names):
        given = swept.question((i,)).given
        assert given["machine.cpu.time_per_flop"] == machines.get(name).parameters["time_per_flop"]
        assert given["machine.gpu.time_per_flop"] == machines.get(GPU).parameters["time_per_flop"]


def test_two_entries_can_be_swept_and_changes_kept(ask: Any) -> None:
    machine = {"cpu": CPU, "gpu": {"base": GPU, "usable_power": 7}}
    axes = {
        "host": {"path": "machine.cpu", "values": [CPU, "i3-2100t"]},
        "device": {"path": "machine.gpu.base", "values": [GPU, "gtx-750"]},
    }
    given = ask(machine=machine, sweep=axes).question((1, 1)).given
    assert given["machine.cpu.time_per_flop"] == machines.get("i3-2100t").parameters["time_per_flop"]
    assert given["machine.gpu.time_per_flop"] == machines.get("gtx-750").parameters["time_per_flop"]
    assert given["machine.gpu.usable_power"] == 7.0


@pytest.mark.parametrize(
    ("axis", "key", "wrong", "right"),
    [
        ({"path": "machine", "values": [CPU]}, ".path", "one machine for each worker", '"machine.cpu"'),
        ({"path": "machine.base", "values": [CPU]}, ".path", "one machine for each worker", "machine.cpu"),
        ({"path": "machine.cpuu", "values": [CPU]}, ".path", 'no worker "cpuu"', "did you mean 'cpu'"),
        ({"path": "machine.cpu", "values": ["nix"]}, ".values[0]", 'no machine "nix"', "there are"),
        ({"path": "machine.cpu", "values": [CPU, CPU]}, ".values", "more than once", "once"),
        ({"path": "machine.time_per_flop", "values": [1]}, ".path", "one machine for each", "machine.cpu.time"),
        ({"path": "machine.cpu.time_per_flp", "values": [1]}, ".path", "names nothing", "time_per_flop"),
        ({"path": "machine.cpu", "values": ["fmm-settings"]}, ".values[0]", "has no time_per", "machine.cpu.base"),
    ],
)  # fmt: skip
def test_mistakes_in_sweeps_of_entries(complaints: Any, axis: Any, key: str, wrong: str, right: str) -> None:
    found = complaints(sweep={"which": axis})
    assert found[0].key == f"sweep.which{key}", found
    assert wrong in found[0].wrong, found
    assert right in found[0].right, found


def test_an_entry_with_changes_is_swept_by_its_base(complaint: Any) -> None:
    machine = {"cpu": {"base": CPU, "usable_power": 7}, "gpu": GPU}
    found = complaint(machine=machine, sweep={"which": {"path": "machine.cpu", "values": [CPU]}})
    assert (found.key, found.right) == (
        "sweep.which.path",
        'write path = "machine.cpu.base" to keep them for every machine',
    )


def test_a_map_for_a_model_on_one_machine_is_refused() -> None:
    from scenarios import ScenarioError, load

    data = {
        "model": "nbody",
        "machine": {"cpu": CPU, "gpu": GPU},
        "given": {"bodies": 9, "flops_per_pair": 1},
    }
    with pytest.raises(ScenarioError, match="nbody runs on one machine, not on a map of machines"):
        load(data)
