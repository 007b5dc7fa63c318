"""Questions over lists become plain ones: rows, maps of machines and menus of settings as flat dotted names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dse import models
from dse.models.described import units_of_equations
from dse.models.model import MACHINE_PREFIX, Model
from dse.models.shared.structure import SETTINGS, Parts, Structure, WrongPart
from dse.names import UnknownName
from dse.system.records import dataclass
from scenarios import extensions
from scenarios.language import axis_slots
from scenarios.language.errors import Findings, shown
from scenarios.language.reading import Reader
from scenarios.language.schema import Decide, Shape
from scenarios.structured import kernels, maps, rows


@dataclass(frozen=True, slots=True)
class Plain:
    """A question without lists: what reads its names and numbers, and what it says."""

    reader: Reader
    shape: Shape


def plain(shape: Shape, findings: Findings, *, swept: bool) -> Plain | None:
    """Write a question over lists as one over flat names; any other stays as it is.

    ``swept``: whether [sweep] counts. None where there is no such model, or where the lists are so wrong that
    nothing else can be said of the question; every mistake is noted.
    """
    if shape.kernels:
        made = kernels.composed(shape, findings, swept=swept)
        if made is None:
            return None
        return Plain(Reader(made.model, findings), _flat_machine(made.shape, made.model))
    kernels.alone(shape, findings)
    try:
        model = models.get(shape.model)
    except UnknownName:
        findings.unknown("model", "model", shape.model, (*models.names(), *models.fitted_names()))
        return None
    except models.ModelFileError as error:
        for wrong in error.problems:
            right = f"{shown(shape.model)} is read as a model file; `dse fit --model posynomial` writes one"
            findings.add("model", f"model file {error.file}: {wrong}", right)
        return None
    for wrong in () if models.our_own(model) else units_of_equations.wrong(model):
        right = "correct the equations, or the unit that the model declares"
        findings.add("model", f"units of model {model.name}: {wrong}", right)
    lists = model.structure
    if shape.idle and lists is not None:
        wrong = f"{model.name} does not support idle: its own equations contain the power drawn over time"
        findings.add("idle", wrong, "leave it out")
    if lists is None or (lists.optional and not any(t.name in shape.given for t in lists.tables)):
        model = extensions.of_question(model, shape, findings, swept=swept)
        return Plain(Reader(model, findings), _flat_machine(_unnested(shape, model, findings), model))
    if lists.optional:
        shape = _flat_machine(shape, model)
    return _expanded(shape, model, lists, findings, swept=swept)


def _unnested(shape: Shape, model: Model, findings: Findings) -> Shape:
    """Write nested tables of inputs with dotted names, where the model has inputs of such names."""
    families = {q.name.partition(".")[0] for q in model.inputs if "." in q.name}
    nested = {n: v for n, v in shape.given.items() if n in families and isinstance(v, dict)}
    if not nested:
        return shape
    found = {n: v for n, v in shape.given.items() if n not in nested}
    for name, number in _given_flat(nested, Structure(), model, findings).items():
        if name in found:
            findings.add(f"given.{name}", f"{shown(name)} is given twice", "keep one of the two")
        found[name] = number
    return shape.model_copy(update={"given": found})


def _flat_machine(shape: Shape, model: Model) -> Shape:
    """Write nested tables of a machine with dotted names, where the model has parameters of such names."""
    families = {q.name.partition(".")[0] for q in model.machine if "." in q.name}
    spec = shape.machine if isinstance(shape.machine, dict) else {}
    nested = [n for n, v in spec.items() if n in families and isinstance(v, dict)]
    leaves = [leaf for n in nested for leaf in _leaves(n, spec[n])]
    found = {n: v for n, v in spec.items() if n not in nested}
    # what stands there twice stays nested, where it is refused
    if not nested or any(n in found for n, _ in leaves):
        return shape
    return shape.model_copy(update={"machine": found | dict(leaves)})


def _expanded(
    shape: Shape, model: Model, structure: Structure, findings: Findings, *, swept: bool
) -> Plain | None:
    slots = [slot for axis in shape.sweep for slot in axis_slots.slots(shape, axis)] if swept else []
    paths = {axis_slots.place(shape, slot): slot[1] for slot in slots}
    given = _given_flat(shape.given, structure, model, findings)
    machines = maps.entries(shape, model, structure, paths, findings) if structure.machines else ()
    settings = maps.settings(shape, model, paths, findings) if structure.settings else ()
    changed = {p.removeprefix("given.") for p in paths.values()}
    names = None if settings is None else [s["name"] for s in settings]
    elsewhere = {*given, *shape.decide, *shape.define, *changed}
    known = {structure.entries: machines or ()} if structure.machines else {}
    _note_uncertain_shares(shape, structure, findings)
    listed = rows.read(structure, shape.given, names, elsewhere, findings, known)
    if machines is None or settings is None or not listed.sound or model.expand is None:
        return None
    for name in given.keys() & listed.numbers.keys():
        findings.add(f"given.{name}", f"{shown(name)} has a value in its list as well", "keep one of the two")
    parts = Parts(listed.rows, machines, settings, dict.fromkeys(elsewhere) | given)
    try:
        flat = model.expand(parts)
    except ValueError as error:
        if listed.guessed:
            # what stands in for a wrong name may be no better
            return None
        wrong, _, right = str(error).rpartition("; ")
        takes = f"change the lists; `dse models {model.name}` says what it takes"
        key = _key_of_part(error, parts, shape) if isinstance(error, WrongPart) else "given"
        findings.add(key, wrong or right, right if wrong else takes)
        return None
    work = tuple(
        some for t in structure.tables for r in parts.rows.get(t.name, ()) if (some := rows.something(t, r))
    )
    flat = extensions.of_question(replace(flat, any_of=(*flat.any_of, *work)), shape, findings, swept=swept)
    _without_part(given, model, flat, findings)
    given |= listed.numbers
    decide, unasked = _all_decisions(flat, shape, {*given, *shape.decide, *shape.define, *changed})
    made = shape.model_copy(update={"given": given, "decide": decide})
    return Plain(Reader(flat, findings, parts, unasked), made) if _distinct(flat, findings) else None


def _note_uncertain_shares(shape: Shape, structure: Structure, findings: Findings) -> None:
    """Note shares of a whole that are uncertain one by one: then nothing makes them sum to 1."""
    names = () if shape.uncertain is None else tuple(shape.uncertain.spreads)
    for table in structure.tables:
        for name in names if table.whole else ():
            if name.startswith(f"{table.name}.") and name.endswith(f".{table.whole}"):
                wrong = f"{shown(name)} is uncertain, but all of them sum to 1"
                right = "give it a value, and ask about each histogram in a file of its own"
                findings.add(f"uncertain.{name}", wrong, right)


def _key_of_part(error: WrongPart, parts: Parts, shape: Shape) -> str:
    """Return the key of a row under [given], or of a setting: of one that a file of its own states, the machine."""
    if error.table != SETTINGS:
        places = [r.name for r in parts.rows.get(error.table, ())]
        return f"given.{error.table}[{places.index(error.name)}]"
    if not (isinstance(shape.machine, Mapping) and SETTINGS in shape.machine):
        return "machine"
    return f"machine.{SETTINGS}[{[str(s['name']) for s in parts.settings].index(error.name)}]"


def _without_part(given: dict[str, Any], model: Model, flat: Model, findings: Findings) -> None:
    """Take out, and note, inputs that the question's lists leave without a part."""
    used = {q.name for q in flat.inputs}
    for name in [q.name for q in model.inputs if q.name in given and q.name not in used]:
        wrong = f"{name} is not used beside the lists of this question, which state it in more detail"
        findings.add(f"given.{name}", wrong, "leave it out, or take the list out")
        del given[name]


