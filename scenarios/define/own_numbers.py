"""Names and numbers of a file's own: what [define] may be called, and what its expressions may use.

Numbers of the file's own stand under [given], under [decide] or in a machine table. Each has the dimension of what is
written there, since nothing else says what it measures.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from typing import Any

from dse import models
from dse.models.model import MACHINE_PREFIX
from dse.quantities import Quantity, UnitError, kind, to_si, written_unit
from dse.quantities.units import table
from dse.system.records import dataclass
from scenarios.define import dimensions, divisors
from scenarios.define.composed import SOURCE
from scenarios.define.expressions import FUNCTIONS
from scenarios.language import axis_slots
from scenarios.language.axis_slots import RESERVED
from scenarios.language.errors import Findings, shown
from scenarios.language.reading import Reader
from scenarios.language.schema import Decide, Shape
from scenarios.language.tables import Tables
from scenarios.question import HALVINGS, STRETCH

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_LONGEST_NAME = 80
_WORDS = frozenset(
    {*Shape.model_fields, *RESERVED, HALVINGS.name, STRETCH.name, "kernels", "models", "uncertain", "joint"}
)
# how far from its ends a decided quantity of the file's own is searched, where an answer asks for feasible values
_SEARCHED_BEYOND = 1e6


@dataclass(slots=True)
class Names:
    """The names of one question with definitions; what is found of the file's own grows as it is read.

    ``inputs``: own numbers under [given] and [decide]; ``machine``: own numbers of machine tables, by a question's
    name. Every method notes the mistakes it finds.
    """

    reader: Reader
    shape: Shape
    findings: Findings
    tables: Tables
    inputs: dict[str, Quantity] = field(default_factory=dict)
    machine: dict[str, Quantity] = field(default_factory=dict)

    def name_of_definition(self, name: str) -> bool:
        """Whether a definition may have this name: an input, a machine parameter, or one of the file's own."""
        key, add, r = f"define.{name}", self.findings.add, self.reader
        q = r.parameters.get(name)
        if q is None:
            return self.own_name(key, name)
        if q.choices or q.menu:
            add(
                key,
                f"{name} is a choice among names, which an expression cannot define",
                "give it, decide it or sweep it",
            )
        elif name in r.whole:
            add(
                key,
                f"{name} is a whole number that is decided, which an expression cannot define",
                "leave it out",
            )
        elif name.rpartition(".")[2] == "word_size":
            right = "write it in the machine table: the file's numbers in bytes are read with it"
            add(key, "the size of a word cannot be defined", right)
        else:
            return True
        return False

    def family(self, name: str) -> bool:
        """Whether a fitted model can be called so in expressions."""
        key, r = f"models.{name}", self.reader
        if name in self.shape.given or name in self.shape.decide or name in self.shape.define:
            self.findings.add(key, f"{name} is also a number of the file", "choose another name")
            return False
        if any(n.startswith(f"{name}.") for n in (*r.parameters, *r.metrics)):
            wrong = f"{name} is also what quantities of {r.model.name} are called"
            self.findings.add(key, wrong, "choose another name")
            return False
        return self.own_name(key, name)

    def own_name(self, key: str, name: str) -> bool:
        """Whether a name can be one of the file's own."""
        add, r = self.findings.add, self.reader
        plain = name.removeprefix(MACHINE_PREFIX)
        if name in r.metrics:
            add(key, f"{name} is a metric, which {self.reader.model.name} computes", "choose another name")
        elif name in r.machine:
            add(
                key,
                f"{name} is a machine parameter",
                f'write "{MACHINE_PREFIX}{name}", or choose another name',
            )
        elif name != plain:
            self.findings.unknown(key, f"machine parameter of {self.reader.model.name}", plain, r.machine)
        elif not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
            right = f"write letters (a to z), digits and _, beginning with a letter, at most {_LONGEST_NAME} of them"
            add(key, f"{shown(name)} can name no quantity of the file's own", right)
        elif name in FUNCTIONS:
            add(key, f"{name} is a function", "choose another name")
        elif name in _WORDS:
            add(key, f"{name} is a reserved name", "choose another name")
        elif any(x.name == name for x in r.model.limits):
            add(key, f"{name} is a limit of {self.reader.model.name} itself", "choose another name")
        elif table().find(name) is not None:
            full = table().full_name(name)
            add(key, f"{name} is a unit" + (f" ({full})" if full != name else ""), "choose another name")
        elif any(name == kernel.name for kernel in self.shape.kernels):
            add(key, f"{name} is a kernel", "choose another name")
        elif name in self.shape.sweep:
            add(
                key,
                f"{name} is also the name of an axis",
                f'give the axis another name, such as "{name}_axis"',
            )
        elif f"{MACHINE_PREFIX}{name}" in self.in_tables():
            add(key, f"{name} is also a number of the machine table", "choose another name")
        else:
            return True
        return False

    def in_tables(self) -> dict[str, tuple[str, Any]]:
        """Return the numbers in machine tables: by a question's name, each with its key in the file and its value."""
        spec = self.shape.machine
        if not isinstance(spec, Mapping):
            return {}
        if not self.reader.parts.machines:
            return {f"{MACHINE_PREFIX}{n}": (f"machine.{n}", v) for n, v in spec.items() if n != "base"}
        return {
            f"{MACHINE_PREFIX}{entry}.{n}": (f"machine.{entry}.{n}", v)
            for entry, inner in spec.items()
            if isinstance(inner, Mapping)
            for n, v in inner.items()
            if n != "base"
        }

    def no_other_role(self, name: str) -> bool:
        """Whether a definition has no other role in the file."""
        before, add = self.findings.count, self.findings.add
        for where, entries in (("given", self.shape.given), ("decide", self.shape.decide)):
            if name in entries:
                role = "given" if where == "given" else "decided"
                right = f"take it out of [{where}] or out of [define]"
                add(f"{where}.{name}", f"{name} is {role} and defined", right)
        right = "give a number that its definition uses a name, and sweep that"
        for slot in self._slots(name):
            add(axis_slots.place(self.shape, slot), f"{name} is swept and defined", right)
        return self.findings.count == before

    def number(self, name: str) -> bool:
        """Find out what a name in an expression is, where it is a number of the file's own."""
        r = self.reader
        if name in r.parameters or name in r.metrics or name in self.shape.define:
            return True
        if name.startswith(MACHINE_PREFIX):
            return self._of_machine(name)
        if name in self.shape.given:
            return self.own_name(f"given.{name}", name) and self._given(name)
        if name in self.shape.decide:
            return self.own_name(f"decide.{name}", name) and self._decided(name, self.shape.decide[name])
        # unknown names are noted with their place, where units are proved
        return True

    def _given(self, name: str) -> bool:
        if name in self.shape.decide:
            right = "take it out of [given] or out of [decide]"
            self.findings.add(f"decide.{name}", f"{name} is given and decided", right)
            return False
        unit = self._unit(f"given.{name}", name, self.shape.given[name])
        if unit is None:
            return False
        told_values = [self.shape.given[name], *self._swept(name)]
        low = -math.inf if any(negative(v) for v in told_values) else 0.0
        self.inputs[name] = Quantity(
            name, name, unit, f"{name}, a number of the scenario", SOURCE, minimum=low
        )
        return True

    def _slots(self, name: str) -> Iterator[axis_slots.Slot]:
        """Go through the places at which an input is swept."""
        for axis in self.shape.sweep:
            yield from (s for s in axis_slots.slots(self.shape, axis) if s[1].removeprefix("given.") == name)

    def _swept(self, name: str) -> Iterator[Any]:
        for slot in self._slots(name):
            entry = axis_slots.listed(self.shape, slot)[1]
            table = self.tables.get(self.shape.sweep[slot[0]].table or "")
            column = None if table is None else table.columns.get(slot[1])
            yield from (entry.start, entry.stop, *(entry.values or ()), *(entry.factors or ()))
            yield from () if column is None else column.ends()

    def _of_machine(self, name: str) -> bool:
        """Read a number of the file's own in a machine table; one that other models know may be in the catalogue."""
        own = name.removeprefix(MACHINE_PREFIX)
        stated = self.in_tables().get(name)
        if stated is not None:
            unit = self._unit(stated[0], name, stated[1])
            if unit is None:
                return False
            low = -math.inf if negative(stated[1]) else 0.0
            meaning = f"{own}, a number of the scenario's machine"
            self.machine[name] = Quantity(own, own, unit, meaning, SOURCE, minimum=low)
            return True
        entry, _, last = own.rpartition(".")
        if (entry in self.reader.parts.machines) if self.reader.parts.machines else not entry:
            known = models.machine_parameters().get(last)
            if known is not None:
                self.machine[name] = replace(known, name=own, default=None, optional=False)
        return True

    def _unit(self, key: str, name: str, value: Any) -> str | None:
        """Return the SI unit of a number of the file's own; None, and a mistake noted, where it is none."""
        right = 'write a number, or text with a unit such as "0.2 USD/kWh"'
        if isinstance(value, bool | list | Mapping):
            self.findings.add(key, f"{name} is one number, not {shown(value)}", right)
            return None
        if not isinstance(value, str):
            return ""
        try:
            unit = written_unit(value)
            found = dimensions.unit(dimensions.read(unit)) if unit else ""
            to_si(value, found)
        except UnitError as error:
            wrong, _, more = str(error).partition("; ")
            self.findings.add(key, wrong, more or right)
            return None
        return found

    def _decided(self, name: str, entry: Decide) -> bool:
        """Read a decided quantity of the file's own: its ends, of one dimension, are all that is known of it."""
        key = f"decide.{name}"
        if entry.max_halvings is not None:
            self.findings.add(
                f"{key}.max_halvings", "only a machine parameter can be halved", "write min and max"
            )
            return False
        ends = {f"{key}.{s}": v for s, v in (("min", entry.min), ("max", entry.max)) if v is not None}
        listed = {f"{key}.values[{i}]": v for i, v in enumerate(entry.values or ())}
        if entry.divides and not ends and not listed:
            meaning = f"{name}, decided in the scenario"
            self.inputs[name] = Quantity(
                name, name, "", meaning, SOURCE, minimum=1.0, floor=1.0, ceiling=divisors.LARGEST_DIVIDED
            )
            return True
        if not listed and len(ends) < 2:
            wrong = f"{name} is a quantity of the file's own, and nothing else says where it ends"
            lacking = "min" if f"{key}.min" not in ends else "max"
            self.findings.add(key, wrong, f"write its {lacking} too: {{ min = …, max = … }}, or values = […]")
            return False
        units = {k: self._unit(k, name, v) for k, v in {**ends, **listed}.items()}
        if None in units.values():
            return False
        first, unit = next(iter(units.items()))
        other = next((k for k, u in units.items() if u != unit), None)
        if other is not None:
            wrong = f"{other} is {measure(units[other])}, and {first} is {measure(unit)}"
            self.findings.add(key, wrong, "write them in units of one kind")
            return False
        numbers = [to_si(v, unit or "") for v in {**ends, **listed}.values()]
        if min(numbers) <= 0:
            self.findings.add(key, f"{name} can be {min(numbers):.12g}", "a decided quantity is positive")
            return False
        meaning = f"{name}, decided in the scenario"
        floor, ceiling = (
            max(min(numbers) / _SEARCHED_BEYOND, 1e-290),
            min(max(numbers) * _SEARCHED_BEYOND, 1e290),
        )
        self.inputs[name] = Quantity(name, name, unit or "", meaning, SOURCE, floor=floor, ceiling=ceiling)
        return True


def negative(value: Any) -> bool:
    """Tell whether a number is written with a minus sign."""
    return str(value).lstrip().startswith("-")


def measure(unit: str | None) -> str:
    """Say what a quantity of this SI unit measures."""
    return kind(unit) if unit else "a plain number"
