"""What holds for the reproduction of every paper: its rows hold or say why not, its files show them all."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable

import numpy as np
import pytest
from PIL import Image
from rich.console import Console

import dse.papers
from dse.papers import Report, Verdict
from dse.papers.sources import statements

pytestmark = pytest.mark.slow

# words of the terminal's page: a place, verdicts that occur, a picture
SHOWN = {
    "exabounds2012": ("Table 1", "misprint", "figure6.png"),
    "demmel2013": ("Table I", "V.E: power per processor", "misprint", "figure4a.png"),
    "choi2014": ("Table I, derived", "V-D: power bounding", "disagrees", "unchecked", "figure7a.png"),
    "choi2016": ("II-E, Table II", "IV-C", "inconsistent", "gap", "unchecked", "race-to-halt.png"),
    "tang2017": ("Table V", "unchecked", "figure10.png"),
    "act": ("Dell R740", "Life-cycle assessments", "grids.png"),
    "megatron": ("Table 5", "Figures 1 and 7", "batches.png"),
    "vtrain2024": ("Many nodes", "One node", "ratios.png"),
    "gemm": ("Prediction intervals", "Shapes and a machine of others", "errors.png"),
    "llmcompass": ("Operators alone", "Layers of four A100", "unchecked", "operators.png"),
}


@pytest.fixture(params=dse.papers.papers())
def report(request: pytest.FixtureRequest, reproduced: Callable[[str], Report]) -> Report:
    return reproduced(request.param)


def test_every_row_agrees_or_is_a_documented_fault_of_the_paper(report: Report):
    assert [(r.statement.place, r.item, r.ours, r.expected) for r in report.disagreements] == []
    assert report.exit_code == 0


def test_nothing_that_the_paper_says_is_left_out(report: Report):
    assert {row.statement.id for row in report.rows} == set(statements(report.paper))


def test_every_fault_shows_in_some_row_and_says_what_holds_instead(report: Report):
    said = statements(report.paper).values()
    shown = {
        row.statement.id for row in report.rows if row.verdict not in (Verdict.AGREES, Verdict.TRANSCRIBED)
    }
    assert shown == {s.id for s in said if s.fault}
    assert all(s.correction for s in said if s.fault)


def test_a_row_calls_nothing_a_fault_that_the_paper_data_do_not_document(report: Report):
    assert [row for row in report.rows if row.corrected is not None and not row.statement.fault] == []


def test_what_cannot_be_checked_has_no_answer_of_ours(report: Report):
    unchecked = {s.id for s in statements(report.paper).values() if s.fault == Verdict.UNCHECKED}
    answered = [row.ours for row in report.rows if row.statement.id in unchecked]
    assert answered == [""] * len(unchecked)


def test_pictures_are_written_and_not_blank(report: Report):
    for picture in report.pictures:
        with Image.open(picture.path) as image:
            assert min(image.size) > 600
            counts = np.reshape(image.convert("RGB").histogram(), (3, 256))
        level = np.linspace(0, 1, 256)
        spread = [np.sqrt(np.cov(level, fweights=count, ddof=0)) for count in counts]
        assert min(spread) > 0.05
        assert picture.caption


def test_tables_hold_every_row_in_full_precision(report: Report):
    with (report.folder / "rows.csv").open(encoding="utf-8", newline="") as stream:
        read = list(csv.DictReader(stream))
    assert len(read) == len(report.rows)
    numbers = [(row.ours, line["ours"]) for row, line in zip(report.rows, read, strict=True)]
    assert all(float(text) == ours for ours, text in numbers if isinstance(ours, float))
    assert all(path.stat().st_size > 0 for path in report.files)
    page = (report.folder / "report.md").read_text(encoding="utf-8")
    assert all(picture.path.name in page for picture in report.pictures)


def test_the_terminal_shows_places_verdicts_and_where_the_files_are(report: Report):
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(report)
    text = console.export_text()
    assert [word for word in (*SHOWN[report.paper], "rows agree") if word not in text] == []


def test_json_has_no_numbers_that_json_lacks(report: Report):
    told = json.loads(json.dumps(dse.papers.to_json(report), allow_nan=False))
    assert len(told["rows"]) == len(report.rows)
