"""A model with definitions of a file's own: a plain ``Model``, made for one scenario.

Definitions that replace inputs or machine parameters are computed first, then the base model's equations, then what
is defined by its metrics. All of it is the arithmetic that models use, so whatever runs a model runs this one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

from dse.models import arithmetic
from dse.models.model import MACHINE_PREFIX, Model, ModelLimit
from dse.quantities import Quantity, registry
from dse.system.records import dataclass
from scenarios.define.compiling import Lift, Run, arguments, compiled, plain_lift, size_of_terms
from scenarios.define.functions import Range, range_limits, ranges
from scenarios.define.trees import Expression, names

SOURCE = "defined in the scenario"
_CUT = len(MACHINE_PREFIX)
NOT_NEGATIVE = ".not_negative"
DEFINED = ".defined"
# how far, as a part of its size, what has a value stays from an end at which it has none: more than limits are granted
DOMAIN_MARGIN = 1e-7


@dataclass(frozen=True, slots=True)
class Definition:
    """One line of [define].

    ``metric``: the quantity it makes; ``replaces``: the input or machine parameter of the base model that it stands
    for, under a question's name, None where the name is the file's own. ``label``: the unit that a plain number gets
    (counts of words, flops, messages). ``positive``: it is nowhere negative, as proved when it was read.
    """

    name: str
    text: str
    tree: Expression
    metric: Quantity
    replaces: Quantity | None = None
    label: str = ""
    positive: bool = True


@dataclass(frozen=True, slots=True)
class Guard:
    """A part of a definition, under a root or a logarithm, that is to stay where the definition has a value.

    ``pole``: at 0 itself it has none (a logarithm).
    """

    name: str
    tree: Expression
    pole: bool


@dataclass(frozen=True, slots=True)
class _Compiled:
    """The definitions as functions, in order: those before the base model runs and those behind it.

    ``sizes``: of those that must not be negative and could be. ``guards``: limits of what must not be either, so
    that a definition has a value. ``ranges``: of fitted models that they ask, with what
    each of these is asked at.
    """

    before: tuple[tuple[str, Run], ...]
    after: tuple[tuple[str, Run], ...]
    sizes: tuple[tuple[str, Run], ...]
    ranges: tuple[tuple[Range, tuple[Run, ...]], ...]
    guards: tuple[tuple[str, Run, Run, bool], ...]


class Equations:
    """The equations of a base model and of definitions, in one function; see the module."""

    def __init__(
        self,
        base: Model,
        definitions: tuple[Definition, ...],
        before: frozenset[str],
        used: frozenset[str],
        guards: tuple[Guard, ...] = (),
    ) -> None:
        """``definitions``: in an order in which each needs only earlier ones; ``before``: those the base needs.

        ``used``: names of numbers and base metrics that definitions use.
        """
        self.base, self.definitions, self.before, self.used = base, definitions, before, used
        self.guards = guards
        self.__doc__ = base.equations.__doc__
        self._inputs = tuple(n for n in used if not n.startswith(MACHINE_PREFIX))
        self._machine = tuple(n[_CUT:] for n in used if n.startswith(MACHINE_PREFIX))
        self._metrics = tuple(q.name for q in base.metrics if q.name in used)
        self._own = tuple(d.name for d in definitions)
        self._new_inputs = tuple(
            d.name for d in definitions if d.replaces is not None and not d.name.startswith(MACHINE_PREFIX)
        )
        self._new_machine = tuple(d.name for d in definitions if d.name.startswith(MACHINE_PREFIX))
        self._plain = self._compiled(plain_lift)
        self.after = self._plain.after
        self.signed = frozenset(d.name for d in definitions if not d.positive)

    def __reduce__(self) -> Any:
        return Equations, (self.base, self.definitions, self.before, self.used, self.guards)

    def _compiled(self, lift: Lift) -> _Compiled:
        runs = [(d.name, _labelled(compiled(d.tree, lift), d.label, lift)) for d in self.definitions]
        return _Compiled(
            tuple(r for r in runs if r[0] in self.before),
            tuple(r for r in runs if r[0] not in self.before),
            tuple(
                (d.name, size_of_terms(d.tree, d.metric.unit, lift))
                for d in self.definitions
                if _must_not_be_negative(d)
            ),
            tuple((r, arguments(r.function, r.of, lift)) for r in ranges(d.tree for d in self.definitions)),
            tuple(
                (name, compiled(g.tree, lift), size_of_terms(g.tree, None, lift), g.pole)
                for name, g in zip(guard_names(self.guards), self.guards, strict=True)
            ),
        )

    def __call__(self, g: Any) -> dict[str, Any]:
        """Return what the base model and the definitions give for a namespace as a model's equations get it."""
        runs = self._plain if isinstance(g.flop, float) else self._compiled(_quantity)
        given, machine = vars(g), vars(g.machine)
        at = {n: given[n] for n in self._inputs if n in given}
        for n in self._machine:
            if n in machine:
                at[MACHINE_PREFIX + n] = machine[n]
        for name, run in runs.before:
            at[name] = run(at)
        if self._new_machine:
            own = SimpleNamespace(**{**machine, **{n[_CUT:]: at[n] for n in self._new_machine}})
            g = SimpleNamespace(**{**given, **{n: at[n] for n in self._new_inputs}, "machine": own})
        elif self._new_inputs:
            g = SimpleNamespace(**{**given, **{n: at[n] for n in self._new_inputs}})
        found = dict(self.base.equations(g))
        for name in self._metrics:
            at[name] = found[name]
        for name, run in runs.after:
            at[name] = run(at)
        for name in self._own:
            found[name] = at[name]
        for name, run in runs.sizes:
            found[name + NOT_NEGATIVE] = arithmetic.not_negative(at[name], partial(run, at))
        for name, value, measure, pole in runs.guards:
            ratio = arithmetic.not_negative(value(at), partial(measure, at))
            # a design is judged by what it is; a search keeps away from a pole, which its tolerances would pass
            plain = isinstance(ratio, float) or hasattr(ratio, "dtype")
            found[name] = ratio if plain or not pole else ratio / (1.0 - DOMAIN_MARGIN)
        for reach, of in runs.ranges:
            found |= reach.ratios([x(at) for x in of])
        return found


