"""Answers of several questions along a number, and where their order changes: enclosed, with proof on both sides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from dse.system.records import dataclass
from results.side_by_side.comparison import ANSWERED
from results.side_by_side.crossings import CROSSING_WIDTH, EQUAL_WITHIN, Crossing, End, comparable, ends_of
from results.solution import Solution, Status
from scenarios import Grid
from solvers.answer import answer

NEAR_GUESS = 0.4 * CROSSING_WIDTH
MOST_HALVED = 60
UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Answered:
    """One question at one value: status, number, bound."""

    status: Status
    number: float | None
    bound: float | None


class CrossingSearch:
    """Answers of all questions along a number; each value of each question is asked once.

    ``whole``: only whole values of the number mean anything.
    """

    def __init__(
        self,
        grids: Sequence[Grid],
        names: Sequence[str],
        metric: str,
        goals: Sequence[str],
        *,
        whole: bool = False,
    ) -> None:
        self.grids, self.names, self.metric = grids, names, metric
        self.goals, self.whole = goals, whole
        self._known: dict[tuple[int, float], Answered] = {}

    def keep(self, which: int, value: float, at: Answered) -> None:
        """Take an answer that is known already."""
        self._known[which, value] = at

    def at(self, which: int, value: float) -> Answered:
        """Answer one question at one value."""
        if (which, value) not in self._known:
            grid = self.grids[which]
            there = replace(grid, axes=(replace(grid.axes[0], values=(value,)),))
            brief = self.metric == self.goals[which]
            found = answer(there.question((0,)), neighbours=False, brief=brief, why=False)
            self._known[which, value] = self._read(which, found)
        return self._known[which, value]

    def _read(self, which: int, s: Solution) -> Answered:
        if s.status not in ANSWERED:
            return Answered(s.status, None, None)
        if self.metric == self.goals[which]:
            return Answered(s.status, s.objective, s.objective if s.status is Status.EVALUATED else s.bound)
        number = s.metrics.get(self.metric, s.variables.get(self.metric))
        value = float(number) if number is not None else None
        return Answered(s.status, value, value if s.status is Status.EVALUATED else None)

    def value(self, near: float) -> float:
        """Return the value of the number nearest to ``near``."""
        return float(round(near)) if self.whole else near

    def end(self, pair: tuple[int, int], value: float) -> End:
        """Return both questions at one value."""
        a, b = (self.at(k, value) for k in pair)
        return End(value, (a.status.value, b.status.value), (a.number, b.number), (a.bound, b.bound))

    def state(self, pair: tuple[int, int], value: float, apart: float = 0.0) -> str:
        """Say which is less, or which has an answer; ``apart``: what differs by at most this, relative, is equal."""
        a, b = (self.at(k, value) for k in pair)
        if any(x.status in (Status.ERROR, Status.UNBOUNDED) for x in (a, b)):
            return UNKNOWN
        if a.number is None or b.number is None:
            return "none" if a.number is b.number else "second alone" if a.number is None else "first alone"
        if not comparable(a.number, b.number):
            return UNKNOWN
        if math.isclose(a.number, b.number, rel_tol=apart):
            return "equal"
        return "first less" if a.number < b.number else "second less"

    def proves(self, pair: tuple[int, int], value: float, state: str) -> bool:
        """Tell whether bounds prove a state at a value."""
        a, b = (self.at(k, value) for k in pair)
        sure = (Status.INFEASIBLE,)
        if state == "none":
            return a.status in sure and b.status in sure
        if state in ("first alone", "second alone"):
            return (b if state == "first alone" else a).status in sure and (
                (a if state == "first alone" else b).number is not None
            )
        ends = [ends_of(x.number, x.bound) for x in (a, b)]
        if ends[0] is None or ends[1] is None:
            return False
        less, more = (ends[0], ends[1]) if state == "first less" else (ends[1], ends[0])
        return state in ("first less", "second less") and less[1] < more[0]

    def words(self, pair: tuple[int, int], state: str) -> str:
        """Say a state in words."""
        first, second = (self.names[k] for k in pair)
        return {
            "first less": f"{first} has less {self.metric} than {second}",
            "second less": f"{second} has less {self.metric} than {first}",
            "first alone": f"{second} has no design, and {first} has",
            "second alone": f"{first} has no design, and {second} has",
            "none": "neither has a design",
            "equal": f"{first} and {second} have the same {self.metric}",
            UNKNOWN: "one of them has no answer",
        }[state]


def crossings(search: CrossingSearch, pair: tuple[int, int], values: Sequence[float]) -> list[Crossing]:
    """Return the places where the order of two questions changes between neighbours on the grid."""
    places = _without_crossings_on_them(_with_neighbours(search, pair, values))
    known = [place for place, (_, state) in enumerate(places) if state != UNKNOWN]
    found = []
    for here, there in pairwise(known):
        (low, before), (high, after) = places[here], places[there]
        if before == after:
            continue
        if there > here + 1:
            found.append(_told(search, pair, (low, high), (low, high), (before, after)))
            continue
        apart = EQUAL_WITHIN if "equal" in (before, after) else 0.0
        first, now = _crossing(search, pair, (low, high), before, apart)
        found.append(first)
        # what lies between two grid points may be a third state; then each change is a crossing of its own
        if now not in (after, UNKNOWN):
            found.append(_crossing(search, pair, (first.high.at, high), now, 0.0)[0])
    return found


def _without_crossings_on_them(places: Sequence[tuple[float, str]]) -> list[tuple[float, str]]:
    """Return the places without those on which two questions cross: what is equal there alone is no state."""
    sides = {"first less", "second less"}
    between = zip(places, places[1:], places[2:], strict=False)
    on = {
        at
        for (_, before), (at, state), (_, after) in between
        if state == "equal" and {before, after} == sides
    }
    return [place for place in places if place[0] not in on]


def _with_neighbours(
    search: CrossingSearch, pair: tuple[int, int], values: Sequence[float]
) -> list[tuple[float, str]]:
    """Return the values with their states; beside one without an order, also the nearest places that have one.

    A number is infinite or undefined at 0, say, and the order may change soon after.
    """
    states = [search.state(pair, v, EQUAL_WITHIN) for v in values]
    found = [(values[0], states[0])]
    for (low, before), (high, after) in pairwise(zip(values, states, strict=True)):
        if (before == UNKNOWN) != (after == UNKNOWN):
            at, other = (low, high) if before == UNKNOWN else (high, low)
            near = at + (math.copysign(1.0, other - at) if search.whole else CROSSING_WIDTH * (other - at))
            if near != other:
                found.append((near, search.state(pair, near, EQUAL_WITHIN)))
        found.append((high, after))
    return found


def _crossing(
    search: CrossingSearch, pair: tuple[int, int], outer: tuple[float, float], before: str, apart: float
) -> tuple[Crossing, str]:
    """Return the change from the state ``before`` nearest to the first of two values, and the state behind it."""
    inner = _enclosing_values(search, pair, outer, before, apart)
    now = search.state(pair, inner[1], apart)
    return _told(search, pair, inner, outer, (before, now)), now


def _told(
    search: CrossingSearch,
    pair: tuple[int, int],
    inner: tuple[float, float],
    outer: tuple[float, float],
    states: tuple[str, str],
) -> Crossing:
    """Return the change between two values, proved as near to them as bounds do."""
    return Crossing(
        (search.names[pair[0]], search.names[pair[1]]),
        search.words(pair, states[0]),
        search.words(pair, states[1]),
        search.end(pair, inner[0]),
        search.end(pair, inner[1]),
        _proved(search, pair, inner, outer, states),
    )


def _enclosing_values(
    search: CrossingSearch, pair: tuple[int, int], ends: tuple[float, float], before: str, apart: float
) -> tuple[float, float]:
    """Return two values, WIDTH or one whole number apart: the first is as ``before`` and the second is not."""
    low, high = ends
    for _ in range(MOST_HALVED):
        if high - low <= (1.0 if search.whole else CROSSING_WIDTH * max(abs(low), abs(high))):
            break
        guess = _guess(search, pair, low, high)
        middle = math.sqrt(low * high) if low > 0 else (low + high) / 2.0
        for near in (guess * (1 - NEAR_GUESS), guess * (1 + NEAR_GUESS), middle):
            x = search.value(near)
            if low < x < high:
                if search.state(pair, x, apart) == before:
                    low = x
                else:
                    high = x
    return low, high


def _guess(search: CrossingSearch, pair: tuple[int, int], low: float, high: float) -> float:
    """Return where the straight line between the differences at both ends is 0; the middle where there is none."""
    middle = math.sqrt(low * high) if low > 0 else (low + high) / 2.0
    gaps = []
    for x in (low, high):
        a, b = (search.at(k, x).number for k in pair)
        if a is None or b is None or not (math.isfinite(a) and math.isfinite(b)):
            return middle
        gaps.append(math.log(a / b) if a > 0 and b > 0 else a - b)
    if gaps[0] * gaps[1] >= 0:
        return middle
    share = gaps[0] / (gaps[0] - gaps[1])
    if low > 0:
        return float(low * (high / low) ** share)
    return low + share * (high - low)


def _proved(
    search: CrossingSearch,
    pair: tuple[int, int],
    inner: tuple[float, float],
    outer: tuple[float, float],
    states: tuple[str, str],
) -> tuple[End, End] | None:
    """Return the nearest values on both sides at which bounds prove what is said; None where some side has none."""
    found = []
    for x, far, state in zip(inner, outer, states, strict=True):
        at, step = x, CROSSING_WIDTH
        while not search.proves(pair, at, state):
            if at == far:
                return None
            step *= 8.0
            near = x + (far - x) * min(step * max(abs(x), 1e-300) / abs(far - x), 1.0)
            at = far if step >= 1.0 else search.value(near)
        found.append(search.end(pair, at))
    return found[0], found[1]
