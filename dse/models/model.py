"""What a model is: named quantities and the equations between them."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from dse.models.shared.spaces import Space
from dse.models.shared.starts import Start
from dse.models.shared.structure import Parts, Structure
from dse.models.shared.sums import Held, Sum
from dse.quantities import Quantity

MACHINE_PREFIX = "machine."


@dataclass(frozen=True, slots=True)
class ModelLimit:
    """A limit that belongs to a model: the equations return a ratio under this name that must be <= 1.

    ``always``: it says what a design is (shares come to one), so that it is part of no conflict. ``divides``: one
    number divides another or does not (``arithmetic.divides``), so that the ratio is not a measure of what is missing;
    the names of the number to be divided, then of those whose product divides it. ``either``: or the other way round.
    """

    name: str
    formula: str
    meaning: str
    source: str
    always: bool = False
    divides: tuple[str, ...] = ()
    either: bool = False


@dataclass(frozen=True, slots=True)
class Unknown:
    """An input that is decided wherever nothing else is said of it.

    ``integer``: in whole numbers, also where it is given or swept; ``why`` says what makes it so.
    """

    name: str
    integer: bool = False
    why: str = ""


@dataclass(frozen=True, slots=True)
class Model:
    """One model family: what goes in, what comes out, what always holds.

    ``equations`` takes a namespace with one attribute per input, ``machine`` (a namespace of machine
    parameters) and the labels ``flop``, ``word``, ``message``, ``instruction`` (1, or units where units are
    proven); it returns one entry per metric and one ratio (<= 1) per limit; a limit is absent where the machine
    does not state what it needs. ``notes``: what else its page should say.

    ``black_box``: why the equations take plain numbers only, one design at a time (a table is looked up, a
    simulator called); empty where they are arithmetic that symbols, intervals and arrays may run through.

    ``one_of``: groups of optional inputs of which a question gives exactly one. ``any_of``: groups of inputs of
    which at least one must be above 0, or there is nothing to run. ``needs``: the optional machine parameters that
    become necessary with the texts chosen for such inputs as are choices among names. ``sums``: what totals are made
    of. ``work``: inputs, machine parameters and metrics whose product is the flops of a run; empty: not said so.
    ``further``: optional parameters ("bytes_L2", "machine.torus_dimensions") with which it is another model, of other
    metrics, that may need more of a machine; ``extend`` takes the model and those of them that a question states, and
    returns the model of this question. It raises ValueError ("wrong; right") where they do not go together.
    ``hardware``: what a run keeps busy, on which its cost and its carbon rest (``dse.models.shared.economics``);
    empty: not said so. ``valid``: the range in which it was derived, as limits that are in force only where a
    question asks for it (``dse.models.shared.validity``); each is called like a metric that is a ratio <= 1 inside.
    ``start``: the question of a starter file, where its numbers are not simply the defaults.
    ``checked``: the metric that says whether answers were checked near a design; where it is named, answers also say
    where the numbers of their machine come from.
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
    unknowns: tuple[Unknown, ...] = ()
    unused: Callable[[Mapping[str, str]], Container[str]] | None = None
    structure: Structure | None = None
    expand: Callable[[Parts], Model] | None = None
    black_box: str = ""
    sums: tuple[Sum, ...] = ()
    work: tuple[str, ...] = ()
    further: tuple[str, ...] = ()
    extend: Callable[[Model, frozenset[str]], Model] | None = None
    hardware: tuple[Held, ...] = ()
    valid: tuple[ModelLimit, ...] = ()
    start: Start | None = field(default=None, compare=False)
    checked: str = ""

    def parameters(self) -> dict[str, Quantity]:
        """All that goes in, by the name a scenario uses: inputs plain, machine parameters ``machine.x``."""
        return {q.name: q for q in self.inputs} | {MACHINE_PREFIX + q.name: q for q in self.machine}

    def metric(self, name: str) -> Quantity:
        """Return the metric of that name; raises KeyError where there is none."""
        return {q.name: q for q in self.metrics}[name]


def extended(model: Model, stated: Iterable[str]) -> Model:
    """Return the model of a question that states these parameters; names that are not ``further`` play no part.

    Raises ValueError as ``extend`` does.
    """
    found = frozenset(stated).intersection(model.further)
    if not found or model.extend is None:
        return model
    rest = tuple(n for n in model.further if n not in found)
    return replace(model.extend(model, found), further=rest, extend=None)


def evaluate(model: Model, values: Mapping[str, Any], **labels: Any) -> Mapping[str, Any]:
    """Run a model's equations on any arithmetic.

    ``values``: one entry per name of ``model.parameters()`` (absent ones must not be needed by the
    equations): floats, arrays, Pyomo expressions, posynomials, intervals or pint quantities; of a black box
    floats, or arrays that are gone through one design after another. ``labels``: flop, word, message, instruction.
    """
    if model.black_box:
        from dse.models.described import pointwise  # with NumPy, which listing models does without

        return pointwise.run(lambda at: _run(model, at, labels), values)
    return _run(model, values, labels)


def _run(model: Model, values: Mapping[str, Any], labels: Mapping[str, Any]) -> Mapping[str, Any]:
    cut = len(MACHINE_PREFIX)
    machine = {n[cut:]: v for n, v in values.items() if n.startswith(MACHINE_PREFIX)}
    inputs = {n: v for n, v in values.items() if not n.startswith(MACHINE_PREFIX)}
    counted = {"flop": 1.0, "word": 1.0, "message": 1.0, "instruction": 1.0} | dict(labels)
    try:
        return model.equations(Space(machine=Space(**machine), **inputs, **counted))
    except (TypeError, ValueError) as problem:
        if isinstance(problem, ArithmeticError) or not _refused(problem, values):
            raise
        from dse.models.arithmetic import CannotTake  # with NumPy

        raise CannotTake(f"{type(problem).__name__}: {problem}") from problem


def _refused(problem: Exception, values: Mapping[str, Any]) -> bool:
    """Whether equations, not what computes with them, refuse values that are not plain numbers."""
    if all(isinstance(v, int | float | str) for v in values.values()):
        return False
    at = problem.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    home = str(at.tb_frame.f_globals.get("__name__", "")) if at is not None else ""
    return home.partition(".")[0] not in {"formulations", "solvers", "results"}
