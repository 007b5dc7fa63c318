"""What a model over lists is asked about: tables of rows, maps of machines, menus of settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from dse.quantities import Quantity
from dse.system.records import dataclass


@dataclass(frozen=True, slots=True)
class Column:
    """A key of a row that is not a number: true or false (``default`` says which), or the name of another row.

    ``refers``: the table whose rows it names, or the entries of the map of machines (``Structure.entries``); empty
    for true or false.
    """

    name: str
    meaning: str
    default: bool = False
    refers: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A list under [given]: ``[[given.regions]]``, one table per row, each with a ``name`` of its own.

    ``numbers``: what a row states; the number ``flops`` of row "a" of table "regions" becomes the input
    "regions.a.flops" of the plain model. ``dimension``: what one row is ("region"). A number may be a list or
    a table of its own, one entry per setting of the machine, where ``per_setting`` names it: it becomes
    "phases.a.times.<setting>". ``any_of``: numbers of which at least one must be above 0, or the row is nothing.
    ``whole``: the number whose values in all rows sum to 1.
    """

    name: str
    dimension: str
    meaning: str
    numbers: tuple[Quantity, ...]
    columns: tuple[Column, ...] = ()
    per_setting: tuple[str, ...] = ()
    required: bool = True
    any_of: tuple[str, ...] = ()
    whole: str = ""


@dataclass(frozen=True, slots=True)
class Structure:
    """Which lists a model takes.

    ``machines``: what one entry of its map of machines is ("processor"; empty: it runs on one machine), with
    at least ``least`` entries; the parameter x of entry "cpu" becomes "machine.cpu.x". ``settings``: whether
    it needs a machine with a menu of settings; a setting's number x becomes "machine.<setting>.x".
    """

    tables: tuple[Table, ...] = ()
    machines: str = ""
    least: int = 1
    settings: bool = False

    @property
    def entries(self) -> str:
        """What columns of tables call the entries of the map of machines: "processors"; empty without a map."""
        return f"{self.machines}s" if self.machines else ""

    @property
    def optional(self) -> bool:
        """Whether a question may do without any list, and then is a plain one."""
        return not self.machines and not self.settings and not any(t.required for t in self.tables)


@dataclass(frozen=True, slots=True)
class Row:
    """One row as a question lists it: its name, its non-numbers, and which of its numbers have a value."""

    name: str
    flags: Mapping[str, bool] = field(default_factory=dict)
    refers: Mapping[str, str] = field(default_factory=dict)
    stated: frozenset[str] = frozenset()


SETTINGS = "settings"
"""What the menu of a machine is called in ``WrongPart``."""


class WrongPart(ValueError):
    """A model cannot run with one row of a list, or one setting; ``table`` (or SETTINGS) and ``name`` say which."""

    def __init__(self, table: str, name: str, told: str) -> None:
        super().__init__(told)
        self.table, self.name = table, name


@dataclass(frozen=True, slots=True)
class Parts:
    """The lists of one question, in file order: rows by table, names of machines, settings with their numbers.

    ``asked``: flat names of what the file gives, decides, defines or sweeps, so that a model may leave out what
    belongs to inputs that nobody speaks of; what is given with its value as the file has it, the others with None.
    """

    rows: Mapping[str, tuple[Row, ...]] = field(default_factory=dict)
    machines: tuple[str, ...] = ()
    settings: tuple[Mapping[str, Any], ...] = ()
    asked: Mapping[str, Any] = field(default_factory=dict)
