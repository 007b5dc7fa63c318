"""What pictures of answers, fronts and evaluated grids show: numbers, names, hatches, and what they refuse."""

import json
from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pytest
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure

import dse
from results import plot
from results.along_fronts import segments
from results.dataset import BINDING, NOT_BINDING
from results.pictures import breakdown, several_fronts
from results.pictures.canvas import LINES
from results.pictures.several_fronts import PALE
from results.solution import LimitState, Solution, Status

GOALS = {"objectives": json.dumps({"energy": "min", "time": "min"}), "title": "a made-up front"}
TIME, ENERGY = np.array([1.0, 2.0, 3.0, 4.0]), np.array([100.0, 40.0, 30.0, 25.0])


def legend(figure: Figure) -> list[str]:
    boxes = [*figure.legends, *(a.get_legend() for a in figure.axes if a.get_legend())]
    return [t.get_text() for box in boxes for t in box.get_texts()]


def one_front() -> xr.Dataset:
    data = {
        "time": ("front", TIME, {"units": "s"}),
        "energy": ("front", ENERGY, {"units": "J"}),
        "status": ("front", np.ones(4, "int8")),
        "binding": (("front", "limit"), np.full((4, 3), NOT_BINDING, "int8")),
    }
    coordinates = {"limit": np.array(["time", "power", "memory"], dtype=np.dtypes.StringDType())}
    found = xr.Dataset(data, coordinates, GOALS)
    found["binding"][:, 0] = BINDING
    found["binding"][2:, 1] = BINDING
    return found


def enclosed() -> xr.Dataset:
    at = np.linspace(1.0, 4.0, 13)
    return one_front().assign(
        enclosure_at=("enclosure", at),
        enclosure_lower=("enclosure", 0.9 * np.interp(at, TIME, ENERGY)),
        enclosure_upper=("enclosure", np.interp(at, TIME, ENERGY)),
    )


def test_a_front_of_one_point_has_no_band():
    assert "inside" not in " ".join(legend(plot.front(enclosed().isel(front=[0], enclosure=[0]))))


@pytest.mark.parametrize(
    ("places", "scale"), [(np.linspace(1, 100, 12), "linear"), (np.geomspace(1, 100, 12), "log")]
)
def test_a_swept_axis_has_the_scale_of_its_steps(places: np.ndarray, scale: str):
    data = {"energy": ("work", places**2, {"units": "J"}), "status": ("work", np.ones(12, "int8"))}
    swept = xr.Dataset(data, {"work": places}, {"objectives": json.dumps({"energy": "min"})})
    assert plot.sweep(swept).axes[0].get_xscale() == scale


def test_ticks_have_the_unit_in_the_title_and_none_stands_beside_strips():
    """The strips of binding limits make room below the numbers, where nothing is drawn at a number."""
    told = one_front()
    told["energy"] = told["energy"].copy(data=[0.9, 0.05, 0.005, 0.00101])
    panel = plot.front(told).axes[0]
    assert panel.get_ylabel() == "energy (mJ)"
    low, high = panel.get_ylim()
    assert low < 1e-3
    axis = panel.yaxis
    ticks = [t for t in axis.get_majorticklocs() if low <= t <= high]
    assert min(ticks) == pytest.approx(1e-3)
    written = [float(axis.get_major_formatter()(t, None)) for t in ticks]
    assert written == pytest.approx([1e3 * t for t in ticks], rel=1e-9)  # ten digits are written


def test_a_certified_enclosure_is_shaded_between_its_bounds_whichever_way_round():
    order = json.dumps({"time": "min", "energy": "min"})
    told = enclosed().assign_attrs(enclosure_width=0.053, objectives=order)
    figure = plot.front(told)
    (shade,) = figure.axes[0].collections
    corners = shade.get_paths()[0].vertices
    assert (corners[:, 0].min(), corners[:, 0].max()) == pytest.approx((0.9 * 25, 100.0))
    assert not figure.axes[0].patches, "no rectangle stands beside it"
    assert "the front lies inside (within 5.3 %)" in legend(figure)
    (turned,) = plot.front(told, "time", "energy").axes[0].collections
    np.testing.assert_allclose(turned.get_paths()[0].vertices[:, 1].max(), 100.0)
    # energy against power says nothing about where the front can run
    other = told.assign(power=("front", np.array([4.0, 2.0, 3.0, 1.0]), {"units": "W"}))
    assert "the front lies inside" not in str(legend(plot.front(other, "power", "energy")))


