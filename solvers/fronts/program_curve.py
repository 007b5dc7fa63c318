"""The front of two objectives of a linear program, exactly: its corners, and proofs that nothing lies below.

Two objectives that are ratios over the same denominator D are both linear in u/D, where the feasible set is still a
polyhedron (Charnes and Cooper): their front is convex and piecewise straight. Its corners are the optima of weighted
sums, found by halving (dichotomy): the weights for which two neighbours are equally good either find a corner
between them, or prove that there is none.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from dse.system.arrays import Array
from dse.system.records import dataclass
from formulations.programs.program import Program
from solvers.fronts import envelope
from solvers.fronts.envelope import Curve, Vertex
from solvers.linear import milp
from solvers.linear.linear_program import End, Numbers, Result, constant_column, multiple

FLAT_CORNER = 1e-9
VERTEX_ROUNDING = 1e-12
BARELY = 1e-12
CORNERS = 2000


@dataclass(frozen=True, slots=True)
class Sense:
    """How a coordinate that is to be small goes with an objective.

    ``sign``: 1 where it rises with the objective, else -1; ``over``: whether it is (but for the sign) the
    reciprocal of the objective.
    """

    sign: int
    over: bool

    def value(self, coordinate: float) -> float:
        """The objective from the coordinate."""
        if not self.over:
            return self.sign * coordinate
        return -self.sign / coordinate if coordinate else math.inf

    def rate(self, coordinate: float) -> float:
        """How fast the objective moves with the coordinate."""
        return self.sign / coordinate**2 if self.over else float(self.sign)

    def coordinate(self, value: float) -> float:
        """The coordinate from the objective."""
        if not self.over:
            return self.sign * value
        return -self.sign / value if value else -math.inf


@dataclass(frozen=True, slots=True)
class Form:
    """An objective as a coordinate n.u/d.u that is to be small."""

    n: Array
    sense: Sense


@dataclass(frozen=True, slots=True)
class Pair:
    """Two objectives as coordinates over one denominator ``d``."""

    a: Form
    b: Form
    d: Array

    def at(self, u: Array, owner: int = 0) -> Vertex:
        """The vertex that a design is."""
        below = float(self.d @ u)
        return Vertex(float(self.a.n @ u) / below, float(self.b.n @ u) / below, u / below, owner)

    def weighed(self, wa: float, wb: float) -> Array:
        """The numerator of a weighted sum of both coordinates."""
        return wa * self.a.n + wb * self.b.n


@dataclass(frozen=True, slots=True)
class Proof:
    """No design with a <= ``a`` and b <= ``b`` has a weighted sum wa a + wb b below ``least``."""

    wa: float
    wb: float
    least: float
    a: float = math.inf
    b: float = math.inf

    def bound(self, b: float) -> float:
        """What it proves of the first coordinate of designs whose second is at most ``b``; infinite: there are none."""
        if self.wa <= 0:
            return self.a if self.wb * (b + BARELY * abs(b)) < self.least else -math.inf
        if b > self.b:
            return -math.inf
        return min(self.a, (self.least - self.wb * b) / self.wa)


def pair(p: Program) -> Pair | None:
    """Two objectives over a common denominator; None where they have none.

    The objectives themselves wherever possible, else the reciprocal of one or both.
    """
    if len(p.others) != 1:
        return None
    first, second = _forms(*milp.objective(p), p.sign), _forms(*p.others[0])
    ways = [(x, y) for x in first for y in second]
    for (form, d), (other, e) in sorted(ways, key=lambda w: w[0][0].sense.over + w[1][0].sense.over):
        factor = multiple(d, e)
        if factor > 0.0:
            return Pair(form, Form(other.n * factor, other.sense), d)
    return None


def _forms(goal: Array, under: Array, sign: int) -> tuple[tuple[Form, Array], ...]:
    """Both ways to write what is minimised: goal/under, or minus its reciprocal."""
    return (Form(goal, Sense(sign, over=sign < 0)), under), (Form(-under, Sense(sign, over=sign > 0)), goal)


def least(n: Numbers, goal: Array, under: Array) -> Result:
    """Minimise (goal . u)/(under . u), of whatever sign the goal is."""
    if goal[:-1].any() or goal[-1] > 0 or not under[:-1].any():
        return milp.ratio(n, goal, under)
    found = milp.ratio(n, under / -goal[-1], constant_column(len(under)))
    if found.u is None or found.bound <= 0:
        return Result(End.FAILED if found.u is not None else found.end, ray=found.ray)
    return replace(found, value=-1.0 / found.value, bound=-1.0 / found.bound)


def least_of(
    cells: Sequence[Numbers], pair: Pair, wa: float, wb: float, a: float = math.inf, b: float = math.inf
) -> tuple[int, Result]:
    """Which cell has the least weighted sum with coordinates of at most ``a`` and ``b``, and what is found there.

    Its bound is that of all cells. Where HiGHS finds no answer in a cell, that is what is returned.
    """
    rows = [form.n - end * pair.d for form, end in ((pair.a, a), (pair.b, b)) if math.isfinite(end)]
    tried = [least(n.with_rows(*rows), pair.weighed(wa, wb), pair.d) for n in cells]
    for k, x in enumerate(tried):
        if x.u is None and x.end is not End.INFEASIBLE:
            return k, x
    k = min(range(len(tried)), key=lambda k: tried[k].value)
    best = tried[k]
    bound = min((x.bound for x in tried if x.u is not None), default=best.bound)
    return k, Result(best.end, best.u, best.value, bound)


def curve(n: Numbers, pair: Pair, owner: int = 0) -> tuple[Curve, list[Proof]]:
    """The corners of the front of a linear program by rising a, and the proofs; no corners where it has no design.

    Raises ArithmeticError where HiGHS finds no answer, or there is no end to an objective.
    """
    start, stop = _end_vertex(n, pair, owner, 1.0, 0.0), _end_vertex(n, pair, owner, 0.0, 1.0)
    if start is None or stop is None:
        return (), []
    (first, low), (last, high) = start, stop
    proofs = [low, high]
    if not (first.a < last.a and first.b > last.b) or envelope.same(first, last):
        return (first,), proofs
    found = [first, last]
    waiting = [(first, last)]
    while waiting and len(found) < CORNERS:
        p, q = waiting.pop()
        corner, proof = _corner_below(n, pair, p, q)
        proofs += [proof] if proof is not None else []
        if corner is not None:
            found.append(corner)
            waiting += [(p, corner), (corner, q)]
    return envelope.corners(found), proofs


def _end_vertex(n: Numbers, pair: Pair, owner: int, wa: float, wb: float) -> tuple[Vertex, Proof] | None:
    """The best of one coordinate, and of those the best of the other."""
    best = least(n, pair.weighed(wa, wb), pair.d)
    if best.end is End.INFEASIBLE:
        return None
    if best.u is None:
        raise ArithmeticError(f"HiGHS finds no end of the front: {best.end.value}")
    proof = Proof(wa, wb, best.bound)
    if best.multipliers is None:
        return pair.at(best.u, owner), proof
    settled = least(milp.face(best), pair.weighed(wb, wa), pair.d)
    here, there = pair.at(best.u, owner), None if settled.u is None else pair.at(settled.u, owner)
    if there is None or not envelope.near(wa * here.a + wb * here.b, wa * there.a + wb * there.b):
        return here, proof
    return there, proof


def weights(p: Vertex, q: Vertex) -> tuple[float, float]:
    """The weights for which two vertices are equally good."""
    return p.b - q.b, q.a - p.a


def _corner_below(n: Numbers, pair: Pair, p: Vertex, q: Vertex) -> tuple[Vertex | None, Proof | None]:
    """A corner between two neighbours, if there is one, and what the weighted sum proves."""
    wa, wb = weights(p, q)
    best = least(n, pair.weighed(wa, wb), pair.d)
    if best.u is None:
        raise ArithmeticError(f"HiGHS finds no point of the front: {best.end.value}")
    proof = Proof(wa, wb, best.bound)
    corner = pair.at(best.u, p.owner)
    inside = p.a < corner.a < q.a and q.b < corner.b < p.b
    gain = wa * (p.a - corner.a) + wb * (p.b - corner.b)
    return corner if inside and gain > tolerance(p, q) else None, proof


def tolerance(p: Vertex, q: Vertex) -> float:
    """By how much a weighted sum has to be smaller for a point to lie below the line of two others."""
    wa, wb = weights(p, q)
    return FLAT_CORNER * wa * wb + VERTEX_ROUNDING * (
        wa * max(abs(p.a), abs(q.a)) + wb * max(abs(p.b), abs(q.b))
    )


def bound(proofs: Iterable[Iterable[Proof]], b: float) -> float:
    """What groups of proofs, one group for each kind of design, say of the first coordinate with the second <= b."""
    return min((max((p.bound(b) for p in group), default=-math.inf) for group in proofs), default=-math.inf)
