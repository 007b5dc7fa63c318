"""The comparer: a table of statements and the functions that answer its lines."""

from __future__ import annotations

import csv
import io
from importlib import import_module

import pytest

import dse.papers
from dse.papers import Row, Verdict, sources
from dse.papers.comparer import EXACT_AGREEMENT, Answers, Found
from dse.papers.sources import cases

TABLES = {
    "p/statements": """id,place,text,item,over,printed,unit,tolerance,verdict,correction,remark
speed,I,speed of each,{name},parts[kind=fast],{speed},m/s,print,agrees,,no. {number}
claim,I,a claim,,,yes,,,agrees,,
claim:more,,,more,k=2|4,yes,,,,,k = {k}
wrong,II,a wrong number,,,5,J,1e-6,misprint,It is 7.,
typed,II,a cell,,,1.5,s,,transcribed,,
typed:again,,,again,,2.5,s,,,,
typed:computed,,,computed,,3.5,s,,agrees,,
measured,II,measured,,,,,,unchecked,Needs the runs.,
""",
    "p/parts": "name,kind,speed\na,fast,1.20\nb,slow,3\nc,fast,\nd,fast,2.0\n",
}


@pytest.fixture
def paper(monkeypatch: pytest.MonkeyPatch) -> Answers:
    """A paper of a few lines, all answered."""
    monkeypatch.setattr(sources, "table", lambda name: list(csv.DictReader(io.StringIO(TABLES[name]))))
    # a new cache, which ends with the test
    monkeypatch.setattr("dse.papers.comparer.lines", sources.lines.__wrapped__)
    answers = Answers("p")
    answers("speed")(lambda name: Found({"a": 1.204, "d": 2.2}[name], told={"number": 3}))
    answers("claim")(lambda: True)
    answers("claim:more")(lambda k: Found(k == "2", remark="tried"))
    answers("wrong")(lambda: Found(7.0, corrected=7.0))
    answers("typed")(lambda: 1.5)
    answers("typed:again")(lambda: 2.5)
    answers("typed:computed")(lambda: 3.5)
    return answers


def _told(rows: list[Row]) -> list[tuple[object, ...]]:
    return [(r.statement.id, r.item, r.paper, r.ours, r.verdict.value, r.remark) for r in rows]


def test_lines_are_judged_case_by_case(paper: Answers):
    rows = list(paper.rows())
    assert _told(rows) == [
        ("speed", "a", 1.2, 1.204, "agrees", "no. 3"),
        # the table prints nothing for c; 2.2 is not the 2.0 that is printed for d
        ("speed", "d", 2.0, 2.2, "differs", "no. 3"),
        ("claim", "", "yes", "yes", "agrees", ""),
        ("claim", "more", "yes", "yes", "agrees", "k = 2; tried"),
        ("claim", "more", "yes", "no", "differs", "k = 4; tried"),
        ("wrong", "", 5.0, 7.0, "misprint", ""),
        ("typed", "", 1.5, 1.5, "transcribed", ""),
        ("typed", "again", 2.5, 2.5, "transcribed", ""),
        ("typed", "computed", 3.5, 3.5, "agrees", ""),
        ("measured", "", "stated", "", "unchecked", ""),
    ]
    assert [r.tolerance for r in rows[:3]] == pytest.approx([0.005 / 1.2, 0.05 / 2.0, EXACT_AGREEMENT])
    assert {r.statement.text for r in rows if r.statement.id == "claim"} == {"a claim"}


def test_a_line_without_a_function_and_a_function_without_a_line_are_errors(paper: Answers):
    paper("unknown")(lambda: 1.0)
    with pytest.raises(ValueError, match="no line for the function 'unknown'"):
        list(paper.rows())
    lacking = Answers("p")
    with pytest.raises(ValueError, match="no function for the line 'claim:more'"):
        list(lacking.rows())
    with pytest.raises(ValueError, match="two functions for 'wrong'"):
        paper("wrong")(lambda: 5.0)


def test_a_function_may_ask_only_for_columns_of_its_cases(paper: Answers):
    other = Answers("p")
    other("speed")(lambda weight: 1.0)
    assert "p: 'speed' has no column 'weight' in its cases" in other.faults()


def test_cases_are_rows_of_tables_values_and_their_products(paper: Answers):
    assert cases("p", "") == [{}]
    assert [c["name"] for c in cases("p", "parts")] == ["a", "b", "c", "d"]
    assert [c["name"] for c in cases("p", "parts[name=b|d]")] == ["b", "d"]
    assert [c["name"] for c in cases("p", "parts[speed!=]")] == ["a", "b", "d"]
    assert [(c["name"], c["k"]) for c in cases("p", "parts[kind=slow] x k=1|2")] == [("b", "1"), ("b", "2")]
    assert [c["name"] for c in cases("p", "parts[kind=fast][speed!=]")] == ["a", "d"]


@pytest.mark.parametrize(
    ("over", "wrong"),
    [
        ("parts[kind=slower]", r"no row of the tables is 'parts\[kind=slower\]'"),
        ("parts[weight=3]", "no row of the tables"),
        ("parts x name=a|b", "two have the column name"),
    ],
)
def test_cases_that_cannot_be_are_said(paper: Answers, over: str, wrong: str):
    with pytest.raises(ValueError, match=wrong):
        cases("p", over)


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("a,I,one, two,,,1,,,agrees,,", "the line of 'a' has other cells than correction, id"),
        ("a,I,text,,,1", "the line of 'a' has other cells"),
        ("a,I,text,,,1,,,probable,,", "'a' has the verdict 'probable'; one of agrees, "),
        ("a,I,text,,,1,,,differs,,", "has the verdict 'differs'"),
        ("a,I,text,,,1,,close,agrees,,", "'a' has the tolerance 'close'; write a number"),
        ("a,I,text,,,1,,,agrees,,\na,I,text,,,1,,,agrees,,", "two lines 'a'"),
        ("a,I,text,{weight},,1,,,agrees,,", "neither a column nor a value that was found: 'weight'"),
        ("a,I,text,,parts,{none},,,agrees,,", "neither a column"),
        ("a,I,text,,parts[name=c],{speed},,,agrees,,", "no case of the line 'a' has a value"),
        ("a,I,text,,,,,,agrees,,", "a: the paper's value stands neither in the table nor"),
    ],
)
def test_a_wrong_line_is_said_with_its_id(
    paper: Answers, monkeypatch: pytest.MonkeyPatch, line: str, wrong: str
):
    monkeypatch.setitem(TABLES, "p/statements", TABLES["p/statements"].splitlines()[0] + "\n" + line)
    answers = Answers("p")
    answers("a")(lambda: 1.0)
    with pytest.raises(ValueError, match=wrong):
        list(answers.rows())


@pytest.mark.parametrize("name", dse.papers.papers())
def test_every_line_of_a_paper_has_its_function_and_every_function_its_line(name: str):
    assert import_module(f"dse.papers.{name}").paper.answers.faults() == []


def test_what_is_compared_with_the_file_it_was_typed_into_is_no_agreement(paper: Answers):
    assert [r.verdict for r in paper.rows() if r.typed] == 2 * [Verdict.TRANSCRIBED]
