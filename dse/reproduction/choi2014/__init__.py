"""Choi, Dukhan, Liu, Vuduc 2014: Algorithmic time, energy, and power on candidate HPC compute building blocks.

What the paper prints is in ``data/choi2014_platforms.csv`` (Table I, in SI units, with the doubtful cells named) and
``data/choi2014_statements.csv`` (what its text says).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from dse.progress import Report as Progress
from dse.reproduction.choi2014 import (
    constant_power,
    curve_data,
    model_rows,
    pictures,
    preview,
    table_one,
    throttling,
)
from dse.reproduction.choi2014.platforms import PAPER
from dse.reproduction.choi2014.rows import unchecked
from dse.reproduction.report import COLUMNS, Report, Row, as_record, markdown, write_csv
from dse.reproduction.sources import statements

__all__ = ["reproduce", "rows"]

_SECTIONS = (table_one, preview, model_rows, constant_power, throttling)
# the sections, the pictures, and the data behind them
_PARTS = len(_SECTIONS) + 2


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
    """Answer everything, draw the figures, write CSV files and a Markdown page into ``folder``."""
    answered = rows(progress)
    progress(len(_SECTIONS), _PARTS)
    drawn = pictures.draw(folder)
    progress(len(_SECTIONS) + 1, _PARTS)
    report = Report(
        paper=PAPER,
        title="Algorithmic time, energy, and power on building blocks: the paper beside our answers",
        citation="J. Choi, M. Dukhan, X. Liu, R. Vuduc, IPDPS 2014",
        rows=answered,
        pictures=drawn,
        folder=folder,
    )
    data = curve_data.write(folder)
    table = write_csv(folder / "rows.csv", COLUMNS, [as_record(row) for row in report.rows])
    progress(_PARTS, _PARTS)
    page = folder / "report.md"
    page.write_text(markdown(report), encoding="utf-8")
    return replace(report, files=(page, table, *data, *(picture.path for picture in report.pictures)))
