"""Regions of a partition one after another: each processor in the order of the list, none before what it needs.

A region starts on a processor when that has ended its earlier regions, and when all that the region depends on has
ended and arrived. A transfer starts when the region that makes its data has ended and its link has carried the
transfers before it; links take transfers in the order of the regions that wait for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dse.models.arithmetic import maximum, only_where, some
from dse.models.partitions.partition_links import Traffic, carrying, holding
from dse.models.partitions.partition_quantities import TRANSFERS
from dse.models.partitions.partition_work import Placed, Work, kinds, total
from dse.models.shared import families
from dse.models.shared.structure import WrongPart
from dse.system.records import dataclass

Cost = Callable[[Any, Any, Any], Any]
"""The time of flops and bytes on a machine: (machine, flops, bytes)."""


@dataclass(frozen=True, slots=True)
class Run:
    """When it all ends: the work of each processor (its waiting apart), every region, and the last of them."""

    busy: Sequence[Any]
    ends: Sequence[Any]
    time: Any


def check(work: Work) -> None:
    """Raise ValueError for a transfer to a region that stands before the one that makes the data."""
    for t in work.transfers:
        source, target = t.refers["from"], t.refers["to"]
        if work.place(source) > work.place(target):
            raise WrongPart(
                "transfers",
                t.name,
                f"transfer {t.name} goes from {source} to {target}, which stands before it in the list; "
                "with an order, list regions so that each comes after those it needs",
            )


def longest(machines: Sequence[Any], rows: Sequence[Any], cost: Cost) -> list[Any]:
    """Return for every region how long it takes at most, whatever its shares: whole, on its slowest processor."""
    times = [[cost(m, r.flops, r.bytes) for m in machines] for r in rows]
    return [maximum(*each) for each in times]


def waiting_at_most(g: Any, work: Work, traffic: Sequence[Traffic]) -> dict[str, Any]:
    """Return for every transfer how long all links take at most to carry it."""
    data = {t.name: families.row(g, TRANSFERS.name, t.name).bytes for t in work.transfers}
    return {
        name: total([x.costs.latency + carrying(x.costs, amount) for x in traffic])
        for name, amount in data.items()
    }


def run(
    g: Any,
    work: Work,
    machines: Sequence[Any],
    rows: Sequence[Any],
    placed: Sequence[Placed],
    traffic: Sequence[Traffic],
    cost: Cost,
) -> Run:
    """Return when regions end, by going through them in the order of the list, on any arithmetic.

    What comes before a region is at most ``most``, the sum of all that may come before it: where a region has no
    part on a processor nothing waits, which is said by subtracting ``most``.
    """
    slowest, carried = longest(machines, rows, cost), waiting_at_most(g, work, traffic)
    free: list[Any] = [None] * len(machines)
    idle: list[Any] = [None] * len(traffic)
    busy: list[Any] = [0.0 * slowest[0]] * len(machines)
    ends: list[Any] = []
    most = 0.0 * slowest[0]
    for i, (region, row, at) in enumerate(zip(work.regions, rows, placed, strict=True)):
        ready = None
        for t in (t for t in work.transfers if t.refers["to"] == region.name):
            made = ends[work.place(t.refers["from"])]
            ready = made if ready is None else maximum(ready, made)
            most = most + carried[t.name]
            data = families.row(g, TRANSFERS.name, t.name).bytes
            for k, x in enumerate(traffic):
                hop = x.hops[t.name]
                if families.nothing(hop.part):
                    continue
                begin = _latest(idle[k], only_where(hop.crosses, made, most))
                idle[k] = begin + holding(x.costs, hop, data)
                ready = maximum(ready, only_where(hop.crosses, idle[k], most))
        most = most + slowest[i]
        ended = []
        for p, machine in enumerate(machines):
            on = _on(region, at, p)
            taken = _duration(machine, row, at, p, cost)
            busy[p] = busy[p] + taken
            begin = free[p] if ready is None else _latest(free[p], only_where(on, ready, most))
            free[p] = taken if begin is None else begin + taken
            ended.append(only_where(on, free[p], most))
        ends.append(maximum(*ended))
    return Run(busy, ends, maximum(*free))


def _latest(a: Any, b: Any) -> Any:
    return b if a is None else maximum(a, b)


def _on(region: Any, at: Placed, p: int) -> Any:
    """Return 1 where a region has a part on a processor, else 0."""
    if at.whole:
        return at.flops[p]
    return some(at.flops[p] + at.bytes[p] if len(kinds(region)) > 1 else at.flops[p])


def _duration(machine: Any, row: Any, at: Placed, p: int, cost: Cost) -> Any:
    if at.flops is at.bytes:
        # in proportion to the share, as long as both have the same
        return cost(machine, row.flops, row.bytes) * at.flops[p]
    return cost(machine, row.flops * at.flops[p], row.bytes * at.bytes[p])
