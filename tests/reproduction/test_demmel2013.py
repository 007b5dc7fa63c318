"""The reproduction of Demmel et al. 2013: every row holds, every picture is there."""

from __future__ import annotations

import csv
import io
import json

import pytest
from rich.console import Console

import dse.reproduction
from dse.reproduction import Report, Verdict
from dse.reproduction.sources import statements

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return dse.reproduction.run("demmel2013", tmp_path_factory.mktemp("reproduced") / "new" / "folder")


def test_every_row_agrees_or_is_a_documented_fault_of_the_paper(report: Report):
    assert [(r.statement.place, r.item, r.ours, r.expected) for r in report.disagreements] == []
    assert report.exit_code == 0


def test_nothing_that_the_paper_says_is_left_out(report: Report):
    used = {row.statement.id for row in report.rows}
    assert used == set(statements("demmel2013"))


def test_every_documented_fault_shows_in_some_row_and_says_what_holds_instead(report: Report):
    faulty = {s.id for s in statements("demmel2013").values() if s.fault}
    shown = {row.statement.id for row in report.rows if row.verdict not in {Verdict.AGREES, Verdict.DIFFERS}}
    assert shown == faulty
    assert all(s.correction for s in statements("demmel2013").values() if s.fault)


def test_a_row_calls_nothing_a_fault_that_the_paper_data_do_not_document(report: Report):
    undocumented = [row for row in report.rows if row.corrected is not None and not row.statement.fault]
    assert undocumented == []


@pytest.mark.parametrize(
    ("reading", "start", "after_five", "share"),
    [
        ("M = n²/p", 2.584, 82.7, 43.0),
        ("M = 3n²/p", 2.470, 79.0, 69.0),
        ("M = 3n²", 2.317, 74.1, 82.0),
        ("M = 2^32", 2.270, 72.6, 84.0),
        ("M = 2^34 (Table I)", 1.592, 50.9, 95.0),
        ("M = 2^34, δe corrected", 2.270, 72.6, 84.0),
    ],
)
def test_readings_of_figures_6_and_7_give_the_efficiencies_worked_out_by_hand(
    report: Report, reading: str, start: float, after_five: float, share: float
):
    found = {row.statement.id: row.ours for row in report.rows if row.item == reading}
    assert found["VI_start"] == pytest.approx(start, abs=5e-4)  # the hand-worked numbers have these digits
    assert found["VI_five"] == pytest.approx(after_five, abs=0.05)
    assert found["VI_share"] == pytest.approx(share, abs=0.5)


def test_pictures_are_written_and_not_blank(report: Report):
    from matplotlib.image import imread

    names = {"figure3", "lower-bounds", "figure4a", "figure4b", "figure4c", "figure6", "figure7"}
    assert {p.path.stem for p in report.pictures} == names
    for picture in report.pictures:
        pixels = imread(picture.path)[..., :3]
        assert min(pixels.shape[:2]) > 600
        assert pixels.reshape(-1, 3).std(axis=0).min() > 0.05
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
    for word in ("Table I", "V.E: power per processor", "misprint", "figure4a.png", "rows:"):
        assert word in text


def test_json_has_no_numbers_that_json_lacks(report: Report):
    told = json.loads(json.dumps(dse.reproduction.to_json(report), allow_nan=False))
    assert len(told["rows"]) == len(report.rows)
