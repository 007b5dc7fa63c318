"""Fronts over swept axes: one dataset whose places are fronts of their own, and what betters what across them."""

import json
import math
import re
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
import xarray as xr
from click.testing import CliRunner

import dse
from dse.cli import main
from dse.fronts import front as fronts
from dse.fronts import swept_fronts
from results.along_fronts import front_places
from results.export import formats
from results.page import columns
from scenarios import ScenarioError
from scenarios.language.toml_text import to_toml

REGIONS = [("a", 35, 3), ("b", 8, 32), ("c", 57, 187), ("d", 455, 84), ("e", 7, 19)]
DEADLINES = [1.0, 12.0, 100.0]
GPUS = ["gtx-750-tang2017", "gtx-titan-tang2017"]
ASKED: dict[str, Any] = {
    "title": "Five whole regions <b>on</b> two processors",
    "model": "partition",
    "machine": {"cpu": "i3-2100t-tang2017", "gpu": "gtx-750-tang2017"},
    "given": {
        "regions": [
            {"name": n, "flops": f * 1e9, "bytes": b * 1e9, "divisible": False} for n, f, b in REGIONS
        ]
    },
    "objective": {"minimize": ["energy", "time"]},
    "limits": {"time": {"max": "100 s"}},
    "sweep": {
        "deadline": {"path": "limits.time.max", "values": DEADLINES},
        "gpu": {"path": "machine.gpu", "values": GPUS},
    },
}


def alone(deadline: float, gpu: str) -> dict[str, Any]:
    told = {k: v for k, v in ASKED.items() if k != "sweep"}
    return told | {"machine": ASKED["machine"] | {"gpu": gpu}, "limits": {"time": {"max": deadline}}}


def typed(*words: Any) -> Any:
    return CliRunner().invoke(main, [str(w) for w in words])


@pytest.fixture(scope="module")
def found() -> xr.Dataset:
    return dse.front(ASKED)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fronts") / "places.toml"
    path.write_text(to_toml(ASKED), encoding="utf-8")
    return path


def test_every_place_is_the_front_of_its_own_question(found: xr.Dataset):
    assert found["energy"].dims == ("deadline", "gpu", "front")
    assert found["binding"].dims == ("deadline", "gpu", "front", "limit")
    assert found["deadline"].values.tolist() == DEADLINES
    assert found["gpu"].values.tolist() == GPUS
    longest = 0
    for deadline in DEADLINES:
        for gpu in GPUS:
            own = dse.front(alone(deadline, gpu))
            here = found.sel(deadline=deadline, gpu=gpu)
            count = own.sizes["front"]
            longest = max(longest, count)
            assert int(here["front_points"]) == count
            for name in set(own.data_vars) - {"seconds"}:
                values, shape = here[name].values, own[name].shape
                within = tuple(slice(n) for n in shape)
                same = np.array_equal(values[within], own[name].values, equal_nan=values.dtype.kind == "f")
                assert same, name
                beyond = np.ones(values.shape, bool)
                beyond[within] = False
                assert {str(v) for v in values[beyond].tolist()} <= {"nan", "0", "-1", ""}, name
            assert str(here["front_method"].item()) == own.attrs["method"]
            assert int(here["front_knee"]) == own.attrs.get("knee", -1)
            assert int(here["front_solves"]) == own.attrs["solves"]
    assert found.sizes["front"] == longest > 2
    assert found.attrs["method"] == "a front at each of 6 places of deadline × gpu"
    assert json.loads(found.attrs["objectives"]) == {"energy": "min", "time": "min"}


def test_a_place_without_a_front_is_empty_and_says_why(found: xr.Dataset):
    at = found.sel(deadline=1.0, gpu=GPUS[0])
    assert int(at["front_points"]) == 0
    assert (at["status"] == 0).all()
    meanings = found["front_status"].attrs["flag_meanings"].split()
    codes = dict(zip(meanings, found["front_status"].attrs["flag_values"], strict=True))
    assert int(at["front_status"]) == codes["infeasible"]
    conflict = json.loads(at["front_conflict"].item())
    # the feasible value is the least time there is
    least = dse.solve(alone(100.0, GPUS[0]) | {"objective": {"minimize": "time"}})
    assert conflict == {"time": pytest.approx(least.objective, rel=1e-6)}
    assert at["front_certificate"].item()
    assert int(found["front_status"].sel(deadline=100.0, gpu=GPUS[0])) == codes["answered"]


