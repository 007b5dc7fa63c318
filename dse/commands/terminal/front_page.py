"""A front on the terminal: objectives and decisions of each point, lists folded where they would not fit."""

from __future__ import annotations

import textwrap
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dse.commands.terminal.printing import PAGE_WIDTH, say, show, table
from dse.fronts.bands import EXACT
from dse.quantities import plural
from dse.system.records import dataclass
from results.along_fronts.along import exchanges, knee
from results.summaries import outside
from results.telling import sizes, sources, words

if TYPE_CHECKING:
    from dse.fronts.front_search import Front
    from results.solution import Solution

FRONT_DIGITS = 5
BETWEEN = 3
LONGEST_CELL = 48
MANY_POINTS, SOME = 100, 40
SIGNS = {0.0: "○", 1.0: "●"}
PART = "◐"
SHARE_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its heading, a cell for each point, and what is to be said about it below the table."""

    heading: str
    cells: tuple[str, ...]
    about: str = ""

    @property
    def width(self) -> int:
        """Columns of text it takes, with what separates it from the next."""
        return BETWEEN + max(len(line) for text in (self.heading, *self.cells) for line in text.split("\n"))

    @property
    def least(self) -> int:
        """Columns of text it takes where its heading is broken between words, and a cell after a word "for"."""
        parts = [len(f"{part} for".strip()) for cell in self.cells for part in cell.split(" for ")[:-1]]
        parts += [len(cell.rpartition(" for ")[2]) for cell in self.cells]
        return BETWEEN + max(*(len(word) for word in self.heading.split()), *parts, 0, 0)


def show_front(found: Front, command: str, outputs: Sequence[str]) -> None:
    """Print the points of a front, how it was found, and where it is written or could be by the same ``command``."""
    goals = [g.name for g in found.question.objectives]
    decided = [d.name for d in found.question.decide if d.name not in goals]
    around = [column(found.points, name) for name in goals]
    behind = [*_exchange(found, goals), *_proofs(found)]
    number = Column("", tuple(str(i) for i in range(len(found.points))))
    chosen = design(found.points, decided, (number, *around, *behind))
    if sum(c.width for c in (number, *around, *chosen, *behind) if c.cells) > PAGE_WIDTH + BETWEEN:
        # what is decided needs the room more than a step and its length on one line
        behind = [replace(c, cells=tuple(t.replace(" for ", " for\n") for t in c.cells)) for c in behind]
        chosen = design(found.points, decided, (number, *around, *behind))
    if found.question.title:
        say(found.question.title)
    every = [number, *around, *(c for c in chosen if c.cells), *behind]
    left = {"status", "to the next", *(c.heading for c in chosen if c.about)}
    bend = knee(*both(found.points, goals)) if len(goals) == 2 else None
    shown = _shown_points(len(found.points), bend)
    show_columns([replace(c, cells=tuple(c.cells[i] for i in shown)) for c in every], left)
    if len(shown) < len(found.points):
        say(f"{len(shown)} of {len(found.points)} points are shown: -o front.csv and --json have all")
    for told in (*behind, *chosen):
        if told.about:
            say(textwrap.fill(told.about, PAGE_WIDTH))
    if bend is not None:
        say(f"Knee at point {bend}: the farthest from the straight line between the ends")
    show_origin(found.points)
    count = len(found.points)
    say(
        textwrap.fill(
            f"{plural(count, 'point')}, {plural(found.solves, 'solve')}: {found.method}", PAGE_WIDTH
        )
    )
    # a single design has nothing beside it, and the method says already that a front with all its points is exact
    if found.band is not None and count > 1 and (found.band.how != EXACT or None in found.joined):
        say(textwrap.fill(found.band.words(), PAGE_WIDTH))
    if found.growth is not None:
        say(textwrap.fill(found.growth.words(sizes.as_asked(found.points[0]).units), PAGE_WIDTH))
    curved = [x for x, g in zip(found.straight_in, goals, strict=False) if x != g]
    if curved and any(found.joined):
        say(f"Segments are straight in {' and '.join(found.straight_in)}")
    show_written(command, outputs)


def show_columns(columns: Sequence[Column], left: Container[str]) -> None:
    """Print a table of columns, those aligned to the right but for the headings in ``left``."""
    heads = [c.heading for c in columns]
    cells = zip(*(c.cells for c in columns), strict=True)
    show(table(heads, cells, frozenset(h for h in heads if h not in left)))


def show_origin(points: Sequence[Solution]) -> None:
    """Say which designs leave the range of their model, whether times were checked, and where numbers come from."""
    beyond = outside.words(outside.of_solutions(points), len(points))
    if beyond:
        say(textwrap.fill(f"Outside {beyond}", PAGE_WIDTH))
    for label, text in sources.of_solutions(points):
        say(textwrap.fill(f"{label.capitalize()}: {text}", PAGE_WIDTH))


def show_written(command: str, outputs: Sequence[str]) -> None:
    """Say where fronts are written, or could be by the ``command`` that found them."""
    told = f"A table or picture of it: {command} -o front.csv -o front.png"
    say(f"Wrote {', '.join(outputs)}" if outputs else told)


def _shown_points(count: int, bend: int | None) -> list[int]:
    """Return which points the table has: all, or of many some evenly spread ones, the ends and the knee."""
    if count <= MANY_POINTS:
        return list(range(count))
    some = {round(i) for i in np.linspace(0, count - 1, SOME)}
    return sorted(some if bend is None else some | {bend})


def both(points: Sequence[Solution], goals: Sequence[str]) -> tuple[list[float], list[float]]:
    """Return the values of two objectives along a front."""
    first, second = ([float(_value_at_point(p, name)) for p in points] for name in goals)
    return first, second


def _exchange(found: Front, goals: Sequence[str]) -> list[Column]:
    """Return what a percent of the first of two objectives brings of the second, on the way to the next point."""
    if len(goals) != 2:
        return []
    changes = exchanges(*both(found.points, goals))
    if not np.isfinite(changes).any():
        return []
    cells = tuple(_exchange_text(*pair) for pair in changes.tolist())
    about = f"exchange: change of {goals[1]} for 1 % more {goals[0]}, at the mean slope up to the next point"
    if any(" for " in cell for cell in cells):
        about += f"; where the next point is nearer than 1 % of {goals[0]}, the change up to that point"
    return [Column("exchange", cells, about)]


def _exchange_text(first: float, second: float) -> str:
    """Write what a change of the first objective brings of the second, in percent; the first where it is not 1 %."""
    if np.isnan(second):
        return ""
    return f"{second:+.3g} %" if first == 1.0 else f"{second:+.3g} % for {first:+.2g} %"


def _proofs(found: Front) -> list[Column]:
    """Return status and gap of each point, and whether a segment joins it to the next one."""
    gaps = ["" if p.gap is None else f"{p.gap:.0e}" for p in found.points]
    columns = [Column("status", tuple(p.status.value for p in found.points)), Column("gap", tuple(gaps))]
    if any(found.joined):
        columns.append(Column("to the next", tuple("straight" if j else "" for j in found.joined)))
    return columns


def _value_at_point(point: Solution, name: str) -> float | str:
    return point.variables[name] if name in point.variables else point.metrics[name]


def _amount_cell(point: Solution, name: str) -> str:
    return words.metric(point, name, _value_at_point(point, name), FRONT_DIGITS)


def column(points: Sequence[Solution], name: str, heading: str = "") -> Column:
    """Return the column of one quantity, by its name."""
    return Column(heading or name, tuple(_amount_cell(p, name) for p in map(sizes.as_asked, points)))


def design(points: Sequence[Solution], decided: Sequence[str], beside: Sequence[Column]) -> list[Column]:
    """Return the columns of what was decided: one for each decision where there is room, else one for a list of them.

    ``beside``: the other columns. What has no room has no cells, only a word about its value or where it is found.
    """
    index = points[0].index
    listed = [n for n in decided if n in index]
    alone = [column(points, n) for n in decided if n not in index]
    each = [column(points, n, "\n".join((index[n][0], *(v for _, v in index[n][1])))) for n in listed]
    # nothing separates the last column from a next one
    if sum(c.width for c in (*alone, *each, *beside)) <= PAGE_WIDTH + BETWEEN:
        return [*alone, *each]
    folded = [_folded(points, title, names) for title, names in _grouped_decisions(points[0], listed)]
    if sum(c.width for c in (*alone, *folded, *beside) if c.cells) <= PAGE_WIDTH + BETWEEN:
        return [*alone, *folded]
    return _narrowed([*alone, *folded], PAGE_WIDTH + BETWEEN - sum(c.least for c in beside))


def _width(columns: Iterable[Column]) -> int:
    return sum(c.least for c in columns if c.cells)


def _narrowed(columns: Sequence[Column], room: int) -> list[Column]:
    """Return columns that fit, with headings of several lines.

    What is the same at every point is told below the table, and of the others the last ones are left out.
    """
    columns = [replace(c, heading=c.heading.replace(" ", "\n")) for c in columns]
    if _width(columns) <= room:
        return columns
    same = [c for c in columns if len(set(c.cells)) == 1]
    fitting = [c for c in columns if c not in same]
    told = [Column(c.heading, (), f"{_below(c)} at every point") for c in same]
    left: list[Column] = []
    while _width(fitting) > max(room, 0):
        left.insert(0, fitting.pop(max(i for i, c in enumerate(fitting) if c.cells)))
    if left:
        names = ", ".join(c.heading.replace("\n", " ") for c in left)
        told.append(Column(names, (), f"left out here, for width: {names}; --json and -o front.csv have all"))
    return [*fitting, *told]


def _below(column: Column) -> str:
    """Say a column of one value in a line: its heading, with the order of a list in it, and the value."""
    order, _, _ = column.about.partition(", in this order")
    value = column.cells[0]
    title = column.heading.replace("\n", " ")
    return f"{order or title}: {'0' if {*value} == {SIGNS[0.0]} else value}"


def _grouped_decisions(point: Solution, names: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Go through lists of decisions: those of one family that differ in the first label only."""
    found: dict[str, list[str]] = {}
    for name in names:
        family, labels = point.index[name]
        found.setdefault(" ".join((family, *(label for _, label in labels[1:]))), []).append(name)
    yield from found.items()


def _folded(points: Sequence[Solution], title: str, names: Sequence[str]) -> Column:
    """Fold a list of decisions into one column: a sign for each share, the values of others."""
    labels = [points[0].index[n][1][0][1] for n in names]
    shares = not any(points[0].units.get(n) or n in points[0].menus for n in names) and all(
        -SHARE_ROUNDING <= float(_value_at_point(p, n)) <= 1 + SHARE_ROUNDING for p in points for n in names
    )
    if shares:
        cells = ["".join(_sign_of_share(float(_value_at_point(p, n))) for n in names) for p in points]
        what = f"{SIGNS[1.0]} 1, {PART} a part, {SIGNS[0.0]} 0"
    else:
        cells = [" ".join(_amount_cell(p, n) for n in names) for p in map(sizes.as_asked, points)]
        what = "a value each"
    if max(map(len, cells)) > LONGEST_CELL:
        return Column(title, (), f"{title} of {len(names)}, left out here: --json and -o front.csv have all")
    return Column(title, tuple(cells), f"{title} of {', '.join(labels)}, in this order: {what}")


def _sign_of_share(share: float) -> str:
    return next((sign for end, sign in SIGNS.items() if abs(share - end) <= SHARE_ROUNDING), PART)
