"""The variables and coordinates of a dataset: their names, dimensions, units, codes and meanings."""

from __future__ import annotations

import json
import math
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dse.system.records import dataclass
from formulations.evaluation import quantity
from results.solution import Status
from results.telling import sizes
from results.telling.limits import base_name
from scenarios.language.machine_files import shown_names
from scenarios.question import HALVINGS, Decision, Question
from scenarios.sizes import size

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from dse.quantities import Quantity
    from results.telling.families import Dimension, Family

STATUS_CODES = {
    Status.OPTIMAL: 1,
    Status.FEASIBLE: 2,
    Status.INFEASIBLE: 3,
    Status.UNBOUNDED: 4,
    Status.ERROR: 5,
    Status.EVALUATED: 6,
}
OBJECTIVE_MEASURE = "objective_measure"
"""Attribute of a dataset: which measure of its metric the objective is, in words."""
NOT_APPLICABLE, NOT_BINDING, BINDING, CONFLICTING = -1, 0, 1, 2
LIMIT = "limit"
PROMISE = "promise"
"""Dimension of the limits that are judged in fresh samples, alone or together."""
ENDS = ("low", "high")
"""Of the interval of an estimate."""
SHOWN_NAMES = "shown_names"
"""Attribute of an axis or a choice of machines: how people are shown those that are files, by their paths (JSON)."""
CROSSINGS_AT = "crossings_at"
"""Attribute of curves along a number: where their order changes."""
WHOLE = "whole"
"""Attribute of an axis of a number of which only whole values mean anything."""
COLUMNS, TABLE = "columns", "table"
"""Attributes of an axis of rows: the coordinates that say what stands in them (JSON), and the name of their table."""
NUMBER = "decided_number"
"""Dimension of the decided numbers, in what stands beside an answer."""
LIMIT_UNITS, NUMBER_UNITS = "limit_units", "number_units"
"""Attributes of variables whose numbers have a unit for each limit or decided number: JSON, unit by name."""
OF_OBJECTIVE = frozenset({"objective", "bound", "fresh"})
"""Roles of variables in the unit of the objective."""
OF_LIMITS = frozenset({"binding", "would_do", "elasticity"})
"""Roles of variables that say what limits have to do with an answer."""
VALIDITY = "validity"
"""Attribute of a ratio that is at most 1 in the range in which the model was derived."""
RESERVED = frozenset(
    {
        LIMIT,
        PROMISE,
        "objective",
        "bound",
        "gap",
        "status",
        "elasticity",
        "binding",
        "would_do",
        "seconds",
        "message",
        "chunks_done",
    }
)


