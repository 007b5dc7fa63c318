"""The interior-point iteration behind the geometric programs, many instances in step.

Each instance is ``min w F_0(y) + rho t`` subject to ``F_k(y) <= t``, ``t >= 0`` and its box. The elastic t
makes every start interior; it is dropped once all limits hold with room. Where limits curve along a step t
falls by less, so that the step need not be shorter; a slack that is near its linear prediction follows it,
and the next steps bring it back. The direction is Mehrotra's predictor-corrector (SIAM J. Optim. 2, 1992),
primal and dual take one common step (separate ones jam). If t refuses to vanish, rho grows, then the objective
is set aside (phase one) until the limits are proved to conflict or met. What jams nevertheless goes on with a
monotone barrier and a line search.
"""

from __future__ import annotations

import numpy as np

from dse.system.arrays import Array, Bools, Integers
from dse.system.records import dataclass
from solvers.geometric.kernel import formulas
from solvers.geometric.kernel.formulas import (
    ANY,
    CUTS,
    DEARER,
    DONE,
    EXACT_SLACK,
    FEASIBLE,
    LAST_PENALTY,
    LATE,
    LATE_CAUTIOUS,
    LEAST_ELASTIC,
    LEAST_MU,
    LIFT_AGAIN,
    NOT_WITHIN,
    PATIENCE,
    SHARP,
    SHORT_STEP,
    SHORTER,
    STARTS_AGAIN,
    TOP_PENALTY,
    TOP_PENALTY_AGAIN,
)
from solvers.geometric.kernel.gp_state import Found, Newton, State, begin, certificates, slacks, tilt
from solvers.geometric.kernel.gp_terms import Terms

HURRIED, GIVEN_UP = 12, 20
"""Stale iterations, where others wait, until an instance counts as jammed, and until it is left as it is."""
SMALL_GAP = 1e-4
"""A gap that is not worth another try while others wait: a node is cut sooner."""

FEW_CUT, CUTS_TOGETHER = 64, 8
"""Of so few instances this many shorter steps are tried in one go, which takes about as long as one."""

Choice = Integers | slice


def advance(s: State, whole: bool, hurried: bool) -> Bools:
    """One predictor-corrector step for every instance, in place; False where no step was found."""
    count = s.active.sum(1)
    mu = (s.S * s.L).sum(1) / count
    newton = Newton(s, whole)
    _, dS, dL = newton.step(np.zeros_like(s.S))
    a = (1 / np.maximum(*newton.longest(dS, dL)))[:, None]
    ahead = ((s.S + a * dS) * (s.L + a * dL)).sum(1) / count
    sigma = formulas.centring(ahead / mu, s.short, formulas.least_product(least_mu(s), s.gap) / mu)
    # after a short step: plain centring; the second-order term is trusted as far as the predictor could go
    trust, product = np.where(s.short > 0, 0.0, a[:, 0] ** 2), sigma * mu
    cautious = bool(np.count_nonzero(s.cautious))
    if cautious:
        trust, product = np.where(s.cautious, 0.0, trust), np.where(s.cautious, s.target, product)
    aim = s.active * product[:, None]
    aim -= trust[:, None] * dS * dL
    d, dS, dL = newton.step(aim)
    primal, dual = newton.longest(dS, dL)
    fraction = formulas.fraction(mu)
    common = fraction / np.maximum(primal, dual)
    alpha = np.minimum(1.0, np.where(s.cautious, fraction / primal, common) if cautious else common)
    fall = (newton.rhs * d).sum(1)
    alpha, ok = _shorten(s, Move(fall, d, dS, np.abs(newton.off), mu), alpha)
    s.L += np.minimum(alpha, common)[:, None] * dL
    s.short = np.where(alpha < SHORT_STEP, (s.short + 1) % 4, 0)
    s.age += 1
    if cautious:
        _lower_barrier(s, fall, count)
    _turn_cautious(s, ok, hurried)
    alive: Bools = ok | (s.age == 0)
    return alive


def _lower_barrier(s: State, fall: Array, count: Array) -> None:
    """Cautious mode: keep multipliers near target / slack, lower the target once the barrier is minimised."""
    near = s.target[:, None] * s.active / s.S
    s.L = np.where(s.cautious[:, None], formulas.near(s.L, near), s.L)
    ready = s.cautious & formulas.minimised(fall, s.target, count)
    s.target = np.where(ready, np.maximum(0.1 * s.target, least_mu(s)), s.target)


