"""The roles of a scenario's names: given, decided, swept, limited, ranked; and which contradict."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import field

from dse.models.model import MACHINE_PREFIX, Model
from dse.models.shared.validity import PREFIX
from dse.quantities import examples
from dse.system.amounts import MOST_POINTS_ASKED
from dse.system.records import dataclass
from scenarios import better
from scenarios.axes import axes
from scenarios.axes.axes import Target
from scenarios.define.composed import NOT_NEGATIVE, definitions_of
from scenarios.define.trees import names as named
from scenarios.language import axis_slots
from scenarios.language.axis_slots import NO_AXIS, OF_FRESH, Slot, fronts_need
from scenarios.language.errors import meant, shown
from scenarios.language.reading import IN_LIST, Reader, distinct
from scenarios.language.schema import Shape
from scenarios.language.tables import Tables
from scenarios.machines.machine_tables import known
from scenarios.question import HALVINGS, Objective

MOST_SHARE = 1000.0
_AXIS_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


Names = Mapping[str, None]
"""Names in file order, each there once."""


@dataclass(frozen=True, slots=True)
class Roles:
    """Every name of a scenario that exists and has one role.

    ``targets``: what each path of each axis changes; ``machines``: the machines to choose from, for each
    decision that is such a choice; ``tables``: whose rows axes go through.
    """

    reader: Reader
    given: Names
    decide: Names
    limits: Names
    objectives: tuple[Objective, ...]
    ties: tuple[str, ...]
    targets: Mapping[Slot, Target]
    machines: Mapping[str, tuple[str, ...]]
    tables: Tables = field(default_factory=dict)

    @property
    def swept(self) -> frozenset[str]:
        """Parameters whose value comes from an axis."""
        return frozenset(t.name for t in self.targets.values() if t.kind == "given")


def resolve(reader: Reader, shape: Shape, tables: Tables, *, swept: bool) -> Roles:
    """Find out every name's role, noting all mistakes."""
    given = dict.fromkeys(_given_names(reader, shape))
    decide = dict.fromkeys(n for n in shape.decide if _is_decision_name(reader, shape, n))
    targets = _targets(reader, shape) if swept else {}
    limits = tuple(n for n in shape.limits if _may_be_limited(reader, shape, n, targets))
    fresh = [t.name for t in targets.values() if t.kind == "limit" and t.name not in limits]
    _front(reader, shape)
    _top(reader, shape)
    return Roles(
        reader,
        given,
        decide,
        dict.fromkeys((*limits, *fresh)),
        _objectives(reader, shape),
        _ties(reader, shape),
        targets,
        {n: _machines_to_choose(reader, shape, n) for n in decide if reader.is_machine(n)},
        tables,
    )


def _given_names(reader: Reader, shape: Shape) -> tuple[str, ...]:
    found = []
    for name, value in shape.given.items():
        key, add = f"given.{name}", reader.findings.add
        plain = name.removeprefix("machine.")
        if plain in reader.machine and name not in reader.inputs:
            entry, _, own = plain.rpartition(".") if reader.parts.machines else ("", "", plain)
            table = f'{{ base = "…", {shown(own) if "." in own else own} = … }}'
            right = f"write machine = {f'{{ {entry} = {table} }}' if entry else table}"
            add(key, f"{plain} is a machine parameter and belongs in the machine table", right)
        elif name == "machine":
            add(key, "the machine is not an input", 'write machine = "jaketown" at the top of the file')
        elif name in shape.decide:
            add(f"decide.{name}", f"{name} is given and decided", "take it out of [given] or out of [decide]")
        elif name in reader.metrics and name not in reader.inputs:
            reader.metric_misplaced(key, name)
        elif name not in reader.inputs and isinstance(value, list | dict):
            lists = [t.name for t in reader.model.structure.tables] if reader.model.structure else []
            right = (
                meant(name, lists) if lists else f"its inputs are single values; {meant(name, reader.inputs)}"
            )
            add(key, f"{reader.model.name} takes no tables such as {name}", right)
        elif name not in reader.inputs:
            _no_input(reader, shape, key, name)
            almost = reader.almost(name)
            reader.findings.broken.update({f"given.{almost}"} if almost else ())
        else:
            found.append(name)
    return tuple(found)


