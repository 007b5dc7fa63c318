"""One design for many worlds where the question is not a geometric program: shares, counts, choices of machines."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

import dse
from formulations.uncertainty.measures import MEAN, WORST, Weighing, cvar
from formulations.uncertainty.wanted import Wanted
from formulations.uncertainty.worlds import judged, of_values
from scenarios.question import Limit
from scenarios.questions import question
from scenarios.uncertainty.drawing import draw
from solvers.certain import answer
from solvers.robust.asked import Asked
from solvers.robust.decide_now import answer_now
from solvers.robust.masters import robust_program
from solvers.robust.robust_answers import answered
from solvers.robust.searches import scan

NEWSVENDOR: dict[str, Any] = {
    "model": "nbody",
    "machine": "balanced",
    "given": {"bodies": 1e4, "flops_per_pair": 10, "processors": 100, "memory": 1e3, "demand": 100.0},
    "define": {"loss": "3 * stock + 10 * maximum(demand - stock, 0)"},
    "decide": {"stock": {"min": 1, "max": 400, "integer": True}},
    "uncertain": {"demand": {"uniform": [50, 250]}, "sampling": {"samples": 4096}},
}


@pytest.mark.parametrize(
    ("goal", "quantile"),
    [
        ({"measure": "mean"}, 1 - 3 / 10),
        # of the worst tenth: c = b P(D > q)/(1 - level)
        ({"cvar": 0.9}, 1 - 3 * 0.1 / 10),
        ({"measure": "worst"}, 1.0),
    ],
)
def test_the_newsvendor_orders_a_quantile_of_the_demand(goal: dict[str, Any], quantile: float) -> None:
    """Cost 3 for each piece in stock and 10 for each that lacks: the classic critical ratio, and that of its tail."""
    told = answer_now(question(dse.load({**NEWSVENDOR, "objective": {"minimize": "loss", **goal}})))
    assert told.status == "optimal"
    # whole pieces, and 4096 samples of 200 pieces' width
    assert told.variables["stock"] == pytest.approx(50 + 200 * quantile, abs=1.0)


def test_shares_for_many_worlds_beside_the_whole_linear_program() -> None:
    """Every world's own time as a column: the program that the cuts stand for, solved by SciPy."""
    from scipy.optimize import linprog

    base = question(dse.load("partition_grace_h100_divisible"))
    names = ["machine.cpu.time_per_byte", "machine.gpu.time_per_byte"]
    dice = np.random.default_rng(3)
    worlds = of_values(base, {n: base.given[n] * dice.uniform(0.5, 2.0, 8) for n in names})
    regions = [d.name for d in base.decide]
    told = answered(Asked(worlds, MEAN, "mean of time"))

    # a processor's time is a sum over regions of share times the region's time there: read off where it is the longer
    def moved(start: float, step: float) -> tuple[Any, Any]:
        x = dict.fromkeys(regions, start)
        whole = judged(worlds, x).metrics["time"]
        each = [judged(worlds, {**x, r: start + step}).metrics["time"] for r in regions]
        return whole, (np.array(each) - whole) / step

    gpu, cpu_saves = moved(0.0, 1e-3)
    _, cpu = moved(1.0, -1e-3)
    count, k = 8, len(regions)
    rows, right = [], []
    for i in range(count):
        column = np.zeros(count)
        column[i] = -1.0
        rows += [np.concatenate([cpu[:, i], column]), np.concatenate([cpu_saves[:, i], column])]
        right += [0.0, -gpu[i]]
    cost = np.concatenate([np.zeros(k), np.full(count, 1 / count)])
    found = linprog(cost, A_ub=np.array(rows), b_ub=right, bounds=[(0, 1)] * k + [(0, None)] * count)
    assert told.status == "optimal"
    assert told.objective == pytest.approx(found.fun, rel=1e-8)


def test_what_a_limit_on_shares_is_worth() -> None:
    """A share of a linear program's energy against a deadline: by the difference of two optima far apart."""
    base = question(dse.load("partition_grace_h100_divisible"))
    names = ["machine.cpu.time_per_byte", "machine.gpu.time_per_byte"]
    dice = np.random.default_rng(3)
    values = {n: base.given[n] * dice.uniform(0.5, 2.0, 6) for n in names}
    fastest = answered(Asked(of_values(base, values), WORST, "worst time"))
    assert fastest.objective is not None

    def least_energy(room: float) -> Any:
        limits = (Limit("time", maximum=fastest.objective * room),)
        goal = (dataclasses.replace(base.objectives[0], name="energy"),)
        asked = dataclasses.replace(base, objectives=goal, limits=limits)
        return answered(Asked(of_values(asked, values), MEAN, "mean of energy"))

    told, relaxed = least_energy(1.05), least_energy(1.05 * 1.002)
    assert told.status == "optimal"
    assert told.limits["time"].binding
    slope = math.log(relaxed.objective / told.objective) / math.log(1.002)
    assert slope < -1e-3
    assert told.limits["time"].elasticity == pytest.approx(slope, rel=0.02)
    assert told.limits["time"].one_sided


