"""Decoder transformers: weights, operators, collectives; shared by the models that train and that serve them.

A layer of a decoder of width h has ``heads`` a of size d (h/a unless said), ``kv_heads`` k that hold keys and
values (k = a: each head its own, k = 1: one for all), and an MLP of width f of two matrices, or of three where it
is gated. Its weights are

    attention      h d (a + 2k) + a d h
    MLP            2 h f, or 3 h f where it is gated
    norms          2 h

and the vocabulary of V words has V h for the words and V h more for the head, unless the two are tied.

A product of an m x k by a k x n matrix has 2 m n k flops. Collectives of n bytes over t processors that are
linked all to all by recursive halving and doubling (Thakur, Rabenseifner and Gropp 2005) take

    all-reduce                         2 log₂t α + 2 (t - 1)/t n β
    reduce-scatter, all-gather           log₂t α +   (t - 1)/t n β

with the time α of a message and β of a byte; nothing where t = 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from dse.models.arithmetic import log2
from dse.quantities import Quantity

SOURCE = "decoder transformer"
MOST = 1e12


def count(name: str, symbol: str, meaning: str, source: str = SOURCE, **more: Any) -> Quantity:
    """Declare a count of at least one."""
    whole = more.pop("whole", True)
    return Quantity(
        name, symbol, "", meaning, source, minimum=1.0, floor=1.0, ceiling=MOST, whole=whole, **more
    )


OFF, ON = "off", "on"
DECODER = (
    count("layers", "L", "layers of the decoder"),
    count("hidden", "h", "hidden size: numbers for each token between layers"),
    count("heads", "a", "attention heads of a layer"),
    count("kv_heads", "ak", "heads of keys and values (grouped queries); absent: as many as heads",
          "Ainslie et al. 2023 (arXiv 2305.13245)", optional=True),
    count("head_size", "d", "width of a head; absent: hidden/heads", optional=True),
    count("ffn", "f", "width of the MLP; absent: 4 hidden", optional=True),
    Quantity("gated", "", "", "whether the MLP has a third matrix, as a gate", "Shazeer 2020 (arXiv 2002.05202)",
             default=OFF, choices=(OFF, ON)),
    count("vocabulary", "V", "entries of the vocabulary", default=51200.0),
    Quantity("tied", "", "", "whether the head shares the weights of the embedding", SOURCE, default=OFF,
             choices=(OFF, ON)),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Decoder:
    """The shape of a decoder, as numbers of any arithmetic; ``matrices`` of its MLP: 2 or 3."""

    layers: Any
    hidden: Any
    heads: Any
    kv_heads: Any
    head_size: Any
    ffn: Any
    matrices: float
    vocabulary: Any
    tied: bool

    @property
    def query_width(self) -> Any:
        """Numbers of a token's queries, a d; as many come out of attention."""
        return self.heads * self.head_size

    @property
    def cache_width(self) -> Any:
        """Numbers of a token's keys and values in one layer, 2 k d."""
        return 2.0 * self.kv_heads * self.head_size

    @property
    def layer_weights(self) -> Any:
        """Weights of one layer."""
        return (
            matrix_weights(self.hidden, self.query_width, self.cache_width, self.matrices, self.ffn)
            + 2.0 * self.hidden
        )

    @property
    def word_weights(self) -> Any:
        """Weights of the embedding, or of the head: V h."""
        return self.vocabulary * self.hidden

    @property
    def parameters(self) -> Any:
        """All weights of the decoder."""
        words = (1.0 if self.tied else 2.0) * self.word_weights
        return self.layers * self.layer_weights + words + self.hidden


def matrix_weights(hidden: Any, queries: Any, cache: Any, matrices: float, ffn: Any) -> Any:
    """Return the weights of a layer's matrices: attention with these widths of queries and of keys and values, MLP."""
    return hidden * (2.0 * queries + cache) + matrices * hidden * ffn


def decoder(g: Any) -> Decoder:
    """Return the decoder that a namespace of inputs (``DECODER``) describes."""
    return Decoder(
        layers=g.layers,
        hidden=g.hidden,
        heads=g.heads,
        kv_heads=getattr(g, "kv_heads", g.heads),
        head_size=g.head_size if hasattr(g, "head_size") else g.hidden / g.heads,
        ffn=g.ffn if hasattr(g, "ffn") else 4.0 * g.hidden,
        matrices=3.0 if g.gated == ON else 2.0,
        vocabulary=g.vocabulary,
        tied=g.tied == ON,
    )


class Link(NamedTuple):
    """What links processors: time of a message (s), time of a byte (s/byte)."""

    latency: Any
    time_per_byte: Any


def linked(g: Any) -> bool:
    """Whether a machine states what links its processors."""
    return all(hasattr(g.machine, n) for n in ("time_per_word", "time_per_message", "energy_per_word"))


def node_link(g: Any) -> Link:
    """Return the link between processors of a node, from a machine's times of words and messages.

    A machine of nodes states it as ``core_time_per_word`` and ``core_time_per_message``, one of single processors as
    ``time_per_word`` and ``time_per_message``; a word has ``word_size`` bytes.
    """
    m = g.machine
    core = "core_" if hasattr(m, "core_time_per_word") and hasattr(m, "core_time_per_message") else ""
    per_word = getattr(m, f"{core}time_per_word") * g.word
    return Link(getattr(m, f"{core}time_per_message") * g.message, per_word / m.word_size)


def product_flops(rows: Any, columns: Any, inner: Any) -> Any:
    """Return the flops of a rows x inner by inner x columns product of matrices, 2 m n k."""
    return 2.0 * rows * columns * inner


def shared(amount: Any, processors: Any) -> Any:
    """Return what a processor sends of an amount in a reduce-scatter or an all-gather, (t - 1)/t of it."""
    return amount * (1.0 - 1.0 / processors)


def gather_time(amount: Any, processors: Any, over: Link) -> Any:
    """Return the time of an all-gather, or a reduce-scatter, of an amount (bytes) over t processors."""
    return log2(processors) * over.latency + shared(amount, processors) * over.time_per_byte


def all_reduce_time(amount: Any, processors: Any, over: Link) -> Any:
    """Return the time of an all-reduce of an amount (bytes) over t processors: a scatter and a gather."""
    return 2.0 * gather_time(amount, processors, over)
