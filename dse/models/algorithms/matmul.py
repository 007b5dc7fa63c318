"""2.5D matrix multiplication, Strassen and LU on the distributed machine (Demmel et al. 2013, section IV)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from dse.models.algorithms import distributed as d
from dse.models.model import Model, ModelLimit
from dse.quantities import Quantity

ORDER = Quantity(
    "order",
    "n",
    "",
    "order of the square matrices",
    f"{d.SOURCE}, section III",
    minimum=1.0,
    floor=1.0,
    ceiling=1e15,
)
EXPONENT = Quantity(
    "exponent",
    "ω",
    "",
    "exponent of the fast multiplication: n^ω flops; log2(7) is Strassen's",
    f"{d.SOURCE}, section IV",
    minimum=2.0,
    maximum=3.0,
    floor=2.0,
    ceiling=3.0,
    default=math.log2(7.0),
)
ONE_COPY = ModelLimit(
    "one_copy", "n²/p <= M", "all processors together hold a matrix once", f"{d.SOURCE} (6)"
)
REPLICATION = ModelLimit(
    "replication", "M <= n²/p^(2/3)", "more copies than this save no communication", f"{d.SOURCE} (6)"
)


def matmul_equations(g: Any) -> Mapping[str, Any]:
    """Per processor: F = n³/p flops, W = n³/(p √M) words, S = W/m messages, for n²/p <= M <= n²/p^(2/3)."""
    n, p, memory = g.order, g.processors, g.memory / g.word
    words = n**3 / (p * memory**0.5)
    return {
        **d.costs(g, memory, n**3 / p, words, d.full_messages(g, words)),
        "message_share": d.message_share(g, memory),
        **_replication_range(g, 3.0),
    }


def strassen_equations(g: Any) -> Mapping[str, Any]:
    """Per processor: F = n^ω/p flops, W = n^ω/(p M^(ω/2-1)) words, S = W/m, for n²/p <= M <= n²/p^(2/ω)."""
    n, p, memory, w = g.order, g.processors, g.memory / g.word, g.exponent
    words = n**w / (p * memory ** (w / 2 - 1))
    return {
        **d.costs(g, memory, n**w / p, words, d.full_messages(g, words)),
        "message_share": d.message_share(g, memory),
        **_replication_range(g, w),
    }


def lu_equations(g: Any) -> Mapping[str, Any]:
    """Per processor: F = n³/p flops, W = n³/(p √M) words, S = n²/W messages, for n²/p <= M <= n²/p^(2/3).

    The critical path makes messages grow with p and M (S = p √M/n), whatever the largest message.
    """
    n, p, memory = g.order, g.processors, g.memory / g.word
    words = n**3 / (p * memory**0.5)
    return {**d.costs(g, memory, n**3 / p, words, n**2 / words * g.message), **_replication_range(g, 3.0)}


def _replication_range(g: Any, exponent: Any) -> dict[str, Any]:
    n, p, memory = g.order, g.processors, g.memory / g.word
    return {
        "one_copy": n**2 / (p * memory),
        "replication": memory * p ** (2 / exponent) / n**2,
        **d.capacity(g, memory),
    }


MATMUL = Model(
    name="matmul",
    title="Classical matrix multiplication, 2.5D",
    source="Demmel et al. 2013 (8)-(11)",
    machine=d.MACHINE,
    inputs=(ORDER, d.PROCESSORS, d.MEMORY),
    metrics=(*d.METRICS, d.MESSAGE_SHARE),
    limits=(ONE_COPY, REPLICATION, d.CAPACITY_LIMIT),
    valid=d.VALID,
    further=d.NETWORK,
    extend=d.ON_NETWORK,
    equations=matmul_equations,
    sums=d.SUMS,
    work=d.WORK,
    hardware=d.HARDWARE,
    notes=d.COST_MODEL,
)
STRASSEN = Model(
    name="strassen",
    title="Fast matrix multiplication (Strassen), communication-avoiding",
    source="Demmel et al. 2013 (13), (14)",
    machine=d.MACHINE,
    inputs=(ORDER, EXPONENT, d.PROCESSORS, d.MEMORY),
    metrics=(*d.METRICS, d.MESSAGE_SHARE),
    limits=(
        ONE_COPY,
        ModelLimit(
            "replication",
            "M <= n²/p^(2/ω)",
            "more copies than this save no communication",
            f"{d.SOURCE} (13)",
        ),
        d.CAPACITY_LIMIT,
    ),
    valid=d.VALID,
    further=d.NETWORK,
    extend=d.ON_NETWORK,
    equations=strassen_equations,
    sums=d.SUMS,
    work=d.WORK,
    hardware=d.HARDWARE,
    notes=d.COST_MODEL,
)
LU = Model(
    name="lu",
    title="Dense LU factorisation, 2.5D",
    source="Demmel et al. 2013, section IV, S = n²/W",
    machine=d.MACHINE_ANY_MESSAGE,
    inputs=(ORDER, d.PROCESSORS, d.MEMORY),
    metrics=d.METRICS,
    limits=(ONE_COPY, REPLICATION, d.CAPACITY_LIMIT),
    further=d.NETWORK,
    extend=d.ON_NETWORK,
    equations=lu_equations,
    sums=d.SUMS,
    work=d.WORK,
    hardware=d.HARDWARE,
    notes=d.COST_MODEL,
)
