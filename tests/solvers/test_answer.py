"""Answers and their promises, against the paper's closed forms, brute force over whole numbers, and each other."""

import dataclasses
import math

import numpy as np
import pytest
from balanced_nbody import BALANCED, LEAST, LINK, LINK_TIME, M0, F, N, below, energy, nbody, time
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import dse
from dse import models
from results.solution import Status
from results.telling.render import to_text
from scenarios.question import Decision, Limit, Question
from solvers.answer import answer


def test_least_energy_is_the_closed_form_and_ties_go_to_the_fastest() -> None:
    """Demmel (18): E* at M0, any p in [n/M0, n²/M0²]; the tie rule hands out the largest p."""
    s = answer(nbody("energy"))
    assert s.status is Status.OPTIMAL
    assert s.objective == pytest.approx(LEAST, rel=1e-9)
    assert s.variables["memory"] == pytest.approx(M0, rel=1e-7)
    assert s.variables["processors"] == pytest.approx(N**2 / M0**2, rel=1e-7)
    low, high = s.ranges["processors"]
    assert (low, high) == (pytest.approx(N / M0, rel=1e-6), pytest.approx(N**2 / M0**2, rel=1e-6))
    assert "memory" not in s.ranges


@settings(max_examples=12, deadline=None)
@given(st.floats(0.0008, 0.14))
def test_tight_deadlines_follow_section_v_b(deadline: float) -> None:
    """Demmel V.B: below T(M0, n²/M0²) the design sits at the 2D limit with p_min processors."""
    s = answer(nbody("energy", Limit("time", maximum=deadline)))
    root = (LINK_TIME * N + math.sqrt((LINK_TIME * N) ** 2 + 4 * deadline * 1e-9 * F * N**2)) / (2 * deadline)
    assert s.variables["processors"] == pytest.approx(root**2, rel=1e-7)
    assert s.objective == pytest.approx(energy(N / root), rel=1e-8)
    assert s.limits["time"].binding


@settings(max_examples=10, deadline=None)
@given(st.floats(30.0, 3000.0))
def test_fastest_run_under_a_power_cap(cap: float) -> None:
    """When power binds inside the scaling range T = E(M)/P, so M goes to M0 (erratum to V.D)."""
    s = answer(nbody("time", Limit("power", maximum=cap)))
    assert s.status is Status.OPTIMAL
    assert s.gap is not None
    assert s.gap <= 1e-6
    p = cap * time(1, M0) / energy(M0)
    if N / M0 <= p <= N**2 / M0**2:
        assert s.objective == pytest.approx(LEAST / cap, rel=1e-7)
        assert s.variables["memory"] == pytest.approx(M0, rel=1e-6)
    assert s.metrics["power"] <= cap * (1 + 1e-8)


def test_whole_processors_equal_a_scan_over_p() -> None:
    """Every p up to 400 with the best M of a fine scan."""
    s = answer(nbody("energy_delay", p=Decision("processors", maximum=400.0, integer=True)))
    best = math.inf
    for p in range(1, 401):
        ms = np.geomspace(N / p, N / math.sqrt(p), 20001)
        best = min(best, float(np.min(energy(ms) * time(p, ms))))
    # the scan over M is 2e-4 fine in log M and quadratic at its best, so it is right to 1e-7
    assert s.objective == pytest.approx(best, rel=1e-6)
    assert s.variables["processors"] == 400.0


@pytest.mark.parametrize("waived", [frozenset({"replication"}), frozenset({"replication", "one_copy"})])
def test_unbounded_names_the_variable(waived: frozenset[str]) -> None:
    s = answer(nbody("time", p=below(100.0), waive=waived))
    assert s.status is Status.UNBOUNDED
    assert "memory" in s.message


def test_zero_cost_parameters_vanish() -> None:
    """No energy for memory: more memory is free, so energy falls to the 2D limit of the smallest p."""
    s = answer(nbody("energy", p=below(100.0), machine={**BALANCED, "machine.memory_power_per_word": 0.0}))
    assert s.status is Status.OPTIMAL
    assert s.variables["memory"] == pytest.approx(N, rel=1e-7)


