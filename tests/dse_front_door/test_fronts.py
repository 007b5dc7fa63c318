"""Fronts: true ends, nothing better left out, evenly spread, certified, against brute force."""

import csv
import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from click.testing import CliRunner

import dse
from dse.cli import main
from dse.fronts import front as fronts
from scenarios import ScenarioError

NBODY: dict[str, Any] = {
    "model": "nbody",
    "machine": "balanced",
    "given": {"bodies": 1e5, "flops_per_pair": 10},
    "decide": {"processors": {"max": 65536}, "memory": {}},
    "objective": {"minimize": ["energy", "time"]},
}
WORK = {"flops_in_all": "flops * processors"}
# relative; solves are exact to 1e-9, ends are taken within 1e-9 of the other objective
EXACT = 1e-6


def asked(**changes: Any) -> dict[str, Any]:
    return {**NBODY, **changes}


def metrics_at(processors: Any, memory: Any) -> xr.Dataset:
    """Energy and time on a grid of designs, by plain evaluation."""
    return dse.evaluate(
        {
            "model": "nbody",
            "machine": "balanced",
            "given": NBODY["given"],
            "sweep": {
                "processors": {"path": "given.processors", "values": list(processors)},
                "memory": {"path": "given.memory", "values": list(memory)},
            },
        }
    )


def designs(processors: Any, memory: Any) -> np.ndarray:
    """Energy and time of the designs that the model allows: between one copy and full replication."""
    at = metrics_at(processors, memory)
    p, m, n = at.processors, at.memory, 1e5
    allowed = ((n / p <= m * (1 + 1e-12)) & (m <= n / np.sqrt(p) * (1 + 1e-12))).values
    return np.stack([at.energy.values[allowed], at.time.values[allowed]], axis=1)


def best_of(every: np.ndarray) -> np.ndarray:
    """The designs no other one betters, by brute force."""
    better = (every[None] <= every[:, None]).all(-1) & (every[None] < every[:, None]).any(-1)
    return np.unique(every[~better.any(1)], axis=0)


@pytest.fixture(scope="module")
def curve() -> xr.Dataset:
    return dse.front(asked(), points=25)


def test_the_ends_are_the_best_of_each(curve: xr.Dataset):
    energy = dse.solve(asked(objective={"minimize": "energy"}))
    time = dse.solve(asked(objective={"minimize": "time"}))
    assert float(curve.energy[0]) == pytest.approx(energy.objective, rel=EXACT)
    assert float(curve.time[0]) == pytest.approx(energy.metrics["time"], rel=1e-4)
    assert float(curve.time[-1]) == pytest.approx(time.objective, rel=EXACT)
    assert float(curve.energy[-1]) == pytest.approx(time.metrics["energy"], rel=1e-4)


def test_no_design_of_a_fine_grid_betters_a_point(curve: xr.Dataset):
    every = designs(np.geomspace(1, 65536, 300), np.geomspace(1, 1e5, 300))
    for energy, time in zip(curve.energy.values, curve.time.values, strict=True):
        assert not ((every[:, 0] < energy * (1 - EXACT)) & (every[:, 1] < time * (1 - EXACT))).any()


def test_points_are_distinct_ordered_and_evenly_spread(curve: xr.Dataset):
    assert curve.sizes["front"] == 25
    energy, time = curve.energy.values, curve.time.values
    assert (np.diff(energy) > 0).all()
    assert (np.diff(time) < 0).all()
    at = np.log(np.stack([energy, time]))
    at /= np.ptp(at, axis=1, keepdims=True)
    steps = np.hypot(*np.diff(at, axis=1))
    # the curve between the points of the first pass is interpolated
    assert steps.max() < 1.2 * steps.min()


def test_every_point_is_certified_and_labelled(curve: xr.Dataset):
    assert (curve.status == 1).all()
    assert (curve.gap <= 1e-6).all()
    np.testing.assert_array_equal(curve.objective, curve.energy)
    assert (curve.bound <= curve.objective * (1 + 1e-9)).all()
    assert list(curve.limit.values)[:1] == ["time"]
    assert curve.time.attrs["units"] == "s"
    assert json.loads(curve.attrs["objectives"]) == {"energy": "min", "time": "min"}
    # all but the first point are held by their limit on time, whose elasticity is the slope of the front
    assert (curve.binding.sel(limit="time")[1:] == 1).all()
    i = 12
    slope = np.log(curve.energy[i + 1] / curve.energy[i - 1]) / np.log(curve.time[i + 1] / curve.time[i - 1])
    assert float(curve.elasticity.sel(limit="time")[i]) == pytest.approx(float(slope), rel=0.05)


