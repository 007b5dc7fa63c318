"""Designs that are known, and which sets of limits they show to be met.

Where these are all designs that there are, every minimal set of limits in conflict follows from them, and the feasible
value of each limit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from dse.system.arrays import Array, Bools, Codes, Integers, Points
from dse.system.records import dataclass
from formulations.arithmetics.many import plain
from formulations.grids import divided
from formulations.row_keys import RowKey
from formulations.tolerances import HOLDS
from solvers import enumeration
from solvers.designs import Table
from solvers.mechanisms.conflicts import CAN_HOLD, CANNOT_HOLD, by_set
from solvers.mechanisms.why import Entering, Why, any_may

Search = Callable[[Points, Collection[str]], Any]
"""Whether limits can hold together without some of them, by name, at some points: MET, CONFLICT or UNKNOWN."""


@dataclass(slots=True)
class Known:
    """Designs of N points that are known, by the sets of limits that they break (``broken``, (N, designs)).

    ``complete``: there are no others as long as what the user says of decided quantities, ``decided``, is kept. What
    they do not tell is searched for. ``entering``: which of what is decided enters limits.
    """

    names: tuple[str, ...]
    broken: Integers
    complete: bool
    decided: frozenset[str]
    search: Search
    entering: Entering = any_may

    def met(self, some: Points, kept: Bools) -> Codes:
        """Tell whether the limits ``kept`` can hold together at some points; see ``conflicts.by_set``."""
        bits = sum(1 << int(i) for i in np.flatnonzero(kept))
        shown = ((self.broken[some] & bits) == 0).any(axis=1)
        codes = np.where(shown, CAN_HOLD, CANNOT_HOLD).astype(np.int8)
        free = {n for n, k in zip(self.names, kept, strict=True) if not k}
        left = np.flatnonzero(~shown)
        beyond, kept_names = self.decided & free, set(self.names) - free
        # other values of what does not enter limits make no other designs for these
        fixed = [n for n in self.names if n in kept_names and not self.entering(beyond, {n})]
        if left.size and fixed and self.complete:
            bits = sum(1 << self.names.index(n) for n in fixed)
            left = left[((self.broken[some[left]] & bits) == 0).any(axis=1)]
        if left.size and (not self.complete or self.entering(beyond, kept_names)):
            codes[left] = self.search(some[left], free)
        return codes


def why_listed(
    names: tuple[str, ...],
    t: Table,
    at: Mapping[str, Any],
    ratios: Mapping[RowKey, Any],
    decided: frozenset[str] = frozenset(),
    search: Search = lambda points, _: np.full(points.size, CANNOT_HOLD),
    entering: Entering = any_may,
) -> Why:
    """What tells why none of the designs of a table meets all limits, where these are all designs there are.

    Of one point, or of as many as ``ratios`` have rows. Of designs beyond the bounds on what is ``decided`` the
    ``search`` tells. The value of such a bound that would do is not among those told.
    """
    count = max((len(r) for r in map(np.atleast_2d, map(plain, ratios.values()))), default=1)
    shape = (count, t.size)
    masks = broken(ratios, names, shape)
    masks = np.unique(masks)[None] if count == 1 else masks
    known = Known(names, masks, True, decided, search, entering)

    def values(points: Points, wanted: Sequence[str]) -> Mapping[str, Any]:
        return {n: listed_value(t, at, ratios, n, shape)[points] for n in wanted}

    return Why(names, by_set(known.met), values, partial(divided.at, t.question))


def listed_value(
    t: Table, at: Mapping[str, Any], ratios: Mapping[RowKey, Any], name: str, shape: tuple[int, int]
) -> Array:
    """The feasible value of a limit, at every point, by the designs of a table (see ``feasible_value``).

    Of a limit with two ends that counts which has to give less.
    """
    found, gives = np.full((2, shape[0]), np.inf)
    for key in sorted(k for k in ratios if k.name == name):
        held = enumeration.excess(ratios, shape, but=key) <= HOLDS
        of_it = ratios[key] if key.side == "model" else {**t.question.given, **t.x, **at}[name]
        value = enumeration.full(of_it, shape)
        sign = -1.0 if key.side == "min" else 1.0
        there = held & ~np.isnan(value)
        best = np.where(there, sign * value, np.inf).min(axis=1, initial=np.inf)
        least = np.where(there, enumeration.full(ratios[key], shape), np.inf).min(axis=1, initial=np.inf)
        nearer = np.isfinite(best) & ((least < gives) | np.isinf(found))
        found, gives = np.where(nearer, sign * best, found), np.where(nearer, least, gives)
    return found


def broken(ratios: Mapping[RowKey, Any], names: Sequence[str], shape: tuple[int, int]) -> Integers:
    """For each design at each point the set of limits that it breaks, as bits in the order of ``names``."""
    place = {name: 1 << i for i, name in enumerate(names)}
    # what breaks a limit that nothing may break is not a design at all
    everything = (1 << len(names)) - 1
    masks: Integers = np.zeros((), dtype=np.int64)
    # what few numbers tell comes first
    for key, value in sorted(ratios.items(), key=lambda item: np.size(plain(item[1]))):
        held = np.asarray(plain(value), float) <= 1 + HOLDS
        masks = masks | np.where(held, 0, place.get(key.name, everything))
    return np.broadcast_to(masks, shape)


def not_allowed(t: Table, names: Sequence[str]) -> Integers:
    """The same of whole numbers and listed values that designs do not keep to."""
    masks = np.zeros((1, t.size), dtype=np.int64)
    for d in t.question.decide:
        if not d.integer and d.values is None:
            continue
        x, every = t.x[d.name], (1 << len(names)) - 1
        own = 1 << names.index(d.name) if d.name in names and d.menu is None else every
        if d.integer and d.menu is None:
            # half a replica is not a design
            masks |= _off(x, np.round(x), every if d.count else own)
        if d.values is not None:
            values = np.sort(np.array(d.values))
            masks |= _off(x, values[np.searchsorted((values[1:] + values[:-1]) / 2, x)], own)
    return masks


def _off(x: Array, allowed: Array, bit: int) -> Integers:
    """The ``bit`` of designs whose number is not the nearest allowed one."""
    return np.where(np.abs(allowed - x) <= 1e-9 * np.abs(allowed), 0, bit)
