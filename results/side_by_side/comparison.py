"""Answers side by side: objectives, metrics and designs of several questions, with ratios to one of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from dse.quantities import in_bytes
from dse.system.records import dataclass
from results.dataset import STATUS_CODES
from results.export.jsonable import plain
from results.side_by_side.crossings import Curve, coordinate
from results.solution import Solution, Status
from results.stores.baselines import RATIO
from results.telling import words
from results.telling.parts import html_table, safe
from results.telling.words import NOTHING

if TYPE_CHECKING:
    import xarray as xr


ANSWERED = (Status.OPTIMAL, Status.FEASIBLE, Status.EVALUATED)
GAP_LEFT_OUT = 1e-6
QUESTION = "question"
SIDE_BY_SIDE, DESIGN, METRICS = "certificate", "design", "metrics"
Number = float | str | None


@dataclass(frozen=True, slots=True)
class Side:
    """One question and its answer; ``file`` and ``machine``: where it comes from.

    ``label``: what it is called in datasets and JSON, ``name``: what people are shown it as, a machine file by its
    title.
    """

    label: str
    name: str
    file: str
    machine: str
    solution: Solution

    @property
    def answered(self) -> bool:
        """Whether there is a design, or something evaluated."""
        return self.solution.status in ANSWERED

    def numbers(self, section: str) -> Mapping[str, float | str]:
        """Return what was decided or computed, by name; nothing without an answer."""
        found: Mapping[str, float | str] = (
            self.solution.variables if section == DESIGN else self.solution.metrics
        )
        return found if self.answered else {}


@dataclass(frozen=True, slots=True)
class Row:
    """One quantity: its number on each side, and each side's ratio to the baseline (None: there is none).

    ``between``: of an objective the least and greatest ratio that bounds and objectives leave, for each side.
    """

    section: str
    name: str
    unit: str
    values: tuple[Number, ...]
    ratios: tuple[float | None, ...]
    between: tuple[tuple[float, float] | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """Several answers; ``baseline``: the place of the one that ratios are to; ``curve``: what came of --over.

    ``where``: at which value of it the answers stand side by side, unless it is the files' own.
    """

    sides: tuple[Side, ...]
    baseline: int = 0
    curve: Curve | None = field(default=None)
    where: str = ""

    @property
    def rows(self) -> tuple[Row, ...]:
        """All that the answers share, the objective first, then designs, then metrics."""
        objective = self._objective()
        found = [] if objective is None else [objective]
        for section in (DESIGN, METRICS):
            names = dict.fromkeys(n for s in self.sides for n in s.numbers(section))
            told = (n for n in names if section == DESIGN or self._shared(n))
            found += [self._row(section, n) for n in told]
        return tuple(found)

    def _shared(self, name: str) -> bool:
        answered = [s for s in self.sides if s.answered]
        return all(name in s.numbers(METRICS) for s in answered) and len(self._units(name)) == 1

    def _units(self, name: str) -> dict[str, None]:
        return dict.fromkeys(
            s.solution.units.get(name, "")
            for s in self.sides
            if name in s.solution.metrics or name in s.solution.variables
        )

    def _row(self, section: str, name: str) -> Row:
        values = tuple(s.numbers(section).get(name) for s in self.sides)
        units = self._units(name)
        # codes of cases and entries of menus are not amounts
        coded = any(
            v is not None and words.named(s.solution, name, v)
            for s, v in zip(self.sides, values, strict=True)
        )
        ratios = (None,) * len(values) if coded or len(units) > 1 else self._ratios(values)
        return Row(section, name, next(iter(units), ""), values, ratios)

    def _ratios(self, values: Sequence[Number]) -> tuple[float | None, ...]:
        return tuple(ratio(v, values[self.baseline]) for v in values)

    @property
    def goal(self) -> str:
        """The name of the objective that all questions share; empty where they do not."""
        goals = {(s.solution.objective_name, s.solution.maximize) for s in self.sides}
        name, _ = next(iter(goals))
        return name if len(goals) == 1 and name and len(self._goal_units()) == 1 else ""

    def _goal_units(self) -> set[str]:
        return {s.solution.units.get(s.solution.objective_name, "") for s in self.sides}

    def _objective(self) -> Row | None:
        if not self.goal:
            return None
        values = tuple(s.solution.objective if s.answered else None for s in self.sides)
        side = self.sides[0].solution
        name = f"{'greatest' if side.maximize else 'least'} {self.goal}"
        base = self.sides[self.baseline]
        between = tuple(_ratio_interval(s, base) for s in self.sides)
        return Row(SIDE_BY_SIDE, name, side.units.get(self.goal, ""), values, self._ratios(values), between)

    def _measured(self) -> bool:
        """Whether any side is a measure over worlds."""
        return any(s.solution.measure for s in self.sides)

    def not_shared(self) -> tuple[str, ...]:
        """Say what the answers do not share, and so cannot be compared in."""
        return tuple(self._not_shared())

    def _not_shared(self) -> Iterator[str]:
        if not self.goal and any(s.solution.objective_name for s in self.sides):
            goals = [f"{s.name}: {_wanted(s.solution)}" for s in self.sides]
            yield f"objectives differ ({'; '.join(goals)}), so that only metrics are compared"
        if self.goal and len({_measure_kind(s.solution) for s in self.sides}) > 1:
            told = "; ".join(f"{s.name}: {_measure(s.solution)}" for s in self.sides)
            yield f"measures differ ({told}), so that a ratio of objectives compares different measures"
        answered = [s for s in self.sides if s.answered]
        for s in self.sides:
            if not s.answered:
                yield f"{s.name} has no answer: {words.status(s.solution)}"
        for name in dict.fromkeys(n for s in answered for n in s.solution.metrics):
            units = self._units(name)
            if len(units) > 1:
                yield f"{name} is in {' and in '.join(u or 'no unit' for u in units)}"
        for s in answered:
            others = [o for o in answered if o is not s]
            own = [n for n in s.solution.metrics if any(n not in o.solution.metrics for o in others)]
            if own:
                yield f"{s.name} has {', '.join(own)}, and others have not"

    def record(self) -> dict[str, Any]:
        """Return all of it as JSON has it, numbers in SI units."""
        return {
            "baseline": self.sides[self.baseline].label,
            "where": self.where,
            "sides": [_side_record(s) for s in self.sides],
            "rows": [
                {
                    "section": r.section,
                    "name": r.name,
                    "unit": r.unit,
                    "values": plain(r.values),
                    "ratios": plain(r.ratios),
                }
                | ({"ratios_between": plain(r.between)} if r.between else {})
                for r in self.rows
            ],
            "not_shared": list(self.not_shared()),
            "over": None if self.curve is None else self.curve.record(),
        }

    def table(self) -> tuple[list[str], list[tuple[str, list[list[str]]]]]:
        """Return the columns' names, and the rows as text, by section."""
        head = ["", *(s.name for s in self.sides)]
        facts = [
            ["status", *(s.solution.status.value for s in self.sides)],
            ["proved", *(self._proved(s.solution) for s in self.sides)],
            *([["measure", *(_measure(s.solution) for s in self.sides)]] if self._measured() else []),
        ]
        if any(s.solution.outside for s in self.sides):
            facts.append(["outside the model's range", *(_beyond(s.solution) for s in self.sides)])
        found = [(SIDE_BY_SIDE, facts)]
        for section in (SIDE_BY_SIDE, DESIGN, METRICS):
            rows = [[r.name, *self._cells(r)] for r in self.rows if r.section == section]
            if section == SIDE_BY_SIDE:
                facts[1:1] = rows
            elif rows:
                found.append((section, rows))
        return head, found

    def _shown_unit(self, name: str, unit: str) -> str:
        """Return the unit with which a number is shown, the same on all sides: ratios are those of words."""
        sizes = {s.solution.bytes_per_word.get(name) for s in self.sides}
        return in_bytes(unit, sizes.pop()) if len(sizes) == 1 else unit

    def _proved(self, s: Solution) -> str:
        if s.objective is None or s.bound is None or s.status not in (Status.OPTIMAL, Status.FEASIBLE):
            return NOTHING
        unit = self._shown_unit(s.objective_name, s.units.get(s.objective_name, ""))
        side = "at most" if s.maximize else "at least"
        gap = s.gap or 0.0
        said = "< 1e-6" if gap < GAP_LEFT_OUT else f"{100 * gap:.2g} %"
        return f"{side} {words.value(s.bound, unit)}, gap {said}"

    def _cells(self, row: Row) -> Iterator[str]:
        unit = self._shown_unit(self.goal if row.section == SIDE_BY_SIDE else row.name, row.unit)
        for k, (value, by) in enumerate(zip(row.values, row.ratios, strict=True)):
            if value is None:
                yield NOTHING
                continue
            side = self.sides[k]
            named = words.named(side.solution, row.name, value)
            text = isinstance(value, str)
            told = words.metric(side.solution, row.name, value) if text else named or words.value(value, unit)
            yield told if by is None or k == self.baseline else f"{told} ({ratio_words(by)})"

    def __str__(self) -> str:
        head, sections = self.table()
        lines = ["  ".join(filter(None, head))]
        lines += ["  ".join(row) for _, rows in sections for row in rows]
        return "\n".join([*lines, *self._notes()])

    def _repr_html_(self) -> str:
        """Return the comparison as HTML tables, for notebooks; all text is escaped."""
        head, sections = self.table()
        told = "".join(f"<p>{safe(note)}</p>" for note in self._notes())
        return f'<div class="dse-comparison">{html_table(head, [r for _, some in sections for r in some])}{told}</div>'

    def _notes(self) -> list[str]:
        return [*self.not_shared(), *([] if self.curve is None else self.curve.sentences())]

    def to_dataset(self) -> xr.Dataset:
        """Return the comparison as a dataset along ``question``, with a ratio of every number that has one."""
        import numpy as np
        import xarray as xr

        flags = {
            "flag_values": list(STATUS_CODES.values()),
            "flag_meanings": " ".join(s.value for s in STATUS_CODES),
        }
        states = np.array([STATUS_CODES[s.solution.status] for s in self.sides], np.int8)
        found: dict[str, Any] = {
            "status": (QUESTION, states, {"long_name": "status of the answer", **flags}),
            "machine": (QUESTION, [s.machine for s in self.sides], {"long_name": "machine"}),
        }
        if self._measured():
            told_as = {"long_name": "what the objective is over which samples"}
            found["measure"] = (QUESTION, [_measure(s.solution) for s in self.sides], told_as)
        goal = self._objective()
        for name in ("bound", "gap") if goal is not None else ():
            values = [getattr(s.solution, name) for s in self.sides]
            unit = goal.unit if name == "bound" and goal is not None else "1"
            about = {"units": unit or "1", "long_name": f"{name} of the objective"}
            found[name] = (QUESTION, [math.nan if v is None else v for v in values], about)
        base = self.sides[self.baseline].name
        for row in self.rows:
            name = "objective" if row.section == SIDE_BY_SIDE else row.name
            if any(isinstance(v, str) for v in row.values):
                found[name] = (
                    QUESTION,
                    [NOTHING if v is None else str(v) for v in row.values],
                    {"long_name": name},
                )
                continue
            about = {"units": row.unit or "1", "long_name": row.name}
            found[name] = (QUESTION, [math.nan if v is None else float(v) for v in row.values], about)
            if any(r is not None for r in row.ratios):
                told = {"units": "1", "long_name": f"{row.name}, as a multiple of that of {base}"}
                numbers = [math.nan if r is None else r for r in row.ratios]
                found[RATIO + name] = (QUESTION, numbers, told)
        labels = coordinate([s.label for s in self.sides], [s.name for s in self.sides])
        title = f"{' and '.join(s.name for s in self.sides)}, with ratios to {base}"
        about = {"title": title, "baseline": self.sides[self.baseline].label}
        return xr.Dataset(found, {QUESTION: labels}, about)