class AxisLike(Protocol):
    """A swept axis: its name, what it changes, and the values it takes; one of rows has ``columns`` that say this."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def path(self) -> str: ...  # noqa: D102
    @property
    def unit(self) -> str: ...  # noqa: D102
    @property
    def long_name(self) -> str: ...  # noqa: D102
    @property
    def values(self) -> Sequence[float | str]: ...  # noqa: D102


class GridLike(Protocol):
    """The product of the swept axes, which gives the question at each of its points."""

    @property
    def axes(self) -> Sequence[AxisLike]: ...  # noqa: D102

    def question(self, index: tuple[int, ...]) -> Question: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class Variable:
    """One array of a dataset.

    ``dtype``: "float64", "int8", "int32" or "text"; ``role``: what of a solution it holds ("objective",
    "decided", "metric", "family", ...) and ``key``: under which name; ``values``: for coordinates only;
    ``elements``: for families only, the name of each element by its place along the family's own dimensions.
    """

    name: str
    dtype: str
    dims: tuple[str, ...]
    attributes: Mapping[str, Any]
    role: str
    key: str = ""
    values: tuple[float | str, ...] | None = None
    elements: Mapping[tuple[int, ...], str] = field(default_factory=dict)

    @property
    def fill(self) -> float | int | str:
        """What stands where nothing was computed: NaN, status 0, code -1 or empty text."""
        if self.dtype == "float64":
            return math.nan
        if self.dtype == "text":
            return ""
        return 0 if self.role == "status" else -1

    @property
    def numpy_dtype(self) -> Any:
        """The NumPy dtype of the array."""
        return np.dtypes.StringDType() if self.dtype == "text" else np.dtype(self.dtype)


def coordinates(axis: AxisLike, question: Question) -> list[Variable]:
    """Return the coordinates of a swept axis: its own; of one of rows their numbers, and one for each column."""
    columns = getattr(axis, "columns", ())
    if not columns:
        return [_coordinate(axis, (axis.name,), question)]
    names = [_safe(c.name) for c in columns]
    about = {"long_name": axis.long_name, "units": "1", COLUMNS: json.dumps(names)}
    table = getattr(axis, "table", "")
    about |= {TABLE: table} if table else {}
    values = tuple(map(int, axis.values))
    own = Variable(axis.name, "int32", (axis.name,), about, "coordinate", values=values)
    return [own, *(_coordinate(c, (axis.name,), question) for c in columns)]


def _coordinate(axis: AxisLike, dims: tuple[str, ...], question: Question) -> Variable:
    text = isinstance(next(iter(axis.values), None), str)
    about: dict[str, Any] = {"long_name": axis.long_name + _of_what(axis, text=text), "path": axis.path}
    if text:
        about |= _shown(question, map(str, axis.values))
    else:
        about |= {"units": axis.unit or "1"}
        q = question.model.parameters().get(axis.path.removeprefix("given."))
        about |= _picked(q.menu) if q is not None and q.menu else {}
    plain: Any = axis.values.tolist() if hasattr(axis.values, "tolist") else axis.values
    return Variable(
        _safe(axis.name), "text" if text else "float64", dims, about, "coordinate", values=tuple(plain)
    )


def _shown(question: Question, names: Iterable[str]) -> dict[str, str]:
    """Return the attribute that says how people are shown machine files; nothing where none has a title."""
    known = shown_names(question.scenario_text)
    found = {name: known[name] for name in names if name in known}
    return {SHOWN_NAMES: json.dumps(found, ensure_ascii=False)} if found else {}


def _of_what(axis: AxisLike, *, text: bool) -> str:
    """Say which element of a list an axis is about: ": regions.a.flops"; nothing where there is only one."""
    section, _, rest = axis.path.partition(".")
    name = rest if section in {"given", "limits", "decide", "machine"} else axis.path
    if section in {"limits", "decide"}:
        name = name.rpartition(".")[0]
    of_map = text and section == "machine" and name not in {"", "base"}
    return f": {name.removesuffix('.base')}" if "." in name or of_map else ""


def labelled(dim: Dimension) -> Variable:
    """Return the coordinate of the dimension of an indexed family."""
    about = {"long_name": f"{dim.what}, in the order of the scenario"}
    return Variable(dim.name, "text", (dim.name,), about, "coordinate", values=dim.labels)


def limited(limits: tuple[str, ...]) -> Variable:
    """Return the coordinate of the limits."""
    about = {"long_name": "limits of the question: on metrics, on decided variables, and the model's own"}
    return Variable(LIMIT, "text", (LIMIT,), about, "coordinate", values=limits)


def of_answer(question: Question, dims: tuple[str, ...]) -> Iterator[Variable]:
    """Objective, bound, gap, status, seconds and message: what every point has."""
    asked = question.objectives[0] if question.objectives else None
    unit, what = "1", "objective (none asked: any feasible point)"
    if asked is not None:
        q = quantity(question.model, asked.name)
        unit, what = q.unit or "1", f"{'greatest' if asked.maximize else 'least'} {asked.name}: {q.meaning}"
    yield Variable("objective", "float64", dims, {"units": unit, "long_name": what}, "objective")
    proven = {"units": unit, "long_name": "proven bound of the objective"}
    yield Variable("bound", "float64", dims, proven, "bound")
    gap = {"units": "1", "long_name": "|objective - bound| / |objective|"}
    yield Variable("gap", "float64", dims, gap, "gap")
    flags = {
        "long_name": "status of the answer",
        "flag_values": [0, *STATUS_CODES.values()],
        "flag_meanings": " ".join(["not_computed", *(s.value for s in STATUS_CODES)]),
    }
    yield Variable("status", "int8", dims, flags, "status")
    yield Variable(
        "seconds", "float64", dims, {"units": "s", "long_name": "time to solve the point"}, "seconds"
    )
    yield Variable(
        "message", "text", dims, {"long_name": "what went wrong, where status is error"}, "message"
    )


def per_limit(
    dims: tuple[str, ...], limits: tuple[str, ...], questions: Sequence[Question]
) -> Iterator[Variable]:
    """Elasticity and state of every limit, and its feasible value; nothing where there is none."""
    if not limits:
        return
    percent = {"units": "1", "long_name": "percent of the objective per percent of the limit"}
    yield Variable("elasticity", "float64", (*dims, LIMIT), percent, "elasticity")
    flags = {
        "long_name": "whether the limit binds, or is part of the conflict of an infeasible point",
        "flag_values": [NOT_APPLICABLE, NOT_BINDING, BINDING, CONFLICTING],
        "flag_meanings": "not_applicable slack binding conflicting",
    }
    yield Variable("binding", "int8", (*dims, LIMIT), flags, "binding")
    needed = {
        "long_name": "value of a limit in conflict at which the question is feasible, all others kept; of a "
        "model's own limit the factor by which it is missed",
        LIMIT_UNITS: json.dumps({name: unit_of_limit(questions, name) for name in limits}),
    }
    yield Variable("would_do", "float64", (*dims, LIMIT), needed, "would_do")


def unit_of_limit(questions: Sequence[Question], limit: str) -> str:
    """Return the unit of what is limited; "1" for a plain number and for a model's own limit."""
    name = base_name(limit)
    for asked in questions:
        if name in {x.name for x in asked.limits} | {d.name for d in asked.decide}:
            return quantity(asked.model, name).unit or "1"
    return "1"


