"""Least energy times time, and other questions that are not programs over amounts that may be 0."""

import itertools
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from program_questions import kinds, regions, toy

import dse
from dse.models.arithmetic import differs, log, maximum, per, pick, reaches, some
from formulations.arithmetics import enclosures
from formulations.arithmetics.affine import Product, symbol
from formulations.arithmetics.posynomial import Refused
from formulations.programs.program import product
from results.solution import Status
from scenarios.question import Decision, Limit
from solvers import boxes, designs
from solvers.answer import answer
from solvers.linear import program_product
from solvers.linear.program_product import Line, Stretch
from solvers.nonlinear import interval, methods, scip
from solvers.sampling import sampler

SEED = st.integers(0, 10**6)


@settings(max_examples=8, deadline=None)
@given(seed=SEED, count=st.integers(1, 8), many=st.integers(2, 3), level=st.floats(0.0, 1.0))
def test_whole_regions_against_every_placement(seed: int, count: int, many: int, level: float) -> None:
    share = regions(seed, count, many)
    every = share.every()
    allowed = float(np.quantile(every["time"], level)) * (1 + 1e-9)
    q = share.question("energy_delay", Limit("time", maximum=allowed))
    least = float((every["time"] * every["energy"])[every["time"] <= allowed].min())
    p = product(q)
    assert p is not None
    found = program_product.minimise(p)
    assert found is not None
    assert found.status is Status.OPTIMAL
    assert found.bound is not None
    assert least * (1 - 1e-6) <= found.bound <= least * (1 + 1e-9)
    assert answer(q, neighbours=False).objective == pytest.approx(least, rel=1e-6)


@settings(max_examples=6, deadline=None)
@given(seed=SEED)
def test_shares_against_a_fine_grid(seed: int) -> None:
    """Two regions on two processors: no point of a grid is better, and the bound is below all of it."""
    share = regions(seed, 2, 2)
    s = answer(share.question("energy_delay", whole=False), neighbours=False)
    assert s.status is Status.OPTIMAL
    assert s.objective is not None
    assert s.gap is not None
    assert s.gap <= 1e-6
    c, x = share.costs, np.stack(np.meshgrid(*[np.linspace(0.0, 1.0, 401)] * 2)).reshape(2, -1)
    on = [(x * v[:, None]).sum(0) for v in (share.flops, share.bytes)]
    off = [((1 - x) * v[:, None]).sum(0) for v in (share.flops, share.bytes)]
    times = [
        np.maximum(c["time_per_flop"][k] * f, c["time_per_byte"][k] * b) for k, (f, b) in enumerate((on, off))
    ]
    time = np.maximum(*times)
    spent = [c["energy_per_flop"][k] * f + c["energy_per_byte"][k] * b for k, (f, b) in enumerate((on, off))]
    grid = time * (spent[0] + spent[1] + c["constant_power"].sum() * time)
    # the gap that counts as closed
    assert s.objective <= grid.min() * (1 + 1e-6)
    assert s.objective >= grid.min() * 0.97


@settings(max_examples=5, deadline=None)
@given(seed=SEED, count=st.integers(1, 3), level=st.floats(1.05, 5.0))
def test_blocks_share_a_denominator(seed: int, count: int, level: float) -> None:
    system = kinds(seed, count)
    plates = system.costs["constant_power"] + system.costs["usable_power"]
    watts = float(plates.min() * level)
    every = system.every(int(level) + 1)
    least = float(every["energy_delay"][every["nameplate_power"] <= watts * (1 + 1e-9)].min())
    q = system.question("energy_delay", Limit("nameplate_power", maximum=watts))
    p = product(q)
    # of a single kind, energy does not depend on how many there are
    assert (p is None) == (count == 1)
    if p is not None:
        found = program_product.minimise(p)
        assert found is not None
        assert found.bound == pytest.approx(least, rel=1e-6)
    assert answer(q, neighbours=False).objective == pytest.approx(least, rel=1e-6)


def test_more_blocks_are_always_better() -> None:
    s = answer(kinds(1, 2).question("energy_delay"))
    assert s.status is Status.UNBOUNDED
    assert s.runaway.startswith("count.")


