"""Decoder transformers: inputs, shape, weights; shared by the models that train and that serve them.

A layer of a decoder of width h has ``heads`` a of size d (h/a unless said), ``kv_heads`` k that hold keys and
values (k = a: each head its own, k = 1: one for all), and an MLP of width f of two matrices, or of three where it
is gated. Its weights are

    attention      h d (a + 2k) + a d h
    MLP            2 h f, or 3 h f where it is gated
    norms          2 h

and the vocabulary of V words has V h for the words and V h more for the head, unless the two are tied. Before the head
is one more norm, of h weights.

Devices that share a layer, t of them, have a/t of its heads and f/t of its MLP each, so t divides a. Of the heads of
keys and values a device has k/t where t divides k, and a copy of one of them where k divides t; k divides a. So a
device has z = 2 d max(k/t, 1) keys and values of a token (2 d a/t where kv_heads is not stated), and of the matrices

    w = h (2 a d/t + z) + 2 h f/t, or 3 h f/t where gated

A product of an m x k by a k x n matrix has 2 m n k flops.
"""

from __future__ import annotations

from typing import Any

from dse.models.arithmetic import divides, maximum, minimum
from dse.models.model import ModelLimit
from dse.quantities import Quantity
from dse.system.records import dataclass

PAGE = f"## The decoder\n\n{__doc__}"
SOURCE = "decoder transformer"
OURS = "our addition"
LARGEST_COUNT = 1e12


def count(name: str, symbol: str, meaning: str, source: str = SOURCE, **more: Any) -> Quantity:
    """Declare a count of at least one."""
    whole = more.pop("whole", True)
    return Quantity(
        name, symbol, "", meaning, source, minimum=1.0, floor=1.0, ceiling=LARGEST_COUNT, whole=whole, **more
    )


OFF, ON = "off", "on"


def inputs(*, tied: str) -> tuple[Quantity, ...]:
    """Declare what describes a decoder; ``tied``: whether its head shares weights where nothing is said."""
    return (
        count("layers", "L", "layers of the decoder"),
        count("hidden", "h", "hidden size: numbers for each token between layers"),
        count("heads", "a", "attention heads of a layer"),
        count("kv_heads", "ak", "heads of keys and values (grouped queries); absent: as many as heads",
              "Ainslie et al. 2023 (arXiv 2305.13245)", optional=True),
        count("head_size", "d", "width of a head; absent: hidden/heads", optional=True),
        count("ffn", "f", "width of the MLP; absent: 4 hidden", optional=True),
        Quantity("gated", "", "", "whether the MLP has a third matrix, as a gate",
                 "Shazeer 2020 (arXiv 2002.05202)", default=OFF, choices=(OFF, ON)),
        count("vocabulary", "V", "entries of the vocabulary", default=51200.0),
        Quantity("tied", "", "", "whether the head shares the weights of the embedding", SOURCE, default=tied,
                 choices=(OFF, ON)),
    )  # fmt: skip


KV_HEADS = ModelLimit(
    "kv_heads_shared",
    "k divides a",
    "kv_heads divides heads; absent without kv_heads",
    "Ainslie et al. 2023 (arXiv 2305.13245)",
    divides=("heads", "kv_heads"),
)
KV_SPLIT = ModelLimit(
    "kv_heads_split",
    "t divides k, or k divides t",
    "tensor_parallel divides kv_heads, or is a multiple of it; absent without kv_heads",
    "Ainslie et al. 2023 (arXiv 2305.13245)",
    divides=("kv_heads", "tensor_parallel"),
    either=True,
)


@dataclass(frozen=True, slots=True)
class Decoder:
    """The shape of a decoder, as numbers of any arithmetic; ``matrices`` of its MLP: 2 or 3.

    ``grouped``: whether kv_heads was stated.
    """

    layers: Any
    hidden: Any
    heads: Any
    kv_heads: Any
    head_size: Any
    ffn: Any
    matrices: float
    vocabulary: Any
    tied: bool
    grouped: bool

    @property
    def query_width(self) -> Any:
        """Numbers of a token's queries, a d; as many come out of attention."""
        return self.heads * self.head_size

    @property
    def cache_width(self) -> Any:
        """Numbers of a token's keys and values in one layer, 2 k d."""
        return 2.0 * self.kv_heads * self.head_size

    @property
    def matrix_weights(self) -> Any:
        """Weights of a layer's matrices: attention and MLP."""
        return self._matrices(self.query_width, self.cache_width, self.ffn)

    @property
    def layer_weights(self) -> Any:
        """Weights of one layer, with its norms."""
        return self.matrix_weights + 2.0 * self.hidden

    def own_cache(self, tensor: Any) -> Any:
        """Return the numbers of a token's keys and values that one of t devices of a layer has, 2 d max(k/t, 1)."""
        if not self.grouped:
            return self.cache_width / tensor
        return 2.0 * self.head_size * maximum(self.kv_heads / tensor, 1.0)

    def own_matrices(self, tensor: Any) -> Any:
        """Return the weights of a layer's matrices that one of t devices holds."""
        return self._matrices(self.query_width / tensor, self.own_cache(tensor), self.ffn / tensor)

    def _matrices(self, queries: Any, cache: Any, ffn: Any) -> Any:
        return self.hidden * (2.0 * queries + cache) + self.matrices * self.hidden * ffn

    def kv_split(self, tensor: Any) -> dict[str, Any]:
        """Return the ratios of ``KV_HEADS`` and ``KV_SPLIT``; none where kv_heads was not stated."""
        if not self.grouped:
            return {}
        few, many = minimum(self.kv_heads, tensor), maximum(self.kv_heads, tensor)
        return {
            KV_HEADS.name: divides(self.kv_heads, self.heads),
            KV_SPLIT.name: divides(few, many),
        }

    @property
    def word_weights(self) -> Any:
        """Weights of the embedding, or of the head: V h."""
        return self.vocabulary * self.hidden

    @property
    def parameters(self) -> Any:
        """All weights of the decoder."""
        words = (1.0 if self.tied else 2.0) * self.word_weights
        return self.layers * self.layer_weights + words + self.hidden


def decoder(g: Any) -> Decoder:
    """Return the decoder that a namespace of inputs (``inputs``) describes."""
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
        grouped=hasattr(g, "kv_heads"),
    )


def product_flops(rows: Any, columns: Any, inner: Any) -> Any:
    """Return the flops of a rows x inner by inner x columns product of matrices, 2 m n k."""
    return 2.0 * rows * columns * inner
