"""Pictures say what they show: labelled axes with units, marked ends, hatched regions with their reason."""

import json
import threading
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from results import axes, dataset, plot
from results.dataset import CONFLICTING, Layout
from results.pictures import forbidden
from results.solution import Status
from results.stores.store import StoreError


def swept(plan: Layout, machines: int) -> xr.Dataset:
    """Energy falls with the deadline; the first ten deadlines are infeasible, the last point failed."""
    ds = dataset.to_dataset(plan, dataset.blank(plan))
    ds["energy"][:] = 1e6 / ds.deadline.values[:, None] * np.array([1.0, 2.0])
    ds["objective"][:] = ds.energy.values
    ds["status"][:] = 1
    ds["status"][:10] = 3
    ds["binding"].loc[{"deadline": slice(1.0, 10.0), "limit": "time"}] = CONFLICTING
    ds["status"][-1] = 5
    return ds.isel(machine=slice(0, machines))


def legend(figure: object) -> list[str]:
    found = [t.get_text() for g in figure.legends for t in g.get_texts()]
    panel = figure.axes[0].get_legend()
    return found + ([t.get_text() for t in panel.get_texts()] if panel else [])


def front_of(plan: Layout, times: np.ndarray, status: int = 1) -> xr.Dataset:
    points = {"time": times, "energy": 100.0 / times}
    units = {"time": "s", "energy": "J"}
    data = {n: ("front", v, {"units": units[n]}) for n, v in points.items()}
    data["status"] = ("front", np.full(times.size, status, "int8"))
    return xr.Dataset(data, attrs={"objectives": '{"energy": "min", "time": "min"}', "title": "cost $x_1^"})


def test_a_front_names_axes_ends_and_proof(plan: Layout):
    figure = plot.front(front_of(plan, np.linspace(1.0, 4.0, 6)))
    panel = figure.axes[0]
    assert panel.get_xlabel() == "time (s)"
    assert panel.get_ylabel() == "energy (J)"
    assert panel.get_title(loc="left") == "cost $x_1^"
    found = ["the front lies inside", "proved optimal", "least time: 1 s", "least energy: 25 J"]
    assert legend(figure) == found
    assert len(panel.patches) == 5


def test_an_axis_in_no_order_is_drawn_in_order(plan: Layout):
    ds = swept(plan, 1)
    turned = ds.isel(deadline=np.random.default_rng(1).permutation(ds.sizes["deadline"]))
    one, other = (plot.sweep(d).axes[0] for d in (ds, turned))
    assert one.get_xlim() == other.get_xlim()
    for a, b in zip(one.lines, other.lines, strict=True):
        np.testing.assert_array_equal(a.get_xydata(), b.get_xydata())


def test_points_without_proof_are_not_enclosed(plan: Layout):
    figure = plot.front(front_of(plan, np.linspace(1.0, 4.0, 6), status=2))
    assert "feasible, not proved optimal" in legend(figure)
    assert not figure.axes[0].patches


def test_a_wide_front_has_logarithmic_axes(plan: Layout):
    panel = plot.front(front_of(plan, np.geomspace(1e-3, 10, 9))).axes[0]
    assert (panel.get_xscale(), panel.get_yscale()) == ("log", "log")
    assert panel.xaxis.get_major_formatter()(0.02, 0) == "20 ms"


def drawn_at(panel: Any, third: float) -> Any:
    """Where the design is drawn whose colour tells this number."""
    places = [(c.get_offsets(), c.get_array()) for c in panel.collections]
    return next(at[i] for at, told in places for i in range(len(at)) if told[i] == third)


def test_three_objectives_claim_no_curve_and_colour_the_third(plan: Layout, tmp_path: Path):
    ds = front_of(plan, np.array([1.0, 2.0, 2.5, 4.0]))
    ds["power"] = ("front", np.array([100.0, 20.0, 300.0, 40.0]), {"units": "W"})
    ds["status"][1] = 2
    ds.attrs["objectives"] = '{"time": "min", "energy": "min", "power": "min"}'
    figure = plot.front(ds)
    panel, bar = figure.axes
    assert not panel.patches
    assert all(len(line.get_xdata()) == 1 for line in panel.lines), "no line joins designs"
    assert bar.get_ylabel() == "power (W)"
    drawn = np.concatenate([c.get_array() for c in panel.collections])
    assert sorted(drawn) == [20.0, 40.0, 100.0, 300.0]
    assert {"proved optimal", "feasible, not proved optimal"} < set(legend(figure))
    (least,) = (line for line in panel.lines if line.get_label() == "least power: 20 W")
    np.testing.assert_array_equal(least.get_xydata(), [drawn_at(panel, 20.0)])
    plot.save(figure, tmp_path / "three.png")


