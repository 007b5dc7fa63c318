"""Text with units becomes SI numbers, exactly; whatever is not one number with a fitting unit is refused."""

import itertools
import math
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.quantities import UnitError, examples, registry, to_si, units

DECIMAL = {
    "quecto": ("q", -30),
    "ronto": ("r", -27),
    "yocto": ("y", -24),
    "zepto": ("z", -21),
    "atto": ("a", -18),
    "femto": ("f", -15),
    "pico": ("p", -12),
    "nano": ("n", -9),
    "micro": ("u", -6),
    "milli": ("m", -3),
    "centi": ("c", -2),
    "kilo": ("k", 3),
    "mega": ("M", 6),
    "giga": ("G", 9),
    "tera": ("T", 12),
    "peta": ("P", 15),
    "exa": ("E", 18),
    "zetta": ("Z", 21),
    "yotta": ("Y", 24),
    "ronna": ("R", 27),
    "quetta": ("Q", 30),
}
BINARY = ["kibi", "mebi", "gibi", "tebi", "pebi", "exbi", "zebi", "yobi"]


@pytest.mark.parametrize("name", DECIMAL)
def test_decimal_prefixes_are_powers_of_ten(name: str):
    symbol, power = DECIMAL[name]
    wanted = float(f"1e{power}")
    assert to_si(f"1 {name}watt", "W") == to_si(f"1 {symbol}W", "W") == wanted
    assert to_si(f"1 {name}byte", "byte") == to_si(f"1 {symbol}B", "byte") == wanted


@pytest.mark.parametrize(("name", "power"), [(b, 10 * (i + 1)) for i, b in enumerate(BINARY)])
def test_binary_prefixes_are_powers_of_two(name: str, power: int):
    symbol = name[0].upper() + "i"
    assert to_si(f"1 {name}byte", "byte") == to_si(f"1 {symbol}B", "byte") == 2.0**power
    assert to_si(f"1 {symbol}word", "word") == 2.0**power


def test_no_prefix_escapes_these_tests():
    """A prefix added to the unit file must be added above."""
    defined = {p for p in registry()._prefixes if len(p) > 3 or p == "exa"}
    assert defined == {*DECIMAL, *BINARY}


@pytest.mark.parametrize(
    ("text", "unit", "wanted"),
    [
        ("10 kW", "W", 1e4),
        ("10kW", "W", 1e4),
        (" -1.5e3 W ", "W", -1500.0),
        (".5 ms", "s", 5e-4),
        ("0.1 ms", "s", 1e-4),
        ("2 min", "s", 120.0),
        ("1 h", "s", 3600.0),
        ("2 days", "s", 172800.0),
        ("1 year", "s", 31557600.0),
        ("3 kWh", "J", 1.08e7),
        ("3 kW*h", "J", 1.08e7),
        ("75 GFLOPS/W", "flop/J", 75e9),
        ("75 Gflop/J", "flop/J", 75e9),
        ("400 GFLOPS", "flop/s", 4e11),
        ("400 GFLOP/s", "flop/s", 4e11),
        ("2.5 ps/flop", "s/flop", 2.5e-12),
        ("1.4 nW/word", "W/word", 1.4e-9),
        ("1.4 nJ/word/s", "W/word", 1.4e-9),
        ("1e6 word/message", "word/message", 1e6),
        ("8 Gb/s", "byte/s", 1e9),
        ("32 bits", "byte", 4.0),
        ("3.1 GHz", "Hz", 3.1e9),
        ("5 1/s", "Hz", 5.0),
        ("5 s^-1", "Hz", 5.0),
        ("400 mm**2", "m^2", 4e-4),
        ("8 µs", "s", 8e-6),
        ("2 MUSD", "USD", 2e6),
        ("16 cores", "core", 16.0),
        ("50 %", "", 0.5),
        ("1e6", "", 1e6),
        ("300 mohm", "ohm", 0.3),
        ("5 g", "kg", 5e-3),
    ],
)
def test_text_is_read(text: str, unit: str, wanted: float):
    # decimal arithmetic, rounded once: no tolerance
    assert to_si(text, unit) == wanted


@given(st.floats(1e-300, 1e300), st.sampled_from(["W", "s", "word", "flop/J"]))
def test_a_number_is_read_as_python_reads_it(value: float, unit: str):
    assert to_si(value, unit) == to_si(f"{value!r} {unit}", unit) == value


def test_numbers_are_si_as_they_stand():
    assert to_si(5, "W") == 5.0
    assert isinstance(to_si(5, "W"), float)


@pytest.mark.parametrize(
    ("text", "unit", "wanted"),
    [("16 GiB", "word", 2.0**32), ("1 GB/s", "word/s", 2.5e8), ("1 W/GiB", "W/word", 2.0**-28)],
)
def test_bytes_become_words_where_their_size_is_known(text: str, unit: str, wanted: float):
    assert to_si(text, unit, word_size=4.0) == pytest.approx(wanted, rel=1e-15)
    with pytest.raises(UnitError, match=r"machine\.word_size"):
        to_si(text, unit)
    with pytest.raises(UnitError, match="positive"):
        to_si(text, unit, word_size=0.0)


