"""Whether limits of geometric programs and ratios of sums can hold together, for one point and for many."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dse.system.arrays import Array, Bools, Codes, Indices, Integers
from dse.system.records import dataclass
from formulations.arithmetics.many import plain
from formulations.arithmetics.maxima import SIDE, UP, joined
from formulations.canonical import Canonical
from formulations.grids import divided
from formulations.grids.batch import Batch
from formulations.problem import Goal, Problem, Row
from formulations.tolerances import SLACK
from scenarios.question import Decision
from solvers import side_by_side
from solvers.geometric.kernel import gp
from solvers.geometric.kernel.formulas import BARE, FEASIBLE
from solvers.geometric.kernel.gp_terms import lagrangian, terms
from solvers.geometric.programs import branch, nodes
from solvers.geometric.programs.optimal_face import Solver
from solvers.mechanisms import conflicts
from solvers.mechanisms.why import any_of, merged
from solvers.patterns import groups

Boxed = tuple[Canonical, Canonical]
"""The limits of some points: in the box of what has to be whole, and in one without the user's bounds."""
PROPORTIONAL = 1e-12
"""Of their factor: by so much those of the terms of proportional sums differ by rounding."""
COUNTS = (1e-3, 3e-2)
"""Shares of a proof below which a limit may play no part in it."""


def first_minimal(cases: Sequence[Oracle], *, why: bool = True) -> tuple[Bools, Bools]:
    """Find the first minimal conflict of each point, by size and then by the order of the limits.

    Limits can hold together where they can in one of several cases. Returns which names (points, names) are in the
    conflict, and for which points one was found: it holds with the slack that limits are granted, and has nothing to do
    with the edges of the search box. Without ``why`` it is only told that there is one.
    """
    alone, names = len(cases) == 1, cases[0].names
    refuted = [ask.refuted(why=why and alone) for ask in cases]
    sure: Bools = np.all([told for told, *_ in refuted], axis=0)
    members = np.zeros((sure.size, len(names)), bool)
    if not why:
        return members, sure
    some, met = np.flatnonzero(sure), any_of([ask.feasible for ask in cases])
    _, within, designs = refuted[0]
    clash = conflicts.minimal_conflicts(
        some.size,
        len(names),
        lambda own, kept: met(some[own], kept),
        every=False,
        within=within[some] if alone and within is not None else None,
        met=[held[some] for held in designs],
        few=min(ask.few for ask in cases),
    )
    found = np.zeros(sure.size, bool)
    found[some[clash.owner[clash.sure[clash.owner]]]] = True
    members[some[clash.owner]] = clash.members
    return members, found


def limit_names(problem: Problem) -> tuple[str, ...]:
    """Names of all limits, in the order of the file; that a variable is discrete goes under its own name.

    That what is counted is whole is nobody's limit; a list of it is one.
    """
    rows = [r for case in problem.cases or (problem,) for r in case.rows or ()]
    named = [r.key.name for r in rows if r.key.side != SIDE]
    discrete = {v.name for v in problem.variables if v.discrete and _may_be_let_go(v.decision)}
    return merged(
        [tuple(dict.fromkeys(named)), [v.name for v in problem.variables if v.name in {*named, *discrete}]]
    )


def _may_be_let_go(d: Decision) -> bool:
    """Whether gaps of a number are somebody's limit: that what is counted is whole is not, a list of it is.

    Nor is a menu of what divides something.
    """
    return d.menu is None and (not d.count or d.values is not None)


def whose(batch: Batch, names: tuple[str, ...]) -> Integers:
    """Return the place of each limit among the names; -1 of what only says which number a maximum is."""
    places = {name: i for i, name in enumerate(names)}
    return np.array([-1 if key.side == SIDE else places[key.name] for key in batch.keys], dtype=np.int64)


def corners(c: Canonical, problem: Problem) -> tuple[Array, ...]:
    """Return designs in the middle, at the lower and at the upper ends of the box and of limits on single variables.

    Unknowns for maxima are as near to these as their rows let them be. Whoever uses a design has to look at all rows.
    """
    low, high = c.low.copy(), c.high.copy()
    for k in range(1, c.ptr.size - 1):
        used = np.flatnonzero(c.exponents[c.ptr[k]])
        if c.ptr[k + 1] == c.ptr[k] + 1 and used.size == 1 and used[0] not in c.allowed:
            i, power = used[0], c.exponents[c.ptr[k], used[0]]
            end, nearer = (high, np.minimum) if power > 0 else (low, np.maximum)
            end[:, i] = nearer(end[:, i], -c.logc[:, c.ptr[k]] / power)
    return tuple(_with_nearest_maxima(c, problem, y) for y in ((low + high) / 2, low, high))


