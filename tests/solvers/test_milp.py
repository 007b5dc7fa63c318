"""Linear and mixed-integer questions against every design tried, with bounds, ties, ranges and runaways."""

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from program_questions import kinds, regions, toy

import dse
from dse.models.arithmetic import differs, maximum, minimum, per, pick, some
from formulations.arithmetics.forms import Some
from formulations.programs.program import program
from results.solution import Solution, Status
from scenarios.question import Decision, Limit, Question
from solvers.answer import answer
from solvers.linear import milp
from solvers.linear.linear_program import End

SEED = st.integers(0, 10**6)


def proved(s: Solution, least: float) -> None:
    """An optimum that is the best of all, with a bound that does not lie."""
    assert s.status is Status.OPTIMAL, (s.message, s.certificate)
    assert s.objective == pytest.approx(least, rel=1e-9)
    assert s.gap is not None
    assert s.gap <= 1e-6
    assert s.bound is not None
    past = (s.bound - least) * (-1.0 if s.maximize else 1.0)
    assert past <= 1e-8 * abs(least)


@settings(max_examples=10, deadline=None)
@given(seed=SEED, count=st.integers(1, 12), many=st.integers(2, 3), goal=st.sampled_from(["time", "energy"]))
def test_whole_regions_against_every_placement(seed: int, count: int, many: int, goal: str) -> None:
    share = regions(seed, count, many)
    proved(answer(share.question(goal), neighbours=False), float(share.every()[goal].min()))


@settings(max_examples=10, deadline=None)
@given(seed=SEED, count=st.integers(1, 7), level=st.floats(0.0, 1.0), most=st.booleans())
def test_least_and_most_power_and_limits_against_every_placement(
    seed: int, count: int, level: float, most: bool
) -> None:
    """Average power is a ratio: Dinkelbach's iteration, and where it is maximised time is pulled up."""
    share = regions(seed, count, 2)
    every = share.every()
    allowed = float(np.quantile(every["time"], level))
    inside = every["time"] <= allowed * (1 + 1e-10)
    power = every["power"][inside]
    q = share.question("power", Limit("time", maximum=allowed * (1 + 1e-9)), maximize=most)
    proved(answer(q, neighbours=False), float(power.max() if most else power.min()))
    q = share.question("energy", Limit("time", maximum=allowed * (1 + 1e-9)))
    proved(answer(q, neighbours=False), float(every["energy"][inside].min()))


@settings(max_examples=8, deadline=None)
@given(seed=SEED, count=st.integers(1, 4), level=st.floats(1.05, 6.0), p0=st.sampled_from([0.0, 80.0]))
def test_systems_of_blocks_against_every_count(seed: int, count: int, level: float, p0: float) -> None:
    system = kinds(seed, count)
    watts = (system.costs["constant_power"] + system.costs["usable_power"]).min() * level
    every = system.every(int(level) + 1, p0)
    held = every["nameplate_power"] <= watts * (1 + 1e-9)
    limit = Limit("nameplate_power", maximum=float(watts))
    for goal, most in (("performance", True), ("energy", False), ("time", False), ("power", False)):
        values = every[goal][held]
        s = answer(system.question(goal, limit, maximize=most, fixed_power=p0), neighbours=False)
        proved(s, float(values.max() if most else values.min()))


