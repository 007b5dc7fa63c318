"""Text with units <-> SI numbers, and what a named quantity is."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from importlib.resources import files
from numbers import Real
from typing import Any

from dse import units
from dse.names import did_you_mean


@dataclass(frozen=True, slots=True)
class Quantity:
    """A named input or metric.

    ``minimum`` and ``maximum`` are its mathematical domain. ``floor`` and ``ceiling`` are finite, positive
    ends of the search box of a decided variable whose domain is open: an optimum that only they bound is
    ``unbounded``. ``default``: the value if none is given; an ``optional`` quantity may be absent.
    ``choices``: the texts allowed, for a quantity that is not a number.
    ``flags``: the meaning of the values 0, 1, 2 ... of a metric that says which case holds. ``menu``: the names of
    the entries 1, 2, 3 ... that a whole number selects. ``index``: the labels of an element of an indexed family, as
    (dimension, label) pairs; its name is that of the family and the labels, joined by dots.
    A decided quantity whose ``floor`` is 0 may be 0. ``open``: the ``minimum`` itself is outside the domain.
    ``whole``: it counts things, so that it is decided in whole numbers unless a question says ``integer = false``.
    """

    name: str
    symbol: str
    unit: str
    meaning: str
    source: str = ""
    minimum: float = 0.0
    maximum: float = math.inf
    floor: float = 1e-30
    ceiling: float = 1e30
    default: float | str | None = None
    choices: tuple[str, ...] = ()
    optional: bool = False
    flags: tuple[str, ...] = ()
    menu: tuple[str, ...] = ()
    open: bool = False
    whole: bool = False
    index: tuple[tuple[str, str], ...] = ()

    def at(self, **index: str) -> Quantity:
        """Return the element of this family at these labels by dimension: share.at(region="a") is share.a."""
        labels = (*self.index, *index.items())
        family = self.name.removesuffix("".join(f".{label}" for _, label in self.index))
        return replace(self, name=".".join((family, *(label for _, label in labels))), index=labels)


class UnitError(ValueError):
    """A number or its unit cannot be read; the message says what is wrong and what would be right."""


# the unit that declares a failure rate; its dimension is that of any other rate
FAILURES = "failure/s"
# one FIT is a failure in 1e9 hours
FIT_PER_FAILURE_RATE = 3.6e12

# what a unit measures, and texts that read well for it; the first unit of a dimension is its SI unit here
_KINDS = {
    "": ("a plain number", ("20", "1e6")),
    "s": ("a time", ("10 s", "5 ms")),
    "J": ("an energy", ("10 J", "2 kWh")),
    "W": ("a power", ("10 W", "5 kW")),
    "flop": ("a number of flops", ("20 flop", "5 Gflop")),
    "word": ("a number of words", ("1e6 word", "2 Gword")),
    "message": ("a number of messages", ("100 message",)),
    "byte": ("an amount of data", ("4 byte", "16 GiB")),
    "access": ("a number of memory accesses", ("1e6 access",)),
    "op": ("a number of operations", ("1e9 op",)),
    "core": ("a number of cores", ("8 cores",)),
    "instruction": ("a number of instructions", ("1e12 instruction",)),
    "cycle": ("a number of clock cycles", ("8 cycle",)),
    "USD": ("an amount of money", ("100 USD", "2 MUSD")),
    "s/flop": ("a time per flop", ("2.5 ps/flop",)),
    "s/word": ("a time per word", ("0.2 ns/word",)),
    "s/message": ("a time per message", ("60 ns/message",)),
    "s/byte": ("a time per byte", ("40 ps/byte",)),
    "J/flop": ("an energy per flop", ("380 pJ/flop",)),
    "J/word": ("an energy per word", ("340 pJ/word",)),
    "J/message": ("an energy per message", ("10 nJ/message",)),
    "J/byte": ("an energy per byte", ("80 pJ/byte",)),
    "s/access": ("a time per memory access", ("2 ns/access",)),
    "J/access": ("an energy per memory access", ("50 nJ/access",)),
    "J/op": ("an energy per operation", ("60 pJ/op",)),
    "byte/access": ("bytes of a memory access", ("4 byte/access",)),
    "W/word": ("a power per word", ("1.4 nW/word",)),
    "word/message": ("a message length", ("1e6 word/message",)),
    "byte/word": ("a word length", ("4 byte/word",)),
    "flop/s": ("a flop rate", ("400 GFLOPS", "1e9 flop/s")),
    "flop/J": ("an energy efficiency", ("75 GFLOPS/W", "2 Gflop/J")),
    "flop/byte": ("an intensity", ("4 flop/byte",)),
    "J*s": ("an energy-delay product", ("3 J*s",)),
    "byte/s": ("a data rate", ("25.6 GB/s",)),
    "bit/s": ("a data rate", ("10 Gbit/s",)),
    "instruction/s": ("an instruction rate", ("1e9 instruction/s",)),
    "instruction/J": ("instructions per energy", ("1e9 instruction/J",)),
    "instruction/byte": ("instructions per data", ("2 instruction/byte",)),
    "cycle/instruction": ("cycles per instruction", ("0.5 cycle/instruction",)),
    "byte/cycle": ("data per clock cycle", ("0.5 byte/cycle",)),
    "1/byte": ("a number per byte", ("48 1/byte",)),
    "W/byte": ("a power per byte", ("0.5 W/GiB",)),
    "USD/J": ("a price of energy", ("0.15 USD/kWh",)),
    "USD/word": ("a price per word", ("8 USD/GB", "3e-8 USD/word")),
    "kg/J": ("a carbon intensity", ("400 g/kWh",)),
    "kg/word": ("a mass per word", ("65 g/GB",)),
    "USD/W": ("a price per power", ("0.2 USD/W",)),
    "USD/Hz": ("a price per frequency", ("8e-19 USD/Hz",)),
    "W*s/word": ("an energy per word", ("340 pJ/word",)),
    "Hz": ("a frequency", ("3.1 GHz",)),
    "m": ("a length", ("10 mm",)),
    "m^2": ("an area", ("400 mm^2",)),
    "kg": ("a mass", ("2 kg",)),
    "V": ("a voltage", ("0.9 V",)),
    "A": ("a current", ("10 A",)),
    "K": ("a temperature", ("300 K",)),
    "ohm": ("a resistance", ("300 mohm",)),
    "F": ("a capacitance", ("1 nF",)),
    "C": ("a charge", ("1 C",)),
    "V/K": ("a voltage per temperature", ("86 uV/K",)),
    "1/m^2": ("a number per area", ("2e12 1/m^2",)),
    "1/s": ("a rate", ("5 1/s", "2 1/h")),
    FAILURES: ("a failure rate", ("100 FIT", "1e-6 1/h")),
}

_NUMBER = r"[+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,3})?"
_FACTOR = r"[A-Za-zµμΩ%]{1,40}(?:(?:\^|\*\*)-?[1-9])?"
_TEXT = re.compile(rf"\s*({_NUMBER})\s*((?:1\s*/\s*)?{_FACTOR}(?:\s*[*/]\s*{_FACTOR})*)?\s*")
_SPLIT = re.compile(r"([*/]?)\s*([A-Za-zµμΩ%]+)(?:(?:\^|\*\*)(-?[1-9]))?")


def to_si(value: float | str, unit: str, word_size: float | None = None) -> float:
    """Read ``value`` as a number of SI ``unit`` ("" for a plain number).

    A number is taken as it stands; text is one decimal number and a unit ("10 kW", "75 GFLOPS/W"), the unit
    being names with ``*``, ``/`` and small whole powers. Bytes are read as words where ``unit`` has words and
    ``word_size`` (bytes per word) is known. Raises UnitError for anything else, NaN and infinity included.
    """
    if isinstance(value, str):
        return _read(value, unit, word_size)
    if isinstance(value, bool) or not isinstance(value, Real):
        raise UnitError(f"{value!r} is not a number; write {_examples(unit)}")
    try:
        number = float(value)
    except OverflowError:
        raise UnitError("the number is too large") from None
    return _finite(number, repr(value))


def _finite(number: float, text: str) -> float:
    if not math.isfinite(number):
        raise UnitError(f"{text} is not a finite number")
    return number


def _read(text: str, unit: str, word_size: float | None) -> float:
    match = _TEXT.fullmatch(text) if len(text) <= 200 else None
    if match is None:
        raise UnitError(
            f"{_short(text)} is not one number with a unit (names, *, / and whole powers); "
            f"write {_examples(unit)}"
        )
    number, written = Decimal(match[1]), match[2]
    if written is None:
        if unit:
            raise UnitError(f"{_short(text)} has no unit: {kind(unit)} is needed; write {_examples(unit)}")
        return _finite(float(number), text)
    conversion = _conversion(written, unit)
    if conversion is None:
        raise UnitError(
            f"{_short(text)} is {kind(written)}, but {kind(unit)} is needed; write {_examples(unit)}"
        )
    factor, words = conversion
    if words:
        factor *= _bytes_per_word(word_size, text, unit) ** -words
    return _finite(float(number * factor), text)


def _bytes_per_word(word_size: float | None, text: str, unit: str) -> Decimal:
    if word_size is None:
        raise UnitError(
            f"{_short(text)} is in bytes, but words are needed: give machine.word_size (bytes per word), "
            f"or write {_examples(unit)}"
        )
    if not 0 < word_size < math.inf:
        raise UnitError(f"machine.word_size must be a positive number of bytes, not {word_size!r}")
    return Decimal(repr(float(word_size)))


def _short(text: str) -> str:
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
    for operator, name, power in _SPLIT.findall(expression):
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
        raise UnitError(f"unknown unit {name!r}{_meant(name)}")
    return found.factor, found.dimension


def _meant(name: str) -> str:
    known = sorted(units.table().units)
    spelled = [p + u for u in known for p in ("", *_PREFIXES.replace(" ", ""), "Ki", "Mi", "Gi", "Ti", "Pi")]
    if any(s.lower() == name.lower() for s in spelled):
        return did_you_mean(name, spelled)
    return did_you_mean(
        name, [p + u for u in known if len(u) > 2 for p in ("", "kilo", "mega", "giga", "milli")]
    )


def dimension(unit: str) -> dict[str, int]:
    """Return the powers of base dimensions ("[time]") that a unit has; none for a plain number. Raises UnitError."""
    return _root(unit)[1]


def written_unit(text: str) -> str:
    """Return the unit in a text such as "10 kW" ("" where there is none). Raises UnitError where it is not a number."""
    match = _TEXT.fullmatch(text) if len(text) <= 200 else None
    if match is None:
        raise UnitError(f"{_short(text)} is not one number with a unit; write {_examples('W')}")
    return match[2] or ""


def si_units() -> tuple[str, ...]:
    """Return the SI units that quantities have here; of those that measure the same the first is the usual one."""
    return tuple(_KINDS)


def kind(unit: str) -> str:
    """Say what a unit measures: ``kind("kWh")`` is "an energy (J)"."""
    if unit in _KINDS and unit:
        return f"{_KINDS[unit][0]} ({unit})"
    dimension = _root(unit)[1]
    for known, (words, _) in _KINDS.items():
        if _root(known)[1] == dimension:
            return f"{words} ({known})" if known else words
    text = "*".join(k.strip("[]") + ("" if v == 1 else f"^{v}") for k, v in sorted(dimension.items()))
    return f"a quantity of dimension {text}"


def si_unit(unit: str) -> str:
    """Return the SI unit of what a unit measures: "s" for "ms", "flop/s" for "GFLOPS"; raises UnitError.

    The unit's own text where no known unit measures the same and it is one already ("1/s^2").
    """
    factor, dimension = _root(unit)
    if not dimension:
        return ""
    known = next((k for k in _KINDS if k and _root(k)[1] == dimension), None)
    if known is not None:
        return unit if factor == _root(known)[0] else known
    if factor == 1:
        return unit
    raise UnitError(f"{unit!r} is {kind(unit)}: write it in SI units")


def examples(unit: str) -> tuple[str, ...]:
    """Return texts that are read well for a quantity of this SI unit, such as "5 kW" for "W"."""
    return _KINDS[unit][1] if unit in _KINDS else (f"1 {unit}",)


def _examples(unit: str) -> str:
    return " or ".join(f'"{e}"' for e in examples(unit))


@lru_cache(maxsize=1)
def registry() -> Any:
    """Return the pint registry of ``dse/units.txt``, loaded once."""
    import pint

    made = pint.UnitRegistry(None)
    made.load_definitions(files("dse").joinpath("units.txt").read_text(encoding="utf-8").splitlines())
    return made


# how a unit is shown where that is not its own text
_SHOWN = {"flop/s": "FLOPS", "flop/J": "FLOPS/W", "byte": "B", "byte/s": "B/s"}
# the prefixes shown, by powers of 1000: people read pJ and EFLOPS, but not qJ
_LEAST, _MOST = -4, 6
# half a word is not a mword, nor half a dollar 500 mUSD
_COUNTS = frozenset(
    [
        "flop",
        "word",
        "message",
        "byte",
        "access",
        "op",
        "core",
        "word/message",
        "byte/word",
        "instruction",
        "cycle",
        "USD",
    ]
)
# a ratio of counts reads best as it stands
_UNSCALED = frozenset(
    {"flop/byte", "instruction/byte", "cycle/instruction", "byte/cycle", "1/byte", "1/m^2", "1/s"}
)
OF_ELECTRICITY = {"USD/J": (3.6e6, "USD/kWh"), "kg/J": (3.6e9, "g/kWh")}
"""What a joule of electricity costs and emits is shown for a kilowatt-hour."""
_PREFIXES = "qryzafpnµm kMGTPEZYRQ"
DAY, YEAR = 86_400.0, 31_557_600.0
# seconds from which on a time is shown in days, and in years
LONG, VERY_LONG = 1e5, 1e8


def show(value: float, unit: str, digits: int = 6) -> str:
    """Write an SI number for people: ``show(12300, "W")`` is "12.3 kW", flop/J reads as GFLOPS/W.

    A failure rate ("failure/s") is shown in FIT; any other rate keeps its own unit: "5 1/s", "5 kHz". A time from
    1e5 s on is shown in days, from 1e8 s on in years of 365.25 days.
    Prefixes go from p to E (none below 1 for counts and money, none above 1 for seconds); beyond, the number is written
    in powers of ten: "3.27884e-28 J/flop".
    What it writes can be read again by ``to_si``, to the digits shown.
    """
    if not unit:
        return _plain(value, digits)
    if unit == FAILURES:
        return show(value * FIT_PER_FAILURE_RATE, "FIT", digits)
    if unit == "m^2":
        # a prefix before m^2 is squared: people read areas of chips in mm^2
        small = 0 < abs(value) < 0.01
        return f"{_plain(value * 1e6, digits)} mm^2" if small else f"{_plain(value, digits)} m^2"
    if unit in OF_ELECTRICITY:
        factor, name = OF_ELECTRICITY[unit]
        return f"{_plain(value * factor, digits)} {name}"
    if unit == "s" and long_time(value) != 1.0:
        name = "day" if long_time(value) == DAY else "yr"
        return f"{value / long_time(value):.{digits}g} {name}"
    if unit == "kg" or unit.startswith(("kg*", "kg/")):
        # its name has a prefix already
        return f"{value:.{digits}g} {unit}" if abs(value) >= 1 else show(value * 1e3, unit[1:], digits)
    if unit in _UNSCALED or unit.startswith("1/"):
        return f"{_plain(value, digits)} {unit}"
    name = _SHOWN.get(unit, unit)
    if value == 0 or not math.isfinite(value):
        return f"{value:g} {name}"
    rounded = float(f"{value:.{digits - 1}e}")
    # a prefix is raised with the unit it stands before: 1 mm^2 is 1e-6 m^2
    power = int(_SPLIT.findall(name)[0][2] or 1)
    step = math.floor(math.log10(abs(rounded)) / (3 * power) + 1e-12)
    if not (0 if unit in _COUNTS else _LEAST) <= step <= (0 if unit == "s" else _MOST):
        return f"{value:.{digits}g} {name}"
    prefix = _PREFIXES[step + 10].strip()
    scaled = rounded / 10.0 ** (3 * step * power)
    return f"{scaled:.{digits}g} {prefix}{name}"


def long_time(value: float) -> float:
    """Return the seconds of the unit in which a time is shown: 1, or those of a day or of a year."""
    if not LONG <= abs(value) < math.inf:
        return 1.0
    return DAY if abs(value) < VERY_LONG else YEAR


def _plain(value: float, digits: int) -> str:
    whole = math.isfinite(value) and float(value).is_integer() and abs(value) < 1e15
    return str(int(value)) if whole else f"{value:.{digits}g}"