def _with_nearest_maxima(c: Canonical, problem: Problem, y: Array) -> Array:
    """The same designs with unknowns for maxima as near to them as their rows let them be."""
    decided = np.array([not v.auxiliary for v in problem.variables])
    ups = np.array([v.name.endswith(UP) for v in problem.variables])
    y = np.where(decided, y, np.where(ups, c.high, c.low))
    rows = []
    for k in (k for k, key in enumerate(c.keys, start=1) if key.side == SIDE):
        e = c.exponents[c.ptr[k] : c.ptr[k + 1]]
        own = ~decided & np.where(ups, (e > 0).all(0), (e < 0).all(0))
        rows += [(k, i, e[0, i]) for i in np.flatnonzero(own)[:1]]
    for _ in rows:
        over = np.maximum(gp.evaluate(c.exponents, c.logc, c.ptr, y), 0.0)
        if all((over[:, k] <= FEASIBLE).all() for k, *_ in rows):
            break
        now = y.copy()
        for k, i, power in rows:
            nearest = np.maximum if power < 0 else np.minimum
            y[:, i] = nearest(y[:, i], now[:, i] - over[:, k] / power)
    return y


def constant_product(one: Row | Goal, other: Row | Goal) -> Any:
    """What the product of two ratios is (an array where their coefficients are); None where it is no constant."""
    top = joined(one.numerator * other.numerator)
    bottom = joined(one.denominator * other.denominator)
    if set(top.terms) != set(bottom.terms):
        return None
    factors = np.stack(
        np.broadcast_arrays(*(plain(c) / plain(bottom.terms[k]) for k, c in top.terms.items()))
    )
    alike = (factors.max(axis=0) <= factors.min(axis=0) * (1.0 + PROPORTIONAL)).all()
    return factors.max(axis=0) if alike else None


def _opposed(batch: Batch, names: tuple[str, ...]) -> list[tuple[Bools, Bools]]:
    """Pairs of limits on one number from both sides: which names (2 of them), and at which points they conflict.

    Of rows ``r <= 1`` and ``s <= 1`` of which the product is a constant above 1 only one can hold, with the slack that
    both are granted.
    """
    found = []
    asked = [r for r in batch.problem.rows or () if r.key.side != SIDE]
    for one, other in itertools.combinations(asked, 2):
        factor = constant_product(one, other)
        if factor is not None and one.key.name != other.key.name:
            clash = np.broadcast_to(factor > (1.0 + SLACK) ** 2 * (1.0 + PROPORTIONAL), batch.shape).ravel()
            found.append((np.isin(names, (one.key.name, other.key.name)), clash))
    return found


@dataclass(frozen=True, slots=True)
class Proofs:
    """Why some points have no design, and that each limit of the conflict is part of it.

    ``y`` and ``shares`` (points, limits): where the conflict is proved by which weights, of sum 1; ``tilt``: the slope
    of the limits so weighted, as a part of what it would be if no two of them pulled against each other. ``witness``
    (points, names, variables): designs that meet all limits but those of a name in the conflict. ``sure``: where all of
    this could be found.
    """

    y: Array
    shares: Array
    tilt: Array
    witness: Array
    sure: Bools


def proofs(batch: Batch, points: Indices, members: Bools, solve: Solver) -> Proofs:
    """Prove the conflicts of some points (points, names) by their limits alone, and that none of these may go."""
    names = limit_names(batch.problem)
    ask = Oracle(batch, points, names, solve)
    r, slopes = ask.proof(members)
    share = r.multipliers / np.maximum(r.multipliers.sum(1, keepdims=True), 1e-300)
    share = np.where(share > min(COUNTS), share, 0.0)
    sure = np.asarray(r.status == gp.INFEASIBLE)
    witness = np.zeros((points.size, len(names), r.y.shape[1]))
    for i in range(len(names)):
        some = np.flatnonzero(members[:, i])
        if some.size:
            witness[some, i], met = ask.inside(some, np.arange(len(names)) != i)
            sure[some] &= met
    pulls = share[:, :, None] * slopes
    tilt = pulls.sum(1) / np.maximum(np.abs(pulls).sum(1), 1e-300)
    return Proofs(r.y, share, tilt, witness, sure)


