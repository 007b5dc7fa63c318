"""Menus of divisors: a decided number that is to divide others, such as a degree of parallelism the heads it splits.

The numbers to divide are given: inputs, machine parameters, or definitions of such. Where one of them is swept, or
hangs on a machine that is chosen, each value has a menu of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from dse.system.records import dataclass
from scenarios.define.compiling import compiled, plain_lift
from scenarios.define.composed import Definition
from scenarios.define.trees import names

LARGEST_DIVIDED = 1e12
"""The largest number whose divisors are listed: a million trial divisions."""
WHOLE_ROUNDING = 1e-9
"""How far from a whole number rounding may take a definition, relative."""


@dataclass(frozen=True, slots=True)
class Divisors:
    """The menu of a decided number: the values that divide all given numbers named ``of``.

    ``listed``: the values that the user lists, None where any divisor will do; ``definitions``: those of the file.
    """

    of: tuple[str, ...]
    listed: tuple[float, ...] | None
    definitions: tuple[Definition, ...]

    def __call__(self, given: Mapping[str, Any]) -> tuple[float, ...] | None:
        """Return the values, ascending; None where one of the numbers is not known yet.

        Raises ValueError ("wrong; right") where there is no such value.
        """
        numbers = {name: value(self.definitions, given, name) for name in self.of}
        if None in numbers.values():
            return None
        whole = {name: _nearest_whole_number(name, float(v or 0.0)) for name, v in numbers.items()}
        shared = math.gcd(*whole.values())
        if self.listed is None:
            return divisors(shared)
        found = tuple(v for v in self.listed if v >= 1 and float(v).is_integer() and shared % int(v) == 0)
        if not found:
            some = ", ".join(f"{v:g}" for v in self.listed[:8]) + (", …" if len(self.listed) > 8 else "")
            told = " and ".join(f"{name} = {v}" for name, v in whole.items())
            first = ", ".join(f"{v:g}" for v in divisors(shared)[:8])
            raise ValueError(f"none of {some} divides {told}; the divisors begin with {first}")
        return found


def divisors(number: int) -> tuple[float, ...]:
    """Return all divisors of a positive whole number, ascending."""
    small = np.arange(1, math.isqrt(number) + 1)
    small = small[number % small == 0]
    return tuple(float(v) for v in np.union1d(small, number // small))


def value(definitions: Iterable[Definition], given: Mapping[str, Any], name: str) -> float | None:
    """Return a number that is given, or a definition of such; None where it is not known."""
    tree = next((d.tree for d in definitions if d.name == name), None)
    if tree is None:
        found = given.get(name)
        return None if found is None or isinstance(found, str) else float(found)
    # in its own definition, the name of a machine parameter means the machine's value
    at = {n: given.get(n) if n == name else value(definitions, given, n) for n in names(tree)}
    return None if None in at.values() else float(compiled(tree, plain_lift)(at))


def bases(definitions: Iterable[Definition], name: str) -> Iterator[str]:
    """Go through the names that a number rests on: its own, or those in its definition, and in theirs."""
    tree = next((d.tree for d in definitions if d.name == name), None)
    if tree is None:
        yield name
        return
    for inner in names(tree):
        yield from (inner,) if inner == name else bases(definitions, inner)


def _nearest_whole_number(name: str, number: float) -> int:
    if not 1 - WHOLE_ROUNDING <= number <= LARGEST_DIVIDED:
        right = f"a number from 1 to {LARGEST_DIVIDED:g} has a menu of divisors"
        raise ValueError(f"{name} is {number:.12g}; {right}")
    near = round(number)
    if abs(number - near) > WHOLE_ROUNDING * near:
        raise ValueError(f"{name} is {number:.12g}, no whole number; only whole numbers have divisors")
    return near
