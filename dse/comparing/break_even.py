"""Where one question overtakes another along a number: the values searched, and the curves."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import scenarios
from dse.comparing.crossing_search import Answered, CrossingSearch, crossings
from dse.quantities import show
from dse.sweeping import sweeps
from dse.system import files
from dse.system.progress import Report, reporting
from dse.system.records import dataclass
from formulations.evaluation import quantity
from results.dataset import STATUS_CODES
from results.side_by_side.comparison import ANSWERED
from results.side_by_side.crossings import AS_LISTED, BY_RATIO, EVENLY, Curve, pairs, spaced
from results.solution import Status
from scenarios import Grid, Scenario
from scenarios.define.composed import definitions_of
from scenarios.define.divisors import bases
from scenarios.language.errors import meant, shown
from scenarios.language.machine_files import pin_lines
from scenarios.language.toml_text import to_toml
from scenarios.questions import question

if TYPE_CHECKING:
    from scenarios.question import Question

AXIS = "over"
_ASKED_AS = {"path": "over", "start": "start (--from)", "stop": "stop (--to)", "num": "points"}
RANGE_POINTS = 33
_NUMBER = re.compile(r"[-+0-9.eE]+")
STATES = {code: status for status, code in STATUS_CODES.items()}


@dataclass(frozen=True, slots=True)
class Range:
    """Along which number, from where to where (texts with units, numbers, or None: as a file's axis says)."""

    path: str
    start: float | str | None = None
    stop: float | str | None = None
    points: int | None = None


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
    start, whole = _searched_values(questions, asked)
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
        raise _mistake(
            questions[0].file, wrong, "give --from and --to (start and stop) as numbers in SI units"
        )
    first = [g.question((0,)) for g in grids]
    goals = [q.objectives[0].name if q.objectives else "" for q in first]
    name, maximize = _metric(questions, grids, metric)
    search = CrossingSearch(grids, names, name, goals, whole=whole)
    with reporting(progress, "curve") as report:
        for k, (q, goal) in enumerate(zip(swept, goals, strict=True)):
            for value, at in zip(listed, _swept(q, name, goal), strict=True):
                search.keep(k, value, at)
            report(k + 1, len(swept))
    found = tuple(c for pair in pairs(len(labels), base) for c in crossings(search, pair, values))
    unit = quantity(first[0].model, name).unit
    rounded = whole and asked.start is not None and spaced(values) == AS_LISTED
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
        f"{BY_RATIO if values[0] > 0 else EVENLY}, rounded" if rounded else spaced(values),
        all(g == name or not q.decide for g, q in zip(goals, first, strict=True)),
        maximize,
        {"scenarios": "\n\n".join(f"# {n}\n{q.text}" for n, q in zip(labels, questions, strict=True))},
        tuple(labels),
        whole,
    )


def first(questions: Sequence[Scenario], asked: Range) -> tuple[list[Question], str]:
    """Return every question at the value in its file, or at the first one searched where some file sweeps it.

    With it, in words, where that is.
    """
    if not any(q.sweep for q in questions):
        return [question(q) for q in questions], ""
    start, _ = _searched_values(questions, asked)
    grids = [scenarios.grid(_on_axis(q, asked.path, start)) for q in questions]
    axis = grids[0].axes[0]
    return [g.question((0,)) for g in grids], f"{asked.path} = {show(float(axis.values[0]), axis.unit)}"


def _swept(q: Scenario, name: str, goal: str) -> list[Answered]:
    """Answer a question at all values of its axis at once; why there is no answer nobody reads."""
    dataset = sweeps.sweep(q, progress=False, audit=0, why=False)
    codes = dataset["status"].values
    numbers = dataset["objective" if name == goal else name].values
    bounds = dataset["bound"].values if name == goal else np.full(len(codes), np.nan)
    found = []
    for code, number, bound in zip(codes, numbers, bounds, strict=True):
        status = STATES[int(code)]
        if status not in ANSWERED:
            found.append(Answered(status, None, None))
        else:
            value = float(number)
            proved = value if status is Status.EVALUATED else None if math.isnan(bound) else float(bound)
            found.append(Answered(status, value, proved))
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


