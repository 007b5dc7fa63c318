"""[[kernels]] read: which models run on the machine, and which of their inputs are one number for all of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dse import models, workloads
from dse.models.described.fitted import fit_of
from dse.models.described.plugins import PluginError
from dse.models.model import Model
from dse.models.shared import kernel_quantities, power_held
from dse.models.shared import kernels as composing
from dse.models.shared.kernels import Kernel
from dse.names import UnknownName
from dse.system.records import dataclass
from scenarios import extensions
from scenarios.axes.chance_axes import SPREAD
from scenarios.language import axis_slots
from scenarios.language.errors import Findings, meant, shown
from scenarios.language.schema import KernelEntry, Shape
from scenarios.question import HALVINGS, STRETCH

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_WORDS = frozenset({"machine", *Shape.model_fields, HALVINGS.name, STRETCH.name})
_SIDE = re.compile(r"\.(min|max|max_halvings)")
MOST_KERNELS = 100
_UNITS = {q.name: q.unit for q in kernel_quantities.WHOLE}


@dataclass(frozen=True, slots=True)
class Composed:
    """The model of several kernels, and the question about it: what each kernel states has become a given."""

    model: Model
    shape: Shape


def model_names(shape: Shape) -> tuple[str, ...]:
    """Return the names of the models that a scenario's numbers come from."""
    named = (_model_name(k) for k in shape.kernels)
    return tuple(dict.fromkeys(n for n in (shape.model, *named, *shape.models.values()) if n))


def _model_name(entry: KernelEntry) -> str:
    known = entry.workload and not entry.model and entry.workload in workloads.names()
    return workloads.get(entry.workload).model if known else entry.model


def composed(shape: Shape, findings: Findings, *, swept: bool) -> Composed | None:
    """Make the model of a question of several kernels; None, and every mistake noted, where it cannot be.

    ``swept``: whether [sweep] counts.
    """
    before = findings.count
    if shape.model:
        right = "give each kernel its own model, or leave [[kernels]] out"
        findings.add("model", "model and [[kernels]] exclude each other", right)
    if len(shape.kernels) > MOST_KERNELS:
        findings.add(
            "kernels", f"there are more than {MOST_KERNELS} kernels", "put kernels of one model together"
        )
        return None
    found = [_model(shape, i, findings, swept=swept) for i in range(len(shape.kernels))]
    read = tuple(m for m in found if m is not None)
    _note_unclear_names(shape.kernels, read, findings)
    if findings.count > before or len(read) < len(shape.kernels):
        return None
    given = _given_in_kernels(shape, read, findings)
    kernels = _kernels_with_inputs(shape, read, given, findings, swept=swept)
    _ways(shape, kernels, findings)
    _of_whole(shape, kernels, findings, swept=swept)
    if findings.count > before:
        return None
    try:
        model = composing.composed(kernels, overlap=shape.overlap, idle=shape.idle == "on")
    except ValueError as error:
        findings.add("kernels", str(error), "ask of these kernels apart")
        return None
    return Composed(model, shape.model_copy(update={"given": given, "idle": False}))


def _model(shape: Shape, i: int, findings: Findings, *, swept: bool) -> Model | None:
    """Return the model of one kernel, as the question asks it."""
    found = _model_of_kernel(shape.kernels[i], f"kernels[{i}]", findings)
    return None if found is None else extensions.of_kernel(found, i, shape, findings, swept=swept)


def _model_of_kernel(entry: KernelEntry, key: str, findings: Findings) -> Model | None:
    """Return the model that one kernel names."""
    if bool(entry.model) == bool(entry.workload):
        wrong = "model and workload exclude each other" if entry.model else "this kernel has no model"
        right = 'write model = "nbody" and its given, or workload = "spmv" (`dse models`, `dse workloads`)'
        findings.add(key, wrong, right)
        return None
    if entry.size is not None and not (entry.workload and entry.size > 0):
        wrong = (
            "size counts units of a workload"
            if not entry.workload
            else f"size = {entry.size:g} is not an amount of work"
        )
        findings.add(f"{key}.size", wrong, "write a number above 0 beside workload, or leave it out")
    if entry.workload and entry.workload not in workloads.names():
        findings.unknown(f"{key}.workload", "workload", entry.workload, workloads.names())
        return None
    if entry.workload and entry.size is None and not workloads.get(entry.workload).whole:
        counted = workloads.get(entry.workload).unit
        wrong = f"size is missing: {entry.workload} is counted for {counted}"
        findings.missing(f"{key}.size", wrong, "say how many there are, such as size = 5e7")
    name = _model_name(entry)
    try:
        model = models.get(name)
    except UnknownName:
        findings.unknown(f"{key}.model", "model", name, (*models.names(), *models.fitted_names()))
        return None
    except models.ModelFileError as error:
        for wrong in error.problems:
            findings.add(f"{key}.model", f"model file {error.file}: {wrong}", "`dse fit` writes such files")
        return None
    except PluginError as error:
        findings.add(f"{key}.model", str(error), "`dse models` lists the models")
        return None
    why = composing.refusal(model)
    if why:
        able = [m.name for m in models.every() if not composing.refusal(m)]
        right = f"models that can be kernels: {', '.join(able)}"
        if fit_of(model) is not None:
            right = 'give it one, dse fit --also "time [s] = latency", or use it under [models]'
        findings.add(f"{key}.model", f"{name} {why}", right)
        return None
    return model


