"""Fronts of two objectives: points along the curve, and what is proved about everything between them.

Where a problem is convex in logarithms the front lies between chords and tangents, else between the stairs that
monotonicity gives; with a tolerance either is refined until it is narrow enough.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field, replace

from dse.fronts import bands, enclosure
from dse.fronts.bands import Band, Corner, Line, Stretch
from dse.fronts.enclosure import LEAST_A, LEAST_B, PROBES_PER_POINT, Box, Enclosure, Place
from dse.fronts.front_search import ANSWERED, Front, Search, narrow, value
from dse.quantities import plural
from dse.system.records import dataclass
from formulations.tolerances import HOLDS
from results.solution import Solution
from scenarios.question import Objective
from solvers.fronts.asking import Measure, Scale, in_logs

COARSE_POINTS = 9
COMPLETE = "complete: no other design lies between two neighbours"
FINE_BOX = 1e-4
# of a triangle between chord and tangents: how near its foot the next point is sought
FOOT = 0.25
CURVE_ROUNDS = 40
TOLD_APART = 4.0 * HOLDS
"""Relative distance of two designs' objectives from which on limits that hold to ``HOLDS`` tell them apart for sure."""


def curve(search: Search, most: int, tolerance: float | None) -> Front:
    """Find the front of two objectives: ``most`` points, or as many as a band within ``tolerance`` takes."""
    return _Curve(search).found(most, tolerance)


def _same(scales: Sequence[Scale]) -> float:
    """Within which share of the front in both objectives two designs are one, as limits cannot tell them apart."""
    spans = (abs(s.worst - s.best) / max(abs(s.worst), abs(s.best)) for s in scales if s.worst != s.best)
    return max(enclosure.COINCIDENT, *(TOLD_APART / span for span in spans), 0.0)