def _quantity(value: float, unit: str) -> Any:
    return registry().Quantity(value, unit)


def _labelled(run: Run, label: str, lift: Lift) -> Run:
    if not label:
        return run
    unit = lift(1.0, label)
    return run if isinstance(unit, float) else lambda at: run(at) * unit


def _domain_limits(d: Definition) -> tuple[ModelLimit, ...]:
    """Return the limit that keeps what replaces a number from being negative, where nothing else does.

    Other ends of its domain are limits on the metric of that name.
    """
    if not _must_not_be_negative(d):
        return ()
    meaning = f"{d.name} is not negative"
    return (ModelLimit(f"{d.name}{NOT_NEGATIVE}", f"0 <= {d.name}", meaning, SOURCE),)


def _must_not_be_negative(d: Definition) -> bool:
    return d.replaces is not None and d.replaces.minimum == 0 and not d.positive


def guard_names(guards: Iterable[Guard]) -> list[str]:
    """Name the limits: "clock.defined", of further parts of one definition "clock.defined.2" and so on."""
    found: list[str] = []
    for guard in guards:
        name = f"{guard.name}{DEFINED}"
        many = sum(n == name or n.startswith(f"{name}.") for n in found)
        found.append(f"{name}.{many + 1}" if many else name)
    return found


def guarded(model: Model, guards: tuple[Guard, ...]) -> Model:
    """Return the model of a scenario with limits that keep its definitions where they have a value."""
    made = model.equations
    assert isinstance(made, Equations), "only definitions are guarded"
    formula = "0 <= what stands under a root or a logarithm"
    limits = tuple(
        ModelLimit(name, f"{formula} in {g.name}", f"{g.name} has a value", SOURCE)
        for name, g in zip(guard_names(guards), guards, strict=True)
    )
    equations = Equations(made.base, made.definitions, made.before, made.used, guards)
    return replace(model, equations=equations, limits=(*model.limits, *limits))