def _no_input(reader: Reader, shape: Shape, key: str, name: str) -> None:
    kind = f"input of {reader.model.name}"
    if not shape.define:
        reader.findings.unknown(key, kind, name, reader.inputs)
        return
    used = [n for d in definitions_of(reader.model) for n in named(d.tree)]
    wrong = f"there is no {kind} {shown(name)}, and no definition uses a number of this name"
    reader.findings.add(key, wrong, meant(name, dict.fromkeys([*reader.inputs, *used])))


def _is_decision_name(reader: Reader, shape: Shape, name: str) -> bool:
    known = name in reader.parameters or name in reader.metrics or name in reader.machine
    if shape.define and not known and "." not in name and not reader.is_machine(name):
        _no_input(reader, shape, f"decide.{name}", name)
        return False
    key = f"decide.{name}"
    if reader.is_machine(name):
        return not _machine_given(reader, shape, name)
    if name == "machine" and reader.parts.machines:
        # noted where the entries of the map were read
        return False
    return reader.name_of_parameter(key, name)


def _machine_given(reader: Reader, shape: Shape, name: str) -> bool:
    """Whether a machine that is decided is given as well, which is noted."""
    entry = name.removeprefix(MACHINE_PREFIX)
    if shape.machine is None or (entry != name and entry not in shape.machine):
        return False
    right = f'take the line {entry} = … out, or decide single parameters ("{name}.energy_per_flop")'
    reader.findings.add(f"decide.{name}", f"the {name} is given and decided", right)
    return True


def _targets(reader: Reader, shape: Shape) -> dict[Slot, Target]:
    found: dict[Slot, Target] = {}
    for axis in shape.sweep:
        _axis_name(reader, shape, axis)
        for slot in axis_slots.slots(shape, axis):
            if shape.sweep[axis].together and slot[1].removeprefix("given.") in shape.sweep:
                wrong = f"the axis {slot[1]} has the name of what changes along it"
                reader.findings.add(axis_slots.place(shape, slot), wrong, "give the axis another name")
            aim = axes.target(reader, shape, slot)
            if aim is None:
                continue
            same = next((s for s, t in found.items() if t.changes == aim.changes), None)
            key = axis_slots.place(shape, slot)
            if same is None:
                found[slot] = aim
            elif same[0] != axis:
                right = f"take one of sweep.{same[0]} and sweep.{axis} out"
                reader.findings.add(key, f"{slot[1]} is swept by {same[0]} already", right)
            else:
                reader.findings.add(key, f"{slot[1]} and {same[1]} are the same", "keep one of them")
    return found


def _axis_name(reader: Reader, shape: Shape, axis: str) -> None:
    quantities = (*reader.model.inputs, *reader.model.metrics)
    along = {tuple(dimension for dimension, _ in q.index) for q in quantities if q.index}
    dimensions = {dimension for d in along for dimension in d}
    family = any(axis.endswith(f"_by_{'_'.join(d)}") for d in along)
    goal = shape.objective
    fronts = goal is not None and len(goal.minimize or goal.maximize or ()) > 1
    fresh = shape.uncertain is not None and axis in OF_FRESH
    taken = NO_AXIS | set(reader.metrics) | set(shape.decide) | dimensions
    if axis in taken or family or fresh or (fronts and fronts_need(axis)):
        wrong = f"the dataset needs the name {axis} for itself"
        reader.findings.add(f"sweep.{axis}", wrong, f'give the axis another name, such as "{axis}_axis"')
    elif not _AXIS_NAME.fullmatch(axis):
        wrong = f'"{axis}" cannot name a dimension of a dataset'
        reader.findings.add(
            f"sweep.{axis}", wrong, "use letters (a to z), digits and _, beginning with a letter"
        )


