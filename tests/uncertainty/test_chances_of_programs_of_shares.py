"""Limits that may fail, and quantiles, of programs of shares and counts: beside enumeration and sets of samples."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from chance_questions import answered, world_of
from scipy.stats import binom

import dse
from formulations.uncertainty.measures import MEAN, Quantile, cvar
from formulations.uncertainty.wanted import Chance, Wanted, reached
from formulations.uncertainty.worlds import Worlds, of_values
from results.solution import Status
from scenarios.question import Question
from scenarios.questions import question
from scenarios.uncertainty.promises import promises
from solvers.robust.masters import program_chances, robust_program
from solvers.robust.searches import chances
from solvers.robust.searches.robust_ways import found_by

BLOCKS: dict[str, Any] = {
    "model": "blocks",
    "machine": {"card": "gtx680-choi2014", "board": "arndale-gpu-choi2014", "phone": "pandaboard-choi2014"},
    "given": {"flops": "1 Pflop", "intensity": 4},
    "objective": {"maximize": "performance"},
    "limits": {"block_power": {"max": "600 W", "probability": 0.8, "confidence": 0}},
    "uncertain": {
        "machine.card.usable_power": {"lognormal": ["145 W", 1.2]},
        "machine.board.usable_power": {"lognormal": ["4 W", 1.4]},
        "machine.phone.time_per_byte": {"lognormal": ["0.4 ns/byte", 1.5]},
        "sampling": {"samples": 64, "seed": 1},
    },
}
GOALS = {
    "mean": ({"measure": "mean"}, MEAN),
    "tail": ({"cvar": 0.75}, cvar(0.75)),
    "quantile": ({"quantile": 0.9}, Quantile(0.9)),
}


REGIONS = [
    {"name": f"r{k}", "flops": "1 Gflop", "bytes": "1 GB", "divisible": False} for k in ("a", "b", "c")
]


@pytest.mark.parametrize(
    ("asked", "designs"),
    [
        ({**BLOCKS, "decide": {f"count.{n}": {"max": 1} for n in BLOCKS["machine"]}}, 2**3),
        (
            {
                **BLOCKS,
                "decide": {
                    "count.card": {"min": 1, "max": 3},
                    "count.board": {"max": 10},
                    "count.phone": {"max": 3},
                },
            },
            3 * 11 * 4,
        ),
        (
            {
                "model": "partition",
                "machine": {"cpu": "gtx-titan-choi2014", "gpu": "gtx680-choi2014"},
                "given": {"regions": REGIONS},
                "objective": {"minimize": "energy"},
                "limits": {"time": {"max": "50 ms", "probability": 0.8}},
                "uncertain": {
                    "machine.gpu.time_per_byte": {"lognormal": ["5 ps/byte", 1.5]},
                    "sampling": {"samples": 512},
                },
            },
            2**3,
        ),
    ],
    ids=["counts from 0", "a count from 1", "whole regions"],
)
def test_a_share_or_count_of_0_is_a_design_of_which_confidence_is_asked(asked: dict[str, Any], designs: int):
    """Calafiore and Campi's sum with no real number: so many designs share what the confidence leaves."""
    name, limit = next((n, x) for n, x in asked["limits"].items())
    size = 512
    data = {
        **asked,
        "limits": {name: {**limit, "confidence": 0.99}},
        "uncertain": {**asked["uncertain"], "sampling": {"samples": size, "seed": 1}},
    }
    worlds = world_of(data)
    (promise,) = promises(worlds.nominal)
    found = chances.may_fail(worlds.nominal, promise, size)
    share = 0.01 / designs
    assert binom.cdf(found, size, 0.2) <= share < binom.cdf(found + 1, size, 0.2)


