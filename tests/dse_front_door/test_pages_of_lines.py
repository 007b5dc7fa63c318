"""Pages of sweeps over names in a real browser: one line for each name, and points that break limits."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import dse
from results import page
from results.page.document import Page

READY = "return (document.getElementById('sweep').data || []).length > 0"
TRACES = (
    "return document.getElementById('sweep').data.map((t) => [t.name, t.type, t.mode, t.x, t.y, t.marker])"
)
LEGEND = "return [...document.querySelectorAll('#sweep .legendtext')].map((t) => t.textContent)"
# where the mark of the point looked at has its middle, and where the marks of the points of a trace have theirs
RING = """const r = document.querySelector('#sweep .looked').getBoundingClientRect();
  return [(r.left + r.right) / 2, (r.top + r.bottom) / 2]"""
MARKS = """const t = document.getElementById('sweep')._fullData.find((t) => t.name === arguments[0]);
  return [...document.querySelectorAll(`#sweep .trace${t.uid} .point`)].map((p) => p.getBoundingClientRect())
    .map((b) => [(b.left + b.right) / 2, (b.top + b.bottom) / 2])"""


def curves(count: int = 2, **attributes: Any) -> xr.Dataset:
    """Return curves of so many questions over a number; the second one has no design at the least number."""
    x = np.array([1e3, 2e3, 4e3, 8e3])
    energy = np.array([x**-k for k in range(count)]).T
    status = np.ones(energy.shape, np.int8)
    energy[0, 1:2], status[0, 1:2] = np.nan, 3
    return xr.Dataset(
        {
            "energy": (("size", "question"), energy, {"units": "J"}),
            "status": (("size", "question"), status),
        },
        {"size": ("size", x, {"units": "B"}), "question": [f"q{k} <b>" for k in range(count)]},
        {"objectives": json.dumps({"energy": "min"}), **attributes},
    )


def opened(browser: Any, found: xr.Dataset, file: Path) -> Any:
    from selenium.webdriver.support.ui import WebDriverWait

    browser.get(page.save(Page("lines", table=page.of_dataset(found)), file).as_uri())
    WebDriverWait(browser, 30).until(lambda b: b.execute_script(READY))
    assert [e for e in browser.get_log("browser") if "GL Driver Message" not in e["message"]] == []
    return browser


def chosen(browser: Any, name: str) -> str:
    return str(browser.find_element("css selector", f"#{name} option:checked").text)


def test_over_numbers_each_of_a_few_names_has_a_line_of_its_own(plain_browser: Any, tmp_path: Path):
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import Select

    b = opened(plain_browser, curves(crossings_at=[2.5e3]), tmp_path / "lines.html")
    assert chosen(b, "sweep-x") == "size (kB)"
    assert chosen(b, "sweep-y") == "one line for each: question"
    assert b.execute_script(LEGEND) == ["q0 <b>", "q1 <b>", "infeasible", "the order changes"]
    first, second, without, crossing, _ = b.execute_script(TRACES)
    assert [t[1:3] for t in (first, second)] == [["scatter", "lines+markers"]] * 2
    assert not {tuple(t[5]["symbol"]) for t in (first,)} & {tuple(t[5]["symbol"]) for t in (second,)}
    # in the unit of the axis
    assert crossing[3][:2] == pytest.approx([2.5, 2.5])
    assert without[3] == [1]
    # keys go along one line, then along the next, and the mark of the point looked at stands at it
    picture = b.find_element("id", "sweep")
    picture.send_keys(Keys.HOME, Keys.ARROW_RIGHT, Keys.ENTER)
    assert b.execute_script(RING) == pytest.approx(b.execute_script(MARKS, first[0])[1], abs=1)
    assert "design 2" in b.find_element("id", "pins").text
    assert b.execute_script("return document.getElementById('sweep').data.at(-1).x") == [2]
    picture.send_keys(*[Keys.ARROW_RIGHT] * 3)
    assert "point 1: infeasible" in b.find_element("id", "hover").text
    assert b.execute_script(RING) == pytest.approx(b.execute_script(MARKS, "infeasible")[0], abs=1)
    # the same as a map, and one line with a slider
    up = Select(b.find_element("id", "sweep-y"))
    up.select_by_visible_text("question")
    assert b.execute_script(TRACES)[0][1] == "heatmap"
    Select(b.find_element("id", "sweep-y")).select_by_visible_text("(nothing: a line)")
    assert [t[1] for t in b.execute_script(TRACES) if t[2] == "lines+markers"] == ["scatter"]
    assert len(b.find_elements("css selector", "#sweep-controls input[type=range]")) == 1
    # names may lie across as well: then there is one line for nothing else
    Select(b.find_element("id", "sweep-y")).select_by_visible_text("one line for each: question")
    Select(b.find_element("id", "sweep-x")).select_by_visible_text("question")
    assert chosen(b, "sweep-y") == "(nothing: a line)"


def test_points_of_whole_numbers_are_not_joined(plain_browser: Any, tmp_path: Path):
    """Nothing lies between three and four runs, and a line would say that something does."""
    whole = curves()
    whole["size"].attrs["whole"] = 1
    first, second, *_ = opened(plain_browser, whole, tmp_path / "whole.html").execute_script(TRACES)
    assert [t[1:3] for t in (first, second)] == [["scatter", "markers"]] * 2


def test_of_more_names_than_there_are_lines_a_map_is_drawn(plain_browser: Any, tmp_path: Path):
    b = opened(plain_browser, curves(9), tmp_path / "many.html")
    assert b.execute_script(TRACES)[0][1] == "heatmap"
    assert not [o for o in b.find_elements("css selector", "#sweep-y option") if "each" in o.text]


def test_points_that_break_limits_are_told_by_the_legend_on_lines_and_on_maps(
    plain_browser: Any, tmp_path: Path
):
    """Crosses stood on the curve, and nothing said what they mean."""
    from selenium.webdriver.support.ui import Select

    asked = {
        "model": "nbody",
        "machine": "balanced",
        "given": {"bodies": 1e5, "flops_per_pair": 10, "memory": 1e4},
        "sweep": {
            "p": {"path": "processors", "values": [1, 16, 1000]},
            "memory": {"path": "memory", "values": [1e4, 1e3]},
        },
    }
    found = dse.sweep(asked, progress=False)
    b = opened(plain_browser, found.isel(memory=0, drop=True), tmp_path / "line.html")
    assert b.execute_script(LEGEND) == ["time", "infeasible: one_copy", "infeasible: replication"]
    assert b.execute_script(MARKS, "infeasible: one_copy")[0] == pytest.approx(
        b.execute_script(MARKS, "time")[0], abs=1
    )
    b = opened(plain_browser, found, tmp_path / "map.html")
    assert b.execute_script(TRACES)[0][1] == "heatmap"
    assert b.execute_script(LEGEND) == ["infeasible: one_copy", "infeasible: replication"]
    Select(b.find_element("id", "sweep-y")).select_by_visible_text("(nothing: a line)")
    assert b.execute_script(LEGEND)[0] == "time"


def test_what_is_feasible_only_is_told_by_the_legend_of_lines(plain_browser: Any, tmp_path: Path):
    found = curves()
    found["status"].values[1] = 2
    b = opened(plain_browser, found, tmp_path / "feasible.html")
    assert "hollow: feasible, not proved optimal" in b.execute_script(LEGEND)
    first, second = b.execute_script(TRACES)[:2]
    assert [t[5]["symbol"][1] for t in (first, second)] == ["circle-open", "square-open"]
    b = opened(plain_browser, found.isel(question=0, drop=True), tmp_path / "alone.html")
    assert b.execute_script(LEGEND) == ["energy", "feasible, not proved optimal"]


def test_ends_of_axes_are_short_and_pictures_are_kept_under_their_names(browser: Any, tmp_path: Path):
    """What is written at an axis of parallel coordinates stands beside the next one."""
    x = np.array([1.0, 3e4, 2.4412e18])
    found = xr.Dataset(
        {"energy": ("size", 1e3 * x, {"units": "J"}), "status": ("size", np.ones(3, np.int8))},
        {"size": ("size", x, {"units": "B"})},
        {"objectives": json.dumps({"energy": "min"})},
    )
    b = opened(browser, found, tmp_path / "huge.html")
    written = "return document.getElementById('parallel').data?.[0].dimensions.map((d) => d.ticktext)"
    from selenium.webdriver.support.ui import WebDriverWait

    texts = WebDriverWait(b, 30).until(lambda b: b.execute_script(written))
    ends = [t for axis in texts for t in axis]
    assert max(map(len, ends)) <= len("2.44e18")
    assert any(t.startswith("2.44e") for t in ends)
    name = "return document.getElementById(arguments[0])._context.toImageButtonOptions.filename"
    assert [b.execute_script(name, of) for of in ("sweep", "parallel")] == ["lines-sweep", "lines-parallel"]
