"""One design for many worlds, where each world is a linear or mixed-integer program: a master program and cuts.

Shares, counts and picks are decided once and stand in every world; a maximum (the time of the slowest processor) has a
value of its own in each. Wherever it only harms it is at least each of its arguments, so putting the argument that is
largest in world i at a design in its place gives an affine function of the decided columns that is nowhere above the
true one and equal to it at that design. The measure is the largest of weighted means of such functions over the worlds
(``formulations.uncertainty.measures``): each is one row of the master. Limits are held in the worlds where they
were broken.

The bound is that of the master: weak duality for linear programs, HiGHS' branch and bound for mixed-integer ones.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from formulations.arithmetics.forms import Entry
from formulations.row_keys import RowKey
from formulations.tolerances import BINDS, SLACK
from formulations.uncertainty.measures import Weighing
from formulations.uncertainty.robust_program import Posed, posed
from formulations.uncertainty.worlds import Cap, Judged, Worlds, judged
from results.solution import Status
from solvers.linear import highs, programs
from solvers.linear.linear_program import End, Numbers, Result
from solvers.outcome import Outcome
from solvers.robust.masters import robust_geometric, robust_program_ties
from solvers.robust.masters.robust_geometric import DISCRETE, MASTER_CLOSE, WORLD_BROKEN, Elasticity, Found

Array = NDArray[np.float64]
PROGRAM_ROUNDS = 300
STEP, FELT = 1e-4, 1e-3
"""A limit is relaxed by STEP to see what it is worth; what lies below FELT percent per percent is rounding."""
SOLVER = "HiGHS and cuts over samples"


class _Master:
    """The program that grows; its last column but the constant is the measure."""

    def __init__(self, asked: Posed, kept: frozenset[str] | None) -> None:
        self.posed, self.first = asked, asked.parts[0]
        caps = [c for c in asked.worlds.caps if kept is None or c.name in kept]
        self.caps: dict[RowKey, Cap] = {c.key: c for c in caps}
        own = {c.key for c in asked.worlds.caps}
        self.names = [k for k in asked.keys if k not in own and (kept is None or k.name in kept)]
        self.rows: list[Array] = []
        self.cuts: list[Array] = []
        self.held: set[tuple[RowKey, int]] = set()
        p, shared = asked.program, asked.shared
        low, high = (
            np.broadcast_to(v, (1, len(p.columns)) if v.ndim == 1 else v.shape)[0] for v in (p.low, p.high)
        )
        self.low, self.high, self.integer = low[shared], high[shared], p.integer[shared]

    def numbers(self) -> Numbers:
        """The rows so far over the shared columns, without the measure."""
        rows = np.concatenate([self.first.base, *(r[None] for r in self.rows)])
        equal = np.concatenate([self.first.equal, np.zeros(len(self.rows), bool)])
        return Numbers(rows, equal, self.low, self.high, self.integer)

    def solve(self) -> Result:
        """Minimise the largest of the cuts over the rows so far."""
        size = self.low.size
        rows = self.numbers().rows
        wide = np.insert(rows, size, 0.0, axis=1)
        cuts = np.array([np.insert(c, size, -1.0) for c in self.cuts]).reshape(-1, size + 2)
        ends = [self._ends(c) for c in self.cuts] or [(0.0, 0.0)]
        low, high = min(e[0] for e in ends), max(e[1] for e in ends)
        scale = max(abs(low), 1e-300)
        n = Numbers(
            np.concatenate([wide, cuts]),
            np.concatenate([self.first.equal, np.zeros(len(self.rows) + len(cuts), bool)]),
            np.append(self.low, low - 1e-6 * scale),
            np.append(self.high, high),
            np.append(self.integer, False),
        )
        cost = np.zeros(size + 2)
        cost[size] = 1.0
        return highs.minimise(n, cost)

    def _ends(self, cut: Array) -> tuple[float, float]:
        a = cut[:-1]
        with np.errstate(invalid="ignore"):
            sides = np.nan_to_num(np.stack([a * self.low, a * self.high]), nan=0.0)
        low, high = float(sides.min(0).sum() + cut[-1]), float(sides.max(0).sum() + cut[-1])
        return (low if np.isfinite(low) else -1e15), high + 0.01 * abs(high) + 1e-12 if np.isfinite(
            high
        ) else np.inf

    def add(self, u: Array, ratios: Mapping[RowKey, Array] | None = None) -> bool:
        """Hold each limit in the world where it is broken most (without ``ratios``: nearest to it)."""
        grown = False
        for key in self.names:
            cut = self.posed.limit(key, u)
            level = cut @ u if ratios is None else np.nan_to_num(ratios[key], nan=np.inf)
            i = int(level.argmax())
            if ratios is not None and level[i] <= 1 + WORLD_BROKEN:
                continue
            if not any(np.array_equal(cut[i], r) for r in self.rows):
                self.rows.append(cut[i])
                self.held.add((key, i))
                grown = True
        for key, cap in self.caps.items():
            if ratios is not None and ratios[key][0] <= 1 + WORLD_BROKEN:
                continue
            cuts = self.posed.limit(key, u)
            made = cap.measure.weights(cuts @ u) @ cuts
            if not any(np.array_equal(made, r) for r in self.rows):
                self.rows.append(made)
                grown = True
        return grown

    def cut(self, u: Array, measure: Weighing) -> tuple[float, bool]:
        """Add the cut of the measure at a design; its value there, and whether the cut is new."""
        cuts = self.posed.losses(u)
        losses = cuts @ u
        made = measure.weights(losses) @ cuts
        fresh = not any(np.array_equal(made, c) for c in self.cuts)
        if fresh:
            self.cuts.append(made)
        return float(measure.value(losses)), fresh


def minimise(
    worlds: Worlds,
    measure: Weighing,
    *,
    kept: frozenset[str] | None = None,
    weigh: bool = True,
    tied: bool = True,
) -> Found:
    """Find the design whose objective has the least measure, with every limit held in every world.

    ``weigh``: tell what the limits are worth, where nothing is whole. ``tied``: settle ties by the question's rule.

    Raises NotPosynomial where the worlds are not programs of this kind, with the reason.
    """
    asked = posed(worlds)
    master, sign = _Master(asked, kept), asked.program.sign
    u = _starting_design(asked, master)
    master.add(u)
    if asked.goal:
        master.cut(u, measure)
    text = programs.MILP if master.integer.any() else programs.LP
    for _ in range(PROGRAM_ROUNDS):
        found = master.solve()
        if found.end is not End.FOUND or found.u is None:
            return _found_of_empty_master(found, master, worlds)
        u = np.append(found.u[:-2], 1.0)
        x = _design_of_shared(asked, u)
        at = judged(worlds, x)
        grown = master.add(u, at.ratios)
        if not asked.goal:
            if not grown:
                x = _design_by_ties(asked, master, measure, u) if tied else x
                return Found(Outcome(Status.FEASIBLE, x, None, "a design that meets all limits", SOLVER))
            continue
        value, fresh = master.cut(u, measure)
        if not grown and (value - found.bound <= MASTER_CLOSE * abs(value) or not fresh):
            bound = sign * min(found.bound, value)
            needed, cuts = _needed_worlds(master), len(master.cuts)
            if tied:
                x = _design_by_ties(asked, master, measure, u)
                at = judged(worlds, x)
            outcome = Outcome(Status.OPTIMAL, x, bound, text, SOLVER)
            proved = Found(outcome, needed=needed, cuts=cuts, unweighed=DISCRETE)
            if not weigh or master.integer.any():
                return proved
            return dataclasses.replace(
                proved,
                elasticities=_limit_elasticities(worlds, measure, kept, at, bound),
                unweighed=robust_geometric.UNKNOWN,
            )
    return Found(Outcome(Status.ERROR, solver=SOLVER, message=f"{PROGRAM_ROUNDS} rounds of cuts did not end"))


def _design_by_ties(asked: Posed, master: _Master, measure: Weighing, u: Array) -> dict[str, float]:
    """Return the design that the rule of ties takes of those as good as ``u``."""

    def ratios(at: Array) -> Mapping[RowKey, Array]:
        return judged(asked.worlds, _design_of_shared(asked, at)).ratios

    return _design_of_shared(asked, robust_program_ties.settled(asked, master, measure, u, ratios))


def _limit_elasticities(
    worlds: Worlds, measure: Weighing, kept: frozenset[str] | None, at: Judged, now: float
) -> dict[RowKey, Elasticity]:
    """Percent of the measure per percent of each limit of the user's that binds, for relaxing it.

    The optimum is piecewise linear in a limit, so the difference of two optima is its slope unless they are of
    different pieces.
    """
    found: dict[RowKey, Elasticity] = {}
    own = {x.name for x in worlds.nominal.limits}
    for key, ratio in at.ratios.items():
        if key.name not in own or not (np.abs(1.0 - ratio) <= BINDS).any():
            continue
        eased = minimise(
            worlds.eased(key.name, 1.0 + STEP), measure, kept=kept, weigh=False, tied=False
        ).outcome.bound
        if eased is None or not now * eased > 0:
            return {}
        rate = math.log(eased / now) / math.log1p(STEP)
        found[key] = (0.0 if abs(rate) < FELT else rate * (1.0 if key.side == "max" else -1.0)), True
    return found


def _starting_design(asked: Posed, master: _Master) -> Array:
    """A point to begin with, whatever limits say: the middle of what is divided, the first entry of a menu."""
    high = np.where(np.isfinite(master.high), master.high, np.maximum(master.low, 1.0))
    u = (master.low + high) / 2
    for k, i in enumerate(asked.shared):
        column = asked.program.columns[i]
        if isinstance(column, Entry):
            u[k] = float(column.place == 0)
    return np.append(u, 1.0)


def _design_of_shared(asked: Posed, u: Array) -> dict[str, float]:
    whole = np.zeros(len(asked.program.columns) + 1)
    whole[asked.shared] = u[:-1]
    return asked.program.design(whole)


def _needed_worlds(master: _Master) -> dict[RowKey, tuple[int, ...]]:
    found: dict[RowKey, tuple[int, ...]] = {}
    for key, i in master.held:
        found[key] = tuple(sorted({*found.get(key, ()), i}))
    return found


def _found_of_empty_master(found: Result, master: _Master, worlds: Worlds) -> Found:
    """What a master without a design says of the question; infeasible only where a bound proves it."""
    if found.end is End.INFEASIBLE and _least_miss(master) > SLACK:
        worst = sorted({i for _, i in master.held})
        some = ", ".join(map(str, worst[:6])) + (", …" if len(worst) > 6 else "")
        text = f"no design meets all limits in {worlds.word} {some}, by the bound of a program of its own"
        return Found(
            Outcome(Status.INFEASIBLE, certificate=text, solver=SOLVER), needed=_needed_worlds(master)
        )
    if found.end is End.UNBOUNDED:
        return Found(Outcome(Status.ERROR, solver=SOLVER, message="the objective has no end that was found"))
    return Found(Outcome(Status.ERROR, solver=SOLVER, message="HiGHS found no answer that a bound proves"))


def _least_miss(master: _Master) -> float:
    """The least by which all limits can be missed, each measured by the size of its numbers: 0 where a design is."""
    size = master.low.size
    most = np.where(np.isfinite(master.high), np.maximum(np.abs(master.high), 1.0), 1.0)
    scale = [float(np.abs(r[:-1]) @ most) or 1.0 for r in master.rows]
    eased = [np.insert(r / s, size, -1.0) for r, s in zip(master.rows, scale, strict=True)]
    base = np.insert(master.first.base, size, 0.0, axis=1)
    rows = np.concatenate([base, np.array(eased).reshape(-1, size + 2)])
    n = Numbers(
        rows,
        np.concatenate([master.first.equal, np.zeros(len(eased), bool)]),
        np.append(master.low, 0.0),
        np.append(master.high, 1e6),
        np.append(master.integer, False),
    )
    cost = np.zeros(size + 2)
    cost[size] = 1.0
    return highs.minimise(n, cost).bound