@pytest.mark.parametrize(
    "text",
    [
        "9**9**9 W",
        "1.2.3 W",
        "10 W; 3",
        "inf W",
        "nan W",
        "nan",
        "inf",
        "",
        " ",
        "W",
        "1,000 W",
        "10 kW h",
        "10 (W)",
        "10 W**99",
        "10 W^2^2",
        "10 W//s",
        "10 W*",
        "10 W + 1 W",
        "1 __import__",
        "٣ W",
        "10 Ｗ",
        "１０ W",
        "0x10 W",
        "1_000 W",
        "1e9999999999 W",
        "1" * 100_000 + " W",
        "10 " + "W*" * 100_000 + "W",
    ],
)
def test_what_is_not_one_number_with_a_unit_is_refused(text: str):
    """At once, without pint seeing it, and with examples of what is accepted."""
    with pytest.raises(UnitError, match='write "10 W" or "5 kW"') as caught:
        to_si(text, "W")
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, "1e999 W", 10**400, True, None, [1]])
def test_what_is_no_finite_number_is_refused(value: float):
    with pytest.raises(UnitError):
        to_si(value, "W")


@pytest.mark.parametrize("text", ["9" * 5000 + " W", "9" * 41 + " W", "1." + "0" * 41])
def test_a_number_of_too_many_digits_is_told_so(text: str):
    with pytest.raises(UnitError, match="has more than 40 digits in a row; write"):
        to_si(text, "W")


def test_text_without_a_unit_is_refused_where_one_is_needed():
    with pytest.raises(UnitError, match=r"has no unit: a power \(W\) is needed"):
        to_si("10", "W")


@pytest.mark.parametrize(
    ("text", "unit", "message"),
    [
        ("10 kWh", "W", r"an energy \(J\), but a power \(W\) is needed"),
        ("5 GB/s", "Hz", r"a data rate \(byte/s\), but a frequency \(Hz\) is needed"),
        ("5 flop", "", r"a number of flops \(flop\), but a plain number is needed"),
        ("5 ps", "s/flop", r"a time \(s\), but a time per flop \(s/flop\) is needed"),
        ("5 USD", "W", "an amount of money"),
        ("5 word", "byte", "a number of words"),
        ("5 core", "", "a number of cores"),
        ("5 kg*m", "W", r"a quantity of dimension length\*mass"),
    ],
)
def test_a_wrong_dimension_names_both(text: str, unit: str, message: str):
    with pytest.raises(UnitError, match=message):
        to_si(text, unit)


@pytest.mark.parametrize(
    ("text", "unit", "message"),
    [
        ("10 kw", "W", "unknown unit 'kw'; did you mean 'kW'"),
        ("10 ghz", "Hz", "did you mean 'GHz'"),
        ("10 KB", "byte", "did you mean 'kB'"),
        ("10 Watt", "W", "did you mean 'watt'"),
        ("10 secnod", "s", "did you mean 'second'"),
        ("50 mss", "s", r"did you mean 'ms'\?"),
        ("1e6 mss", "", "unknown unit 'mss'; write \"20\""),
        ("2 Gflopp/J", "flop/J", r"did you mean 'Gflop'\?"),
        ("10 mhz", "Hz", r"did you mean 'MHz' or 'mHz'\?"),
        ("10 kWz", "W", r"did you mean 'kW'\?"),
        ("10 kWz", "Hz", r"did you mean 'kHz'\?"),
        ("10 Jflop", "J/flop", r"did you mean 'J/flop'\?"),
        ("10 GBps", "byte/s", r"did you mean 'GB/s'\?"),
        ("10 Ws", "J", r"unknown unit 'Ws'; did you mean 'W\*s'\?"),
        ("10 degC", "K", "unknown unit 'degC'; write \"300 K\""),
    ],
)
def test_an_unknown_unit_is_told_what_was_meant(text: str, unit: str, message: str):
    with pytest.raises(UnitError, match=message):
        to_si(text, unit)


@pytest.mark.parametrize("text", ["3 flops", "3 Gflops", "3 gflops", "3 GFLOPs/W", "3 Flops"])
def test_plural_flops_is_ambiguous(text: str):
    with pytest.raises(UnitError, match="ambiguous: FLOPS is flop/second, flop is the count"):
        to_si(text, "flop")


@given(st.text(max_size=40))
def test_no_text_does_worse_than_a_unit_error(text: str):
    try:
        value = to_si(text, "W")
    except UnitError:
        return
    assert math.isfinite(value)


def test_every_example_can_be_read():
    for unit in ("", "s", "J", "W", "flop", "word", "s/flop", "W/word", "flop/J", "flop/s", "J*s", "USD"):
        for text in examples(unit):
            assert math.isfinite(to_si(text, unit))


def test_importing_quantities_does_not_import_pint():
    code = "import sys, dse.quantities; print('pint' in sys.modules)"
    root = Path(__file__).parents[2]
    run = subprocess.run([sys.executable, "-c", code], cwd=root, check=True, capture_output=True, text=True)
    assert run.stdout.strip() == "False"


def test_every_name_means_what_pint_reads_in_the_same_file():
    """All prefixes, units and plurals: the same names are known, with the same factors and dimensions."""
    pint = registry()
    table = units.table()
    for prefix, unit, plural in itertools.product(["", *table.prefixes], table.units, ["", "s"]):
        name = prefix + unit + plural
        ours = table.find(name)
        theirs = pint.parse_unit_name(name)
        assert (ours is None) == (not theirs), name
        if ours is not None:
            one = pint.Unit(theirs[0][0] + theirs[0][1])
            assert dict(ours.dimension) == dict(pint.get_dimensionality(one)), name
            # pint multiplies floats here
            assert float(ours.factor) == pytest.approx(pint.get_root_units(one)[0], rel=1e-14), name