@dataclass(frozen=True, slots=True)
class Names:
    """What is named in a dataset: metrics and decisions by name, families, and the dimensions of these.

    ``within``: the metrics that are at most 1 in the range in which a model was derived.
    """

    metrics: Mapping[str, Quantity]
    decided: Mapping[str, Decision]
    families: Mapping[tuple[str, tuple[str, ...]], Family]
    dimensions: Mapping[str, Dimension]
    within: frozenset[str]


def names(
    questions: Sequence[Question], families: Mapping[Any, Family], own: Mapping[str, Dimension]
) -> Names:
    """Return what is named in the answers to these questions."""
    metrics = {q.name: q for asked in questions for q in asked.model.metrics}
    decided = {d.name: d for asked in questions for d in asked.decide}
    if any(d.base is not None for d in decided.values()):
        metrics[HALVINGS.name] = HALVINGS
    within = frozenset(x.name for asked in questions for x in asked.model.valid)
    return Names(metrics, decided, families, own, within)


def named(
    found: Names, question: Question, dims: tuple[str, ...], beside: Iterable[str] = ()
) -> Iterator[Variable]:
    """Metrics and decided variables; ``beside``: names of coordinates that are not dimensions.

    A name already taken is prefixed by its role ("decided.memory"). A family is one variable of its own
    name, or, where that is taken too (by the metric ``time``), "time_by_processor".
    """
    held = {name: key for key, f in found.families.items() for name in f.elements.values()}
    taken = {*RESERVED, *dims, *beside} | {d.name for d in found.dimensions.values()}
    scalars = {n for n in (*found.metrics, *found.decided) if n not in held}
    done: set[Any] = set()
    for role, name in (*(("metric", n) for n in found.metrics), *(("decided", n) for n in found.decided)):
        if name in held:
            if held[name] not in done:
                made = _of_family(found.families[held[name]], found.dimensions, dims, taken | scalars)
                taken |= {made.name}
                done |= {held[name]}
                yield made
            continue
        free = _safe(name if name not in taken else f"{role}.{name}")
        taken |= {free}
        if role == "decided" and found.decided[name].choices is not None:
            yield _choice_variable(free, found.decided[name], dims, question)
        else:
            q = found.metrics[name] if role == "metric" else quantity(question.model, name)
            told = about(q)
            if role == "metric" and name in found.within:
                told |= {VALIDITY: "at most 1 in the range in which the model was derived"}
            yield Variable(free, "float64", dims, told, role, name)


