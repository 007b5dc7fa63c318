"""What the papers say, read from the data files beside this module."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from importlib.resources import files

from dse.papers.report import Statement, Verdict

_TOLD = ("item", "over", "printed", "unit", "tolerance", "remark")
_COLUMNS = {"id", "place", "text", "verdict", "correction", *_TOLD}


@dataclass(frozen=True, slots=True)
class Line:
    """A line of ``data/PAPER/statements.csv``: a statement, or (id "statement:part") other cases of the one above.

    Such a line leaves ``place``, ``text``, ``correction`` and, if it is the same, ``verdict`` to the line above.
    Columns: ``id``; ``place`` in the paper; ``text``; ``item``: which case; ``over``: the cases (see ``cases``);
    ``printed``: the value that the paper prints, "yes" of a claim, or empty where the function has what a printed
    formula gives; ``unit``; ``tolerance``: relative, "+-1.2" absolute, "print" for half the last printed
    digit, empty for 1e-12;
    ``verdict``: expected of the rows that do not agree (``report.Verdict``); ``correction``: what holds instead;
    ``remark``. Item, printed, unit and remark may name columns of the cases in braces.
    """

    id: str
    statement: Statement
    item: str
    over: str
    printed: str
    unit: str
    tolerance: str
    remark: str
    typed: bool


def table(name: str) -> list[dict[str, str]]:
    """Rows of ``data/<name>.csv`` as text; a cell that is empty in the file is an empty text."""
    text = (files("dse.papers") / "data" / f"{name}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(io.StringIO(text)))


@cache
def premises(paper: str) -> dict[str, float]:
    """Return the numbers that a paper asks its questions with, by name: the lines of ``data/PAPER/premises.csv``."""
    return {line["name"]: float(line["value"]) for line in table(f"{paper}/premises")}


def cases(paper: str, over: str) -> list[dict[str, str]]:
    """Return the cases of a line: rows of tables of the paper's folder, values in the line, and their products.

    "table4" are the rows of ``data/PAPER/table4.csv``, "table4[type=CPU]" some of them ("a=x|y": one of these;
    "a!=": a is not empty; more in more brackets), "k=2|4" two values of k, and
    "table4 x k=2|4" each with each. "" is one case. ValueError where a part has no row or two have the same column.
    """
    factors = [_factor(paper, part) for part in over.split(" x ")] if over else []
    columns = [column for rows in factors for column in rows[0]]
    if twice := {column for column in columns if columns.count(column) > 1}:
        msg = f"{paper}: in {over!r} two have the column {', '.join(sorted(twice))}"
        raise ValueError(msg)
    return [{k: v for row in rows for k, v in row.items()} for rows in itertools.product(*factors)]


def _factor(paper: str, part: str) -> list[dict[str, str]]:
    named = re.fullmatch(r"(\w+)((?:\[[^\]]*\])*)", part)
    if named is None:
        name, _, values = part.partition("=")
        return [{name: value} for value in values.split("|")]
    rows = table(f"{paper}/{named[1]}")
    for column, different, values in re.findall(r"\[(\w+)(!?)=([^\]]*)\]", named[2]):
        rows = [row for row in rows if (row.get(column) in values.split("|")) is not bool(different)]
    if not rows:
        msg = f"{paper}: no row of the tables is {part!r}"
        raise ValueError(msg)
    return rows


@cache
def lines(paper: str) -> Mapping[str, Line]:
    """Every line of a paper's table of statements by its id.

    ValueError for an id that stands there twice, an unknown verdict and a tolerance that is none.
    """
    found: dict[str, Line] = {}
    statement, typed = None, False
    for row in table(f"{paper}/statements"):
        if set(row) != _COLUMNS or None in row.values():
            # a comma in a text without quotes is a cell too many
            msg = f"{paper}: the line of {row.get('id')!r} has other cells than {', '.join(sorted(_COLUMNS))}"
            raise ValueError(msg)
        name, base = row["id"], row["id"].partition(":")[0]
        if statement is None or base != statement.id:
            verdict = _verdict(paper, row)
            typed = verdict is Verdict.TRANSCRIBED
            fault = "" if typed or verdict is Verdict.AGREES else verdict.value
            statement = Statement(base, row["place"], row["text"], fault, row["correction"])
        elif row["verdict"]:
            typed = _verdict(paper, row) is Verdict.TRANSCRIBED
        if name in found:
            msg = f"{paper}: two lines {name!r}"
            raise ValueError(msg)
        if not re.fullmatch(r"(print|(\+-)?[0-9.]+(e-?[0-9]+)?)?", row["tolerance"]):
            msg = (
                f"{paper}: {name!r} has the tolerance {row['tolerance']!r}; write a number, +-number or print"
            )
            raise ValueError(msg)
        told = {c: row[c] for c in _TOLD}
        found[name] = Line(id=name, statement=statement, typed=typed, **told)
    return found


def _verdict(paper: str, row: Mapping[str, str]) -> Verdict:
    if row["verdict"] not in {*Verdict} - {Verdict.DIFFERS}:
        msg = f"{paper}: {row['id']!r} has the verdict {row['verdict']!r}; one of {', '.join(Verdict)} is expected"
        raise ValueError(msg)
    return Verdict(row["verdict"])


def statements(paper: str) -> dict[str, Statement]:
    """Every statement of a paper by its id."""
    return {line.statement.id: line.statement for line in lines(paper).values()}


def rounding(printed: str) -> float:
    """Largest relative error that rounding to the printed digits can have caused ("3.13E-10" -> 0.5/313).

    A hair is added because a value half-way between two prints may go either way.
    """
    number = Decimal(printed).normalize() if "." not in printed else Decimal(printed)
    if number == 0:
        return 0.0
    unit = Decimal(1).scaleb(int(number.as_tuple().exponent))
    return float(unit / 2 / abs(number)) * (1.0 + 1e-9)
