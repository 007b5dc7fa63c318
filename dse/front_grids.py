"""Fronts of three objectives and more: limits on all but the first on a grid of levels."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from dse.enclosure import SAME
from dse.front_search import ANSWERED, Front, Scale, Search, value
from results.solution import Solution


def grid(search: Search, most: int) -> Front:
    """Limit all objectives but the first on a grid of about ``most`` levels; keep what is not dominated."""
    goals, scales = search.goals, search.scales
    steps = max(2, round(most ** (1 / (len(goals) - 1))))
    places = list(itertools.product([i / (steps - 1) for i in range(steps)], repeat=len(goals) - 1))
    limits = {s.objective.name: [s.value(at[i]) for at in places] for i, s in enumerate(search.scales[1:])}
    answers = search.ask_all(goals[0], limits)
    found = [*search.best, *(s for s in answers if s.status in ANSWERED)]
    kept = sorted(_undominated(found, scales), key=lambda s: scales[0].coordinate(value(goals[0], s)))
    method = f"limits on {', '.join(g.name for g in goals[1:])} on a grid of {steps} levels each"
    return Front(search.question, tuple(kept), None, search.solves, search.failed, 0, method)


def _undominated(found: list[Solution], scales: Sequence[Scale]) -> Iterator[Solution]:
    at = [[s.coordinate(value(s.objective, x)) for s in scales] for x in found]
    for i, mine in enumerate(at):
        if not any(_betters(theirs, mine, j < i) for j, theirs in enumerate(at) if j != i):
            yield found[i]


def _betters(theirs: list[float], mine: list[float], earlier: bool) -> bool:
    """Whether another design is as good in all and better in one, or the same and found earlier."""
    if any(t > m + SAME for t, m in zip(theirs, mine, strict=True)):
        return False
    return earlier or any(t < m - SAME for t, m in zip(theirs, mine, strict=True))
