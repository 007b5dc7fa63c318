"""Demmel, Gearhart, Lipshitz, Schwartz 2013: Perfect Strong Scaling Using No Additional Energy."""

from __future__ import annotations

from pathlib import Path

from dse.papers.demmel2013 import (
    algorithms,
    case_study,
    limits_on_power,
    limits_on_time_energy,
    pictures,
    regions,
    scaling,
    tables,
)
from dse.papers.demmel2013.questions import PAPER, answers
from dse.papers.paper import Paper
from dse.papers.report import write_csv

__all__ = ["algorithms", "limits_on_power", "limits_on_time_energy", "paper", "tables"]


def _data(folder: Path) -> tuple[Path, ...]:
    """Write the numbers behind figures 3, 4, 6 and 7."""
    return (_figure_3(folder), _figure_4(folder), _figures_6_7(folder))


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


paper = Paper(
    PAPER,
    title="Perfect strong scaling using no additional energy: the paper beside our answers",
    citation="J. Demmel, A. Gearhart, B. Lipshitz, O. Schwartz, IPDPS 2013",
    answers=answers,
    draw=pictures.draw,
    data=_data,
)
