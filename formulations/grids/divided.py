"""Ratios of sums at every point of a grid: one run of the model's arithmetic, the coefficients as arrays.

Average power, or any other quotient of two sums is not a posynomial: its divisor stays. The arrays are those of
``formulations.canonical`` with one row of coefficients for each point, so that relaxations and restrictions of many
points at once are made by the same functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from formulations import canonical as canon
from formulations.arithmetics.many import Many
from formulations.arithmetics.posynomial import Posynomial
from formulations.canonical import Array, Canonical, Divisor
from formulations.grids import batch
from formulations.grids.batch import Batch
from formulations.grids.over_grid import Region, Spread, sides
from formulations.problem import Goal, Kind, Problem, formulate
from scenarios.question import HALVINGS, Decision, Limit, Question

MOST_FORMS = 2
"""Linear forms in the divisors: the search cuts along each of them, so that more are out of reach."""

Held = TypeVar("Held", Limit, Decision)
Indices = NDArray[np.intp]


def structure(question: Question) -> tuple[Problem, ...] | None:
    """Return a question (of plain numbers) in mathematics if it divides by sums of few variables, else None.

    Where maxima can be held in several ways, each of these cases is one. One of the variables may have whole numbers or
    listed values only, and none may be counted in halvings.
    """
    if not batch.one_discrete(question) or any(d.base is not None for d in question.decide):
        return None
    cases = batch.cases(formulate(question))
    if any(p.rows is None for p in cases) or all(p.kind not in (Kind.NLP, Kind.MINLP) for p in cases):
        return None
    goal = cases[0].goal
    if goal is None or goal.name == HALVINGS.name or not goal.numerator.terms:
        return None
    return cases if all(_in_reach(canon.canonical(p, p.goal)) for p in cases) else None


def _in_reach(c: Canonical) -> bool:
    return not c.divisors or by_few_forms(c)


def by_few_forms(c: Canonical) -> bool:
    """Whether something divides by sums, and these depend on few variables, each by itself."""
    return bool(c.divisors) and len(c.forms) <= MOST_FORMS and bool(((c.forms != 0).sum(1) == 1).all())


def divided(spread: Spread, region: Region) -> tuple[Batch, ...] | None:
    """Run the model's arithmetic once for a piece, for each case; None where it has another structure."""
    first = batch.of_first(spread, region, structure)
    if first is None:
        return None
    shape = sides(region)
    return batch.of_question(first, flat(spread.question(region), shape), (math.prod(shape),), _in_reach)


def goal_at(g: Goal, points: Indices) -> Goal:
    """Return a goal with coefficients of many points at some of them."""
    return replace(g, numerator=_at(g.numerator, points), denominator=_at(g.denominator, points))


def flat(question: Question, shape: tuple[int, ...]) -> Question:
    """Return a question whose arrays broadcast to a block with arrays along its points, in C order."""

    def along(value: Any) -> Any:
        return np.broadcast_to(value, shape).ravel() if isinstance(value, np.ndarray) else value

    return with_each_number(question, along)


def at(question: Question, points: Any) -> Question:
    """Return a question about many points, arrays or ``Many`` in it, at some of them."""

    def there(value: Any) -> Any:
        if isinstance(value, Many):
            return Many(value.values[points])
        return value[points] if isinstance(value, np.ndarray) else value

    return with_each_number(question, there)


def before_axes(question: Question, axes: int) -> Question:
    """Return a question with the numbers of its points in front of so many dimensions."""

    def of(value: Any) -> Any:
        return Many(value.values.reshape(-1, *(1,) * axes)) if isinstance(value, Many) else value

    return with_each_number(question, of)


def shape(question: Question) -> tuple[int, ...]:
    """Return the shape of the ``Many`` numbers of a question; () where it has none."""
    shapes = set[tuple[int, ...]]()

    def seen(value: Any) -> Any:
        if isinstance(value, Many):
            shapes.add(value.values.shape)
        return value

    with_each_number(question, seen)
    return np.broadcast_shapes(*shapes)


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


def _at(p: Posynomial, points: Indices) -> Posynomial:
    return Posynomial(
        {key: c[points] if isinstance(c, np.ndarray) and c.ndim else c for key, c in p.terms.items()}
    )


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


def eased(c: Canonical, slack: float) -> Canonical:
    """Return the same with all limits easier by this much, in logs."""
    logc = c.logc.copy()
    logc[:, c.ptr[1] :] -= slack
    return replace(c, logc=logc)
