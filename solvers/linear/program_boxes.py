"""Programs whose coefficients depend on a few more decided numbers: how fast a GPU has to be for work that is shared.

With these numbers t fixed a question is a linear or mixed-integer program. While t is in a box every coefficient lies
between two ends (``formulations.arithmetics.between``). What else is decided is at least 0, so that rows with the least
coefficients allow the designs of all programs of the box,

    sum_j a_ij(t) u_j <= 0   implies   sum_j (min over the box of a_ij) u_j <= 0,

and their optimum bounds the box. Boxes are halved, those with the least bound first. Designs are the optima of the
programs at the middles of boxes, and at the corners of the first.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from dse.models.arithmetic import CannotTake
from dse.models.model import MACHINE_PREFIX
from dse.system.arrays import Array, Indices
from dse.system.records import dataclass
from formulations import evaluation
from formulations.arithmetics import affine
from formulations.arithmetics.between import between
from formulations.arithmetics.many import Differ
from formulations.arithmetics.posynomial import NotPosynomial
from formulations.programs.program import Program, Run, is_linear, program
from formulations.tolerances import SLACK
from results.solution import Status
from scenarios.question import HALVINGS, Decision, Question
from solvers import designs, judgement
from solvers.linear import least_misses, levels, milp, programs
from solvers.linear.linear_program import End, Result
from solvers.outcome import Outcome

MOST_FREE_NUMBERS = 3
MOST_TRIED = 10
"""Sets of as many numbers of which it is tried whether a program depends on them alone."""
MOST_BOXES_OF_NUMBERS = 2000
FEW_BOXES = 200
"""The same where only a design is sought, as conflicts ask many times."""
MOST_POINTS = 64
"""Values of whole and listed numbers that are all tried."""
HALVED_TOGETHER = 16
"""Boxes that are halved in a round: their programs are written at once."""
SEARCH_SECONDS = 30.0
LARGEST_RISE = 1e300
NO_WIDER = 1.0 + 1e-15  # between the ends of a box that is a point


@dataclass(frozen=True, slots=True)
class _Split:
    """A question, and those of its decided numbers that its program depends on, each with its ends.

    ``searched``: some ends are only there to have one. ``levels``: the numbers are the levels of limits on products,
    by whose names they are called (see ``formulations.programs.program.limits``), and nothing that the user decides.
    """

    question: Question
    numbers: tuple[Decision, ...]
    low: Array
    high: Array
    searched: bool = False
    levels: bool = False

    def at(self, given: Mapping[str, Any]) -> Question:
        """The question with these numbers given."""
        if self.levels:
            return self.question
        rest = tuple(d for d in self.question.decide if d.name not in given)
        return replace(self.question, given={**self.question.given, **given}, decide=rest)

    @property
    def names(self) -> str:
        """What the boxes are boxes of, in words."""
        return ", ".join(
            f"the level of a factor of {d.name}" if self.levels else d.name for d in self.numbers
        )

    def programs(self, low: Array, high: Array) -> list[Program]:
        """For each box (N, numbers) the program that allows the designs of all its points."""
        of: dict[str, Any] = {
            d.name: between(a, b) for d, a, b in zip(self.numbers, low.T, high.T, strict=True)
        }
        question = replace(self.at(of), ties=())
        x = {d.name: affine.symbol(d) for d in question.decide}
        known = {} if self.levels else {n: affine.constant(v) for n, v in of.items()}
        made = Run({**x, **known}, evaluation.metrics(question, x))
        p = program(question, made, levels=of if self.levels else {})
        return [_loosest(p, k, len(low)) for k in range(len(low))]

    def cut(self, k: int, low: float, high: float, at: float = math.nan) -> tuple[float, float]:
        """Up to where, and from where on, the halves of what number k may be go; ``at``: where they should meet."""
        if low < at < high:
            return at, at
        d, middle = self.numbers[k], math.sqrt(max(low, levels.WIDEST * high if self.levels else low) * high)
        if d.values is not None:
            inside = [v for v in d.values if low <= v <= high]
            half = (len(inside) - 1) // 2
            return inside[half], inside[half + 1]
        return (math.floor(middle), math.floor(middle) + 1.0) if d.integer else (middle, middle)

    def halves(self, k: int, low: Array, high: Array, at: Array) -> tuple[Array, Array]:
        """Boxes cut in two along number k, the lower halves first; ``at``: where, NaN for their middles."""
        first, second = high.copy(), low.copy()
        for i in np.flatnonzero(low[:, k] < high[:, k]):
            first[i, k], second[i, k] = self.cut(k, low[i, k], high[i, k], at[i, k])
        return np.concatenate([low, second]), np.concatenate([first, high])

    def points(self) -> Array | None:
        """All points, where these are few; None elsewhere."""
        values = []
        for d, low, high in zip(self.numbers, self.low, self.high, strict=True):
            if d.values is None and not (d.integer and high - low < MOST_POINTS):
                return None
            every = np.arange(low, high + 1.0) if d.values is None else np.array(d.values)
            values.append(every[(every >= low) & (every <= high)])
        few = math.prod(map(len, values)) <= MOST_POINTS
        return np.array(list(itertools.product(*values))) if few else None

    def middles(self, low: Array, high: Array) -> Array:
        """One point of each box."""
        found = low.copy()
        for i, k in zip(*np.nonzero(low < high), strict=True):
            found[i, k] = self.cut(int(k), low[i, k], high[i, k])[0]
        return found


def _split(question: Question) -> _Split | None:
    """Tell the numbers that a program depends on, as few as may be, from those of the program itself."""
    with suppress(NotPosynomial):
        if (found := _with_levels(question)) is not None:
            return found
    asked = [*(x.name for x in question.limits), *(x.name for x in question.objectives)]
    if question.idle or HALVINGS.name in asked or any(d.choices is not None for d in question.decide):
        return None
    ends = {d.name: _ends(question, d) for d in question.decide}
    # where any design will do, ends of a search are as good as others to find one between
    may = [
        d for d in question.decide if d.menu is None and not (ends[d.name].searched and question.objectives)
    ]
    may.sort(key=lambda d: not d.name.startswith(MACHINE_PREFIX))
    for count in range(1, min(MOST_FREE_NUMBERS, len(question.decide) - 1) + 1):
        for numbers in itertools.islice(itertools.combinations(may, count), MOST_TRIED):
            own = [ends[d.name] for d in numbers]
            low, high = np.array([e.low for e in own], float), np.array([e.high for e in own], float)
            found = _Split(question, numbers, low, high, any(e.searched for e in own))
            with suppress(NotPosynomial):
                program(found.at(dict(zip((d.name for d in numbers), low.tolist(), strict=True))))
                return found
    return None


def _with_levels(question: Question) -> _Split | None:
    """The levels of limits on products; None where there are none. Raises NotPosynomial."""
    ends = levels.ends(question)
    low, high = np.array(list(ends.values()), float).reshape(-1, 2).T
    return _Split(question, tuple(map(Decision, ends)), low, high, levels=True) if ends else None


@dataclass(frozen=True, slots=True)
class _Ends:
    """Between what a number is looked for; ``searched``: an end is not the user's."""

    low: float
    high: float
    searched: bool


