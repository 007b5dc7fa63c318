"""What the totals of a model are made of: declared beside the equations, so that pictures can take them apart."""

from __future__ import annotations

from dse.system.records import dataclass


@dataclass(frozen=True, slots=True)
class Term:
    """One part of a total: the product of inputs, machine parameters and metrics, by the names a scenario uses.

    A part of which a machine does not state a factor is nothing.
    """

    name: str
    factors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sum:
    """A metric as the sum of its terms; ``by`` says what tells them apart, for models with several ways."""

    metric: str
    by: str
    terms: tuple[Term, ...]


def sum_of(metric: str, by: str, terms: dict[str, str]) -> Sum:
    """Declare a sum: for each part its factors, with spaces between them."""
    return Sum(metric, by, tuple(Term(name, tuple(factors.split())) for name, factors in terms.items()))


@dataclass(frozen=True, slots=True)
class Held:
    """Hardware that is busy as long as a run lasts, so that the run takes up its share of what it cost to make.

    ``counts``: products of inputs, machine parameters and metrics, by the names a scenario uses; together they say how
    many processors it is, or (``memory``) how many words; of several products the largest counts. ``time``: the
    product that says how long. ``entry``: of which machine of a map it is.
    """

    name: str
    counts: tuple[tuple[str, ...], ...] = ((),)
    memory: bool = False
    time: tuple[str, ...] = ("time",)
    entry: str = ""


def held(name: str, count: str = "", *, memory: bool = False, time: str = "time", entry: str = "") -> Held:
    """Declare hardware: the factors of its number (none: one processor) and of how long, with spaces between them."""
    return Held(name, (tuple(count.split()),), memory, tuple(time.split()), entry)
