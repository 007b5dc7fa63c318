"""Times of collectives among processors that share a decoder: two algorithms, each where it is the faster one.

n bytes, t processors, a message takes α and a byte β (the machine's time of a message, and of a word over its bytes;
between processors of a node those called ``core_…`` where they are stated). A reduce-scatter gives each processor the
sum of its part, an all-gather gives all parts to each, an all-reduce is one after the other and takes twice as long.

    halving and doubling   log₂t α + (t - 1)/t n β        Thakur, Rabenseifner and Gropp 2005
    ring                   (t - 1) (α + n/t β)            Patarasuk and Yuan 2009

Both move the same bytes. Halving has fewer messages, but its partners are at all distances, so it needs processors
that are linked all to all: ``transformer_inference`` takes it, whose replicas lie within a node and whose messages
are short. A ring needs links between neighbours only, and of t processors, g of them in each node, just one link in
each node is a slow one. ``transformer_training`` takes it in two levels, first within nodes, then among them:

    (g - 1) (αl + n/g βl) + (t/g - 1) (αn + n/t βn)

where all g processors of a node send to the next node at the same time, each its own n/t.
"""

from __future__ import annotations

import itertools
from collections.abc import Container
from typing import Any, NamedTuple

from dse.models.arithmetic import log2

LINKS = (("time_per_word", "time_per_message"), ("core_time_per_word", "core_time_per_message"))
"""The times of a word and of a message: of the network, and between processors of a node."""
ENERGIES = ("energy_per_word", "core_energy_per_word")
PAGE = f"## Messages\n\n{__doc__}"


class Link(NamedTuple):
    """What links processors: time of a message (s), time of a byte (s/byte)."""

    latency: Any
    time_per_byte: Any


def linked(g: Any) -> bool:
    """Whether a machine states what links its processors: both times of a link, and the energy of a word."""
    stated = [n for n in (*itertools.chain(*LINKS), *ENERGIES) if hasattr(g.machine, n)]
    return any(set(pair) <= set(stated) for pair in LINKS) and any(n in stated for n in ENERGIES)


def lacking_for_links(stated: Container[str]) -> dict[str, tuple[str, ...]]:
    """Return what a machine lacks that states a part of its links, each with the parameters that ask for it."""
    found: dict[str, tuple[str, ...]] = {
        n: (other,)
        for pair in LINKS
        for n, other in (pair, pair[::-1])
        if other in stated and n not in stated
    }
    links = tuple(n for n in itertools.chain(*LINKS) if n in stated)
    if links and not any(n in stated for n in ENERGIES):
        found[ENERGIES["core" in links[0]]] = links
    return found


def node_link(g: Any) -> Link:
    """Return the link between processors of a node, from a machine's times of words and messages.

    A machine of nodes states it as ``core_time_per_word`` and ``core_time_per_message``, one of single processors as
    ``time_per_word`` and ``time_per_message``; a word has ``word_size`` bytes.
    """
    m = g.machine
    core = "core_" if hasattr(m, "core_time_per_word") and hasattr(m, "core_time_per_message") else ""
    return _link_of_prefix(g, core)


def network(g: Any) -> Link:
    """Return the link between processors of different nodes."""
    return _link_of_prefix(g, "")


def _link_of_prefix(g: Any, prefix: str) -> Link:
    m = g.machine
    per_word = getattr(m, f"{prefix}time_per_word") * g.word
    return Link(getattr(m, f"{prefix}time_per_message") * g.message, per_word / m.word_size)


def shared(amount: Any, processors: Any) -> Any:
    """Return what a processor sends of an amount in a reduce-scatter or an all-gather, (t - 1)/t of it."""
    # less than none only by rounding: of 1 - 1/t, times an amount without end, that would be anything
    return amount * ((processors - 1.0) / processors)


def halving_gather(amount: Any, processors: Any, over: Link) -> Any:
    """Return the time of an all-gather, or a reduce-scatter, of an amount (bytes) by halving and doubling."""
    return log2(processors) * over.latency + shared(amount, processors) * over.time_per_byte


def halving_all_reduce(amount: Any, processors: Any, over: Link) -> Any:
    """Return the time of an all-reduce of an amount (bytes) by halving and doubling."""
    return 2.0 * halving_gather(amount, processors, over)


def ring_gather(amount: Any, processors: Any, within: Any, inside: Link, between: Link) -> Any:
    """Return the time of an all-gather, or a reduce-scatter, of an amount (bytes) in rings of two levels.

    ``within``: how many of the processors are in each node; ``inside``, ``between``: links within and between nodes.
    """
    near = (within - 1.0) * (amount / within * inside.time_per_byte + inside.latency)
    return near + (processors / within - 1.0) * (
        amount / processors * between.time_per_byte + between.latency
    )


def ring_all_reduce(amount: Any, processors: Any, within: Any, inside: Link, between: Link) -> Any:
    """Return the time of an all-reduce of an amount (bytes) in rings of two levels."""
    return 2.0 * ring_gather(amount, processors, within, inside, between)
