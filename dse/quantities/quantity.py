"""A named input or metric of a model."""

from __future__ import annotations

import math
from dataclasses import replace

from dse.system.records import dataclass

LEAST_REPRESENTED = 1e-300
"""Below this, squares and quotients leave the range of floating-point numbers."""
NEAR_ZERO = (
    "is too close to 0 to be computed with",
    f"write at least {LEAST_REPRESENTED:g}, or 0 if that is meant",
)
"""What is wrong with a number that is below it, and what would be right."""


def near_zero(value: float) -> bool:
    """Tell whether a number is too close to 0 to be computed with, and not 0."""
    return 0 < abs(value) < LEAST_REPRESENTED


@dataclass(frozen=True, slots=True)
class Quantity:
    """A named input or metric.

    ``minimum`` and ``maximum`` are its mathematical domain. ``floor`` and ``ceiling`` are finite, positive
    ends of the search box of a decided variable whose domain is open: an optimum that only they bound is
    ``unbounded``. ``default``: the value if none is given; an ``optional`` quantity may be absent.
    ``choices``: the texts allowed, for a quantity that is not a number.
    ``flags``: the meaning of the values 0, 1, 2 ... of a metric that says which case holds. ``menu``: the names of
    the entries 1, 2, 3 ... that a whole number selects. ``index``: the labels of an element of an indexed family, as
    (dimension, label) pairs; its name is that of the family and the labels, joined by dots.
    A decided quantity whose ``floor`` is 0 may be 0. ``open``: the ``minimum`` itself is outside the domain.
    ``whole``: it counts things, so that it is decided in whole numbers unless a question says ``integer = false``.
    ``counted``: it counts things, too, but is a real number where it is decided unless a question asks for whole ones.
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
    optional: bool = False
    flags: tuple[str, ...] = ()
    menu: tuple[str, ...] = ()
    open: bool = False
    whole: bool = False
    counted: bool = False
    index: tuple[tuple[str, str], ...] = ()

    def at(self, **index: str) -> Quantity:
        """Return the element of this family at these labels by dimension: share.at(region="a") is share.a."""
        labels = (*self.index, *index.items())
        family = self.name.removesuffix("".join(f".{label}" for _, label in self.index))
        return replace(self, name=".".join((family, *(label for _, label in labels))), index=labels)
