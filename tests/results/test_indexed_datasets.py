"""Datasets of questions about lists: dimensions for regions and processors, the same in memory and in a store."""

import csv
import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import dse
from results import axes, dataset, plot
from results.export import table
from results.stores import store
from results.telling.families import dimensions, family_name, given_of, index_of, menus_of
from scenarios.sweep.grids import Grid
from solvers.answer import answer

MACHINE = {"cpu": "i7-2600k-tang2017", "gpu": "gtx-titan-tang2017"}
REGIONS = [
    {"name": "assembly", "flops": 2e9, "bytes": 1e9},
    {"name": "solve/LU", "flops": 8e9, "bytes": 1e9, "divisible": False},
    {"name": "update", "flops": 1e9, "bytes": 4e9, "independent": True},
]
PARTITION: dict[str, Any] = {
    "model": "partition",
    "machine": MACHINE,
    "given": {"regions": REGIONS},
    "objective": {"minimize": "energy"},
    "limits": {"time": {"max": "40 ms"}},
    "sweep": {
        "deadline": {"path": "limits.time.max", "start": "15 ms", "stop": "40 ms", "num": 7},
        "size": {"path": "regions.assembly.flops", "start": 1e9, "stop": 4e10, "num": 6},
    },
}
PHASES = [
    {"name": "compute", "flops": 2e9, "bytes": 1e8},
    {"name": "move", "flops": 1e8, "bytes": 3e9},
]
DVFS: dict[str, Any] = {
    "model": "dvfs",
    "machine": "jetson-tk1-choi2016",
    "given": {"phases": PHASES},
    "objective": {"minimize": "energy"},
    "limits": {"time": {"max": 1}},
    "sweep": {"deadline": {"path": "limits.time.max", "values": [0.2, 0.25, 0.5]}},
}


def grid_of(asked: dict[str, Any]) -> Grid:
    import scenarios

    return scenarios.grid(dse.load(asked))


@pytest.fixture(scope="module")
def swept() -> xr.Dataset:
    return dse.sweep(PARTITION, workers=1)


def test_a_family_is_one_variable_with_dimensions_of_its_own(swept: xr.Dataset):
    assert swept.share.dims == ("deadline", "size", "region", "processor")
    assert swept.region.values.tolist() == ["assembly", "solve/LU", "update"]
    assert swept.processor.values.tolist() == ["cpu", "gpu"]
    assert swept.time.dims == swept.energy.dims == ("deadline", "size")
    assert swept.time_by_processor.dims == ("deadline", "size", "processor")
    assert swept.time_by_processor.attrs["family"] == "time"
    assert swept.share.attrs["long_name"] == "fraction of flops and bytes of a region on a processor"
    assert not [n for n in swept.variables if "/" in str(n) or "." in str(n)]


def test_every_element_is_what_its_point_answers(swept: xr.Dataset):
    grid = grid_of(PARTITION)
    for place in ((6, 0), (3, 4), (0, 5)):
        solution = answer(grid.question(place))
        at = swept.isel(deadline=place[0], size=place[1])
        flat = {**solution.metrics, **solution.variables}
        for name in ("share", "flops_share", "bytes_share"):
            for region in swept.region.values:
                for processor in swept.processor.values:
                    expected = flat.get(f"{name}.{region}.{processor}", np.nan)
                    found = float(at[name].sel(region=region, processor=processor))
                    np.testing.assert_allclose(found, expected, atol=1e-12)
        for processor in swept.processor.values:
            found = float(at.time_by_processor.sel(processor=processor))
            np.testing.assert_allclose(found, flat.get(f"time.{processor}", np.nan))


def test_shares_of_a_region_come_to_one_and_what_does_not_exist_is_nan(swept: xr.Dataset):
    answered = swept.status == 1
    assert 0 < int(answered.sum()) < answered.size
    total = swept.share.sum("processor", skipna=False).where(answered)
    assert np.isnan(total.sel(region="update")).all()
    divided = total.sel(region=["assembly", "solve/LU"])
    np.testing.assert_allclose(divided.values[answered.values], 1, rtol=1e-12)
    assert swept.flops_share.sel(region="assembly").isnull().all()
    assert swept.flops_share.sel(region="update").notnull().sum() == 2 * int(answered.sum())
    assert json.loads(swept.flops_share.attrs["elements"]) == [
        "flops_share.update.cpu",
        "flops_share.update.gpu",
    ]