@settings(max_examples=12, deadline=None)
@given(seed=SEED, phases=st.integers(1, 4), switching=st.booleans())
def test_menus_with_switches_against_every_choice(seed: int, phases: int, switching: bool) -> None:
    r = np.random.default_rng(seed)
    times, spent = r.uniform(1.0, 5.0, (phases, 4)), r.uniform(1.0, 9.0, (phases, 4))
    step = (0.7, 0.4) if switching else (0.0, 0.0)
    names = [f"s{i}" for i in range(phases)]

    def run(g: Any) -> dict[str, Any]:
        picks = [getattr(g, n) for n in names]
        moved = sum((differs(a, b) for a, b in itertools.pairwise(picks)), 0.0)
        time = sum(pick(s, t) for s, t in zip(picks, times, strict=True)) + step[0] * moved
        energy = sum(pick(s, e) for s, e in zip(picks, spent, strict=True)) + step[1] * moved
        hottest = [pick(s, e / t) for s, e, t in zip(picks, spent, times, strict=True)]
        return {
            "time": time,
            "energy": energy,
            "power": per(energy, time),
            "hottest": maximum(*hottest, 0.0),
        }

    decide = {n: Decision(n, integer=True, values=(1.0, 2.0, 3.0, 4.0)) for n in names}
    every = {k: [] for k in ("time", "energy", "power", "hottest")}
    for at in itertools.product(range(4), repeat=phases):
        moved = sum(a != b for a, b in itertools.pairwise(at))
        t = sum(times[i, k] for i, k in enumerate(at)) + step[0] * moved
        e = sum(spent[i, k] for i, k in enumerate(at)) + step[1] * moved
        every["time"].append(t)
        every["energy"].append(e)
        every["power"].append(e / t)
        every["hottest"].append(max(spent[i, k] / times[i, k] for i, k in enumerate(at)))
    table = {k: np.array(v) for k, v in every.items()}
    allowed = float(np.quantile(table["time"], 0.4)) * (1 + 1e-9)
    for goal, most in (("energy", False), ("power", False), ("hottest", False), ("hottest", True)):
        limits = [Limit("time", maximum=allowed)]
        values = table[goal][table["time"] <= allowed]
        s = answer(toy(run, decide, goal, maximize=most, limits=limits), neighbours=False)
        proved(s, float(values.max() if most else values.min()))


@settings(max_examples=15, deadline=None)
@given(seed=SEED)
def test_a_maximum_that_is_maximised_is_one_of_its_arguments(seed: int) -> None:
    """Whole x and y up to 6: max(...) as goal upwards, as a lower limit, and with a minus sign."""
    r = np.random.default_rng(seed)
    a, b, c = r.integers(-4, 5, 3).astype(float), r.integers(-4, 5, 3).astype(float), float(r.integers(1, 9))

    def run(g: Any) -> dict[str, Any]:
        top = maximum(a[0] * g.x + a[1] * g.y + 20.0, b[0] * g.x + b[1] * g.y + 18.0 + b[2])
        return {"top": top, "cost": 1.0 + 2.0 * g.x + 3.0 * g.y + (60.0 - top), "sum": g.x + g.y}

    decide = {n: Decision(n, integer=True) for n in "xy"}
    tops = {"x": 6.0, "y": 6.0}
    x, y = np.meshgrid(np.arange(7.0), np.arange(7.0))
    top = np.maximum(a[0] * x + a[1] * y + 20.0, b[0] * x + b[1] * y + 18.0 + b[2])
    held = x + y >= c
    limits = [Limit("sum", minimum=c)]
    if top[held].min() > 1:
        most = toy(run, decide, "top", maximize=True, limits=limits, tops=tops)
        proved(answer(most, neighbours=False), float(top[held].max()))
    cost = toy(run, decide, "cost", limits=limits, tops=tops)
    proved(answer(cost, neighbours=False), float((1.0 + 2 * x + 3 * y + 60.0 - top)[held].min()))
    wanted = float(np.median(top[held]))
    if wanted > 0:
        low = toy(run, decide, "sum", limits=[*limits, Limit("top", minimum=wanted)], tops=tops)
        proved(answer(low, neighbours=False), float((x + y)[held & (top >= wanted)].min()))


