"""What a model is: named quantities and the equations between them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Mapping
from dataclasses import field, replace
from typing import Any

from dse.models.shared.spaces import Space
from dse.models.shared.starts import Start
from dse.models.shared.structure import Parts, Structure
from dse.models.shared.sums import Held, Sum
from dse.names import UnknownName
from dse.quantities import Quantity
from dse.system.records import dataclass

MACHINE_PREFIX = "machine."


class NoMapping(TypeError):
    """What equations return is no mapping of names to numbers; the message says what it is."""


@dataclass(frozen=True, slots=True)
class ModelLimit:
    """A limit that belongs to a model: the equations return a ratio under this name that must be at most 1.

    ``always``: it is part of the definition of a design (shares sum to 1), so it is no part of a conflict where some
    design meets all limits of that kind.
    ``divides``: the limit requires that one number divides another (``arithmetic.divides``), so the ratio does not
    measure a distance; the name of the number to be divided, then the names whose product divides it. ``either``: or
    the other way round. ``spare``: it only forbids more of something than a design needs. One design for many samples
    has what the worst of them needs, which is more than others do: it is no limit there.
    """

    name: str
    formula: str
    meaning: str
    source: str
    always: bool = False
    divides: tuple[str, ...] = ()
    either: bool = False
    spare: bool = False


@dataclass(frozen=True, slots=True)
class Unknown:
    """An input that is decided unless the question gives it.

    ``integer``: in whole numbers, also if it is given or swept; ``why`` gives the reason.
    """

    name: str
    integer: bool = False
    why: str = ""


@dataclass(frozen=True, slots=True)
class Spared:
    """What a question may do without: machine ``parameters`` that only some metrics need.

    ``told``: these metrics in words; ``without``: takes the model and returns it with these parameters optional, and
    without these metrics. Its equations leave them out where the machine lacks one of the parameters. In the model of
    such a question ``parameters`` are those that its machine lacks, and ``metrics`` what is left out.
    """

    parameters: tuple[str, ...]
    told: str
    without: Callable[[Model], Model]
    metrics: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Model:
    """A model: its inputs, machine parameters, metrics and limits, and the equations between them.

    ``equations`` takes a namespace with one attribute per input, ``machine`` (a namespace of machine
    parameters) and the labels ``flop``, ``word``, ``message``, ``instruction``, ``byte`` (1, or units where units are
    checked). It returns one entry per metric and one ratio (<= 1) per limit; a limit is absent if the machine
    does not state what it needs. ``notes``: further text of its page.

    ``black_box``: why the equations take plain numbers only, one design at a time (they look up a table, or call a
    simulator); empty if they are arithmetic that works on symbols, intervals and arrays.

    ``one_of``: groups of optional inputs of which a question gives exactly one. ``any_of``: groups of inputs of
    which at least one must be above 0. ``needs``: the optional machine parameters that become necessary with the texts
    chosen for inputs that are choices among names; ``beside``: those that become necessary with the machine parameters
    that are stated, each with these, where a question itself states one of them. ``sums``: the parts of totals.
    ``work``: inputs, machine parameters and metrics whose product is the flops of a run; empty: not declared.
    ``further``: optional parameters ("bytes_L2", "machine.torus_dimensions") with which it is another model, with other
    metrics, that may need more of a machine; ``extend`` takes the model and those of them that a question states, and
    returns the model of this question. It raises ValueError ("wrong; right") if they cannot be combined.
    ``spared``: machine parameters that a question does without which asks for no metric that needs them, if its
    machine lacks one of them.
    ``partless``: machine parameters that have no effect in this question, each with why.
    ``hardware``: what a run keeps busy, from which its cost and its carbon follow (``dse.models.shared.economics``);
    empty: not declared. ``valid``: the range in which the model was derived, as limits that apply only if a
    question asks for it (``dse.models.shared.validity``); each has the name of a metric that is a ratio <= 1 inside.
    ``start``: the question of a starter file, if the defaults are not enough.
    ``checked``: the metric that says whether answers were checked near a design; if it is named, answers also state
    the sources of the numbers of their machine.
    """

    name: str
    title: str
    source: str
    machine: tuple[Quantity, ...]
    inputs: tuple[Quantity, ...]
    metrics: tuple[Quantity, ...]
    limits: tuple[ModelLimit, ...]
    equations: Callable[[Any], Mapping[str, Any]]
    notes: str = ""
    one_of: tuple[tuple[str, ...], ...] = ()
    any_of: tuple[tuple[str, ...], ...] = ()
    needs: Callable[[Mapping[str, str]], tuple[str, ...]] | None = None
    beside: Callable[[Container[str]], Mapping[str, tuple[str, ...]]] | None = None
    unknowns: tuple[Unknown, ...] = ()
    unused: Callable[[Mapping[str, str]], Container[str]] | None = None
    structure: Structure | None = None
    expand: Callable[[Parts], Model] | None = None
    black_box: str = ""
    sums: tuple[Sum, ...] = ()
    work: tuple[str, ...] = ()
    further: tuple[str, ...] = ()
    extend: Callable[[Model, frozenset[str]], Model] | None = None
    spared: Spared | None = None
    partless: tuple[tuple[str, str], ...] = ()
    hardware: tuple[Held, ...] = ()
    valid: tuple[ModelLimit, ...] = ()
    start: Start | None = field(default=None, compare=False)
    checked: str = ""

    def parameters(self) -> dict[str, Quantity]:
        """All that goes in, by the name a scenario uses: inputs plain, machine parameters ``machine.x``."""
        return {q.name: q for q in self.inputs} | {MACHINE_PREFIX + q.name: q for q in self.machine}

    @property
    def always(self) -> frozenset[str]:
        """Names of the limits without which there is no design."""
        return frozenset(x.name for x in self.limits if x.always)

    def metric(self, name: str) -> Quantity:
        """Return the metric of that name; raises KeyError where there is none."""
        return {q.name: q for q in self.metrics}[name]


def extended(model: Model, stated: Iterable[str]) -> Model:
    """Return the model of a question that states these parameters; names that are not ``further`` are ignored.

    Raises ValueError as ``extend`` does.
    """
    found = frozenset(stated).intersection(model.further)
    if not found or model.extend is None:
        return model
    rest = tuple(n for n in model.further if n not in found)
    return replace(model.extend(model, found), further=rest, extend=None)


def sparing(model: Model, stated: Container[str], asked: Collection[str]) -> Model:
    """Return the model of a question without the metrics for which its machine states too little.

    ``stated``: names of all that the question and its machine state; ``asked``: names that the question uses. Where
    one of these is such a metric, or a parameter that only they need, it is the whole model.
    """
    spared = model.spared
    if spared is None or all(MACHINE_PREFIX + n in stated for n in spared.parameters):
        return model
    less = spared.without(model)
    names = {q.name for q in model.metrics}.difference(q.name for q in less.metrics)
    left_out = names | {n.partition(".")[0] for n in names}
    if not left_out.union(MACHINE_PREFIX + n for n in spared.parameters).isdisjoint(asked):
        return model
    lacking = tuple(n for n in spared.parameters if MACHINE_PREFIX + n not in stated)
    return replace(less, spared=replace(spared, parameters=lacking, metrics=frozenset(left_out)))


def left_out(model: Model) -> str:
    """Say which metrics a question does without, and what its machine lacks for them; "" where it has all."""
    spared = model.spared
    if spared is None or not spared.metrics:
        return ""
    return f"{spared.told}: the machine has no {' and no '.join(spared.parameters)}"


def unstated(model: Model, stated: Container[str]) -> set[str]:
    """Return the optional numbers that a question does not state, for want of which a limit may be absent.

    ``stated``: names of all that it states. What is given in place of another, and what makes it another model, is not
    among them.
    """
    instead = {n for group in model.one_of if any(o in stated for o in group) for n in group}
    absent = {n for n, q in model.parameters().items() if q.optional and not q.choices and n not in stated}
    return absent - instead.union(model.further)


def not_returned(model: Model, kind: str, name: str) -> str:
    """Say of a metric or limit (``kind``) that the equations should return it, and do not."""
    return f"model {model.name} declares {kind} {name}, and its equations do not return it"


def refuse_left_out(model: Model, names: Iterable[str]) -> None:
    """Raise UnknownName for the first of these metrics that is left out since the machine lacks what it needs."""
    spared = model.spared
    if spared is None:
        return
    for name in names:
        if name in spared.metrics:
            lacking = ", ".join(spared.parameters)
            right = f"supply it, as in machine = {{ base = …, {spared.parameters[0]} = … }}, or ask for other metrics"
            raise UnknownName(f"the machine has no {lacking}, which {model.name} needs for {name}; {right}")


def evaluate(model: Model, values: Mapping[str, Any], **labels: Any) -> Mapping[str, Any]:
    """Evaluate a model's equations with any arithmetic.

    ``values``: one entry per name of ``model.parameters()`` (absent ones must not be needed by the
    equations): floats, arrays, Pyomo expressions, posynomials, intervals or pint quantities; for a black box
    floats, or arrays that are evaluated one design after another, as of equations that refuse arrays of numbers (they
    look at a given number that varies here). ``labels``: flop, word, message, instruction, byte.
    """
    if not model.black_box:
        try:
            return _evaluated_metrics(model, values, labels)
        except ArithmeticError as problem:
            if not (isinstance(problem, TypeError) and _numbers_and_arrays(values)):
                raise
    from dse.models.described import pointwise  # with NumPy, which listing models does without

    return pointwise.run(lambda at: _evaluated_metrics(model, at, labels), values)


def _numbers_and_arrays(values: Mapping[str, Any]) -> bool:
    """Whether all is plain numbers and texts but for some arrays of numbers."""
    arrays = [v for v in values.values() if not isinstance(v, int | float | str)]
    return bool(arrays) and all(type(v).__module__ == "numpy" and v.dtype.kind == "f" for v in arrays)


def _evaluated_metrics(
    model: Model, values: Mapping[str, Any], labels: Mapping[str, Any]
) -> Mapping[str, Any]:
    cut = len(MACHINE_PREFIX)
    machine = {n[cut:]: v for n, v in values.items() if n.startswith(MACHINE_PREFIX)}
    inputs = {n: v for n, v in values.items() if not n.startswith(MACHINE_PREFIX)}
    counted = {"flop": 1.0, "word": 1.0, "message": 1.0, "instruction": 1.0, "byte": 1.0} | dict(labels)
    try:
        found = model.equations(Space(machine=Space(**machine), **inputs, **counted))
    except (TypeError, ValueError) as problem:
        if isinstance(problem, ArithmeticError) or not _refused(problem, values):
            raise
        from dse.models.arithmetic import CannotTake  # with NumPy

        raise CannotTake(f"{type(problem).__name__}: {problem}") from problem
    if not isinstance(found, Mapping):
        what = "nothing" if found is None else f"a {type(found).__name__}"
        raise NoMapping(f"the equations return {what}, not a mapping of names to numbers")
    return found


def _refused(problem: Exception, values: Mapping[str, Any]) -> bool:
    """Whether equations, not what computes with them, refuse values that are not plain numbers."""
    if all(isinstance(v, int | float | str) for v in values.values()):
        return False
    at = problem.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    home = str(at.tb_frame.f_globals.get("__name__", "")) if at is not None else ""
    return home.partition(".")[0] not in {"formulations", "solvers", "results"}
