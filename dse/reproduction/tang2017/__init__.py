"""Tang, Barrett, Cook, Hu 2017: PeaPaw, performance- and energy-aware partitioning of workload.

What the paper prints is in ``data/tang2017_*.csv``: Tables III and IV (processors), V and VI, the case studies'
partitions, and what its text says (statements).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from dse.progress import Report as Progress
from dse.reproduction.report import COLUMNS, Report, Row, as_record, markdown, write_csv
from dse.reproduction.tang2017 import comparisons, estimation, pictures, surfaces, tables
from dse.reproduction.tang2017.rows import unchecked

__all__ = ["reproduce", "rows"]

_SECTIONS = (tables.rows, estimation.rows, tables.intensity_rows, comparisons.rows, unchecked)
# the sections, the pictures, and the data behind them
_PARTS = len(_SECTIONS) + 2


def _silent(done: int, total: int) -> None:
    """Tell nobody."""


def rows(progress: Progress = _silent) -> tuple[Row, ...]:
    """Every statement of the paper beside our answer, computed now; ``progress`` hears of each section."""
    found: list[Row] = []
    for done, section in enumerate(_SECTIONS):
        progress(done, _PARTS)
        found += section()
    return tuple(found)


def reproduce(folder: Path, progress: Progress = _silent) -> Report:
    """Answer everything, draw the figures, write CSV files and a Markdown page into ``folder``."""
    answered = rows(progress)
    progress(len(_SECTIONS), _PARTS)
    drawn = pictures.draw(folder)
    progress(len(_SECTIONS) + 1, _PARTS)
    report = Report(
        paper="tang2017",
        title="PeaPaw, workload partitions on heterogeneous platforms: the paper beside our answers",
        citation="L. Tang, R. F. Barrett, J. Cook, X. S. Hu, ACM TODAES 22(3), 2017",
        rows=answered,
        pictures=drawn,
        folder=folder,
    )
    data = surfaces.write(folder)
    table = write_csv(folder / "rows.csv", COLUMNS, [as_record(row) for row in report.rows])
    progress(_PARTS, _PARTS)
    page = folder / "report.md"
    page.write_text(markdown(report), encoding="utf-8")
    return replace(report, files=(page, table, *data, *(picture.path for picture in report.pictures)))
