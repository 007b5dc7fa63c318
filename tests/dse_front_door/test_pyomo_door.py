"""The Pyomo door: take a model, change it, solve it with any solver, bring the answer back."""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyomo.environ as pyo
import pytest
from click.testing import CliRunner, Result
from pyomo import gdp

import dse
from dse.cli import main
from results.solution import Status
from scenarios import ScenarioError
from scenarios.questions import grid
from solvers.answer import answer
from solvers.others import pyomo_solvers
from solvers.others.solver_errors import SolverError

DEADLINE = "nbody_deadline_few_processors"  # a geometric program of processors and memory
DESIGN = {"processors": 120.0, "memory": 9000.0}


def dse_(*arguments: Any) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments])


def _evaluated(name: str, design: dict[str, float]) -> Any:
    asked = dse.load(name).model_dump(exclude_none=True, exclude_defaults=True)
    asked["given"] |= design
    del asked["decide"], asked["objective"]
    return dse.solve(dse.load(asked))


def test_a_model_has_the_users_names_units_and_objective() -> None:
    m = dse.pyomo(DEADLINE)
    assert {n.variable.name for n in m.decided.values()} == {"processors", "memory"}
    assert "[word]" in m.memory.doc
    assert m.objective_value.doc.startswith("energy, minimised")
    assert ("time", "max") in m.limits
    for name, value in DESIGN.items():
        m.component(name).set_value(value)
    there = _evaluated(DEADLINE, DESIGN)
    assert pyo.value(m.objective_value) == pytest.approx(there.metrics["energy"], rel=1e-12)
    # a limit of several terms is their sum over the limit
    held = pyo.value(m.limits["time", "max"].body)
    limit = there.limits["time"]
    assert held == pytest.approx(limit.value / limit.bound, rel=1e-12)


def test_in_logarithms_the_users_variables_stand_beside_them() -> None:
    m = dse.pyomo(DEADLINE, form="log")
    assert isinstance(m.processors, pyo.Var)
    assert set(m.y) >= {"processors", "memory"}
    pyomo_solvers.run(m, "scip", 20)
    assert pyo.value(m.processors) == pytest.approx(pyo.value(pyo.exp(m.y["processors"])), rel=1e-6)


def test_small_quantities_have_a_smaller_unit() -> None:
    m = dse.pyomo("nbody_machine_for_efficiency", form="log")
    named = m.decided["machine.energy_per_flop"]
    assert named.unit < 1e-9
    assert f"{named.unit:g} J/flop" in named.variable.doc
    found = dse.read(m, "nbody_machine_for_efficiency", solver="scip")
    assert found.status is Status.OPTIMAL


def test_names_that_are_taken_get_a_sign() -> None:
    asked = dse.load("matmul_block_decided").model_dump(exclude_none=True, exclude_defaults=True)
    asked["decide"]["y"] = asked["decide"].pop("block")
    asked["define"] = {k: v.replace("block", "y") for k, v in asked["define"].items()}
    m = dse.pyomo(asked)
    assert m.decided["y"].variable is m.y_
    found = dse.read(m, asked, solver="scip")
    assert found.objective == pytest.approx(dse.solve("matmul_block_decided").objective, rel=1e-6)


def test_an_unchanged_model_is_optimal_where_our_bound_confirms_it() -> None:
    m = dse.pyomo("nbody_deadline", form="log")
    found = dse.read(m, "nbody_deadline", solver="scip")
    assert found.status is Status.OPTIMAL
    assert "scip through Pyomo says optimal; our own bound confirms it" in found.certificate
    assert found.objective == pytest.approx(42.96569567643085, rel=1e-6)
    assert found.metrics["energy"] == found.objective


def test_a_changed_model_is_feasible_with_our_bound_of_the_scenario() -> None:
    ours = dse.solve(DEADLINE)
    m = dse.pyomo(DEADLINE)
    m.few = pyo.Constraint(expr=m.memory >= 5200)
    found = dse.read(m, DEADLINE, solver="scip")
    assert found.status is Status.FEASIBLE
    assert found.bound == pytest.approx(ours.bound)
    assert "the model was changed (added: few)" in found.certificate
    m = dse.pyomo(DEADLINE)
    m.few = pyo.Constraint(expr=m.processors >= 1)
    # a constraint that takes nothing away promises nothing either
    assert dse.read(m, DEADLINE, solver="scip").status is Status.FEASIBLE


def test_a_design_that_breaks_a_limit_of_the_scenario_is_an_error() -> None:
    m = dse.pyomo(DEADLINE, tight=False)
    m.limits["time", "max"].deactivate()
    found = dse.read(m, DEADLINE, solver="scip")
    assert found.status is Status.ERROR
    assert "breaks time" in found.message
    assert "taken out: limits[time,max]" in found.certificate


