"""Workloads by name: files of this package, read when first asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from dse import models
from dse.models.model import Model, extended
from dse.names import did_you_mean, unknown
from dse.quantities import Quantity, to_si
from dse.system import files
from dse.system.records import dataclass

_SUFFIX = ".toml"


class WorkloadError(ValueError):
    """A workload file cannot be used; the message says which, and why."""


@dataclass(frozen=True, slots=True)
class Workload:
    """A named piece of work: what one ``unit`` of it ("one nonzero") asks of each model that it is counted for.

    ``given`` are inputs by model: SI numbers, which count one unit, and texts. ``provenance`` says where each comes
    from, ``doubts`` what is doubtful about it, if anything; both by model and input ("roofline.bytes"). ``whole``: one
    unit is a run, so that a kernel may leave its size out.
    """

    name: str
    title: str
    source: str
    unit: str
    given: Mapping[str, Mapping[str, float | str]]
    provenance: Mapping[str, str]
    doubts: Mapping[str, str]
    notes: str = ""
    whole: bool = False

    @property
    def model(self) -> str:
        """The model that a kernel of this workload has."""
        return next(iter(self.given))

    def times(self, size: float) -> dict[str, float | str]:
        """Return the inputs of so many units; what is not an amount of work (an intensity, a text) stays as it is."""
        own = self.given[self.model]
        counted = {n for group in extended(models.get(self.model), own).any_of for n in group}
        return {n: v * size if n in counted and isinstance(v, float) else v for n, v in own.items()}


@cache
def _packaged_workload_files() -> Mapping[str, Path]:
    return {file.stem: file for file in sorted(Path(__file__).parent.glob(f"*{_SUFFIX}"))}


def names() -> tuple[str, ...]:
    """Return the names of all workloads, in alphabetical order, without reading any of them."""
    return tuple(_packaged_workload_files())


def get(name: str) -> Workload:
    """Return the workload of that name; raises UnknownName (a KeyError) with a suggestion."""
    if name not in _packaged_workload_files():
        raise unknown("workload", name, names())
    return _workload_of_catalogue(name)


def every() -> Iterator[Workload]:
    """Go through the workloads in alphabetical order."""
    return map(get, names())


@cache
def _workload_of_catalogue(name: str) -> Workload:
    try:
        return parse(name, _packaged_workload_files()[name].read_text(encoding="utf-8"))
    except ValueError as error:
        raise WorkloadError(f"workload file {name}{_SUFFIX}: {error}") from None


def parse(name: str, text: str) -> Workload:
    """Read a workload file's text; raises ValueError where it is none (TOML's and units' errors are such)."""
    data = files.toml(text)
    stated = {m: t for m, t in data.items() if isinstance(t, dict)}
    if not stated:
        raise ValueError("it has no tables such as [roofline.flops] with a value")
    given: dict[str, dict[str, float | str]] = {}
    entries: dict[str, Mapping[str, Any]] = {}
    for name_of, table in stated.items():
        model = models.get(name_of)
        own = {k: e if isinstance(e, dict) else {"value": e} for k, e in table.items()}
        given[name_of] = {k: _checked_entry(model, k, e) for k, e in own.items()}
        entries |= {f"{name_of}.{k}": e for k, e in own.items()}
    return Workload(
        name=name,
        title=str(data.get("title", name)),
        source=str(data.get("source", "")),
        unit=str(data.get("unit", "one run")),
        given=given,
        provenance={k: str(e.get("source", "")) for k, e in entries.items()},
        doubts={k: str(e["doubt"]) for k, e in entries.items() if "doubt" in e},
        notes=str(data.get("notes", "")),
        whole=bool(data.get("whole", "unit" not in data)),
    )


def _checked_entry(model: Model, name: str, entry: Mapping[str, Any]) -> float | str:
    inputs = {q.name: q for q in model.inputs}
    if name not in inputs:
        raise ValueError(f"{model.name} has no input {name!r}{did_you_mean(name, inputs)}")
    if "value" not in entry:
        raise ValueError(f"{name} has no value")
    return _number_in_domain(inputs[name], entry["value"])


def _number_in_domain(q: Quantity, value: Any) -> float | str:
    if q.choices:
        if value not in q.choices:
            raise ValueError(f"{q.name} = {value!r} is none of {', '.join(q.choices)}")
        return str(value)
    number = to_si(value, q.unit)
    if not q.minimum <= number <= q.maximum:
        raise ValueError(f"{q.name} = {number:g} lies outside its domain {q.minimum:g} to {q.maximum:g}")
    return number