def test_a_product_is_found_and_only_lives_with_numbers() -> None:
    x, y = symbol(Decision("x")), symbol(Decision("y"))
    found = 2.0 * ((x + 1.0) * per(y, x + 2.0)) / 4.0
    assert isinstance(found, Product)
    assert found.factors[0].numerator.terms == {"x": 0.5}
    helpers = (
        some(found),
        maximum(found, x),
        maximum(x, found),
        log(found),
        reaches(found, 1.0),
        per(1.0, found),
    )
    sums = (found + 1.0, 1.0 - found, found * x, found / x, found**2, -found, x * found, x + found, x - found)
    for lost in (*helpers, *sums, x / found, found + found, found * found):
        assert isinstance(lost, Refused)
        assert not isinstance(lost, Product)
        assert lost.reason == "a product of two things that are decided"
    assert product(regions(1, 2, 2).question("time")) is None
    # of a greatest one it is only told where it has no end
    assert methods.answered_as_product(regions(1, 2, 2).question("energy_delay", maximize=True)) is None


def test_infeasible_products_name_their_conflict() -> None:
    for whole in (False, True):
        share = regions(3, 3, 2)
        least = float(share.every()["time"].min())
        s = answer(share.question("energy_delay", Limit("time", maximum=0.2 * least), whole=whole))
        assert s.status is Status.INFEASIBLE
        assert any("time" in c for c in s.conflicts)
        assert s.conflict["time"] is not None


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_a_stretch_is_never_better_than_it_says(data: st.DataObject) -> None:
    """Against a fine walk over b times the highest line."""
    number = st.floats(0.1, 10.0)
    low = data.draw(number)
    high = low * (1.0 + data.draw(st.floats(0.01, 5.0)))
    slopes = [data.draw(st.floats(0.0, 5.0)) for _ in range(3)]
    sloped = [Line(data.draw(number) + slope * high, slope) for slope in slopes]
    s = Stretch(low, high, (Line(data.draw(number)),))
    for line in sloped:
        s = s.below(line)
    bound, cut = s.least()
    b = np.linspace(low, high, 2001)
    lines = [np.full(b.shape, s.lines[0].height), *(x.over(b) for x in sloped)]  # type: ignore[arg-type]
    walked = float((b * np.max(lines, axis=0)).min())
    assert bound <= walked * (1 + 1e-12) + 1e-12
    assert bound == pytest.approx(walked, rel=0.02, abs=1e-3)
    assert low < cut < high


MIXED: dict[str, Any] = {
    "model": "partition",
    "given": {
        "link_bandwidth": "7.2 GB/s",
        "regions": [
            {"name": f"r{k}", "flops": f"{flops} Gflop", "bytes": f"{size} GB", "divisible": k in (0, 3, 6)}
            for k, (flops, size) in enumerate(
                [(40, 20), (2, 16), (90, 30), (10, 40), (200, 8), (30, 30), (5, 60), (70, 12)]
            )
        ],
        "transfers": [{"from": f"r{k}", "to": f"r{k + 1}", "bytes": "0.5 GB"} for k in range(7)],
    },
    "machine": {"cpu": "epyc-9654", "gpu": "h100-pcie", "small": "l4"},
    "objective": {"minimize": "energy_delay"},
}


def test_chords_close_a_product_in_few_programs() -> None:
    """By steps it took 42 programs, each a search over whole numbers: the least product is next to an end of them."""
    s = dse.solve(MIXED)
    assert s.status is Status.OPTIMAL
    assert s.objective == pytest.approx(4.1009567, rel=1e-6)
    told = re.search(r"(\d+) programs leave a gap", s.certificate)
    assert told is not None
    assert int(told[1]) <= 12


def test_of_a_limit_with_room_it_is_told_that_no_more_of_it_helps() -> None:
    s = dse.solve({**MIXED, "limits": {"power": {"max": "1000 W"}}})
    assert s.status is Status.OPTIMAL
    assert "where the answer next changes with power" not in s.certificate
    assert s.limits["power"].next_change is None
    loose = dse.solve(MIXED)
    tight = dse.solve({**MIXED, "limits": {"power": {"max": "500 W"}}})
    assert tight.objective is not None
    assert loose.objective is not None
    assert tight.objective > loose.objective


def messy(g: Any) -> dict[str, Any]:
    """No program: products of whole counts and shares, a menu, an indicator."""
    speed = 0.5 + g.x * (1.0 + g.n)
    return {
        "time": per(10.0, speed) + 0.5 * some(g.n),
        "energy": (1.0 + g.n * g.n) * pick(g.a, (3.0, 2.0, 4.0)) + 4.0 * g.x * g.x + differs(g.a, 1.0),
    }


def by_walking(limit: float) -> float:
    x = np.linspace(0.0, 1.0, 20001)
    best = np.inf
    for n, (a, price) in itertools.product(range(4), enumerate((3.0, 2.0, 4.0), start=1)):
        time = 10.0 / (0.5 + x * (1 + n)) + 0.5 * (n > 0)
        energy = (1 + n * n) * price + 4 * x * x + (a != 1)
        if np.any(time <= limit):
            best = min(best, float(energy[time <= limit].min()))
    return best