def test_exchange_rates_lead_from_each_point_to_the_next(curve: xr.Dataset):
    energy, time, rate = (curve[n].values for n in ("energy", "time", "exchange_rate"))
    # a rate is the slope of a chord in logarithms: following it from a point arrives at the next one
    follow = time[:-1] * (energy[1:] / energy[:-1]) ** rate[:-1]
    assert follow == pytest.approx(time[1:], rel=1e-12)
    assert math.isnan(rate[-1])
    assert 0 < curve.attrs["knee"] < len(energy) - 1


@pytest.mark.parametrize("points", [2, 3, 7])
def test_few_points_are_spread_as_well(points: int):
    found = dse.front(asked(), points=points)
    assert found.sizes["front"] == points
    at = np.log(np.stack([found.energy.values, found.time.values]))
    at /= np.ptp(at, axis=1, keepdims=True)
    steps = np.hypot(*np.diff(at, axis=1))
    assert steps.max() < 1.2 * steps.min()


def test_a_tolerance_bounds_the_enclosure():
    wide = dse.front(asked(), tolerance=0.1)
    narrow = dse.front(asked(), tolerance=0.001)
    assert wide.sizes["front"] < narrow.sizes["front"]
    for found, most in ((wide, 0.1), (narrow, 0.001)):
        assert 0 < found.attrs["enclosure_width"] <= most
        at, low, up = np.log([found[f"enclosure_{n}"].values for n in ("at", "lower", "upper")])
        # upwards it may be wider only where it is narrow sideways: at the steep end
        sideways = np.interp(low, up[::-1], at[::-1]) - at
        assert np.minimum(up - low, sideways).max() <= most


def test_a_tolerance_that_was_not_reached_is_not_claimed(monkeypatch: pytest.MonkeyPatch):
    """The cap on points stops the search: the method says so."""
    monkeypatch.setattr(fronts, "MOST_FRONT_POINTS", 4)
    found = dse.front(asked(), tolerance=0.001)
    assert found.attrs["method"].startswith(
        "stopped at 4 points: between 3 of 3 pairs of neighbours the enclosure is wider than 0.001, at most 0."
    )
    assert found.attrs["enclosure_width"] > 0.001


def test_a_tolerance_given_stands_in_for_the_points_of_the_file():
    told = asked(objective={"minimize": ["energy", "time"], "front": {"points": 3}})
    found = dse.front(told, tolerance=0.5)
    assert found.attrs["method"] == "refined until the front is enclosed within 0.5"
    with pytest.raises(ScenarioError, match="exclude each other"):
        dse.front(told, points=4, tolerance=0.5)
    with pytest.raises(ScenarioError, match="two objectives"):
        dse.front(asked(objective={"minimize": ["energy", "time", "memory"]}), tolerance=0.5)


def test_the_file_says_how_many_points():
    told = asked(objective={"minimize": ["energy", "time"], "front": {"points": 4}})
    assert dse.front(told).sizes["front"] == 4
    assert dse.front(told, points=3).sizes["front"] == 3


def test_maximised_objectives_have_the_same_front():
    least = dse.front(asked(), points=5)
    most = dse.front(asked(objective={"maximize": ["efficiency", "performance"]}), points=5)
    assert (np.diff(most.efficiency) < 0).all()
    np.testing.assert_allclose(most.energy[[0, -1]], least.energy[[0, -1]], rtol=1e-4)
    np.testing.assert_allclose(most.time[[0, -1]], least.time[[0, -1]], rtol=1e-4)


def test_objectives_that_ties_do_not_settle_have_true_ends():
    """The least power leaves several designs with the same energy: the end is settled by a question of its own."""
    found = dse.front(asked(objective={"minimize": ["energy", "power"]}), points=3)
    energy = dse.solve(asked(objective={"minimize": "energy"})).objective
    power = dse.solve(asked(objective={"minimize": "power"})).objective
    assert float(found.energy[0]) == pytest.approx(energy, rel=EXACT)
    assert float(found.power[-1]) == pytest.approx(power, rel=EXACT)
    within = dse.solve(
        asked(objective={"minimize": "power"}, limits={"energy": {"max": energy * (1 + 1e-9)}})
    ).objective
    assert float(found.power[0]) == pytest.approx(within, rel=1e-4)
    assert found.sizes["front"] == len(np.unique(found.energy))


def test_few_designs_are_all_found():
    processors, memory = [600, 1200, 2400, 5000], [1400, 2000, 2800, 3500, 4000]
    decide = {"processors": {"values": processors}, "memory": {"values": memory}}
    found = dse.front(asked(decide=decide))
    expected = best_of(designs(processors, memory))
    assert len(expected) > 3
    np.testing.assert_allclose(np.stack([found.energy, found.time], axis=1), expected, rtol=1e-9)
    assert "complete" in found.attrs["method"]


