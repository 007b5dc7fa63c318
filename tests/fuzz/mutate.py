"""Spoil files: every mutation takes bytes and a random generator, and gives other bytes.

A file that can be parsed is mostly changed in its structure, so that what comes out is wrong in a way that gets past
the parser; one time in four, and where nothing can be parsed, its text or its bytes are.
"""

import csv
import io
import json
import random
import tomllib
from collections.abc import Callable, Iterator
from typing import Any

import speak

from scenarios.language.toml_text import to_toml

Tree = dict[str, Any]
Bytes = bytes
Place = tuple[Any, Any]  # a table or list, and the key or index in it

NUMBERS: tuple[Any, ...] = (
    0, 1, -1, 2, 3, 0.5, -0.0, 1e-300, 5e-324, 1e300, 1.7976931348623157e308, -1e308, float("inf"), float("-inf"),
    float("nan"), 2**31, 2**63, 2**64 + 1, 10**30, -(10**18), 10**400, 1e15, 1e16, 1e-9, 1.0000000000000002, 7.3,
)  # fmt: skip
TEXTS = (
    "", " ", "0", "nan", "inf", "1e400 s", "5e-324 s", "-1 s", "10 s", "10 kg", "10 kW", "3 GB", "1 word", "10  s",
    "10s", "١٠ s", "１０ s", "10 µs", "10 μs", "10 furlong", "1 m/s^2", "2 kg*", "s", "1/0 s", "10 % ", "1 J/flop",
    "1e5 flop", "energy", "time", "memory", "processors", "machine", "cpu", "jaketown", "i7-2600k", "../../etc/passwd",
    "./here.toml", "\x00", "\x1b[31mred\x1b[0m", "a\nb", "\ufeff", "ｅnergy", "еnergy", "ener\u200bgy", "e\u0301",
    "\U0001f600",
    "{{ 1 }}", "%s%n", "None", "true", "<b>", "__class__", "$(reboot)", "x" * 300, "1" * 400, "9" * 5000, "[1, 2]",
)  # fmt: skip
FEW = (
    "0",
    "-0",
    "-1",
    "7",
    "1e308",
    "5e-324",
    "1e-300",
    "1e300",
    "1e400",
    "nan",
    "inf",
    "-inf",
    "1_000",
    "0x10",
    "9" * 400,
)
HEADS = (
    "time [J]",
    "energy",
    "time [s",
    "time [ms] [s]",
    "[s]",
    "",
    "flops [Gflop/s]",
    "time [ms]",
    "core voltage [V]",
)
LOOKALIKES = str.maketrans({"e": "е", "a": "а", "o": "ο", "p": "р", "i": "і", "-": "‐", "_": "＿"})
CONTROLS = "".join(map(chr, (0, 1, 7, 8, 12, 27, 127, 133, 0x2028, 0x202E, 0xFEFF)))


def spoiled(name: str, data: bytes, dice: random.Random, others: tuple[bytes, ...]) -> bytes:
    """Return a file with one mutation; ``others``: files of the same kind, of which parts may be taken."""
    suffix = name.rpartition(".")[2]
    if dice.random() < 0.75:
        try:
            if suffix == "toml":
                return _tables(data, dice, others)
            if suffix == "json":
                return _record(data, dice, others)
            if suffix == "csv":
                return _rows(data, dice)
        except (ValueError, RecursionError, TypeError, csv.Error):
            pass  # what an earlier mutation left cannot be parsed any more
    return dice.choice(RAW)(data, dice)


def _tables(data: bytes, dice: random.Random, others: tuple[bytes, ...]) -> bytes:
    tree = tomllib.loads(data.decode())
    other = tomllib.loads(dice.choice(others).decode()) if others else tree
    _change(tree, dice, other)
    return to_toml(tree).encode()


def _record(data: bytes, dice: random.Random, others: tuple[bytes, ...]) -> bytes:
    tree = json.loads(data)
    other = json.loads(dice.choice(others)) if others else tree
    if isinstance(tree, dict):
        _change(tree, dice, other if isinstance(other, dict) else tree)
    return json.dumps(tree).encode()


def _change(tree: Tree, dice: random.Random, other: Tree) -> None:
    places = list(_places(tree))
    if not places:
        tree[dice.choice(TEXTS)] = dice.choice(NUMBERS)
        return
    dice.choice(CHANGES)(tree, dice.choice(places), dice, other)


def _places(node: Any) -> Iterator[Place]:
    """Go through every entry of a tree."""
    for key, value in list(node.items()) if isinstance(node, dict) else list(enumerate(node)):
        yield node, key
        if isinstance(value, dict | list):
            yield from _places(value)


