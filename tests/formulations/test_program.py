"""A program is its question: the same limits, objective and design at every point, with every atom as it should be."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from program_questions import kinds, regions, toy

from dse.models import arithmetic
from dse.models.arithmetic import differs, maximum, per, pick, some
from formulations import evaluation
from formulations.arithmetics.forms import Differs, Entry, Maximum, Some
from formulations.arithmetics.posynomial import NotPosynomial
from formulations.problem import Kind, formulate
from formulations.programs.program import Program, branch_count, branches, is_linear, program
from formulations.programs.row_ends import refuted
from formulations.row_keys import RowKey
from scenarios.question import Decision, Limit, Objective, Question

MENU = (1.0, 2.0, 3.0)
PICKS = {n: Decision(n, integer=True, values=MENU) for n in "ab"}


def filled(p: Program, x: dict[str, float]) -> np.ndarray:
    """The columns at a design, every atom as it says."""
    u = np.append(np.full(len(p.columns), np.nan), 1.0)
    decisions = {d.name: d for d in p.question.decide}

    def form(f: Any) -> float:
        return f.constant + sum(c * u[p.columns.index(a)] for a, c in f.terms.items())

    for i, atom in enumerate(p.columns):
        match atom:
            case str():
                u[i] = x[atom]
            case Entry(name, place):
                u[i] = float(x[name] == (decisions[name].values or ())[place])
            case Differs(one, other):
                u[i] = float(x[one] != x[other])
            case Maximum(arguments):
                u[i] = max(map(form, arguments))
            case Some(amount):
                u[i] = float(form(amount) > 1e-9)
    return u


def agrees(q: Question, x: dict[str, float]) -> None:
    """Rows, goal and ties of the program at the point that the model's own numbers are at."""
    p = program(q)
    u = filled(p, x)
    at = evaluation.metrics(q, x)
    for i, key in enumerate(p.keys):
        if key is None:
            body = float(p.rows[i] @ u)
            size = float(np.abs(p.rows[i] * u).max(initial=1e-300))
            assert body <= 1e-9 * size
            assert not p.equal[i] or abs(body) <= 1e-9 * size
    for key, ratio in evaluation.ratios(q, x, at).items():
        i = p.keys.index(key)
        found = (p.numerators[i] @ u) / (p.denominators[i] @ u)
        assert found == pytest.approx(float(ratio), rel=1e-9, abs=1e-9), key
    assert p.goal is not None
    assert p.under is not None
    goal = (p.goal @ u) / (p.under @ u)
    assert goal**p.sign == pytest.approx(float(evaluation.objective(q, x, at)), rel=1e-9)
    for name, over, under in p.ties:
        assert (over @ u) / (under @ u) == pytest.approx(float(at[name]), rel=1e-9)
    assert np.all(u[:-1] >= p.low - 1e-9 * np.abs(p.low))
    assert np.all(u[:-1] <= p.high + 1e-9 * np.abs(p.high))
    assert p.design(u) == x


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), data=st.data())
def test_rows_and_goal_of_a_partition_are_its_equations(seed: int, data: st.DataObject) -> None:
    goal = data.draw(st.sampled_from(["time", "energy", "power", "efficiency", "time.p0", "balance.p1"]))
    q = regions(seed, 3, 3).question(
        goal, Limit("power", maximum=80.0), Limit("energy", maximum=5.0), whole=False, maximize=True
    )
    if goal == "balance.p1":
        with pytest.raises(NotPosynomial):
            program(Question(q.model, {**q.given}, q.decide, (Objective("energy_delay"),)))
        return
    r = np.random.default_rng(seed)
    shares = r.dirichlet(np.ones(3), 3)[:, :2].round(6)
    agrees(q, {d.name: float(shares.flat[i]) for i, d in enumerate(q.decide)})


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), free=st.booleans(), most=st.booleans())
def test_rows_and_goal_of_blocks_are_their_equations(seed: int, free: bool, most: bool) -> None:
    q = kinds(seed, 4).question(
        "performance" if most else "energy",
        Limit("time", maximum=1e4, minimum=1.0),
        Limit("block_types", maximum=2.0),
        Limit("nameplate_power", maximum=3e3),
        maximize=most,
        sharing="free" if free else "proportional",
        fixed_power=20.0,
    )
    r = np.random.default_rng(seed)
    counts = {f"count.b{k}": float(r.integers(0, 4)) for k in range(4)} | {"count.b0": 1.0}
    busy = {f"busy.b{k}": float(round(counts[f"count.b{k}"] * r.random(), 6)) for k in range(4)}
    busy["busy.b0"] = 0.5
    agrees(q, {d.name: (counts | busy)[d.name] for d in q.decide})