def test_what_cannot_be_brought_back_is_refused() -> None:
    m = dse.pyomo(DEADLINE)
    with pytest.raises(SolverError, match="was it solved"):
        dse.read(m, DEADLINE)
    with pytest.raises(ScenarioError, match="of another scenario"):
        dse.read(m, "nbody_least_energy")
    with pytest.raises(ScenarioError, match=r"not a model that dse\.pyomo made"):
        dse.read(pyo.ConcreteModel(), DEADLINE)
    m.none = pyo.Constraint(expr=m.processors >= 1e14)
    with pytest.raises(SolverError, match="holds no design"):
        dse.read(m, DEADLINE, solver="scip")
    with pytest.raises(ScenarioError, match="take 'plain' or 'log'"):
        dse.pyomo(DEADLINE, form="lgo")


def test_a_model_for_each_choice() -> None:
    name = "roofline_platform_node_power"
    every = dse.pyomo(name)
    assert len(every) == 5
    assert "one model for each choice of machine" in every.why
    one = dse.pyomo(name, choice="gtx680-choi2014")
    found = dse.read(one, name, solver="scip")
    assert found.variables["machine"] == "gtx680-choi2014"
    assert found.status is Status.OPTIMAL
    with pytest.raises(ScenarioError, match=r"'gtx680' is not a choice of machine[\s\S]*gtx680-choi2014"):
        dse.pyomo(name, choice="gtx680")
    with pytest.raises(ScenarioError, match="decides nothing among names"):
        dse.pyomo(DEADLINE, choice="gtx680")


@pytest.mark.parametrize(
    "name", ["partition_twelve_regions_deadline_sweep", "nbody_overdrive_deadline_sweep"]
)
def test_points_of_a_sweep_are_parameters(name: str) -> None:
    at = grid(dse.load(name))
    m = dse.pyomo(name)
    for place in (4, 9):
        m.deadline.set_value(at.axes[0].values[place])
        found = dse.read(m, name, solver="scip")
        ours = answer(at.question((place,)), neighbours=False)
        assert found.objective == pytest.approx(ours.objective, rel=2e-6)
    m.deadline.set_value(m.deadline.value * 1.001)
    with pytest.raises(ScenarioError, match="not a point of the axis"):
        dse.read(m, name, solver="scip")


def test_where_the_structure_changes_there_is_a_model_for_each_value() -> None:
    found = dse.pyomo("blocks_sharing_sweep")
    assert list(found) == ["proportional", "free"]
    assert "one model for each value of sharing, since it goes through names" in found.why
    assert set(found["free"].axes) == {"power_limit"}


def test_a_limit_stays_open_beside_an_axis_of_several_numbers() -> None:
    """Axes count by themselves, not by the numbers that change along them."""
    flops = {"given.regions.a.flops": [4e9, 5e9], "given.regions.b.flops": [2e9, 3e9]}
    asked = {
        "model": "partition",
        "machine": {"cpu": "i3-2100t", "gpu": "gtx-750-tang2017"},
        "given": {"regions": [{"name": n, "flops": 4e9, "bytes": 1e8} for n in "ab"]},
        "objective": {"minimize": "energy"},
        "limits": {"time": {"max": 2.0}},
        "sweep": {
            "work": {"paths": flops},
            "deadline": {"path": "limits.time.max", "values": [1.0, 2.0, 4.0]},
        },
    }
    found = dse.pyomo(asked)
    assert len(found) == 2
    assert [set(m.axes) for m in found.values()] == [{"deadline"}] * 2


def test_a_disjunction_is_never_solved_as_it_stands() -> None:
    name = "roofline_platform_node_power"
    m = dse.pyomo(name, gdp=True)
    with pytest.raises(SolverError, match=r"ignore without a message.*gdp\.bigm"):
        dse.read(m, name, solver="scip")
    pyo.TransformationFactory("gdp.bigm").apply_to(m)
    found = dse.read(m, name, solver="scip")
    assert found.objective == pytest.approx(6329.113924050633, rel=1e-6)
    assert found.variables["machine"] == "gtx680-choi2014"
    own = pyo.ConcreteModel()
    own.x = pyo.Var(bounds=(0, 10))
    own.either = gdp.Disjunction(expr=[[own.x >= 5.2], [own.x >= 7]])
    own.least = pyo.Objective(expr=own.x)
    with pytest.raises(SolverError, match="still holds either"):
        pyomo_solvers.run(own, "scip", 5)
    pyo.TransformationFactory("gdp.bigm").apply_to(own)
    pyomo_solvers.run(own, "scip", 5)
    assert own.x.value == pytest.approx(5.2)


