"""The smallest set of limits in conflict among many, of these the first in their order, by few questions.

A conflict shares a limit with what is left out of each set that can hold together. So the first of the smallest sets
that do is asked: it conflicts, or limits are added to it as long as all hold, and what is left out then is one more
set to share with (Ignatiev et al., *Smallest MUS extraction with minimal hitting set dualization*, CP 2015).
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Generator, Iterator, Sequence

Limits = frozenset[int]
Asking = Generator[tuple[Limits, bool], bool | None, Limits]
"""Yields sets of limits, each with whether an answer that is not known leaves the result unsure. Is sent whether they
conflict, None where that is not known."""
MOST_SETS_ASKED, MOST_SETS_TRIED = 32, 20_000
"""Sets that are asked for their own sake, and those looked at for one of these, before any minimal one will do."""


def smallest(limits: Collection[int], needed: Collection[int]) -> Asking:
    """Find the smallest conflict among limits that conflict together; what is not known counts as what can hold.

    ``needed``: limits without which the others can hold together.
    """
    every, shared = frozenset(limits), [frozenset([i]) for i in needed]
    for _ in range(MOST_SETS_ASKED):
        some = _first_sharing(shared)
        if some is None or some == every:
            break
        clash = yield some, True
        if clash:
            return some
        held = some if clash is None else (yield from _grown(some, sorted(every - some), clash=True))
        shared.append(every - held)
    return (yield from _minimal(every, needed))


def _grown(held: Limits, others: Sequence[int], *, clash: bool) -> Asking:
    """Add limits to some that can hold together, as long as all can; ``clash``: all together are known not to."""
    if not clash and (yield held.union(others), False) is False:
        return held.union(others)
    if len(others) == 1:
        return held
    first, rest = others[: len(others) // 2], others[len(others) // 2 :]
    some = yield from _grown(held, first, clash=False)
    return (yield from _grown(some, rest, clash=some == held.union(first)))


def _minimal(every: Limits, needed: Collection[int]) -> Asking:
    """Leave out limits of a conflict, from the last to the first, as long as the others conflict."""
    kept = every
    for i in sorted(every.difference(needed), reverse=True):
        if (yield kept - {i}, True):
            kept -= {i}
    return kept


def _first_sharing(sets: Sequence[Limits]) -> Limits | None:
    """Return the first of the smallest sets that share a limit with each of some; None where these are too many."""
    tried = 0
    for size in range(len(sets) + 1):
        found = list(itertools.islice(_sharing(frozenset(), sets, size), MOST_SETS_TRIED - tried + 1))
        tried += len(found)
        if tried > MOST_SETS_TRIED:
            return None
        there = [sorted(one) for one in found if one is not None]
        if there:
            return frozenset(min(there))
    return None


def _sharing(chosen: Limits, sets: Sequence[Limits], more: int) -> Iterator[Limits | None]:
    """Go through the sets with so many more limits than those ``chosen``; None for what leads to none."""
    left = [s for s in sets if chosen.isdisjoint(s)]
    if not left or not more:
        yield None if left else chosen
        return
    for i in min((sorted(s) for s in left), key=len):
        yield from _sharing(chosen | {i}, left, more - 1)
