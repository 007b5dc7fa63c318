"""One paper set beside our answers: its statements, its pictures, and the files that hold them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dse.papers.comparer import Answers
from dse.papers.report import COLUMNS, Picture, Report, as_record, markdown, write_csv
from dse.papers.sources import lines
from dse.system.progress import Report as Progress


def _no_data(folder: Path) -> Sequence[Path]:
    """Write nothing."""
    del folder
    return ()


@dataclass(frozen=True, slots=True)
class Paper:
    """What a reproduction is made of.

    ``answers`` are the functions by the lines of the paper's table of statements, in whose order rows stand.
    ``draw`` writes the pictures into a folder and ``data`` the CSV files behind them.
    """

    name: str
    title: str
    citation: str
    answers: Answers
    draw: Callable[[Path], tuple[Picture, ...]]
    data: Callable[[Path], Sequence[Path]] = _no_data


def reproduce(paper: Paper, folder: Path, progress: Progress) -> Report:
    """Answer everything, draw the figures, write CSV files and a Markdown page into ``folder``.

    ``progress`` is told how many of the parts are done: the statements, the pictures and the data behind them.
    """
    statements = len(lines(paper.name))
    parts = statements + 2
    answered = tuple(paper.answers.rows(lambda done: progress(done, parts)))
    progress(statements, parts)
    drawn = paper.draw(folder)
    progress(statements + 1, parts)
    report = Report(paper.name, paper.title, paper.citation, answered, drawn, folder=folder)
    data = paper.data(folder)
    table = write_csv(folder / "rows.csv", COLUMNS, [as_record(row) for row in report.rows])
    progress(parts, parts)
    page = folder / "report.md"
    page.write_text(markdown(report), encoding="utf-8")
    return replace(report, files=(page, table, *data, *(picture.path for picture in report.pictures)))
