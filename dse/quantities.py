"""Text with units <-> SI numbers, and what a named quantity is."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Quantity:
    """A named input or metric.

    ``minimum`` and ``maximum`` are its mathematical domain. ``floor`` and ``ceiling`` are finite, positive ends
    that give a decided variable a box where the domain itself is open: an optimum held only by one of these two
    is no optimum but ``unbounded``.
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
