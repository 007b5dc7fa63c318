"""What limits are worth, where answers next change, and why there is none: against re-solves and brute force."""

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from program_questions import Regions, regions, toy

import dse
from dse.models.arithmetic import maximum, some
from formulations.programs.program import program
from results.solution import Solution, Status
from scenarios.question import Decision, Limit, Question
from solvers.answer import answer
from solvers.linear import least_misses, milp_conflicts, programs
from solvers.linear.linear_program import End
from solvers.mechanisms.why import explained

SEED = st.integers(0, 10**6)


def objective(q: Question) -> float:
    s = answer(q, neighbours=False)
    assert s.objective is not None, s.message
    return s.objective


def sides(q: Question, moved: Sequence[Question], step: float) -> tuple[float, float]:
    """Percent of the objective per percent of what moves, upwards and downwards."""
    now = objective(q)
    up, down = (objective(m) for m in moved)
    return (up / now - 1) / step, (1 - down / now) / step


def with_limit(q: Question, name: str, factor: float) -> Question:
    changed = tuple(
        dataclasses.replace(
            limit,
            maximum=limit.maximum and limit.maximum * (factor if limit.name == name else 1.0),
            minimum=limit.minimum and limit.minimum * (factor if limit.name == name else 1.0),
        )
        for limit in q.limits
    )
    return dataclasses.replace(q, limits=changed)


@settings(max_examples=8, deadline=None)
@given(seed=SEED, level=st.floats(0.05, 0.95), many=st.integers(2, 3))
def test_elasticities_are_those_of_questions_asked_again(seed: int, level: float, many: int) -> None:
    """Least dynamic energy under a deadline between the fastest and the most frugal way of sharing."""
    share = regions(seed, 3, many)
    fastest = objective(share.question("time", whole=False))
    relaxed = answer(share.question("energy_dynamic", whole=False), neighbours=False).metrics["time"]
    deadline = fastest + level * (relaxed - fastest)
    q = share.question("energy_dynamic", Limit("time", maximum=deadline), whole=False)
    s = answer(q)
    step = 1e-5
    up, down = sides(q, [with_limit(q, "time", 1 + step), with_limit(q, "time", 1 - step)], step)
    state = s.limits["time"]
    assert state.elasticity == pytest.approx(up, rel=1e-4, abs=1e-6)
    assert state.one_sided or state.elasticity == pytest.approx(down, rel=1e-4, abs=1e-6)
    assume(abs(up - down) < 1e-7)
    for name, worth in list(s.parameters.items())[::4]:
        moved = []
        for factor in (1 + step, 1 - step):
            value = float(q.given[name]) * factor
            moved.append(dataclasses.replace(q, given={**q.given, name: value}))
        higher, lower = sides(q, moved, step)
        if abs(higher - lower) < 1e-6:
            assert worth == pytest.approx((higher + lower) / 2, rel=1e-3, abs=1e-6), name


def test_at_a_degenerate_vertex_the_rate_for_relaxing_is_told_as_such() -> None:
    """Three lines meet in one point: relaxing either of two limits is worth nothing, tightening them costs."""

    def run(g: Any) -> dict[str, Any]:
        return {"gain": 2.0 * g.x + 2.0 * g.y, "a": g.x, "b": g.y, "c": g.x + g.y}

    free = {n: Decision(n) for n in "xy"}
    limits = [Limit("a", maximum=1.0), Limit("b", maximum=1.0), Limit("c", maximum=2.0)]
    q = toy(run, free, "gain", maximize=True, limits=limits, tops={"x": 9.0, "y": 9.0})
    s = answer(q)
    for name in "abc":
        up, down = sides(q, [with_limit(q, name, 1 + 1e-4), with_limit(q, name, 1 - 1e-4)], 1e-4)
        state = s.limits[name]
        assert state.elasticity == pytest.approx(up, abs=1e-6)
        assert state.one_sided == (abs(up - down) > 1e-6)
        assert down > 0.3
    slack = toy(run, free, "gain", maximize=True, limits=[*limits[:2], Limit("c", maximum=5.0)])
    assert answer(slack).limits["c"].elasticity == 0.0
    assert answer(slack).limits["a"].elasticity == pytest.approx(0.5)
    assert not answer(slack).limits["a"].one_sided


