"""Linear questions: the optimum of a hand-made vertex, a bound that holds, and proofs of infeasibility."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from method_questions import BODIES, FLOPS, fixed_design, nbody

from dse.models import get
from formulations.problem import Kind, formulate
from formulations.pyomo_model import linear_model
from results.solution import Status
from scenarios.question import Decision, Limit, Objective, Question
from solvers import linear, scan
from solvers.answer import answer

FLOP, WORD = "machine.energy_per_flop", "machine.energy_per_word"
# of the fixed design: flops and words of all processors; the rest of its energy does not depend on the two
ALL_FLOPS, ALL_WORDS = FLOPS * BODIES**2, BODIES**2 / 5000
TIME = (ALL_FLOPS * 1e-9 + ALL_WORDS * (4e-8 + 1e-8)) / 100
REST = 100 * TIME * (2e-5 * 5000 + 0.05) + ALL_WORDS * 1e-8


def test_the_vertex_of_two_bounds() -> None:
    problem = formulate(fixed_design((Decision(FLOP, 1e-11), Decision(WORD, 1e-7)), "energy"))
    assert problem.kind is Kind.LP
    found = linear.solve(problem)
    expected = ALL_FLOPS * 1e-11 + ALL_WORDS * 1e-7 + REST
    assert found.status is Status.OPTIMAL
    assert found.bound == pytest.approx(expected, rel=1e-12)
    assert found.x == pytest.approx({FLOP: 1e-11, WORD: 1e-7}, rel=1e-12)


def test_a_floor_under_the_power_is_met_at_the_cheaper_parameter() -> None:
    # least energy_per_word for which power >= 40 W with energy_per_flop at most 1e-10
    question = fixed_design((Decision(FLOP, 1e-12, 1e-10), Decision(WORD, 1e-9)), None, power=(40.0, None))
    least_word = (40.0 * TIME - REST - ALL_FLOPS * 1e-10) / ALL_WORDS
    asked = Question(question.model, question.given, question.decide, (Objective(WORD),), question.limits)
    found = linear.solve(formulate(asked))
    assert found.status is Status.OPTIMAL
    assert found.x is not None
    assert found.x[WORD] == pytest.approx(max(least_word, 1e-9), rel=1e-9)


def test_infeasible_is_proved_by_multipliers() -> None:
    question = fixed_design((Decision(FLOP, 1e-10), Decision(WORD, 1e-7)), "energy", energy=(None, 10.0))
    found = linear.solve(formulate(question))
    assert found.status is Status.INFEASIBLE
    assert "weak duality" in found.certificate


def test_a_parameter_that_only_its_box_holds_runs_away() -> None:
    found = linear.solve(formulate(fixed_design((Decision(FLOP), Decision(WORD, 1e-7)), "energy")))
    assert found.status is Status.UNBOUNDED
    assert found.runaway == FLOP


@given(st.lists(st.floats(0, 10), min_size=8, max_size=8))
@settings(max_examples=50, deadline=None)
def test_any_multipliers_give_a_valid_bound(weights: list[float]) -> None:
    problem = formulate(
        fixed_design((Decision(FLOP, 1e-11), Decision(WORD, 1e-7)), "energy", power=(20.0, None))
    )
    model = linear_model(problem)
    m = linear.matrix(problem, model)
    found = linear.solve(problem)
    assert found.bound is not None
    best = found.bound / model.goal_scale
    assert m.bound(np.array(weights[: len(m.right)])) <= best * (1 + 1e-12)


@given(st.floats(1.1e9, 6e9))
@settings(max_examples=10, deadline=None)
def test_listed_values_equal_enumeration(target: float) -> None:
    decide = (Decision(FLOP, values=(1e-11, 1e-10, 2e-10, 4e-10)), Decision(WORD, values=(1e-7, 1e-6, 3e-6)))
    question = fixed_design(decide, "energy", efficiency=(None, target))
    problem = formulate(question)
    assert problem.kind is Kind.MILP
    found, exact = linear.solve(problem), scan.scan(question)
    assert found.status is exact.status
    if exact.bound is not None:
        assert found.bound == pytest.approx(exact.bound, rel=2e-9)


def test_other_classes_are_refused() -> None:
    with pytest.raises(ValueError, match="GP is not linear"):
        linear.solve(formulate(nbody()))


def test_a_maximised_affine_metric_is_linear_too() -> None:
    """Most energy within a power cap over two machine parameters: attained at E = P T."""
    machine = {"machine.time_per_flop": 1e-9, "machine.time_per_word": 4e-8, "machine.time_per_message": 1e-5}
    machine |= {"machine.energy_per_word": 3e-6, "machine.energy_per_message": 1e-5}
    machine |= {"machine.memory_power_per_word": 2e-5, "machine.max_message": 1000.0}
    fixed = {**machine, "bodies": 1e5, "flops_per_pair": 10.0, "processors": 500.0, "memory": 3000.0}
    decide = (
        Decision("machine.energy_per_flop", minimum=1e-12, maximum=2e-10),
        Decision("machine.leakage_power", minimum=1e-3, maximum=1.0),
    )
    cap = Limit("power", maximum=200.0)
    question = Question(get("nbody"), fixed, decide, (Objective("energy", maximize=True),), (cap,))
    s = answer(question)
    assert formulate(question).kind is Kind.LP
    assert s.status is Status.OPTIMAL
    assert s.objective == pytest.approx(200.0 * s.metrics["time"], rel=1e-9)
    assert s.bound == pytest.approx(s.objective, rel=1e-9)
