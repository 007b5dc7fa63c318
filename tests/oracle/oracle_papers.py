"""Questions that Demmel et al. 2013, Choi et al. 2014 and 2016 and Tang et al. 2017 leave open, typed again by hand.

Nothing is read from [define]. Costs come from the papers' tables (tests/data) or the data files of machines. Memory of
n-body is eliminated by the closed form of section V.A; what is whole is enumerated; shares are linear programs (scipy);
the rest is a dense grid in logarithms, refined by SLSQP.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import oracle_listed as listed
import oracle_reading as reading
import oracle_settings
from oracle_definitions import BALANCED, JAKETOWN, LOG, Array, Found, Typed, matmul, nbody, searched
from oracle_levels import run
from scipy.optimize import linprog

PRINTED = reading.catalogue("jaketown-printed")
SETTINGS = list(listed.table("choi2016_jetson_tk1_settings.csv", "row").values())
CHIPS = listed.table("peapaw_processors.csv", "processor_id")
PLATFORMS = listed.table("choi2014_platforms.csv", "platform_id")


def overlapped(y: Array) -> tuple[Array, list[Array]]:
    p, M = np.exp(y)
    m, n, f = BALANCED, 1e5, 10.0
    F, W = f * n**2 / p, n**2 / (p * M)
    S = W / m["max_message"]
    T = np.maximum(np.maximum(m["time_per_flop"] * F, m["time_per_word"] * W), m["time_per_message"] * S)
    spent = m["energy_per_flop"] * F + m["energy_per_word"] * W + m["energy_per_message"] * S
    E = p * (spent + (m["memory_power_per_word"] * M + m["leakage_power"]) * T)
    return E, [np.log(n / (p * M)), np.log(M * np.sqrt(p) / n), np.log(T / 30e-3)]


def warm(y: Array) -> tuple[Array, list[Array]]:
    """The temperature at each design by letting it settle, its leakage with it."""
    p, M = np.exp(y)
    heat = np.full(np.shape(p), 300.0)
    for _ in range(40):
        m = {**BALANCED, "leakage_power": BALANCED["leakage_power"] * (heat / 300.0) ** 8}
        T, E, own = nbody(m, 1e5, 10.0, p, M)
        # what runs away is far above the 400 K that are allowed
        heat = np.minimum(300.0 + 60.0 * E / T / p, 1e3)
    return E, [*own, np.log(T / 50e-3), np.log(heat / 400.0)]


def replicated(y: Array) -> tuple[Array, list[Array]]:
    p = np.exp(y[0])
    _, E, _ = matmul(BALANCED, 8192.0, p, 8192.0**2 / p ** (2 / 3))
    return E, [np.zeros_like(p)]


def copied(copies: float) -> Typed:
    def at(y: Array) -> tuple[Array, list[Array]]:
        p = np.exp(y[0])
        T, E, _ = matmul(BALANCED, 8192.0, p, copies * 8192.0**2 / p)
        return E, [np.log(copies / np.cbrt(p)), np.log(T / 50e-3)]

    return Typed("energy", ((0.0, LOG(65536)),), at)


def two_levels(y: Array) -> tuple[Array, list[Array]]:
    """(1) and (2) for nodes of 16 cores: words between nodes and inside them, two kinds of memory."""
    nodes, node, core = np.exp(y)
    n, cores = 1e5, 16.0
    p = cores * nodes
    F, between, inside = 20.0 * n**2 / p, n**2 / (nodes * node), n**2 / (p * core)
    T = 1e-9 * F + 40e-9 * between + 4e-9 * inside
    E = p * (200e-12 * F + 50e-9 * inside + (0.05 + 20e-6 * core) * T) + nodes * (
        3e-6 * between + 2e-6 * node * T
    )
    ends = [n / (nodes * node), node * np.sqrt(nodes) / n, core * np.sqrt(p) / n, T / 0.2]
    return E, [np.log(x) for x in ends]


def silicon(y: Array) -> tuple[Array, list[Array]]:
    p, M = np.exp(y)
    T, E, own = matmul(JAKETOWN, 35000.0, p, M)
    return p * (435e-6 + 1e-12 * M), [*own, np.log(2.4e9 * E / 35000.0**3), np.log(1e13 * T / 35000.0**3)]


def printed_efficiency(flop: Any, word: Any, memory: Any, faster: Any = 1.0) -> Any:
    """Flops per joule of the dual-socket machine with costs divided by these gains."""
    m = {k: np.asarray(v) for k, v in PRINTED.items()}
    m["energy_per_flop"] = m["energy_per_flop"] / flop
    m["energy_per_word"] = m["energy_per_word"] / word
    m["memory_power_per_word"] = m["memory_power_per_word"] / memory
    m["time_per_flop"] = m["time_per_flop"] / faster
    _, E, _ = matmul(m, 35000.0, np.asarray(2.0), np.asarray(1837500000.0))
    return 35000.0**3 / E


def development(y: Array) -> tuple[Array, list[Array]]:
    flop, word, memory = np.exp(y)
    price = 90e6 * np.sqrt(flop) + 15e6 * np.sqrt(word) + 30e6 * np.sqrt(memory)
    return price, [np.log(75e9 / printed_efficiency(flop, word, memory))]


def halvings(y: Array) -> tuple[Array, list[Array]]:
    flop, memory, faster = np.exp(y)
    return y.sum(axis=0) / LOG(2.0), [np.log(75e9 / printed_efficiency(flop, 1.0, memory, faster))]


def generations(index: Sequence[int]) -> float:
    gains = ((1, 1, 1), (32, 1, 1), (1, 32, 1), (1, 1, 32), (32, 32, 32))[index[0]]
    return float(printed_efficiency(*gains))


def least_energy_of_nbody(m: Mapping[str, float], n: float, f: float, p: Array, most: float) -> float:
    """Memory of section V.A, moved into the range of replication and of the deadline, for each number of processors."""
    late = m["time_per_word"] + m["time_per_message"] / m["max_message"]
    dear = m["energy_per_word"] + m["energy_per_message"] / m["max_message"] + m["leakage_power"] * late
    best = math.sqrt(dear / (m["memory_power_per_word"] * m["time_per_flop"] * f))
    left = most * p / n**2 - m["time_per_flop"] * f
    needed = np.where(left > 0, late / np.where(left > 0, left, 1.0), np.inf)
    low, high = np.maximum(n / p, needed), n / np.sqrt(p)
    good = low <= high
    p, M = p[good], np.clip(best, low[good], high[good])
    return float(nbody(m, n, f, p, M)[1].min()) if good.any() else math.inf


def processors_of_the_table(source: Mapping[str, Any]) -> float:
    rest = {
        "time_per_word": 1e-9, "time_per_message": 1e-6, "energy_per_word": 4e-9, "energy_per_message": 0.0,
        "memory_power_per_word": 2e-9, "leakage_power": 0.1, "max_message": 1e4,
    }  # fmt: skip
    p = np.arange(1.0, 65537.0)
    machines = (reading.catalogue(n) | rest for n in source["decide"]["machine"]["values"])
    return min(least_energy_of_nbody(m, 1e6, 20.0, p, 1.0) for m in machines)


def decisions(source: Mapping[str, Any], index: Sequence[int]) -> float:
    m = reading.machine(source["machine"]) | {"time_per_message": (1e-3, 5e-3, 10e-3, 20e-3)[index[0]]}
    return 20e3 / least_energy_of_nbody(m, 4000.0, 40.0, np.arange(1.0, 65.0), 0.25)


def network_power(index: Sequence[int]) -> float:
    """As many as fit, at the rate of one."""
    row = PLATFORMS["arndale_gpu"]
    rate = 1.0 / run("arndale_gpu", single=1.0, memory=4.0)[0]
    extra = (0.0, 1.0, 3.0, 7.0)[index[0]]
    return rate * math.floor(287.0 / (float(row["pi1_W"]) + extra + float(row["delta_pi_W"])) + 1e-12)


def constant_power(index: Sequence[int]) -> float:
    """From joules a flop at the target, less those of a flop and its bytes."""
    row = PLATFORMS["gtx_titan"]
    time, energy = run("gtx_titan", single=1.0, memory=4.0)
    dynamic = energy - float(row["pi1_W"]) * time
    return min((1 / (0.4e9, 0.6e9, 0.8e9)[index[0]] - dynamic) / time, 123.0)


def both_halves() -> float:
    """Shares of two regions on CPU and GPU, and the time: a linear program."""
    work = [(200e9, 400e9), (3e12, 100e9)]
    rows, limits, goal = [], [], np.zeros(5)
    for k, name in enumerate(("nuc_cpu", "nuc_gpu")):
        chip = PLATFORMS[name]
        flop, byte = float(chip["eps_single_J_per_flop"]), float(chip["eps_mem_J_per_byte"])
        each = [
            [W / float(chip["sust_single_flop_per_s"]) for W, _ in work],
            [Q / float(chip["sust_mem_B_per_s"]) for _, Q in work],
            [(W * flop + Q * byte) / float(chip["delta_pi_W"]) for W, Q in work],
        ]
        for seconds in each:
            row = np.zeros(5)
            row[[k, 2 + k]], row[4] = seconds, -1.0
            rows.append(row)
            limits.append(0.0)
        goal[[k, 2 + k]] = [W * flop + Q * byte for W, Q in work]
    goal[4] = float(PLATFORMS["nuc_cpu"]["pi1_W"])
    whole = [[1, 1, 0, 0, 0], [0, 0, 1, 1, 0]]
    found = linprog(goal, rows, limits, whole, [1, 1], bounds=[(0, 1)] * 4 + [(0, 30.0)])
    return float(found.fun)


def several_gpus(index: Sequence[int]) -> float:
    """Two regions over an i3 and some GTX 750: the least time by a linear program."""
    work, many = [(400e9, 60e9), (20e9, 40e9)], index[0] + 1
    rows = []
    for k, (name, count) in enumerate((("i3_2100t", 1), ("gtx_750", many))):
        for part, of in (("t_flop_s", 0), ("t_byte_s", 1)):
            row = np.zeros(5)
            row[[k, 2 + k]], row[4] = [w[of] * float(CHIPS[name][part]) / count for w in work], -1.0
            rows.append(row)
    whole = [[1, 1, 0, 0, 0], [0, 0, 1, 1, 0]]
    return float(
        linprog([0, 0, 0, 0, 1.0], rows, [0.0] * 4, whole, [1, 1], bounds=[(0, 1)] * 4 + [(0, None)]).fun
    )


def points_per_box(index: Sequence[int]) -> float:
    platform, points = ("nehalem", "gtx580", "gtx_titan", "xeon_phi")[index[0]], 262144.0
    found = []
    for box in (2.0**k for k in range(3, 12)):
        pairs = 189 * 1728 * points / box
        near = run(platform, double=27 * box * 20 * points, memory=872 * points)[1]
        found.append(near + run(platform, double=8 * pairs, memory=32 * pairs)[1])
    return min(found)


def integers(source: Mapping[str, Any], index: Sequence[int]) -> float:
    asked = {k: v for k, v in source.items() if k != "sweep"}
    phases = [dict(p) for p in source["given"]["phases"]]
    phases[3]["integer_operations"] = (0.0, 100e9, 200e9, 400e9)[index[0]]
    value = oracle_settings.best(asked | {"given": {"phases": phases}})
    assert value is not None
    return value


def at_setting(row: Mapping[str, str], W: float, Q: float, slow: tuple[float, float]) -> float:
    """Energy at one setting of the Jetson, its times of flops and bytes multiplied."""
    time = max(slow[0] * W / (384 * float(row["core_Hz"])), slow[1] * Q / (16 * float(row["mem_Hz"])))
    joules = W * float(row["eps_SP_J"]) + Q * float(row["eps_mem_J_per_byte"])
    return joules + float(row["const_power_W"]) * time


def utilization(index: Sequence[int]) -> float:
    slow = 1.0 / (1, 0.5, 0.25, 0.1)[index[0]]
    return min(at_setting(row, 1e12, 1e12 / 64, (slow, slow)) for row in SETTINGS)


def prefetching(index: Sequence[int]) -> float:
    used = (0.5, 0.7, 0.9, 1.0)[index[0]]
    fastest = next(r for r in SETTINGS if float(r["core_Hz"]) == 852e6 and float(r["mem_Hz"]) == 924e6)
    return min(
        at_setting(fastest, 20e9, 10e9, (1.0, 1.5)), at_setting(fastest, 20e9, 10e9 / used, (1.0, 1.0))
    )


def two_clocks(intensity: float) -> Typed:
    def at(y: Array) -> tuple[Array, list[Array]]:
        core, memory = np.exp(y)
        W, Q = 1e12, 1e12 / intensity
        volt, other = 0.54 + 0.57 * core / 1e9, 0.74 + 0.285 * memory / 1e9
        T = np.maximum(W / (384 * core), Q / (16 * memory))
        E = W * 27.35e-12 * volt**2 + Q * 369.6e-12 * other**2 + (2.87 * volt + 3.81 * other) * T
        return E, [np.zeros_like(core)]

    return Typed("energy", ((LOG(180e6), LOG(852e6)), (LOG(204e6), LOG(924e6))), at, points=401, starts=4)


def regions_on_an_fpga() -> float:
    """Each of the sixteen ways to put four regions into the FPGA."""
    row = {
        k: float(CHIPS["gtx_750"][k]) for k in ("t_flop_s", "e_flop_J", "t_byte_s", "e_byte_J", "p_static_W")
    }
    rows = (
        (20e9, 24e9, 0.3, 4, 0.25),
        (150e9, 30e9, 0.6, 11, 0.45),
        (2e9, 40e9, 0.35, 5, 0.4),
        (400e9, 20e9, 1.6, 36, 0.7),
    )
    found = []
    for inside in itertools.product((False, True), repeat=4):
        gpu = [r for r, i in zip(rows, inside, strict=True) if not i]
        fpga = [r for r, i in zip(rows, inside, strict=True) if i]
        W, Q = 10e9 + sum(r[0] for r in gpu), 5e9 + sum(r[1] for r in gpu)
        both = max(W * row["t_flop_s"], Q * row["t_byte_s"], sum(r[2] for r in fpga))
        if sum(r[4] for r in fpga) <= 1 + 1e-12 and both <= 1.2:
            joules = W * row["e_flop_J"] + Q * row["e_byte_J"] + sum(r[3] for r in fpga)
            found.append(joules + (row["p_static_W"] + 6.0) * both)
    return min(found)


GRID = "dense grid in logarithms, then SLSQP; typed by hand"
EVERY = "every design; typed by hand"
CLOSED = "closed form, typed by hand"
PROGRAM = "linear programs, typed by hand"
TYPED: Mapping[str, Callable[[Sequence[int]], Typed]] = {
    "nbody_overlap_deadline": lambda _: Typed(
        "", ((0.0, LOG(4096)), (LOG(10), LOG(1e6))), overlapped, points=401, starts=4
    ),
    "nbody_temperature_of_processors": lambda _: Typed(
        "", ((0.0, LOG(4096)), (LOG(10), LOG(1e6))), warm, points=201, starts=2
    ),
    "matmul_along_the_replication_limit": lambda _: Typed("", ((0.0, LOG(1e6)),), replicated),
    "matmul_copies_sweep": lambda i: copied(2.0 ** i[0]),
    "nbody_two_level_deadline": lambda _: Typed(
        "", ((0.0, LOG(4096)), (LOG(10), LOG(1e5)), (LOG(10), LOG(1e5))), two_levels, points=61, starts=4
    ),
    "matmul_least_area_for_efficiency": lambda _: Typed(
        "", ((0.0, LOG(4096)), (LOG(1e4), LOG(2.0**32))), silicon, points=401, starts=4
    ),
    "matmul_cheapest_development": lambda _: Typed(
        "", ((0.0, LOG(4096)),) * 3, development, points=61, starts=4
    ),
    "matmul_faster_flops_for_75_gflops_per_watt": lambda _: Typed(
        "", ((0.0, LOG(4096)),) * 3, halvings, points=61, starts=4
    ),
    "roofline_core_and_memory_clock_sweep": lambda i: two_clocks(0.25 * 1024 ** (i[0] / 5)),
}
TOLD: Mapping[str, tuple[str, Callable[[Mapping[str, Any], Sequence[int]], float]]] = {
    "matmul_generations_sweep": (CLOSED, lambda _, i: generations(i)),
    "nbody_simple_or_complex_processors": (
        "every p, memory in closed form; typed by hand",
        lambda s, _: processors_of_the_table(s),
    ),
    "nbody_embedded_decisions_sweep": ("every p, memory in closed form; typed by hand", decisions),
    "blocks_network_power_sweep": (CLOSED, lambda _, i: network_power(i)),
    "roofline_constant_power_for_efficiency_sweep": (CLOSED, lambda _, i: constant_power(i)),
    "partition_both_halves_of_a_chip": (PROGRAM, lambda *_: both_halves()),
    "partition_gpus_sweep": (PROGRAM, lambda _, i: several_gpus(i)),
    "kernels_fmm_points_per_box_sweep": (EVERY, lambda _, i: points_per_box(i)),
    "dvfs_integer_overhead_sweep": ("every combination of settings", integers),
    "roofline_jetson_utilization_sweep": (EVERY, lambda _, i: utilization(i)),
    "roofline_prefetching_sweep": (EVERY, lambda _, i: prefetching(i)),
    "roofline_regions_on_an_fpga": (EVERY, lambda *_: regions_on_an_fpga()),
}
NAMES = (*TYPED, *TOLD)


def answer(name: str, source: Mapping[str, Any], index: tuple[int, ...] = ()) -> Found:
    """The optimum of one of ``NAMES``; ``index``: at which point of its axis."""
    (goal,) = source["objective"].values()
    if name in TYPED:
        return Found(goal, searched(TYPED[name](index)), GRID)
    how, told = TOLD[name]
    return Found(goal, told(source, index), how)
