"""Wrong units in a model of one's own are told by `dse check` and the first solve: metric, expected and found unit."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import dse
from dse import models
from dse.cli import main
from dse.models import Model, ModelLimit
from dse.models.described import units_of_equations
from dse.quantities import Quantity
from scenarios import ScenarioError

MACHINE = (
    Quantity("own_rate", "r", "flop/s", "rate", "made up"),
    Quantity("own_energy", "e", "J/flop", "energy of a flop", "made up"),
)
ASKED = {"model": "mine", "machine": {"own_rate": 1e9, "own_energy": 1e-9}, "given": {"work": 1e9}}


def registered(equations: Callable[[Any], Mapping[str, Any]], **more: Any) -> Model:
    metrics = (Quantity("time", "T", "s", "time", "x"), Quantity("energy", "E", "J", "energy", "x"))
    inputs = (Quantity("work", "W", "flop", "work", "x"),)
    made = Model(
        "mine", "mine", "made up", MACHINE, inputs, metrics, more.pop("limits", ()), equations, **more
    )
    dse.register(made)
    return made


def test_a_metric_of_another_unit_is_named_with_both(tmp_path: Path):
    def equations(g: Any) -> Mapping[str, Any]:
        return {"time": g.work / g.machine.own_rate, "energy": g.work / g.machine.own_rate}

    registered(equations)
    with pytest.raises(ScenarioError, match="metric energy comes out in s, declared is J"):
        dse.solve(ASKED)
    file = tmp_path / "mine.toml"
    file.write_text('model = "mine"\n[machine]\nown_rate = 1e9\nown_energy = 1e-9\n[given]\nwork = 1e9\n')
    said = CliRunner().invoke(main, ["check", str(file)])
    assert said.exit_code == 2
    assert "units of model mine: metric energy comes out in s, declared is J" in said.output


def test_units_that_do_not_add_up_are_named_with_the_line():
    def equations(g: Any) -> Mapping[str, Any]:
        time = g.work / g.machine.own_rate
        return {"time": time, "energy": g.work * g.machine.own_energy + time}

    registered(equations)
    with pytest.raises(
        ScenarioError,
        match=r"put (J and s|s and J) together in test_units_of_equations\.py, line \d+: ret",
    ):
        dse.solve(ASKED)


def test_a_metric_that_is_text_is_named():
    made = registered(lambda g: {"time": g.work / g.machine.own_rate, "energy": "a lot"})
    assert units_of_equations.wrong(made) == ("metric energy comes out as the text 'a lot', not as a number",)


def test_a_limit_is_a_ratio():
    def equations(g: Any) -> Mapping[str, Any]:
        time = g.work / g.machine.own_rate
        return {"time": time, "energy": g.work * g.machine.own_energy, "in_time": time}

    made = registered(equations, limits=(ModelLimit("in_time", "T <= 1", "it is in time", "x"),))
    assert units_of_equations.wrong(made) == ("limit in_time comes out in s, declared is a plain number",)


def test_what_looks_at_its_numbers_or_is_right_is_left_alone():
    def looks(g: Any) -> Mapping[str, Any]:
        time = 1.0 if g.work > 3 else 2.0
        return {"time": time, "energy": time}

    assert units_of_equations.wrong(registered(looks)) == ()


@pytest.mark.parametrize("name", models.built_in_names())
def test_our_own_models_are_right(name: str):
    assert units_of_equations.wrong(models.get(name)) == ()


def test_of_models_that_are_made_in_turns_only_the_last_ones_are_kept(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(units_of_equations, "MOST_KEPT", 2)
    monkeypatch.setattr(units_of_equations, "_judged", {})
    first = registered(lambda g: {"time": g.work / g.machine.own_rate})
    made = [replace(first, title=f"mine {i}") for i in range(4)]
    for model in made:
        assert units_of_equations.wrong(model) == ()
    assert [m for m, _ in units_of_equations._judged.values()] == made[2:]
