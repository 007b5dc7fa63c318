"""Grids of questions that divide by sums, answered at once: as by themselves, and as a dense scan of all designs."""

from __future__ import annotations

import math
from typing import Any

import balanced_nbody as nb
import numpy as np
import oracle_scans
import points_alone
import pytest
from geometric_grids import batches

import dse
import results.dataset
import scenarios
from formulations import canonical as canon
from formulations import handover
from formulations.canonical import Canonical, Divisor
from formulations.grids import batch, divided, over_grid, quotients
from results.dataset import STATUS_CODES, Arrays
from results.solution import Status
from scenarios.sweep.grids import Grid
from solvers.answer import answer
from solvers.geometric.kernel import gp
from solvers.geometric.points import geometric
from solvers.geometric.programs import branch, nudges, ties

OPTIMAL, INFEASIBLE = STATUS_CODES[Status.OPTIMAL], STATUS_CODES[Status.INFEASIBLE]
FREE = {"processors": {"max": 65536}, "memory": {}}
WHOLE = {"processors": {"max": 65536, "integer": True}, "memory": {}}
POWERS = {"processors": {"max": 65536, "powers_of": 2}, "memory": {}}
GIVEN = {"nbody": {"bodies": 1e5, "flops_per_pair": 10}, "lu": {"order": 1e4}}


def log(start: float, stop: float, num: int) -> list[float]:
    return np.geomspace(start, stop, num).tolist()


