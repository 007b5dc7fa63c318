"""Questions about several levels of memory, clocks and networks, each typed again by hand.

Costs are read from the papers' tables as data (never from the machine files), the equations are those of Choi et al.
2014 (1), (3) with a maximum over levels, Choi et al. 2016 Table I, Tang et al. 2017 (14)-(16) and Demmel et al. 2013
(1), (2) with hops.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import oracle_listed as listed
import oracle_reading as reading
from oracle_definitions import BALANCED, JAKETOWN, LOG, Found, Typed, costs, searched
from scipy.optimize import minimize_scalar

Array = np.ndarray
ROWS = listed.table("choi2014_platforms.csv", "platform_id")
# column names of Table I: energy of one, how many a second
KINDS = {
    "single": ("eps_single_J_per_flop", "sust_single_flop_per_s"),
    "double": ("eps_double_J_per_flop", "sust_double_flop_per_s"),
    "memory": ("eps_mem_J_per_byte", "sust_mem_B_per_s"),
    "L2": ("eps_L2_J_per_byte", "sust_L2_B_per_s"),
    "L1": ("eps_L1_J_per_byte", "sust_L1_B_per_s"),
    "random": ("eps_rand_J_per_access", "sust_rand_access_per_s"),
}
EIGHT = ("nehalem", "nuc_cpu", "apu_cpu", "gtx580", "gtx680", "gtx_titan", "xeon_phi", "pandaboard")


def run(platform: str, **amounts: float) -> tuple[float, float]:
    """Time and energy of one run with these amounts of each kind: flops add up in time, levels overlap."""
    row = ROWS[platform]
    joules = {k: n * float(row[KINDS[k][0]]) for k, n in amounts.items()}
    seconds = {k: n / float(row[KINDS[k][1]]) for k, n in amounts.items()}
    dynamic = math.fsum(joules.values())
    computing = seconds.pop("single", 0.0) + seconds.pop("double", 0.0)
    time = max([computing, dynamic / float(row["delta_pi_W"]), *seconds.values()])
    return time, dynamic + float(row["pi1_W"]) * time


def product_in_tiles(_: Sequence[int]) -> float:
    n = 4096.0
    amounts = {"single": 2 * n**3, "memory": 8 * n**3 / 256, "L2": 8 * n**3 / 32, "L1": 8 * n**3 / 4}
    found = [run(p, **amounts) for p in EIGHT]
    return min(E for T, E in found if T <= 1.0)


def mixed(index: Sequence[int]) -> float:
    share = (0, 0.05, 0.1, 0.2, 0.4, 0.7, 1)[index[0]]
    work = {"single": 1e12 * (1 - share), "double": 1e12 * share, "memory": 50e9}
    return max(1e12 / run(p, **work)[1] for p in EIGHT)


def blocks(_: Sequence[int]) -> float:
    """Every vector of counts whose nameplate power is at most 1 kW."""
    work = {"single": 1e12, "memory": 200e9, "L2": 500e9, "L1": 4e12, "random": 2e9}
    kinds = ("gtx_titan", "xeon_phi", "nuc_cpu", "pandaboard")
    plates = [float(ROWS[k]["pi1_W"]) + float(ROWS[k]["delta_pi_W"]) for k in kinds]
    rates = [1e12 / run(k, **work)[0] for k in kinds]
    counts = np.indices([int(1000 / w) + 1 for w in plates]).reshape(len(kinds), -1)
    fits = np.array(plates) @ counts <= 1000.0
    return float((np.array(rates) @ counts)[fits].max())


def gathers(_: Sequence[int]) -> float:
    code = (
        (200, {"single": 1e8, "memory": 4e8, "random": 5e7}),
        (20, {"single": 1.38e11, "memory": 6.9e10 / 32, "L2": 6.9e10 / 4, "L1": 1.38e11}),
    )
    found = [[(r * T, r * E) for r, a in code for T, E in [run(p, **a)]] for p in EIGHT]
    return min(sum(E for _, E in runs) for runs in found if sum(T for T, _ in runs) <= 600)


def jetson(index: Sequence[int]) -> float:
    intensity = 0.25 * (256 / 0.25) ** (index[0] / 10)
    found = []
    for row in listed.table("choi2016_jetson_tk1_settings.csv", "row").values():
        W, Q = 1e9, 1e9 / intensity
        time = max(W / (384 * float(row["core_Hz"])), Q / (16 * float(row["mem_Hz"])))
        joules = W * float(row["eps_SP_J"]) + Q * float(row["eps_mem_J_per_byte"])
        found.append(W / (joules + float(row["const_power_W"]) * time))
    return max(found)


def both_clocks(_: Sequence[int]) -> float:
    """Each pair of clocks; the energy is convex in the share, and the deadline leaves a range of shares."""
    W, Q, most = 13107.2e6, 1638.4e6, 7e-3
    rows = listed.table("peapaw_processors.csv", "processor_id")
    names = ("i7_2600k", "gtx_titan")
    parts = ("t_flop_s", "e_flop_J", "t_byte_s", "e_byte_J", "p_static_W")
    chip = [[_cell(rows[n], part) for part in parts] for n in names]
    found = []
    for speeds in itertools.product((1.6 / 3.4, 2.4 / 3.4, 1.0), (324 / 837, 600 / 837, 1.0)):
        flop = [(c[0] / s, c[1] * s**1.5) for c, s in zip(chip, speeds, strict=True)]
        alone = [max(W * f[0], Q * c[2]) for f, c in zip(flop, chip, strict=True)]
        spent = [W * f[1] + Q * c[3] for f, c in zip(flop, chip, strict=True)]
        static = chip[0][4] + chip[1][4]

        def energy(x: float, a: Any = alone, e: Any = spent, s: float = static) -> float:
            return x * e[0] + (1 - x) * e[1] + s * max(x * a[0], (1 - x) * a[1])

        low, high = max(0.0, 1 - most / alone[1]), min(1.0, most / alone[0])
        if low <= high:
            even = alone[1] / (alone[0] + alone[1])
            # straight pieces on either side of where both end together
            found += [energy(x) for x in (low, high, even) if low <= x <= high]
            found.append(float(minimize_scalar(energy, bounds=(low, high), method="bounded").fun))
    return min(found)


def _cell(row: Mapping[str, str], part: str) -> float:
    return float(row[part])


def strong_scaling(deadline: float) -> Typed:
    """2.5D matrix multiplication on sockets that leak 30 W, with 120 W of flops at 3.1 GHz."""

    def at(y: Array) -> tuple[Array, list[Array]]:
        clock, p, n = np.exp(y[0]), np.exp(y[1]), 35000.0
        # between one copy and as many as save communication
        M = n**2 / p * p ** (y[2] / 3)
        volt = 0.6 + 0.17 * clock / 1e9
        m = {
            **JAKETOWN,
            "leakage_power": 30.0,
            "time_per_flop": JAKETOWN["time_per_flop"] * 3.1e9 / clock,
            "energy_per_flop": 303e-12 * (volt / (0.6 + 0.17 * 3.1)) ** 2,
        }
        T, E = costs(m, p, M, n**3 / p, n**3 / (p * np.sqrt(M)))
        return E, [np.log(T / deadline)]

    box = ((LOG(1.2e9), LOG(3.1e9)), (0.0, LOG(256)), (0.0, 1.0))
    return Typed("energy", box, at, points=81, starts=6)


def torus(dimensions: float, deadline: float) -> Typed:
    """Direct n-body, words and messages over (d/4) p^(1/d) links."""

    def at(y: Array) -> tuple[Array, list[Array]]:
        p, n, f, m = np.exp(y[0]), 1e5, 20.0, BALANCED
        # between one copy and as many as save communication
        M = n / p * p ** (y[1] / 2)
        h = dimensions / 4 * p ** (1 / dimensions)
        # what goes over h links costs h times as much of both
        T, E = costs(m, p, M, f * n**2 / p, h * n**2 / (p * M))
        return E, [np.log(T / deadline)]

    return Typed("energy", ((0.0, LOG(1e6)), (0.0, 1.0)), at, points=301, starts=6)


def fat_tree(y: Array) -> tuple[Array, list[Array]]:
    """The transform with its all-to-all by a tree; words take their time once, and energy on every link."""
    (p,) = np.exp(y)
    n, m = 1e9, BALANCED
    F, W, S, M = n * np.log2(n) / p, n * np.log2(p) / p, np.log2(p), n / p
    h = 2 * np.log2(p) / 4
    T = m["time_per_flop"] * F + m["time_per_word"] * W + m["time_per_message"] * S * h
    dynamic = m["energy_per_flop"] * F + h * (m["energy_per_word"] * W + m["energy_per_message"] * S)
    E = p * (dynamic + (m["memory_power_per_word"] * M + m["leakage_power"]) * T)
    return E, [np.log(T / 0.05)]


COUNTED = {
    "roofline_levels_platform_least_energy": ("energy", product_in_tiles, "every machine"),
    "roofline_mixed_precision_sweep": ("efficiency", mixed, "every machine"),
    "blocks_several_levels": ("performance", blocks, "every vector of counts"),
    "kernels_gathers_on_eight_platforms": ("energy", gathers, "every machine"),
    "roofline_jetson_settings_intensity_sweep": ("efficiency", jetson, "every setting"),
    "partition_clocks_on_both_sides": ("energy", both_clocks, "every pair of clocks, the share's corners"),
}
SEARCHED = ("matmul_clock_deadline_sweep", "nbody_torus_sweep", "fft_fat_tree_deadline")
NAMES = (*COUNTED, *SEARCHED)


def answer(name: str, source: Mapping[str, Any], index: tuple[int, ...] = ()) -> Found:
    """The optimum of one question of the library; ``index``: at which point of its axes."""
    if name in COUNTED:
        goal, best, how = COUNTED[name]
        return Found(goal, best(index), how)
    places = [
        reading.axis(entry)[i] for entry, i in zip(source.get("sweep", {}).values(), index, strict=True)
    ]
    if name == "matmul_clock_deadline_sweep":
        typed = strong_scaling(places[0])
    elif name == "nbody_torus_sweep":
        typed = torus(places[0], reading.number(places[1]))
    else:
        typed = Typed("energy", ((0.0, LOG(1e5)),), fat_tree)
    return Found(typed.goal, searched(typed), "dense grid in logarithms, then SLSQP; typed by hand")
