"""One paper set beside our answers: its rows in sections, its pictures, and the files that hold them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dse.papers.comparer import Answers
from dse.papers.report import COLUMNS, Picture, Report, Row, as_record, markdown, write_csv
from dse.papers.sources import lines, statements, unchecked
from dse.sweeping.progress import Report as Progress


def _no_data(folder: Path) -> Sequence[Path]:
    """Write nothing."""
    del folder
    return ()


@dataclass(frozen=True, slots=True)
class Paper:
    """What a reproduction is made of.

    ``answers`` are its functions by the lines of its table of statements, in whose order rows stand.
    ``sections`` compute the rows of a paper without such a table; what nothing can check follows them.
    ``draw`` writes the pictures into a folder and ``data`` the CSV files behind them.
    """

    name: str
    title: str
    citation: str
    draw: Callable[[Path], tuple[Picture, ...]]
    data: Callable[[Path], Sequence[Path]] = _no_data
    answers: Answers | None = None
    sections: tuple[Callable[[], Sequence[Row]], ...] = ()
    in_data_order: bool = False

    @property
    def parts(self) -> int:
        """Number of parts that are answered one after the other."""
        return len(self.sections) if self.answers is None else len(lines(self.name))


def rows(paper: Paper, progress: Callable[[int], None] = lambda done: None) -> tuple[Row, ...]:
    """Every statement of the paper beside our answer, computed now; ``progress`` hears of each section."""
    if paper.answers is not None:
        return tuple(paper.answers.rows(progress))
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

    ``progress`` is told how many of the parts are done: the statements, the pictures and the data behind them.
    """
    sections = paper.parts
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
