"""Where the numbers of a machine come from, and whether times were checked near an answer; of one and of several."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from dse.quantities import plural

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from results.telling.facts import Facts

PREFIX = "machine."


def rows(sources: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the kinds of a machine's numbers, each with the names that are of it."""
    of: dict[str, list[str]] = {}
    for name, kind in sources.items():
        of.setdefault(kind, []).append(name.removeprefix(PREFIX))
    return tuple((kind, ", ".join(names)) for kind, names in sorted(of.items()))


def of_solutions(solutions: Sequence[Facts]) -> list[tuple[str, str]]:
    """Say it of several answers, as (label, text): how many were checked near them, and the kinds of numbers."""
    held = [
        flags[round(s.metrics[n])]
        for s in solutions
        for n, flags in s.flags.items()
        if s.sources and n in s.metrics
    ]
    return told(Counter(held), len(held), {n: k for s in solutions for n, k in s.sources.items()})


def told(counts: Mapping[str, int], points: int, sources: Mapping[str, str]) -> list[tuple[str, str]]:
    """Say both as (label, text); ``counts``: at how many of the points which flag holds."""
    if not sources:
        return []
    checked = ", ".join(f"{flag} at {n} of {plural(points, 'point')}" for flag, n in counts.items() if n)
    kinds = "; ".join(f"{kind}: {names}" for kind, names in rows(sources))
    return [(label, text) for label, text in (("checked", checked), ("numbers", kinds)) if text]
