"""Partitions with links of pairs, an order, processors that are off, or a period, each design by itself.

Whole regions are placed in every way. Where there is an order, the starts of all jobs (a region on its
processor, data on its link) are raised until none is too early; else all that a processor or a link has to do
is added up. Regions that can be divided need no order and no transfers: every choice of the processors that
are on is a linear program (scipy), as is every term that may be the largest where average power is limited.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
import oracle_listed as listed
from oracle_listed import ROUNDING, Found
from scipy.optimize import linprog

KEYS = {"links", "order", "unused", "period"}
PARAMETERS = ("t_flop_s", "t_byte_s", "e_flop_J", "e_byte_J", "p_static_W")


@dataclass(frozen=True)
class Link:
    """Bytes per second, seconds a transfer, joules a byte."""

    bandwidth: float = np.inf
    latency: float = 0.0
    energy: float = 0.0


@dataclass(frozen=True)
class Asked:
    """A question in numbers: (name, flops, bytes, divisible) of regions, costs and idle power of processors.

    ``links``: of a pair of processors, the name of the link and the link; ``period`` 0: none.
    """

    machines: tuple[tuple[float, ...], ...]
    idle: tuple[float, ...]
    regions: tuple[tuple[str, float, float, bool], ...]
    transfers: tuple[tuple[int, int, float], ...]
    links: Mapping[frozenset[int], tuple[str, Link]]
    ordered: bool
    serial: bool
    off: bool
    period: float
    limits: Mapping[str, float]
    goal: str


def answer(source: Mapping[str, Any]) -> Found:
    """The optimum of a question in the scenario language (no sweep, one objective)."""
    asked = read(source)
    if all(not divisible for *_, divisible in asked.regions):
        how = f"every placement of {len(asked.regions)} whole regions"
    else:
        how = "every set of processors that are on, every placement of whole regions, linear programs"
    value = best(asked)
    if value is None:
        raise NotImplementedError("conflicts")
    return Found(asked.goal, value, how)


def read(source: Mapping[str, Any]) -> Asked:
    """The question in numbers."""
    listed.check(source)
    given = dict(source["given"])
    regions = tuple(
        (r["name"], listed.number(r["flops"]), listed.number(r["bytes"]), r.get("divisible", True))
        for r in given.pop("regions")
    )
    names, processors = [r[0] for r in regions], list(source["machine"])
    transfers = tuple(
        (names.index(t["from"]), names.index(t["to"]), listed.number(t["bytes"]))
        for t in given.pop("transfers", ())
    )
    shared = [
        given.pop(f"link_{k}", d) for k, d in (("bandwidth", np.inf), ("latency", 0), ("energy_per_byte", 0))
    ]
    links = {frozenset(p): ("", _link(*shared)) for p in combinations(range(len(processors)), 2)}
    for row in given.pop("links", ()):
        ends = frozenset(processors.index(row[k]) for k in ("from", "to"))
        links[ends] = (
            row["name"],
            _link(
                *(row.get(k, d) for k, d in (("bandwidth", np.inf), ("latency", 0), ("energy_per_byte", 0)))
            ),
        )
    rows = listed.table("peapaw_processors.csv", "processor_id")
    own, idle = [], []
    for value in source["machine"].values():
        entry = {"base": value} if isinstance(value, str) else value
        row = rows[entry["base"].removesuffix("-tang2017").replace("-", "_")]
        own.append(tuple(float(row[p]) for p in PARAMETERS))
        idle.append(listed.number(entry["idle_power"]) if "idle_power" in entry else own[-1][4])
    goal, maximize = listed.goal(source)
    found = Asked(
        tuple(own), tuple(idle), regions, transfers, links,
        given.pop("order", "free") == "listed", given.pop("link_overlap", "") == "serial",
        given.pop("unused", "on") == "off", listed.number(given.pop("period", 0.0)), listed.limits(source), goal,
    )  # fmt: skip
    if given or maximize or "decide" in source:
        raise NotImplementedError(f"{source}")
    return found


def _link(bandwidth: Any, latency: Any, energy: Any) -> Link:
    return Link(*(listed.number(v) for v in (bandwidth, latency, energy)))


def best(asked: Asked) -> float | None:
    """The least of the objective; None where nothing meets the limits."""
    many = len(asked.machines)
    if all(not divisible for *_, divisible in asked.regions):
        designs = (evaluated(asked, at) for at in product(range(many), repeat=len(asked.regions)))
        good = [m[asked.goal] for m in designs if _meets(asked, m)]
        return min(good) if good else None
    found = list(_divided(asked))
    return min(found) if found else None


def _meets(asked: Asked, metrics: Mapping[str, float]) -> bool:
    if asked.period and metrics["time"] > asked.period * (1 + ROUNDING):
        return False
    return all(metrics[n] <= most * (1 + ROUNDING) for n, most in asked.limits.items())


def evaluated(asked: Asked, at: Sequence[int]) -> dict[str, float]:
    """Time, energy and power of whole regions on these processors."""
    alone = [
        max(asked.machines[p][0] * f, asked.machines[p][1] * b)
        for p, (_, f, b, _) in zip(at, asked.regions, strict=True)
    ]
    crossing = [
        (a, b, d, asked.links[frozenset((at[a], at[b]))]) for a, b, d in asked.transfers if at[a] != at[b]
    ]
    time = _scheduled(asked, at, alone, crossing) if asked.ordered else _at_once(asked, at, crossing)
    dynamic = sum(
        asked.machines[p][2] * f + asked.machines[p][3] * b
        for p, (_, f, b, _) in zip(at, asked.regions, strict=True)
    )
    moved = sum(d * link.energy for *_, d, (_, link) in crossing)
    on = set(at) if asked.off else set(range(len(asked.machines)))
    static = sum(asked.machines[p][4] for p in on) * time
    idle = sum(asked.idle[p] for p in on) * (asked.period - time) if asked.period else 0.0
    energy = dynamic + moved + static + idle
    return {"time": time, "energy": energy, "power": energy / (asked.period or time)}


def _at_once(asked: Asked, at: Sequence[int], crossing: Sequence[Any]) -> float:
    """All regions at once: what each processor and each link has to do."""
    work = [0.0]
    for p, (t_flop, t_byte, *_) in enumerate(asked.machines):
        mine = [r for r, q in zip(asked.regions, at, strict=True) if q == p]
        work.append(max(t_flop * sum(r[1] for r in mine), t_byte * sum(r[2] for r in mine)))
    links: dict[str, float] = {}
    for *_, d, (name, link) in crossing:
        links[name] = links.get(name, 0.0) + link.latency + d / link.bandwidth
    longest = max(links.values(), default=0.0)
    return max(work) + longest if asked.serial else max(*work, longest)


def _scheduled(asked: Asked, at: Sequence[int], alone: Sequence[float], crossing: Sequence[Any]) -> float:
    """One after another: every job no earlier than what it needs, and than the job before it at the same place."""
    jobs: list[tuple[Any, float, list[Any]]] = []
    for r, p in enumerate(at):
        waits: list[Any] = [("region", a) for a, b, _ in asked.transfers if b == r]
        for a, b, d, (name, link) in crossing:
            if b == r:
                jobs.append((("link", name), link.latency + d / link.bandwidth, [("region", a)]))
                waits.append(("job", len(jobs) - 1))
        jobs.append((("processor", p), alone[r], waits))
    region_job = [i for i, job in enumerate(jobs) if job[0][0] == "processor"]
    starts = [0.0] * len(jobs)
    for _ in range(len(jobs) + 1):
        for i, (place, _, waits) in enumerate(jobs):
            before = [j for j in range(i) if jobs[j][0] == place]
            needed = before + [region_job[n] if kind == "region" else n for kind, n in waits]
            starts[i] = max([starts[i], *(starts[j] + jobs[j][1] for j in needed)])
    return max(s + job[1] for s, job in zip(starts, jobs, strict=True))


def _divided(asked: Asked) -> Iterator[float]:
    if asked.ordered or asked.transfers:
        raise NotImplementedError("regions that are divided, with an order or transfers")
    every = range(len(asked.machines))
    sizes = range(1, len(asked.machines) + 1) if asked.off else [len(asked.machines)]
    whole = [i for i, r in enumerate(asked.regions) if not r[3]]
    for on in (c for size in sizes for c in combinations(every, size)):
        for places in product(on, repeat=len(whole)):
            yield from _programs(asked, on, dict(zip(whole, places, strict=True)))


def _programs(asked: Asked, on: Sequence[int], whole: Mapping[int, int]) -> Iterator[float]:
    """The least of the objective with these processors on (with or without work), over shares and time in ms."""
    many, regions = len(asked.machines), len(asked.regions)
    size, ms = regions * many + 1, 1e-3
    terms, energy, offset = [], np.zeros(size), 0.0
    for p in on:
        t_flop, t_byte, e_flop, e_byte, static = asked.machines[p]
        for cost, column in ((t_flop, 1), (t_byte, 2)):
            row = np.zeros(size)
            row[p:-1:many] = [cost * r[column] / ms for r in asked.regions]
            terms.append(row)
        energy[p:-1:many] = [e_flop * r[1] + e_byte * r[2] for r in asked.regions]
        energy[-1] += (static - (asked.idle[p] if asked.period else 0.0)) * ms
        offset += asked.idle[p] * asked.period
    time = np.eye(size)[-1]
    most = min(asked.limits.get("time", np.inf), asked.period or np.inf) / ms
    upper = [(term - time, 0.0) for term in terms]
    exact: Sequence[Any] = [None]
    if "power" in asked.limits and asked.period:
        upper.append((energy, asked.limits["power"] * asked.period - offset))
    elif "power" in asked.limits:
        upper.append((energy - asked.limits["power"] * ms * time, 0.0))
        exact = terms
    equal = [[*np.repeat(np.eye(regions)[r], many).tolist(), 0.0] for r in range(regions)]
    bounds = [(0.0, float(p in on)) for _ in range(regions) for p in range(many)] + [(0.0, most)]
    for r, p in whole.items():
        for q in range(many):
            bounds[r * many + q] = (float(p == q), float(p == q))
    for term in exact:
        rows = equal if term is None else [*equal, (term - time).tolist()]
        right = [1.0] * regions + [0.0] * (len(rows) - regions)
        cost = energy if asked.goal == "energy" else time
        done = linprog(
            cost, np.array([a for a, _ in upper]), [b for _, b in upper], rows, right, bounds, method="highs"
        )
        if done.status == 0:
            yield float(done.fun) + offset if asked.goal == "energy" else float(done.fun) * ms
