"""What a key of a scenario may hold: what reads it, and the type that stands for it in the JSON Schema."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from numbers import Real
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from dse.names import did_you_mean
from dse.quantities import NEAR_ZERO, near_zero
from scenarios.distributions import MEASURES, METHODS
from scenarios.language.parts import Check, Ends, Wrong
from scenarios.question import SAMPLERS, Search

USUAL = Search()
MOST_COUNT = 10_000_000
DATABASES = ("sqlite", "postgresql")
FILES = (".db", ".sqlite", ".sqlite3")
STORAGE_EXAMPLES = 'write a file such as "study.db", or "postgresql://user@host/database"'


def _bare(value: Any) -> float:
    number = _finite(value)
    if near_zero(number):
        raise Wrong(f"this is {NEAR_ZERO[0].removeprefix('is ')}", NEAR_ZERO[1])
    return number


def _finite(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise Wrong("this is not a number", "write a number such as 20 or 1e6")
    try:
        number = float(value)
    except OverflowError:
        raise Wrong("the number is too large", "write a number below 1e308") from None
    if not math.isfinite(number):
        raise Wrong(f"{number} is not a finite number", "write a finite number, or leave the key out")
    return number


def _number_or_quantity(value: Any) -> float | str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, Real):
        raise Wrong("this is not a number", 'write a number, or text with a unit such as "10 kW"')
    return _finite(value)


def _whole_count(value: Any) -> int:
    number = _bare(value)
    if not number.is_integer():
        raise Wrong(f"{number:g} is not a whole number", "write a whole number such as 8")
    return int(number)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise Wrong("this is neither true nor false", "write true or false")
    return value


def _flag_or_text(value: Any) -> bool | str:
    if not isinstance(value, bool) and value not in ("on", "off"):
        right = 'write true or false, or in a question of several kernels "on" or "off"'
        raise Wrong("this is neither true nor false", right)
    return bool(value) if isinstance(value, bool) else str(value)


def _text(right: str) -> Callable[[Any], str]:
    """Return what reads text; ``right``: what to write in place of what is none."""

    def read(value: Any) -> str:
        if not isinstance(value, str):
            raise Wrong("this is not text", right)
        return value

    return read


_checked_string = _text("write text in quotes")


def _line(value: Any) -> str:
    """Read text of one line; what stands on several is shown on one."""
    return " ".join(_text('write it in quotes: "Fastest run"')(value).split())


def _definition(value: Any) -> str:
    if not isinstance(value, str):
        right = 'write it as text, such as "9000 USD * processors"; a plain number belongs under [given]'
        raise Wrong("this is not an expression", right)
    return value


def _name_or_names(value: Any) -> tuple[str, ...]:
    listed = (value,) if isinstance(value, str) else value
    if not isinstance(listed, list | tuple) or not all(isinstance(v, str) for v in listed):
        raise Wrong("this is not a name or a list of names", 'write "NAME" or ["NAME", "OTHER"], in quotes')
    return tuple(listed)


def _value_list(value: Any) -> tuple[float | str, ...]:
    if not isinstance(value, list | tuple):
        raise Wrong("this is not a list", "write a list such as [1, 2, 4]")
    for i, v in enumerate(value):
        if isinstance(v, Mapping):
            right = 'write numbers or texts; a changed machine is a file of its own: "./mine.toml"'
            raise Wrong(f"entry {i + 1} is a table", right)
        if not isinstance(v, str) and (isinstance(v, bool) or not isinstance(v, Real)):
            raise Wrong(f"entry {i + 1} is neither a number nor text", "write a list such as [1, 2, 4]")
    return tuple(_number_or_quantity(v) for v in value)


def _lists(value: Any) -> dict[str, tuple[float | str, ...]]:
    if not isinstance(value, Mapping) or not value:
        raise Wrong("this is not a table of lists", "write { bodies = [1e5, 1e6], processors = [64, 512] }")
    found = {}
    for path, listed in leaves(value).items():
        try:
            found[path] = _value_list(listed)
        except Wrong as error:
            wrong = error.wrong.replace("this is", f"the entry for {path} is", 1)
            raise Wrong(wrong, error.right) from None
    return found


def leaves(entries: Mapping[str, Any]) -> dict[str, Any]:
    """Write the entries of nested tables with dotted names."""
    found: dict[str, Any] = {}
    for name, entry in entries.items():
        inner = leaves(entry) if isinstance(entry, dict) else {}
        dotted = {f"{name}.{k}": v for k, v in inner.items()}
        # what stands there twice stays nested, where it is refused
        twice = any(k in entries or k in found for k in dotted)
        found |= dotted if inner and not twice else {name: entry}
    return found


def _headers(value: Any) -> dict[str, str]:
    if not isinstance(value, Mapping) or not value:
        raise Wrong("no columns are named", 'write { bodies = "n", "limits.time.max" = "T" }')
    found = leaves(value)
    for path, head in found.items():
        if not isinstance(head, str):
            raise Wrong(f"the entry for {path} is not a column header", 'write { bodies = "n" }')
    return found


def _plain_numbers(what: str, right: str) -> Callable[[Any], tuple[float, ...]]:
    """Return what reads a list of numbers without units; ``what`` each of them is, ``right``: what to write."""

    def read(value: Any) -> tuple[float, ...]:
        if not isinstance(value, list | tuple):
            raise Wrong("this is not a list", f"write {right}")
        for i, v in enumerate(value):
            if isinstance(v, bool) or not isinstance(v, Real):
                raise Wrong(f"entry {i + 1} is not a plain number, as every {what} is", f"write {right}")
        return tuple(_finite(v) for v in value)

    return read


def _spacing(value: Any) -> str:
    if not isinstance(value, str) or value not in {"linear", "log"}:
        raise Wrong("this is not a spacing", 'write "log" or "linear"')
    return value


def _sampler(value: Any) -> str:
    if not isinstance(value, str) or value not in SAMPLERS:
        hint = did_you_mean(value, SAMPLERS).removeprefix("; ") if isinstance(value, str) else ""
        raise Wrong("this is not a sampler", f"{hint} " * bool(hint) + f"there are: {', '.join(SAMPLERS)}")
    return value


def _method_name(value: Any) -> str:
    if not isinstance(value, str) or value not in METHODS:
        raise Wrong("this is not a sampling method", f"there are: {', '.join(METHODS)}")
    return value


def _measure(value: Any) -> str:
    if not isinstance(value, str) or value not in MEASURES[:2]:
        right = 'write measure = "mean" or "worst"; or quantile = 0.95, or cvar = 0.9'
        raise Wrong("this is not a measure", right)
    return value


def _level(value: Any) -> float:
    number = _bare(value)
    if not 0 < number < 1:
        raise Wrong("this is not a probability between 0 and 1", "write a number such as 0.95")
    return number


def _level_from_zero(value: Any) -> float:
    number = _bare(value)
    if not 0 <= number < 1:
        raise Wrong(
            "this is not a probability from 0 to below 1", "write a number such as 0.9; 0 is the mean"
        )
    return number


def _confidence(value: Any) -> float:
    number = _bare(value)
    if not 0 <= number < 1:
        raise Wrong("this is not a confidence", "write a number from 0 to below 1, such as 0.99")
    return number


def _pairs(value: Any) -> tuple[tuple[str, str, float], ...]:
    right = 'write [["machine.time_per_flop", "machine.energy_per_flop", 0.7]]'
    if not isinstance(value, list | tuple):
        raise Wrong("this is not a list of correlations", right)
    for row in value:
        named = isinstance(row, list | tuple) and len(row) == 3 and all(isinstance(n, str) for n in row[:2])
        counted = named and isinstance(row[2], Real) and not isinstance(row[2], bool)
        if not counted or not -1 <= float(row[2]) <= 1:
            raise Wrong("this is not a list of two names and a number from -1 to 1 each", right)
    return tuple((str(a), str(b), float(r)) for a, b, r in value)


def positive_count(value: Any) -> int:
    """Read how many of something there are to be, one at least; raises Wrong."""
    number = _whole_count(value)
    if not 1 <= number <= MOST_COUNT:
        raise Wrong(f"{number} is not possible", f"write a whole number from 1 to {MOST_COUNT}")
    return number


def _seed(value: Any) -> int:
    number = _whole_count(value)
    if not 0 <= number < 2**32:
        raise Wrong(f"{number} is not a seed", "write a whole number from 0 to 4294967295")
    return number


def _storage(value: Any) -> str:
    text = _checked_string(value)
    scheme, sign, rest = text.partition("://")
    known = scheme.partition("+")[0] in DATABASES and rest if sign else text.endswith(FILES)
    if not known:
        # nothing of a URL is repeated: it may hold a password
        wrong = (
            f"no trials can be kept in a {scheme!r} database"
            if sign
            else f"this is neither a database nor the name of a file that ends in {' or '.join(FILES)}"
        )
        raise Wrong(wrong, STORAGE_EXAMPLES)
    if sign and _password(text):
        # the scenario's text stands in every result
        wrong = "a password must not stand in a question: every result repeats it"
        raise Wrong(wrong, "leave it out of the URL and put it into PGPASSWORD or ~/.pgpass")
    return text


def _password(url: str) -> bool:
    try:
        return urlsplit(url).password is not None
    except ValueError:
        return True


def _machine_name_or_table(value: Any) -> str | dict[str, Any]:
    if isinstance(value, str | dict):
        return value
    raise Wrong(
        "this is not a machine", 'write a name such as "jaketown", or a table { base = "jaketown", … }'
    )


Cell = float | str
Settings = list[dict[str, Cell]]
Number = Annotated[float | str, Check(_number_or_quantity, float | str)]
Bare = Annotated[float, Check(_bare, float)]
WHOLE_NUMBER = Ends(multipleOf=1)
Times = Annotated[float, Check(_bare, Ends(minimum=1, multipleOf=1))]
Count = Annotated[int, Check(_whole_count, WHOLE_NUMBER)]
Flag = Annotated[bool, Check(_flag, bool)]
Idle = Annotated[bool | str, Check(_flag_or_text, bool | Literal["on", "off"])]
Text = Annotated[str, Check(_checked_string, str)]
Line = Annotated[str, Check(_line, str)]
ModelName = Annotated[str, Check(_text('write a name in quotes, such as "nbody"'), str)]
ModelFile = Annotated[str, Check(_text('write a model file in quotes, such as "./gemm.toml"'), str)]
Definition = Annotated[str, Check(_definition, str)]
Names = Annotated[tuple[str, ...], Check(_name_or_names, str | list[str])]
Values = Annotated[tuple[float | str, ...], Check(_value_list, list[float | str])]
Factors = Annotated[
    tuple[float, ...],
    Check(_plain_numbers("factor", "a list such as [1, 0.5, 0.25], or use values"), list[float]),
]
Shares = Annotated[
    tuple[float, ...],
    Check(_plain_numbers("weight", "a list with a weight for each value, such as [3, 1]"), list[float]),
]
Lists = Annotated[
    dict[str, tuple[float | str, ...]],
    Check(_lists, dict[str, list[float | str]]),
]
Headers = Annotated[dict[str, str], Check(_headers, dict[str, str])]
Weights = dict[str, Number]
Sampler = Annotated[
    str,
    Check(_sampler, Literal["TPE", "NSGA-II", "NSGA-III", "CMA-ES", "random"]),
]
Positive = Annotated[int, Check(positive_count, WHOLE_NUMBER._replace(minimum=1, maximum=MOST_COUNT))]
Seed = Annotated[int, Check(_seed, WHOLE_NUMBER._replace(minimum=0, exclusiveMaximum=2**32))]
Method = Annotated[str, Check(_method_name, Literal["sobol", "random", "latin"])]
MeasureName = Annotated[str, Check(_measure, Literal["mean", "worst"])]
BELOW_1 = Ends(exclusiveMaximum=1)
Level = Annotated[float, Check(_level, BELOW_1._replace(exclusiveMinimum=0))]
LeftOut = Annotated[float, Check(_level_from_zero, BELOW_1._replace(minimum=0))]
Confidence = Annotated[float, Check(_confidence, BELOW_1._replace(minimum=0))]
Correlations = Annotated[tuple[tuple[str, str, float], ...], Check(_pairs, list[list[str | float]])]
Storage = Annotated[str, Check(_storage, str)]
Spacing = Annotated[str, Check(_spacing, str)]
MachineEntry = Annotated[
    str | dict[str, Any],
    Check(_machine_name_or_table, str | dict[str, Cell | dict[str, Cell | Settings] | Settings]),
]
GivenEntry = Annotated[
    Any,
    Check(
        lambda value: value,
        Cell
        | dict[str, Cell | dict[str, Cell | dict[str, Cell]]]
        | list[dict[str, Cell | bool | list[Cell] | dict[str, Cell]]],
    ),
]
