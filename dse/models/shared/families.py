"""What models over lists share: names of the elements of a list, and reading them inside equations.

A row's number is the input "regions.a.flops", a machine's parameter is "machine.cpu.time_per_flop", a decided
element of a family is "share.a.cpu" (``Quantity.at``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, NoReturn

from dse.models.shared.spaces import Space
from dse.models.shared.structure import Row, Table
from dse.quantities import Quantity


def entry_parameters(parameters: Iterable[Quantity], entries: Iterable[str]) -> tuple[Quantity, ...]:
    """Return the parameters of every entry of a map of machines (or menu), "time_per_flop" as "cpu.time_per_flop"."""
    declared = tuple(parameters)
    return tuple(replace(q, name=f"{entry}.{q.name}") for entry in entries for q in declared)


def row_inputs(table: Table, rows: Iterable[Row]) -> tuple[Quantity, ...]:
    """Return the numbers of every row as inputs: "flops" of row "a" of table "regions" is "regions.a.flops"."""
    return tuple(
        replace(q, name=row_name(table.name, row.name, q.name)) for row in rows for q in table.numbers
    )


def row_name(table: str, row: str, number: str) -> str:
    """Return the flat name of a row's number."""
    return f"{table}.{row}.{number}"


def column(table: Table, name: str) -> Quantity:
    """Return the declaration of a number of a table; raises KeyError where there is none."""
    return {q.name: q for q in table.numbers}[name]


def row(g: Any, table: str, name: str) -> SimpleNamespace:
    """Return the numbers of one row of a table as attributes, by their plain names."""
    return _space_below(g, f"{table}.{name}")


def rows(g: Any, table: str, names: Sequence[str]) -> list[SimpleNamespace]:
    """Return the numbers of several rows of a table as ``row`` does."""
    return [row(g, table, name) for name in names]


def entry(g: Any, name: str) -> SimpleNamespace:
    """Return one machine (or setting) of a map as a namespace that equations of a single machine understand."""
    return _space_below(g.machine, name)


def _space_below(space: Any, name: str) -> SimpleNamespace:
    return space.below(name) if isinstance(space, Space) else Space(**vars(space)).below(name)


def choose(g: Any, name: str, otherwise: Any = None) -> Any:
    """Return what the namespace has under a dotted name, or ``otherwise``."""
    return getattr(g, name, otherwise)


def only_expanded(g: Any) -> NoReturn:
    """Refuse to be evaluated: the equations of a template are those of the plain model that expand() returns."""
    raise ValueError(
        "a model over lists has no equations of its own: evaluate what its expand(parts) returns"
    )


def nothing(amount: Any) -> bool:
    """Whether an amount is the plain number zero, so that what it multiplies need not be looked at."""
    return isinstance(amount, int | float) and amount == 0
