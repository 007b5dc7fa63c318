"""No answer rests on an end that only a search has: no proof of infeasibility, no optimum, no conflict."""

from __future__ import annotations

import math
import tomllib
from typing import Any

import numpy as np
import pytest
from oracle_reading import ROOT

import dse
import results.dataset
import scenarios
from formulations import evaluation
from formulations.grids import over_grid
from results.dataset import STATUS_CODES
from results.solution import Solution, Status
from solvers.answer import answer
from solvers.linear.points import linear

LIBRARY = ROOT / "scenarios" / "library"
YEARS_15 = 131_400 * 3600.0


def library(name: str, **changes: Any) -> dict[str, Any]:
    """A scenario of the library with some of its tables replaced."""
    return tomllib.loads((LIBRARY / f"{name}.toml").read_text()) | changes


def solved(source: dict[str, Any]) -> Solution:
    return dse.solve(dse.load(source))


def station(**changes: Any) -> dict[str, Any]:
    """The station of i.MX515 alone (ExaBounds, table 1), at full clock on two kinds of card."""
    source = library("station_least_cost", machine={"socket": "imx515"})
    del source["decide"]
    given = source["given"]
    given = given | {"levels": given["levels"][:1], "cards": given["cards"][1:3]}
    return source | {"given": given} | changes


def cost(demand: float, places: int, card_price: float, card_power: float) -> float:
    """Cost of the fewest whole sockets, cards and power steps that reach a demand, written out from the question."""
    sockets = math.ceil(demand / 800e6)
    cards = math.ceil(sockets / places)
    power = (sockets * 6.3e-10 * 800e6 + cards * card_power) / 0.92
    idle = (sockets * 8.2e-13 * 800e6 + cards * card_power) / 0.92
    energy = (0.8 * power + 0.2 * idle) * YEARS_15 * 0.15 / 3.6e6
    price = 3.2e-8 * 800e6
    spares = price * sockets * 100 / 1e9 / 3600 * YEARS_15
    return sockets * price + cards * card_price + math.ceil(power / 1000) * 200 + energy + spares


@pytest.mark.parametrize("demand", [1e17, 1e18, 1e21])
def test_a_system_larger_than_the_box_of_the_search_is_designed(demand: float) -> None:
    """ExaBounds' own figure 1: sockets of 32 G USD for 1e18 operations per second."""
    answer = solved(station(limits={"throughput": {"min": demand}}))
    least = min(cost(demand, 16, 18.4, 0.058), cost(demand, 64, 37.6, 0.082))
    assert answer.status is Status.OPTIMAL
    # both add up the same numbers; the engine may be off by its gap
    assert answer.objective == pytest.approx(least, rel=1e-6)
    assert answer.metrics["cost_sockets"] == pytest.approx(32e9 * demand / 1e18, rel=1e-6)


@pytest.mark.parametrize("demand", [1e20, 1e25, 1e30])
def test_what_no_search_decides_is_not_called_impossible(demand: float) -> None:
    """Four levels and four kinds of card; nothing limits how many there are."""
    source = library("station_least_cost", machine={"socket": "atom-n450"})
    del source["decide"]
    answer = solved(source | {"limits": {"throughput": {"min": demand}}})
    if demand < 1e22:
        assert answer.status is Status.OPTIMAL
        assert answer.metrics["throughput"] >= demand * (1 - 1e-8)
    else:
        # rows over numbers this large are beyond floats; then it is said what was searched
        assert answer.status in (Status.OPTIMAL, Status.FEASIBLE, Status.ERROR)
        assert answer.status is not Status.ERROR or "what is beyond is not known" in answer.message


