"""Exact fronts through the front door: what a dataset, a table and a picture of them say."""

import copy
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import dse
from dse.cli import main
from results import page, plot
from solvers.fronts import program_front

# bytes weigh more on one processor, flops on the other: every kind of front with the same regions
REGIONS = [("a", 35, 3), ("b", 8, 32), ("c", 57, 187), ("d", 455, 84), ("e", 7, 19)]


def asked(divisible: str = "abcde", **changes: Any) -> dict[str, Any]:
    regions = [
        {"name": n, "flops": f * 1e9, "bytes": b * 1e9, "divisible": n in divisible} for n, f, b in REGIONS
    ]
    told = {
        "model": "partition",
        "title": "Five regions on two processors",
        "machine": {"cpu": "i3-2100t-tang2017", "gpu": "gtx-750-tang2017"},
        "given": {"regions": regions},
        "objective": {"minimize": ["energy", "time"]},
    }
    return copy.deepcopy(told) | changes


def test_a_dataset_marks_segments_and_says_what_it_is():
    found = dse.front(asked())
    assert found.attrs["front"] == "exact: breakpoints"
    assert "weak duality" in found.attrs["method"]
    assert json.loads(found.attrs["straight_in"]) == {"energy": "energy", "time": "time"}
    assert found.joined.attrs["flag_meanings"] == "unknown nothing straight_segment"
    assert found.joined.values.tolist() == [1] * (found.sizes["front"] - 1) + [0]
    assert (found.status == 1).all()
    assert (found.gap <= 1e-9).all()


def test_ends_are_those_of_solving_for_each_objective():
    found = dse.front(asked("acd"))
    for name, place in (("energy", 0), ("time", -1)):
        alone = dse.solve(asked("acd", objective={"minimize": name}))
        assert float(found[name][place]) == pytest.approx(alone.objective, rel=1e-9)
    for point in range(found.sizes["front"]):
        deadline = float(found.time[point]) * (1 + 1e-9)
        within = dse.solve(
            asked("acd", objective={"minimize": "energy"}, limits={"time": {"max": f"{deadline!r} s"}})
        )
        assert float(found.energy[point]) == pytest.approx(within.objective, rel=1e-6)


def test_further_points_lie_on_segments_and_are_certified():
    plain = dse.front(asked())
    found = dse.front(asked(), points=25)
    assert found.sizes["front"] == 25
    assert (found.status == 1).all()
    np.testing.assert_allclose(
        found.energy, np.interp(-found.time, -plain.time.values, plain.energy.values), rtol=1e-9
    )
    corners = np.abs(found.time.values[:, None] / plain.time.values - 1).min(axis=0)
    assert corners.max() < 1e-9, "every breakpoint is there"
    told = asked(objective={"minimize": ["energy", "time"], "front": {"points": 25}})
    np.testing.assert_array_equal(dse.front(told).energy, found.energy)


def test_fewer_points_leave_no_breakpoint_out():
    assert dse.front(asked(), points=2).sizes == dse.front(asked()).sizes


def test_an_exact_front_meets_every_tolerance_as_it_is():
    found, same = dse.front(asked(), tolerance=0.004), dse.front(asked())
    np.testing.assert_array_equal(found.energy, same.energy)
    assert found.attrs["enclosure_width"] == 0
    np.testing.assert_array_equal(found.enclosure_lower, found.enclosure_upper)
    # every point lies on it
    at = np.interp(found.energy, found.enclosure_at, found.enclosure_lower)
    np.testing.assert_allclose(at, found.time, rtol=1e-12)


def test_a_set_that_may_not_be_complete_lies_between_stairs(monkeypatch: pytest.MonkeyPatch):
    """The search is stopped after two of the designs: what it missed lies where nothing is proved."""
    complete = dse.front(asked(""))
    monkeypatch.setattr(program_front, "MOST_COMBINED", 0)
    found = dse.front(asked(""), points=2)
    assert found.attrs["front"] == "certified points; the set is not complete"
    assert found.sizes["front"] < complete.sizes["front"]
    assert found.attrs["enclosure_width"] > 0
    place, low, high = (found[f"enclosure_{n}"].values for n in ("at", "lower", "upper"))
    between = (complete.energy >= found.energy[0]) & (complete.energy <= found.energy[-1])
    assert between.sum() > found.sizes["front"]
    for energy, time in zip(complete.energy.values[between], complete.time.values[between], strict=True):
        # at a step either side counts
        after = np.searchsorted(place, energy * (1 - 1e-9))
        upto = np.searchsorted(place, energy * (1 + 1e-9), side="right")
        near = slice(max(after - 1, 0), upto + 1)
        assert low[near].min() * (1 - 1e-9) <= time <= high[near].max() * (1 + 1e-9)


def test_whole_regions_have_their_complete_set():
    found = dse.front(asked(""))
    assert found.attrs["front"] == "complete non-dominated set"
    assert "all 32 combinations" in found.attrs["method"]
    assert not (found.joined > 0).any()
    designs = found["share"].transpose("front", ...).values.reshape(found.sizes["front"], -1)
    assert len(np.unique(designs, axis=0)) == found.sizes["front"] > 3
    assert set(np.unique(designs)) <= {0.0, 1.0}


def test_choices_by_name_are_compared():
    """Which execution is best differs along the front; one of them leaves nothing to decide."""
    named = asked("", decide={"execution": {"values": ["CP", "DP", "GO"]}})
    found = dse.front(named)
    alone = [dse.front(asked("", given={**asked("")["given"], "execution": e})) for e in ("CP", "DP")]
    for energy, time in zip(found.energy.values, found.time.values, strict=True):
        for other in alone:
            better = (other.energy < energy * (1 - 1e-9)) & (other.time < time * (1 - 1e-9))
            assert not better.any()
    assert float(found.energy[0]) == pytest.approx(min(float(x.energy[0]) for x in alone), rel=1e-9)
    assert float(found.time[-1]) == pytest.approx(min(float(x.time[-1]) for x in alone), rel=1e-9)


