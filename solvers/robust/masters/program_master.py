"""The program that grows: rows over the columns that all worlds share, and cuts of what is made least.

Wherever a maximum only harms it is at least each of its arguments, so putting the argument that is largest in world i
at a design in its place gives an affine function of the shared columns that is nowhere above the true one and equal to
it at that design: a cut. A measure is the largest of weighted means of such functions over the worlds
(``formulations.uncertainty.measures``). Limits are held in the worlds where they were broken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from dse.models.arithmetic import CannotTake
from dse.system.arrays import Array, Bools
from dse.system.records import dataclass
from formulations.arithmetics.forms import Entry
from formulations.row_keys import RowKey
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

    ``left_out``: of each limit, by name, the worlds (N,) in which it need not hold. After the shared columns come
    ``switches`` of 0 or 1: each lets rows off (``let_off``: row, switch, and what the row is at most); ``sums``
    (weights by switch, and their greatest sum) say how many may.
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
        self.let_off: list[tuple[Array, int, float]] = []
        self.sums: list[tuple[Mapping[int, float], float]] = []
        self.switches = 0
        self.chosen: dict[tuple[RowKey, int], list[int]] = {}
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
        """The rows of shared columns alone, the same in every world, and what switches add up to."""
        off = np.zeros(self.switches)
        base = np.array([self.wide(r) for r in self.first.base]).reshape(-1, self.low.size + off.size + 1)
        low, high = np.append(self.low, off), np.append(self.high, off + 1.0)
        n = Numbers(base, self.first.equal, low, high, np.append(self.integer, off == 0.0))
        sums = np.zeros((len(self.sums), self.switches))
        for row, (weights, _) in zip(sums, self.sums, strict=True):
            row[list(weights)] = list(weights.values())
        ends = np.array([-most for _, most in self.sums]).reshape(-1, 1)
        return n.with_rows(*np.hstack([np.zeros((len(sums), self.low.size)), sums, ends]))

    def limits(self) -> list[Array]:
        """The rows of limits so far."""
        return [self.wide(r) for r in self.rows] + [self.switched(*r) for r in self.let_off]

    def numbers(self) -> Numbers:
        """The rows so far over the shared columns and switches, without the measure."""
        return self.first_numbers().with_rows(*self.limits())

    def wide(self, row: Array) -> Array:
        """Return a row of the shared columns with the switches, which play no part in it."""
        return np.insert(row, [row.size - 1] * self.switches, 0.0)

    def switched(self, row: Array, switch: int, most: float) -> Array:
        """Return a row that a switch lets off."""
        found = self.wide(row)
        found[row.size - 1 + switch] = -max(most, 0.0)
        return found

    def greatest(self, row: Array) -> float:
        """What an affine function is at most where the rows that none lets off hold, by weak duality."""
        own = Numbers(self.first.base, self.first.equal, self.low, self.high, self.integer)
        most = -highs.minimise(own.with_rows(*self.rows).relaxed(), -row).bound
        return most + 1e-9 * abs(most)

    def shared(self, found: Result) -> Array:
        """The shared columns of a design, and the constant."""
        assert found.u is not None, "asked of a design"
        return np.append(found.u[: self.low.size], 1.0)

    def solve(self, above: Sequence[Array] = (), level: float | None = None) -> Result:
        """Minimise the largest of the cuts, and of rows ``above`` (at least a ``level``), over the rows so far."""
        rows = [*map(self.wide, self.cuts), *above]
        if level is not None:
            # worlds without a cut may have losses beyond the ends of all cuts
            return self.least_above(self.numbers(), rows, level, np.inf)
        ends = [self.ends(c) for c in self.cuts] or [(0.0, 0.0)]
        low, high = min(e[0] for e in ends), max(e[1] for e in ends)
        return self.least_above(self.numbers(), rows, low - 1e-6 * max(abs(low), 1e-300), high)

    def least_above(self, held: Numbers, rows: Sequence[Array], low: float, high: float) -> Result:
        """Minimise one more column, between two ends, that is at least each of some rows, where others hold."""
        # in units of its rows: a least of 1e-6 would be lost in what HiGHS lets rows be off by
        size, unit = held.low.size, float(np.abs(rows).max(initial=0.0)) or 1.0
        above = np.array([np.insert(r, size, -unit) for r in rows]).reshape(-1, size + 2)
        n = Numbers(
            np.concatenate([np.insert(held.rows, size, 0.0, axis=1), above]),
            np.concatenate([held.equal, np.zeros(len(above), bool)]),
            np.append(held.low, low / unit),
            np.append(held.high, high / unit),
            np.append(held.integer, False),
        )
        cost = np.zeros(size + 2)
        cost[size] = unit
        found = highs.minimise(n, cost)
        return found if found.u is None else replace(found, u=np.where(cost != 0.0, unit * found.u, found.u))

    def ends(self, cut: Array) -> tuple[float, float]:
        """What an affine function of the shared columns is at least and at most, without regard to limits."""
        a = cut[:-1]
        with np.errstate(invalid="ignore"):
            sides = np.where(a == 0.0, 0.0, np.stack([a * self.low, a * self.high]))
        low, high = float(sides.min(0).sum() + cut[-1]), float(sides.max(0).sum() + cut[-1])
        return low, high + 0.01 * abs(high) + 1e-12

    def least(
        self,
        goal: Measured | None,
        close: float,
        solve: Callable[[], Result],
        missing: Callable[[Array, Mapping[RowKey, Array], Result], bool] = lambda u, ratios, found: False,
        rounds: int = PROGRAM_ROUNDS,
    ) -> tuple[Result, Array | None]:
        """Minimise a measure (None: find any design) by programs that grow, which ``solve`` solves.

        ``missing``: adds what else a design shows to be missing, and tells whether there was any. The design (None: the
        last result has none), and the result that bounds it to ``close``, relative.
        """
        for _ in range(rounds):
            found = solve()
            if found.end is not End.FOUND or found.u is None:
                return found, None
            u = self.shared(found)
            ratios = self.judged(u).ratios
            grown = self.add(u, ratios) | missing(u, ratios, found)
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
            if broken and self.hold(key, i, u):
                self.held.add((key, i))
                grown = True
        for key, cap in self.caps.items():
            if ratios is None or not ratios[key][0] <= 1 + WORLD_BROKEN:
                grown |= new(self.rows, Measured(partial(self.posed.limit, key), cap.measure).cut(u))
        return grown

    def hold(self, key: RowKey, i: int, u: Array, fails: int | None = None) -> bool:
        """Hold a limit in world ``i`` unless the switch ``fails`` lets it fail there; tell whether any row is new."""
        forms = self.posed.alternatives(key, i, u)
        if len(forms) == 1:
            return new(self.rows, forms[0]) if fails is None else self.write(self.let_off, forms[0], fails)
        switches = self.chosen.get((key, i))
        if switches is None:
            switches = self.chosen[key, i] = list(range(self.switches, self.switches + len(forms)))
            self.switches += len(forms)
            # one alternative holds at least, or the world fails
            weights = dict.fromkeys(switches, 1.0) | ({} if fails is None else {fails: -1.0})
            self.sums.append((weights, len(forms) - 1.0))
        fresh = [self.write(self.let_off, form, k) for form, k in zip(forms, switches, strict=True)]
        return any(fresh)

    def write(self, among: list[tuple[Array, int, float]], row: Array, switch: int) -> bool:
        """Append a row that a switch lets off, with what it is at most, unless it is there; tell whether it was new."""
        if any(switch == k and np.array_equal(row, r) for r, k, _ in among):
            return False
        most = self.greatest(row)
        if not np.isfinite(most):
            raise CannotTake("a limit that may fail, or of several, and has no end")
        among.append((row, switch, most))
        return True


def new(rows: list[Array], row: Array) -> bool:
    """Append a row unless it is there; tell whether it was new."""
    fresh = not any(np.array_equal(row, r) for r in rows)
    rows += [row] if fresh else []
    return fresh