def _may_be_limited(reader: Reader, shape: Shape, name: str, targets: Mapping[Slot, Target]) -> bool:
    key, add = f"limits.{name}", reader.findings.add
    bounds = shape.limits[name]
    if bounds.of is not None:
        if name != "joint":
            right = f'write [limits.joint] of = [{shown(name)}, "…"], probability = 0.95'
            add(f"{key}.of", "only the joint limit lists others", right)
        # read where probabilities are
        return False
    if name in shape.decide and reader.countable(name):
        entry = shape.decide[name]
        twice = [
            s for s in ("min", "max") if getattr(bounds, s) is not None and getattr(entry, s) is not None
        ]
        if entry.max_halvings is not None:
            add(key, f"{name} is bounded by its max_halvings already", "leave one of the two out")
        elif twice:
            add(key, f"{name} has its {twice[0]} under [decide] already", "leave one of the two out")
    elif name in reader.parameters and name not in reader.metrics:
        add(key, f"{name} is not a decided number, so it cannot be limited", "limit a metric, or decide it")
        return False
    elif name not in reader.metrics and name in {x.name for x in reader.model.limits}:
        right = f'leave it out; waive = ["{name}"] at the top of the file sets it aside'
        add(key, f"{name} is a limit of {reader.model.name} itself and always holds", right)
        return False
    elif name not in reader.metrics:
        known_names = reader.countable_names(shape.decide)
        reader.findings.unknown(key, f"metric of {reader.model.name}", name, known_names)
        return False
    _halvings_need_machine(reader, shape, key, name)
    if bounds.within is not None:
        return _may_lie_within_share(reader, shape, name)
    swept = any(t.kind == "limit" and t.name == name for t in targets.values())
    if bounds.min is None and bounds.max is None and not swept:
        example = examples(reader.quantity(name).unit)[0]
        right = f"write {{ max = {shown(example) if ' ' in example else example} }}, or {{ min = … }}"
        reader.findings.missing(key, "the limit has neither min nor max", right)
    return True


def _may_lie_within_share(reader: Reader, shape: Shape, name: str) -> bool:
    """Whether a limit can lie within a share of its metric's own optimum; where not, note why."""
    key, add, share = f"limits.{name}", reader.findings.add, shape.limits[name].within or 0.0
    if name not in reader.metrics or name == HALVINGS.name:
        add(f"{key}.within", f"{name} is not a metric, so it has no optimum of its own", "write min or max")
    elif not 0 <= share <= MOST_SHARE:
        right = f"write a number from 0 to {MOST_SHARE:g}: 0.05 is 5 %"
        add(f"{key}.within", f"{share:g} is not a share of an optimum", right)
    else:
        return True
    return False


def _halvings_need_machine(reader: Reader, shape: Shape, key: str, name: str) -> None:
    halved = [n for n in shape.decide if n.startswith(MACHINE_PREFIX) and not reader.is_machine(n)]
    if name == HALVINGS.name and not halved:
        right = 'decide some: [decide] "machine.energy_per_flop" = { max_halvings = 10 }'
        reader.findings.add(key, "no machine parameter is decided, so there are no halvings", right)


def _objectives(reader: Reader, shape: Shape) -> tuple[Objective, ...]:
    goal, add = shape.objective, reader.findings.add
    if goal is None:
        return ()
    if goal.minimize is not None and goal.maximize is not None:
        inverse = f'[define] less = "1 / {goal.maximize[0] if goal.maximize else "performance"}"'
        right = (
            "keep one; a front minimises (or maximises) all its metrics: for one small and one large, minimise the "
            f"inverse of what is to be large, {inverse}"
        )
        add("objective", "minimize and maximize exclude each other", right)
    way = "minimize" if goal.minimize is not None else "maximize"
    asked = goal.minimize if goal.minimize is not None else goal.maximize
    if not asked:
        right = 'write minimize = "energy", or leave [objective] out'
        reader.findings.missing("objective", "nothing is minimised or maximised", right)
        return ()
    for i, name in enumerate(asked):
        key = f"objective.{way}" + (f"[{i}]" if len(asked) > 1 else "")
        if name in asked[:i]:
            add(key, f"{name} is listed twice", "list every metric once")
        _ranked(reader, shape, key, name)
    return tuple(Objective(n, way == "maximize") for n in dict.fromkeys(asked))


def _ties(reader: Reader, shape: Shape) -> tuple[str, ...]:
    """Return the names that settle ties before the usual ones, noting those that cannot."""
    asked = () if shape.objective is None or shape.objective.ties is None else shape.objective.ties
    for i, name in enumerate(asked):
        key = "objective.ties" + (f"[{i}]" if len(asked) > 1 else "")
        if name in asked[:i]:
            reader.findings.add(key, f"{name} is listed twice", "list every metric once")
        elif name == HALVINGS.name:
            right = "name a metric, or the machine parameters that are decided"
            reader.findings.add(key, "halvings cannot settle ties", right)
        elif name in reader.metrics and better.measured(name, reader.metrics[name].unit):
            wrong = f"ties go to the least value, and {name} is better the larger it is"
            reader.findings.add(key, wrong, f'name what it is the inverse of, or define it: "1 / {name}"')
        else:
            _ranked(reader, shape, key, name)
    return asked


