"""The front of two objectives of a mixed-integer program: one curve for each choice of whole numbers that counts.

Whole numbers fixed, a linear program is left, whose front is known exactly. What the curves known so far have in
common as their lower envelope is the front once nothing lies below it: under every straight piece, and in the
corner of every step, the least is asked of the whole program. It either proves that there is nothing, or gives
whole numbers whose curve joins the others.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import field

import numpy as np

from dse.system.arrays import Array
from dse.system.records import dataclass
from formulations.programs.program import Program
from solvers.fronts import envelope, program_curve
from solvers.fronts.envelope import Curve, Piece
from solvers.fronts.program_curve import Pair, Proof
from solvers.linear import milp
from solvers.linear.linear_program import End, Numbers, Result

# of the size of the second objective: what is nearer than this to a step is not looked for
SEARCH_STEP = 1e-8
PROOF_SLACK = 1e-9
LEAST_EXTENT = 1e-300


@dataclass(slots=True)
class Found:
    """The curves of one program, and groups of proofs (one group per way of choosing the exact maxima).

    ``pieces``: what is least of all curves, where that is known already.
    ``unproven``: how many pieces nothing proves; ``stopped``: whether the search was ended before it was done.
    """

    curves: list[Curve] = field(default_factory=list)
    pieces: list[Piece] = field(default_factory=list)
    proofs: list[list[Proof]] = field(default_factory=list)
    unproven: int = 0
    stopped: bool = False


def curves(p: Program, pair: Pair, owner: int, most: int, report: Callable[[], None]) -> Found:
    """The front of a program; at most ``most`` curves where whole numbers are decided.

    ``report`` is called after every solve of the whole. Raises ArithmeticError where HiGHS finds no answer.
    """
    cells = milp.branched(p, milp.numbers(p))
    if not p.integer.any():
        found = Found()
        for n in cells:
            corners, proofs = program_curve.curve(n, pair, owner)
            found.curves += [corners] if corners else []
            found.proofs += [proofs] if corners else []
            report()
        return found
    return _Search(cells, pair, owner, most, report).run()


@dataclass(frozen=True, slots=True)
class _Task:
    """A box (a <= ``a`` if finite, b <= ``b``) in which something may have a smaller weighted sum than ``line``.

    ``corners``: (b, a) of the ends of what is to be proven; ``slack``: by how much a sum has to be smaller.
    """

    wa: float
    wb: float
    line: float
    a: float
    b: float
    corners: tuple[tuple[float, float], ...]
    size: float
    slack: float

    @property
    def key(self) -> tuple[tuple[float, float], ...]:
        """Tells tasks apart."""
        return self.corners

    def proven(self, proof: Proof) -> bool:
        """Whether a proof, of a larger box perhaps, says all of this."""
        return all(proof.bound(b) >= a - self.slack / self.wa for b, a in self.corners)


class _Search:
    """Curves found so far, and what is still to be asked."""

    def __init__(
        self, cells: list[Numbers], pair: Pair, owner: int, most: int, report: Callable[[], None]
    ) -> None:
        self.cells, self.pair, self.owner, self.most, self.report = cells, pair, owner, most, report
        self.found = Found(proofs=[[]])
        self.known: set[tuple[int, bytes]] = set()
        self.pieces: list[Piece] = []
        self.done: dict[tuple[tuple[float, float], ...], bool] = {}

    def run(self) -> Found:
        for weights in ((1.0, 0.0), (0.0, 1.0)):
            cell, best = self._ask(*weights)
            if best.u is None:
                if best.end is End.INFEASIBLE:
                    return Found()
                raise ArithmeticError(f"HiGHS finds no end of the front: {best.end.value}")
            self.found.proofs[0].append(Proof(*weights, best.bound))
            self._add(cell, best.u)
        while (task := self._next()) is not None:
            if len(self.found.curves) >= self.most:
                self.found.stopped = True
                break
            self._look(task)
        self.found.pieces = self.pieces
        return self.found

    def _ask(self, wa: float, wb: float, a: float = math.inf, b: float = math.inf) -> tuple[int, Result]:
        """The least weighted sum over all cells, with the smallest of their bounds."""
        found = program_curve.least_of(self.cells, self.pair, wa, wb, a, b)
        self.report()
        return found

    def _add(self, cell: int, u: Array) -> bool:
        """Take in the curve of the whole numbers at ``u``; False where it is known."""
        n = self.cells[cell]
        key = (cell, np.round(u[:-1][n.integer]).astype(np.int64).tobytes())
        if key in self.known:
            return False
        self.known.add(key)
        corners, _ = program_curve.curve(n.fixed(u), self.pair, self.owner)
        if not corners:
            corners = (self.pair.at(u, self.owner),)
        self.found.curves.append(corners)
        self.pieces = envelope.merged(self.pieces, corners)
        return True

    def _next(self) -> _Task | None:
        """The largest box that nothing is known of."""
        waiting = []
        for task in self._tasks():
            if task.key not in self.done:
                self.done[task.key] = any(task.proven(x) for x in self.found.proofs[0])
            if not self.done[task.key]:
                waiting.append(task)
        return max(waiting, key=lambda t: t.size, default=None)

    def _tasks(self) -> Iterator[_Task]:
        first, last = self.pieces[0].left, self.pieces[-1].right
        wide, tall = max(last.a - first.a, LEAST_EXTENT), max(first.b - last.b, LEAST_EXTENT)
        for piece in self.pieces:
            p, q = envelope.short(piece, SEARCH_STEP)
            if p.a < q.a and p.b > q.b:
                wa, wb = program_curve.weights(p, q)
                line, size = wa * p.a + wb * p.b, wb / wide + wa / tall
                slack = program_curve.tolerance(p, q)
                yield _Task(wa, wb, line, q.a, p.b, ((p.b, p.a), (q.b, q.a)), size, slack)
        for one, two in itertools.pairwise(self.pieces):
            p, q = one.right, two.left
            level = p.b - SEARCH_STEP * abs(p.b)
            if q.b < level and not envelope.near(p.a, q.a):
                size = (q.a - p.a) / wide + (p.b - q.b) / tall
                yield _Task(1.0, 0.0, q.a, math.inf, level, ((level, q.a),), size, PROOF_SLACK * abs(q.a))

    def _look(self, t: _Task) -> None:
        """Ask for the least in a box: a new curve, or a proof."""
        proofs = self.found.proofs[0]
        cell, best = self._ask(t.wa, t.wb, t.a, t.b)
        if best.u is not None and best.value < t.line - t.slack and self._add(cell, best.u):
            return
        self.done[t.key] = True
        if best.u is not None:
            size = t.wa * abs(t.corners[-1][1]) + t.wb * abs(t.b)
            self.found.unproven += best.bound < t.line - max(t.slack, PROOF_SLACK * size)
            proofs.append(Proof(t.wa, t.wb, best.bound, t.a, t.b))
        elif best.end is End.INFEASIBLE:
            proofs.append(Proof(t.wa, t.wb, t.line, t.a, t.b))
        else:
            self.found.unproven += 1