def _turn_cautious(s: State, ok: Bools, hurried: bool) -> None:
    """Instances that jam go on, from an interior point nearby, with the monotone barrier."""
    turn = ~s.cautious & (~ok | (s.age > PATIENCE) & ~s.steady | (hurried & (s.stale >= HURRIED)))
    k = turn.nonzero()[0]
    if not k.size:
        return
    s.stale[k] = 0
    m = s.F.shape[1] - 1
    on = s.active[k, :m] > 0
    worst = np.where(on, s.F[k, 1:], -np.inf).max(1, initial=-np.inf)
    elastic = on.any(1) & (worst > STARTS_AGAIN)
    s.cautious[k], s.elastic[k], s.t[k] = (
        True,
        elastic,
        np.where(elastic, np.maximum(worst, 0) + LIFT_AGAIN, 0.0),
    )
    # phase one has left the price of its own goal, which may also turn out to be too low
    after = k[s.stage[k] == 2]
    s.rho[after], s.stage[after] = np.maximum(s.rho[after], TOP_PENALTY), 0
    s.active[k, m] = elastic
    s.J[k, : m + 1, -1] = s.active[k, : m + 1] * elastic[:, None]
    s.exact = slacks(s.F, s.t, s.y, s.lo, s.hi, s.active)
    margin = formulas.second_margin(s.lo, s.hi)
    y = np.minimum(np.maximum(s.y, s.lo + margin), s.hi - margin)
    S = slacks(s.F, s.t, y, s.lo, s.hi, s.active)
    S = np.maximum(S, formulas.FLOOR_OF_SLACKS * margin.min(1)[:, None])
    s.S[k] = S[k]
    _recentre(s, turn, np.ones(len(turn)))


def _barrier(s: State, F: Array, t: Array, S: Array, k: Choice) -> Array:
    """Return the function that the cautious mode lowers."""
    penalty = np.where(s.elastic[k], s.rho[k] * t, 0.0)
    value: Array = s.weight[k] * F[:, 0] + penalty - s.target[k] * np.log(S).sum(1)
    return value


@dataclass(slots=True)
class Move:
    """A direction: how the barrier falls along it, changes of (y, t) and slacks, and the mean product it is for."""

    fall: Array
    d: Array
    slide: Array
    off: Array
    mu: Array


def _trial(s: State, move: Move, a: Array, k: Choice) -> tuple[tuple[Array, ...], Bools]:
    """What steps ``a`` of the instances k lead to: (F, W, y, t, S, exact), and where they will do."""
    by = a[:, None]
    yt = s.y[k] + by * move.d[k, :-1]
    tt = s.t[k] + a * move.d[k, -1] * s.elastic[k]
    Ft, Wt = (s.terms if isinstance(k, slice) else s.terms.take(k)).at(yt)
    c = slacks(Ft, tt, yt, s.lo[k], s.hi[k], s.active[k])
    old = s.S[k]
    ahead = old + by * move.slide[k]
    if np.count_nonzero(s.elastic):
        # t falls by less where limits curve, so that they shorten no step
        m = s.F.shape[1] - 1
        lift = s.elastic[k] * (ahead - c)[:, :m].max(1, initial=0.0)
        tt += np.where(tt + lift <= s.t[k], lift, 0.0)
        c = slacks(Ft, tt, yt, s.lo[k], s.hi[k], s.active[k])
    miss = np.abs(c - ahead)
    good = carried = formulas.follows(old, miss, by, move.off[k])
    if np.count_nonzero(carried) < carried.size:
        good = carried | formulas.enough(c, old, by, move.mu[k][:, None], s.L[k]) | (s.active[k] == 0)
        good |= formulas.rounding(ahead, c)
    St = np.where(c >= np.where(carried, 0.5 * ahead, EXACT_SLACK), c, np.maximum(ahead, miss))
    fine = good.all(1) & np.isfinite(Ft[:, 0])
    if np.count_nonzero(s.cautious):
        before = _barrier(s, s.F[k], s.t[k], old, k)
        allowed = formulas.allowed(before, a, move.fall[k])
        fine &= ~s.cautious[k] | (_barrier(s, Ft, tt, St, k) <= allowed)
    return (Ft, Wt, yt, tt, St, c), fine


