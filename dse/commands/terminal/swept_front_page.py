"""Fronts over swept axes on the terminal: a line for each place, the points where they are few."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from dse.commands.terminal.front_page import (
    Column,
    both,
    column,
    design,
    show_columns,
    show_origin,
    show_written,
)
from dse.commands.terminal.printing import PAGE_WIDTH, say
from dse.fronts.front_search import Front
from dse.quantities import plural
from results.along_fronts.along import knee, percent
from results.telling import sizes, words
from scenarios.language.machine_files import shown_names
from scenarios.sizes import unit_in_question

if TYPE_CHECKING:
    import numpy as np
    import xarray as xr

    from dse.fronts.swept_fronts import Fronts, Place
    from results.solution import Solution

FEW_POINTS = 40
MOST_REASONS = 8
PLACE_DIGITS = 5


def show_fronts(found: Fronts, dataset: xr.Dataset, command: str, outputs: Sequence[str]) -> None:
    """Print the ends of the front at each place, its points where they are few, and why a place has none.

    ``dataset``: of the same fronts; ``command``: the one that found them.
    """
    title = found.grid.first.title
    if title:
        say(title)
    dominated = dataset["dominated"].values
    _print_fronts(found, dominated)
    points = [(place, i) for place, f in found.found.items() for i in range(len(f.points))]
    if 0 < len(points) <= FEW_POINTS:
        say("")
        _print_points(found, points, dominated)
    if dominated.any():
        axes = " × ".join(a.name for a in found.grid.axes)
        say(
            textwrap.fill(
                f"dominated: a design elsewhere on {axes} is as good in all objectives and better in one",
                PAGE_WIDTH,
            )
        )
    answered = [p for f in found.found.values() for p in f.points]
    show_origin(answered)
    for line in _reasons(found):
        say(textwrap.fill(line, PAGE_WIDTH, subsequent_indent="  "))
    for line in _methods(found):
        say(textwrap.fill(line, PAGE_WIDTH))
    show_written(command, outputs)


def _place_cells(found: Fronts, place: Place) -> list[str]:
    asked = found.grid.first
    units = (unit_in_question(asked, c.of.path, c.of.unit) for c in found.grid.changes)
    values = zip((c.of.values[place[c.along]] for c in found.grid.changes), units, strict=True)
    known = shown_names(asked.scenario_text)
    return [known.get(v, v) if isinstance(v, str) else words.value(v, u, PLACE_DIGITS) for v, u in values]


def _print_fronts(found: Fronts, dominated: np.ndarray[Any, Any]) -> None:
    """Print how many points each front has, the best of each objective, and the knee where there is room."""
    goals = found.grid.first.objectives
    axes = [
        Column(c.of.name, tuple(_place_cells(found, place)[k] for place, _ in found.places()))
        for k, c in enumerate(found.grid.changes)
    ]
    every = [front or Front(found.grid.first) for _, front in found.places()]
    ends = [
        Column(
            f"{'greatest' if g.maximize else 'least'} {g.name}",
            tuple(_best_cell(f, g.name, most=g.maximize) for f in every),
        )
        for g in goals
    ]
    bends = [Column(f"{g.name} at the knee", tuple(_knee(f, g.name) for f in every)) for g in goals]
    beaten = tuple(str(int(dominated[place].sum()) or "") for place, _ in found.places())
    before = [*axes, Column("points", tuple(str(len(f.points) or "") for f in every)), *ends]
    behind = [Column("dominated", beaten)] if any(beaten) else []
    behind.append(Column("status", tuple(_status(f) for _, f in found.places())))
    if len(goals) == 2 and sum(c.width for c in (*before, *bends, *behind)) <= PAGE_WIDTH:
        before += bends
    left = {"status", *(c.of.name for c in found.grid.changes if not c.of.numeric)}
    show_columns([*before, *behind], left)


def _knee(front: Front, name: str) -> str:
    goals = [g.name for g in front.question.objectives]
    bend = knee(*both(front.points, goals)) if len(goals) == 2 and front.points else None
    return "" if bend is None else column((front.points[bend],), name).cells[0]


def _best_cell(front: Front, name: str, *, most: bool) -> str:
    if not front.points:
        return ""
    values = both(front.points, [name, name])[0]
    best = max(range(len(values)), key=lambda i: values[i] if most else -values[i])
    return column((front.points[best],), name).cells[0]


def _status(front: Front | None) -> str:
    """Say what all points of a front are, or why there are none."""
    if front is None:
        return "not computed"
    if front.refusal is not None:
        return front.refusal.status.value
    return ", ".join(dict.fromkeys(p.status.value for p in front.points)) or "empty"


def _print_points(
    found: Fronts, chosen: Sequence[tuple[Place, int]], dominated: np.ndarray[Any, Any]
) -> None:
    """Print all points, each with its place."""
    question = found.grid.first
    points: list[Solution] = [found.found[place].points[i] for place, i in chosen]
    goals = [g.name for g in question.objectives]
    decided = [
        d.name for d in question.decide if d.name not in goals and all(d.name in p.variables for p in points)
    ]
    at = [_place_cells(found, place) for place, _ in chosen]
    first = [i == 0 for _, i in chosen]
    around = [
        Column(c.of.name, tuple(row[k] if new else "" for row, new in zip(at, first, strict=True)))
        for k, c in enumerate(found.grid.changes)
    ]
    around += [Column("", tuple(str(i) for _, i in chosen)), *(column(points, name) for name in goals)]
    flags = tuple("dominated" if dominated[(*place, i)] else "" for place, i in chosen)
    behind = [Column("elsewhere", flags)] if any(flags) else []
    made = design(points, decided, (*around, *behind))
    every = [*around, *(c for c in made if c.cells), *behind]
    left = {
        "elsewhere",
        *(c.heading for c in made if c.about),
        *(c.of.name for c in found.grid.changes if not c.of.numeric),
    }
    show_columns(every, left)
    for c in made:
        if c.about:
            say(textwrap.fill(c.about, PAGE_WIDTH))


def _reasons(found: Fronts) -> Iterator[str]:
    """Say of the places without a front why they have none."""
    refused = [(place, f.refusal) for place, f in found.found.items() if f.refusal is not None]
    for place, refusal in refused[:MOST_REASONS]:
        where = ", ".join(
            f"{c.of.name} = {v}" for c, v in zip(found.grid.changes, _place_cells(found, place), strict=True)
        )
        said = "; ".join(f"{name}: {text}" for name, text in words.conflict(sizes.as_asked(refusal)))
        yield f"{where}: {refusal.status.value}" + (
            f": {said or refusal.message}" if said or refusal.message else ""
        )
    if len(refused) > MOST_REASONS:
        yield f"and {len(refused) - MOST_REASONS} more places without a front"


def _methods(found: Fronts) -> Iterator[str]:
    """Say how the fronts were found, those together that were found in the same way."""
    ways: dict[str, list[Front]] = {}
    for front in found.found.values():
        if front.points:
            ways.setdefault(front.method, []).append(front)
    for way, fronts in ways.items():
        counts = (
            (len(fronts), "front"),
            (sum(len(f.points) for f in fronts), "point"),
            (sum(f.solves for f in fronts), "solve"),
        )
        told = ", ".join(plural(n, what) for n, what in counts)
        yield f"{told}: {way}"
        widths = [f.band.width for f in fronts if f.band is not None]
        if any(math.isfinite(w) and w > 0 for w in widths):
            yield f"Between their points they are enclosed within {percent(max(widths))} at most"
