"""Quantities of several models under one name: they must mean the same."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from dse.quantities import Quantity


def union(named: Iterable[tuple[str, Quantity]]) -> tuple[Quantity, ...]:
    """Return each quantity once, as all that use it take it."""
    found: dict[str, Quantity] = {}
    for name, q in named:
        found[name] = _common_domain(found[name], q) if name in found else q
    return tuple(found.values())


def _common_domain(a: Quantity, b: Quantity) -> Quantity:
    choices = tuple(c for c in a.choices if c in b.choices)
    if a.unit != b.unit or bool(a.choices) != bool(b.choices) or (a.choices and not choices):
        kinds = [q.unit or ("a choice among names" if q.choices else "a plain number") for q in (a, b)]
        raise ValueError(f"{a.name} is not the same in all kernels: {kinds[0]} here, {kinds[1]} there")
    return replace(
        a,
        minimum=max(a.minimum, b.minimum),
        maximum=min(a.maximum, b.maximum),
        floor=max(a.floor, b.floor),
        ceiling=min(a.ceiling, b.ceiling),
        default=a.default if a.default == b.default else None,
        optional=a.optional and b.optional,
        choices=choices,
    )
