"""Linear questions in machine parameters: the optimum of a hand-made vertex, ties, and proofs that there is none."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from method_questions import BODIES, FLOPS, fixed_design

import dse
from dse.models import get
from formulations.problem import Kind, formulate
from results.solution import Solution, Status
from scenarios.question import Decision, Limit, Objective, Question
from solvers import enumeration
from solvers.answer import answer

FLOP, WORD = "machine.energy_per_flop", "machine.energy_per_word"
# of the fixed design: flops and words of all processors; the rest of its energy does not depend on the two
ALL_FLOPS, ALL_WORDS = FLOPS * BODIES**2, BODIES**2 / 5000
TIME = (ALL_FLOPS * 1e-9 + ALL_WORDS * (4e-8 + 1e-8)) / 100
REST = 100 * TIME * (2e-5 * 5000 + 0.05) + ALL_WORDS * 1e-8
GIGAWATT = 1e9


def asked(decide: dict[str, object], objective: dict[str, str], **limits: object) -> Solution:
    """The fixed design of ``method_questions`` as a user asks for it."""
    given = {"bodies": BODIES, "flops_per_pair": FLOPS, "processors": 100, "memory": 5000}
    return dse.solve(
        {
            "model": "nbody",
            "machine": "balanced",
            "given": given,
            "decide": decide,
            "objective": objective,
            "limits": limits,
        }
    )


@pytest.mark.parametrize("goal", ["power", "energy", "halvings"])
def test_a_least_power_beyond_the_machine_is_infeasible_with_what_would_do(goal: str) -> None:
    """Each end of the conflict alone, by hand: P T = flops e_f + words e_w + rest, e_f and e_w at most today's."""
    halved = {"max_halvings": 4}
    found = asked({FLOP: halved, WORD: halved}, {"minimize": goal}, power={"min": "1 GW"})
    assert found.status is Status.INFEASIBLE
    assert found.conflicts == (("power", FLOP, WORD),)
    today = ALL_FLOPS * 2e-10 + ALL_WORDS * 3e-6 + REST
    assert found.conflict["power"] == pytest.approx(today / TIME, rel=1e-9)
    flop = (GIGAWATT * TIME - REST - ALL_WORDS * 3e-6) / ALL_FLOPS
    word = (GIGAWATT * TIME - REST - ALL_FLOPS * 2e-10) / ALL_WORDS
    # what would do is granted the slack of all limits, 1e-8 at most
    assert found.conflict[FLOP] == pytest.approx(flop, rel=2e-8)
    assert found.conflict[WORD] == pytest.approx(word, rel=2e-8)


def test_a_least_power_on_the_objective_leaves_a_whole_edge_of_designs() -> None:
    """The optimum is the limit; of the designs on the edge the one of the smaller first parameter is handed out."""
    found = asked(
        {FLOP: {"min": 1e-12, "max": 1e-6}, WORD: {"min": 1e-9, "max": 1}},
        {"minimize": "power"},
        power={"min": "1 kW"},
    )
    assert found.status is Status.OPTIMAL
    # weak duality in floats: no more than rounding of the sums
    assert found.objective == pytest.approx(1000.0, rel=1e-12)
    assert found.bound == pytest.approx(1000.0, rel=1e-12)
    least, most = 1e-12, (1000.0 * TIME - REST - ALL_WORDS * 1e-9) / ALL_FLOPS
    assert found.variables[FLOP] == pytest.approx(least, rel=1e-9)
    assert found.ranges[FLOP] == pytest.approx((least, most), rel=1e-9)
    ends = [(1000.0 * TIME - REST - ALL_FLOPS * x) / ALL_WORDS for x in (most, least)]
    assert found.ranges[WORD] == pytest.approx(tuple(ends), rel=1e-9)


def test_what_nothing_holds_ranges_without_end() -> None:
    """Time does not depend on the energies: a least power bounds them from below only."""
    found = asked({FLOP: {"max": 1e-10}, WORD: {}}, {"minimize": "time"}, power={"min": "1 kW"})
    assert found.status is Status.OPTIMAL
    least = (1000.0 * TIME - REST - ALL_FLOPS * 1e-10) / ALL_WORDS
    assert found.ranges[WORD] == (pytest.approx(least, rel=1e-9), math.inf)


def test_a_floor_under_the_power_is_met_at_the_cheaper_parameter() -> None:
    # least energy_per_word for which power >= 40 W with energy_per_flop at most 1e-10
    question = fixed_design((Decision(FLOP, 1e-12, 1e-10), Decision(WORD, 1e-9)), None, power=(40.0, None))
    least_word = (40.0 * TIME - REST - ALL_FLOPS * 1e-10) / ALL_WORDS
    asked = Question(question.model, question.given, question.decide, (Objective(WORD),), question.limits)
    found = answer(asked)
    assert found.status is Status.OPTIMAL
    assert found.variables[WORD] == pytest.approx(max(least_word, 1e-9), rel=1e-9)


def test_a_parameter_that_only_its_box_holds_runs_away() -> None:
    """More energy per word makes any power: the least energy per flop has no end of its own."""
    found = asked({FLOP: {"max": 1e-9}, WORD: {}}, {"minimize": FLOP}, power={"min": "1 GW"})
    assert found.status is Status.UNBOUNDED
    assert found.runaway == FLOP
    assert found.message == f"{FLOP} falls without limit"


def test_the_vertex_of_two_bounds() -> None:
    question = fixed_design((Decision(FLOP, 1e-11), Decision(WORD, 1e-7)), "energy", power=(1.0, None))
    assert formulate(question).kind is Kind.LP
    found = answer(question)
    expected = ALL_FLOPS * 1e-11 + ALL_WORDS * 1e-7 + REST
    assert found.status is Status.OPTIMAL
    assert found.bound == pytest.approx(expected, rel=1e-12)
    assert found.variables == pytest.approx({FLOP: 1e-11, WORD: 1e-7}, rel=1e-12)


def test_least_costs_above_a_budget_are_infeasible() -> None:
    decide = (Decision(FLOP, 1e-10), Decision(WORD, 1e-7))
    found = answer(fixed_design(decide, "energy", energy=(None, 10.0), power=(1.0, None)))
    assert found.status is Status.INFEASIBLE
    # what neither parameter changes costs more than that
    assert REST > 10.0
    assert found.conflicts == (("energy",),)


@given(st.floats(1.1e9, 6e9), st.floats(20.0, 60.0))
@settings(max_examples=10, deadline=None)
def test_listed_values_equal_enumeration(target: float, power: float) -> None:
    decide = (Decision(FLOP, values=(1e-11, 1e-10, 2e-10, 4e-10)), Decision(WORD, values=(1e-7, 1e-6, 3e-6)))
    question = fixed_design(decide, "energy", efficiency=(None, target), power=(power, None))
    assert formulate(question).kind is Kind.MILP
    found, exact = answer(question), enumeration.optimum(question)
    assert found.status is exact.status
    if exact.x is not None:
        assert found.variables == pytest.approx(exact.x, rel=1e-12)
        # HiGHS' branch and bound stops at a relative gap of 1e-9
        assert found.bound == pytest.approx(exact.bound, rel=2e-9)


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