@settings(max_examples=40, deadline=None)
@given(seed=SEED, whole=st.booleans())
def test_the_bound_of_a_ratio_is_never_above_the_least_one(seed: int, whole: bool) -> None:
    """Dinkelbach's certificate, on ratios of positive affine forms over a box, against a fine grid."""
    r = np.random.default_rng(seed)
    n, d = r.uniform(0.1, 5.0, 3), r.uniform(0.1, 5.0, 3)
    decide = {v: Decision(v, integer=whole) for v in "xy"}
    q = toy(
        lambda g: {"ratio": per(n[0] * g.x + n[1] * g.y + n[2], d[0] * g.x + d[1] * g.y + d[2])},
        decide,
        "ratio",
        tops={"x": 5.0, "y": 5.0},
    )
    p = program(q)
    assert p.goal is not None
    assert p.under is not None
    best = milp.least(p, milp.numbers(p), p.goal, p.under)
    x, y = np.meshgrid(np.arange(6.0), np.arange(6.0))
    every = (n[0] * x + n[1] * y + n[2]) / (d[0] * x + d[1] * y + d[2])
    # a linear-fractional function is least at a corner of its box
    assert best.value == pytest.approx(float(every.min()), rel=1e-9)
    assert best.bound <= every.min() * (1 + 1e-12)
    assert best.bound == pytest.approx(best.value, rel=1e-8)


def test_at_most_one_kind_of_three_is_bought() -> None:
    def shop(g: Any) -> dict[str, Any]:
        return {
            "cost": 3.0 * g.x + 2.0 * g.y + 5.0 * g.z,
            "work": 4.0 * g.x + 2.0 * g.y + 6.0 * g.z,
            "types": some(g.x) + some(g.y) + some(g.z),
        }

    free = {n: Decision(n) for n in "xyz"}
    tops = {"x": 2.0, "y": 9.0, "z": 1.5}
    for types, least in ((1.0, 12.0), (2.0, 28.0 / 3.0), (3.0, 28.0 / 3.0)):
        limits = [Limit("work", minimum=12.0), Limit("types", maximum=types)]
        s = answer(toy(shop, free, "cost", limits=limits, tops=tops))
        assert s.objective == pytest.approx(least, rel=1e-9)
        assert sum(v > 1e-9 for v in s.variables.values()) <= types


def test_ties_go_to_least_time_then_energy_and_ranges_say_how_far_they_reach() -> None:
    def two(g: Any) -> dict[str, Any]:
        return {
            "cost": g.x + g.y + g.z,
            "time": 9.0 - g.x - g.y + 0.0 * g.z,
            "energy": 5.0 + g.x + 2.0 * g.z,
        }

    free = {n: Decision(n) for n in "xyz"}
    tops = dict.fromkeys("xyz", 3.0)
    s = answer(toy(two, free, "cost", limits=[Limit("cost", minimum=4.0)], tops=tops))
    assert s.objective == pytest.approx(4.0)
    assert s.variables == {"x": pytest.approx(1.0), "y": pytest.approx(3.0), "z": pytest.approx(0.0)}
    assert s.ranges == {
        "x": (pytest.approx(0.0, abs=1e-6), pytest.approx(3.0)),
        "y": (pytest.approx(0.0, abs=1e-6), pytest.approx(3.0)),
        "z": (pytest.approx(0.0, abs=1e-6), pytest.approx(3.0)),
    }


@settings(max_examples=10, deadline=None)
@given(seed=SEED)
def test_ties_and_ranges_of_whole_numbers_are_those_of_all_best_designs(seed: int) -> None:
    r = np.random.default_rng(seed)
    cost, time, energy = (r.integers(1, 4, 3).astype(float) for _ in range(3))
    need = float(r.integers(2, 9))

    def run(g: Any) -> dict[str, Any]:
        x = (g.x, g.y, g.z)
        return {
            name: 40.0 * (name != "cost") + sum(float(c) * v for c, v in zip(of, x, strict=True))
            for name, of in (("cost", cost), ("time", -time), ("energy", -energy))
        } | {"work": g.x + g.y + g.z}

    decide = {n: Decision(n, integer=True) for n in "xyz"}
    tops = dict.fromkeys("xyz", 3.0)
    s = answer(toy(run, decide, "cost", limits=[Limit("work", minimum=need)], tops=tops), neighbours=False)
    every = [v for v in itertools.product(range(4), repeat=3) if sum(v) >= need]
    least = min(float(cost @ v) for v in every)
    best = [v for v in every if float(cost @ v) == least]
    first = min(best, key=lambda v: (-float(time @ v), -float(energy @ v), v))
    assert s.objective == pytest.approx(least)
    assert tuple(s.variables.values()) == first
    for j, name in enumerate("xyz"):
        low, high = min(v[j] for v in best), max(v[j] for v in best)
        assert (name in s.ranges) == (low < high)
        if low < high:
            assert s.ranges[name] == (pytest.approx(low, abs=1e-6), pytest.approx(high))


