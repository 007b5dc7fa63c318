"""The interior-point iteration of one point, compiled: ``solvers.geometric.kernel.gp_steps`` without its arrays.

``min w F_0(y) + rho t`` subject to ``F_k(y) <= t``, ``t >= 0`` and the box, by Mehrotra's predictor and corrector with
one common step. The elastic t makes every start interior and is dropped once all limits hold with room; if it stays,
rho grows, then the objective is set aside until limits conflict or are met. What jams goes on with a monotone barrier.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from solvers.geometric.kernel import formulas
from solvers.geometric.kernel.compiled import compiled
from solvers.geometric.kernel.rows import (
    Room,
    certificates,
    curvature,
    greatest_limit,
    matrix,
    products,
    recentre,
    slacks,
    slopes,
    step,
    values,
)

LEAST = 1e-12
"""Complementarity at which an iterate is as sharp as it needs to be: slacks of limits that matter are below 1e-7."""
SHARE_OF_PROOF = 0.9
"""A proof that reaches this part of the least miss rests on few limits beside those that matter."""

first_margin = compiled(formulas.first_margin)
second_margin = compiled(formulas.second_margin)
centring = compiled(formulas.centring)
least_product = compiled(formulas.least_product)
fraction = compiled(formulas.fraction)
follows = compiled(formulas.follows)
enough = compiled(formulas.enough)
rounding = compiled(formulas.rounding)
allowed = compiled(formulas.allowed)
minimised = compiled(formulas.minimised)
near = compiled(formulas.near)
roomy = compiled(formulas.roomy)
stuck = compiled(formulas.stuck)
artefact = compiled(formulas.artefact)
steady = compiled(formulas.steady)
close = compiled(formulas.close)


class Phase(NamedTuple):
    """What an iteration carries beside its arrays.

    ``weight``: of the objective (0: phase one); ``rho``: of t; ``stage``: 0 first go, 1 phase one, 2 after it;
    ``short``: steps since the last good one; ``age``: iterations in this mode, -1 before it begins; ``cautious``:
    monotone barrier, with its parameter ``target``; ``slight``: a proved miss of the limits too small to count.
    """

    t: float
    rho: float
    weight: float
    elastic: bool
    stage: int
    short: int
    age: int
    cautious: bool
    target: float
    slight: float


@compiled
def begin(A: Any, b: Any, ptr: Any, dims: Any, lo: Any, hi: Any, w: Any, r: Room, p: Phase) -> Phase:
    """First iterate of a mode: y pulled into the box, t above all limits, complementarity 1."""
    n = len(dims)
    narrowest = np.inf
    for v in range(n):
        if w[r.free + v] > 0:
            margin = second_margin(lo[v], hi[v]) if p.cautious else first_margin(lo[v], hi[v])
            narrowest = min(narrowest, margin)
            w[r.y + v] = min(max(w[r.y + v], lo[v] + margin), hi[v] - margin)
    values(A, b, ptr, dims, w, r.y, r.F, r.W)
    slopes(A, ptr, dims, w, r)
    worst = greatest_limit(w, r)
    elastic = worst > (formulas.STARTS_AGAIN if p.cautious else formulas.STARTS_BROKEN)
    t = max(worst, 0.0) + (formulas.LIFT_AGAIN if p.cautious else formulas.LIFT) if elastic else 0.0
    w[r.on + r.m] = 1.0 if elastic else 0.0
    slacks(w, r, r.F, r.y, t, lo, hi, r.S)
    for k in range(r.M):
        w[r.S + k] = max(w[r.S + k], formulas.FLOOR_OF_SLACKS * narrowest)
    recentre(w, r, 1.0)
    # phase one has left the price of its own goal, which may also turn out to be too low
    rho = max(p.rho, formulas.TOP_PENALTY) if p.stage == 2 else p.rho
    return Phase(t, rho, p.weight, elastic, p.stage % 2, 0, 0, p.cautious, 1.0, p.slight)


@compiled
def _inverse_step_lengths(w: Any, r: Room) -> tuple[float, float]:
    """Reciprocals, at least 1, of the longest steps that keep slacks and multipliers positive."""
    primal, dual = 1.0, 1.0
    for k in range(r.M):
        if w[r.on + k] > 0:
            primal = max(primal, -w[r.dS + k] * w[r.V + k])
            dual = max(dual, -w[r.dL + k] / w[r.L + k])
    return primal, dual


@compiled
def _barrier(w: Any, r: Room, F: int, S: int, t: float, p: Phase) -> float:
    value: float = p.weight * w[F] + (p.rho * t if p.elastic else 0.0)
    for k in range(r.M):
        if w[r.on + k] > 0:
            value -= p.target * np.log(w[S + k])
    return value


@compiled
def _trial(
    A: Any,
    b: Any,
    ptr: Any,
    dims: Any,
    lo: Any,
    hi: Any,
    w: Any,
    r: Room,
    p: Phase,
    a: float,
    mu: float,
    fall: float,
) -> tuple[bool, float]:
    """Go a part of the step and see whether the true slacks stay positive; the t there."""
    n = len(dims)
    for v in range(n):
        w[r.yt + v] = w[r.y + v] + a * w[r.d + v]
    t = p.t + a * w[r.d + n] if p.elastic else 0.0
    values(A, b, ptr, dims, w, r.yt, r.Ft, r.Wt)
    slacks(w, r, r.Ft, r.yt, t, lo, hi, r.St)
    if not np.isfinite(w[r.Ft]):
        return False, t
    if p.elastic:
        # t falls by less where limits curve, so that they shorten no step
        lift = curvature(w, r, a)
        if t + lift <= p.t:
            t += lift
            for k in range(r.m + 1):
                w[r.St + k] += lift
    for k in range(r.M):
        if not w[r.on + k] > 0:
            continue
        c, old = w[r.St + k], w[r.S + k]
        ahead = old + a * w[r.dS + k]
        miss = abs(c - ahead)
        carried = follows(old, miss, a, abs(w[r.off + k]))
        if not (carried or enough(c, old, a, mu, w[r.L + k]) or rounding(ahead, c)):
            return False, t
        if c < (0.5 * ahead if carried else formulas.EXACT_SLACK):
            w[r.St + k] = max(ahead, miss)
    if p.cautious:
        before = _barrier(w, r, r.F, r.S, p.t, p)
        return _barrier(w, r, r.Ft, r.St, t, p) <= allowed(before, a, fall), t
    return True, t


@compiled
def advance(
    A: Any, b: Any, ptr: Any, dims: Any, lo: Any, hi: Any, w: Any, r: Room, p: Phase, gap: float, falls: bool
) -> tuple[bool, Phase]:
    """Take one step; False where none was found. ``gap``: that is open; ``falls``: see ``formulas.steady``."""
    total, _, count = products(w, r)
    mu, size = total / count, r.M
    slacks(w, r, r.F, r.y, p.t, lo, hi, r.off)
    for k in range(size):
        w[r.off + k] -= w[r.S + k]
        w[r.V + k] = 1.0 / w[r.S + k]
        w[r.aim + k] = 0.0
    matrix(A, ptr, w, r, dims, p.weight, p.elastic)
    least = formulas.LEAST_ELASTIC * p.rho if p.elastic else formulas.LEAST_MU
    fall, primal, dual = 0.0, 1.0, 1.0
    # the predictor aims at nothing; the cautious mode has none
    for corrects in range(1 if p.cautious else 0, 2):
        if corrects and p.cautious:
            for k in range(size):
                w[r.aim + k] = p.target
        elif corrects:
            _aim(w, r, p, least_product(least, gap), total, mu, 1.0 / max(primal, dual))
        fall = step(w, r, dims, p.weight, p.rho, p.elastic)
        primal, dual = _inverse_step_lengths(w, r)
    part = fraction(mu)
    common = part / max(primal, dual)
    a = min(1.0, part / primal if p.cautious else common)
    ok, t = False, 0.0
    for tries in range(formulas.CUTS + 1):
        a *= formulas.SHORTER if tries else 1.0
        ok, t = _trial(A, b, ptr, dims, lo, hi, w, r, p, a, mu, fall)
        if ok:
            break
    if ok:
        _move(A, b, ptr, dims, w, r, min(a, common))
    short = (p.short + 1) % 4 if a < formulas.SHORT_STEP or not ok else 0
    t = t if ok else p.t
    p = Phase(
        t, p.rho, p.weight, p.elastic, p.stage, short, p.age + 1, p.cautious, p.target, p.slight
    )  # fmt: skip
    if p.cautious:
        return ok, _lowered_target(w, r, p, fall, count)
    if not ok or (p.age > formulas.PATIENCE and not falls):
        # go on, from an interior point nearby, with the monotone barrier
        return True, Phase(t, p.rho, p.weight, p.elastic, p.stage, 0, -1, True, 1.0, p.slight)
    return True, p


@compiled
def _aim(w: Any, r: Room, p: Phase, least: float, total: float, mu: float, a: float) -> None:
    """Set what products the corrector aims at, after a predictor that may go the part ``a`` of its way."""
    ahead = 0.0
    for k in range(r.M):
        if w[r.on + k] > 0:
            ahead += (w[r.S + k] + a * w[r.dS + k]) * (w[r.L + k] + a * w[r.dL + k])
    sigma = centring(ahead / total, p.short, least / mu)
    # after a short step: plain centring; the second-order term is trusted as far as the predictor could go
    trust = 0.0 if p.short > 0 else a * a
    for k in range(r.M):
        w[r.aim + k] = sigma * mu - trust * w[r.dS + k] * w[r.dL + k] if w[r.on + k] > 0 else 0.0


@compiled
def _move(A: Any, b: Any, ptr: Any, dims: Any, w: Any, r: Room, a: float) -> None:
    """Make the end of the trial step the new iterate."""
    for v in range(len(dims)):
        w[r.y + v] = w[r.yt + v]
    for k in range(r.m + 1):
        w[r.F + k] = w[r.Ft + k]
    for j in range(b.size):
        w[r.W + j] = w[r.Wt + j]
    for k in range(r.M):
        if w[r.on + k] > 0:
            w[r.S + k] = w[r.St + k]
            w[r.L + k] += a * w[r.dL + k]
    slopes(A, ptr, dims, w, r)


@compiled
def _lowered_target(w: Any, r: Room, p: Phase, fall: float, count: float) -> Phase:
    """Keep multipliers near target / slack, lower the target once the barrier is minimised."""
    for k in range(r.M):
        if w[r.on + k] > 0:
            w[r.L + k] = near(w[r.L + k], p.target / w[r.S + k])
    least = formulas.LEAST_ELASTIC * p.rho if p.elastic else formulas.LEAST_MU
    target = max(0.1 * p.target, least) if minimised(fall, p.target, count) else p.target
    return Phase(p.t, p.rho, p.weight, p.elastic, p.stage, p.short, p.age, True, target, p.slight)


@compiled
def change(
    w: Any, r: Room, lo: Any, hi: Any, p: Phase, proof: float, worst: float, any_design: bool
) -> Phase:
    """Let go of t where it may, else make it dearer or set the objective aside; come back with a large penalty."""
    if not p.elastic:
        return p
    total, _, _ = products(w, r)
    room = True
    for k in range(r.m):
        if w[r.on + k] > 0:
            room = room and roomy(w[r.F + k + 1], w[r.S + k])
    presses = p.stage == 0 and (any_design or stuck(pressure(w, r), p.rho, total, p.t))
    back = p.stage == 1 and total < formulas.DONE and worst <= formulas.FEASIBLE
    if not room and (back or (presses and p.rho < formulas.TOP_PENALTY and not any_design)):
        # all products grow alike, so the iterate stays centred
        dearer = formulas.LAST_PENALTY / p.rho if back else formulas.DEARER
        for k in range(r.M):
            w[r.L + k] *= dearer
        stage, age, slight = (2, 0, max(proof, 0.0)) if back else (0, p.age, p.slight)
        return Phase(
            p.t, dearer * p.rho, 1.0, True, stage, p.short, age, p.cautious, dearer * p.target, slight
        )
    if not room and not presses:
        return p
    if room:
        w[r.on + r.m], w[r.L + r.m] = 0.0, 0.0
    # from close to the limits phase one would only creep
    t = 0.0 if room else p.t + formulas.LIFT_AGAIN
    slacks(w, r, r.F, r.y, t, lo, hi, r.S)
    if room and p.stage != 1:
        return Phase(0.0, p.rho, p.weight, False, p.stage, p.short, p.age, p.cautious, p.target, p.slight)
    shares = 1.0 if room else 0.0
    for k in range(0 if room else r.m):
        shares += 1.0 / w[r.S + k] if w[r.on + k] > 0 else 0.0
    recentre(w, r, 1.0 / shares)
    if room:
        return Phase(0.0, p.rho, 1.0, False, 2, p.short, 0, p.cautious, 1.0, p.slight)
    return Phase(t, 1.0, 0.0, True, 1, p.short, 0, p.cautious, 1.0 / shares, p.slight)


@compiled
def pressure(w: Any, r: Room) -> float:
    """Sum of the limits' multipliers."""
    total: float = 0.0
    for k in range(r.m):
        if w[r.on + k] > 0:
            total += w[r.L + k]
    return total


