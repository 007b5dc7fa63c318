"""Plain data as TOML text, so that a scenario made in Python is stored like one from a file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from numbers import Number
from typing import Any, cast

from dse.models.described.model_text import toml_string

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def to_toml(data: Mapping[str, Any]) -> str:
    """Write nested mappings, lists, text, numbers and truth values as TOML.

    The same data always gives the same text. Raises TypeError for anything TOML cannot hold.
    """
    top = {k: v for k, v in data.items() if not isinstance(v, Mapping)}
    tables = {k: v for k, v in data.items() if isinstance(v, Mapping)}
    lines = [f"{_toml_key(k)} = {_toml_value(v)}" for k, v in top.items()]
    for name, table in tables.items():
        lines += [
            "",
            f"[{_toml_key(name)}]",
            *(f"{_toml_key(k)} = {_toml_value(v)}" for k, v in table.items()),
        ]
    return "\n".join(lines).lstrip("\n") + "\n"


def plain(value: Any) -> Any:
    """Turn NumPy arrays and scalars, fractions, decimals, tuples and mappings into what a TOML file would give."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    # fractions and decimals
    exact = isinstance(value, Number) and not isinstance(value, int | float | complex)
    return float(cast("Any", value)) if exact else value


def _toml_key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else toml_string(name)


def _toml_value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return toml_string(value)
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml_value(v) for v in value) + "]"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_toml_key(k)} = {_toml_value(v)}" for k, v in value.items()) + " }"
    raise TypeError(f"{type(value).__name__} cannot be written as TOML")
