"""The numbers of a scenario: machine, givens, decisions, limits, axis values; for every swept machine."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from dse.models.model import MACHINE_PREFIX
from dse.quantities import Quantity, examples
from scenarios import better, menus, needs, places, sizes
from scenarios.axes import axes, table_values
from scenarios.axes.axes import Target
from scenarios.axes.chance_axes import SPREAD
from scenarios.decisions import decision
from scenarios.define.composed import definitions_of, domain
from scenarios.distributions import MOST_CUT
from scenarios.language import axis_slots
from scenarios.language.axis_slots import Slot
from scenarios.language.errors import shown
from scenarios.language.reading import choice, plain_names, with_meaning
from scenarios.language.schema import Shape
from scenarios.language.searches import search
from scenarios.language.tables import Table
from scenarios.names import Roles, waived
from scenarios.places import AxisValues, Place
from scenarios.question import HALVINGS, OPTIMAL_GAP, STRETCH, Decision, Limit, Question, with_menus
from scenarios.sweep import work
from scenarios.sweep.grids import Column, Grid, GridAxis
from scenarios.uncertainty import chances, promises


def build(shape: Shape, roles: Roles) -> Grid | None:
    """Read every number, noting all mistakes; None where an axis cannot be read."""
    needs.one_each(shape, roles)
    needs.partless(shape, roles)
    sound = {a for a in shape.sweep if axes.form(roles.reader, a, shape.sweep[a])}
    if not axes.finite(roles.reader, shape.sweep):
        return None
    aims = {s: t for s, t in roles.targets.items() if s[0] in sound}
    outer = {s: v for s in aims if aims[s].structural and (v := _outer(shape, roles, s)) is not None}
    bases: dict[tuple[float | str, ...], Question] = {}
    readings: list[dict[Slot, AxisValues]] = []
    for at in _combinations(outer):
        place = places.read(shape, roles, outer, at)
        told = {roles.targets[s].name: outer[s][i] for s, i in at.items() if roles.targets[s].divided}
        made = _question(shape, roles, place, told)
        bases[tuple(outer[s][i] for s, i in at.items())] = made
        readings.append(_axis_values(shape, roles, aims, place, made))
    _same_for_all(shape, roles, readings)
    shown = sizes.common(q.bytes_per_word for q in bases.values())
    bases = {at: replace(q, bytes_per_word=shown) for at, q in bases.items()}
    found = {s: v for s in roles.targets if (v := outer.get(s, readings[0].get(s))) is not None}
    if len(found) < len(roles.targets):
        return None
    work.everywhere(shape, roles, found, bases)
    return _grid_of_axes(shape, roles, found, bases)


def _combinations(outer: Mapping[Slot, AxisValues]) -> Iterator[dict[Slot, int]]:
    """Go through the combinations of structural values that there are: each axis by itself, its rows together."""
    along: dict[str, list[dict[Slot, int]]] = {}
    for axis in dict.fromkeys(a for a, _ in outer):
        slots = [s for s in outer if s[0] == axis]
        first: dict[tuple[float | str, ...], int] = {}
        for i, values in enumerate(zip(*(outer[s] for s in slots), strict=True)):
            first.setdefault(values, i)
        along[axis] = [dict.fromkeys(slots, i) for i in first.values()]
    for parts in product(*along.values()):
        yield {slot: i for part in parts for slot, i in part.items()}


def _grid_of_axes(
    shape: Shape,
    roles: Roles,
    values: Mapping[Slot, AxisValues],
    bases: Mapping[tuple[float | str, ...], Question],
) -> Grid:
    made: dict[str, list[Column]] = {}
    for slot, aim in roles.targets.items():
        q = axes.quantity(roles.reader, aim)
        side = {"min": "least ", "max": "greatest "}.get(aim.side, "")
        long_name = f"{side}{q.meaning}" if q is not None else "machine"
        name, path = slot[1].removeprefix("given."), slot[1]
        column = Column(name, path, q.unit if q else "", long_name, values[slot])
        made.setdefault(slot[0], []).append(column)
    vacuous = {n: _vacuous(roles, n) for n in roles.limits if n in roles.reader.metrics or n in roles.decide}
    grid_axes = tuple(_grid_axis(shape, roles, name, columns) for name, columns in made.items())
    return Grid(grid_axes, tuple(roles.targets.values()), dict(bases), vacuous)


def _grid_axis(shape: Shape, roles: Roles, name: str, columns: list[Column]) -> GridAxis:
    entry, first = shape.sweep[name], columns[0]
    if not entry.together:
        return GridAxis(name, first.path, first.unit, first.long_name, first.values)
    table = roles.tables.get(entry.table or "")
    numbers = None if table is None else table.numbers
    rows = tuple(range(1, len(first.values) + 1)) if numbers is None else tuple(numbers)
    return GridAxis(name, "", "", "number of the row", rows, tuple(columns), entry.table or "")


def _outer(shape: Shape, roles: Roles, slot: Slot) -> AxisValues | None:
    aim, reader = roles.targets[slot], roles.reader
    q = axes.quantity(reader, aim)
    if q is not None:
        return _axis_numbers(shape, roles, slot, q, _stated_base(shape, roles, aim, q), None)
    names = _axis_names(shape, roles, slot, None)
    if names is None:
        reader.findings.broken.add("machine")
    return names


def _stated_base(shape: Shape, roles: Roles, aim: Target, q: Quantity) -> float | None:
    """Return the number in the file that factors of an axis multiply, where divisors of it are decided."""
    value = shape.given.get(aim.name) if aim.divided else None
    return None if value is None else roles.reader.number(f"given.{aim.name}", value, q, None)


def _axis_names(shape: Shape, roles: Roles, slot: Slot, q: Quantity | None) -> tuple[str, ...] | None:
    """Read the names of an axis: its own, or those in a column of its rows."""
    key, entry = axis_slots.listed(shape, slot)
    if shape.sweep[slot[0]].table is None:
        return axes.names(roles.reader, key, entry, q, rows=shape.sweep[slot[0]].together)
    table = _table_of_axis(shape, roles, slot[0])
    return None if table is None else table_values.names(roles.reader, key, table, slot[1], q)


def _axis_numbers(
    shape: Shape, roles: Roles, slot: Slot, q: Quantity, base: float | None, word_size: float | None
) -> AxisValues | None:
    """Read the numbers of an axis: its own, or those in a column of its rows."""
    key, entry = axis_slots.listed(shape, slot)
    aim, reader = roles.targets[slot], roles.reader
    if shape.sweep[slot[0]].table is None:
        together = shape.sweep[slot[0]].together
        return axes.numbers(reader, key, entry, aim, q, base, word_size, rows=together)
    table = _table_of_axis(shape, roles, slot[0])
    found: Any = None
    if table is not None:
        found = table_values.numbers(reader, key, table, slot[1], aim, q, word_size)
    return found  # type: ignore[no-any-return]


def _table_of_axis(shape: Shape, roles: Roles, axis: str) -> Table | None:
    """Return the table that an axis goes through; None, and a mistake noted, where it was not read."""
    name = shape.sweep[axis].table or ""
    if name not in roles.tables:
        wrong = "the rows of this table are not here"
        right = "ask with the file that names the table, read by dse.load; or open the store that the text is from"
        roles.reader.findings.missing(f"sweep.{axis}.table", wrong, right)
    return roles.tables.get(name)


def _question(shape: Shape, roles: Roles, place: Place, told: Mapping[str, float | str]) -> Question:
    """``told``: numbers of axes on which menus of divisors hang."""
    own = plain_names({**place.defaults, **place.parameters})
    decisions = tuple(d for n in roles.decide if (d := _decision(shape, roles, place, n)) is not None)
    if shape.idle is True:
        decisions = (*decisions, Decision(STRETCH.name))
    given = {**own, **_given_values(shape, roles, place), **told}
    decisions = tuple(menus.with_menu(shape, roles, d, given) for d in decisions)
    question = Question(
        model=roles.reader.model,
        given={k: v for k, v in given.items() if k not in roles.decide},
        decide=decisions,
        objectives=roles.objectives,
        limits=tuple(_limit_at_place(shape, roles, place, n) for n in _limited_names(roles)),
        waive=waived(roles.reader.model, shape.waive),
        idle=shape.idle is True,
        gap=OPTIMAL_GAP if shape.gap is None else shape.gap,
        machines=place.machines,
        title=shape.title,
        search=search(shape),
        ties=roles.ties,
        sources=_sources(roles, place),
        bytes_per_word=sizes.bytes_per_word(shape, roles, place.word_size),
    )
    return chances.with_chances(shape, roles, place, with_menus(question))


def _sources(roles: Roles, place: Place) -> dict[str, dict[str, str]]:
    """Return where the machine's numbers come from, but for those that are decided or swept."""
    asked = {*roles.decide, *roles.swept}
    return {
        key: {n: k for n, k in own.items() if n not in asked} for key, own in place.sources.items() if own
    }


