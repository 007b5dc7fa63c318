"""Pages and texts of questions in which nothing is decided: points, and no designs."""

import warnings
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import dse
from dse.cli import main

ROOFLINE: dict[str, Any] = {
    "model": "roofline",
    "machine": "gtx-titan-choi2014",
    "given": {"flops": 1e12, "intensity": 4},
    "objective": {"minimize": "energy"},
}
ALONG = {"intensity": {"path": "given.intensity", "values": [0.25, 0.5, 1, 2, 4, 8, 16]}}
CELLS = 'data-head="{}">{}<'


def test_a_store_of_numbers_that_were_only_evaluated_has_a_page(tmp_path: Path):
    asked = {
        "title": "Energy over deadline and power",
        "model": "nbody",
        "machine": "balanced",
        "given": {"bodies": 1e5, "flops_per_pair": 10, "processors": 100, "memory": 2e3},
        "sweep": {"leakage": {"path": "machine.leakage_power", "factors": [1, 0.5]}},
    }
    made = dse.evaluate(asked, tmp_path / "e.zarr")
    dse.report(tmp_path / "e.zarr", tmp_path / "e.html")
    # a dataset that is at hand has the same page but for the command
    in_memory = dse.report(made, tmp_path / "m.html").read_text()
    assert [w for w in ("dse report", "energy by") if w in in_memory] == ["energy by"]
    text = (tmp_path / "e.html").read_text()
    assert '"texts":["evaluated"]' in text
    assert "energy by what it is spent on" in text


@pytest.mark.parametrize(("most", "binds", "forbids"), [("230 W", 0, 2), ("1 W", 0, 7)])
def test_limits_bind_at_so_many_of_the_points_within_them(
    most: str, binds: int, forbids: int, tmp_path: Path
):
    asked = {**ROOFLINE, "limits": {"power": {"max": most}}, "sweep": ALONG}
    told = dse.report(dse.sweep(asked, progress=False), tmp_path / "limits.html").read_text()
    assert CELLS.format("binds at points within the limits", f"{binds} of {7 - forbids}") in told
    assert CELLS.format("forbids at points", forbids) in told


def test_a_definition_that_has_no_value_along_a_curve_is_drawn_without_a_warning(tmp_path: Path):
    asked = {
        **ROOFLINE,
        "define": {"odd": "energy / maximum(0 flop/byte, intensity - 2 flop/byte)"},
        "sweep": {"i": ALONG["intensity"]},
    }
    made = dse.sweep(asked, progress=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dse.report(made, tmp_path / "page.html")


def test_ranges_of_evaluated_numbers_say_at_how_many_points_there_is_none(tmp_path: Path):
    file = tmp_path / "odd.toml"
    file.write_text(
        'model = "roofline"\nmachine = "gtx-titan-choi2014"\n[given]\nflops = 1e12\nintensity = 4\n'
        '[define]\nodd = "energy / maximum(0 flop/byte, intensity - 2 flop/byte)"\n'
        '[sweep.along]\npath = "given.intensity"\nvalues = [1, 2, 4]\n'
    )
    told = CliRunner().invoke(main, ["evaluate", str(file)])
    assert "odd is infinite, or has no value, at 2 of the points" in told.stdout


NOTHING_BINDS = {**ROOFLINE, "limits": {"power": {"max": "1 W"}}, "sweep": ALONG}
ENDLESS = {
    **ROOFLINE,
    "given": {"flops": 1e12, "intensity": 0},
    "sweep": {"size": {"path": "given.flops", "values": [1e12, 2e12]}},
}


@pytest.mark.parametrize(
    ("asked", "count", "parallel"),
    [
        (NOTHING_BINDS, "7 of 7 points, 0 of them within the limits", "No point is within the limits."),
        # a run without a flop per byte takes forever, and its energy is infinite
        (ENDLESS, "2 of 2 points", ""),
    ],
    ids=["all break a limit", "infinite everywhere"],
)
def test_a_page_of_points_says_what_they_are(
    asked: dict[str, Any], count: str, parallel: str, browser: Any, tmp_path: Path
):
    from selenium.webdriver.support.ui import WebDriverWait

    browser.get(dse.report(dse.sweep(asked, progress=False), tmp_path / "page.html").as_uri())
    shown = "return document.getElementById('parallel').textContent"
    WebDriverWait(browser, 30).until(lambda b: b.execute_script(shown))
    assert [e for e in browser.get_log("browser") if "GL Driver Message" not in e["message"]] == []
    assert browser.find_element("id", "count").text == count
    assert browser.execute_script(shown).startswith(parallel)