@pytest.mark.parametrize("whole", [False, True])
def test_an_objective_without_end_names_the_variable_that_runs(whole: bool) -> None:
    def gain(g: Any) -> dict[str, Any]:
        return {"profit": 1.0 + 3.0 * g.y - g.x, "time": per(1.0, 1.0 + g.y), "use": g.y - 2.0 * g.x}

    decide = {n: Decision(n, integer=whole) for n in "xyz"}
    s = answer(toy(gain, decide, "profit", maximize=True))
    assert (s.status, s.runaway) == (Status.UNBOUNDED, "y")
    assert "y" in s.certificate
    assert s.message == "y grows without limit"
    assert answer(toy(gain, decide, "time")).runaway == "y"
    held = [Limit("use", maximum=4.0)]
    both = answer(toy(gain, decide, "profit", maximize=True, limits=held))
    assert both.status is Status.UNBOUNDED
    assert both.runaway in {"x", "y"}
    assert answer(kinds(2, 3).question("performance", maximize=True)).runaway.startswith("count.")


def test_no_objective_asks_for_any_design() -> None:
    share = regions(5, 4, 2)
    allowed = float(share.every()["time"].min()) * 1.01
    s = answer(share.question(None, Limit("time", maximum=allowed)))
    assert s.status is Status.FEASIBLE
    assert s.metrics["time"] <= allowed * (1 + 1e-9)


def test_what_can_never_be_bought_is_infeasible_not_an_error() -> None:
    q = toy(lambda g: {"cost": g.x}, {"x": Decision("x")}, "cost", limits=[Limit("cost", minimum=5.0)])
    small = Question(**{**_fields(q), "limits": (Limit("cost", minimum=5.0), Limit("x", maximum=2.0))})
    assert answer(q).objective == pytest.approx(5.0)
    s = answer(small)
    assert s.status is Status.INFEASIBLE
    assert set(s.conflicts) == {("cost", "x")}


def _fields(q: Question) -> dict[str, Any]:
    return {name: getattr(q, name) for name in ("model", "given", "decide", "objectives")}


def test_a_denominator_that_can_be_zero_is_led_away_from_it() -> None:
    """At x = 0 the ratio is infinite; least is at the far end, most has no end."""
    q = toy(lambda g: {"ratio": per(2.0 + g.x, g.x)}, {"x": Decision("x")}, "ratio", tops={"x": 4.0})
    assert answer(q).objective == pytest.approx(1.5)
    p = program(q)
    assert p.under is not None
    none = milp.ratio(milp.numbers(p, more=(np.array([1.0, 0.0]),)), p.goal, p.under)  # type: ignore[arg-type]
    assert none.end is End.INFEASIBLE
    assert math.isinf(none.value)


def test_a_maximum_at_its_end_is_not_called_infeasible() -> None:
    """Searches with tolerances as narrow as the room at the end of a maximum found no design, or a worse one."""

    def small(g: Any) -> dict[str, Any]:
        return {"b": 3.0 + g.x, "c": minimum(3.0, 3.0 - g.x)}

    q = toy(small, {"x": Decision("x", integer=True)}, "b", tops={"x": 1.0})
    q = replace(q, limits=(Limit("b", maximum=2.7), Limit("c", maximum=3.3)))
    assert answer(q, neighbours=False).conflict == {"b": pytest.approx(3.0)}

    def thousandths(g: Any) -> dict[str, Any]:
        top = maximum(0.004 - 0.001 * g.x, 0.003)
        other = maximum(0.003 + 0.001 * g.x - 0.001 * some(g.x), 0.004 - 0.001 * some(g.x))
        return {"b": maximum(0.001, 0.002 - 0.0 * g.x), "energy": top, "cost": other}

    q = toy(thousandths, {"x": Decision("x", integer=True)}, "cost", tops={"x": 2.0})
    q = replace(q, limits=(Limit("b", minimum=0.0022), Limit("energy", minimum=0.004)))
    s = answer(q, neighbours=False)
    assert s.conflicts == (("b",),)
    assert s.conflict == {"b": pytest.approx(0.002)}


