"""Points chosen from a sweep or from fronts: their page says where they stand, and is like that of all."""

import re
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import dse
from dse.reporting import reports
from results import page, plot
from results.stores.store import StoreError

NBODY = {
    "title": "Energy within deadlines",
    "model": "nbody",
    "given": {"bodies": 1e5, "flops_per_pair": 10},
    "decide": {"processors": {"max": 65536}, "memory": {}},
}
LISTED = {"processors": {"values": [1e3, 1.6e4, 6.4e4]}, "memory": {"values": [10, 100, 500, 2e3]}}
MACHINES = {"path": "machine", "values": ["balanced", "jaketown"]}
CAPS = {"path": "limits.power.max", "values": ["1 mW", "1 kW", "1 MW"]}


@pytest.fixture(scope="module")
def swept() -> xr.Dataset:
    asked = {**NBODY, "objective": {"minimize": "energy"}, "limits": {"time": {"max": "1 s"}}}
    return dse.sweep({**asked, "sweep": {"platform": MACHINES, "cap": CAPS}}, progress=False)


@pytest.fixture(scope="module")
def fronts() -> xr.Dataset:
    asked = {**NBODY, "decide": LISTED, "objective": {"minimize": ["energy", "time"]}}
    return dse.front({**asked, "sweep": {"platform": MACHINES, "cap": CAPS}}, progress=False)


def facts(dataset: xr.Dataset, file: Path) -> dict[str, str]:
    """Return what the page of a dataset says first, by name."""
    told = dse.report(dataset, file).read_text(encoding="utf-8")
    return dict(re.findall(r'<tr><th scope="row">([^<]*)</th><td>([^<]*)</td></tr>', told))


def test_a_page_says_which_part_of_a_sweep_it_shows(swept: xr.Dataset, tmp_path: Path):
    def part(dataset: xr.Dataset) -> str:
        return facts(dataset, tmp_path / "page.html").get("part of it", "")

    assert part(swept) == ""
    assert part(swept.isel(platform=0)) == "at platform: balanced"
    assert part(swept.isel(platform=1, cap=2)) == "at platform: jaketown, cap: 1 MW"
    assert part(swept.isel(cap=slice(1, 3))) == "2 of 3 values of cap"
    assert part(swept.isel(platform=1, cap=[1], drop=True)) == (
        "at one platform of 2, it does not tell which; 1 of 3 values of cap"
    )


def test_a_point_of_a_sweep_has_the_columns_of_the_sweep(swept: xr.Dataset):
    whole, point = page.of_dataset(swept), page.of_dataset(swept.isel(platform=1, cap=2))
    assert [c.name for c in point.columns] == [c.name for c in whole.columns]
    assert point.dims == {"platform": 1, "cap": 1}
    assert point.insides.sums
    # where nothing tells the place any longer, the design is told all the same
    bare = page.of_dataset(swept.isel(platform=1, cap=2, drop=True))
    assert {c.name for c in point.columns} - {c.name for c in bare.columns} == {"platform", "cap"}
    assert bare.status == ("optimal",)


def test_chosen_fronts_and_designs_of_fronts_are_told_as_fronts(fronts: xr.Dataset, tmp_path: Path):
    (empty,) = page.of_dataset(fronts.isel(platform=0, cap=0)).places
    assert re.fullmatch(
        r"no design: power cannot be met\. power: ≤ [0-9.]+ W \(asked: ≤ 1 mW\)", empty.refusal
    )
    one = page.of_dataset(fronts.isel(platform=0, cap=2, front=1))
    assert (one.kind, one.dims, len(one.status)) == ("front", {"platform": 1, "cap": 1}, 1)
    told = facts(fronts.isel(platform=0, cap=2, front=1), tmp_path / "one.html")
    assert told["part of it"] == "at platform: balanced, cap: 1 MW, design 1 of the front"
    assert told["points"] == "1 optimal"
    # bounds between designs are no columns of a design
    bare = page.of_dataset(fronts.isel(front=1, drop=True))
    assert not [c.name for c in bare.columns if c.name.startswith(("enclosure", "front"))]


def test_the_knee_of_a_front_is_told_where_it_is_among_those_chosen(tmp_path: Path):
    asked = {**NBODY, "decide": LISTED, "objective": {"minimize": ["energy", "time"]}}
    front = dse.front({**asked, "machine": "balanced"}, progress=False)
    knee = int(front.attrs["knee"])
    file = tmp_path / "page.html"
    assert facts(front.isel(front=slice(knee, None)), file)["knee"].startswith("design 0, ")
    assert "knee" not in facts(front.isel(front=slice(0, knee)), file)


def test_a_metric_may_be_called_as_what_is_told_of_fronts(tmp_path: Path):
    names = ["front_load", "front_method", "enclosure_width", "hypervolume_used"]
    named = {**NBODY, "decide": LISTED, "define": dict.fromkeys(names, "2 * energy")}
    sizes = {"bodies": {"path": "given.bodies", "values": [1e5, 2e5]}}
    alone = {**named, "machine": "balanced", "objective": {"minimize": names[0]}, "sweep": sizes}
    swept = dse.sweep(alone, progress=False)
    front = dse.front({**alone, "sweep": {}, "objective": {"minimize": [names[0], "time"]}}, progress=False)
    for found in (swept, swept.isel(bodies=0), swept.isel(bodies=[0], drop=True), front, front.isel(front=1)):
        assert {c.name for c in page.of_dataset(found).columns} >= {*names}
        told = facts(found, tmp_path / "page.html")
        assert ";" not in told["solved by"]
        assert not told.get("enclosed", "").endswith("nan %")
    assert "enclosed" not in facts(swept, tmp_path / "page.html")


