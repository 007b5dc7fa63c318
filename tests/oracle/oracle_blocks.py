"""Systems of building blocks (Choi et al. 2014), typed again from (1) and (3), and searched by counting.

Every vector of counts within the budget where there are few enough; else the budget is a knapsack, filled by branch and
bound, and least energy (a ratio) is brought to it by Dinkelbach's iteration.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import oracle_listed as listed
from oracle_listed import ROUNDING, Found
from oracle_scans import Array

MANY = 3_000_000
NEW = 1e-13


@dataclass(frozen=True)
class Block:
    """One kind of block on this work: flop/s, power of its work, constant power, nameplate power."""

    rate: float
    dynamic: float
    constant: float
    nameplate: float


@dataclass(frozen=True)
class Asked:
    """A question: kinds of blocks, work, power of the host, limits."""

    blocks: tuple[Block, ...]
    flops: float
    host: float
    free: bool
    limits: Mapping[str, float]
    goal: str
    maximize: bool


def answer(source: Mapping[str, Any]) -> Found:
    """The optimum of a question in the scenario language (no sweep, one objective)."""
    asked = read(source)
    value, how = _best(asked)
    if value is not None:
        return Found(asked.goal, value, how)
    clashes = listed.minimal_conflicts(source, lambda q: _best(read(q))[0] is not None)
    return Found(asked.goal, None, how, clashes)


def read(source: Mapping[str, Any]) -> Asked:
    """The question in numbers."""
    listed.check(source)
    given = dict(source["given"])
    throttles = given.pop("throttle", {})
    flops = listed.number(given.pop("flops"))
    host, sharing = listed.number(given.pop("fixed_power", 0.0)), given.pop("sharing", "proportional")
    data = listed.number(given.pop("bytes")) if "bytes" in given else flops / given.pop("intensity")
    if given or "decide" in source:
        raise NotImplementedError(f"this oracle decides nothing and knows no {given}")
    rows = listed.table("choi2014_platforms.csv", "platform_id")
    blocks = tuple(
        _block(_costs(rows, name), flops, data, throttles.get(own, 1.0))
        for own, name in source["machine"].items()
    )
    goal, maximize = listed.goal(source)
    return Asked(blocks, flops, host, sharing == "free", listed.limits(source), goal, maximize)


def _costs(rows: Mapping[str, Mapping[str, str]], name: str) -> tuple[float, ...]:
    """Times of a flop and a byte, their energies, constant and usable power: of Choi's table or a data sheet."""
    row = rows.get(name.removesuffix("-choi2014").replace("-", "_"))
    if row is None:
        return listed.data_sheet(name) or ()
    times = (1 / float(row["sust_single_flop_per_s"]), 1 / float(row["sust_mem_B_per_s"]))
    energies = (row["eps_single_J_per_flop"], row["eps_mem_J_per_byte"], row["pi1_W"], row["delta_pi_W"])
    return (*times, *map(float, energies))


def _block(costs: tuple[float, ...], flops: float, data: float, throttle: float) -> Block:
    flop_time, byte_time, flop_energy, byte_energy, constant, most = costs
    usable = most / throttle
    work = flops * flop_energy + data * byte_energy
    time = max(flops * flop_time, data * byte_time, work / usable)
    return Block(flops / time, work / time, constant, constant + usable)


def _best(asked: Asked) -> tuple[float | None, str]:
    if asked.free:
        return _free(asked)
    most = _most(asked)
    if math.prod(m + 1 for m in most) <= MANY:
        return _counted(asked, most)
    return _filled(asked)


def _most(asked: Asked) -> list[int]:
    """How many of each kind any limit lets be on; where only time is limited, as many as suffice alone."""
    found = []
    for b in asked.blocks:
        costs = {
            "nameplate_power": b.nameplate,
            "block_power": b.constant if asked.free else b.constant + b.dynamic,
        }
        ends = [asked.limits[n] / c for n, c in costs.items() if n in asked.limits]
        alone = asked.flops / (asked.limits.get("time", math.inf) * b.rate)
        found.append(int(min(ends) + ROUNDING) if ends else math.ceil(alone) + 1)
    return found


def _grid(most: Sequence[int]) -> list[Array]:
    """Every vector of counts, one flat array per kind."""
    return [a.ravel().astype(float) for a in np.meshgrid(*(np.arange(m + 1) for m in most), indexing="ij")]


def _total(counts: Sequence[Array], each: Sequence[float]) -> Array:
    return sum((n * v for n, v in zip(counts, each, strict=True)), np.zeros(1))


