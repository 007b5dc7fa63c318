"""Proofs that rest on worlds and limits that are there: listed values, kept limits, means of reciprocals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dse
from formulations.uncertainty.measures import MEAN, WORST, cvar
from formulations.uncertainty.wanted import Wanted
from formulations.uncertainty.worlds import judged, of_values
from results.solution import Status
from results.telling import estimates
from scenarios.distributions import Marginal, Uncertain
from scenarios.questions import question
from scenarios.uncertainty.drawing import listed
from scenarios.uncertainty.promises import promises
from solvers.robust import decide_now
from solvers.robust.asked import Asked
from solvers.robust.decide_now import answer_now
from solvers.robust.robust_answers import answered
from solvers.robust.searches import chances, scan


def roofline(uncertain: dict[str, Any]) -> Any:
    text = {
        "model": "roofline",
        "machine": "gtx-titan-choi2014",
        "given": {"flops": 1e9, "intensity": 10.0},
        "uncertain": uncertain,
        "objective": {"minimize": "power", "measure": "worst"},
    }
    return question(dse.load(text))


def test_the_worst_of_listed_values_is_at_one_of_them() -> None:
    """Power peaks at the balance point, between 1 and 100 flop/byte: no code has that intensity here."""
    asked = roofline({"intensity": {"values": [1, 100]}})
    told = answer_now(asked)
    base = question(dse.load({**_plain(), "objective": {"minimize": "power"}}))
    powers = judged(of_values(base, {"intensity": np.array([1.0, 100.0])}), {}).metrics["power"]
    assert told.objective == pytest.approx(powers.max(), rel=1e-12)
    assert told.worlds == 2


def test_the_worst_of_listed_values_beside_an_interval() -> None:
    """An adversary decides among the listed values: constant power only adds, so its dear end is worst."""
    told = answer_now(
        roofline({"intensity": {"values": [1, 100]}, "machine.constant_power": {"uniform": [100, 130]}})
    )
    base = question(dse.load({**_plain(), "objective": {"minimize": "power"}}))
    ends = {"intensity": np.array([1.0, 100.0]), "machine.constant_power": np.array([130.0, 130.0])}
    powers = judged(of_values(base, ends), {}).metrics["power"]
    assert told.objective == pytest.approx(powers.max(), rel=1e-6)
    assert "adversary" in told.certificate


def _plain() -> dict[str, Any]:
    return {
        "model": "roofline",
        "machine": "gtx-titan-choi2014",
        "given": {"flops": 1e9, "intensity": 10.0},
    }


def test_numbers_of_one_table_are_listed_row_by_row() -> None:
    rows = Uncertain(
        {
            "a": Marginal("table", (1.0, 2.0), table="t"),
            "b": Marginal("table", (5.0, 3.0), table="t"),
            "c": Marginal("values", (7.0, 8.0, 9.0), weights=(0.5, 0.5, 0.0)),
        }
    )
    found = listed(rows, 10)
    assert found is not None
    worlds = set(zip(*(found[n].tolist() for n in "abc"), strict=True))
    assert worlds == {(1, 5, 7), (1, 5, 8), (2, 3, 7), (2, 3, 8)}
    assert listed(rows, 5) is None
    assert listed(Uncertain({"a": Marginal("uniform", (1.0, 2.0))}), 10) is None


def test_a_limit_that_does_not_count_excludes_no_design() -> None:
    """156 600 designs, more than are tried blindly: no design is fast enough, but many draw little power."""
    steps = [float(v) for v in np.unique(np.round(np.geomspace(1, 4096, 400)))]
    words = [float(v) for v in np.unique(np.round(np.geomspace(1e2, 1e5, 600)))]
    text = {
        "model": "nbody",
        "machine": "balanced",
        "given": {"bodies": 1e5, "flops_per_pair": 10},
        "decide": {"processors": {"values": steps}, "memory": {"values": words}},
        "objective": {"minimize": "energy"},
        "limits": {"time": {"max": "7 ms"}, "power": {"max": "1 W"}},
    }
    costs = np.array([1e-10, 2e-10, 4e-10])
    worlds = of_values(question(dse.load(text)), {"machine.energy_per_flop": costs})
    every = scan.minimise(Wanted(worlds, MEAN))
    power = scan.minimise(Wanted(worlds, MEAN, kept=frozenset({"power"})))
    assert every.outcome.status is Status.INFEASIBLE
    assert power.outcome.status is Status.OPTIMAL
    assert power.outcome.x is not None
    at = judged(worlds, power.outcome.x)
    assert (at.metrics["power"] <= 1 + 1e-8).all()


@pytest.mark.parametrize("measure", [MEAN, WORST])
def test_the_mean_of_a_reciprocal_is_not_bounded_by_a_mean(measure: Any) -> None:
    """The greatest mean of 1/energy: no design has more of it than the best of a grid of shares, bound included."""
    regions = [
        {"name": "a", "flops": 6e9, "bytes": 12e9, "divisible": True},
        {"name": "b", "flops": 90e9, "bytes": 14e9, "divisible": True},
    ]
    text = {
        "model": "partition",
        "machine": {"cpu": "i7-2600k-tang2017", "gpu": "gtx-750-tang2017"},
        "given": {"regions": regions},
        "define": {"results": "1 / energy"},
        "objective": {"maximize": "results"},
    }
    asked = question(dse.load(text))
    cost = float(asked.given["machine.cpu.energy_per_flop"])
    worlds = of_values(asked, {"machine.cpu.energy_per_flop": np.array([0.2, 5.0]) * cost})
    told = answered(Asked(worlds, measure, "results"))
    a, b = (v.reshape(-1, 1) for v in np.meshgrid(np.linspace(0, 1, 101), np.linspace(0, 1, 101)))
    best = measure.value(judged(worlds, {"share.a.cpu": a, "share.b.cpu": b}).objective, maximize=True).max()
    assert told.objective is not None
    assert told.bound is not None
    assert told.bound >= best * (1 - 1e-9)
    assert told.objective >= best * (1 - 1e-9)
    assert told.objective <= told.bound * (1 + 1e-9)


def promised(**changes: Any) -> Any:
    text = {
        "model": "nbody",
        "machine": "balanced",
        "given": {"bodies": 1e5, "flops_per_pair": 10, "processors": 100},
        "decide": {"memory": {"values": [float(v) for v in range(1000, 10001, 225)]}},
        "objective": {"minimize": "memory"},
        "limits": {"time": {"max": "1 s", "probability": 0.9}},
        "uncertain": {
            "machine.time_per_flop": {"uniform": [0.9e-9, 1.2e-9]},
            "sampling": {"samples": 500},
        },
    }
    return question(dse.load({**text, **changes}))


def test_a_menu_counts_as_one_number_only_where_limits_are_convex() -> None:
    """Power is a ratio of sums: what holds at two sizes of memory need not hold between them, and each counts."""
    convex = promised()
    power = promised(limits={"power": {"max": "1 kW", "probability": 0.9}})
    sizes = 41
    (one,), (other,) = promises(convex), promises(power)
    assert chances.may_fail(convex, one, 500) == estimates.may_fail(500, 0.9, 1)
    assert chances.may_fail(power, other, 500) == estimates.may_fail(500, 0.9, 0, choices=sizes)
    assert estimates.may_fail(500, 0.9, 0, choices=sizes) < estimates.may_fail(500, 0.9, 1)


def test_a_confidence_that_is_not_proved_is_not_claimed() -> None:
    real = {"processors": {"max": 4096}, "memory": {}}
    given = {"bodies": 1e5, "flops_per_pair": 10}
    mean = {"minimize": "energy", "measure": "mean"}
    two = {"time": {"max": "1 s", "probability": 0.9}, "energy": {"max": "1 kJ", "probability": 0.9}}
    assert chances.covered(promised())
    assert chances.covered(promised(given=given, decide=real, objective={"minimize": "processors"}))
    assert not chances.covered(promised(given=given, decide=real, objective=mean))
    unsure = promised(given=given, decide=real, objective={"minimize": "processors"}, limits=two)
    assert not chances.covered(unsure)
    # finitely many designs, each counted by itself: however one of them was chosen
    several = {"processors": {"values": [50, 100]}, "memory": {"values": [2000, 3000]}}
    assert chances.covered(promised(given=given, decide=several, objective=mean))
    words = answer_now(promised(given=given, decide=real, objective=mean)).measure
    assert chances.UNPROVED in words


@pytest.mark.parametrize("way", ["minimize", "maximize"])
@pytest.mark.parametrize("measure", [MEAN, WORST, cvar(0.25)])
def test_the_mean_of_a_logarithm_is_not_the_logarithm_of_a_mean(way: str, measure: Any) -> None:
    """log2(p/n) with n uncertain: a design shifts it alike in all worlds, so its measure is shifted too."""
    text = {
        "model": "nbody",
        "machine": "balanced",
        "given": {"bodies": 1e5, "flops_per_pair": 10},
        "decide": {"processors": {"max": 4096}, "memory": {}},
        "define": {"lg": "log2(processors / bodies)"},
        "objective": {way: "lg"},
        "limits": {"time": {"max": "1 s"}},
    }
    bodies = np.array([1e4, 1e5])
    told = answered(Asked(of_values(question(dse.load(text)), {"bodies": bodies}), measure, "lg"))
    assert told.status is Status.OPTIMAL
    shift = float(measure.value(-np.log2(bodies), maximize=way == "maximize"))
    assert told.objective == pytest.approx(np.log2(told.variables["processors"]) + shift, rel=1e-9)
    assert told.bound == pytest.approx(told.objective, rel=1e-6)


def test_the_value_of_a_limit_of_the_model_is_told_beside_a_cap_on_a_ratio_of_sums() -> None:
    """How far one copy would have to be short of memory for the cap on power: the least of a grid of designs."""
    asked = dse.load(
        {
            "model": "strassen",
            "machine": "balanced",
            "given": {"order": 20_000},
            "decide": {"processors": {"max": 1024}, "memory": {}},
            "uncertain": {
                "machine.time_per_flop": {"uniform": ["0.9 ns/flop", "1.1 ns/flop"]},
                "sampling": {"samples": 16},
            },
            "objective": {"minimize": "energy", "measure": "mean"},
            "limits": {"power": {"max": "1 kW", "probability": 0.9, "confidence": 0}},
        }
    )
    told = dse.solve(asked)
    assert told.status == "infeasible"
    least = told.conflict["one_copy"]
    assert least is not None
    p, m = np.meshgrid(np.geomspace(1, 1024, 300), np.geomspace(1, 1e9, 900), indexing="ij")
    at = judged(
        decide_now.sampled(question(asked)), {"processors": p.ravel()[:, None], "memory": m.ravel()[:, None]}
    )
    own = {k.name: np.max(np.broadcast_to(r, (p.size, 16)), axis=1) for k, r in at.ratios.items()}
    power = np.sort(at.metrics["power"], axis=1)[:, 14] <= 1000.0
    others = power & (np.max([r for n, r in own.items() if n not in ("one_copy", "power")], axis=0) <= 1.0)
    assert own["one_copy"][others].min() == pytest.approx(least, rel=0.05)
    assert least < own["one_copy"][others].min() * (1 + 1e-6)


def test_vertices_that_leave_no_design_are_named() -> None:
    told = dse.solve(
        {
            "model": "nbody",
            "machine": "balanced",
            "given": {"bodies": 1e5, "flops_per_pair": 10},
            "decide": {"processors": {"max": 100}, "memory": {}},
            "limits": {"time": {"max": 10.0}, "energy": {"max": 30.0}},
            "objective": {"minimize": "power", "measure": "worst"},
            "uncertain": {"bodies": {"uniform": [9e4, 1.1e5]}},
        }
    )
    assert told.status is Status.INFEASIBLE
    assert "no design meets all limits in vertices 0, 1;" in told.certificate
    assert told.measure == "worst of power over all values of 1 number"


def test_without_an_objective_the_limits_are_what_is_judged() -> None:
    asked = {
        "model": "roofline",
        "machine": "gtx-titan-choi2014",
        "given": {"flops": 1e9, "bytes": 4e8},
        "uncertain": {"bytes": {"uniform": [3e8, 5e8]}},
        "limits": {"time": {"max": "1.5 ms"}},
    }
    assert dse.solve(asked).measure == "limits over all values of 1 number"


def test_an_entry_of_a_menu_has_no_mean() -> None:
    """Race-to-halt takes the slow setting in some samples and the fast one in others: none is the 1.5th."""
    settings = [
        {
            "name": name,
            "core_frequency": core,
            "memory_frequency": 1.2e9 - core,
            "energy_per_flop": 5e-11,
            "energy_per_byte": 3e-10,
            "constant_power": 6.0,
        }
        for name, core in (("slow", 4e8), ("fast", 8e8))
    ]
    said = {
        "model": "dvfs",
        "machine": {"flops_per_cycle": 100, "bytes_per_cycle": 16, "settings": settings},
        "given": {"phases": [{"name": "p0", "flops": 1e10, "bytes": 2e9}]},
        "objective": {"minimize": "energy", "measure": "mean"},
        "uncertain": {"phases.p0.flops": {"uniform": [5e9, 2e10]}, "sampling": {"samples": 4}},
    }
    found = dse.solve(said)
    assert "time.p0" in found.metrics
    assert "race_setting.p0" not in found.metrics


def _of_a_load(goal: dict[str, Any], latency: dict[str, Any], **given: float) -> Any:
    """Return the answer of a fleet whose load is known by its distribution alone, but for what is ``given``."""
    return dse.solve(
        dse.load(
            {
                "model": "transformer_inference",
                "machine": {"base": "h100-sxm-bf16", "launch_time": "4.66 us"},
                "given": {
                    "layers": 80,
                    "hidden": 8192,
                    "heads": 64,
                    "vocabulary": 128256,
                    "prompt": 1000,
                    "output": 250,
                    "tensor_parallel": 8,
                    **given,
                },
                "decide": {
                    "replicas": {"min": 1, "max": 60, "integer": True},
                    "batch": {"values": [32, 64, 128]},
                },
                "uncertain": {
                    "request_rate": {"loguniform": ["20 1/s", "80 1/s"]},
                    "sampling": {"samples": 16},
                },
                "objective": {"minimize": "latency", **goal},
                "limits": {"devices": {"max": 400}, **latency},
            }
        )
    )


@pytest.mark.parametrize(
    ("goal", "latency"),
    [({"measure": "worst"}, {}), ({"measure": "mean"}, {"latency": {"max": "20 s", "worst": True}})],
)
def test_a_number_with_a_distribution_alone_counts_as_its_median_where_one_value_is_asked_for(
    goal: dict[str, Any], latency: dict[str, Any]
) -> None:
    alone, stated = _of_a_load(goal, latency), _of_a_load(goal, latency, request_rate=40)
    assert alone.status == "optimal", alone.message
    assert alone.variables == stated.variables
    assert alone.objective == pytest.approx(stated.objective, rel=1e-12)
    assert alone.metrics == pytest.approx(stated.metrics, rel=1e-9)
