"""Affine forms of whole numbers as rows, at one point or at many."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dse.system.arrays import Array, Indices, Points
from dse.system.records import dataclass


@dataclass(frozen=True, slots=True)
class Forms:
    """Rows ``a . u + k`` over some ``columns`` (c,): a (m, c, P), k (m, P); P is 1 where all points have the same."""

    columns: Indices
    a: Array
    k: Array

    @property
    def alike(self) -> bool:
        """Whether they are the same at all points."""
        return bool(self.a.shape[2] == self.k.shape[1] == 1)

    @property
    def loosest(self) -> Forms:
        """What they say at least at every point, of columns that are not below 0."""
        return Forms(self.columns, self.a.min(axis=2, keepdims=True), self.k.min(axis=1, keepdims=True))

    def of(self, points: Points | slice) -> Forms:
        """What they are at some of the points."""
        a, k = (x if x.shape[-1] == 1 else x[..., points] for x in (self.a, self.k))
        return Forms(self.columns, a, k)

    def at(self, u: Array) -> Array:
        """Their values (m, ..., P) at designs of each point (n, ..., P)."""
        axes = tuple(range(1, u.ndim - 1))
        # term by term: what comes of a point may not depend on how many there are
        some = [c for c, j in enumerate(self.columns) if u[j].any()]
        terms = (np.expand_dims(self.a[:, c], axes) * u[self.columns[c]] for c in some)
        found = np.asarray(sum(terms, start=np.expand_dims(self.k, axes)))
        return np.broadcast_to(found, np.broadcast_shapes(found.shape, (1, *u.shape[1:])))


def joined(every: Sequence[Forms], columns: Indices) -> Forms:
    """Rows as one, over these columns."""
    wide = [
        max((x.shape[-1] for x in parts), default=1) for parts in ([f.a for f in every], [f.k for f in every])
    ]
    a = np.zeros((sum(len(f.k) for f in every), len(columns), wide[0]))
    for rows, f in zip(np.split(a, np.cumsum([len(f.k) for f in every])), every, strict=False):
        rows[:, np.searchsorted(columns, f.columns)] = f.a
    k = [np.zeros((0, wide[1])), *(np.broadcast_to(f.k, (len(f.k), wide[1])) for f in every)]
    return Forms(columns, a, np.concatenate(k))
