"""Questions and arrays of many points at some of them, and the same arrays with other goals and rows.

The arrays are those of ``formulations.canonical`` with one row of coefficients for each point.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from dse.system.arrays import Array, Indices
from formulations.arithmetics.many import Many, plain
from formulations.arithmetics.posynomial import Posynomial
from formulations.canonical import Canonical, Divisor
from formulations.problem import Goal
from scenarios.question import Decision, Limit, Question

Held = TypeVar("Held", Limit, Decision)


def goal_at(g: Goal, shape: tuple[int, ...], points: Indices) -> Goal:
    """Return a goal with coefficients that broadcast to a block of points at some of them, counted in C order."""
    numerator, denominator = (_at(p, shape, points) for p in (g.numerator, g.denominator))
    return replace(g, numerator=numerator, denominator=denominator)


def at(question: Question, points: Any) -> Question:
    """Return a question about many points, arrays or ``Many`` in it, at some of them."""

    def there(value: Any) -> Any:
        if isinstance(value, Many):
            return Many(value.values[points])
        return value[points] if isinstance(value, np.ndarray) else value

    return with_each_number(question, there)


def flat(question: Question) -> Question:
    """Return a question with plain arrays along its points in place of ``Many``, for arithmetics of arrays."""

    def of(value: Any) -> Any:
        return value.values.reshape(-1) if isinstance(value, Many) else value

    return with_each_number(question, of)


def before_axes(question: Question, axes: int) -> Question:
    """Return a question with the numbers of its points in front of so many dimensions."""

    def of(value: Any) -> Any:
        return Many(value.values.reshape(-1, *(1,) * axes)) if isinstance(value, Many) else value

    return with_each_number(question, of)


def numbers(question: Question) -> list[Any]:
    """Return all that is given, and all bounds."""
    held: tuple[Limit | Decision, ...] = (*question.limits, *question.decide)
    return [*question.given.values(), *(end for h in held for end in (h.minimum, h.maximum))]


def shape(question: Question) -> tuple[int, ...]:
    """Return the shape of the ``Many`` numbers of a question; () where it has none."""
    return np.broadcast_shapes(*{v.values.shape for v in numbers(question) if isinstance(v, Many)})


def alike(question: Question, x: Mapping[str, Any]) -> tuple[Indices, Indices]:
    """Tell points apart by what is given and by designs ``x`` (a number for all, or one for each point).

    Returns the first of each kind, and which kind each point is of: those of one design lie one behind the other.
    Points of one kind differ in limits only.
    """
    numbers = (*x.values(), *question.given.values())
    columns = [plain(v).reshape(-1) for v in numbers if isinstance(v, Many | np.ndarray)]
    count = max((shape(question) or (1,))[0], *map(np.size, columns), 1)
    return _kinds(np.stack([np.broadcast_to(c, (count,)) for c in (np.zeros(1), *columns)]))


def same_programs(c: Canonical, *further: Array) -> tuple[Indices, Indices]:
    """Tell points apart by their programs: the first of each kind, and which kind each point is of.

    Where the goal is set aside (``aimed``, ``any_design``) programs do not depend on what only the goal depends on.
    ``further``: numbers of the points that count, too.
    """
    rows = np.concatenate([c.logc, c.low, c.high, *(d.logc for d in c.divisors), *further], axis=1)
    return _kinds(rows[:, (rows != rows[:1]).any(axis=0)].T)


def _kinds(numbers: Array) -> tuple[Indices, Indices]:
    """Tell columns apart that differ: the first of each kind, in order, and which kind each is of."""
    count = numbers.shape[1]
    if not len(numbers):
        return np.zeros(min(count, 1), np.intp), np.zeros(count, np.intp)
    order = np.lexsort(numbers[::-1])
    new = np.append(True, (numbers[:, order[1:]] != numbers[:, order[:-1]]).any(axis=0))
    which = np.empty(count, np.intp)
    which[order] = np.cumsum(new) - 1
    return order[new], which


def one_of_equal(values: Any) -> Any:
    """Return one of many numbers that are equal: what follows from it is worked out once. Others stay as they are."""
    every = plain(values)
    if not isinstance(every, np.ndarray) or (every != every[:1]).any():
        return values
    return Many(every[:1]) if isinstance(values, Many) else every[:1]


def with_each_number(question: Question, made: Callable[[Any], Any]) -> Question:
    """Return a question with each number that is given, or is a bound of a limit or a decision, made another one."""

    def bounds(held: Held) -> Held:
        return replace(held, minimum=made(held.minimum), maximum=made(held.maximum))

    return replace(
        question,
        given={name: made(value) for name, value in question.given.items()},
        limits=tuple(bounds(x) for x in question.limits),
        decide=tuple(bounds(d) for d in question.decide),
    )


def with_ends(question: Question, low: Callable[[Array], Any], high: Callable[[Array], Any]) -> Question:
    """Return a question about many points with one number for each of its bounds.

    ``low`` makes it of those of a lower one, ``high`` of an upper one.
    """

    def reduced(held: Held) -> Held:
        ends = (held.minimum, low), (held.maximum, high)
        least, most = (of(end.values) if isinstance(end, Many) else end for end, of in ends)
        return replace(held, minimum=least, maximum=most)

    limits, decide = tuple(map(reduced, question.limits)), tuple(map(reduced, question.decide))
    return replace(question, limits=limits, decide=decide)


def _at(p: Posynomial, shape: tuple[int, ...], points: Indices) -> Posynomial:
    every = {
        key: np.broadcast_to(c, shape).ravel()[points] if np.ndim(c) else c for key, c in p.terms.items()
    }
    return Posynomial(every)


def take(c: Canonical, points: Any) -> Canonical:
    """Return the arrays of a choice of points, in any order and as often as wanted."""
    return replace(
        c,
        logc=c.logc[points],
        low=c.low[points],
        high=c.high[points],
        divisors=tuple(replace(d, logc=d.logc[points]) for d in c.divisors),
        tighter=None if c.tighter is None else take(c.tighter, points),
    )


def any_design(c: Canonical) -> Canonical:
    """Return the same limits with nothing to minimise."""
    first = int(c.ptr[1])
    count, n = c.low.shape
    found = replace(
        c,
        exponents=np.concatenate([np.zeros((1, n)), c.exponents[first:]]),
        logc=np.concatenate([np.zeros((count, 1)), c.logc[:, first:]], axis=1),
        ptr=np.concatenate([[0], c.ptr[1:] - first + 1]),
    )
    return _with_divisors(found, tuple(d for d in c.divisors if d.row))


def kept(c: Canonical, wanted: Sequence[bool]) -> Canonical:
    """Return the same goal with the limits that are wanted only."""
    return _ordered(c, [0, *(k for k, w in enumerate(wanted, start=1) if w)])


def aimed(c: Canonical, which: int) -> Canonical:
    """Return the same limits but one (its place among the keys), which becomes the goal instead."""
    return _ordered(c, [which + 1, *(k for k in range(1, c.ptr.size - 1) if k != which + 1)])


def _ordered(c: Canonical, rows: Sequence[int]) -> Canonical:
    columns = np.concatenate([np.arange(c.ptr[k], c.ptr[k + 1]) for k in rows])
    place = {k: i for i, k in enumerate(rows)}
    found = replace(
        c,
        exponents=c.exponents[columns],
        logc=c.logc[:, columns],
        ptr=np.cumsum([0, *(c.ptr[k + 1] - c.ptr[k] for k in rows)]),
        keys=tuple(c.keys[k - 1] for k in rows[1:]),
    )
    return _with_divisors(found, tuple(replace(d, row=place[d.row]) for d in c.divisors if d.row in place))


def _with_divisors(c: Canonical, divisors: tuple[Divisor, ...]) -> Canonical:
    """Return the same with the divisors that are left; where nothing divides there are no forms either."""
    return replace(c, divisors=divisors, forms=c.forms if divisors else c.forms[:0], tighter=None)
