"""Each idea has one home: where it is taken away, no class of questions goes on, neither one point nor many."""

from __future__ import annotations

from typing import Any

import pytest
from one_home import CLASSES, GONE, LINEAR, MANY, MET, gone

import dse
import scenarios
from dse.sweeping.points import chunk_work
from formulations import canonical
from results.solution import Status
from solvers import anchors, boxes, choices, designs, enumeration, judgement
from solvers.answer import answer
from solvers.counting import tables
from solvers.explaining import known_designs
from solvers.geometric.explaining import geometric_conflicts
from solvers.geometric.kernel import formulas, gp
from solvers.geometric.points import best_cases, geometric_answers
from solvers.geometric.programs import crossover, newton, nudges, optima, optimal_face, ties, tree, unbounded
from solvers.linear import linear_program, milp_conflicts
from solvers.many_points import by_choice
from solvers.mechanisms import conflicts, dual_ends, parts, sensitivity
from solvers.nonlinear import feasibility, search
from solvers.sampling import descent


@pytest.mark.parametrize("kind", CLASSES)
def test_minimal_conflicts_have_one_home(kind: str, monkeypatch: pytest.MonkeyPatch):
    axis = {"path": "limits.time.max", "start": 1e-9, "stop": 1e-8, "num": MANY, "spacing": "log"}
    grid = scenarios.grid(dse.load({**CLASSES[kind], "sweep": {"deadline": axis}}))
    question, at = grid.question((0,)), chunk_work.ready(grid)
    assert at.path is not None
    assert answer(question, neighbours=False).status is Status.INFEASIBLE

    monkeypatch.setattr(conflicts._State, "asked", gone)
    alone = answer(question, neighbours=False)
    assert alone.status is Status.ERROR
    assert GONE in alone.message
    with pytest.raises(RuntimeError, match=GONE):
        at.path.solve(at.plan, (slice(0, MANY),))


def _asked(kind: str, sweep: dict[str, Any], **more: Any) -> tuple[scenarios.Grid, chunk_work.Ready]:
    grid = scenarios.grid(dse.load({**CLASSES[kind], **more, "sweep": {"axis": sweep}}))
    at = chunk_work.ready(grid)
    assert at.path is not None
    return grid, at


@pytest.fixture(scope="module")
def answered() -> dict[str, Status]:
    """What questions of each class are answered with while every idea has its home, as far as they were asked."""
    return {}


RATED = ["geometric program", "ratios of sums", "one decided number"]
"""Classes whose limits have sensitivities."""


@pytest.mark.parametrize(
    ("home", "name", "kinds"),
    [
        (optimal_face, "choose", ["geometric program", "ratios of sums"]),
        (judgement, "slack", list(MET)),
        (sensitivity, "elasticities", RATED),
        (sensitivity, "share", RATED),
        (sensitivity, "numeric_duals", ["one decided number"]),
        (canonical, "arrays", ["geometric program", "ratios of sums"]),
        (formulas, "centring", ["geometric program"]),
        (gp, "lagrangian", ["geometric program"]),
        (crossover, "doubtful", ["geometric program"]),
        (unbounded, "_is_listed_by_user", ["geometric program", "ratios of sums"]),
        (ties, "tie_goals", ["geometric program", "ratios of sums"]),
        (dual_ends, "duals", ["geometric program", "ratios of sums"]),
        (geometric_answers, "searched", ["geometric program", "ratios of sums"]),
        (geometric_answers, "settle", ["geometric program", "ratios of sums"]),
        (optima, "settled", ["geometric program", "ratios of sums"]),
        (newton, "slopes", ["ratios of sums"]),
        (nudges, "reaches", ["ratios of sums"]),
        (descent, "descents", ["one decided number"]),
        (designs, "_every", ["table"]),
    ],
    ids=[
        "optimal face",
        "judgement",
        "sensitivities of limits",
        "percent of the objective",
        "slopes by differences",
        "posynomials as arrays",
        "interior point",
        "Lagrangian bound",
        "crossover",
        "ends of a search box",
        "order of ties",
        "multipliers that are not unique",
        "optimum and bound before ties",
        "from an optimum to the answer",
        "from an optimum to the design handed out",
        "Newton's method at an optimum",
        "ties along the forms of divisors",
        "local search",
        "lists of designs",
    ],
)
def test_an_idea_has_one_home(
    home: Any, name: str, kinds: list[str], answered: dict[str, Status], monkeypatch: pytest.MonkeyPatch
):
    deadline = {"path": "limits.time.max", "start": 100.0, "stop": 1e4, "num": MANY, "spacing": "log"}
    asked = []
    for kind in kinds:
        grid, at = _asked(kind, deadline, **MET[kind])
        question = grid.question((MANY - 1,))
        # once for all homes: nothing is gone yet
        if kind not in answered:
            answered[kind] = answer(question, neighbours=False).status
        assert answered[kind] is Status.OPTIMAL
        asked.append((question, at))
    monkeypatch.setattr(home, name, gone)
    for question, at in asked:
        assert GONE in answer(question, neighbours=False).message
        assert at.path is not None
        with pytest.raises(RuntimeError, match=GONE):
            at.path.solve(at.plan, (slice(0, MANY),))