def test_the_page_names_every_conflict_and_what_would_do():
    least = dse.solve(alone(100.0, GPUS[0]) | {"objective": {"minimize": "energy"}}).objective or 0.0
    asked = ASKED | {"sweep": {"gpu": {"path": "machine.gpu", "values": GPUS[:1]}}}
    both = dse.load(asked | {"limits": {"time": {"max": "1 s"}, "energy": {"max": f"{least / 2!r} J"}}})
    (place,) = columns.of_dataset(dse.front(both)).places
    assert "time cannot be met" in place.refusal
    assert "energy cannot be met" in place.refusal
    one = dse.load(asked | {"limits": {"time": {"max": "1 s"}}})
    (place,) = columns.of_dataset(dse.front(one)).places
    assert re.search(r"time cannot be met\. time: ≤ [0-9.]+ s \(asked: ≤ 1 s\)", place.refusal)


def test_dominance_is_counted_across_places_only(found: xr.Dataset):
    energy, time = (found[n].values.reshape(6, -1) for n in ("energy", "time"))
    beaten = np.zeros(energy.shape, int)
    for place, point in np.argwhere(np.isfinite(energy)):
        others = np.arange(6) != place
        a, b = energy[others], time[others]
        mine = energy[place, point], time[place, point]
        beaten[place, point] = ((a <= mine[0]) & (b <= mine[1]) & ((a < mine[0]) | (b < mine[1]))).any()
    assert found["dominated"].values.reshape(6, -1).tolist() == beaten.tolist()
    assert 0 < beaten.sum() < np.isfinite(energy).sum()


def test_dominated_agrees_with_its_definition_and_forgives_rounding(monkeypatch: pytest.MonkeyPatch):
    dice = np.random.default_rng(5)
    values, group = dice.integers(0, 6, (300, 3)).astype(float), dice.integers(0, 4, 300)
    expected = [
        any(g != group[i] and (v <= x).all() and (v < x).any() for v, g in zip(values, group, strict=True))
        for i, x in enumerate(values)
    ]
    assert front_places.dominated(values, group).tolist() == expected
    monkeypatch.setattr(front_places, "COMPARED_AT_ONCE", 700)
    rounded = values * (1 + 1e-12 * dice.standard_normal(values.shape))
    assert front_places.dominated(rounded, group).tolist() == expected


@pytest.mark.parametrize("most", [(False, False), (False, True), (True, False), (True, True)])
def test_an_enclosure_proves_designs_between_points(most: tuple[bool, bool]):
    """Of a place enclosed from (1, 8) over (2, 4) down to (4, 2) only the ends are shown; turned where maximised."""
    turn = [-1.0 if m else 1.0 for m in most]
    at, second = np.array([1.0, 2.0, 4.0]) * turn[0], np.array([8.0, 4.0, 2.0]) * turn[1]
    order = np.argsort(at)
    none = [math.nan] * 3
    band = {
        "enclosure_at": (("x", "enclosure"), [none, at[order]]),
        "enclosure_lower": (("x", "enclosure"), np.array([none, (second if most[1] else second / 9)[order]])),
        "enclosure_upper": (("x", "enclosure"), np.array([none, (second / 9 if most[1] else second)[order]])),
    }

    def beaten(*points: tuple[float, float]) -> list[int]:
        a, b = (
            np.array([list(v), [1.0, 4.0] + [math.nan] * (len(v) - 2)]) for v in zip(*points, strict=True)
        )
        b[1, :2] = 8.0, 2.0
        shown = {"a": (("x", "front"), turn[0] * a), "b": (("x", "front"), turn[1] * b)}
        goals = dict(zip("ab", most, strict=True))
        return (
            front_places._with_dominance(xr.Dataset(shown | band), ("x",), goals)["dominated"]
            .values[0]
            .tolist()
        )

    # a straight line says 6 at 1.5 and 3 at 3
    assert beaten((1.5, 6.1), (3.0, 3.1), (5.0, 2.1), (0.9, 9.0)) == [1, 1, 1, 0]
    # a line that is straight in logarithms, 5.33 and 2.67, is no less true
    assert beaten((1.5, 5.2), (3.0, 2.6), (5.0, 1.9), (0.9, 1.0)) == [0, 0, 0, 0]
    assert beaten((1.5, 5.7), (3.0, 2.8)) == [0, 0]


def test_what_has_labels_is_matched_by_them_and_what_has_none_is_filled_up():
    """Places may have other limits, and enclosures of other lengths."""

    class Grid:
        axes = ()

    def part(limits: list[str], length: int) -> xr.Dataset:
        names = np.array(limits, dtype=np.dtypes.StringDType())
        flags = {"flag_values": [-1, 0], "flag_meanings": "no yes"}
        data = {
            "binding": (("front", "limit"), np.zeros((2, len(limits)), np.int8), flags),
            "enclosure_at": ("enclosure", np.arange(float(length))),
        }
        return xr.Dataset(data, {"front": [0.0, 1.0], "limit": names})

    made = front_places._Joined(("x",), (3,), {(0,): part(["a", "b"], 2), (2,): part(["c", "b"], 5)})
    dims, values, _ = made.variable("binding")
    assert dims == ("x", "front", "limit")
    assert list(made.labels["limit"]) == ["a", "b", "c"]
    assert values[:, 0].tolist() == [[0, 0, -1], [-1, -1, -1], [-1, 0, 0]]
    _, at, _ = made.variable("enclosure_at")
    assert np.isnan(at).sum(axis=1).tolist() == [3, 5, 0]
    assert list(made.coordinates()) == ["front", "limit"]


