"""Where one question overtakes another along a number: searched on a grid, then enclosed with proof on both sides."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

import scenarios
from dse.quantities import show
from dse.sweeping import sweeps
from dse.system import files
from dse.system.progress import Report, reporting
from dse.system.records import dataclass
from formulations.evaluation import quantity
from results.dataset import STATUS_CODES
from results.side_by_side.comparison import ANSWERED
from results.side_by_side.crossings import CROSSING_WIDTH, Crossing, Curve, End, ends_of, pairs, spaced
from results.solution import Solution, Status
from scenarios import Grid, Scenario
from scenarios.language.errors import meant, shown
from scenarios.language.machine_files import pin_lines
from scenarios.language.toml_text import to_toml
from scenarios.questions import question
from solvers.answer import answer

if TYPE_CHECKING:
    from scenarios.question import Question

AXIS = "over"
_ASKED_AS = {"path": "over", "start": "start (--from)", "stop": "stop (--to)", "num": "points"}
RANGE_POINTS = 33
NEAR_GUESS = 0.4 * CROSSING_WIDTH
MOST_HALVED = 60
EQUAL_WITHIN = 1e-9
_NUMBER = re.compile(r"[-+0-9.eE]+")
STATES = {code: status for status, code in STATUS_CODES.items()}


@dataclass(frozen=True, slots=True)
class Range:
    """Along which number, from where to where (texts with units, numbers, or None: as a file's axis says)."""

    path: str
    start: float | str | None = None
    stop: float | str | None = None
    points: int | None = None


@dataclass(frozen=True, slots=True)
class _At:
    """One question at one value: status, number, bound."""

    status: Status
    number: float | None
    bound: float | None


class Search:
    """Answers of all questions along a number; each value of each question is asked once."""

    def __init__(
        self, grids: Sequence[Grid], names: Sequence[str], metric: str, goals: Sequence[str]
    ) -> None:
        self.grids, self.names, self.metric = grids, names, metric
        self.goals = goals
        self._known: dict[tuple[int, float], _At] = {}

    def keep(self, which: int, value: float, at: _At) -> None:
        """Take an answer that is known already."""
        self._known[which, value] = at

    def at(self, which: int, value: float) -> _At:
        """Answer one question at one value."""
        if (which, value) not in self._known:
            grid = self.grids[which]
            there = replace(grid, axes=(replace(grid.axes[0], values=(value,)),))
            brief = self.metric == self.goals[which]
            found = answer(there.question((0,)), neighbours=False, brief=brief)
            self._known[which, value] = self._read(which, found)
        return self._known[which, value]

    def _read(self, which: int, s: Solution) -> _At:
        if s.status not in ANSWERED:
            return _At(s.status, None, None)
        if self.metric == self.goals[which]:
            return _At(s.status, s.objective, s.objective if s.status is Status.EVALUATED else s.bound)
        number = s.metrics.get(self.metric, s.variables.get(self.metric))
        value = float(number) if number is not None else None
        return _At(s.status, value, value if s.status is Status.EVALUATED else None)

    def end(self, pair: tuple[int, int], value: float) -> End:
        """Return both questions at one value."""
        a, b = (self.at(k, value) for k in pair)
        return End(value, (a.status.value, b.status.value), (a.number, b.number), (a.bound, b.bound))

    def state(self, pair: tuple[int, int], value: float, apart: float = 0.0) -> str:
        """Say which is less, or which has an answer; ``apart``: what differs by at most this, relative, is equal."""
        a, b = (self.at(k, value) for k in pair)
        if any(x.status in (Status.ERROR, Status.UNBOUNDED) for x in (a, b)):
            return "unknown"
        if a.number is None or b.number is None:
            return "none" if a.number is b.number else "second alone" if a.number is None else "first alone"
        if abs(a.number - b.number) <= apart * max(abs(a.number), abs(b.number)):
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
            "unknown": "one of them has no answer",
        }[state]