def test_what_is_told_of_each_of_many_fronts_is_no_column_of_their_designs():
    asked = {
        **NBODY,
        "machine": "balanced",
        "decide": LISTED,
        "uncertain": {"flops_per_pair": {"uniform": [5, 15]}, "sampling": {"samples": 8}},
        "objective": {
            "minimize": ["usual", "late"],
            "measures": {
                "usual": {"of": "energy", "measure": "mean"},
                "late": {"of": "time", "measure": "mean"},
            },
        },
        "sweep": {"bodies": {"path": "given.bodies", "values": [1e5, 2e5]}},
    }
    found = dse.front(asked, progress=False)
    assert "front_worlds" in found
    bare = page.of_dataset(found.isel(front=1, drop=True))
    assert not [c.name for c in bare.columns if c.name.startswith(("enclosure", "front"))]


def test_the_knee_of_a_page_is_one_in_words_in_its_table_and_in_its_picture(fronts: xr.Dataset):
    asked = {**NBODY, "machine": "balanced", "objective": {"minimize": ["energy", "time"]}}
    front = dse.front(asked, points=6, progress=False)
    knee = int(front.attrs["knee"])
    for chosen in (
        slice(None),
        slice(knee, None),
        slice(knee + 1, None),
        slice(0, knee),
        [5, 4, knee],
        [0, knee],
    ):
        assert_one_knee(front.isel(front=chosen), knee)
    assert_one_knee(front.isel(front=[knee]), knee)
    one = fronts.isel(platform=0, cap=2)
    for chosen in (slice(None), slice(2, None), slice(None, None, -1)):
        assert_one_knee(one.isel(front=chosen), int(one["front_knee"]))
        assert_one_knee(fronts.isel(platform=[0], cap=[2], front=chosen), int(one["front_knee"]))


def assert_one_knee(part: xr.Dataset, knee: int):
    """The row with the knee of the whole front, or none, is told everywhere."""
    row = {int(n): i for i, n in enumerate(part["front"].values)}.get(knee)
    made = reports.of_dataset(part)
    assert made.table is not None
    assert [p.knee for p in made.table.places] == [row]
    said = dict(made.answer).get("knee", "")
    assert said.startswith(f"design {row}, ") if row is not None else not said
    drawn = [line for line in plot.front(part).axes[0].lines if line.get_marker() == "*"]
    assert len(drawn) == (row is not None)
    energy = np.ravel(part["energy"].values)
    assert [line.get_ydata()[0] for line in drawn] == ([] if row is None else [pytest.approx(energy[row])])


def test_a_page_says_which_part_of_a_front_it_shows(fronts: xr.Dataset, tmp_path: Path):
    def part(dataset: xr.Dataset) -> str:
        return facts(dataset, tmp_path / "page.html").get("part of it", "")

    asked = {**NBODY, "machine": "balanced", "objective": {"minimize": ["energy", "time"]}}
    front = dse.front(asked, points=5, progress=False)
    assert part(front) == ""
    assert part(front.isel(front=slice(1, 4))) == "3 of 5 designs of the front"
    assert part(front.isel(front=slice(0, 4))) == "4 of 5 designs of the front"
    assert part(front.isel(front=[0, 3])) == "2 of 5 designs of the front"
    assert part(front.isel(front=2)) == "at design 2 of the front"
    assert part(front.isel(front=2, drop=True)) == "one design of the front, it does not tell which"
    front.isel(front=[0, 3]).to_netcdf(tmp_path / "part.nc")
    assert part(dse.open(tmp_path / "part.nc")) == "2 of 5 designs of the front"
    assert part(fronts) == ""
    every = int(fronts["front_points"].sum())
    there = int((fronts["front_points"] > 1).sum())
    assert part(fronts.isel(front=[1])) == f"{there} of {every} designs of the fronts"
    one = int(fronts["front_points"][0, 2])
    assert part(fronts.isel(platform=0, cap=2, front=slice(1, None))) == (
        f"at platform: balanced, cap: 1 MW; {one - 1} of {one} designs of the front"
    )


def test_a_page_names_the_point_at_which_a_sweep_is_told_as_mathematics(swept: xr.Dataset, tmp_path: Path):
    told = dse.report(swept, tmp_path / "page.html").read_text(encoding="utf-8")
    assert '<pre tabindex="0">At the first of 6 points of the grid:' in told


def test_points_that_were_only_evaluated_are_counted(tmp_path: Path):
    asked = {k: v for k, v in NBODY.items() if k != "decide"} | {"machine": "balanced"}
    given = {**asked["given"], "processors": 4096}
    memories = {"path": "given.memory", "values": [2.0, 1e5]}
    found = dse.evaluate({**asked, "given": given, "sweep": {"memory": memories}})
    told = facts(found, tmp_path / "page.html")
    assert told["points"] == "2 evaluated"
    assert told["outside"].endswith("message_share above 1 at 1 of 2 points")


def test_a_report_is_named_as_a_page(swept: xr.Dataset, tmp_path: Path):
    with pytest.raises(StoreError, match=r"a report is a page, name it report\.html"):
        dse.report(swept, tmp_path / "report.txt")
    assert not list(tmp_path.iterdir())
