"""Nodes with cores: the two-level machine of Demmel et al. 2013, Figure 2, equations (12) and (17) corrected.

``p_n`` nodes of ``p_l`` cores each; a node holds ``M_n`` words and sends over links of its own, a core holds
``M_l`` words and exchanges with its node. With p = p_n p_l, the counts add up to

    T = γt F + βn W_n + αn S_n + βl W_l + αl S_l
    E = p (γe F + βl_e W_l + αl_e S_l) + p_n (βn_e W_n + αn_e S_n) + (p_n δn M_n + p δl M_l + p εe) T

The paper drops the messages of these two equations, so they cost nothing unless the machine states a time or
an energy for them. It states no range of memories in which the equations hold, so no limit on memory applies by
default. The range that single-level theory implies is reported as metrics, which a question can limit:
``node_copies`` (at least 1: the nodes hold the data once), ``node_replication`` and ``core_replication`` (at
most 1: beyond, the counts fall below the memory-independent bounds).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dse.models.algorithms import distributed as d
from dse.models.algorithms.matmul import ORDER
from dse.models.algorithms.nbody import BODIES, FLOPS_PER_PAIR
from dse.models.model import Model, ModelLimit
from dse.models.platforms import network
from dse.models.shared.sums import held, sum_of
from dse.quantities import Quantity

NOTES = f"{__doc__}\n{network.PAGE}"
SOURCE = "Demmel et al. 2013, Figure 2 and (12), (17) corrected"

_BY_NAME = {q.name: q for q in d.MACHINE}


def _link_quantities(level: str, mark: str, what: str) -> tuple[Quantity, ...]:
    return (
        Quantity(f"{level}_time_per_word", f"βt{mark}", "s/word", f"time per word {what}", SOURCE),
        Quantity(f"{level}_energy_per_word", f"βe{mark}", "J/word", f"energy per word {what}", SOURCE),
        Quantity(
            f"{level}_time_per_message",
            f"αt{mark}",
            "s/message",
            f"time per message {what}",
            SOURCE,
            default=0.0,
        ),
        Quantity(
            f"{level}_energy_per_message",
            f"αe{mark}",
            "J/message",
            f"energy per message {what}",
            SOURCE,
            default=0.0,
        ),
        Quantity(
            f"{level}_max_message",
            f"m{mark}",
            "word/message",
            f"largest message {what}",
            SOURCE,
            minimum=1.0,
            floor=1.0,
            ceiling=1e18,
            default=1.0,
        ),
        Quantity(
            f"{level}_memory_power_per_word",
            f"δe{mark}",
            "W/word",
            f"power of one word of {level} memory in use while the run lasts",
            SOURCE,
        ),
        Quantity(
            f"{level}_memory_capacity",
            f"Mcap{mark}",
            "word",
            f"memory that one {level} has; bounds the memory used where it is given",
            SOURCE,
            minimum=1.0,
            floor=1.0,
            ceiling=1e18,
            optional=True,
        ),
    )


MACHINE = (
    _BY_NAME["time_per_flop"],
    _BY_NAME["energy_per_flop"],
    _BY_NAME["leakage_power"],
    *_link_quantities("node", "ⁿ", "between nodes"),
    *_link_quantities("core", "ˡ", "between a core and its node"),
    d.WORD_SIZE,
    *network.MACHINE,
)
# nodes are linked by a network, cores and their node are not
ON_NETWORK = network.OnNetwork("node_words", "node_messages")


def _count_quantity(name: str, symbol: str, meaning: str) -> Quantity:
    return Quantity(name, symbol, "", meaning, SOURCE, minimum=1.0, floor=1.0, ceiling=1e15, counted=True)


def _memory_quantity(name: str, symbol: str, meaning: str) -> Quantity:
    return Quantity(name, symbol, "word", meaning, SOURCE, minimum=1.0, floor=1.0, ceiling=1e18)


LEVELS = (
    _count_quantity("nodes", "pₙ", "number of nodes"),
    _count_quantity("cores", "pₗ", "cores of each node"),
    _memory_quantity("node_memory", "Mₙ", "memory used per node"),
    _memory_quantity("core_memory", "Mₗ", "memory used per core"),
)
METRICS = (
    *d.COMMON_METRICS,
    Quantity("processors", "p", "", "cores of all nodes", SOURCE),
    Quantity("node_words", "Wₙ", "word", "words sent per node", SOURCE),
    Quantity("node_messages", "Sₙ", "message", "messages sent per node", SOURCE),
    Quantity("core_words", "Wₗ", "word", "words exchanged per core with its node", SOURCE),
    Quantity("core_messages", "Sₗ", "message", "messages exchanged per core with its node", SOURCE),
    Quantity("node_copies", "cₙ", "", "copies of the data that the nodes hold; at least 1 is needed", SOURCE),
    Quantity(
        "node_replication", "rₙ", "", "node memory over the most that still saves communication", SOURCE
    ),
    Quantity(
        "core_replication", "rₗ", "", "core memory over the most that still saves communication", SOURCE
    ),
)
LIMITS = (
    ModelLimit("node_memory_capacity", "Mₙ <= Mcapⁿ", "a node cannot use more memory than it has", SOURCE),
    ModelLimit("core_memory_capacity", "Mₗ <= Mcapˡ", "a core cannot use more memory than it has", SOURCE),
)

SUMS = (
    sum_of(
        "time",
        "what it is spent on",
        {
            "flops": "machine.time_per_flop flops",
            "words between nodes": "machine.node_time_per_word node_words",
            "messages between nodes": "machine.node_time_per_message node_messages",
            "words inside": "machine.core_time_per_word core_words",
            "messages inside": "machine.core_time_per_message core_messages",
        },
    ),
    sum_of(
        "energy",
        "what it is spent on",
        {
            "flops": "processors machine.energy_per_flop flops",
            "words between nodes": "nodes machine.node_energy_per_word node_words",
            "messages between nodes": "nodes machine.node_energy_per_message node_messages",
            "words inside": "processors machine.core_energy_per_word core_words",
            "messages inside": "processors machine.core_energy_per_message core_messages",
            "node memory": "nodes machine.node_memory_power_per_word node_memory time",
            "core memory": "processors machine.core_memory_power_per_word core_memory time",
            "leakage": "processors machine.leakage_power time",
        },
    ),
)
HARDWARE = (
    held("cores", "processors"),
    held("node memory", "nodes node_memory", memory=True),
    held("core memory", "processors core_memory", memory=True),
)


def matmul_equations(g: Any) -> Mapping[str, Any]:
    """F = n³/p flops per core, W_n = n³/(p_n √M_n) words per node, W_l = n³/(p √M_l) words per core.

    Ranges implied by single-level theory: M_n >= n²/p_n, M_n <= n²/p_n^(2/3), M_l <= n²/p^(2/3).
    """
    n, nodes, p, node, core = _sizes_of_levels(g, g.order)
    return {
        **_run_metrics(g, n**3 / p, n**3 / (nodes * node**0.5), n**3 / (p * core**0.5)),
        "node_copies": nodes * node / n**2,
        "node_replication": node * nodes ** (2 / 3) / n**2,
        "core_replication": core * p ** (2 / 3) / n**2,
    }


def nbody_equations(g: Any) -> Mapping[str, Any]:
    """F = f n²/p flops per core, W_n = n²/(p_n M_n) words per node, W_l = n²/(p M_l) words per core.

    Ranges implied by single-level theory: M_n >= n/p_n, M_n <= n/√p_n, M_l <= n/√p.
    """
    n, nodes, p, node, core = _sizes_of_levels(g, g.bodies)
    return {
        **_run_metrics(g, g.flops_per_pair / g.flop * n**2 / p, n**2 / (nodes * node), n**2 / (p * core)),
        "node_copies": nodes * node / n,
        "node_replication": node * nodes**0.5 / n,
        "core_replication": core * p**0.5 / n,
    }


def _sizes_of_levels(g: Any, size: Any) -> tuple[Any, Any, Any, Any, Any]:
    return size, g.nodes, g.nodes * g.cores, g.node_memory / g.word, g.core_memory / g.word


def _run_metrics(g: Any, flops: Any, node_words: Any, core_words: Any) -> dict[str, Any]:
    """Return the metrics of a run from the counts of a core and of a node, by the sums above."""
    m, nodes, p = g.machine, g.nodes, g.nodes * g.cores
    flops, node_words, core_words = flops * g.flop, node_words * g.word, core_words * g.word
    node_messages, core_messages = node_words / m.node_max_message, core_words / m.core_max_message
    over = network.passed(m, nodes, node_words, node_messages)
    time = (
        m.time_per_flop * flops
        + m.node_time_per_word * over.words_timed
        + m.node_time_per_message * over.messages
        + m.core_time_per_word * core_words
        + m.core_time_per_message * core_messages
    )
    per_core = (
        m.energy_per_flop * flops
        + m.core_energy_per_word * core_words
        + m.core_energy_per_message * core_messages
        + m.core_memory_power_per_word * g.core_memory * time
        + m.leakage_power * time
    )
    per_node = (
        m.node_energy_per_word * over.words
        + m.node_energy_per_message * over.messages
        + m.node_memory_power_per_word * g.node_memory * time
    )
    found = {
        **d.summary(time, p * per_core + nodes * per_node, p * flops, p),
        "processors": p,
        "flops": flops,
        "node_words": node_words,
        "node_messages": node_messages,
        "core_words": core_words,
        "core_messages": core_messages,
        **network.told(m, nodes),
    }
    for level in ("node", "core"):
        if hasattr(m, f"{level}_memory_capacity"):
            limit = f"{level}_memory_capacity"
            found[limit] = getattr(g, f"{level}_memory") / getattr(m, limit)
    return found


MATMUL_TWO_LEVEL = Model(
    name="matmul_two_level",
    title="Classical matrix multiplication on nodes with cores",
    source="Demmel et al. 2013 (12), corrected",
    machine=MACHINE,
    inputs=(ORDER, *LEVELS),
    metrics=METRICS,
    limits=LIMITS,
    further=network.NAMES,
    extend=ON_NETWORK,
    equations=matmul_equations,
    sums=SUMS,
    work=d.WORK,
    hardware=HARDWARE,
    notes=NOTES,
)
NBODY_TWO_LEVEL = Model(
    name="nbody_two_level",
    title="Direct n-body problem on nodes with cores",
    source="Demmel et al. 2013 (17), corrected",
    machine=MACHINE,
    inputs=(BODIES, FLOPS_PER_PAIR, *LEVELS),
    metrics=METRICS,
    limits=LIMITS,
    further=network.NAMES,
    extend=ON_NETWORK,
    equations=nbody_equations,
    sums=SUMS,
    work=d.WORK,
    hardware=HARDWARE,
    notes=NOTES,
)
