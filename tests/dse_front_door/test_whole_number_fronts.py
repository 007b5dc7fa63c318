"""Fronts of whole numbers: true ends, designs that are proved best, spread evenly, against enumeration."""

import copy
import itertools
import math
import tomllib
from typing import Any

import numpy as np
import oracle_reading as reading
import oracle_station
import pytest

import dse
from dse.fronts import front as front_module
from solvers.fronts import program_front
from solvers.linear import scaling

LIBRARY = reading.ROOT / "scenarios" / "library"
TYPES = ("tms320c5515", "imx515", "omap3503")
# HiGHS keeps its rows to 1e-10 and the other objective may be given away to 1e-9
CLOSE = 1e-8


def station(**changes: Any) -> dict[str, Any]:
    """The library's station of two types, of three to choose from."""
    told = tomllib.loads((LIBRARY / "station_cheapest_mix_in_10_kw.toml").read_text())
    told |= {"machine": {t: t for t in TYPES}, "objective": {"minimize": ["cost", "power"]}}
    return copy.deepcopy(told) | changes


def least_cost(cap: float) -> float | None:
    """The cheapest station within a power, by enumeration."""
    told = station(objective={"minimize": "cost"})
    told["limits"]["power"] = {"max": f"{cap!r} W"}
    return oracle_station.optimum(told)


def gaps(found: Any, names: tuple[str, str]) -> list[float]:
    """Distances between neighbours where either objective's logarithm goes from 0 to 1."""
    logs = [np.log(found[n].values) for n in names]
    at = np.stack([(x - x.min()) / (x.max() - x.min()) for x in logs], axis=1)
    return [math.dist(p, q) for p, q in itertools.pairwise(at)]


@pytest.fixture(scope="module")
def front() -> Any:
    return dse.front(station(), points=6)


def test_a_station_has_as_many_points_as_asked_for_and_all_are_proved(front: Any):
    assert front.sizes["front"] == 6
    assert (front.status == 1).all()
    assert (front.gap <= 1e-6).all()
    assert front.attrs["front"] == "certified points; the set is not complete"


def test_a_station_s_points_are_what_enumeration_finds(front: Any):
    for cost, power in zip(front.cost.values, front.power.values, strict=True):
        assert cost == pytest.approx(least_cost(float(power) * (1 + CLOSE)), rel=CLOSE)
        less = least_cost(float(power) * (1 - 10 * CLOSE))
        assert less is None or less > cost * (1 + CLOSE), "no other station is as cheap with less power"


def test_a_station_s_ends_are_those_of_either_objective_alone(front: Any):
    for name, place in (("cost", 0), ("power", -1)):
        alone = dse.solve(station(objective={"minimize": name}))
        assert float(front[name][place]) == pytest.approx(alone.objective, rel=CLOSE)
    assert least_cost(float(front.power[-1]) * (1 - 10 * CLOSE)) is None


def test_a_station_s_points_are_spread(front: Any):
    """Halving the widest gap leaves none above four times its share of the longest front there can be, which is 2."""
    assert max(gaps(front, ("cost", "power"))) <= 4 * 2 / 5


def test_what_is_proved_of_a_station_holds_everywhere(front: Any):
    """Enumeration within any power is between the stairs: designs above, proofs below."""
    place, low, high = (front[f"enclosure_{n}"].values for n in ("at", "lower", "upper"))
    ends = float(front.power[-1]), float(front.power[0])
    for cap in np.geomspace(*ends, 9)[1:-1]:
        cost = least_cost(float(cap))
        assert cost is not None
        near = slice(
            max(np.searchsorted(place, cost * (1 - CLOSE)) - 1, 0),
            np.searchsorted(place, cost * (1 + CLOSE), side="right") + 1,
        )
        assert low[near].min() * (1 - CLOSE) <= cap
        assert high[near].min() <= high.max()


@pytest.fixture
def six() -> dict[str, Any]:
    """Whole regions of which bytes weigh more on one processor and flops on the other."""
    sizes = [("a", 35, 3), ("b", 8, 32), ("c", 57, 187), ("d", 455, 84), ("e", 7, 19), ("f", 21, 30)]
    return {
        "model": "partition",
        "machine": {"cpu": "i3-2100t-tang2017", "gpu": "gtx-750-tang2017"},
        "given": {
            "regions": [
                {"name": n, "flops": f * 1e9, "bytes": b * 1e9, "divisible": False} for n, f, b in sizes
            ]
        },
        "objective": {"minimize": ["energy", "time"]},
    }


