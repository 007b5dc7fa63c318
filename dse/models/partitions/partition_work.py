"""What a question about a partition lists, and where the work of each region is, by processor."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any

from dse.models.arithmetic import rest
from dse.models.partitions.partition_quantities import OF_BOTH, OF_BYTES, OF_FLOPS, REGIONS
from dse.models.shared.structure import Row
from dse.quantities import Quantity
from dse.system.records import dataclass

SHORT_SUM = 64
"""Sums of so few terms are made from left to right."""


@dataclass(frozen=True, slots=True)
class Work:
    """What a question lists: processors in order, regions, transfers, links of pairs.

    ``ordered``: whether regions may have to wait for each other; ``asked``: inputs that the question speaks of.
    """

    processors: tuple[str, ...]
    regions: tuple[Row, ...]
    transfers: tuple[Row, ...]
    links: tuple[Row, ...] = ()
    ordered: bool = False
    asked: frozenset[str] = frozenset()

    @property
    def decided(self) -> tuple[str, ...]:
        """Return the processors that have shares of their own; the last one takes what is left."""
        return self.processors[:-1]

    def place(self, region: str) -> int:
        """Return the place of a region in the list."""
        return next(i for i, r in enumerate(self.regions) if r.name == region)


@dataclass(frozen=True, slots=True)
class Placed:
    """Where the work of one region is: the share of its flops and of its bytes on every processor.

    ``whole``: each share is 0 or 1, and both are the same.
    """

    flops: Sequence[Any]
    bytes: Sequence[Any]
    whole: bool


def flag(region: Row, name: str) -> bool:
    """Return what a region says of itself, or what holds where it says nothing."""
    return region.flags.get(name, next(c.default for c in REGIONS.columns if c.name == name))


def kinds(region: Row) -> tuple[Quantity, ...]:
    """Return the families of shares a region has: one of both, or one of each."""
    return (OF_FLOPS, OF_BYTES) if flag(region, "independent") else (OF_BOTH,)


def placed(g: Any, work: Work, fractions: Sequence[Any] | None) -> list[Placed]:
    """Return where every region is; ``fractions``: one per processor for all regions, None where each has its own."""
    return [_placed(g, work, r, fractions) for r in work.regions]


def _placed(g: Any, work: Work, region: Row, fractions: Sequence[Any] | None) -> Placed:
    if fractions is not None:
        return Placed(fractions, fractions, False)
    one, *other = ([getattr(g, f"{k.name}.{region.name}.{p}") for p in work.decided] for k in kinds(region))
    flops = with_rest(one)
    data = with_rest(other[0]) if other else flops
    return Placed(flops, data, not other and not flag(region, "divisible"))


def with_rest(shares: list[Any]) -> list[Any]:
    """Return shares with that of the last processor, which takes what is left."""
    return [*shares, rest(total(shares))]


def total(terms: Sequence[Any]) -> Any:
    """Sum; halves of long lists apart, so that no term is copied more often than the list can be halved."""
    if len(terms) <= SHORT_SUM:
        return reduce(add, terms)
    middle = len(terms) // 2
    return total(terms[:middle]) + total(terms[middle:])