def along(
    questions: Sequence[Scenario],
    labels: Sequence[str],
    names: Sequence[str],
    asked: Range,
    metric: str | None = None,
    base: int = 0,
    progress: bool | Report | None = None,
) -> Curve:
    """Find where questions overtake the baseline along a number; raises ScenarioError.

    ``labels`` and ``names``: as of a ``Side``; ``metric``: what is compared (None: the objective that all share).
    """
    start = _searched_values(questions, asked)
    swept = [_on_axis(q, asked.path, start) for q in questions]
    grids = [scenarios.grid(q) for q in swept]
    if not all(g.axes[0].numeric and not g.targets[0].structural for g in grids):
        right = (
            "name a given number, a machine parameter, a limit (limits.time.max) or a bound (decide.NAME.max)"
        )
        raise _mistake(questions[0].file, f"{shown(asked.path)} is not a number that changes alone", right)
    listed = tuple(float(v) for v in grids[0].axes[0].values)
    values = tuple(sorted(listed))
    if any(tuple(g.axes[0].values) != listed for g in grids):
        wrong = f"{shown(asked.path)} is not in one unit in all of these questions"
        raise _mistake(questions[0].file, wrong, "give --from and --to as numbers in SI units")
    first = [g.question((0,)) for g in grids]
    goals = [q.objectives[0].name if q.objectives else "" for q in first]
    name, maximize = _metric(questions, grids, metric)
    search = Search(grids, names, name, goals)
    with reporting(progress, "curve") as report:
        for k, (q, goal) in enumerate(zip(swept, goals, strict=True)):
            for value, at in zip(listed, _swept(q, name, goal), strict=True):
                search.keep(k, value, at)
            report(k + 1, len(swept))
    found = tuple(c for pair in pairs(len(labels), base) for c in _crossings(search, pair, values))
    unit = quantity(first[0].model, name).unit
    axis = grids[0].axes[0]
    # the curves pass through the crossings, not only through the grid
    drawn = tuple(sorted({*values, *(e.at for c in found for e in (c.low, c.high))}))
    every = [[search.at(k, v) for v in drawn] for k in range(len(labels))]
    return Curve(
        asked.path,
        axis.unit,
        drawn,
        len(values),
        tuple(names),
        name,
        unit,
        tuple(tuple(math.nan if a.number is None else a.number for a in one) for one in every),
        tuple(tuple(math.nan if a.bound is None else a.bound for a in one) for one in every),
        tuple(tuple(a.status.value for a in one) for one in every),
        tuple(sorted(found, key=lambda c: c.at)),
        spaced(values),
        all(g == name or not q.decide for g, q in zip(goals, first, strict=True)),
        maximize,
        {"scenarios": "\n\n".join(f"# {n}\n{q.text}" for n, q in zip(labels, questions, strict=True))},
        tuple(labels),
    )


def first(questions: Sequence[Scenario], asked: Range) -> tuple[list[Question], str]:
    """Return every question at the value in its file, or at the first one searched where some file sweeps it.

    With it, in words, where that is.
    """
    if not any(q.sweep for q in questions):
        return [question(q) for q in questions], ""
    start = _searched_values(questions, asked)
    grids = [scenarios.grid(_on_axis(q, asked.path, start)) for q in questions]
    axis = grids[0].axes[0]
    return [g.question((0,)) for g in grids], f"{asked.path} = {show(float(axis.values[0]), axis.unit)}"


def _crossings(search: Search, pair: tuple[int, int], values: Sequence[float]) -> list[Crossing]:
    """Return the places where the order of two questions changes between neighbours on the grid."""
    states = [search.state(pair, v, EQUAL_WITHIN) for v in values]
    found = []
    for (low, before), (high, after) in pairwise(zip(values, states, strict=True)):
        if before == after or "unknown" in (before, after):
            continue
        apart = EQUAL_WITHIN if "equal" in (before, after) else 0.0
        first, now = _crossing(search, pair, (low, high), before, apart)
        found.append(first)
        # what lies between two grid points may be a third state; then each change is a crossing of its own
        if now not in (after, "unknown"):
            found.append(_crossing(search, pair, (first.high.at, high), now, 0.0)[0])
    return found


def _crossing(
    search: Search, pair: tuple[int, int], outer: tuple[float, float], before: str, apart: float
) -> tuple[Crossing, str]:
    """Return the change from the state ``before`` nearest to the first of two values, and the state behind it."""
    left, right = _enclosing_values(search, pair, outer, before, apart)
    now = search.state(pair, right, apart)
    return Crossing(
        (search.names[pair[0]], search.names[pair[1]]),
        search.words(pair, before),
        search.words(pair, now),
        search.end(pair, left),
        search.end(pair, right),
        _proved(search, pair, (left, right), outer, (before, now)),
    ), now


def _enclosing_values(
    search: Search, pair: tuple[int, int], ends: tuple[float, float], before: str, apart: float
) -> tuple[float, float]:
    """Return two values, WIDTH apart, of which the first is as ``before`` and the second is not."""
    low, high = ends
    for _ in range(MOST_HALVED):
        if high - low <= CROSSING_WIDTH * max(abs(low), abs(high)):
            break
        guess = _guess(search, pair, low, high)
        middle = math.sqrt(low * high) if low > 0 else (low + high) / 2.0
        for x in (guess * (1 - NEAR_GUESS), guess * (1 + NEAR_GUESS), middle):
            if low < x < high:
                if search.state(pair, x, apart) == before:
                    low = x
                else:
                    high = x
    return low, high


def _guess(search: Search, pair: tuple[int, int], low: float, high: float) -> float:
    """Return where the straight line between the differences at both ends is 0; the middle where there is none."""
    middle = math.sqrt(low * high) if low > 0 else (low + high) / 2.0
    gaps = []
    for x in (low, high):
        a, b = (search.at(k, x).number for k in pair)
        if a is None or b is None:
            return middle
        gaps.append(math.log(a / b) if a > 0 and b > 0 else a - b)
    if gaps[0] * gaps[1] >= 0:
        return middle
    share = gaps[0] / (gaps[0] - gaps[1])
    if low > 0:
        return float(low * (high / low) ** share)
    return low + share * (high - low)


