"""Choices among names and listed values: each combination is a grid of its own, answered by another way; the best wins.

For questions whose numbers have a way of their own once names are chosen (how many racks of which platform), or all
but one of the numbers with gaps (at which of four voltages). As for a single point each combination is answered by
itself, and of the same objective the first one is handed out. Where none has a design, limits conflict that do in every
combination.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dse.system.records import dataclass
from formulations import handover
from formulations.arithmetics.many import Array, Points
from formulations.grids import over_grid
from results.dataset import CONFLICTING, STATUS_CODES, Arrays, Layout, blank
from results.solution import Status
from results.telling.limits import base_name
from scenarios.question import Question, combinations, fixed
from scenarios.sweep.grids import Grid
from solvers import designs
from solvers.judgement import judge
from solvers.many_points import blocks
from solvers.many_points.block_answers import BlockAnswers, Mask
from solvers.many_points.blocks import Block
from solvers.many_points.by_piece import ByPiece
from solvers.many_points.offers import OTHER_KIND, Offer, Path, too_many_choices
from solvers.mechanisms.conflicts import common_conflicts
from solvers.mechanisms.why import Why, loosest

KIND = "a choice among names"
MOST_CHOICES_ANSWERED = 64
"""Combinations of names that are still all answered."""
SHARE_OF_TRIED = 0.5
"""Of points tried, those that a way must answer in every combination."""

SURE = 1e-7
"""What is missed by less is left to the single path."""
OPEN = "a choice among names of which one is neither proved best nor impossible"

TIED = "listed values that are equally good: the order of ties decides, which is done point by point"
WORSE = 1e-6
"""Of the objective: a combination is out of question whose bound is worse by this."""
AS_GOOD = 1e-8
"""Of the objective: as good as this, in doubt, is tied."""
MORE_THAN_ONE = 2
Choice = Mapping[str, float | str]

APART = "no design under any choice, for reasons that differ between choices"


def way(grid: Grid, ways: Sequence[Callable[[Grid], Offer]]) -> Offer:
    """Return this way where names or listed values are chosen, and each combination of them has one of ``ways``."""
    first = next(iter(grid.bases.values()))
    if len(first.objectives) != 1 or any(q.idle for q in grid.bases.values()):
        return OTHER_KIND
    refused = too_many_choices(KIND, grid, MOST_CHOICES_ANSWERED)
    if refused is not None:
        return refused
    made = _choices(first)
    if not any(made) or any(_choices(q) != made for q in grid.bases.values()):
        return OTHER_KIND
    if len(made) > MOST_CHOICES_ANSWERED:
        return Offer(
            reason=f"{KIND}: there are more than {MOST_CHOICES_ANSWERED} combinations with listed values"
        )
    parts = []
    for chosen in made:
        part = replace(grid, bases={k: _with_choice(q, chosen) for k, q in grid.bases.items()})
        if not _same_questions_left(grid, part, chosen):
            return Offer(reason=f"{KIND}: an axis changes what the choice brings with it")
        offers: list[Offer] = []
        for offer in (w(part) for w in ways):
            if offer.path is not None and offer.share >= SHARE_OF_TRIED:
                parts.append(Part(chosen, offer.path))
                break
            offers.append(offer)
        else:
            return Offer(reason=next((f"{KIND}: {o.reason}" for o in offers if o.reason), ""))
    found = ByChoice(grid, tuple(parts))
    if all(isinstance(v, str) for chosen in made for v in chosen.values()):
        return Offer(found)
    # listed values that are tied leave a point over, though each has its answer
    return blocks.offered(found, found.part(blocks.middle_and_name_ends(grid)))


def _choices(question: Question) -> list[Choice]:
    """Every combination of names, and of listed values where otherwise several numbers had gaps between their values.

    One such number is left: the one with the most values.
    """
    found: list[Choice] = []
    for names, asked in combinations(question):
        listed = _listed_beforehand(asked)
        found += [
            {**names, **dict(zip(listed, values, strict=True))}
            for values in itertools.product(*listed.values())
        ]
        if len(found) > MOST_CHOICES_ANSWERED:
            break
    return found


def _listed_beforehand(question: Question) -> Mapping[str, tuple[float, ...]]:
    """The numbers to be chosen from their lists before anything else, by name; none where that does not help."""
    gaps = [d for d in question.decide if d.integer or d.values is not None]
    if designs.free(question) == 0 or len(gaps) < MORE_THAN_ONE or not designs.plain(question):
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
    if len(short) == len(gaps):
        # of whole numbers nobody is told a rate: one stays
        del short[max(short, key=lambda n: len(short[n]))]
    return short if len(gaps) == len(short) + 1 else {}


def _with_choice(question: Question, chosen: Choice) -> Question:
    """The question with names and listed values chosen."""
    names = {n: v for n, v in chosen.items() if isinstance(v, str)}
    left = fixed(question, names) if names else question
    given = {**left.given, **{n: v for n, v in chosen.items() if n not in names}}
    return replace(left, given=given, decide=tuple(d for d in left.decide if d.name not in chosen))


def _same_questions_left(grid: Grid, part: Grid, chosen: Choice) -> bool:
    """Whether a choice that is made beforehand leaves the questions that it leaves at each point."""
    ends: Iterator[tuple[int, ...]] = iter([tuple(0 for _ in grid.shape), tuple(n - 1 for n in grid.shape)])
    return all(_with_choice(grid.question(end), chosen) == part.question(end) for end in ends)


@dataclass(frozen=True, slots=True)
class Part:
    """One combination of names and listed values, and what answers its grid."""

    chosen: Choice
    path: Path


@dataclass(frozen=True, slots=True)
class ByChoice:
    """The way itself; see ``solvers.paths.Path``."""

    grid: Grid
    parts: tuple[Part, ...]

    @property
    def method(self) -> str:
        """How, in words."""
        every = dict.fromkeys(p.path.method for p in self.parts)
        return f"the best of {len(self.parts)} choices, each: {'; or '.join(every)}"

    @property
    def kind(self) -> str:
        """As its parts are cut, the smallest chunks if they differ."""
        return "search" if any(p.path.kind == "search" for p in self.parts) else "batch"

    @property
    def work(self) -> float:
        """Declared seconds of a point: those of all combinations."""
        return sum(p.path.work for p in self.parts)

    @property
    def threads(self) -> bool:
        """Whether several threads may use all of its parts at once."""
        return all(getattr(p.path, "threads", False) for p in self.parts)

    def part(self, places: Sequence[NDArray[np.int64]]) -> ByChoice:
        """Return the same way for some places along each axis of its grid."""
        parts = tuple(replace(p, path=p.path.part(places)) for p in self.parts)
        return replace(self, grid=self.grid.part(places), parts=parts)

    def solve(self, plan: Layout, region: tuple[slice, ...]) -> tuple[Arrays, Mask]:
        """Answer a block."""
        with handover.collected() as inside:
            answered = list(self._every(plan, region))
        missed = np.stack([own for _, own in answered])
        optimal, none = (STATUS_CODES[s] for s in (Status.OPTIMAL, Status.INFEASIBLE))
        first = next(iter(self.grid.bases.values()))
        sign = -1.0 if first.objectives[0].maximize else 1.0
        states = np.where(missed, 0, np.stack([a["status"] for a, _ in answered]))
        values = np.where(states == optimal, sign * np.stack([a["objective"] for a, _ in answered]), np.inf)
        which, best = values.argmin(axis=0), values.min(axis=0)
        # what is worse for certain needs no answer
        worse = sign * np.stack([a["bound"] for a, _ in answered]) > best + WORSE * np.abs(best)
        worse &= missed & np.isfinite(best)
        left = (missed & ~worse).any(axis=0)
        if left.any() or inside.unexpected:
            inside.pass_on()
        open_ones = ~left & ~(np.isin(states, (optimal, none)) | worse).all(axis=0)
        handover.hand_over(OPEN, int(np.count_nonzero(open_ones)))
        left |= open_ones
        tied = ~left & self._tied(which, values)
        handover.hand_over(TIED, int(np.count_nonzero(tied)))
        left |= tied
        nowhere = ~left & (states == none).all(axis=0)
        if nowhere.any() and "binding" in answered[0][0]:
            clash, apart = common_conflicts([a["binding"] == CONFLICTING for a, _ in answered], nowhere)
            handover.hand_over(APART, int(np.count_nonzero(apart)))
            left |= apart
            which = np.where(nowhere, clash, which)
        arrays = blank(plan, left.shape)
        for k, (part, (own, _)) in enumerate(zip(self.parts, answered, strict=True)):
            here = which == k
            for v in plan.variables:
                arrays[v.name][here] = own[v.name][here]
                if v.role == "decided" and v.key in part.chosen:
                    value = part.chosen[v.key]
                    if isinstance(value, str):
                        value = json.loads(v.attributes["choices"]).index(value)
                    arrays[v.name][here & (states[k] == optimal)] = value
        nowhere &= ~left
        if nowhere.any() and "would_do" in arrays:
            self._loosest(plan, region, arrays, [a for a, _ in answered], nowhere)
        return arrays, left

    def _every(self, plan: Layout, region: tuple[slice, ...]) -> Iterator[tuple[Arrays, Mask]]:
        """Answer a block under every choice; what is surely worse than under those before may be left over."""
        below = np.full(over_grid.sides(region), np.nan)
        best = np.fmax if next(iter(self.grid.bases.values())).objectives[0].maximize else np.fmin
        for p in self.parts:
            known = (below,) if isinstance(p.path, ByPiece) else ()
            arrays, left = p.path.solve(plan, region, *known)
            there = ~left & (arrays["status"] == STATUS_CODES[Status.OPTIMAL])
            below = best(below, np.where(there, arrays["objective"], np.nan))
            yield arrays, left

    def _tied(self, which: NDArray[np.intp], values: Array) -> Mask:
        """Tell where other listed values beside the same names are as good: the order of ties decides between them."""
        names = [tuple(v for v in p.chosen.values() if isinstance(v, str)) for p in self.parts]
        alike = np.array([[a == b for b in names] for a in names]) & ~np.eye(len(names), dtype=bool)
        best = np.take_along_axis(values, which[None], axis=0)
        with np.errstate(invalid="ignore"):
            near = np.abs(values - best) <= AS_GOOD * np.abs(best)
        return np.asarray((near & np.moveaxis(alike[which], -1, 0)).any(axis=0))

    def _loosest(
        self, plan: Layout, region: tuple[slice, ...], into: Arrays, answered: Sequence[Arrays], nowhere: Mask
    ) -> None:
        """Put in the loosest of the feasible values, where no combination has a design.

        A limit that is in no conflict of a combination helps it in nothing.
        """
        block = Block(over_grid.spread(self.grid), region)
        clash = [a["binding"].reshape(-1, len(plan.limits)) == CONFLICTING for a in answered]
        found = [a["would_do"].reshape(-1, len(plan.limits)) for a in answered]
        values = into["would_do"].reshape(-1, len(plan.limits))
        conflicting = into["binding"].reshape(-1, len(plan.limits)) == CONFLICTING
        for group in block.alike():
            for i, label in enumerate(plan.limits):
                some = group[nowhere.reshape(-1)[group] & conflicting[group, i]]
                if len(some):
                    asked = block.question(some)
                    own = [
                        np.where(c[some, i], v[some, i], np.inf) for c, v in zip(clash, found, strict=True)
                    ]
                    values[some, i] = loosest(base_name(label), [(asked, v) for v in own])


@dataclass(frozen=True, slots=True)
class BestOf:
    """The best designs of one combination of names, at N points.

    ``x``: the numbers of those at some of the points; ``value`` (N,): what is minimised (infinite: there is none);
    ``bound`` (N,): of the objective, in the user's sense; ``missed`` (N,): the least by which some limit is broken;
    ``unsure`` (N,): where nothing is proved.
    """

    chosen: Mapping[str, str]
    question: Question
    x: Callable[[Mask], Mapping[str, Array]]
    value: Array
    bound: Array
    missed: Array
    unsure: Mask


def put_best(
    answers: BlockAnswers,
    every: Sequence[BestOf],
    points: Points,
    why: Callable[[Points], Why],
    nowhere: Callable[[Points], Points] = lambda none: none,
) -> Mask:
    """Take over the best of all combinations at each point, as for a single one the first of those that are as good.

    ``why``: what tells why some of the points, by their places, have no design under any choice; ``nowhere``: which
    surely have none.
    """
    unsure = np.any([b.unsure for b in every], axis=0)
    values = np.stack([b.value for b in every])
    which, some = np.argmin(values, axis=0), np.isfinite(values).any(axis=0)
    good = np.zeros(len(points), dtype=bool)
    for k, b in enumerate(every):
        own = some & (which == k) & ~unsure
        if own.any():
            judged = judge(blocks.part(b.question, own), b.x(own), b.bound[own], (int(own.sum()),))
            good[own] = judged.good
            answers.put(points[own], judged, judged.good, {}, b.chosen)
    missed = np.min([b.missed for b in every], axis=0) > SURE
    none = np.flatnonzero(~some & ~unsure & missed)
    if len(none):
        none = nowhere(none)
        good[none] = True
        for left in blocks.together(none, lambda now: answers.conflicts(points[now], why(now))):
            good[left] = False
    return good
