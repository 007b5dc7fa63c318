"""Maxima of symbols are unknowns of their own, held from above or below as their use asks for."""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from oracle_roofline_search import metrics as true_metrics

from dse import machines, models
from dse.models import arithmetic
from formulations import canonical as canon
from formulations import evaluation
from formulations.arithmetics import maxima
from formulations.arithmetics.maxima import DOWN, SIDE, UP
from formulations.arithmetics.posynomial import NotPosynomial, Ratio, Refused, symbol
from formulations.problem import Kind, Problem, Row, formulate, moved
from formulations.pyomo_models.explain import explain
from scenarios.question import Decision, Limit, Objective, Question

TITAN = dict(machines.get("gtx-titan-choi2014").parameters)
SPEED, CAP = "machine.time_per_flop", "machine.usable_power"


def roofline(objective: str, *limits: Limit, maximize: bool = False, intensity: bool = True) -> Question:
    decide = [Decision("throttle", maximum=10.0), Decision(SPEED, 1e-13, 1e-11), Decision(CAP, 20.0, 300.0)]
    decide += [Decision("intensity", 0.125, 64.0)] if intensity else []
    known = {f"machine.{n}": v for n, v in TITAN.items()}
    known |= {
        "flops": 1e12,
        "intensity": 4.0,
        "precision": "single",
        "level": "memory",
        "bytes_per_access": 1.0,
    }
    given = {n: v for n, v in known.items() if n not in {d.name for d in decide}}
    return Question(models.get("roofline"), given, tuple(decide), (Objective(objective, maximize),), limits)


def auxiliaries(case: Problem) -> set[str]:
    return {v.name for v in case.variables if v.auxiliary}


@pytest.mark.parametrize(
    ("question", "kind", "count"),
    [
        (roofline("time"), Kind.GP, 1),
        (roofline("energy", Limit("performance", minimum=5e11)), Kind.GP, 1),
        (roofline("efficiency", Limit("time", maximum=2.0), maximize=True), Kind.GP, 1),
        (roofline("peak_power", Limit("time", maximum=2.0)), Kind.NLP, 2),
        (roofline("power", Limit("time", maximum=2.0)), Kind.NLP, 3),
        (roofline("performance", Limit("power", maximum=200.0), maximize=True), Kind.NLP, 3),
        (roofline("power", Limit("peak_power", maximum=200.0)), Kind.NLP, 6),
    ],
)
def test_class_and_cases_are_read_off_the_use_of_the_maxima(
    question: Question, kind: Kind, count: int
) -> None:
    problem = formulate(question)
    assert problem.rows is None
    assert problem.kind is kind
    assert len(problem.cases) == count


def test_a_maximum_that_only_harms_is_held_up_and_one_that_only_helps_is_held_down() -> None:
    (least_time,) = formulate(roofline("time")).cases
    assert not any(n.endswith(UP) for n in auxiliaries(least_time))
    for case in formulate(roofline("power")).cases:
        # time as a tie breaker wants the epigraph, the power itself the other side
        assert {n.endswith(UP) for n in auxiliaries(case)} == {True, False}


def test_metrics_that_are_not_asked_for_may_hold_what_they_like() -> None:
    """The ends of the regimes subtract, which no posynomial does; the question of energy does not mind."""
    assert formulate(roofline("energy")).cases
    refused = formulate(roofline("energy", Limit("balance_high", maximum=100.0)))
    assert not refused.cases
    assert "a difference" in refused.refusal


def test_outside_of_a_question_maxima_stay_refused() -> None:
    assert isinstance(arithmetic.maximum(symbol("x"), 2.0), Refused)


def test_maxima_of_maxima_are_one() -> None:
    with maxima.named() as taken:
        inner = arithmetic.maximum(symbol("x"), 2.0)
        outer = arithmetic.maximum(symbol("z"), 3.0 * inner, 0.0)
    assert isinstance(outer, Ratio)
    (name,) = {v for key in outer.numerator.terms for v, _ in key}
    terms = [dict(t.numerator.terms) for t in taken.terms[name]]
    assert terms == [{(("z", 1.0),): 1.0}, {(("x", 1.0),): 3.0}, {(): 6.0}]


def test_a_term_below_another_is_never_the_largest() -> None:
    with maxima.named() as taken:
        t = arithmetic.maximum(symbol("x"), 2.0 * symbol("x") + 1.0, symbol("z"))
    (name,) = {v for key in t.numerator.terms for v, _ in key}
    assert taken.candidates(name) == [1, 2]


def test_too_many_ways_are_refused() -> None:
    with maxima.named() as taken:
        several = [arithmetic.maximum(symbol(f"x{i}"), symbol(f"z{i}")) for i in range(6)]
        total = sum((1.0 / t for t in several), start=0.0)
    with pytest.raises(NotPosynomial, match="more than 32 ways"):
        maxima.alternatives(taken, [maxima.split((total.numerator, total.denominator))])


