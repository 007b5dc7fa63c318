"""From an SI number to text that people read: prefixes, days and years, mm^2, FIT, kWh."""

from __future__ import annotations

import math

from dse.quantities.kinds import FAILURES, FIT_PER_FAILURE_RATE
from dse.quantities.reading import FACTORS
from dse.quantities.units import PREFIXES

# how a unit is shown where that is not its own text
_SHOWN = {"flop/s": "FLOPS", "flop/J": "FLOPS/W", "byte": "B", "byte/s": "B/s"}
# the prefixes shown, by powers of 1000: people read pJ and EFLOPS, but not qJ
_LEAST, _MOST = -4, 6
# half a word is no mword, nor half a dollar 500 mUSD
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
    power = int(FACTORS.findall(name)[0][2] or 1)
    step = math.floor(math.log10(abs(rounded)) / (3 * power) + 1e-12)
    if not (0 if unit in _COUNTS else _LEAST) <= step <= (0 if unit == "s" else _MOST):
        return f"{value:.{digits}g} {name}"
    prefix = PREFIXES[step + 10].strip()
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
