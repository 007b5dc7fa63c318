"""One design for many samples, from the best design of each: sums of shares and counts, which boxes are too many for.

For designs x of a box B, losses f_s and limits of their own in each of the samples s, and a measure that does not fall
where losses rise,

    measure over s of f_s(x)  >=  measure over s of (min over z in B, within the limits of s, of f_s(z)).

Where one design is the best in every sample the two are equal (Madansky, Management Science 6, 1960: what it is worth
to wait and see). Else the box is cut between the designs of the samples, along the number in which they differ most
(Carøe and Schultz, Operations Research Letters 24, 1999): a sample whose best design lies in a part keeps it, and only
the others are asked again, all at once as the points of a grid. The designs found, and their means, are judged in
every sample; the best of them is the answer. Where each sample takes a search of its own a measure is first looked
for by one program of all samples (``solvers.robust.searches.one_program``).
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable
from dataclasses import field, replace
from typing import Any

import numpy as np

from dse.models.arithmetic import CannotTake
from dse.system.arrays import Array, Bools, Points
from dse.system.records import dataclass
from formulations import handover
from formulations.arithmetics.posynomial import NotPosynomial
from formulations.grids import over_grid
from formulations.tolerances import HOLDS
from formulations.uncertainty.measures import Weighing
from formulations.uncertainty.wanted import Wanted, reached
from formulations.uncertainty.worlds import Worlds
from results.dataset import STATUS_CODES, Layout, layout, only
from results.solution import Status
from results.variables import OF_LIMITS
from scenarios.axes.axes import Target
from scenarios.question import Decision, Question
from scenarios.sweep.grids import Column, Grid, GridAxis
from solvers import designs, work
from solvers.certain import answer
from solvers.counting import whole
from solvers.judgement import relative_gap
from solvers.linear.points import linear
from solvers.many_points.blocks import ByGroup
from solvers.outcome import Outcome
from solvers.robust.masters import ends
from solvers.robust.masters.robust_geometric import DISCRETE, Found
from solvers.robust.searches import one_program

SECONDS = 5.0
"""Declared seconds of looking for the best designs of samples (see ``solvers.work``)."""
CALL_SECONDS = 5e-3
"""What asking some samples together takes, however few they are."""
WORDS = "the best designs of samples"
WAYS = (whole.over, linear.over)
"""What finds the best designs of many samples; those left over are asked one by one."""
UNREAD = OF_LIMITS | {"metric"}
"""Of a sample: what no bound or design rests on."""
MOST_JUDGED = 256
"""Designs of a box that are judged in every sample."""
SOLVER = "dse branch and bound over the best designs of samples"
SAME_DESIGN = 1e-9
"""Designs of samples whose numbers differ by less, relative, are one design."""
UNTIED = "one of the equally good designs is reported"


@dataclass(frozen=True, slots=True)
class _Box:
    """A box of designs: the question in it, and the best design ``x`` (S, n) and ``bound`` (S,) of each sample.

    ``key``: what no design of the box is better than; smaller is better.
    """

    key: float
    question: Question
    x: Array
    bound: Array


@dataclass(frozen=True, slots=True)
class _Best:
    """Of each sample (S,) whether it may have a design, its best ``x`` (S, n), and the bound; NaN: not known."""

    holds: Bools
    x: Array
    bound: Array


def minimise(wanted: Wanted) -> Found:
    """Find the best design; ``feasible`` with the bound reached where the work is done before the gap is closed.

    Raises CannotTake where lists or names are decided, limits may fail, or some sample has no bound.
    """
    worlds = wanted.worlds
    alike = worlds.counted is None and worlds.limited is None and not wanted.chances
    numbers = all(d.values is None and d.choices is None for d in worlds.nominal.decide)
    if not (numbers and alike and worlds.nominal.objectives) or wanted.eased is not None:
        raise CannotTake("what is decided is more than numbers, with limits that hold in every sample")
    limits = tuple(x for x in worlds.nominal.limits if wanted.counts(x.name))
    own = frozenset(x.name for x in worlds.nominal.model.limits if not wanted.counts(x.name))
    question = replace(worlds.nominal, limits=limits, waive=worlds.nominal.waive | own)
    whole = np.array([d.integer for d in question.decide])
    # the first way is of whole numbers alone
    ways = WAYS if whole.all() else WAYS[1:]
    search = _Search(wanted, tuple(d.name for d in question.decide), whole, ways)
    search.run(question)
    return search.found()


@dataclass(slots=True, eq=False)
class _Search:
    """The search: the best design ``x`` so far and its ``value`` times the sign; ``closed``: the least key let go.

    ``ways``: those of WAYS that answered some sample of each box so far; ``apart``: whether samples were left to be
    asked one by one, all that a way was given; ``together``: whether one program of all samples was solved.
    """

    wanted: Wanted
    names: tuple[str, ...]
    whole: Bools
    ways: tuple[Callable[[Grid], ByGroup], ...]
    x: Array | None = None
    value: float = np.inf
    closed: float = np.inf
    asked: int = 0
    seconds: float = 0.0
    apart: bool = False
    together: bool = False
    judged: set[bytes] = field(default_factory=set)
    open: list[tuple[float, int, _Box]] = field(default_factory=list)
    boxes: itertools.count[int] = field(default_factory=itertools.count)

    def run(self, question: Question) -> None:
        """Search the box of a question until the gap is closed or the work is done."""
        size = self.wanted.worlds.size
        nothing = np.full(size, -self.wanted.sign * np.inf)
        self._examine(_Box(-np.inf, question, np.full((size, len(self.names)), np.nan), nothing))
        if not self.open and self.value == np.inf and self.closed < np.inf:
            raise CannotTake("the best design of some sample has no bound")
        measure = self.wanted.measure
        if self.apart and self.open and self.open[0][0] < self._enough() and isinstance(measure, Weighing):
            self._ask_together(question, measure)
        while self.open and self.seconds < SECONDS and self.open[0][0] < self._enough():
            *_, box = heapq.heappop(self.open)
            apart = np.where(np.ptp(box.x, axis=0) > SAME_DESIGN * np.abs(box.x).max(0), box.x.std(0), 0.0)
            if not apart.any():
                # one design is the best everywhere; a limit on a measure may forbid it
                self.closed = min(self.closed, box.key)
                continue
            k = int(np.argmax(apart))
            middle = float(box.x[:, k].mean())
            below, above = (np.floor(middle), np.floor(middle) + 1.0) if self.whole[k] else (middle, middle)
            for least, most in ((None, float(below)), (float(above), None)):
                self._examine(replace(box, question=_between(box.question, self.names[k], least, most)))

    def _enough(self) -> float:
        """The key from which a box cannot improve the best design by more than the gap asked for."""
        gap = self.wanted.worlds.nominal.gap
        return self.value - gap * abs(self.value) if self.value < np.inf else np.inf

    def _examine(self, box: _Box) -> None:
        """Ask the samples whose best design lies outside a box, judge what they find, and keep the box open."""
        x, bound = box.x.copy(), box.bound.copy()
        low, high = _decided_ends(box.question)
        outside = np.flatnonzero(~((low <= x) & (x <= high)).all(1))
        best = self._best_of_each(self.wanted.worlds.some(outside), box.question)
        self.asked += outside.size
        if not best.holds.all():
            return
        x[outside] = np.where(np.isfinite(best.x), best.x, np.clip(x[outside], low, high))
        sign = self.wanted.sign
        bound[outside] = sign * np.fmax(sign * best.bound, sign * bound[outside])
        self._judge(x)
        with np.errstate(invalid="ignore"):
            measured = sign * float(self.wanted.measure.value(bound, maximize=sign < 0))
        key = max(box.key, np.nan_to_num(measured, nan=-np.inf))
        if not np.isfinite(x).all() or not np.isfinite(key):
            self.closed = min(self.closed, key)
            return
        heapq.heappush(self.open, (key, next(self.boxes), replace(box, key=key, x=x, bound=bound)))

    def _ask_together(self, question: Question, measure: Weighing) -> None:
        """Ask one program of all samples for the best measure, judge its design, and raise the bound of the box."""
        worlds = self.wanted.worlds
        grid = _grid(worlds, question)
        try:
            questions = [grid.question((i,)) for i in range(worlds.size)]
            joint = one_program.least_measure(questions, measure.share)
        except (CannotTake, NotPosynomial):
            return
        if joint.x is None:
            return
        self.together = True
        self._judge(np.array([[joint.x[n] for n in self.names]]))
        self.open = [(max(key, joint.bound), k, box) for key, k, box in self.open]
        self.open = [(key, k, replace(box, key=key)) for key, k, box in self.open]

    def _judge(self, x: Array) -> None:
        """Judge the designs of samples, and their mean, in every sample; keep the best."""
        mean = np.where(self.whole, np.round(x.mean(0)), x.mean(0))
        found = np.unique(np.vstack([x, mean]), axis=0)
        new = [d for d in found if np.isfinite(d).all() and d.tobytes() not in self.judged][:MOST_JUDGED]
        self.judged.update(d.tobytes() for d in new)
        if not new:
            return
        at = reached(self.wanted, dict(zip(self.names, np.array(new).T, strict=True)))
        value = np.where(at.over() <= HOLDS, self.wanted.sign * at.goal, np.inf)
        value = np.nan_to_num(value, nan=np.inf, posinf=np.inf)
        if value.min() < self.value:
            self.value, self.x = float(value.min()), new[int(value.argmin())]

    def _with_fewest(self, x: Array) -> Array:
        """A design that is as good, with as few as will do of what is at an end of the search: more changes nothing."""
        for k, name in enumerate(self.names):
            if not self.whole[k] or x[k] < 1.0 or not ends.near_end(self.wanted.worlds.nominal, name, x[k]):
                continue
            fewer = np.tile(x, (int(math.log10(x[k])) + 1, 1))
            fewer[:, k] = 10.0 ** np.arange(len(fewer))
            at = reached(self.wanted, dict(zip(self.names, fewer.T, strict=True)))
            good = (at.over() <= HOLDS) & (self.wanted.sign * at.goal <= designs.as_good_as(self.value))
            x = fewer[good.argmax()] if good.any() else x
        return x

    def _best_of_each(self, worlds: Worlds, question: Question) -> _Best:
        """Return the best design of each sample."""
        size, left = worlds.size, np.arange(worlds.size)
        best = _Best(np.ones(size, bool), np.full((size, len(self.names)), np.nan), np.full(size, np.nan))
        # what leaves over all samples of a box does so in its parts
        for way in self.ways:
            if left.size and not self.apart:
                still = self._put_together(way, _grid(worlds.some(left), question), left, best)
                if still.all() and left.size == size:
                    self.ways = tuple(w for w in self.ways if w is not way)
                left = left[still]
        self.apart |= size > 0 and left.size == size
        for i in map(int, left):
            alone = answer(_grid(worlds, question).question((i,)), neighbours=False, brief=True)
            self.seconds += work.alone(question)
            best.holds[i] = alone.status is not Status.INFEASIBLE
            best.bound[i] = np.nan if alone.bound is None else alone.bound
            best.x[i] = [alone.variables.get(n, np.nan) for n in self.names]
        return best

    def _put_together(self, way: Callable[[Grid], ByGroup], grid: Grid, places: Points, best: _Best) -> Bools:
        """Put in what a way finds of some samples, of these ``places``; tells which are left."""
        plan, left = layout(grid), np.ones(grid.size, bool)
        # why a sample has no design is not asked
        plan = only(plan, {v.name for v in plan.variables if v.role not in UNREAD})
        with handover.guarded(WORDS, grid.size, handover.ARITHMETIC):
            path = way(grid)
            self.seconds += CALL_SECONDS + path.work * grid.size
            arrays, left = path.solve(plan, over_grid.whole(grid))
            own, decided = places[~left], _decided(plan, arrays)
            best.holds[own] = arrays["status"][~left] != STATUS_CODES[Status.INFEASIBLE]
            best.bound[own] = arrays["bound"][~left]
            best.x[own] = np.stack([decided[n] for n in self.names], axis=1)[~left]
        return left

    def found(self) -> Found:
        """Return the best design with its bound, or the proof that there is none."""
        sign, nominal, word = self.wanted.sign, self.wanted.worlds.nominal, self.wanted.worlds.word
        text = f"branch and bound over the best designs of each {word}, {self.asked} of them"
        if self.together:
            text += f", and one program of every {word}"
        least = min([self.value, self.closed, *(key for key, *_ in self.open[:1])])
        if self.x is None:
            if least == np.inf:
                text = f"in some {word} no design holds the limits: {text}"
                return Found(Outcome(Status.INFEASIBLE, certificate=text, solver=SOLVER))
            message = f"neither a design nor a proof that there is none: {text}"
            return Found(Outcome(Status.ERROR, message=message, solver=SOLVER))
        gap = float(relative_gap(sign * self.value, sign * least))
        status = Status.OPTIMAL if gap <= nominal.gap else Status.FEASIBLE
        text += f"; {UNTIED}" if status is Status.OPTIMAL else f"; they left a gap of {gap:.1e}"
        design = dict(zip(self.names, map(float, self._with_fewest(self.x)), strict=True))
        bound = sign * least if np.isfinite(least) else None
        return Found(
            Outcome(status, design, bound, text, SOLVER), unweighed=DISCRETE if self.whole.any() else ""
        )


def _between(question: Question, name: str, least: float | None, most: float | None) -> Question:
    """Return a question with closer ends of what is decided; None: as it is."""

    def closer(d: Decision) -> Decision:
        low, high = d.minimum if least is None else least, d.maximum if most is None else most
        return replace(d, minimum=low, maximum=high)

    return replace(question, decide=tuple(closer(d) if d.name == name else d for d in question.decide))


def _decided_ends(question: Question) -> tuple[Array, Array]:
    """Return the ends of what is decided, as the user and the search set them."""
    low = [-np.inf if d.minimum is None else d.minimum for d in question.decide]
    high = [np.inf if d.maximum is None else d.maximum for d in question.decide]
    return np.array(low), np.array(high)


def _decided(plan: Layout, arrays: dict[str, Array]) -> dict[str, Array]:
    """Return the numbers of a dataset by name, those of families too."""
    found = {v.key: arrays[v.name] for v in plan.variables if not v.elements}
    for v in plan.variables:
        for place, name in v.elements.items():
            own: Any = (slice(None), *place)
            found[name] = arrays[v.name][own]
    return found


def _grid(worlds: Worlds, question: Question) -> Grid:
    """Return a question in every sample as a grid of one axis, along which all that is uncertain changes together."""
    columns = tuple(Column(n, n, "", n, tuple(map(float, v))) for n, v in worlds.uncertain().items())
    axis = GridAxis("sample", "sample", "", "sample", tuple(map(float, range(worlds.size))), columns)
    return Grid((axis,), tuple(Target("given", c.name) for c in columns), {(): question}, {})