def test_the_largest_of_several_is_one_model() -> None:
    name = "partition_twelve_regions_power_cap"
    m = dse.pyomo(name, gdp=True)
    pyo.TransformationFactory("gdp.bigm").apply_to(m)
    assert dse.read(m, name, solver="scip").objective == pytest.approx(dse.solve(name).objective, rel=1e-7)


@pytest.mark.parametrize(
    ("name", "solver"),
    [
        ("fft_deadline", "scip"),
        ("partition_twelve_regions_whole", "highs"),
        ("partition_three_processors_link", "highs"),
        ("nbody_near_the_least_power", "scip"),
    ],
)
def test_another_solver_answers(name: str, solver: str) -> None:
    found = dse.solve(name, solver=solver)
    assert found.status is Status.OPTIMAL
    assert found.solver == f"{solver} through Pyomo"
    assert found.objective == pytest.approx(dse.solve(name).objective, rel=2e-6)


def test_another_solvers_infeasible_rests_on_our_own_proof() -> None:
    found = dse.solve("nbody_deadline_out_of_reach", solver="scip")
    assert found.status is Status.INFEASIBLE
    assert found.conflict
    assert re.search("scip through Pyomo says .*nfeasible; our own proof", found.certificate)


@pytest.mark.skipif(
    importlib.util.find_spec("casadi") is None, reason="casadi (the extra ipopt) is not installed"
)
def test_ipopt_of_casadis_wheel_answers() -> None:
    found = dse.solve(DEADLINE, solver="ipopt")
    assert found.status is Status.OPTIMAL
    assert "ipopt through Pyomo says optimal" in found.certificate
    with pytest.raises(SolverError, match=r"takes no whole numbers, and processors must be one"):
        dse.solve("nbody_deadline", solver="ipopt")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((DEADLINE, "--solver", "scp"), "Pyomo knows no solver 'scp'"),
        ((DEADLINE, "--solver", "gurobi"), "the solver gurobi is not installed: pip install gurobipy"),
        ((DEADLINE, "--solver", "highs"), "highs is for linear models"),
        (("hardware_units_or_caches", "--solver", "scip"), "scip cannot be asked: it depends on a step"),
        ((DEADLINE, "--solver", "scip", "--sampler", "TPE"), "a sampler and a solver are both asked for"),
    ],
)
def test_what_a_solver_cannot_do_is_one_message(arguments: tuple[str, ...], words: str) -> None:
    if "gurobi" in arguments and importlib.util.find_spec("gurobipy") is not None:
        pytest.skip("gurobipy is installed")
    found = dse_("solve", *arguments)
    assert found.exit_code == 2
    assert words in " ".join(found.stderr.split())
    assert "Traceback" not in found.stderr


def test_every_choice_is_a_file(tmp_path: Path) -> None:
    file = tmp_path / "station.lp"
    found = dse_("explain", "station_least_power", "--format", "lp", "-o", file)
    assert found.exit_code == 0, found.stderr
    assert "The least of their optima is the optimum: each file is one choice." in found.stdout
    names = {f.name for f in tmp_path.iterdir()}
    assert len(names) == 7
    assert "station-tms320c5515.lp" in names
    assert "[1] *\\" in (tmp_path / "station-tms320c5515.lp").read_text()


def test_a_solver_that_says_much_answers_all_the_same(tmp_path: Path, surroundings: dict[str, str]) -> None:
    """A log of more than the 64 kB that a pipe takes stopped SCIP for ever."""
    asked = dse.load("partition_in_order").model_dump(exclude_none=True, exclude_defaults=True)
    machine = {"cpu": "i7-2600k-tang2017", "small": "gtx-750-tang2017", "large": "gtx-750-tang2017"}
    asked["given"]["link_bandwidth"] = "50 GB/s"
    asked |= {"machine": machine, "limits": {"time": {"max": "3.5719274595219535 s"}}}
    asked["objective"] = {"minimize": "energy"}
    (tmp_path / "asked.json").write_text(json.dumps(asked))
    code = (
        "import json, dse\nfound = dse.solve(json.load(open('asked.json')), solver='scip', seconds=60)\n"
        "print(found.status.value, found.objective)"
    )
    # whoever waits for itself can only be killed
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path, env=surroundings, capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    status, objective = done.stdout.split()
    assert status == "optimal"
    assert float(objective) == pytest.approx(115.929, rel=1e-4)
