"""Maxima that must be one of their arguments, as numbers: their rows left out, and designs in which they are that.

See ``formulations.arithmetics.largest``. Without the rows that hold a maximum t down to its largest argument, t may be
larger than that. Many an optimum does not profit from it: with every t at its largest argument it is one with the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np

from dse.system.arrays import Array, Bools, Indices
from dse.system.records import dataclass
from formulations.arithmetics.forms import Atom, Largest

AS_LARGE = 1e-12
"""Relative: arguments that are so near to the largest may each be called the largest."""


@dataclass(frozen=True, slots=True)
class ChosenMaximum:
    """The column of a maximum, those that choose its argument (k,), and the arguments as forms (k, columns + 1)."""

    column: int
    choices: Indices
    arguments: Array


def chosen_maxima(columns: Sequence[Atom], rows: Array, equal: Bools) -> tuple[ChosenMaximum, ...]:
    """The maxima of which the rows (m, columns + 1) of a program choose the largest argument, in no order.

    None of them where a row is not what chooses one of them.
    """
    place = {atom: i for i, atom in enumerate(columns)}
    flags = [i for i, atom in enumerate(columns) if isinstance(atom, Largest)]
    if len(place) < len(columns):
        return ()
    found = []
    for own, group in groupby(flags, key=lambda i: columns[i].of):  # type: ignore[union-attr]
        column, choices = place[own], np.array(list(group))
        holds = np.flatnonzero((rows[:, choices] != 0.0).any(axis=1) & ~equal)
        chosen = rows[np.ix_(holds, choices)]
        if len(holds) != len(choices) or (np.count_nonzero(chosen, axis=1) != 1).any():
            return ()
        order = chosen.argmax(axis=1).argsort()
        forms = rows[holds[order]].copy()
        forms[:, -1] += np.take_along_axis(chosen[order], np.arange(len(choices))[:, None], 1)[:, 0]
        forms /= forms[:, [column]]
        forms[:, [column, *choices]] = 0.0
        found.append(ChosenMaximum(column, choices, -forms))
    return tuple(found)


def all_choices(maxima: Sequence[ChosenMaximum]) -> Indices:
    """The columns that choose the arguments of maxima."""
    return np.concatenate([m.choices for m in maxima])


def at_largest(maxima: Sequence[ChosenMaximum], u: Array, low: Array, high: Array) -> Array:
    """A point with each maximum at its largest argument; of arguments alike one that may be chosen between the ends."""
    u = u.copy()
    # as often as maxima may hold one another
    for _ in maxima:
        before = u.copy()
        for m in maxima:
            values = m.arguments @ u
            most = values.max()
            near = values >= most - AS_LARGE * np.abs(m.arguments).max(axis=1) * np.abs(u).max()
            k = int(np.argmax(near * (1.0 + high[m.choices] + 2.0 * low[m.choices])))
            u[m.column], u[m.choices] = values[k], 0.0
            u[m.choices[k]] = 1.0
        if (u == before).all():
            break
    return u
