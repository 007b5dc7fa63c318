"""What a decided number must divide, read: its menu of divisors, or what is wrong with what it should divide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dse.models.model import MACHINE_PREFIX
from scenarios.define import divisors
from scenarios.define.composed import definitions_of
from scenarios.language.errors import meant, shown
from scenarios.language.schema import Shape
from scenarios.names import Roles
from scenarios.question import Decision


def with_menu(shape: Shape, roles: Roles, d: Decision, given: Mapping[str, float | str]) -> Decision:
    """Return a decision with the values that divide what it must; every mistake is noted.

    Without values yet where a machine is to be chosen that says one of the numbers.
    """
    of = shape.decide[d.name].divides if d.name in shape.decide else None
    if not of:
        return d
    key, before = f"decide.{d.name}.divides", roles.reader.findings.count
    for i, name in enumerate(of):
        place = f"{key}[{i}]" if len(of) > 1 else key
        wrong, right = _why_no_divisors(shape, roles, name, given)
        if wrong:
            roles.reader.findings.missing(place, wrong, right)
    menu = divisors.Divisors(of, d.values, definitions_of(roles.reader.model))
    made = replace(d, menu=menu, values=None, endless=False)
    if roles.reader.findings.count > before:
        return made
    try:
        return replace(made, values=menu(given))
    except ValueError as problem:
        wrong, _, right = str(problem).partition("; ")
        roles.reader.findings.add(key, wrong, right)
    return made


def _why_no_divisors(
    shape: Shape, roles: Roles, name: str, given: Mapping[str, float | str]
) -> tuple[str, str]:
    """Say why no divisors of a number can be listed, and what would be right; nothing where they can."""
    reader, model = roles.reader, roles.reader.model
    known = {*reader.parameters, *given}
    definitions = definitions_of(model)
    defined = any(d.name == name for d in definitions)
    if not defined and name not in known and name not in reader.metrics:
        there = [n for n, q in reader.parameters.items() if not (q.choices or q.menu or q.unit)]
        return f"there is no given number of {model.name} {shown(name)}", meant(name, there)
    uncertain = shape.uncertain.spreads if shape.uncertain is not None else {}
    for base in divisors.bases(definitions, name):
        through = f"{name} rests on {base}, which" if base != name else name
        if base in roles.decide:
            return f"{through} is decided", "name numbers that are given: their divisors are the menu"
        if base in reader.metrics and base not in given:
            return f"{through} is a metric, which {model.name} computes", "name numbers that are given"
        if base in uncertain:
            return f"{through} is uncertain, and a menu is the same in every sample", "give it, or sweep it"
        if base in reader.parameters and reader.parameters[base].choices:
            return f"{through} is a choice among names", "name numbers that are given"
        if base not in given and not _told_elsewhere(roles, base):
            return f"{base} has no value", f"give {base}, or leave it out here"
    return "", ""


def _told_elsewhere(roles: Roles, name: str) -> bool:
    """Whether a number stands in a machine that is to be chosen, or its lack is noted where it should stand."""
    reader = roles.reader
    if name.startswith(MACHINE_PREFIX):
        return any(roles.machines.values()) or reader.findings.unreadable("machine")
    q = reader.inputs.get(name)
    return q is not None and not q.optional
