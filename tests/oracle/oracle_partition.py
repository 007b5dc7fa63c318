"""Partitions of regions among processors (PeaPaw, Tang et al. 2017), typed again from (14)-(17) and (24).

Regions that stay whole are placed in every way; what can be divided is a linear program (scipy) for each of them. A
limit on average power needs the maximum itself: one program for each term that may be the largest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import oracle_listed as listed
import oracle_schedules
from oracle_listed import ROUNDING, Found
from oracle_scans import Array
from oracle_settings import undominated
from scipy.optimize import linprog

PARAMETERS = ("t_flop_s", "e_flop_J", "t_byte_s", "e_byte_J", "p_static_W")


@dataclass(frozen=True)
class Region:
    """Flops, bytes, and whether they are placed whole, together, or apart."""

    flops: float
    bytes: float
    divisible: bool
    independent: bool


@dataclass(frozen=True)
class Asked:
    """A question in numbers; ``machines`` has a row per processor and a column per parameter."""

    machines: Array
    regions: tuple[Region, ...]
    transfers: tuple[tuple[int, int, float], ...]
    link: tuple[float, float, float]
    execution: str
    fixed: tuple[float | None, ...]
    limits: Mapping[str, float]
    goal: str


def answer(source: Mapping[str, Any]) -> Found:
    """The optimum of a question in the scenario language (no sweep, one objective)."""
    if oracle_schedules.KEYS & set(source["given"]):
        return oracle_schedules.answer(source)
    asked = read(source)
    value = best(asked)
    if value is not None:
        return Found(asked.goal, value, how(asked))
    clashes = listed.minimal_conflicts(source, lambda q: best(read(q)) is not None)
    return Found(asked.goal, None, how(asked), clashes)


def how(asked: Asked) -> str:
    """In words, the search that answers."""
    if _set(asked):
        return "the equations"
    whole = sum(not r.divisible for r in asked.regions)
    placed = f"every placement of {whole} whole regions" if whole else ""
    divided = "linear programs" if whole < len(asked.regions) else ""
    return ", ".join(p for p in (placed, divided) if p)


def read(source: Mapping[str, Any]) -> Asked:
    """The question in numbers."""
    listed.check(source)
    given = dict(source["given"])
    rows = listed.table("peapaw_processors.csv", "processor_id")
    own = [_costs(rows, n) for n in source["machine"].values()]
    stated = given.pop("regions")
    names, shares = [r.get("name") for r in stated], given.pop("share", {})
    regions = tuple(
        Region(
            listed.number(r["flops"]),
            listed.number(r["bytes"]),
            r.get("divisible", True),
            r.get("independent", False),
        )
        for r in stated
    )
    transfers = tuple(
        (names.index(t["from"]), names.index(t["to"]), listed.number(t["bytes"]))
        for t in given.pop("transfers", ())
    )
    bandwidth = listed.number(given.pop("link_bandwidth", np.inf))
    latency, energy = (listed.number(given.pop(n, 0.0)) for n in ("link_latency", "link_energy_per_byte"))
    execution = given.pop("execution", "CP")
    goal, maximize = listed.goal(source)
    if given or maximize or goal not in {"time", "energy"} or "decide" in source:
        raise NotImplementedError(f"{source}")
    return Asked(
        np.array(own),
        regions,
        transfers,
        (bandwidth, latency, energy),
        execution,
        tuple(shares[n]["cpu"] if n in shares else None for n in names),
        listed.limits(source),
        goal,
    )


def _costs(rows: Mapping[str, Mapping[str, str]], name: str) -> list[float]:
    """The parameters of a processor: of PeaPaw's table or a data sheet, whose power caps nothing here."""
    row = rows.get(name.removesuffix("-tang2017").replace("-", "_"))
    if row is not None:
        return [float(row[p]) for p in PARAMETERS]
    flop_time, byte_time, flop_energy, byte_energy, constant, usable = listed.data_sheet(name) or ()
    if flop_energy / flop_time + byte_energy / byte_time > usable * (1 + 1e-12):
        raise NotImplementedError(f"{name}: flops and bytes at full rate take more than its usable power")
    return [flop_time, flop_energy, byte_time, byte_energy, constant]


def _set(asked: Asked) -> bool:
    """Whether the execution, or the file, says what every share is."""
    return asked.execution in {"CO", "GO", "p-DP"} or None not in asked.fixed


def best(asked: Asked) -> float | None:
    """The least of the objective; None where nothing meets the limits."""
    if _set(asked):
        metrics = evaluated(asked, _shares(asked)[None])
        return _least(asked, metrics)
    if asked.execution == "DP":  # one fraction for all regions: as if they were one
        total = Region(sum(r.flops for r in asked.regions), sum(r.bytes for r in asked.regions), True, False)
        asked = replace(asked, regions=(total,), fixed=(None,))
    if not any(r.divisible for r in asked.regions):
        return _least(asked, evaluated(asked, placements(asked)))
    if asked.transfers:
        raise NotImplementedError("a link between regions that are divided")
    found = [v for whole in _wholes(asked) for v in _divided(asked, whole)]
    return min(found) if found else None


def _shares(asked: Asked) -> Array:
    """Shares by region and processor where nothing is decided."""
    many = len(asked.machines)
    if None not in asked.fixed:
        return np.array([[x, 1.0 - x] for x in asked.fixed if x is not None])
    if asked.execution == "p-DP":  # (19): in proportion to the speed on the whole work
        flops, data = sum(r.flops for r in asked.regions), sum(r.bytes for r in asked.regions)
        speed = 1.0 / np.maximum(asked.machines[:, 0] * flops, asked.machines[:, 2] * data)
        one = speed / speed.sum()
    else:
        one = np.eye(many)[("CO", "GO").index(asked.execution)]
    return np.tile(one, (len(asked.regions), 1))


