"""[objective] ties: of designs that are equally good each method hands out the one that the file's order prefers."""

import itertools
import tomllib
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_reading import ROOT

import dse
import scenarios
from formulations import evaluation
from formulations.tolerances import TIE
from results.solution import Status
from scenarios import ScenarioError
from solvers import paths
from solvers.answer import answer
from solvers.nonlinear.points import unstructured

NBODY = {
    "model": "nbody",
    "machine": "balanced",
    "given": {"bodies": 1e5, "flops_per_pair": 10},
    "objective": {"minimize": "energy"},
}


def with_ties(question: dict[str, Any], *ties: str) -> dict[str, Any]:
    return {**question, "objective": {**question["objective"], "ties": list(ties)}}


# ── enumeration, against every design written out ────────────────────────────────────────────────────────────────────

NAMES = ("price", "room", "noise")
AMOUNTS = st.sampled_from([0.0, 1.0, 2.0])


@settings(max_examples=12, deadline=None)
@given(
    st.lists(AMOUNTS, min_size=9, max_size=9),
    st.permutations(NAMES),
    st.integers(1, 3),
)
def test_small_questions_against_every_design(amounts: list[float], order: list[str], count: int) -> None:
    """Three amounts that each depend on two whole numbers with many ties; the objective ties most designs."""
    a = dict(zip(itertools.product(NAMES, ("x", "y", "c")), amounts, strict=True))
    asked = {
        "model": "fft",
        "machine": "balanced",
        "given": {"points": 1024, "all_to_all": "tree", "processors": 1},
        "decide": {"x": {"values": [1, 2, 3]}, "y": {"values": [1, 2, 3]}},
        "define": {
            "level": "maximum(x, y)",
            **{n: f"{a[n, 'x']} * (x - y)**2 + {a[n, 'y']} * y + {a[n, 'c']} * x + 1" for n in NAMES},
        },
        "objective": {"minimize": "level", "ties": order[:count]},
        "limits": {"level": {"min": 2}},
    }
    found = dse.solve(asked)

    def rank(x: float, y: float) -> tuple[float, ...]:
        told = {n: a[n, "x"] * (x - y) ** 2 + a[n, "y"] * y + a[n, "c"] * x + 1 for n in NAMES}
        return (max(x, y), *(told[n] for n in order[:count]), x, y)

    best = min((rank(x, y), (x, y)) for x in (1, 2, 3) for y in (1, 2, 3) if max(x, y) >= 2)[1]
    assert (found.variables["x"], found.variables["y"]) == best
    assert found.status.value == "optimal"


# ── one test for each class ───────────────────────────────────────────────────────────────────────────────────────────

# the energy of n-body does not depend on p where memory is used well: p from 25.8 to 663.9 is equally good
FLAT = {**NBODY, "decide": {"processors": {"max": 4096}, "memory": {}}, "limits": {"time": {"max": "50 s"}}}
PRICED = {**FLAT, "define": {"price": "1 USD * processors"}}


@pytest.mark.parametrize("ties", [("price",), ("processors",)])
def test_geometric_programs(ties: tuple[str, ...]) -> None:
    usual, cheap = dse.solve(PRICED), dse.solve(with_ties(PRICED, *ties))
    low, high = usual.ranges["processors"]
    assert usual.variables["processors"] == pytest.approx(high, rel=1e-6)
    assert cheap.variables["processors"] == pytest.approx(low, rel=1e-6)
    assert cheap.objective == pytest.approx(usual.objective, rel=1e-9)


def test_the_ready_question_by_demmels_formulas() -> None:
    """Demmel et al. 2013, section V: the least energy asks for M0 words, on as few processors as hold n bodies."""
    m = dse.machines.get("balanced").parameters
    link = m["time_per_word"] + m["time_per_message"] / m["max_message"]
    words = m["energy_per_word"] + m["energy_per_message"] / m["max_message"] + m["leakage_power"] * link
    best = (words / (m["memory_power_per_word"] * m["time_per_flop"] * 10)) ** 0.5
    found = dse.solve("nbody_fewest_processors")
    assert found.variables["memory"] == pytest.approx(best, rel=1e-6)
    assert found.variables["processors"] == pytest.approx(1e5 / best, rel=1e-6)


def test_whole_numbers_over_geometric_programs() -> None:
    whole = {**PRICED, "decide": {"processors": {"max": 300, "integer": True}, "memory": {"max": 3881}}}
    usual, cheap = dse.solve(whole), dse.solve(with_ties(whole, "price"))
    assert (usual.variables["processors"], cheap.variables["processors"]) == (300, 26)