ENUMERATED: dict[str, dict[str, Any]] = {
    "a program of whole regions": CLASSES["table"],
    "whole numbers without structure": {
        "model": "fft",
        "machine": "balanced",
        "given": {"points": 1024.0, "all_to_all": "tree"},
        "decide": {"processors": {"max": 200, "integer": True}},
        "objective": {"minimize": "energy"},
    },
    "a choice of machines, each with a table": {
        **CLASSES["table"],
        "machine": {"cpu": "i3-2100t-tang2017"},
        "decide": {"machine.gpu": {"values": ["gtx-750-tang2017", "gtx-titan-tang2017"]}},
    },
}


@pytest.mark.parametrize("taken", ["numbers", "judged"])
@pytest.mark.parametrize("kind", ENUMERATED)
def test_enumeration_has_one_home(kind: str, taken: str, monkeypatch: pytest.MonkeyPatch):
    axis = {"path": "limits.time.max", "start": 1e-2, "stop": 10.0, "num": 1000, "spacing": "log"}
    asked = ENUMERATED[kind] | {"limits": {"time": {"max": 10.0}}}
    grid = scenarios.grid(dse.load({**asked, "sweep": {"deadline": axis}}))
    question, at = grid.question((999,)), chunk_work.ready(grid)
    assert at.path is not None
    assert answer(question, neighbours=False).status is Status.OPTIMAL

    monkeypatch.setattr(enumeration, taken, gone)
    alone = answer(question, neighbours=False)
    assert alone.status is Status.ERROR
    assert GONE in alone.message
    with pytest.raises(RuntimeError, match=GONE):
        at.path.solve(at.plan, (slice(0, 1000),))


@pytest.mark.parametrize(("home", "name"), [(boxes, "enclose"), (search, "minimise")])
def test_branch_and_bound_by_intervals_has_one_home(home: Any, name: str, monkeypatch: pytest.MonkeyPatch):
    axis = {"path": "limits.time.max", "start": 1.0, "stop": 1e4, "num": MANY, "spacing": "log"}
    asked = CLASSES["one decided number"] | {"limits": {"time": {"max": 1e4}}}
    grid = scenarios.grid(dse.load({**asked, "sweep": {"deadline": axis}}))
    at = chunk_work.ready(grid)
    assert at.path is not None
    assert answer(grid.question((0,)), neighbours=False).status is Status.OPTIMAL

    monkeypatch.setattr(home, name, gone)
    assert GONE in answer(grid.question((0,)), neighbours=False).message
    with pytest.raises(RuntimeError, match=GONE):
        at.path.solve(at.plan, (slice(0, MANY),))


@pytest.mark.parametrize(
    ("home", "name", "kind"),
    [
        (search, "_examined", "one decided number"),
        (feasibility, "anywhere", "one decided number"),
        (feasibility, "nothing_beyond", "one decided number"),
        (known_designs.Known, "met", "table"),
        (geometric_conflicts.Oracle, "feasible", "geometric program"),
        (geometric_conflicts.Oracle, "feasible", "ratios of sums"),
    ],
)
def test_what_conflicts_rest_on_has_one_home(
    home: Any, name: str, kind: str, monkeypatch: pytest.MonkeyPatch
):
    """Whether limits can hold together: by intervals, by what known designs break, of geometric programs."""
    axis = {"path": "limits.time.max", "start": 1e-9, "stop": 1e-8, "num": MANY, "spacing": "log"}
    grid = scenarios.grid(dse.load({**CLASSES[kind], "sweep": {"deadline": axis}}))
    at = chunk_work.ready(grid)
    assert at.path is not None

    monkeypatch.setattr(home, name, gone)
    alone = answer(grid.question((0,)), neighbours=False)
    assert alone.status is Status.ERROR
    assert GONE in alone.message
    with pytest.raises(RuntimeError, match=GONE):
        at.path.solve(at.plan, (slice(0, MANY),))


@pytest.mark.parametrize(
    ("home", "name"), [(best_cases, "handed_out"), (parts, "bound_of_all"), (parts, "tied")]
)
def test_the_choice_among_cases_of_a_maximum_has_one_home(
    home: Any, name: str, monkeypatch: pytest.MonkeyPatch
):
    axis = {"path": "limits.peak_power.max", "start": 100.0, "stop": 400.0, "num": MANY, "spacing": "log"}
    source = {
        "model": "roofline",
        "machine": "gtx580-choi2014",
        "given": {"flops": 1e12, "intensity": 4},
        "decide": {"throttle": {"max": 50}, "machine.usable_power": {"min": 20, "max": 300}},
        "objective": {"maximize": "efficiency"},
        "limits": {"peak_power": {"max": 200}, "time": {"max": 10}},
        "sweep": {"cap": axis},
    }
    grid = scenarios.grid(dse.load(source))
    question, at = grid.question((MANY - 1,)), chunk_work.ready(grid)
    assert at.path is not None
    assert answer(question, neighbours=False).status is Status.OPTIMAL
    monkeypatch.setattr(home, name, gone)
    assert GONE in answer(question, neighbours=False).message
    with pytest.raises(RuntimeError, match=GONE):
        at.path.solve(at.plan, (slice(0, 12),))