def test_unknowns_of_maxima_come_after_the_decided_ones() -> None:
    question = roofline("power", Limit("peak_power", maximum=200.0))
    for case in formulate(question).cases:
        decided = [d.name for d in question.decide]
        assert [v.name for v in case.variables][: len(decided)] == decided
        assert all(n.startswith(DOWN) for n in auxiliaries(case))


def at_maxima(case: Problem, x: dict[str, float]) -> dict[str, float]:
    """The decided numbers and every maximum at its value, by its own terms."""
    with maxima.named() as taken:
        evaluation.metrics(case.question, {n: symbol(n) for n in x})
    point = dict(x)
    for name, terms in taken.terms.items():
        point[name] = max(t.numerator(**point) / t.denominator(**point) for t in terms)
        point[name + UP] = point[name]
    return {v.name: point[v.name] for v in case.variables}


def worst(rows: list[Row], point: dict[str, float]) -> float:
    """By how much (log) the worst row is missed."""
    return max(math.log(r.numerator(**point) / r.denominator(**point)) for r in rows)


QUESTIONS = [
    ("power", Limit("time", maximum=5.0), Limit("energy", minimum=50.0)),
    ("energy", Limit("power", minimum=130.0), Limit("power", maximum=250.0)),
    ("peak_power", Limit("power", maximum=220.0), Limit("performance", minimum=1e11)),
]


@pytest.mark.parametrize("asked", QUESTIONS)
@pytest.mark.parametrize("seed", range(20))
def test_cases_share_every_design_and_their_cuts_remove_none(asked: tuple[Any, ...], seed: int) -> None:
    """At a design with every maximum at its value some case holds, cuts and all, and says what the oracle says."""
    question = roofline(*asked)
    random = np.random.default_rng(seed)
    ends = {"throttle": (1, 10), SPEED: (1e-13, 1e-11), CAP: (20, 300), "intensity": (0.125, 64)}
    x = {n: float(np.exp(random.uniform(*np.log(ends[n])))) for n in (d.name for d in question.decide)}
    true = true_metrics(x, {n: question.given[n] for n in ("flops",)}, TITAN)
    held = 0
    for case in formulate(question).cases:
        point = at_maxima(case, x)
        assert case.goal is not None
        value = case.goal.numerator(**point) / case.goal.denominator(**point)
        assert value == pytest.approx(float(true[asked[0]]), rel=1e-9)
        held += worst([r for r in case.rows or () if r.key.side == SIDE], point) <= 1e-9
        c = canon.canonical(case, case.goal)
        if c.tighter is not None and worst(list(case.rows or ()), point) <= 1e-9:
            y = np.log([*point.values(), value])
            assert canon.values(c.tighter, y[None])[0, 1:].max() <= 1e-9
    assert held >= 1


def test_cuts_are_there_where_a_sum_is_bounded() -> None:
    """Energy over time is at most the usable power, so the power is at most that and the constant one."""
    tighter = [
        canon.canonical(c, c.goal).tighter
        for c in formulate(roofline("energy", Limit("power", minimum=130.0))).cases
    ]
    assert any(t is not None for t in tighter)


def test_a_case_at_other_given_numbers_keeps_its_rows() -> None:
    question = roofline("power", Limit("time", maximum=2.0))
    more = {n: v * 1.01 if n == "machine.energy_per_flop" else v for n, v in question.given.items()}
    for case in formulate(question).cases:
        goal, rows = moved(case, dataclasses.replace(question, given=more))
        assert goal is not None
        assert [r.key for r in rows] == [r.key for r in case.rows or ()]


def test_explain_tells_of_maxima_and_their_cases() -> None:
    one, several = (explain(formulate(roofline(goal))) for goal in ("energy", "power"))
    assert "maxima are unknowns of their own\n" in one
    assert "3 cases, one for each term that can be the largest" in several
    assert "Lagrangian duality" in several


def test_a_power_of_a_sum_is_an_unknown_of_its_own():
    """(a + b)^0.5 pushed down has the row a + b <= t; pulled up, the same sum from below."""
    x, y = symbol("x"), symbol("y")
    with maxima.named() as taken:
        root = (x + y) ** 0.5
    ((name, (inside,)),) = taken.terms.items()
    assert root.numerator.terms == {((name, 0.5),): 1.0}
    assert inside.numerator(x=2.0, y=3.0) == 5.0
    (down,) = maxima.alternatives(taken, [(root.numerator, root.denominator)])
    assert down.names == (name,)
    (up,) = maxima.alternatives(taken, [maxima.split((root.denominator, root.numerator))])
    assert up.names == (name + maxima.UP,)
    assert isinstance((x + y) ** 0.5, Refused)