def _ends(question: Question, d: Decision) -> _Ends:
    low, high = evaluation.bounds(question)[d.name]
    box = evaluation.box(evaluation.nearest(question), d.name)
    ends = (box.low if low is None else low, box.high if high is None else high)
    searched = (low is None and box.searched[0]) or (high is None and box.searched[1]) or ends[0] <= 0.0
    if d.values is not None:
        inside = [v for v in d.values if ends[0] <= v <= ends[1]]
        ends = (min(inside), max(inside)) if inside else ends
        searched = d.endless or not inside
    elif d.integer:
        ends = math.ceil(ends[0]), math.floor(ends[1])
    return _Ends(max(ends[0], box.low, levels.LEAST_END), ends[1], searched or ends[0] > ends[1])


def _loosest(p: Program, box: int, count: int) -> Program:
    """The program of one box, with the least coefficients in its rows, and without ends that only a search has."""

    def end(a: Array, dims: int, upper: bool) -> Array:
        return a[box + upper * count] if a.ndim > dims else a

    def both(a: Array, dims: int) -> tuple[Array, Array]:
        return end(a, dims, False), end(a, dims, True)

    low, above, below = both(p.low, 1)[0], both(p.numerators, 2), both(p.denominators, 2)
    goal, under = ((None, None) if f is None else both(f, 1) for f in (p.goal, p.under))
    exact = [(column, both(arguments, 2)) for column, arguments in p.exact]
    wide = [
        (a != b).reshape(-1, a.shape[-1])
        for a, b in (above, below, goal, under, *(e for _, e in exact))
        if a is not None
    ]
    if (np.concatenate(wide)[:, :-1] & (low < 0.0)).any() or (wide[0] | wide[1])[p.equal].any():
        raise CannotTake("a number that is decided times what may be below 0")
    return replace(
        p,
        low=low,
        high=np.where(p.boxed, np.inf, end(p.high, 1, True)),
        numerators=above[0],
        denominators=below[1],
        goal=goal[0],
        under=under[1],
        exact=tuple((column, e[1]) for column, e in exact),
    )