@pytest.mark.parametrize("measure", GOALS)
@pytest.mark.parametrize("seed", [1, 2])
def test_counts_are_those_of_enumeration(measure: str, seed: int) -> None:
    words, weighing = GOALS[measure]
    data = {
        **BLOCKS,
        "objective": {"maximize": "performance", **words},
        "uncertain": {**BLOCKS["uncertain"], "sampling": {"samples": 64, "seed": seed}},
    }
    found, worlds = answered(data)
    assert found.status is Status.OPTIMAL
    assert "of the samples that fail" in found.certificate
    counts = [np.arange(n, dtype=float) for n in (9, 150, 12)]
    decided = [d.name for d in worlds.nominal.decide]
    grid = np.meshgrid(*counts, indexing="ij")
    at = reached(
        Wanted(worlds, weighing, (Chance(("block_power",), 12),)),
        {n: g.ravel() for n, g in zip(decided, grid, strict=True)},
    )
    holds = at.over() <= 1e-8
    assert found.objective == pytest.approx(at.goal[holds].max(), rel=1e-9)
    assert found.bound >= found.objective * (1 - 1e-12)


SHARES: dict[str, Any] = {
    "model": "partition",
    "machine": {"cpu": "i7-2600k-tang2017", "gpu": "gtx-titan-tang2017"},
    "given": {
        "regions": [
            {"name": "map", "flops": "40 Gflop", "bytes": "12 GB"},
            {"name": "plan", "flops": "120 Gflop", "bytes": "4 GB"},
        ]
    },
}


@pytest.mark.parametrize("number", range(4))
def test_shares_are_those_of_the_best_set_of_samples(number: int) -> None:
    """Seven samples of four numbers, of which two may be late: every pair of them is left out in turn."""
    limits = {"time": {"max": "0.25 s"}}
    base = question(dse.load({**SHARES, "objective": {"minimize": "energy"}, "limits": limits}))
    dice = np.random.default_rng(number)
    names = [f"machine.{m}.time_per_{w}" for m in ("cpu", "gpu") for w in ("flop", "byte")]
    worlds = of_values(base, {n: base.given[n] * dice.uniform(0.6, 1.8, 7) for n in names})
    at = robust_program.minimise(worlds, MEAN, kept=frozenset(), tied=False, weigh=False)
    assert at.outcome.bound is not None
    found = program_chances.found(Wanted(worlds, MEAN, (Chance(("time",), 2),)), tied=False)
    best = math.inf
    for out in itertools.combinations(range(7), 2):
        one = robust_program.minimise(
            worlds, MEAN, left_out={"time": frozenset(out)}, tied=False, weigh=False
        ).outcome
        best = min(best, math.inf if one.bound is None else one.bound)
    if best == math.inf:
        assert found.outcome.status is Status.INFEASIBLE
    else:
        assert found.outcome.bound == pytest.approx(best, rel=1e-8)


def test_what_no_design_holds_often_enough_is_a_conflict_with_the_value_that_would_do() -> None:
    data = {**BLOCKS, "limits": {**BLOCKS["limits"], "performance": {"min": "50 TFLOPS"}}}
    del data["objective"]
    found, _ = answered(data)
    assert found.status is Status.INFEASIBLE
    assert set(found.conflict) == {"block_power", "performance"}
    cap = found.conflict["block_power"]
    assert cap is not None
    for factor, status in ((1 + 1e-6, Status.FEASIBLE), (1 - 1e-4, Status.INFEASIBLE)):
        limits = {**data["limits"], "block_power": {**data["limits"]["block_power"], "max": cap * factor}}
        assert answered({**data, "limits": limits})[0].status is status


def test_samples_that_differ_in_one_number_need_no_column_of_their_own() -> None:
    """The more power a card draws the worse: the limit in the thirteenth worst of 64 samples is the limit."""
    few = {n: v for n, v in BLOCKS["uncertain"].items() if n in ("machine.card.usable_power", "sampling")}
    data = {**BLOCKS, "uncertain": few, "objective": {"maximize": "performance", "measure": "mean"}}
    found, _ = answered(data)
    draws = np.sort(world_of(data).uncertain()["machine.card.usable_power"])
    alone = {k: v for k, v in data.items() if k != "uncertain"}
    alone["limits"] = {"block_power": {"max": "600 W"}}
    alone["objective"] = {"maximize": "performance"}
    card = {"base": "gtx680-choi2014", "usable_power": float(draws[64 - 1 - 12])}
    plain = dse.solve(dse.load({**alone, "machine": {**BLOCKS["machine"], "card": card}}))
    assert found.variables == pytest.approx(plain.variables)


