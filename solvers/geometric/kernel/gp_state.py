"""What the interior-point iteration carries along: iterates, slacks, proofs; and Newton's linear system there.

The system is condensed to the unknowns, or whole, of many programs at once.
"""

from __future__ import annotations

import numpy as np

from dse.system.arrays import Array, Bools, Integers
from dse.system.records import dataclass
from solvers.geometric.kernel.formulas import FIRST_PENALTY, LIFT, STARTS_BROKEN, TINY, first_margin
from solvers.geometric.kernel.gp_terms import Terms, present
from solvers.patterns import Rows

STIFF = 1e9  # multiplier / slack beyond which the condensed matrix is not trusted without an interior


@dataclass(slots=True)
class State:
    """All that an instance carries from step to step; every field has the instances as its first axis."""

    index: Integers  # place in the batch
    terms: Terms
    lo: Array
    hi: Array
    y: Array
    t: Array
    S: Array  # slacks of limits, t, lower ends, upper ends, as they are carried along
    exact: Array  # the same, as they are
    L: Array  # their multipliers
    active: Array  # 1 where the inequality exists
    F: Array
    G: Array
    W: Array
    J: Array  # derivative of the slacks by (y, t)
    elastic: Bools
    weight: Array  # of the objective: 1, or 0 in phase one
    rho: Array
    stage: Integers  # 0 first go, 1 phase one, 2 after it
    short: Integers  # steps since the last good one, up to 3
    late: Integers  # iterations since optimal, without progress
    stale: Integers  # iterations, within the limits but not optimal, since the gap was last halved
    steady: Bools  # see ``formulas.steady``
    score: Array
    gap: Array  # that is open: value less bound within the limits, 0 where it is closed
    slight: Array  # proved least violation too small to count
    age: Integers  # iterations in this mode
    cautious: Bools  # monotone barrier with a line search, for instances that jam
    target: Array  # its barrier parameter

    def take(self, keep: Integers) -> State:
        """Return the same for a choice of instances."""
        rest = (getattr(self, name)[keep] for name in self.__slots__[2:])
        return State(self.index[keep], self.terms.take(keep), *rest)


@dataclass(slots=True)
class Found(Rows):
    """Best point, multipliers and proofs of every instance so far."""

    y: Array
    L: Array
    infeasible: Bools
    settled: Bools  # proved one way or the other
    iterations: Integers
    penalised: Bools
    slight: Array
    near: Bools  # to an optimum, if not at it