def test_worker_processes_and_a_store_give_the_same(swept: xr.Dataset, tmp_path: Path):
    target = tmp_path / "parts.zarr"
    stored = dse.sweep(PARTITION, target, workers=2)
    assert len(store.done(target)) > 1
    assert store.verify(target) == {}
    xr.testing.assert_equal(stored.drop_vars("seconds").load(), swept.drop_vars("seconds"))
    assert stored.share.attrs == swept.share.attrs
    # chunks lie along the swept axes only
    import zarr

    array = zarr.open_group(str(target), mode="r")["share"]
    assert array.shape == (7, 6, 3, 2)
    assert array.chunks[2:] == (3, 2)
    assert array.chunks[:2] != (7, 6)
    index = next(iter(store.done(target)))
    store.forget(target, index)
    continued = dse.sweep(PARTITION, target, workers=1)
    xr.testing.assert_equal(continued.drop_vars("seconds").load(), swept.drop_vars("seconds"))


def test_the_shape_of_a_layout_is_that_of_its_axes():
    plan = dataset.layout(grid_of(PARTITION))
    assert plan.shape == (7, 6)
    assert plan.further == {"limit": 1, "region": 3, "processor": 2}
    assert plan.width == 6
    assert {v.name: plan.shape_of(v, (2, 1)) for v in plan.variables}["share"] == (2, 1, 3, 2)


def test_settings_are_codes_with_names():
    found = dse.sweep(DVFS, workers=1)
    assert found.setting.dims == ("deadline", "phase")
    assert found.setting.dtype == float
    names = dict(
        zip(found.setting.attrs["flag_values"], found.setting.attrs["flag_meanings"].split(), strict=True)
    )
    solution = answer(grid_of(DVFS).question((2,)))
    menu = solution.menus["setting.move"]
    assert (
        names[float(found.setting.sel(deadline=0.5, phase="move"))]
        == menu[int(solution.variables["setting.move"]) - 1]
    )
    # power.<phase> and the metric "phase_power" are kept apart
    assert found.power_by_phase.dims == ("deadline", "phase")
    np.testing.assert_allclose(found.power_by_phase.max("phase"), found.phase_power)


