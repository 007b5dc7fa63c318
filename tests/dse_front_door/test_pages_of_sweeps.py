"""Pages of sweeps in a real browser: the mark of the point looked at, points without a design, and parts of a sweep."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import dse
from results import page
from results.page.document import Page

pytestmark = pytest.mark.slow

ASKED = {
    "title": "Energy within deadlines",
    "model": "nbody",
    "machine": "balanced",
    "given": {"bodies": 1e5, "flops_per_pair": 10},
    "decide": {"processors": {"max": 4096}, "memory": {}},
    "objective": {"minimize": "energy"},
    "limits": {"time": {"max": "1 s"}},
}
# of the mark of the point looked at: where its middle is, and where that of the mark of a point is
RING = """const r = document.querySelector('#sweep .looked'); if (!r) return null;
  const b = r.getBoundingClientRect(); return [(b.left + b.right) / 2, (b.top + b.bottom) / 2]"""
MARK = """const b = document.querySelectorAll(`#sweep .scatterlayer .trace`)[arguments[0]]
  .querySelectorAll('.point')[arguments[1]].getBoundingClientRect();
  return [(b.left + b.right) / 2, (b.top + b.bottom) / 2]"""
LEGEND = "return [...document.querySelectorAll('#sweep .legendtext')].map((t) => t.textContent)"
DRAWN = "return document.getElementById('parallel').textContent !== ''"


def deadlines(*values: float) -> dict[str, Any]:
    return {"deadline": {"path": "limits.time.max", "values": list(values)}}


@pytest.fixture(scope="module")
def swept() -> xr.Dataset:
    cap = {"path": "limits.power.max", "values": [10.0, 100.0, 1000.0]}
    return dse.sweep({**ASKED, "sweep": {**deadlines(1e-3, 0.1, 1.0, 10.0), "cap": cap}}, progress=False)


def opened(browser: Any, file: Path) -> Any:
    """Load a page, and hold that it complains of nothing."""
    from selenium.webdriver.support.ui import WebDriverWait

    browser.get(file.as_uri())
    WebDriverWait(browser, 30).until(lambda b: b.execute_script(DRAWN))
    assert [e for e in browser.get_log("browser") if "GL Driver Message" not in e["message"]] == []
    return browser


def text(browser: Any, name: str) -> str:
    return str(browser.find_element("id", name).text)


def test_the_mark_of_the_point_looked_at_stands_at_it_in_every_picture(
    plain_browser: Any, swept: xr.Dataset, tmp_path: Path
):
    from selenium.webdriver.common.keys import Keys

    b = opened(plain_browser, dse.report(swept.isel(cap=2, drop=True), tmp_path / "line.html"))
    picture = b.find_element("id", "sweep")
    picture.send_keys(Keys.HOME)
    assert "point 0: infeasible" in text(b, "hover")
    # a point without a design has its mark at the bottom
    assert b.execute_script(RING) == pytest.approx(b.execute_script(MARK, 1, 0), abs=1)
    picture.send_keys(Keys.ARROW_RIGHT)
    assert b.execute_script(RING) == pytest.approx(b.execute_script(MARK, 0, 0), abs=1)
    # white on white would not be seen
    strokes = b.execute_script(
        "return [...document.querySelectorAll('#sweep .looked *')].map((e) => getComputedStyle(e).stroke)"
    )
    assert [s for s in strokes if s != "rgb(255, 255, 255)"]
    b.find_element("id", "sweep-what").send_keys("memory")
    assert b.execute_script(RING) == pytest.approx(b.execute_script(MARK, 0, 0), abs=1)


def test_a_point_that_is_not_in_the_picture_has_no_mark(
    plain_browser: Any, swept: xr.Dataset, tmp_path: Path
):
    b = opened(plain_browser, dse.report(swept, tmp_path / "map.html"))
    b.execute_script("look(5)")
    assert b.execute_script(RING) is not None
    b.find_element("id", "sweep-y").send_keys("(nothing")
    # a line over deadlines at the first cap: point 5 has the last
    assert b.execute_script(RING) is None
    b.execute_script("look(3)")
    before = b.execute_script(RING)
    assert before is not None
    b.execute_script(
        "const e = document.querySelector('input[type=range]'); e.value = 2; e.dispatchEvent(new Event('input'))"
    )
    assert b.execute_script(RING) is None


def test_the_legend_of_a_line_shows_a_mark_of_the_line(plain_browser: Any, swept: xr.Dataset, tmp_path: Path):
    b = opened(plain_browser, dse.report(swept.isel(cap=2), tmp_path / "legend.html"))
    marks = b.execute_script("return document.getElementById('sweep').data[0].marker.symbol")
    assert set(marks) == {"circle"}
    assert b.execute_script(LEGEND)[0] == "energy"
    assert text(b, "count") == "4 of 4 points, 3 of them with a design"


@pytest.mark.parametrize("values", [[1e-9], [1e-9, 1e-8]])
def test_a_sweep_without_any_design_says_so_and_draws_no_line(
    browser: Any, tmp_path: Path, values: list[float]
):
    file = dse.report({**ASKED, "sweep": deadlines(*values)}, tmp_path / "none.html")
    b = opened(browser, file)
    many = len(values)
    assert b.find_element("css selector", ".headline").text.startswith("There is no ")
    assert text(b, "count") == f"{many} of {many} points, 0 of them with a design"
    assert text(b, "parallel") == "No point has a design."
    assert [name.partition(":")[0] for name in b.execute_script(LEGEND)] == ["no design"]
    assert b.find_elements("css selector", "#sweep .ytick") == []


def test_axes_may_have_names_that_every_object_of_a_browser_knows(plain_browser: Any, tmp_path: Path):
    bodies = {"path": "given.bodies", "values": [1e3, 1e4]}
    for axes in ({"constructor": bodies}, {"toString": bodies, **deadlines(0.1, 1.0)}):
        b = opened(plain_browser, dse.report({**ASKED, "sweep": axes}, tmp_path / f"{len(axes)}.html"))
        assert b.execute_script("return document.getElementById('sweep').data[0].x").count(1000) == 1


@pytest.mark.parametrize("drop", [False, True])
def test_a_point_of_a_sweep_has_a_page_like_a_sweep(
    browser: Any, swept: xr.Dataset, tmp_path: Path, drop: bool
):
    point = swept.isel(deadline=2, cap=1, drop=drop)
    b = opened(browser, dse.report(point, tmp_path / "point.html"))
    energy = f"{float(point['energy']):.6g}"
    assert energy in text(b, "designs")
    assert text(b, "parallel") == "There is one design."
    b.find_element("css selector", "#designs button[data-design='0']").click()
    assert energy in text(b, "pins")
    if not drop:
        assert "cap 100 W" in text(b, "sweep-controls")
        assert "energy by what it is spent on" in b.find_element("css selector", "main").text


def test_the_colour_of_a_third_objective_is_on_the_scale_of_its_axis(plain_browser: Any, tmp_path: Path):
    along = np.arange(4.0)
    names = ("energy", "time", "memory")
    found = xr.Dataset(
        {n: ("front", 10.0 ** (along * k), {"units": "1"}) for k, n in enumerate(names)}
        | {"status": ("front", np.ones(4, np.int8))},
        {"front": along},
        {"objectives": json.dumps(dict.fromkeys(names, "min"))},
    )
    file = page.save(Page("three", table=page.of_dataset(found)), tmp_path / "three.html")
    b = opened(plain_browser, file)
    marker = b.execute_script("return document.getElementById('front').data[0].marker")
    # decades are equal steps of colour, and the scale says so
    assert np.diff(marker["color"]) == pytest.approx([2, 2, 2])
    assert marker["colorbar"]["ticktext"][0] == "1"


def test_buttons_beside_a_low_picture_do_not_lie_on_it(browser: Any, tmp_path: Path):
    b = opened_answer(browser, page.save(Page("bars", rates={"time": -1.0}), tmp_path / "bars.html"))
    left, right = b.execute_script(
        "const at = (q) => [...document.querySelectorAll(q)].map((e) => e.getBoundingClientRect());"
        "return [Math.min(...at('#rates .modebar-btn').map((r) => r.left)),"
        "Math.max(...at('#rates .nsewdrag, #rates .xtick text').map((r) => r.right))]"
    )
    assert right <= left


def opened_answer(browser: Any, file: Path) -> Any:
    from selenium.webdriver.support.ui import WebDriverWait

    browser.get(file.as_uri())
    WebDriverWait(browser, 30).until(lambda b: b.find_elements("css selector", "#rates .modebar-btn"))
    return browser


def test_shares_end_at_1_and_what_is_the_same_in_all_designs_has_no_axis(browser: Any, tmp_path: Path):
    from selenium.webdriver.support.ui import Select

    x = np.arange(4.0)
    kept = np.array([[np.nan, 1.0, 1.0, 1.0], [np.nan, 0.9, 0.95, 0.99]]).T
    made = xr.Dataset(
        {
            "status": ("x", np.array([3, 1, 1, 1], np.int8)),
            "price": ("x", [np.nan, 4.0, 3.0, 1.0], {"units": "USD"}),
            "time": ("x", [np.nan, 1.0, 3.0, 4.0], {"units": "s"}),
            "kept": (("x", "promise"), kept, {"units": "1"}),
        },
        {"x": x, "promise": ["wait", "heat"]},
        {"objectives": json.dumps({"price": "min"})},
    )
    b = opened(browser, page.save(Page("Kept", table=page.of_dataset(made)), tmp_path / "kept.html"))
    axes = "return document.getElementById('parallel').data[0].dimensions.map((d) => d.label)"
    assert b.execute_script(axes) == ["x", "price (USD)", "time (s)", "kept heat"]
    for shown in ("kept wait", "kept heat"):
        Select(b.find_element("id", "sweep-what")).select_by_visible_text(shown)
        low, high = b.execute_script("return document.getElementById('sweep')._fullLayout.yaxis.range")
        assert 0 <= low < high <= 1


def test_a_design_without_one_number_is_a_line_through_the_foot_of_that_axis(browser: Any, tmp_path: Path):
    """An infinite efficiency took the design out of the picture, and nothing said so."""
    along = np.arange(4.0)
    units = {"energy": "J", "time": "s", "efficiency": "1", "work": "1"}
    numbers = [[0.0, 1.0, 2.0, np.nan], [3.0, 2.0, 1.0, np.nan], [np.inf, 5.0, 4.0, np.nan]]
    numbers.append([np.inf, 1e-6, 1e6, np.nan])
    made = xr.Dataset(
        {n: ("x", v, {"units": u}) for (n, u), v in zip(units.items(), numbers, strict=True)}
        | {"status": ("x", np.array([1, 1, 1, 3], np.int8))},
        {"x": along},
        {"objectives": json.dumps({"energy": "min"})},
    )
    b = opened(browser, page.save(Page("foot", table=page.of_dataset(made)), tmp_path / "foot.html"))
    drawn = b.execute_script(
        "return document.getElementById('parallel').data[0].dimensions.map((d) => [d.label, d.values, d])"
    )
    # three lines: the point without a design has none
    assert [len(values) for _, values, _ in drawn] == [3] * 5
    for _, values, axis in drawn[3:]:
        foot = axis["tickvals"][axis["ticktext"].index("no number")]
        assert values[0] == foot == axis["range"][0]
        assert foot < min(values[1:])
    assert "no number" in text(b, "parallel-note")
    assert all("no number" not in axis.get("ticktext", ()) for _, _, axis in drawn[:3])

    def left_by(brush: str) -> list[str]:
        b.execute_script(f"Plotly.restyle('parallel', {{'dimensions[3].constraintrange': [[{brush}]]}}, [0])")
        return [e.text for e in b.find_elements("css selector", "#designs tbody button")]

    low, high = drawn[3][2]["range"]
    assert left_by(f"[{low - 0.01}, {low + 0.01}]") == ["0"]
    assert left_by(f"[3.9, {high}]") == ["1", "2"]
    # a range that is typed in is one of numbers
    b.execute_script("ranges.clear(); changed('ranges'); document.querySelectorAll('details')[0].open = true")
    b.find_element("css selector", "input[aria-label='greatest efficiency']").send_keys("4.5\t")
    assert [e.text for e in b.find_elements("css selector", "#designs tbody button")] == ["2"]


@pytest.mark.parametrize(
    ("ends", "ticks"),
    [
        ((0.3, 3.0), ["0.5", "1", "2"]),
        ((0.11, 0.19), ["0.12", "0.14", "0.16", "0.18"]),
        ((0.95, 1.05), ["0.96", "0.98", "1", "1.02", "1.04"]),
    ],
)
def test_axes_that_go_by_ratio_are_drawn_so_and_have_round_numbers(
    plain_browser: Any, tmp_path: Path, ends: tuple[float, float], ticks: list[str]
):
    """Over less than a decade, too, as in a picture of the same sweep: points were squeezed into a corner."""
    cap, work = np.geomspace(*ends, 8), np.geomspace(20.0, 200.0, 6)
    made = xr.Dataset(
        {
            "energy": (("cap", "work"), np.outer(cap, work), {"units": "J"}),
            "status": (("cap", "work"), np.ones((8, 6), np.int8)),
        },
        {"cap": ("cap", cap), "work": ("work", work)},
        {"objectives": json.dumps({"energy": "min"})},
    )
    b = opened(
        plain_browser, page.save(Page("ratios", table=page.of_dataset(made)), tmp_path / "ratios.html")
    )
    assert b.execute_script(
        "const l = document.getElementById('sweep')._fullLayout; return [l.xaxis.type, l.yaxis.type]"
    ) == ["log", "log"]
    names = "return [...document.querySelectorAll('#sweep .xtick text')].map((t) => t.textContent)"
    assert [t for t in b.execute_script(names) if t] == ticks
    # cells are as wide as each other
    wide = b.execute_script(
        "const [a, c] = document.getElementById('sweep')._fullLayout.xaxis.range; return c - a"
    )
    assert wide == pytest.approx(np.log10(ends[1] / ends[0]) * 8 / 7, rel=0.01)
