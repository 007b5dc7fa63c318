"""The models as a plain library: numbers in, metrics out, nothing of the solvers, scenarios or stores is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dse import names
from dse.models import model as models
from dse.models import registry
from dse.models.model import Model
from dse.models.shared.spaces import Space
from dse.quantities import Quantity


def evaluate(model: Model | str, values: Mapping[str, Any], **labels: Any) -> Mapping[str, Any]:
    """Evaluate a model's equations: its metrics, and one ratio for each of its limits, at most 1 if the limit holds.

    ``model``: a model or its name. ``values``: numbers in SI units by the names of ``model.parameters()``, machine
    parameters as ``machine.NAME``: floats, or arrays that broadcast against each other; also quantities of pint,
    intervals, posynomials, Pyomo expressions. Absent values have their defaults. ``labels``: the values of ``flop``,
    ``word``, ``message``, ``instruction`` (1; units where units are checked). Results are SI floats or arrays
    of the common shape.

    Raises UnknownName if there is no such model, and ValueError if a needed value is missing, with its name. For a
    model given by its name, unknown names of values raise UnknownName, and texts that are not a choice ValueError.

    >>> from dse import machines, models
    >>> titan = {f"machine.{n}": v for n, v in machines.get("gtx-titan-choi2014").parameters.items()}
    >>> found = models.evaluate("roofline", {"flops": 1e12, "intensity": 4.0} | titan)
    >>> f"{found['time']:.4f} s, {found['energy']:.1f} J"
    '1.0460 s, 225.8 J'
    """
    made = registry.get(model) if isinstance(model, str) else model
    known = made.parameters()
    if isinstance(model, str):
        # models made for a question may read more than they declare
        values = {n: _as_choice_text(known.get(n), v) for n, v in values.items()}
        _refuse_unknown(made, known, values)
    given = {n: q.default for n, q in known.items() if q.default is not None and n not in values}
    try:
        return models.evaluate(made, {**values, **given} if given else values, **labels)
    except AttributeError as lacks:
        if not isinstance(lacks.obj, Space):
            raise
        own = str(lacks.name)
        name = own if hasattr(lacks.obj, "machine") else f"{models.MACHINE_PREFIX}{own}"
        q = known.get(name)
        about = "" if q is None else f": {q.meaning}, in {q.unit or 'plain numbers'}"
        raise ValueError(f"{made.name} needs {name}{about}") from None


def _as_choice_text(q: Quantity | None, value: Any) -> Any:
    """Return a value, as its text where the quantity is a choice among texts; ValueError where it is none of them."""
    if q is None or not q.choices:
        return value
    if str(value) not in q.choices:
        raise ValueError(f"{q.name} is {value!r}; it is one of {', '.join(map(repr, q.choices))}")
    return str(value)


def _refuse_unknown(made: Model, known: Mapping[str, Quantity], values: Mapping[str, Any]) -> None:
    """Refuse names that nothing reads; whole machines may state more than a model needs."""
    known_too = {*known, *made.further}
    for name in values:
        # names with dots are machine parameters, or rows of a list
        if "." not in name and name not in known_too:
            raise names.unknown(f"quantity of {made.name}", name, known)
