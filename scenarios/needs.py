"""What a question must state beyond what its model always needs: one of several inputs, costs of its choices."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from dse.models.model import MACHINE_PREFIX
from dse.quantities import Quantity
from scenarios.define.composed import optional_users
from scenarios.language import axis_slots
from scenarios.language.axis_slots import Slot
from scenarios.language.errors import shown
from scenarios.language.reading import Reader
from scenarios.language.schema import Shape
from scenarios.names import Roles

Rows = Mapping[str, Container[int]]
"""Places along some axes, from 0."""
NO_ROWS: Rows = {}


def one_each(shape: Shape, roles: Roles) -> None:
    """Note where a question does not state exactly one of the inputs that stand for each other."""
    reader = roles.reader
    for group in reader.model.one_of:
        stated = [n for n in group if n in roles.given or n in shape.decide or n in roles.swept]
        if len(stated) > 1:
            where = "decide" if stated[1] in shape.decide else "given"
            wrong = f"{' and '.join(stated)} state the same quantity twice"
            reader.findings.add(f"{where}.{stated[1]}", wrong, f"leave {' or '.join(stated)} out")
        elif not stated and not any(reader.findings.unreadable(f"{w}.{n}") for w in _WHERE for n in group):
            wrong = f"{reader.model.name} needs {' or '.join(group)}, and neither has a value"
            right = f"add {group[0]} = … under [given], or decide or sweep it"
            reader.findings.missing(f"given.{group[0]}", wrong, right)


_WHERE = ("given", "decide")


def needed(shape: Shape, roles: Roles, rows: Rows = NO_ROWS) -> dict[str, str]:
    """Return the optional parameters that the chosen texts make necessary, each with those texts in words.

    ``rows``: the rows that count of some axes.
    """
    model = roles.reader.model
    if model.needs is None:
        return {}
    found: dict[str, str] = {}
    for choices in _combinations(shape, roles, rows):
        told = " and ".join(f"{n} = {shown(v)}" for n, v in choices.items())
        for name in model.needs(choices):
            found.setdefault(name, told)
    return found


def partless(shape: Shape, roles: Roles) -> None:
    """Note what the file says of machine parameters without an effect, and of inputs that chosen texts leave idle."""
    reader, unused = roles.reader, roles.reader.model.unused
    for name, why in without_effect(reader).items():
        for key in _keys_that_change(shape, roles, name):
            wrong = f"{name} has no effect: {why}"
            reader.findings.add(key, wrong, "leave it out, or take out what stands in its place")
    if unused is None:
        return
    every = [(choices, unused(choices)) for choices in _combinations(shape, roles)]
    ranked = {o.name for o in roles.objectives}
    for name in reader.inputs:
        if not any(name in names for _, names in every):
            continue
        without = [choices for choices, names in every if name in names]
        places = _keys_that_name(shape, roles, name)
        if not without or not places or (len(without) < len(every) and name not in ranked):
            continue
        telling = [n for n in without[0] if _matters(reader.inputs[n].choices, unused, without[0], n, name)]
        told = " and ".join(f"{n} = {shown(without[0][n])}" for n in telling or without[0])
        wrong = f"{name} is not used with {told}"
        reader.findings.add(places[0], wrong, "leave it out, or choose otherwise")


def without_effect(reader: Reader) -> dict[str, str]:
    """Return the machine parameters that nothing here depends on, by their names in a question, each with why."""
    model = reader.model
    idle = {n: why for n, why in model.partless if not optional_users(model, n)}
    return {MACHINE_PREFIX + n: why for n, why in idle.items()}


def _keys_that_change(shape: Shape, roles: Roles, name: str) -> list[str]:
    """Return the keys at which the file itself gives a machine parameter another value."""
    table = shape.machine if isinstance(shape.machine, Mapping) else {}
    spreads = shape.uncertain.spreads if shape.uncertain is not None else {}
    found = [name] if name.removeprefix(MACHINE_PREFIX) in table else []
    found += [f"define.{name}"] if name in shape.define else []
    found += [f"uncertain.{name}"] if name in spreads else []
    return found + _keys_that_name(shape, roles, name)


def _matters(
    texts: Sequence[str],
    unused: Callable[[Mapping[str, str]], Container[str]],
    choices: Mapping[str, str],
    which: str,
    name: str,
) -> bool:
    """Whether another of the ``texts`` of one choice alone would give a part to ``name``."""
    return which != name and any(name not in unused({**choices, which: other}) for other in texts)


def _keys_that_name(shape: Shape, roles: Roles, name: str) -> list[str]:
    """Return the keys at which the file speaks of a name."""
    found = [f"given.{name}"] if name in roles.given else []
    found += [f"decide.{name}"] if name in roles.decide and name not in roles.reader.unasked else []
    found += [f"limits.{name}"] if name in shape.limits else []
    found += [axis_slots.place(shape, slot) for slot, t in roles.targets.items() if t.name == name]
    return found + ["objective"] * any(o.name == name for o in roles.objectives)


def _combinations(shape: Shape, roles: Roles, rows: Rows = NO_ROWS) -> Iterator[Mapping[str, str]]:
    """Go through the texts that the question may give its choices among names; those of one axis row by row."""
    swept = {t.name: s for s, t in roles.targets.items() if t.kind == "given"}
    apart: dict[str, list[str]] = {}
    for q in roles.reader.model.inputs:
        if q.choices:
            apart.setdefault(swept[q.name][0] if q.name in swept else f".{q.name}", []).append(q.name)
    every = [_together(shape, roles, names, swept, rows) for names in apart.values()]
    for parts in product(*every):
        yield {n: v for part in parts for n, v in part}


def _together(
    shape: Shape, roles: Roles, names: Sequence[str], swept: Mapping[str, Slot], rows: Rows
) -> list[tuple[tuple[str, str], ...]]:
    """Return what choices have together, each once: those of one axis at its rows, or one by itself."""
    inputs = roles.reader.inputs
    texts = [_texts(shape, roles, inputs[n], swept.get(n)) for n in names]
    axis = swept[names[0]][0] if names[0] in swept else ""
    told = zip(*texts, strict=False)
    some = (told_at for i, told_at in enumerate(told) if axis not in rows or i in rows[axis])
    # what is not text is told where it is read
    sound = (t for t in some if all(v in inputs[n].choices for n, v in zip(names, t, strict=True)))
    return [tuple(zip(names, t, strict=True)) for t in dict.fromkeys(sound)]


def _texts(shape: Shape, roles: Roles, q: Quantity, slot: Slot | None) -> Sequence[Any]:
    """Return what the question may give a choice among names; of a swept one at every place of its axis."""
    if slot is None:
        if q.name in shape.decide:
            return list(shape.decide[q.name].values or q.choices)
        return [shape.given.get(q.name, q.default)]
    table = roles.tables.get(shape.sweep[slot[0]].table or "")
    if table is not None and slot[1] in table.columns:
        return table.columns[slot[1]].texts()
    return axis_slots.listed(shape, slot)[1].values or ()