def _least(asked: Asked, metrics: Mapping[str, Array]) -> float | None:
    good = np.ones_like(metrics["time"], dtype=bool)
    for name, most in asked.limits.items():
        good &= metrics[name] <= most * (1 + ROUNDING)
    return float(metrics[asked.goal][good].min()) if good.any() else None


def placements(asked: Asked) -> Array:
    """Every placement of whole regions: shares by placement, region, processor."""
    many, regions = len(asked.machines), len(asked.regions)
    places = np.indices([many] * regions).reshape(regions, -1).T
    return np.eye(many)[places]


def evaluated(asked: Asked, shares: Array) -> dict[str, Array]:
    """Time, energy and power of shares (by design, region, processor), link and all."""
    flops = np.einsum("drp,r->dp", shares, [r.flops for r in asked.regions])
    data = np.einsum("drp,r->dp", shares, [r.bytes for r in asked.regions])
    t_flop, e_flop, t_byte, e_byte, static = asked.machines.T
    time = np.maximum(t_flop * flops, t_byte * data).max(axis=1)
    crossed, busy = np.zeros(len(shares)), np.zeros(len(shares))
    bandwidth, latency, each = asked.link
    for a, b, amount in asked.transfers:
        part = 0.5 * np.abs(shares[:, a] - shares[:, b]).sum(axis=1)
        crossed, busy = crossed + amount * part, busy + latency * (part > 0)
    time = np.maximum(time, busy + crossed / bandwidth)
    energy = (e_flop * flops + e_byte * data).sum(axis=1) + static.sum() * time + each * crossed
    return {"time": time, "energy": energy, "power": energy / time}


def _wholes(asked: Asked) -> Iterator[dict[int, int]]:
    """Every placement of the whole regions: region -> processor."""
    whole = [i for i, r in enumerate(asked.regions) if not r.divisible]
    for places in product(range(len(asked.machines)), repeat=len(whole)):
        yield dict(zip(whole, places, strict=True))


def _divided(asked: Asked, whole: Mapping[int, int]) -> Iterator[float]:
    """Optima of the linear programs with the whole regions placed, in units of one processor's time and energy."""
    regions, many = asked.regions, len(asked.machines)
    size = 2 * len(regions) * many + 1
    alone = evaluated(asked, np.tile(np.eye(many)[:, None], (1, len(regions), 1)))
    second, joule = float(alone["time"].min()), float(alone["energy"].min())
    terms, energy = _rows(asked, second, joule)
    equal, right = _ties(asked, whole, size)
    time = np.eye(size)[-1]
    upper = [(term - time, 0.0) for term in terms]
    upper += [(energy, asked.limits["energy"] / joule)] if "energy" in asked.limits else []
    upper += [(time, asked.limits["time"] / second)] if "time" in asked.limits else []
    exact: Sequence[Array | None] = [None]
    if "power" in asked.limits:
        upper.append((energy - asked.limits["power"] * second / joule * time, 0.0))
        exact = terms
    for term in exact:
        rows = equal if term is None else [*equal, term - time]
        done = linprog(
            energy if asked.goal == "energy" else time,
            np.array([a for a, _ in upper]),
            np.array([b for _, b in upper]),
            np.array(rows),
            np.array(right + [0.0] * (len(rows) - len(right))),
            bounds=[(0.0, 1.0)] * (size - 1) + [(0.0, None)],
            method="highs",
        )
        if done.status not in {0, 2}:
            raise RuntimeError(done.message)
        if done.status == 0:
            yield float(done.fun) * (joule if asked.goal == "energy" else second)


def _rows(asked: Asked, second: float, joule: float) -> tuple[list[Array], Array]:
    """Every processor's two times, and the energy, as rows over flops and bytes by region and processor, then T."""
    regions, many = asked.regions, len(asked.machines)
    size = 2 * len(regions) * many + 1
    terms, energy = [], np.zeros(size)
    energy[-1] = asked.machines[:, 4].sum() * second / joule
    for p, (t_flop, e_flop, t_byte, e_byte, _) in enumerate(asked.machines):
        compute, move = np.zeros(size), np.zeros(size)
        for r, region in enumerate(regions):
            f, b = r * many + p, (len(regions) + r) * many + p
            compute[f], move[b] = t_flop * region.flops / second, t_byte * region.bytes / second
            energy[f], energy[b] = e_flop * region.flops / joule, e_byte * region.bytes / joule
        terms += [compute, move]
    return terms, energy


def _ties(asked: Asked, whole: Mapping[int, int], size: int) -> tuple[list[Array], list[float]]:
    """Shares come to one, bytes go with flops unless they may part, and whole regions where they are put."""
    regions, many = asked.regions, len(asked.machines)
    rows: list[Array] = []
    right: list[float] = []

    def add(entries: Mapping[int, float], value: float) -> None:
        row = np.zeros(size)
        for place, entry in entries.items():
            row[place] = entry
        rows.append(row)
        right.append(value)

    for r, region in enumerate(regions):
        f, b = r * many, (len(regions) + r) * many
        add({f + p: 1.0 for p in range(many)}, 1.0)
        add({b + p: 1.0 for p in range(many)}, 1.0)
        for p in range(many - 1):
            if not region.independent:
                add({f + p: 1.0, b + p: -1.0}, 0.0)
            if r in whole:
                add({f + p: 1.0}, float(whole[r] == p))
    return rows, right


def front(source: Mapping[str, Any]) -> Array:
    """Every (energy, time) of whole regions that nothing betters, by energy."""
    first = {**source, "objective": {"minimize": "energy"}}
    asked = read(first)
    metrics = evaluated(asked, placements(asked))
    return undominated(metrics["energy"], metrics["time"])