def test_a_table_has_a_column_for_each_element_that_there_is(swept: xr.Dataset, tmp_path: Path):
    with table.to_csv(swept, tmp_path / "x.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert "share[region=solve/LU,processor=gpu]" in rows[0]
    assert "time_by_processor[processor=cpu] [s]" in rows[0]
    assert "flops_share[region=update,processor=cpu]" in rows[0]
    assert not [c for c in rows[0] if c.startswith(("flops_share[region=assembly", "share[region=update"))]
    kept = np.array([r["share[region=assembly,processor=gpu]"] for r in rows]).reshape(7, 6)
    expected = swept.share.sel(region="assembly", processor="gpu")
    assert (kept == "").tolist() == np.isnan(expected.values).tolist()
    assert [float(x) for x in kept[kept != ""]] == expected.values[~np.isnan(expected.values)].tolist()
    sentences = {r["energy_guideline"] for r in rows} - {""}
    assert sentences <= set(json.loads(swept.energy_guideline.attrs["flag_texts"]))
    assert len(sentences) == 1


def test_settings_are_names_in_tables_and_pictures(tmp_path: Path):
    found = dse.sweep(DVFS, workers=1)
    with table.to_csv(found, tmp_path / "x.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    menu = found.setting.attrs["flag_meanings"].split()
    assert rows[0]["setting[phase=move]"] == ""
    assert rows[2]["setting[phase=move]"] in menu
    panel = plot.sweep(found, "setting").axes[0]
    ticks = {t.get_text() for t in panel.get_yticklabels()}
    assert ticks == {rows[i][f"setting[phase={p}]"] for i in (1, 2) for p in ("compute", "move")}


def test_pictures_draw_the_objective_as_ever_and_a_line_for_each_label(swept: xr.Dataset):
    assert plot.sweep(swept).axes[0].get_ylabel() == "energy (J)"
    chosen = plot.sweep(swept.isel(size=0), "time_by_processor")
    texts = [t.get_text() for t in chosen.legends[0].get_texts()]
    assert texts[:2] == ["processor: cpu", "processor: gpu"]
    assert "infeasible: time" in texts
    regions = plot.sweep(swept.isel(size=0, processor=0), "share")
    # the region that has shares of its own has no line here
    assert [t.get_text() for t in regions.legends[0].get_texts()][:3] == [
        "region: assembly",
        "region: solve/LU",
        "infeasible: time",
    ]
    with pytest.raises(ValueError, match="share has the axes deadline, size, region, processor"):
        plot.sweep(swept, "share")


def test_more_labels_than_lines_are_refused_by_name():
    many = [{"name": f"r{i}", "flops": 1e9, "bytes": 1e9} for i in range(9)]
    sweep = {"deadline": PARTITION["sweep"]["deadline"]}
    asked = PARTITION | {"given": {"regions": many}, "limits": {"time": {"max": 1}}, "sweep": sweep}
    plan = dataset.layout(grid_of(asked))
    arrays = dataset.blank(plan)
    arrays["share"][...] = 0.5
    with pytest.raises(ValueError, match="share has 9 values along region; a picture has at most 6 lines"):
        plot.sweep(dataset.to_dataset(plan, arrays).isel(processor=0), "share")


def test_an_axis_named_like_a_dimension_keeps_its_name():
    sweep = {"host": {"path": "machine.cpu", "values": ["i7-2600k-tang2017", "i3-2100t-tang2017"]}}
    grid = grid_of(PARTITION | {"sweep": sweep})
    named = dataclasses.replace(grid, axes=(dataclasses.replace(grid.axes[0], name="processor"),))
    plan = dataset.layout(named)
    share = next(v for v in plan.variables if v.name == "share")
    assert share.dims == ("processor", "region", "processor_name")
    coordinates = {c.name: c.values for c in plan.coordinates}
    assert coordinates["processor"] == ("i7-2600k-tang2017", "i3-2100t-tang2017")
    assert coordinates["processor_name"] == ("cpu", "gpu")


def test_each_machine_in_an_entry_of_a_map_is_recorded():
    sweep = {"host": {"path": "machine.cpu", "values": ["i7-2600k-tang2017", "i3-2100t-tang2017"]}}
    plan = dataset.layout(grid_of(PARTITION | {"sweep": sweep}))
    machines = json.loads(plan.attributes["machine_parameters"])
    assert machines["cpu: i7-2600k-tang2017"]["cpu.constant_power"] == 26.8
    assert machines["cpu: i3-2100t-tang2017"]["cpu.constant_power"] == 9.7
    assert "cpu.constant_power" not in machines
    assert machines["gpu.constant_power"] == 64.1
    host = next(c for c in plan.coordinates if c.name == "host")
    assert host.attributes["long_name"] == "machine: cpu"


def test_axes_over_lists_say_what_they_change():
    plan = dataset.layout(grid_of(PARTITION))
    size = next(c for c in plan.coordinates if c.name == "size")
    assert size.attributes["long_name"] == "flops of the region: regions.assembly.flops"
    assert axes.words("machine.cpu.time_per_flop") == "cpu time per flop"
    assert axes.words("time.cpu") == "time cpu"


def test_decisions_that_come_with_an_axis_of_names_are_all_there():
    """Under DP there is one share for all regions, under CP one for each: both are in the dataset."""
    sweep = {"execution": {"path": "execution", "values": ["CP", "DP"]}}
    found = dse.sweep(PARTITION | {"sweep": sweep}, workers=1)
    assert found.share.dims == ("execution", "region", "processor")
    assert found.share_by_processor.dims == ("execution", "processor")
    assert np.isnan(found.share_by_processor.sel(execution="CP", processor="cpu"))
    assert np.isfinite(found.share_by_processor.sel(execution="DP", processor="cpu"))


def test_evaluated_grids_have_the_same_families():
    given = {"regions": REGIONS[:2], "share.solve/LU.cpu": 0.0}
    sweep = {
        "x": {"path": "share.assembly.cpu", "values": [0.0, 0.25, 1.0]},
        "host": {"path": "machine.cpu", "values": ["i7-2600k-tang2017", "i3-2100t-tang2017"]},
    }
    asked = {"model": "partition", "machine": MACHINE, "given": given, "sweep": sweep}
    found = dse.evaluate(asked)
    swept = dse.sweep(asked, workers=1)
    assert found.share.dims == ("x", "host", "region", "processor")
    for name in ("share", "time_by_processor", "flops", "bytes", "balance", "energy"):
        np.testing.assert_allclose(found[name].values, swept[name].values, rtol=1e-13)
        assert found[name].attrs == swept[name].attrs
    assert found.share.sel(region="assembly", processor="cpu").isel(host=0).values.tolist() == [
        0.0,
        0.25,
        1.0,
    ]


def test_questions_without_lists_have_no_further_dimensions():
    asked = {
        "model": "roofline",
        "machine": "gtx-titan-choi2014",
        "given": {"flops": 1},
        "sweep": {"i": {"path": "intensity", "values": [1, 20, 1000]}},
    }
    plan = dataset.layout(grid_of(asked))
    assert set(plan.further) <= {"limit"}
    assert all(v.role != "family" for v in plan.variables)
    question = grid_of(asked).question((0,))
    assert index_of(question.model) == given_of(question) == menus_of(question.model) == {}
    assert dimensions([], set()) == {}


def test_the_name_of_a_family_is_what_stands_before_the_labels():
    question = grid_of(PARTITION).question((0, 0))
    found = {q.name: family_name(q) for q in (*question.model.inputs, *question.model.metrics) if q.index}
    assert found["share.solve/LU.cpu"] == "share"
    assert found["time.cpu"] == "time"
    labels = (("region", "assembly"), ("processor", "cpu"))
    assert index_of(question.model)["share.assembly.cpu"] == ("share", labels)
