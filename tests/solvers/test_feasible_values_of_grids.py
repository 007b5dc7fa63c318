"""What would do at the infeasible points of a sweep: every way stores the value that one question alone is told."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Callable
from typing import Any

import numpy as np
import points_alone
import pytest
from geometric_grids import batches
from make_expected import LIBRARY
from method_questions import FFT

import dse
import results.dataset
import scenarios
from dse.quantities import show
from dse.sweeping.points import chunk_work
from formulations import handover
from results import flat
from results.dataset import CONFLICTING, STATUS_CODES, layout
from results.page import columns
from results.solution import Status
from solvers import feasible_values
from solvers.answer import answer
from solvers.counting import tables, whole
from solvers.geometric.explaining import relaxed_limits
from solvers.geometric.kernel import gp
from solvers.geometric.points import geometric
from solvers.geometric.points.geometric_answers import answered
from solvers.linear.points import linear
from solvers.nonlinear.points import unstructured
from solvers.sampling import sampler

NBODY: dict[str, Any] = {
    "model": "nbody",
    "machine": "balanced",
    "given": {"bodies": 1e5, "flops_per_pair": 10},
    "decide": {"processors": {"max": 4096}, "memory": {}},
    "objective": {"minimize": "energy"},
    "limits": {"time": {"max": 1}, "energy": {"max": 45}},
    "sweep": {
        "t": {"path": "limits.time.max", "values": [0.001, 0.02, 0.1]},
        "e": {"path": "limits.energy.max", "values": [10, 38, 41]},
    },
}


MILLISECONDS = {"path": "limits.time.max", "values": [1e-3, 2e-2, 1.0]}
REGIONS = [{"flops": f * 1e9, "bytes": b * 1e9} for f, b in ((20.0, 4.0), (7.0, 30.0), (35.0, 12.0))]
PARTITION: dict[str, Any] = {
    "model": "partition",
    "machine": {"cpu": "i3-2100t-tang2017", "gpu": "gtx-750-tang2017"},
    "given": {"regions": REGIONS},
    "objective": {"minimize": "energy"},
    "limits": {"time": {"max": 1.0}, "energy": {"max": 30.0}, "power": {"max": 90.0}},
    "sweep": {
        "t": {"path": "limits.time.max", "values": [0.2, 2.0]},
        "p": {"path": "limits.power.max", "values": [20.0, 90.0]},
    },
}
STATION = tomllib.loads((LIBRARY / "station_least_cost_in_10_kw.toml").read_text(encoding="utf-8"))
MIX = tomllib.loads((LIBRARY / "station_cheapest_mix_in_10_kw.toml").read_text(encoding="utf-8"))
POWERS = {"processors": {"max": 4096, "powers_of": 2}, "memory": {}}
CAPPED = NBODY | {
    "limits": {"time": {"max": 1}, "power": {"max": 100}},
    "sweep": {"t": MILLISECONDS, "w": {"path": "limits.power.max", "values": [3.0, 60.0, 900.0]}},
}
WAYS: dict[str, tuple[dict[str, Any], Callable[[scenarios.Grid], Any]]] = {
    "geometric": (NBODY, lambda grid: geometric.over(grid, compiled=False)),
    "geometric, powers of two": (
        NBODY | {"decide": POWERS},
        lambda grid: geometric.over(grid, compiled=False),
    ),
    "geometric, whole processors that are bounded": (
        NBODY
        | {
            "decide": {"processors": {"max": 4096, "integer": True}, "memory": {}},
            "sweep": {"t": MILLISECONDS, "p": {"path": "decide.processors.max", "values": [2.0, 90.5]}},
        },
        lambda grid: geometric.over(grid, compiled=False),
    ),
    "ratios of sums": (CAPPED, lambda grid: geometric.over(grid, compiled=False)),
    "ratios of sums, powers of two": (
        CAPPED | {"decide": POWERS},
        lambda grid: geometric.over(grid, compiled=False),
    ),
    "tables": (
        PARTITION | {"given": {"regions": [r | {"divisible": False} for r in REGIONS]}},
        tables.over,
    ),
    "tables of powers on each of several machines": (
        {
            "model": "exabounds",
            "given": {"instructions": 1.36e19},
            "decide": {
                "machine": {"values": ["platform-gpu", "platform-server-power"]},
                "machine.count.rack": {"powers_of": 2, "min": 4, "max": 64},
            },
            "objective": {"minimize": "cost"},
            "limits": {"time": {"max": 1.0}},
            "sweep": {"t": {"path": "limits.time.max", "values": [1e5, 1.5e5, 2e5]}},
        },
        tables.over,
    ),
    "linear": (PARTITION, linear.over),
    "whole numbers": (
        STATION
        | {
            "sweep": {
                "demand": {"path": "limits.throughput.min", "values": ["2e13 op/s", "7e13 op/s"]},
                "cap": {"path": "limits.power.max", "values": ["1 kW"]},
            }
        },
        whole.over,
    ),
    "whole numbers, where more sockets on a card than it has places would do": (
        MIX
        | {
            "machine": {n: n for n in ("tms320c5515", "imx515")},
            "sweep": {
                "demand": {"path": "limits.throughput.min", "values": ["8.19304533e13 op/s", "8.3e13 op/s"]}
            },
        },
        whole.over,
    ),
    "one number": (
        {
            "model": "fft",
            "machine": FFT,
            "given": {"points": 2.0**20},
            "decide": {"processors": {"max": 64}},
            "objective": {"minimize": "energy"},
            "limits": {"time": {"max": 1.0}, "power": {"max": 1e3}},
            "sweep": {
                "t": {"path": "limits.time.max", "values": [1e-5, 1.0]},
                "w": {"path": "limits.power.max", "values": [1.0, 1e5]},
            },
        },
        unstructured.over,
    ),
}


def told(grid: scenarios.Grid) -> list[dict[str, float | None]]:
    """What each infeasible point alone is told of its first conflict; nothing for the others."""
    found = []
    for one in points_alone.answers(grid, np.ndindex(grid.shape)):
        first = one.conflicts[0] if one.conflicts else ()
        found.append({n: one.conflict[n] for n in first})
    return found


def test_a_batch_of_geometric_programs_knows_what_one_question_is_told():
    grid = scenarios.grid(dse.load(NBODY))
    (made,) = batches(grid)
    found = answered(made, gp.solve)
    assert found is not None
    values = relaxed_limits.of_batch([made], found.names, found.conflict, gp.solve)
    single = told(grid)
    assert sum(map(bool, single)) >= 3
    for point, expected in enumerate(single):
        if found.status[point] != STATUS_CODES[Status.INFEASIBLE]:
            continue
        members = [n for n, c in zip(found.names, found.conflict[point], strict=True) if c]
        assert members == list(expected)
        for name in members:
            value, alone = values[point, found.names.index(name)], expected[name]
            if alone is None:
                assert np.isinf(value)
            else:
                # both are the optimum of a geometric program, whose gap is 1e-8 at most
                assert value == pytest.approx(alone, rel=1e-7)


@pytest.mark.parametrize("name", WAYS)
def test_every_way_knows_what_one_question_is_told(name: str):
    """All points of a block together, none of them asked again by itself."""
    asked, way = WAYS[name]
    grid = scenarios.grid(dse.load(asked))
    plan, region = layout(grid), tuple(slice(0, n) for n in grid.shape)
    with handover.collected() as tally:
        arrays, left = way(grid).solve(plan, region)
        feasible_values.complete(grid, plan, region, arrays, left)
    assert feasible_values.ALONE not in tally.reasons
    none = ~left & (arrays["status"] == STATUS_CODES[Status.INFEASIBLE])
    assert none.sum() >= 2
    places = list(map(tuple, np.argwhere(none).tolist()))
    for place, alone in zip(places, points_alone.answers(grid, places), strict=True):
        stored = results.dataset.to_arrays(plan, [alone], (1,) * left.ndim)["would_do"].reshape(-1)
        # both close their gap to 1e-7 at least
        np.testing.assert_allclose(arrays["would_do"][place], stored, rtol=1e-6, err_msg=f"{place}")
    assert np.isfinite(arrays["would_do"][none]).any()


def test_what_a_block_leaves_open_is_asked_once_of_points_that_differ_in_that_limit_only():
    grid = scenarios.grid(dse.load(NBODY))
    region = tuple(slice(0, n) for n in grid.shape)
    plan = layout(grid)
    arrays = chunk_work.everything(dataclasses.replace(chunk_work.ready(grid), path=None))
    whole = arrays["would_do"].copy()
    clash = arrays["binding"] == CONFLICTING
    assert np.isfinite(whole[clash]).any()
    assert np.isnan(whole[~clash]).all()
    arrays["would_do"][...] = np.nan
    with handover.collected() as tally:
        feasible_values.complete(grid, plan, region, arrays, np.zeros(grid.shape, bool))
    # a time that would do depends on the energy allowed alone, and the other way round; processors that would, on both
    time, energy, processors = (clash[..., plan.limits.index(n)] for n in ("time", "energy", "processors"))
    kinds = time.any(0).sum() + energy.any(1).sum() + processors.sum()
    assert kinds < clash.sum()
    assert tally.reasons == {feasible_values.ALONE: kinds}
    # asked by itself or beside others, a value is the same but for the rounding of sums of another length
    np.testing.assert_allclose(arrays["would_do"], whole, rtol=1e-12)


def test_asking_with_the_stored_value_is_feasible():
    """The promise itself: the limit at the feasible value, all others kept, leaves a design."""
    asked = NBODY | {"sweep": {"t": {"path": "limits.time.max", "values": [0.05, 1]}}}
    asked = asked | {"limits": {"time": {"max": 1}, "energy": {"max": 41}}}
    study = dse.sweep(asked)
    point = study.isel(t=0)
    assert int(point["status"]) == STATUS_CODES[Status.INFEASIBLE]
    named = [str(n) for n in study["limit"].values if int(point["binding"].sel(limit=n)) == CONFLICTING]
    assert {"time", "energy"} <= set(named)
    for name in ("time", "energy"):
        needed = float(point["would_do"].sel(limit=name))
        limits = {"time": {"max": 0.05}, "energy": {"max": 41}} | {name: {"max": needed * (1 + 1e-7)}}
        alone = {k: v for k, v in asked.items() if k != "sweep"}
        assert dse.solve(alone | {"limits": limits}).status == "optimal"


def test_a_value_beside_a_list_is_not_rounded_into_it():
    """No power of two meets both limits, whatever bounds it: the list is given up, and what does then is no power."""
    machine = {
        "time_per_flop": 1.0654e-09, "time_per_word": 1.6184e-08, "time_per_message": 5.5596e-06,
        "energy_per_flop": 9.2688e-11, "energy_per_word": 1.28408e-05, "energy_per_message": 0.0,
        "memory_power_per_word": 4.1195e-05, "leakage_power": 0.24928, "max_message": 4181.66,
    }  # fmt: skip
    asked = {
        "model": "fft",
        "machine": machine,
        "given": {"points": 2.0**20, "all_to_all": "naive"},
        "decide": {"processors": {"powers_of": 2, "max": 1024.0}},
        "objective": {"minimize": "energy"},
        "limits": {"time": {"max": 0.0148762}, "power": {"max": 1402.0}},
    }
    caps = {"path": "limits.power.max", "start": 1300.0, "stop": 1400.0, "num": 16}
    study = dse.sweep({**asked, "sweep": {"cap": caps}})
    alone = answer(scenarios.grid(dse.load({**asked, "sweep": {"cap": caps}})).question((3,)))
    assert alone.status is Status.INFEASIBLE
    needed = study["would_do"].sel(limit="processors").values
    assert needed[3] == pytest.approx(alone.conflict["processors"], rel=1e-6)
    assert needed[3] not in (2.0, 4.0)


CONFLICTS: dict[str, dict[str, Any]] = {
    "listed": {"decide": {"processors": {"values": [1, 10, 100]}, "memory": {}}},
    "whole": {"decide": {"processors": {"max": 64}, "memory": {"integer": True}}, "limits": {}},
    "both sides": {"decide": {"processors": {"min": 10, "max": 64}, "memory": {}}},
    "both sides of a metric": {"limits": {"power": {"min": 2000, "max": 2100}}},
}


@pytest.mark.parametrize("rows", [3, 40])
@pytest.mark.parametrize("name", CONFLICTS)
def test_every_limit_of_a_conflict_has_its_own_place_and_value(name: str, rows: int):
    """Also a list without a bound; of two sides the value stands with the one that it lies beyond."""
    deadlines = {"path": "limits.time.max", "start": 1e-3, "stop": 10.0, "num": rows, "spacing": "log"}
    asked = {**NBODY, "limits": {}, "sweep": {"t": deadlines}} | CONFLICTS[name]
    grid = scenarios.grid(dse.load(asked))
    study = dse.sweep(asked, audit=0)
    labels = [str(n) for n in study["limit"].values]
    infeasible = np.flatnonzero(study["status"].values == STATUS_CODES[Status.INFEASIBLE])
    assert 0 < infeasible.size < rows
    for i in infeasible[:: max(1, infeasible.size // 4)]:
        alone, point = answer(grid.question((int(i),))), study.isel(t=i)
        clash = dict(zip(labels, point["binding"].values == CONFLICTING, strict=True))
        needed = dict(zip(labels, point["would_do"].values, strict=True))
        first = set(alone.conflicts[0])
        assert {n for n, inside in clash.items() if inside and not n.endswith(".min")} == first
        for limit in first:
            sides = [n for n in (limit, f"{limit}.min") if n in labels and not np.isnan(needed[n])]
            value = alone.conflict[limit]
            assert len(sides) == (value is not None)
            if value is not None:
                assert needed[sides[0]] == pytest.approx(value, rel=1e-5)
                assert sides[0] == limit or value < alone.limits[limit].bound


@pytest.mark.parametrize("rows", [3, 40])
def test_a_lower_limit_that_is_0_at_first_has_its_place(rows: int):
    powers = {"path": "limits.power.min", "values": [0.0, *np.linspace(1.0, 1e6, rows - 1)]}
    asked = NBODY | {"objective": {"maximize": "efficiency"}, "limits": {}, "sweep": {"p": powers}}
    study = dse.sweep(asked)
    assert "power" in study["limit"].values
    assert set(study["binding"].sel(limit="power").values[1:]) >= {CONFLICTING}


def test_evaluated_points_store_what_came_out():
    asked = NBODY | {"decide": {}, "given": {**NBODY["given"], "processors": 100, "memory": 5000}}
    energies = {"path": "limits.energy.max", "values": [10, 38, 1000]}
    study = dse.sweep(asked | {"sweep": {"t": NBODY["sweep"]["t"], "e": energies}})
    assert study.attrs["left_over"] == "{}"
    # where energy is too much as well, no time alone would do
    assert np.isnan(study["would_do"][:, :2]).all()
    needed = study["would_do"].sel(limit="time").where(study["binding"].sel(limit="time") == CONFLICTING)
    assert np.nanmax(needed) == pytest.approx(float(study["time"].max()), rel=1e-12)
    assert study["would_do"].attrs["limit_units"] == (
        '{"time": "s", "energy": "J", "one_copy": "1", "replication": "1"}'
    )
    headings = [c.heading for c in flat.columns(study)]
    assert {"would_do time [s]", "would_do energy [J]", "would_do replication"} <= set(headings)
    shown = columns.of_dataset(study).limits[0]
    assert shown == ("time",)
    assert columns.of_dataset(study).limits[2] == (
        f"time (feasible at {show(float(study['time'][0, 2]), 's', 4)})",
    )


def test_a_value_whose_search_is_not_closed_is_told_without_asking_again():
    """Few processors whose memory is open far: 400 nodes do not close the gap, here or of a point by itself."""
    asked = tomllib.loads((LIBRARY / "nbody_deadline_out_of_reach.toml").read_text()) | {
        "machine": "v100-pcie",
        "sweep": {
            "t": {"path": "limits.time.max", "factors": [0.3, 0.32]},
            "n": {"path": "given.bodies", "factors": [2.7257365, 2.9359046]},
        },
    }
    found = dse.sweep(dse.Scenario(**asked))
    assert found.attrs.get("left_over", "{}") == "{}"
    grid = scenarios.grid(dse.Scenario(**asked))
    for place in ((0, 0), (1, 0)):
        alone, told = answer(grid.question(place), neighbours=False), found["would_do"].values[place]
        assert alone.status is Status.INFEASIBLE
        needed = {n: v for n, v in zip(found["limit"].values, told, strict=True) if not np.isnan(v)}
        # of a gap that is not closed each tells the design that it knows
        assert needed == pytest.approx({n: v for n, v in alone.conflict.items() if v is not None}, rel=3e-5)


def test_a_search_that_does_not_close_names_no_value_that_is_too_far():
    """Least times of a transform of 2e6 points within 955.2 W: of all powers of two one does at 27.05397 us."""
    asked = {
        "model": "fft",
        "machine": {"base": "jaketown", "leakage_power": 0.01},
        "given": {"points": 2e6, "all_to_all": "naive"},
        "decide": {"processors": {"powers_of": 2}},
        "objective": {"minimize": "energy"},
        "limits": {"power": {"max": 955.2}, "time": {"max": 3e-6}},
    }
    designs = [{**asked, "decide": {}, "given": {**asked["given"], "processors": 2.0**k}} for k in range(22)]
    each = [dse.solve(dse.load({**q, "limits": {}})).metrics for q in designs]
    least = min(m["time"] for m in each if m["power"] <= 955.2)
    found = dse.sweep(
        dse.load({**asked, "sweep": {"t": {"path": "limits.time.max", "values": [3e-6, 1e-6]}}})
    )
    told = found["would_do"].sel(limit="time")
    np.testing.assert_allclose(told, least, rtol=1e-6)
    assert "a feasible value, sought for one point by itself" in found.attrs["left_over"]


def test_what_has_gaps_by_its_nature_keeps_them_where_a_side_is_asked_for(monkeypatch: pytest.MonkeyPatch):
    """Which side of two stays in conflict is decided by the two designs there are: no setting lies between two."""

    def sampled(*_: Any) -> None:
        raise AssertionError("a question of two designs was sampled")

    monkeypatch.setattr(sampler, "solve", sampled)
    settings = [{"name": "low", "constant_power": 2.0}, {"name": "high", "constant_power": 5.0}]
    swept = dse.sweep(
        dse.load(
            {
                "model": "dvfs",
                "given": {"phases": [{"name": "a", "times": {"low": 2.0, "high": 1.0}}]},
                "machine": {"settings": settings},
                "objective": {"minimize": "time"},
                "limits": {"energy": {"min": 4.0, "max": 4.0}},
                "sweep": {"deadline": {"path": "limits.time.max", "values": [1.5, 2.5]}},
            }
        ),
        audit=0,
    )
    assert swept["limit"].values.tolist() == ["energy", "energy.min", "time"]
    assert swept["binding"].values[0].tolist() == [CONFLICTING, results.dataset.NOT_APPLICABLE, CONFLICTING]
    np.testing.assert_allclose(swept["would_do"].values[0], [5.0, np.nan, 2.0])
    assert swept["objective"].values[1] == pytest.approx(2.0)
