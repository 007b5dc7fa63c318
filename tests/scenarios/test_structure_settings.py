"""Menus of settings: of a machine by name, by its base, or in the file; numbers that rows give per setting."""

from pathlib import Path
from typing import Any

import pytest

from dse import machines
from scenarios import Problem, ScenarioError, from_text, grid, load
from scenarios.question import Question

JETSON = "jetson-tk1"
ONE = {"name": "low", "core_frequency": "1 GHz", "constant_power": "2 W", "energy_per_flop": "10 pJ/flop"}
TWO = {"core_frequency": 2e9, "constant_power": 5, "energy_per_flop": 2e-11}
OWN = {"flops_per_cycle": 100, "settings": [ONE, TWO]}
PHASE = {"name": "p", "flops": 1e9}


def _data(changes: dict[str, Any]) -> dict[str, Any]:
    data: dict[str, Any] = {
        "model": "dvfs",
        "machine": OWN,
        "given": {"phases": [PHASE, {"flops": 1e9, "times": [2, "1 s"]}]},
        "objective": {"minimize": "energy"},
    }
    return {k: v for k, v in (data | changes).items() if v is not None}


def ask(**changes: Any) -> Question:
    return grid(load(_data(changes))).question(())


def complaint(**changes: Any) -> Problem:
    with pytest.raises(ScenarioError) as caught:
        load(_data(changes))
    (found,) = caught.value.problems
    assert found.wrong
    assert found.right
    return found


def test_settings_become_machine_parameters_and_menus() -> None:
    question = ask()
    assert question.given["machine.low.energy_per_flop"] == pytest.approx(1e-11, rel=1e-15)
    assert question.given["machine.2.constant_power"] == 5.0
    assert question.given["machine.low.core_frequency"] == 1e9
    assert question.model.parameters()["setting.p"].menu == ("low", "2")
    (first, second) = question.decide
    assert (first.name, first.values, second.name) == ("setting.p", (1.0, 2.0), "setting.2")


def test_numbers_for_each_setting_as_a_list_or_by_name() -> None:
    listed = ask().given
    assert (listed["phases.2.times.low"], listed["phases.2.times.2"]) == (2.0, 1.0)
    table = {"phases": [PHASE, {"flops": 1e9, "times": {"2": "1 s", "low": 2}}]}
    named = ask(given=table).given
    assert {n: v for n, v in named.items() if "times" in n} == {
        n: v for n, v in listed.items() if "times" in n
    }


def test_a_setting_by_name_for_one_phase_and_for_all() -> None:
    phases = {"phases": [PHASE, PHASE | {"name": "q"}]}
    one = ask(given=phases | {"setting": {"p": "low"}})
    assert one.given["setting.p"] == 1.0
    assert [d.name for d in one.decide] == ["setting.q"]
    whole = ask(given=phases | {"setting": "2"})
    assert (whole.given["setting"], whole.decide) == (2.0, ())
    (decided,) = ask(given=phases, decide={"setting": {"values": ["low"]}}).decide
    assert (decided.name, decided.values) == ("setting", (1.0,))


def test_a_base_keeps_its_settings_and_takes_other_rates() -> None:
    question = ask(machine={"base": JETSON, "flops_per_cycle": 5}, given={"phases": [PHASE]})
    menu = machines.get(JETSON).settings
    assert question.given["machine.flops_per_cycle"] == 5.0
    assert question.model.parameters()["setting.p"].menu == tuple(s["name"] for s in menu)
    own = [question.given[f"machine.{s['name']}.energy_per_flop"] for s in menu]
    assert own == [s["energy_per_flop"] for s in menu]


def test_a_machine_file_beside_the_scenario(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        """
        [parameters]
        flops_per_cycle = 100
        [[settings]]
        core_frequency = "1 GHz"
        constant_power = "2 W"
        energy_per_flop = "10 pJ/flop"
        """,
        encoding="utf-8",
    )
    text = 'model = "dvfs"\nmachine = "mine.toml"\n[[given.phases]]\nflops = 5\n'
    question = grid(from_text(text, str(tmp_path / "question.toml"))).question(())
    assert question.given["machine.1.constant_power"] == 2.0


