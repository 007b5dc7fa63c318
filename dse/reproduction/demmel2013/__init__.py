"""Demmel, Gearhart, Lipshitz, Schwartz 2013: Perfect Strong Scaling Using No Additional Energy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from dse.progress import Report as Progress
from dse.reproduction.demmel2013 import (
    algorithms,
    case_study,
    limits_on_power,
    limits_on_time_energy,
    pictures,
    regions,
    scaling,
    tables,
)
from dse.reproduction.report import COLUMNS, Report, Row, as_record, markdown, write_csv

__all__ = ["reproduce", "rows"]

_SECTIONS = (tables, scaling, algorithms, limits_on_time_energy, limits_on_power, case_study)
# the sections, the pictures, and the data behind them
_PARTS = len(_SECTIONS) + 2


def _silent(done: int, total: int) -> None:
    """Tell nobody."""


def rows(progress: Progress = _silent) -> tuple[Row, ...]:
    """Every statement of the paper beside our answer, computed now; ``progress`` hears of each section."""
    found: list[Row] = []
    for done, section in enumerate(_SECTIONS):
        progress(done, _PARTS)
        found += section.rows()
    return tuple(found)


def reproduce(folder: Path, progress: Progress = _silent) -> Report:
    """Answer everything, draw the figures, write CSV files and a Markdown page into ``folder``."""
    answered = rows(progress)
    progress(len(_SECTIONS), _PARTS)
    drawn = pictures.draw(folder)
    progress(len(_SECTIONS) + 1, _PARTS)
    report = Report(
        paper="demmel2013",
        title="Perfect strong scaling using no additional energy: the paper beside our answers",
        citation="J. Demmel, A. Gearhart, B. Lipshitz, O. Schwartz, IPDPS 2013",
        rows=answered,
        pictures=drawn,
        folder=folder,
    )
    data = [_figure_3(folder), _figure_4(folder), _figures_6_7(folder)]
    table = write_csv(folder / "rows.csv", COLUMNS, [as_record(row) for row in report.rows])
    progress(_PARTS, _PARTS)
    page = folder / "report.md"
    page.write_text(markdown(report), encoding="utf-8")
    return replace(report, files=(page, table, *data, *(picture.path for picture in report.pictures)))


def _figure_3(folder: Path) -> Path:
    columns = ("model", "processors", "words", "bound_with_memory", "memory_independent_bound")
    records = [
        dict(zip(columns, (model, *map(float, values)), strict=True))
        for model in scaling.EXPONENTS
        for data in (scaling.figure_3(model),)
        for values in zip(data.p, data.words, data.memory_dependent, data.memory_independent, strict=True)
    ]
    return write_csv(folder / "figure3.csv", columns, records)


def _figure_4(folder: Path) -> Path:
    columns = ("processors", "memory", "energy", "time", "power", "power_per_processor")
    return write_csv(folder / "figure4.csv", columns, regions.records())


def _figures_6_7(folder: Path) -> Path:
    columns = ("reading", "halved", "generation", "flop_per_J")
    records = [
        dict(zip(columns, (reading.name, halved, generation, value), strict=True))
        for reading in case_study.READINGS
        for halved, values in case_study.curves(reading).items()
        for generation, value in zip(case_study.GENERATIONS, values, strict=True)
    ]
    return write_csv(folder / "figures6-7.csv", columns, records)