def _given_values(shape: Shape, roles: Roles, place: Place) -> dict[str, float | str]:
    reader = roles.reader
    found: dict[str, float | str] = {}
    for q in reader.model.inputs:
        key = f"given.{q.name}"
        if q.name in roles.given:
            value: float | str | None
            if q.choices:
                value = choice(reader, key, shape.given[q.name], q)
            else:
                stated = shape.given[q.name]
                number = reader.number(key, stated, q, place.word_size)
                value = reader.whole_number(key, reader.inside(key, number, q, stated, place.word_size), q)
            found.update({} if value is None else {q.name: value})
        elif q.default is not None:
            found[q.name] = q.default
        elif not q.optional and q.name not in shape.decide and q.name not in roles.swept:
            if any(reader.findings.unreadable(f"{table}.{q.name}") for table in ("decide", "sweep")):
                continue
            example = shown(q.choices[0]) if q.choices else shown(examples(q.unit)[0]) if q.unit else "…"
            decide = f"[decide] {q.name} = {{ min = …, max = … }}"
            right = f"add {q.name} = {example} under [given], or decide it: {decide}"
            reader.findings.missing(key, f"{with_meaning(q)} has no value", right)
    for asked in roles.reader.model.any_of:
        work.given(shape, roles, found, asked)
    return found