def test_the_knee_and_the_limits_that_bind_are_marked():
    panel = plot.front(one_front()).axes[0]
    texts = [t.get_text() for t in panel.texts]
    assert texts == ["binds: power"], "a limit on an objective binds by itself"
    (strip,) = (line for line in panel.lines if line.get_transform() == panel.get_xaxis_transform())
    np.testing.assert_array_equal(np.isfinite(strip.get_xdata()), [False, False, True, True])
    assert "knee: 2 s, 40 J" in legend(panel.figure)
    (star,) = (line for line in panel.lines if line.get_marker() == "*")
    drawn = [x for x in (*panel.lines, *panel.collections) if x is not star]
    assert star.get_zorder() > max(x.get_zorder() for x in drawn), "many designs do not hide it"
    lowest = min(y for line in panel.lines if line is not strip for y in line.get_ydata())
    assert panel.get_ylim()[0] < lowest - 0.05 * (panel.get_ylim()[1] - lowest), (
        "the strip has room of its own"
    )


def fronts(machines: int = 2) -> xr.Dataset:
    """Fronts of several machines, each dearer than the one before; the last one has none."""
    parts = [one_front().assign(energy=lambda d, i=i: d["energy"] * (1 + i)) for i in range(machines)]
    parts[-1] = parts[-1].assign(energy=parts[-1]["energy"] * np.nan, status=parts[-1]["status"] * 0)
    names = np.array([f"m{i}" for i in range(machines)], dtype=np.dtypes.StringDType())
    found = xr.concat(parts, xr.DataArray(names, dims="machine", name="machine"), combine_attrs="override")
    found["energy"].attrs["units"] = "J"
    found["dominated"] = (("machine", "front"), np.zeros((machines, 4), "int8"))
    found["dominated"][1:-1, 1:] = 1
    found["status"][0, 3] = 2
    why = np.array([""] * (machines - 1) + ['{"power": 3.0, "time": 1.0}'], dtype=np.dtypes.StringDType())
    about = {"flag_values": [1, 3], "flag_meanings": "answered infeasible"}
    codes = np.array([1] * (machines - 1) + [3])
    return found.assign(front_conflict=("machine", why), front_status=("machine", codes, about))


def test_fronts_over_an_axis_are_told_apart_and_dominated_designs_are_hollow_and_grey():
    figure = plot.front(fronts(3))
    panel = figure.axes[0]
    assert legend(figure) == [
        "machine: m0",
        "machine: m1",
        "machine: m2 (infeasible: power and time)",
        "the front lies inside",
        "dominated by another front",
        "not proved optimal",
    ]
    dots = {
        (to_hex(line.get_color()), to_hex(line.get_markerfacecolor()), line.get_marker()): line.get_xydata()
        for line in panel.lines
        if line.get_linestyle() == "None"
    }
    first, second = LINES[0], LINES[1]
    np.testing.assert_array_equal(
        dots[first[0].lower(), first[0].lower(), first[1]][:, 0], TIME[:3], "filled: proved"
    )
    np.testing.assert_array_equal(dots[first[0].lower(), "#ffffff", first[1]], [[4.0, 25.0]])
    np.testing.assert_array_equal(dots[PALE.lower(), "#ffffff", second[1]][:, 0], TIME[1:])


def test_the_legend_shows_the_marks_that_are_drawn_and_lines_only_where_there_are_any():
    ds = fronts(3)
    ds["dominated"][1] = 1
    figure = plot.front(ds.assign(joined=(("machine", "front"), np.full((3, 4), segments.JUMP_BETWEEN))))
    handles = dict(zip(legend(figure), figure.legends[0].legend_handles, strict=True))
    drawn = {(to_hex(x.get_markeredgecolor()), x.get_marker()) for x in figure.axes[0].lines}
    for mark in (handles["machine: m0"], handles["machine: m1 (dominated)"]):
        assert (to_hex(mark.get_markeredgecolor()), mark.get_marker()) in drawn
        assert mark.get_linestyle() == "None"