def _searched_values(questions: Sequence[Scenario], asked: Range) -> tuple[dict[str, Any], bool]:
    """Return the values searched, as an axis of a file says them, and whether only whole ones mean anything."""
    found, counts = _asked_values(questions, asked), any(_in_whole_numbers(q, asked.path) for q in questions)
    start, stop = found.get("start"), found.get("stop")
    if not (counts and isinstance(start, int | float) and isinstance(stop, int | float)):
        return found, counts
    space = np.linspace if found["spacing"] == "linear" else np.geomspace
    values = np.unique(np.round(space(start, stop, found["num"])))
    whole = values[(values >= min(start, stop)) & (values <= max(start, stop))]
    if whole.size < 2:
        wrong = f"no two whole numbers lie between {start:g} and {stop:g}, and {asked.path} counts"
        raise _mistake(questions[0].file, wrong, "widen --from and --to (in Python start and stop)")
    return {"values": whole.tolist()}, counts


def _in_whole_numbers(q: Scenario, path: str) -> bool:
    """Whether only whole values of a number mean anything: it counts something, or has a menu of its divisors."""
    name = path.removeprefix("given.")
    model = scenarios.grid(q).first.model
    divided = {n for d in q.decide.values() for n in d.divides or ()}
    named = {b for n in divided for b in bases(definitions_of(model), n)}
    counts = {x.name for x in model.unknowns if x.integer} | {x.name for x in model.inputs if x.whole}
    return name in named | counts


def _asked_values(questions: Sequence[Scenario], asked: Range) -> dict[str, Any]:
    """Return the values between the ends that are asked for, or those of the axis of a file."""
    if (asked.start is None) != (asked.stop is None):
        raise _mistake(
            questions[0].file,
            "--from and --to (in Python start and stop) go together",
            "give both, or an axis in the file",
        )
    if asked.start is not None and asked.stop is not None:
        start, stop = _float_or_text(asked.start), _float_or_text(asked.stop)
        return _values_between(start, stop, asked.points or RANGE_POINTS)
    for q in questions:
        for axis, entry in q.sweep.items():
            if (entry.path or "").removeprefix("given.") != asked.path.removeprefix("given."):
                continue
            found = next(a for a in scenarios.grid(q).axes if a.name == axis)
            if not found.numeric or len(found.values) < 2:
                continue
            values = sorted(float(v) for v in found.values)
            if asked.points is None:
                return {"values": values}
            return _values_between(values[0], values[-1], asked.points, even=spaced(values) == EVENLY)
    _refuse_unknown_path(questions, asked.path)
    right = (
        f"give --from and --to (in Python start and stop), or a file an axis with path = {shown(asked.path)}"
    )
    raise _mistake(questions[0].file, f"{asked.path} has no range", right)


def _refuse_unknown_path(questions: Sequence[Scenario], path: str) -> None:
    """Refuse a path that names nothing: no range would help."""
    for q in questions:
        try:
            _on_axis(q, path, {"values": [1.0, 2.0]})
        except scenarios.ScenarioError as found:
            unknown = [p for p in found.problems if p.key == _ASKED_AS["path"]]
            if unknown:
                raise scenarios.ScenarioError(unknown) from None


def _values_between(
    start: float | str, stop: float | str, points: int, *, even: bool = False
) -> dict[str, Any]:
    """Return values between two ends as an axis of a file says them: by ratio where they can be, unless ``even``."""
    even = even or any(_negative(x) for x in (start, stop))
    return {"start": start, "stop": stop, "num": points, "spacing": "linear" if even else "log"}


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
        return scenarios.from_text(to_toml(data) + pin_lines(q.text), q.file, q.tables.values())
    except scenarios.ScenarioError as found:
        # the file has no such axis: whoever asks named it
        keys = {f"sweep.{AXIS}.{own}": asked for own, asked in _ASKED_AS.items()}
        told: dict[tuple[str, str], scenarios.Problem] = {}
        for p in found.problems:
            # of values that are spread between two ends one mistake stands for all
            spread = p.key.startswith(f"sweep.{AXIS}.values")
            key = _ASKED_AS["start"] if spread else keys.get(p.key, p.key)
            told.setdefault((key, "" if spread else p.wrong), p._replace(key=key))
        raise scenarios.ScenarioError(told.values()) from None


def _mistake(file: str, wrong: str, right: str, key: str = "over") -> scenarios.ScenarioError:
    return scenarios.ScenarioError.of(file, key, wrong, right)
