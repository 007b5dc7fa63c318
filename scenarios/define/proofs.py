"""What an expression means, proved when it is read: its dimension, whether it can be negative, its constants.

Every mistake is an ``ExpressionError`` with its place, what was found there and what was expected.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable

from dse.models.described.fitted import Function
from dse.quantities import UnitError, kind
from dse.system.records import dataclass
from scenarios.define import dimensions
from scenarios.define.compiling import literal
from scenarios.define.dimensions import NONE, Dimension
from scenarios.define.expressions import ExpressionError
from scenarios.define.trees import Call, Chain, Expression, Literal, Name, Negative, Power

MOST_PROVED_POWER = 99
_SIGNS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}


@dataclass(frozen=True, slots=True)
class Meaning:
    """What is known of a quantity before it has a value.

    ``positive``: it is nowhere negative; ``value``: its SI number, where it is made of literals only.
    """

    dimension: Dimension
    positive: bool = True
    value: float | None = None

    @property
    def unit(self) -> str:
        """The SI unit of its values."""
        return dimensions.unit(self.dimension)

    @property
    def told(self) -> str:
        """What it measures, for a message: "an energy (J)"."""
        return told(self.dimension)


Known = Callable[[str], Meaning | str]
"""What a name means; where nothing is called so, what is wrong and right, with a line between."""


def told(dimension: Dimension) -> str:
    """Say what a dimension measures, with its SI unit."""
    unit = dimensions.unit(dimension)
    words = kind(unit)
    return f"a quantity in {unit}" if words.startswith("a quantity of dimension") else words


def prove(text: str, tree: Expression, known: Known) -> Meaning:
    """Return what an expression means. Raises ExpressionError."""
    return _Proof(text, known).of(tree)


@dataclass(frozen=True, slots=True)
class _Proof:
    text: str
    known: Known

    def wrong(self, at: int, wrong: str, right: str = "") -> ExpressionError:
        return ExpressionError(self.text, at, wrong, right)

    def of(self, tree: Expression) -> Meaning:
        match tree:
            case Literal():
                return self.literal(tree)
            case Name(name, at):
                found = self.known(name)
                if isinstance(found, str):
                    wrong, _, right = found.partition("\n")
                    raise self.wrong(at, wrong, right)
                return found
            case Negative(of, _):
                inner = self.of(of)
                value = None if inner.value is None else -inner.value
                return Meaning(inner.dimension, value is not None and value >= 0, value)
            case Chain(parts, places):
                return self.chain(parts, places)
            case Power(base, exponent, at):
                return self.power(self.of(base), self.of(exponent), at)
            case Call(_, of, _, Function() as fitted, _):
                return self.fitted(fitted, of)
            case Call(function, of, at):
                return self.call(function, [self.of(x) for x in of], at)

    def literal(self, tree: Literal) -> Meaning:
        try:
            dimension = dimensions.read(tree.unit) if tree.unit else NONE
            value = literal(tree)
        except UnitError as error:
            right = "" if isinstance(self.known(tree.unit), str) else f"write {tree.number} * {tree.unit}"
            wrong, _, more = str(error).partition("; ")
            raise self.wrong(
                tree.at, wrong, right or more or "`dse schema` and the docs list the units"
            ) from None
        except OverflowError:
            value, dimension = math.inf, NONE
        if not math.isfinite(value):
            raise self.wrong(tree.at, "the number is too large", "write a number below 1e308")
        return Meaning(dimension, True, value)

    def chain(self, parts: tuple[tuple[str, Expression], ...], places: tuple[int, ...]) -> Meaning:
        total = self.of(parts[0][1])
        for (sign, part), at in zip(parts[1:], places[1:], strict=True):
            total = self.pair(total, sign, self.of(part), at)
        return total

    def pair(self, a: Meaning, sign: str, b: Meaning, at: int) -> Meaning:
        if sign == "/" and b.value == 0:
            raise self.wrong(at, "this divides by zero")
        value = self.value(_SIGNS[sign], [a, b], at)
        if sign in "+-":
            if a.dimension != b.dimension:
                wrong = f"{a.told} and {b.told} do not add up"
                raise self.wrong(at, wrong, _repair(a.dimension, b.dimension))
            positive = (a.positive and b.positive and sign == "+") if value is None else value >= 0
            return Meaning(a.dimension, positive, value)
        found = dimensions.times(a.dimension, b.dimension, 1 if sign == "*" else -1)
        return Meaning(self.small(found, at), a.positive and b.positive, value)

    def small(self, found: Dimension, at: int) -> Dimension:
        if any(abs(e) > dimensions.MOST_BASE_POWER for e in found.values()):
            raise self.wrong(at, f"the unit has a power above {dimensions.MOST_BASE_POWER}")
        return found

    def value(self, of: Callable[..., float], parts: list[Meaning], at: int) -> float | None:
        """Return the value of a part that is made of literals; None where it is not."""
        numbers = [p.value for p in parts]
        if any(n is None for n in numbers):
            return None
        try:
            found = float(of(*numbers))
        except ZeroDivisionError:
            raise self.wrong(at, "this divides by zero") from None
        except (OverflowError, ValueError, TypeError):
            found = math.nan
        if not math.isfinite(found):
            raise self.wrong(at, "these numbers give no finite number here")
        return found

    def power(self, base: Meaning, exponent: Meaning, at: int) -> Meaning:
        if exponent.dimension != NONE:
            raise self.wrong(at, f"an exponent is a plain number, and this one is {exponent.told}")
        value = self.value(lambda x, y: x**y, [base, exponent], at)
        e = exponent.value
        whole = e is not None and e.is_integer()
        positive = base.positive or (whole and e is not None and e % 2 == 0)
        if base.dimension == NONE:
            return Meaning(NONE, positive if value is None else value >= 0, value)
        if not whole or e is None:
            what = f"the power {e:g}" if e is not None else "a power that is not a fixed number"
            right = "divide by a unit first, such as (clock / 1 GHz)**1.3"
            raise self.wrong(at, f"only plain numbers have {what}, and its base is {base.told}", right)
        if abs(e) > MOST_PROVED_POWER:
            raise self.wrong(at, f"the power {e:g} of {base.told} is above {MOST_PROVED_POWER}")
        return Meaning(self.small(dimensions.raised(base.dimension, int(e)), at), positive, value)

    def fitted(self, function: Function, of: tuple[Expression, ...]) -> Meaning:
        """Prove that a fitted model gets what it was fitted to: numbers above 0 in the units of its columns.

        Below 0 the ratios of its range would hold, and no power of it is a number.
        """
        found = [self.of(x) for x in of]
        for column, tree, x in zip(function.takes, of, found, strict=True):
            wanted = meaning_of(column.unit, 0.0)
            if x.dimension != wanted.dimension:
                wrong = f"{column.name} of {function.call} is {wanted.told}, and this is {x.told}"
                raise self.wrong(tree.at, wrong, _repair(wanted.dimension, x.dimension))
            if x.value is not None and x.value <= 0:
                wrong = f"{column.name} of {function.call} is above 0, and this is {x.value:.12g}"
                raise self.wrong(tree.at, wrong)
            if not x.positive:
                wrong = f"{column.name} of {function.call} is above 0, and this may be negative"
                least = f"{column.least:.12g} {column.unit}".rstrip()
                raise self.wrong(tree.at, wrong, f"give positive numbers only, or write maximum({least}, …)")
        return Meaning(meaning_of(function.metric.unit, 0.0).dimension)

    def call(self, function: str, of: list[Meaning], at: int) -> Meaning:
        first = of[0]
        if function in ("maximum", "minimum"):
            other = next((x for x in of if x.dimension != first.dimension), None)
            if other is not None:
                wrong = f"{function} compares {first.told} with {other.told}"
                raise self.wrong(at, wrong, _repair(first.dimension, other.dimension))
            largest = function == "maximum"
            positive = any(x.positive for x in of) if largest else all(x.positive for x in of)
            return Meaning(first.dimension, positive, self.value(max if largest else min, of, at))
        if function == "sqrt":
            if any(e % 2 for e in first.dimension.values()):
                right = "divide by a unit first, such as sqrt(clock / 1 GHz)"
                raise self.wrong(at, f"{first.told} has no square root in whole units", right)
            half = {n: e // 2 for n, e in first.dimension.items()}
            return Meaning(half, True, self.value(math.sqrt, of, at))
        if first.dimension != NONE:
            right = f"divide by a unit first, such as {function}(time / 1 s)"
            raise self.wrong(at, f"{function} takes a plain number, and this is {first.told}", right)
        how = {"log": math.log, "log2": math.log2, "exp": math.exp}[function]
        value = self.value(how, of, at)
        return Meaning(NONE, function == "exp" or (value is not None and value >= 0), value)


def _repair(a: Dimension, b: Dimension) -> str:
    """Say what would make two dimensions agree, where a label or a forgotten factor tells."""
    missing = dimensions.unit(dimensions.times(a, b, -1))
    if not a or not b:
        counted = dimensions.unit(a or b)
        return f"give both one unit: multiply the plain number by 1 {counted}, or divide the other by 1 {counted}"
    return f"what is missing is a factor in {missing}" if missing else ""


def meaning_of(unit: str, minimum: float) -> Meaning:
    """Return what is known of a quantity with this SI unit and least value."""
    return Meaning(dict(dimensions.read(unit)) if unit else NONE, minimum >= 0)
