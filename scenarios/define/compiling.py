"""Expressions as functions of the numbers by name, on any arithmetic that models run on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
    first, rest = parts[0][1], parts[1:]

    def run(at: Mapping[str, Any]) -> Any:
        total = first(at)
        for sign, part in rest:
            if sign == "*":
                total = total * part(at)
            elif sign == "+":
                total = total + part(at)
            elif sign == "/":
                total = total / part(at)
            else:
                total = arithmetic.difference(total, part(at))
        return total

    return run


def _powered(base: Expression, exponent: Expression, lift: Lift) -> Run:
    of = compiled(base, lift)
    number = constant(exponent)
    if number is None:
        to = compiled(exponent, lift)
        return lambda at: arithmetic.power(of(at), to(at))
    if number.is_integer():
        fixed = int(number)
        return lambda at: of(at) ** fixed
    size = size_of_terms(base, None, lift)
    return lambda at: arithmetic.fractional_power(of(at), number, lambda: size(at))


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
    sums = tree.parts if isinstance(tree, Chain) and tree.parts[0][0] == "+" else (("+", tree),)
    runs = [compiled(x, lift) for _, x in sums]
    # nothing over nothing would not be a number
    nothing = None if unit is None and lift is not plain_lift else lift(_TINY, unit) if unit else _TINY

    def run(at: Mapping[str, Any]) -> Any:
        size = 0.0 * runs[0](at) if nothing is None else nothing
        for part in runs:
            one = part(at)
            size = size + arithmetic.maximum(one, -one)
        return size

    return run


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
