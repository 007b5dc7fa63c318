"""Reports in a real browser: they load from disk without a request, and do what they say."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import dse
from dse.cli import main
from dse.reporting import reports
from results import page

FRONT = {
    "title": "Energy <script>alert(1)</script> against time",
    "model": "nbody",
    "machine": "balanced",
    "given": {"bodies": 1e5, "flops_per_pair": 10},
    "decide": {"processors": {"max": 65536}, "memory": {}},
    "objective": {"minimize": ["energy", "time"], "front": {"points": 12}},
}
SWEEP = {
    "title": "Energy over deadline and power",
    "model": "nbody",
    "machine": "balanced",
    "given": {"bodies": 1e5, "flops_per_pair": 10},
    "decide": {"processors": {"max": 65536}, "memory": {}},
    "objective": {"minimize": "energy"},
    "limits": {"time": {"max": "1 s"}, "power": {"max": "1 kW"}},
    "sweep": {
        "deadline": {"path": "limits.time.max", "values": [0.01, 0.1, 1.0, 10.0]},
        "cap": {"path": "limits.power.max", "values": [10.0, 100.0, 1000.0]},
        "leakage": {"path": "machine.leakage_power", "factors": [1, 0.5]},
    },
}


DRAWN = "return document.getElementById('front').data.filter((t) => t.mode === 'markers' && t.legendgroup)"
NAMES = f"{DRAWN}.map((t) => t.name)"
HOLLOW = f"{DRAWN}.map((t) => t.marker.symbol.every((s) => s.endsWith('-open')))"
# what can be reached by keys and has no name that a screen reader could say
UNNAMED = """return [...document.querySelectorAll('button, input, select, [tabindex]')].filter((e) =>
  !e.textContent.trim() && !e.labels?.length && !e.ariaLabel && !e.getAttribute('aria-labelledby')
  && !e.closest('.modebar')).length"""


Made = Callable[[str, Callable[[Path], object]], Path]


@pytest.fixture(scope="module")
def front_page(made_once: Made) -> Path:
    return made_once("front page", lambda folder: dse.report(FRONT, folder / "front.html")) / "front.html"


@pytest.fixture(scope="module")
def fronts_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    asked = FRONT | {
        "machine": {"cpu": "i3-2100t-tang2017", "gpu": "gtx-750-tang2017"},
        "model": "partition",
        "given": {
            "regions": [{"name": f"r{i}", "flops": 1e9 * i, "bytes": 4e8 * (7 - i)} for i in range(1, 7)]
        },
        "sweep": {
            "idle": {"path": "machine.gpu.constant_power", "values": [5.0, 10.0]},
            "cap": {"path": "limits.power.max", "values": [1e-3, 100.0]},
        },
        "limits": {"power": {"max": "100 W"}},
    }
    del asked["decide"]
    return dse.report(asked, tmp_path_factory.mktemp("fronts") / "fronts.html")


@pytest.fixture(scope="module")
def sweep_page(made_once: Made) -> Path:
    return made_once("sweep page", lambda folder: dse.report(SWEEP, folder / "sweep.html")) / "sweep.html"


def opened(browser: Any, file: Path) -> Any:
    """Load a page from disk, and hold that it complains of nothing and asks nobody for anything."""
    from selenium.webdriver.support.ui import WebDriverWait

    browser.get_log("performance")
    browser.get(file.as_uri())
    drawn = "return document.querySelectorAll('#parallel .axis').length > 2"
    if browser.execute_script("return !document.createElement('canvas').getContext('webgl')"):
        # it is drawn last
        drawn = "return document.getElementById('parallel').textContent.startsWith('WebGL is not supported')"
    WebDriverWait(browser, 30).until(lambda b: b.execute_script(drawn))
    # a software renderer says that it is slow; everything else would be ours
    said = [e for e in browser.get_log("browser") if "GL Driver Message" not in e["message"]]
    assert said == []
    requests = [json.loads(e["message"])["message"] for e in browser.get_log("performance")]
    urls = [m["params"]["request"]["url"] for m in requests if m["method"] == "Network.requestWillBeSent"]
    assert [u for u in urls if not u.startswith(("file:", "data:", "blob:"))] == []
    return browser


def text(browser: Any, name: str) -> str:
    return str(browser.find_element("id", name).text)


@pytest.mark.slow
def test_hover_shows_a_design_and_clicks_put_designs_side_by_side(browser: Any, front_page: Path):
    from selenium.webdriver.common.action_chains import ActionChains

    b = opened(browser, front_page)
    assert b.find_element("tag name", "h1").text == FRONT["title"]
    points = b.find_elements("css selector", "#front .scatterlayer .trace .point")
    assert len(points) >= 12
    ActionChains(b).move_to_element(points[3]).pause(0.5).perform()
    shown = text(b, "hover")
    assert all(
        word in shown
        for word in ("design 3: optimal", "energy", "time", "processors", "memory", "exchange rate")
    )
    for place in (3, 8):
        points = b.find_elements("css selector", "#front .scatterlayer .trace .point")
        ActionChains(b).move_to_element(points[place]).click().pause(0.5).perform()
    assert "design 3" in text(b, "pins")
    assert "design 8" in text(b, "pins")
    bars = "return document.getElementById('sums').data[0].y"
    assert b.execute_script(bars) == ["design 3", "design 8"]
    b.find_element("css selector", "button[aria-label='remove design 3']").click()
    assert "design 3" not in text(b, "pins")
    assert b.execute_script(bars) == ["design 8"]
    # what is proved between the designs is drawn, and its width told
    assert "the front lies inside (at most" in b.find_element("css selector", "#front .legend").text
    assert "% wide; proof: " in text(b, "front-note")


@pytest.mark.slow
def test_keys_go_from_design_to_design_and_put_them_side_by_side(plain_browser: Any, front_page: Path):
    from selenium.webdriver.common.keys import Keys

    b = opened(plain_browser, front_page)
    picture = b.find_element("id", "front")
    picture.send_keys(Keys.HOME, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ENTER)
    assert "design 2: optimal" in text(b, "hover")
    assert "design 2, optimal: energy" in b.find_element("id", "said").get_attribute("textContent")
    assert "design 2" in text(b, "pins")
    button = b.find_element("css selector", "#designs button[data-design='5']")
    button.send_keys(Keys.ENTER)
    assert "design 5" in text(b, "pins")
    # whoever stands on a button keeps standing there
    assert b.switch_to.active_element == button
    assert b.execute_script(UNNAMED) == 0


@pytest.mark.slow
def test_fronts_over_axes_are_drawn_one_by_one_and_those_without_points_named(
    plain_browser: Any, fronts_page: Path
):
    from selenium.webdriver.support.ui import Select

    b = opened(plain_browser, fronts_page)
    assert b.execute_script(NAMES) == ["5 W, 100 W", "10 W, 100 W"]
    # the same work on the same processors: more constant power is worse everywhere
    assert b.execute_script(HOLLOW) == [False, True]
    assert "no design: power cannot be met" in b.find_element("css selector", "main").text
    assert "Hollow: " in text(b, "front-note")
    b.find_element("id", "front-axis-0").send_keys("10 W")
    assert b.execute_script(NAMES) == ["100 W"]
    Select(b.find_element("id", "front-axis-0")).select_by_visible_text("5 W")
    assert b.execute_script(HOLLOW) == [False]
    assert "Hollow: " not in text(b, "front-note")


@pytest.mark.slow
def test_ranges_and_brushes_filter_the_front_and_the_table(browser: Any, front_page: Path):
    from selenium.webdriver.common.action_chains import ActionChains

    b = opened(browser, front_page)
    count = len(json.loads(b.find_element("id", "data").get_attribute("textContent"))["status"]["codes"])
    assert text(b, "count") == f"{count} of {count} designs"
    b.execute_script("document.querySelector('details').open = true")
    field = b.find_element("css selector", "input[aria-label^='greatest energy']")
    field.send_keys("60\t")
    inside = [float(v) for v in column(b, "energy")]
    assert inside
    assert max(inside) <= 60
    assert text(b, "count") == f"{len(inside)} of {count} designs"
    field.clear()
    assert text(b, "count") == f"{count} of {count} designs"
    # drag along the first of the parallel axes: designs beyond it leave the table
    axis = b.find_element("css selector", "#parallel .axis-brush")
    high = axis.size["height"]
    mouse = ActionChains(b).move_to_element_with_offset(axis, 0, int(0.2 * high)).click_and_hold()
    mouse.move_by_offset(0, int(0.25 * high)).release().pause(0.6).perform()
    assert 0 < len(column(b, "energy")) < count


def column(browser: Any, name: str) -> list[str]:
    heads = [h.text.split(" (")[0] for h in browser.find_elements("css selector", "#designs thead th")]
    return [
        c.text
        for c in browser.find_elements(
            "css selector", f"#designs tbody td:nth-child({heads.index(name) + 1})"
        )
    ]


@pytest.mark.slow
def test_a_map_over_two_axes_of_worlds_has_the_axes_and_a_slider_for_the_worlds(
    plain_browser: Any, tmp_path: Path
):
    asked = SWEEP | {
        "limits": {"time": {"max": "1 s"}},
        "uncertain": {
            "machine.energy_per_word": {"lognormal": ["3 uJ/word", 1.3]},
            "sampling": {"samples": 16},
        },
        "sweep": {
            "deadline": {"path": "limits.time.max", "values": [0.03, 0.1, 1.0]},
            "bodies": {"path": "given.bodies", "values": [1e5, 2e5]},
        },
    }
    b = opened(plain_browser, dse.report(asked, tmp_path / "worlds.html"))
    chosen = [b.find_element("id", f"sweep-{k}").find_element("css selector", "option:checked") for k in "xy"]
    assert [c.text.split(" (")[0] for c in chosen] == ["deadline", "bodies"]
    sliders = b.find_elements("css selector", "#sweep-controls input[type=range]")
    assert [s.get_attribute("data-axis") for s in sliders] == ["sample"]


@pytest.mark.slow
def test_a_slider_moves_a_sweep_along_an_axis_that_is_not_drawn(plain_browser: Any, sweep_page: Path):
    from selenium.webdriver.common.keys import Keys

    b = opened(plain_browser, sweep_page)
    drawn = "return document.getElementById('sweep').data[0].z"
    before = b.execute_script(drawn)
    slider = b.find_element("css selector", "input[type=range]")
    assert slider.get_attribute("data-axis") == "leakage"
    slider.send_keys(Keys.ARROW_RIGHT)
    after = b.execute_script(drawn)
    # axes rise: all the leakage is more energy than half of it wherever there is a design; where none is, the picture
    # names the limits
    pairs = [(x, y) for was, now in zip(before, after, strict=True) for x, y in zip(was, now, strict=True)]
    assert all(y > x for x, y in pairs if x is not None and y is not None)
    marks = b.execute_script("return document.getElementById('sweep').data.slice(1).map(t => t.name)")
    assert any("time" in name and "power" in name for name in marks)
    chosen = b.find_element("id", "sweep-y")
    chosen.send_keys("(nothing")
    assert b.execute_script("return document.getElementById('sweep').data[0].type") == "scatter"


@pytest.mark.slow
def test_ten_thousand_points_are_under_eight_megabytes_and_page_through(browser: Any, tmp_path: Path):
    import numpy as np

    # the sweep above, its numbers repeated along two long axes: what is tested is the page
    found = (
        dse.sweep(SWEEP)
        .isel(leakage=0, drop=True)
        .isel(deadline=np.resize(np.arange(4), 100), cap=np.resize(np.arange(3), 100))
    )
    found = found.assign_coords(
        deadline=("deadline", np.geomspace(0.01, 10, 100), found["deadline"].attrs),
        cap=("cap", np.geomspace(10, 1000, 100), found["cap"].attrs),
    )
    file = page.save(reports.of_dataset(found), tmp_path / "large.html")
    assert file.stat().st_size < 8_000_000
    b = opened(browser, file)
    assert text(b, "count").startswith("10000 of 10000")
    # of lines that stand for others no value of an axis is left out, nor either of its ends
    drawn = b.execute_script("return document.getElementById('parallel').data[0].dimensions")
    told = {d["label"].split()[0]: d for d in drawn}
    for name, other in (("deadline", "cap"), ("cap", "deadline")):
        assert len(set(told[name]["values"])) == found["objective"].notnull().any(other).sum()
    assert "page 1 of 200" in text(b, "pages")
    b.find_element("css selector", "#pages button:last-child").click()
    assert "page 2 of 200" in text(b, "pages")


def test_limits_are_counted_at_points_that_have_an_answer_only(tmp_path: Path):
    """A chunk that was interrupted while it was written may have its limits, and no status yet."""
    swept = dse.sweep(
        {**SWEEP, "sweep": {"deadline": {"path": "limits.time.max", "values": [1e-9, 1e-8, 0.05]}}}
    )
    forbids = 'data-head="forbids at points">{}<'
    assert forbids.format(2) in dse.report(swept, tmp_path / "whole.html").read_text()
    one = dse.report(swept.isel(deadline=[2]), tmp_path / "one.html").read_text()
    # what 1 % buys at the one design is told once
    worth = [cell.partition("<")[0] for cell in one.split('changes the objective by">')[1:]]
    assert any(worth)
    assert not any(" to " in told for told in worth)
    half = swept.copy(deep=True)
    half["status"].values[1] = 0
    told = dse.report(half, tmp_path / "half.html").read_text()
    assert forbids.format(1) in told
    assert forbids.format(2) not in told


def test_the_command_writes_pages_of_stores_and_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> Result:
        return CliRunner().invoke(main, ["report", *words])

    dse.sweep(SWEEP, tmp_path / "s.zarr")
    stored = run("s.zarr", "-o", "s.html")
    assert (stored.exit_code, "Wrote s.html" in stored.stdout) == (0, True)
    answer = run("nbody_least_energy", "-o", "a.html")
    assert answer.exit_code == 0
    told = (tmp_path / "a.html").read_text()
    assert "optimal: optimality gap" in told
    assert "Least energy of nbody" in told
    wrong = run("s.zarr", "-o", "s.pdf")
    assert (wrong.exit_code, "s.html" in wrong.stderr) == (2, True)
    nothing = run("nosuch", "-o", "x.html")
    assert (nothing.exit_code, "no such file" in nothing.stderr) == (2, True)
    one = run("nbody_least_energy", "--points", "3", "-o", "b.html")
    assert (one.exit_code, "how many a front has" in one.stderr) == (2, True)
    unwritable = run("nbody_least_energy", "-o", "a.html/x.html")
    assert (unwritable.exit_code in {1, 2}, "Traceback" in unwritable.stderr) == (True, False)
    assert not (tmp_path / "absent").exists()


def test_a_page_names_the_command_that_makes_it_again_with_all_that_was_asked(tmp_path: Path):
    def made_by(asked: Any, points: int | None = None) -> list[str]:
        told = dse.report(asked, tmp_path / "page.html", points).read_text()
        return [line.partition("<")[0] for line in told.split("Made by: ")[1:]]

    again = "dse report nbody_energy_time_front --points 3 -o report.html"
    assert made_by("nbody_energy_time_front", 3) == [again]
    assert made_by("nbody_deadline") == ["dse report nbody_deadline -o report.html"]
    # what no command reads from a file is not told as one
    assert made_by(dse.load("nbody_deadline", "jaketown")) == []
    assert made_by(FRONT | {"objective": {"minimize": "energy"}}) == []


CUT_OFF = """return [...document.querySelectorAll('h1, .headline, .facts td, .stack td, select, label, ' +
  '.told, figcaption')]
  .filter((e) => e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.textContent.slice(0, 40))"""


@pytest.mark.slow
def test_of_a_sweep_of_full_depth_ranges_and_sensitivities_stand_with_the_design_looked_at(
    browser: Any, tmp_path: Path
):
    asked = {**SWEEP, "sweep": {"deadline": {"path": "limits.time.max", "values": [1e-9, 0.1, 1.0]}}}
    swept = dse.sweep(asked, tmp_path / "full.zarr", depth="full", audit=0)
    narrow = {"width": 390, "height": 1400, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", narrow)
    try:
        b = opened(browser, dse.report(swept, tmp_path / "full.html"))
        assert b.execute_script("return document.documentElement.scrollWidth") <= 390
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    for everywhere in ("designs", "parallel"):
        told = b.execute_script(f"return document.getElementById({everywhere!r}).textContent")
        assert "energy" in told
        assert not [w for w in ("sensitivity", "held", "range low", "certificate") if w in told]
    for button in b.find_elements("css selector", "#designs button[data-design]")[:2]:
        b.execute_script("arguments[0].click()", button)
    rows = [r.text for r in b.find_elements("css selector", "#pins tbody tr")]
    assert [r for r in rows if r.startswith("sensitivity machine leakage power")]
    assert "held processors – not held" in rows
    # every decided number is unique here, and nothing runs away
    assert not [r for r in rows if r.startswith(("range low", "runaway"))]


@pytest.mark.slow
def test_on_a_telephone_nothing_is_cut_off_and_rows_of_designs_have_one_line(browser: Any, front_page: Path):
    b = opened(browser, front_page)
    rows = (
        "return Math.max(...[...document.querySelectorAll('#designs tbody tr')].map((r) => r.offsetHeight))"
    )
    assert b.execute_script(rows) < 45
    narrow = {"width": 390, "height": 1400, "deviceScaleFactor": 1, "mobile": False}
    b.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", narrow)
    try:
        opened(b, front_page)
        assert b.execute_script("return document.documentElement.scrollWidth") <= 390
        assert b.execute_script(CUT_OFF) == []
    finally:
        b.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_an_axis_of_names_ends_where_its_designs_do(plain_browser: Any, tmp_path: Path):
    """The names of settings that no design uses stood above the axis, over its title."""
    store = tmp_path / "clocks.zarr"
    dse.sweep("dvfs_deadline_sweep", store)
    dse.report(store, tmp_path / "clocks.html")
    plain_browser.get((tmp_path / "clocks.html").as_uri())
    axes = plain_browser.execute_script(
        "return document.getElementById('parallel').data[0].dimensions.filter((d) => d.ticktext)"
        ".map((d) => [d.tickvals, d.values])"
    )
    named = [(ticks, values) for ticks, values in axes if all(v == round(v) for v in values)]
    assert named
    for ticks, values in named:
        assert min(values) <= min(ticks)
        assert max(ticks) <= max(values)
