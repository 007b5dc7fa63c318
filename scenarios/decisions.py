"""Decided quantities: bounds, whole numbers, listed values, powers, halvings, choices among names."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import count, takewhile

from dse.quantities import Quantity, kind
from scenarios.language.errors import shown
from scenarios.language.reading import IN_LIST, Reader, box, choice, distinct
from scenarios.language.schema import Decide
from scenarios.question import FARTHEST_ENDS, Decision

MOST_HALVINGS = 500
LEAST_POWER = 1e-30


def roles(reader: Reader, key: str, entry: Decide) -> bool:
    """Whether the keys of one entry agree with each other; where not, the mistakes are noted."""
    before = reader.findings.count
    add = reader.findings.add
    sets = [n for n in ("values", "powers_of", "max_halvings") if getattr(entry, n) is not None]
    if len(sets) > 1:
        add(key, f"{' and '.join(sets)} exclude each other", "keep one of them")
    if entry.values is not None and not entry.values:
        add(f"{key}.values", "the list is empty", "list at least one value")
    if entry.powers_of is not None and entry.powers_of < 2:
        add(
            f"{key}.powers_of",
            f"{entry.powers_of} has no powers to choose from",
            "write a whole number of at least 2",
        )
    if entry.divides is not None:
        _divisor_roles(reader, key, entry, entry.divides)
    if entry.max_halvings is not None:
        _halving_roles(reader, key, entry, entry.max_halvings)
    return reader.findings.count == before


def _divisor_roles(reader: Reader, key: str, entry: Decide, of: tuple[str, ...]) -> None:
    add = reader.findings.add
    if not of:
        add(f"{key}.divides", "the list is empty", 'name a given number: divides = "heads"')
    if len(set(of)) < len(of):
        add(f"{key}.divides", "a name is listed twice", "list every name once")
    if entry.max_halvings is not None:
        add(key, "divides and max_halvings exclude each other", "keep one of them")
    q = reader.parameters.get(key.removeprefix("decide."))
    if q is not None and q.unit:
        wrong = f"{q.name} is {kind(q.unit)}, and only a plain number divides another"
        add(f"{key}.divides", wrong, "write values, or powers_of")


def _halving_roles(reader: Reader, key: str, entry: Decide, halvings: float) -> None:
    add = reader.findings.add
    if not key.startswith("decide.machine."):
        right = "write min and max, or decide a machine parameter"
        add(f"{key}.max_halvings", "only a machine parameter can be halved", right)
    if entry.min is not None or entry.max is not None:
        right = "leave min and max out, or write them instead of max_halvings"
        add(key, "max_halvings sets both bounds already", right)
    if not 0 <= halvings <= MOST_HALVINGS:
        right = f"write a number from 0 to {MOST_HALVINGS}"
        add(f"{key}.max_halvings", f"{halvings:g} halvings are not possible", right)
    if entry.integer and not halvings.is_integer():
        right = "write a whole number, or leave integer out"
        add(f"{key}.max_halvings", f"{halvings:g} is not a whole number of halvings", right)


def decision(
    reader: Reader, name: str, entry: Decide, base: float | None, word_size: float | None
) -> Decision | None:
    """Read one decided quantity; ``base``: the machine's own value of a machine parameter, where it has one.

    None where it cannot be read; every mistake is noted.
    """
    key, q = f"decide.{name}", reader.parameters[name]
    if not roles(reader, key, entry):
        return None
    if q.choices:
        return _choice_decision(reader, key, name, entry, q)
    if entry.max_halvings is not None:
        return _halving_decision(reader, key, name, entry, base)
    if q.menu:
        return _picked(reader, key, name, entry, q)
    whole = q.whole or name in reader.whole
    asked, counts = entry.integer, whole and (entry.integer or "integer" not in entry.model_fields_set)
    entry = entry.model_copy(update={"integer": True}) if counts else entry
    low, high = bounds(reader, key, entry, q, word_size)
    made = Decision(name, low, high, entry.integer, base=base if base else None, count=counts)
    if entry.values is not None:
        listed = _with_listed_values(reader, key, entry.values, q, word_size, made)
        return listed and replace(listed, integer=asked)
    if entry.powers_of is not None:
        least, most = _farthest_ends(q)
        # no power is 0, and a whole one is at least 1
        least = least or (1.0 if entry.integer else LEAST_POWER)
        if low and high and low <= high and not powers(entry.powers_of, low, high):
            ends = f"min = {shown(entry.min)} and max = {shown(entry.max)}"
            wrong = f"no power of {entry.powers_of} lies between {ends}"
            reader.findings.add(key, wrong, "widen them")
            return None
        every = powers(entry.powers_of, min(low or least, least), max(high or most, most))
        return replace(made, integer=asked, values=every, endless=True)
    # a menu of divisors is whole by itself
    return replace(made, integer=asked) if entry.divides else made


def bounds(
    reader: Reader, key: str, entry: Decide, q: Quantity, word_size: float | None
) -> tuple[float | None, float | None]:
    """Return the user's own bounds, SI; None where not set or not readable."""
    found: list[float | None] = []
    for side, value in (("min", entry.min), ("max", entry.max)):
        at = f"{key}.{side}"
        number = None if value is None else reader.number(at, value, q, word_size)
        found.append(reader.inside(at, number, q, value, word_size, positive=True))
    low, high = found
    if low is not None and high is not None and low > high:
        reader.findings.add(key, f"min = {shown(entry.min)} is above max = {shown(entry.max)}", "swap them")
    elif entry.integer and low is not None and high is not None and math.ceil(low) > math.floor(high):
        wrong = f"no whole number lies between min = {shown(entry.min)} and max = {shown(entry.max)}"
        reader.findings.add(key, wrong, "widen them, or write integer = false")
    return low, high


