"""Pages in a real browser where there is little room: printed, and on a telephone."""

from pathlib import Path
from typing import Any

import pytest

import dse

MANY = {
    "title": "More points than rows of a page",
    "model": "roofline",
    "machine": "gtx-titan-choi2014",
    "given": {"flops": 1e12},
    "define": {"a_number_that_has_a_name_as_long_as_those_of_some_machines": "2 * energy"},
    "sweep": {
        "intensity": {"path": "given.intensity", "start": 0.25, "stop": 64, "num": 60, "spacing": "log"}
    },
}
READY = "return document.getElementById('count')?.textContent.length > 0"
SEEN = """return [...document.querySelectorAll('main h2, main p, output')].filter((e) => e.checkVisibility())
  .map((e) => e.textContent)"""
# in how many lines the word before each menu is written
LINES = """return [...document.querySelectorAll('.controls label')].map((label) => {
  const words = document.createRange();
  words.selectNodeContents(label.firstChild);
  return new Set([...words.getClientRects()].map((r) => r.top)).size; })"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = dse.sweep(MANY, progress=False)
    return dse.report(made, tmp_path_factory.mktemp("paper") / "page.html")


@pytest.mark.slow
def test_paper_says_which_rows_and_columns_are_on_it_and_has_no_empty_section(plain_browser: Any, page: Path):
    from selenium.webdriver.support.ui import WebDriverWait

    b = plain_browser
    b.get(page.as_uri())
    WebDriverWait(b, 30).until(lambda b: b.execute_script(READY))
    on_screen = b.execute_script(SEEN)
    assert not [text for text in on_screen if text.startswith("On paper")]
    assert "Designs side by side" in on_screen
    b.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        printed = b.execute_script(SEEN)
    finally:
        b.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert "60 of 60 points" in printed
    (cut,) = [text for text in printed if text.startswith("On paper")]
    columns = len(b.find_elements("css selector", "#designs thead th"))
    assert cut.startswith(f"On paper: rows 1 to 50 of 60, the first 12 of {columns} columns")
    assert "Designs side by side" not in printed
    assert not [text for text in printed if "Click" in text]


@pytest.mark.slow
def test_on_a_telephone_words_before_menus_are_whole(plain_browser: Any, page: Path):
    from selenium.webdriver.support.ui import WebDriverWait

    b = plain_browser
    size = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    b.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        b.get(page.as_uri())
        WebDriverWait(b, 30).until(lambda b: b.execute_script(READY))
        lines = b.execute_script(LINES)
    finally:
        b.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert len(lines) > 1
    assert set(lines) == {1}