class Oracle:
    """Says whether some limits can hold together at points, whatever the objective and the bounds of the box.

    Limits are set aside by making their terms nothing. Where something has to be whole, or divides by a sum, a search
    tells it.
    """

    def __init__(
        self,
        batch: Batch,
        points: Indices,
        names: tuple[str, ...],
        solve: Solver,
        most: int | None = None,
    ) -> None:
        self.names, self._solve, self._problem = names, solve, batch.problem
        self._whose = whose(batch, names)
        self._near, self._far = (_boxed(b, points) for b in (batch, batch.farther()))
        c = self._near[0]
        decided = {v.name: v.decision for v in batch.problem.variables}
        self._counts = [i for i in c.allowed if (d := decided[c.names[i]]).count or d.menu is not None]
        self._listed = {i: _may_be_let_go(decided[c.names[i]]) for i in self._counts}
        whole = {c.names[i] for i in c.allowed if _may_be_let_go(decided[c.names[i]])}
        self._whole = np.array([n in whole for n in names], dtype=bool)
        self._searched = bool(c.divisors or c.allowed)
        self._pairs = [(pair, clash[points]) for pair, clash in _opposed(batch, names)] if c.divisors else []
        usual = branch.MOST_NODES_OF_A_SET if solve is side_by_side.solve else branch.MOST_NODES_PER_POINT
        self._most = usual if most is None else most
        self.few = conflicts.FEW_SEARCHED if self._searched else conflicts.FEW_LIMITS

    def refuted(self, *, why: bool) -> tuple[Bools, Bools | None, tuple[Bools, ...]]:
        """Whether all limits conflict also with the slack that they are granted, and far out of the box.

        And names (points, names) that do so alone; and where it is asked ``why``, which names are met at some designs.
        None where a search told it.
        """
        everyone = np.arange(len(self._near[0].logc))
        every = np.ones((everyone.size, len(self.names)), bool)
        if self._near[0].divisors:
            return self._search(self._far, everyone, every, SLACK).status == gp.INFEASIBLE, None, ()
        c = self._asked(self._far, everyone, every, SLACK, whole=False)
        r = self._solve(c.exponents, c.logc, c.ptr, c.low, c.high, tol=BARE)
        sure: Bools = r.status == gp.INFEASIBLE
        share = r.multipliers / np.maximum(r.multipliers.sum(1, keepdims=True), 1e-300)
        members, T = every, terms(c.exponents, c.logc, c.ptr)
        for least in COUNTS:
            # the proof is tried with fewer and fewer limits; it is checked, so any share will do
            lam = np.where(share > least, share, 0.0)
            with np.errstate(all="ignore"):
                proved = lagrangian(T, c.low, c.high, r.y, lam, 0.0) > 0
            named = np.stack([(lam > 0)[:, self._whose == i].any(1) for i in range(len(self.names))], axis=1)
            members = np.where((sure & proved)[:, None], named, members)
        rest = np.flatnonzero(~sure)
        if self._near[0].allowed and rest.size:
            sure[rest] = self._search(self._far, rest, every[rest], SLACK).status == gp.INFEASIBLE
        return sure, members, self._met(r.y) if why else ()

    def _met(self, y: Array) -> tuple[Bools, ...]:
        """Which names are met at designs y, in the middle of the box, and at its lower and at its upper ends.

        None, where a design does not meet what is no limit. At the ends alone a discrete variable has allowed values.
        """
        found, c = [], self._near[0]
        for k, design in enumerate((y, *corners(c, self._problem))):
            held = gp.evaluate(c.exponents, c.logc, c.ptr, design)[:, 1:] <= FEASIBLE
            met = np.stack([held[:, self._whose == i].all(1) for i in range(len(self.names))], axis=1)
            met[:, slice(None) if self._counts else self._whole] &= k > 1
            found.append(met & held[:, self._whose < 0].all(1, keepdims=True))
        return tuple(found)

    def feasible(self, points: Indices, kept: Bools) -> Codes:
        """Whether there are designs that meet the limits kept (points, names); codes of ``conflicts``."""
        found, known = np.full(len(kept), conflicts.CANNOT_HOLD, np.int8), np.zeros(len(kept), bool)
        for pair, clash in self._pairs:
            known |= clash[points] & (kept >= pair).all(1)
        near, far = (partial(self._feasible_in, box) for box in (self._near, self._far))
        rest = np.flatnonzero(~known)
        if rest.size:
            found[rest] = conflicts.in_both(near, far)(points[rest], kept[rest])
        return found

    def _feasible_in(self, box: Boxed, points: Indices, kept: Bools) -> Codes:
        # a search goes over the limits of one set
        sets = [which for which, _ in groups(kept)] if self._searched else [np.arange(len(kept))]
        asked = [partial(self._search, box, points[which], kept[which]) for which in sets]
        found = np.zeros(len(kept), np.int8)
        for which, r in zip(sets, side_by_side.run(asked), strict=True):
            found[which] = conflicts.codes(r.status)
        return found

    def _search(self, box: Boxed, points: Indices, kept: Bools, slack: float = 0.0) -> branch.Searched:
        asked = self._asked(box, points, kept, slack)
        return branch.dividing(asked, self._solve, most=self._most, any_design=True)

    def _asked(
        self,
        box: Boxed,
        points: Indices,
        kept: Bools,
        slack: float = 0.0,
        *,
        whole: bool = True,
    ) -> Canonical:
        """Limits kept (points, names), with some slack, of the same numbers that have to be ``whole``."""
        c, wide = (divided.take(limits, points) for limits in box)
        names = {n for n, there in zip(self.names, kept[0], strict=True) if there}
        held = [i for i in c.allowed if whole and c.names[i] in names]
        counts = [i for i in self._counts if whole and i not in held]
        low, high, logc = wide.low, wide.high, c.logc.copy()
        low[:, held], high[:, held] = c.low[:, held], c.high[:, held]
        # a list of what is counted leaves whole numbers
        loose = {i: None if self._listed[i] else c.allowed[i] for i in counts}
        for i, values in loose.items():
            # the first and the last whole number without the user's bounds
            low[:, i], high[:, i] = nodes.allowed_ends(values, low[:, i], high[:, i])
        place = self._whose[c.row_of_term[1:] - 1]
        # what says which number a maximum is stays exact: slack there would come on top of the limits' own
        logc[:, 1:] -= np.where(place < 0, 0.0, np.log1p(slack))
        logc[:, 1:][(place >= 0) & ~kept[:, place]] = -np.inf
        c = replace(c, logc=logc, low=low, high=high, allowed={i: c.allowed[i] for i in held} | loose)
        return divided.kept(c, [i < 0 or bool(kept[0, i]) for i in self._whose]) if self._searched else c

    def proof(self, kept: Bools) -> tuple[gp.Result, Array]:
        """Return the proofs that the limits kept (points, names) conflict, and the limits' slopes where they stand."""
        c = self._asked(self._far, np.arange(len(kept)), kept, SLACK)
        r = self._solve(c.exponents, c.logc, c.ptr, c.low, c.high, tol=BARE)
        return r, gp.gradients(c.exponents, c.logc, c.ptr, r.y)[:, 1:]

    def inside(self, points: Indices, kept: Bools) -> tuple[Array, Bools]:
        """Return designs well within the limits kept, and whether they meet them."""
        c = self._asked(self._near, points, np.broadcast_to(kept, (points.size, kept.size)))
        r = self._solve(c.exponents, c.logc, c.ptr, c.low, c.high)
        return r.y, np.asarray(r.status == gp.OPTIMAL)


def alike(batch: Batch, points: Indices) -> tuple[Indices, Indices]:
    """Tell points apart by their limits: the first of each kind, and which kind each is of.

    Why points of one kind have no design is the same: what only the goal depends on plays no part.
    """
    (c, near), (_, far) = (_boxed(b, points) for b in (batch, batch.farther()))
    return divided.same_programs(c, near.low, near.high, far.low, far.high)


def _boxed(batch: Batch, points: Indices) -> Boxed:
    c = divided.any_design(divided.take(batch.arrays, points))
    low, high = (end[points] for end in batch.box(own=False))
    return c, replace(c, low=low, high=high)