@pytest.mark.parametrize("enough", [40, 20])
def test_a_small_set_is_complete_whatever_is_asked_for(
    six: dict[str, Any], enough: int, monkeypatch: pytest.MonkeyPatch
):
    """By single questions, as a set too large for enumeration is found: the same designs, said to be complete."""
    every = dse.front(six)
    monkeypatch.setattr(program_front, "MOST_COMBINED", 0)
    found = dse.front(six, points=enough)
    assert found.attrs["front"] == "complete non-dominated set"
    for name in ("energy", "time"):
        np.testing.assert_allclose(found[name], every[name], rtol=1e-9)


@pytest.mark.parametrize("size", [1e-2, 1e-3, 3e-4])
def test_designs_that_hardly_differ_are_told_apart_or_not_said_to_be_all(
    six: dict[str, Any], size: float, monkeypatch: pytest.MonkeyPatch
):
    """A limit holds to 1e-8 only: that nothing lies beside a design takes a probe farther away than that."""
    tiny = {"name": "tiny", "flops": size * 1e9, "bytes": size * 1e8, "divisible": False}
    six["given"]["regions"] = [r for r in six["given"]["regions"] if r["name"] in "abc"] + [tiny]
    every = dse.front(six)
    monkeypatch.setattr(program_front, "MOST_COMBINED", 0)
    found = dse.front(six, points=40)
    assert found.attrs["front"] == "complete non-dominated set"
    for name in ("energy", "time"):
        np.testing.assert_allclose(found[name], every[name], rtol=1e-9)


def test_some_points_of_a_large_set_are_spread_and_on_the_front(
    six: dict[str, Any], monkeypatch: pytest.MonkeyPatch
):
    every = dse.front(six)
    monkeypatch.setattr(program_front, "MOST_COMBINED", 0)
    found = dse.front(six, points=4)
    assert found.sizes["front"] == 4 < every.sizes["front"]
    places = [int(np.abs(every.energy.values / e - 1).argmin()) for e in found.energy.values]
    np.testing.assert_allclose(found.energy, every.energy[places], rtol=1e-9)
    np.testing.assert_allclose(found.time, every.time[places], rtol=1e-9)
    assert places[0] == 0
    assert places[-1] == every.sizes["front"] - 1
    # no gap is wider than one that halving had to leave: the widest steps of the set itself, or half of all
    widest = max(gaps(every, ("energy", "time")))
    assert max(gaps(found, ("energy", "time"))) <= max(widest, 1.0)


def test_designs_worse_in_one_objective_than_the_best_of_all_others_are_on_the_front():
    """Every number from 1 to 9 is on the front; the middle ones are worse in the third objective than either end."""
    asked = {
        "model": "nbody",
        "machine": "balanced",
        "given": {"bodies": 1e5, "flops_per_pair": 10, "processors": 100, "memory": 5000},
        "decide": {"share": {"min": 1, "max": 9, "integer": True}},
        "define": {"low": "share", "high": "10 - share", "middle": "1 + share * (10 - share)"},
        "objective": {"minimize": ["low", "high", "middle"], "front": {"points": 20}},
    }
    front = dse.front(dse.load(asked))
    assert front["low"].values.tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert front.attrs["method"].startswith("complete non-dominated set")


def test_that_no_counts_are_a_little_cheaper_is_proved_at_once(monkeypatch: pytest.MonkeyPatch):
    """The cheapest of each type at each level, and nothing between: a search in which limits may give took minutes."""
    monkeypatch.setattr(scaling, "PROGRAM_SECONDS", 5.0)
    station: dict[str, Any] = {
        "model": "sockets",
        "given": {
            "levels": [
                {"name": "full", "frequency": 1, "voltage": 1},
                {"name": "low", "frequency": 0.6, "voltage": 0.8},
            ],
            "cards": [{"name": "of 64", "sockets": 64, "cost": 37.6, "power": 0.082}],
        },
        "decide": {"machine.socket": {"values": ["tms320c5515", "imx515"]}},
        "limits": {"throughput": {"min": 1e12}},
    }
    found = dse.front({**station, "objective": {"minimize": ["cost", "power"]}}, points=6)
    assert found.attrs["method"].startswith("complete non-dominated set (4 points")
    # a milliwatt less than the least power at that price is out of reach
    just_below = {"throughput": {"min": 1e12}, "power": {"max": float(found["power"][1]) - 1e-3}}
    answer = dse.solve({**station, "limits": just_below, "objective": {"minimize": "cost"}}, depth="limits")
    assert answer.objective == pytest.approx(float(found["cost"][2]), rel=1e-9)


