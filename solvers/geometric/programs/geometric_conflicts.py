"""Whether limits of geometric programs can hold together, for one point and for many, and why there is no design.

Limits are set aside by making their terms nothing.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.system.records import dataclass
from formulations.arithmetics.maxima import SIDE, UP
from formulations.canonical import Canonical
from formulations.grids import divided
from formulations.grids.batch import Batch, alone
from formulations.problem import Problem
from formulations.tolerances import SLACK
from solvers import side_by_side
from solvers.geometric.kernel import gp
from solvers.geometric.kernel.formulas import ANY, BARE, FEASIBLE
from solvers.geometric.kernel.gp_terms import Array, lagrangian, terms
from solvers.geometric.programs import branch, relaxed_limits
from solvers.geometric.programs.nodes import values_beside
from solvers.geometric.programs.optimal_face import Solver
from solvers.mechanisms import conflicts
from solvers.mechanisms.why import Why, any_of, of_each
from solvers.patterns import groups

Bools = NDArray[np.bool_]
COUNTS = (1e-3, 3e-2)
"""Shares of a proof below which a limit may play no part in it."""


def first_minimal(ask: Oracle | Searches | OfCases, *, why: bool = True) -> tuple[Bools, Bools]:
    """Find the first minimal conflict of each point, by size and then by the order of the limits.

    Returns which names (points, names) are in the conflict, and for which points one was found: it holds with the slack
    that limits are granted, and has nothing to do with the edges of the search box. Without ``why`` it is only told
    that there is one.
    """
    sure, within, designs = ask.refuted(why=why)
    members = np.zeros((sure.size, len(ask.names)), bool)
    if not why:
        return members, sure
    some = np.flatnonzero(sure)

    def feasible(own: NDArray[np.intp], kept: Bools) -> Any:
        return ask.feasible(some[own], kept)

    inside = None if within is None else within[some]
    met = [held[some] for held in designs]
    clash = conflicts.minimal_conflicts(
        some.size, len(ask.names), feasible, every=False, within=inside, met=met, few=ask.few
    )
    found = np.zeros(sure.size, bool)
    found[some[clash.owner[clash.sure[clash.owner]]]] = True
    members[some[clash.owner]] = clash.members
    return members, found


def why(problem: Problem) -> Why:
    """What tells why a structured problem, or one with cases, has no design."""
    names = limit_names(problem)
    every = [alone(case, None) for case in problem.cases or (problem,)]
    searched = any(b.arrays.divisors or b.arrays.allowed for b in every)
    met = any_of([oracle(b, conflicts.ONE, names, side_by_side.solve).feasible for b in every])
    ended = set[str]()
    values = of_each(partial(relaxed_limits.of_cases, problem, ended=ended))
    few = conflicts.FEW_SEARCHED if searched else conflicts.FEW_LIMITS
    return Why(names, met, values, lambda _: problem.question, few, ended=lambda: frozenset(ended))


def limit_names(problem: Problem) -> tuple[str, ...]:
    """Names of all limits, in the order of the file; that a variable is discrete goes under its own name."""
    rows = [r for case in problem.cases or (problem,) for r in case.rows or ()]
    named = [r.key.name for r in rows if r.key.side != SIDE]
    return tuple(dict.fromkeys([*named, *(v.name for v in problem.variables if v.discrete)]))


def whose(batch: Batch, names: tuple[str, ...]) -> NDArray[np.int64]:
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


def proofs(batch: Batch, points: NDArray[np.intp], members: Bools, solve: Solver) -> Proofs:
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


def oracle(
    batch: Batch, points: NDArray[np.intp], names: tuple[str, ...], solve: Solver
) -> Oracle | Searches:
    """Return what says whether limits of some points can hold together."""
    if not batch.arrays.divisors and len(batch.arrays.allowed) <= 1:
        return Oracle(batch, points, names, solve)
    return Searches(batch, points, names, solve)


@dataclass(frozen=True, slots=True)
class OfCases:
    """What ``Oracle`` says of a problem with cases: limits can hold together if they can in some case."""

    each: tuple[Oracle | Searches, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all limits."""
        return self.each[0].names

    @property
    def few(self) -> int:
        """See ``conflicts.FEW_LIMITS``."""
        return min(ask.few for ask in self.each)

    def refuted(self, *, why: bool) -> tuple[Bools, None, tuple[()]]:
        """Whether all limits conflict in every case (see ``Searches.refuted``)."""
        return np.all([ask.refuted(why=False)[0] for ask in self.each], axis=0), None, ()

    def feasible(self, points: NDArray[np.intp], kept: Bools) -> conflicts.Codes:
        """Whether there are designs that meet the limits kept (points, names); codes of ``conflicts``."""
        return np.asarray(any_of([ask.feasible for ask in self.each])(points, kept))


