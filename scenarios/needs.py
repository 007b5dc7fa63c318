"""What a question must state beyond what its model always needs: one of several inputs, costs of its choices."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from dse.quantities import Quantity
from scenarios.language import axis_slots
from scenarios.language.errors import shown
from scenarios.language.schema import Shape
from scenarios.names import Roles


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


def needed(shape: Shape, roles: Roles) -> dict[str, str]:
    """Return the optional parameters that the chosen texts make necessary, each with those texts in words."""
    model = roles.reader.model
    if model.needs is None:
        return {}
    found: dict[str, str] = {}
    for choices in _combinations(shape, roles):
        told = " and ".join(f"{n} = {shown(v)}" for n, v in choices.items())
        for name in model.needs(choices):
            found.setdefault(name, told)
    return found


def partless(shape: Shape, roles: Roles) -> None:
    """Note what the file says of inputs that the chosen texts leave without a part."""
    reader, unused = roles.reader, roles.reader.model.unused
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


def _combinations(shape: Shape, roles: Roles) -> Iterator[Mapping[str, str]]:
    named = [q for q in roles.reader.model.inputs if q.choices]
    texts = [_texts(shape, roles, q) for q in named]
    for values in product(*texts):
        yield {q.name: v for q, v in zip(named, values, strict=True)}


def _texts(shape: Shape, roles: Roles, q: Quantity) -> list[str]:
    """Return every text that the question may give a choice among names."""
    if q.name in roles.swept:
        slot = next(s for s, t in roles.targets.items() if t.kind == "given" and t.name == q.name)
        table = roles.tables.get(shape.sweep[slot[0]].table or "")
        of_table = table is not None and slot[1] in table.columns
        told: list[Any] = list(
            table.columns[slot[1]].texts()
            if table is not None and of_table
            else axis_slots.listed(shape, slot)[1].values or ()
        )
    elif q.name in shape.decide:
        told = list(shape.decide[q.name].values or q.choices)
    else:
        told = [shape.given.get(q.name, q.default)]
    # what is not text is told where it is read
    return list(dict.fromkeys(v for v in told if isinstance(v, str) and v in q.choices))
