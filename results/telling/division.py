"""Limits by which one number divides another: which numbers these are, and what is said of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from dse.models.model import ModelLimit
from dse.system.records import dataclass
from scenarios.define.divisors import LARGEST_DIVIDED, WHOLE_ROUNDING, divisors

MOST_DIVISORS = 12
"""So many divisors are listed, no more."""


@dataclass(frozen=True, slots=True)
class Division:
    """A number that is to be divided, and what is to divide it; None where it is not known, as of many designs.

    ``either``: the second may also be a multiple of the first.
    """

    whole: float | None
    part: float | None
    either: bool = False

    @property
    def holds(self) -> bool:
        """Whether both are known and the one divides the other."""
        if not self.whole or not self.part:
            return False
        times = self.whole / self.part
        if self.either:
            times = max(times, 1 / times)
        return times >= 1 - WHOLE_ROUNDING and abs(times - round(times)) <= WHOLE_ROUNDING * times

    @property
    def known(self) -> bool:
        """Whether both numbers are known."""
        return self.whole is not None and self.part is not None


def divisions(limits: Iterable[ModelLimit], values: Mapping[str, Any]) -> dict[str, Division]:
    """Return what divides what, by the names of those limits of a model that ask for it."""
    return {
        x.name: Division(
            _product_of_values(values, x.divides[:1]), _product_of_values(values, x.divides[1:]), x.either
        )
        for x in limits
        if x.divides
    }


def reached(d: Division) -> str:
    """Say of a design whether its number divides the other one: "12 does not divide 64"."""
    if d.either and d.whole is not None and d.part is not None and d.part > d.whole:
        verb = "is a multiple of" if d.holds else "is not a multiple of"
        return f"{d.part:.12g} {verb} {d.whole:.12g}"
    verb = "divides" if d.holds else "does not divide"
    return f"{d.part:.12g} {verb} {d.whole:.12g}"


def divides_if(d: Division) -> str:
    """Say which numbers next to the one that does not divide would; without such a one, the first that do."""
    whole = d.whole
    if whole is None or not 1 <= whole <= LARGEST_DIVIDED or not whole.is_integer():
        return ""
    every = divisors(int(whole))
    if d.either and d.part is not None and d.part > whole:
        less = math.floor(d.part / whole) * whole
        return f"{d.part:.12g} is not a multiple of {whole:.12g}; {less:.12g} and {less + whole:.12g} are"
    if d.part is None:
        shown = ", ".join(f"{v:.12g}" for v in every[:MOST_DIVISORS]) + (
            ", …" if len(every) > MOST_DIVISORS else ""
        )
        return f"{whole:.12g} has the divisors {shown}"
    below = [v for v in every if v < d.part][-1:]
    above = [v for v in every if v > d.part][:1]
    near = " and ".join(f"{v:.12g}" for v in (*below, *above))
    return f"{whole:.12g} is not divisible by {d.part:.12g}, but by {near}"


def _product_of_values(values: Mapping[str, Any], names: Iterable[str]) -> float | None:
    known = [values.get(name) for name in names]
    if any(not isinstance(v, int | float) for v in known):
        return None
    return float(math.prod(v for v in known if v is not None))
