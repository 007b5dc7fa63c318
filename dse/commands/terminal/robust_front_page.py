"""What fronts and sweeps over uncertain numbers say beside their tables: measures, and each point in fresh samples."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dse.commands.terminal.door import ANSWERED, NO_ANSWER, complain
from dse.commands.terminal.front_page import FRONT_DIGITS, Column, show_columns
from dse.commands.terminal.printing import PAGE_WIDTH, say, show_tables
from dse.quantities import plural
from results.telling import sizes, words
from results.telling.fresh import Estimate, percent
from results.uncertainty import kept
from scenarios.uncertainty import uncertain_words

if TYPE_CHECKING:
    import xarray as xr

    from dse.fronts.front_search import Front
    from results.solution import Solution
    from scenarios.question import Question

NOT_WORLD = "The points are certified on these samples. The figures below estimate the distributions"


def show_worlds(found: Front) -> None:
    """Print what each objective is over which worlds, and what the designs come to in fresh samples."""
    question = found.question
    if question.uncertain is None or not found.points:
        return
    show_measures(question)
    unproved = sum(s.status.value == "feasible" for s in found.points)
    if unproved:
        say(textwrap.fill(f"{plural(unproved, 'point')} not proved optimal: see the gap", PAGE_WIDTH))
    fresh = next((s.fresh for s in found.points if s.fresh is not None), None)
    columns = [c for name in question.measures for c in _measure_columns(found, name)]
    columns += [c for k in range(len(fresh.limits) if fresh else 0) for c in _held_column(found, k)]
    if fresh is None or not columns:
        return
    say("")
    say(textwrap.fill(f"{NOT_WORLD}: {fresh.count} fresh samples (random, seed {fresh.seed})", PAGE_WIDTH))
    every = [Column("", tuple(str(i) for i in range(len(found.points)))), *columns]
    show_columns(every, ())


def show_kept(dataset: xr.Dataset, judged: Sequence[kept.At]) -> None:
    """Print in which share of fresh samples limits hold at each point; nothing where no probability is asked."""
    if all(a.kept.asked is None for a in judged):
        return
    show_tables(kept.tables(dataset, judged))


def code(dataset: xr.Dataset, judged: Sequence[kept.At]) -> int:
    """Return the exit code of designs at many points, and say on stderr which promises fresh samples contradict."""
    if not kept.broken(judged):
        return ANSWERED
    for sentence in kept.sentences(dataset, judged):
        complain(sentence)
    return NO_ANSWER


def show_measures(question: Question) -> None:
    """Print what each objective is, and over which worlds; nothing where all is known."""
    if question.uncertain is None:
        return
    measures = (f"{n}: {uncertain_words.named(m)}" for n, m in question.measures.items())
    say(textwrap.fill(f"{'; '.join(measures)}; over {uncertain_words.worlds(question)}", PAGE_WIDTH))


def _measure_columns(found: Front, name: str) -> list[Column]:
    """Return the columns of a measure: its estimate, and the interval."""
    every = [None if s.fresh is None else s.fresh.measures.get(name) for s in found.points]
    if not any(every):
        return []
    worst = found.question.measures[name].kind == "worst"
    cells = tuple(
        ("" if e is None else _written(s, name, e.value, worst=worst))
        for s, e in zip(found.points, every, strict=True)
    )
    ends = tuple(_interval_text(s, name, e, worst=worst) for s, e in zip(found.points, every, strict=True))
    return [Column(f"{name} no worse" if worst else name, cells), Column("95 % interval", ends)]


def _interval_text(point: Solution, name: str, estimate: Estimate | None, *, worst: bool) -> str:
    if estimate is None:
        return ""
    return " … ".join(_written(point, name, v, worst=worst) for v in estimate.interval)


def _written(point: Solution, name: str, value: float, *, worst: bool) -> str:
    return percent(value) if worst else words.value(value, sizes.unit_of(point, name), FRONT_DIGITS)


def _held_column(found: Front, k: int) -> list[Column]:
    """Return the column of a limit: in which share of the samples it holds."""
    every = [
        s.fresh.limits[k] if s.fresh is not None and len(s.fresh.limits) > k else None for s in found.points
    ]
    first = next(x for x in every if x is not None)
    return [
        Column(
            f"{' and '.join(first.names)} holds in",
            tuple("" if x is None or x.names != first.names else percent(x.held.value) for x in every),
        )
    ]