def test_tables_have_a_row_for_each_point_and_for_each_place_without_one(found: xr.Dataset, tmp_path: Path):
    counts = found["front_points"].values
    rows = int(np.maximum(counts, 1).sum())
    for ending in (".csv", ".parquet"):
        formats.write(found, tmp_path / f"t{ending}")
        told = duckdb.sql(f"select * from '{tmp_path / 't'}{ending}'").df()
        assert len(told) == rows, ending
        empty = told[told["front_points"] == 0]
        assert set(empty["status"]) == {"infeasible"}
        assert len(empty) == (counts == 0).sum()
        assert set(told[told["front_points"] > 0]["status"]) == {"optimal"}
    lines = formats.write(found, tmp_path / "t.jsonl").read_text(encoding="utf-8").splitlines()
    energies = [json.loads(line)["energy"] for line in lines]
    assert [e for e in energies if e is not None] == found["energy"].values[
        np.isfinite(found["energy"])
    ].tolist()
    assert len(energies) == rows
    page = formats.write(found, tmp_path / "t.md").read_text(encoding="utf-8")
    assert sum(line.startswith("| ") for line in page.splitlines()) == rows + 2


@pytest.mark.parametrize("ending", [".nc", ".zarr"])
def test_a_file_of_it_opens_as_the_same_dataset(found: xr.Dataset, tmp_path: Path, ending: str):
    formats.write(found, tmp_path / f"fronts{ending}")
    opened = dse.open(tmp_path / f"fronts{ending}")
    assert opened["energy"].dims == found["energy"].dims
    assert not dse.diff(found, opened)
    assert opened["front_conflict"].values.tolist() == found["front_conflict"].values.tolist()


def test_diff_compares_places_with_as_many_points(found: xr.Dataset):
    other = found.copy(deep=True)
    other["energy"][2, 1, 0] *= 2
    other["energy"][1, 0] = math.nan
    other["front_points"][1, 0] = 1
    rows = {r.name: r for r in dse.diff(found, other).rows}
    assert set(rows) == {"energy", "front_points"}
    assert "1 point, most at deadline = 100 s, gpu = gtx-titan" in rows["energy"].note
    assert rows["front_points"].values == (int(found["front_points"][1, 0]), 1)
    shorter = dse.diff(found, found.isel(front=slice(2)))
    assert {r.name for r in shorter.rows} == {"front"}


def test_the_command_shows_places_points_and_reasons(file: Path, tmp_path: Path, found: xr.Dataset):
    done = typed("front", file, "-o", tmp_path / "f.json", "-o", tmp_path / "f.csv")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[0] == ASKED["title"]
    assert sum("infeasible" in line for line in lines) == 4  # two places, each with its reason
    assert any(
        line.startswith("deadline = 1 s, gpu = gtx-750-tang2017: infeasible: time: ") for line in lines
    )
    assert sum(line.endswith("dominated") for line in lines) == int(found["dominated"].sum())
    assert "dominated: a design elsewhere on deadline × gpu" in done.stdout
    told = json.loads((tmp_path / "f.json").read_text(encoding="utf-8"))
    assert [p["at"] for p in told["places"]][1] == {"deadline": 1.0, "gpu": GPUS[1]}
    assert [len(p["points"]) for p in told["places"]] == found["front_points"].values.ravel().tolist()
    assert told["places"][0]["refusal"]["conflict"]["time"] > 1
    assert sum(sum(p["dominated"]) for p in told["places"]) == int(found["dominated"].sum())
    assert json.loads(typed("front", file, "--json").stdout)["axes"] == told["axes"]