def test_a_front_needs_two_objectives_and_points(plan: Layout):
    ds = front_of(plan, np.array([np.nan, np.nan]))
    with pytest.raises(ValueError, match="no points"):
        plot.front(ds)
    ds.attrs["objectives"] = '{"time": "min"}'
    with pytest.raises(ValueError, match="two objectives"):
        plot.front(ds)


def test_lines_are_named_and_infeasible_stretches_say_why(plan: Layout):
    figure = plot.sweep(swept(plan, 2))
    assert legend(figure) == ["machine: small", "machine: large", "infeasible: time", "error"]
    assert figure.axes[0].get_xlabel() == "deadline (s)"
    assert figure.axes[0].get_ylabel() == "energy (kJ)"


def test_a_stretch_is_named_by_the_conflict_of_each_line_not_by_all_their_limits(plan: Layout):
    """The line of the larger machine breaks the deadline alone."""
    made = swept(plan, 2)
    also = next(str(n) for n in made["limit"].values if n != "time")
    made["binding"].loc[{"deadline": slice(1.0, 5.0), "limit": also, "machine": "small"}] = CONFLICTING
    names = legend(plot.sweep(made))
    assert names[2:] == [f"infeasible: time, or time and {axes.words(also)}", "infeasible: time", "error"]


def test_what_has_one_value_at_all_points_stands_in_the_title(plan: Layout):
    made = swept(plan, 2).isel(deadline=[12])
    made.attrs["title"] = "long " * 60
    title = plot.sweep(made).axes[0].get_title(loc="left").replace("\n", " ")
    assert title.endswith("… (deadline: 13 s)")
    made = swept(plan, 1).assign_attrs(title="short")
    assert plot.sweep(made).axes[0].get_title(loc="left") == "short (machine: small)"


def test_without_a_design_there_are_no_numbers_to_read_and_lines_are_said_to_be_empty(plan: Layout):
    made = swept(plan, 2)
    made["status"].loc[{"machine": "large"}] = 3
    assert legend(plot.sweep(made))[:2] == ["machine: small", "machine: large (no design)"]
    made["status"][:] = 3
    figure = plot.sweep(made)
    assert legend(figure)[:2] == ["machine: small (no design)", "machine: large (no design)"]
    assert list(figure.axes[0].get_yticks()) == []


def test_lines_of_all_values_are_seen_on_white():
    from matplotlib.colors import to_rgb

    from results.pictures.canvas import line_colours

    linear = [[((v + 0.055) / 1.055) ** 2.4 for v in to_rgb(line_colours()(x))] for x in (0, 0.25, 0.5, 1.0)]
    light = [0.2126 * r + 0.7152 * g + 0.0722 * b for r, g, b in linear]
    assert light == sorted(light)
    # the contrast that WCAG asks of graphics
    assert 1.05 / (light[-1] + 0.05) > 3


def test_one_axis_gives_one_line(plan: Layout):
    figure = plot.sweep(swept(plan, 1))
    line = figure.axes[0].lines[0].get_ydata()
    assert np.isnan(line[:10]).all()
    assert line[10] == pytest.approx(1e3 / 11)


def test_two_axes_give_a_map(question: object, make_axis: type, make_grid: type):
    deadlines = make_axis("deadline", "limits.time.max", "s", "t", tuple(np.geomspace(1e-3, 10.0, 12)))
    bodies = make_axis("bodies", "bodies", "", "bodies", tuple(np.linspace(1e3, 1e4, 8)))
    plan = dataset.layout(make_grid((deadlines, bodies), question))
    wide = dataset.to_dataset(plan, dataset.blank(plan))
    wide["status"][:6] = 1
    wide["objective"][:6] = np.geomspace(1.0, 1e4, 48).reshape(6, 8)
    figure = plot.sweep(wide)
    assert [a.get_ylabel() for a in figure.axes] == ["deadline", "energy"]
    assert figure.axes[0].get_xlabel() == "bodies"
    assert legend(figure) == ["not computed"]


def test_what_cannot_be_drawn_is_refused_by_name(plan: Layout):
    with pytest.raises(ValueError, match="no variable 'enrgy'"):
        plot.sweep(swept(plan, 2), "enrgy")
    with pytest.raises(ValueError, match="deadline, machine, limit; a picture has those of the sweep"):
        plot.sweep(swept(plan, 2), "elasticity")


