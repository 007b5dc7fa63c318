"""From text with a unit to an SI number, and what a unit measures."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from functools import lru_cache
from numbers import Real

from dse.quantities import misspelt, units
from dse.quantities.kinds import KINDS


class UnitError(ValueError):
    """A number or its unit cannot be read; the message says what is wrong and what would be right."""


class _UnknownUnit(UnitError):
    """No unit has this name, which is its argument."""

    def __str__(self) -> str:
        return f"unknown unit {self.args[0]!r}{misspelt.meant(self.args[0])}"


_NUMBER = r"[+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,3})?"
_LONG = re.compile("[0-9]{41}")
_FACTOR = r"[A-Za-zµμΩ%]{1,40}(?:(?:\^|\*\*)-?[1-9])?"
_UNIT = rf"(?:1\s*/\s*)?{_FACTOR}(?:\s*[*/]\s*{_FACTOR})*"
_TEXT = re.compile(rf"\s*({_NUMBER})\s*({_UNIT})?\s*")
# three digits behind it may be thousands, too
_COMMA = re.compile(r"\s*[+-]?(?:0?,|[0-9]+,(?![0-9]{3}(?![0-9])))[0-9]")
_NAMES = re.compile(r"([A-Za-zµμΩ%]+)")
FACTORS = re.compile(r"([*/]?)\s*([A-Za-zµμΩ%]+)(?:(?:\^|\*\*)(-?[1-9]))?")


def to_si(value: float | str, unit: str, word_size: float | None = None) -> float:
    """Read ``value`` as a number of SI ``unit`` ("" for a plain number).

    A number is taken as it stands; text is one decimal number and a unit ("10 kW", "75 GFLOPS/W"), the unit
    being names with ``*``, ``/`` and small whole powers. Bytes are read as words where ``unit`` has words and
    ``word_size`` (bytes per word) is known. Raises UnitError for anything else, NaN and infinity included.
    """
    if isinstance(value, str):
        return _number_in_unit(value, unit, word_size)
    if isinstance(value, bool) or not isinstance(value, Real):
        raise UnitError(f"{value!r} is not a number; write {_examples(unit)}")
    try:
        number = float(value)
    except OverflowError:
        raise UnitError("the number is too large") from None
    return _finite_number(number, repr(value))


def to_si_or_inverse(value: float | str, unit: str, word_size: float | None = None) -> float:
    """Read ``value`` as ``to_si`` does, and a rate where a time or energy per amount is needed, or the other way round.

    So "1 GFLOPS" is 1e-9 s/flop. For numbers of machines, which data sheets state either way. Raises UnitError.

    >>> to_si_or_inverse("200 MB/s", "s/word", word_size=8)
    4e-08
    """
    try:
        return to_si(value, unit, word_size)
    except UnitError:
        inverse = is_inverse(value, unit)
        if not inverse:
            raise
        number = to_si(value, inverse, word_size)
        if number <= 0:
            text = f"{value!r} is not above 0, so that {kind(unit)} cannot be its reciprocal"
            raise UnitError(text) from None
        return _finite_number(1.0 / number, repr(value))


def is_inverse(value: object, unit: str) -> str:
    """Return the inverse of ``unit`` ("s/flop": "flop/s") if ``value`` is a text in it, else ""."""
    above, slash, below = unit.partition("/")
    if not isinstance(value, str) or not slash or above == "1" or "/" in below:
        return ""
    inverse = f"{below}/{above}"
    try:
        written = written_unit(value)
        return inverse if written and _conversion(written, inverse) is not None else ""
    except UnitError:
        return ""


def _finite_number(number: float, text: str) -> float:
    if not math.isfinite(number):
        raise UnitError(f"{text} is not a finite number")
    return number


def _number_in_unit(text: str, unit: str, word_size: float | None) -> float:
    match = _number_and_unit(text, _examples(unit), " (names, *, / and whole powers)")
    number, written = Decimal(match[1]), match[2]
    if written is None:
        if unit:
            raise UnitError(
                f"{_quoted_start(text)} has no unit: {kind(unit)} is needed; write {_examples(unit)}"
            )
        return _finite_number(float(number), text)
    try:
        conversion = _conversion(written, unit)
    except _UnknownUnit as error:
        raise UnitError(_unknown_in_place(error.args[0], written, unit)) from None
    if conversion is None:
        raise UnitError(
            f"{_quoted_start(text)} is {kind(written)}, but {kind(unit)} is needed; write {_examples(unit)}"
        )
    factor, words = conversion
    if words:
        factor *= _bytes_per_word(word_size, text, unit) ** -words
    return _finite_number(float(number * factor), text)


def _unknown_in_place(name: str, written: str, unit: str) -> str:
    """Say that no unit has this name, and what was probably meant inside ``written``, or else what ``unit`` takes."""

    def fits(other: str) -> bool:
        repaired = "".join(other if part == name else part for part in _NAMES.split(written))
        try:
            return _conversion(repaired, unit) is not None
        except UnitError:
            return False

    # no unit that is like it measures what has none
    near = misspelt.meant(name, fits) if unit else ""
    return f"unknown unit {name!r}{near or f'; write {_examples(unit)}'}"


def _bytes_per_word(word_size: float | None, text: str, unit: str) -> Decimal:
    if word_size is None:
        raise UnitError(
            f"{_quoted_start(text)} is in bytes, but words are needed: give machine.word_size (bytes per word), "
            f"or write {_examples(unit)}"
        )
    if not 0 < word_size < math.inf:
        raise UnitError(f"machine.word_size must be a positive number of bytes, not {word_size!r}")
    return Decimal(repr(float(word_size)))


def _quoted_start(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")


@lru_cache(maxsize=1024)
def _conversion(written: str, unit: str) -> tuple[Decimal, int] | None:
    """Return the factor from the ``written`` unit to ``unit`` and the power of bytes to be read as words.

    None where the dimensions do not agree.
    """
    factor, dimension = _root(written)
    target, wanted = _root(unit)
    if dimension == wanted:
        return factor / target, 0
    words = dimension.get("[information]", 0)
    swapped = {k: v for k, v in dimension.items() if k != "[information]"}
    swapped["[word]"] = swapped.get("[word]", 0) + words
    if words and {k: v for k, v in swapped.items() if v} == wanted:
        return factor / target, words
    return None


@lru_cache(maxsize=1024)
def _root(expression: str) -> tuple[Decimal, dict[str, int]]:
    """Return a unit expression's factor to base units and its dimension, each name looked up alone."""
    factor, dimension = Decimal(1), dict[str, int]()
    for operator, name, power in FACTORS.findall(expression):
        exponent = int(power or 1) * (-1 if operator == "/" else 1)
        one, base = _name(name)
        factor *= one**exponent
        for key, e in base:
            dimension[key] = dimension.get(key, 0) + e * exponent
    return factor, {k: v for k, v in dimension.items() if v}