@compiled
def keep(w: Any, r: Room) -> None:
    """Remember this iterate as the best."""
    for v in range(r.n):
        w[r.yb + v] = w[r.y + v]
    for k in range(r.M):
        w[r.Lb + k] = w[r.L + k] if w[r.on + k] > 0 else 0.0


@compiled
def iterate(
    A: Any, b: Any, ptr: Any, dims: Any, lo: Any, hi: Any, w: Any, r: Room, tol: float, limit: int,
    enough: float,
) -> tuple[bool, bool, bool, float, int]:  # fmt: skip
    """Iterate from y until something is proved: infeasible, settled, penalised, slight, iterations."""
    p = Phase(0.0, formulas.FIRST_PENALTY, 1.0, False, 0, 0, -1, False, 1.0, 0.0)
    score, late, penalised, slight, refuted, i = np.inf, 0, False, 0.0, False, 0
    while i <= limit:
        if p.age < 0:
            p = begin(A, b, ptr, dims, lo, hi, w, r, p)
        bound, proof, worst = certificates(w, r, dims, lo, hi)
        bound = min(bound, w[r.F]) if p.slight > 0 else bound
        within, sum_limits, gap = worst <= formulas.FEASIBLE, pressure(w, r), abs(w[r.F] - bound)
        proved = proof > formulas.FEASIBLE and worst > 0
        ends = not proved and ((within and tol >= formulas.ANY) or bound >= enough)
        total, most, _ = products(w, r)
        # a smaller complementarity pins the variables down where the objective no longer can
        now, left = 1.0 + gap, 0.0 if p.elastic else gap
        if close(w[r.F] - bound, sum_limits, tol):
            now, left = gap + total + max(worst, 0.0), 0.0
        now = now if within else formulas.NOT_WITHIN + max(worst, 0.0)
        falls = steady(now, score)
        late = 0 if now < 0.5 * score or now >= 1 else late + 1
        better = now < score and not refuted
        if proved or ends or better:
            keep(w, r)
        if ends:
            return False, True, False, 0.0 if within and tol >= formulas.ANY else p.slight, i
        refuted = refuted or proved
        if proved and (tol < formulas.BARE or proof >= SHARE_OF_PROOF * worst):
            break
        if better and not proved:
            score = now
            penalised, slight = p.elastic and artefact(sum_limits, p.rho), p.slight
            least = formulas.LEAST_ELASTIC * p.rho if p.elastic else 0.0
            if score < 1 and gap < formulas.SHARP and most <= 2 * max(LEAST, least):
                break
        patience = formulas.LATE_CAUTIOUS if p.cautious else formulas.LATE
        if score < 1 and (late >= patience or not np.isnan(enough)):
            break
        p = change(w, r, lo, hi, p, proof, worst, tol >= formulas.ANY)
        going, p = advance(A, b, ptr, dims, lo, hi, w, r, p, left, falls)
        i += 1
        if not going:
            break
    return refuted, refuted or score < 1, penalised and not refuted, 0.0 if refuted else slight, i