def menus(g: Any) -> dict[str, Any]:
    time = pick(g.a, (1.0, 2.0, 4.0)) + pick(g.b, (3.0, 2.5, 2.0)) + 0.5 * differs(g.a, g.b) + g.x
    energy = pick(g.a, (9.0, 4.0, 1.0)) + pick(g.b, (8.0, 6.0, 1.0)) + 2.0 * some(g.x) + 3.0 * g.x
    power = maximum(pick(g.a, (9.0, 2.0, 0.25)), pick(g.b, (8 / 3, 2.4, 0.5)))
    return {"time": time, "energy": energy, "power": power, "mean": per(energy, time)}


@pytest.mark.parametrize("a", MENU)
@pytest.mark.parametrize("b", MENU)
@pytest.mark.parametrize("x", [0.0, 0.75])
def test_menus_differences_and_indicators_stand_for_what_they_say(a: float, b: float, x: float) -> None:
    limits = [Limit("power", maximum=9.0), Limit("time", minimum=0.1)]
    for goal in ("time", "energy", "power", "mean"):
        agrees(
            toy(menus, {**PICKS, "x": Decision("x")}, goal, limits=limits, tops={"x": 2.0}),
            {"a": a, "b": b, "x": x},
        )


def integral(p: Program) -> list[str]:
    return [
        str(c) if isinstance(c, str) else type(c).__name__
        for c, i in zip(p.columns, p.integer, strict=True)
        if i
    ]


def test_only_entries_and_indicators_become_whole_numbers() -> None:
    p = program(toy(menus, {**PICKS, "x": Decision("x")}, "energy", tops={"x": 2.0}))
    assert sorted(integral(p)) == ["Entry"] * 6 + ["Some"]
    assert sum(isinstance(c, Differs) for c in p.columns) == 1
    assert int(p.equal.sum()) == 2
    assert not any(
        isinstance(c, Some) for c in program(toy(menus, PICKS | {"x": Decision("x")}, "time")).columns
    )


@pytest.mark.parametrize(
    ("goal", "maximize", "limit", "exact"),
    [
        ("time", False, None, 0),
        ("time", True, None, 2),
        ("speed", True, None, 0),
        ("speed", False, None, 2),
        ("cost", False, Limit("time", maximum=5.0), 0),
        ("cost", False, Limit("time", minimum=5.0), 2),
        ("cost", False, Limit("speed", minimum=0.2), 0),
        ("cost", False, Limit("speed", maximum=0.2), 2),
        ("spread", False, None, 0),
        ("spread", True, None, 2),
        ("slack", False, None, 2),
        ("slack", True, None, 0),
    ],
)
def test_a_maximum_is_an_epigraph_unless_something_gains_from_a_larger_one(
    goal: str, maximize: bool, limit: Limit | None, exact: int
) -> None:
    def two(g: Any) -> dict[str, Any]:
        longest = maximum(2.0 * g.x, 10.0 - g.x)
        return {
            "length": longest,
            "speed": per(1.0, longest),
            "cost": 3.0 * g.x,
            "spread": 2.0 * longest - g.x,
            "slack": 20.0 - longest,
        } | ({"time": longest} if goal == "time" or (limit and limit.name == "time") else {})

    q = toy(
        two, {"x": Decision("x")}, goal, maximize=maximize, limits=[limit] if limit else [], tops={"x": 9.0}
    )
    p = program(q)
    assert branch_count(p) == max(exact, 1)
    assert sum(len(a) for _, a in p.exact) == exact
    assert len(list(branches(p))) == max(exact, 1)


def test_branches_make_a_maximum_one_of_its_arguments() -> None:
    def three(g: Any) -> dict[str, Any]:
        return {"length": maximum(g.x, 2.0 * g.y, 1.0), "height": maximum(g.x, g.y)}

    limits = [Limit("length", minimum=2.0), Limit("height", minimum=1.0)]
    q = toy(three, {n: Decision(n) for n in "xy"}, "length", limits=limits, tops={"x": 9.0, "y": 9.0})
    p = program(q)
    assert branch_count(p) == 6
    u = filled(p, {"x": 3.0, "y": 1.0})
    holding = [extra for extra in branches(p) if np.all(extra @ u <= 1e-12)]
    assert len(holding) == 1
    assert np.allclose(holding[0] @ u, 0.0)
    raised = u.copy()
    raised[p.exact[0][0]] += 1.0
    assert not any(np.all(extra @ raised <= 1e-12) for extra in branches(p))