def _note_unclear_names(entries: Sequence[KernelEntry], read: Sequence[Model], findings: Findings) -> None:
    """Note kernels without a name, or with one that cannot be told from another."""
    taken = {q.name: f"an input of {m.name}" for m in read for q in m.inputs}
    taken |= {q.name: "a metric of all kernels together" for q in kernel_quantities.WHOLE}
    taken |= dict.fromkeys(_WORDS, "a word of the scenario language")
    times = Counter(e.name for e in entries)
    for i, name in enumerate(e.name for e in entries):
        key = f"kernels[{i}].name"
        if not name:
            free = next(
                n for n in ("forces", "spectrum", f"kernel_{i + 1}") if n not in taken and not times[n]
            )
            findings.add(f"kernels[{i}]", "this kernel has no name", f'write name = "{free}"')
        elif not _NAME.fullmatch(name):
            right = "use letters (a to z), digits and _, beginning with a letter"
            findings.add(key, f"{shown(name)} cannot name a kernel", right)
        elif name in taken:
            findings.add(key, f"{name} is {taken[name]} already", "give the kernel another name")
        elif times[name] > 1 and any(e.name == name for e in entries[:i]):
            findings.add(key, f"two kernels are called {name}", "give each kernel a name of its own")


def _given_in_kernels(shape: Shape, read: Sequence[Model], findings: Findings) -> dict[str, Any]:
    """Return what stands under [given] and in the kernels, all under the names of the whole."""
    names = {e.name for e in shape.kernels}
    found: dict[str, Any] = {}
    for name, value in shape.given.items():
        nested = isinstance(value, dict) and name in names
        found |= {f"{name}.{k}": v for k, v in value.items()} if nested else {name: value}
    for i, (entry, model) in enumerate(zip(shape.kernels, read, strict=True)):
        own = {
            n: (f"kernels[{i}].given.{n}", v) for n, v in _inputs_of_kernel(entry, model, i, findings).items()
        }
        own[kernel_quantities.REPEAT.name] = (f"kernels[{i}].repeat", entry.repeat)
        for name, (key, value) in own.items():
            flat = f"{entry.name}.{name}"
            elsewhere = flat in found or flat in shape.decide
            if name == kernel_quantities.REPEAT.name and elsewhere and "repeat" not in entry.model_fields_set:
                continue
            if flat in found and name not in entry.given and entry.workload:
                right = "leave it out, or count the kernel yourself"
                findings.add(f"given.{flat}", f"{flat} comes from the workload", right)
            elif flat in found:
                findings.add(key, f"{flat} is given twice", "keep one of the two")
            findings.places[f"given.{flat}"] = key
            found[flat] = value
    return found


def _inputs_of_kernel(entry: KernelEntry, model: Model, i: int, findings: Findings) -> dict[str, Any]:
    """Return the inputs that one kernel states: those of its workload, and those of its own."""
    known = {q.name: q for q in model.inputs}
    found: dict[str, Any] = {}
    if entry.workload:
        found |= workloads.get(entry.workload).times(1.0 if entry.size is None else entry.size)
    for name, value in entry.given.items():
        key = f"kernels[{i}].given.{name}"
        if name not in known and name in {q.name for q in model.machine}:
            right = f'write machine = {{ base = "…", {name} = … }}'
            findings.add(key, f"{name} is a machine parameter and belongs in the machine table", right)
        elif name not in known:
            findings.unknown(key, f"input of {model.name}", name, known)
        elif isinstance(value, list | dict):
            findings.add(key, f"{name} is a single value", f"write {name} = …; {meant('', known)}")
        elif name in found:
            findings.add(key, f"{name} comes from the workload", "leave it out, or count the kernel yourself")
        else:
            found[name] = value
    return found