@pytest.mark.parametrize("limit", [6.0, 9.0, 25.0])
def test_what_is_no_program_is_still_answered_with_zeros_allowed(limit: float) -> None:
    decide = {
        "x": Decision("x"),
        "n": Decision("n", integer=True),
        "a": Decision("a", integer=True, values=(1.0, 2.0, 3.0)),
    }
    q = toy(messy, decide, "energy", limits=[Limit("time", maximum=limit)], tops={"x": 1.0, "n": 3.0})
    s = answer(q)
    assert s.status in (Status.OPTIMAL, Status.FEASIBLE), s.message
    least = by_walking(limit)
    assert s.objective == pytest.approx(least, rel=1e-3)
    assert s.bound is not None
    assert s.bound <= least * (1 + 1e-9)
    found = sampler.solve(q, trials=200)
    assert found.status is Status.FEASIBLE
    assert "0" in scip.solve(q).message
    none = answer(
        toy(messy, decide, "energy", limits=[Limit("time", maximum=1.0)], tops={"x": 1.0, "n": 3.0})
    )
    assert none.status is Status.INFEASIBLE
    assert ("time",) in none.conflicts or any("time" in c for c in none.conflicts)


def test_counts_from_zero_and_menus_are_enumerated() -> None:
    decide = {
        "n": Decision("n", integer=True),
        "a": Decision("a", integer=True, values=(1.0, 2.0, 3.0)),
    }

    def run(g: Any) -> dict[str, Any]:
        return {
            "cost": (1.0 + g.n * g.n) * pick(g.a, (3.0, 2.0, 4.0)) + 9.0 * differs(g.a, 3.0),
            "n2": g.n * g.n,
        }

    q = toy(run, decide, "cost", tops={"n": 50.0})
    assert designs.grid(q).size == 153
    assert answer(q).objective == pytest.approx(4.0)
    assert answer(q).variables == {"n": 0.0, "a": 3.0}
    least = toy(run, decide, "cost", limits=[Limit("n2", minimum=2.0)], tops={"n": 50.0})
    assert answer(least).variables == {"n": 2.0, "a": 2.0}
    assert answer(least).objective == pytest.approx(19.0)


@given(x=st.floats(0.0, 1.0), n=st.integers(0, 3), a=st.integers(1, 3), data=st.data())
@settings(max_examples=100, deadline=None)
def test_bounds_on_boxes_with_zeros_hold(x: float, n: int, a: int, data: st.DataObject) -> None:
    decide = {
        "x": Decision("x"),
        "n": Decision("n", integer=True),
        "a": Decision("a", integer=True, values=(1.0, 2.0, 3.0)),
    }
    q = toy(messy, decide, "energy", limits=[Limit("time", maximum=9.0)], tops={"x": 1.0, "n": 3.0})
    low = np.array([[data.draw(st.sampled_from([0.0, x / 2, x])), data.draw(st.integers(0, n)), 1.0]])
    high = np.array([[data.draw(st.sampled_from([x, 1.0])), data.draw(st.integers(n, 3)), 3.0]])
    if data.draw(st.booleans()):
        low[0, 2] = high[0, 2] = float(a)
    point = np.array([[x, float(n), float(a)]])
    worst, goal = boxes.measured(q, point)
    e = boxes.enclose(q, low, high)
    assert e.low[0, 0] * (1 - 1e-12) <= worst[0] <= e.high[0, 0] * (1 + 1e-12)
    assert e.low[1, 0] * (1 - 1e-12) <= goal[0] <= e.high[1, 0] * (1 + 1e-12)
    if worst[0] <= 1:
        kept_low, kept_high = enclosures.contract(
            e, low, high, boxes.cutoffs(q, e, target=goal[0] * (1 + 1e-9))
        )
        assert np.all(kept_low <= point * (1 + 1e-9))
        assert np.all(point * (1 - 1e-9) <= kept_high)
        kept = boxes.tighten(q, boxes.space(q))
        assert kept is not None
        assert np.all(kept[0] <= point[0] * (1 + 1e-9))
        assert np.all(point[0] * (1 - 1e-9) <= kept[1])


def test_intervals_prove_a_minimum_at_zero() -> None:
    q = toy(
        lambda g: {"cost": 1.0 + g.x * g.y + g.x},
        {n: Decision(n) for n in "xy"},
        "cost",
        tops={"x": 2.0, "y": 2.0},
    )
    found = interval.solve(q)
    assert found.status is Status.OPTIMAL
    assert found.x is not None
    assert found.x["x"] == pytest.approx(0.0, abs=1e-6)
    assert found.bound == pytest.approx(1.0, rel=1e-6)
