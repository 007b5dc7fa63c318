"""One paper set beside our answers: its rows in sections, its pictures, and the files that hold them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dse.papers.report import COLUMNS, Picture, Report, Row, as_record, markdown, write_csv
from dse.papers.sources import statements, unchecked
from dse.sweeping.progress import Report as Progress


def _no_data(folder: Path) -> Sequence[Path]:
    """Write nothing."""
    del folder
    return ()


@dataclass(frozen=True, slots=True)
class Paper:
    """What a reproduction is made of.

    ``sections`` compute the rows, in this order; the statements that nothing can check follow them.
    ``draw`` writes the pictures into a folder and ``data`` the CSV files behind them.
    ``in_data_order``: whether rows stand in the order of the statements' file, not in that of the sections.
    """

    name: str
    title: str
    citation: str
    sections: tuple[Callable[[], Sequence[Row]], ...]
    draw: Callable[[Path], tuple[Picture, ...]]
    data: Callable[[Path], Sequence[Path]] = _no_data
    in_data_order: bool = False


def rows(paper: Paper, progress: Callable[[int], None] = lambda done: None) -> tuple[Row, ...]:
    """Every statement of the paper beside our answer, computed now; ``progress`` hears of each section."""
    found: list[Row] = []
    for done, section in enumerate(paper.sections):
        progress(done)
        found += section()
    found += unchecked(paper.name)
    if paper.in_data_order:
        order = {statement: place for place, statement in enumerate(statements(paper.name))}
        found.sort(key=lambda row: order[row.statement.id])
    return tuple(found)


def reproduce(paper: Paper, folder: Path, progress: Progress) -> Report:
    """Answer everything, draw the figures, write CSV files and a Markdown page into ``folder``.

    ``progress`` is told how many of the parts are done: the sections, the pictures and the data behind them.
    """
    sections = len(paper.sections)
    parts = sections + 2
    answered = rows(paper, lambda done: progress(done, parts))
    progress(sections, parts)
    drawn = paper.draw(folder)
    progress(sections + 1, parts)
    report = Report(paper.name, paper.title, paper.citation, answered, drawn, folder=folder)
    data = paper.data(folder)
    table = write_csv(folder / "rows.csv", COLUMNS, [as_record(row) for row in report.rows])
    progress(parts, parts)
    page = folder / "report.md"
    page.write_text(markdown(report), encoding="utf-8")
    return replace(report, files=(page, table, *data, *(picture.path for picture in report.pictures)))