def test_the_best_way_counts_where_it_needs_more_than_a_search_holds() -> None:
    """Sockets at the least level need 1.6e8 of them, beyond the first box; fewer of another level were called best."""
    source = library("station_least_power", machine={"socket": "imx515"})
    del source["decide"]
    limits = {"throughput": {"min": 5e15}}
    small = solved(source | {"limits": limits})
    large = solved(source | {"limits": {"throughput": {"min": 5e16}}})
    assert large.status is Status.OPTIMAL
    assert large.objective == pytest.approx(10 * (small.objective or 0), rel=1e-4)
    axis = {"path": "limits.throughput.min", "start": 5e15, "stop": 5e16, "num": 40, "spacing": "log"}
    swept = dse.sweep(dse.load(source | {"limits": limits, "sweep": {"demand": axis}}), workers=1)
    assert (swept.status == STATUS_CODES[Status.OPTIMAL]).all()
    assert swept.power.values[[0, -1]] == pytest.approx([small.objective, large.objective], rel=1e-9)
    assert swept.power.values == pytest.approx(small.objective * swept.demand.values / 5e15, rel=1e-4)


def test_a_mix_near_the_end_of_a_search_is_not_called_best() -> None:
    """On 60 MW the best mix has 1e7 blocks; the search in the first box ended at 999 998 of them."""
    name = "blocks_fastest_actual_power"
    few = solved(library(name))
    many = solved(library(name, limits={"block_power": {"max": "60 MW"}}))
    assert many.status is Status.OPTIMAL
    assert many.objective is not None
    assert few.objective is not None
    assert many.objective >= 1e5 * few.objective
    assert many.metrics["blocks"] > 1e7


def test_the_best_mix_of_a_sweep_counts_where_it_needs_more_than_a_search_holds() -> None:
    """From 6 MW on the most that 1e8 sockets in the first box give is less than what the power allows."""
    source = library("station_most_flops_in_10_kw", machine={"socket": "imx515"})
    del source["decide"]
    axis = {"path": "limits.power.max", "start": 3e5, "stop": 6e7, "num": 5, "spacing": "log"}
    swept = dse.sweep(
        dse.load(source | {"limits": {"power": {"max": 6e7}}, "sweep": {"cap": axis}}), workers=1
    )
    assert (swept.status == STATUS_CODES[Status.OPTIMAL]).all()
    assert swept.throughput.values == pytest.approx(
        swept.throughput.values[0] * swept.cap.values / 3e5, rel=1e-3
    )


def test_an_end_of_the_user_beyond_the_box_counts() -> None:
    way = "cards.socket.full.of 64"
    source = station(limits={"throughput": {"min": 1e18}})
    whole = {"integer": True}
    roomy = solved(source | {"decide": {way: whole | {"max": 1e10}}})
    tight = solved(
        source | {"decide": {way: whole | {"max": 1e3}, "cards.socket.full.of 16": whole | {"max": 5e7}}}
    )
    assert roomy.status is Status.OPTIMAL
    assert tight.status is Status.INFEASIBLE
    assert "throughput" in tight.conflict
    # 1.25e9 sockets need 7.8125e7 cards of 16; 1000 of 64 may not stand beside them
    assert tight.conflict["throughput"] == pytest.approx(5e7 * 16 * 800e6, rel=1e-6)


def test_blocks_are_as_many_as_a_deadline_needs() -> None:
    """The kind that needs least energy needs it in any number: a million times faster, it is the same."""
    asked = library("blocks_out_of_reach", objective={"minimize": "energy"})
    free = solved(asked | {"limits": {}})
    fast = solved(asked | {"limits": {"time": {"max": "1 ms"}}})
    assert fast.status is Status.OPTIMAL
    assert fast.objective == pytest.approx(free.objective, rel=1e-6)
    assert fast.metrics["blocks"] > 1e6


def test_what_has_no_end_runs_away_by_name() -> None:
    answer = solved(library("blocks_out_of_reach", objective={"minimize": "time"}, limits={}))
    assert answer.status is Status.UNBOUNDED
    assert answer.runaway.startswith("count.")


