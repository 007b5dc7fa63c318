"""What sets of things that may be there leave open at many points: few columns, and points that ask the same."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dse.system.arrays import Array, Bools, Indices, Points
from dse.system.records import dataclass
from solvers.counting.counts import Counts
from solvers.counting.forms import Forms, joined
from solvers.linear import least_parts

MET_ROUNDING = 1e-9
"""What a constant row may be above 0 by rounding."""


@dataclass(frozen=True, slots=True)
class Cases:
    """What some sets (S) leave open at every point (P, or 1 where those are alike).

    Rows (m, c + 1, S, P), constants last, over ``columns`` (S, c), between ``low`` and ``high`` (S, c); ``known``
    (S, n): what all others are. Columns of a set that it does not leave open are in no row.
    """

    columns: Indices
    known: Array
    low: Array
    high: Array
    rows: Array

    def form(self, of: Forms) -> Array:
        """A form over the columns, and its constant (c + 1, S, P)."""
        return np.asarray(_left(of, self.columns, self.low < self.high, self.known)[0])


def _left(of: Forms, columns: Indices, open_: Bools, known: Array) -> Array:
    """Forms over the columns that sets leave open, and what the others add up to (m, c + 1, S, P)."""
    a, k = joined([of], np.arange(known.shape[1])).a[:, columns], of.at(known.T[..., None])[:, None]
    a = np.where(open_.T[:, :, None], np.moveaxis(a, 2, 1), 0.0)
    points = max(a.shape[-1], k.shape[-1])
    return np.concatenate([np.broadcast_to(x, (*x.shape[:-1], points)) for x in (a, k)], axis=1)


def cases(kept: Sequence[Forms], low: Array, high: Array) -> Cases:
    """The cases of sets between their ends (S, n), without rows that are the same at all points and break nowhere."""
    open_ = low < high
    known, width = np.where(open_, 0.0, low), max(int(open_.sum(axis=1).max()), 1)
    columns = np.argsort(~open_, axis=1, kind="stable")[:, :width]
    low, high = (np.take_along_axis(e, columns, axis=1) for e in (low, high))
    holds, closed = np.append(np.zeros(width), -1.0)[:, None, None], ~open_.any(axis=1, keepdims=True)
    every, worst = list[Array](), None
    for forms in kept:
        if not (forms.alike or open_[:, forms.columns].any()):
            # of rows of numbers that are known the one that is broken most tells of all
            now = forms.at(known.T[..., None]).max(axis=0)
            worst = now if worst is None else np.maximum(worst, now)
            continue
        rows = _left(forms, columns, low < high, known)
        rows = np.where(closed & (rows[:, -1:] <= MET_ROUNDING), holds, rows)
        if forms.alike:
            asking = least_parts.most(rows[:, :-1, :, 0], rows[:, -1, :, 0], low.T, high.T) > 0.0
            first = np.argsort(~asking, axis=0, kind="stable")[: asking.sum(axis=0).max(initial=0)]
            asked = np.take_along_axis(asking, first, axis=0)[:, None, :, None]
            rows = np.where(asked, np.take_along_axis(rows, first[:, None, :, None], axis=0), holds)
        every.append(rows)
    if worst is not None:
        worst = np.where(closed & (worst <= MET_ROUNDING), -1.0, worst)
        every.append(np.concatenate([np.zeros((width, *worst.shape)), worst[None]])[None])
    points = max(rows.shape[-1] for rows in every)
    wide = [np.broadcast_to(rows, (*rows.shape[:-1], points)) for rows in every]
    return Cases(columns, known, low, high, np.concatenate(wide))


def kinds(c: Counts, there: Bools) -> tuple[Points, Points]:
    """The first point of each kind, and the kind of each point.

    Points of a kind ask the same but for limits on what is there alone, and by these allow the same sets.
    """
    count, held = len(c.names), np.full((len(there), c.count), -1.0)
    at, numbers = np.pad(there.astype(float), ((0, 0), (count, 0))).T[..., None], [held]
    of_numbers = [c.cost, *c.ties, *(() if c.under is None else (c.under,))]
    for form in (x.form for x in c.limits):
        if (form.columns < count).any():
            of_numbers.append(form)
        elif not form.alike:
            held[:] = np.maximum(held, form.at(at).max(axis=0))
    for form in of_numbers:
        if not form.alike:
            flat = (x.reshape(-1, x.shape[-1]) for x in (form.a, form.k))
            numbers += [np.broadcast_to(x, (len(x), c.count)) for x in flat]
    # how far a limit is met is all the same, and how far it is broken by more than rounding
    held[held <= 0.0], held[held > MET_ROUNDING] = -1.0, 1.0
    marks = [row.tobytes() for row in np.concatenate(numbers).T]
    firsts = dict(zip(reversed(marks), reversed(range(c.count)), strict=True))
    first = np.sort([*firsts.values()])
    return first, np.searchsorted(first, [firsts[mark] for mark in marks])
