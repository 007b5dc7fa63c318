"""What a reproduction hands back: rows that set the paper beside our own answer, and pictures."""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from dse.system.records import dataclass

if TYPE_CHECKING:
    from rich.console import RenderableType

Value = float | str


class Verdict(StrEnum):
    """How a row came out. Only ``DIFFERS`` makes a reproduction fail.

    ``DISAGREES``: the paper's own formulas and constants give something else than its text.
    ``UNCHECKED``: it cannot be checked, because it needs measurements that the paper does not print.
    ``TRANSCRIBED``: our number was typed in from the paper; that it is the same is not agreement.
    """

    AGREES = "agrees"
    TRANSCRIBED = "transcribed"
    MISPRINT = "misprint"
    GAP = "gap"
    INCONSISTENT = "inconsistent"
    DISAGREES = "disagrees"
    UNCHECKED = "unchecked"
    DIFFERS = "differs"


@dataclass(frozen=True, slots=True)
class Statement:
    """What a paper says, from its data file.

    ``fault`` is empty, or names the documented error ("misprint", "gap": a case the paper leaves out,
    "inconsistent": the paper contradicts itself, "disagrees": its constants give something else) and
    ``correction`` says in our words what holds instead. ``fault`` "unchecked" is not an error: ``correction`` says
    what it would take to check.
    """

    id: str
    place: str
    text: str
    fault: str = ""
    correction: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """One statement of the paper beside what we get.

    ``paper`` is the printed value, or what the printed formula gives; ``corrected`` what the corrected
    formula gives (None: the paper stands as printed); ``ours`` is computed in this run; ``tolerance`` is the
    relative difference allowed between ``ours`` and ``corrected`` (or ``paper``). ``typed``: ours was typed in from
    the paper, as a cell of a table is into a machine file.
    """

    statement: Statement
    item: str
    paper: Value
    ours: Value
    unit: str = ""
    corrected: Value | None = None
    tolerance: float = 1e-6
    remark: str = ""
    typed: bool = False

    @property
    def difference(self) -> float | None:
        """Relative difference of ours from what should hold; None where it is a yes or no."""
        return relative_difference(self.ours, self.expected)

    @property
    def expected(self) -> Value:
        """What should hold: the corrected value where there is one, else the paper's."""
        return self.paper if self.corrected is None else self.corrected

    @property
    def verdict(self) -> Verdict:
        """Agreement with the paper, a documented fault of the paper, or a difference nobody explained.

        A statement that cannot be checked has no answer of ours (an empty text).
        """
        if self.statement.fault == Verdict.UNCHECKED:
            return Verdict.DIFFERS if self.ours else Verdict.UNCHECKED
        if not agree(self.ours, self.expected, self.tolerance):
            return Verdict.DIFFERS
        if self.corrected is None or agree(self.ours, self.paper, self.tolerance):
            return Verdict.TRANSCRIBED if self.typed else Verdict.AGREES
        return Verdict(self.statement.fault) if self.statement.fault else Verdict.DIFFERS


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture that was written, and what it shows."""

    path: Path
    caption: str


@dataclass(frozen=True, slots=True)
class Report:
    """Every statement of a paper beside our answer, with the pictures and files written."""

    paper: str
    title: str
    citation: str
    rows: tuple[Row, ...]
    pictures: tuple[Picture, ...] = ()
    files: tuple[Path, ...] = ()
    folder: Path = Path()

    @property
    def counts(self) -> dict[str, int]:
        """Number of rows of every verdict that occurs."""
        return dict(Counter(row.verdict.value for row in self.rows))

    @property
    def disagreements(self) -> tuple[Row, ...]:
        """Rows where ours differs and no documented fault of the paper explains it."""
        return tuple(row for row in self.rows if row.verdict is Verdict.DIFFERS)

    @property
    def exit_code(self) -> int:
        """0 when every row agrees or is a documented fault of the paper, else 1."""
        return 1 if self.disagreements else 0

    def __rich__(self) -> RenderableType:
        """Return what ``rich`` prints for a report."""
        return brief(self)


def relative_difference(ours: Value, expected: Value) -> float | None:
    """|ours - expected| / |expected| (absolute where expected is 0); None where either is text."""
    if isinstance(ours, str) or isinstance(expected, str):
        return None
    if not (math.isfinite(ours) and math.isfinite(expected)):
        return 0.0 if ours == expected else math.inf
    return abs(ours - expected) / (abs(expected) or 1.0)


def agree(ours: Value, expected: Value, tolerance: float) -> bool:
    """Whether two values are the same text, or the same number within a relative tolerance."""
    difference = relative_difference(ours, expected)
    return ours == expected if difference is None else difference <= tolerance


def digits(value: Value | None, count: int = 6) -> str:
    """Return a value as text with that many significant digits; "" for None."""
    if value is None:
        return ""
    return value if isinstance(value, str) else f"{value:.{count}g}"


def terminal(report: Report) -> RenderableType:
    """Return the whole report for a terminal: the verdict, every statement with its cases, sums and files."""
    from rich.console import Group
    from rich.rule import Rule
    from rich.text import Text

    parts: list[RenderableType] = [
        Text(report.title, style="bold"),
        Text(report.citation),
        Text(verdict(report)),
    ]
    for place, rows in by_place(report.rows).items():
        parts += ["", Rule(place, align="left")]
        for number, statement in enumerate(dict.fromkeys(row.statement for row in rows)):
            parts += _statement(
                statement, [row for row in rows if row.statement == statement], header=number == 0
            )
    return Group(*parts, "", Text(summary(report)), Text(verdict(report)))


def brief(report: Report) -> RenderableType:
    """Return the report for a terminal in few lines: the verdict, a line for each part of the paper, the verdict."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    others = [v for v in Verdict if v.value in report.counts and v is not Verdict.AGREES]
    table = Table(box=None, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column("", overflow="fold")
    for name in ("rows", Verdict.AGREES.value, *(v.value for v in others)):
        table.add_column(name, justify="right")
    for place, rows in by_place(report.rows).items():
        found = Counter(row.verdict for row in rows)
        told = [str(found[v] or "") for v in (Verdict.AGREES, *others)]
        table.add_row(place, str(len(rows)), *told, style="red" if found[Verdict.DIFFERS] else None)
    parts: list[RenderableType] = [
        Text(report.title, style="bold"),
        Text(report.citation),
        Text(verdict(report)),
    ]
    lines = [
        *summary(report).splitlines()[1:],
        f"Every row: dse reproduce {report.paper} --rows",
        verdict(report),
    ]
    return Group(*parts, "", table, "", *(Text(line) for line in lines))


def verdict(report: Report) -> str:
    """Say in one line how many rows agree, how many are documented faults of the paper, and how many differ."""
    counts = report.counts
    agree, differ = counts.get(Verdict.AGREES, 0), counts.get(Verdict.DIFFERS, 0)
    unchecked = counts.get(Verdict.UNCHECKED, 0)
    typed = counts.get(Verdict.TRANSCRIBED, 0)
    faults = len(report.rows) - agree - differ - unchecked - typed
    told = f"{agree} of {len(report.rows) - typed} rows agree"
    told += f", {faults} are documented faults or gaps of the paper" if faults else ""
    told += f", {unchecked} cannot be checked" if unchecked else ""
    told += f", {differ} differ"
    return f"{told}; {typed} more were typed in from the paper." if typed else f"{told}."


def _statement(statement: Statement, rows: Sequence[Row], *, header: bool) -> list[RenderableType]:
    """Return a statement, what is wrong with it where it shows, and its cases as a table."""
    from rich.table import Table
    from rich.text import Text

    parts: list[RenderableType] = [Text(statement.text, style="bold")]
    if any(row.verdict.value == statement.fault for row in rows):
        parts.append(Text(f"{statement.fault}: {statement.correction}", style="italic"))
    table = Table(box=None, show_header=header, header_style="dim", padding=(0, 1, 0, 0), expand=True)
    table.add_column("", ratio=1)
    for name, width in (("paper", 12), ("corrected", 12), ("ours", 12)):
        table.add_column(name, justify="right", width=width)
    table.add_column("", width=11)
    table.add_column("diff.", justify="right", width=5)
    table.add_column("", width=12)
    for row in rows:
        item = Text(row.item)
        if row.remark:
            item.append(f" ({row.remark})" if row.item else row.remark, style="dim")
        cells = (
            digits(row.paper),
            digits(row.corrected),
            digits(row.ours),
            row.unit,
            _difference(row),
            row.verdict.value,
        )
        table.add_row(item, *cells, style="red" if row.verdict is Verdict.DIFFERS else None)
    return [*parts, table]


def _cells(row: Row) -> tuple[str, ...]:
    numbers = (digits(row.paper), digits(row.corrected), digits(row.ours), row.unit, _difference(row))
    return (row.statement.text, row.item, *numbers, row.verdict.value, _remark(row))


def _difference(row: Row) -> str:
    return "" if row.difference is None else f"{row.difference:.0e}"


def _remark(row: Row) -> str:
    """Return the remark, led by the correction where the paper is wrong."""
    wrong = row.verdict.value == row.statement.fault
    return " ".join(part for part in (row.statement.correction if wrong else "", row.remark) if part)


def by_place(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Rows by their place in the paper and, within it, by statement, in the order of first occurrence."""
    groups: dict[str, dict[str, list[Row]]] = {}
    for row in rows:
        groups.setdefault(row.statement.place, {}).setdefault(row.statement.id, []).append(row)
    return {place: [row for of_one in found.values() for row in of_one] for place, found in groups.items()}


def summary(report: Report) -> str:
    """Return a few lines: how many rows came out how, and where the pictures and tables are."""
    told = ", ".join(f"{count} {verdict}" for verdict, count in sorted(report.counts.items()))
    lines = [f"{len(report.rows)} rows: {told}."]
    lines += [f"DIFFERS: {row.statement.place}: {row.item}" for row in report.disagreements]
    if report.files:
        names = ", ".join(path.name for path in report.files)
        lines.append(f"Written into {report.folder}: {names}")
    return "\n".join(lines)


COLUMNS = (
    "place",
    "statement",
    "item",
    "paper",
    "corrected",
    "ours",
    "unit",
    "relative_difference",
    "tolerance",
    "verdict",
    "remark",
)


def write_csv(path: Path, columns: Sequence[str], rows: Sequence[Mapping[str, object]]) -> Path:
    """Write rows under those columns as CSV with full precision; gives the path back."""
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, fieldnames=columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path


def as_record(row: Row) -> dict[str, Value | None]:
    """Return a row as plain names and values (columns of the CSV and of ``--json``); no NaN or infinity."""
    record = {
        "place": row.statement.place,
        "statement": row.statement.text,
        "item": row.item,
        "paper": row.paper,
        "corrected": row.corrected,
        "ours": row.ours,
        "unit": row.unit,
        "relative_difference": row.difference,
        "tolerance": row.tolerance,
        "verdict": row.verdict.value,
        "remark": _remark(row),
    }
    return {k: v if not isinstance(v, float) or math.isfinite(v) else str(v) for k, v in record.items()}


def to_json(report: Report) -> dict[str, object]:
    """Return the report as JSON-ready values."""
    return {
        "paper": report.paper,
        "title": report.title,
        "citation": report.citation,
        "counts": report.counts,
        "rows": [as_record(row) for row in report.rows],
        "pictures": [{"path": str(p.path), "caption": p.caption} for p in report.pictures],
        "files": [str(path) for path in report.files],
    }


def markdown(report: Report) -> str:
    """Return the report as a Markdown page with its pictures."""
    lines = [f"# {report.title}", "", report.citation, "", summary(report).splitlines()[0], ""]
    for place, rows in by_place(report.rows).items():
        lines += [
            f"## {place}",
            "",
            "| statement | case | paper | corrected | ours | unit | diff. | verdict | remark |",
        ]
        lines.append("|---|---|---:|---:|---:|---|---:|---|---|")
        lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in _cells(row)) + " |" for row in rows]
        lines.append("")
    for picture in report.pictures:
        lines += [f"![{picture.caption}]({picture.path.name})", "", picture.caption, ""]
    return "\n".join(lines)
