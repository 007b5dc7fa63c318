"""Pages in a real browser where machines have long names: pictures keep their room, and names stay distinct."""

from pathlib import Path
from typing import Any

import pytest
from long_names import ALIKE, LONG, energies_by_intensity, machine_files

import dse

TITLES = [*ALIKE, "Rack 7 \N{SLIGHTLY SMILING FACE} 50 % <b>bold</b> $x_1$"]
SHOWN = "return document.getElementById('parallel').querySelectorAll('.axis').length > 2"
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
    browser: Any, page: Path
):
    from selenium.webdriver.support.ui import WebDriverWait

    browser.get(page.as_uri())
    WebDriverWait(browser, 30).until(lambda b: b.execute_script(SHOWN))
    whole, mapped, ticks, bar, buttons = browser.execute_script(PLACES)
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
def test_names_are_cut_in_pages_as_in_pictures(browser: Any, page: Path):
    from results import axes

    browser.get(page.as_uri())
    many = [*TITLES, LONG[:40], f"{LONG[:50]}x{LONG[51:]}", "", "same", "same"]
    for most in (12, 20, 44, 200):
        cut = browser.execute_script("return apart(arguments[0], arguments[1])", many, most)
        assert cut == axes.apart(many, most)


@pytest.mark.slow
def test_names_along_an_axis_are_not_joined(browser: Any, machines: list[str], tmp_path: Path):
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
        browser.get(dse.report(one, tmp_path / f"{name}.html").as_uri())
        drawn = "return (document.getElementById('sweep').data || []).map((t) => t.mode)"
        WebDriverWait(browser, 30).until(lambda b, drawn=drawn: b.execute_script(drawn))
        modes.append(browser.execute_script(drawn)[0])
    assert modes == ["markers", "lines+markers"]