def _given_flat(
    given: Mapping[str, Any], structure: Structure, model: Model, findings: Findings
) -> dict[str, Any]:
    """Return what stands under [given] besides the lists, nested tables with dotted names."""
    lists = [t.name for t in structure.tables]
    found: dict[str, Any] = {}
    for name, value in given.items():
        if name in lists:
            continue
        if isinstance(value, list):
            findings.unknown(f"given.{name}", f"list of {model.name}", name, lists)
            continue
        for flat, number in _leaves(name, value):
            if flat in found:
                findings.add(f"given.{flat}", f"{shown(flat)} is given twice", "keep one of the two")
            found[flat] = number
    return found


def _leaves(name: str, value: Any) -> list[tuple[str, Any]]:
    if not isinstance(value, dict) or not value:
        return [(name, value)]
    return [leaf for key, inner in value.items() for leaf in _leaves(f"{name}.{key}", inner)]


def _all_decisions(flat: Model, shape: Shape, asked: set[str]) -> tuple[dict[str, Decide], frozenset[str]]:
    """Return all decisions, and which of them are there although the file says nothing of them.

    An unknown is decided unless it is ``asked`` about, or its whole family is.
    """
    whole = {u.name for u in flat.unknowns if u.integer}
    families = asked & {q.name for q in flat.inputs}
    found = {
        n: d.model_copy(update={"integer": True}) if n in whole and "integer" not in d.model_fields_set else d
        for n, d in shape.decide.items()
    }
    unasked = [u for u in flat.unknowns if u.name not in asked and u.name.partition(".")[0] not in families]
    found |= {u.name: Decide(integer=u.integer) for u in unasked}
    return found, frozenset(u.name for u in unasked)


def _distinct(flat: Model, findings: Findings) -> bool:
    """Whether the names of all quantities differ; where names of rows or machines make them meet, note it."""
    names = [q.name for q in (*flat.inputs, *flat.metrics)] + [x.name for x in flat.limits]
    every = Counter([*names, *(MACHINE_PREFIX + q.name for q in flat.machine)])
    twice = [n for n, times in every.items() if times > 1]
    for name in twice:
        wrong = f"two quantities would be called {shown(name)}"
        findings.add("given", wrong, "give rows and machines names that differ")
    return not twice
