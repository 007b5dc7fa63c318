"""What one layer of a decoder computes, moves and stores: matrix products and the operations between them.

b sequences of s tokens, hidden size h, a heads (of keys and values a_k), an MLP of width f with two matrices (three
where it is gated), split over t devices:

    products of a forward pass (rows x columns x inner side)
        queries, keys, values   bs x (h + 2 h a_k/a)/t x h
        scores, context         s x s x h/a, and s x h/a x s, for each of b a/t heads
        output                  bs x h x h/t
        up (and gate), down     bs x f/t x h (twice where gated), bs x h x f/t

A product of sides r, c, k takes, with the peak rate 1/γt, the share η of it that large products reach and padding n0

    max(2 (r + n0)(c + n0)(k + n0) γt/η, bytes of its operands and its result τm/ηm)

since a tile that is filled in part costs as a full one. The operations between products move bytes only, of which a
value has two:

    forward    two norms and two sums with dropout 22 b s h, on t devices only with sequence parallelism; softmax
               with dropout 9 a s² b/t; activation function 4 b s f/t, 6 where gated
    backward   22 b s h, 11 a s² b/t, and 6 b s f/t, 10 where gated

and the products of a backward pass cost twice those of a forward pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dse.models.arithmetic import maximum
from dse.models.transformers.decoder import matrix_weights, product_flops
from dse.models.transformers.transformer_quantities import ON


@dataclass(frozen=True, slots=True)
class Shape:
    """The numbers of a layer: batch b, sequence s, hidden h, heads a, those of keys and values, width f of the MLP.

    ``tensor``: devices that share it. ``split``: devices that share what tensor parallelism does not (sequence
    parallelism), 1 without. ``matrices``: of the MLP. ``width``: bytes of a value.
    """

    batch: Any
    sequence: Any
    hidden: Any
    heads: Any
    kv_heads: Any
    ffn: Any
    matrices: float
    tensor: Any
    split: Any
    width: Any

    @property
    def values(self) -> Any:
        """Values of an activation of the hidden size, b s h."""
        return self.batch * self.sequence * self.hidden

    @property
    def scores(self) -> Any:
        """Scores of a device, b a s²/t."""
        return self.batch * self.heads * self.sequence * self.sequence / self.tensor

    @property
    def queries(self) -> Any:
        """Width of queries, keys and values together, over h: 3 without groups."""
        return 1.0 + 2.0 * self.kv_heads / self.heads


def shape(g: Any, batch: Any) -> Shape:
    """Return the shape that inputs ask for; absent are kv_heads (as heads) and ffn (4 hidden)."""
    return Shape(
        batch=batch,
        sequence=g.sequence,
        hidden=g.hidden,
        heads=g.heads,
        kv_heads=getattr(g, "kv_heads", g.heads),
        ffn=getattr(g, "ffn", 4.0 * g.hidden),
        matrices=3.0 if g.gated == ON else 2.0,
        tensor=g.tensor_parallel,
        split=g.tensor_parallel if g.sequence_parallel == ON else 1.0,
        width=g.activation_bytes,
    )


def parameters(x: Shape) -> Any:
    """Return the parameters of a layer's matrices, on all devices: 12 h² where ffn is 4 h and nothing is grouped."""
    cache = x.hidden * (x.queries - 1.0)
    return matrix_weights(x.hidden, x.hidden, cache, x.matrices, x.ffn)


def flops(x: Shape) -> Any:
    """Return the flops of a forward pass on all devices, as a plain number."""
    core = 4.0 * x.batch * x.sequence * x.sequence * x.hidden
    return 2.0 * x.batch * x.sequence * parameters(x) + core


def stored(x: Shape, *, core: bool) -> Any:
    """Return the bytes that a device stores of a layer for its backward pass (arXiv 2205.05198, (1), (2), (4)).

    sbh (10/split + (8 + ...)/t) + 5 a s² b/t, in the paper's case sbh (10 + 24/t + 5 a s/(h t)). ``core``: with the
    scores, their softmax and its dropout.
    """
    apart = 5.0 * x.width * x.values / x.split
    of_mlp = 2.0 if x.matrices == 2.0 else 3.0
    shared = x.width * x.batch * x.sequence * (x.hidden * (1.0 + x.queries) + of_mlp * x.ffn) / x.tensor
    total = apart + shared
    return total + 2.5 * x.width * x.scores if core else total


def time_of_byte(g: Any) -> Any:
    """Return the time in which kernels of a machine move a byte."""
    return g.machine.time_per_byte / g.machine.memory_efficiency


def product(g: Any, count: Any, rows: Any, columns: Any, inner: Any, width: Any) -> Any:
    """Return the time of ``count`` matrix products of these sides on the machine."""
    m = g.machine
    pad = m.matrix_padding
    flops = count * product_flops(rows + pad, columns + pad, inner + pad) * g.flop
    moved = width * count * (rows * columns + rows * inner + columns * inner) * time_of_byte(g)
    return maximum(flops * m.time_per_flop / m.matrix_efficiency, moved)


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds of a forward and of a backward pass."""

    forward: Any
    backward: Any

    def __add__(self, other: Times) -> Times:
        return Times(self.forward + other.forward, self.backward + other.backward)


def core_time(g: Any, x: Shape) -> Times:
    """Return the times of scores, softmax, dropout and context."""
    heads, side = x.batch * x.heads / x.tensor, x.hidden / x.heads
    scores = product(g, heads, x.sequence, x.sequence, side, x.width)
    context = product(g, heads, x.sequence, side, x.sequence, x.width)
    return _times(g, x, scores + context, 4.5 * x.scores, 5.5 * x.scores)


def rest_time(g: Any, x: Shape) -> Times:
    """Return the times of all of a layer but its core."""
    rows = x.batch * x.sequence
    ups = x.matrices - 1.0
    products = (
        product(g, 1.0, rows, x.queries * x.hidden / x.tensor, x.hidden, x.width)
        + product(g, 1.0, rows, x.hidden, x.hidden / x.tensor, x.width)
        + product(g, ups, rows, x.ffn / x.tensor, x.hidden, x.width)
        + product(g, 1.0, rows, x.hidden, x.ffn / x.tensor, x.width)
    )
    apart, inner = 11.0 * x.values / x.split, rows * x.ffn / x.tensor
    return _times(g, x, products, apart + (1.0 + ups) * inner, apart + (1.0 + 2.0 * ups) * inner)


def _times(g: Any, x: Shape, products: Any, forward: Any, backward: Any) -> Times:
    """Return the times of products (s) and of values that are read and written between them."""
    value = x.width * time_of_byte(g)
    return Times(products + forward * value, 2.0 * products + backward * value)