def size(model: Model, name: str, at: Mapping[str, Any], bound: Any) -> Any:
    """Return the size of the parts of what may be negative (of a metric itself); None of every other quantity.

    ``at``: every number of the question and every metric, by name. A limit of 0 on a difference is measured by it.
    ``bound``: of the limit. Equations do not tell the parts of a metric: beside a bound of 0 one SI unit counts as
    one, as it does for other metrics.
    """
    if not may_be_negative(model, name):
        return None
    found = next((d for d in definitions_of(model) if d.name == name), None)
    if found is None:
        try:
            return abs(at[name]) + 1.0 * (bound == 0.0)
        except (TypeError, arithmetic.CannotTake):
            # of what is not a number yet any size will do
            return 1.0
    return size_of_terms(found.tree, found.metric.unit, plain_lift)(at)


def recomputed(model: Model, at: Mapping[str, Any]) -> dict[str, Any]:
    """Return the definitions that use metrics, computed again from numbers and metrics that have changed since."""
    if not isinstance(model.equations, Equations):
        return {}
    now = dict(at)
    for name, run in model.equations.after:
        now[name] = run(now)
    return {name: now[name] for name, _ in model.equations.after}


def may_be_negative(model: Model, name: str) -> bool:
    """Tell whether a quantity is a definition that may be negative, or a metric whose domain is not from 0 on."""
    return name in signed(model)


def signed(model: Model) -> frozenset[str]:
    """Return the names of all such quantities."""
    if isinstance(model.equations, Equations):
        return model.equations.signed | signed(model.equations.base)
    return frozenset(m.name for m in model.metrics if m.minimum < 0.0)


def composed(base: Model, definitions: Iterable[Definition], own: Own, before: frozenset[str]) -> Model:
    """Return the model of a scenario with definitions.

    ``definitions``: in an order in which each needs only earlier ones; ``own``: the file's own numbers; ``before``:
    names of the definitions that the base model needs.
    """
    ordered = tuple(definitions)
    defined = {d.name for d in ordered}
    used = own.used
    inputs = (_made_required(q, q.name in used) for q in base.inputs if q.name not in defined)
    machine = (
        _made_required(q, MACHINE_PREFIX + q.name in used)
        for q in base.machine
        if MACHINE_PREFIX + q.name not in defined or MACHINE_PREFIX + q.name in own.kept
    )
    return replace(
        base,
        inputs=(*inputs, *own.inputs),
        machine=(*machine, *own.machine),
        metrics=(*base.metrics, *(d.metric for d in ordered)),
        limits=(
            *base.limits,
            *(x for d in ordered for x in _domain_limits(d)),
            *range_limits(d.tree for d in ordered),
        ),
        equations=Equations(base, ordered, before, used),
        one_of=tuple(g for g in base.one_of if not defined.intersection(g)),
        any_of=tuple(g for g in base.any_of if not defined.intersection(g)),
        unknowns=tuple(u for u in base.unknowns if u.name not in defined),
    )


@dataclass(frozen=True, slots=True)
class Own:
    """What a file adds: numbers under [given] and [decide], numbers of machine tables; and what definitions use.

    ``kept``: machine parameters that are defined by their own catalogue value, which must stay readable.
    """

    inputs: tuple[Quantity, ...]
    machine: tuple[Quantity, ...]
    used: frozenset[str]
    kept: frozenset[str]


def _made_required(q: Quantity, used: bool) -> Quantity:
    """A number that a definition uses must be there."""
    return replace(q, optional=False) if used and q.optional else q


def optional_users(model: Model, parameter: str) -> list[str]:
    """Return the definitions that use a machine parameter which the model itself can do without; else none."""
    made = model.equations
    if not isinstance(made, Equations) or any(
        q.name == parameter and not q.optional for q in made.base.machine
    ):
        return []
    return [d.name for d in made.definitions if MACHINE_PREFIX + parameter in names(d.tree)]


def domain(model: Model, name: str) -> tuple[float | None, float | None]:
    """Return the ends that a definition must keep to: those of the domain of what it replaces, where it could pass."""
    d = next((d for d in definitions_of(model) if d.name == name), None)
    if d is None or d.replaces is None:
        return None, None
    low, high = d.replaces.minimum, d.replaces.maximum
    return low if low > 0 else None, high if high < math.inf else None


def definitions_of(model: Model) -> tuple[Definition, ...]:
    """Return the definitions a model was made with; none where it is not a composed one."""
    return model.equations.definitions if isinstance(model.equations, Equations) else ()