def _choice_decision(reader: Reader, key: str, name: str, entry: Decide, q: Quantity) -> Decision | None:
    asked = entry.model_dump(exclude_defaults=True, exclude={"values"}, exclude_none=True)
    if asked:
        right = f"write values = [{', '.join(shown(c) for c in q.choices)}]"
        reader.findings.add(key, f"{name} is a choice among names and has no {', '.join(asked)}", right)
        return None
    at = f"{key}.values"
    read = (choice(reader, at, v, q) for v in entry.values or q.choices)
    names = tuple(n for n in read if n is not None)
    return Decision(name, choices=names) if distinct(reader, at, names, IN_LIST) else None


def _picked(reader: Reader, key: str, name: str, entry: Decide, q: Quantity) -> Decision | None:
    """Read a choice from a menu: a whole number, one of those listed."""
    asked = entry.model_dump(exclude_defaults=True, exclude={"values", "integer"}, exclude_none=True)
    if asked:
        right = f"write values = [{', '.join(shown(c) for c in q.menu)}], or some of them"
        reader.findings.add(key, f"{name} is a choice from a menu and has no {', '.join(asked)}", right)
        return None
    listed: tuple[float | str, ...] = q.menu if entry.values is None else entry.values
    if not distinct(reader, f"{key}.values", map(str, listed), IN_LIST):
        return None
    return _with_listed_values(reader, key, listed, q, None, Decision(name))


def _halving_decision(
    reader: Reader, key: str, name: str, entry: Decide, base: float | None
) -> Decision | None:
    halvings = entry.max_halvings or 0.0
    if not base:
        if not reader.findings.unreadable("machine"):
            wrong = f"{name} is 0" if base == 0 else f"the machine has no {name} of its own"
            right = "give the machine a positive value of it to halve, or write min and max"
            reader.findings.add(f"{key}.max_halvings", f"{wrong}, so there is nothing to halve", right)
        return None
    values = _halvings(base, max(halvings, 0.0), box(reader.parameters[name])[0]) if entry.integer else None
    return Decision(name, halved(base, halvings), base, values=values, base=base)


def halved(base: float, halvings: float) -> float:
    """Return the least value that so many halvings of ``base`` reach."""
    return float(base / 2.0**halvings)


def _halvings(base: float, halvings: float, least: float) -> tuple[float, ...]:
    least = least or LEAST_POWER
    # to the domain's end, not to max_halvings: the bound is a limit, and the feasible values may lie behind it
    more = max(0, math.floor(math.log2(base / least)))
    return tuple(base / 2.0**k for k in range(max(int(halvings), more), -1, -1))


def _farthest_ends(q: Quantity) -> tuple[float, float]:
    """Return the range in which powers are listed: far beyond an end that is only there to have one."""
    least, most = box(q)
    if not q.minimum > 0 and least > 0:
        least = max(least / FARTHEST_ENDS, LEAST_POWER)
    return least, most if math.isfinite(q.maximum) else most * FARTHEST_ENDS


def powers(of: int, least: float, most: float) -> tuple[float, ...]:
    """All whole powers of ``of`` from ``least`` to ``most``, ascending."""
    first = math.ceil(math.log(least) / math.log(of) - 1e-9)
    return tuple(takewhile(lambda v: v <= most * (1 + 1e-12), (float(of) ** k for k in count(first))))


def _with_listed_values(
    reader: Reader,
    key: str,
    values: tuple[float | str, ...],
    q: Quantity,
    word_size: float | None,
    made: Decision,
) -> Decision | None:
    at = f"{key}.values"
    places = [f"{at}[{i}]" for i in range(len(values))]
    found = reader.numbers(places, values, q, word_size)
    numbers = [
        reader.inside(p, number, q, v, word_size, positive=True)
        for p, number, v in zip(places, found, values, strict=True)
    ]
    read = sorted({n for n in numbers if n is not None})
    if made.integer and any(not n.is_integer() for n in read):
        wrong = f"{next(n for n in read if not n.is_integer()):g} is not a whole number"
        reader.findings.add(at, wrong, "list whole numbers only, or write integer = false")
    return replace(made, values=tuple(read)) if read else None