def test_power_against_time_is_straight_in_the_reciprocal():
    found = dse.front(asked("ac", objective={"minimize": ["power", "time"]}), points=30)
    straight = json.loads(found.attrs["straight_in"])
    assert sum(text.startswith("1/") for text in straight.values()) == 1
    assert found.sizes["front"] == 30
    for point in range(0, 30, 4):
        deadline = {"time": {"max": f"{float(found.time[point]) * (1 + 1e-9)!r} s"}}
        alone = dse.solve(asked("ac", objective={"minimize": "power"}, limits=deadline))
        assert float(found.power[point]) == pytest.approx(alone.objective, rel=1e-6)


def test_three_objectives_are_certified_points():
    found = dse.front(asked("", objective={"minimize": ["energy", "time", "power"]}), points=9)
    assert "front" not in found.attrs
    assert (found.status == 1).all()
    assert (found.joined == -1).all()


def test_an_objective_without_an_end_is_refused():
    blocks = {
        "model": "blocks",
        "machine": {"titan": "gtx-titan-choi2014", "arndale": "arndale-gpu-choi2014"},
        "given": {"flops": 1e15, "intensity": 4},
        "objective": {"minimize": ["energy", "time"]},
    }
    found = dse.front(blocks)
    assert found.sizes["front"] == 0
    assert found.attrs["status"] == "unbounded"
    assert "is always better" in found.attrs["certificate"]
    assert found.attrs["message"].startswith("time has no bound: ")
    capped = dse.front(blocks | {"limits": {"nameplate_power": {"max": "900 W"}}})
    assert capped.attrs["front"] == "complete non-dominated set"


def test_between_designs_that_are_no_neighbours_no_segment_is_drawn():
    found = dse.front(asked(), points=9)
    for chosen, segments in (([0, 3], 0), ([0, 1, 3, 4], 2), ([4, 3, 0], 1), (slice(1, 4), 2)):
        part = found.isel(front=chosen)
        (place,) = page.of_dataset(part).places
        assert len(place.lines) == segments
        at = part.front.values.astype(int).tolist()
        ends = sorted(
            float(found.energy[i]) for pair in pairwise(at) if abs(np.diff(pair)) == 1 for i in pair
        )
        assert sorted(x for line in place.lines for x in (line[0][0], line[0][-1])) == pytest.approx(
            ends, rel=1e-5
        )
        panel = plot.front(part.drop_vars(["enclosure_at"], errors="ignore")).axes[0]
        assert ("exact segment of the front" in [x.get_label() for x in panel.lines]) == bool(segments)


def test_of_chosen_designs_of_many_fronts_each_is_with_its_own_front():
    """Where the designs are chosen in another order, those that a short front lacks come first."""
    gpus = {"gpu": {"path": "machine.gpu", "values": ["gtx-750-tang2017", "gtx-titan-choi2014"]}}
    fronts = dse.front(asked("a", sweep=gpus), progress=False)
    turned = fronts.isel(front=slice(None, None, -1))
    whole, other = page.of_dataset(fronts).places, page.of_dataset(turned).places
    assert len({p.count for p in whole}) == 2
    for one, two in zip(whole, other, strict=True):
        assert one.count == two.count
        assert sorted(sorted(line[0]) for line in one.lines) == sorted(sorted(line[0]) for line in two.lines)


def test_a_picture_draws_segments_and_no_line_across_gaps():
    found = dse.front(asked("ac"))
    panel = plot.front(found).axes[0]
    lines = [x for x in panel.lines if x.get_linestyle() == "-" and len(x.get_xdata()) > 1]
    assert len(lines) == int((found.joined == 1).sum()) > 0
    assert not panel.patches
    whole = plot.front(dse.front(asked(""))).axes[0]
    assert not [x for x in whole.lines if x.get_linestyle() == "-" and len(x.get_xdata()) > 1]


def test_the_command_says_what_the_front_is(tmp_path: Path):
    file = tmp_path / "f.toml"
    file.write_text(dse.load(asked()).text)
    printed = CliRunner().invoke(main, ["front", str(file), "-o", str(tmp_path / "f.csv")])
    assert printed.exit_code == 0, printed.output
    assert "exact: breakpoints" in printed.stdout
    assert "straight" in printed.stdout
    assert "joined" in (tmp_path / "f.csv").read_text().splitlines()[0]
    told = json.loads(CliRunner().invoke(main, ["front", str(file), "--json"]).stdout)
    assert told["front"] == "exact: breakpoints"
    assert told["joined"][-1] is False


def test_what_encloses_a_segment_that_bends_holds_it():
    """Straight in the reciprocal of the time: read straight from place to place, the true front is in between."""
    told = asked("abcde", objective={"minimize": ["power", "time"]})
    found = dse.front(told)
    assert json.loads(found.attrs["straight_in"])["time"] == "1/time"
    place, low, high = (found[f"enclosure_{n}"].values for n in ("at", "lower", "upper"))
    assert found.attrs["enclosure_width"] == pytest.approx((high / low - 1).max())
    for power in np.linspace(*found.power.values[[0, -1]], 30)[1:-1]:
        least = dse.solve(
            told | {"objective": {"minimize": "time"}, "limits": {"power": {"max": f"{float(power)!r} W"}}}
        )
        lower, upper = (float(np.interp(power, place, edge)) for edge in (low, high))
        assert lower * (1 - 1e-9) <= least.objective <= upper * (1 + 1e-9)
