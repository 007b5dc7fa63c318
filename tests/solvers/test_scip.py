"""SCIP through Pyomo: right on what has a closed form, silent where it only believes, and killable."""

import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from method_questions import BODIES, NBODY, fft, least_energy_by_deadline, nbody

from formulations.pyomo_models.log_program import log_program
from results.solution import Status
from scenarios import load
from scenarios.question import Decision, Question
from scenarios.questions import question as asked
from solvers import boxes
from solvers.nonlinear import methods, scip
from solvers.outcome import Outcome

ROOT = Path(__file__).parents[2]
# SCIP keeps limits to 1e-9 in logarithms and its bound may overshoot by as much
CLOSE = 2e-7


def closes(question: Question, found: Outcome, expected: float) -> None:
    assert found.status is Status.OPTIMAL, found
    assert found.x is not None
    assert found.bound == pytest.approx(expected, rel=CLOSE)
    worst, goal = boxes.measured(question, np.array([[found.x[d.name] for d in question.decide]]))
    assert worst[0] <= 1 + 1e-8
    assert goal[0] == pytest.approx(expected, rel=CLOSE)


@given(st.floats(0.05, 20), st.floats(0.2, 5), st.floats(0.2, 5))
@settings(max_examples=10, deadline=None)
def test_deadline_in_closed_form(deadline: float, dear: float, slow: float) -> None:
    machine = NBODY | {
        "energy_per_word": NBODY["energy_per_word"] * dear,
        "time_per_word": NBODY["time_per_word"] * slow,
    }
    question = nbody(machine=machine, time=(None, deadline), p=Decision("processors", maximum=1e7))
    expected = least_energy_by_deadline(machine, BODIES, deadline)
    closes(question, scip.solve(question, isolated=False), expected)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        # reference cases nbody-09, -13, fft-15, fft-03
        (nbody("time", p=Decision("processors", maximum=13300), power=(None, 52.9468)), 0.76556420211),
        (
            nbody("time", p=Decision("processors", maximum=181), power_per_processor=(None, 0.412917)),
            0.553003601298,
        ),
        (fft("energy_delay"), 1.53402914212e-06),
        (fft(p=Decision("processors", values=tuple(2.0**k for k in range(21)))), 0.0690284527616),
    ],
    ids=["total power", "power per processor", "whole", "powers of two"],
)
def test_reference_cases(question: Question, expected: float) -> None:
    closes(question, scip.solve(question, isolated=False), expected)


def test_a_child_process_gives_the_same_answer() -> None:
    question = nbody("time", p=Decision("processors", maximum=13300), power=(None, 52.9468))
    assert scip.solve(question).bound == pytest.approx(scip.solve(question, isolated=False).bound, rel=1e-12)


def test_it_works_from_standard_input() -> None:
    # no __main__ module that a child could import
    script = (
        "import sys; sys.path.insert(0, 'tests/oracle')\n"
        "from method_questions import nbody\n"
        "from solvers.nonlinear import scip\n"
        "print(scip.solve(nbody(time=(None, 0.5))).status)\n"
    )
    done = subprocess.run(
        [sys.executable, "-"],
        input=script,
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=240,
        check=False,
    )
    assert done.stdout.strip() == "optimal", done.stderr


def test_a_child_that_does_not_stop_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    # no time at all: the child cannot even have started its interpreter
    monkeypatch.setattr(scip, "GRACE", 0.0)
    found = scip.solve(nbody(), seconds=0.02)
    assert found.status is Status.ERROR
    assert "killed" in found.message


def test_infeasible_is_said_when_intervals_prove_it_and_never_on_scips_word() -> None:
    question = nbody(p=Decision("processors", maximum=133), time=(None, 0.729744))
    proved = scip.solve(question, isolated=False)
    assert proved.status is Status.INFEASIBLE
    assert "interval" in proved.certificate
    program = log_program(question)
    word = scip.run(program, 10.0)
    assert word["status"] == "provenInfeasible"
    heard = scip.heard(question, boxes.space(question), program, word)
    assert heard.status is Status.ERROR
    assert heard.message == "SCIP: provenInfeasible"


def test_any_design_will_do_without_an_objective() -> None:
    found = scip.solve(replace(nbody(time=(None, 0.5)), objectives=()), isolated=False)
    assert found.status is Status.FEASIBLE