@dataclass(slots=True)
class _Search:
    """Boxes that may hold something better, and the best design so far, at ``t``; ``closed``: the others' bound.

    ``at``: where boxes are cut next, NaN for their middles.
    """

    of: _Split
    low: Array
    high: Array
    bound: Array
    at: Array
    best: float = math.inf
    t: Array | None = None
    closed: float = math.inf
    boxes: int = 0

    @property
    def enough(self) -> float:
        """A bound from which on a box holds nothing that counts."""
        return programs.enough(self.best, self.of.question.gap)

    def learn(self, t: Array) -> None:
        """Solve the programs at points (N, numbers)."""
        for point, p in zip(t, self.of.programs(t, t), strict=True):
            self._learn(point, milp.least(p, milp.numbers(p), *milp.objective(p)))

    def close(self, t: Array) -> None:
        """The same at points that are all there are."""
        self.boxes += len(t)
        for point, p in zip(t, self.of.programs(t, t), strict=True):
            found = self._least(p)
            self._learn(point, found)
            self.closed = min(self.closed, found.bound)

    def _learn(self, t: Array, found: Result) -> None:
        if found.end is End.UNBOUNDED:
            self.best, self.t = -math.inf, t
        elif found.u is not None and (found.value < self.best or self.t is None):
            self.best, self.t = found.value, t

    def halve(self, now: Indices) -> None:
        """Halve some of the boxes, each along the number that raises the bounds of both halves most."""
        low, high, known, at = self.low[now], self.high[now], self.bound[now], self.at[now]
        kept = np.setdiff1d(np.arange(len(self.bound)), now)
        self.low, self.high = self.low[kept], self.high[kept]
        self.bound, self.at = self.bound[kept], self.at[kept]
        cuts = [self.of.halves(k, low, high, at) for k in range(low.shape[1])]
        told = [self.bounds(*cut, np.tile(known, 2)) for cut in cuts]
        bounds = np.array([bound.reshape(2, -1) for bound, _ in told])
        places = np.array([place.reshape(2, *low.shape) for _, place in told])
        raised = np.where(np.isfinite(known), np.minimum(bounds, LARGEST_RISE) - known, 0.0)
        wide, every = np.log(high / low).T, np.arange(len(now))
        # of as good ones the number with the widest ends; one that has a single value is none to cut
        order = np.lexsort((wide, raised.sum(axis=1), raised.min(axis=1), wide > 0.0), axis=0)
        by = order[-1]
        ends = np.array(cuts).reshape(len(cuts), 2, 2, *low.shape)[by, :, :, every]
        for half in (0, 1):
            self.keep(ends[:, 0, half], ends[:, 1, half], bounds[by, half, every], places[by, half, every])

    def keep(self, low: Array, high: Array, bound: Array, at: Array) -> None:
        """Keep the boxes that may hold something better, and try a design in each; ``at``: where they are cut."""
        narrow = 1.0 + SLACK if self.of.levels else NO_WIDER  # such levels are one
        done = (bound >= self.enough) | (high <= low * narrow).all(axis=1)
        self.closed = min([self.closed, *bound[done]])
        low, high, bound, at = (a[~done] for a in (low, high, bound, at))
        self.low, self.high, self.at = map(
            np.concatenate, ([self.low, low], [self.high, high], [self.at, at])
        )
        self.bound = np.append(self.bound, bound)
        if len(low):
            self.learn(np.where(np.isnan(at), self.of.middles(low, high), at))

    def bounds(self, low: Array, high: Array, known: Array) -> tuple[Array, Array]:
        """Bounds of boxes, each no less than one that is known, and where they are best cut (NaN: in the middle)."""
        self.boxes += len(low)
        at = np.full(low.shape, np.nan)
        boxes = zip(self.of.programs(low, high), known, low, high, at, strict=True)
        return np.array([self._bound(*box) for box in boxes]), at

    def _bound(self, p: Program, known: float, low: Array, high: Array, at: Array) -> float:
        """The least that the designs of a box come to; infinite where it is proved that there are none.

        Puts in ``at`` where a cut leaves the best design in neither half, where all numbers are whole.
        """
        divisible = replace(p, integer=np.zeros_like(p.integer))
        for asked in (divisible, p) if p.integer.any() else (p,):
            found = self._least(asked)
            known = max(known, found.bound)
            if known >= self.enough:
                break
            if self.of.levels and asked is p and found.u is not None:
                least, most = levels.at_design(p, found.u, [d.name for d in self.of.numbers], low, high)
                if (whole := p.integer.all()) and (least > most * (1.0 + SLACK)).any():
                    at[...] = np.sqrt(least * most)
                elif (least <= most * (1.0 + SLACK * whole)).all():
                    self._learn(np.sqrt(least * most), found)
        return known

    def _least(self, p: Program) -> Result:
        """The optimum of a box; its bound is infinite where it is proved that there is no design."""
        n, aim = milp.numbers(p), milp.objective(p)
        found = milp.least(p, n, *aim)
        if found.end is not End.INFEASIBLE:
            return found
        if least_misses.is_violated(p, ()):
            return replace(found, bound=math.inf)
        # too little is missed for a proof: what designs come to that miss as little, of whole numbers by rounding
        rows = n.rows.copy()
        rows[:, -1] -= 2.0 * SLACK * least_misses.sizes_of_rows(p)[0]
        eased = milp.least(p, replace(n, rows=rows), *aim)
        return eased if p.integer.all() else replace(found, bound=eased.bound)


