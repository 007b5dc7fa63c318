"""Which amounts of words a file states in bytes: people are then shown them in bytes too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dse.quantities import UnitError, dimension, written_unit
from scenarios.language import axis_slots
from scenarios.language.schema import Shape
from scenarios.names import Roles

_VALUES = frozenset({"given", "limit", "decide"})
"""The kinds of axes whose values are numbers of the quantity that they change."""


def bytes_per_word(shape: Shape, roles: Roles, word_size: float | None) -> dict[str, float]:
    """Return the word size by the name of each amount of words that is given, decided, limited or swept in bytes."""
    if word_size is None:
        return {}
    reader = roles.reader
    swept = (t.name for t in roles.targets.values() if t.kind in _VALUES)
    return {
        name: word_size
        for name in dict.fromkeys((*roles.given, *roles.decide, *roles.limits, *swept))
        if not reader.is_machine(name)
        and reader.quantity(name).unit == "word"
        and any(map(_in_bytes, _stated(shape, roles, name)))
    }


def common(sizes: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Return what is the same in all; where words differ in size along an axis, all are shown in words."""
    first, *others = sizes
    return {n: size for n, size in first.items() if all(other.get(n) == size for other in others)}


def _stated(shape: Shape, roles: Roles, name: str) -> Iterator[Any]:
    """Go through what the file says of one name, as it stands there."""
    yield shape.given.get(name)
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


def _in_bytes(value: Any) -> bool:
    try:
        return isinstance(value, str) and "[information]" in dimension(written_unit(value))
    except UnitError:
        return False
