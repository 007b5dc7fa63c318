"""The interior-point iteration behind the geometric programs, many instances in step.

Each instance is ``min w F_0(y) + rho t`` subject to ``F_k(y) <= t``, ``t >= 0`` and its box.  The elastic t makes
every start interior; it is dropped once all limits hold with room.  Slacks are exact, the direction is Mehrotra's
predictor-corrector, primal and dual take one common step (separate ones jam).  If t refuses to vanish, rho grows,
then the objective is set aside (phase one) until the limits are proved to conflict or met.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from solvers.gp_terms import Array, Terms, present

FEASIBLE = 1e-9
"""A limit counts as met when its log ratio is at most this."""
OPTIMAL, INFEASIBLE, FAILED = 0, 2, 3
EXACT_SLACK = 1e-11  # below it a slack recomputed from F is mostly rounding, and is carried on by its own steps
FIRST_PENALTY, TOP_PENALTY, LAST_PENALTY = 1e2, 1e4, 1e7

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
    score: Array
    slight: Array  # proved least violation too small to count
    target: Array  # barrier parameter of the cautious mode

    def take(self, keep: NDArray[np.int64]) -> State:
        """The same for a choice of instances."""
        values = (getattr(self, f.name) for f in fields(self))
        return State(*(v.take(keep) if isinstance(v, Terms) else v[keep] for v in values))


@dataclass(slots=True)
class Found:
    """Best point, multipliers and proofs of every instance so far."""

    y: Array
    L: Array
    value: Array
    bound: Array
    violation: Array
    proof: Array
    status: NDArray[np.int8]
    iterations: NDArray[np.int64]
    penalised: Bools
    slight: Array


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
    S = _slacks(F, t, y, lo, hi, active)
    one, none = np.ones(B), np.zeros(B, np.int64)
    state = State(
        np.arange(B), T, lo, hi, y, t, S, active / S, active, F, T.slopes(W), W, J, elastic,
        one, penalty * one, none, none, none, np.inf * one, 0 * one, one,
    )  # fmt: skip
    _tilt(state)
    return state


def _slacks(F: Array, t: Array, y: Array, lo: Array, hi: Array, active: Array) -> Array:
    """Exact slacks of all inequalities; 1 for those that do not exist."""
    c = np.concatenate([t[:, None] - F[:, 1:], t[:, None], y - lo, hi - y], axis=1)
    return np.where(active > 0, c, 1.0)


def _tilt(s: State) -> None:
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


class Newton:
    """The condensed Newton matrix of a state, scaled to a unit diagonal."""

    def __init__(self, s: State) -> None:
        m, n = s.F.shape[1] - 1, s.y.shape[1]
        row = s.terms.row_of
        coefficients = np.concatenate([s.weight[:, None], s.L[:, :m]], axis=1)
        # centred exponents: a sum of squares stays one in floating point
        X = s.terms.A - s.G[:, row]
        X *= np.sqrt(coefficients[:, row] * s.W)[:, :, None]
        self.s, self.D = s, s.L / s.S
        Y = s.J * np.sqrt(self.D)[:, :, None]
        H = Y.swapaxes(1, 2) @ Y
        H[:, :n, :n] += X.swapaxes(1, 2) @ X
        H[:, n, n] += ~s.elastic
        diagonal = np.einsum("bii->bi", H)
        self.scale = 1 / np.sqrt(diagonal)
        self.H = H * self.scale[:, :, None] * self.scale[:, None, :]
        np.einsum("bii->bi", self.H)[...] = 1 + 1e-14
        self.down = np.concatenate([s.weight[:, None] * s.G[:, 0], (s.rho * s.elastic)[:, None]], axis=1)
        self.off = _slacks(s.F, s.t, s.y, s.lo, s.hi, s.active) - s.S

    def step(self, aim: Array) -> tuple[Array, Array, Array]:
        """Changes of (y, t), slacks and multipliers that bring slack times multiplier to ``aim``."""
        s = self.s
        pull = aim / s.S - self.D * self.off
        rhs = self.scale * ((pull[:, None, :] @ s.J)[:, 0] - self.down)
        try:
            d = np.linalg.solve(self.H, rhs[:, :, None])[:, :, 0]
        except np.linalg.LinAlgError:
            d = np.linalg.solve(self.H + 1e-9 * np.eye(rhs.shape[1]), rhs[:, :, None])[:, :, 0]
        d *= self.scale
        dS = (s.J @ d[:, :, None])[:, :, 0] + self.off
        return d, dS, aim / s.S - s.L - self.D * dS


def _longest(s: State, dS: Array, dL: Array) -> Array:
    """Reciprocal of the longest step that keeps slacks and multipliers positive, at least 1."""
    ratio = np.maximum(-dS / s.S, -dL / (s.L + (1 - s.active))).max(1)
    return np.maximum(ratio, 1.0)


def advance(s: State) -> Bools:
    """One predictor-corrector step for every instance, in place; False where no step was found."""
    count = s.active.sum(1)
    mu = (s.S * s.L).sum(1) / count
    newton = Newton(s)
    _, dS, dL = newton.step(np.zeros_like(s.S))
    a = (1 / _longest(s, dS, dL))[:, None]
    ahead = ((s.S + a * dS) * (s.L + a * dL)).sum(1) / count
    sigma = np.clip((ahead / mu) ** 3, 1e-4, 1.0)
    centre = s.short > 0
    sigma = np.where(centre, np.maximum(sigma, 0.5), sigma)
    aim = s.active * (sigma * mu)[:, None] - np.where(centre[:, None], 0.0, dS * dL)
    d, dS, dL = newton.step(aim)
    fraction = np.maximum(0.99, 1 - mu)
    alpha = np.minimum(1.0, fraction / _longest(s, dS, dL))
    alpha, ok = _shorten(s, d, dS, mu, alpha)
    s.L += alpha[:, None] * dL
    s.short = np.where(alpha < 0.1, (s.short + 1) % 4, 0)
    return ok


def _shorten(s: State, d: Array, dS: Array, mu: Array, alpha: Array) -> tuple[Array, Bools]:
    """Take the step, shorter where the true slacks would not stay positive."""
    part, step = s, alpha
    pending = np.arange(len(alpha))
    F, W, y, t, S = s.F.copy(), s.W.copy(), s.y.copy(), s.t.copy(), s.S.copy()
    floor = 1e-4 * np.minimum(s.S, mu[:, None] / np.maximum(s.L, 1e-300))
    for _ in range(40):
        a = step[pending]
        yt = s.y[pending] + a[:, None] * d[pending, :-1]
        tt = s.t[pending] + a * d[pending, -1] * s.elastic[pending]
        part = s.terms if len(pending) == len(alpha) else s.terms.take(pending)
        Ft, Wt = part.at(yt)
        c = _slacks(Ft, tt, yt, s.lo[pending], s.hi[pending], s.active[pending])
        ahead = s.S[pending] + a[:, None] * dS[pending]
        good = c >= 0.01 * (1 - a)[:, None] * s.S[pending] + floor[pending]
        good |= (ahead < 2 * EXACT_SLACK) & (c > -1e-13) | (s.active[pending] == 0)
        fine = good.all(1) & np.isfinite(Ft[:, 0])
        took = pending[fine]
        F[took], W[took], y[took], t[took] = Ft[fine], Wt[fine], yt[fine], tt[fine]
        S[took] = np.where(c > EXACT_SLACK, c, np.maximum(ahead, 1e-3 * s.S[pending]))[fine]
        pending = pending[~fine]
        if not len(pending):
            break
        step[pending] *= 0.6
    step[pending] = 0.0
    s.F, s.W, s.y, s.t, s.S = F, W, y, t, S
    s.G = s.terms.slopes(W)
    _tilt(s)
    ok = np.ones(len(alpha), bool)
    ok[pending] = False
    return step, ok


def drop_elastic(s: State) -> None:
    """Let go of t where every limit holds with room."""
    m = s.F.shape[1] - 1
    room = (s.F[:, 1:] <= -0.1 * s.S[:, :m]) | (s.active[:, :m] == 0)
    drop = s.elastic & room.all(1)
    if drop.any():
        s.elastic &= ~drop
        s.active[drop, m] = 0.0
        s.L[drop, m] = 0.0
        s.J[drop, : m + 1, -1] = 0.0
        s.t[drop] = 0.0
        s.S[drop] = _slacks(s.F, s.t, s.y, s.lo, s.hi, s.active)[drop]
        again = drop & (s.stage == 1)
        s.stage[again], s.weight[again] = 2, 1.0
        s.L[again] = s.active[again] / s.S[again]


def change_stage(s: State, proof: Array, worst: Array) -> None:
    """Raise the penalty where t stays positive, then try phase one, then come back with a large penalty."""
    left = (s.S * s.L).sum(1)
    stuck = s.elastic & (s.stage == 0) & (left < 1e-3 * s.rho * s.t)
    raised = stuck & (s.rho < TOP_PENALTY)
    s.rho[raised] *= 100.0
    s.L[raised] *= 100.0  # all products grow alike, so the iterate stays centred
    alone = stuck & ~raised
    if alone.any():
        s.L[alone] /= s.rho[alone, None]
        s.rho[alone], s.weight[alone], s.stage[alone] = 1.0, 0.0, 1
    back = s.elastic & (s.stage == 1) & (left < 1e-11) & (worst <= FEASIBLE)
    if back.any():
        s.slight[back] = np.maximum(proof[back], 0.0)
        s.L[back] *= LAST_PENALTY
        s.rho[back], s.weight[back], s.stage[back] = LAST_PENALTY, 1.0, 2


def record(s: State, found: Found, tol: float, iteration: int) -> tuple[Bools, Array, Array]:
    """Write down what this iterate proves; True where the instance is finished."""
    m = s.F.shape[1] - 1
    bound, proof, worst = certificates(s)
    i = s.index
    impossible = (proof > FEASIBLE) & (worst > 0)
    gap = np.abs(s.F[:, 0] - bound)
    score = np.where(worst <= FEASIBLE, gap + (s.S * s.L).sum(1), 1e9 + np.maximum(worst, 0))
    score = np.where(np.isfinite(score), score, np.inf)
    optimal = (gap <= tol) & (worst <= FEASIBLE)
    better = (score < s.score) | impossible
    s.late = np.where(score < 0.5 * s.score, 0, s.late + 1)
    s.score = np.minimum(s.score, score)
    j = i[better]
    found.y[j], found.L[j] = s.y[better], s.L[better]
    found.value[j], found.violation[j] = s.F[better, 0], worst[better]
    found.bound[j] = bound[better]
    found.penalised[j] = (s.elastic & (s.L[:, :m].sum(1) > 0.3 * s.rho))[better]
    found.slight[i] = s.slight
    found.status[i[optimal]] = OPTIMAL
    found.proof[i[impossible]] = proof[impossible]
    found.status[i[impossible]] = INFEASIBLE
    found.iterations[i] = iteration
    solved = found.status[i] == OPTIMAL
    done = impossible | (solved & ((s.score < 1e-14) | (s.late >= 3))) | (s.late > 60)
    return done, proof, worst


def run(T: Terms, lo: Array, hi: Array, y: Array, tol: float, limit: int) -> Found:
    """Iterate until every instance is finished or has had ``limit`` iterations."""
    s = begin(T, lo, hi, y, FIRST_PENALTY)
    B = len(y)
    nothing = np.full(B, -np.inf)
    found = Found(
        s.y.copy(), np.zeros_like(s.L), np.zeros(B), nothing.copy(), np.full(B, np.inf), np.zeros(B),
        np.full(B, FAILED, np.int8), np.zeros(B, np.int64), np.zeros(B, bool), np.zeros(B),
    )  # fmt: skip
    done = np.zeros(B, bool)
    for iteration in range(limit + 1):
        now, proof, worst = record(s, found, tol, iteration)
        done |= now
        if done.all():
            break
        if done.sum() > 0.2 * len(done):
            keep = np.flatnonzero(~done)
            s, done, proof, worst = s.take(keep), done[keep], proof[keep], worst[keep]
        change_stage(s, proof, worst)
        done |= ~advance(s)
        drop_elastic(s)
    return found
