"""Numbers that overflow: a point that fails takes nothing else down, whatever its place, and says what is wrong."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import dse
from dse.cli import main
from dse.fitting import FittingError
from scenarios import ScenarioError

NBODY = {
    "model": "nbody",
    "machine": "jaketown",
    "given": {"bodies": 1e6, "flops_per_pair": 20},
    "decide": {"processors": {"min": 1, "max": 65536}, "memory": {"max": "16 GiB"}},
    "objective": {"minimize": "energy"},
    "limits": {"time": {"max": "10 s"}},
}
FIXED = {
    "model": "matmul",
    "machine": "jaketown",
    "given": {"order": 1e4, "processors": 100, "memory": 1e6},
}
FAR = 1e200


def swept(asked: dict[str, Any], path: str, values: list[float]) -> dict[str, Any]:
    return {**asked, "sweep": {"x": {"path": path, "values": values}}}


@pytest.mark.parametrize(
    ("asked", "path", "good"), [(NBODY, "given.bodies", [1e5, 1.1e5]), (FIXED, "given.order", [1e4, 2e4])]
)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_point_that_overflows_leaves_the_others_alone(
    asked: dict[str, Any], path: str, good: list[float], place: int
):
    values = [*good[:place], FAR, *good[place:]]
    found = dse.sweep(swept(asked, path, values), progress=False)
    states = found["status"].values.tolist()
    assert states[place] == 5
    assert all(s != 5 for i, s in enumerate(states) if i != place)
    told = str(found["message"].values[place])
    name = path.removeprefix("given.")
    assert told.startswith(f"the numbers of this point overflow: {name} = 1e+200")


@pytest.mark.parametrize(("name", "far"), [("flops_per_pair", 1e300), ("processors", 1e308)])
def test_a_product_that_overflows_is_no_answer(name: str, far: float):
    given = {"bodies": 1e6, "flops_per_pair": 20, "processors": 8, "memory": 1e6} | {name: far}
    asked = {"model": "nbody", "machine": "jaketown-printed", "given": given}
    found = dse.solve(asked)
    assert found.status == "error"
    assert found.message.startswith(f"the numbers of this point overflow: {name} = {far:g}")
    states = dse.sweep(swept(asked, f"given.{name}", [far, 1e4]), progress=False)["status"].values.tolist()
    assert states[0] == 5
    assert states[1] != 5


def test_a_grid_of_nothing_else_is_answered_with_errors():
    found = dse.sweep(swept(NBODY, "given.bodies", [FAR, 1e201]), progress=False)
    assert found["status"].values.tolist() == [5, 5]


@pytest.fixture
def overflowing(tmp_path: Path) -> Path:
    file = tmp_path / "far.toml"
    file.write_text(
        'model = "nbody"\nmachine = "jaketown"\n[given]\nbodies = 1e200\nflops_per_pair = 20\n'
        "[decide]\nprocessors = { max = 65536 }\nmemory = {}\n"
        '[objective]\nminimize = ["energy", "time"]\n'
    )
    return file


def dse_(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments])


@pytest.mark.parametrize(("command", "code"), [("check", 2), ("explain", 2), ("front", 1)])
def test_commands_on_one_such_point_say_it_once(overflowing: Path, command: str, code: int):
    done = dse_(command, overflowing)
    assert done.exit_code == code
    assert (done.stdout + done.stderr).count("the numbers of this point overflow: bodies = 1e+200") == 1


def test_check_says_of_a_grid_that_its_first_point_overflows(tmp_path: Path, overflowing: Path):
    text = overflowing.read_text().replace('["energy", "time"]', '"energy"')
    overflowing.write_text(text + '[sweep.x]\npath = "given.bodies"\nvalues = [1e200, 1e5]\n')
    done = dse_("check", overflowing)
    assert done.exit_code == 0, done.stderr
    assert "at the first point: the numbers of this point overflow" in " ".join(done.stdout.split())


def test_check_says_of_a_grid_that_its_first_point_divides_by_0(tmp_path: Path, overflowing: Path):
    text = overflowing.read_text().replace('["energy", "time"]', '"energy"').replace("1e200", "1e5")
    file = tmp_path / "zero.toml"
    more = "share = 1\n[define]\nodd = '(0.1 / share)**2 - processors'\n[limits]\nodd.max = 1\n"
    axis = '[sweep.x]\npath = "share"\nvalues = [0, 1]\n'
    file.write_text(text.replace("[decide]", more + "[decide]") + axis)
    done = dse_("check", file)
    assert done.exit_code == 0, done.stderr
    assert "odd is divided by 0 at every design, since share is 0" in " ".join(done.stdout.split())
    statuses = dse.sweep(file, progress=False)["status"].values.tolist()
    assert statuses == [5, 1]


def test_evaluating_such_a_point_is_a_mistake_and_of_several_points_infinite(
    recwarn: pytest.WarningsRecorder,
):
    with pytest.raises(ScenarioError, match="numbers of this point overflow: order"):
        dse.evaluate({**FIXED, "given": {**FIXED["given"], "order": FAR}})
    found = dse.evaluate(swept(FIXED, "given.order", [FAR, 1e4]))
    assert np.isfinite(found["time"].values).tolist() == [False, True]
    assert not [w for w in recwarn if issubclass(w.category, RuntimeWarning)]


def test_measurements_far_from_1_are_refused_with_their_run():
    runs = {"core_voltage [V]": [1e308, 1.0], "memory_voltage [V]": [1, 1], "time [s]": [1, 2]}
    runs |= {"energy [J]": [1, 2], "flops [flop]": [1e9, 2e9]}
    with pytest.raises(FittingError, match=r"'core_voltage \[V\]' of run 1 is 1e\+308, too far from 1"):
        dse.fit(runs, "dvfs")


def test_check_sees_that_no_listed_design_has_numbers(tmp_path: Path):
    """Transforms have logarithms, so that their designs are listed and no posynomial overflows beforehand."""
    file = tmp_path / "listed.toml"
    text = 'model = "fft"\nmachine = "balanced"\ngiven = {{ points = {} }}\n'
    text += 'decide = {{ processors = {{ values = [1, 2, 4] }} }}\nobjective = {{ minimize = "energy" }}\n'
    file.write_text(text.format("1e200"))
    said = CliRunner().invoke(main, ["check", str(file)])
    assert said.exit_code == 2
    assert "the numbers of this point overflow: points = 1e+200" in said.output
    file.write_text(text.format("1e9"))
    assert CliRunner().invoke(main, ["check", str(file)]).exit_code == 0


@pytest.mark.parametrize("sense", ["minimize", "maximize"])
def test_an_objective_that_is_infinite_at_every_design_is_named(sense: str):
    """Nothing fails below the rack, so that no number of racks has an objective; the search has a row without end."""
    asked = dse.load("hardware_power_for_processors").model_dump(exclude_none=True, exclude_defaults=True)
    racks = {"machine.count.rack": {"integer": True, "max": 1e6}}
    asked |= {"machine": "platform-atom", "decide": racks, "objective": {sense: "mtbf.aisle"}}
    found = dse.solve(asked)
    assert found.status == "error"
    assert found.message.startswith("mtbf.aisle is infinite")