@pytest.mark.parametrize("most", [False, True])
def test_rates_of_lower_limits_and_of_ratios_have_their_signs(most: bool) -> None:
    """Least cost of at least 6 of work is 12: one percent more work, one percent more cost."""

    def run(g: Any) -> dict[str, Any]:
        return {"cost": 2.0 * g.x + 3.0 * g.y, "work": g.x + g.y, "thrift": 1.0 / (2.0 * g.x + 3.0 * g.y)}

    q = toy(
        run,
        {n: Decision(n) for n in "xy"},
        "thrift" if most else "cost",
        maximize=most,
        limits=[Limit("work", minimum=6.0)],
    )
    s = answer(q)
    assert s.objective == pytest.approx(1 / 12 if most else 12.0)
    assert s.limits["work"].elasticity == pytest.approx(-1.0 if most else 1.0)
    assert not s.limits["work"].one_sided


@settings(max_examples=8, deadline=None)
@given(seed=SEED, level=st.floats(0.0, 0.6), count=st.integers(2, 6))
def test_the_next_change_is_the_first_better_design_that_a_limit_keeps_out(
    seed: int, level: float, count: int
) -> None:
    share = regions(seed, count, 2)
    every = share.every()
    allowed = float(np.quantile(every["time"], level)) * (1 + 1e-6)
    s = answer(share.question("energy", Limit("time", maximum=allowed)))
    inside = every["time"] <= allowed * (1 + 1e-9)
    best = float(every["energy"][inside].min())
    assert s.objective == pytest.approx(best, rel=1e-9)
    better = every["energy"] < best * (1 - 2e-6)
    state = s.limits["time"]
    if not better.any():
        assert state.next_change is None
        return
    opens = float(every["time"][better].min())
    there = float(every["energy"][every["time"] <= opens * (1 + 1e-9)].min())
    assert state.next_change == pytest.approx(opens, rel=1e-7)
    assert state.next_objective == pytest.approx(there, rel=1e-7)


def brute(share: Regions, limits: Sequence[Limit]) -> set[tuple[str, ...]]:
    """Minimal sets of limits that no placement holds together."""
    every = share.every()
    names = list(dict.fromkeys(limit.name for limit in limits))

    def held(subset: Sequence[str]) -> np.ndarray:
        ok = np.ones(len(every["time"]), dtype=bool)
        for limit in limits:
            if limit.name in subset:
                assert limit.maximum is not None
                ok &= every[limit.name] <= limit.maximum
        return ok

    found: list[tuple[str, ...]] = []
    for size in range(1, len(names) + 1):
        for subset in itertools.combinations(names, size):
            if not any(set(f) <= set(subset) for f in found) and not held(subset).any():
                found.append(subset)
    return set(found)


@settings(max_examples=8, deadline=None)
@given(seed=SEED, tight=st.tuples(*[st.floats(0.8, 1.3)] * 3))
def test_conflicts_of_placements_are_those_of_brute_force(seed: int, tight: tuple[float, ...]) -> None:
    share = regions(seed, 4, 2)
    every = share.every()
    limits = [
        Limit(name, maximum=float(every[name].min()) * t)
        for name, t in zip(("time", "energy", "power"), tight, strict=True)
    ]
    minimal = brute(share, limits)
    q = share.question("time", *limits)
    s = answer(q, neighbours=False)
    assert (s.status is Status.INFEASIBLE) == bool(minimal)
    if not minimal:
        return
    # being whole is named only where parts of regions could hold all limits
    named = {tuple(n for n in c if not n.startswith("share.")) for c in s.conflicts}
    limits_alone = named == set(s.conflicts)
    assert all(any(set(m) <= set(n) for m in minimal) for n in named)
    assert limits_alone or all(any(set(n) <= set(m) for n in named) for m in minimal)
    for name in set().union(*minimal):
        others = [limit for limit in limits if limit.name != name]
        ok = np.ones(len(every["time"]), dtype=bool)
        for limit in others:
            assert limit.maximum is not None
            ok &= every[limit.name] <= limit.maximum
        value, _ = milp_conflicts.feasible_value_and_design(program(q), name, set())
        assert (value is None) == (not ok.any())
        if ok.any():
            assert value == pytest.approx(float(every[name][ok].min()), rel=1e-7)