def _shorten(s: State, move: Move, step: Array) -> tuple[Array, Bools]:
    """Take the step, shorter where the true slacks would not stay positive; False where none will do."""
    old = s.F, s.W, s.y, s.t, s.S, s.exact
    new, ok = _trial(s, move, step, slice(None))
    k = (~ok).nonzero()[0]
    if k.size:
        for to, come in zip(new, old, strict=True):
            to[k] = come[k]
        tries = 0
        while k.size and tries < CUTS:
            together = 1 if len(k) > FEW_CUT else min(CUTS_TOGETHER, CUTS - tries)
            tries += together
            # one after the other, so that a step is the same number in every batch
            shorter = np.multiply.accumulate(
                np.concatenate([step[None, k], np.full((together, len(k)), SHORTER)])
            )[1:]
            part, fine = _trial(s, move, shorter.ravel(), np.tile(k, together))
            fine = fine.reshape(shorter.shape)
            good, cut = np.flatnonzero(fine.any(0)), np.where(fine.any(0), fine.argmax(0), -1)
            step[k] = shorter[cut, np.arange(len(k))]
            for to, come in zip(new, part, strict=True):
                to[k[good]] = come[cut[good] * len(k) + good]
            ok[k[good]] = True
            k = (~ok).nonzero()[0]
        step[k] = 0.0
    s.F, s.W, s.y, s.t, s.S, s.exact = new
    s.G = s.terms.slopes(s.W)
    tilt(s)
    return step, ok


def least_mu(s: State) -> Array:
    """Complementarity below which slacks drown in rounding."""
    return np.where(s.elastic, LEAST_ELASTIC * s.rho, LEAST_MU)


def drop_elastic(s: State) -> None:
    """Let go of t where every limit holds with room."""
    if not np.count_nonzero(s.elastic):
        return
    m = s.F.shape[1] - 1
    with_slack = formulas.roomy(s.F[:, 1:], s.S[:, :m]) | (s.active[:, :m] == 0)
    drop = s.elastic & with_slack.all(1)
    if drop.any():
        s.elastic &= ~drop
        s.active[drop, m] = 0.0
        s.L[drop, m] = 0.0
        s.J[drop, : m + 1, -1] = 0.0
        s.t[drop] = 0.0
        s.exact = slacks(s.F, s.t, s.y, s.lo, s.hi, s.active)
        s.S[drop] = s.exact[drop]
        again = drop & (s.stage == 1)
        s.stage[again], s.weight[again] = 2, 1.0
        _recentre(s, again, np.ones(len(again)))


def change_stage(s: State, proof: Array, worst: Array, top: float) -> None:
    """Set the objective aside where t stays positive (phase one); come back with a large penalty.

    ``top``: the highest penalty before.
    """
    if not np.count_nonzero(s.elastic):
        return
    m = s.F.shape[1] - 1
    left = (s.S * s.L).sum(1)
    stuck = s.elastic & (s.stage == 0) & formulas.stuck(s.L[:, :m].sum(1), s.rho, left, s.t)
    raised = stuck & (s.rho < top)
    if raised.any():
        s.rho[raised] *= DEARER
        s.L[raised] *= DEARER  # all products grow alike, so the iterate stays centred
        s.target[raised] *= DEARER
    alone = stuck & ~raised
    if alone.any():
        s.t[alone] += LIFT_AGAIN  # from close to the limits phase one would only creep
        s.exact = slacks(s.F, s.t, s.y, s.lo, s.hi, s.active)
        s.S[alone] = s.exact[alone]
        _set_goal_aside(s, alone)
    back = s.elastic & (s.stage == 1) & (left < DONE) & (worst <= FEASIBLE)
    if back.any():
        s.slight[back] = np.maximum(proof[back], 0.0)
        s.L[back] *= LAST_PENALTY
        s.target[back] *= LAST_PENALTY
        s.rho[back], s.weight[back], s.stage[back], s.age[back] = LAST_PENALTY, 1.0, 2, 0


def _set_goal_aside(s: State, which: Bools) -> None:
    """Begin phase one at the same point: the least greatest limit is looked for."""
    m = s.F.shape[1] - 1
    s.rho[which], s.weight[which], s.stage[which] = 1.0, 0.0, 1
    _recentre(s, which, 1 / (s.active[:, :m] / s.S[:, :m]).sum(1))


def _recentre(s: State, which: Bools, mu: Array) -> None:
    """Begin a new stage at the same point, all products of slack and multiplier alike."""
    s.L[which] = (mu[:, None] * s.active / s.S)[which]
    s.target = np.where(which, mu, s.target)
    s.age[which] = 0