@pytest.mark.parametrize(
    "swept",
    [
        {"decide": {"processors": {"max": 4096}, "memory": {}}},
        {"decide": {"processors": {"values": [50, 100, 200, 400]}, "memory": {"values": [3881]}}},
    ],
    ids=["many geometric programs", "table of designs"],
)
def test_many_points_at_once(swept: dict[str, Any]) -> None:
    axis = {"d": {"path": "limits.time.max", "start": "20 s", "stop": "50 s", "num": 500}}
    question = with_ties({**PRICED, **swept, "sweep": axis}, "price")
    assert paths.chosen(scenarios.grid(dse.load(question))).path is not None
    made = dse.sweep(question, progress=False, audit=0)
    alone = dse.solve({k: v for k, v in question.items() if k != "sweep"})
    assert made["processors"].values == pytest.approx(alone.variables["processors"], rel=1e-6)


def test_one_decided_whole_number_at_many_points(as_alone: Any) -> None:
    asked = {
        "model": "fft",
        "machine": "balanced",
        "given": {"points": 1048576, "all_to_all": "tree"},
        "decide": {"processors": {"integer": True, "max": 600}},
        "define": {"capped": "maximum(time / 1 us, 8000)"},
        "objective": {"minimize": "capped", "ties": ["processors"]},
        "sweep": {"d": {"path": "limits.time.max", "start": "6 ms", "stop": "18 ms", "num": 50}},
    }
    arrays, left = as_alone(asked, lambda grid: unstructured.way(grid).path)
    assert not left.all()
    usual, _ = as_alone(
        {**asked, "objective": {"minimize": "capped"}}, lambda grid: unstructured.way(grid).path
    )
    there = ~left & (arrays["status"] == 1)
    assert (arrays["processors"][there] < usual["processors"][there]).all()


REGIONS = [
    {"name": "a", "flops": "2 Gflop", "bytes": "1 GB"},
    {"name": "b", "flops": "2 Gflop", "bytes": "1 GB"},
]
SHARED = {
    "model": "partition",
    "machine": {"cpu": "i7-2600k", "gpu": "gtx-titan-tang2017"},
    "given": {"regions": [{**r, "divisible": False} for r in REGIONS]},
    "define": {"here": "`share.a.cpu`", "there": "`share.b.cpu`", "both": "here + there"},
    "limits": {"both": {"min": 1, "max": 1}},
    "objective": {"minimize": "time"},
}


def test_mixed_integer_programs() -> None:
    # one of two equal regions runs on the CPU: which one, only the order of ties says
    first, second = dse.solve(with_ties(SHARED, "here")), dse.solve(with_ties(SHARED, "there"))
    assert (first.metrics["here"], first.metrics["there"]) == (0.0, 1.0)
    assert (second.metrics["here"], second.metrics["there"]) == (1.0, 0.0)
    assert first.objective == pytest.approx(second.objective, rel=1e-9)


def test_linear_programs() -> None:
    divisible = {**SHARED, "given": {"regions": REGIONS}, "limits": {"both": {"min": 1, "max": 1}}}
    found = [dse.solve(with_ties(divisible, n)).metrics for n in ("here", "there")]
    assert found[0]["here"] == pytest.approx(0.0, abs=1e-9)
    assert found[1]["there"] == pytest.approx(0.0, abs=1e-9)


def test_choices_among_names() -> None:
    # two machines that differ in nothing but what they cost
    machines = ("gtx-titan-choi2014", "arndale-gpu-choi2014")
    question = {
        "model": "roofline",
        "given": {"flops": 1e9, "intensity": 2},
        "decide": {"machine": {"values": list(machines)}},
        "define": {"same": "time / time", "draw": "power"},
        "objective": {"minimize": "same"},
    }
    watts = {m: dse.solve({**question, "decide": {}, "machine": m}).metrics["power"] for m in machines}
    found = dse.solve(with_ties(question, "draw"))
    assert found.variables["machine"] == min(watts, key=lambda m: watts[m])
    slow = dse.solve(with_ties(question, "energy")).metrics["energy"]
    assert slow == pytest.approx(
        min(dse.solve({**question, "decide": {}, "machine": m}).metrics["energy"] for m in machines)
    )


def test_what_a_method_cannot_go_by_is_said() -> None:
    found = dse.solve(with_ties(FLAT, "power"))
    assert "ties were not settled by power" in found.certificate
    assert found.variables["processors"] == pytest.approx(dse.solve(FLAT).variables["processors"], rel=1e-9)


def test_usual_order_stays_where_nothing_is_said() -> None:
    question = scenarios.grid(dse.load(FLAT)).question(())
    assert question.tie_order == ("time", "energy", "cost")
    named = scenarios.grid(dse.load(with_ties(PRICED, "price", "energy"))).question(())
    assert named.tie_order == ("price", "energy", "time", "cost")
    assert np.isfinite(dse.solve(FLAT).objective)