def test_a_front_with_jumps_is_found_on_both_sides():
    """Two processor counts far apart: each gives a piece of curve, and there is nothing in between."""
    found = dse.front(asked(decide={"processors": {"values": [200, 1000]}, "memory": {}}), points=15)
    every = designs([200, 1000], np.geomspace(1, 1e5, 4000))
    for energy, time in zip(found.energy.values, found.time.values, strict=True):
        assert not ((every[:, 0] < energy * (1 - EXACT)) & (every[:, 1] < time * (1 - EXACT))).any()
    assert 2 <= found.sizes["front"] <= 15
    assert set(np.unique(found.processors)) == {200.0, 1000.0}


def test_whole_numbers_are_certified():
    decide = {"processors": {"integer": True, "max": 700}, "memory": {"max": 3000}}
    found = dse.front(asked(decide=decide), points=4)
    assert (found.status == 1).all()
    np.testing.assert_array_equal(found.processors, np.round(found.processors))


def test_one_design_may_be_best_for_all():
    # both grow with memory, and the shortest time allowed is best for both
    slow = asked(objective={"minimize": ["energy", "energy_delay"]}, limits={"time": {"min": "10 s"}})
    found = dse.front(slow, points=3)
    assert found.sizes["front"] == 1
    assert float(found.time[0]) == pytest.approx(10)
    # energy does not change with the number of processors (Demmel V), time falls with it
    scaled = asked(given=NBODY["given"] | {"memory": 3000}, decide={"processors": {"max": 600}})
    found = dse.front(scaled, points=3)
    assert found.sizes["front"] == 1
    assert float(found.processors[0]) == pytest.approx(600)
    assert found.attrs["enclosure_width"] == 0
    fixed = dse.front(asked(decide={"processors": {"values": [64]}, "memory": {"values": [3000]}}))
    assert fixed.sizes["front"] == 1


def test_three_objectives_give_undominated_certified_points():
    found = dse.front(asked(objective={"minimize": ["energy", "time", "memory"]}), points=16)
    at = np.stack([found[n].values for n in ("energy", "time", "memory")], axis=1)
    assert len(at) == 16, "as many as asked for"
    for i, j in itertools.permutations(range(len(at)), 2):
        assert not (at[i] <= at[j] * (1 - EXACT)).all()
    assert (found.status == 1).all()
    for i, name in enumerate(("energy", "time", "memory")):
        alone = dse.solve(asked(objective={"minimize": name}))
        assert at[:, i].min() == pytest.approx(alone.objective, rel=EXACT)


def test_points_of_three_objectives_are_stated_alike():
    """The ends of the other objectives too: the objective and its bound are energies everywhere."""
    found = dse.front(asked(objective={"minimize": ["energy", "time", "memory"]}), points=4)
    np.testing.assert_array_equal(found.objective, found.energy)
    np.testing.assert_allclose(found.bound, found.energy, rtol=EXACT)


def listed(**changes: Any) -> dict[str, Any]:
    """A question of whole processors and listed memories, in three objectives."""
    own = {"processors": {"max": 60, "integer": True}, "memory": {"values": [500 * i for i in range(1, 60)]}}
    return asked(decide=own, objective={"minimize": ["energy", "power", "memory"]}) | changes


def undominated(told: dict[str, Any]) -> np.ndarray:
    """What no design betters, of all designs that the model allows."""
    at = metrics_at(range(1, 61), told["decide"]["memory"]["values"])
    p, m, n = at.processors, at.memory, 1e5
    allowed = ((n / p <= m * (1 + 1e-12)) & (m <= n / np.sqrt(p) * (1 + 1e-12))).values
    columns = (at.energy, at.power, (m + 0 * p).transpose(*at.energy.dims))
    every = np.unique(np.stack([x.values[allowed] for x in columns], axis=1), axis=0)
    # without the digits that only rounding tells apart
    return best_of(np.array([[float(f"{x:.12g}") for x in row] for row in every]))


def test_no_point_of_three_objectives_is_bettered_where_designs_tie():
    """Energy is the same for many numbers of processors: the one of least power has to be taken."""
    told = listed()
    every = undominated(told)
    assert len(every) > 12
    found = dse.front(told, points=12)
    at = np.stack([found[n].values for n in ("energy", "power", "memory")], axis=1)
    assert len(at) == 12
    for mine in at:
        assert np.isclose(every, mine, rtol=EXACT).all(axis=1).any()


def test_listed_designs_of_three_objectives_are_all_found():
    told = listed(
        decide={"processors": {"max": 60, "integer": True}, "memory": {"values": [2500, 8000, 32000]}}
    )
    every = undominated(told)
    found = dse.front(told, points=len(every) + 5)
    assert found.sizes["front"] == len(every) > 2
    assert found.attrs["method"].startswith("complete non-dominated set")


