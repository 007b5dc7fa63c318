"""What limits do to an answer: what they are worth, which are in conflict, and how close is close enough."""

import dataclasses
import math
from typing import Any

import pytest
from balanced_nbody import BALANCED, LEAST, LINK, LINK_TIME, F, M, N, below, energy, nbody

import dse
from dse import models
from formulations.tolerances import HOLDS
from results.solution import Solution, Status
from scenarios.question import Decision, Limit, Objective, Question
from solvers.answer import answer
from solvers.outcome import BY_INTERVALS


def test_powers_of_two_and_next_change() -> None:
    """At the reported limit value the answer changes, and not before."""
    q = nbody(
        "time",
        Limit("energy", maximum=41.0),
        p=Decision("processors", values=tuple(2.0**k for k in range(20))),
    )
    s = answer(q)
    state = s.limits["energy"]
    assert state.next_change is not None
    for factor, changed in ((1 - 1e-4, False), (1 + 1e-4, True)):
        moved = dataclasses.replace(q, limits=(Limit("energy", maximum=state.next_change * factor),))
        assert (
            answer(moved, neighbours=False).variables["processors"] != s.variables["processors"]
        ) is changed
    assert state.elasticity is None


def test_the_next_change_of_a_design_that_takes_its_slack_is_to_a_better_one() -> None:
    """The least memory misses its efficiency by 5e-9, which counts as met: more memory is no change for the better."""
    data = dse.load("matmul_memory_for_efficiency").model_dump(exclude_none=True, exclude_defaults=True)
    whole = {n: {**ends, "integer": True} for n, ends in data["decide"].items()}
    s = dse.solve(dse.load({**data, "decide": whole}))
    state = s.limits["efficiency"]
    assert -HOLDS < state.slack < 0
    assert s.objective is not None
    assert state.next_objective == pytest.approx(s.objective - 1, abs=1e-6)
    assert state.next_change is not None
    assert state.next_change == pytest.approx(state.bound, rel=1e-7)


def test_elasticities_equal_central_differences() -> None:
    """Multipliers against re-solving with each limit and parameter 1e-4 up and down (error of that: about 1e-7)."""
    q = nbody("energy", Limit("time", maximum=0.05))
    s = answer(q)
    up, down = (answer(nbody("energy", Limit("time", maximum=0.05 * f))) for f in (1 + 1e-4, 1 - 1e-4))
    assert up.objective is not None
    assert down.objective is not None
    slope = math.log(up.objective / down.objective) / math.log((1 + 1e-4) / (1 - 1e-4))
    assert s.limits["time"].elasticity == pytest.approx(slope, abs=1e-6)
    for name in ("machine.energy_per_word", "machine.time_per_flop"):
        values = []
        for f in (1 + 1e-4, 1 - 1e-4):
            machine = {**BALANCED, name: BALANCED[name] * f}
            got = answer(nbody("energy", Limit("time", maximum=0.05), machine=machine)).objective
            assert got is not None
            values.append(got)
        slope = math.log(values[0] / values[1]) / math.log((1 + 1e-4) / (1 - 1e-4))
        assert s.parameters[name] == pytest.approx(slope, abs=1e-6)


def test_degenerate_optimum_reports_what_relaxing_buys() -> None:
    """Cap on p and cap on memory meet at one corner of the 2D limit: three limits, two variables."""
    m = 2000.0
    q = nbody("time", p=below((N / m) ** 2), m=Decision("memory", maximum=m))
    s = answer(q)
    eased = answer(nbody("time", p=below((N / m) ** 2 * 1.0001), m=Decision("memory", maximum=m)))
    assert s.objective is not None
    assert eased.objective is not None
    slope = math.log(eased.objective / s.objective) / math.log(1.0001)
    state = s.limits["processors"]
    assert state.one_sided
    # one-sided difference over 1e-4: the second-order term is of that size
    assert state.elasticity == pytest.approx(slope, abs=2e-4)


def conflict_sets(s: Solution) -> set[frozenset[str]]:
    return {frozenset(c) for c in s.conflicts}


def test_conflict_names_all_minimal_sets_and_feasible_values() -> None:
    q = nbody("energy", Limit("time", maximum=0.01), Limit("power", maximum=100.0), p=below(500.0))
    s = answer(q)
    assert s.status is Status.INFEASIBLE
    # 500 processors need 0.2 s for the flops alone, however large their memory
    assert conflict_sets(s) == {frozenset({"time", "power"}), frozenset({"time", "processors"})}
    assert s.conflict["time"] is not None
    assert s.conflict["power"] is None  # the processors are too few as well
    would = nbody(
        "energy",
        Limit("time", maximum=s.conflict["time"] * (1 + 1e-7)),
        Limit("power", maximum=100.0),
        p=below(500.0),
    )
    assert answer(would).status is Status.OPTIMAL
    too_tight = nbody(
        "energy",
        Limit("time", maximum=s.conflict["time"] * (1 - 1e-6)),
        Limit("power", maximum=100.0),
        p=below(500.0),
    )
    assert answer(too_tight).status is Status.INFEASIBLE


