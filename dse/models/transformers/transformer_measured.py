"""Layers whose times were measured, and by how much longer they take than modelled.

From 900 runs on one node of A100 (vTrain, MIT): by hidden size h, tensor parallelism t and micro batch b, with 16
heads of h/16 numbers, an MLP of 4h, values of 2 bytes, a sequence of 1024 tokens, and all activations computed again,
the median of measured over modelled time of a layer. They hold at any depth. They do not carry over to other sizes and
sequences, to other heads, to gated MLPs, to fused attention and to other recomputation, where the factor is 1.
"""

from __future__ import annotations

from functools import reduce
from operator import add, mul
from typing import Any

from dse.models.arithmetic import reaches
from dse.models.shared.families import nothing
from dse.models.transformers.decoder import Decoder

SEQUENCE, HEADS, WIDTH = 1024, 16, 2
# made by python -m dse.papers.vtrain2024.machine
# (hidden, tensor_parallel, micro_batch): factor
FACTORS = {
    (1024, 1, 1): 0.967,
    (1024, 1, 2): 1.023,
    (1024, 1, 4): 1.082,
    (1024, 1, 8): 0.911,
    (1024, 2, 1): 1.006,
    (1024, 2, 2): 1.06,
    (1024, 2, 4): 0.916,
    (1024, 2, 8): 0.955,
    (1024, 4, 1): 0.992,
    (1024, 4, 2): 0.955,
    (1024, 4, 4): 1.123,
    (1024, 4, 8): 1.136,
    (1024, 8, 1): 1.259,
    (1024, 8, 2): 1.028,
    (1024, 8, 4): 0.946,
    (1024, 8, 8): 1.01,
    (2048, 1, 1): 1.04,
    (2048, 1, 2): 0.975,
    (2048, 1, 4): 0.94,
    (2048, 1, 8): 0.884,
    (2048, 2, 1): 0.99,
    (2048, 2, 2): 1.344,
    (2048, 2, 4): 0.975,
    (2048, 2, 8): 0.855,
    (2048, 4, 1): 0.843,
    (2048, 4, 2): 0.777,
    (2048, 4, 4): 1.129,
    (2048, 4, 8): 0.94,
    (2048, 8, 1): 1.205,
    (2048, 8, 2): 0.978,
    (2048, 8, 4): 1.012,
    (2048, 8, 8): 0.935,
}


def _table_of_factors() -> str:
    """Return the factors as a table: a row for each hidden size and tensor parallelism."""
    batches = sorted({batch for *_, batch in FACTORS})
    lines = [f"{'h':>4}   t" + "".join(f"{f'b = {b}':>9}" for b in batches)]
    for hidden, tensor in dict.fromkeys(key[:2] for key in FACTORS):
        row = (FACTORS[hidden, tensor, batch] for batch in batches)
        lines.append(f"{hidden:>4} {tensor:>3}" + "".join(f"{more:>9}" for more in row))
    return "\n".join("    " + line for line in lines)


PAGE = f"## Measured layers\n\n{__doc__}\n{_table_of_factors()}\n"


def factor(g: Any, d: Decoder) -> Any:
    """Return the factor of the time of a layer: measured over modelled where it is known, 1 elsewhere.

    ``g``: the namespace that equations get; ``d``: its decoder.
    """
    share = g.machine.measured_layers
    if nothing(share):
        return 1.0
    here = {
        place: {size: _is(value, float(size)) for size in sorted({key[place] for key in FACTORS})}
        for place, value in enumerate((g.hidden, g.tensor_parallel, g.micro_batch))
    }
    for size, there in here[0].items():
        here[0][size] = there * _is(d.ffn, 4.0 * size) * _is(d.head_size, size / HEADS)
    pairs = (
        (g.sequence, SEQUENCE),
        (d.heads, HEADS),
        (d.kv_heads, HEADS),
        (g.activation_bytes / g.byte, WIDTH),
    )
    alike = reduce(mul, (_is(value, float(size)) for value, size in pairs))
    known = (
        (more - 1.0) * here[0][hidden] * here[1][tensor] * here[2][batch]
        for (hidden, tensor, batch), more in FACTORS.items()
    )
    return 1.0 + share * alike * reduce(add, known)


def _is(value: Any, size: float) -> Any:
    """Return 1 where a whole number is this one, else 0."""
    return reaches(value, size - 0.5) * (1.0 - reaches(value, size + 0.5))
