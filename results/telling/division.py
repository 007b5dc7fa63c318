"""Limits by which one number divides another: which numbers these are, and what is said of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dse.models.model import ModelLimit
from scenarios.divisors import LARGEST, WHOLE, divisors

FEW = 12
"""So many divisors are listed, no more."""


@dataclass(frozen=True, slots=True)
class Division:
    """A number that is to be divided, and what is to divide it; None where it is not known, as of many designs."""

    whole: float | None
    part: float | None

    @property
    def holds(self) -> bool:
        """Whether both are known and the one divides the other."""
        if self.whole is None or not self.part:
            return False
        times = self.whole / self.part
        return times >= 1 - WHOLE and abs(times - round(times)) <= WHOLE * times

    @property
    def known(self) -> bool:
        """Whether both numbers are known."""
        return self.whole is not None and self.part is not None


def divisions(limits: Iterable[ModelLimit], values: Mapping[str, Any]) -> dict[str, Division]:
    """Return what divides what, by the names of those limits of a model that ask for it."""
    return {
        x.name: Division(_product(values, x.divides[:1]), _product(values, x.divides[1:]))
        for x in limits
        if x.divides
    }


def reached(d: Division) -> str:
    """Say of a design whether its number divides the other one: "12 does not divide 64"."""
    verb = "divides" if d.holds else "does not divide"
    return f"{d.part:.12g} {verb} {d.whole:.12g}"


def would_do(d: Division) -> str:
    """Say which numbers next to the one that does not divide would; without such a one, the first that do."""
    whole = d.whole
    if whole is None or not 1 <= whole <= LARGEST or not whole.is_integer():
        return ""
    every = divisors(int(whole))
    if d.part is None:
        shown = ", ".join(f"{v:.12g}" for v in every[:FEW]) + (", …" if len(every) > FEW else "")
        return f"{whole:.12g} has the divisors {shown}"
    below = [v for v in every if v < d.part][-1:]
    above = [v for v in every if v > d.part][:1]
    near = " and ".join(f"{v:.12g}" for v in (*below, *above))
    return f"{whole:.12g} is not divisible by {d.part:.12g}; {near} would do"


def _product(values: Mapping[str, Any], names: Iterable[str]) -> float | None:
    known = [values.get(name) for name in names]
    if any(not isinstance(v, int | float) for v in known):
        return None
    return float(math.prod(v for v in known if v is not None))
