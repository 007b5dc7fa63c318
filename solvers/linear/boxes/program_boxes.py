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
from dataclasses import replace

import numpy as np

from dse.models.arithmetic import CannotTake
from dse.system.arrays import Array, Indices
from dse.system.records import dataclass
from formulations import evaluation
from formulations.arithmetics.many import Differ
from formulations.programs.program import Program, is_linear
from formulations.tolerances import HOLDS, SLACK, TIE
from results.solution import Status
from scenarios.question import Question
from solvers import boxes, designs, judgement
from solvers.linear import large_numbers, least_misses, milp, programs
from solvers.linear.boxes import levels
from solvers.linear.boxes.split import Split, split
from solvers.linear.linear_program import End, Result
from solvers.mechanisms import parts
from solvers.outcome import Outcome

MOST_BOXES_OF_NUMBERS = 2000
FEW_BOXES = 200
"""The same where only a design is sought, as conflicts ask many times."""
BOXES_WITHOUT_DESIGN = 32
"""The same without a design where ends are only a search's: what is open is mostly near one that no float reaches."""
HALVED_TOGETHER = 16
"""Boxes that are halved in a round: their programs are written at once."""
SEARCH_SECONDS = 30.0
LARGEST_RISE = 1e300
NO_WIDER = 1.0 + 1e-15  # between the ends of a box that is a point


@dataclass(slots=True)
class _Search:
    """Boxes that may hold something better, and the best design so far, at ``t``; ``closed``: the others' bound.

    ``at``: where boxes are cut next, NaN for their middles. ``tied``: the points that are as good as the best,
    where all of them were tried. ``thin``: whether the limits themselves leave no more than a strip of whole numbers.
    """

    of: Split
    low: Array
    high: Array
    bound: Array
    at: Array
    best: float = math.inf
    t: Array | None = None
    closed: float = math.inf
    boxes: int = 0
    tied: Array | None = None
    thin: bool = False

    @property
    def enough(self) -> float:
        """A bound from which on a box holds nothing that counts."""
        return programs.enough(self.best, self.of.question.gap)

    def learn(self, t: Array) -> None:
        """Solve the programs at points (N, numbers), but for those at a level that leaves no more than a strip."""
        for point, p in zip(t, self.of.programs(t, t), strict=True):
            n = milp.numbers(p)
            if self.of.levels and large_numbers.in_a_strip(n) and not self.thin:
                # a factor at its very least beside a limit that keeps it from less: boxes come as near as designs do
                continue
            found = milp.least(p, n, *milp.objective(p))
            # between ends of a search some numbers are too large or small to be believed
            if not self.of.held or found.u is None or self._is_design(point, p.design(found.u)):
                self._learn(point, found)

    def _is_design(self, t: Array, x: Mapping[str, float]) -> bool:
        """Whether a design at a point is one by the model's own equations."""
        at = {**dict(zip((d.name for d in self.of.numbers), t.tolist(), strict=True)), **x}
        worst, _ = boxes.measured(self.of.question, np.array([[at[d.name] for d in self.of.question.decide]]))
        return bool(worst[0] <= 1.0 + HOLDS)

    def close(self, t: Array) -> None:
        """The same at points that are all there are."""
        found: list[Result] = []
        for point in t:
            self.boxes += 1
            p = self.of.at_point(point)
            # beyond the ends of a search there is no better one either
            found.append(self._least(replace(p, high=p.endless)))
            self._learn(point, found[-1])
            if found[-1].u is not None and not self.of.question.objectives:
                # any design will do
                break
        self.closed = min(one.bound for one in found)
        values = [one.value if one.u is not None else math.inf for one in found]
        self.tied = t[: len(found)][parts.tied(np.array(values), TIE)]

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
        t = np.where(np.isnan(at), self.of.middles(low, high), at)
        if len(low):
            self.learn(t)

    def search(self, deadline: float) -> None:
        """Halve the box between the nearest ends until its best design is known, or any without an objective."""
        of, wanted = self.of, bool(self.of.question.objectives)
        most = MOST_BOXES_OF_NUMBERS if wanted and not of.held else FEW_BOXES
        few = BOXES_WITHOUT_DESIGN if of.held else most
        if of.levels:
            whole = of.programs(of.low[None], of.high[None])[0]
            self.thin = large_numbers.in_a_strip(milp.numbers(whole))
        bound, at = self.bounds(of.low[None], of.high[None], np.array([-math.inf]))
        if bound[0] < math.inf:
            self.learn(np.array(list(itertools.product(*zip(of.low, of.high, strict=True)))))
        self.keep(of.low[None], of.high[None], bound, at)
        while len(self.bound) and time.monotonic() < deadline and (wanted or self.t is None):
            if self.boxes >= (few if self.t is None else most):
                break
            self.halve(np.argsort(self.bound, kind="stable")[:HALVED_TOGETHER])

    def least_in(self, low: Array, high: Array) -> float:
        """A bound of boxes beyond the ends of a search; infinite where there are none, or they have no design."""
        if not len(low):
            return math.inf
        try:
            return float(self.bounds(low, high, np.full(len(low), -math.inf))[0].min(initial=math.inf))
        except (CannotTake, Differ, ArithmeticError):
            return -math.inf

    def bounds(self, low: Array, high: Array, known: Array) -> tuple[Array, Array]:
        """Bounds of boxes, each no less than one that is known, and where they are best cut (NaN: in the middle)."""
        self.boxes += len(low)
        at = np.full(low.shape, np.nan)
        every = zip(self.of.programs(low, high), known, low, high, at, strict=True)
        return np.array([self._bound(*box) for box in every]), at

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
        found = split(question) if is_linear(question) else None
        return None if found is None else _minimised(found)
    except (CannotTake, Differ, ArithmeticError):
        return None


