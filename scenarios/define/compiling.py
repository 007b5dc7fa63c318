"""Expressions as functions of the numbers by name, on any arithmetic that models run on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from dse.models import arithmetic
from dse.models.described.fitted import Function
from dse.quantities import to_si
from scenarios.define import dimensions
from scenarios.define.trees import Call, Chain, Expression, Literal, Name, Negative, Power

Run = Callable[[Mapping[str, Any]], Any]
Lift = Callable[[float, str], Any]
HALF = Literal("0.5", "", 0)
_TINY = 1e-300


def plain_lift(value: float, _unit: str) -> float:
    """Return an SI number as it is."""
    return value


def literal(of: Literal) -> float:
    """Return the SI value of a literal whose unit is known to be right."""
    if not of.unit:
        return float(of.number)
    return to_si(f"{of.number} {of.unit}", dimensions.unit(dimensions.read(of.unit)))


def compiled(tree: Expression, lift: Lift) -> Run:
    """Return an expression as a function of the numbers by name; ``lift`` makes a number of an SI value and a unit."""
    match tree:
        case Literal():
            unit = dimensions.unit(dimensions.read(tree.unit)) if tree.unit else ""
            number = literal(tree)
            value = lift(number, unit) if unit else number
            return lambda _at: value
        case Name(name, _):
            return lambda at: at[name]
        case Negative(of, _):
            inner = compiled(of, lift)
            return lambda at: -inner(at)
        case Chain(parts, _):
            return _chained([(sign, compiled(x, lift)) for sign, x in parts])
        case Power(base, exponent, _):
            return _powered(base, exponent, lift)
        case Call(_, of, _, Function() as fitted, _):
            return _own_function(fitted, of, lift)
        case Call(function, of, _):
            return _function_of_values(function, of, lift)


def _chained(parts: list[tuple[str, Run]]) -> Run:
    if len(parts) == 2:
        (_, a), (sign, b) = parts
        match sign:
            case "+":
                return lambda at: a(at) + b(at)
            case "-":
                return lambda at: arithmetic.difference(a(at), b(at))
            case "*":
                return lambda at: a(at) * b(at)
        return lambda at: a(at) / b(at)
    signs, runs = [sign for sign, _ in parts], [run for _, run in parts]
    return lambda at: _joined(signs, (run(at) for run in runs))


def _joined(signs: Sequence[str], values: Iterable[Any]) -> Any:
    """Join the values of the parts of a chain by their signs, from the first on."""
    total: Any = None
    for k, (sign, part) in enumerate(zip(signs, values, strict=True)):
        if k == 0:
            total = part
        elif sign == "*":
            total = total * part
        elif sign == "+":
            total = total + part
        elif sign == "/":
            total = total / part
        else:
            total = arithmetic.difference(total, part)
    return total


def _powered(base: Expression, exponent: Expression, lift: Lift) -> Run:
    number = constant(exponent)
    if number is None or number.is_integer():
        of = compiled(base, lift)
        if number is not None:
            fixed = int(number)
            return lambda at: of(at) ** fixed
        to = compiled(exponent, lift)
        return lambda at: arithmetic.power(of(at), to(at))
    signs, runs = _parts_of_sum(base, lift)
    nothing = _no_size(None, lift)

    def run(at: Mapping[str, Any]) -> Any:
        # a part may hold roots, too: each is worked out once, for the sum and for its size
        values = [part(at) for part in runs]
        return arithmetic.fractional_power(
            _joined(signs, values), number, lambda: _size_of_values(values, nothing)
        )

    return run


def constant(tree: Expression) -> float | None:
    """Return the value of what is made of plain literals alone; None of anything else."""
    return float(compiled(tree, plain_lift)({})) if _is_constant(tree) else None


def _is_constant(tree: Expression) -> bool:
    match tree:
        case Literal():
            return True
        case Negative(of, _):
            return _is_constant(of)
        case Chain(parts, _):
            return all(_is_constant(x) for _, x in parts)
        case Power(base, exponent, _):
            return _is_constant(base) and _is_constant(exponent)
    return False


def size_of_terms(tree: Expression, unit: str | None, lift: Lift) -> Run:
    """Return how large the parts of a sum are together: what a difference is measured against.

    ``unit``: of the sum; None where it is not known.
    """
    _, runs = _parts_of_sum(tree, lift)
    nothing = _no_size(unit, lift)
    return lambda at: _size_of_values([part(at) for part in runs], nothing)


def _parts_of_sum(tree: Expression, lift: Lift) -> tuple[list[str], list[Run]]:
    """Return the parts of a sum with their signs; what is no sum is its only part."""
    sums = tree.parts if isinstance(tree, Chain) and tree.parts[0][0] == "+" else (("+", tree),)
    return [sign for sign, _ in sums], [compiled(x, lift) for _, x in sums]


def _no_size(unit: str | None, lift: Lift) -> Any:
    """Return next to nothing of a unit, as nothing over nothing is no number; None where the unit is not known."""
    return None if unit is None and lift is not plain_lift else lift(_TINY, unit) if unit else _TINY


def _size_of_values(values: Sequence[Any], nothing: Any) -> Any:
    size = 0.0 * values[0] if nothing is None else nothing
    for one in values:
        size = size + arithmetic.maximum(one, -one)
    return size


def _function_of_values(function: str, of: tuple[Expression, ...], lift: Lift) -> Run:
    if function == "sqrt":
        return _powered(of[0], HALF, lift)
    runs = [compiled(x, lift) for x in of]
    first, how = runs[0], getattr(arithmetic, function)
    if len(of) == 1:
        return lambda at: how(first(at))
    return lambda at: how(*(x(at) for x in runs))


def _own_function(function: Function, of: tuple[Expression, ...], lift: Lift) -> Run:
    takes, unit = arguments(function, of, lift), lift(1.0, function.metric.unit)
    if isinstance(unit, float):
        return lambda at: function.at([x(at) for x in takes])
    return lambda at: function.at([x(at) for x in takes]) * unit


def arguments(function: Function, of: tuple[Expression, ...], lift: Lift) -> tuple[Run, ...]:
    """Return what a fitted model is asked at as plain SI numbers, which its coefficients belong to."""
    return tuple(
        _plain_number(compiled(x, lift), lift(1.0, c.unit)) for x, c in zip(of, function.takes, strict=True)
    )


def _plain_number(run: Run, unit: Any) -> Run:
    return run if isinstance(unit, float) else lambda at: run(at) / unit