def _remove(_tree: Tree, at: Place, _dice: random.Random, _other: Tree) -> None:
    del at[0][at[1]]


def _rename(_tree: Tree, at: Place, dice: random.Random, other: Tree) -> None:
    node, key = at
    if isinstance(node, list):
        node.insert(dice.randint(0, len(node)), dice.choice(NUMBERS + TEXTS))
        return
    known = [k for _, k in _places(other) if isinstance(k, str)]
    ways = [
        key[1:], key + "s", key.upper(), key.translate(LOOKALIKES), key + dice.choice(CONTROLS), f" {key}", "",
        key + ".max", f"machine.{key}", dice.choice(known or [key]), dice.choice(TEXTS), key * 40,
    ]  # fmt: skip
    node[dice.choice(ways)] = node.pop(key)


def _double(tree: Tree, at: Place, dice: random.Random, _other: Tree) -> None:
    node, key = at
    if isinstance(node, list):
        node.insert(key, node[key])
    else:
        target = dice.choice([tree, node])
        target[key + dice.choice(["", "2", "_", ".x"])] = node[key]


def _number(_tree: Tree, at: Place, dice: random.Random, _other: Tree) -> None:
    at[0][at[1]] = dice.choice(NUMBERS)


def _scale(tree: Tree, at: Place, dice: random.Random, other: Tree) -> None:
    """Change a number a little, or by much, so that the question stays one."""
    node, key = at
    numbers = [p for p in _places(tree) if type(p[0][p[1]]) in {int, float}]
    if numbers:
        node, key = dice.choice(numbers)
        try:
            node[key] *= dice.choice([-1, 0, 1e-3, 0.99, 3, 1e3, 1e9, 1e-12, 10.0 ** dice.randint(-200, 200)])
        except OverflowError:
            node[key] = 0
    else:
        _number(tree, at, dice, other)


def _text(_tree: Tree, at: Place, dice: random.Random, _other: Tree) -> None:
    at[0][at[1]] = dice.choice(TEXTS)


def _unit(tree: Tree, at: Place, dice: random.Random, other: Tree) -> None:
    quantities = [p for p in _places(tree) if isinstance(v := p[0][p[1]], str) and v[:1].isdigit()]
    if not quantities:
        _text(tree, at, dice, other)
        return
    node, key = dice.choice(quantities)
    number, _, unit = node[key].partition(" ")
    units = [
        "kg",
        "s",
        "ms",
        "J",
        "kW",
        "GB",
        "word",
        "m" + unit,
        unit + "/s",
        f"1/{unit}",
        unit + "^2",
        "",
        unit.upper(),
    ]
    numbers = [
        number,
        "1e400",
        "-" + number,
        number.replace(".", ","),
        number + "e",
        "0x10",
        "1_000",
        "nan",
        "9" * 400,
    ]
    node[key] = f"{dice.choice(numbers)} {dice.choice(units)}"


def _kind(_tree: Tree, at: Place, dice: random.Random, _other: Tree) -> None:
    """Give an entry another type."""
    node, key = at
    value = node[key]
    ways: list[Any] = [
        [value],
        [value, value],
        [],
        {},
        {"min": value},
        {"values": [value]},
        True,
        False,
        str(value),
    ]
    node[key] = dice.choice([*ways, {"": value}, {"base": "jaketown"}, [[value]], [{}], {"min": 1, "max": 0}])


def _deep(_tree: Tree, at: Place, dice: random.Random, _other: Tree) -> None:
    value = at[0][at[1]]
    for _ in range(dice.choice([2, 5, 40, 150])):
        value = {"max": value} if dice.random() < 0.5 else [value]
    at[0][at[1]] = value


def _graft(tree: Tree, at: Place, dice: random.Random, other: Tree) -> None:
    """Take an entry of another file: in place of this one, or a whole table."""
    if other and dice.random() < 0.5:
        key = dice.choice(list(other))
        tree[key] = other[key]
        return
    places = list(_places(other))
    if places:
        node, key = dice.choice(places)
        at[0][at[1]] = node[key]


def _long(_tree: Tree, at: Place, dice: random.Random, _other: Tree) -> None:
    node, key = at
    size = dice.choice([10, 100, 1000])
    value = node[key]
    if isinstance(value, list) and value:
        node[key] = value * size
    elif isinstance(node, dict):
        node.update({f"{key}{i}": value for i in range(size)})
    else:
        node[key] = "long " * size


def _say(tree: Tree, _at: Place, dice: random.Random, _other: Tree) -> None:
    speak.more(tree, dice)