@dataclass(slots=True)
class _Curve:
    """A front under way; coordinates as in ``Scale``."""

    search: Search
    same: float = field(init=False)

    def __post_init__(self) -> None:
        """Measure the front, whose ends are known."""
        self.same = _same(self.search.scales)

    def found(self, most: int, tolerance: float | None) -> Front:
        """The front, with what is proved about it."""
        s = self.search
        first, last = (self._place(s.final(x)) for x in s.best)
        alone = self._alone(first, last)
        if alone is not None:
            return self._front([alone], "one design is the best for both objectives")
        if tolerance is not None:
            return self._refined(first, last, most, tolerance)
        return self._spread(first, last, most)

    def _alone(self, first: Place, last: Place) -> Place | None:
        """The end that is as good as the other one in both objectives, as far as limits hold."""
        if first.same(last, self.same) or first.b <= self.same:
            return first
        if last.a <= self.same:
            return last
        far = [
            m.apart(*sorted(m.small(value(g, p.design)) for p in (first, last)))
            for m, g in zip(_measures(self.search.goals, log=False), self.search.goals, strict=True)
        ]
        if min(far) > HOLDS:
            return None
        return first if far[1] <= HOLDS else last

    def _shape(self, first: Place, last: Place) -> Enclosure:
        return Enclosure(first, last, self._probes, discrete=self.search.discrete, same=self.same)

    @property
    def _together(self) -> bool:
        return self.search.way(self.search.goals[0]) is not None

    @property
    def _convex(self) -> bool:
        way = self.search.way(self.search.goals[0])
        return way is not None and way.convex

    # A number of points

    def _spread(self, first: Place, last: Place, most: int) -> Front:
        shape = self._shape(first, last)
        if most == 2:
            return self._front(shape.places, "the two ends", shape)
        if shape.discrete:
            shape.refine(most, PROBES_PER_POINT * most, lambda _: False, together=self._together)
            method = (
                COMPLETE
                if shape.complete and not self.search.unproved
                else "the largest gap halved again and again"
            )
            return self._front(shape.places, method, shape)
        coarse = max(COARSE_POINTS, most // 2)
        shape.refine(coarse, PROBES_PER_POINT * most, _tiny, together=self._together)
        if not any(x.empty for x in shape.boxes):
            between = self._probes(enclosure.spread(shape.places, most))
            return self._front([first, *(p for p in between if p), last], "spread evenly along the curve")
        if len(shape.places) > most:
            shape = self._shape(first, last)
        shape.refine(most, PROBES_PER_POINT * most, _tiny, together=self._together)
        return self._front(shape.places, "the largest gap halved again and again", shape)

    # A tolerance

    def _refined(self, first: Place, last: Place, most: int, tolerance: float) -> Front:
        if self._convex:
            return self._judged(
                self._front(self._triangles(first, last, most, tolerance), ""), most, tolerance
            )
        shape = self._shape(first, last)
        limit = PROBES_PER_POINT * most
        shape.refine(most, limit, lambda x: narrow(x, self.search.scales, tolerance), together=self._together)
        if shape.complete and not self.search.unproved:
            return self._front(shape.places, COMPLETE, shape)
        return self._judged(self._front(shape.places, "", shape), most, tolerance)

    def _triangles(self, first: Place, last: Place, most: int, tolerance: float) -> list[Place]:
        """Halve wherever chord and tangents are too far apart."""
        places = [first, last]
        for _ in range(CURVE_ROUNDS):
            spots, stretches = self._stretches(places)
            wide = [i for i, x in enumerate(stretches) if x.width > tolerance]
            wide.sort(key=lambda i: -stretches[i].width)
            wide = wide[: most - len(places)]
            asked = [self._within(spots[i], spots[i + 1], stretches[i]) for i in wide]
            found = self._probes(asked) if asked else []
            more = enclosure.efficient([*places, *(p for p in found if p)])
            if len(more) == len(places):
                break
            places = more
        return places

    def _within(self, left: bands.Spot, right: bands.Spot, stretch: Stretch) -> tuple[int, float]:
        """The probe that says most about a triangle: at its foot, but not at an end."""
        u, foot = stretch.widest
        above = left[1] + (right[1] - left[1]) * (u - left[0]) / (right[0] - left[0])
        level = max(foot, right[1] + FOOT * (above - right[1]))
        measure = _measures(self.search.goals, log=True)[1]
        return LEAST_A, self.search.scales[1].coordinate(float(measure.values(level)))

    def _judged(self, found: Front, most: int, tolerance: float) -> Front:
        """Say how narrow the band came out, which is what was asked only where nothing stopped the search."""
        widths = found.band.widths if found.band is not None else ()
        wide = sum(w > tolerance for w in widths)
        if not wide:
            but = f", but for {plural(found.jumps, 'jump')} with nothing between" if found.jumps else ""
            return replace(found, method=f"refined until the front is enclosed within {tolerance:g}{but}")
        stop = plural(most, "point") if len(found.points) >= most else plural(self.search.solves, "solve")
        most_of = "" if math.isinf(max(widths)) else f", at most {max(widths):.2g}"
        told = (
            f"between {wide} of {len(widths)} pairs of neighbours the enclosure is wider than {tolerance:g}"
        )
        return replace(found, method=f"stopped at {stop}: {told}{most_of}")

    # Points

    def _probes(self, asked: Sequence[tuple[int, float]]) -> list[Place | None]:
        """Find designs of least first objective with the second limited, or the other way round."""
        found: list[Solution | None] = [None] * len(asked)
        for which in (LEAST_A, LEAST_B):
            mine = [i for i, (w, _) in enumerate(asked) if w == which]
            answers = self._answers(which, [asked[i][1] for i in mine]) if mine else []
            for i, one in zip(mine, answers, strict=True):
                found[i] = one
        return [None if x is None else self._place(x) for x in found]

    def _answers(self, which: int, at: Sequence[float]) -> list[Solution | None]:
        s = self.search
        goal, bounded = (s.goals[0], 1) if which == LEAST_A else (s.goals[1], 0)
        limits = [s.scales[bounded].value(c) for c in at]
        if which == LEAST_B:
            return s.seconds(limits)
        answers = s.ask_all(goal, {s.goals[bounded].name: limits})
        return [s.final(x) if x.status in ANSWERED else None for x in answers]

    def _place(self, found: Solution) -> Place:
        s = self.search
        a, b = (x.coordinate(value(g, found)) for x, g in zip(s.scales, s.goals, strict=True))
        return Place(a, b, found)

    # What is proved

    def _front(self, places: Sequence[Place], method: str, shape: Enclosure | None = None) -> Front:
        s = self.search
        kept = enclosure.efficient(places, self.same)
        return Front(
            s.question,
            tuple(p.design for p in kept),
            solves=s.solves,
            failed=s.failed,
            jumps=sum(x.empty for x in shape.boxes) if shape else 0,
            method=method,
            band=self._band(kept),
        )

    def _band(self, kept: Sequence[Place]) -> Band | None:
        if self._convex and self.search.supports:
            spots, stretches = self._stretches(kept)
            return bands.convex(spots, stretches, _measures(self.search.goals, log=True))
        return self._stairs(kept)

    def _spots(self, kept: Sequence[Place], measures: tuple[Measure, Measure]) -> list[bands.Spot]:
        first, second = (
            [m.small(value(g, p.design)) for p in kept]
            for m, g in zip(measures, self.search.goals, strict=True)
        )
        return list(zip(first, second, strict=True))

    def _stretches(self, kept: Sequence[Place]) -> tuple[list[bands.Spot], list[Stretch]]:
        """The band of a convex front between neighbours, in logarithms."""
        goals, measures = self.search.goals, _measures(self.search.goals, log=True)
        spots = self._spots(kept, measures)
        lines = [
            Line(x.weight[goals[0].name], x.weight[goals[1].name], x.least) for x in self.search.supports
        ]
        for p in self.search.proved:
            if p.level is None:
                bound = measures[p.which].small(p.bound)
                lines.append(Line(1.0, 0.0, bound) if p.which == 0 else Line(0.0, 1.0, bound))
        return spots, bands.chords(spots, lines, measures)

    def _stairs(self, kept: Sequence[Place]) -> Band | None:
        measures = _measures(self.search.goals, log=False)
        corners = []
        for p in self.search.proved:
            bound = measures[p.which].small(p.bound)
            level = math.inf if p.level is None else measures[1 - p.which].small(p.level)
            corners.append(Corner(bound, level) if p.which == 0 else Corner(level, bound))
        return bands.stairs(self._spots(kept, measures), corners, measures) if corners else None


def _measures(goals: Sequence[Objective], *, log: bool) -> tuple[Measure, Measure]:
    """Both objectives as coordinates; ``log``: those in which a geometric program is convex."""
    first, second = (in_logs(g) if log else Measure(g.maximize) for g in goals)
    return first, second


def _tiny(box: Box) -> bool:
    return box.size <= FINE_BOX