def test_a_limit_exactly_at_its_minimum_is_feasible_and_just_below_is_not() -> None:
    assert answer(nbody("time", Limit("energy", maximum=LEAST))).status is Status.OPTIMAL
    assert answer(nbody("time", Limit("energy", maximum=LEAST * (1 - 1e-7)))).status is Status.INFEASIBLE


def test_one_processor_pins_the_memory() -> None:
    """p = 1 makes one copy and replication meet: a feasible set of a single point."""
    s = answer(nbody("energy", p=Decision("processors", maximum=1.0)))
    assert s.status is Status.OPTIMAL
    assert s.objective == pytest.approx(energy(N), rel=1e-8)
    assert s.variables["memory"] == pytest.approx(N, rel=1e-8)


def test_idling_meets_a_power_cap_that_running_cannot() -> None:
    """The least power of a run is 2.25 W; at 1 W the least-energy design runs and then waits: t = E*/P."""
    capped = nbody("energy", Limit("power", maximum=1.0))
    assert answer(capped).status is Status.INFEASIBLE
    s = answer(dataclasses.replace(capped, idle=True, decide=(*capped.decide, Decision("stretch"))))
    assert s.status is Status.OPTIMAL
    assert s.objective == pytest.approx(LEAST, rel=1e-8)
    assert s.metrics["time"] == pytest.approx(LEAST / 1.0, rel=1e-7)
    assert s.metrics["power"] == pytest.approx(1.0, rel=1e-8)


def test_no_value_would_do_where_another_conflict_remains() -> None:
    """Energy below its minimum, and a deadline out of reach of the processors: no energy alone is feasible."""
    q = nbody("energy", Limit("energy", maximum=LEAST / 2), Limit("time", maximum=0.01), p=below(50.0))
    s = answer(q)
    assert frozenset({"energy"}) in conflict_sets(s)
    assert len(s.conflicts) > 1
    assert s.conflict == {"energy": None}


def test_a_dear_limit_is_met_without_its_slack() -> None:
    """Power per processor almost flat in M: 1e-9 of slack in the cap would move M and look like a better design."""
    machine = {**BALANCED, "machine.energy_per_flop": 1e-4}
    fixed = F * (1e-4 + 1e-9 * 0.05) + 2e-5 * LINK_TIME

    def power(m: float) -> float:
        return (fixed + LINK / m + 2e-5 * 1e-9 * F * m) / (1e-9 * F + LINK_TIME / m)

    s = answer(
        nbody("memory", Limit("power_per_processor", maximum=power(5e3)), maximize=True, machine=machine)
    )
    assert s.status is Status.OPTIMAL
    assert s.objective is not None
    assert power(s.objective) <= power(5e3) * (1 + 1e-12)


def test_the_search_box_is_no_limit() -> None:
    """A problem whose best design lies far outside the ordinary search box: p = n², one word each."""
    bodies = 1e12
    q = nbody("time")
    q = dataclasses.replace(q, given={**q.given, "bodies": bodies})
    s = answer(q)
    assert s.status is Status.OPTIMAL
    assert s.variables["processors"] == pytest.approx(bodies**2, rel=1e-6)
    assert answer(dataclasses.replace(q, limits=(Limit("time", maximum=1e-3),))).status is Status.OPTIMAL
    whole = dataclasses.replace(q, decide=(Decision("processors", integer=True), M))
    s = answer(whole)
    assert s.status is Status.OPTIMAL
    assert s.variables["processors"] == pytest.approx(bodies**2, rel=1e-6)


def test_feasible_means_within_the_slack() -> None:
    """5e-9 below the least energy is still feasible by the 1e-8 rule, 5e-8 is not."""
    assert answer(nbody("time", Limit("energy", maximum=LEAST * (1 - 5e-9)))).status is Status.OPTIMAL
    assert answer(nbody("time", Limit("energy", maximum=LEAST * (1 - 5e-8)))).status is Status.INFEASIBLE


def test_a_better_design_that_needs_slack_closes_the_search() -> None:
    """At most the efficiency of the fastest design, which 67 processors reach within the slack alone.

    The search ended with 66, which need none of it, a bound that 67 attain, and a gap of 1 %.
    """
    s = dse.solve(
        {
            "model": "matmul",
            "machine": "jaketown",
            "given": {"order": 35000},
            "decide": {
                "processors": {"max": 1024.0, "integer": True},
                "memory": {"max": 742596481.051634},
            },
            "objective": {"minimize": "messages"},
            "limits": {"power": {"max": "10 kW"}, "efficiency": {"max": 2643159577.1957173}},
        }
    )
    assert s.status is Status.OPTIMAL
    assert s.variables["processors"] == 67
    assert s.limits["efficiency"].slack > -HOLDS


