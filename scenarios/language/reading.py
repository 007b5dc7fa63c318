"""Reads names and numbers of a scenario against its model."""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from numbers import Real
from typing import Any, cast

from dse.models.model import MACHINE_PREFIX, Model
from dse.models.shared.economics import ACCOUNTS, refusal
from dse.models.shared.spaces import grouped
from dse.models.shared.structure import Parts
from dse.names import did_you_mean
from dse.quantities import (
    NEAR_ZERO,
    Quantity,
    UnitError,
    dimension,
    examples,
    in_bytes,
    near_zero,
    show,
    to_si,
    to_si_or_inverse,
    written_unit,
)
from scenarios.language.errors import Findings, meant, shown
from scenarios.question import HALVINGS

IN_LIST = "in the list"

NO_PARTS = Parts()
_REPAIR = re.compile(r"; (?=write )|: (?=give )|; (?=did you mean)")


class Reader:
    """A model's names, and where the mistakes of a file go.

    ``parts``: the lists that the model was made for; ``unasked``: what is decided although the file does not
    say so. ``prefix``: where this reads one entry of a map of machines, what the model puts before its
    parameters ("cpu.").
    """

    def __init__(
        self, model: Model, findings: Findings, parts: Parts = NO_PARTS, unasked: Iterable[str] = ()
    ) -> None:
        self.model = model
        self.parts = parts
        self.unasked = frozenset(unasked)
        self.prefix = ""
        self.findings = findings
        self.parameters = model.parameters()
        self.inputs = {q.name: q for q in model.inputs}
        self.machine = {q.name: q for q in model.machine}
        self.whole = {u.name: u for u in model.unknowns if u.integer}
        self.metrics = {q.name: q for q in model.metrics} | {HALVINGS.name: HALVINGS}

    def entries(self) -> Iterator[tuple[str, Reader]]:
        """Go through the entries of the map of machines, each with a reader of the machine that it is."""
        own = grouped(self.machine)
        for entry in self.parts.machines:
            made = copy.copy(self)
            made.prefix = f"{entry}."
            made.machine = own.get(entry, {})
            yield entry, made

    def is_machine(self, name: str) -> bool:
        """Whether ``name`` is a whole machine: the only one, or an entry of the map ("machine.cpu")."""
        entries = self.parts.machines
        return name.removeprefix(MACHINE_PREFIX) in entries if entries else name == "machine"

    def quantity(self, name: str) -> Quantity:
        """Return the quantity that a limit or objective means: a metric, else a parameter."""
        return self.metrics[name] if name in self.metrics else self.parameters[name]

    def countable(self, name: str) -> bool:
        """Whether ``name`` is a parameter that is a number, not a choice among names."""
        return name in self.parameters and not self.parameters[name].choices

    def number(
        self,
        key: str,
        value: Any,
        q: Quantity,
        word_size: float | None,
        *,
        inverse: bool = False,
        more: str = "",
    ) -> float | None:
        """Read ``value`` in SI units of ``q``; None, and a mistake noted at ``key``, where it cannot be.

        A name from the menu of ``q`` is read as its number. ``inverse``: a rate stands for a time too.
        ``more``: what is added to the mistake.
        """
        if q.menu and isinstance(value, str):
            return self._entry(key, value, q)
        if not isinstance(value, str) and (isinstance(value, bool) or not isinstance(value, Real)):
            what = (
                "a table"
                if isinstance(value, dict)
                else "a list"
                if isinstance(value, list)
                else shown(value)
            )
            self.findings.add(key, f"{q.name} is one number, not {what}", _example(q))
            return None
        try:
            read = to_si_or_inverse if inverse else to_si
            found = read(cast("float | str", value), q.unit, word_size)
        except UnitError as error:
            wrong, *right = _REPAIR.split(str(error), maxsplit=1)
            self.findings.add(key, wrong + more, right[0] if right else _example(q))
            return None
        if not near_zero(found):
            return found
        self.findings.add(key, f"{shown(value)} {NEAR_ZERO[0]}", NEAR_ZERO[1])
        return None

    def numbers(
        self, keys: Sequence[str], values: Sequence[Any], q: Quantity, word_size: float | None
    ) -> list[float | None]:
        """Read each of some values as ``number`` does; a unit that is wrong is told once, where it stands first."""
        units = ["" if q.menu else _unit_of(v) for v in values]
        wrong = {u for u in {*units} - {""} if not _is_read(f"1 {u}", q, word_size)}
        first = {u: units.index(u) for u in wrong}
        read: list[float | None] = []
        for i, (key, value, unit) in enumerate(zip(keys, values, units, strict=True)):
            if unit not in wrong:
                read.append(self.number(key, value, q, word_size))
                continue
            read.append(None)
            if i == first[unit]:
                others = units.count(unit) - 1
                has = "number here has" if others == 1 else "numbers here have"
                more = f" ({others} more {has} this unit)" if others else ""
                self.number(key, value, q, word_size, more=more)
        return read

    def _entry(self, key: str, value: str, q: Quantity) -> float | None:
        if value in q.menu:
            return q.menu.index(value) + 1.0
        self.findings.add(key, f"{shown(value)} is not a {_family(q)}", meant(value, q.menu))
        return None

    def inside(
        self,
        key: str,
        value: float | None,
        q: Quantity,
        stated: Any = None,
        word_size: float | None = None,
        *,
        positive: bool = False,
    ) -> float | None:
        """Return ``value`` where it lies in the domain of ``q``; else None, and a mistake is noted.

        ``stated``: what the file has; where that is text, the mistake names it and, where that is in bytes, the domain
        in bytes. ``positive``: not 0 either, unless ``q`` may be decided to be 0 (its floor is 0).
        """
        if value is None:
            return None
        about, told = with_meaning(q), shown(stated) if isinstance(stated, str) else f"{value:.12g}"

        def end(number: float) -> str:
            return show(number, in_bytes(q.unit, word_size if stated_in_bytes(stated) else None))

        if q.menu and not (value.is_integer() and 1 <= value <= len(q.menu)):
            right = f"{meant('', q.menu)}; or write a whole number from 1 to {len(q.menu)}"
            self.findings.add(key, f"{value:.12g} is not a {_family(q)}", right)
        elif value < q.minimum:
            what = f"{told} is negative" if value < 0 <= q.minimum else f"{told} is too small"
            least = "is above" if q.open else "is at least"
            self.findings.add(key, what, f"{about} {least} {end(q.minimum)}")
        elif q.open and value == q.minimum:
            right = f"{about} is above {end(q.minimum)}"
            self.findings.add(key, f"{told} is outside its domain", right)
        elif value > q.maximum:
            self.findings.add(key, f"{told} is too large", f"{about} is at most {end(q.maximum)}")
        elif near_zero(value):
            self.findings.add(key, f"{told} {NEAR_ZERO[0]}", NEAR_ZERO[1])
        elif positive and value <= 0 < q.floor:
            self.findings.add(
                key, "a decided quantity cannot be 0", f"give {q.name} a positive value, or leave it out"
            )
        else:
            return value
        return None

    def whole_number(self, key: str, value: float | None, q: Quantity) -> float | None:
        """Return the value of a parameter; None, and a mistake noted, where it counts and ``value`` is not whole."""
        if value is None or q.name not in self.whole or value.is_integer():
            return value
        why = f", since {w}" if (w := self.whole[q.name].why) else ""
        what = "0 or 1" if (q.minimum, q.maximum) == (0.0, 1.0) else "a whole number"
        self.findings.add(key, f"{value:.12g} is not a whole number", f"{with_meaning(q)} is {what}{why}")
        return None

    def name_of_parameter(self, key: str, name: str) -> bool:
        """Whether ``name`` is an input or machine parameter; where not, the mistake is noted."""
        if name in self.parameters:
            return True
        if name in self.machine:
            self.findings.add(key, f"{name} is a machine parameter", f'write "{MACHINE_PREFIX}{name}"')
        elif name in self.metrics:
            self.metric_misplaced(key, name)
        else:
            self.findings.unknown(
                key, f"input or machine parameter of {self.model.name}", name, self.parameters
            )
        return False

    def countable_names(self, decided: Iterable[str]) -> list[str]:
        """Return what can be limited or ranked: the metrics, and those ``decided`` names that exist.

        Cost and carbon are metrics once they are asked for.
        """
        totals = [] if refusal(self.model) else [a.total.name for a in ACCOUNTS]
        every = dict.fromkeys([*self.metrics, *totals])
        return [*every, *(n for n in decided if n in self.parameters)]

    def metric_misplaced(self, key: str, name: str) -> None:
        """Note that a metric was treated as an input."""
        right = f"limit it under [limits], or name it under [objective]; inputs are: {', '.join(self.inputs)}"
        self.findings.add(key, f"{name} is a metric, which {self.model.name} computes", right)

    def almost(self, wrong: str) -> str | None:
        """Return the input that a misspelt name most probably means."""
        if self.findings.many:
            return None
        hint = did_you_mean(wrong, self.inputs)
        return next((n for n in self.inputs if repr(n) in hint), None)


