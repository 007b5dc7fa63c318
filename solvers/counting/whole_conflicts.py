"""Why whole numbers of which only a few may be there have no design, at many points at once.

That limits cannot hold together is shown by the multipliers of a linear program, which name the limits that it takes,
or by enumeration; that they can by a design: the least one of some set of amounts, or what the linear program comes to,
rounded up. What was shown once is not asked again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from functools import partial

import numpy as np

from dse.system.arrays import Array, Bools, Codes, Points
from dse.system.records import dataclass
from formulations.arithmetics.many import Differ
from formulations.grids import divided
from solvers.counting import counts, sets
from solvers.counting.counts import Counts, Limit, NotLeast
from solvers.explaining import wider
from solvers.linear import least_parts, milp_conflicts
from solvers.linear.linear_program import weak_duality
from solvers.linear.points import lp
from solvers.many_points.best_of import SURE
from solvers.mechanisms import conflicts
from solvers.mechanisms.alike import each_once
from solvers.mechanisms.conflicts import CAN_HOLD, CANNOT_HOLD, NOT_KNOWN, by_set
from solvers.mechanisms.why import Why
from solvers.outcome import INFEASIBLE, OPTIMAL

WHOLE_ROUNDING = 1e-9
"""What a number of a linear program may be above a whole one by rounding."""
ROW_ROUNDING = 1e-9
"""What forbids an amount is beyond its limit by more than this."""


def why(c: Counts, reach: float) -> Why:
    """What tells why the points have no design in one combination of names.

    ``reach``: how far numbers are searched first where a limit is relaxed.
    """
    question, c = replace(c.question, reach=reach), c.reaching(wider.STEPS[-1])
    names, keys = _limit_names(c), [x.key for x in c.limits]
    known = _Known(c, names, sets.listed(c), sets.numbers(c, [x.form for x in c.limits]))

    def values(some: Points, conflict: Sequence[str]) -> Mapping[str, Array]:
        found = dict[str, Array]()
        for name, asked, first, which in each_once(divided.at(question, some), some.size, conflict):
            c_here = counts.counts(replace(asked, reach=wider.STEPS[-1]), first.size)
            others = np.array([n != name for n in names])
            there = known.met(some[first], others) != CANNOT_HOLD

            def factor(k: int, c_here: Counts = c_here, there: Bools = there) -> Array:
                return np.where(there, _least_factor_by_search(c_here, reach, there, k), np.inf)

            found[name] = conflicts.feasible_values(asked, keys, [name], factor)[name][which]
        return found

    at = partial(divided.at, question)
    return Why(names, by_set(known.met), values, at, always=question.model.always)


def _least_factor_by_search(every: Counts, nearest: float, asked: Bools, which: int) -> Array:
    """The least ratio of a limit (see ``conflicts.Factor``), by the nearest ends of the search that do not hold it.

    ``asked``: the points at which it is wanted.
    """
    found = np.full(len(asked), np.nan)
    for reach in (nearest, *wider.STEPS):
        left = np.flatnonzero(asked & ~np.isfinite(found))
        if not left.size:
            break
        with suppress(NotLeast, Differ):
            near = every.at(left).reaching(reach)
            only = [x for x in (near.limits[which],) if x.only]
            # what counts the things that are there is as little at every design of a set
            c = replace(counts.aimed(near, which), settled=not only)
            for there, all_sets in sets.eased(near, only) if only else [(sets.listed(c), True)]:
                now = _least_factor(c, sets.best(c, there))
                found[left] = np.where(
                    np.isfinite(found[left]) | (np.isinf(now) & ~all_sets), found[left], now
                )
                if np.isfinite(found[left]).all():
                    break
    return found


def _least_factor(c: Counts, best: sets.Best) -> Array:
    """What was minimised at every point, infinite where there is no design and NaN where that is not known."""
    there = np.isfinite(best.value)
    # an end that only the search has may hold the design, or leave out a better one
    free = np.all([u < high for u, high in zip(best.u.values(), c.high, strict=False)], axis=0)
    free &= sets.enclosed(c, best.value)
    with np.errstate(invalid="ignore"):
        now = np.select([there & free, ~there & (best.lost > SURE)], [c.user(best.value), np.inf], np.nan)
    return np.where(best.unsure, np.nan, now)


def _limit_names(c: Counts) -> tuple[str, ...]:
    """Names of the limits that may be in conflict; raises NotLeast where whole numbers may be."""
    names = milp_conflicts.limit_names(c.question, [x.key for x in c.limits])
    if any(d.name in names and not d.count for d in c.question.decide):
        raise NotLeast("whole numbers that the user asks for may be in conflict")
    return names


@dataclass(slots=True)
class _Known:
    """What is known of sets of limits: designs by the limits that they break, proofs by those that they take.

    ``shown``, ``refuted``: at which points (N,), and which limits (N, limits). What a point learns comes of what it
    asked, so that its answers do not depend on other points.
    """

    c: Counts
    names: tuple[str, ...]
    sets: Bools
    rows: Array
    shown: list[tuple[Bools, Bools]] = field(default_factory=list)
    refuted: list[tuple[Bools, Bools]] = field(default_factory=list)

    def met(self, some: Points, kept: Bools) -> Codes:
        """Tell whether the limits ``kept`` can hold together at some points; see ``conflicts.by_set``."""
        left_out = {n for n, k in zip(self.names, kept, strict=True) if not k}
        rows = np.array([x.key.name not in left_out for x in self.c.limits], dtype=bool)
        asked = {x.name for x in self.c.question.limits}
        owned = [x for x, k in zip(self.c.limits, rows, strict=True) if k or x.key.name not in asked]
        # a design that holds more than is wanted is found sooner; what the user asks for may have forbidden it
        by_all, by_owned = (partial(self._by_designs_of_sets, x) for x in (self.c.limits, owned))
        for learn in (self._by_dividing, by_all, by_owned, self._by_sets):
            codes = self._codes(rows)
            left = some[codes[some] == NOT_KNOWN]
            if not left.size:
                break
            mine = np.zeros(self.c.count, dtype=bool)
            mine[left] = True
            learn(rows, mine)
        return self._codes(rows)[some]

    def _codes(self, rows: Bools) -> Codes:
        found = np.full(self.c.count, NOT_KNOWN, np.int8)
        for there, needs in self.refuted:
            found[there & (needs <= rows).all(axis=1)] = CANNOT_HOLD
        for there, broken in self.shown:
            found[there & ~(broken & rows).any(axis=1)] = CAN_HOLD
        return found

    def _limits(self, rows: Bools) -> list[Limit]:
        return [x for x, k in zip(self.c.limits, rows, strict=True) if k]

    def _by_dividing(self, rows: Bools, mine: Bools) -> None:
        """Ask whether even numbers that could be divided meet the limits; if so, try these numbers rounded up."""
        count = len(self.c.names)
        numbers, flags, right = self.rows[..., :count], self.rows[..., count:-1], self.rows[..., -1]
        plain_ones = rows & ~flags.any(axis=(0, 2))
        barring = rows & ~numbers.any(axis=(0, 2)) & (flags >= 0.0).all(axis=(0, 2))
        barred = barring[:, None] & (flags > 0.0) & (flags + right[..., None] > ROW_ROUNDING)
        low, high = self.c.low[:count], self.c.high[:count]
        absent = barred.any(axis=1) @ self.c.own.astype(float) > 0.0
        ends = np.broadcast_to(low, absent.shape), np.where(absent, np.minimum(high, low), high)
        own = np.concatenate([numbers, right[..., None]], axis=-1)[:, plain_ones]
        equal = np.zeros(own.shape[1], dtype=bool)
        found = lp.solved(own, equal, *ends, [], self.c.count)
        missed = weak_duality(own, equal, *ends, np.zeros(count + 1), found.y)
        size = (np.maximum(found.y, 0.0) * np.abs(own[:, :, -1])).sum(axis=1)
        needs: Bools = np.asarray(barred.any(axis=2))
        needs[:, plain_ones] = found.y > 0.0
        self.refuted.append((mine & (found.end == INFEASIBLE) & (missed > SURE * size), needs))
        there = mine & (found.end == OPTIMAL)
        if there.any():
            self._show(self._rounded(own, ends), there)

    def _rounded(self, rows: Array, ends: tuple[Array, Array]) -> Array:
        """Numbers that could be divided and meet ``rows`` with as much to spare as there is, rounded up."""
        spared = np.insert(rows, -1, -np.abs(rows[..., -1]), axis=-1)
        low, high = (np.insert(e, e.shape[1], t, axis=1) for e, t in zip(ends, (-1.0, 0.0), strict=True))
        equal, aim = np.zeros(rows.shape[1], dtype=bool), np.eye(spared.shape[-1])[-2]
        u = lp.solved(spared, equal, low, high, [aim], self.c.count).u
        start, own = np.ceil(u[:, :-2] - WHOLE_ROUNDING).T, np.moveaxis(rows, 0, -1)
        free, most = np.zeros((len(start), 1)), self.c.high[: len(start), None]
        return least_parts.best(own[:, :-1], own[:, -1], start, most, free).u

    def _by_designs_of_sets(self, also: Collection[Limit], rows: Bools, mine: Bools) -> None:
        """Look at the best design of each set of amounts."""
        there, u = np.zeros(self.c.count, dtype=bool), np.zeros((len(self.c.names), self.c.count))
        for found in sets.best_of_sets(self.c, self._limits(rows), self.sets, also):
            good = found.there & found.met & ~found.near
            now = mine & ~there & good.any(axis=0)
            u = np.where(now, found.u[: len(u), good.argmax(axis=0), np.arange(self.c.count)], u)
            there |= now
            if (there >= mine).all():
                break
        self._show(u, there)

    def _by_sets(self, rows: Bools, mine: Bools) -> None:
        """Look for the best design of all sets, of which more and more are allowed where a limit on them is dropped."""
        dropped = [x for x, k in zip(self.c.limits, rows, strict=True) if x.only and not k]
        c = replace(self.c, limits=tuple(self._limits(rows)), ties=(), under=None)
        for there, every in sets.eased(self.c, dropped) if dropped else [(self.sets, True)]:
            best = sets.best(c, there)
            nowhere = np.isinf(best.value) & (best.lost > SURE) & ~best.unsure
            if every:
                self.refuted.append((mine & nowhere, np.tile(rows, (self.c.count, 1))))
            self._show(np.stack([*best.u.values()]), mine & np.isfinite(best.value))
            mine = mine & nowhere
            if not mine.any():
                break

    def _show(self, u: Array, there: Bools) -> None:
        """Take in a design ``u`` (n, N) of some points."""
        if not there.any():
            return
        amounts = self.c.own.astype(float) @ (u > 0.0) > 0.0
        at = np.concatenate([u, amounts, np.ones((1, self.c.count))]).T
        over = np.einsum("plj,pj->pl", self.rows, at)
        size = np.einsum("plj,pj->pl", np.abs(self.rows), np.abs(at))
        low, high = (e[: len(u), None] for e in (self.c.low, self.c.high))
        ended = ((u >= low) & (u <= high)).all(axis=0)
        self.shown.append((there & ended, over > least_parts.ROW_MET * size))
