"""The network of a distributed machine: over how many links words and messages go, where the machine says so.

Demmel et al. charge every word and message one link, however many processors there are; so does dse unless the
machine states one of these (p: processors, or nodes of the models with two levels):

    torus_dimensions d    h = (d/4) p^(1/d)    a torus of d dimensions
    fat_tree_arity a      h = 2 log_a p        a fat tree whose switches have a children each

Words that each processor sends and its messages (of nodes: theirs) count in the formulas above as

    torus       h W and h S in time and energy
    fat tree    h W and h S in the energy, W and h S in the time

The metrics of words and messages go on counting what is sent; one more metric, ``hops``, is h.

A torus has the same number of processors along each dimension, and h is the average of uniform traffic (Dally and
Towles 2004, chapter 5: d k/4 with k = p^(1/d) along each, k even). Every processor passes on what others send, p W h
words over the links of p processors, so h is a factor of the time and the energy of words and of messages. It is a
monomial: a geometric program stays one. Below p = (4/d)^d, which is at most 4, it is less than 1.

In a fat tree (Leiserson 1985; Petrini and Vanneschi 1997, a-ary n-trees) most traffic goes by the root, up and down.
Links get fatter towards the root, so that the time of words stays what it is; h is a factor of the time of messages
and of the energy of both. The logarithm is not a monomial: with the processors decided, the question is not a
geometric program.

A network that adds other traffic or has shorter ways is stated by a definition of ``machine.time_per_word`` and the
like.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from dse.models.arithmetic import log2, power
from dse.models.model import MACHINE_PREFIX, Model
from dse.models.shared.sums import Sum, Term
from dse.quantities import Quantity
from dse.system.records import dataclass

PAGE = f"## A network\n\n{__doc__}"
SOURCE = "our addition to Demmel et al. 2013; Dally and Towles 2004, chapter 5"
TORUS = Quantity(
    "torus_dimensions",
    "d",
    "",
    "dimensions of the torus that links the processors; absent: every word goes over one link",
    SOURCE,
    minimum=1.0,
    floor=1.0,
    ceiling=64.0,
    optional=True,
)
FAT_TREE = Quantity(
    "fat_tree_arity",
    "a",
    "",
    "children of each switch of the fat tree that links the processors; absent: every word goes over one link",
    "our addition to Demmel et al. 2013; Leiserson 1985",
    minimum=2.0,
    floor=2.0,
    ceiling=1e6,
    optional=True,
)
MACHINE = (TORUS, FAT_TREE)
NAMES = tuple(MACHINE_PREFIX + q.name for q in MACHINE)
HOPS = Quantity("hops", "h", "", "links that a word or message goes over", SOURCE)


class Passed(NamedTuple):
    """Words and messages of one processor times the links they go over; ``words_timed``: as far as they take time."""

    words_timed: Any
    words: Any
    messages: Any


def hops(machine: Any, processors: Any) -> Any | None:
    """Return the links that a word goes over; None where the machine states no network."""
    if hasattr(machine, TORUS.name):
        d = machine.torus_dimensions
        plain = isinstance(d, int | float | np.ndarray)
        return d / 4.0 * (processors ** (1.0 / d) if plain else power(processors, 1.0 / d))
    if hasattr(machine, FAT_TREE.name):
        return 2.0 * log2(processors) / log2(machine.fat_tree_arity)
    return None


def passed(machine: Any, processors: Any, words: Any, messages: Any) -> Passed:
    """Return what passes over links of what a processor sends; just that where the machine states no network."""
    h = hops(machine, processors)
    if h is None:
        return Passed(words, words, messages)
    return Passed(words * h if hasattr(machine, TORUS.name) else words, words * h, messages * h)


def told(machine: Any, processors: Any) -> dict[str, Any]:
    """Return the metric that a network adds."""
    h = hops(machine, processors)
    return {} if h is None else {HOPS.name: h}


@dataclass(frozen=True, slots=True)
class OnNetwork:
    """How a model changes with the network of a machine; ``words``, ``messages``: metrics that count what is sent."""

    words: str
    messages: str

    def __call__(self, model: Model, stated: Collection[str]) -> Model:
        """Return the model on that network; raises ValueError where the machine states two."""
        named = [q.name for q in MACHINE if MACHINE_PREFIX + q.name in stated]
        if len(named) > 1:
            raise ValueError(f"{' and '.join(named)} are two networks; leave one of them out")
        return replace(
            model,
            machine=tuple(replace(q, optional=False) if q.name in named else q for q in model.machine),
            metrics=(*model.metrics, HOPS),
            sums=tuple(self._over_links(s, torus=named[0] == TORUS.name) for s in model.sums),
        )

    def _over_links(self, total: Sum, *, torus: bool) -> Sum:
        """Return a sum whose parts that go over the network have the links as a factor."""
        dearer = {self.messages} if total.metric == "time" and not torus else {self.words, self.messages}

        def term(t: Term) -> Term:
            return replace(t, factors=(*t.factors, HOPS.name)) if dearer.intersection(t.factors) else t

        return replace(total, terms=tuple(map(term, total.terms)))