def _choice_variable(name: str, d: Decision, dims: tuple[str, ...], question: Question) -> Variable:
    choices = d.choices or ()
    flags = {
        "long_name": f"chosen {d.name}",
        "flag_values": list(range(-1, len(choices))),
        "flag_meanings": " ".join(["not_decided", *("_".join(c.split()) for c in choices)]),
        "choices": json.dumps(choices),
        **_shown(question, choices),
    }
    return Variable(name, "int32", dims, flags, "decided", d.name)


def _of_family(
    family: Family, own: Mapping[str, Dimension], dims: tuple[str, ...], taken: set[str]
) -> Variable:
    along = [own[d] for d in family.dims]
    free = _safe(family.name)
    if free in taken:
        free = f"{free}_by_{'_'.join(family.dims)}"
    elements = {
        tuple(d.labels.index(label) for d, label in zip(along, labels, strict=True)): name
        for labels, name in family.elements.items()
    }
    told = about(family.like) | {"family": family.name}
    if len(elements) < math.prod(len(d.labels) for d in along):
        told |= {"elements": json.dumps(list(elements.values()))}
    return Variable(
        free, "float64", (*dims, *(d.name for d in along)), told, "family", family.name, elements=elements
    )


def _safe(name: str) -> str:
    """Return a name that Zarr does not take for a path."""
    return name.replace("/", "_")


def about(q: Quantity) -> dict[str, Any]:
    """Return the attributes that say what a number is."""
    found: dict[str, Any] = {"units": q.unit or "1", "long_name": q.meaning}
    if q.flags:
        found |= flags(list(range(len(q.flags))), q.flags)
    elif q.menu:
        found |= _picked(q.menu)
    return found | ({"source": q.source} if q.source else {})


def sized(variable: Variable, question: Question) -> Variable:
    """Return a variable with the bytes per word, where people are shown its words in bytes."""
    told = variable.attributes
    found: Any = None
    by_name = next((told[each] for each in (LIMIT_UNITS, NUMBER_UNITS) if each in told), None)
    if by_name is not None:
        units = json.loads(by_name)
        each = {n: size(question, base_name(n)) for n, unit in units.items() if unit == "word"}
        kept = {n: one for n, one in each.items() if one}
        found = json.dumps(kept) if kept else None
    elif told.get("units") == "word":
        goal = question.objectives[0].name if question.objectives else ""
        own = told.get("path") or (goal if variable.role in OF_OBJECTIVE else variable.key)
        names = variable.elements.values() or (own,)
        found = next((one for n in names if (one := size(question, n))), None)
    return replace(variable, attributes={**told, sizes.BYTES_PER_WORD: found}) if found else variable


def _picked(menu: Sequence[str]) -> dict[str, Any]:
    return flags([float(i) for i in range(1, len(menu) + 1)], menu)


def flags(values: Sequence[float], texts: Sequence[str]) -> dict[str, Any]:
    """Say what codes mean; by the CF conventions a meaning is one word, so texts of several stand beside."""
    one_word = ["_".join(text.split()) for text in texts]
    found = {"flag_values": list(values), "flag_meanings": " ".join(one_word)}
    return (
        found
        if one_word == list(texts)
        else found | {"flag_texts": json.dumps(list(texts), ensure_ascii=False)}
    )
