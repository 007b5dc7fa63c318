"""What the interior-point iteration carries along: iterates, slacks, proofs, the best found so far."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.system.records import dataclass
from solvers.geometric.gp_terms import Array, Terms, present

Bools = NDArray[np.bool_]


@dataclass(slots=True)
class State:
    """All that an instance carries from step to step; every field has the instances as its first axis."""

    index: NDArray[np.int64]  # place in the batch
    terms: Terms
    lo: Array
    hi: Array
    y: Array
    t: Array
    S: Array  # slacks of limits, t, lower ends, upper ends
    L: Array  # their multipliers
    active: Array  # 1 where the inequality exists
    F: Array
    G: Array
    W: Array
    J: Array  # derivative of the slacks by (y, t)
    elastic: Bools
    weight: Array  # of the objective: 1, or 0 in phase one
    rho: Array
    stage: NDArray[np.int64]  # 0 first go, 1 phase one, 2 after it
    short: NDArray[np.int64]  # steps since the last good one, up to 3
    late: NDArray[np.int64]  # iterations since optimal, without progress
    stale: NDArray[np.int64]  # iterations, within the limits but not optimal, since the gap was last halved
    score: Array
    slight: Array  # proved least violation too small to count
    age: NDArray[np.int64]  # iterations in this mode
    cautious: Bools  # monotone barrier with a line search, for instances that jam
    target: Array  # its barrier parameter

    def take(self, keep: NDArray[np.int64]) -> State:
        """Return the same for a choice of instances."""
        values: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        return State(**{k: v.take(keep) if k == "terms" else v[keep] for k, v in values.items()})


@dataclass(slots=True)
class Found:
    """Best point, multipliers and proofs of every instance so far."""

    y: Array
    L: Array
    infeasible: Bools
    settled: Bools  # proved one way or the other
    iterations: NDArray[np.int64]
    penalised: Bools
    slight: Array
    near: Bools  # to an optimum, if not at it


def begin(T: Terms, lo: Array, hi: Array, y: Array, penalty: float) -> State:
    """Interior first iterate: y pulled into the box, t above all limits, complementarity 1."""
    B, n = y.shape
    margin = np.minimum(0.05 * (hi - lo), 1.0)
    y = np.minimum(np.maximum(y, lo + margin), hi - margin)
    F, W = T.at(y)
    on = present(T)[:, 1:]
    m = on.shape[1]
    worst = np.where(on, F[:, 1:], -np.inf).max(1, initial=-np.inf)
    elastic = on.any(1) & (worst > -0.1)
    t = np.where(elastic, np.maximum(worst, 0.0) + 1.0, 0.0)
    active = np.concatenate([on, elastic[:, None], np.ones((B, 2 * n))], axis=1, dtype=float)
    J = np.zeros((B, m + 1 + 2 * n, n + 1))
    eye = np.arange(n)
    J[:, m + 1 + eye, eye] = 1.0
    J[:, m + 1 + n + eye, eye] = -1.0
    J[:, : m + 1, n] = active[:, : m + 1] * elastic[:, None]
    S = slacks(F, t, y, lo, hi, active)
    one, none = np.ones(B), np.zeros(B, np.int64)
    state = State(
        np.arange(B), T, lo, hi, y, t, S, active / S, active, F, T.slopes(W), W, J, elastic,
        one, penalty * one, none, none.copy(), none.copy(), none.copy(), np.inf * one, 0 * one, none.copy(),
        np.zeros(B, bool), one.copy(),
    )  # fmt: skip
    tilt(state)
    return state


def slacks(F: Array, t: Array, y: Array, lo: Array, hi: Array, active: Array) -> Array:
    """Exact slacks of all inequalities; 1 for those that do not exist."""
    c = np.concatenate([t[:, None] - F[:, 1:], t[:, None], y - lo, hi - y], axis=1)
    return np.where(active > 0, c, 1.0)


def tilt(s: State) -> None:
    """Bring the derivative of the slacks up to date with the gradients."""
    m = s.F.shape[1] - 1
    s.J[:, :m, :-1] = s.G[:, 1:] * -s.active[:, :m, None]


def certificates(s: State) -> tuple[Array, Array, Array]:
    """Lower bound of F_0, infeasibility number, worst limit: all from values at hand."""
    m = s.F.shape[1] - 1
    lam = s.L[:, :m]
    total = lam.sum(1)
    limits = (lam * s.F[:, 1:]).sum(1)
    g = (lam[:, None, :] @ s.G[:, 1:])[:, 0]
    both = np.concatenate([g[:, None], (g + s.G[:, 0])[:, None]], axis=1)
    reach = np.minimum(both * (s.lo - s.y)[:, None], both * (s.hi - s.y)[:, None]).sum(2)
    worst = np.where(s.active[:, :m] > 0, s.F[:, 1:], -np.inf).max(1, initial=-np.inf)
    return s.F[:, 0] + limits + reach[:, 1], (limits + reach[:, 0]) / np.maximum(total, 1e-300), worst
