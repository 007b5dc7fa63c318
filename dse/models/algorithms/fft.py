"""The fast Fourier transform on the distributed machine (Demmel et al. 2013, section IV), base 2."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dse.models.algorithms import distributed as d
from dse.models.arithmetic import log2
from dse.models.model import Model, ModelLimit
from dse.quantities import Quantity

POINTS = Quantity(
    "points", "n", "", "points to transform", f"{d.SOURCE}, section IV", minimum=1.0, floor=1.0, ceiling=1e18
)
ALL_TO_ALL = Quantity(
    "all_to_all",
    "",
    "",
    "how the all-to-all exchange is done: tree (few messages, more words) or naive (few words, p messages)",
    f"{d.SOURCE}, section IV",
    default="tree",
    choices=("tree", "naive"),
)


def equations(g: Any) -> Mapping[str, Any]:
    """Per processor: F = n log₂n/p flops, M = n/p words of memory, for 1 <= p <= n.

    Tree: W = n log₂p/p words, S = log₂p messages. Naive: W = n/p words, S = p messages.
    """
    n, p = g.points, g.processors
    memory = n / p
    tree = g.all_to_all == "tree"
    words, messages = (memory * log2(p), log2(p)) if tree else (memory, p)
    return {
        **d.costs(g, memory, memory * log2(n), words, messages * g.message),
        "memory": memory * g.word,
        "one_point": p / n,
        **d.capacity(g, memory),
    }


FFT = Model(
    name="fft",
    title="Fast Fourier transform",
    source="Demmel et al. 2013, section IV",
    machine=d.MACHINE_ANY_MESSAGE,
    inputs=(POINTS, ALL_TO_ALL, d.PROCESSORS),
    metrics=(*d.METRICS, d.MEMORY),
    limits=(
        ModelLimit(
            "one_point", "p <= n", "every processor holds at least one point", f"{d.SOURCE}, section IV"
        ),
        d.CAPACITY_LIMIT,
    ),
    further=d.NETWORK,
    extend=d.ON_NETWORK,
    equations=equations,
    sums=d.SUMS,
    work=d.WORK,
    hardware=d.HARDWARE,
    notes=d.COST_MODEL,
)
