"""Choi and Vuduc 2016: Analyzing the energy efficiency of the fast multipole method using a DVFS-aware energy model.

What the paper prints is in ``data/choi2016_table*.csv`` and ``data/choi2016_statements.csv`` (what its text says);
``data/choi2016_example_phases.csv`` are phases of our own.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from dse.progress import Report as Progress
from dse.reproduction.choi2016 import autotuning, multipole, pictures, table_one
from dse.reproduction.choi2016.jetson import PAPER
from dse.reproduction.choi2016.rows import unchecked
from dse.reproduction.report import COLUMNS, Report, Row, as_record, markdown, write_csv
from dse.reproduction.sources import statements

__all__ = ["reproduce", "rows"]

_SECTIONS = (table_one, autotuning, multipole)
# the sections and the pictures
_PARTS = len(_SECTIONS) + 1


def _silent(done: int, total: int) -> None:
    """Tell nobody."""


def rows(progress: Progress = _silent) -> tuple[Row, ...]:
    """Every statement of the paper beside our answer, computed now, in the order of the data file.

    ``progress`` hears of each section.
    """
    found: list[Row] = []
    for done, section in enumerate(_SECTIONS):
        progress(done, _PARTS)
        found += section.rows()
    order = {statement: place for place, statement in enumerate(statements(PAPER))}
    return tuple(sorted([*found, *unchecked()], key=lambda row: order[row.statement.id]))


def reproduce(folder: Path, progress: Progress = _silent) -> Report:
    """Answer everything, draw the pictures, write CSV files and a Markdown page into ``folder``."""
    answered = rows(progress)
    progress(len(_SECTIONS), _PARTS)
    report = Report(
        paper=PAPER,
        title="The DVFS-aware energy model: the paper beside our answers",
        citation="J. W. Choi, R. W. Vuduc, 2016",
        rows=answered,
        pictures=pictures.draw(folder),
        folder=folder,
    )
    table = write_csv(folder / "rows.csv", COLUMNS, [as_record(row) for row in report.rows])
    progress(_PARTS, _PARTS)
    page = folder / "report.md"
    page.write_text(markdown(report), encoding="utf-8")
    return replace(report, files=(page, table, *(picture.path for picture in report.pictures)))
