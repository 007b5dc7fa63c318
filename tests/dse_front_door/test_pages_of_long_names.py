"""Pages in a real browser where machines have long names: pictures keep their room, and names stay distinct."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from long_names import ALIKE, LONG, energies_by_intensity, machine_files

import dse
from results.page import Page, Section, of_dataset, save

TITLES = [*ALIKE, "Rack 7 \N{SLIGHTLY SMILING FACE} 50 % <b>bold</b> $x_1$"]
SHOWN = "return document.getElementById('parallel').querySelectorAll('.axis').length > 2"
MAPPED = "return (document.getElementById('sweep').data || []).length > 0"
# of every name of one axis of parallel coordinates: what is written, and where it begins
NAMES = """return [...document.querySelectorAll('#parallel .axis')].map((a) => [...a.querySelectorAll('.tick text')]
  .map((t) => [t.textContent, t.getBoundingClientRect().left])).find((a) => a.some(([t]) => t.startsWith('NVIDIA')))"""
PLACES = """const box = document.getElementById('sweep'), at = (e) => e.getBoundingClientRect();
  return [at(box), at(box.querySelector('.nsewdrag')), [...box.querySelectorAll('.ytick text')].map((t) =>
  [t.textContent, at(t).left]), at(box.querySelector('.colorbar')),
  at(box.querySelector('.modebar-group:last-child'))]"""


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return machine_files(tmp_path_factory.mktemp("machines"), TITLES)


@pytest.fixture(scope="module")
def page(machines: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    asked = energies_by_intensity(machines, "Long names")
    return dse.report(asked, tmp_path_factory.mktemp("names") / "names.html")


@pytest.mark.slow
def test_a_map_keeps_its_room_beside_long_names_and_its_scale_stands_below_the_buttons(
    plain_browser: Any, page: Path
):
    from selenium.webdriver.support.ui import Select, WebDriverWait

    plain_browser.get(page.as_uri())
    WebDriverWait(plain_browser, 30).until(lambda b: b.execute_script(MAPPED))
    Select(plain_browser.find_element("id", "sweep-y")).select_by_visible_text("platform")
    whole, mapped, ticks, bar, buttons = plain_browser.execute_script(PLACES)
    assert mapped["width"] > 0.5 * whole["width"]
    assert len({name for name, _ in ticks}) == 3
    assert min(left for _, left in ticks) >= whole["left"]
    assert bar["top"] >= buttons["bottom"]


@pytest.mark.slow
def test_names_in_parallel_coordinates_are_text_and_do_not_run_over_the_axis_before(browser: Any, page: Path):
    from selenium.webdriver.support.ui import WebDriverWait

    browser.get(page.as_uri())
    WebDriverWait(browser, 30).until(lambda b: b.execute_script(SHOWN))
    names = browser.execute_script(NAMES)
    texts = [name for name, _ in names]
    assert len(set(texts)) == 3
    assert any("<ECC>" in name for name in texts)
    assert not any("&" in name or "\ufffd" in name for name in texts)
    before = browser.execute_script(
        "return document.querySelector('#parallel .axis .domain').getBoundingClientRect().right"
    )
    assert min(left for _, left in names) >= before
    # rows of the table tell them apart as well, and a tip has the whole name
    cells = browser.execute_script(
        "return [...document.querySelectorAll('#designs td.text')].map((c) => [c.textContent, c.title])"
    )
    named = {title: cell for cell, title in cells if title in TITLES}
    assert len(named) == len(set(named.values())) == 3


@pytest.mark.slow
def test_names_are_cut_in_pages_as_in_pictures(plain_browser: Any, page: Path):
    from results import axes

    plain_browser.get(page.as_uri())
    many = [*TITLES, LONG[:40], f"{LONG[:50]}x{LONG[51:]}", "", "same", "same"]
    for most in (12, 20, 44, 200):
        cut = plain_browser.execute_script("return apart(arguments[0], arguments[1])", many, most)
        assert cut == axes.apart(many, most)


@pytest.mark.slow
def test_names_along_an_axis_are_not_joined(plain_browser: Any, machines: list[str], tmp_path: Path):
    """As if something lay between two machines; numbers are."""
    from selenium.webdriver.support.ui import WebDriverWait

    asked = energies_by_intensity(machines, "Names")
    axes = dict(asked["sweep"])
    modes = []
    for name, other in (("platform", {"intensity": 4.0}), ("intensity", {})):
        given = {**asked["given"], **other}
        one = {**asked, "given": given, "sweep": {name: axes[name]}} | (
            {} if other else {"machine": machines[0]}
        )
        plain_browser.get(dse.report(one, tmp_path / f"{name}.html").as_uri())
        drawn = "return (document.getElementById('sweep').data || []).map((t) => t.mode)"
        WebDriverWait(plain_browser, 30).until(lambda b, drawn=drawn: b.execute_script(drawn))
        modes.append(plain_browser.execute_script(drawn)[0])
    assert modes == ["markers", "lines+markers"]


# where a page is wider than its window something runs out of it
WIDER = "return document.documentElement.scrollWidth - innerWidth"


@pytest.mark.parametrize("wide", [400, 1300])
def test_words_without_blanks_break_where_their_line_ends(browser: Any, tmp_path: Path, wide: int):
    name = "without_blanks_" * 20
    part = Section(name, [name], [(name, ["a", "b", "c"], [[name, "x", "y"]])])
    facts = [(name, name), ("binding limits", "power " * 90)]
    made = Page(name, facts, headline=name, first=[part], rates={name: 1.0, "time": -0.5})
    file = save(made, tmp_path / "blanks.html")
    window = {"width": wide, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", window)
    try:
        browser.get(file.as_uri())
        assert browser.execute_script(WIDER) <= 0
        # a short name beside a long text is not broken
        lines = browser.execute_script(
            "return [...document.querySelectorAll('.facts th')].map((e) => { const all = document.createRange();"
            "all.selectNodeContents(e); return all.getClientRects().length; })"
        )
        assert lines[1] == 1 < lines[0]
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


# of the names above parallel axes: where each begins and ends, and the same of the picture and of the window
TITLES_ABOVE = """const at = (e) => { const r = e.getBoundingClientRect(); return [r.left, r.right]; };
  return [[...document.querySelectorAll('#parallel .axis-title')].map(at), at(document.querySelector('#parallel'))]"""


def test_long_names_of_parallel_axes_stay_inside_and_off_the_next_but_one(browser: Any, tmp_path: Path):
    from selenium.webdriver.support.ui import WebDriverWait

    along = np.arange(4.0)
    long = [f"share of a region with a name that goes on and on and on, processor {k}" for k in "ab"]
    made = xr.Dataset(
        {n: ("x", along + k, {"units": "1"}) for k, n in enumerate([*long, *"cdef", "\u6f22\u5b57" * 30])}
        | {"status": ("x", np.ones(4, np.int8))},
        {"x": along},
        {"objectives": json.dumps({"c": "min"})},
    )
    file = save(Page("names", table=of_dataset(made, long)), tmp_path / "axes.html")
    browser.get(file.as_uri())
    WebDriverWait(browser, 30).until(lambda b: b.execute_script(SHOWN))
    titles, (left, right) = browser.execute_script(TITLES_ABOVE)
    assert len(titles) == 8
    for (_, end), (start, _) in zip(titles, titles[2:], strict=False):
        assert end < start
    assert min(start for start, _ in titles) >= left
    assert max(end for _, end in titles) <= right
