"""Matrix multiplication on nodes with cores, (12) of Demmel et al. 2013 without messages.

Corrected: n^3 flops in T. Energy does not depend on the number of nodes, time falls as one over it: nodes are
eliminated exactly, the memory of a core is scanned, and at each value that of a node.
"""

from __future__ import annotations

import numpy as np
from oracle_equations import Array, Ask, Best
from oracle_scans import SLACK, refine, rows


def least_energy(ask: Ask) -> Best:
    """Least energy within a deadline in the range of single-level theory."""
    if ask.goal != "energy" or set(ask.limits) != {
        "time",
        "node_copies",
        "node_replication",
        "core_replication",
    }:
        raise NotImplementedError(f"this oracle knows no such question: {ask}")
    n, cores = float(ask.given["order"]), float(ask.given["cores"])
    slowest, most = ask.limits["time"][1], ask.decide["nodes"].high

    def key(y: Array, core: Array) -> Array:
        node = np.exp(y)
        low = np.maximum(n**2 / node, time_on_one_node(ask, node, core) / slowest)
        high = np.minimum((n**2 / node) ** 1.5, (n**2 / core) ** 1.5 / cores)
        miss = np.log(np.maximum(low, 1.0) / np.minimum(high, most))
        return np.where(miss <= SLACK, energy(ask, node, core), 1e250 * (1 + np.maximum(miss, 0)))

    def over_nodes(y: Array) -> tuple[Array, Array]:
        core = np.exp(y)[:, None]
        _, value = rows(lambda z: key(z, core), np.zeros(len(y)), np.full(len(y), np.log(n**2)), 201, 12)
        return value, np.where(value < 1e200, -np.inf, value)

    y = refine(over_nodes, 0.0, float(np.log(n**2)), maximize=False, points=801, fine=101)
    if y is None:
        return Best(feasible=False)
    return Best(
        feasible=True, objective=float(over_nodes(np.array([y]))[0][0]), at={"core_memory": float(np.exp(y))}
    )


def time_on_one_node(ask: Ask, node: Array, core: Array) -> Array:
    """T of (12) times the number of nodes."""
    k, n, cores = ask.machine, float(ask.given["order"]), float(ask.given["cores"])
    words = k["node_time_per_word"] / np.sqrt(node) + k["core_time_per_word"] / cores / np.sqrt(core)
    return n**3 * (k["time_per_flop"] / cores + words)


def energy(ask: Ask, node: Array, core: Array) -> Array:
    """E of (12)."""
    k, n, cores = ask.machine, float(ask.given["order"]), float(ask.given["cores"])
    leak = k["leakage_power"]
    keep = k["node_memory_power_per_word"] * node / cores + k["core_memory_power_per_word"] * core
    between = (k["node_energy_per_word"] + k["node_time_per_word"] * leak * cores) / np.sqrt(node)
    within = (k["core_energy_per_word"] + k["core_time_per_word"] * leak) / np.sqrt(core)
    waits = k["node_time_per_word"] * cores / np.sqrt(node) + k["core_time_per_word"] / np.sqrt(core)
    flops = k["energy_per_flop"] + k["time_per_flop"] * leak
    return n**3 * (flops + between + within + k["time_per_flop"] * keep + keep * waits)