NBODY = {
    "model": "nbody",
    "machine": "jaketown",
    "given": {"bodies": 1e5, "flops_per_pair": 10},
    "decide": {"processors": {}, "memory": {}},
    "objective": {"minimize": "energy"},
}
FFT = NBODY | {"model": "fft", "given": {"points": 1457}, "decide": {"processors": {}}}
WHOLE = {"processors": {"integer": True}, "memory": {}}
QUESTIONS = {
    "n-body, a deadline of any length": (NBODY, "time", "max", 0.06),
    "n-body in whole processors": (NBODY | {"decide": WHOLE}, "time", "max", 0.06),
    "n-body, least power under a cap": (NBODY | {"objective": {"minimize": "power"}}, "power", "max", 30.0),
    "Fourier transform": (FFT, "power", "max", 21.5),
    "Fourier transform in whole processors": (
        FFT | {"decide": {"processors": {"integer": True}}},
        "time",
        "max",
        1e-7,
    ),
    "blocks within a deadline": (library("blocks_out_of_reach", limits={}), "time", "max", 60.0),
    "blocks that are fast enough": (library("blocks_out_of_reach", limits={}), "performance", "min", 1e13),
    "station": (station(), "throughput", "min", 36e12),
}
FACTORS = (1e-6, 1.0, 1e6)


def word(answer: Solution) -> tuple[Any, ...]:
    """What must not depend on where a search ends."""
    return answer.status, sorted(answer.conflicts), sorted(answer.conflict)


def numbers(answer: Solution) -> list[float]:
    found = [] if answer.objective is None else [answer.objective]
    return found + [v for _, v in sorted(answer.conflict.items()) if v is not None]