def _decision(shape: Shape, roles: Roles, place: Place, name: str) -> Decision | None:
    entry = shape.decide[name]
    if roles.reader.is_machine(name):
        return Decision(name, choices=roles.machines[name]) if roles.machines[name] else None
    base = (
        place.parameters.get(name.removeprefix(MACHINE_PREFIX)) if name.startswith(MACHINE_PREFIX) else None
    )
    _halvings_base(roles, name, base)
    return decision(roles.reader, name, entry, base, place.word_size)


def _halvings_base(roles: Roles, name: str, base: float | None) -> None:
    used = HALVINGS.name in (*roles.limits, *(o.name for o in roles.objectives))
    if used and name.startswith(MACHINE_PREFIX) and not base:
        if roles.reader.findings.unreadable("machine"):
            return
        wrong = f"halvings of {name} cannot be counted: the machine has no positive value of it"
        right = "give it one in the machine table, or minimise something else"
        roles.reader.findings.missing(f"decide.{name}", wrong, right)


def _limit_at_place(shape: Shape, roles: Roles, place: Place, name: str) -> Limit:
    return promises.limited(shape.limits.get(name), _certain(shape, roles, place, name))


def _certain(shape: Shape, roles: Roles, place: Place, name: str) -> Limit:
    reader, entry = roles.reader, shape.limits.get(name)
    q, found = reader.quantity(name), dict[str, float | None](min=None, max=None)
    for side in ("min", "max") if entry is not None else ():
        value, key = getattr(entry, side), f"limits.{name}.{side}"
        if value is not None:
            number = reader.number(key, value, q, place.word_size)
            found[side] = number if q is HALVINGS else reader.inside(key, number, q, value, place.word_size)
    low, high = found["min"], found["max"]
    if entry is not None and low is not None and high is not None and low > high:
        wrong = f"min = {shown(entry.min)} is above max = {shown(entry.max)}"
        reader.findings.add(f"limits.{name}", wrong, "swap them")
    least, most = domain(reader.model, name)
    low = least if low is None else low if low > _vacuous(roles, name) else None
    high = most if high is None else high
    share = None if entry is None else entry.within
    if share is None:
        return Limit(name, low, high)
    ranked = {o.name: o.maximize for o in roles.objectives}
    if ranked.get(name, better.measured(name, q.unit)):
        return Limit(name, -math.inf if low is None else low, high, share)
    return Limit(name, low, math.inf if high is None else high, share)


def _limited_names(roles: Roles) -> dict[str, None]:
    """Return the names that are limited: those in the file, and definitions that must keep to a domain."""
    model = roles.reader.model
    own = [d.name for d in definitions_of(model) if domain(model, d.name) != (None, None)]
    return {**roles.limits, **dict.fromkeys(own)}


def _vacuous(roles: Roles, name: str) -> float:
    """Return the least value a limit can have without saying anything."""
    q = roles.reader.quantity(name)
    # an end of the domain of what is defined is a limit that says something
    kept = domain(roles.reader.model, name)[0] is not None
    return -float("inf") if q is HALVINGS or kept else q.minimum


