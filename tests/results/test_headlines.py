"""What a page and a notebook begin with: the answer in one sentence, its picture, designs, in units that fit."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import dse
from results import page
from results.page.document import Page, html
from results.summaries import headlines

FRONT = {
    "model": "nbody",
    "machine": "balanced",
    "title": "<b>Energy</b> against time",
    "given": {"bodies": 1e5, "flops_per_pair": 10},
    "decide": {"processors": {"max": 65536}, "memory": {}},
    "objective": {"minimize": ["energy", "time"], "front": {"points": 5}},
}


@pytest.fixture(scope="module")
def front() -> xr.Dataset:
    return dse.front(FRONT)


def test_an_answer_leads_with_its_number_its_design_and_what_is_proved():
    told = headlines.of_solution(dse.solve("nbody_deadline"))
    assert told == "Least energy: 42.9657 J, with processors 2005, memory 2.23328 kword (proved optimal)."
    none = headlines.of_solution(dse.solve("nbody_deadline_out_of_reach"))
    assert none.startswith("There is no such design: time")


def test_a_front_leads_with_its_ends(front: xr.Dataset):
    told = headlines.of_dataset(front)
    assert told.startswith("5 designs, from energy 40.53 J, time 150.8 ms to energy ")
    assert f"<strong>{told}</strong>" in html(Page("x", headline=told))


def test_fronts_over_an_axis_lead_with_how_many_there_are_and_how_far_their_designs_go():
    cap = {"path": "limits.time.max", "values": [1e-9, 1.0]}
    told = headlines.of_dataset(dse.front(FRONT | {"limits": {"time": {"max": 1.0}}, "sweep": {"cap": cap}}))
    assert told.startswith("5 designs on 1 front over cap: energy 40.53 J to ")
    assert told.endswith("to 150.8 ms; at 1 place there is no design.")


def test_a_notebook_shows_a_picture_and_the_designs(front: xr.Dataset):
    shown = front.dse._repr_html_()
    assert headlines.of_dataset(front) in shown
    assert shown.count("data:image/png;base64,") == 1
    assert "<th>energy (J)</th>" in shown
    assert shown.count("<tr>") == 6
    assert "&lt;b&gt;Energy" in shown
    assert "<b>Energy" not in shown


def test_units_follow_the_values_that_are_shown():
    values = np.array([0.12, 0.15, 0.2, 0.3, 2500.0])
    table = page.of_dataset(
        xr.Dataset(
            {"energy": ("i", values, {"units": "J"}), "status": ("i", np.ones(5, "int8"))}, {"i": range(5)}
        )
    )
    (energy,) = (c for c in table.columns if c.name == "energy")
    assert energy.unit in {"J", "mJ"}
    assert min(v for v in energy.values if v) >= 0.1


def test_a_platform_that_is_swept_is_not_told_as_the_machine(tmp_path: Path):
    asked = {
        "model": "roofline",
        "machine": "gtx-titan-choi2014",
        "given": {"flops": 1e12, "intensity": 4},
        "sweep": {"platform": {"path": "machine", "values": ["arndale-gpu-choi2014", "gtx-titan-choi2014"]}},
    }
    said = dse.report(asked, tmp_path / "page.html").read_text()
    assert "on gtx-titan-choi2014" not in said
    assert "for every platform (arndale-gpu-choi2014, gtx-titan-choi2014)" in said
    # machine parameters have units: 30.4 pJ/flop of Table I
    assert "30.4 pJ/flop" in said


def test_points_without_a_design_are_told_in_the_headline():
    def told(*status: int) -> str:
        energy = [1.0 if s == 1 else np.nan for s in status]
        data = {"energy": ("cap", energy, {"units": "J"}), "status": ("cap", np.array(status, np.int8))}
        goals = {"objectives": '{"energy": "min"}'}
        return headlines.of_dataset(xr.Dataset(data, {"cap": np.arange(len(status))}, goals))

    assert told(1, 3) == "Least energy: 1 J, over 1 of 2 points; at 1 point there is no design."
    assert told(1) == "Least energy: 1 J."
    assert told(3, 3) == "There is no design at any of the 2 points."
    assert told(3) == "There is no such design."
    assert told(3, 0) == ""
