"""Points that a way for many at once leaves over: never without a reason."""

from __future__ import annotations

import json
import logging
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dse
import scenarios
from dse.cli import main
from dse.models.arithmetic import CannotTake
from dse.sweeping import grid_way
from dse.sweeping.points import chunk_work
from formulations import evaluation, handover
from formulations.arithmetics import posynomial
from solvers import enumeration, paths
from solvers.counting import tables, whole
from solvers.geometric.kernel import gp
from solvers.geometric.points import geometric_answers
from solvers.geometric.programs import branch
from solvers.many_points import claims
from solvers.nonlinear.points import unstructured

WRONG = "nonsense is not defined"
LIBRARY = Path(__file__).parents[2] / "scenarios" / "library"


def broken(*_: Any, **__: Any) -> Any:
    raise NameError(WRONG)


def breaks(with_what: type[Exception]) -> Any:
    """Return a function that raises: a mistake in a program."""

    def anything(*_: Any, **__: Any) -> Any:
        raise with_what(WRONG)

    return anything


MISTAKES = (NameError, TypeError, ValueError, IndexError)


def nbody(deadlines: int, **limits: Any) -> dict[str, Any]:
    """Least energy on the paper's own machine, over deadlines."""
    axis = {"path": "limits.time.max", "start": 1.0, "stop": 10.0, "num": deadlines, "spacing": "log"}
    return {
        "model": "nbody",
        "machine": "jaketown",
        "given": {"bodies": 1e5, "flops_per_pair": 10},
        "decide": {"processors": {"max": 300}, "memory": {}},
        "objective": {"minimize": "energy"},
        "limits": {"time": {"max": 1.0}, **limits},
        "sweep": {"deadline": axis},
    }


def run(words: list[str]) -> Any:
    """Run a command; returns its exit code."""
    return main(words, standalone_mode=False)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_an_exception_that_nobody_expected_is_an_error_in_strict_mode(
    mistake: type[Exception], monkeypatch: pytest.MonkeyPatch
):
    assert handover.strict()
    monkeypatch.setattr(geometric_answers, "searched", breaks(mistake))
    with pytest.raises(mistake, match=WRONG):
        dse.sweep(nbody(12), progress=False)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_so_it_is_where_points_are_asked_apart(mistake: type[Exception], monkeypatch: pytest.MonkeyPatch):
    """Numbers that lead to structures of their own are handed over there; a mistake in the way is not."""
    asked = scenarios.grid(dse.load(LIBRARY / "roofline_platform_efficiency_sweep.toml"))
    at = chunk_work.ready(asked)
    assert at.path is not None
    region = tuple(slice(0, 2) for _ in asked.shape)
    monkeypatch.setattr(enumeration, "judged", breaks(mistake))
    with pytest.raises(mistake, match=WRONG):
        at.path.solve(at.plan, region)
    monkeypatch.setenv(handover.STRICT, "0")
    with handover.collected() as tally:
        _, left = at.path.solve(at.plan, region)
    assert left.all()
    assert sum(tally.unexpected.values()) == left.size
    assert all(f"{mistake.__name__}: {WRONG}" in reason for reason in tally.unexpected)


@pytest.mark.parametrize("refusal", [CannotTake("not these"), ZeroDivisionError("by 0")])
def test_what_a_way_cannot_take_is_no_mistake(refusal: Exception, monkeypatch: pytest.MonkeyPatch):
    asked = scenarios.grid(dse.load(LIBRARY / "roofline_platform_efficiency_sweep.toml"))
    at = chunk_work.ready(asked)
    assert at.path is not None

    def refuses(*_: Any, **__: Any) -> Any:
        raise refusal

    monkeypatch.setattr(enumeration, "judged", refuses)
    with handover.collected() as tally:
        _, left = at.path.solve(at.plan, tuple(slice(0, 2) for _ in asked.shape))
    assert left.all()
    assert not tally.unexpected
    assert str(refusal) in " ".join(tally.reasons)


