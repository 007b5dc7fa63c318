"""What stands below the pictures of designs on a page, in a real browser: sensitivities and totals in parts."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from results import page
from results.page.document import Page
from results.page.insides import Sum

READY = "return (document.getElementById('sums').data || []).length > 0"


def opened(browser: Any, tmp_path: Path) -> Any:
    """Load the page of a front whose first design costs nothing; what limits buy there is not known."""
    from selenium.webdriver.support.ui import WebDriverWait

    along, nan = np.arange(3.0), np.nan
    front = xr.Dataset(
        {
            "energy": ("front", along + 1, {"units": "J"}),
            "time": ("front", 1 / (along + 1), {"units": "s"}),
            "status": ("front", np.ones(3, np.int8)),
            "binding": (("front", "limit"), np.ones((3, 1), np.int8)),
            "elasticity": (("front", "limit"), [[nan], [0.0], [-0.5]]),
        },
        {"front": along, "limit": ["power"]},
        {
            "objectives": json.dumps({"energy": "min", "time": "min"}),
            "enclosure_width": 1.36,
            "enclosure": "steps",
        },
    )
    table = page.of_dataset(front)
    parts = Sum("price by what it is spent on", "USD", {"a": (0.0, 3e40, 6e40), "b": (0.0, 3e40, 4e40)})
    table = replace(table, insides=replace(table.insides, sums=(parts,)))
    browser.get(page.save(Page("front", table=table), tmp_path / "front.html").as_uri())
    WebDriverWait(browser, 30).until(lambda b: b.execute_script(READY))
    assert [e for e in browser.get_log("browser") if "GL Driver Message" not in e["message"]] == []
    return browser


def text(browser: Any, name: str) -> str:
    return str(browser.find_element("id", name).text)


def test_of_a_design_without_sensitivities_there_is_a_sentence_and_no_empty_picture(
    plain_browser: Any, tmp_path: Path
):
    b = opened(plain_browser, tmp_path)
    picture = b.find_element("id", "design-rates")
    for design, told in (
        (0, "At design 0 no sensitivity is known."),
        (1, "At design 1 the objective is not sensitive to any limit."),
    ):
        b.execute_script(f"pinned.clear(); pin({design})")
        assert text(b, "design-rates-note") == told
        assert not picture.is_displayed()
    b.execute_script("pin(2)")
    assert text(b, "design-rates-note") == "At design 1, design 2."
    assert picture.is_displayed()
    assert len(picture.find_elements("css selector", ".bars .point")) == 2


def test_numbers_of_a_breakdown_and_the_width_of_a_front_are_short(plain_browser: Any, tmp_path: Path):
    b = opened(plain_browser, tmp_path)
    ticks = [t.text for t in b.find_elements("css selector", "#sums .xtick text")]
    assert ticks
    assert max(map(len, ticks)) <= len("2.5e+40")
    assert "at most 136 % wide" in text(b, "front-note")
    b.execute_script("document.querySelector('#sums-table details').open = true")
    # a total of nothing has no shares
    assert "NaN" not in text(b, "sums-table")
    assert "(60 %)" in text(b, "sums-table")


def test_no_button_of_a_picture_sends_numbers_away(browser: Any, tmp_path: Path):
    b = opened(browser, tmp_path)
    buttons = b.find_elements("css selector", ".modebar-btn")
    named = {str(button.get_attribute("data-title")) for button in buttons}
    assert named
    own = "Download plot as a PNG, Zoom, Pan, Zoom in, Zoom out, Reset axes, Reset, Orbital rotation"
    assert named <= set(own.split(", "))
    allowed = b.execute_script("return document.querySelector('meta[http-equiv]').content")
    assert "connect-src 'none'" in allowed
