"""Many limits on objectives at once, against the answers to single questions."""

import importlib
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dse
from dse.models import registry
from results.solution import Solution
from scenarios.question import Question
from scenarios.questions import question
from solvers.answer import answer
from solvers.fronts.asking import in_logs, limited
from solvers.fronts.levels import Found, levels, stated

CHIP = Path(__file__).parents[2] / "docs" / "examples" / "multicore" / "src"
# differenced numerically, and multipliers of two interior points
RATE = 1e-5


@pytest.fixture(params=["n-body", "chip"])
def asked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[Question, np.ndarray]:
    """Energy and time, the first with limits of its own too; limits on the second objective."""
    if request.param == "n-body":
        own = dse.load(
            {
                "model": "nbody",
                "machine": "balanced",
                "given": {"bodies": 1e5, "flops_per_pair": 10},
                "decide": {"processors": {"max": 65536}, "memory": {"max": 2000}},
                "objective": {"minimize": ["energy", "time"]},
                "limits": {"energy": {"max": 90}},
            }
        )
        return question(own), np.array([0.02, 0.01, 0.005, 0.003, 1e-5])
    monkeypatch.syspath_prepend(str(CHIP))
    model = importlib.import_module("dse_multicore.model").MULTICORE
    monkeypatch.setitem(registry._registered, model.name, model)
    text = (CHIP / "dse_multicore" / "scenarios" / "multicore_front.toml").read_text(encoding="utf-8")
    machine = CHIP / "dse_multicore" / "machines" / "multicore-example.toml"
    text = text.replace('"multicore-example"', f'"{machine.as_posix()}"').replace(", integer = true", "")
    own = dse.load(tomllib.loads(text))
    return question(own), np.array([5e7, 1e7, 2e6, 1.3e6, 1e6])


def alone(q: Question, which: int, level: float) -> Solution:
    """The answer to a question of its own."""
    goal, other = q.objectives[which], q.objectives[1 - which]
    single = replace(q, objectives=(goal,), limits=limited(q, {other.name: level}))
    return answer(single, neighbours=False)


def same(one: Solution, other: Solution) -> None:
    """Two answers say the same."""
    assert one.status == other.status == "optimal"
    assert one.objective == pytest.approx(other.objective, rel=2e-9)
    assert one.bound == pytest.approx(other.bound, rel=1e-6)
    assert one.variables == pytest.approx(other.variables, rel=1e-5)
    assert one.metrics == pytest.approx(other.metrics, rel=1e-5)
    assert list(one.limits) == list(other.limits)
    for name, state in one.limits.items():
        assert state.binding == other.limits[name].binding, name
        assert state.bound == pytest.approx(other.limits[name].bound, rel=1e-9)
        if other.limits[name].elasticity is not None:
            assert state.elasticity == pytest.approx(other.limits[name].elasticity, rel=RATE, abs=RATE)
    for name in {*one.parameters, *other.parameters}:
        assert one.parameters.get(name, 0.0) == pytest.approx(
            other.parameters.get(name, 0.0), rel=RATE, abs=RATE
        )
    assert one.one_sided == other.one_sided
    assert one.ranges.keys() == other.ranges.keys()
    for name, ends in one.ranges.items():
        assert ends == pytest.approx(other.ranges[name], rel=1e-5)
    assert one.units == other.units
    assert one.objective_name == other.objective_name


def test_answers_together_are_those_of_single_questions(asked: tuple[Question, np.ndarray]):
    q, at = asked
    goal, other = q.objectives
    way = levels(q, goal, (other,))
    assert way is not None
    found = way.at({other.name: at})
    for level, one in zip(at[:-1], found, strict=False):
        assert one is not None
        same(one.solution, alone(q, 0, level))
    # the last limit is out of reach
    assert found[-1] is not None
    assert found[-1].solution.status == alone(q, 0, at[-1]).status == "infeasible"


def test_a_design_best_for_the_other_objective_is_stated_alike(asked: tuple[Question, np.ndarray]):
    q, at = asked
    goal, other = q.objectives
    way = levels(q, other, (goal,))
    assert way is not None
    first = [alone(q, 0, level).objective for level in at[1:-1]]
    for one in way.at({goal.name: np.array(first)}):
        assert one is not None
        told = stated(q, one, goal, other)
        assert told is not None
        same(told, alone(q, 0, told.metrics[other.name]))


def test_no_design_passes_a_support(asked: tuple[Question, np.ndarray]):
    """The line of one limit bounds the optimum at every other one."""
    q, at = asked
    goal, other = q.objectives
    way = levels(q, goal, (other,))
    assert way is not None
    found = [x for x in way.at({other.name: at[:-1]}) if x is not None]
    for line in found:
        for point in found:
            total = sum(
                _weighed(line, g.name) * in_logs(g).small(_value(point, g.name)) for g in q.objectives
            )
            assert total >= line.support.least - 1e-9
            # and its own point lies on it
            assert point is not line or total == pytest.approx(line.support.least, abs=1e-8)


def _weighed(found: Found, name: str) -> float:
    assert found.support is not None
    return found.support.weight[name]


def _value(found: Found, name: str) -> float:
    return found.solution.metrics[name]
