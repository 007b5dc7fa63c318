"""Forms that a user writes: ``a + b * m * n * k + max(c * m, d)``, read by a small parser; nothing is evaluated.

Names of columns are columns; every other name is a coefficient to be fitted, and numbers are factors.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from dse.fitting.errors import FittingError
from dse.models.described.fitted import MAX, POSYNOMIAL, SOFTMAX
from dse.system.records import dataclass

LONGEST_FORM = 2000
MOST_FORM_TERMS = 100
DEEPEST_BRACKETS = 20
_TOKEN = re.compile(
    r"\s*(?:([0-9]+\.?[0-9]*(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?)|([A-Za-z][A-Za-z0-9_]*)|(\*\*|[-+*/^(),]))"
)
_LARGEST = {"max": MAX, "softmax": SOFTMAX}


@dataclass(frozen=True, slots=True)
class Monomial:
    """factor * coefficient (a name, or none) * product of columns^exponents, in ``group`` of a maximum (0: none)."""

    factor: float = 1.0
    coefficient: str = ""
    exponents: Mapping[str, float] = field(default_factory=dict)
    group: int = 0


@dataclass(frozen=True, slots=True)
class Written:
    """A form as it was written, multiplied out: its kind and its terms; ``coefficients`` in order of appearance."""

    text: str
    form: str
    terms: tuple[Monomial, ...]
    coefficients: tuple[str, ...]


class _Wrong(Exception):
    """Something is wrong with a form; the text says what."""


def parse(text: str, columns: Sequence[str]) -> Written:
    """Read a form over these columns; raises FittingError, which says what is wrong and where."""
    try:
        made = _Parser(text, columns).whole()
        names = tuple(dict.fromkeys(t.coefficient for t in made.terms if t.coefficient))
        if not all(t.coefficient for t in made.terms):
            lacking = next(t for t in made.terms if not t.coefficient)
            raise _Wrong(
                f"the term {_monomial_text(lacking)} has no coefficient to be fitted: "
                f"write a * {_monomial_text(lacking)}"
            )
        unused = [c for c in columns if not any(c in t.exponents for t in made.terms)]
        if unused:
            raise _Wrong(f"it does not use {', '.join(unused)}: take it out of --of, or put it into the form")
        return replace(made, coefficients=names)
    except _Wrong as wrong:
        raise FittingError(f"the form {_quoted_start(text)}", [str(wrong)]) from None


def sum_of(text: str, names: Sequence[str]) -> tuple[Monomial, ...]:
    """Read a sum of monomials with numbers for coefficients, such as 2 * m * n * k / latency; raises FittingError."""
    try:
        made = _Parser(text, names).whole()
        free = [t.coefficient for t in made.terms if t.coefficient]
        if free:
            raise _Wrong(f"there is no {free[0]}; there are {', '.join(names)}")
        if made.form != POSYNOMIAL:
            raise _Wrong("no maximum can stand here")
    except _Wrong as wrong:
        raise FittingError(f"the formula {_quoted_start(text)}", [str(wrong)]) from None
    return made.terms


def _monomial_text(t: Monomial) -> str:
    powers = [n if e == 1 else f"{n}^{e:g}" for n, e in t.exponents.items()]
    return " * ".join(([f"{t.factor:g}"] if t.factor != 1 or not powers else []) + powers)


def _quoted_start(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:77] + "...")


def _function(name: str, columns: frozenset[str]) -> str:
    """Say why a name before a bracket is not a function."""
    if name in ("maximum", "Max", "MAX"):
        return f"there is no function {name}: write max(…, …)"
    if name in columns:
        return f"{name} ( … ): a factor is missing between them: write {name} * ( … )"
    return f"there is no function {name}: a form is made of + * / ^, max(…, …) and softmax(…, …)"


class _Parser:
    """Recursive descent over sums, products, powers and one maximum."""

    def __init__(self, text: str, columns: Sequence[str]) -> None:
        if len(text) > LONGEST_FORM:
            raise _Wrong(f"it is longer than {LONGEST_FORM} characters")
        self.columns = frozenset(columns)
        self.tokens: list[str] = []
        self.place = 0
        self.form = POSYNOMIAL
        self.depth = 0
        at = 0
        while text[at:].strip():
            found = _TOKEN.match(text, at)
            if found is None:
                raise _Wrong(
                    f"{text[at:].strip()[:20]!r} cannot be read: write + * / ^ ( ), numbers and names"
                )
            self.tokens.append(found[1] or found[2] or found[3])
            at = found.end()
        self.text = text

    def whole(self) -> Written:
        terms = self._sum()
        if self._next() == "(" and self.tokens[self.place - 1][0].isalpha():
            raise _Wrong(_function(self.tokens[self.place - 1], self.columns))
        if self.place < len(self.tokens):
            raise _Wrong(f"{self.tokens[self.place]!r} is one too many")
        return Written(self.text, self.form, tuple(terms), ())

    def _next(self) -> str:
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def _take(self, wanted: str = "") -> str:
        token = self._next()
        if wanted and token != wanted:
            raise _Wrong(f"{wanted!r} is missing" + (f" before {token!r}" if token else " at the end"))
        self.place += 1
        return token

    def _sum(self) -> list[Monomial]:
        self.depth += 1
        if self.depth > DEEPEST_BRACKETS:
            raise _Wrong(f"it nests more than {DEEPEST_BRACKETS} brackets")
        found = self._product()
        while self._next() in ("+", "-"):
            if self._take() == "-":
                raise _Wrong("a form cannot contain a minus: every coefficient is 0 or more")
            found = found + self._product()
        if len(found) > MOST_FORM_TERMS:
            raise _Wrong(f"it has more than {MOST_FORM_TERMS} terms")
        self.depth -= 1
        return found

    def _product(self) -> list[Monomial]:
        found = self._power()
        while self._next() in ("*", "/"):
            if self._take() == "*":
                found = _products_of_monomials(found, self._power())
            else:
                found = _products_of_monomials(found, [_raised(self._power(), -1.0, "divided by")])
        return found

    def _power(self) -> list[Monomial]:
        base = self._atom()
        if self._next() not in ("^", "**"):
            return base
        self._take()
        sign = 1.0
        if self._next() in ("-", "+"):
            sign = -1.0 if self._take() == "-" else 1.0
        brackets = self._next() == "("
        if brackets:
            self._take()
            if self._next() == "-":
                self._take()
                sign = -sign
        token = self._take()
        if not token or not (token[0].isdigit() or token[0] == "."):
            raise _Wrong(f"an exponent is a number, not {token!r}")
        exponent = sign * float(token)
        if brackets and self._next() == "/":
            self._take()
            divisor = self._take()
            if not divisor or not divisor[0].isdigit() or float(divisor) == 0:
                raise _Wrong(f"an exponent is a number, not {token}/{divisor}")
            exponent /= float(divisor)
        if brackets:
            self._take(")")
        if abs(exponent) > 30:
            raise _Wrong(f"the exponent {exponent:g} is out of range: it lies between -30 and 30")
        return [_raised(base, exponent, f"raised to {exponent:g}")]

    def _atom(self) -> list[Monomial]:
        token = self._take()
        if not token:
            raise _Wrong("something is missing at the end")
        if token == "(":
            found = self._sum()
            self._take(")")
            return found
        if token == "-":
            raise _Wrong("a form cannot contain a minus: every coefficient is 0 or more")
        if token[0].isdigit() or token[0] == ".":
            number = float(token)
            if not 1e-300 < number < 1e300:
                raise _Wrong(f"{token} is not a positive number that can be computed with")
            return [Monomial(number)]
        if token in _LARGEST and self._next() == "(":
            return self._largest(token)
        if token in self.columns:
            return [Monomial(exponents={token: 1.0})]
        if token[0].isalpha():
            return [Monomial(coefficient=token)]
        raise _Wrong(f"{token!r} stands where a number, a name or a bracket should")

    def _largest(self, which: str) -> list[Monomial]:
        if self.form != POSYNOMIAL:
            raise _Wrong("there can be one max or softmax only, and none inside another")
        self.form = _LARGEST[which]
        self._take("(")
        found: list[Monomial] = []
        group = 1
        while True:
            found += [replace(t, group=group) for t in self._sum()]
            if self._next() != ",":
                break
            self._take()
            group += 1
        self._take(")")
        if group < 2:
            raise _Wrong(f"{which} needs at least two arguments")
        return found


def _products_of_monomials(a: list[Monomial], b: list[Monomial]) -> list[Monomial]:
    if len(a) * len(b) > MOST_FORM_TERMS:
        raise _Wrong(f"multiplied out it has more than {MOST_FORM_TERMS} terms")
    return [_product_of_two(x, y) for x in a for y in b]


_COEFFICIENTS = "every name that is not among --of is a coefficient"


def _product_of_two(x: Monomial, y: Monomial) -> Monomial:
    if x.group or y.group:
        raise _Wrong("a max or softmax can be added to other terms, not multiplied")
    if x.coefficient and y.coefficient:
        both = f"{x.coefficient} and {y.coefficient}"
        raise _Wrong(f"{both} are multiplied: one coefficient for each term; {_COEFFICIENTS}")
    powers = dict(x.exponents)
    for n, e in y.exponents.items():
        powers[n] = powers.get(n, 0.0) + e
    kept = {n: e for n, e in powers.items() if e}
    return Monomial(x.factor * y.factor, x.coefficient or y.coefficient, kept)


def _raised(terms: list[Monomial], e: float, how: str) -> Monomial:
    if len(terms) != 1 or terms[0].group:
        raise _Wrong(f"a sum cannot be {how}: only columns and numbers")
    (t,) = terms
    if t.coefficient:
        raise _Wrong(f"the coefficient {t.coefficient} cannot be {how}; {_COEFFICIENTS}")
    try:
        factor = t.factor**e
    except OverflowError:
        factor = 0.0
    if not 1e-300 < factor < 1e300:
        raise _Wrong(f"{t.factor:g}^{e:g} is not a number that can be computed with")
    return Monomial(factor, "", {n: x * e for n, x in t.exponents.items()})
