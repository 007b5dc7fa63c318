"""Expressions of definitions as text: a tokeniser and a recursive-descent parser with a whitelist.

::

    sum      = product (("+" | "-") product)*
    product  = factor (("*" | "/") factor)*
    factor   = "-" factor | "+" factor | power
    power    = operand ["**" factor]
    operand  = number [blank unit] | name | function "(" sum ("," sum)* ")" | "(" sum ")"

A function is one of FUNCTIONS, or of a fitted model that the file names: ``gemm.latency(m, n, k)``.

Operators bind as in Python. ``+ - * /`` between two operands need a blank on at least one side, ``**`` needs none,
and a unit holds no blank: that tells ``2 J/s`` (a unit) from ``2 J / s`` (a division). Nothing here is ever given to
Python's own parser.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import NoReturn

from dse.models.described.fitted import Function
from dse.system.records import dataclass
from scenarios.define.trees import LONGEST_QUOTED, Call, Chain, Expression, Literal, Name, Negative, Power
from scenarios.language.errors import meant, shown

MOST_CHARACTERS = 10_000
MOST_TOKENS = 1000
MOST_LEVELS = 50
# how much of an expression stands around a caret
_AROUND = 60

_UNIT = r"(?:1/)?[A-Za-zµμΩ]+(?:\*\*-?[0-9]+)?(?:[*/][A-Za-zµμΩ]+(?:\*\*-?[0-9]+)?)*"
_TOKENS = re.compile(
    r"(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*)"
    r"|`(?P<quoted>[^`\n]*)`"
    r"|(?P<operator>\*\*|[-+*/])"
    r"|(?P<mark>[(),])"
)
_UNIT_BEHIND = re.compile(rf" (?P<unit>{_UNIT})")
_ONE_CALLED = frozenset({"log", "log2", "exp", "sqrt"})
_MANY_CALLED = frozenset({"maximum", "minimum"})
FUNCTIONS = tuple(sorted(_ONE_CALLED | _MANY_CALLED))
_PYTHON = {
    "max": "maximum",
    "min": "minimum",
    "ln": "log",
    "log10": "log(x) / log(10)",
    "pow": "**",
    "abs": "maximum(x, -x)",
}


class ExpressionError(ValueError):
    """An expression cannot be read: what is ``wrong`` at place ``at`` (counted from 0), what would be ``right``."""

    def __init__(self, text: str, at: int, wrong: str, right: str = "") -> None:
        super().__init__(wrong)
        self.wrong = f"{wrong} (column {at + 1})"
        self.right = "\n    ".join(x for x in (*_pointed(text, at), right) if x)


def _pointed(text: str, at: int) -> tuple[str, str]:
    """Return what stands around a place, and a caret below it."""
    start, end = max(at - _AROUND, 0), at + _AROUND
    before, after = "… " if start else "", " …" if end < len(text) else ""
    line = "".join(c if c.isprintable() else " " for c in text[start:end])
    return f"{before}{line}{after}", " " * (len(before) + at - start) + "^"


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    at: int
    unit: str = ""
    loose: bool = False


def parse(text: str, functions: Mapping[str, Function] | None = None) -> Expression:
    """Read an expression; ``functions``: those of fitted models, by name.

    Raises ExpressionError, with the place and what was expected there.
    """
    if len(text) > MOST_CHARACTERS:
        wrong = f"an expression has at most {MOST_CHARACTERS} characters, and this one has {len(text)}"
        raise ExpressionError(text, MOST_CHARACTERS, wrong, "share it out among several definitions")
    if not text.strip():
        raise ExpressionError(text, 0, "the expression is empty", 'write one such as "energy * time"')
    return _Parser(text, _tokens(text), functions or {}).whole()


def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    at = 0
    while at < len(text):
        if text[at] in " \t\r\n":
            at += 1
            continue
        match = _TOKENS.match(text, at)
        if match is None:
            _strange(text, at)
        if len(found) == MOST_TOKENS:
            wrong = f"an expression has at most {MOST_TOKENS} numbers, names and signs"
            raise ExpressionError(text, at, wrong, "share it out among several definitions")
        kind = str(match.lastgroup)
        end, unit = match.end(), ""
        if kind == "number":
            unit, end = _unit_behind_number(text, match)
        loose = kind == "operator" and (_blank(text, at - 1) or _blank(text, end))
        found.append(_Token(kind, match[kind], at, unit, loose))
        at = end
    return [*found, _Token("end", "", len(text))]


def _blank(text: str, at: int) -> bool:
    return not 0 <= at < len(text) or text[at] in " \t\r\n"


def _unit_behind_number(text: str, number: re.Match[str]) -> tuple[str, int]:
    """Return the unit behind a number and where it ends; "" and the number's own end where there is none."""
    end = number.end()
    if len(number[0]) > 40:
        raise ExpressionError(
            text, number.start(), "a number has at most 40 characters", "write fewer digits"
        )
    if end < len(text) and (text[end].isalnum() or text[end] in "_.`"):
        wrong = f"something stands right behind the number {shown(number[0])[1:-1]}"
        right = "write one blank between a number and its unit (2.5 GHz), and * between a number and a name (2 * x)"
        raise ExpressionError(text, end, wrong, right)
    behind = _UNIT_BEHIND.match(text, end)
    if behind is None:
        return "", end
    if behind.end() < len(text) and (text[behind.end()].isalnum() or text[behind.end()] in "_.`"):
        wrong = f"{shown(behind['unit'] + text[behind.end()])} cannot go on a unit"
        right = "behind a number and a blank stands a unit (2.5 GHz, 5 1/s, 3 V**2); a factor needs * (2 * x)"
        raise ExpressionError(text, behind.end(), wrong, right)
    return behind["unit"], behind.end()