@lru_cache(maxsize=1024)
def _name(name: str) -> tuple[Decimal, tuple[tuple[str, int], ...]]:
    if name.lower().endswith("flops") and not name.endswith("FLOPS"):
        raise UnitError(f"unit {name!r} is ambiguous: FLOPS is flop/second, flop is the count")
    found = units.table().find(name)
    if found is None:
        raise _UnknownUnit(name)
    return found.factor, found.dimension


def dimension(unit: str) -> dict[str, int]:
    """Return the powers of base dimensions ("[time]") that a unit has; none for a plain number. Raises UnitError."""
    return _root(unit)[1]


def written_unit(text: str) -> str:
    """Return the unit in a text such as "10 kW" ("" where there is none). Raises UnitError where it is not a number."""
    return _number_and_unit(text, _examples("W"))[2] or ""


def _number_and_unit(text: str, right: str, units: str = "") -> re.Match[str]:
    match = _TEXT.fullmatch(text) if len(text) <= 200 else None
    if match is None:
        wrong = f"is not one number with a unit{units}"
        wrong = "has more than 40 digits in a row" if _LONG.search(text) else wrong
        point = text.replace(",", ".", 1)
        if len(text) <= 200 and _COMMA.match(text) and _TEXT.fullmatch(point):
            right = f'decimals with a point: "{point.strip()}"'
        raise UnitError(f"{_quoted_start(text)} {wrong}; write {right}")
    return match


def si_units() -> tuple[str, ...]:
    """Return the SI units that quantities have here; of those that measure the same the first is the usual one."""
    return tuple(KINDS)


def kind(unit: str) -> str:
    """Say what a unit measures: ``kind("kWh")`` is "an energy (J)"."""
    if unit in KINDS and unit:
        return f"{KINDS[unit][0]} ({unit})"
    dimension = _root(unit)[1]
    for known, (words, _) in KINDS.items():
        if _root(known)[1] == dimension:
            return f"{words} ({known})" if known else words
    text = "*".join(k.strip("[]") + ("" if v == 1 else f"^{v}") for k, v in sorted(dimension.items()))
    return f"a quantity of dimension {text}"


def si_unit(unit: str) -> str:
    """Return the SI unit of what a unit measures: "s" for "ms", "flop/s" for "GFLOPS"; raises UnitError.

    The unit's own text where no known unit measures the same and it is one already ("1/s^2").
    """
    if unit and not re.fullmatch(_UNIT, unit):
        raise UnitError(f'{_quoted_start(unit)} is not a unit: write its name alone, such as "s" or "1/s"')
    factor, dimension = _root(unit)
    if not dimension:
        return ""
    known = next((k for k in KINDS if k and _root(k)[1] == dimension), None)
    if known is not None:
        return unit if factor == _root(known)[0] else known
    if factor == 1:
        return unit
    raise UnitError(f"{unit!r} is {kind(unit)}: write it in SI units")


def examples(unit: str) -> tuple[str, ...]:
    """Return texts that are read well for a quantity of this SI unit, such as "5 kW" for "W"."""
    return KINDS[unit][1] if unit in KINDS else (f"1 {unit}",)


def _examples(unit: str) -> str:
    return " or ".join(f'"{e}"' for e in examples(unit))