def test_shorter_axes_beyond_two_are_panels_on_one_scale(question: object, make_axis: type, make_grid: type):
    """Every number of a sweep over four axes is drawn, beside the names of where it belongs."""
    deadlines = make_axis("deadline", "limits.time.max", "s", "t", (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0))
    bodies = make_axis("bodies", "bodies", "", "bodies", (1e3, 2e3, 3e3))
    machine = make_axis("machine", "machine", "", "machine", ("small", "large"))
    word = make_axis("word", "machine", "", "word", ("single", "double"))
    plan = dataset.layout(make_grid((machine, bodies, word, deadlines), question))
    deep = dataset.to_dataset(plan, dataset.blank(plan))
    deep["status"][:] = 1
    deep["objective"][:] = np.geomspace(1.0, 1e4, 84).reshape(2, 3, 2, 7)
    deep["status"][0, :, 0, :2] = 3
    deep["status"][1, :, 1, :2] = 5
    figure = plot.sweep(deep)
    assert [a.get_title() for a in figure.axes] == [
        f"machine: {m}, word: {w}" for m in ("small", "large") for w in ("single", "double")
    ]
    assert {a.get_ylim() for a in figure.axes} == {figure.axes[0].get_ylim()}
    drawn = [line.get_ydata() for a in figure.axes for line in a.get_lines()]
    assert len(drawn) == 12
    answered = deep["objective"].where(deep["status"] == 1).values
    assert sorted(v for y in drawn for v in y if np.isfinite(v)) == pytest.approx(
        sorted(answered[np.isfinite(answered)])
    )
    names = legend(figure)
    assert names[:3] == ["bodies: 1000", "bodies: 2000", "bodies: 3000"]
    assert sorted(names[3:]) == ["error", "infeasible"]
    hatched = [p.get_hatch() for a in figure.axes for p in a.patches]
    assert len(set(hatched)) == len(hatched) == 2


def test_what_fresh_samples_come_to_in_one_panel_does_not_move_the_unit_of_the_others():
    """Panels share their axis up, and with it the unit of its numbers."""
    dims, times = (
        ("machine", "limit_of", "x"),
        np.linspace(0.5, 0.9, 14).reshape(2, 1, 7) * np.ones((2, 3, 1)),
    )
    far = np.array([1.0, 1.9])[:, None, None]
    deep = xr.Dataset(
        {
            "status": (dims, np.ones(times.shape, np.int8)),
            "objective": (dims, times, {"units": "s"}),
            "fresh_q05": (dims, 0.9 * times, {"units": "s"}),
            "fresh_q95": (dims, far * times, {"units": "s"}),
        },
        {"machine": ["small", "large"], "limit_of": np.arange(3.0), "x": np.arange(7.0)},
        {"objectives": json.dumps({"time": "min"})},
    )
    first, second = plot.sweep(deep).axes
    drawn = [np.concatenate([line.get_ydata() for line in a.get_lines()]) for a in (first, second)]
    assert drawn[1].min() / drawn[0].min() == pytest.approx(times[1].min() / times[0].min())


def test_maps_in_panels_have_one_scale_of_colours(question: object, make_axis: type, make_grid: type):
    deadlines = make_axis("deadline", "limits.time.max", "s", "t", tuple(np.linspace(1.0, 2.0, 9)))
    bodies = make_axis("bodies", "bodies", "", "bodies", tuple(np.linspace(1e3, 1e4, 8)))
    machine = make_axis("machine", "machine", "", "machine", ("small", "large"))
    plan = dataset.layout(make_grid((deadlines, bodies, machine), question))
    deep = dataset.to_dataset(plan, dataset.blank(plan))
    deep["status"][:] = 1
    deep["objective"][:] = np.linspace(1.0, 2.0, 144).reshape(9, 8, 2)
    figure = plot.sweep(deep)
    maps = [a.collections[0] for a in figure.axes[:2]]
    assert {m.get_clim() for m in maps} == {(1.0, 2.0)}
    assert len(figure.axes) == 3


def test_of_three_panels_each_outer_one_names_its_axes_and_no_names_overlap(
    question: object, make_axis: type, make_grid: type
):
    deadlines = make_axis("deadline", "limits.time.max", "s", "t", tuple(np.linspace(1.0, 2.0, 9)))
    names = tuple(f"a-long-name-of-a-machine-{i}" for i in range(7))
    machine = make_axis("machine", "machine", "", "machine", names)
    bodies = make_axis("bodies", "bodies", "", "bodies", (1e3, 2e3, 3e3))
    plan = dataset.layout(make_grid((deadlines, machine, bodies), question))
    deep = dataset.to_dataset(plan, dataset.blank(plan))
    deep["status"][:] = 1
    deep["objective"][:] = np.linspace(1.0, 2.0, 9 * 7 * 3).reshape(9, 7, 3)
    figure = plot.map(deep, x="machine", y="deadline")
    figure.draw_without_rendering()
    *panels, bar = figure.axes[:3] + figure.axes[-1:]
    assert [p.get_xlabel() for p in panels] == ["", "machine", "machine"]
    for panel in panels[1:]:
        labels = [t for t in panel.get_xticklabels() if t.get_text()]
        assert [t.get_text() for t in labels] == list(names)
        ends = [t.get_transform().transform(t.get_position())[0] for t in labels]
        assert all(t.get_rotation() == 30 for t in labels)
        assert min(np.diff(ends)) > 15, "side by side, a line of text apart"
    assert bar.get_ylabel().endswith("(J)")