def _family(q: Quantity) -> str:
    return q.name.partition(".")[0]


def _example(q: Quantity) -> str:
    text = examples(q.unit)[0]
    return (
        f'write a number, or text with a unit such as "{text}"'
        if q.unit
        else f"write a number such as {text}"
    )


def choice(reader: Reader, key: str, value: Any, q: Quantity) -> str | None:
    """Read one name of a quantity that is a choice among names; None, and a mistake noted, if it is none."""
    if isinstance(value, str) and value in q.choices:
        return value
    text = value if isinstance(value, str) else shown(value)
    alone = f'leave it out: beside the other inputs of this question it can only be "{"".join(q.choices)}"'
    right = alone if len(q.choices) == 1 else meant(text, q.choices)
    named = _text_of(value, q)
    if named:
        reader.findings.add(
            key, f"{shown(value)} is not text, and {q.name} is text", f'write "{named}", in quotes'
        )
        return None
    reader.findings.add(key, f"{shown(value)} is not a choice of {q.name}", right)
    return None


def _text_of(value: Any, q: Quantity) -> str:
    """Return the name that a number, or true or false, in place of a text stands for; empty where there is none."""
    if isinstance(value, bool):
        return next((n for n in (("on", "yes") if value else ("off", "no")) if n in q.choices), "")
    return f"{value:g}" if isinstance(value, int | float) and f"{value:g}" in q.choices else ""