def _minimised(of: Split) -> Outcome | None:
    none, deadline = of.low[None][:0], time.monotonic() + SEARCH_SECONDS
    s = _Search(of, none, none, np.zeros(0), none)
    if (points := of.points()) is not None:
        s.close(points)
        return _outcome(s)
    # where all coefficients pull one way, nothing beyond the ends of a search is better, either
    if of.held and s.least_in(of.least[None], of.most[None]) == math.inf:
        return _outcome(s)
    s.search(deadline)
    if s.t is None or of.question.objectives:
        s.closed = min(s.closed, s.least_in(*of.shells()))
    return _outcome(s)


def _outcome(s: _Search) -> Outcome | None:
    left = min([s.closed, *s.bound])
    if s.t is None:
        if left < math.inf or s.of.open:
            return None
        how = f"by bounds of programs whose limits may give (boxes: {s.boxes})"
        how = how if s.tied is None else f"by bounds of a program of each value ({s.boxes})"
        text = f"no design, whatever {s.of.names}, {how}"
        return Outcome(Status.INFEASIBLE, certificate=text, solver=programs.SOLVER)
    settled = _settled(s, s.t)
    if settled is None or settled.status is Status.UNBOUNDED or not s.of.question.objectives:
        return settled
    bound = min(left, s.best)
    how = (
        f"branch and bound over {s.of.names} (boxes: {s.boxes}), each box bounded by the "
        "program with the least coefficients that it has there"
    )
    how = how if s.tied is None else f"all {s.boxes} values of {s.of.names}, each a program of its own"
    return replace(
        settled,
        status=judgement.as_proved(s.of.question, s.best, bound),
        bound=programs.to_user(s.of.at_point(s.t), bound),
        certificate=f"{how}; {settled.certificate}",
    )


def _settled(s: _Search, t: Array) -> Outcome | None:
    """The design that is handed out: of points that are as good the one that the order of ties prefers."""
    if s.tied is None or len(s.tied) < 2:
        return _at(s, t if s.tied is not None else _smallest_as_good(s, t))
    question = s.of.question
    found = [one for point in s.tied if (one := _at(s, point)) is not None and one.x is not None]
    if not found:
        return None
    xs = [{n: np.array([v]) for n, v in (one.x or {}).items()} for one in found]
    numbers = [{**evaluation.metrics(question, x), **x} for x in xs]
    first = found[int(designs.first_by_rule(question, numbers, np.ones((len(found), 1), bool))[0])]
    among = [(one.ranges, one.x or {}) for one in found]
    return replace(first, ranges=parts.ranges_over(among, first.x or {}))


def _at(s: _Search, t: Array) -> Outcome | None:
    """The optimum at a point, all decided numbers put in; None where it is not what the search found there."""
    # bounds of boxes know no end of a search: the nearest one that allows as much will do
    p = s.of.at_point(t)
    chosen = programs.optimise(p)
    found = chosen.outcome
    if found.status is Status.UNBOUNDED:
        return found
    if found.x is None or (chosen.best is not None and chosen.best.value > designs.as_good_as(s.best)):
        return None
    at = dict(zip((d.name for d in s.of.numbers), t.tolist(), strict=True))
    x = {d.name: (at | dict(found.x))[d.name] for d in s.of.question.decide}
    text = programs.proof(p) if s.of.question.objectives else found.certificate
    return replace(found, x=x, ranges=chosen.ranges if s.tied is not None else {}, certificate=text)


def _smallest_as_good(s: _Search, t: Array) -> Array:
    """The numbers of the best design, those at their lower ends that are as good there, in the order of the file."""
    if s.best == -math.inf:  # no design is as good as one that there is no end of
        return t
    for k, low in enumerate(s.of.low):
        lower = np.where(np.arange(len(t)) == k, low, t)
        p = s.of.at_point(lower)
        p = replace(p, high=p.endless)
        found = milp.least(p, milp.numbers(p), *milp.objective(p))
        if found.u is not None and found.value <= designs.as_good_as(s.best):
            t = lower
    return t