def test_nothing_decided_is_evaluated_and_a_broken_limit_said() -> None:
    given_ones = {**BALANCED, "bodies": N, "flops_per_pair": F, "processors": 100.0, "memory": 4000.0}
    q = Question(models.get("nbody"), given_ones, (), (), (Limit("power", maximum=50.0),))
    s = answer(q)
    assert s.status is Status.EVALUATED
    assert s.metrics["time"] == pytest.approx(time(100.0, 4000.0), rel=1e-12)
    s = answer(dataclasses.replace(q, limits=(Limit("power", maximum=40.0),)))
    assert s.status is Status.INFEASIBLE
    assert s.conflict == {"power": pytest.approx(energy(4000.0) / time(100.0, 4000.0))}


def test_without_objective_any_feasible_design() -> None:
    s = answer(nbody(None, Limit("power", maximum=50.0)))
    assert s.status is Status.FEASIBLE
    assert s.metrics["power"] <= 50.0 * (1 + 1e-8)


def test_machine_choice_is_decided_and_alternatives_told() -> None:
    slow = {**BALANCED, "machine.time_per_flop": 1e-6}
    q = nbody("energy", Limit("time", maximum=0.01), p=below(5000.0))
    given_ones = {n: v for n, v in q.given.items() if not n.startswith("machine.")}
    choice = Decision("machine", choices=("slow", "fast"))
    q = dataclasses.replace(
        q, given=given_ones, decide=(choice, *q.decide), machines={"slow": slow, "fast": BALANCED}
    )
    s = answer(q)
    assert s.status is Status.INFEASIBLE or s.variables["machine"] == "fast"
    q = dataclasses.replace(q, limits=(Limit("time", maximum=0.05),))
    s = answer(q)
    assert s.status is Status.OPTIMAL
    assert s.variables["machine"] == "fast"
    told = {a.choice["machine"]: a for a in s.alternatives}
    assert told["slow"].status is Status.INFEASIBLE
    assert told["slow"].conflict
    assert told["fast"].objective == s.objective
    one_of_many = answer(q, neighbours=False)
    losing = {a.choice["machine"]: a for a in one_of_many.alternatives}["slow"]
    assert (losing.status, losing.conflict) == (Status.INFEASIBLE, {})
    assert one_of_many.objective == s.objective


def test_nothing_is_chosen_where_no_choice_has_a_design() -> None:
    slow = {**BALANCED, "machine.time_per_flop": 1e-6}
    q = nbody("energy", Limit("time", maximum=1e-9), p=below(5000.0))
    given_ones = {n: v for n, v in q.given.items() if not n.startswith("machine.")}
    choice = Decision("machine", choices=("slow", "fast"))
    machines = {"slow": slow, "fast": BALANCED}
    s = answer(dataclasses.replace(q, given=given_ones, decide=(choice, *q.decide), machines=machines))
    assert s.status is Status.INFEASIBLE
    assert "machine" not in s.variables
    assert [a.status for a in s.alternatives] == [Status.INFEASIBLE] * 2
    text = to_text(s)
    assert "(chosen)" not in text
    assert "none of 2 choices" in text
    # at one point of many, too, it is said why
    many = answer(
        dataclasses.replace(q, given=given_ones, decide=(choice, *q.decide), machines=machines),
        neighbours=False,
    )
    assert many.conflicts == s.conflicts != ()


def test_a_failing_model_becomes_an_error_not_a_crash() -> None:
    q = nbody("energy")
    s = answer(dataclasses.replace(q, given={n: v for n, v in q.given.items() if n != "bodies"}))
    assert s.status is Status.ERROR
    assert "bodies" in s.message