@pytest.mark.parametrize("name", QUESTIONS)
def test_no_answer_depends_on_where_a_search_ends(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source, limit, side, value = QUESTIONS[name]
    for factor in FACTORS:
        asked = source | {"limits": {**source.get("limits", {}), limit: {side: value * factor}}}
        told = []
        for start in (1.0, 1e-2, 1e2):
            monkeypatch.setattr(evaluation, "SEARCH_REACH", start)
            told.append(solved(asked))
        assert [word(t) for t in told] == [word(told[0])] * 3, (name, factor)
        for other in told[1:]:
            # the gap that is asked for, on both sides
            assert numbers(other) == pytest.approx(numbers(told[0]), rel=2e-6), (name, factor)


@pytest.mark.parametrize("name", ["Fourier transform", "blocks within a deadline"])
def test_a_sweep_says_what_single_questions_say(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With ends drawn near, many points at once are as far from any of them as one point is."""
    source, limit, side, value = QUESTIONS[name]
    values = [value * 10.0 ** (k / 4) for k in range(-12, 48, 2)]
    axis = {"path": f"limits.{limit}.{side}", "values": values}
    asked = source | {"limits": {**source.get("limits", {}), limit: {side: value}}, "sweep": {"x": axis}}
    monkeypatch.setattr(evaluation, "SEARCH_REACH", 1e-3)
    swept = dse.sweep(dse.load(asked))
    for k in range(0, len(values), 7):
        one = solved(source | {"limits": {limit: {side: values[k]}}})
        point = swept.isel(x=k)
        assert int(point.status) == STATUS_CODES[one.status], values[k]


def test_a_sweep_tells_the_power_of_more_blocks_than_a_search_holds() -> None:
    """10 Pflop in 1 ms take 2e8 blocks, the first box has 1e6: it was said that no power would do."""
    limits = {"time": {"max": "1 ms"}, "nameplate_power": {"max": 287.0}}
    asked = library("blocks_out_of_reach", limits=limits)
    axis = {"path": "limits.nameplate_power.max", "start": 100.0, "stop": 400.0, "num": 50}
    swept = dse.sweep(dse.load(asked | {"sweep": {"cap": axis}}), workers=1)
    one = solved(asked | {"limits": limits | {"nameplate_power": {"max": 100.0}}})
    assert "each point" not in swept.attrs["method"]
    for name, value in one.conflict.items():
        told = swept.would_do.sel(limit=name).values
        assert told[0] == pytest.approx(value, rel=1e-8)
        assert np.isfinite(told).all()


def test_many_points_hold_as_many_blocks_as_their_power_leaves() -> None:
    """6 MW feed 1.03 million blocks, the first box has a million: each of these points was answered by itself."""
    axis = {"path": "limits.block_power.max", "start": 5.5e6, "stop": 6e6, "num": 3}
    grid = scenarios.grid(dse.load(library("blocks_fastest_actual_power", sweep={"cap": axis})))
    arrays, left = linear.over(grid).solve(results.dataset.layout(grid), over_grid.whole(grid))
    assert not left.any()
    one = answer(grid.question((2,)), neighbours=False)
    assert one.objective is not None
    assert one.variables["count.arndale_gpu"] > 1e6
    assert arrays["objective"][2] == pytest.approx(one.objective, rel=1e-12)
    assert arrays["count"][2].max() == one.variables["count.arndale_gpu"]


def test_a_sweep_takes_the_larger_of_two_terms_where_it_lies_beyond_the_box() -> None:
    """The second term is the largest with 1e9 blocks, of which the first box has 1e6: there the first one is."""
    counts = ("count.gtx_titan", "count.arndale_gpu")
    asked = library(
        "blocks_out_of_reach",
        decide={n: {"integer": False} for n in counts},
        define={
            "f": f"maximum(1e6 * {counts[0]}, 300 * {counts[1]})",
            "c": f"{counts[0]} + 1e-4 * {counts[1]}",
        },
        objective={"maximize": "f"},
        limits={"c": {"max": 1e5}},
    )
    axis = {"path": "limits.c.max", "start": 1e5, "stop": 2e5, "num": 12}
    scenario = dse.load(asked | {"sweep": {"cap": axis}})
    swept = dse.sweep(scenario, workers=1)
    assert (swept.status == STATUS_CODES[Status.OPTIMAL]).all()
    assert swept.f.values == pytest.approx(3e6 * swept.cap.values, rel=1e-6)
    # what many points are told together is right, or left to be told of each by itself
    grid = scenarios.grid(scenario)
    arrays, left = linear.over(grid).solve(results.dataset.layout(grid), over_grid.whole(grid))
    assert arrays["f"][~left] == pytest.approx(swept.f.values[~left], rel=1e-6)


@pytest.mark.parametrize("least", [1e9, 1e15, 1e18])
def test_what_ends_of_limits_exclude_is_refuted_however_large_numbers_are(least: float) -> None:
    """287 W hold the blocks to 28; from 1e15 W on that was an error, and in a sweep of 60 points infeasible."""
    limits = {"nameplate_power": {"max": 287.0}, "block_power": {"min": least}}
    machine = {"arndale_gpu": "arndale-gpu-choi2014"}
    answer = solved(library("blocks_network_power_sweep", machine=machine, limits=limits, sweep={}))
    assert answer.status is Status.INFEASIBLE
    assert answer.conflicts == (("nameplate_power", "block_power"),)
    assert answer.conflict["block_power"] == pytest.approx(266.920957)


@pytest.mark.parametrize("types", [0, 0.5])
def test_where_no_kind_of_block_may_be_there_no_power_would_do(types: float) -> None:
    """Without a limit on power nothing bounded how many blocks "one of a kind" are: 1.28 W were said to do."""
    limits = {"block_types": {"max": types}, "block_power": {"max": "1 kW"}}
    answer = solved(library("blocks_one_kind_throttled", limits=limits))
    assert answer.status is Status.INFEASIBLE
    assert answer.conflicts == (("block_types",),)
    assert answer.conflict == {"block_types": 1.0}


def test_a_whole_number_above_0_does_not_fall_without_limit() -> None:
    """Of a number above 0 the box began at 1e-6: beside another one it was rounded to 0, or fell without limit."""
    asked = {
        "model": "gemm-h100",
        "given": {"n": 8192},
        "decide": {"m": {"max": 16384, "integer": True}, "k": {"min": 64, "max": 16384}},
        "objective": {"minimize": "latency"},
    }
    least = {**asked, "decide": {**asked["decide"], "m": {"min": 1, "max": 16384, "integer": True}}}
    found, stated = dse.solve(asked), dse.solve(least)
    assert found.status is stated.status is Status.OPTIMAL
    assert found.variables["m"] == 1.0
    assert found.objective == pytest.approx(stated.objective, rel=1e-9)
    # where intervals search, too
    over = {
        **asked,
        "given": {"n": 8192, "err": 1.0},
        "define": {"noisy": "latency * err"},
        "uncertain": {"err": {"lognormal": [1.0, 1.15]}, "sampling": {"samples": 16}},
        "objective": {
            "minimize": "latency",
            "measure": "mean",
            "measures": {"late": {"of": "noisy", "quantile": 0.9}},
        },
        "limits": {"late": {"max": 3.9e-6}},
    }
    assert dse.solve(over).objective == pytest.approx(stated.objective, rel=1e-9)


STATION: dict[str, Any] = {
    "model": "sockets",
    "machine": {"socket": "at91sam9m10"},
    "given": {
        "supply_efficiency": 0.92,
        "power_step": "100 W",
        "card_power_limit": "200 W",
        "levels": [
            {"name": "high", "frequency": 0.8, "voltage": 0.9},
            {"name": "least", "frequency": 0.4, "voltage": 0.7},
        ],
        "cards": [{"name": "of 4", "sockets": 4, "power": "0.052 W"}],
    },
    "objective": {"minimize": "cost"},
}


@pytest.mark.parametrize("least", [3e15, 4.75e15, 7.54e15, 1e16, 1.04e16])
def test_no_value_that_would_do_rests_on_an_end_of_a_search(least: float) -> None:
    """Of the level that needs most cards (5e6 are searched first) more fit a power, and a value without it was told."""
    limits = {"throughput": {"min": least}, "power": {"max": 2.1e-10 * least}}
    asked = STATION | {"limits": limits}
    most = dse.solve(asked | {"objective": {"maximize": "throughput"}, "limits": {"power": limits["power"]}})
    lowest = dse.solve(
        asked | {"objective": {"minimize": "power"}, "limits": {"throughput": limits["throughput"]}}
    )
    assert most.status is lowest.status is Status.OPTIMAL
    wanted = {"throughput": most.objective, "power": lowest.objective}
    alone = dse.solve(asked)
    assert alone.status is Status.INFEASIBLE
    assert dict(alone.conflict) == pytest.approx(wanted, rel=1e-6)
    caps = {"path": "limits.power.max", "values": [2.1e-10 * least, 1e-10 * least]}
    swept = dse.sweep(dse.load(asked | {"sweep": {"cap": caps}}), progress=False)
    told = swept["would_do"].isel(cap=0)
    assert {n: float(told.sel(limit=n)) for n in wanted} == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("least", [7.54e15, 1e16])
@pytest.mark.parametrize("measure", ["mean", "worst"])
def test_no_optimum_over_samples_rests_on_an_end_of_a_search(least: float, measure: str) -> None:
    """Twice the power fits twice as much of what fits best, whatever is searched first; 11 % less was "optimal"."""

    def most(throughput: float) -> Solution:
        asked = STATION | {
            "uncertain": {"supply_efficiency": {"uniform": [0.9, 0.94]}, "sampling": {"samples": 2}},
            "objective": {"maximize": "throughput", "measure": measure},
            "limits": {"power": {"max": 2.1e-10 * throughput}},
        }
        found = dse.solve(asked)
        assert found.status is Status.OPTIMAL
        return found

    # of a tenth no end of a search is near; steps of 100 W make the difference
    tenth = most(least / 10).objective
    assert tenth is not None
    assert most(least).objective == pytest.approx(10 * tenth, rel=1e-3)