def minimise(question: Question) -> Outcome | None:
    """The optimum of a question whose program depends on a few decided numbers, or a proof that there is no design.

    None where it is no such question. Without an objective any design will do.
    """
    try:
        split = _split(question) if is_linear(question) else None
        return None if split is None else _minimised(split)
    except (CannotTake, Differ, ArithmeticError):
        return None


def _minimised(split: _Split) -> Outcome | None:
    low, high = split.low[None], split.high[None]
    s = _Search(split, low[:0], high[:0], np.zeros(0), low[:0])
    if (points := split.points()) is not None:
        s.close(points)
        return _outcome(s)
    s.learn(np.array(list(itertools.product(*zip(split.low, split.high, strict=True)))))
    s.keep(low, high, *s.bounds(low, high, np.array([-math.inf])))
    deadline, wanted = time.monotonic() + SEARCH_SECONDS, bool(split.question.objectives)
    most = MOST_BOXES_OF_NUMBERS if wanted else FEW_BOXES
    while len(s.bound) and s.boxes < most and time.monotonic() < deadline and (wanted or s.t is None):
        s.halve(np.argsort(s.bound, kind="stable")[:HALVED_TOGETHER])
    return _outcome(s)


def _outcome(s: _Search) -> Outcome | None:
    left = min([s.closed, *s.bound])
    if s.t is None:
        if left < math.inf or s.of.searched:
            return None
        text = f"no design, whatever {s.of.names}, by bounds of programs whose limits may give (boxes: {s.boxes})"
        return Outcome(Status.INFEASIBLE, certificate=text, solver=programs.SOLVER)
    t = _smallest_as_good(s, s.t)
    at = dict(zip((d.name for d in s.of.numbers), t.tolist(), strict=True))
    # bounds of boxes know no end of a search: the nearest one that allows as much will do
    p = program(evaluation.nearest(s.of.at(at)), searched=True, levels=at if s.of.levels else {})
    chosen = programs.optimise(p)
    settled = chosen.outcome
    if settled.status is Status.UNBOUNDED:
        return settled
    if settled.x is None or (chosen.best is not None and chosen.best.value > designs.as_good_as(s.best)):
        return None
    x = {d.name: (at | dict(settled.x))[d.name] for d in s.of.question.decide}
    if not s.of.question.objectives:
        return replace(settled, x=x)
    bound = min(left, s.best)
    text = (
        f"branch and bound over {s.of.names} (boxes: {s.boxes}), each box bounded by the "
        f"program with the least coefficients that it has there; {programs.proof(p)}"
    )
    status = judgement.as_proved(s.of.question, s.best, bound)
    return Outcome(status, x, programs.to_user(p, bound), text, programs.SOLVER)


def _smallest_as_good(s: _Search, t: Array) -> Array:
    """The numbers of the best design, those at their lower ends that are as good there, in the order of the file."""
    for k, low in enumerate(s.of.low):
        lower = np.where(np.arange(len(t)) == k, low, t)
        (p,) = s.of.programs(lower[None], lower[None])
        found = milp.least(p, milp.numbers(p), *milp.objective(p))
        if found.u is not None and found.value <= designs.as_good_as(s.best):
            t = lower
    return t