@settings(max_examples=12, deadline=None)
@given(st.floats(-7, -4), st.floats(0.3, 3.0), st.floats(0.02, 2.0), st.floats(10.0, 4000.0))
def test_every_answer_holds_its_limits_and_bound(delta: float, cap: float, deadline: float, p: float) -> None:
    """Claim: optimal means near a bound never above it; infeasible means that no point of a dense grid is feasible."""
    machine = {**BALANCED, "machine.memory_power_per_word": 10**delta}
    limits = (Limit("time", maximum=deadline), Limit("power_per_processor", maximum=cap))
    s = answer(nbody("energy", *limits, p=below(p), machine=machine), neighbours=False)
    assume(s.status is not Status.ERROR)
    ps = np.geomspace(1.0, p, 300)[:, None]
    ms = N / ps ** np.linspace(0.5, 1.0, 301)[None, :]
    t = N**2 / ps * (1e-9 * F + LINK_TIME / ms)
    fixed = F * (2e-10 + 1e-9 * 0.05) + 10**delta * LINK_TIME
    e = N**2 * (fixed + LINK / ms + 10**delta * 1e-9 * F * ms)
    good = (t <= deadline) & (e / t / ps <= cap)
    if s.status is Status.INFEASIBLE:
        assert not good.any()
        return
    assert s.status is Status.OPTIMAL
    assert s.objective is not None
    assert s.bound is not None
    assert s.bound <= s.objective * (1 + 1e-9)
    if good.any():
        assert s.objective <= float(e[good].min()) * (1 + 1e-9)
    assert all(state.slack >= -1e-8 for state in s.limits.values())


def test_powers_without_an_end_run_away_and_listed_values_do_not() -> None:
    powers = tuple(2.0**k for k in range(50))
    free = Decision("processors", values=powers, endless=True)
    s = answer(nbody("time", p=free, waive=frozenset({"replication"})))
    assert s.status is Status.UNBOUNDED
    s = answer(nbody("time", p=Decision("processors", values=powers[:8]), m=Decision("memory", maximum=1e4)))
    assert s.status is Status.OPTIMAL
    assert s.variables["processors"] == 128.0


def test_flat_whole_number_problem_closes() -> None:
    """Least power per processor is the same for a range of p: branching on p alone would never end."""
    p = Decision("processors", maximum=444.0, integer=True)
    s = answer(nbody("power_per_processor", p=p), neighbours=False)
    assert s.status is Status.OPTIMAL
    ms = np.geomspace(N / 444, N, 200001)
    # the scan over M is 4e-5 fine and the optimum either quadratic or at an end of the scan
    assert s.objective == pytest.approx(float(np.min(energy(ms) / time(1, ms))), rel=1e-6)


@pytest.mark.parametrize(
    ("metric", "zeroed"), [("energy", ("energy", "memory_power", "leakage")), ("time", ("time",))]
)
def test_an_objective_without_any_cost_is_zero(metric: str, zeroed: tuple[str, ...]) -> None:
    machine = {n: 0.0 if n.removeprefix("machine.").startswith(zeroed) else v for n, v in BALANCED.items()}
    s = answer(nbody(metric, p=below(1000.0), machine=machine))
    assert s.status is Status.OPTIMAL
    assert s.objective == 0.0


def test_what_is_infinite_everywhere_is_an_error_in_words() -> None:
    zeroed = ("energy", "memory_power", "leakage")
    machine = {n: 0.0 if n.removeprefix("machine.").startswith(zeroed) else v for n, v in BALANCED.items()}
    s = answer(nbody("efficiency", p=below(1000.0), machine=machine, maximize=True))
    assert s.status is Status.ERROR
    assert "infinite" in s.message


@pytest.mark.parametrize("exponent", [{"values": [2.75, 2.807, 2.9, 3]}, {"min": 2.75, "max": 3}])
@pytest.mark.parametrize(("sense", "goal"), [("minimize", "energy_delay"), ("maximize", "performance")])
def test_an_exponent_may_be_decided(exponent: dict[str, object], sense: str, goal: str) -> None:
    given = {"order": 3000, "processors": 50, "memory": 200000}
    asked = {"model": "strassen", "machine": "balanced", "objective": {sense: goal}}
    found = dse.solve(dse.load(asked | {"given": given, "decide": {"exponent": exponent}}))
    at = [
        dse.solve(dse.load(asked | {"given": given | {"exponent": e}})).metrics[goal] for e in (2.75, 2.9, 3)
    ]
    assert found.status == "optimal", found.message
    assert found.objective == pytest.approx(min(at) if sense == "minimize" else max(at), rel=1e-6)