def test_many_fronts_need_an_axis_of_numbers():
    many = fronts(9)
    with pytest.raises(ValueError, match=r"9 machine are 9 fronts; .* choose with isel"):
        plot.front(many)
    years = many.assign_coords(machine=2020.0 + np.arange(9)).rename(machine="year")
    figure = plot.front(years)
    assert figure.axes[1].get_ylabel() == "year"
    assert "1 of 9 infeasible: power and time" in legend(figure)
    assert legend(plot.front(many.isel(machine=[0, 1, 2])))[:2] == ["machine: m0", "machine: m1"]


def test_too_many_fronts_are_known_from_their_axes():
    assert "3 a × 3 b are 9 fronts" in several_fronts.undrawable({"a": 3, "b": 3}, {"a", "b"})
    assert "9 a are 9 fronts" in several_fronts.undrawable({"a": 9}, ())
    for sizes, numbers in (({"a": 9, "b": 1}, {"a"}), ({"a": 3, "b": 2}, ()), ({"a": 40}, {"a"})):
        assert not several_fronts.undrawable(sizes, numbers)


def test_of_three_objectives_no_curve_is_claimed_and_the_third_is_said_to_be_unseen():
    goals = json.dumps({"time": "min", "energy": "min", "power": "min"})
    ds = fronts(2).assign(power=(("machine", "front"), np.ones((2, 4)), {"units": "W"}))
    figure = plot.front(ds.assign_attrs(objectives=goals))
    assert {line.get_linestyle() for line in figure.axes[0].lines} == {"None"}
    assert not figure.axes[0].patches
    assert "not shown: power" in legend(figure)


@pytest.fixture(scope="module")
def grid() -> xr.Dataset:
    """Two machines at thirty intensities: nothing is decided, so that nothing needs solving."""
    return dse.evaluate(
        {
            "model": "roofline",
            "machine": "gtx-titan-choi2014",
            "given": {"flops": 1e12},
            "sweep": {
                "machine": {"path": "machine", "values": ["gtx-titan-choi2014", "arndale-gpu-choi2014"]},
                "intensity": {"path": "intensity", "start": 0.25, "stop": 64, "num": 30, "spacing": "log"},
            },
        }
    )


def test_a_map_has_the_axes_it_is_asked_for(grid: xr.Dataset):
    figure = plot.map(grid, x="machine", y="intensity", variable="power")
    panel, bar = figure.axes
    assert (panel.get_xlabel(), panel.get_ylabel()) == ("machine", "intensity (flop/byte)")
    assert [t.get_text() for t in panel.get_xticklabels()] == list(grid["machine"].values)
    assert bar.get_ylabel() == "power (W)", "one unit for all: it stands in the title"
    assert {t.get_text() for t in bar.get_yticklabels()} >= {"10", "100"}
    drawn = panel.collections[0].get_array()
    np.testing.assert_allclose(drawn, grid["power"].transpose("intensity", "machine"), rtol=1e-12)
    with pytest.raises(ValueError, match="two of the swept axes, which are machine, intensity"):
        plot.map(grid, x="power")
    with pytest.raises(ValueError, match="a map needs two swept axes, and this dataset has intensity"):
        plot.map(grid.isel(machine=0))


def test_parts_of_a_total_are_stacked_up_to_it(grid: xr.Dataset):
    few = grid.isel(intensity=[0, 15, 29])
    figure = plot.breakdown(few)
    panel = figure.axes[0]
    assert panel.get_xlabel() == "energy (kJ)"
    assert sorted(legend(figure)) == ["bytes", "constant power", "flops"]
    ends = [
        max(p.get_x() + p.get_width() for p in panel.patches if round(p.get_y() + 0.35) == i)
        for i in range(6)
    ]
    np.testing.assert_allclose(ends, few["energy"].values.ravel() / 1e3, rtol=1e-12)
    labels = [t.get_text() for t in panel.get_yticklabels()]
    assert labels[0] == "gtx-titan-choi2014, 0.25 flop/byte"
    shares = plot.breakdown(few, share=True).axes[0]
    assert shares.get_xlabel() == "share of energy (%)"
    assert max(p.get_x() + p.get_width() for p in shares.patches) == pytest.approx(100.0)


