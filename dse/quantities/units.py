"""The units that files may use, read from ``units.txt``: of each name its factor to base units and its dimension.

Only what reading a number needs: importing pint takes longer than answering a question. Pint reads the same file
where units are computed with (``registry``), and the tests hold the two together, name by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

from dse.system.records import dataclass

# one letter for each power of 1000 from 1e-30 to 1e30, a blank for 1
PREFIXES = "qryzafpnµm kMGTPEZYRQ"
_PART = re.compile(r"(\*\*|[*/])?\s*([^\s*/]+)")


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit: its full name, its factor to base units, and the powers of base dimensions, by name ("[time]")."""

    name: str
    factor: Decimal
    dimension: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Units and the factors of prefixes, by every name and symbol that the file gives them."""

    units: dict[str, Unit]
    prefixes: dict[str, Decimal]

    def find(self, name: str) -> Unit | None:
        """Return the unit of that name, with a prefix and in the plural too; None where there is none.

        A symbol of one letter has no plural: "Ws" would lose the second.
        """
        found = self._prefixed(name, 1)
        if found is None and name.endswith("s"):
            found = self._prefixed(name[:-1], 2)
        return found

    def full_name(self, name: str) -> str:
        """Return the full name of a unit with its prefix ("femtobit" of "fb"); the name itself where there is none."""
        unit = self.find(name)
        if unit is None:
            return name
        factor = unit.factor / self.units[unit.name].factor
        return max((p for p, f in self.prefixes.items() if f == factor), key=len, default="") + unit.name

    def _prefixed(self, name: str, letters: int) -> Unit | None:
        """Find a unit whose own name has at least so many letters, behind any prefix."""
        for prefix, factor in ("", Decimal(1)), *self.prefixes.items():
            own = name.removeprefix(prefix)
            if name.startswith(prefix) and len(own) >= letters and own in self.units:
                unit = self.units[own]
                return Unit(unit.name, factor * unit.factor, unit.dimension)
        return None


@lru_cache(maxsize=1)
def table() -> Table:
    """Return the units of ``units.txt``, read once."""
    found = Table({}, {})
    for line in _definition_lines():
        name, *parts = (part.strip() for part in line.split(" = "))
        if not parts or line.startswith("#"):
            continue
        names = [name, *(p for p in parts[1:] if p != "_")]
        if name.endswith("-"):
            found.prefixes.update({n.removesuffix("-"): Decimal(parts[0]) for n in names})
        else:
            unit = _defined(name, parts[0], found)
            found.units.update(dict.fromkeys(names, unit))
    return found


def _defined(name: str, definition: str, known: Table) -> Unit:
    """Return a unit by its definition: a new base dimension, or numbers and units defined before."""
    if definition.startswith("["):
        return Unit(name, Decimal(1), ((definition, 1),) if definition != "[]" else ())
    factor, dimension = Decimal(1), dict[str, int]()
    for part, power in _factors_of_unit(definition):
        unit = known.find(part) or Unit(part, Decimal(part), ())
        factor *= unit.factor**power
        for key, exponent in unit.dimension:
            dimension[key] = dimension.get(key, 0) + exponent * power
    return Unit(name, factor, tuple((k, v) for k, v in dimension.items() if v))


def _factors_of_unit(definition: str) -> Iterator[tuple[str, int]]:
    """Go through the factors of a definition, each with its power."""
    found: list[tuple[str, int]] = []
    for operator, part in _PART.findall(definition):
        if operator == "**":
            before, sign = found.pop()
            found.append((before, sign * int(part)))
        else:
            found.append((part, -1 if operator == "/" else 1))
    yield from found


@lru_cache(maxsize=1)
def registry() -> Any:
    """Return the pint registry of ``dse/quantities/units.txt``, loaded once."""
    import pint

    made = pint.UnitRegistry(None)
    made.load_definitions(_definition_lines())
    return made


def _definition_lines() -> list[str]:
    return Path(__file__).with_name("units.txt").read_text(encoding="utf-8").splitlines()