def asked(
    axes: dict[str, list[float]],
    objective: dict[str, str],
    *,
    model: str = "nbody",
    decide: dict[str, Any] | None = None,
    limits: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """A question of the balanced machine, with an axis of values for each path; limits on an axis need no more."""
    named = [path.split(".") for path in axes if path.startswith("limits.")]
    return {
        "model": model,
        "machine": "balanced",
        "given": GIVEN[model],
        "decide": decide or FREE,
        "objective": objective,
        "limits": {name: {side: 1.0} for _, name, side in named} | (limits or {}),
        "sweep": {f"axis{i}": {"path": p, "values": v} for i, (p, v) in enumerate(axes.items())},
    }


def grid(question: dict[str, Any]) -> Grid:
    return scenarios.grid(dse.load(question))


def at_once(of: Grid) -> tuple[Arrays, np.ndarray]:
    """All points together, by NumPy."""
    way = geometric.over(of, compiled=False)
    return way.solve(results.dataset.layout(of), tuple(slice(0, n) for n in of.shape))


LEAST_TIME, LEAST_ENERGY, LEAST_POWER = ({"minimize": n} for n in ("time", "energy", "power"))
CAPS = {"limits.power.max": log(3.0, 3e5, 6)}
ASKED = {
    "a cap on power": asked(CAPS | {"given.bodies": [1e4, 1e5, 1e6]}, LEAST_ENERGY),
    "least power by a deadline": asked(
        {"limits.time.max": log(1e-3, 10.0, 6), "decide.processors.max": [1e2, 1e4]}, LEAST_POWER
    ),
    "power of one processor": asked(
        {"limits.power_per_processor.max": log(0.2, 100.0, 4), "machine.leakage_power": [0.0, 0.05, 5.0]},
        LEAST_TIME,
    ),
    "most performance, a least efficiency": asked(
        {"limits.power.max": log(10.0, 1e5, 4), "limits.efficiency.min": [0.0, 1e9, 2.2e9]},
        {"maximize": "performance"},
    ),
    "sums of two variables": asked(
        {"limits.power.max": [1e6], "given.order": [1e3, 1e4]}, LEAST_TIME, model="lu"
    ),
    "powers of two": asked(CAPS | {"limits.time.max": [1e-2, 1.0, 100.0]}, LEAST_ENERGY, decide=POWERS),
    "whole processors": asked(CAPS | {"given.bodies": [1e4, 1e6]}, LEAST_TIME, decide=WHOLE),
}  # fmt: skip

TIMED_BY_CLOCK = {"machine.time_per_flop": "1 / (16 flop/cycle * clock)"}
ASKED["sums of a product"] = {
    **asked(
        {"limits.power.max": log(200.0, 2e4, 4), "limits.time.max": [2.0, 6.0]},
        LEAST_ENERGY,
        decide={"clock": {"min": "0.8 GHz", "max": "3.2 GHz"}, "processors": {"max": 4096}, "memory": {}},
    ),
    "machine": "jaketown",
    "given": {"bodies": 1e6, "flops_per_pair": 20},
    "define": TIMED_BY_CLOCK,
}
"""The time is a sum of two terms, whose ratio depends on the product of memory and the inverse of the clock alone."""
TOLD_WHY = {"a cap on power", "powers of two"}


@pytest.mark.parametrize("name", ASKED)
def test_every_number_is_that_of_the_question_alone(name: str):
    """Compare every variable of the dataset, at points drawn by lot, with the answer to the point's question."""
    of = grid(ASKED[name])
    plan = results.dataset.layout(of)
    arrays, left = at_once(of)
    assert left.mean() < 0.05
    assert not points_alone.completed(of, plan, arrays, left)
    for status, count in ((OPTIMAL, 1), (INFEASIBLE, int(name in TOLD_WHY))):
        places = np.argwhere(~left & (arrays["status"] == status))
        assert len(places) or status == INFEASIBLE
        points_alone.assert_same(of, plan, arrays, points_alone.drawn(places, count, seed=1))


def _least_time(cap: float, most: float, allowed: Any = None) -> float | None:
    """Least time under a cap on average power: every memory tried, the processors that it allows."""

    def processors(memory: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        # all that runs on p processors: energy does not depend on them, time is that of one over p
        high = np.minimum(
            np.minimum(most, (nb.N / memory) ** 2), cap * nb.time(1.0, memory) / nb.energy(memory)
        )
        low = np.maximum(1.0, nb.N / memory)
        return low, high if allowed is None else allowed(high * (1 + 1e-12))

    def scan(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        low, high = processors(np.exp(y))
        return nb.time(np.maximum(high, 1e-9), np.exp(y)), np.log(low / np.maximum(high, 1e-9))

    best = oracle_scans.refine(scan, 0.0, math.log(nb.N), maximize=False, points=20_001)
    return None if best is None else float(scan(np.array([best]))[0][0])


@pytest.mark.parametrize(
    ("decide", "allowed"),
    [(FREE, None), (WHOLE, np.floor), (POWERS, lambda p: 2.0 ** np.floor(np.log2(np.maximum(p, 1e-300))))],
    ids=["real", "whole", "powers of two"],
)
def test_a_dense_scan_of_all_designs_finds_the_same(decide: dict[str, Any], allowed: Any):
    """Caps that rule out everything, that bind, and that do not; one processor and many."""
    caps, most = log(1.0, 1e6, 9), [1.0, 7.0, 300.0, 65536.0]
    of = grid(asked({"limits.power.max": caps, "decide.processors.max": most}, LEAST_TIME, decide=decide))
    arrays, left = at_once(of)
    # on one processor two limits meet, and no multiplier is unique: that is for the single path
    assert not left[:, 1:].any()
    best = np.array([[_least_time(cap, p, allowed) or math.nan for p in most] for cap in caps])
    assert np.array_equal(np.isnan(best)[~left], (arrays["status"] == INFEASIBLE)[~left])
    found = arrays["status"] == OPTIMAL
    np.testing.assert_allclose(arrays["objective"][found], best[found], rtol=1e-6)
    assert (arrays["bound"][found] <= best[found] * (1 + 1e-9)).all()
    assert (arrays["gap"][found] <= 1e-6).all()
    assert 0.05 < np.isnan(best).mean() < 0.5


def test_many_optima_are_settled_by_the_tie_rule():
    """Where the cap has room the energy leaves the number of processors open: as many as there can be."""
    of = grid(asked({"limits.power.max": log(1e3, 1e5, 12)}, LEAST_ENERGY, decide=WHOLE))
    arrays, left = at_once(of)
    assert not left.any()
    np.testing.assert_allclose(arrays["energy"], nb.LEAST, rtol=1e-8)
    # to a tie of 1e-9 the memory has room, so that the number of processors may be the next one
    most = np.minimum((nb.N / nb.M0) ** 2, np.array(of.axes[0].values) * nb.time(1.0, nb.M0) / nb.LEAST)
    assert (np.abs(arrays["processors"] - most) <= 1.0 + 1e-4 * most).all()
    assert (arrays["processors"] == np.round(arrays["processors"])).all()
    alone = answer(of.question((6,)), neighbours=False)
    assert abs(alone.variables["processors"] - arrays["processors"][6]) <= 1


def test_a_sweep_goes_this_way_and_is_verified(tmp_path: Any):
    small = dse.load(asked(CAPS | {"given.bodies": log(1e4, 1e6, 9)}, LEAST_ENERGY))
    dataset = dse.sweep(small, tmp_path / "store", progress=False, audit=0)
    assert "monomial secants" in dataset.attrs["method"]
    assert dse.verify(tmp_path / "store", audit=0).passed


def _random(count: int, seed: int) -> Canonical:
    """Two unknowns x, y: least x^a y^b over limits (a sum of 3 terms) / (a sum of 3 powers of y) <= 1."""
    rng = np.random.default_rng(seed)
    exponents = np.concatenate([[[1.0, -0.5]], rng.uniform(-2, 2, (6, 2))])
    logc = np.concatenate([np.zeros((count, 1)), rng.normal(-0.5, 1.5, (count, 6))], axis=1)
    divisors = tuple(
        Divisor(row, np.zeros(2), np.array([[0.0], [u], [v]]), rng.normal(0, 1, (count, 3)))
        for row, (u, v) in enumerate(rng.uniform(-2, 2, (2, 2)), start=1)
    )
    ends = np.full((count, 2), 3.0)
    return Canonical(
        ("x", "y"),
        exponents,
        logc,
        np.array([0, 1, 4, 7]),
        (),
        -ends,
        ends,
        divisors,
        np.array([[0.0, 1.0]]),
        {},
    )


def test_random_problems_are_all_closed_and_no_design_lies_below_the_bound():
    c = _random(25, seed=1)
    found = branch.search(c, gp.solve)
    assert (found.status != gp.FAILED).mean() > 0.95
    u, v = (a.ravel() for a in np.meshgrid(np.linspace(-3, 3, 101), np.linspace(-3, 3, 101)))
    points = np.stack([u, v], axis=1)
    for i in range(len(c.low)):
        one = divided.take(c, np.full(len(points), i))
        f = canon.values(one, points)
        f[f[:, 1:].max(1) > 0, 0] = np.inf
        least = f[:, 0].min()
        # what a scan meets is a design: never below the bound, and none where there is proved to be none
        if found.status[i] == gp.INFEASIBLE:
            assert not np.isfinite(least)
        elif found.status[i] == gp.OPTIMAL:
            assert found.bound[i] <= least
            assert found.value[i] - found.bound[i] <= 2e-8
            assert canon.values(divided.take(c, [i]), found.y[[i]])[0, 1:].max() <= 1e-9


CHEAP_MEMORY = {"base": "balanced", "memory_power_per_word": "1e-12 W/word"}
HEAVY = {"limits.power.max": log(120.0, 7600.0, 3), "given.flops_per_pair": log(1e6, 1e9, 3)}


@pytest.mark.parametrize(
    ("objective", "open_one"), [(LEAST_ENERGY, "processors"), (LEAST_TIME, "memory")], ids=["energy", "time"]
)
def test_what_is_hardly_felt_is_settled_by_the_tie_rule_as_by_itself(
    objective: dict[str, str], open_one: str
):
    """Memory next to free and few words sent: the memory that a cap on power divides by may be open far."""
    of = grid(asked(HEAVY, objective) | {"machine": CHEAP_MEMORY})
    with handover.collected() as tally:
        arrays, left = at_once(of)
    assert not left.any()
    assert not tally.reasons
    flat = 0
    places = list(np.ndindex(left.shape))
    for place, alone in zip(places, points_alone.answers(of, places), strict=True):
        flat += open_one in alone.ranges
        np.testing.assert_allclose(arrays["objective"][place], alone.objective, rtol=1e-8)
        for name, value in alone.variables.items():
            # a tie of 1e-9 leaves what decides it to the square root of that
            np.testing.assert_allclose(arrays[name][place], value, rtol=3e-4, err_msg=f"{name} {place}")
    assert flat


def test_what_limits_are_worth_settles_no_ties(monkeypatch: pytest.MonkeyPatch):
    """It is the same at all of the best designs."""

    def refused(*_: object) -> None:
        raise AssertionError("nobody asks for that")

    of = grid(asked(HEAVY, LEAST_TIME) | {"machine": CHEAP_MEMORY})
    everything, _ = at_once(of)
    monkeypatch.setattr(ties, "by_rule", refused)
    monkeypatch.setattr(nudges, "reaches", refused)
    kept = {"status", "objective", "bound", "gap", "binding", "elasticity"}
    few, left = geometric.over(of, compiled=False).solve(
        results.dataset.only(results.dataset.layout(of), kept), over_grid.whole(of)
    )
    assert not left.any()
    np.testing.assert_allclose(few["elasticity"], everything["elasticity"], rtol=1e-6, atol=1e-7)


def _by_this_way(name: str) -> bool:
    """Tell whether a ready question is answered by this way."""
    of = scenarios.grid(dse.load(name))
    question = next(iter(of.bases.values()))
    if question.uncertain is not None or len(question.objectives) != 1 or of.size != 1:
        return False
    cases = () if any(x.within for x in question.limits) else batch.structure(question) or ()
    return any(map(batch.divides, cases))


# in parts, and not one by one: to know the questions of this way takes reading all of them
@pytest.mark.parametrize("part", range(4))
def test_no_point_of_a_ready_question_is_handed_over(part: int):
    """Neither along a limit nor along a given number, over a factor of ten around the ready question's values."""
    names = [name for name in sorted(scenarios.library())[part::4] if _by_this_way(name)]
    assert len(names) > 1
    for name in names:
        _assert_nothing_is_handed_over(name)


def _assert_nothing_is_handed_over(name: str) -> None:
    data = dse.load(name).model_dump(exclude_none=True, exclude_defaults=True)
    limits = [f"limits.{n}.{side}" for n, ends in data["limits"].items() for side in ends]
    given = [f"given.{n}" for n, value in data["given"].items() if isinstance(value, int | float)]
    factors = np.geomspace(10**-0.5, 10**0.5, 3).tolist()
    data["sweep"] = {f"a{i}": {"path": p, "factors": factors} for i, p in enumerate((limits[0], given[0]))}
    of = scenarios.grid(dse.Scenario(**data))
    plan = results.dataset.layout(of)
    with handover.collected() as tally:
        arrays, left = at_once(of)
        assert not points_alone.completed(of, plan, arrays, left)
    assert not tally.reasons, name
    assert not left.any(), name


def test_what_divides_without_a_remainder_may_be_taken_out_of_a_ratio():
    """The same least value with and without one more variable, and fewer nodes where it hardly changes."""
    question = asked({"limits.power_per_processor.max": log(0.2, 20.0, 6)}, LEAST_TIME, model="lu")
    of = grid(question | {"machine": "a10g", "given": {"order": 1e5}})
    (d,) = batches(of)
    cap = next(i for i, key in enumerate(d.arrays.keys) if key.name == "power_per_processor")
    c = divided.aimed(d.arrays, cap)
    whole = branch.search(c, gp.solve, value_only=True, most=4000)
    parted = quotients.apart(c)
    assert len(parted.names) == len(c.names) + 1
    apart = branch.search(parted, gp.solve, value_only=True)
    assert (whole.status == gp.OPTIMAL).all()
    assert (apart.status == gp.OPTIMAL).all()
    np.testing.assert_allclose(canon.values(c, apart.y[:, :-1])[:, 0], whole.value, rtol=0, atol=1e-7)
    assert (apart.bound <= whole.value + 1e-9).all()
    assert apart.nodes.max() < whole.nodes.min()


def power_capped() -> tuple[Grid, results.dataset.Layout]:
    grid = scenarios.grid(dse.load(asked({"limits.power.max": log(1e3, 1e5, 12)}, {"minimize": "time"})))
    return grid, results.dataset.layout(grid)


def test_where_no_design_is_kept_none_is_chosen_among_equally_good_ones(monkeypatch: pytest.MonkeyPatch):
    grid, plan = power_capped()
    way, region = geometric.over(grid), over_grid.whole(grid)
    whole, left = way.solve(plan, region)
    assert (whole["status"][~left] == OPTIMAL).sum() > 6

    def gone(*_: Any, **__: Any) -> Any:
        raise RuntimeError("ties are settled")

    monkeypatch.setattr(ties, "choose", gone)
    names = {v.name for v in plan.variables if v.role in {"objective", "bound", "gap", "status"}}
    some, missed = way.solve(results.dataset.only(plan, names), region)
    assert not (missed & ~left).any()
    assert (some["status"][~left] == whole["status"][~left]).all()
    np.testing.assert_allclose(some["objective"], whole["objective"], rtol=1e-8)
    with pytest.raises(RuntimeError, match="ties are settled"):
        way.solve(plan, region)


def test_what_is_surely_worse_than_something_known_is_left_with_its_bound():
    grid, plan = power_capped()
    way, region = geometric.over(grid), over_grid.whole(grid)
    whole, left = way.solve(plan, region)
    best = whole["objective"]
    factors = np.where(np.arange(best.size) % 2, 0.9, 1.0)
    arrays, missed = way.solve(plan, region, below=best * factors)
    optimal = ~left & (whole["status"] == OPTIMAL)
    assert optimal.sum() > 6
    np.testing.assert_array_equal(missed[optimal], factors[optimal] < 1.0)
    beaten = optimal & missed
    assert (arrays["bound"][beaten] > best[beaten] * 0.95).all()
    assert (arrays["bound"][beaten] <= best[beaten]).all()
    for name in ("objective", "bound", "processors", "memory"):
        np.testing.assert_array_equal(arrays[name][optimal & ~missed], whole[name][optimal & ~missed])
