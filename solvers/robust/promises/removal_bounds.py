"""A lower bound where the search over removed samples is too long to be whole: sets of samples of which one must hold.

If k samples of a group may fail and its samples are dealt into k+1 sets, all samples of one set at least hold. So no
design is better than the least of the k+1 optima over one set each: k+1 geometric programs. (With one sample in a set
this is the bound from dropping the k worst samples.) Any dealing gives a bound; good ones put into each set samples
that are hard in different ways, so they are dealt in the order in which they miss at the design found, by each limit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from solvers.geometric.kernel.gp_terms import Array
from solvers.robust.promises import removal
from solvers.robust.promises.removal import Removed, Sampled

TRIES = 4


def bounded(problem: Sampled, found: Removed) -> Removed:
    """Return what a search by a beam found with a bound that is proved, and ``whole`` set where that closes it."""
    best = -math.inf
    for group, k in enumerate(problem.may_fail):
        for order in _orders(problem, group, found.y):
            best = max(best, _least_over_groups(problem, group, order, k)[0])
    if found.y is None:
        return replace(found, bound=best, whole=math.isinf(best) and best > 0)
    return replace(found, bound=min(best, found.value), whole=False)


def closed(problem: Sampled, near: Array | None = None, within: float = 2e-7) -> Removed | None:
    """Leave out the samples that miss most at a design, and see whether the bound proves that the best choice.

    ``near``: the design (None: the optimum for all samples). That takes a few programs, and is enough where much the
    same samples are hard wherever one looks; None where it does not close the gap.
    """
    y = near
    if y is None:
        y, *_ = removal.without(problem, [frozenset[int]() for _ in problem.may_fail])
    if y is None:
        # no design is for all samples; one of a part of them shows where to look, or that there is none
        y, refuted = _of_dealt_sets(problem, None)
        if refuted is not None:
            return refuted
    value, out = math.inf, None
    for _ in range(TRIES):
        if y is None:
            break
        tried = removal.worst(problem, y)
        there, reached, _ = removal.without(problem, tried, y)
        if there is None or not reached < value - within:
            break
        y, value, out = there, reached, tried
    if out is None or y is None:
        return None if near is None else _of_dealt_sets(problem, near)[1]
    best = -math.inf
    for group, k in enumerate(problem.may_fail):
        for order in _orders(problem, group, y):
            best = max(best, _least_over_groups(problem, group, order, k, y)[0])
            if value - best <= within:
                return Removed(y, value, min(best, value), out, False, sum(problem.may_fail) + TRIES)
    return None


def _of_dealt_sets(problem: Sampled, near: Array | None) -> tuple[Array | None, Removed | None]:
    """A design of one of the sets of which one must hold, and the proof that there is none where none of them has any.

    ``near``: a design at which samples are put in order.
    """
    y: Array | None = None
    for group in sorted(range(len(problem.may_fail)), key=lambda g: -problem.may_fail[g]):
        k = problem.may_fail[group]
        least, there = _least_over_groups(problem, group, next(_orders(problem, group, near)), k, near)
        if math.isinf(least):
            none = tuple(frozenset[int]() for _ in problem.may_fail)
            return None, Removed(None, math.inf, math.inf, none, True, k + 1)
        y = there if y is None else y
    return y, None


def _orders(problem: Sampled, group: int, y: Array | None) -> Iterator[list[int]]:
    """Orders in which samples are dealt: by how much they miss, over all limits of the group and by each."""
    at = 0.5 * (problem.low + problem.high) if y is None else y
    values = [r.at(at[None])[0] for r in problem.rows if r.group == group]
    # two numbers of a limit may be hard in ways of their own: its terms, too, give an order
    terms = [r.logc[:, j] for r in problem.rows if r.group == group for j in range(r.logc.shape[1])]
    every = [np.max(values, axis=0), *values]
    for value in every:
        yield [int(i) for i in np.argsort(-value, kind="stable")]
    mixed = [np.argsort(-t, kind="stable") for t in (*values, *terms) if np.ptp(t) > 0]
    if len(mixed) > 1:
        yield _in_turn(mixed)


def _in_turn(orders: Sequence[NDArray[np.intp]]) -> list[int]:
    """Merge orders by taking one of each in turn, what was taken left aside."""
    seen: dict[int, None] = {}
    for several in zip(*orders, strict=True):
        for i in several:
            seen.setdefault(int(i))
    return list(seen)


def _least_over_groups(
    problem: Sampled, group: int, order: list[int], k: int, near: Array | None = None
) -> tuple[float, Array | None]:
    """The least of the optima over one of k+1 sets each; samples are dealt there and back, so that sets are alike."""
    sets: list[list[int]] = [[] for _ in range(k + 1)]
    for place, sample in enumerate(order):
        lap, seat = divmod(place, k + 1)
        sets[seat if lap % 2 == 0 else k - seat].append(sample)
    everything = frozenset(range(len(order)))
    others = tuple(
        frozenset() if allowed == 0 else frozenset(range(len(_samples(problem, g))))
        for g, allowed in enumerate(problem.may_fail)
    )
    outs = [tuple(everything - set(s) if g == group else o for g, o in enumerate(others)) for s in sets]
    return removal.least_bound(problem, outs, near)


def _samples(problem: Sampled, group: int) -> Array:
    return next(r.logc for r in problem.rows if r.group == group)