PARTS: dict[str, Any] = {
    "model": "partition",
    "machine": {
        "cpu": {
            "time_per_flop": 1e-11,
            "energy_per_flop": 2e-10,
            "time_per_byte": 5e-11,
            "energy_per_byte": 4e-10,
            "constant_power": 40.0,
        },
        "gpu": {
            "time_per_flop": 2e-12,
            "energy_per_flop": 6e-11,
            "time_per_byte": 1.5e-11,
            "energy_per_byte": 3e-10,
            "constant_power": 70.0,
        },
    },
    "given": {
        "link_bandwidth": 6e9,
        "regions": [
            {"name": "m", "flops": 2e9, "bytes": 8e9},
            {"name": "f", "flops": 3e10, "bytes": 1e10},
            {"name": "s", "flops": 9e10, "bytes": 3e9},
        ],
    },
    "uncertain": {
        "regions.m.bytes": {"uniform": [2e9, 2e10]},
        "machine.gpu.time_per_flop": {"lognormal": [2e-12, 1.5]},
        "sampling": {"samples": 30},
    },
}


def test_what_a_limit_on_a_measure_is_worth_to_shares() -> None:
    """Beside the difference of two optima; what does not bind is worth nothing, and is not said to be unknown."""

    def least_energy(mean_time: float) -> Any:
        measures = {"mean_time": {"of": "time", "measure": "mean"}}
        goal = {"minimize": "energy", "cvar": 0.9, "measures": measures}
        limits = {"mean_time": {"max": mean_time}, "power": {"max": "1 MW"}}
        return dse.solve({**PARTS, "objective": goal, "limits": limits})

    fastest = dse.solve({**PARTS, "objective": {"minimize": "time", "measure": "mean"}}).objective
    assert fastest is not None
    told, eased = least_energy(1.002 * fastest), least_energy(1.002 * fastest * 1.0001)
    assert told.status == "optimal"
    limit = told.limits["mean_time"]
    assert limit.binding
    slope = math.log(eased.objective / told.objective) / math.log(1.0001)
    assert slope < -1e-3
    assert limit.elasticity == pytest.approx(slope, rel=1e-3)
    assert limit.one_sided
    free = least_energy(10.0 * fastest)
    assert [x.elasticity for x in free.limits.values()] == [0.0, 0.0]
    assert "no sensitivities" not in free.certificate


def test_one_machine_is_chosen_for_all_worlds() -> None:
    text = {
        "model": "roofline",
        "given": {"flops": 1e12, "intensity": 4.0},
        "decide": {
            "machine": {"values": ["gtx-titan-choi2014", "arndale-gpu-choi2014", "xeon-phi-choi2014"]}
        },
        "uncertain": {"intensity": {"loguniform": [0.25, 64]}, "sampling": {"samples": 256}},
        "objective": {"minimize": "energy", "measure": "mean"},
    }
    told = answer_now(question(dse.load(text)))
    means = {}
    for name in text["decide"]["machine"]["values"]:  # type: ignore[index]
        q = question(dse.load({**text, "machine": name, "decide": {}}))
        assert q.uncertain is not None
        worlds = of_values(dataclasses.replace(q, uncertain=None), draw(q.uncertain, 256))
        means[name] = judged(worlds, {}).metrics["energy"].mean()
    assert told.variables["machine"] == min(means, key=lambda n: means[n])
    assert told.objective == pytest.approx(min(means.values()), rel=1e-12)
    assert len(told.alternatives) == 3


def test_an_uncertain_exponent_and_a_cost_that_some_worlds_do_not_have() -> None:
    """Strassen's exponent, and a leakage that is 0 in half of the worlds: beside a grid of designs in each world."""
    text = {
        "model": "strassen",
        "machine": "balanced",
        "given": {"order": 1e4, "exponent": 2.81},
        "decide": {"processors": {"max": 4096}, "memory": {}},
        "objective": {"minimize": "energy"},
    }
    base = question(dse.load(text))
    values = {
        "exponent": np.array([2.7, 2.8, 2.85, 2.9]),
        "machine.leakage_power": np.array([0.0, 0.1, 0.0, 0.2]),
    }
    worlds = of_values(base, values)
    told = answered(Asked(worlds, cvar(0.5), "of energy"))
    assert told.status == "optimal"
    p, memory = (
        g.reshape(-1, 1) for g in np.meshgrid(np.geomspace(1, 4096, 500), np.geomspace(1e3, 1e8, 2000))
    )
    at = judged(worlds, {"processors": p, "memory": memory})
    holds = np.all([(r <= 1 + 1e-9).all(-1) for r in at.ratios.values()], axis=0)
    assert at.objective is not None
    best = cvar(0.5).value(at.objective)[holds].min()
    assert told.bound <= best * (1 + 1e-9)
    # as coarse as the grid is
    assert told.objective == pytest.approx(best, rel=2e-3)


