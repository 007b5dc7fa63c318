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
TESTS_PER_LIMIT, MOST_SETS_TRIED = 4, 20_000
"""Sets asked in a search for the smallest one, for each limit, and sets looked at for one of these: after as many any
minimal set will do. Where every test is a search of its own the smallest set is worth no more."""
NOT_KNOWN_PART = 0.5
"""A set of which it is not found out whether it conflicts counts as this part of all: its search went on to the end."""


def smallest(limits: Collection[int], needed: Collection[int]) -> Asking:
    """Find the smallest conflict among limits that conflict together; what is not known counts as what can hold.

    ``needed``: limits without which the others can hold together.
    """
    every, shared, spent = frozenset(limits), [frozenset([i]) for i in needed], 0.0
    each = 1.0 / (TESTS_PER_LIMIT * len(every))
    while spent < 1.0:
        some = _first_sharing(shared)
        if some is None or some == every:
            break
        clash = yield some, True
        if clash:
            return some
        held, spent = some, spent + (NOT_KNOWN_PART if clash is None else each)
        if clash is not None:
            held, known, unknown = yield from _grown(some, sorted(every - some), clash=True)
            spent += known * each + unknown * NOT_KNOWN_PART
        shared.append(every - held)
    background = frozenset(needed)
    return background | (yield from _halved(background, False, sorted(every - background)))


def _grown(
    held: Limits, others: Sequence[int], *, clash: bool
) -> Generator[tuple[Limits, bool], bool | None, tuple[Limits, int, int]]:
    """Add limits to some that can hold together, as long as all can; ``clash``: all together are known not to.

    Also returns of how many sets that were asked the answer is known, and of how many not.
    """
    known = unknown = 0
    if not clash:
        answer = yield held.union(others), False
        known, unknown = int(answer is not None), int(answer is None)
        if answer is False:
            return held.union(others), known, unknown
        if answer is None:
            # parts of them may not be known either, each after a search to its end
            return held, known, unknown
    if len(others) == 1:
        return held, known, unknown
    first, rest = others[: len(others) // 2], others[len(others) // 2 :]
    some, *told = yield from _grown(held, first, clash=False)
    found, *more = yield from _grown(some, rest, clash=some == held.union(first))
    return found, known + told[0] + more[0], unknown + told[1] + more[1]


def _halved(background: Limits, fresh: bool, others: Sequence[int]) -> Asking:
    """Return which of the others a conflict with the background needs (Junker, *QuickXplain*, AAAI 2004).

    ``fresh``: the background has grown since it was asked last.
    """
    if fresh and (yield background, True):
        return frozenset()
    if len(others) <= 1:
        return frozenset(others)
    left, right = others[: len(others) // 2], others[len(others) // 2 :]
    of_right = yield from _halved(background.union(left), bool(left), right)
    of_left = yield from _halved(background | of_right, bool(of_right), left)
    return of_left | of_right


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