@pytest.mark.parametrize(
    "limit", [Limit("time", minimum=1.0, maximum=2.0), Limit("performance", maximum=N**2 * F / 1.0)]
)
def test_an_objective_held_by_a_limit_on_itself_leaves_ties_to_energy(limit: Limit) -> None:
    s = answer(nbody("time", limit, p=below(1000.0)))
    assert s.status is Status.OPTIMAL
    assert s.objective == pytest.approx(1.0, rel=1e-8)
    assert s.metrics["energy"] == pytest.approx(LEAST, rel=1e-8)


def test_a_target_already_met_needs_no_halving() -> None:
    machine = {n: v for n, v in BALANCED.items() if n != "machine.energy_per_flop"}
    parameter = Decision("machine.energy_per_flop", minimum=2e-10 / 32, maximum=2e-10, base=2e-10)
    q = nbody("halvings", Limit("efficiency", minimum=1e5), machine=machine, p=below(1000.0))
    s = answer(dataclasses.replace(q, decide=(*q.decide, parameter)))
    assert s.status is Status.OPTIMAL
    assert s.objective == s.bound == 0.0


def test_a_number_above_the_catalogues_own_is_halved_less_than_not_at_all() -> None:
    """A bound of 0 was told, above the least number of halvings."""
    machine = {n: v for n, v in BALANCED.items() if n != "machine.energy_per_flop"}
    parameter = Decision("machine.energy_per_flop", minimum=2e-10 / 32, maximum=8e-10, base=2e-10)
    q = nbody("halvings", Limit("efficiency", minimum=1e5), machine=machine, p=below(1000.0))
    s = answer(dataclasses.replace(q, decide=(*q.decide, parameter)))
    assert s.status is Status.OPTIMAL
    assert s.objective == pytest.approx(-2.0)
    assert s.bound == pytest.approx(-2.0)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("goal", ["time", "energy"])
def test_a_machine_without_any_cost_is_answered_without_a_warning(goal: str) -> None:
    """Nothing takes time or energy: an objective of 0 at every design, and an efficiency without end."""
    names = ("time_per_flop", "time_per_byte", "energy_per_flop", "energy_per_byte", "constant_power")
    free = {f"machine.{name}": 0.0 for name in names}
    given = {**free, "flops": 1e9, "precision": "single", "level": "memory"}
    decide = (Decision("intensity", minimum=1.0, maximum=4.0),)
    efficient = (Limit("efficiency", minimum=1.0),)
    s = answer(Question(models.get("roofline"), given, decide, (Objective(goal),), efficient))
    assert (s.status, s.objective) == (Status.OPTIMAL, 0.0)


def test_a_limit_at_the_value_that_would_do_takes_no_search_to_the_last_node() -> None:
    """Its slack is worth more than any gap that closes: 12 007 nodes and 64 s of processor went into closing it."""
    source = {
        "model": "nbody",
        "machine": {"base": "balanced", "time_per_word": 4e-6},
        "given": {"bodies": 1e5, "flops_per_pair": 10.0},
        "decide": {"processors": {"max": 4096.0}, "memory": {}},
        "objective": {"minimize": "energy"},
        "limits": {"power_per_processor": {"max": 0.3}},
    }
    would = dse.solve(source).conflict["power_per_processor"]
    found = dse.solve(source | {"limits": {"power_per_processor": {"max": would}}})
    assert found.status is Status.OPTIMAL
    assert found.metrics["power_per_processor"] == pytest.approx(would, rel=1e-12)
    assert int(found.certificate.partition(" nodes")[0].rpartition(" ")[2]) < 1000


def test_the_next_change_is_a_better_design_in_any_unit() -> None:
    """A design had to be better by 1e-7 times the log of the objective: 35 processors were told for 20."""
    source: dict[str, Any] = {
        "model": "nbody",
        "machine": "jaketown",
        "given": {"bodies": 1e7, "flops_per_pair": 20},
        "decide": {"processors": {"max": 4096, "integer": True}, "memory": {"max": 2461829.8}},
        "objective": {"maximize": "efficiency"},
        "limits": {"power": {"max": "10 kW"}, "performance": {"max": 7.8565e12}},
    }
    before = dse.solve(source)
    at = before.limits["performance"].next_change
    assert at is not None
    # 20 processors of 396.8 GFLOPS each
    assert at == pytest.approx(7.9358e12, rel=1e-4)
    after = dse.solve(source | {"limits": {"power": {"max": "10 kW"}, "performance": {"max": at * 1.00001}}})
    assert (before.variables["processors"], after.variables["processors"]) == (19.0, 20.0)