@pytest.mark.parametrize("late", [0, 2])
def test_a_cap_on_power_is_eased_by_the_slower_processor(late: int) -> None:
    """Energy over time: the longer the slowest processor takes, the less power. Beside a fine grid of shares."""
    base = question(
        dse.load({**SHARES, "objective": {"minimize": "energy"}, "limits": {"power": {"max": "180 W"}}})
    )
    dice = np.random.default_rng(7)
    names = [f"machine.{m}.time_per_{w}" for m in ("cpu", "gpu") for w in ("flop", "byte")]
    worlds = of_values(base, {n: base.given[n] * dice.uniform(0.7, 1.5, 7) for n in names})
    wanted = Wanted(worlds, MEAN, (Chance(("power",), late),) if late else ())
    ticks = np.linspace(0, 1, 301)
    grid = np.meshgrid(ticks, ticks, indexing="ij")
    at = reached(wanted, {d.name: g.ravel() for d, g in zip(base.decide, grid, strict=True)})
    holds = at.over() <= 1e-9
    assert holds.any()
    found = found_by(wanted, tied=False)
    assert found.outcome.status is Status.OPTIMAL
    assert found.outcome.solver == robust_program.SOLVER
    assert found.outcome.x is not None
    assert found.outcome.bound is not None
    best = float(at.goal[holds].min())
    own = reached(wanted, {n: np.array([v]) for n, v in found.outcome.x.items()})
    assert own.over()[0] <= 1e-8
    assert own.goal[0] == pytest.approx(found.outcome.bound, rel=1e-6)
    # the next points of a grid of 1/300 are within 1 % of the best
    assert found.outcome.bound <= best * (1 + 1e-9)
    assert best <= found.outcome.bound * 1.01


@pytest.mark.parametrize("number", range(4))
def test_what_is_off_without_work_is_told_of_uncertain_work(number: int) -> None:
    """Which processors have any work is the same in every sample, however much of it there is. Beside all designs."""
    regions = [
        {"name": n, "flops": f"{f} Gflop", "bytes": f"{b} GB", "divisible": False}
        for n, f, b in (("read", 1, 12), ("filter", 20, 24), ("solve", 400, 20))
    ]
    machine = {"cpu": "i7-2600k-tang2017", "small": "gtx-750-tang2017", "large": "gtx-titan-tang2017"}
    data = {"model": "partition", "machine": machine, "given": {"unused": "off", "regions": regions}}
    base = question(
        dse.load({**data, "objective": {"minimize": "energy"}, "limits": {"time": {"max": "2 s"}}})
    )
    dice = np.random.default_rng(number)
    names = ["regions.filter.bytes", "regions.solve.flops", "machine.small.time_per_byte"]
    worlds = of_values(base, {n: base.given[n] * dice.uniform(0.4, 2.5, 9) for n in names})
    wanted = Wanted(worlds, MEAN, (Chance(("time",), 2),))
    found = program_chances.found(wanted, tied=False).outcome
    picks = [*itertools.product(*(d.values or (0.0, 1.0) for d in base.decide))]
    at = reached(wanted, dict(zip([d.name for d in base.decide], np.array(picks).T, strict=True)))
    holds = at.over() <= 1e-9
    assert found.status is (Status.OPTIMAL if holds.any() else Status.INFEASIBLE)
    if holds.any():
        assert found.bound == pytest.approx(float(at.goal[holds].min()), rel=1e-8)


def spread_around(base: Question, names: list[str], count: int, number: int, scatter: float = 3.0) -> Worlds:
    dice = np.random.default_rng(number)
    return of_values(base, {n: base.given[n] * scatter ** dice.uniform(-1.0, 1.0, count) for n in names})