def _kernels_with_inputs(
    shape: Shape, read: Sequence[Model], given: Mapping[str, Any], findings: Findings, *, swept: bool
) -> tuple[Kernel, ...]:
    """Say for each input whether it is one number for all kernels, which the file's own words tell."""
    said: dict[str, str] = {}
    for key, name in _roles_in_file(shape, given, swept=swept):
        said.setdefault(name, key)
    inputs = {e.name: [q.name for q in m.inputs] for e, m in zip(shape.kernels, read, strict=True)}
    own = {x for k, names in inputs.items() for x in names if f"{k}.{x}" in said}
    for x in sorted(own & said.keys()):
        having = [k for k in inputs if x in inputs[k]]
        k = next(k for k in having if f"{k}.{x}" in said)
        place = said[f"{k}.{x}"]
        wrong = f"{x} at {said[x]} is one number for all kernels that have it, {k}.{x} is {k}'s own"
        each = " and ".join(f"{n}.{x}" for n in having)
        findings.add(findings.places.get(place, place), wrong, f"write {x} for all, or {each}")
    every = zip(shape.kernels, read, strict=True)
    return tuple(Kernel(e.name, m, frozenset(q.name for q in m.inputs) - own) for e, m in every)


def _roles_in_file(shape: Shape, given: Mapping[str, Any], *, swept: bool) -> Iterator[tuple[str, str]]:
    """Go through the places of a file that give a name a role, each with the name."""
    yield from ((f"given.{n}", n) for n in given)
    yield from ((f"decide.{n}", n) for n in shape.decide)
    yield from ((f"define.{n}", n) for n in shape.define)
    yield from ((f"limits.{n}", n) for n in shape.limits)
    yield from (("objective", n) for n in shape.goals)
    for slot in [s for axis in shape.sweep for s in axis_slots.slots(shape, axis)] if swept else ():
        key, path = axis_slots.place(shape, slot), slot[1]
        section, _, rest = path.partition(".")
        if section == "given" and rest:
            yield key, rest
        elif section == "uncertain" and rest:
            yield key, rest.removesuffix(f".{SPREAD}")
        elif section == "objective" and rest:
            continue
        elif section in {"limits", "decide"} and rest:
            yield key, _SIDE.sub("", rest)
        else:
            yield key, path


def _ways(shape: Shape, kernels: Sequence[Kernel], findings: Findings) -> None:
    """Note ways to run together that these kernels do not have."""
    if isinstance(shape.idle, bool):
        if shape.idle:
            wrong = "several kernels leave no time idle between them"
            right = 'write idle = "on" if processors that a kernel does not use leak, or leave it out'
            findings.add("idle", wrong, right)
    elif shape.idle == "on" and not any(power_held.leaks(k.model) for k in kernels):
        findings.add("idle", "none of these kernels has processors that leak", "leave it out")
    untold = [k.model.name for k in kernels if not power_held.energy_terms(k.model)]
    # times alone overlap without them
    timed = "energy" in composing.untold(kernels) and len(untold) == len(kernels)
    for key, asked in (("overlap", shape.overlap and not timed), ("idle", shape.idle == "on")):
        if asked and untold:
            wrong = (
                f"{untold[0]} does not declare the parts of its energy, so the power over time is not known"
            )
            findings.add(key, wrong, "leave it out")


def _of_whole(shape: Shape, kernels: Sequence[Kernel], findings: Findings, *, swept: bool) -> None:
    """Note metrics asked of the whole that only its kernels have, or not all of them."""
    untold = composing.untold(kernels)
    whole = [q.name for q in kernel_quantities.WHOLE if q.name not in untold]
    inputs = {q.name for k in kernels for q in k.model.inputs}
    for key, name in _roles_in_file(shape, {}, swept=swept):
        having = [k.name for k in kernels if name in {q.name for q in k.model.metrics}]
        if name in untold:
            lacking, kernel = untold[name]
            run = f"{kernel.model.name} does not say what {lacking} a run of {kernel.name} has"
            fitted = f'dse fit --also "{lacking} [{_UNITS[lacking]}] = …"'
            wrong = f"{run}, so the whole has no {name}"
            right = f"ask for {' or '.join(whole)}, or fit {lacking} too: {fitted}"
            findings.add(key, wrong, right)
        elif having and name not in whole and name not in inputs:
            wrong = f"{name} is not a metric of the whole, each kernel has its own"
            each = " or ".join(f"{k}.{name}" for k in having)
            findings.add(key, wrong, f"write {each}; the whole has {', '.join(whole)}")


def alone(shape: Shape, findings: Findings) -> None:
    """Note what belongs to several kernels in a question of one model."""
    if isinstance(shape.idle, str):
        wrong = f"idle = {shown(shape.idle)} is for a question of several kernels"
        findings.add("idle", wrong, "write idle = true if processors may idle, or leave it out")
    if shape.overlap:
        findings.add("overlap", "there is nothing to overlap: one model runs", "leave it out")