def _ranked(reader: Reader, shape: Shape, key: str, name: str) -> None:
    if name in reader.metrics:
        _halvings_need_machine(reader, shape, key, name)
    elif name in reader.parameters:
        if name not in shape.decide:
            reader.findings.add(key, f"{name} is not decided", "name a metric or a decided quantity")
        elif reader.parameters[name].choices:
            reader.findings.add(key, f"{name} is a choice among names", "name a metric or a decided number")
    elif f"define.{name}" not in reader.findings.broken:
        known_names = reader.countable_names(shape.decide)
        reader.findings.unknown(key, f"metric of {reader.model.name}", name, known_names)


def _front(reader: Reader, shape: Shape) -> None:
    goal, add = shape.objective, reader.findings.add
    if goal is None or goal.front is None:
        return
    front, names = goal.front, goal.minimize or goal.maximize or ()
    unread = any(reader.findings.unreadable(f"objective.{way}") for way in ("minimize", "maximize"))
    if len(names) < 2 and not unread:
        add("objective.front", "a front needs at least two objectives", 'write minimize = ["energy", "time"]')
    if front.points is not None and front.tolerance is not None:
        add("objective.front", "points and tolerance exclude each other", "keep one of them")
    if front.points is not None and front.points < 2:
        add(
            "objective.front.points",
            f"points = {front.points} is too few for a front",
            "write a whole number of at least 2",
        )
    if front.points is not None and front.points > MOST_POINTS_ASKED:
        add(
            "objective.front.points",
            f"points = {front.points:.6g} is too many for a front",
            f"keep to {MOST_POINTS_ASKED}",
        )
    if front.tolerance is not None and not 0 < front.tolerance < 1:
        add(
            "objective.front.tolerance",
            f"{front.tolerance:g} is not a tolerance",
            "write a number between 0 and 1",
        )


def _top(reader: Reader, shape: Shape) -> None:
    defined = {d.name for d in definitions_of(reader.model)}
    own = [x.name for x in reader.model.limits if x.name.removesuffix(NOT_NEGATIVE) not in defined]
    for i, name in enumerate(shape.waive):
        if not shape.valid and name in (PREFIX[:-1], *(f"{PREFIX}{x.name}" for x in reader.model.valid)):
            right = "leave it out; it is a limit only with valid = true"
            reader.findings.add(f"waive[{i}]", f"{name} is not in force", right)
        elif not waived(reader.model, (name,)):
            kind = f"limit of {reader.model.name} itself called"
            reader.findings.unknown(
                f"waive[{i}]", kind, name, dict.fromkeys([n.partition(".")[0] for n in own] + own)
            )
    if shape.gap is not None and not 0 < shape.gap < 1:
        right = "write a number between 0 and 1, such as 1e-6"
        reader.findings.add("gap", f"{shape.gap:g} is not a relative gap", right)


def waived(model: Model, asked: Iterable[str]) -> frozenset[str]:
    """Return the model's own limits that are set aside: by their names, or by that of their family ("range")."""
    own = [x.name for x in model.limits]
    return frozenset(n for a in asked for n in own if n == a or n.startswith(f"{a}."))


def _machines_to_choose(reader: Reader, shape: Shape, name: str) -> tuple[str, ...]:
    """Return the machines that a decision chooses from."""
    entry, key = shape.decide[name], f"decide.{name}"
    if not entry.values:
        right = f'[decide] {shown(name) if "." in name else name} = {{ values = ["…", "…"] }}'
        reader.findings.add(key, "there is no machine to choose", right)
        return ()
    asked = entry.model_dump(exclude_defaults=True, exclude={"values"}, exclude_none=True)
    if asked:
        wrong = f"a choice among machines has no {', '.join(asked)}"
        reader.findings.add(key, wrong, "keep values only")
    found = [
        v if isinstance(v, str) else str(v)
        for i, v in enumerate(entry.values)
        if known(reader.findings, f"{key}.values[{i}]", v)
    ]
    if len(found) < len(entry.values) or not distinct(reader, f"{key}.values", found, IN_LIST):
        reader.findings.broken.add("machine")
        return tuple(dict.fromkeys(found))
    return tuple(found)
