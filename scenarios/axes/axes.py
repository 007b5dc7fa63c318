"""Sweep axes: what each one changes, and its values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from dse.models.model import MACHINE_PREFIX, Model
from dse.quantities import Quantity
from dse.system.records import dataclass
from scenarios.axes import chance_axes
from scenarios.decisions import MOST_HALVINGS
from scenarios.define import divisors
from scenarios.define.composed import definitions_of
from scenarios.language import axis_slots
from scenarios.language.axis_slots import Slot
from scenarios.language.errors import meant, shown
from scenarios.language.reading import Reader, choice, distinct
from scenarios.language.schema import Shape, Sweep
from scenarios.machines.machine_tables import known

_KINDS = {"limits": "limit", "decide": "decide"}
WORD_SIZE = MACHINE_PREFIX + "word_size"
MOST_VALUES_SWEPT = 10_000_000
MOST_POINTS_SWEPT = 100_000_000_000
"""Beyond so many nothing would ever be done: the list of the chunks alone would fill the memory."""
MOST_AXES_TOLD = 20
WITHIN_AXIS = Quantity("within", "w", "", "how far from its optimum, as a share of it", maximum=1000.0)
HALVINGS_AXIS = Quantity("max_halvings", "h", "", "halvings allowed", maximum=float(MOST_HALVINGS))


@dataclass(frozen=True, slots=True)
class Target:
    """What an axis changes: the machine, a given, one side of a limit, one bound of a decision, a measure, a spread.

    Of a measure ``name`` is that under [objective.measures], empty for that of the objective. ``divided``: a given
    number whose divisors something decided may be.
    """

    kind: str
    name: str
    side: str = ""
    divided: bool = False

    @property
    def changes(self) -> tuple[str, str]:
        """What two axes must not both change."""
        name = self.name.removesuffix(".base") if self.kind == "machine" else self.name
        return (name, self.side)

    @property
    def structural(self) -> bool:
        """Whether other numbers of the file change their meaning along the axis."""
        return self.kind == "machine" or self.name == WORD_SIZE or self.divided


def target(reader: Reader, shape: Shape, slot: Slot) -> Target | None:
    """Find what a path changes; None, and a mistake noted, where it names nothing in this question."""
    (axis, path), key = slot, axis_slots.place(shape, slot)
    if reader.is_machine(path.removesuffix(".base")):
        return _machine_target(reader, shape, key, path)
    if path.removesuffix(".base") == "machine":
        # noted where the entries of the map were read
        return None
    section, _, rest = path.partition(".")
    if section == "objective" and rest:
        return _target_of(chance_axes.level(reader, shape, key, rest))
    if section == "uncertain" and rest:
        return _target_of(chance_axes.spread(reader, shape, key, rest))
    if section in {"limits", "decide"} and rest:
        return _limit_target(reader, shape, key, section, rest)
    name = rest if section == "given" and rest else path
    if name not in reader.parameters:
        _nowhere(reader, shape, key, path)
    elif name in shape.decide:
        right = "sweep a bound of it (decide.…), or take it out of [decide]"
        reader.findings.add(key, f"{name} is decided, so it cannot be swept as well", right)
    elif name.startswith(MACHINE_PREFIX) and name == WORD_SIZE and shape.sweep[axis].factors is not None:
        reader.findings.add(
            f"sweep.{axis}.factors", "factors cannot be applied to a word size", "list them as values"
        )
    else:
        return Target("given", name, divided=name in divided_numbers(reader.model, shape))
    return None


def divided_numbers(model: Model, shape: Shape) -> set[str]:
    """Return the given numbers whose divisors make the menu of something decided."""
    asked = {name for entry in shape.decide.values() for name in entry.divides or ()}
    return {n for name in asked for n in divisors.bases(definitions_of(model), name)}


def _machine_target(reader: Reader, shape: Shape, key: str, path: str) -> Target | None:
    whole = path.removesuffix(".base")
    spec: Any = shape.machine
    if whole != "machine":
        spec = spec.get(whole.removeprefix(MACHINE_PREFIX)) if isinstance(spec, Mapping) else None
    changed = isinstance(spec, Mapping) and set(spec) != {"base"}
    if whole in shape.decide:
        right = "take it out of [decide] or out of [sweep]"
        reader.findings.add(key, f"the {whole} is decided, so it cannot be swept as well", right)
    elif path == whole and changed:
        right = f'write path = "{whole}.base" to keep them for every machine'
        reader.findings.add(key, "sweeping whole machines would drop the entries of the machine table", right)
    else:
        return Target("machine", path)
    return None


def _limit_target(reader: Reader, shape: Shape, key: str, section: str, rest: str) -> Target | None:
    name, _, side = rest.rpartition(".")
    if section == "limits" and side == "within" and name:
        return _target_within_share(reader, shape, key, name)
    if section == "limits" and side == "probability" and name:
        return _target_of(chance_axes.promise(reader, shape, key, name))
    sides = ("min", "max") if section == "limits" else ("min", "max", "max_halvings")
    if side not in sides or not name:
        ways = " or ".join(f"{section}.{name or rest}.{s}" for s in sides[:2])
        reader.findings.add(key, f"{section}.{rest} is not a bound", f"write {ways}")
    elif name in shape.decide and reader.countable(name):
        return _bound_of_decided(reader, shape, key, Target(_KINDS[section], name, side))
    elif section == "decide":
        decided = ", ".join(n for n in shape.decide if n in reader.parameters) or "nothing is decided"
        right = f"add {name} under [decide], or sweep a bound of: {decided}"
        reader.findings.add(key, f"{name} is not a decided number, so it has no bounds", right)
    elif name not in reader.metrics:
        names = [f"limits.{n}.{side}" for n in reader.countable_names(shape.decide)]
        reader.findings.unknown(key, f"limit of {reader.model.name}", f"limits.{rest}", names)
    else:
        return Target("limit", name, side)
    return None


def _target_of(found: tuple[str, str, str] | None) -> Target | None:
    return None if found is None else Target(*found)


def _target_within_share(reader: Reader, shape: Shape, key: str, name: str) -> Target | None:
    entry = shape.limits.get(name)
    if entry is None or entry.within is None:
        wrong = f"{name} has no within to sweep"
        reader.findings.add(key, wrong, f"write [limits] {name} = {{ within = 0.05 }} too")
        return None
    return Target("within", name, "within")


def _bound_of_decided(reader: Reader, shape: Shape, key: str, aim: Target) -> Target | None:
    """Check an axis over a bound of a decided quantity: under [decide] or [limits], not both."""
    name, side, entry = aim.name, aim.side, shape.decide[aim.name]
    other = shape.limits.get(name) if aim.kind == "decide" else entry
    where = "limits" if aim.kind == "decide" else "decide"
    if (side == "max_halvings") != (entry.max_halvings is not None):
        right = "sweep the kind of bound that the entry under [decide] has"
        reader.findings.add(key, f"{name} has no {side} of its own to sweep", right)
    elif other is not None and getattr(other, side, None) is not None:
        right = f"sweep {where}.{name}.{side}, or take it out there"
        reader.findings.add(key, f"{name} has its {side} under [{where}] already", right)
    else:
        return aim
    return None


def _nowhere(reader: Reader, shape: Shape, key: str, path: str) -> None:
    if path in reader.metrics:
        right = f'limit it: path = "limits.{path}.max"; or sweep an input: {", ".join(reader.inputs)}'
        reader.findings.add(key, f"{path} is a metric, which {reader.model.name} computes", right)
    elif path in reader.machine:
        reader.findings.add(key, f"{path} is a machine parameter", f'write path = "machine.{path}"')
    else:
        limits = [f"limits.{n}.max" for n in ("time", "energy", "power") if n in reader.metrics]
        decided = [f"decide.{n}.max" for n in shape.decide if n in reader.parameters]
        names = [*reader.parameters, "machine", *limits, *decided]
        if path.startswith("given."):
            names = [f"given.{n}" for n in reader.inputs]
        reader.findings.add(key, f'the path "{path}" names nothing in this question', meant(path, names))


def quantity(reader: Reader, aim: Target) -> Quantity | None:
    """Return the quantity whose values stand on the axis; None for names of machines."""
    if aim.kind == "machine":
        return None
    if aim.side == "max_halvings":
        return HALVINGS_AXIS
    if aim.kind == "within":
        return WITHIN_AXIS
    if aim.kind in chance_axes.KINDS:
        return chance_axes.quantity(reader, aim.kind, aim.name, aim.side)
    return reader.parameters[aim.name] if aim.kind in {"given", "decide"} else reader.quantity(aim.name)


def form(reader: Reader, axis: str, entry: Sweep) -> bool:
    """Whether the axis says in exactly one way which values it has; where not, the mistake is noted."""
    key, add = f"sweep.{axis}", reader.findings.add
    rows = [n for n in ("paths", "table", "columns") if getattr(entry, n) is not None]
    if rows:
        return _has_consistent_rows(reader, key, entry, rows)
    steps = [n for n in ("start", "stop", "num", "spacing") if getattr(entry, n) is not None]
    ways = [n for n in ("values", "factors") if getattr(entry, n) is not None]
    if len(ways) + bool(steps) > 1:
        wrong = f"{' and '.join([*ways, *steps])} exclude each other"
        add(key, wrong, "keep values, or factors, or start to num")
        return False
    if ways:
        if not getattr(entry, ways[0]):
            add(f"{key}.{ways[0]}", "the axis is empty", "list at least one value")
        return bool(getattr(entry, ways[0]))
    return _stepped(reader, key, entry, steps)


def _has_consistent_rows(reader: Reader, key: str, entry: Sweep, rows: list[str]) -> bool:
    """Whether an axis of rows says in one way what stands in them, and equally often for each path."""
    add = reader.findings.add
    others = ("path", "start", "stop", "num", "spacing", "values", "factors")
    more = [n for n in others if getattr(entry, n) is not None]
    if more or (entry.paths is not None and len(rows) > 1):
        right = "keep path, or paths, or table and columns"
        add(key, f"{' and '.join([*rows, *more])} exclude each other", right)
        return False
    if entry.paths is None and len(rows) < 2:
        lacking = "columns" if entry.columns is None else "table"
        right = 'write table = "points.csv" and columns = { path = "column" }'
        reader.findings.missing(f"{key}.{lacking}", f"{lacking} is missing", right)
        return False
    lengths = {path: len(values) for path, values in (entry.paths or {}).items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{n} of {path}" for path, n in lengths.items())
        add(f"{key}.paths", f"the lists differ in length: {told}", "give each path as many values")
        return False
    if 0 in lengths.values():
        add(f"{key}.paths", "the axis is empty", "list at least one value for each path")
        return False
    return True


def _stepped(reader: Reader, key: str, entry: Sweep, steps: list[str]) -> bool:
    lacking = [n for n in ("start", "stop", "num") if getattr(entry, n) is None]
    if lacking and steps:
        wrong = f"{', '.join(lacking)} missing"
        reader.findings.missing(f"{key}.{lacking[0]}", wrong, "give start, stop and num")
    elif lacking:
        right = "give values, or factors, or start, stop and num"
        reader.findings.missing(key, "the axis is empty", right)
    elif entry.num is not None and not 2 <= entry.num <= MOST_VALUES_SWEPT:
        wrong = f"num = {entry.num} is not possible for an axis from start to stop"
        right = f"write a whole number from 2 to {MOST_VALUES_SWEPT:.0e}; one value goes into values"
        reader.findings.add(f"{key}.num", wrong, right)
    else:
        return True
    return False


def finite(reader: Reader, sweep: Mapping[str, Sweep]) -> bool:
    """Whether a grid has so few points that it can be gone through; where not, the mistake is noted."""
    lists = [e.values or e.factors or next(iter((e.paths or {}).values()), ()) for e in sweep.values()]
    every = [e.num or len(one) for e, one in zip(sweep.values(), lists, strict=True)]
    points = math.prod(n for n in every if n)
    if points <= MOST_POINTS_SWEPT:
        return True
    told = " * ".join(str(n) for n in every[:MOST_AXES_TOLD] if n) + " * …" * (len(every) > MOST_AXES_TOLD)
    # as a decimal: a float ends at 1e308, which a thousand axes of two values are beyond
    wrong = f"the axes have {told} = {Decimal(points).normalize():.3g} points"
    reader.findings.add(
        "sweep", wrong, f"give them fewer values: a grid has up to {MOST_POINTS_SWEPT:.0e} points"
    )
    return False


def names(
    reader: Reader, key: str, entry: Sweep, q: Quantity | None, *, rows: bool
) -> tuple[str, ...] | None:
    """Read names (machines, or a choice ``q``) below a key; None where they cannot be read. Rows may be alike."""
    if entry.values is None:
        reader.findings.add(key, "an axis of names needs its values", 'write values = ["…", "…"]')
        return None
    key = key if rows else f"{key}.values"
    found = tuple(
        v if isinstance(v, str) else str(v)
        for i, v in enumerate(entry.values)
        if is_name(reader, f"{key}[{i}]", v, q)
    )
    return (
        found
        if len(found) == len(entry.values) and (rows or distinct(reader, key, found, "on the axis"))
        else None
    )


def is_name(reader: Reader, key: str, value: float | str, q: Quantity | None) -> bool:
    """Whether a value is a machine, or one of the names of ``q``; where not, the mistake is noted."""
    return known(reader.findings, key, value) if q is None else choice(reader, key, value, q) is not None


def numbers(
    reader: Reader,
    key: str,
    entry: Sweep,
    aim: Target,
    q: Quantity,
    base: float | None,
    word_size: float | None,
    *,
    rows: bool = False,
) -> tuple[float, ...] | None:
    """Read numbers below a key, in SI units; ``base``: what factors multiply. None where they cannot be read.

    ``rows``: they are those of an axis of rows, where some may be alike.
    """
    found: list[float | None]
    stated: Sequence[Any] = ()
    if entry.values is not None:
        stated = entry.values
        below = key if rows else f"{key}.values"
        places = [f"{below}[{i}]" for i in range(len(entry.values))]
        found = reader.numbers(places, entry.values, q, word_size)
    elif entry.factors is not None:
        if base is None:
            if not (aim.name.startswith(MACHINE_PREFIX) and reader.findings.unreadable("machine")):
                wrong = "there is no value that the factors could multiply"
                right = f"give {aim.name} a value in the file, or use values instead of factors"
                reader.findings.add(f"{key}.factors", wrong, right)
            return None
        if base == 0 and len(entry.factors) > 1:
            wrong = f"{aim.name} is 0, and so is every multiple of it"
            reader.findings.add(f"{key}.factors", wrong, "use values instead of factors")
            return None
        found = [base * f for f in entry.factors]
        places = [f"{key}.factors[{i}]" for i in range(len(found))]
    else:
        found = list(_steps(reader, key, entry, q, word_size))
        places = [f"{key}.num"] * len(found)
        if found:
            # of the file are the ends only: where one is outside, nothing is said of the steps
            places[0], places[-1] = f"{key}.start", f"{key}.stop"
            ends = {0: entry.start, len(found) - 1: entry.stop}
            sound = [possible(reader, places[i], found[i], aim, q, ends[i], word_size) for i in ends]
            if None in sound:
                return None
    inside = [
        possible(reader, p, v, aim, q, text, word_size)
        for p, v, text in zip(places, found, stated or [None] * len(found), strict=True)
    ]
    read = tuple(v for v in inside if v is not None)
    if not read or len(read) < len(inside):
        return None
    return read if rows or distinct(reader, places[0].partition("[")[0], read, "on the axis") else None


def possible(
    reader: Reader,
    key: str,
    value: float | None,
    aim: Target,
    q: Quantity,
    stated: Any = None,
    word_size: float | None = None,
) -> float | None:
    """Return a number that the quantity of an axis can have; None, and a mistake noted, where it cannot.

    ``stated``: what the file has (see ``Reader.inside``).
    """
    if aim.kind in chance_axes.LEVELS and not chance_axes.possible(reader, key, value, aim.side):
        return None
    positive = aim.kind == "decide" and aim.side != "max_halvings"
    found = reader.inside(key, value, q, stated, word_size, positive=positive)
    return reader.whole_number(key, found, q) if aim.kind == "given" else found


def _steps(reader: Reader, key: str, entry: Sweep, q: Quantity, word_size: float | None) -> tuple[float, ...]:
    ends = (f"{key}.start", f"{key}.stop"), (entry.start, entry.stop)
    start, stop = reader.numbers(*ends, q, word_size)
    if start is None or stop is None or entry.num is None:
        return ()
    if start == stop:
        wrong = f"start = {shown(entry.start)} and stop = {shown(entry.stop)} are the same"
        reader.findings.add(f"{key}.stop", wrong, f"write another stop, or values = [{shown(entry.start)}]")
        return ()
    share = [i / (entry.num - 1) for i in range(entry.num)]
    if entry.spacing != "log":
        return (*(start + (stop - start) * x for x in share[:-1]), stop)
    if start <= 0 or stop <= 0:
        place, end = ("start", entry.start) if start <= 0 else ("stop", entry.stop)
        wrong = f"a logarithmic axis cannot begin or end at {shown(end)}"
        right = 'write start and stop above 0, or spacing = "linear"'
        reader.findings.add(f"{key}.{place}", wrong, right)
        return ()
    return (start, *(start ** (1 - x) * stop**x for x in share[1:-1]), stop)
