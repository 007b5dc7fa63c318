"""Links between the processors of a partition: one for all, or one for each pair that has a row of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import combinations
from types import SimpleNamespace
from typing import Any

from dse.models.arithmetic import maximum, per, sharp, some
from dse.models.partitions.partition_quantities import LINKS, TRANSFERS
from dse.models.partitions.partition_work import Placed, Work, flag, total
from dse.models.shared import families
from dse.models.shared.structure import Row, WrongPart
from dse.system.records import dataclass

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Link:
    """One link: its name (empty: the one that all pairs without a row share), and the pairs it joins.

    ``pairs`` is None where it joins all of them.
    """

    name: str
    pairs: tuple[Pair, ...] | None


@dataclass(frozen=True)
class Hop:
    """What of one transfer crosses one link, as a part of its bytes; ``whole``: all or nothing."""

    part: Any
    whole: bool

    @cached_property
    def crosses(self) -> Any:
        """1 where anything crosses, else 0."""
        return self.part if self.whole else some(self.part)


@dataclass(frozen=True, slots=True)
class Traffic:
    """What all transfers do to one link: its numbers, ``hops`` by transfer, all bytes, and how long it is busy."""

    link: Link
    costs: Any
    hops: Mapping[str, Hop]
    bytes: Any
    time: Any


def check(work: Work) -> None:
    """Raise ValueError for a pair with two rows, and for transfers whose way among several links is open."""
    seen: dict[frozenset[str], str] = {}
    for row in work.links:
        pair = frozenset(row.refers.values())
        first = seen.setdefault(pair, row.name)
        if first != row.name:
            ends = " and ".join(sorted(pair))
            told = (
                f"links {first} and {row.name} both join {ends}; give each pair one link, for both directions"
            )
            raise WrongPart("links", row.name, told)
    if not work.links or len(work.processors) == 2:
        return
    of = {r.name: r for r in work.regions}
    for t in work.transfers:
        joined = [of[name] for name in t.refers.values()]
        if not any(_is_indivisible(r) for r in joined):
            names = " and ".join(r.name for r in joined)
            raise WrongPart(
                "transfers",
                t.name,
                f"transfer {t.name} is between regions that may both be divided ({names}), so that nothing says "
                "which pair of processors it goes between; write divisible = false for one of them, or leave links out",
            )


def _is_indivisible(region: Row) -> bool:
    return not flag(region, "divisible") and not flag(region, "independent")


def links(work: Work) -> tuple[Link, ...]:
    """Return the links: those of pairs in the order of the list, then the one that the other pairs share."""
    if not work.links:
        return (Link("", None),)
    at = {p: i for i, p in enumerate(work.processors)}
    pairs = [_ordered_pair(*(at[p] for p in row.refers.values())) for row in work.links]
    rest = tuple(p for p in combinations(range(len(work.processors)), 2) if p not in pairs)
    own = tuple(Link(row.name, (pair,)) for row, pair in zip(work.links, pairs, strict=True))
    return (*own, Link("", rest)) if rest else own


def _ordered_pair(a: int, b: int) -> Pair:
    return (a, b) if a < b else (b, a)


def traffic(g: Any, work: Work, placed: Sequence[Placed], data: Any, *, apart: bool) -> list[Traffic]:
    """Return what crosses each link; ``apart``: whether regions may have other shares than each other."""
    return [_on(g, work, link, placed, data, apart=apart) for link in links(work)]


def _on(g: Any, work: Work, link: Link, placed: Sequence[Placed], data: Any, *, apart: bool) -> Traffic:
    costs = families.row(g, LINKS.name, link.name) if link.name else _shared_link(g)
    hops = {}
    # nothing crosses: zero, in the units of bytes and of time
    crossing, waiting = 0.0 * data, 0.0 * costs.latency
    for t in work.transfers:
        ends = [placed[work.place(t.refers[end])] for end in ("from", "to")]
        hop = hops[t.name] = _hop(link, *ends) if apart else Hop(0.0, whole=True)
        crossing = crossing + families.row(g, TRANSFERS.name, t.name).bytes * hop.part
        if not families.nothing(costs.latency):
            waiting = waiting + costs.latency * hop.crosses
    return Traffic(link, costs, hops, crossing, waiting + carrying(costs, crossing))


def _shared_link(g: Any) -> SimpleNamespace:
    """Return the numbers of the link that pairs without a row share, under the names that rows use."""
    found = {"latency": g.link_latency, "energy_per_byte": g.link_energy_per_byte}
    return SimpleNamespace(
        **found | ({"bandwidth": g.link_bandwidth} if hasattr(g, "link_bandwidth") else {})
    )


def carrying(costs: Any, data: Any) -> Any:
    """Return the time that a link takes to carry bytes, its latency apart; none where no bandwidth is stated."""
    return per(data, costs.bandwidth) if hasattr(costs, "bandwidth") else 0.0 * costs.latency


def holding(costs: Any, hop: Hop, data: Any) -> Any:
    """Return how long a transfer of ``data`` bytes in all holds the link."""
    waiting = 0.0 * costs.latency if families.nothing(costs.latency) else costs.latency * hop.crosses
    return waiting + carrying(costs, data * hop.part)


def _hop(link: Link, source: Placed, target: Placed) -> Hop:
    """Return the part of a transfer that crosses a link: what is not where it is needed, rounding of shares apart.

    With several links one end at least is whole, on p say: what q needs of it goes from p to q.
    """
    whole, several = source.whole and target.whole, len(source.bytes) > 2
    if link.pairs is None or not several:
        apart = zip(source.bytes, target.bytes, strict=True)
        return Hop(sharp(0.5 * total([maximum(a - b, b - a) for a, b in apart])), whole)
    ways = [way for p, q in link.pairs for way in ((p, q), (q, p))]
    parts = [maximum(0.0, source.bytes[p] + target.bytes[q] - 1.0) for p, q in ways]
    return Hop(sharp(total(parts)), whole)