def begin(T: Terms, lo: Array, hi: Array, y: Array) -> State:
    """Interior first iterate: y pulled into the box, t above all limits, complementarity 1."""
    B, n = y.shape
    margin = first_margin(lo, hi)
    y = np.minimum(np.maximum(y, lo + margin), hi - margin)
    F, W = T.at(y)
    on = present(T)[:, 1:]
    m = on.shape[1]
    worst = np.where(on, F[:, 1:], -np.inf).max(1, initial=-np.inf)
    elastic = on.any(1) & (worst > STARTS_BROKEN)
    t = np.where(elastic, np.maximum(worst, 0.0) + LIFT, 0.0)
    active = np.concatenate([on, elastic[:, None], np.ones((B, 2 * n))], axis=1, dtype=float)
    J = np.zeros((B, m + 1 + 2 * n, n + 1))
    eye = np.arange(n)
    J[:, m + 1 + eye, eye] = 1.0
    J[:, m + 1 + n + eye, eye] = -1.0
    J[:, : m + 1, n] = active[:, : m + 1] * elastic[:, None]
    S = slacks(F, t, y, lo, hi, active)
    one, none = np.ones(B), np.zeros(B, np.int64)
    state = State(
        np.arange(B), T, lo, hi, y, t, S, S.copy(), active / S, active, F, T.slopes(W), W, J, elastic,
        one, FIRST_PENALTY * one, none, none.copy(), none.copy(), none.copy(), none > 0, np.inf * one, 0 * one, 0 * one,
        none.copy(), np.zeros(B, bool), one.copy(),
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
    np.multiply(s.G[:, 1:], -s.active[:, :m, None], out=s.J[:, :m, :-1])


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
    return s.F[:, 0] + limits + reach[:, 1], (limits + reach[:, 0]) / np.maximum(total, TINY), worst


class Newton:
    """The condensed Newton matrix of a state, scaled to a unit diagonal; for some instances the whole one."""

    def __init__(self, s: State, whole: bool) -> None:
        m, n = s.F.shape[1] - 1, s.y.shape[1]
        # rows of one term are straight
        added, row = s.terms.added, s.terms.sum_of
        coefficients = np.concatenate([s.weight[:, None], s.L[:, :m]], axis=1)
        # centred exponents: a sum of squares stays one in floating point
        # taken, not indexed: a product adds up in an order that depends on how its arrays lie in memory
        X = s.terms.A_added - s.G.take(row, axis=1)
        X *= np.sqrt(coefficients.take(row, axis=1) * s.W.take(added, axis=1))[:, :, None]
        self.s, self.D = s, s.L / s.S
        Y = s.J[:, : m + 1] * np.sqrt(self.D)[:, : m + 1, None]
        curved = X.swapaxes(1, 2) @ X
        H = Y.swapaxes(1, 2) @ Y
        H[:, :n, :n] += curved
        H[:, n, n] += ~s.elastic
        diagonal = np.einsum("bii->bi", H)
        # ends of the box are felt by one variable each
        diagonal[:, :n] += self.D[:, m + 1 : m + 1 + n] + self.D[:, m + 1 + n :]
        self.scale = 1 / np.sqrt(diagonal)
        self.H = H * self.scale[:, :, None] * self.scale[:, None, :]
        np.einsum("bii->bi", self.H)[...] = 1 + 1e-14
        self.down = np.concatenate([s.weight[:, None] * s.G[:, 0], (s.rho * s.elastic)[:, None]], axis=1)
        self.off = s.exact - s.S
        self.shrinks, self.falls = -s.S, s.active - 1 - s.L
        # without an interior, tight limits drown all else in rounding once condensed; unless they pin down y
        self.stiff, tight = np.zeros(0, np.intp), self.D[:, :m] > STIFF
        if whole and np.count_nonzero(tight) and np.count_nonzero(s.elastic):
            count = tight.sum(1)
            self.stiff = np.flatnonzero(s.elastic & (count > 0) & (count <= n))
        if self.stiff.size:
            self.whole = Whole(s, self.stiff, curved, self.D)

    def step(self, aim: Array) -> tuple[Array, Array, Array]:
        """Return the step that brings slack times multiplier to ``aim``: in (y, t), in slacks and in multipliers."""
        s, share = self.s, aim / self.s.S
        pull = share - self.D * self.off
        self.rhs = (pull[:, None, :] @ s.J)[:, 0] - self.down
        d = self.scale * _solved_systems(self.H, self.scale * self.rhs)
        if self.stiff.size:
            v = self.whole.step(
                d, aim[self.stiff], pull[self.stiff], self.down[self.stiff], self.off[self.stiff]
            )
        dS = (s.J @ d[:, :, None])[:, :, 0] + self.off
        dL = share - s.L - self.D * dS
        if self.stiff.size:
            k, m = self.stiff, v.shape[1]
            L = s.L[k, :m]
            on = s.active[k, :m]
            dL[k, :m] = -(v + L) * on
            dS[k, :m] = np.where(on > 0, (aim[k, :m] + s.S[k, :m] * v) / np.maximum(L, TINY), 0.0)
        return d, dS, dL

    def longest(self, dS: Array, dL: Array) -> tuple[Array, Array]:
        """Reciprocals, at least 1, of the longest steps that keep slacks and multipliers positive."""
        return (dS / self.shrinks).max(1, initial=1.0), (dL / self.falls).max(1, initial=1.0)


class Whole:
    """The Newton matrix of a few instances with the multipliers of the limits as unknowns of their own."""

    def __init__(self, s: State, k: Integers, curved: Array, D: Array) -> None:
        m, n = s.F.shape[1] - 1, s.y.shape[1]
        self.k, self.m, self.J = k, m, s.J[k]
        box = self.J[:, m:]
        H = box.swapaxes(1, 2) @ (box * D[k, m:, None])
        H[:, :n, :n] += curved[k]
        J = self.J[:, :m]
        self.ratio = s.S[k, :m] / (s.L[k, :m] + 1 - s.active[k, :m])
        self.inverse_L = s.active[k, :m] / (s.L[k, :m] + 1 - s.active[k, :m])
        unit = 1 / np.sqrt(np.einsum("bii->bi", H))
        size = 1 / np.sqrt(((J * unit[:, None, :]) ** 2).sum(2) + self.ratio)
        self.scale = np.concatenate([unit, size], axis=1)
        K = np.zeros((len(k), n + 1 + m, n + 1 + m))
        K[:, : n + 1, : n + 1] = H
        K[:, n + 1 :, : n + 1] = J
        K[:, : n + 1, n + 1 :] = J.swapaxes(1, 2)
        np.einsum("bii->bi", K)[:, n + 1 :] = -self.ratio
        self.K = K * self.scale[:, :, None] * self.scale[:, None, :]

    def step(self, d: Array, aim: Array, pull: Array, down: Array, off: Array) -> Array:
        """Put the steps of its instances into d; return minus the new multipliers of their limits."""
        m = self.m
        first = (pull[:, None, m:] @ self.J[:, m:])[:, 0] - down
        second = aim[:, :m] * self.inverse_L - off[:, :m]
        x = self.scale * _solved_systems(self.K, self.scale * np.concatenate([first, second], axis=1))
        d[self.k] = x[:, : d.shape[1]]
        return x[:, d.shape[1] :]


def _solved_systems(H: Array, rhs: Array) -> Array:
    """Solve all systems; the few that are singular to the last digit are solved by least squares."""
    try:
        return np.asarray(np.linalg.solve(H, rhs[:, :, None])[:, :, 0], float)
    except np.linalg.LinAlgError:
        if len(H) > 1:
            return np.concatenate([_solved_systems(H[k : k + 1], rhs[k : k + 1]) for k in range(len(H))])
        good = bool(np.isfinite(H).all() and np.isfinite(rhs).all())
        return np.asarray(np.linalg.lstsq(H[0], rhs[0])[0][None], float) if good else 0 * rhs
