"""Namespaces that equations read: values as attributes, by names that may have dots in them."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, TypeVar

Value = TypeVar("Value")


class Space(SimpleNamespace):
    """Values by name; what stands below a dotted name ("cpu" of "cpu.time_per_flop") is found in one pass over all."""

    __slots__ = ("_below",)
    _below: dict[str, dict[str, Any]]

    def below(self, name: str) -> SimpleNamespace:
        """Return what stands below a name as a namespace of its own, by the rest of its names."""
        try:
            groups = self._below
        except AttributeError:
            groups = self._below = grouped(vars(self))
        return SimpleNamespace(**groups.get(name, {}))


def grouped(values: Mapping[str, Value]) -> dict[str, dict[str, Value]]:
    """Return what stands below each name that has a dot behind it, by the rest of its names."""
    found: dict[str, dict[str, Value]] = {}
    for name, value in values.items():
        dot = name.find(".")
        while dot >= 0:
            found.setdefault(name[:dot], {})[name[dot + 1 :]] = value
            dot = name.find(".", dot + 1)
    return found
