"""Pictures of what is chosen by name, and of times of days and years."""

from __future__ import annotations

import io
import warnings
from typing import Any

import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from long_names import ALIKE, energies_by_intensity, machine_files

import dse
from results import plot
from results.axes import apart
from results.pictures.canvas import MEDIUM, label_bars, sheet, svg

MACHINES = ["gtx-titan-choi2014", "arndale-gpu-choi2014", "gtx680-choi2014"]
YEAR = 365.25 * 86400.0


def legend(figure: Any) -> list[str]:
    return [t.get_text() for g in figure.legends for t in g.get_texts()]


def test_a_map_of_choices_has_a_colour_for_each_name() -> None:
    swept = dse.sweep(
        {
            "model": "roofline",
            "given": {"flops": 1e12},
            "decide": {"machine": {"values": MACHINES}},
            "objective": {"minimize": "energy"},
            "sweep": {
                "intensity": {"path": "intensity", "start": 0.25, "stop": 64, "num": 9, "spacing": "log"},
                "cap": {"path": "limits.power.max", "start": 2, "stop": 400, "num": 9, "spacing": "log"},
            },
        }
    )
    figure = plot.map(swept, variable="machine")
    chosen = {MACHINES[int(v)] for v in swept["machine"].values[swept["status"].values == 1]}
    named = legend(figure)
    assert len(chosen) >= 2
    assert chosen <= set(named)
    assert any(text.startswith("infeasible") for text in named)
    # no scale of numbers beside the one panel
    assert len(figure.axes) == 1


def test_names_along_an_axis_are_not_joined() -> None:
    """As if something lay between two machines; numbers are."""
    asked = {"model": "roofline", "given": {"flops": 1e12}, "objective": {"minimize": "energy"}}
    machines = {"path": "machine", "values": MACHINES}
    intensities = {"path": "intensity", "values": [1, 2, 4]}
    by_name = dse.sweep(asked | {"given": {"flops": 1e12, "intensity": 4}, "sweep": {"platform": machines}})
    by_number = dse.sweep(asked | {"machine": MACHINES[0], "sweep": {"intensity": intensities}})
    styles = [{line.get_linestyle() for line in plot.sweep(d).axes[0].lines} for d in (by_name, by_number)]
    assert styles == [{"None"}, {"-"}]


@pytest.mark.parametrize(
    ("ends", "unit", "ticks"),
    [
        ((0.1 * YEAR, 30 * YEAR), "yr", ["0.1", "1", "10"]),
        ((3600.0, 30 * 86400.0), "day", ["0.1", "1", "10"]),
    ],
)
def test_a_logarithmic_axis_of_long_times_has_round_days_or_years(
    ends: tuple[float, float], unit: str, ticks: list[str]
) -> None:
    start, stop = ends
    swept = dse.sweep(
        {
            "model": "roofline",
            "machine": MACHINES[0],
            "given": {"flops": 1e15, "intensity": 4},
            "decide": {"throttle": {"max": 1e9}},
            "objective": {"minimize": "power"},
            "sweep": {
                "most": {"path": "limits.time.max", "start": start, "stop": stop, "num": 8, "spacing": "log"}
            },
        }
    )
    panel = plot.sweep(swept).axes[0]
    panel.figure.canvas.draw()
    assert panel.get_xlabel() == f"most ({unit})"
    shown = [t.get_text() for t in panel.get_xticklabels()]
    assert set(ticks) <= set(shown), shown


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> xr.Dataset:
    """Answers on machines whose titles are long and differ at their ends only, or have signs that no font has."""
    titles = [*ALIKE, "RACK SEVEN " * 12, "\u6a5f\u68b0 \N{SLIGHTLY SMILING FACE} $x_1$"]
    machines = machine_files(tmp_path_factory.mktemp("machines"), titles)
    return dse.sweep(energies_by_intensity(machines, "\u6a5f\u68b0"))


@pytest.mark.parametrize("draw", [plot.sweep, plot.map, plot.roofline, plot.parallel])
@pytest.mark.filterwarnings("ignore:Glyph")
def test_long_names_stay_in_the_picture_and_distinct_and_nothing_warns(draw: Any, named: xr.Dataset) -> None:
    figure = draw(named)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure.savefig(io.BytesIO(), format="png")
        svg(figure)
    whole = figure.bbox
    for text in [t for g in figure.legends for t in [g, *g.get_texts()]] + figure.axes[0].get_yticklabels():
        box = text.get_window_extent()
        assert whole.x0 <= box.x0
        assert box.x1 <= whole.x1
    written = {t.get_text() for panel in figure.axes for t in [*panel.texts, *panel.get_yticklabels()]}
    written |= set(legend(figure))
    racks = [text.replace("\n", " ") for text in written if "NVIDIA" in text]
    assert len(racks) == len(set(racks)) == 2
    assert sum(text.endswith("rack") for text in racks) == 1