def test_a_maximum_inside_one_that_is_pulled_is_pulled_too() -> None:
    def nested(g: Any) -> dict[str, Any]:
        return {"slack": 30.0 - maximum(2.0 * maximum(g.x, g.y) + 1.0, g.y)}

    p = program(toy(nested, {n: Decision(n) for n in "xy"}, "slack", tops={"x": 9.0, "y": 9.0}))
    assert branch_count(p) == 4


def test_any_of_an_amount_needs_an_end_and_takes_it_from_the_limits() -> None:
    def kinds_of(g: Any) -> dict[str, Any]:
        return {"cost": g.x + g.y, "types": some(g.x) + some(g.y), "work": 3.0 * g.x + 2.0 * g.y}

    free = {n: Decision(n) for n in "xy"}
    with pytest.raises(NotPosynomial, match="without an upper limit"):
        program(toy(kinds_of, free, "cost", limits=[Limit("types", maximum=1.0)]))
    limits = [Limit("types", maximum=1.0), Limit("work", maximum=60.0)]
    p = program(toy(kinds_of, free, "cost", limits=limits))
    ends = {str(next(iter(c.amount.terms))): i for i, c in enumerate(p.columns) if isinstance(c, Some)}
    most = {
        n: next(-p.rows[r, i] for r, key in enumerate(p.keys) if key is None and p.rows[r, i] < 0)
        for n, i in ends.items()
    }
    assert most == {"x": pytest.approx(20.0), "y": pytest.approx(30.0)}
    # what gains from there being some must have more than what counts as none
    p = program(toy(kinds_of, free, "types", maximize=True, limits=[Limit("work", maximum=60.0)]))
    x, some_x = (
        p.columns.index("x"),
        next(i for i, c in enumerate(p.columns) if isinstance(c, Some) and "x" in c.amount.terms),
    )
    lower = [r for r in p.rows if r[x] == -1.0 and r[some_x] > 0]
    assert len(lower) == 1
    assert arithmetic.AMOUNT_ROUNDING < lower[0][some_x] < 2 * arithmetic.AMOUNT_ROUNDING
    whole = {n: Decision(n, integer=True) for n in "xy"}
    assert program(toy(kinds_of, whole, "types", maximize=True, limits=limits[1:])).integer.sum() == 4


def test_the_class_is_what_the_arithmetic_shows() -> None:
    share = regions(1, 2, 2)
    assert formulate(share.question("time", whole=False)).kind is Kind.LP
    assert formulate(share.question("time", whole=True)).kind is Kind.MILP
    assert formulate(share.question("power", whole=False)).kind is Kind.LP
    assert is_linear(share.question("time"))
    product = formulate(share.question("energy_delay", whole=False))
    assert product.kind is Kind.NLP
    assert "a product of two things that are decided" in product.refusal


def test_the_ends_of_a_box_are_known_from_those_of_a_domain() -> None:
    q = toy(lambda g: {"cost": g.x + g.y}, {n: Decision(n) for n in "xy"}, "cost", tops={"y": 4.0})
    p = program(q)
    assert p.high.tolist() == [math.inf, 4.0]
    assert not p.boxed.any() or p.columns[int(np.flatnonzero(p.boxed)[0])] == "x"
    blocks = program(kinds(0, 2).question("energy"))
    assert blocks.boxed.all()


def test_keys_name_every_limit_and_nothing_else() -> None:
    q = regions(3, 2, 3).question("energy", Limit("time", minimum=1e-3, maximum=50.0), whole=False)
    keys = [k for k in program(q).keys if k is not None]
    assert keys == [
        RowKey("time", "max"),
        RowKey("time", "min"),
        RowKey("whole.r0", "model"),
        RowKey("whole.r1", "model"),
    ]


def test_rows_that_are_met_but_for_rounding_are_not_refuted():
    """0.1 + 0.2 is 0.30000000000000004 in floats."""
    least = np.array([0.1, 0.2])
    for most, there in ((0.3, True), (0.2999, False)):
        rows = np.array([[1.0, 1.0, -most]])
        assert refuted(rows, least, np.ones(2), np.zeros(2, dtype=bool)) != there
