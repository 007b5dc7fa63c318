"""Which models a machine serves as it is, and what it lacks for the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

from dse import models
from dse.machines.catalogue import Machine
from dse.models.model import Model
from dse.models.shared.structure import Parts, Row


def lacking(machine: Machine, model: Model) -> tuple[str, ...]:
    """Return the machine parameters that a model needs and a machine does not state; none: the machine serves it.

    What only some of its metrics need is not counted (``in_part``).
    Of a model with choices (precision, level) the way of asking counts that lacks least. A model over a menu of
    settings needs a machine with settings, called "settings".
    """
    if model.structure is not None and model.structure.settings:
        # costs follow from the settings, or from the constants of a circuit
        return () if machine.settings else ("settings",)
    ways = [[n for n in needed if n not in machine.parameters] for needed in _ways(model)]
    fewest = min(ways, key=len)
    return () if model.spared is not None and set(fewest) <= {*model.spared.parameters} else tuple(fewest)


def in_part(machine: Machine) -> Mapping[str, tuple[str, tuple[str, ...]]]:
    """Return, by the names of models that a machine serves, the metrics in words for which it lacks parameters."""
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    for model in models.every():
        if model.spared is not None and not lacking(machine, model):
            lacked = tuple(n for n in model.spared.parameters if n not in machine.parameters)
            found |= {model.name: (model.spared.told, lacked)} if lacked else {}
    return found


def _ways(model: Model) -> Iterator[tuple[str, ...]]:
    """Go through the sets of machine parameters that a model's choices make necessary, its defaults first."""
    plain, prefix = _of_one(model)
    always = [q.name for q in plain.machine if not q.optional and q.default is None]
    choices = [q for q in plain.inputs if q.choices] if plain.needs is not None else []
    ordered = [sorted(q.choices, key=lambda text, q=q: text != q.default) for q in choices]  # type: ignore[misc]
    for texts in product(*ordered):
        chosen = {q.name: text for q, text in zip(choices, texts, strict=True)}
        more = plain.needs(chosen) if plain.needs is not None else ()
        names = dict.fromkeys((*always, *more))
        yield tuple(n.removeprefix(prefix) for n in names if n.startswith(prefix))


def _of_one(model: Model) -> tuple[Model, str]:
    """Return a model over a map of machines as one of a few, with the prefix of one machine's parameters."""
    structure = model.structure
    if structure is None or model.expand is None or not structure.machines:
        return model, ""
    rows = {
        t.name: (Row("row", stated=frozenset(q.name for q in t.numbers)),)
        for t in structure.tables
        if t.required
    }
    names = tuple(f"m{i}" for i in range(structure.least))
    return model.expand(Parts(rows=rows, machines=names)), f"{names[0]}."


def serves(machine: Machine) -> tuple[str, ...]:
    """Return the names of the models that a machine serves as it is."""
    return tuple(m.name for m in models.every() if not lacking(machine, m))


def missing(machine: Machine) -> Mapping[str, tuple[str, ...]]:
    """Return what a machine lacks for each model that it does not serve, by the model's name."""
    found = {m.name: lacking(machine, m) for m in models.every()}
    return {name: names for name, names in found.items() if names}