@pytest.mark.parametrize(
    ("home", "name", "source"),
    [
        (tree, "search", CLASSES["ratios of sums"] | MET["ratios of sums"]),
        (linear_program, "reduced_costs", LINEAR | {"limits": {"time": {"max": 1e4}}}),
    ],
    ids=["branch and bound of ratios", "bounds of linear programs"],
)
def test_what_proves_an_optimum_has_one_home(
    home: Any, name: str, source: dict[str, Any], monkeypatch: pytest.MonkeyPatch
):
    axis = {"path": "limits.time.max", "start": 100.0, "stop": 1e4, "num": MANY, "spacing": "log"}
    grid = scenarios.grid(dse.load({**source, "sweep": {"deadline": axis}}))
    question, at = grid.question((MANY - 1,)), chunk_work.ready(grid)
    assert at.path is not None
    assert answer(question, neighbours=False).status is Status.OPTIMAL
    monkeypatch.setattr(home, name, gone)
    assert GONE in answer(question, neighbours=False).message
    with pytest.raises(RuntimeError, match=GONE):
        at.path.solve(at.plan, (slice(0, MANY),))


@pytest.mark.parametrize("kind", ["geometric program", "ratios of sums", "linear program"])
def test_feasible_values_have_one_home(kind: str, monkeypatch: pytest.MonkeyPatch):
    linear = kind == "linear program"
    stop, num = (1e-8, MANY) if linear else (1e4, 12)
    axis = {"path": "limits.time.max", "start": 1e-9, "stop": stop, "num": num, "spacing": "log"}
    source = LINEAR if linear else CLASSES[kind]
    grid = scenarios.grid(dse.load({**source, "sweep": {"deadline": axis}}))
    at = chunk_work.ready(grid)
    assert at.path is not None
    monkeypatch.setattr(conflicts, "feasible_values", gone)
    monkeypatch.setattr(milp_conflicts, "feasible_values", gone)
    # where several conflicts have no limit in common there is no value to be told
    assert GONE in answer(grid.question((0 if linear else num - 1,)), neighbours=False).message
    with pytest.raises(RuntimeError, match=GONE):
        at.path.solve(at.plan, (slice(0, 12),))


def test_conflicts_over_choices_among_names_have_one_home(monkeypatch: pytest.MonkeyPatch):
    axis = {"path": "limits.time.max", "start": 1e-9, "stop": 1e-8, "num": MANY, "spacing": "log"}
    asked = ENUMERATED["a choice of machines, each with a table"] | {"limits": {"time": {"max": 1e-8}}}
    grid = scenarios.grid(dse.load({**asked, "sweep": {"deadline": axis}}))
    question, at = grid.question((0,)), chunk_work.ready(grid)
    assert at.path is not None
    assert answer(question, neighbours=False).status is Status.INFEASIBLE
    assert choices.over_choices is tables.over_choices
    for user in (choices, tables):
        monkeypatch.setattr(user, "over_choices", gone)
    assert GONE in answer(question, neighbours=True).message
    with pytest.raises(RuntimeError, match=GONE):
        at.path.solve(at.plan, (slice(0, MANY),))


def test_the_bound_of_all_choices_has_one_home(monkeypatch: pytest.MonkeyPatch):
    grid = scenarios.grid(dse.load("platforms_mtbf_alike_sweep"))
    question, at = grid.question((0,)), chunk_work.ready(grid)
    assert at.path is not None
    assert answer(question, neighbours=False).status is Status.OPTIMAL
    assert parts.bound_of_all is by_choice.bound_of_all
    for user in (parts, by_choice):
        monkeypatch.setattr(user, "bound_of_all", gone)
    assert GONE in answer(question, neighbours=False).message
    with pytest.raises(RuntimeError, match=GONE):
        at.path.solve(at.plan, (slice(0, 3),))


def test_limits_within_a_share_of_an_optimum_have_one_home(monkeypatch: pytest.MonkeyPatch):
    axis = {"path": "limits.time.max", "start": 100.0, "stop": 1e4, "num": MANY, "spacing": "log"}
    asked = CLASSES["geometric program"] | {
        "objective": {"minimize": "memory"},
        "limits": {"time": {"max": 1e4}, "energy": {"within": 0.1}},
    }
    grid = scenarios.grid(dse.load({**asked, "sweep": {"deadline": axis}}))
    question, at = grid.question((MANY - 1,)), chunk_work.ready(grid)
    assert at.path is not None
    assert answer(question, neighbours=False).status is Status.OPTIMAL
    monkeypatch.setattr(anchors, "_limit_within", gone)
    with pytest.raises(RuntimeError, match=GONE):
        answer(question, neighbours=False)
    with pytest.raises(RuntimeError, match=GONE):
        at.path.solve(at.plan, (slice(0, MANY),))
