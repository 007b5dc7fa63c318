"""What one layer of a decoder computes, moves and stores: matrix products and the operations between them.

b sequences of s tokens, hidden size h, a heads of size d (h/a unless said), of keys and values a_k, an MLP of width f
with two matrices (three where it is gated), split over t devices, of which each has max(a_k/t, 1) heads of keys and
values:

    products of a forward pass (rows x columns x inner side)
        queries, keys, values   bs x (a d/t + 2 d max(a_k/t, 1)) x h
        scores, context         s x s x d, and s x d x s, for each of b a/t heads
        output                  bs x h x a d/t
        up (and gate), down     bs x f/t x h (twice where gated), bs x h x f/t

A product of sides r, c, k takes, with the peak rate 1/γt, the share η of it that large products reach and padding n0

    max(2 (r + n0)(c + n0)(k + n0) γt/η, bytes of its operands and its result τm/ηm)

since a tile that is filled in part costs as a full one. The operations between products move bytes only, at τm/ηm, of
which a value has two (``activation_bytes``; with others they are in proportion):

    forward    two norms and two sums with dropout 22 b s h (over t with sequence parallelism);
               softmax with dropout 9 a s² b/t; activation function 4 b s f/t, 6 where gated
    backward   22 b s h (over t), 11 a s² b/t, and 6 b s f/t, 10 where gated

and the products of a backward pass cost twice those of a forward pass.

**Fused attention** (arXiv 2205.14135; ``attention = "fused"``) keeps scores on the chip: scores, softmax, dropout and
context are one kernel with the flops of the two products, padded as they are, which reads queries, keys and values
and writes the context. Its backward pass has five products, as the scores are computed again, and moves twice the
bytes. Of scores only the logarithm of a sum for each row is stored, 4 b a s/t bytes. All flops are counted, none is
saved by the causal mask, and η is taken to be that of large products.
"""

from __future__ import annotations

from typing import Any

from dse.models.arithmetic import maximum
from dse.models.transformers.decoder import ON, Decoder, decoder, product_flops
from dse.models.transformers.transformer_quantities import FUSED
from dse.system.records import dataclass

# bytes of the logarithm of a sum of scores
SUMS_OF_SCORES = 4.0


@dataclass(frozen=True, slots=True)
class Shape:
    """The numbers of a layer: batch b, sequence s, and the decoder that it belongs to.

    ``tensor``: devices that share it. ``split``: devices that share what tensor parallelism does not (sequence
    parallelism), 1 without. ``width``: bytes of a value. ``fused``: whether scores stay on the chip.
    ``byte``: its unit.
    """

    of: Decoder
    batch: Any
    sequence: Any
    tensor: Any
    split: Any
    width: Any
    fused: bool
    byte: Any = 1.0

    @property
    def rows(self) -> Any:
        """Tokens, the rows of products, b s."""
        return self.batch * self.sequence

    @property
    def values(self) -> Any:
        """Values of an activation of the hidden size, b s h."""
        return self.rows * self.of.hidden

    @property
    def heads(self) -> Any:
        """Heads of all sequences on a device, b a/t."""
        return self.batch * self.of.heads / self.tensor

    @property
    def scores(self) -> Any:
        """Scores of a device, b a s²/t."""
        return self.heads * self.sequence * self.sequence

    @property
    def queries(self) -> Any:
        """Numbers of a token's queries on a device, a d/t; as many come out of attention."""
        return self.of.query_width / self.tensor

    @property
    def cache(self) -> Any:
        """Numbers of a token's keys and values on a device."""
        return self.of.own_cache(self.tensor)

    @property
    def mlp(self) -> Any:
        """Width of the MLP on a device, f/t."""
        return self.of.ffn / self.tensor


def shape(g: Any, batch: Any) -> Shape:
    """Return the shape that inputs ask for."""
    return Shape(
        of=decoder(g),
        batch=batch,
        sequence=g.sequence,
        tensor=g.tensor_parallel,
        split=g.tensor_parallel if g.sequence_parallel == ON else 1.0,
        width=g.activation_bytes,
        fused=g.attention == FUSED,
        byte=g.byte,
    )