@pytest.mark.parametrize("measure", [MEAN, cvar(0.7), WORST])
def test_whole_regions_by_cuts_are_those_of_every_placement(measure: Weighing) -> None:
    """Twelve regions, each whole on one of two processors: the mixed-integer master beside all 4096 placements."""
    base = dataclasses.replace(question(dse.load("partition_energy_time_front_whole")), limits=())
    base = dataclasses.replace(base, objectives=base.objectives[:1])
    dice = np.random.default_rng(5)
    names = [
        n for n in base.given if n.startswith("machine.") and n.endswith(("time_per_byte", "energy_per_byte"))
    ]
    worlds = of_values(base, {n: float(base.given[n]) * dice.uniform(0.4, 2.5, 10) for n in names})
    free = robust_program.minimise(worlds, measure).outcome
    every = scan.minimise(Wanted(worlds, measure)).outcome
    assert free.status == every.status == "optimal"
    assert free.bound == pytest.approx(every.bound, rel=1e-8)
    # a deadline in every world, a little shorter than what the thriftiest placement takes in its slowest one
    time = judged(worlds, every.x or {}).metrics["time"].max()
    capped = dataclasses.replace(base, limits=(Limit("time", maximum=float(time * 0.95)),))
    worlds = of_values(capped, worlds.uncertain())
    tight = robust_program.minimise(worlds, measure).outcome
    tried = scan.minimise(Wanted(worlds, measure)).outcome
    assert tight.status == tried.status
    assert tried.status == "optimal" or measure is not MEAN
    if tried.status == "optimal":
        assert tight.bound == pytest.approx(tried.bound, rel=1e-8)
        assert tried.bound > every.bound


@pytest.mark.parametrize("goal", ["energy", "power"])
def test_one_machine_at_the_worst_of_a_box(goal: str) -> None:
    """Energy is worst at an end of the intensities, power inside: each machine by itself, on a fine grid."""
    names = ["gtx-titan-choi2014", "arndale-gpu-choi2014"]
    text = {
        "model": "roofline",
        "given": {"flops": 1e12, "intensity": 4.0},
        "decide": {"machine": {"values": names}},
        "uncertain": {"intensity": {"loguniform": [1, 100]}},
        "objective": {"minimize": goal, "measure": "worst"},
    }
    told = answer_now(question(dse.load(text)), fresh=False)
    worst = {}
    for name in names:
        q = dataclasses.replace(question(dse.load({**text, "machine": name, "decide": {}})), uncertain=None)
        worst[name] = (
            judged(of_values(q, {"intensity": np.geomspace(1, 100, 20_001)}), {}).metrics[goal].max()
        )
    assert told.variables["machine"] == min(worst, key=lambda n: worst[n])
    assert told.objective == pytest.approx(min(worst.values()), rel=1e-6)


def test_settings_are_chosen_for_the_worst_of_what_one_of_them_may_need() -> None:
    """The least energy whatever the clock of one memory setting is: that of the worst clock, evaluated alone."""
    asked = {
        "model": "dvfs",
        "machine": "jetson-tk1-choi2016",
        "given": {"phases": [{"name": "far", "flops": "30 Gflop", "bytes": "40 GB"}]},
        "decide": {"setting": {}},
        "objective": {"minimize": "energy"},
        "limits": {"time": {"max": "6 s"}},
    }
    name = "machine.852-528.energy_per_byte"
    uncertain = {name: {"uniform": ["1 pJ/byte", "400 pJ/byte"]}, "sampling": {"samples": 16}}
    worst = dse.load(
        asked | {"uncertain": uncertain, "objective": {"minimize": "energy", "measure": "worst"}}
    )
    told, at = dse.solve(worst), question(dse.load(asked))
    alone = answer(dataclasses.replace(at, given={**at.given, name: 400e-12}))
    assert (told.status, alone.status) == ("optimal", "optimal")
    assert told.objective == pytest.approx(alone.objective, rel=1e-9)
    assert at.given[name] < 400e-12