def _axis_values(
    shape: Shape, roles: Roles, aims: Mapping[Slot, Target], place: Place, base: Question
) -> dict[Slot, AxisValues]:
    """Read the axes whose numbers may depend on the machine."""
    found: dict[Slot, AxisValues] = {}
    for slot, aim in aims.items():
        q = axes.quantity(roles.reader, aim)
        if aim.structural or q is None:
            continue
        values: AxisValues | None
        if q.choices:
            values = _axis_names(shape, roles, slot, q)
        else:
            own = _own_value(shape, base, aim)
            values = _axis_numbers(shape, roles, slot, q, own, place.word_size)
        if values is not None:
            found[slot] = values
            _not_reversed(shape, roles, slot, base, values)
            _not_cut(roles, slot, base, values, axis_slots.listed(shape, slot)[0])
            if aim.kind == "probability":
                asked = [float(v) for v in values]
                promises.promised_along(
                    roles.reader, axis_slots.listed(shape, slot)[0], aim.name, asked, base
                )
    return found


def _own_value(shape: Shape, base: Question, aim: Target) -> float | None:
    """Return the value in the file or catalogue that factors multiply."""
    if aim.kind == "given":
        value = base.given.get(aim.name)
        return value if isinstance(value, float) else None
    if aim.side == "max_halvings":
        return shape.decide[aim.name].max_halvings
    if aim.kind == "within":
        return shape.limits[aim.name].within
    if aim.kind == "probability":
        return shape.limits[aim.name].probability
    if aim.kind == "measure":
        assert shape.objective is not None, "its level is swept"
        entry = shape.objective.measures[aim.name] if aim.name else shape.objective
        return float(getattr(entry, aim.side))
    if aim.kind == SPREAD:
        return None if base.uncertain is None else base.uncertain.marginals[aim.name].numbers[1]
    return _end_of_limit(base, aim, aim.side)


def _end_of_limit(base: Question, aim: Target, side: str) -> float | None:
    entries: tuple[Limit | Decision, ...] = base.limits if aim.kind == "limit" else base.decide
    entry = next((e for e in entries if e.name == aim.name), None)
    return None if entry is None else entry.minimum if side == "min" else entry.maximum


def _not_cut(roles: Roles, slot: Slot, base: Question, values: AxisValues, key: str) -> None:
    """Note a spread at which too much of a distribution lies outside the domain of its quantity."""
    aim = roles.targets[slot]
    if aim.kind != SPREAD or base.uncertain is None:
        return
    marginal = base.uncertain.marginals[aim.name]
    for v in values:
        cut = replace(marginal, numbers=(marginal.numbers[0], float(v))).outside()
        if cut > MOST_CUT:
            share = f"{100 * cut:.3g} % of the distribution of {aim.name}"
            wrong = f"with the spread {float(v):.6g} {share} lies outside its domain"
            roles.reader.findings.add(key, wrong, f"keep to spreads at which at most {MOST_CUT:g} does")
            return


def _not_reversed(shape: Shape, roles: Roles, slot: Slot, base: Question, values: AxisValues) -> None:
    aim = roles.targets[slot]
    other = {"min": "max", "max": "min"}.get(aim.side)
    swept = any(t.kind == aim.kind and t.name == aim.name and t.side == other for t in roles.targets.values())
    bound = _end_of_limit(base, aim, other) if other and not swept else None
    if bound is None or isinstance(values[0], str):
        return
    worst = float(max(values) if aim.side == "min" else min(values))
    if worst > bound if aim.side == "min" else worst < bound:
        how = "above" if aim.side == "min" else "below"
        text = f"{aim.side} = {worst:.12g} on the axis is {how} {other} = {bound:.12g}"
        key = axis_slots.listed(shape, slot)[0]
        roles.reader.findings.add(key, text, f"keep the axis on the right side, or sweep {other} as well")


def _same_values(one: Sequence[float | str], other: Sequence[float | str]) -> bool:
    """Whether two readings of an axis have the same values; a cell that could not be read is NaN in both."""
    return all(x == y or (_unread(x) and _unread(y)) for x, y in zip(one, other, strict=True))


def _unread(value: float | str) -> bool:
    return not isinstance(value, str) and math.isnan(value)


def _same_for_all(shape: Shape, roles: Roles, readings: list[dict[Slot, AxisValues]]) -> None:
    """Refuse axes whose SI values would differ between the machines of another axis."""
    for slot in readings[0]:
        if any(slot in r and not _same_values(r[slot], readings[0][slot]) for r in readings[1:]):
            wrong = "the values of this axis differ between the machines (or word sizes) that are swept"
            right = "give values that hold for all of them: SI numbers or words, not factors or bytes"
            roles.reader.findings.add(axis_slots.listed(shape, slot)[0], wrong, right)