def test_an_interrupted_search_keeps_the_fronts_it_has(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    find, asked = fronts.at, []

    def at(*arguments: Any) -> Any:
        asked.append(arguments)
        if len(asked) % 4 == 0:
            raise KeyboardInterrupt
        return find(*arguments)

    monkeypatch.setattr(fronts, "at", at)
    with pytest.raises(KeyboardInterrupt):
        dse.front(ASKED)
    done = typed("front", file, "-o", tmp_path / "part.zarr")
    assert done.exit_code == 130
    assert "interrupted after 3 of 6 fronts" in done.stderr
    assert "not computed" in done.stdout
    kept = dse.open(tmp_path / "part.zarr")
    assert kept["front_status"].values.ravel().tolist() == [3, 3, 1, 0, 0, 0]


def test_one_place_that_fails_takes_no_other_down(file: Path, monkeypatch: pytest.MonkeyPatch):
    find = fronts.at

    def at(question: Any, *others: Any) -> Any:
        if question.limits[0].maximum == 12.0:
            raise LookupError("no such thing")
        return find(question, *others)

    monkeypatch.setattr(fronts, "at", at)
    found = dse.front(ASKED)
    assert found["front_status"].values.tolist() == [[3, 3], [5, 5], [1, 1]]
    assert found["front_message"].values[1].tolist() == ["LookupError: no such thing"] * 2
    assert typed("front", file).exit_code == 1


def test_what_cannot_be_is_said_before_anything_is_solved(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(fronts, "at", None)
    long = {"deadline": {"path": "limits.time.max", "start": 1, "stop": 100, "num": 1001}}
    with pytest.raises(ScenarioError, match=r"1001 fronts .* more than the 1000"):
        dse.front(ASKED | {"sweep": long})
    named = {"front_time": {"path": "limits.time.max", "values": DEADLINES}}
    with pytest.raises(ScenarioError, match="needs the name front_time"):
        dse.front(ASKED | {"sweep": named})
    with pytest.raises(ScenarioError, match="use dse sweep"):
        dse.front(ASKED | {"objective": {"minimize": "time"}})


def test_no_place_has_a_front(file: Path):
    none = ASKED | {"sweep": {"deadline": {"path": "limits.time.max", "values": [0.5, 1.0]}}}
    found = dse.front(none)
    assert found.sizes["front"] == 0
    assert found["front_points"].values.tolist() == [0, 0]
    file.with_name("none.toml").write_text(to_toml(none), encoding="utf-8")
    assert typed("front", file.with_name("none.toml")).exit_code == 3


def test_a_sampler_finds_fronts_over_axes_with_a_study_for_each_place(tmp_path: Path):
    import optuna

    asked = {
        "model": "nbody",
        "machine": "balanced",
        "given": {"bodies": 1e5, "flops_per_pair": 10},
        "decide": {"processors": {"max": 65536}, "memory": {}},
        "objective": {"minimize": ["energy", "time"]},
        "limits": {"time": {"max": "1 s"}},
        "sweep": {"deadline": {"path": "limits.time.max", "values": ["1 ns", "10 s"]}},
    }
    storage = str(tmp_path / "study.db")
    found = dse.front(asked, trials=12, storage=storage, compare=False)
    assert found["front_status"].values.tolist() == [3, 1]
    assert set(found["status"].values[1].tolist()) == {2}
    assert found["front_method"].values[1].startswith("no proof: 12 trials of Optuna NSGA-II")
    assert found["hypervolume"].dims == ("deadline", "trial")
    assert np.isnan(found["hypervolume"].values[0]).all()
    assert found["hypervolume"].values[1, -1] > 0
    assert set(json.loads(found["hypervolume_reference"].values[1])) == {"energy", "time"}
    assert optuna.get_all_study_names(f"sqlite:///{storage}") == ["dse, deadline = 10"]
    more = dse.front(asked, trials=14, storage=storage, compare=False)
    assert more.sizes["trial"] == 14
    formats.write(more, tmp_path / "sampled.csv")
    assert "hypervolume" not in (tmp_path / "sampled.csv").read_text(encoding="utf-8").splitlines()[0].split(
        ","
    )


def test_a_single_front_takes_the_same_door():
    single = alone(100.0, GPUS[0])
    assert (
        swept_fronts.front(dse.load(single)).sizes == fronts.to_dataset(fronts.find(dse.load(single))).sizes
    )
    with pytest.raises(ScenarioError, match="several"):
        fronts.find(dse.load(ASKED))


def test_a_place_where_nothing_is_decided_has_one_point_and_axes_may_be_called_like_a_list():
    axes = {
        "execution": {"path": "given.execution", "values": ["CO", "DP"]},
        "share": {"path": "given.regions.a.flops", "factors": [1, 2]},
    }
    asked = {k: v for k, v in ASKED.items() if k != "sweep"} | {"sweep": axes}
    found = dse.front(asked)
    assert found["front_points"].values[0].tolist() == [1, 1]
    assert found["status"].values[0, :, 0].tolist() == [6, 6]  # evaluated
    assert (found["front_points"].values[1] > 1).all()
    assert found["share"].dims == ("share",)
    shares = found["share_by_region_processor"]
    assert shares.dims == ("execution", "share", "front", "region", "processor")
    assert shares.isel(execution=1, front=0).sum("processor").values.tolist() == [[1] * len(REGIONS)] * 2
    cpu_only = asked | {"given": asked["given"] | {"execution": "CO"}, "sweep": {}}
    assert dse.front(cpu_only)["status"].values.tolist() == [6]
