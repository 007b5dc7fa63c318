"""Cost and carbon of a question: where a file asks for one of them, its model computes it too.

A file asks for a total by its name or that of one of its parts (in [objective], [limits], [define] or [sweep]), and
by giving what only this total needs, unless a definition of its own uses that number. A file that has a quantity of
its own called like a total has that one instead. A machine's table may state a price that
nothing asks for, as the file of a machine may.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from typing import Any

from dse.models.model import MACHINE_PREFIX
from dse.models.shared.economics import ACCOUNTS, CARBON_INTENSITY, GRID, SHARED, Account, priced, refusal
from dse.models.shared.grids import GRIDS
from dse.system.records import dataclass
from scenarios.language.errors import Findings, shown
from scenarios.language.names_in_text import NAME_IN_TEXT, SIDE
from scenarios.language.reading import Reader, with_meaning
from scenarios.language.schema import Shape, Sweep

_SECTIONS = frozenset({"given", "limits", "decide", "uncertain"})


@dataclass(frozen=True, slots=True)
class _Said:
    """The names that a file uses: with the first key of each; ``used``: those in expressions of its own."""

    keys: Mapping[str, str]
    used: frozenset[str]
    own: frozenset[str]

    def first(self, names: Iterable[str]) -> str:
        """Return the key of the first of these names that the file uses; empty where it uses none."""
        return next((self.keys[n] for n in names if n in self.keys), "")


def with_prices(reader: Reader, shape: Shape, findings: Findings, *, swept: bool) -> tuple[Reader, Shape]:
    """Return a question with the totals that it asks for in its model; others stay as they are.

    ``swept``: whether [sweep] counts. What is asked of a model that has no such totals is noted, and numbers that
    mean nothing here are noted and left out.
    """
    said = _stated_prices(shape, swept=swept)
    keys = {a: key for a in ACCOUNTS if (key := _key_of_total(a, said))}
    why = refusal(reader.model)
    unasked = {q.name for a in ACCOUNTS if a not in keys for q in a.machine} - said.used
    if not why and isinstance(shape.machine, Mapping):
        shape = shape.model_copy(update={"machine": _without_unasked_prices(shape.machine, unasked)})
    if not keys:
        return reader, shape if why else _partless(reader, shape, said, findings)
    if why:
        # a model with totals of its own knows their names, and says what it does not know
        if not reader.model.hardware and not {a.total.name for a in ACCOUNTS} & set(reader.metrics):
            account, key = next(iter(keys.items()))
            name = account.total.name
            findings.add(key, f"{why}, so it has no {name}", f"define {name} yourself, under [define]")
        return reader, shape
    shape = _one_rate(shape, said, findings)
    model = priced(reader.model, tuple(keys), grid=GRID.name in said.keys and GRID.name not in said.used)
    return Reader(model, findings, reader.parts, reader.unasked), shape


def _key_of_total(account: Account, said: _Said) -> str:
    """Return the key at which a file asks for a total; empty where it does not, or has one of its own."""
    totals = [q.name for q in account.metrics]
    if said.own.intersection(totals):
        return ""
    asking = [*totals, *(q.name for q in (*account.rates, *account.machine) if q.name not in said.used)]
    return said.first(asking) or next((said.keys[n] for n in totals if n in said.used), "")


def _one_rate(shape: Shape, said: _Said, findings: Findings) -> Shape:
    """Note a carbon intensity that is said twice, or by a name where a number belongs."""
    number, name = CARBON_INTENSITY.name, GRID.name
    told, key = shape.given.get(number), f"given.{number}"
    if isinstance(told, str) and told in GRIDS:
        findings.add(key, f"{shown(told)} is the name of a grid", f"write {name} = {shown(told)}")
    elif all(n in said.keys and n not in said.used for n in (number, name)):
        findings.add(
            said.keys[name], f"{number} and {name} state the same quantity twice", "leave one of them out"
        )
    else:
        return shape
    return _shape_without_prices(shape, [number], findings)


def _partless(reader: Reader, shape: Shape, said: _Said, findings: Findings) -> Shape:
    """Note numbers that only totals need, where the file asks for none."""
    free = [q for q in SHARED if q.name in shape.given and q.name not in reader.inputs]
    for q in (q for q in free if q.name not in said.used):
        wrong = f"{with_meaning(q)} is for cost and carbon, and the question asks for neither"
        right = "give electricity_price for the cost, or carbon_intensity (or grid) for the carbon"
        findings.add(f"given.{q.name}", wrong, right)
    return _shape_without_prices(shape, [q.name for q in free if q.name not in said.used], findings)


def _shape_without_prices(shape: Shape, names: Collection[str], findings: Findings) -> Shape:
    findings.broken.update(f"given.{n}" for n in names)
    return shape.model_copy(update={"given": {n: v for n, v in shape.given.items() if n not in names}})


def _stated_prices(shape: Shape, *, swept: bool) -> _Said:
    used = {
        _declared_name(n): f"define.{k}"
        for k, text in shape.define.items()
        for n in NAME_IN_TEXT.findall(text)
    }
    places = [
        *((n, f"given.{n}") for n in shape.given),
        *((_declared_name(n), f"decide.{n}") for n in shape.decide),
        *((n, f"limits.{n}") for n in shape.limits),
        *((n, "objective") for n in shape.goals),
    ]
    if swept:
        places += [(_declared_name(p), f"sweep.{axis}") for axis, x in shape.sweep.items() for p in _paths(x)]
    keys: dict[str, str] = {}
    for name, key in (*places, *used.items()):
        keys.setdefault(name, key)
    own = {*shape.define, *(n for n in (*shape.given, *shape.decide) if n in used)}
    return _Said(keys, frozenset(used), frozenset(own))


def _declared_name(name: str) -> str:
    """Return a name as it is declared: of a machine parameter and of what an axis changes the last part counts."""
    section, _, rest = name.partition(".")
    bare = SIDE.sub("", rest) if section in _SECTIONS and rest else name
    return bare.rpartition(".")[2] if bare.startswith(MACHINE_PREFIX) else bare


def _paths(axis: Sweep) -> Iterator[str]:
    """Go through what an axis changes: its path, or the keys of its tables of paths."""
    for told in dict(axis).values():
        if isinstance(told, Mapping):
            yield from map(str, told)
        elif told is axis.path and isinstance(told, str):
            yield told


def _without_unasked_prices(told: Any, unasked: Container[str]) -> Any:
    """Return a machine table, or a map of them, without the prices that nothing asks for."""
    if not isinstance(told, Mapping):
        return told
    return {
        name: _without_unasked_prices(value, unasked) for name, value in told.items() if name not in unasked
    }
