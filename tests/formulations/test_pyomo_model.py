"""The Pyomo model is the question: same numbers at every point, the user's names, nothing far from one."""

import math
from pathlib import Path

import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from method_questions import fft, fixed_design, nbody

from dse.models import arithmetic
from formulations import evaluation
from formulations.problem import Kind, formulate
from formulations.pyomo_models.log_data import LogProgram
from formulations.pyomo_models.log_models import log_model
from formulations.pyomo_models.log_program import log_program
from formulations.pyomo_models.model_files import NotLinear, write
from formulations.pyomo_models.user_model import user_model
from scenarios.question import Decision, Question

QUESTIONS = {
    "gp": nbody(time=(None, 0.5)),
    "power caps": nbody("time", power=(None, 800.0), power_per_processor=(None, 0.5)),
    "maximised": nbody(maximize="efficiency", p=Decision("processors", maximum=1e4)),
    "logarithms": fft("energy_delay", p=Decision("processors"), power=(None, 5000.0)),
    "naive": fft("power", exchange="naive"),
}


def fill(program: LogProgram, model: pyo.ConcreteModel, x: dict[str, float]) -> None:
    """Give the log variables their values at a design, auxiliary ones from their equations."""
    for v in program.variables:
        model.y[v.name].set_value(math.log(x[v.name]) if v.name in x else 0.0, skip_validation=True)
    for v in program.variables:
        row = next((r for r in program.rows if not r.name and _last(r.terms) == v.name), None)
        if v.name not in x and row is not None:
            total = sum(
                t.sign
                * math.exp(
                    t.constant + sum(a * model.y[n].value for n, a in t.exponents.items() if n != v.name)
                )
                * math.prod(
                    f.get("", 0.0) + sum(a * model.y[n].value for n, a in f.items() if n) for f in t.factors
                )
                for t in row.terms
            )
            model.y[v.name].set_value(math.log(total), skip_validation=True)


def _last(terms: tuple) -> str:
    return next((n for n, a in reversed(terms[0].exponents.items()) if a == -1.0 and n[0] in "tg"), "")


@pytest.mark.parametrize("name", QUESTIONS)
@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_rows_and_goal_equal_the_models_own_numbers(name: str, data: st.DataObject) -> None:
    question = QUESTIONS[name]
    program = log_program(question)
    model = log_model(program)
    x = {d.name: data.draw(st.floats(2.0, 1e4)) for d in question.decide}
    fill(program, model, x)
    at = evaluation.metrics(question, x)
    for key, ratio in evaluation.ratios(question, x, at).items():
        row = model.limits[key.name, key.side]
        body, right = pyo.value(row.body), pyo.value(row.upper)
        # single exponentials stand as logarithms
        found = body if right == 1.0 else math.exp(body - right)
        assert found == pytest.approx(ratio, rel=1e-9), key
    goal = program.objective(model.y[program.goal].value)
    assert goal == pytest.approx(evaluation.objective(question, x, at), rel=1e-9)


@pytest.mark.parametrize("name", QUESTIONS)
def test_no_coefficient_leaves_the_order_of_one(name: str) -> None:
    # SI coefficients of these questions run from 1e-11 to 1e12; in exponents they are within +-35
    for row in log_program(QUESTIONS[name]).rows:
        for term in row.terms:
            assert abs(term.constant) < 100
            for form in term.factors:
                assert max(map(abs, form.values())) < 100


def test_constraints_carry_the_users_names() -> None:
    model = user_model(formulate(QUESTIONS["power caps"]))
    names = set(model.limits)
    assert names == {
        ("power", "max"),
        ("power_per_processor", "max"),
        ("one_copy", "model"),
        ("replication", "model"),
    }


def test_powers_of_two_are_a_ladder_and_other_values_a_menu() -> None:
    ladder = user_model(formulate(fft(p=Decision("processors", values=tuple(2.0**k for k in range(21))))))
    assert ladder.component("rung processors").ub == 20
    menu = user_model(formulate(fft(p=Decision("processors", values=(3.0, 7.0, 100.0)))))
    assert len(menu.component("choice processors")) == 3


def test_a_linear_problem_is_in_units_of_its_own_size() -> None:
    d = (Decision("machine.energy_per_flop", 1e-11, 4e-10), Decision("machine.energy_per_word", minimum=1e-7))
    problem = formulate(fixed_design(d, "energy", power=(30.0, None)))
    assert problem.kind is Kind.LP
    model = user_model(problem)
    for name, x in (("machine.energy_per_flop", 2e-10), ("machine.energy_per_word", 3e-6)):
        model.u[name].set_value(x / model.scale[name])
    found = pyo.value(model.objective) * model.goal_scale
    at = evaluation.metrics(
        problem.question, {"machine.energy_per_flop": 2e-10, "machine.energy_per_word": 3e-6}
    )
    assert found == pytest.approx(at["energy"], rel=1e-12)
    body = model.limits["power", "min"].body
    assert pyo.value(body) <= 0 if at["power"] >= 30 else pyo.value(body) > 0


@pytest.mark.parametrize("form", ["nl", "gams"])
def test_a_nonlinear_problem_is_written_for_other_solvers(form: str, tmp_path: Path) -> None:
    path = tmp_path / f"model.{form}"
    write(formulate(QUESTIONS["power caps"]), path, form)
    assert path.stat().st_size > 200


def test_lp_is_written_for_linear_problems_and_refused_for_others(tmp_path: Path) -> None:
    linear = fixed_design((Decision("machine.energy_per_flop", minimum=1e-11),), "energy")
    write(formulate(linear), tmp_path / "model.lp", "lp")
    assert "machine_energy_per_flop" in (tmp_path / "model.lp").read_text()
    with pytest.raises(NotLinear, match="GP"):
        write(formulate(QUESTIONS["gp"]), tmp_path / "other.lp", "lp")
    with pytest.raises(ValueError, match="no format 'mps'"):
        write(formulate(linear), tmp_path / "model.mps", "mps")


def test_nothing_decided_has_no_model() -> None:
    with pytest.raises(ValueError, match="nothing is decided"):
        user_model(formulate(Question(QUESTIONS["gp"].model, {})))


def test_helpers_of_the_models_take_plain_pyomo_variables() -> None:
    m = pyo.ConcreteModel()
    m.a, m.b = pyo.Var(initialize=3.0), pyo.Var(initialize=5.0)
    assert pyo.value(arithmetic.maximum(m.a, m.b)) == pytest.approx(5.0)
    assert pyo.value(arithmetic.maximum(2.0, m.a)) == pytest.approx(3.0)
    assert pyo.value(arithmetic.log2(m.a)) == pytest.approx(np.log2(3.0))
    assert pyo.value(arithmetic.exp(m.a)) == pytest.approx(math.exp(3.0))