def record(
    s: State, found: Found, done: Bools, tol: float, iteration: int, enough: Array
) -> tuple[Bools, Array, Array]:
    """Write down what this iterate proves; True where the instance is finished."""
    m, going = s.F.shape[1] - 1, ~done
    bound, proof, worst = certificates(s)
    within, miss, pressure, products = worst <= FEASIBLE, np.maximum(worst, 0), s.L[:, :m].sum(1), s.S * s.L
    impossible = (proof > FEASIBLE) & (worst > 0) & going
    bound = np.where(s.slight > 0, np.minimum(bound, s.F[:, 0]), bound)
    above = s.F[:, 0] - bound
    gap = np.abs(above)
    # a smaller complementarity pins the variables down where the objective no longer can
    closed = formulas.close(above, pressure, tol)
    left = np.where(closed, gap + products.sum(1) + miss, 1 + gap)
    s.gap = np.where(closed | s.elastic, 0.0, gap)
    score = np.where(within, left, NOT_WITHIN + miss)
    beyond = ((bound >= enough) | within if tol >= ANY else bound >= enough) & going
    ends = impossible | beyond
    better = ends | (score < s.score) & going
    s.late = np.where((score < 0.5 * s.score) | (s.score >= 1), 0, s.late + 1)
    s.steady = formulas.steady(score, s.score)
    s.stale = np.where(s.steady | ~(score < NOT_WITHIN), 0, s.stale + 1)
    s.score = np.where(better, score, s.score)
    k = better.nonzero()[0]
    j = s.index[k]
    found.y[j], found.L[j], found.slight[j] = s.y[k], s.L[k], s.slight[k]
    found.penalised[j] = (s.elastic & formulas.artefact(pressure, s.rho))[k]
    found.near[j] = (score < 1 + SMALL_GAP)[k]
    found.iterations[s.index[going]] = iteration
    optimal = s.score < 1
    some = ends | optimal
    if not np.count_nonzero(some):
        return ends, proof, worst
    found.infeasible[s.index[impossible]] = True
    found.settled[s.index[some]] = True
    at_floor = products.max(1) <= 2 * least_mu(s)
    sharp = better & (score < 1) & (gap < SHARP) & at_floor
    late = np.where(np.isnan(enough), np.where(s.cautious, LATE_CAUTIOUS, LATE), 0)
    return ends | sharp | optimal & (s.late >= late), proof, worst


def run(
    T: Terms,
    lo: Array,
    hi: Array,
    y: Array,
    tol: float,
    limit: int,
    enough: Array,
    content: Bools | None = None,
) -> Found:
    """Solve every instance from y; the rare one that fails is tried again, otherwise.

    ``enough`` (B,): bounds from which nothing more is asked (see ``gp.solve``).
    ``content`` (B,): given where others wait, so that what jams is treated so sooner, and given up sooner; which
    instances are then content with an optimum but for a gap of SMALL_GAP.
    """
    hurried = content is not None
    found = _iterate(T, lo, hi, y, tol, limit, enough, hurried, whole=True, top=TOP_PENALTY)
    for whole, top in ((False, TOP_PENALTY), (True, TOP_PENALTY_AGAIN)):
        k = np.flatnonzero(~found.settled & ~(found.near & (False if content is None else content)))
        if top > TOP_PENALTY:
            # what is open there is the bound: a design has been found, and dearer limits would have been needed
            k = k[formulas.artefact(found.L[k, : len(T.starts) - 1].sum(1), TOP_PENALTY)]
            k = k[T.take(k).at(found.y[k])[0][:, 1:].max(1, initial=-np.inf) <= FEASIBLE]
        if not len(k):
            break
        start = y[k] if whole else 0.5 * (lo[k] + hi[k])
        again = _iterate(T.take(k), lo[k], hi[k], start, tol, limit, enough[k], hurried, whole=whole, top=top)
        again.iterations += found.iterations[k]
        found.iterations[k] = again.iterations
        found.put(k[again.settled], again.take(again.settled))
    return found


def _iterate(
    T: Terms,
    lo: Array,
    hi: Array,
    y: Array,
    tol: float,
    limit: int,
    enough: Array,
    hurried: bool,
    whole: bool,
    top: float,
) -> Found:
    """Iterate until every instance is finished or has had ``limit`` iterations."""
    s = begin(T, lo, hi, y)
    if tol >= ANY:
        _set_goal_aside(s, s.elastic.copy())
    B = len(y)
    done = np.zeros(B, bool)
    found = Found(
        s.y.copy(),
        s.L.copy(),
        done.copy(),
        done.copy(),
        np.zeros(B, np.int64),
        done.copy(),
        np.zeros(B),
        done.copy(),
    )
    for iteration in range(limit + 1):
        now, proof, worst = record(s, found, done, tol, iteration, enough)
        done |= now
        if hurried:
            done |= s.cautious & (s.stale >= GIVEN_UP)
        ended = np.count_nonzero(done)
        if ended == len(done):
            break
        if ended > 0.2 * len(done):
            keep = np.flatnonzero(~done)
            s, done, proof, worst, enough = s.take(keep), done[keep], proof[keep], worst[keep], enough[keep]
        change_stage(s, proof, worst, top)
        done |= ~advance(s, whole, hurried)
        drop_elastic(s)
    return found
