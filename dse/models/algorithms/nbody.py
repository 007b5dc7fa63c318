"""The direct n-body problem with data replication (Demmel et al. 2013, section IV)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dse.models.algorithms import distributed as d
from dse.models.model import Model, ModelLimit
from dse.quantities import Quantity

BODIES = Quantity(
    "bodies",
    "n",
    "",
    "number of bodies",
    f"{d.SOURCE}, section IV",
    minimum=1.0,
    floor=1.0,
    ceiling=1e18,
    counted=True,
)
FLOPS_PER_PAIR = Quantity(
    "flops_per_pair",
    "f",
    "flop",
    "flops of the interaction of one pair",
    f"{d.SOURCE} (15)",
    floor=1e-3,
    ceiling=1e12,
)


def equations(g: Any) -> Mapping[str, Any]:
    """Per processor: F = f n²/p flops, W = n²/(p M) words, S = W/m messages, for n/p <= M <= n/√p."""
    n, p = g.bodies, g.processors
    f, memory = g.flops_per_pair / g.flop, g.memory / g.word
    words = n**2 / (p * memory)
    return {
        **d.costs(g, memory, f * n**2 / p, words, d.full_messages(g, words)),
        "message_share": d.message_share(g, memory),
        "one_copy": n / (p * memory),
        "replication": memory * p**0.5 / n,
        **d.capacity(g, memory),
    }


NBODY = Model(
    name="nbody",
    title="Direct n-body problem, replicating data",
    source="Demmel et al. 2013 (15), (16)",
    machine=d.MACHINE,
    inputs=(BODIES, FLOPS_PER_PAIR, d.PROCESSORS, d.MEMORY),
    metrics=(*d.METRICS, d.MESSAGE_SHARE),
    limits=(
        ModelLimit(
            "one_copy", "n/p <= M", "all processors together hold every body once", f"{d.SOURCE}, section IV"
        ),
        ModelLimit(
            "replication",
            "M <= n/√p",
            "more copies than this save no communication",
            f"{d.SOURCE}, section IV",
        ),
        d.CAPACITY_LIMIT,
    ),
    valid=d.VALID,
    further=d.NETWORK,
    extend=d.ON_NETWORK,
    equations=equations,
    sums=d.SUMS,
    work=d.WORK,
    hardware=d.HARDWARE,
    notes=d.COST_MODEL,
)
