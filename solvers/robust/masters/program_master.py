"""The program that grows: rows over the columns that all worlds share, and cuts of what is made least.

Wherever a maximum only harms it is at least each of its arguments, so putting the argument that is largest in world i
at a design in its place gives an affine function of the shared columns that is nowhere above the true one and equal to
it at that design: a cut. A measure is the largest of weighted means of such functions over the worlds
(``formulations.uncertainty.measures``). Limits are held in the worlds where they were broken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from dse.system.arrays import Array, Bools
from dse.system.records import dataclass
from formulations.arithmetics.forms import Entry
from formulations.row_keys import RowKey
from formulations.tolerances import TIE
from formulations.uncertainty.measures import Weighing
from formulations.uncertainty.robust_program import Posed
from formulations.uncertainty.worlds import Cap, Judged, judged
from solvers.linear import highs
from solvers.linear.linear_program import End, Numbers, Result
from solvers.robust.masters.master import WORLD_BROKEN

Cuts = Callable[[Array], Array]
"""Affine functions (n, S + 1) of the shared columns, exact at a design, below the true ones elsewhere."""
PROGRAM_ROUNDS = 300


@dataclass(frozen=True, slots=True)
class Measured:
    """The measure of cuts: what is made least, or, with an ``end``, what may not get worse than that."""

    of: Cuts
    weighing: Weighing
    end: float = 0.0

    def value(self, u: Array) -> float:
        """The measure at a design."""
        return float(self.weighing.value(self.of(u) @ u))

    def cut(self, u: Array) -> Array:
        """The row (S + 1) that is exact at a design and nowhere above the measure; at most 0 up to the end."""
        forms = self.of(u)
        row: Array = self.weighing.weights(forms @ u) @ forms
        row[-1] -= self.end
        return row


class Master:
    """The program that grows; its last column but the constant is the measure.

    ``left_out``: of each limit, by name, the worlds (N,) in which it need not hold.
    """

    def __init__(
        self, asked: Posed, kept: frozenset[str] | None, left_out: Mapping[str, Bools] | None = None
    ) -> None:
        self.posed, self.first, self.left_out = asked, asked.parts[0], left_out or {}
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

    def start(self) -> Array:
        """A point to begin with, whatever limits say: the middle of what is divided, the first entry of a menu."""
        high = np.where(np.isfinite(self.high), self.high, np.maximum(self.low, 1.0))
        u = (self.low + high) / 2
        for k, i in enumerate(self.posed.shared):
            column = self.posed.program.columns[i]
            if isinstance(column, Entry):
                u[k] = float(column.place == 0)
        return np.append(u, 1.0)

    def design(self, u: Array) -> dict[str, float]:
        """What is decided, at shared columns."""
        whole = np.zeros(len(self.posed.program.columns) + 1)
        whole[self.posed.shared] = u[:-1]
        return self.posed.program.design(whole)

    def judged(self, u: Array) -> Judged:
        """What comes of shared columns in every world, in plain floats."""
        return judged(self.posed.worlds, self.design(u))

    def first_numbers(self) -> Numbers:
        """The rows of shared columns alone, the same in every world."""
        return Numbers(self.first.base, self.first.equal, self.low, self.high, self.integer)

    def numbers(self) -> Numbers:
        """The rows so far over the shared columns, without the measure."""
        return self.first_numbers().with_rows(*self.rows)

    def solve(self) -> Result:
        """Minimise the largest of the cuts over the rows so far."""
        ends = [self.ends(c) for c in self.cuts] or [(0.0, 0.0)]
        low, high = min(e[0] for e in ends), max(e[1] for e in ends)
        return self.least_above(self.numbers(), self.cuts, low - 1e-6 * max(abs(low), 1e-300), high)

    def least_above(self, held: Numbers, rows: Sequence[Array], low: float, high: float) -> Result:
        """Minimise one more column, between two ends, that is at least each of some rows, where others hold."""
        size = held.low.size
        above = np.array([np.insert(r, size, -1.0) for r in rows]).reshape(-1, size + 2)
        n = Numbers(
            np.concatenate([np.insert(held.rows, size, 0.0, axis=1), above]),
            np.concatenate([held.equal, np.zeros(len(above), bool)]),
            np.append(held.low, low),
            np.append(held.high, high),
            np.append(held.integer, False),
        )
        cost = np.zeros(size + 2)
        cost[size] = 1.0
        return highs.minimise(n, cost)

    def ends(self, cut: Array) -> tuple[float, float]:
        """What an affine function of the shared columns is at least and at most, without regard to limits."""
        a = cut[:-1]
        with np.errstate(invalid="ignore"):
            sides = np.nan_to_num(np.stack([a * self.low, a * self.high]), nan=0.0)
        low, high = float(sides.min(0).sum() + cut[-1]), float(sides.max(0).sum() + cut[-1])
        return (low if np.isfinite(low) else -1e15), high + 0.01 * abs(high) + 1e-12 if np.isfinite(
            high
        ) else np.inf

    def least(
        self, goal: Measured | None, close: float, held: Sequence[Measured] = ()
    ) -> tuple[Result, Array | None]:
        """Minimise a measure (None: find any design) that is no worse in what is ``held``.

        The design (None: the last result has none), and the result that bounds it to ``close``, relative.
        """
        for _ in range(PROGRAM_ROUNDS):
            found = self.solve()
            if found.end is not End.FOUND or found.u is None:
                return found, None
            u = np.append(found.u[:-2], 1.0)
            grown = self.add(u, self.judged(u).ratios)
            for h in held:
                row = h.cut(u)
                grown |= float(row @ u) > TIE * abs(h.end) and new(self.rows, row)
            value = 0.0 if goal is None else goal.value(u)
            fresh = goal is not None and new(self.cuts, goal.cut(u))
            if not grown and (not fresh or value - found.bound <= close * abs(value)):
                return found, u
        return found, None

    def add(self, u: Array, ratios: Mapping[RowKey, Array] | None = None) -> bool:
        """Hold each limit in the world where it is broken most (without ``ratios``: nearest to it)."""
        grown = False
        for key in self.names:
            cut = self.posed.limit(key, u)
            level = cut @ u if ratios is None else np.nan_to_num(ratios[key], nan=np.inf)
            level = np.where(self.left_out.get(key.name, False), -np.inf, level)
            i = int(level.argmax())
            broken = level[i] > -np.inf and (ratios is None or not level[i] <= 1 + WORLD_BROKEN)
            if broken and new(self.rows, cut[i]):
                self.held.add((key, i))
                grown = True
        for key, cap in self.caps.items():
            if ratios is None or not ratios[key][0] <= 1 + WORLD_BROKEN:
                grown |= new(self.rows, Measured(partial(self.posed.limit, key), cap.measure).cut(u))
        return grown


def new(rows: list[Array], row: Array) -> bool:
    """Append a row unless it is there; tell whether it was new."""
    fresh = not any(np.array_equal(row, r) for r in rows)
    rows += [row] if fresh else []
    return fresh
