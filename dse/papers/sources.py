"""What the papers say, read from the data files beside this module."""

from __future__ import annotations

import csv
import io
from decimal import Decimal
from functools import cache
from importlib.resources import files

from dse.papers.report import Row, Statement, Verdict


def table(name: str) -> list[dict[str, str]]:
    """Rows of ``data/<name>.csv`` as text; a cell that is empty in the file is an empty text."""
    text = (files("dse.papers") / "data" / f"{name}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(io.StringIO(text)))


@cache
def statements(paper: str) -> dict[str, Statement]:
    """Every statement of a paper by its id (file ``<paper>_statements.csv``)."""
    found = [Statement(**row) for row in table(f"{paper}_statements")]
    return {s.id: s for s in found}


def unchecked(paper: str) -> list[Row]:
    """Return the statements of a paper that nothing printed could check, as rows without an answer of ours."""
    return [Row(s, "", "stated", "") for s in statements(paper).values() if s.fault == Verdict.UNCHECKED]


def rounding(printed: str) -> float:
    """Largest relative error that rounding to the printed digits can have caused ("3.13E-10" -> 0.5/313).

    A hair is added because a value half-way between two prints may go either way.
    """
    number = Decimal(printed).normalize() if "." not in printed else Decimal(printed)
    if number == 0:
        return 0.0
    unit = Decimal(1).scaleb(int(number.as_tuple().exponent))
    return float(unit / 2 / abs(number)) * (1.0 + 1e-9)