def test_parts_along_an_axis_of_numbers_are_areas(grid: xr.Dataset):
    along = grid.isel(machine=0)
    panel = plot.breakdown(along).axes[0]
    top = panel.collections[-1].get_paths()[0].vertices
    np.testing.assert_allclose(top[:, 1].max(), along["energy"].max() / 1e3, rtol=1e-12)
    assert len(panel.collections) == 3
    assert panel.get_xscale() == "log"


def test_a_breakdown_that_is_not_there_is_refused_with_what_is(grid: xr.Dataset):
    with pytest.raises(ValueError, match="there is energy by what it is spent on"):
        plot.breakdown(grid.isel(machine=0), "time")
    with pytest.raises(
        ValueError, match=r"the 60 designs of 2 machine × 30 intensity are more bars .* choose with isel"
    ):
        plot.breakdown(grid)


def grey(colour: str) -> float:
    red, green, blue = to_rgb(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_parts_are_told_apart_in_grey():
    looks = list(zip(breakdown.COLOURS, breakdown.PATTERNS, strict=True))
    assert len({c for c, _ in looks}) == len(looks) == breakdown.MOST_SUMMANDS
    for (colour, pattern), (other, next_pattern) in combinations(looks, 2):
        assert pattern != next_pattern or abs(grey(colour) - grey(other)) > 0.15
    assert len({(marker, str(dash)) for _, marker, dash in LINES}) == len(LINES)


def test_a_roofline_is_what_the_model_says(grid: xr.Dataset):
    figure = plot.roofline("gtx-titan-choi2014")
    fast, frugal, power = figure.axes
    assert [a.get_ylabel() for a in figure.axes] == [
        "performance (TFLOPS)",
        "efficiency (GFLOPS/W)",
        "power (W)",
    ]
    alone = grid.isel(machine=0)
    for panel, metric, factor in (
        (fast, "performance", 1e12),
        (frugal, "efficiency", 1e9),
        (power, "power", 1.0),
    ):
        free, capped = panel.lines
        assert free.get_linestyle() == "--"
        # the curve is drawn by 161 points, of which two cut off a corner by so much
        known = np.exp(
            np.interp(np.log(alone["intensity"]), np.log(capped.get_xdata()), np.log(capped.get_ydata()))
        )
        np.testing.assert_allclose(known * factor, alone[metric], rtol=6e-3)
        assert (free.get_ydata() >= capped.get_ydata() * (1 - 1e-12)).all() or metric == "efficiency"
    assert [t.get_text() for t in power.texts] == ["memory", "cap", "compute"]
    assert legend(figure) == ["without its power cap"]


def test_rooflines_of_a_dataset_have_its_designs_under_them(grid: xr.Dataset):
    figure = plot.roofline(grid, ["performance"])
    (panel,) = figure.axes
    dots = [line for line in panel.lines if line.get_linestyle() == "None"]
    assert [len(d.get_xdata()) for d in dots] == [30, 30]
    assert {"gtx-titan-choi2014", "arndale-gpu-choi2014", "designs"} <= set(legend(figure))
    with pytest.raises(
        ValueError, match="bandwidth has no roofline; there are performance, efficiency, power"
    ):
        plot.roofline(grid, ["bandwidth"])
    with pytest.raises(ValueError, match="there is no roofline here"):
        plot.roofline(one_front())


def answer(**more: object) -> Solution:
    limits = {
        "time": LimitState(1.0, 1.0, "max", "s", 0.0, binding=True, elasticity=-0.5, one_sided=True),
        "power": LimitState(1.0, 2.0, "max", "W", 0.5, binding=False, elasticity=0.0),
    }
    parameters = {"machine.energy_per_flop": 0.75, "bodies": 2.0, "machine.latency": -0.25, "tiny": 1e-4}
    given = {"objective_name": "energy", "title": "what costs $", "parameters": parameters, "limits": limits}
    return Solution(Status.OPTIMAL, objective=1.0, **(given | more))


def test_a_tornado_has_the_longest_bars_first():
    figure = plot.tornado(answer())
    (panel,) = figure.axes
    assert [t.get_text() for t in panel.get_yticklabels()] == [
        "bodies",
        "energy per flop",
        "limit on time",
        "latency",
    ]
    assert [p.get_width() for p in panel.patches] == [2.0, 0.75, -0.5, -0.25]
    assert [bool(p.get_hatch()) for p in panel.patches] == [False, False, True, True]
    assert panel.get_xlabel() == "change of energy for 1 % more (%)"
    assert "1 smaller ones left out" in [t.get_text() for t in panel.texts]
    assert "only in the direction that improves the objective" in legend(figure)
    with pytest.raises(ValueError, match="nothing here has an elasticity"):
        plot.tornado(answer(parameters={}, limits={}))


def test_a_tornado_of_many_designs_shows_from_where_to_where():
    many = one_front().assign(elasticity=(("front", "limit"), np.full((4, 3), np.nan)))
    many["elasticity"][:, 1] = [-0.25, -1.0, -0.5, np.nan]
    (bar,) = plot.tornado(many).axes[0].patches
    assert (bar.get_x(), bar.get_x() + bar.get_width()) == (-1.0, -0.25)


def test_designs_are_lines_through_parallel_coordinates(grid: xr.Dataset):
    figure = plot.parallel(grid, ["machine", "intensity", "power", "regime"], colour="efficiency")
    panel, bar = figure.axes
    (lines,) = panel.collections
    assert len(lines.get_segments()) == grid["power"].size
    heights = np.array([s[:, 1] for s in lines.get_segments()])
    assert heights.min() == 0.0
    assert heights.max() == 1.0
    np.testing.assert_array_equal(np.unique(heights[:, 0]), [0.0, 1.0])
    assert bar.get_ylabel() == "efficiency (GFLOPS/W)"
    named = [t.get_text().replace("\n", " ") for t in panel.get_xticklabels()]
    assert named == ["machine", "intensity (flop/byte)", "power (W)", "regime"]
    assert {"compute", "cap", "memory", "0.25", "64"} <= {t.get_text() for t in panel.texts}
    with pytest.raises(ValueError, match="there is no variable 'speed'"):
        plot.parallel(grid, ["machine", "speed"])


def test_points_without_an_answer_are_no_designs():
    ds = one_front()
    ds["status"][1] = 3
    (lines,) = plot.parallel(ds, ["time", "energy"]).axes[0].collections
    assert len(lines.get_segments()) == 3


@pytest.fixture
def axes() -> Iterator[Axes]:
    figure = Figure(figsize=(4, 3))
    yield figure.subplots()
    figure.clear()


def test_datasets_draw_themselves_on_axes_of_ones_own(grid: xr.Dataset, axes: Axes):
    assert one_front().dse.front(ax=axes) is axes.figure
    assert axes.get_xlabel() == "time (s)"
    assert axes.get_title(loc="left") == "", "the rest of the figure is the caller's"
    assert repr(grid.dse) == "<pictures of this dataset: sweep, map, roofline, breakdown, parallel>"
    with pytest.raises(ValueError, match="this picture has 3 panels, and ax is 1"):
        grid.dse.roofline(ax=axes)
    assert grid.isel(machine=0).dse.sweep("power", ax=axes) is axes.figure
    assert grid.dse.map(x="intensity", y="machine").axes[0].get_xlabel() == "intensity (flop/byte)"
    assert len(grid.dse.parallel().axes[0].collections[0].get_segments()) == grid["power"].size


def test_what_a_dataset_cannot_show_is_refused_with_what_it_can(grid: xr.Dataset):
    can = r"This dataset can show sweep\(\), map\(\), roofline\(\), breakdown\(\), parallel\(\)"
    with pytest.raises(ValueError, match=rf"has no front: .*{can}"):
        grid.dse.front()
    with pytest.raises(ValueError, match=rf"nothing here has an elasticity.*{can}"):
        grid.dse.tornado()
    with pytest.raises(
        ValueError, match=r"a front, and maps and lines show a sweep.*can show front\(\), parallel\(\)"
    ):
        one_front().dse.map()