@pytest.mark.parametrize("number", range(6))
def test_a_quantile_may_lie_beyond_what_the_easy_samples_can_come_to(number: int) -> None:
    """Samples in which the quantile holds in any case end nearer than those of which some may exceed it."""
    limits = {"time.gpu": {"max": "0.01 s"}}
    base = question(dse.load({**SHARES, "objective": {"minimize": "energy"}, "limits": limits}))
    names = ["cpu.time_per_byte", "cpu.energy_per_flop", "gpu.energy_per_flop", "gpu.energy_per_byte"]
    worlds = spread_around(base, [f"machine.{n}" for n in names], 20, number, scatter=4.0)
    wanted = Wanted(worlds, Quantile(0.8))
    found = program_chances.found(wanted, tied=False).outcome
    at = reached(wanted, {n: np.array([v]) for n, v in (found.x or {}).items()})
    assert found.bound == pytest.approx(at.goal[0], rel=1e-7)


@pytest.mark.parametrize("number", [2, 5, 8, 17])
def test_quantiles_of_many_blocks_are_bounded_to_the_gap(number: int) -> None:
    """A count may be a million: what a sample that fails may come to is no million times the quantile."""
    kinds = ("card", "board", "phone")
    data = {
        **BLOCKS,
        "given": {"flops": "1 Pflop", "intensity": 0.25},
        "decide": {f"count.{k}": {"max": most} for k, most in zip(kinds, (2, 9, 3), strict=True)},
        "objective": {"maximize": "bandwidth"},
        "limits": {"performance": {"min": "12 GFLOPS"}},
    }
    del data["uncertain"]
    base = question(dse.load(data))
    names = ["phone.usable_power", "card.time_per_flop", "phone.time_per_flop", "card.usable_power"]
    worlds = spread_around(base, [f"machine.{n}" for n in names], 20, number, scatter=1.3)
    wanted = Wanted(worlds, Quantile(0.8), (Chance(("performance",), 3),))
    found = program_chances.found(wanted, tied=False).outcome
    at = reached(wanted, {n: np.array([v]) for n, v in (found.x or {}).items()})
    assert found.bound == pytest.approx(at.goal[0], rel=1e-7)


@pytest.mark.parametrize("number", range(6))
def test_samples_fail_by_the_limits_that_count(number: int) -> None:
    """Of two limits that may fail together, only one of which is asked for, the other uses up no sample."""
    limits = {"time.cpu": {"max": "0.1 s"}, "energy": {"max": "1 J"}}
    base = question(dse.load({**SHARES, "objective": {"minimize": "time.gpu"}, "limits": limits}))
    names = [f"machine.{m}.{w}" for m in ("cpu", "gpu") for w in ("time_per_byte", "energy_per_byte")]
    worlds = spread_around(base, names, 12, number)
    together = Wanted(worlds, MEAN, (Chance(("time.cpu", "energy"), 2),), kept=frozenset({"time.cpu"}))
    alone = replace(together, chances=(Chance(("time.cpu",), 2),))
    one, other = (program_chances.found(w, tied=False).outcome for w in (together, alone))
    assert one.x == pytest.approx(other.x, rel=1e-7)


def test_limits_that_even_eased_leave_nothing_are_refuted() -> None:
    """No block does its work with so little energy; by the size of a million blocks this misses by a trifle."""
    limits = {"performance": {"min": "298 GFLOPS"}, "energy": {"max": "2.76 MJ"}}
    given, goal = {"flops": "1 Pflop", "intensity": 0.25}, {"minimize": "block_power"}
    data = {**BLOCKS, "given": given, "objective": goal, "limits": limits}
    del data["uncertain"]
    bytes_of_boards = {"machine.board.time_per_byte": 1e-10 * np.linspace(0.96, 1.2, 7)}
    worlds = of_values(question(dse.load(data)), bytes_of_boards)
    wanted = Wanted(worlds, Quantile(0.8), (Chance(("performance",), 1),))
    assert program_chances.found(wanted, tied=False).outcome.status is Status.INFEASIBLE
