"""Dimensions of expressions, and the SI unit that is written for each.

A dimension maps base dimensions ("[time]", "[money]") to whole powers. Its unit is the one that quantities of that
kind have elsewhere in dse (J for an energy), else the shortest product of such units ("J*s^2", "USD/flop").
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from functools import lru_cache

from dse.quantities import UnitError, dimension, si_units

Dimension = Mapping[str, int]
NONE: Dimension = {}
MOST_BASE_POWER = 99
"""Powers of a base dimension go no further."""

_COUNTED = ("USD", "flop", "word", "message", "byte", "instruction", "access", "op", "core", "K")
_PHYSICAL = ("J", "W", "V", "A", "m", "kg", "ohm", "F", "C")
_BASE = ("[mass]", "[length]", "[time]", "[current]")


def times(a: Dimension, b: Dimension, power: int = 1) -> Dimension:
    """Return the dimension of x * y**power."""
    found = dict(a)
    for name, e in b.items():
        found[name] = found.get(name, 0) + e * power
    return {n: e for n, e in found.items() if e}


def raised(a: Dimension, power: int) -> Dimension:
    """Return the dimension of x**power."""
    return {n: e * power for n, e in a.items() if e * power}


def unit(of: Dimension) -> str:
    """Return the SI unit in which a quantity of this dimension is computed and shown; "" where it has none."""
    return _canonical_unit(tuple(sorted(of.items())))


@lru_cache(maxsize=1024)
def _canonical_unit(items: tuple[tuple[str, int], ...]) -> str:
    wanted = dict(items)
    if not wanted:
        return ""
    for known in si_units():
        if known and dimension(known) == wanted:
            return known
    counted: list[tuple[str, int]] = []
    for name in _COUNTED:
        ((base, _),) = dimension(name).items()
        if base in wanted:
            counted.append((name, wanted[base]))
    rest = {n: e for n, e in wanted.items() if n in _BASE}
    return _written([*counted, *_physical(rest)])


def _physical(rest: Dimension) -> list[tuple[str, int]]:
    """Return the shortest product of at most two physical units and a power of the second."""
    if not rest:
        return []
    best: list[tuple[str, int]] = []
    cost = 10**6
    ways: list[tuple[tuple[str, int], ...]] = [()]
    powers = (1, -1, 2, -2, 3, -3)
    ways += [((u, e),) for u in _PHYSICAL for e in powers]
    ways += [
        ((u, e), (v, f)) for u, v in itertools.combinations(_PHYSICAL, 2) for e in powers for f in powers
    ]
    for way in ways:
        left = dict(rest)
        for name, e in way:
            left = dict(times(left, dimension(name), -e))
        if set(left) - {"[time]"}:
            continue
        every = [*way, *([("s", left["[time]"])] if left else [])]
        # the fewest factors, then the smallest powers, then as few below the line as can be
        price = 100 * len(every) + sum(10 * abs(e) for _, e in every) + sum(1 for _, e in every if e < 0)
        if price < cost:
            best, cost = every, price
    if not best:
        names = {"[mass]": "kg", "[length]": "m", "[time]": "s", "[current]": "A"}
        best = [(names[n], e) for n, e in rest.items()]
    return best


def _written(factors: list[tuple[str, int]]) -> str:
    """Write a product of units as files have it: simple factors first, since a prefix goes to the first one."""
    above = sorted((f for f in factors if f[1] > 0), key=lambda f: f[1])
    text = "*".join(part for name, e in above for part in _unit_powers(name, e)) or "1"
    return text + "".join(f"/{part}" for name, e in factors if e < 0 for part in _unit_powers(name, -e))


def _unit_powers(name: str, power: int) -> list[str]:
    """Write a power of a unit, of which one digit is read: s^12 is s^9*s^3."""
    found = []
    while power > 0:
        some = min(power, 9)
        found.append(name if some == 1 else f"{name}^{some}")
        power -= some
    return found


def read(text: str) -> Dimension:
    """Return the dimension of a unit as written in an expression ("pJ/V**2/flop"). Raises UnitError."""
    found = dimension(text)
    if any(abs(e) > MOST_BASE_POWER for e in found.values()):
        raise UnitError(f"the powers of {text!r} are too large")
    return found