def _strange(text: str, at: int) -> NoReturn:
    sign = text[at]
    right = "use letters (a to z), digits, _, dots, + - * / **, brackets and commas; any other name goes in backquotes"
    if sign == "^":
        raise ExpressionError(text, at, "^ is not an operator", "write powers with **: x**2")
    if sign == "%":
        raise ExpressionError(text, at, "% is neither an operator nor a unit here", "write 0.05 for 5 %")
    if sign == "`":
        raise ExpressionError(text, at, "this backquote is not closed", "write `name` with two of them")
    if sign == "=":
        raise ExpressionError(text, at, "an expression holds no =", "write only the part after it")
    if sign in "\"'":
        raise ExpressionError(
            text, at, "an expression holds no texts", "names with other signs go in backquotes"
        )
    if sign in "<>!&|~":
        raise ExpressionError(
            text, at, f"{sign} is not an operator here", "a condition is a limit: write it in [limits]"
        )
    if ord(sign) > 126:
        called = unicodedata.name(sign, f"U+{ord(sign):04X}")
        raise ExpressionError(text, at, f"{shown(sign)} ({called}) cannot stand here", right)
    raise ExpressionError(text, at, f"{shown(sign)} cannot stand here", right)


class _Parser:
    """Goes through the tokens of one expression."""

    def __init__(self, text: str, tokens: list[_Token], functions: Mapping[str, Function]) -> None:
        self.text, self.tokens, self.place, self.level = text, tokens, 0, 0
        self.functions = functions

    @property
    def now(self) -> _Token:
        return self.tokens[self.place]

    def wrong(self, token: _Token, what: str, right: str = "") -> ExpressionError:
        return ExpressionError(self.text, token.at, what, right)

    def step(self) -> _Token:
        token = self.now
        self.place += 1
        return token

    def whole(self) -> Expression:
        found = self.sum()
        if self.now.kind != "end":
            raise self._misplaced()
        return found

    def _misplaced(self) -> ExpressionError:
        token = self.now
        if token.text == ")":
            return self.wrong(token, "this bracket closes none")
        if token.text == ",":
            return self.wrong(
                token, "a comma stands outside a function's brackets", "numbers use a point: 0.5"
            )
        before = self.tokens[self.place - 1]
        if token.text == "(" and before.kind in ("name", "quoted"):
            return self._no_function(before)
        return self.wrong(token, "an operator is missing here", "write +, -, *, / or ** before it")

    def deeper(self, token: _Token) -> None:
        self.level += 1
        if self.level > MOST_LEVELS:
            wrong = f"brackets, powers and signs are more than {MOST_LEVELS} levels deep"
            raise self.wrong(token, wrong, "name a part in a definition of its own")

    def sum(self) -> Expression:
        return self._chain("+", ("+", "-"), self.product)

    def product(self) -> Expression:
        return self._chain("*", ("*", "/"), self.factor)

    def _chain(self, first: str, signs: tuple[str, str], operand: object) -> Expression:
        assert callable(operand), "it is one of the parser's own methods"
        parts: list[tuple[str, Expression]] = [(first, operand())]
        places = [-1]
        while self.now.kind == "operator" and self.now.text in signs:
            sign = self.step()
            if not sign.loose:
                right = f"write a blank before and behind {sign.text}; only a unit has none (2 J/s)"
                raise self.wrong(sign, f"{sign.text} has no blank on either side", right)
            parts.append((sign.text, operand()))
            places.append(sign.at)
        return parts[0][1] if len(parts) == 1 else Chain(tuple(parts), tuple(places))

    def factor(self) -> Expression:
        if self.now.kind == "operator" and self.now.text in ("-", "+"):
            sign = self.step()
            self.deeper(sign)
            of = self.factor()
            self.level -= 1
            return Negative(of, sign.at) if sign.text == "-" else of
        return self.power()

    def power(self) -> Expression:
        base = self.operand()
        if self.now.text != "**":
            return base
        sign = self.step()
        self.deeper(sign)
        exponent = self.factor()
        self.level -= 1
        return Power(base, exponent, sign.at)

    def operand(self) -> Expression:
        token = self.step()
        if token.kind == "number":
            return Literal(token.text, token.unit, token.at)
        if token.kind == "quoted":
            if not token.text.strip() or len(token.text) > LONGEST_QUOTED:
                raise self.wrong(token, f"backquotes hold one name of 1 to {LONGEST_QUOTED} characters")
            return Name(token.text, token.at)
        if token.kind == "name":
            return self._called(token) if self.now.text == "(" else self._named(token)
        if token.text == "(":
            self.deeper(token)
            inside = self.sum()
            self._close(token)
            return inside
        raise self._expected(token)

    def _expected(self, token: _Token) -> ExpressionError:
        what = "a number, a name or an opening bracket"
        if token.kind == "end":
            return self.wrong(token, f"the expression ends where {what} is expected")
        return self.wrong(token, f"{token.text} stands where {what} is expected")

    def _named(self, token: _Token) -> Expression:
        if token.text in FUNCTIONS:
            raise self.wrong(token, f"{token.text} is a function", f"write {token.text}(…)")
        if token.text in self.functions:
            call = self.functions[token.text].call
            raise self.wrong(token, f"{token.text} is a function", f"write {call}")
        return Name(token.text, token.at)

    def _close(self, opened: _Token) -> None:
        if self.now.text != ")":
            if self.now.kind == "end":
                raise self.wrong(opened, "this bracket is not closed", "write ) where it ends")
            raise self._misplaced()
        self.step()
        self.level -= 1

    def _no_function(self, token: _Token) -> ExpressionError:
        family, dot, _ = token.text.partition(".")
        if dot:
            own = [f for f in self.functions.values() if f.family == family]
            known = own or list(self.functions.values())
            right = meant(token.text, [f.name for f in known] or FUNCTIONS)
            if known:
                right += f"; write {known[0].call}"
            else:
                named = f'[models] {family} = "./{family}.toml"'
                right += f"\n    {named} would make those of a fitted model known"
            return self.wrong(token, f"there is no function {shown(token.text)[1:-1]}", right)
        there = f"there are {', '.join(FUNCTIONS)}"
        if token.text in _PYTHON:
            there = f"write {_PYTHON[token.text]}; {there}"
        return self.wrong(token, f"there is no function {shown(token.text)[1:-1]}", there)

    def _called(self, token: _Token) -> Expression:
        fitted = self.functions.get(token.text)
        if token.text not in FUNCTIONS and fitted is None:
            raise self._no_function(token)
        opened = self.step()
        self.deeper(opened)
        of: list[Expression] = []
        written: list[str] = []
        while not of or self.now.text == ",":
            if of:
                self.step()
            start = self.now.at
            of.append(self.sum())
            written.append(self.text[start : self.now.at].strip())
        self._close(opened)
        if fitted is not None:
            if len(of) != len(fitted.takes):
                wrong = (
                    f"{fitted.name} takes {len(fitted.takes)} numbers, and {len(of)} stand in its brackets"
                )
                raise self.wrong(token, wrong, f"write {fitted.call}")
            return Call(token.text, tuple(of), token.at, fitted, tuple(written))
        if token.text in _ONE_CALLED and len(of) != 1:
            raise self.wrong(token, f"{token.text} takes one number, and {len(of)} stand in its brackets")
        if token.text in _MANY_CALLED and len(of) < 2:
            raise self.wrong(token, f"{token.text} takes two or more numbers", f"write {token.text}(a, b)")
        return Call(token.text, tuple(of), token.at)