def test_limits_that_only_whole_numbers_break_name_them() -> None:
    def run(g: Any) -> dict[str, Any]:
        return {"weight": 2.0 * g.x + 4.0 * g.y, "cost": 3.0 * g.x + 5.0 * g.y}

    decide = {n: Decision(n, integer=True) for n in "xy"}
    odd = [Limit("weight", minimum=7.0), Limit("weight", maximum=7.0)]
    s = answer(toy(run, decide, "cost", limits=odd, tops={"x": 9.0, "y": 9.0}))
    assert s.status is Status.INFEASIBLE
    assert s.conflicts == (("weight", "x", "y"),)
    assert s.conflict["weight"] in (pytest.approx(6.0), pytest.approx(8.0))
    assert (
        s.conflict["x"] == pytest.approx(1.5)
        or s.conflict["x"] == pytest.approx(3.5)
        or s.conflict["x"] <= 1.5
    )


def test_two_separate_conflicts_are_both_found() -> None:
    def run(g: Any) -> dict[str, Any]:
        return {"a": 1.0 + g.x, "b": 9.0 - g.x, "c": 2.0 + g.y}

    limits = [Limit("a", maximum=3.0), Limit("b", maximum=5.0), Limit("c", maximum=1.0)]
    s = answer(toy(run, {n: Decision(n) for n in "xy"}, "a", limits=limits, tops={"x": 8.0, "y": 8.0}))
    assert set(s.conflicts) == {("c",), ("a", "b")}
    assert s.conflict == {"c": None}
    two = toy(run, {n: Decision(n) for n in "xy"}, "a", limits=limits[:2], tops={"x": 8.0, "y": 8.0})
    assert answer(two).conflict == {"a": pytest.approx(5.0), "b": pytest.approx(7.0)}