def test_an_infeasible_question_has_no_front_and_says_why(tmp_path: Path):
    told = asked(limits={"time": {"max": "1 us"}})
    found = dse.front(told)
    assert found.sizes["front"] == 0
    assert found.attrs["status"] == "infeasible"
    assert "time" in json.loads(found.attrs["conflict"])
    file = tmp_path / "f.toml"
    file.write_text(dse.load(told).text)
    printed = CliRunner().invoke(main, ["front", str(file)])
    assert printed.exit_code == 3
    assert "cannot hold together" in printed.stdout


def test_the_objective_that_has_no_bound_is_named():
    """Performance has a greatest value at every intensity, efficiency grows with it."""
    found = dse.front(
        {
            "model": "roofline",
            "machine": "gtx-titan-tang2017",
            "given": {"flops": 1e9},
            "decide": {"intensity": {}},
            "objective": {"maximize": ["performance", "efficiency"]},
        }
    )
    assert found.attrs["status"] == "unbounded"
    assert found.attrs["message"].startswith("efficiency has no bound: intensity")


def test_one_objective_is_refused():
    with pytest.raises(ScenarioError, match="at least two objectives"):
        dse.front(asked(objective={"minimize": "energy"}))


def test_the_command_prints_writes_and_tells_how(front_file: Path, tmp_path: Path):
    plain = CliRunner().invoke(main, ["front", str(front_file), "--points", "4"])
    assert plain.exit_code == 0
    assert "-o front.csv -o front.png" in plain.stdout
    files = [str(tmp_path / f"front{ending}") for ending in (".csv", ".png", ".svg", ".zarr", ".json")]
    options = [word for file in files for word in ("-o", file)]
    found = CliRunner().invoke(main, ["front", str(front_file), "--points", "4", "--json", *options])
    assert found.exit_code == 0, found.stderr
    told = json.loads(found.stdout)
    assert [p["status"] for p in told["points"]] == ["optimal"] * 4
    with (tmp_path / "front.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert [float(r["energy [J]"]) for r in rows] == [p["metrics"]["energy"] for p in told["points"]]
    assert (tmp_path / "front.png").read_bytes().startswith(b"\x89PNG")
    assert json.loads((tmp_path / "front.json").read_text()) == told
    assert xr.open_zarr(tmp_path / "front.zarr", consolidated=True).sizes["front"] == 4
    again = CliRunner().invoke(main, ["front", str(front_file), "--points", "2", "-o", files[3]])
    assert again.exit_code == 2
    assert "left untouched" in again.stderr
    assert math.isclose(float(rows[0]["energy [J]"]), told["points"][0]["objective"])


def test_a_first_objective_that_is_decided_may_have_a_bound_of_its_own() -> None:
    # a fallback to one point at a time is an error in the tests
    found = dse.front(
        asked(
            decide={"processors": {"max": 65536}, "memory": {"min": 1e2, "max": 1e5}},
            objective={"minimize": ["memory", "time"]},
        ),
        points=5,
    )
    assert (found.status == 1).all()
    assert found.memory.values[0] == pytest.approx(1e2, rel=EXACT)
    assert (np.diff(found.time.values) < 0).all()


def test_what_intervals_leave_open_is_settled_by_the_other_objective():
    """They hand out any of the designs with the least memory, of which only those that leak least are on the front."""
    leakage = {"min": 0.025, "max": 0.1}
    question = {
        "model": "fft",
        "machine": "balanced",
        "given": {"points": 16777216, "all_to_all": "tree"},
        "decide": {"processors": {"powers_of": 2}, "machine.leakage_power": leakage},
        "limits": {"time": {"max": "20 ms"}, "messages": {"max": 9.9}},
        "waive": ["memory_capacity"],
    }
    least = dse.solve({**question, "objective": {"minimize": "energy_delay"}}).objective
    front = dse.front({**question, "objective": {"minimize": ["memory", "energy_delay"]}}, progress=False)
    assert front.energy_delay.values.min() == pytest.approx(least, rel=EXACT)
    assert front["machine.leakage_power"].values == pytest.approx(leakage["min"], rel=1e-5)


@pytest.mark.parametrize("decide", [{}, {"processors": {"max": 65536}}])
def test_machines_that_are_as_good_in_one_objective_are_told_apart_by_the_other(decide: dict[str, Any]):
    """The work is the same on every machine: the front is the design of least energy of all."""
    given = {**NBODY["given"], "memory": 20, **({} if decide else {"processors": 5000})}
    question = {
        **NBODY,
        "given": given,
        "decide": {**decide, "machine": {"values": ["balanced", "jaketown"]}},
    }
    del question["machine"]
    one = dse.solve(dse.load({**question, "objective": {"minimize": "energy"}}))
    assert one.variables["machine"] == "jaketown"
    found = dse.front(
        {**question, "objective": {"minimize": ["flops_in_all", "energy"]}, "define": WORK}, progress=False
    )
    assert found.energy.values.tolist() == pytest.approx([one.objective], rel=EXACT)
