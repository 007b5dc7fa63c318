"""The rows, ends and costs of the linear programs of many points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dse.models.arithmetic import CannotTake
from formulations.arithmetics.many import Array
from formulations.program import Program

PROGRAM_GAP = 1e-9

Mask = NDArray[np.bool_]


class NotLinear(CannotTake):
    """The question is not a linear program that can be solved for many points at once."""


def linear_cost(p: Program) -> Array:
    """What is minimised, linear: the numerator, or minus the denominator where only that is decided."""
    assert p.goal is not None, "there is an objective"
    assert p.under is not None, "there is an objective"
    if not p.under[..., :-1].any():
        return np.asarray(p.goal / p.under[..., -1:])
    return np.asarray(p.under / -p.goal[..., -1:])


class Rows:
    """The rows, ends and costs of the programs of some points."""

    def __init__(self, p: Program, mask: Mask, cost: Array | None = None) -> None:
        self.rows, self.low, self.high = along(p.rows, mask, 2), along(p.low, mask, 1), along(p.high, mask, 1)
        self.denominators, self.equal = along(p.denominators, mask, 2), p.equal
        self.cost = along(linear_cost(p) if cost is None else cost, mask, 1)


def along(a: Array, mask: Mask, dims: int) -> Array:
    """What all points share or each has of its own (its last ``dims`` dimensions), at some of the points."""
    return np.broadcast_to(a, (len(mask), *a.shape[a.ndim - dims :]))[mask]


def to_user(p: Program, n: Rows, value: Array) -> Array:
    """The user's objective from what was minimised."""
    assert p.under is not None, "there is an objective"
    ratio = -1.0 / value if p.under[..., :-1].any() else value
    return np.asarray(ratio if p.sign > 0 else 1.0 / ratio)
