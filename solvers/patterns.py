"""Records of arrays along the same points, and points that share a pattern of yes and no (which limits bind)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from dse.system.arrays import Array, Bools, Indices


class Rows:
    """A record whose fields are arrays along the same rows, records of such arrays, or None."""

    __slots__: tuple[str, ...] = ()

    def take(self, which: Any) -> Self:
        """Return a choice of the rows."""
        values = (getattr(self, name) for name in self.__slots__)
        return type(self)(
            *(v if v is None else v.take(which) if isinstance(v, Rows) else v[which] for v in values)
        )

    def put(self, which: Any, rows: Self) -> None:
        """Take over rows of another record in the places ``which``."""
        for name in self.__slots__:
            if getattr(self, name) is not None:
                getattr(self, name)[which] = getattr(rows, name)


Some = TypeVar("Some", bound=Rows)


def joined(parts: Sequence[Some]) -> Some:
    """Return all rows of several records, one after the other."""
    kind = type(parts[0])
    return kind(*(np.concatenate([getattr(p, name) for p in parts]) for name in kind.__slots__))


def ranks(owner: NDArray[Any]) -> Indices:
    """Return of rows that are sorted by their owners which of its owner's each is, from 0."""
    return np.arange(owner.size) - np.searchsorted(owner, owner)


def keep_least(value: Array, design: Array, owner: Indices, found: Array, x: Array) -> None:
    """Take over of designs ``x``, each with what it ``found``, the least of each owner if it is below its ``value``."""
    least = value.copy()
    np.minimum.at(least, owner, found)
    gain = np.flatnonzero((found < value[owner]) & (found == least[owner]))
    value[owner[gain]], design[owner[gain]] = found[gain], x[gain]


def groups(patterns: Bools) -> Iterator[tuple[Indices, Bools]]:
    """Points that share a pattern, and the pattern."""
    if not len(patterns):
        return
    packed = np.ascontiguousarray(np.packbits(patterns, axis=1))
    codes = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first, where = np.unique(codes, return_index=True, return_inverse=True)
    order = np.argsort(where, kind="stable")
    ends = np.cumsum(np.bincount(where))
    for k, place in enumerate(first):
        begin = ends[k - 1] if k else 0
        yield order[begin : ends[k]], patterns[place]
