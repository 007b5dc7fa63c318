"""From an SI number to text that people read: prefixes, days and years, mm^2, FIT, kWh."""

from __future__ import annotations

import math

from dse.quantities.kinds import FAILURES, FIT_PER_FAILURE_RATE
from dse.quantities.reading import FACTORS
from dse.quantities.units import PREFIXES

LEVEL_DIGITS = 6
# how a unit is shown where that is not its own text
_SHOWN = {"flop/s": "FLOPS", "flop/J": "FLOPS/W", "byte": "B", "byte/s": "B/s"}
# the prefixes shown, by powers of 1000: people read pJ and EFLOPS, but not qJ
_LEAST_PREFIX, _LARGEST_PREFIX = -5, 6
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
    {
        "flop/byte",
        "instruction/byte",
        "cycle/instruction",
        "byte/cycle",
        "1/byte",
        "1/m^2",
        "1/s",
        "USD/kWh",
        "g/kWh",
    }
)
# what a joule of electricity costs and emits is shown for a kilowatt-hour
_ELSEWISE = {
    FAILURES: (FIT_PER_FAILURE_RATE, "FIT"),
    "USD/J": (3.6e6, "USD/kWh"),
    "kg/J": (3.6e9, "g/kWh"),
}
_WORD, _WORD_OF = "word", "word of "
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
        return _number_text(value, digits)
    factor, other = shown_unit(unit)
    if other != unit:
        return show(value * factor, other, digits)
    if unit == "m^2":
        # a prefix before m^2 is squared: people read areas of chips in mm^2
        small = 0 < abs(value) < 0.01
        return f"{_number_text(value * 1e6, digits)} mm^2" if small else f"{_number_text(value, digits)} m^2"
    if unit == "s" and long_time(value) != 1.0:
        name = "day" if long_time(value) == DAY else "yr"
        return f"{value / long_time(value):.{digits}g} {name}"
    if unit == "kg" or unit.startswith(("kg*", "kg/")):
        # its name has a prefix already
        return f"{value:.{digits}g} {unit}" if abs(value) >= 1 else show(value * 1e3, unit[1:], digits)
    if unit in _UNSCALED or unit.startswith("1/"):
        return f"{_number_text(value, digits)} {unit}"
    name = _SHOWN.get(unit, unit)
    if value == 0 or not math.isfinite(value):
        return f"{value:g} {name}"
    rounded = float(f"{value:.{digits - 1}e}")
    # a prefix is raised with the unit it stands before: 1 mm^2 is 1e-6 m^2
    power = int(FACTORS.findall(name)[0][2] or 1)
    step = math.floor(math.log10(abs(rounded)) / (3 * power) + 1e-12)
    if not (0 if unit in _COUNTS else _LEAST_PREFIX) <= step <= (0 if unit == "s" else _LARGEST_PREFIX):
        # a rounded number of few digits is written out: 86400 s, not 8.64e+04 s
        return f"{rounded:.{max(digits, 6)}g} {name}"
    prefix = PREFIXES[step + 10].strip()
    scaled = rounded / 10.0 ** (3 * step * power)
    return f"{scaled:.{digits}g} {prefix}{name}"


def level_text(level: float, of: float = 1.0) -> str:
    """Write a level between 0 and 1, or as a part ``of`` 100, with the digits that tell it from both ends.

    >>> level_text(0.95, of=100), level_text(0.999999, of=100)
    ('95', '99.9999')
    """
    end = min(level, 1.0 - level)
    if end <= 0.0:
        return f"{of * level:g}"
    places = max(LEVEL_DIGITS - 1 - math.floor(math.log10(of * end)), 0)
    text = f"{of * level:.{places}f}"
    return text.rstrip("0").rstrip(".") if places else text


def in_bytes(unit: str, bytes_per_word: float | None) -> str:
    """Return the unit with which ``show`` writes an amount of words in bytes; any other unit as it is.

    >>> show(2000, in_bytes("word", 8))
    '16 kB'
    """
    return f"{_WORD_OF}{bytes_per_word:.17g} byte" if bytes_per_word and unit == _WORD else unit


def without_size(unit: str) -> str:
    """Return the unit that numbers are in: "word" of those that ``in_bytes`` shows in bytes."""
    return _WORD if unit.startswith(_WORD_OF) else unit


def shown_unit(unit: str) -> tuple[float, str]:
    """Return the unit that ``show`` writes for numbers of a unit, prefixes aside, and the factor to it."""
    if unit.startswith(_WORD_OF):
        return float(unit.split()[-2]), "byte"
    return _ELSEWISE.get(unit, (1.0, unit))


def long_time(value: float) -> float:
    """Return the seconds of the unit in which a time is shown: 1, or those of a day or of a year."""
    if not LONG <= abs(value) < math.inf:
        return 1.0
    return DAY if abs(value) < VERY_LONG else YEAR


def _number_text(value: float, digits: int) -> str:
    whole = math.isfinite(value) and float(value).is_integer() and abs(value) < 1e15
    return str(int(value)) if whole else f"{value:.{digits}g}"