def test_designs_that_are_as_good_may_have_other_indicators_of_what_can_be_divided() -> None:
    """Ties were settled, and ranges told, with the indicators of one optimum only."""

    def run(g: Any) -> dict[str, Any]:
        there = sum(some(getattr(g, n)) for n in "abcd")
        return {
            "time": 1.0 + g.a,
            "energy": 5.0 - 0.5 * g.b - 0.25 * g.c,
            "room": g.b + g.c + g.d,
            "things": there,
        }

    decide = {n: Decision(n) for n in "abcd"}
    limits = [Limit("room", maximum=2.0), Limit("things", maximum=2.0)]
    s = answer(toy(run, decide, "time", limits=limits, tops=dict.fromkeys("abcd", 1.0)), neighbours=False)
    proved(s, 1.0)
    assert [s.variables[n] for n in "abcd"] == pytest.approx([0.0, 1.0, 1.0, 0.0])
    assert {n: pytest.approx(ends) for n, ends in s.ranges.items()} == dict.fromkeys("bcd", (0.0, 1.0))


def test_one_amount_is_there_once_however_often_it_is_asked_for() -> None:
    """An indicator of each mention let one say "none" and another one "some" of next to nothing."""

    def run(g: Any) -> dict[str, Any]:
        return {"a": 1.0 + g.x, "time": per(8.0 + 5.0 * some(g.y), 16.0 + some(g.y))}

    q = toy(run, {"y": Decision("y"), "x": Decision("x")}, "a", tops={"x": 1.0, "y": 1e5})
    assert sum(isinstance(c, Some) for c in program(q).columns) == 1
    s = answer(q, neighbours=False)
    proved(s, 1.0)
    assert s.variables["y"] == 0.0
    assert s.metrics["time"] == pytest.approx(0.5)
    assert s.ranges["y"] == pytest.approx((0.0, 1e5))


def test_ties_of_a_design_at_a_standstill_are_settled_by_designs_that_move() -> None:
    """Free shares may be 0, where a time is infinite: an objective without time has such designs among its best."""
    asked = {
        "model": "blocks",
        "machine": {"a": "nehalem-choi2014", "b": "nuc-cpu-choi2014"},
        "given": {"flops": "1 Pflop", "intensity": 16, "sharing": "free"},
        "objective": {"minimize": "blocks"},
    }
    found = dse.solve(asked)
    assert found.status == "optimal"
    assert found.objective == 1.0


@pytest.mark.parametrize(
    ("machine", "given", "limits", "definition"),
    [
        (
            {"titan": "gtx-titan-choi2014"},
            {"flops": "1 Pflop", "bytes": "1 TB"},
            {"blocks": {"max": 5}},
            "0.3 - time / 100 s",
        ),
        (
            {"cpu": "i7-2600k-tang2017", "gpu": "gtx-750-tang2017"},
            {"regions": [{"name": "a", "flops": "90 Gflop", "bytes": "14 GB"}]},
            {},
            "0.1 - time / 1 s",
        ),
    ],
    ids=["blocks", "partition"],
)
def test_what_is_negative_at_best_is_made_greatest(
    machine: dict[str, Any], given: dict[str, Any], limits: dict[str, Any], definition: str
) -> None:
    asked = {
        "model": "blocks" if limits else "partition",
        "machine": machine,
        "given": given,
        "limits": limits,
        "define": {"margin": definition, "excess": f"0 - ({definition})"},
    }
    found = dse.solve({**asked, "objective": {"maximize": "margin"}})
    least = dse.solve({**asked, "objective": {"minimize": "excess"}})
    assert found.status == least.status == "optimal"
    assert found.objective < 0.0
    assert found.objective == pytest.approx(-least.objective, rel=1e-9)
    assert found.bound == pytest.approx(found.objective, rel=1e-6)