@pytest.mark.parametrize(
    ("sizes", "panels"),
    [({"a": 5, "b": 9}, 0), ({"a": 4, "b": 3, "c": 9, "d": 9}, 0), ({"a": 13, "b": 14, "c": 15, "d": 1}, 13)],
)
def test_what_has_no_picture_is_known_from_its_axes(sizes: dict[str, int], panels: int):
    told = axes.undrawable(sizes)
    assert bool(told) == bool(panels)
    if panels:
        assert f"13 a × 14 b × 15 c × 1 d would need {panels} panels" in told


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_pictures_are_written(plan: Layout, tmp_path: Path, ending: str):
    path = plot.save(plot.sweep(swept(plan, 2)), tmp_path / "new" / f"sweep.{ending}")
    assert path.stat().st_size > 5000


def test_a_picture_that_cannot_be_written_is_reported(plan: Layout, tmp_path: Path):
    (tmp_path / "file").write_text("")
    for bad in (tmp_path / "file" / "x.png", tmp_path / "x.nonsense"):
        with pytest.raises(StoreError, match="cannot write the picture"):
            plot.save(plot.sweep(swept(plan, 1)), bad)


def test_pictures_leave_no_global_state_and_bear_threads(plan: Layout, tmp_path: Path):
    from matplotlib import _pylab_helpers

    failed: list[Exception] = []
    before = _pylab_helpers.Gcf.get_all_fig_managers()

    def draw(number: int) -> None:
        try:
            plot.save(plot.front(front_of(plan, np.linspace(1.0, 4.0, 5))), tmp_path / f"{number}.png")
        except Exception as problem:
            failed.append(problem)

    threads = [threading.Thread(target=draw, args=(i,)) for i in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failed
    assert len({(tmp_path / f"{i}.png").read_bytes() for i in range(3)}) == 1
    assert _pylab_helpers.Gcf.get_all_fig_managers() == before


@pytest.mark.parametrize("log", [True, False])
def test_cells_meet_half_way(log: bool, make_axis: Callable[..., object]):
    middles = np.array([1.0, 10.0, 100.0]) if log else np.array([1.0, 2.0, 3.0])
    found = axes.edges(middles, log)
    assert found[1:-1] == pytest.approx(np.sqrt([10.0, 1000.0]) if log else [1.5, 2.5])


@pytest.mark.parametrize(
    ("unit", "ends", "panels"),
    [("USD/J", (2.8e-9, 1.4e-6), 1), ("s", (1e-2, 1.0), 1), ("W", (1e2, 1e4), 2)],
)
def test_labels_of_a_logarithmic_axis_stand_apart(unit: str, ends: tuple[float, float], panels: int):
    import matplotlib.pyplot as plt

    values = xr.DataArray(np.geomspace(*ends, 5), attrs={"units": unit})
    figure, ((panel, *_),) = plt.subplots(1, panels, figsize=(9, 5), squeeze=False)
    panel.plot(values.values, values.values)
    panel.set_xscale("log")
    axes.log_ticks(panel.xaxis, values.values, values)
    figure.canvas.draw()
    left, right = panel.get_xlim()
    shown = [t for t in panel.get_xticklabels() if left <= t.get_position()[0] <= right]
    boxes = [t.get_window_extent() for t in shown]
    plt.close(figure)
    assert len(boxes) >= 3
    space = 3  # pixels
    assert all(a.x1 + space < b.x0 for a, b in pairwise(boxes))


@pytest.mark.parametrize("status", ["optimal", "infeasible"])
def test_a_sweep_without_limits_has_regions_too(status: str):
    code = dataset.STATUS_CODES[Status(status)]
    found = xr.Dataset(
        {"status": ("size", [code, code]), "binding": (("size", dataset.LIMIT), np.zeros((2, 0), np.int8))},
        {"size": [1.0, 2.0]},
    )
    told = [text for text, _ in forbidden.regions(found)]
    assert told == (["infeasible"] if status == "infeasible" else [])


def test_a_figure_shows_itself_in_a_notebook(plan: Layout):
    assert plot.front(front_of(plan, np.array([1.0, 2.0])))._repr_png_().startswith(b"\x89PNG")