def test_equations_that_take_plain_numbers_only_are_no_mistake_and_arithmetic_that_breaks_is_one(
    monkeypatch: pytest.MonkeyPatch,
):
    """A stranger's equations may ask for a float; that an arithmetic of ours fails inside them is another matter."""
    nbody_model = dse.models.get("nbody")

    def plain(v: Any) -> Any:
        return {**nbody_model.equations(v), "energy": float(v.machine.energy_per_flop) * v.bodies**2}

    asked = scenarios.grid(dse.load(nbody(12))).question((0,))
    own = replace(asked, model=replace(nbody_model, equations=plain))
    symbols = {"processors": posynomial.symbol("processors"), "memory": posynomial.symbol("memory")}
    arrays = {**own.given, "machine.energy_per_flop": np.array([1e-9, 2e-9])}
    found = evaluation.metrics(replace(own, given=arrays), {"processors": 10.0, "memory": 1e5})
    # one number after another
    assert found["energy"] == pytest.approx(arrays["machine.energy_per_flop"] * own.given["bodies"] ** 2)
    symbol = {**own.given, "machine.energy_per_flop": posynomial.symbol("energy")}
    with pytest.raises(CannotTake, match="TypeError"):
        evaluation.metrics(replace(own, given=symbol), {"processors": 10.0, "memory": 1e5})
    monkeypatch.setattr(posynomial.Ratio, "__mul__", breaks(TypeError))
    monkeypatch.setattr(posynomial.Ratio, "__rmul__", breaks(TypeError))
    with pytest.raises(TypeError, match=WRONG):
        evaluation.metrics(asked, symbols)


def test_else_it_is_logged_once_counted_and_stored(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
):
    expected = dse.sweep(nbody(12), progress=False)
    assert json.loads(expected.attrs["left_over"]) == {}
    monkeypatch.setenv(handover.STRICT, "0")
    monkeypatch.setattr(geometric_answers, "_refuted", broken)
    store = tmp_path / "broken.zarr"
    with caplog.at_level(logging.WARNING, logger="dse"):
        found = dse.sweep(nbody(12), store, progress=False)
    told = [r.getMessage() for r in caplog.records if r.name == "dse"]
    assert len(told) == 1
    assert WRONG in told[0]
    # every point is answered all the same
    np.testing.assert_allclose(found["objective"], expected["objective"], rtol=1e-6)
    ((reason, points),) = json.loads(found.attrs["left_over"]).items()
    assert f"NameError: {WRONG}" in reason
    assert points == found.attrs["points_solved_singly"] == 12
    assert dse.status(store)["left_over"] == {reason: 12}
    assert run(["sweep", "--status", str(store)]) == 0
    assert WRONG in capsys.readouterr().out
    assert run(["sweep", "-o", str(store), "--summary"]) == 0
    assert WRONG in capsys.readouterr().out


def station() -> dict[str, Any]:
    """Least cost of a station, over throughputs; its counts are whole numbers."""
    asked = tomllib.loads((LIBRARY / "station_least_cost_in_10_kw.toml").read_text(encoding="utf-8"))
    axis = {"path": "limits.throughput.min", "start": "8e12 op/s", "stop": "70e12 op/s", "num": 40}
    return {**asked, "sweep": {"demand": axis}}


CHOSEN = {
    "ratios of sums": (
        branch,
        "search",
        lambda: {**nbody(60, power={"max": 1e4}), "machine": "balanced"},
    ),
    "tables": (tables, "answered", lambda: LIBRARY / "roofline_platform_efficiency_sweep.toml"),
    "whole numbers": (whole, "answered", station),
    "one decided number": (
        unstructured,
        "_answer_by_intervals",
        lambda: {
            "model": "fft",
            "machine": "balanced",
            "given": {"points": 1e6, "all_to_all": "tree"},
            "decide": {"processors": {"max": 1000}},
            "objective": {"minimize": "energy"},
            "limits": {"time": {"max": 1.0}},
            "sweep": {"deadline": {"path": "limits.time.max", "start": 1e-3, "stop": 1.0, "num": 60}},
        },
    ),
}


