"""Which of a question's numbers its program depends on, and the programs that hold for boxes and points of these."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from dse.models.arithmetic import CannotTake
from dse.models.model import MACHINE_PREFIX
from dse.system.arrays import Array
from dse.system.records import dataclass
from formulations import evaluation
from formulations.arithmetics import affine
from formulations.arithmetics.between import between
from formulations.arithmetics.forms import Affine, Maximum
from formulations.arithmetics.posynomial import NotPosynomial
from formulations.programs.program import Program, Run, program
from scenarios.define.divisors import Divisors
from scenarios.question import HALVINGS, Decision, Question
from solvers import beyond
from solvers.linear.boxes import levels

MOST_FREE_NUMBERS = 3
"""Numbers that are not listed of which it is looked for the fewest."""
MOST_TRIED = 10
"""Sets of as many numbers of which it is tried whether a program depends on them alone."""
MOST_POINTS = 64
"""Values of whole and listed numbers that are all tried."""


@dataclass(frozen=True, slots=True)
class Split:
    """A question, and those of its decided numbers that its program depends on, each with its ends.

    ``least``, ``most``: what the numbers may be, farther out than ``low`` and ``high`` where these are ends of a
    search. ``open``: they may be something else besides. ``levels``: the numbers are the levels of limits on products,
    by whose names they are called (see ``formulations.programs.program.limits``), and nothing that the user decides.
    """

    question: Question
    numbers: tuple[Decision, ...]
    low: Array
    high: Array
    least: Array
    most: Array
    open: bool = False
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

    def at_point(self, t: Array) -> Program:
        """The program at one point; an end that only a search has is the nearest one."""
        at = dict(zip((d.name for d in self.numbers), t.tolist(), strict=True))
        levels_there = at if self.levels else {}
        return program(evaluation.nearest(self.at(at)), searched=True, levels=levels_there)

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
        p = replace(p, low=np.maximum(p.low, _floors(p)))
        return [_loosest(p, k, len(low)) for k in range(len(low))]

    @property
    def held(self) -> bool:
        """Whether some end is only a search's."""
        return bool((self.least < self.low).any() or (self.most > self.high).any())

    def shells(self) -> tuple[Array, Array]:
        """Boxes (N, numbers) that cover what the numbers may be beyond the ends of a search."""
        ends = np.array([*beyond.outside(self, self.least, self.most)]).reshape(-1, 2, len(self.numbers))
        return ends[:, 0], ends[:, 1]

    def cut(self, k: int, low: float, high: float, at: float = math.nan) -> tuple[float, float]:
        """Up to where, and from where on, the halves of what number k may be go; ``at``: where they should meet."""
        if low < at < high:
            return at, at
        d, floor = self.numbers[k], levels.WIDEST * high if self.levels or low <= 0.0 else low
        middle = math.sqrt(max(low, floor) * high)
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


def split(question: Question) -> Split | None:
    """Tell the numbers that a program depends on, as few as may be, from those of the program itself."""
    with suppress(NotPosynomial):
        if (found := _with_levels(question)) is not None:
            return found
    asked = [*(x.name for x in question.limits), *(x.name for x in question.objectives)]
    if question.idle or HALVINGS.name in asked or any(d.choices is not None for d in question.decide):
        return None
    ends = {d.name: _ends(question, d) for d in question.decide}
    # shares and counts from 0 on are the program's own
    may = [
        d
        for d in question.decide
        if not isinstance(d.menu, Divisors)
        and (d.values is not None or ends[d.name].low > 0.0)
        and _is_of_use(question, d.name, ends[d.name])
    ]
    may.sort(key=lambda d: (not d.name.startswith(MACHINE_PREFIX), d.values is None))

    def of(numbers: Iterable[Decision]) -> Split | None:
        numbers = tuple(numbers)
        own = [ends[d.name] for d in numbers]
        low, high, least, most = (
            np.array([getattr(e, n) for e in own], float) for n in ("low", "high", "least", "most")
        )
        found = Split(question, numbers, low, high, least, most, any(e.open for e in own))
        with suppress(NotPosynomial):
            # what is not used at all, at 0, depends on nothing
            for point in (low,) if (low > 0.0).all() else (low, high):
                program(found.at(dict(zip((d.name for d in numbers), point.tolist(), strict=True))))
            return found
        return None

    for count in range(1, min(MOST_FREE_NUMBERS, len(question.decide) - 1) + 1):
        for numbers in itertools.islice(itertools.combinations(may, count), MOST_TRIED):
            if (found := of(numbers)) is not None:
                return found
    # more of them than that are only of use where all their values are tried
    last = None
    for d in reversed(may):
        fewer = [x for x in may if x is not d]
        if fewer and (found := of(fewer)) is not None:
            may, last = fewer, found
    return last if last is not None and last.points() is not None else None


def _is_of_use(question: Question, name: str, ends: _Ends) -> bool:
    """Whether a number may be one that boxes are of.

    Where any design will do, ends of a search are as good as others to find one between, and so is one that the number
    itself is to be far from; at others the best would be what the search made it.
    """
    if not question.objectives:
        return True
    goal = question.objectives[0]
    far = ends.least < ends.low if goal.maximize else ends.most > ends.high
    return not ends.held or (goal.name == name and not ends.open and far and not ends.both_held)


def _with_levels(question: Question) -> Split | None:
    """The levels of limits on products; None where there are none. Raises NotPosynomial."""
    ends = levels.ends(question)
    low, high = np.array(list(ends.values()), float).reshape(-1, 2).T
    return Split(question, tuple(map(Decision, ends)), low, high, low, high, levels=True) if ends else None


@dataclass(frozen=True, slots=True)
class _Ends:
    """Between what a number is looked for, and what it may be: farther out where an end is only a search's.

    ``open``: it may be something else besides, such as the rest of a list without end.
    """

    low: float
    high: float
    least: float
    most: float
    open: bool

    @property
    def held(self) -> bool:
        """Whether an end is not the user's."""
        return self.open or (self.least, self.most) != (self.low, self.high)

    @property
    def both_held(self) -> bool:
        """Whether neither end is the user's."""
        return self.least < self.low and self.most > self.high


def _ends(question: Question, d: Decision) -> _Ends:
    low, high = evaluation.bounds(question)[d.name]
    box = evaluation.box(evaluation.nearest(question), d.name)
    ends = (box.low if low is None else max(low, box.low), box.high if high is None else high)
    if d.values is not None:
        inside = [v for v in d.values if ends[0] <= v <= ends[1]]
        ends = (min(inside), max(inside)) if inside else ends
        return _Ends(*ends, *ends, d.endless or not inside)
    if d.integer:
        ends = math.ceil(ends[0]), math.floor(ends[1])
    far = (
        evaluation.LEAST_CALCULABLE if low is None and box.searched[0] else ends[0],
        evaluation.LARGEST_CALCULABLE if high is None and box.searched[1] else ends[1],
    )
    return _Ends(*ends, min(ends[0], far[0]), max(ends[1], far[1]), ends[0] > ends[1])


def _floors(p: Program) -> Array:
    """What columns are at least: a maximum no less than the mean of its arguments, where that is one number."""
    found = np.full(len(p.columns), -np.inf)
    for i, atom in enumerate(p.columns):
        if isinstance(atom, Maximum):
            total = functools.reduce(Affine.plus, atom.arguments)
            # of boxes it may be another number in each: the least is one of all
            found[i] = np.min(total.constant) / len(atom.arguments) if total.is_constant else -np.inf
    return found


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
