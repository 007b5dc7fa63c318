"""The least product of two ratios of affine forms, such as energy times time, over a linear or mixed-integer program.

With A and B the factors, both positive, designs are told apart by B. Where B <= b the least A, A*(b), is a program
of its own with a bound of its own; it falls as b grows. Every design with B from b1 to b2 has
A >= A*(b2), hence a product of at least b1 A*(b2); where the programs are linear, their multipliers add tangents
A >= A*(b) - s (B - b) (both factors have the same denominator, or none). On a stretch of B the product of B and the
largest of these is least at an end or where two of them cross: that is where the stretch is cut next.
"""

from __future__ import annotations

import heapq
import itertools
import math
import time
from collections.abc import Iterator
from dataclasses import field, replace
from functools import partial

import numpy as np

from dse.system.arrays import Array
from dse.system.records import dataclass
from formulations.programs.program import Program, linear_cost
from results.solution import Status
from solvers import judgement
from solvers.linear import highs, milp, programs
from solvers.linear.linear_program import End, Numbers, Result, constant_column, multiple, ratio_at
from solvers.outcome import Outcome

PRODUCT_SECONDS = 60.0
MOST_PROGRAMS = 5000
# enough to see whether anything runs away
COARSE_GAP = 1e-2
STRETCH_ROUNDING = 1e-13
ABOVE_NOTHING = 1e-6
"""Of the largest number of a form: so much it is at a design at which it is surely above 0."""
OF_NOTHING = "a factor of the product is 0, and none is ever below it"