def flops(x: Shape) -> Any:
    """Return the flops of a forward pass on all devices, as a plain number."""
    core = 4.0 * x.rows * x.sequence * x.of.query_width
    return 2.0 * x.rows * x.of.matrix_weights + core


def stored(x: Shape, *, core: bool) -> Any:
    """Return the bytes that a device stores of a layer for its backward pass (arXiv 2205.05198, (1), (2), (4)).

    sbh (10/split + (8 + ...)/t) + 5 a s² b/t, in the paper's case sbh (10 + 24/t + 5 a s/(h t)). ``core``: with the
    scores, their softmax and its dropout, or where these are fused with the logarithms of their sums.
    """
    apart = 5.0 * x.width * x.values / x.split
    of_mlp = 2.0 if x.of.matrices == 2.0 else 3.0
    total = apart + x.width * x.rows * (2.0 * x.queries + x.cache + of_mlp * x.mlp)
    return total + stored_core(x) if core else total


def stored_core(x: Shape) -> Any:
    """Return the bytes of a layer's core that its backward pass needs."""
    return SUMS_OF_SCORES * x.byte * x.heads * x.sequence if x.fused else 2.5 * x.width * x.scores


def time_of_byte(g: Any) -> Any:
    """Return the time in which kernels of a machine move a byte."""
    return g.machine.time_per_byte / g.machine.memory_efficiency


def product(g: Any, count: Any, rows: Any, columns: Any, inner: Any, width: Any) -> Any:
    """Return the time of ``count`` matrix products of these sides on the machine."""
    moved = width * count * (rows * columns + rows * inner + columns * inner) * time_of_byte(g)
    return maximum(_computing(g, count, rows, columns, inner), moved)


def _computing(g: Any, count: Any, rows: Any, columns: Any, inner: Any) -> Any:
    """Return the time of the flops of products, padded."""
    m = g.machine
    pad = m.matrix_padding
    padded = count * product_flops(rows + pad, columns + pad, inner + pad) * g.flop
    return padded * m.time_per_flop / m.matrix_efficiency


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds of a forward and of a backward pass."""

    forward: Any
    backward: Any

    def __add__(self, other: Times) -> Times:
        return Times(self.forward + other.forward, self.backward + other.backward)


def core_time(g: Any, x: Shape) -> Times:
    """Return the times of scores, softmax, dropout and context."""
    side = x.of.head_size
    if x.fused:
        half = _computing(g, x.heads, x.sequence, x.sequence, side)
        moved = x.width * x.rows * (2.0 * x.queries + x.cache) * time_of_byte(g)
        return Times(maximum(2.0 * half, moved), maximum(5.0 * half, 2.0 * moved))
    scores = product(g, x.heads, x.sequence, x.sequence, side, x.width)
    context = product(g, x.heads, x.sequence, side, x.sequence, x.width)
    return _times_of_layer(g, x, scores + context, 4.5 * x.scores, 5.5 * x.scores)


def rest_time(g: Any, x: Shape) -> Times:
    """Return the times of all of a layer but its core."""
    h, ups = x.of.hidden, x.of.matrices - 1.0
    products = (
        product(g, 1.0, x.rows, x.queries + x.cache, h, x.width)
        + product(g, 1.0, x.rows, h, x.queries, x.width)
        + product(g, ups, x.rows, x.mlp, h, x.width)
        + product(g, 1.0, x.rows, h, x.mlp, x.width)
    )
    apart, inner = 11.0 * x.values / x.split, x.rows * x.mlp
    return _times_of_layer(g, x, products, apart + (1.0 + ups) * inner, apart + (1.0 + 2.0 * ups) * inner)


def _times_of_layer(g: Any, x: Shape, products: Any, forward: Any, backward: Any) -> Times:
    """Return the times of products (s) and of values that are read and written between them."""
    value = x.width * time_of_byte(g)
    return Times(products + forward * value, 2.0 * products + backward * value)