def box(q: Quantity) -> tuple[float, float]:
    """Return the finite positive range of a decided quantity."""
    return (q.minimum if q.minimum > 0 else q.floor), (q.maximum if math.isfinite(q.maximum) else q.ceiling)


def plain_names(parameters: Mapping[str, float]) -> dict[str, float]:
    """Machine parameters under the names a question uses ("machine.x")."""
    return {MACHINE_PREFIX + k: v for k, v in parameters.items()}


def _unit_of(value: Any) -> str:
    """Return the unit of a text that is a number with a unit; "" for anything else."""
    try:
        return written_unit(value) if isinstance(value, str) else ""
    except UnitError:
        return ""


def _is_read(text: str, q: Quantity, word_size: float | None) -> bool:
    try:
        to_si(text, q.unit, word_size)
    except UnitError:
        return False
    return True


def stated_in_bytes(value: Any) -> bool:
    """Whether a file states a number with a unit of bytes or bits."""
    try:
        return isinstance(value, str) and "[information]" in dimension(written_unit(value))
    except UnitError:
        return False


def with_meaning(q: Quantity) -> str:
    """Return a quantity's name with its meaning behind it."""
    return f"{q.name}, {q.meaning}," if "(" in q.meaning else f"{q.name} ({q.meaning})"


def distinct(reader: Reader, key: str, values: Iterable[float] | Iterable[str], where: str) -> bool:
    """Whether every value is listed once; where not, the mistake is noted. ``where`` the list is, in words."""
    ordered: list[float | str] = sorted(values)
    twice = next((v for v, after in pairwise(ordered) if v == after), None)
    if twice is None:
        return True
    text = twice if isinstance(twice, str) else f"{twice:.12g}"
    reader.findings.add(key, f"{text} stands {where} more than once", "list every value once")
    return False
