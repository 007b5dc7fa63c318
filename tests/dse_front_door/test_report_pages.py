"""Reports in a real browser: they load from disk without a request, and do what they say."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dse
from dse import reports
from results import page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
in_a_browser = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="needs Chromium and ChromeDriver (Debian: chromium, chromium-driver)"
)

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


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (
        "headless=new", "no-sandbox", "disable-gpu", "enable-unsafe-swiftshader", "no-first-run", "disable-sync",
        "disable-quic", "disable-background-networking", "disable-component-update", "window-size=1300,2400",
    ):  # fmt: skip
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    started = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield started
    started.quit()


@pytest.fixture(scope="module")
def front_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return dse.report(FRONT, tmp_path_factory.mktemp("front") / "front.html")


@pytest.fixture(scope="module")
def sweep_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return dse.report(SWEEP, tmp_path_factory.mktemp("sweep") / "sweep.html")


def opened(browser: Any, file: Path) -> Any:
    """Load a page from disk, and hold that it complains of nothing and asks nobody for anything."""
    from selenium.webdriver.support.ui import WebDriverWait

    browser.get_log("performance")
    browser.get(file.as_uri())
    drawn = "return document.querySelectorAll('#parallel .axis').length > 2"
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
@in_a_browser
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
        for word in ("point 3 optimal", "energy", "time", "processors", "memory", "exchange rate")
    )
    for place in (3, 8):
        points = b.find_elements("css selector", "#front .scatterlayer .trace .point")
        ActionChains(b).move_to_element(points[place]).click().pause(0.5).perform()
    assert "design 3" in text(b, "pins")
    assert "design 8" in text(b, "pins")
    b.find_element("css selector", "button[aria-label='remove design 3']").click()
    assert "design 3" not in text(b, "pins")


@pytest.mark.slow
@in_a_browser
def test_ranges_and_brushes_filter_the_front_and_the_table(browser: Any, front_page: Path):
    from selenium.webdriver.common.action_chains import ActionChains

    b = opened(browser, front_page)
    count = len(json.loads(b.find_element("id", "data").get_attribute("textContent"))["status"])
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
@in_a_browser
def test_a_slider_moves_a_sweep_along_an_axis_that_is_not_drawn(browser: Any, sweep_page: Path):
    from selenium.webdriver.common.keys import Keys

    b = opened(browser, sweep_page)
    drawn = "return document.getElementById('sweep').data[0].z"
    before = b.execute_script(drawn)
    slider = b.find_element("css selector", "input[type=range]")
    assert slider.get_attribute("data-axis") == "leakage"
    slider.send_keys(Keys.ARROW_RIGHT)
    after = b.execute_script(drawn)
    # half the leakage is less energy wherever there is a design; where none is, the picture names the limits
    pairs = [(x, y) for was, now in zip(before, after, strict=True) for x, y in zip(was, now, strict=True)]
    assert all(y < x for x, y in pairs if x is not None and y is not None)
    marks = b.execute_script("return document.getElementById('sweep').data.slice(1).map(t => t.name)")
    assert any("time" in name and "power" in name for name in marks)
    chosen = b.find_element("id", "sweep-y")
    chosen.send_keys("(nothing")
    assert b.execute_script("return document.getElementById('sweep').data[0].type") == "scatter"


@pytest.mark.slow
@in_a_browser
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
    assert "page 1 of 200" in text(b, "pages")
    b.find_element("css selector", "#pages button:last-child").click()
    assert "page 2 of 200" in text(b, "pages")


def test_the_command_writes_pages_of_stores_and_answers(tmp_path: Path):
    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "dse", *words], check=False, capture_output=True, text=True, cwd=tmp_path
        )

    dse.sweep(SWEEP, tmp_path / "s.zarr")
    stored = run("report", "s.zarr", "-o", "s.html")
    assert (stored.returncode, "Wrote s.html" in stored.stdout) == (0, True)
    answer = run("report", "nbody_least_energy", "-o", "a.html")
    assert answer.returncode == 0
    assert "optimal: no design is better" in (tmp_path / "a.html").read_text()
    wrong = run("report", "s.zarr", "-o", "s.pdf")
    assert (wrong.returncode, "s.html" in wrong.stderr) == (2, True)
    nothing = run("report", "nosuch", "-o", "x.html")
    assert (nothing.returncode, "no such file" in nothing.stderr) == (2, True)
    unwritable = run("report", "nbody_least_energy", "-o", "absent/x.html")
    assert (unwritable.returncode in {1, 2}, "Traceback" in unwritable.stderr) == (True, False)
    assert not (tmp_path / "absent").exists()