@pytest.mark.parametrize("most", [1.9622, 2.05])
def test_designs_as_good_are_no_change(most: float) -> None:
    """Energy is what the efficiency allowed makes of it with any processors; 250 were told to be better than 4096."""
    source: dict[str, Any] = {
        "model": "nbody",
        "machine": "balanced",
        "given": {"bodies": 1e5, "flops_per_pair": 10},
        "decide": {"processors": {"max": 4096, "integer": True}, "memory": {}},
        "objective": {"minimize": "energy"},
        "limits": {"efficiency": {"max": f"{most} GFLOPS/W"}},
    }
    found = dse.solve(source)
    assert found.variables["processors"] == 4096
    # the most that 4096 processors reach, by asking for it
    reached = dse.solve(
        source
        | {
            "limits": {},
            "given": {**source["given"], "processors": 4096},
            "decide": {"memory": {}},
            "objective": {"maximize": "efficiency"},
        }
    )
    assert found.limits["efficiency"].next_change == pytest.approx(reached.objective, rel=2e-5)


BESIDE_A_REAL_NUMBER: dict[str, Any] = {
    "model": "nbody",
    "machine": "balanced",
    "given": {"bodies": 23275, "flops_per_pair": 19},
    "decide": {"processors": {"values": [125, 204, 566, 633, 1131]}, "memory": {}},
    # no ratio of posynomials
    "define": {"heat": "power + 0.142 W * processors", "wait": "time * exp(processors / 6078)"},
    "objective": {"minimize": "heat"},
}


def test_intervals_tell_the_next_change_where_a_limit_has_room() -> None:
    """Up to this value nothing better is found, and from it on what is told."""
    found = dse.solve(BESIDE_A_REAL_NUMBER | {"limits": {"wait": {"max": "24.444 ms"}}})
    assert found.solver == BY_INTERVALS
    state = found.limits["wait"]
    assert state.next_change is not None
    assert state.next_change > 1.1 * state.bound
    before, there = (
        dse.solve(BESIDE_A_REAL_NUMBER | {"limits": {"wait": {"max": by * state.next_change}}})
        for by in (1 - 1e-6, 1 + 1e-6)
    )
    assert before.objective == pytest.approx(found.objective, rel=1e-7)
    assert there.objective == pytest.approx(state.next_objective, rel=1e-5)
    assert there.variables["processors"] != found.variables["processors"]
    assert "is not known" not in found.certificate


def test_no_room_that_makes_nothing_better_is_a_change() -> None:
    asked = BESIDE_A_REAL_NUMBER | {
        "objective": {"minimize": "processors"},
        "limits": {"wait": {"max": "1 s"}},
    }
    found = dse.solve(asked)
    assert found.variables["processors"] == 125
    assert found.limits["wait"].next_change is None
    assert "is not known" not in found.certificate


def test_a_next_change_that_is_not_known_is_said_not_to_be() -> None:
    """The memory moves with the heat at once: where other processors are better is not what intervals are asked."""
    limits = {"wait": {"max": "24.444 ms"}, "heat": {"max": "800 W"}}
    found = dse.solve(BESIDE_A_REAL_NUMBER | {"objective": {"minimize": "memory"}, "limits": limits})
    assert found.limits["heat"].binding
    assert found.limits["heat"].next_change is None
    assert "where the answer next changes with heat is not known: " in found.certificate
    assert (
        dse.solve(
            BESIDE_A_REAL_NUMBER | {"objective": {"minimize": "memory"}, "limits": limits}, depth="limits"
        ).certificate.count("is not known")
        == 0
    )


@pytest.mark.parametrize(("factor", "known"), [("", True), (" * exp(processors / 2231)", False)])
def test_sensitivities_that_are_not_known_are_said_not_to_be(factor: str, known: bool) -> None:
    """At the kink of a maximum differences tell no slope; a program's multipliers do."""
    found = dse.solve(
        {
            "model": "nbody",
            "machine": "balanced",
            "given": {"bodies": 57177, "flops_per_pair": 13, "rate": "1.9e-08 USD/J"},
            "decide": {"processors": {"min": 1, "max": 7426}, "memory": {}},
            "define": {
                "price": "5.39e-08 USD * maximum(processors, 309.4) + rate * energy * (1 + 1.58 1/s * time)",
                "wait": f"time{factor}",
            },
            "objective": {"minimize": "price"},
            "limits": {"wait": {"max": 0.283}},
        }
    )
    assert found.variables["processors"] == pytest.approx(309.4, rel=1e-6)
    assert bool(found.parameters) is known
    assert ("sensitivities are not known: " in found.certificate) is not known