@pytest.mark.parametrize("kind", CHOSEN)
def test_a_way_that_breaks_while_it_is_tried_says_so(kind: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(claims, "SHARE_TRIED", 1.0)
    module, name, source = CHOSEN[kind]
    asked = scenarios.grid(dse.load(source()))
    assert paths.chosen(asked).path is not None
    monkeypatch.setattr(module, name, broken)
    with pytest.raises(NameError, match=WRONG):
        paths.chosen(asked)
    monkeypatch.setenv(handover.STRICT, "0")
    choice = paths.chosen(asked)
    assert any(WRONG in reason for reason in choice.exceptions)


def test_what_a_way_hands_over_is_told_by_reason_and_is_no_error(monkeypatch: pytest.MonkeyPatch):
    """Half of the optima are called unproved: these go one by one, the others stay where they are."""
    solve = gp.solve

    def half(*args: Any, **more: Any) -> gp.Result:
        r = solve(*args, **more)
        if len(r.status) == 12:
            r.status[::2] = gp.FAILED
        return r

    monkeypatch.setattr(gp, "solve", half)
    found = dse.sweep(nbody(12), progress=False)
    assert json.loads(found.attrs["left_over"]) == {geometric_answers.UNSOLVED: 6}
    assert found.attrs["points_solved_singly"] == 6
    assert (found["status"] == 1).all()


SEARCHED = """
title = "Worst case of an n-body step"
model = "nbody"
machine = "jaketown"
given = { bodies = 1e6, flops_per_pair = 20 }
decide = { processors = { max = 40, integer = true }, memory = { max = 1e7 } }
objective = { minimize = "energy", measure = "mean" }
limits = { time = { max = "2 s", probability = 0.8 }, power = { max = "20 kW" } }
sweep = { deadline = { path = "limits.time.max", values = ["2 s", "20 s"] } }

[uncertain]
"machine.time_per_flop" = { uniform = ["2.52 ps/flop", "4.11 ps/flop"] }
"""


def test_how_a_grid_goes_is_said_before_it_is_asked(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    assert run(["check", str(LIBRARY / "nbody_deadline_sweep.toml")]) == 0
    assert "chunks searched" in capsys.readouterr().out
    assert run(["check", str(LIBRARY / "dvfs_deadline_sweep.toml"), "--json"]) == 0
    way = json.loads(capsys.readouterr().out)["way"]
    assert way["goes"] == "point by point"
    assert "solved together from 50 points on" in " ".join(way["why"])
    assert way["about_seconds"] > 0.0
    assert way["cores"] == 1
    assert not way["not_counted"]
    assert run(["explain", str(LIBRARY / "dvfs_deadline_sweep.toml")]) == 0
    assert "point by point, about a second on 1 core: " in capsys.readouterr().out
    # what one design for many samples takes is searched for, and is seen only as it goes
    (tmp_path / "asked.toml").write_text(SEARCHED)
    assert run(["check", str(tmp_path / "asked.toml")]) == 0
    assert f"core, {grid_way.ROUGH}: " in capsys.readouterr().out
    store = str(tmp_path / "rates.zarr")
    assert run(["sweep", str(LIBRARY / "roofline_throttling_sweep.toml"), "-o", store]) == 0
    first = capsys.readouterr().err.splitlines()[0]
    assert first.startswith("624 points: all points of a chunk at once")


def test_a_grid_without_an_objective_is_told_to_go_singly_for_want_of_one():
    """Its decided numbers are divisible: nothing is said of whole numbers and lists."""
    asked = dse.load(
        {
            "model": "nbody",
            "machine": "balanced",
            "given": {"flops_per_pair": 10},
            "decide": {"processors": {"integer": False}, "memory": {}},
            "limits": {"time": {"max": "50 ms"}},
            "sweep": {"n": {"path": "bodies", "start": 1e4, "stop": 1e5, "num": 20}},
        }
    )
    (why,) = paths.chosen(scenarios.grid(asked)).reasons
    assert "there is no objective" in why
    assert "whole" not in why


@pytest.mark.parametrize("points", [1, 11])
def test_short_sweeps_over_a_choice_alone_leave_nothing_over(points: int):
    asked = {
        "model": "roofline",
        "given": {"flops": "1 Tflop"},
        "decide": {"machine": {"values": ["nehalem-choi2014", "nuc-gpu-choi2014"]}},
        "objective": {"maximize": "efficiency"},
        "sweep": {"intensity": {"path": "given.intensity", "values": [2.0**k for k in range(points)]}},
    }
    found = dse.sweep(asked, progress=False)
    assert json.loads(found.attrs["left_over"]) == {}


def test_what_a_way_knows_that_it_cannot_take_is_stored_without_a_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(geometric_answers, "_refuted", breaks(CannotTake))
    with caplog.at_level(logging.WARNING, logger="dse"):
        found = dse.sweep(nbody(12), progress=False)
    assert [r.getMessage() for r in caplog.records if r.name == "dse"] == []
    ((reason, points),) = json.loads(found.attrs["left_over"]).items()
    assert WRONG in reason
    assert points == 12
