"""Linear programs of many points as arrays: solved by the dual simplex method, bounded by their multipliers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.system.records import dataclass
from formulations.arithmetics.many import Array
from solvers.outcome import FAILED

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Vertices:
    """How every program ended (OPTIMAL, INFEASIBLE, FAILED), where, and the multipliers of its rows.

    ``u`` (points, columns) ends with 1; the multipliers of a program without a design prove that.
    """

    end: NDArray[np.int64]
    u: Array
    y: Array


def solved(rows: Array, equal: Mask, low: Array, high: Array, aims: Sequence[Array], count: int) -> Vertices:
    """Solve ``count`` programs ``rows . u <= 0`` (= 0 where ``equal``), u between its ends and then 1.

    Arrays have a dimension for the points before their own, or are the same for all points. ``aims`` are minimised in
    order of importance; none: any design will do.
    """
    from solvers.linear.points import simplex

    n = rows.shape[-1] - 1
    A = np.broadcast_to(rows, (count, *rows.shape[-2:]))
    wanted = list(aims) or [np.zeros(n + 1)]
    C = np.stack([np.broadcast_to(a[..., :-1], (count, n)) for a in wanted], axis=1)
    ends = (np.broadcast_to(e, (count, n)) for e in (low, high))
    u, y = np.zeros((count, n)), np.zeros((count, A.shape[1]))
    end = np.full(count, FAILED)
    numbers = (A[..., :-1], A[..., -1], C, *ends)
    # every mix of whole, read-only and other arrays would be compiled anew
    arrays: list[Any] = [np.require(a, float, ["C", "W"]) for a in numbers]
    every: Any = simplex.every
    every(*arrays, np.require(equal, bool, ["C", "W"]), u, y, end)
    return Vertices(end, np.concatenate([u, np.ones((count, 1))], axis=1), y)
