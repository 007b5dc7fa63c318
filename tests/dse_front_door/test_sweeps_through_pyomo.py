"""Sweeps and fronts that a solver of the user's answers through Pyomo: judged by us, told apart from our own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import dse
import scenarios
from dse.cli import main
from dse.sweeping.points import chunk_work
from results.solution import Status
from scenarios import ScenarioError
from scenarios.language.toml_text import to_toml
from solvers.others import pyomo_models, pyomo_points, pyomo_solvers
from solvers.others.solver_errors import SolverError

OPTIMAL, FEASIBLE, NONE = 1, 2, 3
SAME = 5e-6
"""What solvers and our own methods may differ by: a gap of 1e-6 on either side, and tolerances."""


def dse_(*arguments: Any) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments])


def nbody(deadlines: list[float], **more: Any) -> dict[str, Any]:
    return {
        "model": "nbody",
        "machine": "balanced",
        "given": {"bodies": 1e5, "flops_per_pair": 10},
        "decide": {"processors": {"max": 4096}, "memory": {}},
        "objective": {"minimize": "energy"},
        "limits": {"time": {"max": 1.0}, "power": {"max": "1 kW"}},
        "sweep": {"deadline": {"path": "limits.time.max", "values": deadlines}, **more},
    }


DEADLINES = [1e-6, 0.05, 0.2, 0.8]
PHASES = [
    {"name": "one", "flops": "90 Gflop", "integer_operations": "20 Gop", "bytes": "4 GB"},
    {"name": "two", "flops": "30 Gflop", "integer_operations": "15 Gop", "bytes": "40 GB"},
]


def dvfs(deadlines: list[float]) -> dict[str, Any]:
    return {
        "model": "dvfs",
        "machine": "jetson-tk1-choi2016",
        "given": {"phases": PHASES},
        "objective": {"minimize": "energy"},
        "sweep": {"deadline": {"path": "limits.time.max", "values": deadlines}},
    }


def points(asked: dict[str, Any], solver: str = "scip") -> pyomo_points.Points:
    scenario = dse.load(asked)
    return pyomo_points.points(scenario, scenarios.grid(scenario), pyomo_points.By(solver))


@pytest.mark.parametrize(
    ("asked", "solver"),
    [
        (nbody(DEADLINES), "scip"),
        (nbody([0.05], bodies={"path": "given.bodies", "values": [5e4, 1e5]}), "scip"),
        (dvfs([1.0, 3.0, 3.4, 4.2]), "highs"),
    ],
    ids=["geometric", "given", "settings"],
)
def test_every_point_agrees_with_our_own_methods_and_quotes_the_solver(asked: dict[str, Any], solver: str):
    own = dse.sweep(asked, progress=False, workers=1)
    found = dse.sweep(asked, progress=False, workers=1, solver=solver)
    assert found.attrs["method"].startswith(f"each point by {solver} through Pyomo, 60 s for each choice")
    np.testing.assert_array_equal(found["status"], own["status"])
    there = own["status"].values == OPTIMAL
    assert there.any()
    np.testing.assert_allclose(found["objective"].values[there], own["objective"].values[there], rtol=SAME)
    told = f"{solver} through Pyomo says optimal; our own bound confirms it"
    assert all(told in text for text in found["message"].values[there])
    assert all("our own proof" in text for text in found["message"].values[~there])


def test_points_are_set_in_one_model_where_its_structure_stays(monkeypatch: pytest.MonkeyPatch):
    made: list[Any] = []
    one = pyomo_models.one

    def counted(*asked: Any) -> Any:
        made.append(asked)
        return one(*asked)

    monkeypatch.setattr(pyomo_models, "one", counted)
    found = points(nbody(DEADLINES[1:]))
    assert "1 model with deadline as mutable parameter" in found.why
    assert "which is slow" in found.why
    forth = [found.answer((k,)) for k in range(3)]
    assert len(made) == 1
    # nothing of the point before is left in it
    again = points(nbody(DEADLINES[1:]))
    back = [again.answer((k,)) for k in (2, 1, 0)][::-1]
    assert [s.variables for s in forth] == [s.variables for s in back]
    parts = points(nbody(DEADLINES[1:])).part([[2, 0]]).part([[1]])
    assert parts.answer((0,)).variables == forth[0].variables


def test_another_structure_is_another_model_and_why_is_said():
    machines = {"path": "machine", "values": ["balanced", "jaketown"]}
    found = points(nbody([0.2, 0.8], machine=machines))
    assert "2 models with deadline as mutable parameter, one for each value of machine" in found.why
    leaks = {"path": "machine.leakage_power", "values": [0, 0.1]}
    found = points(nbody([0.2], leakage=leaks))
    assert "leakage, since where it is not positive, terms vanish" in found.why
    own = dse.sweep(nbody([0.2], leakage=leaks), progress=False, workers=1)
    for k in range(2):
        answer = found.answer((0, k))
        assert answer.status is Status.OPTIMAL
        assert answer.objective == pytest.approx(float(own["objective"][0, k]), rel=SAME)
    tied = nbody([0.2, 0.8])
    tied["limits"]["power"] = {"within": 0.05}
    assert "deadline, since a limit hangs on an optimum" in points(tied).why


def test_what_a_solver_claims_is_no_proof(monkeypatch: pytest.MonkeyPatch):
    asked = nbody([0.2, 0.8])
    hasty = dse.solve({**{k: v for k, v in asked.items() if k != "sweep"}, "objective": {"minimize": "time"}})
    run = pyomo_solvers.run

    def lying(model: Any, name: str, seconds: float) -> pyomo_solvers.Claim:
        said = run(model, name, seconds)
        # the fastest design: it holds the deadline, and its energy is not the least
        for decided, value in hasty.variables.items():
            held = model.decided[decided]
            held.variable.set_value(value / held.unit, skip_validation=True)
        return said

    monkeypatch.setattr(pyomo_solvers, "run", lying)
    found = dse.sweep(asked, progress=False, workers=1, solver="scip")
    own = dse.sweep(asked, progress=False, workers=1)
    assert (found["status"] == FEASIBLE).all()
    assert (found["objective"].values > own["objective"].values * (1 + SAME)).all()
    np.testing.assert_allclose(found["bound"], own["objective"], rtol=SAME)
    claim = "scip through Pyomo says optimal; our own bound does not confirm it"
    assert all(claim in text for text in found["message"].values)


def test_a_store_belongs_to_the_solver_that_filled_it(tmp_path: Path):
    file, store = tmp_path / "asked.toml", tmp_path / "s.zarr"
    file.write_text(to_toml(dvfs([3.4, 3.8, 4.2])))
    done = dse_("sweep", file, "-o", store, "--solver", "highs")
    assert done.exit_code == 0
    assert "3 points: point by point" in done.stderr
    assert "highs through Pyomo, 60 s for each choice, which is slow" in done.stderr
    for other in ([], ["--solver", "scip"], ["--solver", "highs", "--seconds", "5"]):
        refused = dse_("sweep", file, "-o", store, *other)
        assert refused.exit_code == 2
        assert "belongs to another sweep" in refused.stderr
        assert "solver: asked" in refused.stderr
    before = dse.open(store).load()
    assert dse_("verify", store, "--audit", 1).exit_code == 0
    # more values, of the same solver only
    file.write_text(to_toml(dvfs([3.4, 3.6, 3.8, 4.0, 4.2])))
    refused = dse_("sweep", file, "-o", store, "--extend")
    assert refused.exit_code == 2
    assert "solver" in refused.stderr
    assert dse_("sweep", file, "-o", store, "--extend", "--solver", "highs").exit_code == 0
    after = dse.open(store).load()
    assert after.sizes["deadline"] == 5
    kept = after.isel(deadline=[0, 2, 4])
    np.testing.assert_array_equal(kept["seconds"], before["seconds"])
    own = dse.sweep(file, progress=False, workers=1)
    np.testing.assert_allclose(after["objective"], own["objective"], rtol=SAME)
    # what is damaged is computed again by the same solver
    chunk = next(p for p in (store / "objective").rglob("*") if p.is_file() and p.name != "zarr.json")
    chunk.write_bytes(b"")
    assert dse_("verify", store, "--repair", "--audit", 0).exit_code == 0
    np.testing.assert_allclose(dse.open(store)["objective"], own["objective"], rtol=SAME)


def test_what_no_point_would_have_an_answer_to_is_refused_before_a_store_is_made(tmp_path: Path):
    store = tmp_path / "s.zarr"
    with pytest.raises(SolverError, match="highs is for linear models"):
        dse.sweep(nbody(DEADLINES), store, progress=False, solver="highs")
    with pytest.raises(SolverError, match=r"Pyomo knows no solver 'scipp'.*did you mean"):
        dse.sweep(nbody(DEADLINES), store, progress=False, solver="scipp")
    with pytest.raises(ScenarioError, match="a sampler and a solver are both asked for"):
        dse.sweep({**nbody(DEADLINES), "search": {"trials": 5}}, store, progress=False, solver="scip")
    assert not store.exists()
    done = dse_("sweep", "nbody_deadline_sweep", "-o", store, "--solver", "nosuch")
    assert done.exit_code == 2
    assert "Traceback" not in done.output


def test_workers_ask_the_same_solver(tmp_path: Path):
    asked = nbody([0.05, 0.2], bodies={"path": "given.bodies", "values": [5e4, 1e5]})
    here = dse.sweep(asked, progress=False, workers=1, solver="scip")
    study = chunk_work.Study(dse.load(asked).text, "asked", (1, 1), by=pyomo_points.By("scip"))
    there = [chunk_work.solve_chunk(study, (i, j)).arrays["objective"].item() for i in (1, 0) for j in (1, 0)]
    np.testing.assert_array_equal(np.array(there)[::-1].reshape(2, 2), here["objective"])


def test_a_front_by_another_solver_lies_on_ours():
    asked = {k: v for k, v in dvfs([1.0]).items() if k != "sweep"}
    asked["objective"] = {"minimize": ["energy", "time"]}
    own = dse.front(asked, progress=False)
    found = dse.front(asked, points=5, progress=False, solver="highs")
    assert "every point by highs through Pyomo" in found.attrs["method"]
    assert (found["status"] == OPTIMAL).all()
    exact = np.stack([own["energy"], own["time"]], axis=1)
    for point in np.stack([found["energy"], found["time"]], axis=1):
        assert (np.abs(exact / point - 1.0) < SAME).all(axis=1).any()
    ends = [0, -1]
    for name in ("energy", "time"):
        np.testing.assert_allclose(np.sort(found[name])[ends], np.sort(own[name])[ends], rtol=SAME)


def test_a_front_of_a_geometric_program_has_our_ends():
    asked = {k: v for k, v in nbody([0.2]).items() if k != "sweep"}
    asked |= {"objective": {"minimize": ["energy", "time"]}, "limits": {"power": {"max": "1 kW"}}}
    found = dse.front(asked, points=2, progress=False, solver="scip")
    own = dse.front(asked, points=2, progress=False)
    np.testing.assert_allclose(np.sort(found["energy"]), np.sort(own["energy"]), rtol=SAME)
    # at the least energy 1e-6 of it is half a percent of the time, and that much is a solver's tolerance
    np.testing.assert_allclose(np.sort(found["time"]), np.sort(own["time"]), rtol=1e-2)
    with pytest.raises(SolverError, match="linear"):
        dse.front(asked, points=2, progress=False, solver="highs")


def test_fronts_over_axes(tmp_path: Path):
    asked = dvfs([1.0])
    asked["objective"] = {"minimize": ["energy", "time"]}
    asked["sweep"] = {"bytes": {"path": "given.phases.one.bytes", "values": ["4 GB", "8 GB"]}}
    file, told = tmp_path / "asked.toml", tmp_path / "front.json"
    file.write_text(to_toml(asked))
    done = dse_("front", file, "--points", 3, "--solver", "highs", "-o", told)
    assert done.exit_code == 0
    own = dse.front(file, progress=False)
    record = json.loads(told.read_text())
    assert "highs through Pyomo" in json.dumps(record)
    found = dse.front(file, points=3, progress=False, solver="highs")
    assert (found["status"].values[found["status"] != 0] == OPTIMAL).all()
    for name in ("energy", "time"):
        np.testing.assert_allclose(found[name].min("front"), own[name].min("front"), rtol=SAME)
