"""Fronts by brute force: every placement of whole regions, and a linear program of its own for what is divisible.

Written from the equations (14)-(17) and (24) of Tang et al. 2017, (1)-(3) of Choi et al. 2014 and (9) of Choi and
Vuduc 2016 alone.
"""

import itertools

import numpy as np
from scipy.optimize import linprog

# a processor is (time per flop, time per byte, energy per flop, energy per byte, constant power)
Processor = tuple[float, float, float, float, float]
Region = tuple[float, float, bool]


def placements(regions: list[Region], count: int) -> list[dict[int, int]]:
    """Every way to put the whole regions on processors."""
    whole = [i for i, r in enumerate(regions) if r[2]]
    return [dict(zip(whole, at, strict=True)) for at in itertools.product(range(count), repeat=len(whole))]


def least_energy(processors: list[Processor], regions: list[Region], deadline: float) -> float:
    """Least energy within a deadline; infinite where there is none."""
    return min(_placed(processors, regions, at, deadline) for at in placements(regions, len(processors)))


def _placed(processors: list[Processor], regions: list[Region], at: dict[int, int], deadline: float) -> float:
    """Shares x[i, p] of each region and the time T, with regions of ``at`` in their places."""
    n, m = len(regions), len(processors)
    cost = np.zeros(n * m + 1)
    cost[-1] = sum(p[4] for p in processors)
    above, sums = [], []
    for k, (tf, tb, ef, eb, _) in enumerate(processors):
        for per_flop, per_byte in ((tf, 0.0), (0.0, tb)):
            row = np.zeros(n * m + 1)
            for i, (flops, data, _) in enumerate(regions):
                row[i * m + k] = per_flop * flops + per_byte * data
            row[-1] = -1.0
            above.append(row)
        for i, (flops, data, _) in enumerate(regions):
            cost[i * m + k] = ef * flops + eb * data
    ends = [(0.0, 1.0)] * (n * m) + [(0.0, deadline)]
    for i in range(n):
        row = np.zeros(n * m + 1)
        row[i * m : (i + 1) * m] = 1.0
        sums.append(row)
        if i in at:
            for k in range(m):
                ends[i * m + k] = (float(k == at[i]),) * 2
    size = np.abs(cost).max()
    found = linprog(cost / size, np.array(above), np.zeros(len(above)), np.array(sums), np.ones(n), ends)
    return float(found.fun * size) if found.status == 0 else np.inf


def undominated(points: np.ndarray) -> np.ndarray:
    """The points that no other one betters in one column and equals in the other, once each, by rising first."""
    rough = np.unique(np.array([[float(f"{x:.11e}") for x in p] for p in points]), axis=0)
    better = (rough[None] <= rough[:, None]).all(-1) & (rough[None] < rough[:, None]).any(-1)
    return rough[~better.any(1)]


def systems(blocks: list[dict[str, float]], flops: float, data: float, budget: float) -> np.ndarray:
    """Energy and time of every system of whole blocks within a budget of nameplate power, work in proportion."""
    rates, powers, names = [], [], []
    for b in blocks:
        dynamic = b["energy_per_flop"] * flops + b["energy_per_byte"] * data
        time = max(b["time_per_flop"] * flops, b["time_per_byte"] * data, dynamic / b["usable_power"])
        rates.append(1.0 / time)
        powers.append(b["constant_power"] + dynamic / time)
        names.append(b["constant_power"] + b["usable_power"])
    found = []
    for counts in itertools.product(*(range(int(budget / p) + 1) for p in names)):
        if any(counts) and sum(c * p for c, p in zip(counts, names, strict=True)) <= budget:
            rate = sum(c * r for c, r in zip(counts, rates, strict=True))
            power = sum(c * p for c, p in zip(counts, powers, strict=True))
            found.append((power / rate, 1.0 / rate))
    return np.array(found)


def schedules(
    times: list[list[float]], energies: list[list[float]], switch_time: float, switch_energy: float
) -> np.ndarray:
    """Energy and time of every choice of one setting per phase."""
    found = []
    for picks in itertools.product(range(len(times[0])), repeat=len(times)):
        switches = sum(a != b for a, b in itertools.pairwise(picks))
        energy = sum(e[k] for e, k in zip(energies, picks, strict=True)) + switches * switch_energy
        time = sum(t[k] for t, k in zip(times, picks, strict=True)) + switches * switch_time
        found.append((energy, time))
    return np.array(found)