@dataclass(frozen=True, slots=True)
class Line:
    """No design has A below ``height - slope * (B - at)``; for a step (``slope`` 0) none with B <= ``at`` has."""

    at: float
    height: float
    slope: float

    def over(self, b: float) -> float:
        """The height at b."""
        return self.height - self.slope * (b - self.at)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Designs with B from ``low`` to ``high``; ``left`` and ``right``: what is known at its ends."""

    low: float
    high: float
    left: Line | None
    right: Line

    def least(self) -> tuple[float, float]:
        """A lower bound of the product, and where to cut."""
        floor = Line(self.high, self.right.height, 0.0)
        lines = [floor, *(x for x in (self.left, self.right) if x is not None and x.slope > 0)]
        inner = [
            c for p, q in itertools.combinations(lines, 2) if self.low < (c := _crossing(p, q)) < self.high
        ]
        at = {b: b * max(line.over(b) for line in lines) for b in (self.low, *inner, self.high)}
        b = min(at, key=lambda b: at[b])
        middle = math.sqrt(self.low * self.high)
        return at[b], b if self.low < b < self.high else middle


def _crossing(p: Line, q: Line) -> float:
    if p.slope == q.slope:
        return math.nan
    return ((p.height + p.slope * p.at) - (q.height + q.slope * q.at)) / (p.slope - q.slope)


@dataclass(slots=True)
class _Search:
    """``best``: the least product so far, attained by ``u``; ``closed``: the least bound of what was let go."""

    p: Program
    gap: float
    best: float = math.inf
    u: Array | None = None
    closed: float = math.inf
    solves: int = 0
    heap: list[tuple[float, int, float, Stretch]] = field(default_factory=list)
    number: Iterator[int] = field(default_factory=itertools.count)

    @property
    def other(self) -> tuple[Array, Array]:
        goal, under, _ = self.p.others[0]
        return goal, under

    @property
    def enough(self) -> float:
        return programs.enough(self.best, self.gap)

    def bound(self) -> float:
        return min(self.closed, self.best, *(entry[0] for entry in self.heap[:1]))

    def numbers(self, b: float) -> Numbers:
        goal, under = self.other
        return milp.numbers(self.p, more=(goal - b * under,))

    def add(self, s: Stretch) -> None:
        """Keep a stretch that may hold something better."""
        bound, cut = s.least()
        if bound >= self.enough or s.high <= s.low * (1.0 + STRETCH_ROUNDING):
            self.closed = min(self.closed, bound)
        else:
            heapq.heappush(self.heap, (bound, next(self.number), cut, s))

    def tried(self, u: Array) -> float:
        """B at a design, whose product is remembered where it is the best."""
        b, a = (float(ratio_at(*pair, u)) for pair in (self.other, milp.objective(self.p)))
        product = b * a
        if product < self.best:
            self.best, self.u = product, u
        return b

    def least(self, n: Numbers) -> Result:
        self.solves += 1
        return milp.least(self.p, n, *milp.objective(self.p))


def minimise(p: Program, *, seconds: float = PRODUCT_SECONDS) -> Outcome | None:
    """Make the product of the goal and the other goal of ``p`` least; None where a factor may be 0 or has no end."""
    deadline = time.monotonic() + seconds
    found: _Search | Outcome | None = None
    for gap in (COARSE_GAP, p.question.gap) if p.boxed.any() else (p.question.gap,):
        found = _least_product(p, gap, deadline)
        if isinstance(found, Outcome) or found is None:
            return found
        assert found.u is not None, "a search that ends well has a design"
        name = milp.runaway(p, found.u, partial(_least_bound, p, gap, deadline), found.best)
        if name:
            return programs.unbounded(name)
    assert isinstance(found, _Search), "a search that ends well has a design"
    assert found.u is not None, "a search that ends well has a design"
    bound = found.bound()
    text = (
        f"product of two factors: stretches of the second, each bounded by a program of its own; {found.solves} "
        f"programs leave a gap of {max(1.0 - bound / found.best, 0.0):.1e}"
    )
    status = judgement.as_proved(p.question, found.best, bound)
    return Outcome(status, p.design(found.u), programs.to_user(p, bound), text, programs.SOLVER)


def without_end(p: Program) -> Outcome | None:
    """The outcome where the product falls to 0 along a direction of the program; None where none is found.

    From a design at which both factors are above 0, with their numerators and denominators: none of these falls, and
    one that something is divided by rises.
    """
    n, factors = milp.numbers(p), ((p.others[0][0], p.others[0][1]), milp.objective(p))
    forms = [form for factor in factors for form in factor]
    above = [ABOVE_NOTHING * float(np.abs(form).max()) * constant_column(len(form)) - form for form in forms]
    for goal, under in factors:
        if goal[:-1].any():
            continue
        ray = highs.minimise(n.relaxed(), linear_cost(goal, under)).ray
        if ray is None or any(_slope(form, ray) < 0.0 for form in forms):
            continue
        rises = any(_slope(top, ray) > 0.0 >= _slope(bottom, ray) for top, bottom in factors)
        if not rises and programs.is_there(p, n.with_rows(*above), ray):
            return programs.unbounded_along(p, ray)
    return None


def _slope(form: Array, ray: Array) -> float:
    """By how much a form changes along a direction, of the sizes that it adds up; 0 within rounding."""
    size = max(float(np.abs(form[:-1]) @ np.abs(ray)), np.finfo(float).tiny)
    found = float(form[:-1] @ ray) / size
    return found if abs(found) > highs.RAY_ROUNDING else 0.0


def _least_bound(p: Program, gap: float, deadline: float, high: Array) -> float:
    """A bound of the product where columns have other upper ends; infinite where there is none."""
    found = _least_product(replace(p, high=high), gap, deadline)
    return found.bound() if isinstance(found, _Search) else math.inf


def _least_product(p: Program, gap: float, deadline: float) -> _Search | Outcome | None:
    s = _Search(p, gap)
    goal, under = s.other
    first = milp.least(p, milp.numbers(p), goal, under)
    lone = s.least(milp.numbers(p))
    if End.INFEASIBLE in (first.end, lone.end):
        return _infeasible(p)
    if first.u is None or lone.u is None:
        return None
    if first.bound <= 0 or lone.bound <= 0:
        return _of_nothing(p, [(first, goal, under), (lone, *milp.objective(p))])
    low, high = first.bound, s.tried(lone.u)
    s.tried(first.u)
    # beyond the B of the least A nothing is gained
    s.closed = high * lone.bound
    s.add(Stretch(low, high, None, _line_below(s, lone, high)))
    while s.heap and s.solves < MOST_PROGRAMS and time.monotonic() < deadline:
        _, _, cut, stretch = heapq.heappop(s.heap)
        _split_stretch(s, stretch, cut)
    return s


def _of_nothing(p: Program, factors: list[tuple[Result, Array, Array]]) -> Outcome | None:
    """The least product where it is 0: a factor is 0 at some design, and none is below 0; None elsewhere.

    ``factors``: each with its least value.
    """
    if any(found.bound < -_rounding(found, goal, under) for found, goal, under in factors):
        return None
    for found, goal, under in factors:
        if found.value <= _rounding(found, goal, under):
            # of the designs at which this factor is 0 ties decide
            x = programs.optimise(replace(p, goal=goal, under=under)).outcome.x
            return None if x is None else Outcome(Status.OPTIMAL, x, 0.0, OF_NOTHING, programs.SOLVER)
    return None


def _rounding(found: Result, goal: Array, under: Array) -> float:
    """What of the least value of a factor is rounding of the amounts that it adds up."""
    assert found.u is not None, "only a design has amounts"
    return judgement.LEFT_OF_AMOUNTS * float(ratio_at(np.abs(goal), under, np.abs(found.u)))


def _infeasible(p: Program) -> Outcome | None:
    found = programs.optimise(replace(p, goal=None, under=None)).outcome
    return found if found.status is Status.INFEASIBLE else None


def _split_stretch(s: _Search, stretch: Stretch, cut: float) -> None:
    """Ask for the least A with B up to the cut, and keep what of the two parts may hold something better."""
    # what is better has B <= best/A, and A is at least what it is at the right end
    most = min(stretch.high, s.enough / stretch.right.height)
    if most < stretch.high:
        s.closed = min(s.closed, s.enough)
        cut = min(cut, most)
    if most <= stretch.low:
        return
    n = s.numbers(cut)
    found = s.least(n)
    if found.end is End.INFEASIBLE:
        s.add(replace(stretch, low=cut, high=most))
        return
    if found.u is None or found.bound <= 0:
        # no word on the part below: its old bound stays
        s.closed = min(s.closed, stretch.least()[0])
        return
    line = _line_below(s, found, cut)
    b = s.tried(found.u)
    if most > cut:
        s.add(Stretch(cut, most, line, stretch.right))
    if line.slope > 0:
        s.add(Stretch(stretch.low, cut, stretch.left, line))
        return
    # from the B found up to the cut A is no less than it is there
    s.closed = min(s.closed, max(b, stretch.low) * found.bound)
    if b > stretch.low:
        s.add(Stretch(stretch.low, min(b, cut), stretch.left, line))


def _line_below(s: _Search, found: Result, at: float) -> Line:
    """What a solved program says of A: a tangent from its multipliers where there are any, else a step."""
    step = Line(at, found.bound, 0.0)
    n, y, cost, p = found.numbers, found.multipliers, found.cost, s.p
    goal, under = s.other
    if n is None or y is None or cost is None or p.exact or p.goal is None or p.under is None:
        return step
    if len(y) == len(p.keys):
        return step
    factor = float(multiple(under, p.under))
    if not factor > 0.0 or not p.goal[:-1].any():
        return step
    weight = max(float(y[-1]), 0.0)
    free = Numbers(n.rows[:-1], n.equal[:-1], n.low, n.high, n.integer)
    lowest = highs.weak_duality(free, cost + weight * (goal - at * under), y[:-1])
    if not p.under[:-1].any():
        # cost is A itself, and the denominator of B a number
        return Line(at, lowest, weight * float(under[-1])) if math.isfinite(lowest) else step
    least = highs.minimise(free, p.under).bound
    if not least > 0 or not math.isfinite(lowest):
        return step
    return Line(at, found.value + min(lowest, 0.0) / least, weight * factor)