def _counted(asked: Asked, most: Sequence[int]) -> tuple[float | None, str]:
    how = "every vector of counts"
    counts = _grid(most)
    rate = _total(counts, [b.rate for b in asked.blocks])
    power = _total(counts, [b.constant + b.dynamic for b in asked.blocks])
    with np.errstate(divide="ignore", invalid="ignore"):
        metrics = {
            "performance": rate,
            "time": asked.flops / rate,
            "energy": asked.flops * (power + asked.host) / rate,
            "block_power": power,
            "nameplate_power": _total(counts, [b.nameplate for b in asked.blocks]),
            "block_types": sum((n > 0).astype(float) for n in counts),
        }
    good = rate > 0
    for name, most_of_it in asked.limits.items():
        good &= metrics[name] <= most_of_it * (1 + ROUNDING)
    if not good.any():
        return None, how
    values = metrics[asked.goal][good]
    return float(values.max() if asked.maximize else values.min()), how


def _free(asked: Asked) -> tuple[float | None, str]:
    """Greatest speed under a limit on actual power: what is left after the constant powers goes to the frugal first."""
    how = "every vector of counts, what is left of the power to the most frugal kinds first"
    if (
        not asked.maximize
        or asked.goal != "performance"
        or set(asked.limits) - {"block_power", "block_types"}
    ):
        raise NotImplementedError(f"this oracle knows no such question: {asked}")
    limit, kinds = asked.limits["block_power"], asked.limits.get("block_types", len(asked.blocks))
    chosen = [asked.blocks] if kinds >= len(asked.blocks) else [(b,) for b in asked.blocks]
    if kinds != 1 and len(chosen) > 1:
        raise NotImplementedError("this oracle takes one kind of block or all, not some")
    best = 0.0
    for blocks in chosen:
        counts = _grid([int(limit / b.constant + ROUNDING) for b in blocks])
        left = limit - _total(counts, [b.constant for b in blocks])
        on, speed = left >= -ROUNDING * limit, np.zeros(1)
        for k in sorted(range(len(blocks)), key=lambda k: blocks[k].dynamic / blocks[k].rate):
            busy = np.clip(left / blocks[k].dynamic, 0.0, counts[k])
            speed, left = speed + busy * blocks[k].rate, left - busy * blocks[k].dynamic
        best = max(best, float(speed[on].max()))
    return (best or None), how


def _filled(asked: Asked) -> tuple[float | None, str]:
    """Too many vectors to list: one budget, as a knapsack."""
    ((name, budget),) = asked.limits.items()
    powers = [b.constant + b.dynamic for b in asked.blocks]
    costs = {"nameplate_power": [b.nameplate for b in asked.blocks], "block_power": powers}[name]
    rates = [b.rate for b in asked.blocks]
    if asked.goal == "performance":
        counts = knapsack(rates, costs, budget)
        return sum(n * r for n, r in zip(counts, rates, strict=True)), "branch and bound over counts"
    if asked.goal != "energy":
        raise NotImplementedError(f"this oracle has no way to the best {asked.goal}")
    energy = min(
        (p + asked.host) / r
        for p, r, c in zip(powers, rates, costs, strict=True)
        if c <= budget * (1 + ROUNDING)
    )
    while True:  # joules per flop; the best system at the last ratio is the best there is
        counts = knapsack([energy * r - p for r, p in zip(rates, powers, strict=True)], costs, budget)
        power, rate = (sum(n * v for n, v in zip(counts, of, strict=True)) for of in (powers, rates))
        if rate == 0 or (power + asked.host) / rate >= energy * (1 - NEW):
            return asked.flops * energy, "Dinkelbach's iteration, branch and bound over counts"
        energy = (power + asked.host) / rate


def knapsack(values: Sequence[float], costs: Sequence[float], budget: float) -> list[int]:
    """Counts of greatest value within the budget: depth first, cut where a fraction of the next kind would not do."""
    order = sorted(
        (k for k in range(len(values)) if values[k] > 0), key=lambda k: values[k] / costs[k], reverse=True
    )
    best: tuple[float, list[int]] = (0.0, [0] * len(values))
    counts = [0] * len(values)

    def visit(place: int, value: float, left: float) -> None:
        nonlocal best
        if value > best[0]:
            best = (value, counts.copy())
        if place == len(order):
            return
        k = order[place]
        if value + left * values[k] / costs[k] <= best[0] * (1 + NEW):
            return
        for n in range(int(left / costs[k] + ROUNDING), -1, -1):
            counts[k] = n
            visit(place + 1, value + n * values[k], left - n * costs[k])
        counts[k] = 0

    visit(0, 0.0, budget)
    return best[1]
