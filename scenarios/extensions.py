"""Models as a question asks them: more metrics with some parameters, more limits with ``valid = true``.

And fewer metrics where the machine lacks what only these need, and the question asks for none of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from dse import machines, workloads
from dse.models.model import MACHINE_PREFIX, Model, extended, sparing
from dse.models.shared import validity
from dse.names import UnknownName
from scenarios.language.errors import Findings
from scenarios.language.names_in_text import NAME_IN_TEXT, SIDE
from scenarios.language.parts import Part
from scenarios.language.reading import Reader
from scenarios.language.schema import Shape

_SECTION = re.compile(r"^(given|limits|decide|uncertain)\.")


def of_question(model: Model, shape: Shape, findings: Findings, *, swept: bool) -> Model:
    """Return the model as a question asks it; what does not go together is noted.

    ``swept``: whether [sweep] counts.
    """
    if not model.further and model.spared is None:
        return model
    stated = set(_names_in_file(shape, swept=swept))
    return sparing(_extended(model, stated, findings), stated, _names_asked(shape, swept=swept))


def of_kernel(model: Model, i: int, shape: Shape, findings: Findings, *, swept: bool) -> Model:
    """Return the model of kernel number ``i`` as a question asks it, in the same way."""
    if not model.further:
        return model
    entry = shape.kernels[i]
    own = workloads.get(entry.workload).given[model.name] if entry.workload else {}
    every, prefix = set(_names_in_file(shape, swept=swept)), f"{entry.name}."
    mine = {n.removeprefix(prefix) for n in every if n.startswith(prefix)}
    return _extended(model, every | mine | set(entry.given) | set(own), findings)


def within_validity(reader: Reader, shape: Shape, findings: Findings) -> Reader:
    """Return a question whose model stays inside the range in which it was derived, if the file asks for that.

    It is noted where the model states none.
    """
    model = reader.model
    if not shape.valid:
        return reader
    if not model.valid:
        wrong = f"{model.name} states no range in which it was derived, beside the limits that it always has"
        findings.add("valid", wrong, "leave it out")
        return reader
    return Reader(validity.within(model), findings, reader.parts, reader.unasked)


def _extended(model: Model, stated: set[str], findings: Findings) -> Model:
    try:
        return extended(model, stated)
    except ValueError as error:
        wrong, _, right = str(error).partition("; ")
        findings.add("machine", wrong, right)
        return model


def _names_asked(shape: Shape, *, swept: bool) -> frozenset[str]:
    """Return the names that a file ranks, limits, defines, decides and sweeps, and those in its expressions."""
    axes = [*shape.sweep.values()] if swept else []
    open_ones: list[Any] = [shape.objective, shape.limits, shape.define, shape.decide, shape.uncertain, axes]
    found: set[str] = set()
    while open_ones:
        told = open_ones.pop()
        if isinstance(told, str):
            found.update(_SECTION.sub("", SIDE.sub("", n)) for n in NAME_IN_TEXT.findall(told))
        elif isinstance(told, Part):
            open_ones += [value for _, value in told]
        elif isinstance(told, Mapping):
            open_ones += [*told, *told.values()]
        elif isinstance(told, list | tuple):
            open_ones += told
    return frozenset(found)


def _names_in_file(shape: Shape, *, swept: bool) -> Iterator[str]:
    for name, value in shape.given.items():
        yield name
        if isinstance(value, Mapping):
            yield from (f"{name}.{inner}" for inner in value)
    yield from shape.decide
    yield from shape.define
    yield from _of_machine(shape.machine, MACHINE_PREFIX)
    for name, entry in shape.decide.items():
        yield from _of_values(name, entry.values)
    for axis in shape.sweep.values() if swept else ():
        for path, values in changes(axis):
            yield path.removeprefix("given.")
            yield from _of_values(path.removesuffix(".base"), values)


def changes(axis: Any) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Go through all that one axis changes, with its values where the file lists them.

    By its only path, by several that change together, or by the columns of a table.
    """
    if axis.path:
        yield axis.path, tuple(axis.values or ())
    yield from (getattr(axis, "paths", None) or {}).items()
    yield from ((path, ()) for path in getattr(axis, "columns", None) or ())


def _of_values(name: str, values: Any) -> Iterator[str]:
    """Go through the parameters of machines that are listed as values of "machine" or "machine.cpu"."""
    if f"{name}.".startswith(MACHINE_PREFIX):
        for value in values if isinstance(values, list | tuple) else ():
            yield from _of_machine(value, f"{name}.")


def _of_machine(spec: Any, prefix: str) -> Iterator[str]:
    """Go through the parameters of a machine, or of each machine of a map."""
    if isinstance(spec, str):
        try:
            yield from (prefix + n for n in machines.get(spec).parameters)
        except (UnknownName, machines.MachineError):
            return
    elif isinstance(spec, Mapping):
        for name, value in spec.items():
            yield prefix + name
            if name == "base":
                yield from _of_machine(value, prefix)
            elif isinstance(value, str | Mapping):
                yield from _of_machine(value, f"{prefix}{name}.")
