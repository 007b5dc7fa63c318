"""What metadata have to say before anything is made of them: checksums fit whatever somebody has written.

A kind is a test of a value, a list of one kind (of all its members), an ``Each`` (of all values of a mapping), a
``Written`` (of what a text holds), or a mapping of names to kinds (a name that ends in "?" may be missing).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.system.records import dataclass
from results.stores.files.inside import is_inside
from results.stores.files.object_storage import ROOT
from results.stores.files.trouble import StoreError

if TYPE_CHECKING:
    import xarray as xr

MOST_SHOWN = 60
ORDER = "dse_order"
"""The attribute of an exported dataset that has the names of its variables in order."""


@dataclass(frozen=True, slots=True)
class Each:
    """A mapping of any names to values of one kind, the names such as ``named`` says."""

    kind: Any
    named: Callable[[str], bool] = bool


@dataclass(frozen=True, slots=True)
class Written:
    """A text that holds JSON of a kind."""

    kind: Any


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _number(value: Any) -> bool:
    return isinstance(value, int | float)


def _count(value: Any) -> bool:
    return isinstance(value, int) and value >= 0


def _size(value: Any) -> bool:
    return isinstance(value, int) and value > 0


def _yes_or_no(value: Any) -> bool:
    return isinstance(value, bool)


def _anything(_value: Any) -> bool:
    return True


def _variable(value: Any) -> bool:
    return _text(value) and is_inside(value) and "/" not in value


def _record(value: Any) -> bool:
    """What is recorded of a file: size and checksum, or that there is none."""
    return value is None or (
        isinstance(value, list) and len(value) == 2 and _count(value[0]) and _text(value[1])
    )


FILES = Each(_record, is_inside)
_EXAMPLE = {"place": [_count], "variable": _text, "what": _text}
MARKER: Mapping[str, Any] = {
    "index": [_count],
    "checksums": Each(_text, _variable),
    "files?": FILES,
    "statuses?": Each(_count),
    "seconds?": _number,
    "written?": _number,
    "check_seconds?": _number,
    "alone?": _count,
    "left_over?": Each(_count),
    "check?": {
        **dict.fromkeys(("points", "wrong", "proved", "unproved", "not_run"), _count),
        **dict.fromkeys(("limit", "gap", "difference"), _number),
        "examples": [_EXAMPLE],
        "doubtful": [[_count]],
    },
}
DATASET: Mapping[str, Any] = {
    **dict.fromkeys(("title?", "scenario?", "scenario_hash?", "model?", "method?"), _text),
    "points_solved_singly?": _count,
    "objectives?": Written(Each(_text)),
    "left_over?": Written(Each(_count)),
    "versions?": Written(Each(_text)),
    "machine_parameters?": Written(Each(_anything)),
    "machine_sources?": Written(Each(_text)),
    "uncertain_tables?": Written(Each(Each([_number]))),
    f"{ORDER}?": Written([_text]),
    "extended?": Written([{"scenario_hash": _text, "method": _text}]),
    "audit?": Written(
        {
            **dict.fromkeys(("points", "wrong"), _count),
            **dict.fromkeys(("solved_again?", "agree?", "undecided?", "differ?", "not_run_again?"), _count),
            **dict.fromkeys(("largest_miss_of_a_limit", "largest_gap", "largest_difference"), _number),
            "passed": _yes_or_no,
            "examples": [_anything],
        }
    ),
}
"""Attributes of every dataset that dse writes."""
STORE: Mapping[str, Any] = {
    **DATASET,
    "scenario": _text,
    "files?": FILES,
    "identity": Written({"chunks": [_size], "grid": {"variables": [_variable]}}),
    "baseline?": Written(
        {"label": _text, "scenario": _text, "numbers": Each({"dims": [_text], "values": _anything})}
    ),
}
"""Attributes of a store that a sweep fills."""
VARIABLE: Mapping[str, Any] = {
    **dict.fromkeys(("units?", "long_name?", "source?", "path?", "flag_meanings?", "table?"), _text),
    **dict.fromkeys(("choices?", "flag_texts?", "columns?"), Written([_text])),
    **dict.fromkeys(("shown_names?", "limit_units?", "number_units?"), Written(Each(_text))),
    "elements?": Written([_anything]),
    "flag_values?": [_number],
}
"""Attributes of a variable of either."""


def odd(value: Any, kind: Any, at: str = "") -> str:
    """Say which part of a value is not of its kind; "": all are. ``at``: the name of the value."""
    return next(_odd(value, kind, at), "")


def _odd(value: Any, kind: Any, at: str) -> Iterator[str]:
    if isinstance(kind, Written):
        try:
            value, kind = json.loads(value), kind.kind
        except (TypeError, ValueError):
            yield f"{at} holds no JSON"
            return
    found: list[tuple[str, Any, Any]] | None = None
    if callable(kind):
        found = [] if kind(value) else None
    elif isinstance(kind, list) and isinstance(value, list):
        found = [(f"{at}[{i}]", inner, kind[0]) for i, inner in enumerate(value)]
    elif isinstance(kind, Each) and isinstance(value, dict):
        yield from (f"{at} has the name {_brief(name)}" for name in value if not kind.named(name))
        found = [(f"{at}.{name}", inner, kind.kind) for name, inner in value.items()]
    elif isinstance(kind, Mapping) and isinstance(value, dict):
        yield from (
            f"{at}.{name} is missing" for name in kind if not name.endswith("?") and name not in value
        )
        plain = {name.removesuffix("?"): k for name, k in kind.items()}
        found = [(f"{at}.{name}", value[name], k) for name, k in plain.items() if name in value]
    if found is None:
        yield f"{at} is {_brief(value)}"
        return
    for name, inner, inner_kind in found:
        yield from _odd(inner, inner_kind, name)


def _brief(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"


def refuse(file: object, attributes: Any, kind: Mapping[str, Any]) -> None:
    """Raise StoreError where attributes are none that dse writes; ``file``: where they stand."""
    if wrong := odd(attributes, kind, "attributes"):
        raise StoreError(
            f"{file}: {wrong}; dse writes no such metadata: somebody has changed them, take another copy"
        )


def refuse_variables(place: object, dataset: xr.Dataset, order: Iterable[str] = ()) -> None:
    """Raise StoreError where a variable of a Zarr folder has attributes that none has, or cannot be read.

    ``order``: the names of those that are to be there.
    """
    for name in order:
        if name not in dataset:
            raise StoreError(f"{place}/{name}/{ROOT}: it describes no variable; take another copy")
    for name, variable in dataset.variables.items():
        refuse(f"{place}/{name}/{ROOT}", variable.attrs, VARIABLE)
        texts = variable.attrs.get("flag_texts")
        meanings = json.loads(texts) if texts else variable.attrs.get("flag_meanings", "").split()
        values = variable.attrs.get("flag_values", [])
        if len(meanings) != np.size(values):
            raise StoreError(
                f"{place}/{name}/{ROOT}: {np.size(values)} flag_values have {len(meanings)} meanings; "
                "take another copy"
            )
