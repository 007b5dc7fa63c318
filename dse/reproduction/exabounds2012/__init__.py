"""Stanley-Marbell 2012: ExaBounds, bounds on performance, power, reliability and cost of large systems.

What the report prints is in ``data/exabounds2012_*.csv``: Tables 1 to 5 and what its text says (statements).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from dse.progress import Report as Progress
from dse.reproduction.exabounds2012 import (
    correlator,
    performance_rows,
    pictures,
    power_rows,
    table_one,
    tables,
)
from dse.reproduction.exabounds2012.rows import unchecked
from dse.reproduction.report import COLUMNS, Report, Row, as_record, markdown, write_csv

__all__ = ["reproduce", "rows"]

_SECTIONS = (table_one.rows, tables.rows, correlator.rows, performance_rows.rows, power_rows.rows, unchecked)
# the sections and the pictures
_PARTS = len(_SECTIONS) + 1


def _silent(done: int, total: int) -> None:
    """Tell nobody."""


def rows(progress: Progress = _silent) -> tuple[Row, ...]:
    """Every statement of the report beside our answer, computed now; ``progress`` hears of each section."""
    found: list[Row] = []
    for done, section in enumerate(_SECTIONS):
        progress(done, _PARTS)
        found += section()
    return tuple(found)


def reproduce(folder: Path, progress: Progress = _silent) -> Report:
    """Answer everything, draw the figures, write CSV files and a Markdown page into ``folder``."""
    answered = rows(progress)
    progress(len(_SECTIONS), _PARTS)
    report = Report(
        paper="exabounds2012",
        title="ExaBounds, large systems level by level: the report beside our answers",
        citation="P. Stanley-Marbell, IBM Research Report RZ 3883, 2012",
        rows=answered,
        pictures=pictures.draw(folder),
        folder=folder,
    )
    table = write_csv(folder / "rows.csv", COLUMNS, [as_record(row) for row in report.rows])
    progress(_PARTS, _PARTS)
    page = folder / "report.md"
    page.write_text(markdown(report), encoding="utf-8")
    return replace(report, files=(page, table, *(picture.path for picture in report.pictures)))
