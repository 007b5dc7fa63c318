"""Programs in words: formulas that can be checked by hand, maxima written out, the method and its proof."""

import re
from typing import Any

import pytest
from program_questions import kinds, regions, toy

from dse.models.arithmetic import differs, maximum, per, pick, some
from formulations.problem import formulate
from formulations.programs.program import program
from formulations.pyomo_models.explain import explain
from formulations.pyomo_models.program_text import Formulas, method
from formulations.row_keys import RowKey
from scenarios.question import Decision, Limit, Question


def shop(g: Any) -> dict[str, Any]:
    longest = maximum(2.0 * g.x, 3.0 - g.y)
    return {
        "time": longest,
        "cost": pick(g.a, (5.0, 7.0)) + g.x - 2.5 * g.y + 4.0 * some(g.y) + differs(g.a, g.b),
        "mean": per(g.x + 1.0, longest),
        "twice": 2.0 * g.a + g.x,
    }


DECIDE = {n: Decision(n, integer=True, values=(1.0, 2.0)) for n in "ab"} | {n: Decision(n) for n in "xy"}


def asked(goal: str, *limits: Limit, maximize: bool = False) -> Question:
    return toy(shop, DECIDE, goal, maximize=maximize, limits=limits, tops={"x": 9.0, "y": 1.0})


@pytest.mark.parametrize(
    ("goal", "text"),
    [
        ("time", "max(2·x, -y + 3)"),
        ("cost", "[a: m1.0 5, m2.0 7] + x - 2.5·y + 4·[any of y] + [a ≠ b]"),
        ("mean", "(x + 1) / max(2·x, -y + 3)"),
        ("twice", "2·a + x"),
    ],
)
@pytest.mark.parametrize("maximize", [False, True])
def test_objectives_are_formulas(goal: str, text: str, maximize: bool) -> None:
    if goal == "cost" and maximize:
        # what gains from an indicator is not a program
        return
    found = Formulas(program(asked(goal, maximize=maximize))).objective()
    assert found.replace("(max(2·x, -y + 3))", "max(2·x, -y + 3)") == text


@pytest.mark.parametrize(
    ("limit", "text"),
    [
        (Limit("time", maximum=4.0), "max(2·x, -y + 3) ≤ 4"),
        (Limit("time", minimum=2.5), "max(2·x, -y + 3) ≥ 2.5"),
        (Limit("twice", maximum=7.0), "2·a + x ≤ 7"),
    ],
)
def test_limits_stand_with_their_own_numbers(limit: Limit, text: str) -> None:
    side = "max" if limit.maximum is not None else "min"
    formulas = Formulas(program(asked("twice", limit)))
    assert formulas.limit(RowKey(limit.name, side)) == text
    assert formulas.limit(RowKey("cost", "max")) == ""


def test_long_maxima_are_named_and_told_once() -> None:
    q = regions(4, 4, 3).question("energy", Limit("time", maximum=9.0), whole=False)
    formulas = Formulas(program(q))
    assert formulas.limit(RowKey("time", "max")) == "largest_1 ≤ 9"
    assert "largest_1" in formulas.objective()
    told = formulas.where()
    assert told[0] == "  largest_1 = max("
    assert len(told) == 1 + 6 + 1
    assert told[1].count("share.") == 4


def test_a_maximum_inside_a_named_one_is_told_too() -> None:
    names = [f"a_rather_long_name_{k}" for k in range(4)]

    def run(g: Any) -> dict[str, Any]:
        x = [getattr(g, n) for n in names]
        return {"time": maximum(3.0 * maximum(*x) + x[0], *x), "cost": maximum(*x)}

    formulas = Formulas(
        program(toy(run, {n: Decision(n) for n in names}, "time", limits=[Limit("cost", maximum=5.0)]))
    )
    outer = formulas.objective()
    told = formulas.where()
    assert told[0] == f"  {outer} = max("
    inner = re.search(r"3·(largest_\d)", told[1])
    assert inner is not None
    assert inner[1] != outer
    assert f"  {inner[1]} = max(" in told


def test_methods_say_what_will_be_done_and_proved() -> None:
    share = regions(1, 2, 2)
    assert "simplex" in method(program(share.question("time", whole=False)))[0]
    assert "weak duality" in method(program(share.question("time", whole=False)))[1]
    assert "branch and bound" in method(program(share.question("time")))[0]
    how, proof = method(program(kinds(1, 2).question("energy", fixed_power=5.0)))
    assert how.startswith("Dinkelbach")
    assert proof.endswith("least denominator")
    how, proof = method(program(share.question("power")))
    assert how.startswith("4 programs")
    assert proof.endswith("of all 4")
    assert method(program(share.question(None)))[1].startswith("feasible")


def test_the_page_of_a_question_shows_it_all() -> None:
    text = explain(formulate(regions(4, 3, 2).question("energy", Limit("time", maximum=9.0))))
    assert "class      MILP" in text
    assert "share.r0.p0: whole number in 0 … 1\n" in text
    assert "minimise energy = " in text
    assert "time ≤ 9 s\n      largest_1 ≤ 9" in text
    assert "where\n  largest_1 = max(" in text
    assert "HiGHS" in text
    menu = explain(formulate(asked("cost")))
    assert "a: one of m1.0, m2.0" in menu
    refused = explain(formulate(regions(4, 3, 2).question("energy_delay")))
    assert "not linear: the objective energy_delay holds a product" in refused
    assert "solved by  programs (HiGHS) that minimise the first factor" in refused


def test_long_menus_are_written_whole_only_where_all_is_asked_for() -> None:
    values = tuple(float(k) for k in range(1, 17))
    prices = tuple(10.0 + k * k for k in range(16))
    decide = {"a": Decision("a", integer=True, values=values)}
    q = toy(lambda g: {"cost": pick(g.a, prices)}, decide, "cost", limits=(), tops={})
    short, whole = (Formulas(program(q), full=full).objective() for full in (False, True))
    assert short == "[a: m1.0 10, m2.0 11, m3.0 14, m4.0 19, … 16 in all]"
    assert whole.count(", ") == 15
    assert "m16.0 235]" in whole
