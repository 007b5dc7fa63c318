"""Which amounts of words a file states in bytes: people are then shown them in bytes too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dse.models.model import MACHINE_PREFIX
from dse.quantities import in_bytes
from scenarios.language import axis_slots
from scenarios.language.reading import stated_in_bytes
from scenarios.language.schema import Shape
from scenarios.names import Roles
from scenarios.question import Question

_VALUES = frozenset({"given", "limit", "decide"})
"""The kinds of axes whose values are numbers of the quantity that they change."""


def bytes_per_word(shape: Shape, roles: Roles, word_size: float | None) -> dict[str, float]:
    """Return the word size by the name of each amount of words that is given, decided, limited or swept in bytes."""
    if word_size is None:
        return {}
    reader = roles.reader
    swept = (t.name for t in roles.targets.values() if t.kind in _VALUES)
    own = (n for n in _of_machines(shape) if n in reader.parameters)
    return {
        name: word_size
        for name in dict.fromkeys((*roles.given, *roles.decide, *roles.limits, *swept, *own))
        if not reader.is_machine(name)
        and reader.quantity(name).unit == "word"
        and any(map(stated_in_bytes, _stated(shape, roles, name)))
    }


def common(sizes: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Return what is the same in all; where words differ in size along an axis, all are shown in words."""
    first, *others = sizes
    return {n: size for n, size in first.items() if all(other.get(n) == size for other in others)}


def size(question: Question, name: str) -> float | None:
    """Return the bytes per word of a number that is shown in bytes; ``name``: its own, or the path of an axis."""
    section, _, rest = name.partition(".")
    if section in {"limits", "decide"}:
        rest = rest.rpartition(".")[0]
    return question.bytes_per_word.get(rest if section in {"given", "limits", "decide"} else name)


def unit_in_question(question: Question, name: str, unit: str) -> str:
    """Return the unit with which a number of a question is shown; ``unit``: the SI unit that it is in."""
    return in_bytes("" if unit == "1" else unit, size(question, name))


def _stated(shape: Shape, roles: Roles, name: str) -> Iterator[Any]:
    """Go through what the file says of one name, as it stands there."""
    yield shape.given.get(name)
    yield _of_machines(shape).get(name)
    for entry in (shape.decide.get(name), shape.limits.get(name)):
        if entry is not None:
            yield from (entry.min, entry.max)
    if name in shape.decide:
        yield from shape.decide[name].values or ()
    for slot in (s for s, t in roles.targets.items() if t.name == name and t.kind in _VALUES):
        table = roles.tables.get(shape.sweep[slot[0]].table or "")
        if table is not None:
            cells = table.columns[slot[1]]
            yield from (f"1 {cells.unit}",) if cells.numeric else map(str, cells.values)
        else:
            _, axis = axis_slots.listed(shape, slot)
            yield from (axis.start, axis.stop, *(axis.values or ()))


def _of_machines(shape: Shape) -> dict[str, Any]:
    """Return what the file's own machine table says, or those of a map of machines, by the names of parameters."""
    found: dict[str, Any] = {}
    for key, value in shape.machine.items() if isinstance(shape.machine, Mapping) else ():
        within = value if isinstance(value, Mapping) else {}
        found |= {MACHINE_PREFIX + key: value}
        found |= {f"{MACHINE_PREFIX}{key}.{inner}": own for inner, own in within.items()}
    return found