def defined(decide: dict[str, object], goal: str, sense: str = "minimize") -> Question:
    """A question whose objective is defined in its file."""
    given = {"bodies": 1e6, "flops_per_pair": 20, "processors": 64, "memory": 1e5}
    return asked(
        load(
            {
                "model": "nbody",
                "machine": "jaketown",
                "given": given,
                "decide": decide,
                "define": {"goal": goal},
                "objective": {sense: "goal"},
            }
        )
    )


BUMP = "log(x)**2 + log(y)**2 + 3 - exp(0 - 900 * (log(x / 2.7)**2 + log(y / 2.7)**2))"
WIDE = {"min": 0.5, "max": 9}


@pytest.mark.parametrize(
    ("decide", "goal", "expected"),
    [
        # best where the exponential is nothing, and where it is more than a float can be
        ({"x": WIDE, "y": WIDE}, BUMP, 3.0),
        ({"x": {"min": 1, "max": 1e5}}, "1e8 / x + x / 2 + exp(0 - x / 10)", 14142.1356237),
        ({"x": {"min": 1, "max": 1e4}}, "1 / (1 + exp(x)) + 1e3 / x + x / 1e5", 0.2),
        (
            {"x": WIDE, "y": {"min": 1, "max": 1000, "integer": True}},
            "9.73 / (1 + exp(5.9 * (y - 4.3))) + 5.92 / (1 + exp(298 * (y - 0.802))) + 0.0162 * x",
            0.0081,
        ),
        # what is divided by, or raised, is negative there
        ({"x": {"min": 1, "max": 9, "integer": True}}, "23 / (x - 2.73) + x / 10", 23 / -0.73 + 0.2),
        ({"x": WIDE}, "(x - 4)**3 + exp(0 - x)", -(3.5**3) + math.exp(-0.5)),
    ],
    ids=["bump", "tail", "step", "two steps", "divided", "cubed"],
)
def test_no_design_is_cut_away_by_logarithms(decide: dict[str, object], goal: str, expected: float) -> None:
    found = methods.unstructured(defined(decide, goal))
    assert found.status is Status.OPTIMAL, found
    assert found.bound == pytest.approx(expected, rel=1e-6)
    near = scip.solve(defined(decide, goal), isolated=False)
    assert near.bound is None or near.bound <= expected + 1e-6 * abs(expected)


def lying(bound: float, x: dict[str, float]) -> Outcome:
    return Outcome(Status.OPTIMAL, x, bound, "a word", scip.SOLVER)


def test_a_bound_that_a_known_design_disproves_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    valleys = "log(x)**2 * (log(x) - 2)**2 + log(y)**2 * (log(y) - 2)**2 + 0.01 * log(x * y) + 2"
    question = defined({"x": WIDE, "y": WIDE}, valleys)
    expected = methods.unstructured(question)
    monkeypatch.setattr(scip, "solve", lambda _, known: lying(2.5, {"x": 4.0, "y": 4.0}))
    monkeypatch.setattr(methods, "SHORT_SEARCH", 20)
    found = methods.unstructured(question)
    assert found.bound != 2.5
    assert found.bound == pytest.approx(expected.bound, rel=1e-5)


def test_a_bound_that_is_better_than_its_own_design_is_not_believed() -> None:
    question = nbody("time", p=Decision("processors", maximum=13300), power=(None, 52.9468))
    program, where = log_program(question), boxes.space(question)
    word = scip.run(program, 10.0)
    found = scip.heard(question, where, program, word | {"bound": word["bound"] + 1e-3})
    assert found.status is Status.FEASIBLE
    assert found.bound is None
    assert "not believed" in found.certificate


def test_what_cannot_be_asked_is_told_with_its_limit() -> None:
    file = {
        "model": "fft",
        "machine": "balanced",
        "given": {"points": 1e6},
        "decide": {"processors": {"min": 2, "max": 6730}},
        "define": {"depth": "1 / (processors - 30)"},
        "objective": {"minimize": "power"},
        "limits": {"depth": {"max": 0.5}},
    }
    told = scip.solve(asked(load(file))).message
    assert "the power -1 of what may be 0 or negative (in the limit depth (max))" in told
