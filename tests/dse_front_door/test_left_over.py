"""Points that a way for many at once leaves over: never without a reason."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dse
import scenarios
from dse.cli import main
from formulations import handover
from solvers import batched, gp
from solvers.batched import branching, geometric, geometric_answers, line, tables, whole

WRONG = "nonsense is not defined"
LIBRARY = Path(__file__).parents[2] / "scenarios" / "library"


def broken(*_: Any, **__: Any) -> Any:
    raise NameError(WRONG)


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


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dozen points are many."""
    monkeypatch.setattr(geometric, "FEWEST", 10)
    monkeypatch.setattr(geometric, "COMPILED", 100)


@pytest.mark.usefixtures("few")
def test_an_exception_that_nobody_expected_is_an_error_in_strict_mode(monkeypatch: pytest.MonkeyPatch):
    assert handover.strict()
    monkeypatch.setattr(geometric_answers, "_unique", broken)
    with pytest.raises(NameError, match=WRONG):
        dse.sweep(nbody(12), progress=False)


@pytest.mark.usefixtures("few")
def test_else_it_is_logged_once_counted_and_stored(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
):
    expected = dse.sweep(nbody(12), progress=False)
    assert json.loads(expected.attrs["left_over"]) == {}
    monkeypatch.setenv(handover.STRICT, "0")
    monkeypatch.setattr(geometric_answers, "_unique", broken)
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


CHOSEN = {
    "ratios of sums": (
        branching,
        "minimise",
        lambda: {**nbody(60, power={"max": 1e4}), "machine": "balanced"},
    ),
    "tables": (tables, "answered", lambda: LIBRARY / "roofline_platform_efficiency_sweep.toml"),
    "whole numbers": (whole, "answered", lambda: LIBRARY / "station_cost_sweep.toml"),
    "one decided number": (
        line,
        "answered",
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
    module, name, source = CHOSEN[kind]
    asked = scenarios.grid(dse.load(source()))
    assert batched.chosen(asked).path is not None
    monkeypatch.setattr(module, name, broken)
    with pytest.raises(NameError, match=WRONG):
        batched.chosen(asked)
    monkeypatch.setenv(handover.STRICT, "0")
    choice = batched.chosen(asked)
    assert any(WRONG in reason for reason in choice.exceptions)


@pytest.mark.usefixtures("few")
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


def test_how_a_grid_goes_is_said_before_it_is_asked(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    assert run(["check", str(LIBRARY / "nbody_deadline_sweep.toml")]) == 0
    assert "chunks searched" in capsys.readouterr().out
    assert run(["check", str(LIBRARY / "kernels_idle_processors_leak_sweep.toml"), "--json"]) == 0
    way = json.loads(capsys.readouterr().out)["way"]
    assert way["goes"] == "point by point"
    assert "would go at once" in " ".join(way["why"])
    assert way["about_seconds"] >= 0.1
    assert way["cores"] == 1
    assert run(["explain", str(LIBRARY / "kernels_idle_processors_leak_sweep.toml")]) == 0
    assert "point by point, about a second on 1 core: " in capsys.readouterr().out
    store = str(tmp_path / "rates.zarr")
    assert run(["sweep", str(LIBRARY / "roofline_throttling_sweep.toml"), "-o", store]) == 0
    first = capsys.readouterr().err.splitlines()[0]
    assert first.startswith("624 points go all points of a chunk at once")
