"""What a fit of a behaviour is asked for: target, columns, groups of runs, and quantities that follow."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from dse.fitting.behaviours.forms import sum_of
from dse.fitting.errors import FittingError
from dse.fitting.reading import Column, Measurements, unit_of
from dse.fitting.table import Table
from dse.models.described.fitted import HIGH, LOW, Derived, Term
from dse.models.described.model_files import SHORT_NAME, TAKEN
from dse.quantities import UnitError, si_unit, to_si
from dse.system.arrays import Indices
from dse.system.records import dataclass

_FOLLOWS = re.compile(r"\s*([A-Za-z][A-Za-z0-9_]*)\s*(?:[\[(]\s*([^\])]*?)\s*[\])])?\s*=(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Asked:
    """The columns of a fit.

    ``units``: SI, by column; ``stated``: units that the user gives for a column's numbers; ``headers``: where columns
    stand, if not under their names.
    """

    target: str
    of: tuple[str, ...]
    group: tuple[str, ...]
    units: Mapping[str, str]
    stated: Mapping[str, str]
    headers: Mapping[str, str]

    def columns(self) -> list[Column]:
        """Return what is to be read."""
        numbers = [Column(n, self.units[n], required=True, positive=True) for n in (self.target, *self.of)]
        labels = [Column(g, text=True, required=True) for g in self.group if g not in self.of]
        return [*numbers, *labels]

    def names(self) -> dict[str, str]:
        """Return the headers that the user names, or gives a unit for."""
        units = {n: f"{self.headers.get(n, n)} [{u}]" for n, u in self.stated.items()}
        return {**self.headers, **units}

    def groups(self, runs: Measurements) -> Indices:
        """Return the number of the group of each run; each run is its own where none are asked for."""
        if not self.group:
            return np.arange(runs.runs)
        labels = [
            np.unique(runs.numbers[g] if g in runs.numbers else np.array(runs.texts[g]), return_inverse=True)[
                1
            ]
            for g in self.group
        ]
        found = np.unique(np.column_stack(labels), axis=0, return_inverse=True)[1].ravel()
        if found.max() == 0:
            problem = f"all runs are one group of {', '.join(self.group)}: nothing can be held out"
            raise FittingError(runs.source, [problem])
        return np.asarray(found, np.intp)


def asked(
    cells: Table,
    target: str,
    of: str | Sequence[str],
    group: str | Sequence[str],
    headers: Mapping[str, str],
) -> Asked:
    """Read what is asked; raises FittingError with everything that is wrong."""
    problems: list[str] = []
    wanted = _names_with_units([target], problems)
    columns = _names_with_units(_list_of_names(of), problems)
    groups = tuple(n for n, _ in _names_with_units(_list_of_names(group), problems, any_name=True))
    if not columns:
        problems.append('no column is named that the target is a function of: write --of "m, n, k"')
    names = [n for n, _ in (*wanted, *columns)]
    problems += [f"{n} is named twice" for n in dict.fromkeys(names) if names.count(n) > 1]
    units, stated = {}, {}
    for name, unit in (*wanted, *columns):
        header = unit_of(cells, headers.get(name, name), renamed=name in headers)
        try:
            units[name] = si_unit(unit or header)
            if unit and header and (si_unit(header), _size(header)) != (units[name], _size(unit)):
                problems.append(
                    f"column {name}: its header says {header}, not {unit}: leave the unit out, or write --columns "
                    f'"{name}={headers.get(name, name)} [{unit}]" where the header is wrong'
                )
        except UnitError as error:
            problems.append(f"column {name}: {error}")
        if unit:
            stated[name] = unit
    if problems:
        raise FittingError(cells.source, problems)
    return Asked(wanted[0][0], tuple(n for n, _ in columns), groups, units, stated, headers)


def _size(unit: str) -> float:
    """A unit in SI."""
    return to_si(f"1 {unit}", si_unit(unit))


def _list_of_names(names: str | Sequence[str]) -> list[str]:
    return [n for n in names.split(",") if n.strip()] if isinstance(names, str) else list(names)


def _names_with_units(
    texts: Sequence[str], problems: list[str], *, any_name: bool = False
) -> list[tuple[str, str]]:
    """Return names with the units behind them: "latency = ms" is ("latency", "ms")."""
    found = []
    for text in texts:
        name, _, unit = (part.strip() for part in text.partition("="))
        if not name or (not any_name and not SHORT_NAME.fullmatch(name)):
            problems.append(
                f"{text.strip()!r} is not a column: write a name of letters, digits and '_', then = and a unit"
            )
        elif not any_name and name in TAKEN:
            problems.append(
                f"a model cannot call a column {name!r}, which means something else: rename it in the file"
            )
        else:
            found.append((name, unit))
    return found


def derived(texts: Sequence[str], wanted: Asked) -> tuple[Derived, ...]:
    """Read quantities that follow: "performance [flop/s] = 2 * m * n * k / latency"; raises FittingError."""
    found: list[Derived] = []
    names = (*wanted.of, wanted.target)
    taken = {*names, wanted.target + LOW, wanted.target + HIGH, *TAKEN}
    for text in texts:
        read = _FOLLOWS.fullmatch(text)
        if read is None:
            raise FittingError(
                repr(text), ["write NAME [UNIT] = a sum of products, such as 2 * m * n * k / latency"]
            )
        name, unit = read[1], read[2] or ""
        if name in taken or name in {d.name for d in found}:
            raise FittingError(repr(text), [f"the name {name} is taken"])
        try:
            si = si_unit(unit)
        except UnitError as error:
            raise FittingError(repr(text), [str(error)]) from None
        if si != unit:
            raise FittingError(repr(text), [f"{unit} is not an SI unit: write the formula for {si}"])
        terms = tuple(Term(t.factor, t.exponents) for t in sum_of(read[3], names))
        found.append(Derived(name, unit, terms))
    return tuple(found)
