"""What a report promises: verdicts, exit codes, and words for what goes wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

import dse.papers
from dse.cli import main
from dse.papers.report import Report, Row, Statement, Verdict, verdict
from dse.papers.sources import rounding

PLAIN = Statement("a", "I", "a claim")
WRONG = Statement("b", "I", "a wrong claim", "misprint", "what holds")
MEASURED = Statement("c", "I", "a claim about measurements", "unchecked", "the measurements")


@pytest.mark.parametrize(
    ("row", "wanted"),
    [
        (Row(PLAIN, "", 1.0, 1.0 + 1e-7), Verdict.AGREES),
        (Row(PLAIN, "", 1.0, 1.1), Verdict.DIFFERS),
        (Row(PLAIN, "", "yes", "yes"), Verdict.AGREES),
        (Row(PLAIN, "", "yes", "no"), Verdict.DIFFERS),
        (Row(PLAIN, "", 1.0, "no run"), Verdict.DIFFERS),
        (Row(PLAIN, "", 1.0, float("nan")), Verdict.DIFFERS),
        (Row(PLAIN, "", 1.0, 2.0, corrected=2.0), Verdict.DIFFERS),
        (Row(WRONG, "", 1.0, 2.0, corrected=2.0), Verdict.MISPRINT),
        (Row(WRONG, "", 1.0, 1.0, corrected=1.0), Verdict.AGREES),
        (Row(WRONG, "", 1.0, 1.0, corrected=2.0), Verdict.DIFFERS),
        (Row(WRONG, "", 1.0, "no run", corrected="no run"), Verdict.MISPRINT),
        (Row(MEASURED, "", 1.0, ""), Verdict.UNCHECKED),
        (Row(MEASURED, "", 1.0, 1.0), Verdict.DIFFERS),
    ],
)
def test_a_row_is_excused_only_by_a_documented_fault_whose_correction_we_meet(row: Row, wanted: Verdict):
    assert row.verdict is wanted
    assert Report("p", "t", "c", (row,)).exit_code == (1 if wanted is Verdict.DIFFERS else 0)


@pytest.mark.parametrize(
    ("printed", "exact", "holds"),
    [
        ("3.13E-10", 3.125e-10, True),
        ("3.13E-10", 3.124e-10, False),
        ("396.80", 396.805, True),
        ("396.80", 396.81, False),
        ("150", 150.4, True),
    ],
)
def test_rounding_allows_half_a_unit_of_the_last_printed_digit(printed: str, exact: float, holds: bool):
    assert (abs(exact - float(printed)) <= rounding(printed) * float(printed)) is holds


def test_an_unknown_paper_is_refused_with_the_list_of_known_ones(tmp_path: Path):
    with pytest.raises(KeyError, match="demmel2013"):
        dse.papers.run("demmel2031", tmp_path)
    assert "demmel2013" in dse.papers.papers()


def test_help_names_every_paper():
    text = CliRunner().invoke(main, ["reproduce", "--help"]).stdout
    assert [paper for paper in dse.papers.papers() if paper not in text] == []


def test_papers_reproduced_together_have_a_folder_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    written = []

    def run(paper: str, out: Path | None, progress: object) -> Report:
        written.append(out)
        return Report(paper, "t", "c", ())

    monkeypatch.setattr(dse.papers, "papers", lambda: ("a2001", "b2002"))
    monkeypatch.setattr(dse.papers, "run", run)
    for arguments in (["-o", str(tmp_path)], ["a2001", "-o", str(tmp_path)], []):
        assert CliRunner().invoke(main, ["reproduce", *arguments]).exit_code == 0
    assert written == [tmp_path / "a2001", tmp_path / "b2002", tmp_path, None, None]


def test_a_report_begins_and_ends_with_its_verdict_and_is_short(
    tmp_path: Path, reproduced: Callable[[str], Report], monkeypatch: pytest.MonkeyPatch
):
    runner = CliRunner()
    # one paper is reproduced by the command itself; of a long one the report that all tests share is shown
    lines = runner.invoke(main, ["reproduce", "act", "-o", str(tmp_path)]).stdout.splitlines()
    assert lines[2].endswith("differ.")
    assert lines[-1] == lines[2]
    shared = reproduced("demmel2013")
    monkeypatch.setattr(dse.papers, "run", lambda *_: shared)
    lines = runner.invoke(main, ["reproduce", "demmel2013", "-o", str(tmp_path)]).stdout.splitlines()
    # the line is longer than the terminal is wide
    assert " ".join(lines[2:4]) == " ".join(lines[-2:]) == verdict(shared)
    assert len(lines) < 60
    assert any("dse reproduce demmel2013 --rows" in line for line in lines)
    whole = runner.invoke(
        main, ["reproduce", "demmel2013", "-o", str(tmp_path), "--rows"]
    ).stdout.splitlines()
    assert whole[2:4] == whole[-2:] == lines[2:4]
    assert len(whole) > 345
