"""Choices among names and listed values: each combination is a grid of its own, answered by another way; the best wins.

For questions whose numbers have a way of their own once names are chosen (how many racks of which platform), or all
but one of the numbers with gaps (at which of four voltages). As for a single point each combination is answered by
itself, and of the same objective the first one is handed out. Where none has a design, limits conflict that do in every
combination.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from dse.system.arrays import Array, Bools, Indices, Integers
from dse.system.records import dataclass
from formulations import handover
from formulations.grids import over_grid
from formulations.grids.over_grid import Region
from formulations.problem import formulate
from formulations.tolerances import TIE
from results.dataset import CONFLICTING, STATUS_CODES, Arrays, Layout, layout, only
from results.solution import Status
from scenarios.axes.axes import Target
from scenarios.question import Question, combinations, fixed
from scenarios.sweep.grids import Grid, GridAxis
from solvers import designs
from solvers.judgement import relative_gap
from solvers.many_points import blocks, claims, no_choice
from solvers.many_points.block_answers import BlockAnswers
from solvers.many_points.blocks import Block, ByGroup
from solvers.many_points.offers import OTHER_KIND, Offer, Path, too_many_choices
from solvers.mechanisms.conflicts import common_conflicts
from solvers.mechanisms.parts import bound_of_all, tied

KIND = "a choice among names"
MOST_CHOICES_ANSWERED = 64
"""Combinations of names that are still all answered."""
OPEN = "a choice among names of which one is neither proved best nor impossible"

TIED = "listed values of which it is not certain whether they are equally good"
WORSE = 1e-6
"""Of the objective: a combination is out of question whose bound is worse by this."""
AS_GOOD = 1e-8
"""Of the objective: as good as this, in doubt, is tied."""
DESIGNS = ("metric", "decided")
"""Roles of variables by which ties are settled."""
Choice = Mapping[str, float | str]
Listed = Mapping[str, tuple[float, ...]]
"""The values from which decided numbers are chosen, by name."""
APART = "no design under any choice, for reasons that differ between choices"


def way(
    grid: Grid,
    ways: Sequence[Callable[[Grid], Offer]],
    structured: no_choice.Structured,
    why: no_choice.WhyListed | None = None,
) -> Offer:
    """Return this way where names or listed values are chosen, and each combination of them has one of ``ways``.

    ``why``: what tells why so many points have no design where what is listed may be part of the reason;
    ``structured``: what tells it where questions have a structure.
    """
    first = next(iter(grid.bases.values()))
    if len(first.objectives) != 1 or any(q.idle for q in grid.bases.values()):
        return OTHER_KIND
    refused = too_many_choices(KIND, grid, MOST_CHOICES_ANSWERED)
    if refused is not None:
        return refused
    offer = _with_beforehand(grid, ways, structured)
    if offer.path is not None or why is None or not all(map(_without_structure, claims.kinds(grid))):
        return offer
    # without any list what is left may have a structure
    simpler = _with_beforehand(grid, ways, structured, why)
    return offer if simpler.path is None else simpler


def _without_structure(question: Question) -> bool:
    """Whether lists are decided in a question that shows no structure once names are chosen."""
    listed = any(d.values is not None for d in question.decide)
    return listed and not formulate(next(asked for _, asked in combinations(question))).structured


def _with_beforehand(
    grid: Grid,
    ways: Sequence[Callable[[Grid], Offer]],
    structured: no_choice.Structured,
    why: no_choice.WhyListed | None = None,
) -> Offer:
    """Offer this way with all lists but the longest chosen from beforehand; with ``why`` all of them."""
    every = why is not None
    first = next(iter(grid.bases.values()))
    # optima that limits are tied to are known along the grid's own axes alone
    apart = grid.tied is not None
    made = _choices(first, apart=apart, every=every)
    if made == [({}, {})] or any(_choices(q, apart=apart, every=every) != made for q in grid.bases.values()):
        return OTHER_KIND
    if sum(math.prod(map(len, listed.values())) for _, listed in made) > MOST_CHOICES_ANSWERED:
        return Offer(
            reason=f"{KIND}: there are more than {MOST_CHOICES_ANSWERED} combinations with listed values"
        )
    parts = []
    for names, listed in made:
        part = _with_axes(grid, names, listed)
        if not _same_questions_left(grid, part, names, listed):
            return Offer(reason=f"{KIND}: an axis changes what the choice brings with it")
        offer = _first_of(ways, part)
        if offer.path is None:
            return replace(offer, reason=f"{KIND}: {offer.reason}") if offer.reason else OTHER_KIND
        parts.append(Part(names, listed, offer.path))
    lists = tuple(dict.fromkeys(n for _, listed in made for n in listed))
    found = ByChoice(grid, tuple(parts), why, structured, lists)
    return claims.offered(found, found.part(claims.few_places(grid)))


def _first_of(ways: Sequence[Callable[[Grid], Offer]], grid: Grid) -> Offer:
    """The offer of the first way that is for the question, else the one that says most about why."""
    offers: list[Offer] = []
    for offer in (w(grid) for w in ways):
        if offer.path is not None:
            return offer
        offers.append(offer)
    return max((o for o in offers if o.reason), key=lambda o: o.fewest > 0, default=OTHER_KIND)


def _choices(question: Question, *, apart: bool, every: bool) -> list[tuple[Choice, Listed]]:
    """Every combination of names, with the lists chosen from beforehand, where otherwise several numbers had gaps.

    One such number is left, the one with the most values; with ``every`` none. ``apart``: each listed value is a choice
    like a name.
    """
    found: list[tuple[Choice, Listed]] = []
    for names, asked in combinations(question):
        listed = _listed_beforehand(asked, every=every)
        if not apart:
            found.append((names, listed))
            continue
        chosen = itertools.product(*listed.values())
        found += [({**names, **dict(zip(listed, values, strict=True))}, {}) for values in chosen]
    return found


def _listed_beforehand(question: Question, *, every: bool) -> Listed:
    """The numbers to be chosen from their lists before anything else, by name; none where that does not help."""
    gaps = [d for d in question.decide if d.integer or d.values is not None]
    if designs.free(question) == 0 or not gaps or not designs.plain(question):
        return {}
    limited = {x.name for x in question.limits}
    short = {
        d.name: d.values
        for d in gaps
        if d.values is not None
        and not d.endless
        and d.base is None
        and d.minimum is d.maximum is None
        and d.name not in limited
    }
    if len(short) == len(gaps) and not every:
        del short[max(short, key=lambda n: len(short[n]))]
    return short if len(gaps) == len(short) + (not every) else {}


def _with_choice(question: Question, chosen: Choice) -> Question:
    """The question with names and listed values chosen."""
    names = {n: v for n, v in chosen.items() if isinstance(v, str)}
    left = fixed(question, names) if names else question
    given = {**left.given, **{n: v for n, v in chosen.items() if n not in names}}
    return replace(left, given=given, decide=tuple(d for d in left.decide if d.name not in chosen))


def _with_axes(grid: Grid, names: Choice, listed: Listed) -> Grid:
    """The grid with names chosen, and listed values along axes of their own before the others."""
    first: Choice = {**names, **{n: values[0] for n, values in listed.items()}}
    axes = (GridAxis(n, n, "", "", values) for n, values in listed.items())
    return replace(
        grid,
        axes=(*axes, *grid.axes),
        targets=(*(Target("given", n) for n in listed), *grid.targets),
        bases={k: _with_choice(q, first) for k, q in grid.bases.items()},
    )


def _same_questions_left(grid: Grid, part: Grid, names: Choice, listed: Listed) -> bool:
    """Whether a choice that is made beforehand leaves the questions that it leaves at each point."""
    for end in (0, -1):
        place = tuple(end % n for n in part.shape)
        chosen: Choice = {**names, **{n: values[end] for n, values in listed.items()}}
        if _with_choice(grid.question(place[len(listed) :]), chosen) != part.question(place):
            return False
    return True


@dataclass(frozen=True, slots=True)
class Part:
    """One combination of names, and what answers its grid, in which ``listed`` values are axes before all others."""

    names: Choice
    listed: Listed
    path: Path

    @property
    def count(self) -> int:
        """Number of combinations of the listed values."""
        return math.prod(map(len, self.listed.values()))

    def solve(
        self, plan: Layout, region: Region, asked: Bools | None, below: Array
    ) -> Iterator[tuple[Choice, Arrays, Bools]]:
        """Answer a block for each of them; ``below``: what other parts reach, see ``blocks.Block``."""
        lengths = tuple(map(len, self.listed.values()))
        known = (np.broadcast_to(below, (*lengths, *below.shape)),) if isinstance(self.path, ByGroup) else ()
        wanted = None if asked is None else np.broadcast_to(asked, (*lengths, *asked.shape))
        arrays, left = self.path.solve(plan, (*(slice(0, n) for n in lengths), *region), wanted, *known)
        for at in np.ndindex(lengths):
            values = {n: v[i] for (n, v), i in zip(self.listed.items(), at, strict=True)}
            yield {**self.names, **values}, {n: a[at] for n, a in arrays.items()}, left[at]

    def part(self, places: Sequence[Integers]) -> Part:
        """Return the same for some places along each axis of the grid."""
        own = (np.arange(len(values)) for values in self.listed.values())
        return replace(self, path=self.path.part((*own, *places)))


@dataclass(frozen=True, slots=True)
class ByChoice:
    """The way itself; see ``solvers.paths.Path``.

    ``why``: where all lists are chosen from beforehand, what tells why so many points of a question have no design;
    elsewhere ``structured`` does. ``lists``: the names of what is chosen from lists.
    """

    grid: Grid
    parts: tuple[Part, ...]
    why: no_choice.WhyListed | None
    structured: no_choice.Structured
    lists: tuple[str, ...] = ()

    @property
    def method(self) -> str:
        """How, in words."""
        every = dict.fromkeys(p.path.method for p in self.parts)
        return f"the best of {sum(p.count for p in self.parts)} choices, each: {'; or '.join(every)}"

    @property
    def kind(self) -> str:
        """As its parts are cut, the smallest chunks if they differ."""
        return "search" if any(p.path.kind == "search" for p in self.parts) else "batch"

    @property
    def work(self) -> float:
        """Declared seconds of a point: those of all combinations."""
        return sum(p.count * p.path.work for p in self.parts)

    @property
    def threads(self) -> bool:
        """Whether several threads may use all of its parts at once."""
        return all(getattr(p.path, "threads", False) for p in self.parts)

    def part(self, places: Sequence[Integers]) -> ByChoice:
        """Return the same way for some places along each axis of its grid."""
        return replace(self, grid=self.grid.part(places), parts=tuple(p.part(places) for p in self.parts))

    def solve(self, plan: Layout, region: Region, asked: Bools | None = None) -> tuple[Arrays, Bools]:
        """Answer a block."""
        with handover.collected() as inside:
            every = list(self._every(wide := self._with_ties(plan), region, asked))
        chosen, answered = [c for c, _, _ in every], [a for _, a, _ in every]
        missed = np.stack([own for _, _, own in every])
        optimal, none = (STATUS_CODES[s] for s in (Status.OPTIMAL, Status.INFEASIBLE))
        first = next(iter(self.grid.bases.values()))
        states = np.where(missed, 0, np.stack([a["status"] for a in answered]))
        objectives, bounds = (first.sign * np.stack([a[n] for a in answered]) for n in ("objective", "bound"))
        values = np.where(states == optimal, objectives, np.inf)
        which, best = values.argmin(axis=0), values.min(axis=0)
        # what is worse for certain needs no answer
        worse = missed & np.isfinite(best) & (bounds > designs.as_good_as(best, WORSE))
        left = (missed & ~worse).any(axis=0)
        if left.any() or inside.unexpected:
            inside.pass_on(but=blocks.BEATEN)
        open_ones = ~left & ~(np.isin(states, (optimal, none)) | worse).all(axis=0)
        open_ones &= True if asked is None else asked
        handover.hand_over(OPEN, int(np.count_nonzero(open_ones)))
        left |= open_ones
        doubtful = self._settle_ties(wide, chosen, answered, values, which) & ~left
        handover.hand_over(TIED, int(np.count_nonzero(doubtful)))
        left |= doubtful
        arrays = (answers := BlockAnswers(plan, left.shape)).arrays
        nowhere, apart = ~left & (states == none).all(axis=0), np.zeros_like(left)
        if self.why is not None:
            which[nowhere] = -1
        elif nowhere.any() and "binding" in answered[0]:
            clash, apart = common_conflicts([a["binding"] == CONFLICTING for a in answered], nowhere)
            which = np.where(nowhere & ~apart, clash, which)
            which[apart] = -1
        for k, (values_chosen, own) in enumerate(zip(chosen, answered, strict=True)):
            here = which == k
            for v in plan.variables:
                if v.name in own:
                    arrays[v.name][here] = own[v.name][here]
                if v.role == "decided" and v.key in values_chosen:
                    value = values_chosen[v.key]
                    if isinstance(value, str):
                        value = json.loads(v.attributes["choices"]).index(value)
                    arrays[v.name][here & (states[k] == optimal)] = value
        there = ~left & np.isfinite(best)
        arrays["bound"][there] = first.sign * bound_of_all(np.isfinite(values), bounds)[there]
        if "gap" in arrays:
            arrays["gap"][there] = relative_gap(arrays["objective"], arrays["bound"])[there]
        nowhere &= ~left
        if nowhere.any():
            left |= self._told_why(answers, region, answered, nowhere, apart)
        return arrays, left

    def _told_why(
        self, answers: BlockAnswers, region: Region, answered: Sequence[Arrays], nowhere: Bools, apart: Bools
    ) -> Bools:
        """Tell why points have no design under any choice, ``apart`` for several reasons; tells which are left."""
        block = Block(over_grid.spread(self.grid), region)
        if self.why is not None:
            return no_choice.tell(
                no_choice.of_lists(self.why, block), answers, block, np.flatnonzero(nowhere)
            )
        if not answers.wants_conflicts:
            return np.zeros_like(nowhere)
        left = no_choice.tell(self._reasons(region), answers, block, np.flatnonzero(nowhere & apart))
        handover.hand_over(APART, int(np.count_nonzero(left)))
        common = nowhere & ~apart
        return left | no_choice.put_common(
            self.lists, self.structured.holds, block, answers, answered, common
        )

    def _reasons(self, region: Region) -> no_choice.Whys:
        """What tells of each choice of names why points of a block have no design."""
        if self.lists:
            return lambda _: [None]
        own = [Block(over_grid.spread(_with_axes(self.grid, p.names, p.listed)), region) for p in self.parts]
        return lambda points: [self.structured.why(block, points) for block in own]

    def _with_ties(self, plan: Layout) -> Layout:
        """The layout with all that ties go to, where listed values may be tied, and no rates if none is listed later.

        What changes by leaps has none.
        """
        if not any(p.listed or any(not isinstance(v, str) for v in p.names.values()) for p in self.parts):
            return plan
        first = next(iter(self.grid.bases.values()))
        order = {*first.tie_order, *(d.name for d in first.decide)}
        more = {v.name for v in layout(self.grid).variables if v.key in order and v.role in DESIGNS}
        kept = {v.name for v in plan.variables}
        wanted = (kept | more) - ({"elasticity"} if self.why is not None else set())
        return plan if wanted == kept else only(layout(self.grid), wanted)

    def _settle_ties(
        self,
        plan: Layout,
        chosen: Sequence[Choice],
        answered: Sequence[Arrays],
        values: Array,
        which: Indices,
    ) -> Bools:
        """Choose of listed values that are as good, beside the same names, by the order of ties.

        ``which`` of the choices is best is put right. Tells where it is not certain what is tied.
        """
        near = tied(values, AS_GOOD) & np.moveaxis(_names_alike(chosen)[which], -1, 0)
        some = near.sum(axis=0) > 1
        if some.any():
            numbers = [
                {v.key: a[v.name][some] for v in plan.variables if v.role in DESIGNS}
                | {n: np.full(int(some.sum()), v) for n, v in c.items() if not isinstance(v, str)}
                for c, a in zip(chosen, answered, strict=True)
            ]
            first = next(iter(self.grid.bases.values()))
            which[some] = designs.first_by_rule(first, numbers, near[:, some], AS_GOOD)
        return np.asarray(some & (near & ~tied(values, TIE)).any(axis=0))

    def _every(
        self, plan: Layout, region: Region, asked: Bools | None
    ) -> Iterator[tuple[Choice, Arrays, Bools]]:
        """Answer a block under every choice; what is surely worse than under those before may be left over."""
        below = np.full(over_grid.sides(region), np.nan)
        best = np.fmax if next(iter(self.grid.bases.values())).objectives[0].maximize else np.fmin
        for p in self.parts:
            for chosen, arrays, left in p.solve(plan, region, asked, below):
                there = ~left & (arrays["status"] == STATUS_CODES[Status.OPTIMAL])
                below = best(below, np.where(there, arrays["objective"], np.nan))
                yield chosen, arrays, left


def _names_alike(chosen: Sequence[Choice]) -> Bools:
    """Which choices have the same names, and differ in listed values at most."""
    names = [[v for v in c.values() if isinstance(v, str)] for c in chosen]
    return np.array([[a == b for b in names] for a in names])