def test_a_solver_that_fails_proves_no_value_impossible(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(g: Any) -> dict[str, Any]:
        return {"a": 1.0 + g.x, "b": 9.0 - g.x}

    limits = [Limit("a", maximum=3.0), Limit("b", maximum=5.0)]
    asked = toy(run, {"x": Decision("x", integer=True)}, "a", limits=limits, tops={"x": 1e7})
    whole = answer(asked)
    assert whole.conflict == {"a": pytest.approx(5.0), "b": pytest.approx(7.0)}
    assert "not found" not in whole.certificate
    asked_of = milp_conflicts.milp.least

    def least(p: Any, n: Any, goal: Any, under: Any) -> Any:
        return milp_conflicts.Result(End.FAILED) if goal[:-1].any() else asked_of(p, n, goal, under)

    monkeypatch.setattr(milp_conflicts.milp, "least", least)
    told = explained(milp_conflicts.why(program(asked)))
    assert told.feasible_values == {"a": None, "b": None}
    assert "for a, whose search ended early, a value may do that was not found" in told.certificate


def test_limits_behind_a_maximum_from_below_are_explained_too() -> None:
    def run(g: Any) -> dict[str, Any]:
        return {"top": maximum(g.x, 2.0 * g.y), "cost": g.x + g.y}

    limits = [Limit("top", minimum=6.0), Limit("cost", maximum=2.0)]
    q = toy(run, {n: Decision(n) for n in "xy"}, "cost", limits=limits, tops={"x": 8.0, "y": 8.0})
    s = answer(q)
    assert s.conflicts == (("top", "cost"),)
    assert s.conflict == {"top": pytest.approx(4.0), "cost": pytest.approx(3.0)}


def test_a_proof_of_infeasibility_is_a_bound_of_its_own() -> None:
    share = regions(11, 5, 2)
    least = float(share.every()["time"].min())
    p = program(share.question("energy", Limit("time", maximum=0.5 * least)))
    assert 0.2 < least_misses.least_violation(p) <= 1.0 + 1e-9
    found = programs.optimise(p).outcome
    assert found.status is Status.INFEASIBLE
    assert "breaks some limit by" in found.certificate


def test_what_every_design_breaks_is_told_as_a_share_only_where_it_is_one() -> None:
    """A limit on a ratio is a row of which the ratio's own denominator tells the size: here up to 100 and more."""

    def run(g: Any) -> dict[str, Any]:
        return {"rate": (6.0 + 100.0 * g.x) / (1.0 + 20.0 * g.x), "kept": 1.0 + g.x, "left": 4.0 - g.x}

    def told(*limits: Limit) -> str:
        asked = toy(run, {"x": Decision("x")}, "kept", limits=limits, tops={"x": 4.0})
        return answer(asked).certificate

    assert told(Limit("rate", maximum=4.5)).startswith("no design meets all limits, by the bound")
    assert "by 3.3e-01 of its size" in told(Limit("kept", maximum=2.5), Limit("left", maximum=1.25))
    # 1 + x = 3 (1 - t) and 4 - x = 3 (1 - t): t = 1/6
    assert "by 1.7e-01 of its size" in told(Limit("kept", minimum=3.0), Limit("left", minimum=3.0))


def test_what_says_that_there_is_some_of_an_amount_gives_with_the_limit_behind_it() -> None:
    """With time and energy a little larger there is some of y: the third limit is then missed by less than 1 %."""

    def run(g: Any) -> dict[str, Any]:
        energy = maximum(2.0 + g.x, 5.0 + g.y - g.x)
        return {"time": 3.0 + g.x, "energy": energy, "b": 1.0 / (2.0 - g.y + some(g.y))}

    limits = [Limit("time", maximum=4.0), Limit("energy", maximum=4.0), Limit("b", maximum=0.35)]
    decide = {"x": Decision("x", integer=True), "y": Decision("y")}
    s = answer(toy(run, decide, "time", limits=limits, tops={"x": 3.0, "y": 1.0}))
    assert s.status is Status.INFEASIBLE
    assert "breaks some limit by" not in s.certificate
    assert s.certificate.startswith("no design meets all limits, by the bound")


def test_parameters_and_limits_are_left_out_where_whole_numbers_decide() -> None:
    s: Solution = answer(regions(3, 4, 2).question("time"))
    assert s.status is Status.OPTIMAL
    assert not s.parameters


@pytest.mark.parametrize("margin", [0.0, 0.02])
def test_numbers_at_a_degenerate_vertex_are_worth_what_betters_the_objective(margin: float) -> None:
    """A limit on a share at just the share that is best has multipliers of its own: more and less differ."""
    share = regions(5, 2, 2)
    q = share.question("time", whole=False)
    best = answer(q, neighbours=False)
    name = next(n for n, v in best.variables.items() if isinstance(v, float) and 0.05 < v < 0.95)
    most = float(best.variables[name]) + margin
    decide = tuple(dataclasses.replace(d, maximum=most) if d.name == name else d for d in q.decide)
    q = dataclasses.replace(q, decide=decide)
    s = answer(q)
    step, seen = 1e-5, set()
    for number, rate in s.parameters.items():
        assert number.startswith("machine."), "named as in files and on axes"
        value = q.given[number]
        assert isinstance(value, float)
        moved = [dataclasses.replace(q, given={**q.given, number: value * (1 + k * step)}) for k in (1, -1)]
        up, down = sides(q, moved, step)
        apart = abs(up - down) > 1e-3
        assert (number in s.one_sided) == apart
        seen.add(apart)
        # the least of a cost: what falls
        better = (max(down, 0.0) if max(down, 0.0) >= -min(up, 0.0) else up) if apart else (up + down) / 2
        assert rate == pytest.approx(better, abs=2e-4)
    assert (True in seen) == (margin == 0.0)


def test_a_limit_at_the_least_value_that_it_can_have_is_worth_something():
    """Its row is a difference of large terms, of which nothing is left: it counted as slack, and worth 0."""
    costs = ("time_per_flop", "time_per_byte", "energy_per_flop", "energy_per_byte", "constant_power")
    units = {
        "cpu": (2.1e-13, 8.9e-12, 1.1e-10, 3.1e-10, 68.0),
        "gpu": (5e-13, 6.1e-12, 1e-11, 6e-10, 74.0),
        "acc": (2.7e-13, 5.6e-11, 1.8e-11, 3.9e-10, 43.0),
    }
    asked = {
        "model": "partition",
        "machine": {name: dict(zip(costs, numbers, strict=True)) for name, numbers in units.items()},
        "given": {"regions": [{"name": "r0", "flops": 1.2e10, "bytes": 1.3e10}]},
        "objective": {"minimize": "time"},
    }
    # all on the accelerator: 1.2e10 * 1.8e-11 J + 1.3e10 * 3.9e-10 J
    least = 5.286
    at, above = (
        dse.solve({**asked, "limits": {"energy_dynamic": {"max": least * more}}})
        for more in (1.0, 1.0 + 1e-6)
    )
    rate = at.limits["energy_dynamic"].elasticity
    assert rate == pytest.approx((above.objective / at.objective - 1.0) / 1e-6, rel=1e-3)
    assert at.limits["energy_dynamic"].one_sided