def _beyond(solution: Solution) -> str:
    """Name the ratios that are at most 1 where the model was derived, and above it here."""
    return ", ".join(f"{n} {v:.6g}" for n, v in solution.outside.items()) or NOTHING


def _measure(solution: Solution) -> str:
    """Say what an objective is over which worlds."""
    return solution.measure or "every number known"


def _measure_kind(solution: Solution) -> str:
    """Return a measure without the samples that it is over: those may differ without the measure being another."""
    return solution.measure.partition(" over ")[0] if "worst " not in solution.measure else solution.measure


def ratio(value: Number, base: Number) -> float | None:
    """Return a number over that of the baseline; None where either is none, or the baseline's is 0."""
    if isinstance(value, str) or isinstance(base, str) or value is None or base is None:
        return None
    if base == 0 or not math.isfinite(value) or not math.isfinite(base):
        return None
    return float(value) / float(base)


def ratio_words(by: float) -> str:
    """Write a ratio: ×1.25."""
    return f"×{by:.4g}"


def _ratio_interval(side: Side, base: Side) -> tuple[float, float] | None:
    """Return between which ratios the two best values lie, by what is proved of both."""
    ends = [_proved_ends(s.solution) for s in (side, base)]
    if ends[0] is None or ends[1] is None or ends[1][0] <= 0 or ends[0][0] < 0:
        return None
    return ends[0][0] / ends[1][1], ends[0][1] / ends[1][0]


def _proved_ends(s: Solution) -> tuple[float, float] | None:
    if s.objective is None or s.status not in ANSWERED:
        return None
    bound = s.objective if s.status is Status.EVALUATED else s.bound
    return None if bound is None else (min(bound, s.objective), max(bound, s.objective))


def _wanted(s: Solution) -> str:
    if not s.objective_name:
        return "no objective"
    unit = s.units.get(s.objective_name, "")
    return f"{'greatest' if s.maximize else 'least'} {s.objective_name}" + (f" in {unit}" if unit else "")


def _side_record(s: Side) -> dict[str, Any]:
    kept = s.solution
    return {
        "label": s.label,
        "file": s.file,
        "machine": s.machine,
        "status": kept.status.value,
        "objective": plain(kept.objective),
        "objective_name": kept.objective_name,
        "maximize": kept.maximize,
        "bound": plain(kept.bound),
        "gap": plain(kept.gap),
        "certificate": kept.certificate,
        "solver": kept.solver,
        "conflict": plain(dict(kept.conflict)),
        "scenario": kept.scenario,
    }