def test_a_number_of_one_setting_can_be_swept() -> None:
    axis = {"leak": {"path": "machine.low.constant_power", "values": ["1 W", "3 W"]}}
    swept = grid(load(_data({"sweep": axis})))
    assert [swept.question((i,)).given["machine.low.constant_power"] for i in range(2)] == [1.0, 3.0]


@pytest.mark.parametrize(
    ("machine", "key", "wrong", "right"),
    [
        (None, "machine", "no machine is named, and dvfs needs one with settings", "jetson-tk1-choi2016"),
        ("jaketown", "machine", '"jaketown" has no settings', "jetson-tk1-choi2016"),
        ({"base": "jaketown"}, "machine", "this machine has no settings", "[[settings]]"),
        ({"flops_per_cycle": 1}, "machine", "this machine has no settings", "jetson-tk1-choi2016"),
        ("jetson-tk2", "machine", '"jetson-tk2"', "did you mean"),
        ({"base": "jetson-tk2"}, "machine.base", '"jetson-tk2"', "did you mean"),
        ({"base": JETSON, "flops_per_cycel": 1}, "machine.flops_per_cycel", "no machine par", "did you mean"),
        (OWN | {"settings": 3}, "machine.settings", "a list of tables", "[[machine.settings]]"),
        (OWN | {"settings": []}, "machine", "has no settings", "jetson"),
        (OWN | {"settings": [ONE, ONE]}, "machine", 'two settings called "low"', "name"),
        (OWN | {"settings": [ONE | {"name": "1.2 V"}]}, "machine", "holds a dot", '"1-2 V"'),
        (OWN | {"settings": [ONE | {"name": 3}]}, "machine.settings[0].name", "no number of a", "there are"),
        (OWN | {"settings": [ONE | {"constant_power": "2 J"}]}, "machine.settings[0].constant_power", "energy", "u"),
        (OWN | {"settings": [ONE | {"constant_power": -2}]}, "machine.settings[0].constant_power", "range", "0"),
        (OWN | {"settings": [ONE | {"constnt_power": 2}]}, "machine.settings[0].constnt_power", "no num", "did you"),
        ({"flops_per_cycle": 1, "settings": [{"name": "x"}]}, "machine.settings[0]", "setting x has no", "state it"),
    ],
)  # fmt: skip
def test_mistakes_in_machines_with_settings(machine: Any, key: str, wrong: str, right: str) -> None:
    given = {"phases": [PHASE]}
    found = complaint(machine=machine, given=given)
    assert (found.key, wrong in found.wrong, right in found.right) == (key, True, True), found


@pytest.mark.parametrize(
    ("times", "key", "wrong", "right"),
    [
        ([1], "", "has 1 entries, and the machine has 2 settings", "low, 2"),
        (3, "", "one number for each setting, not 3", "low, 2"),
        ({"low": 1}, "", "says nothing of setting 2", "each setting"),
        ({"low": 1, "2": 1, "3": 1}, ".3", 'no setting called "3"', "low, 2"),
        ([1, "2 W"], "[1]", "a power (W)", "10 s"),
        ({"low": -1, "2": 1}, ".low", "-1 is negative", "at least 0"),
        ([1, [2]], "[1]", "not a list", "10 s"),
    ],
)
def test_mistakes_in_numbers_per_setting(times: Any, key: str, wrong: str, right: str) -> None:
    found = complaint(given={"phases": [PHASE | {"times": times}]})
    assert (found.key, wrong in found.wrong, right in found.right) == (
        f"given.phases[0].times{key}",
        True,
        True,
    ), found


def test_the_machine_of_a_menu_is_neither_decided_nor_swept() -> None:
    axis = {"which": {"path": "machine", "values": [JETSON, "fmm-settings"]}}
    assert complaint(sweep=axis).key == "sweep.which.path"
    decide = {"machine": {"values": [JETSON, "fmm-settings"]}}
    assert complaint(machine=None, decide=decide).key == "decide.machine"


def test_phases_that_say_nothing_are_told() -> None:
    found = complaint(given={"phases": [{"name": "idle"}]})
    assert (found.key, "phase idle has nothing to run" in found.wrong) == ("given.phases[0]", True)
    found = complaint(given={"phases": [{"name": "a", "flops": 1e9}, {"name": "idle", "flops": 0}]})
    assert (found.key, found.wrong) == ("given.phases[1]", 'phase "idle" has flops = 0')