@pytest.mark.parametrize(
    ("ties", "told"),
    [
        (["prise"], "did you mean 'price'"),
        (["performance"], "better the larger"),
        (["halvings"], "halvings"),
        (["price", "price"], "listed twice"),
        (["bodies"], "is not decided"),
        ([3], "not a name"),
    ],
)
def test_wrong_orders_are_refused(ties: list[Any], told: str) -> None:
    with pytest.raises(ScenarioError, match=told):
        dse.load({**PRICED, "objective": {"minimize": "energy", "ties": ties}})


def test_no_more_than_a_tie_may_differ_by_is_paid_for_less_time() -> None:
    """More of these processors take less time at hardly more energy: 1099 of them would need 3.9e-9 more of it."""
    source = tomllib.loads(
        (ROOT / "scenarios" / "library" / "nbody_deadline_in_95_of_100_worlds.toml").read_text()
    )
    found = dse.solve({**source, "machine": "jaketown-printed"})
    assert found.status is Status.OPTIMAL
    assert found.objective is not None
    # with fewer of them no more energy is needed, whatever their number: 1000 reach the least energy
    fewer = {**source["decide"], "processors": {"min": 1000, "max": 1000, "integer": True}}
    least = dse.solve({**source, "machine": "jaketown-printed", "decide": fewer})
    assert least.objective is not None
    assert found.bound is not None
    assert found.bound <= least.objective
    assert found.objective - least.objective <= 1.1 * TIE * found.objective


def test_the_range_of_what_divides_holds_the_design() -> None:
    """Along the forms of divisors a range is searched for, and the search ends a little before its end."""
    grid = scenarios.grid(dse.load("nbody_deadline_sweep", machine="jaketown"))
    found = answer(grid.question((40, 6)))
    assert found.ranges.keys() == {"processors", "memory"}
    for name, (low, high) in found.ranges.items():
        assert low * (1 - 1e-9) <= found.variables[name] <= high * (1 + 1e-9)


def test_the_range_beside_what_divides_is_that_of_all_its_values() -> None:
    """Near its least energy another memory allows fewer processors than the memory that is handed out does."""
    question = scenarios.grid(dse.load("nbody_deadline_sweep", machine="jaketown")).question((40, 6))
    found = answer(question)
    assert found.objective is not None
    x = {"processors": np.float64(1.04), "memory": np.float64(96200.0)}
    at = evaluation.metrics(question, x)
    assert all(np.all(r <= 1 + 1e-8) for r in evaluation.ratios(question, x, at).values())
    assert float(at["energy"]) <= found.objective * (1 + TIE)
    for name, value in x.items():
        low, high = found.ranges[name]
        assert low <= value <= high, name


def test_whole_numbers_of_which_too_many_are_to_be_listed_are_tied_exactly():
    """Pins whose energies differ in the sixth digit: of those that are as fast the least energy is handed out."""
    asked = dse.load("hardware_cores_by_pins_and_bandwidth").model_dump(
        exclude_none=True, exclude_defaults=True
    )
    asked["limits"] = {"power_ohmic": {"max": "2.1969028 W"}}
    question = scenarios.grid(dse.load(asked)).question(())
    best = answer(question, neighbours=False)
    assert best.status is Status.OPTIMAL
    x = {n: np.float64(v) for n, v in best.variables.items()}
    energies = []
    for supply, io in itertools.product(range(-15, 16), repeat=2):
        near = {
            **x,
            "machine.supply_pins.socket": x["machine.supply_pins.socket"] + supply,
            "machine.io_pins.socket": x["machine.io_pins.socket"] + io,
        }
        if min(near.values()) < 1.0:
            continue
        at = evaluation.metrics(question, near)
        held = all(np.all(r <= 1 + 1e-8) for r in evaluation.ratios(question, near, at).values())
        if held and at["performance"] >= best.objective * (1 - TIE):
            energies.append(float(at["energy"]))
    assert len(energies) > 1
    assert best.metrics["energy"] == pytest.approx(min(energies), rel=1e-12)


def test_where_no_order_was_gone_by_the_certificate_says_so() -> None:
    """Least energy is had with any number of processors in a range."""
    asked = {
        "model": "nbody",
        "machine": "balanced",
        "given": {"bodies": 1e5, "flops_per_pair": 10},
        "define": {"above": "energy - 40 J"},
        "objective": {"minimize": "above"},
    }
    real = {"processors": {"max": 4096}, "memory": {"values": [1000, 2000, 3881, 5000]}}
    whole = real | {"processors": {"max": 4096, "integer": True}}
    said = [dse.solve(dse.load(asked | {"decide": d})).certificate for d in (real, whole)]
    assert "ties were not settled" in said[0]
    assert "ties were not settled" not in said[1]