def test_a_label_that_is_wider_than_its_panel_is_folded_and_stays_in_a_narrow_picture() -> None:
    paper = sheet("", 2, sharex=False, sharey=False, narrow=True)
    label_bars(paper.panels[1], ["gtx-titan-choi2014", "arndale-gpu-choi2014"], 28)
    for panel, name in zip(paper.panels, ("short", "which machine wins (% of samples)"), strict=True):
        panel.set_xlabel(name, fontsize=MEDIUM)
    svg(paper.figure)
    for panel in paper.panels:
        box = panel.xaxis.label.get_window_extent()
        assert (box.x0 >= 0.0, box.x1 <= paper.figure.bbox.x1) == (True, True)
    written = [panel.get_xlabel() for panel in paper.panels]
    assert written == ["short", "which machine wins\n(% of samples)"]


@given(
    st.lists(st.text("ab \N{SLIGHTLY SMILING FACE}", max_size=40).map(lambda t: " ".join(t.split()))),
    st.integers(10, 24),
)
def test_names_that_are_cut_for_their_place_fit_it_and_differ_as_before(names: list[str], most: int) -> None:
    cut = apart(names, most)
    # what so few letters cannot tell apart stays whole
    assert all(len(text) <= most or text in names for text in cut)
    assert [text for text, name in zip(cut, names, strict=True) if len(name) <= most] == [
        name for name in names if len(name) <= most
    ]
    assert len(set(cut)) == len(set(names))


def energies_of_blocks(fixed: float, block: str, intensity: float) -> dict[str, Any]:
    return {
        "model": "blocks",
        "machine": {"a": "arndale-gpu-choi2014", "b": block},
        "given": {"flops": 1e12, "intensity": intensity, "fixed_power": fixed, "count.a": 1, "count.b": 1},
        "objective": {"minimize": "energy"},
    }


def test_curves_over_whole_numbers_are_points_and_the_legend_says_where_the_order_changes() -> None:
    one = energies_of_blocks(50.0, "gtx-titan-choi2014", 1.0)
    asked = (one, energies_of_blocks(20.0, "xeon-phi-choi2014", 1.2))
    curve = dse.compare(*asked, over="given.count.a", start=0, stop=12, points=5).curve
    assert curve is not None
    figure = plot.sweep(curve.to_dataset())
    (crossing,) = curve.crossings
    low = min(crossing.low.at, crossing.high.at)
    assert f"the order changes between {low:.0f} and {low + 1:.0f}" in legend(figure)
    styles = {line.get_linestyle() for line in figure.axes[0].lines if len(set(line.get_xdata())) > 1}
    assert styles == {"None"}


def test_a_number_at_the_right_end_of_an_axis_stays_inside_its_panel() -> None:
    sizes = {"path": "given.flops", "start": 1e3, "stop": 1e6, "num": 25, "spacing": "log"}
    asked = {"model": "roofline", "machine": MACHINES[0], "given": {"intensity": 1.0, "flops": 1.0}}
    figure = plot.sweep(dse.sweep(asked | {"sweep": {"size": sizes}}), "energy_balance")
    figure.draw_without_rendering()
    (panel,) = figure.axes
    texts = [t for t in panel.get_xticklabels() if t.get_text() and t.get_visible()]
    shown = [t for t in texts if panel.get_xlim()[0] <= t.get_position()[0] <= panel.get_xlim()[1]]
    assert max(t.get_window_extent().x1 for t in shown) < panel.bbox.x1 + 10


def test_a_picture_over_rows_says_what_stands_in_each() -> None:
    rows = {"machine": MACHINES[:2], "intensity": [1.0, 4.0]}
    asked = {"model": "roofline", "given": {"flops": 1e12}, "objective": {"minimize": "energy"}}
    pair = dse.sweep(asked | {"sweep": {"pair": {"paths": rows}}})
    below = [t.get_text() for t in plot.sweep(pair).axes[0].get_xticklabels()]
    assert below == [
        f"{i}\nmachine {m}\nintensity {x} flop/byte" for i, m, x in ((1, MACHINES[0], 1), (2, MACHINES[1], 4))
    ]
    work = {"path": "given.flops", "values": [1e12, 2e12, 4e12]}
    both = plot.sweep(dse.sweep(asked | {"sweep": {"pair": {"paths": rows}, "work": work}}))
    assert legend(both)[0] == f"pair 1: machine {MACHINES[0]}, intensity 1 flop/byte"
    speeds = {"path": "machine.time_per_flop", "start": 1e-13, "stop": 1e-12, "num": 8}
    lines = {"paths": {"intensity": [1.0, 2.0, 4.0]}}
    drawn = plot.map(
        dse.sweep(asked | {"machine": MACHINES[0], "sweep": {"line": lines, "speed": speeds}}), y="line"
    )
    assert [t.get_text() for t in drawn.axes[0].get_yticklabels()] == [
        f"{i}: intensity {x} flop/byte" for i, x in ((1, 1), (2, 2), (3, 4))
    ]
    many = {"paths": {"intensity": [float(i) for i in range(1, 31)], "flops": [1e12] * 30}}
    long = plot.sweep(dse.sweep(asked | {"machine": MACHINES[0], "sweep": {"row": many}}))
    assert long.axes[0].get_xlabel() == "row (rows of intensity)"