def _proved(
    search: Search,
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
            at = far if step >= 1.0 else x + (far - x) * min(step * max(abs(x), 1e-300) / abs(far - x), 1.0)
        found.append(search.end(pair, at))
    return found[0], found[1]


def _swept(q: Scenario, name: str, goal: str) -> list[_At]:
    """Answer a question at all values of its axis at once."""
    dataset = sweeps.sweep(q, progress=False, audit=0)
    codes = dataset["status"].values
    numbers = dataset["objective" if name == goal else name].values
    bounds = dataset["bound"].values if name == goal else np.full(len(codes), np.nan)
    found = []
    for code, number, bound in zip(codes, numbers, bounds, strict=True):
        status = STATES[int(code)]
        if status not in ANSWERED:
            found.append(_At(status, None, None))
        else:
            value = float(number)
            proved = value if status is Status.EVALUATED else None if math.isnan(bound) else float(bound)
            found.append(_At(status, value, proved))
    return found


def _metric(questions: Sequence[Scenario], grids: Sequence[Grid], asked: str | None) -> tuple[str, bool]:
    """Return what is compared, and whether more of it is better."""
    first = [g.question((0,)) for g in grids]
    shared = [
        m.name
        for m in first[0].model.metrics
        if all(m.unit == {x.name: x.unit for x in q.model.metrics}.get(m.name) for q in first)
    ]
    goals = {(q.objectives[0].name, q.objectives[0].maximize) if q.objectives else ("", False) for q in first}
    name, maximize = next(iter(goals))
    decided = set.intersection(*({d.name for d in q.decide if d.choices is None} for q in first))
    if asked is None:
        if len(goals) == 1 and name and (name in shared or name in decided):
            return name, maximize
        right = f"say which number: --metric NAME; all have: {', '.join(shared)}"
        raise _mistake(questions[0].file, "these questions share no objective", right)
    if asked not in shared and asked not in decided:
        right = meant(asked, [*shared, *decided])
        raise _mistake(questions[0].file, f"not all of these questions have a metric {shown(asked)}", right)
    return asked, maximize if asked == name else False


def _searched_values(questions: Sequence[Scenario], asked: Range) -> dict[str, Any]:
    """Return the values searched, as an axis of a file says them."""
    if (asked.start is None) != (asked.stop is None):
        raise _mistake(questions[0].file, "--from and --to go together", "give both, or an axis in the file")
    if asked.start is not None and asked.stop is not None:
        start, stop = _float_or_text(asked.start), _float_or_text(asked.stop)
        positive = not any(_negative(x) for x in (start, stop))
        spacing = "log" if positive else "linear"
        return {"start": start, "stop": stop, "num": asked.points or RANGE_POINTS, "spacing": spacing}
    for q in questions:
        for axis, entry in q.sweep.items():
            if (entry.path or "").removeprefix("given.") != asked.path.removeprefix("given."):
                continue
            found = next(a for a in scenarios.grid(q).axes if a.name == axis)
            if not found.numeric or len(found.values) < 2:
                continue
            return {"values": sorted(float(v) for v in found.values)}
    right = f"give --from and --to, or a file an axis with path = {shown(asked.path)}"
    raise _mistake(questions[0].file, f"{asked.path} has no range", right)


def _float_or_text(value: float | str) -> float | str:
    return float(value) if isinstance(value, str) and _NUMBER.fullmatch(value) else value


def _negative(value: float | str) -> bool:
    number = re.match(r"\s*([-+0-9.eE]+)", value) if isinstance(value, str) else None
    try:
        return float(number[1] if number else value) <= 0
    except ValueError:
        return False


def _on_axis(q: Scenario, path: str, values: dict[str, Any]) -> Scenario:
    """Return a question with the one axis that is searched along."""
    plain = path.removeprefix("given.")
    others = [n for n, e in q.sweep.items() if (e.path or "").removeprefix("given.") != plain]
    if others:
        right = "take the other axes out of the file"
        raise _mistake(q.file, f"this scenario sweeps {', '.join(others)} too", right, "sweep")
    data = {**files.toml(q.text), "sweep": {AXIS: {"path": path, **values}}}
    try:
        return scenarios.from_text(to_toml(data) + pin_lines(q.text), q.file)
    except scenarios.ScenarioError as found:
        # the file has no such axis: whoever asks named it
        keys = {f"sweep.{AXIS}.{own}": asked for own, asked in _ASKED_AS.items()}
        problems = (p._replace(key=keys.get(p.key, p.key)) for p in found.problems)
        raise scenarios.ScenarioError(problems) from None


def _mistake(file: str, wrong: str, right: str, key: str = "over") -> scenarios.ScenarioError:
    return scenarios.ScenarioError.of(file, key, wrong, right)