@dataclass(frozen=True, slots=True)
class Searches:
    """What ``Oracle`` says, where something divides by sums, or several numbers are whole: each time by a search."""

    batch: Batch
    points: NDArray[np.intp]
    names: tuple[str, ...]
    solve: Solver
    few: int = conflicts.FEW_SEARCHED

    def refuted(self, *, why: bool) -> tuple[Bools, None, tuple[()]]:
        """Whether all limits conflict also with the slack that they are granted, and far out of the box."""
        every = np.ones(len(self.names), bool)
        return self._met(self.batch.farther(), self.points, every, slack=SLACK) == gp.INFEASIBLE, None, ()

    def feasible(self, points: NDArray[np.intp], kept: Bools) -> conflicts.Codes:
        """Whether there are designs that meet the limits kept (points, names); codes of ``conflicts``."""
        near, far = partial(self._searched, self.batch), partial(self._searched, self.batch.farther())
        return np.asarray(conflicts.in_both(near, far)(points, kept))

    def _searched(self, box: Batch, own: NDArray[np.intp], kept: Bools) -> conflicts.Codes:
        sets, found = list(groups(kept)), np.zeros(len(kept), np.int8)
        asked = [partial(self._met, box, self.points[own[which]], kind) for which, kind in sets]
        for (which, _), status in zip(sets, side_by_side.run(asked), strict=True):
            found[which] = conflicts.codes(status)
        return found

    def _met(self, b: Batch, points: NDArray[np.intp], kept: Bools, *, slack: float = 0.0) -> Any:
        """Whether the limits kept can hold together with some slack, whatever the objective and the user's bounds."""
        wanted = {n for n, k in zip(self.names, kept, strict=True) if k}
        c = divided.any_design(divided.take(b.arrays, points))
        c = divided.kept(c, [key.name in wanted or key.side == SIDE for key in c.keys])
        whole = {i: logs for i, logs in c.allowed.items() if c.names[i] in wanted}
        low, high = (end[points] for end in b.box(own=False))
        low[:, list(whole)], high[:, list(whole)] = c.low[:, list(whole)], c.high[:, list(whole)]
        c = divided.eased(c, np.log1p(slack)) if slack else c
        c = replace(c, low=low, high=high, allowed=whole)
        return branch.search(c, self.solve, any_design=True).status


