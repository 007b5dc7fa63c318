"""The least product of two ratios of affine forms, such as energy times time, over a linear or mixed-integer program.

With A and B the factors, both positive, designs are told apart by B. Those with B from b1 to b2 that are better than a
product P lie below the chord of the curve AB = P, A = P/b1 + P/b2 - s B with s = P/(b1 b2). The least A + sB, a program
of its own where both factors have the same denominator, or none, says whether there are any: it is no less than
P/b1 + P/b2, or its design is where the stretch is cut next. Its bound v is a line A >= v - sB for all designs of the
stretch, and b (v - sb) is least at an end of it, or where the line crosses another one. Of other factors the least A
with B up to a cut is asked for: it is a step that no design is below.
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
SLOPED_LINES = 3
"""Of a stretch: those of the stretches that it was cut from."""
NEAR_END = 0.02
"""Of a stretch, in logarithms: a cut nearer to an end than that leaves the rest as it was."""
ABOVE_NOTHING = 1e-6
"""Of the largest number of a form: so much it is at a design at which it is surely above 0."""
OF_NOTHING = "a factor of the product is 0, and none is ever below it"


@dataclass(frozen=True, slots=True)
class Line:
    """No design has A below ``height - slope * B``."""

    height: float
    slope: float = 0.0

    def over(self, b: float) -> float:
        """The height at b."""
        return self.height - self.slope * b


@dataclass(frozen=True, slots=True)
class Stretch:
    """Designs with B from ``low`` to ``high``, none of which is below a line; ``way``: of choosing the maxima."""

    low: float
    high: float
    lines: tuple[Line, ...]
    way: int = 0

    def least(self) -> tuple[float, float]:
        """A lower bound of the product, and where to cut."""
        inner = [
            c
            for p, q in itertools.combinations(self.lines, 2)
            if self.low < (c := _crossing(p, q)) < self.high
        ]
        at = {b: b * self.floor(b) for b in (self.low, *inner, self.high)}
        b = min(at, key=lambda b: at[b])
        return at[b], b if self.low < b < self.high else math.sqrt(self.low * self.high)

    def floor(self, b: float) -> float:
        """What A is no less than at b."""
        return max(line.over(b) for line in self.lines)

    def below(self, line: Line) -> Stretch:
        """The same with one more line: of those that sloped the last few are kept."""
        flat = Line(max(one.height for one in self.lines if one.slope == 0.0))
        sloped = [one for one in (*self.lines, line) if one.slope > 0.0][-SLOPED_LINES:]
        return replace(self, lines=(flat if line.slope else Line(max(flat.height, line.height)), *sloped))


def _crossing(p: Line, q: Line) -> float:
    return math.nan if p.slope == q.slope else (p.height - q.height) / (p.slope - q.slope)


@dataclass(slots=True)
class _Search:
    """``best``: the least product so far, attained by ``u``; ``closed``: the least bound of what was let go.

    ``ways``: the program with each way of choosing its exact maxima; ``sum``: see ``_sum_of_factors``.
    """

    p: Program
    gap: float
    ways: list[Numbers]
    sum: tuple[Array, Array] | None
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

    def within(self, low: float, high: float, way: int) -> Numbers:
        """The program of the designs with B up to ``high`` and, unless that is 0, from ``low``."""
        goal, under = self.other
        ends = [goal - high * under, *([low * under - goal] if low > 0.0 else [])]
        return self.ways[way].with_rows(*ends)

    def least(self, n: Numbers, goal: Array, under: Array) -> Result:
        self.solves += 1
        return milp.ratio(n, goal, under)


def _sum_of_factors(p: Program) -> tuple[Array, Array] | None:
    """The numerators of A and B over the denominator of A, where both have the same; None elsewhere."""
    goal, under, _ = p.others[0]
    mine, below = milp.objective(p)
    factor = float(multiple(under, below))
    return (mine, goal / factor) if factor > 0.0 else None


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
    s = _Search(p, gap, milp.branched(p, milp.numbers(p)), _sum_of_factors(p))
    goal, under = s.other
    first = milp.least(p, milp.numbers(p), goal, under)
    lone = milp.least(p, milp.numbers(p), *milp.objective(p))
    s.solves += 2
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
    for way in range(len(s.ways)):
        s.add(Stretch(low, high, (Line(lone.bound),), way))
    while s.heap and s.solves < MOST_PROGRAMS and time.monotonic() < deadline:
        bound, _, cut, stretch = heapq.heappop(s.heap)
        if bound >= s.enough:
            s.closed = min(s.closed, bound)
        elif s.sum is None:
            _split_at_step(s, stretch, cut)
        else:
            _split_at_chord(s, stretch, *s.sum)
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


def _split_at_chord(s: _Search, stretch: Stretch, mine: Array, other: Array) -> None:
    """Ask for the least A + sB, and keep what of the stretch may hold something better, cut at the design found."""
    low, high = stretch.low, _most(s, stretch)
    if high <= low:
        return
    slope = s.best / (low * high)
    found = s.least(s.within(low, high, stretch.way), mine + slope * other, milp.objective(s.p)[1])
    if found.end is End.INFEASIBLE:
        return
    stretch = replace(stretch, high=high)
    if found.u is None or found.bound <= 0:
        # no word on the stretch: its old bound stays
        s.closed = min(s.closed, stretch.least()[0])
        return
    b = s.tried(found.u)
    stretch = stretch.below(Line(found.bound, slope))
    bound, cut = stretch.least()
    margin = (high / low) ** NEAR_END
    cut = b if low * margin < b < high / margin else cut
    if bound >= s.enough:
        s.closed = min(s.closed, bound)
        return
    s.add(replace(stretch, high=cut))
    s.add(replace(stretch, low=cut))


def _most(s: _Search, stretch: Stretch) -> float:
    """Up to where a stretch may hold something better: that has B <= best/A, and A is no less than at its end."""
    most = min(stretch.high, s.enough / stretch.floor(stretch.high))
    if most < stretch.high:
        s.closed = min(s.closed, s.enough)
    return most


def _split_at_step(s: _Search, stretch: Stretch, cut: float) -> None:
    """Ask for the least A with B up to the cut, and keep what of the two parts may hold something better."""
    most = _most(s, stretch)
    if most <= stretch.low:
        return
    cut = min(cut, most)
    found = s.least(s.within(0.0, cut, stretch.way), *milp.objective(s.p))
    if found.end is End.INFEASIBLE:
        s.add(replace(stretch, low=cut, high=most))
        return
    if found.u is None or found.bound <= 0:
        # no word on the part below: its old bound stays
        s.closed = min(s.closed, stretch.least()[0])
        return
    b, step = s.tried(found.u), Line(found.bound)
    if most > cut:
        s.add(replace(stretch, low=cut, high=most))
    # from the B found up to the cut A is no less than it is there
    s.closed = min(s.closed, max(b, stretch.low) * found.bound)
    if b > stretch.low:
        s.add(replace(stretch, high=min(b, cut)).below(step))
