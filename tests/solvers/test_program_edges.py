"""Questions at the edge of what programs can say: nothing to be had, latency under a power cap, innocent limits."""

from __future__ import annotations

import itertools
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dse
import scenarios
from results.solution import Status
from scenarios import questions
from solvers.answer import answer

LIBRARY = Path(scenarios.__file__).parent / "library"
CPU, GPU, TITAN = "i7-2600k-tang2017", "gtx-750-tang2017", "gtx-titan-tang2017"
# optima are proved to 1e-9 or better; grids come within their step
EXACT = 1e-8


def partition(machine: dict[str, Any], regions: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    given = {"regions": regions, **more.pop("given", {})}
    return {"model": "partition", "machine": machine, "given": given, **more}


@pytest.mark.parametrize("divisible", [True, False])
@pytest.mark.parametrize("goal", ["performance", "efficiency"])
def test_without_flops_there_is_no_performance_to_be_had(divisible: bool, goal: str):
    regions = [{"name": "copy", "flops": 0, "bytes": 1e9, "divisible": divisible}]
    found = dse.solve(partition({"cpu": CPU, "gpu": GPU}, regions, objective={"maximize": goal}))
    assert found.status is Status.OPTIMAL
    assert found.objective == 0.0


def test_latency_under_a_power_cap_is_settled_exactly():
    """A longer time lowers the average power, so that each term of the maximum is tried; a grid is never better."""
    regions = [{"name": "a", "flops": 10e9, "bytes": 4e9}, {"name": "b", "flops": 1e9, "bytes": 9e9}]
    question = partition(
        {"cpu": CPU, "gpu": GPU, "titan": TITAN},
        regions,
        given={"transfers": [{"from": "a", "to": "b", "bytes": 1e9}], "link_latency": 0.01},
        objective={"minimize": "time"},
        limits={"power": {"max": "120 W"}},
    )
    found = dse.solve(question)
    assert found.status is Status.OPTIMAL
    assert found.objective is not None
    parts = [(x, y) for x, y in itertools.product(np.linspace(0, 1, 6), repeat=2) if x + y <= 1]
    names = [f"share.{r}.{p}" for r in "ab" for p in ("cpu", "gpu")]
    reached = []
    for a, b in itertools.product(parts, repeat=2):
        given = {**question["given"], **dict(zip(names, map(float, (*a, *b)), strict=True))}
        at = dse.evaluate({"model": "partition", "machine": question["machine"], "given": given})
        if float(at.power) <= 120:
            reached.append(float(at.time))
    assert found.objective <= min(reached) * (1 + EXACT)
    assert found.objective >= 0.5 * min(reached)


def test_the_value_that_one_kind_of_blocks_reaches_at_counts_of_a_million_millions_is_the_least():
    """The last step of the search for its ratio failed over such counts, and a smaller change was not excluded."""
    scenario = tomllib.loads((LIBRARY / "blocks_one_kind_throttled.toml").read_text(encoding="utf-8"))
    limits = {"time": {"max": "1 us"}, "energy": {"max": "1 uJ"}}
    found = dse.solve({**scenario, "objective": {"minimize": "energy_delay"}, "limits": limits})
    assert found.status is Status.INFEASIBLE
    assert found.conflicts == (("energy",),)
    assert found.conflict["energy"] == pytest.approx(82403.125, rel=1e-9)
    assert "ended early" not in found.certificate
    # the least energy that the other limit leaves is that value
    asked = {**scenario, "objective": {"minimize": "energy"}}
    at, below = (
        dse.solve({**asked, "limits": limits | {"energy": {"max": found.conflict["energy"] * share}}})
        for share in (1.0, 1 - 1e-6)
    )
    assert at.status is Status.OPTIMAL
    assert at.objective == pytest.approx(found.conflict["energy"], rel=1e-9)
    assert below.status is Status.INFEASIBLE


def test_a_linear_question_without_design_is_infeasible_not_an_error():
    machine = {
        "p0": {"time_per_flop": 5e-12, "time_per_byte": 6e-11, "energy_per_flop": 2e-11,
               "energy_per_byte": 2e-11, "constant_power": 0},
        "p1": {"time_per_flop": 2e-12, "time_per_byte": 3e-11, "energy_per_flop": 0,
               "energy_per_byte": 2e-11, "constant_power": 20},
    }  # fmt: skip
    regions = [{"name": "r0", "flops": 1e9, "bytes": 4e9}, {"name": "r1", "flops": 1e9, "bytes": 9e9}]
    link = {"link_bandwidth": 12e9, "link_energy_per_byte": 1e-9, "link_overlap": "serial"}
    question = partition(
        machine,
        regions,
        given={"transfers": [{"from": "r0", "to": "r1", "bytes": 5e8}], **link},
        objective={"minimize": "time"},
        limits={"power": {"max": 15.0}, "link_time": {"max": 1e-3}},
    )
    found = dse.solve(question)
    assert found.status is Status.INFEASIBLE
    needed = found.conflict["power"]
    assert needed is not None
    for factor, status in ((1 + 1e-6, Status.OPTIMAL), (1 - 1e-6, Status.INFEASIBLE)):
        asked = {**question, "limits": {**question["limits"], "power": {"max": needed * factor}}}
        assert dse.solve(asked).status is status


def test_what_a_design_is_stands_in_no_conflict():
    """Without blocks no efficiency is too low, but a system without blocks is none."""
    found = dse.solve(
        {
            "model": "blocks",
            "machine": {"titan": "gtx-titan-choi2014", "arndale": "arndale-gpu-choi2014"},
            "given": {"flops": 1e15, "intensity": 16},
            "objective": {"minimize": "energy"},
            "limits": {"efficiency": {"min": "100 GFLOPS/W"}, "time": {"max": 1e6}},
        }
    )
    assert found.status is Status.INFEASIBLE
    assert found.conflicts == (("efficiency",),)
    whole = [{"name": n, "flops": 1e9, "bytes": 1e9, "divisible": False} for n in "abc"]
    found = dse.solve(
        partition(
            {"cpu": CPU, "gpu": GPU},
            whole,
            objective={"minimize": "energy"},
            limits={"energy_delay": {"max": 1e-4}, "time": {"max": 10.0}},
        )
    )
    assert found.conflicts == (("energy_delay",),)


def test_what_can_be_nothing_is_nothing_not_a_rounding_of_it():
    """Bounds by multipliers are below 0 by rounding, and so was what shares that come to 1 leave of a region."""
    apart = {"flops": 13e9, "bytes": 1.6e9, "independent": True}
    found = dse.solve(
        partition(
            {"cpu": CPU, "gpu": GPU},
            [{"name": "a", **apart}, {"name": "b", **apart}],
            objective={"minimize": "flops.gpu"},
            limits={"bytes.cpu": {"max": 0.5e9}},
        )
    )
    assert (found.status, found.objective, found.bound) == (Status.OPTIMAL, 0.0, 0.0)


@pytest.mark.parametrize("shares", [(0.3, 0.6, 0.1), (0.7, 0.2, 0.1)])
def test_shares_that_come_to_one_leave_nothing(shares: tuple[float, ...]):
    assert 1.0 - sum(shares) != 0.0
    names = ("cpu", "gpu", "titan")
    given = {f"share.a.{n}": s for n, s in zip(names, shares, strict=True)}
    machine = dict(zip((*names, "last"), (CPU, GPU, TITAN, GPU), strict=True))
    found = dse.solve(partition(machine, [{"name": "a", "flops": 1e9, "bytes": 1e9}], given=given))
    assert found.metrics["share.a.last"] == 0.0


@pytest.mark.parametrize("share", [0.0, 0.07, 0.5])
@pytest.mark.parametrize("goal", ["energy", "power", "time"])
def test_how_much_work_is_decided_is_found_beside_given_shares(goal: str, share: float):
    """Flops of 1e12 stand in rows of seconds: a bound of theirs gave its unit to what was a rounding error then."""
    regions = [
        {"name": "stream", "flops": "200 Gflop", "bytes": "400 GB"},
        {"name": "dense", "bytes": "100 GB"},
    ]
    shares = {"share.stream.cpu": share, "share.dense.cpu": 0.0}
    asked = partition({"cpu": CPU, "gpu": TITAN}, regions, objective={"maximize": goal}, given=shares)
    found = dse.solve(asked | {"decide": {"regions.dense.flops": {"min": 1e12, "max": 3e12}}})
    assert found.status is Status.OPTIMAL
    each = []
    for flops in np.linspace(1e12, 3e12, 9):
        fixed = partition(
            {"cpu": CPU, "gpu": TITAN}, [regions[0], regions[1] | {"flops": flops}], given=shares
        )
        each.append(dse.solve(fixed).metrics[goal])
    assert found.objective == pytest.approx(max(each), rel=EXACT)


@pytest.mark.parametrize(
    ("objective", "limits", "end"),
    [
        ({"maximize": "efficiency"}, {"energy": {"max": 900.0}}, 3e12),
        ({"minimize": "performance"}, {"power": {"max": 150.0}}, 1e12),
    ],
)
def test_numbers_handed_out_are_within_their_bounds(objective: Any, limits: Any, end: float):
    """A program in other units, and a search in logarithms, came back a few ulps beyond the end."""
    regions = [
        {"name": "stream", "flops": "200 Gflop", "bytes": "400 GB"},
        {"name": "dense", "bytes": "100 GB"},
    ]
    given = {"share.dense.cpu": 0.0} if end == 3e12 else {}
    asked = partition({"cpu": CPU, "gpu": TITAN}, regions, objective=objective, given=given, limits=limits)
    found = dse.solve(asked | {"decide": {"regions.dense.flops": {"min": 1e12, "max": 3e12}}})
    assert found.status is Status.OPTIMAL
    assert found.variables["regions.dense.flops"] == end


def test_designs_and_ranges_of_searches_end_at_their_bounds():
    """What ties go to left a word of 0.39999999999600006 B of at least 0.4, in a range to 40.0000000004."""
    found = dse.solve(
        {
            "model": "nbody",
            "machine": "jaketown",
            "given": {"bodies": 1e6, "flops_per_pair": 20, "processors": 4096, "memory": 1000},
            "decide": {"machine.word_size": {"min": 0.4, "max": 40.0}},
            "objective": {"minimize": "energy"},
        }
    )
    assert found.status is Status.OPTIMAL
    assert found.variables["machine.word_size"] == 0.4
    assert found.ranges["machine.word_size"] == (0.4, 40.0)


@pytest.mark.parametrize(("below", "status"), [(5e-9, Status.OPTIMAL), (5e-8, Status.INFEASIBLE)])
def test_a_limit_that_only_its_slack_meets_is_met(below: float, status: Status):
    """5e-9 below the least time holds by the 1e-8 rule, where no design was found and no proof that there is none."""
    regions = [
        {"name": "stream", "flops": "200 Gflop", "bytes": "400 GB"},
        {"name": "dense", "flops": "2 Tflop", "bytes": "100 GB"},
    ]
    asked = partition({"cpu": CPU, "gpu": TITAN}, regions, objective={"minimize": "time"})
    least = dse.solve(asked).objective
    assert least is not None
    tight = asked | {"objective": {"minimize": "energy"}, "limits": {"time": {"max": least * (1 - below)}}}
    assert dse.solve(tight).status is status


@pytest.mark.parametrize("most", [2.0, 64.0, 1024.0])
def test_the_largest_of_a_list_of_powers_is_picked(most: float) -> None:
    """Entries of 1e-30 stand beside it in one row: HiGHS' presolve lost the last, and half was called optimal."""
    source: dict[str, Any] = {
        "model": "nbody",
        "machine": "jaketown",
        "given": {"bodies": 1e6, "flops_per_pair": 20, "processors": 64, "memory": 1e5},
        "decide": {
            "ua": {"min": 1, "max": 1000},
            "vb": {"powers_of": 2, "min": 0.25, "max": most},
            "wc": {"min": 0.5, "max": 10},
        },
        "define": {"ff": "ua + 0.1 * vb + 0.1 * wc"},
        "objective": {"maximize": "ff"},
    }
    found = answer(questions.question(dse.load(source)), neighbours=False)
    assert found.variables["vb"] == most
    assert found.objective == pytest.approx(1001.0 + 0.1 * most, rel=1e-9)
    swept = dse.sweep(
        dse.load(source | {"sweep": {"m": {"path": "decide.ua.max", "values": [10, 1000]}}}), progress=False
    )
    assert swept["vb"].values.tolist() == [most, most]


def test_what_is_small_for_one_thing_counts_where_there_may_be_many() -> None:
    """A ten-billionth of the bound each: all of it from 5e9 of them on."""
    found = dse.solve(
        {
            "model": "nbody",
            "machine": "jaketown",
            "given": {"bodies": 1e6, "flops_per_pair": 20, "processors": 64, "memory": 1e5},
            "decide": {"kk": {"min": 1, "max": 1e12, "integer": True}, "uu": {"min": 0.1, "max": 10}},
            "define": {"load": "0.00000000001 * kk + 0.001 * uu", "ff": "kk + uu"},
            "objective": {"maximize": "ff"},
            "limits": {"load": {"max": 0.05}},
        }
    )
    assert found.status is Status.OPTIMAL
    assert found.objective == pytest.approx((0.05 - 0.001 * 0.1) * 1e11, rel=1e-6)


@pytest.mark.parametrize("share", [4e-7, 1e-7, 3e-8])
@pytest.mark.parametrize("metric", ["power", "time"])
def test_a_limit_missed_by_little_is_infeasible_with_the_value_that_would_do(
    metric: str, share: float
) -> None:
    """The value of another question typed in with some digits: HiGHS' rows are off by more than it misses."""
    text: dict[str, Any] = {
        "model": "partition",
        "machine": {"p0": "i3-2100t-tang2017", "p1": "gtx-titan-choi2014"},
        "given": {"regions": [{"name": "r0", "flops": 1.764e8, "bytes": 8.903e7}]},
    }
    least = dse.solve({**text, "objective": {"minimize": metric}}).objective
    assert least is not None
    limits = {metric: {"max": least * (1.0 - share)}}
    found = dse.solve({**text, "objective": {"minimize": "energy"}, "limits": limits})
    assert found.status is Status.INFEASIBLE, found.message
    assert found.conflict[metric] == pytest.approx(least, rel=1e-8)


def test_what_is_not_used_at_all_is_no_number_that_a_program_depends_on():
    """With a share of 0 nothing of its processor counts: the program there tells nothing of other shares."""
    turned = {"clock_min": 0.25e9, "clock_max": 4.42e9, "clock_reference": 3.4e9, "clock_exponent": 1}
    asked = {
        "model": "partition",
        "machine": {
            "cpu": {"base": "gtx-750-tang2017", **turned},
            "gpu": {"base": "gtx-titan-tang2017", **turned, "clock_reference": 1e9, "clock_max": 1e9},
            "acc": {"base": "i7-2600k-tang2017"},
        },
        "given": {"regions": [{"name": "r0", "flops": 12e9, "bytes": 19e9, "divisible": False}]},
        "decide": {
            "clock.cpu": {"min": 1.02e9, "max": 3.4e9},
            "clock.gpu": {"values": [419962397, 454824799]},
            "machine.acc.time_per_flop": {"values": [1e-12, 2e-12, 8e-12]},
        },
        "objective": {"minimize": "time"},
        "limits": {"power": {"max": 247.8}, "energy": {"max": 13.78}},
    }
    found = dse.solve(asked)
    assert found.status == "optimal"
    assert found.solver == "HiGHS"
    assert "clock.cpu" in found.certificate
    assert "ties were not settled" not in found.certificate


def test_no_range_is_optimal_where_any_design_will_do():
    asked = {
        "model": "partition",
        "machine": {"cpu": "i7-2600k-tang2017", "gpu": "gtx-titan-tang2017"},
        "given": {"regions": [{"name": f"r{k}", "flops": (k + 1) * 17e9, "bytes": 27e9} for k in range(2)]},
        "decide": {"machine.gpu.time_per_flop": {"values": [1e-12, 4e-12]}},
        "limits": {"time": {"max": 1}},
    }
    found = dse.solve(asked)
    assert found.status == "feasible"
    assert not found.ranges
    assert not dse.solve({**asked, "decide": {}}).ranges


def test_bounds_count_where_no_number_goes_on_beyond_what_was_searched():
    asked = {
        "model": "blocks",
        "machine": {"b0": "arndale-gpu-choi2014", "b1": "nuc-gpu-choi2014", "b2": "xeon-phi-choi2014"},
        "given": {"flops": 1e15, "intensity": 1},
        "define": {
            "goal": "0.5 * blocks / ka + 0.1 * ka - maximum(1 * blocks, 2)",
            "least": "maximum(1e-12 s/flop * performance, 0.01 1/W * block_power / xa + ka)",
        },
        "decide": {"ka": {"values": [0.5, 1, 2, 8]}, "xa": {"min": 1, "max": 50}},
        "objective": {"minimize": "goal"},
        "limits": {"least": {"max": 171}},
    }
    found = dse.solve(asked)
    assert found.status == "optimal"
    assert found.bound == pytest.approx(found.objective, rel=1e-9)