class Oracle:
    """Says whether some limits can hold together, whatever the objective and the bounds of the box."""

    few = conflicts.FEW_LIMITS

    def __init__(self, batch: Batch, points: NDArray[np.intp], names: tuple[str, ...], solve: Solver) -> None:
        c = divided.any_design(divided.take(batch.arrays, points))
        self._c, self._exponents, self._logc, self._ptr = c, c.exponents, c.logc, c.ptr
        self.names = names
        self._whose = whose(batch, names)
        # what says which number a maximum is stays exact: slack there would come on top of the limits' own
        self._slack = np.where(self._whose < 0, 0.0, np.log1p(SLACK))
        self._limit_of_term = c.row_of_term[1:] - 1
        self._low, self._high = (end[points] for end in batch.box(own=False))
        self._batch, self._batch_far = batch, batch.farther()
        low, high = self._batch_far.box(own=False)
        self._far = low[points], high[points]
        self._solve = solve
        self._points, self._discrete = points, batch.discrete
        self._own = (
            None if self._discrete is None else names.index(batch.problem.variables[self._discrete].name)
        )

    def refuted(self, *, why: bool) -> tuple[Bools, Bools, tuple[Bools, ...]]:
        """Whether all limits conflict (see ``Searches.refuted``), and names (points, names) that do so alone.

        Besides returns, where it is asked ``why``, which names are met at some designs.
        """
        count = len(self._logc)
        everyone, every = np.arange(count), np.ones((count, len(self.names)), bool)
        r = self._eased(everyone, every, BARE)
        sure: Bools = r.status == gp.INFEASIBLE
        share = r.multipliers / np.maximum(r.multipliers.sum(1, keepdims=True), 1e-300)
        members = every
        T = terms(self._exponents, self._lowered(everyone, every), self._ptr)
        for least in COUNTS:
            # the proof is tried with fewer and fewer limits; it is checked, so any share will do
            lam = np.where(share > least, share, 0.0)
            with np.errstate(all="ignore"):
                proved = lagrangian(T, *self._far, r.y, lam, 0.0) > 0
            named = np.stack([(lam > 0)[:, self._whose == i].any(1) for i in range(len(self.names))], axis=1)
            members = np.where((sure & proved)[:, None], named, members)
        return sure, members, self._met(r.y) if why else ()

    def _met(self, y: Array) -> tuple[Bools, ...]:
        """Which names are met at designs y, in the middle of the box, and at its lower and at its upper ends.

        None, where a design does not meet what is no limit. At the ends alone a discrete variable has allowed values.
        """
        found = []
        for k, design in enumerate((y, *corners(self._c, self._batch.problem))):
            held = gp.evaluate(self._exponents, self._logc, self._ptr, design)[:, 1:] <= FEASIBLE
            met = np.stack([held[:, self._whose == i].all(1) for i in range(len(self.names))], axis=1)
            if self._own is not None:
                met[:, self._own] &= k > 1
            found.append(met & held[:, self._whose < 0].all(1, keepdims=True))
        return tuple(found)

    def feasible(self, points: NDArray[np.intp], kept: Bools) -> conflicts.Codes:
        """Whether there are designs that meet the limits kept (points, names); codes of ``conflicts``."""
        near = partial(self._feasible_in, self._batch, (self._low, self._high))
        far = partial(self._feasible_in, self._batch_far, self._far)
        return np.asarray(conflicts.in_both(near, far)(points, kept))

    def _feasible_in(
        self, b: Batch, wide: tuple[Array, Array], points: NDArray[np.intp], kept: Bools
    ) -> conflicts.Codes:
        """The same in a box, without the user's bounds that of ``wide``; ``b``: with the ends of that box."""
        logc, low, high = self._kept(points, kept), wide[0][points], wide[1][points]
        v = self._discrete
        if v is None:
            r = self._solve(self._exponents, logc, self._ptr, low, high, tol=ANY)
            return conflicts.codes(r.status)
        whole, own = np.flatnonzero(kept[:, self._own]), self._points[points]
        ends = b.low[own, v], b.high[own, v]
        low[whole, v], high[whole, v] = ends[0][whole], ends[1][whole]
        # the least value of the variable, and where it has to be an allowed one the greatest as well
        rows = np.concatenate([np.arange(points.size), whole])
        exponents = np.repeat(self._exponents[None], rows.size, axis=0)
        exponents[:, 0, v] = np.repeat([1.0, -1.0], [points.size, whole.size])
        r = self._solve(exponents, logc[rows], self._ptr, low[rows], high[rows])
        found = conflicts.codes(r.status[: points.size])
        reached = np.where(np.isfinite(r.bound), r.bound, r.value)
        logs, least, greatest = b.arrays.allowed[v], reached[whole], -reached[points.size :]
        held = values_beside(logs, least, ends[0][whole], ends[1][whole])[1] <= greatest + 1e-9
        found[whole[(found[whole] == conflicts.CAN_HOLD) & ~held]] = conflicts.CANNOT_HOLD
        return found

    def proof(self, kept: Bools) -> tuple[gp.Result, Array]:
        """Return the proofs that the limits kept (points, names) conflict, and the limits' slopes where they stand."""
        everyone = np.arange(len(self._logc))
        r = self._eased(everyone, kept, BARE)
        return r, gp.gradients(self._exponents, self._kept(everyone, kept), self._ptr, r.y)[:, 1:]

    def inside(self, points: NDArray[np.intp], kept: Bools) -> tuple[Array, Bools]:
        """Return designs well within the limits kept, and whether they meet them."""
        logc = self._kept(points, np.broadcast_to(kept, (points.size, kept.size)))
        r = self._solve(self._exponents, logc, self._ptr, self._low[points], self._high[points])
        return r.y, np.asarray(r.status == gp.OPTIMAL)

    def _eased(self, points: NDArray[np.intp], kept: Bools, tol: float = ANY) -> gp.Result:
        low, high = self._far[0][points], self._far[1][points]
        return self._solve(self._exponents, self._lowered(points, kept), self._ptr, low, high, tol=tol)

    def _lowered(self, points: NDArray[np.intp], kept: Bools) -> Array:
        logc = self._kept(points, kept)
        logc[:, 1:] -= self._slack[self._limit_of_term]
        return logc

    def _kept(self, points: NDArray[np.intp], kept: Bools) -> Array:
        logc: Array = self._logc[points].copy()
        place = self._whose[self._limit_of_term]
        logc[:, 1:][(place >= 0) & ~kept[:, place]] = -np.inf
        return logc