def test_few_designs_of_a_machine_that_is_chosen_are_all_on_the_front_that_are_best():
    machines, processors, memory = (
        ["jaketown", "balanced"],
        [2**k for k in range(8)],
        [2**k for k in range(8, 16)],
    )
    given = {"bodies": 1e4, "flops_per_pair": 10}
    asked = {
        "model": "nbody",
        "given": given,
        "decide": {
            "machine": {"values": machines},
            "processors": {"values": processors},
            "memory": {"values": memory},
        },
        "objective": {"minimize": ["power", "time"]},
        "limits": {"energy": {"max": "1 J"}},
    }
    every = []
    for machine, p, words in itertools.product(machines, processors, memory):
        numbers = {**given, "processors": p, "memory": words}
        of = {"model": "nbody", "machine": machine, "given": numbers, "limits": asked["limits"]}
        told = dse.solve(of)
        if all(limit.slack >= -1e-8 for limit in told.limits.values()):
            every.append((told.metrics["power"], told.metrics["time"]))
    best, least = [], np.inf
    for power, time in sorted(every):
        if time < least * (1 - 1e-12):
            best.append((power, time))
            least = time
    found = dse.front(asked, points=3)
    assert found.attrs["front"] == "complete non-dominated set"
    assert len(best) > 3
    np.testing.assert_allclose(found["power"], [a for a, _ in best], rtol=1e-9)
    np.testing.assert_allclose(found["time"], [b for _, b in best], rtol=1e-9)


MANY_LISTED: dict[str, Any] = {
    "model": "nbody",
    "machine": "jaketown",
    "given": {"bodies": 96000, "flops_per_pair": 10},
    "decide": {
        "processors": {"min": 2, "max": 300, "integer": True},
        "memory": {"values": [46.5, 626.1, 651.9, 750.0, 2169.5, 2411.4, 3725.5, 15494.3]},
    },
    "objective": {"minimize": ["time", "power"]},
}


def test_a_complete_front_of_more_points_than_are_told_says_so(monkeypatch: pytest.MonkeyPatch):
    """Of 1266 designs that none betters some are told, evenly, with both ends; what lies between is known exactly."""
    processors, memory = np.arange(2.0, 301.0), MANY_LISTED["decide"]["memory"]["values"]
    given = {k: MANY_LISTED[k] for k in ("model", "machine", "given")}
    along = {"processors": processors.tolist(), "memory": memory}
    swept = {n: {"path": f"given.{n}", "values": v} for n, v in along.items()}
    every = dse.evaluate(given | {"sweep": swept})
    n, p, m = MANY_LISTED["given"]["bodies"], processors[:, None], np.array(memory)
    # from one copy of the data to full replication
    allowed = (n / p <= m * (1 + 1e-9)) & (m <= n / np.sqrt(p) * (1 + 1e-9))
    time, power = (every[name].values[allowed] for name in ("time", "power"))
    order = np.lexsort((power, time))
    time, power = time[order], power[order]
    best = power < np.concatenate([[np.inf], np.minimum.accumulate(power)[:-1] * (1 - 1e-12)])
    time, power = time[best], power[best]
    assert time.size > 1000

    few = dse.front(MANY_LISTED, points=20)
    told = f"20 of the {time.size} points of the complete non-dominated set: all 2392 combinations were evaluated"
    assert few.attrs["method"] == told
    assert few.attrs["front"] == "certified points; the set is not complete"
    assert few.attrs["enclosure"] == "exact: the front itself"
    assert few.attrs["enclosure_width"] == 0.0
    np.testing.assert_allclose([few.time[0], few.power[-1]], [time[0], power[-1]], rtol=1e-12)
    places = np.searchsorted(time, few.time.values * (1 - 1e-9))
    np.testing.assert_allclose(few.power, power[places], rtol=1e-9)
    steps = gaps(few, ("time", "power"))
    assert max(steps) < 3 * min(steps)
    # nothing is between neighbours of all, and designs that are not told between the others
    np.testing.assert_array_equal(few.joined[:-1], np.where(np.diff(places) == 1, 0, -1))

    monkeypatch.setattr(front_module, "MOST_FRONT_POINTS", 30)
    for asked in ({}, {"tolerance": 0.05}):
        assert dse.front(MANY_LISTED, **asked).attrs["method"].startswith(f"30 of the {time.size} points")
    assert dse.front(MANY_LISTED, points=31).sizes["front"] == 31
