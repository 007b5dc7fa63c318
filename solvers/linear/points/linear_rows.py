"""The rows, ends and costs of the linear programs of many points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dse.models.arithmetic import CannotTake
from formulations.arithmetics.many import Array
from formulations.program import Program, linear_cost
from solvers.linear import milp
from solvers.linear.linear_program import weak_duality

PROGRAM_GAP = 1e-9

Mask = NDArray[np.bool_]


class NotLinear(CannotTake):
    """The question is not a linear program that can be solved for many points at once."""


class Rows:
    """The rows, ends and costs of the programs of some points."""

    def __init__(self, p: Program, mask: Mask, cost: Array | None = None) -> None:
        self.rows, self.low, self.high = along(p.rows, mask, 2), along(p.low, mask, 1), along(p.high, mask, 1)
        self.denominators, self.equal = along(p.denominators, mask, 2), p.equal
        self.cost = along(linear_cost(*milp.objective(p)) if cost is None else cost, mask, 1)

    def bounded(self, u: Array, y: Array, least: Array | None = None) -> tuple[Array, Array, Mask]:
        """What is minimised at designs, its lower bound by multipliers (and ``least``), and where the two meet."""
        value, size = (self.cost * u).sum(axis=1), (np.abs(self.cost) * np.abs(u)).sum(axis=1)
        bound = weak_duality(self.rows, self.equal, self.low, self.high, self.cost, y)
        bound = bound if least is None else np.minimum(bound, least)
        return value, bound, value - bound <= PROGRAM_GAP * np.maximum(np.abs(value), 1e-3 * size)


def along(a: Array, mask: Mask, dims: int) -> Array:
    """What all points share or each has of its own (its last ``dims`` dimensions), at some of the points."""
    return np.broadcast_to(a, (len(mask), *a.shape[a.ndim - dims :]))[mask]


def to_user(p: Program, n: Rows, value: Array) -> Array:
    """The user's objective from what was minimised."""
    ratio = -1.0 / value if milp.objective(p)[1][..., :-1].any() else value
    return np.asarray(ratio if p.sign > 0 else 1.0 / ratio)
