"""The page of the papers' questions: each names ready questions that have no mistakes, or says why there is none."""

import runpy
from pathlib import Path

import pytest

import scenarios
from dse.cli import main

DOCS = Path(__file__).parents[1] / "docs"
WRITER = runpy.run_path(str(DOCS / "questions_of_the_papers.py"))
ROWS = WRITER["rows"]()


def test_the_page_is_what_the_table_says() -> None:
    assert WRITER["PAGE"].read_text(encoding="utf-8") == WRITER["page"]()


def test_every_question_is_asked_by_a_file_or_says_why_not() -> None:
    """Each of the five papers is there, and no question stands there twice."""
    assert {row["paper"] for row in ROWS} == set(WRITER["PAPERS"])
    assert len({(row["paper"], row["question"]) for row in ROWS}) == len(ROWS)
    for row in ROWS:
        assert bool(row["scenarios"]) != bool(row["reason"]), row
        assert row["kind"] in {"asked", "left open"}
        assert row["section"]
        assert row["question"].endswith("?")


def test_every_named_file_is_ready_and_has_no_mistakes(capsys: pytest.CaptureFixture[str]) -> None:
    names = sorted({name for row in ROWS for name in row["scenarios"].split()})
    assert set(names) <= set(scenarios.library())
    # of the grid of stations the command tries a way for seconds: tests/scenarios checks that file
    for name in set(names) - {"station_cost_sweep"}:
        with pytest.raises(SystemExit) as end:
            main(["check", name])
        told = capsys.readouterr()
        assert not end.value.code, told.err
        assert "no mistakes" in told.out