CHANGES: tuple[Callable[[Tree, Place, random.Random, Tree], None], ...] = (
    _remove, _rename, _double, _number, _scale, _scale, _text, _unit, _kind, _deep, _graft, _graft, _long,
    _say, _say,
)  # fmt: skip


def _rows(data: bytes, dice: random.Random) -> bytes:
    """Change a table: cells, columns, rows, quotes."""
    rows = list(csv.reader(io.StringIO(data.decode())))
    if not rows or not rows[0]:
        raise ValueError("no table")
    dice.choice((_cell, _cell, _column, _column, _number_of_rows))(rows, dice)
    quoting: Any = dice.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
    text = io.StringIO()
    csv.writer(text, delimiter=dice.choice(",,,,;\t"), quoting=quoting).writerows(rows)
    return text.getvalue().encode(errors="surrogatepass")


def _cell(rows: list[list[str]], dice: random.Random) -> None:
    """Change, add or leave out a cell."""
    row = dice.choice(rows)
    j = dice.randrange(max(1, len(row)))
    new = [] if dice.random() < 0.15 else [dice.choice([*TEXTS, *FEW])]
    row[j : j + dice.choice([0, 1, 1, 1])] = new


def _column(rows: list[list[str]], dice: random.Random) -> None:
    """Fill, double, leave out or rename a column."""
    j, value = dice.randrange(len(rows[0])), dice.choice(FEW)
    match dice.randrange(4):
        case 0:
            rows[1:] = [[*r[:j], value, *r[j + 1 :]] for r in rows[1:]]
        case 1:
            rows[:] = [r + r[j : j + 1] for r in rows]
        case 2:
            rows[:] = [r[:j] + r[j + 1 :] for r in rows]
        case _:
            rows[0][j] = dice.choice(HEADS)


def _number_of_rows(rows: list[list[str]], dice: random.Random) -> None:
    """Leave out rows, repeat one, or put an empty one between."""
    match dice.randrange(3):
        case 0:
            del rows[dice.choice([0, 1, 2, 3]) :]
        case 1:
            rows[1:] = rows[1:2] * dice.choice([2, 40])
        case _:
            rows.insert(dice.randint(0, len(rows)), [])


def _cut(data: bytes, dice: random.Random) -> bytes:
    start = dice.randint(0, len(data))
    return data[:start] if dice.random() < 0.5 else data[:start] + data[start + dice.randint(1, 9) :]


def _flip(data: bytes, dice: random.Random) -> bytes:
    if not data:
        return b"\0"
    found = bytearray(data)
    for _ in range(dice.choice([1, 1, 3])):
        found[dice.randrange(len(found))] ^= 1 << dice.randrange(8)
    return bytes(found)


def _insert(data: bytes, dice: random.Random) -> bytes:
    at = dice.randint(0, len(data))
    odd = [
        dice.randbytes(dice.choice([1, 4, 40])),
        dice.choice(TEXTS).encode(),
        dice.choice(CONTROLS).encode(),
    ]
    odd += [
        b"[" * 3000,
        b'"""',
        b"'''",
        b"\\u00",
        b"9" * 5000,
        b"\xff\xfe",
        b"\r",
        b"\n[[given]]\n",
        b"\n[limits]\n",
    ]
    odd += [
        b"\nx" + b".a" * 3000 + b" = 1\n",
        b"{a=" * 1500,
        b"\n#" + b"c" * 100_000 + b"\n",
        b"1979-05-27T07:32:00Z",
    ]
    return data[:at] + dice.choice(odd) + data[at:]


def _lines(data: bytes, dice: random.Random) -> bytes:
    lines = data.splitlines(keepends=True) or [b""]
    i, j = dice.randrange(len(lines)), dice.randrange(len(lines))
    match dice.randrange(3):
        case 0:
            del lines[i]
        case 1:
            lines.insert(j, lines[i])
        case _:
            lines[i], lines[j] = lines[j], lines[i]
    return b"".join(lines)


def _encoding(data: bytes, dice: random.Random) -> bytes:
    text = data.decode(errors="replace")
    ways = [
        text.encode("utf-16"),
        text.encode("latin-1", "replace"),
        b"\xef\xbb\xbf" + data,
        text.replace("\n", "\r\n").encode(),
    ]
    return dice.choice(
        [*ways, text.replace("=", "＝").encode(), text.replace("\n", "\r").encode(), b"", data + b"\0"]
    )


RAW: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    _cut,
    _flip,
    _insert,
    _insert,
    _lines,
    _lines,
    _encoding,
)
