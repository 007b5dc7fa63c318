"""Lists under [given]: rows of ``[[given.regions]]`` and their numbers under flat names."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from dse.models.shared.structure import Column, Row, Structure, Table
from dse.names import did_you_mean
from dse.quantities import Quantity, UnitError, examples, to_si
from dse.system.records import dataclass
from scenarios.language.errors import Findings, meant, shown
from scenarios.structured.labels import is_label

# shares may be rounded to so much
SUM = 1e-6


@dataclass(slots=True)
class Listed:
    """The rows of a question by table, and their numbers as the file has them, by flat name.

    ``sound``: whether every row has a name of its own, and some name for all that it refers to, so that what else is
    said of them makes sense; ``guessed``: whether one of the latter is a stand-in, its own being missing or wrong.
    """

    rows: dict[str, tuple[Row, ...]] = field(default_factory=dict)
    numbers: dict[str, Any] = field(default_factory=dict)
    sound: bool = True
    guessed: bool = False


@dataclass(frozen=True, slots=True)
class _Entry:
    """One row as it stands in the file."""

    table: Table
    key: str
    name: str
    data: Mapping[str, Any]

    @property
    def told(self) -> str:
        return f"{self.table.dimension} {shown(self.name)}"


def read(
    structure: Structure,
    given: Mapping[str, Any],
    settings: Sequence[str] | None,
    elsewhere: Collection[str],
    findings: Findings,
    known: Mapping[str, Collection[str]],
) -> Listed:
    """Read all lists, noting every mistake.

    ``settings``: names of the machine's settings (None: they could not be read); ``elsewhere``: flat names
    that have a value, or are to have one, outside the lists; ``known``: what else than rows a column may name, by
    what columns call it.
    """
    found = Listed()
    entries: dict[str, list[_Entry]] = {}
    for table in structure.tables:
        named = _entries_of_table(table, given.get(table.name, []), findings)
        found.sound &= named is not None
        entries[table.name] = named or []
    names: dict[str, Collection[str]] = {
        t: dict.fromkeys(e.name for e in listed) for t, listed in entries.items()
    }
    names |= known
    elsewhere = {head for n in elsewhere for head in _heads(n)}
    for name, listed in entries.items():
        found.rows[name] = tuple(
            _row_of_entry(e, names, settings, elsewhere, findings, found) for e in listed
        )
        if listed and listed[0].table.whole:
            _note_shares_off_one(listed, elsewhere, findings)
    return found


def _heads(name: str) -> Iterator[str]:
    """Go through a dotted name and all that it is inside of: a.b.c, a.b, a."""
    while name:
        yield name
        name = name.rpartition(".")[0]


def _note_shares_off_one(listed: Sequence[_Entry], elsewhere: Collection[str], findings: Findings) -> None:
    """Note where the shares of a table do not sum to 1, or cannot always do so."""
    table = listed[0].table
    q = next(q for q in table.numbers if q.name == table.whole)
    for e in listed:
        if f"{table.name}.{e.name}.{q.name}" in elsewhere:
            wrong = f"{q.name} of {e.told} is decided or swept, but all of them sum to 1"
            findings.add(
                f"{e.key}.{q.name}",
                wrong,
                "give it a value, and ask about each histogram in a file of its own",
            )
    if any(q.name not in e.data for e in listed):
        return
    try:
        values = [to_si(e.data[q.name], q.unit) for e in listed]
    except UnitError:
        # noted where the number is read
        return
    whole = math.fsum(values)
    if not abs(whole - 1.0) <= SUM:
        wrong = f"the {q.name}s of {table.name} sum to {whole:.6g}, not to 1"
        right = f"add the {table.dimension} that is missing, or divide counts by their sum"
        findings.add(f"given.{table.name}", wrong, right)


def _entries_of_table(table: Table, value: Any, findings: Findings) -> list[_Entry] | None:
    """Return the rows of one table; None where there are none, or where some cannot be told apart."""
    key, header = f"given.{table.name}", f"[[given.{table.name}]]"
    if value == []:
        if not table.required:
            return []
        right = f"write {header}, and below it {_example(table)}; once for each {table.dimension}"
        findings.missing(key, f"there is no {table.dimension} ({table.meaning})", right)
        return None
    if not isinstance(value, list):
        right = f"write {header} in double brackets above each {table.dimension}"
        findings.add(key, f"{table.name} is a list of tables, one for each {table.dimension}", right)
        return None
    found: dict[str, _Entry] = {}
    for i, row in enumerate(value):
        if not isinstance(row, dict):
            findings.add(f"{key}[{i}]", f"{shown(row)} is not a table", f"write {header}, or {{ … }}")
            continue
        name = row.get("name", str(i + 1))
        if not is_label(findings, f"{key}[{i}].name", name, table.dimension):
            continue
        twice = found.get(name)
        if twice is not None:
            wrong = f"{table.dimension} {shown(name)} stands in the list twice, at {twice.key} as well"
            findings.add(f"{key}[{i}].name", wrong, "give every one a name of its own (or none at all)")
            continue
        found[name] = _Entry(table, f"{key}[{i}]", name, row)
    return list(found.values()) if len(found) == len(value) else None


def _example(table: Table) -> str:
    needed = [f'{q.name} = "{examples(q.unit)[0]}"' for q in table.numbers if _necessary(q)]
    return ", ".join(['name = "a"', *(f'{c.name} = "…"' for c in table.columns if c.refers), *needed])


def _necessary(q: Quantity) -> bool:
    return not q.optional and q.default is None


def _row_of_entry(
    entry: _Entry,
    names: Mapping[str, Collection[str]],
    settings: Sequence[str] | None,
    elsewhere: Collection[str],
    findings: Findings,
    found: Listed,
) -> Row:
    numbers = {q.name: q for q in entry.table.numbers}
    columns = {c.name: c for c in entry.table.columns}
    known = ["name", *columns, *numbers]
    for key in entry.data:
        if key not in known:
            findings.unknown(f"{entry.key}.{key}", f"key of a {entry.table.dimension}", key, known)
    stated = {
        q.name
        for q in numbers.values()
        if _takes_stated_number(entry, q, settings, elsewhere, findings, found)
    }
    _something(entry, elsewhere, findings)
    flags = {c.name: _flag(entry, c, findings) for c in columns.values() if not c.refers}
    refers = {c.name: _reference(entry, c, names, findings) for c in columns.values() if c.refers}
    _differ(entry, refers, findings)
    lacking = [c for c, v in refers.items() if v is None]
    found.guessed |= bool(lacking)
    for column in lacking:
        known = [n for n in names[columns[column].refers] if n not in refers.values()]
        found.sound &= bool(known)
        refers[column] = known[0] if known else None
    return Row(entry.name, flags, {k: v for k, v in refers.items() if v is not None}, frozenset(stated))


def _takes_stated_number(
    entry: _Entry,
    q: Quantity,
    settings: Sequence[str] | None,
    elsewhere: Collection[str],
    findings: Findings,
    found: Listed,
) -> bool:
    """Whether a number of a row has a value, which is put among the flat ones; else it is noted as missing."""
    flat, key = f"{entry.table.name}.{entry.name}.{q.name}", f"{entry.key}.{q.name}"
    if q.name not in entry.data:
        if flat in elsewhere or not _necessary(q):
            return flat in elsewhere
        _lacking(entry, q, flat, findings)
        return True
    if q.name in entry.table.per_setting:
        findings.broken.add(f"given.{flat}")
        values = _per_setting(key, entry.data[q.name], q, settings, findings) if settings is not None else {}
    else:
        values = {"": (key, entry.data[q.name])}
    for setting, (place, value) in values.items():
        name = f"{flat}.{setting}" if setting else flat
        found.numbers[name] = value
        findings.places[f"given.{name}"] = place
    return True


def something(table: Table, row: Row) -> tuple[str, ...]:
    """Return the flat names of numbers of a row of which one must be above 0, as far as it states them."""
    if not row.stated.isdisjoint(table.per_setting):
        return ()
    return tuple(f"{table.name}.{row.name}.{n}" for n in table.any_of if n in row.stated)


def _something(entry: _Entry, elsewhere: Collection[str], findings: Findings) -> None:
    """Note a row whose ``any_of`` are all 0: what comes from elsewhere is not known yet."""
    asked = [q for q in entry.table.numbers if q.name in entry.table.any_of]
    flat = {f"{entry.table.name}.{entry.name}.{q.name}" for q in asked}
    if asked and flat.isdisjoint(elsewhere) and all(_nothing(entry.data.get(q.name), q) for q in asked):
        told = [q for q in asked if q.name in entry.data]
        if not told:
            return
        for name in flat:
            findings.broken.add(f"given.{name}")
        wrong = f"{entry.told} has {' and '.join(f'{q.name} = 0' for q in told)}"
        names = " or ".join(q.name for q in asked)
        right = f"a {entry.table.dimension} has {names}: write one above 0, or take the row out"
        findings.add(entry.key, wrong, right)


def _nothing(value: Any, q: Quantity) -> bool:
    """Whether a value is 0, with or without a unit, or left out; what cannot be read is noted elsewhere."""
    if value is None:
        return not _necessary(q)
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return False
    try:
        return to_si(value, q.unit) == 0
    except UnitError:
        return False


def _lacking(entry: _Entry, q: Quantity, flat: str, findings: Findings) -> None:
    findings.broken.add(f"given.{flat}")
    if any(repr(q.name) in did_you_mean(key, [q.name]) for key in entry.data):
        # a misspelt key, noted already
        return
    example = "0.5" if not q.unit and q.maximum <= 1 else examples(q.unit)[0]
    what = f"add {q.name} = {shown(example) if q.unit else example}, or decide or sweep {shown(flat)}"
    findings.missing(entry.key, f"{entry.told} has no {q.name} ({q.meaning})", what)


def _per_setting(
    key: str, value: Any, q: Quantity, settings: Sequence[str], findings: Findings
) -> dict[str, tuple[str, Any]]:
    """Return a number for each setting with its place: a list in their order, or a table by their names."""
    if isinstance(value, list) and len(value) == len(settings):
        return {s: (f"{key}[{i}]", v) for i, (s, v) in enumerate(zip(settings, value, strict=True))}
    if isinstance(value, list):
        wrong = f"{q.name} has {len(value)} entries, and the machine has {len(settings)} settings"
        findings.add(key, wrong, f"write one for each, in the order {', '.join(settings)}")
    elif not isinstance(value, dict):
        right = (
            f"write a list of {len(settings)}, in the order {', '.join(settings)}; or a table by their names"
        )
        findings.add(key, f"{q.name} is one number for each setting, not {shown(value)}", right)
    else:
        lacking = [s for s in settings if s not in value]
        for name in value:
            if name not in settings:
                findings.unknown(f"{key}.{name}", "setting called", name, settings)
        if lacking and not any(name not in settings for name in value):
            wrong = f"{q.name} says nothing of setting {', '.join(lacking)}"
            findings.add(key, wrong, "write one number for each setting")
        return {s: (f"{key}.{s}", value[s]) for s in settings if s in value}
    return {}


def _flag(entry: _Entry, column: Column, findings: Findings) -> bool:
    value = entry.data.get(column.name, column.default)
    if isinstance(value, bool):
        return value
    wrong = f"{shown(value)} is neither true nor false"
    findings.add(f"{entry.key}.{column.name}", wrong, f"write true or false: {column.meaning}")
    return column.default


def _reference(
    entry: _Entry, column: Column, names: Mapping[str, Collection[str]], findings: Findings
) -> str | None:
    key, known = f"{entry.key}.{column.name}", names[column.refers]
    if column.name not in entry.data:
        if not any(repr(column.name) in did_you_mean(k, [column.name]) for k in entry.data):
            right = f'add {column.name} = "…" ({column.meaning}); {meant("", known)}'
            findings.missing(entry.key, f"{entry.told} has no {column.name}", right)
        return None
    value = entry.data[column.name]
    if isinstance(value, str) and value in known:
        return value
    if known:
        wrong = f"{shown(value)} is none of the {column.refers}"
        findings.add(key, wrong, meant(value if isinstance(value, str) else "", known))
    return None


def _differ(entry: _Entry, refers: Mapping[str, str | None], findings: Findings) -> None:
    tables = {c.name: c.refers for c in entry.table.columns}
    seen: dict[tuple[str, str], str] = {}
    for column, value in refers.items():
        if value is None:
            continue
        other = seen.setdefault((tables[column], value), column)
        if other != column:
            wrong = f"{other} and {column} are both {shown(value)}"
            findings.add(
                f"{entry.key}.{column}", wrong, f"name two different {tables[column]}, or leave it out"
            )
