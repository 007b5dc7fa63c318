"""The operators of a decoder's layer in a forward pass: flops, bytes of memory and bytes sent of one processor.

b sequences bring q new tokens each, m = b q rows. A processor of t that share the layer does (rows x columns x inner
side of a product; weights of bw bytes, activations of ba, cached numbers of bc; z = 2 d max(k/t, 1) keys and values
of a token, as heads that are fewer than processors are held more than once):

    norm                    m h read and written
    queries, keys, values   m x (a d/t + z) x h
    attention               4 m n a d/t flops over n keys for each token; reads the caches, z numbers
                            for each of their tokens, and m a d/t queries; writes as much
    output                  m x h x a d/t, then an all-reduce of m h
    norm                    m h read and written
    up (and gate)           m x f/t x h, or m x 2 f/t x h where gated: one product
    activation              m f/t read (twice where gated) and written
    down                    m x h x f/t, then an all-reduce of m h

Separate attention is three operators: m n a/t scores are written by the first, read and written by the softmax, read
by the last; the first and the last each have half of the flops, read half of the caches and move m a d/t numbers.

Flops of the model, which performance and utilisation are of, are those of all processors with each weight counted
once: 2 m w1 + 4 m n a d for a layer with w1 weights in its matrices, and 2 b V h of the head. What processors compute
more than once, as they hold the same keys and values, takes time and energy all the same.

After all layers comes the head, one row for each sequence: b x V/t x h. A product of r rows, c columns and inner side
i has 2 r c i flops and moves c i bw + r (c + i) ba bytes. An operator of W flops and Q bytes has the energies W εf
and Q εm and takes the roofline's time, by Choi et al. 2014 (3), with a launch and the usable power Δπ where the
machine states them:

    launch_time + max(W τf/ηf, Q τm/ηm, (W εf + Q εm) k/Δπ)

An all-reduce of n bytes takes twice the time of a gather by halving and doubling, below, and sends 2 (t - 1)/t n
bytes; a message to the next stage has n = m h ba bytes and takes α + n β. Links are those within a node, with β
divided by ``link_efficiency``; a byte sent has the energy of a word (``core_energy_per_word``, else
``energy_per_word``) over ``word_size``. Where the machine does not state its links, nothing is sent;
a question that states a part of them is refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import add
from typing import Any, NamedTuple

from dse.models.arithmetic import maximum
from dse.models.transformers.collectives import Link, halving_all_reduce, linked, node_link, shared
from dse.models.transformers.decoder import Decoder, product_flops


class Operator(NamedTuple):
    """Flops, bytes of memory and bytes of an all-reduce (0: none) of one processor; labels and units included."""

    name: str
    flops: Any
    data: Any
    reduced: Any = None


class Widths(NamedTuple):
    """Bytes of a weight, of an activation and of a number in the cache."""

    weight: Any
    activation: Any
    cache: Any


class Step(NamedTuple):
    """A forward pass: sequences, new tokens of each, keys that one attends to, tokens whose cache is read."""

    sequences: Any
    new: Any
    keys: Any
    cached: Any

    @property
    def rows(self) -> Any:
        """Rows of the products, b q."""
        return self.sequences * self.new


def layer(d: Decoder, step: Step, tensor: Any, width: Widths, flop: Any, *, fused: bool) -> list[Operator]:
    """Return the operators of a layer on one of ``tensor`` processors, in their order; ``flop``: the label."""
    rows, queries, cache = step.rows, d.query_width / tensor, d.own_cache(tensor)
    mlp, gates = d.ffn / tensor, d.matrices - 1.0

    def product(name: str, columns: Any, inner: Any, *, reduced: bool = False) -> Operator:
        data = columns * inner * width.weight + rows * (columns + inner) * width.activation
        whole = rows * columns * width.activation if reduced else None
        return Operator(name, product_flops(rows, columns, inner) * flop, data, whole)

    norm = 2.0 * rows * d.hidden * width.activation
    return [
        Operator("norm_attention", None, norm),
        product("queries_keys_values", queries + cache, d.hidden),
        *_attention(d, step, queries, cache, width, flop, fused=fused),
        product("attention_output", d.hidden, queries, reduced=True),
        Operator("norm_mlp", None, norm),
        product("mlp_up", gates * mlp, d.hidden),
        Operator("activation", None, rows * mlp * (gates + 1.0) * width.activation),
        product("mlp_down", d.hidden, mlp, reduced=True),
    ]


def _attention(
    d: Decoder, step: Step, queries: Any, cache: Any, width: Widths, flop: Any, *, fused: bool
) -> list[Operator]:
    half = product_flops(step.rows, step.keys, queries) * flop
    moved = step.rows * queries * width.activation
    read = step.sequences * step.cached * cache * width.cache
    if fused:
        return [Operator("attention", 2.0 * half, 2.0 * moved + read)]
    scores = step.rows * step.keys * (queries / d.head_size) * width.activation
    return [
        Operator("scores", half, moved + read / 2.0 + scores),
        Operator("softmax", None, 2.0 * scores),
        Operator("values", half, moved + read / 2.0 + scores),
    ]


def head(d: Decoder, sequences: Any, tensor: Any, width: Widths, flop: Any) -> Operator:
    """Return the last operator: one new token of each sequence by the vocabulary."""
    words = d.vocabulary / tensor
    data = words * d.hidden * width.weight + sequences * (words + d.hidden) * width.activation
    return Operator("head", product_flops(sequences, words, d.hidden) * flop, data)


def model_flops(d: Decoder, step: Step) -> Any:
    """Return the flops of a step in all layers and the head, on all processors, with each weight counted once."""
    core = 2.0 * product_flops(step.rows, step.keys, d.query_width)
    words = product_flops(step.sequences, d.vocabulary, d.hidden)
    return d.layers * (2.0 * step.rows * d.matrix_weights + core) + words


class Cost(NamedTuple):
    """Time (s) and energies (J) of operators on one processor: of flops, of bytes, of what links carry."""

    time: Any
    flop_energy: Any
    data_energy: Any
    link_energy: Any

    def times(self, n: Any) -> Cost:
        """Return the cost of this, n times over."""
        return Cost(*(n * x for x in self))


def together(costs: Iterable[Cost]) -> Cost:
    """Return the cost of several things, one after the other."""
    return Cost(*(reduce(add, parts) for parts in zip(*costs, strict=True)))


class Processor:
    """What operators and messages take on one processor of a machine; g: the namespace that equations get."""

    def __init__(self, g: Any) -> None:
        """Read the machine's times and energies; efficiencies and the throttle divide."""
        m = g.machine
        self.time_per_flop = m.time_per_flop / m.matrix_efficiency
        self.time_per_byte = m.time_per_byte / m.memory_efficiency
        self.energy_per_flop, self.energy_per_byte = m.energy_per_flop, m.energy_per_byte
        self.launch = getattr(m, "launch_time", None)
        self.usable = m.usable_power / g.throttle if hasattr(m, "usable_power") else None
        self.no_time = 0.0 * g.flop * m.time_per_flop
        self.no_energy = 0.0 * g.flop * m.energy_per_flop
        self.link: Link | None = None
        self.energy_per_sent_byte: Any = 0.0
        if linked(g):
            stated = node_link(g)
            self.link = Link(stated.latency, stated.time_per_byte / m.link_efficiency)
            per_word = m.core_energy_per_word if hasattr(m, "core_energy_per_word") else m.energy_per_word
            self.energy_per_sent_byte = per_word * g.word / m.word_size

    def operator(self, o: Operator) -> Cost:
        """Return what an operator costs, without its all-reduce."""
        spent = self.no_energy if o.flops is None else o.flops * self.energy_per_flop
        moved = o.data * self.energy_per_byte
        time = o.data * self.time_per_byte
        if o.flops is not None:
            time = maximum(o.flops * self.time_per_flop, time)
        if self.usable is not None:
            time = maximum(time, (spent + moved) / self.usable)
        return Cost(time if self.launch is None else time + self.launch, spent, moved, self.no_energy)

    def reduced(self, amount: Any, tensor: Any) -> Cost:
        """Return what an all-reduce of an amount (bytes) costs one that takes part; nothing where none are linked."""
        if self.link is None:
            return self._nothing()
        sent = 2.0 * shared(amount, tensor) * self.energy_per_sent_byte
        time = halving_all_reduce(amount, tensor, self.link)
        return Cost(time, self.no_energy, self.no_energy, sent)

    def sent(self, amount: Any) -> Cost:
        """Return what a message of an amount (bytes) to the next stage costs."""
        if self.link is None:
            return self._nothing()
        time = self.link.latency + amount * self.link.time_per_byte
        energy = amount * self.energy_per_sent_byte
        return Cost(time, self.no_energy, self.no_energy, energy)

    def _nothing(self) -> Cost:
        return Cost(self.no_time, self.no_energy, self.no_energy, self.no_energy)

    def run(self, operators: Iterable[Operator], tensor: Any) -> Cost:
        """Return what operators cost one after the other, with their all-reduces."""
        listed = list(operators)
        reduces = [self.reduced(o.reduced, tensor) for o in listed if o.reduced is not None]
        return together([*(self.operator(o) for o in listed), *reduces])
