"""Answers by brute force: an oracle that shares nothing with the engine.

The searches are scans: dense in log M, refined around the best point until the step is at rounding level, and
over every allowed count where counts are whole. Where every metric is a function of M times a power of p
(n-body, 2.5D multiplication, Strassen) p is eliminated exactly: at each M its limits leave one interval, and
the best p is an end of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from oracle_equations import Array, Ask, Best, Range, metrics, processor_ends, replication_ends
from oracle_scans import SLACK, refine, zoom
from oracle_two_level import least_energy


def answer(ask: Ask) -> Best:
    """The optimum of a question, by the scan that fits it."""
    with np.errstate(divide="ignore", over="ignore"):
        return searcher(ask)(ask)


def searcher(ask: Ask) -> Callable[[Ask], Best]:
    """The search that fits a question."""
    processors = ask.decide.get("processors", Range())
    if ask.model == "matmul_two_level":
        return least_energy
    if ask.reductions:
        return fewest_halvings
    if ask.model == "fft":
        return every_count
    if processors.whole or processors.values is not None:
        return every_processor_count
    return lu_processors_eliminated if ask.model == "lu" else processors_eliminated


# power of p in each metric of n-body, 2.5D multiplication and Strassen; the rest is a function of M alone
POWER_OF_P = {
    "time": -1,
    "energy": 0,
    "power": 1,
    "power_per_processor": 0,
    "performance": 1,
    "efficiency": 0,
    "energy_delay": -1,
    "flops": -1,
    "words": -1,
    "messages": -1,
    "processors": 1,
    "memory": 0,
}


def processors_eliminated(ask: Ask) -> Best:
    """p in closed form at each M; one dense scan over log M with refinement."""

    def scan(y: Array) -> tuple[Array, Array, Array, Array]:
        M = np.exp(y)
        low, high, miss = allowed_processors(ask, M)
        miss = np.maximum(miss, np.log(low / high))
        one = metrics(ask, np.ones_like(M), M)
        k = POWER_OF_P[ask.goal]
        best = low if (k > 0) != ask.maximize else high
        return one[ask.goal] * best**k, miss, low, high

    low, high = span(ask, "memory", 1.0, 1e18)
    y = refine(lambda y: scan(y)[:2], low, high, ask.maximize)
    if y is None:
        return Best(feasible=False)
    value, _, fewest, most = (float(v[0]) for v in scan(np.array([y])))
    k = POWER_OF_P[ask.goal]
    if k:
        fewest = most = fewest if (k > 0) != ask.maximize else most
    return best_at(ask, value, max(fewest, most) if not k else most, math.exp(y), fewest)


def allowed_processors(ask: Ask, M: Array) -> tuple[Array, Array, Array]:
    """Fewest and most processors at each M, and by how much (log) limits on M alone are missed."""
    low, high = processor_ends(ask, M)
    fixed = ask.given.get("processors")
    user = ask.decide.get("processors", Range(fixed, fixed))
    low = np.maximum(low, max(1.0, user.low or 1.0))
    high = np.minimum(high, user.high or 1e15)
    miss = np.full_like(M, -np.inf)
    one = metrics(ask, np.ones_like(M), M)
    for name, (least, most) in ask.limits.items():
        a, k = one[name], POWER_OF_P[name]
        for bound, sense in ((most, 1), (least, -1)):
            if bound is None:
                continue
            if k == 0:
                miss = np.maximum(miss, sense * np.log(a / bound))
            elif k * sense > 0:
                high = np.minimum(high, (bound / a) ** k)
            else:
                low = np.maximum(low, (bound / a) ** k)
    return low, high, miss


def every_processor_count(ask: Ask) -> Best:
    """Every allowed p; at each a scan of the memory between its ends, refined for the best few hundred."""
    user = ask.decide["processors"]
    between = replace(ask, decide={**ask.decide, "processors": Range(user.low, user.high)})
    if ask.model != "lu" and not processors_eliminated(between).feasible:
        return Best(feasible=False)  # not even with fractions of processors
    low, high = span(ask, "processors", 1.0, float(2**24))
    counts_ = whole_values(ask.decide["processors"], math.exp(low), math.exp(high))
    best = Best(feasible=False)
    # small enough to stay in the cache of a core
    parts = np.array_split(counts_, 1 + len(counts_) // 100)
    kept = [scan_memory(ask, part, np.zeros(len(part)), np.ones(len(part)), 101) for part in parts]
    p, s, width, key = (np.concatenate(v) for v in zip(*kept, strict=True))
    for _ in range(14):
        order = np.argsort(key)[:400]
        p, s, width, key = scan_memory(ask, p[order], s[order] - width[order], s[order] + width[order], 201)
    i = int(np.argmin(key))
    if not key[i] < 1e200:
        return best
    M = float(memory_between(ask, p[i : i + 1], s[i : i + 1])[0])
    value = float(metrics(ask, p[i], np.array(M))[ask.goal])
    return best_at(ask, value, float(p[i]), M, float(p[i]))


def scan_memory(
    ask: Ask, p: Array, low: Array, high: Array, points: int
) -> tuple[Array, Array, Array, Array]:
    """For each p the best place of memory between its ends: (p, place, two cells, key to minimise)."""
    low, high = np.clip(low, 0, 1), np.clip(high, 0, 1)
    s = low[:, None] + (high - low)[:, None] * np.linspace(0, 1, points)
    P = np.broadcast_to(p[:, None], s.shape)
    M = memory_between(ask, P, s)
    key = key_of(ask, P, M)
    i = np.argmin(key, axis=1)
    rows = np.arange(len(p))
    return p, s[rows, i], 2 * (high - low) / (points - 1), key[rows, i]


def memory_between(ask: Ask, p: Array, s: Array) -> Array:
    """Memory at place s (0..1, in logs) between the least and the most that p allows."""
    if "memory" in ask.given:
        return np.full_like(s, float(ask.given["memory"]))
    low, high = replication_ends(ask, p)
    user = ask.decide["memory"]
    capacity = ask.machine.get("memory_capacity", 1e18)
    low = np.maximum(low, user.low or 1.0)
    high = np.minimum(high, min(user.high or 1e18, capacity))
    return np.exp(np.log(low) * (1 - s) + np.log(np.maximum(high, low)) * s)


def key_of(ask: Ask, p: Array, M: Array) -> Array:
    """What to minimise: the objective where all limits hold, else a huge number that grows with the miss."""
    at = metrics(ask, p, M)
    if ask.model == "fft":
        miss = np.full(M.shape, -np.inf)
    else:
        low, high = replication_ends(ask, p)
        miss = np.maximum(np.log(low / M), np.log(M / high))
    capacity = ask.machine.get("memory_capacity", math.inf)
    limits = [
        *ask.limits.items(),
        *((n, (r.low, r.high)) for n, r in ask.decide.items()),
        ("memory", (None, capacity)),
    ]
    for name, (least, most) in limits:
        if most is not None:
            miss = np.maximum(miss, np.log(at[name] / most))
        if least is not None:
            miss = np.maximum(miss, np.log(least / at[name]))
    value = -at[ask.goal] if ask.maximize else at[ask.goal]
    return np.where(miss <= SLACK, value, 1e250 * (1 + np.minimum(miss, 1e30)))


def every_count(ask: Ask) -> Best:
    """The FFT: every allowed number of processors, memory n/p."""
    n = float(ask.given["points"])
    low, high = span(ask, "processors", 1.0, n)
    p = whole_values(ask.decide["processors"], math.exp(low), math.exp(high))
    # all of 16 million at once would only wait for memory
    key = np.concatenate([key_of(ask, some, n / some) for some in np.array_split(p, 1 + len(p) // 16384)])
    i = int(np.argmin(key))
    if not key[i] < 1e200:
        return Best(feasible=False)
    value = float(metrics(ask, p[i], n / p[i])[ask.goal])
    return best_at(ask, value, float(p[i]), n / float(p[i]), float(p[i]))


def lu_processors_eliminated(ask: Ask) -> Best:
    """LU, whose messages grow with p: T = a/p + b p and E = c + d p^2 at fixed M; log M scanned.

    Knows the questions with limits on time and energy.
    """
    if set(ask.limits) - {"time", "energy"} or ask.goal not in {"time", "energy"} or ask.maximize:
        raise NotImplementedError(ask)
    slowest = ask.limits.get("time", (None, None))[1] or math.inf
    dearest = ask.limits.get("energy", (None, None))[1] or math.inf

    def scan(y: Array) -> tuple[Array, Array, Array]:
        M = np.exp(y)
        low, high, _ = allowed_processors(replace(ask, limits={}), M)
        k, one = ask.machine, metrics(ask, np.ones_like(M), M)
        a = k["time_per_flop"] * one["flops"] + k["time_per_word"] * one["words"]
        b = k["time_per_message"] * one["messages"]
        keep = k["memory_power_per_word"] * M + k["leakage_power"]
        c = k["energy_per_flop"] * one["flops"] + k["energy_per_word"] * one["words"] + keep * a
        d = k["energy_per_message"] * one["messages"] + keep * b
        root = np.sqrt(np.maximum(slowest**2 - 4 * a * b, 0.0)) if math.isfinite(slowest) else np.inf
        low = np.maximum(low, 2 * a / (slowest + root))
        high = np.minimum(high, (slowest + root) / (2 * b))
        high = np.minimum(high, np.sqrt(np.maximum(dearest - c, 1e-300) / d))
        miss = np.maximum(np.log(low / high), np.log(4 * a * b / slowest**2))
        p = low if ask.goal == "energy" else np.clip(np.sqrt(a / b), low, np.maximum(low, high))
        return metrics(ask, p, M)[ask.goal], miss, p

    low, high = span(ask, "memory", 1.0, 1e18)
    y = refine(lambda y: scan(y)[:2], low, high, ask.maximize)
    if y is None:
        return Best(feasible=False)
    value, _, p = (float(v[0]) for v in scan(np.array([y])))
    return best_at(ask, value, p, math.exp(y), p)


def fewest_halvings(ask: Ask) -> Best:
    """Least total log2 reduction of machine parameters that reaches an efficiency.

    Energy is affine in each energy parameter: the first one is eliminated exactly, M and the others are
    scanned.
    """
    names = sorted(ask.reductions, key=lambda n: not n.startswith(("energy", "memory_power")))
    first, others = names[0], names[1:]
    target = ask.limits["efficiency"][0]
    if target is None:
        return Best(feasible=True, objective=0.0)
    if "memory" in ask.decide:
        low, high = span(ask, "memory", 1.0, 1e18)
    else:
        low = high = math.log(float(ask.given["memory"]))
    if ask.whole_halvings:
        return fewest_whole_halvings(ask, names, target, low, high)
    box = np.array([[low, high]] + [[0.0, ask.reductions[n]] for n in others])

    def key(points: Array) -> Array:
        M = np.exp(points[0])
        changed = {n: ask.machine[n] * 2.0 ** -points[i + 1] for i, n in enumerate(others)}
        h = needed(ask, first, target, M, changed)
        fewest, most, _ = allowed_processors(replace(ask, limits={}), M)
        bad = (h > ask.reductions[first]) | (np.log(fewest / most) > SLACK)
        return np.where(bad, 1e250, np.maximum(h, 0.0) + points[1:].sum(axis=0))

    points = {1: 20_001, 2: 1201, 3: 141, 4: 41}[len(box)]
    y, value = zoom(key, box, points)
    return (
        Best(feasible=True, objective=value, at={"memory": math.exp(y[0])})
        if value < 1e200
        else Best(feasible=False)
    )


def needed(ask: Ask, first: str, target: float, M: Array, changed: Mapping[str, Array]) -> Array:
    """Halvings of parameter ``first`` that reach the target; infinite where none do."""
    one = np.ones_like(M)
    without = metrics(ask, one, M, {**changed, first: 0.0 * one})
    slope = metrics(ask, one, M, {**changed, first: one})["energy"] - without["energy"]
    budget = without["performance"] * without["time"] / target
    with np.errstate(divide="ignore", invalid="ignore"):
        allowed = np.maximum((budget - without["energy"]) / slope, 0.0)
        return np.log2(ask.machine[first] / allowed)


def fewest_whole_halvings(ask: Ask, names: list[str], target: float, low: float, high: float) -> Best:
    """The same with whole halvings: every combination, at every scanned M."""
    steps = [np.arange(ask.reductions[n] + 1) for n in names]
    mesh = [v.ravel()[:, None] for v in np.meshgrid(*steps, indexing="ij")]
    M = np.exp(np.linspace(low, high, 4001 if high > low else 1))[None, :]
    changed = {n: ask.machine[n] * 2.0**-h for n, h in zip(names, mesh, strict=True)}
    reached = (metrics(ask, np.ones_like(M), M, changed)["efficiency"] >= target).any(axis=1)
    total = sum(mesh)[:, 0]
    if not reached.any():
        return Best(feasible=False)
    i = int(np.argmin(np.where(reached, total, np.inf)))
    at = {f"halvings of {n}": float(h[i, 0]) for n, h in zip(names, mesh, strict=True)}
    return Best(feasible=True, objective=float(total[i]), at=at)


def span(ask: Ask, name: str, low: float, high: float) -> tuple[float, float]:
    """Logarithms of the ends of a decided or given quantity."""
    if name in ask.given:
        return (math.log(float(ask.given[name])),) * 2
    user = ask.decide[name]
    if name == "memory":
        high = min(high, ask.machine.get("memory_capacity", high))
        most_useful = (
            replication_ends(ask, np.array([max(1.0, 1.0)]))[1] if ask.model != "fft" else np.array([high])
        )
        high = min(high, float(most_useful[0]))
    return math.log(max(low, user.low or low)), math.log(min(high, user.high or high))


def whole_values(user: Range, low: float, high: float) -> Array:
    """The whole or listed values within [low, high]."""
    if user.values is not None:
        return np.array([v for v in user.values if low * (1 - SLACK) <= v <= high * (1 + SLACK)], float)
    return np.arange(math.ceil(low * (1 - SLACK)), math.floor(high * (1 + SLACK)) + 1, dtype=float)


def best_at(ask: Ask, value: float, p: float, M: float, fewest: float) -> Best:
    """Wrap up an optimum with all metrics there."""
    at = {n: float(v) for n, v in metrics(ask, np.array(p), np.array(M)).items()}
    return Best(feasible=True, objective=value, at=at, fewest=fewest, fastest=p)
