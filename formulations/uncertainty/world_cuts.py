"""What bounds posynomials in many worlds from below: means over the worlds, and maxima by one of their arguments.

A weighted mean of a posynomial with the same exponents in every world i (``formulations.uncertainty.robust``) has as
many terms as it: Σⱼ (Σᵢ wᵢ cᵢⱼ) Πᵥ xᵥ^(aⱼᵥ). A maximum that only harms is at least each of its arguments: with the one
that is largest in world i at a design y put in its place, fᵢ becomes a posynomial that is nowhere above it and equal to
it at y. Either kind is a *cut*: below the true function everywhere, equal to it at the design it was made at.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial, reduce
from typing import Any

import numpy as np

from dse.system.arrays import Array
from formulations.arithmetics.maxima import is_maximum
from formulations.arithmetics.posynomial import ONE, NotPosynomial, Posynomial
from formulations.problem import Goal, Row
from formulations.uncertainty.measures import WORST, Weighing
from formulations.uncertainty.robust import Posed

Point = Mapping[str, Any]
MOST_ARGUMENTS = 16
"""Posynomials that a limit with maxima is the largest of, at most: each is a row of its own where limits may fail."""
POWER = "a power of a sum in a maximum"
RATIOS = "the mean of a ratio of sums over the samples"


def certain(p: Posynomial) -> bool:
    """Tell whether a posynomial is the same in every world, and holds no maximum."""
    same = all(np.ndim(c) == 0 or not np.ptp(c, axis=-1).any() for c in p.terms.values())
    return same and not has_maxima(p)


def settled(asked: Posed, p: Posynomial, x: Point) -> Posynomial:
    """Return a cut of a posynomial at the design ``x``: each maximum replaced by what is largest there, by world.

    A maximum with a power below 0, which only a divisor holds, makes it larger than it is, and the quotient a cut.
    """
    return without_maxima(p, lambda name, power: _cut_of_maximum_power(asked, name, power, x))


def without_maxima(p: Posynomial, power_of: Callable[[str, float], Posynomial]) -> Posynomial:
    """Return a posynomial with something in the place of each power of a maximum."""
    if not has_maxima(p):
        return p
    total = Posynomial({})
    for key, c in p.terms.items():
        term = Posynomial({tuple(part for part in key if not is_maximum(part[0])): c})
        for name, power in key:
            if is_maximum(name):
                term = term * power_of(name, power)
        total = total + term
    return total


def has_maxima(p: Posynomial) -> bool:
    """Tell whether a posynomial holds a maximum."""
    return any(is_maximum(v) for key in p.terms for v, _ in key)


def largest_of(asked: Posed, p: Posynomial) -> list[Posynomial]:
    """Return the posynomials without maxima that a posynomial is the largest of: one for each choice of arguments.

    Raises NotPosynomial where they are more than MOST_ARGUMENTS, or a maximum stands under a power of its own.
    """
    found = [p]
    while any(map(has_maxima, found)):
        found = [one for some in found for one in _of_each_argument(asked, some)]
        if len(found) > MOST_ARGUMENTS:
            raise NotPosynomial(f"maxima of more than {MOST_ARGUMENTS} arguments together")
    return found


def _of_each_argument(asked: Posed, p: Posynomial) -> Iterator[Posynomial]:
    """Put each argument of one maximum of a posynomial in the place of that maximum."""
    named = next((v for key in p.terms for v, _ in key if is_maximum(v)), None)
    if named is None:
        yield p
        return
    for argument in asked.taken[named]:
        yield without_maxima(p, partial(_power_of_one, named, argument.numerator))


def _power_of_one(named: str, argument: Posynomial, name: str, power: float) -> Posynomial:
    """Return the power of an argument, or of another maximum than that which it is one of."""
    if power < 0:
        raise NotPosynomial(POWER)
    return _whole_power(argument if name == named else Posynomial({((name, 1.0),): 1.0}), power)


def _whole_power(p: Posynomial, power: float) -> Posynomial:
    """Return a posynomial to a power: of a monomial, or a small whole power; raises NotPosynomial for others."""
    if p.is_monomial:
        return p.power(power)
    if power != int(power) or not 0 < power <= 4:
        raise NotPosynomial(POWER)
    return reduce(operator.mul, [p] * int(power))


def _cut_of_maximum_power(asked: Posed, name: str, power: float, x: Point) -> Posynomial:
    """Return a cut of a maximum to a power: in each world the argument that is largest at ``x``."""
    cuts = [settled(asked, a.numerator, x) for a in asked.taken[name]]
    levels = np.stack(np.broadcast_arrays(*(np.asarray(p(**x), float) for p in cuts)))
    if levels.ndim == 1:
        return _whole_power(cuts[int(levels.argmax())], power)
    best = levels.argmax(0)
    total = Posynomial({})
    for k, p in enumerate(cuts):
        if np.any(best == k):
            raised = _whole_power(p, power)
            total = total + Posynomial({key: np.where(best == k, c, 0.0) for key, c in raised.terms.items()})
    return total


def in_world(c: Any, i: Any) -> Any:
    """Return a coefficient in one world, or in one of each point's (P,)."""
    if not np.ndim(c):
        return c
    return c[i] if np.ndim(c) == 1 else c[np.arange(len(c)), np.minimum(i, c.shape[1] - 1)]


def at_world(p: Posynomial, i: Any) -> Posynomial:
    """Return a posynomial without maxima in world ``i``; terms that are not there are left out."""
    terms = {key: in_world(c, i) for key, c in p.terms.items()}
    return Posynomial({key: c for key, c in terms.items() if np.any(c > 0)})


def weighted(p: Posynomial, weights: Array) -> Posynomial:
    """Return the weighted mean over the first worlds of a posynomial without maxima; the weights add up to 1."""

    def mean(c: Any) -> Any:
        if not np.ndim(c):
            return c
        # a row of numbers one behind the other adds up to the same bits beside any others
        wide = c if c.shape[-1] == 1 else c[..., : weights.shape[-1]]
        return np.ascontiguousarray(weights * wide).sum(-1)

    terms = {key: mean(c) for key, c in p.terms.items()}
    return Posynomial({key: c for key, c in terms.items() if np.any(c > 0)})


def row_at(asked: Posed, row: Row, i: Any, x: Point) -> Row:
    """Return a cut, made at the design ``x``, of a limit in world ``i``."""
    top, bottom = (settled(asked, p, x) for p in (row.numerator, row.denominator))
    return replace(row, numerator=at_world(top, i), denominator=at_world(bottom, i))


def folded(goal: Goal) -> Posynomial | None:
    """Return what is minimised as one posynomial, where its divisor is a monomial."""
    if not goal.denominator.is_monomial:
        return None
    return goal.numerator * goal.denominator.power(-1.0)


def exact_goal(asked: Posed, measure: Weighing) -> Goal | None:
    """The measure of the objective as one posynomial, where it is one; None where it takes cuts."""
    goal = asked.goal
    if goal is None:
        return None
    whole = folded(goal)
    if whole is None:
        return None if measure.share * asked.worlds.measured <= 1 else _ratio_exact(goal)

    def level(first: Array) -> Any:
        found = measure.value(goal.to_user(np.log(first)), maximize=goal.sign < 0)
        return 2.0 ** (goal.sign * found) if goal.log2 else found**goal.sign

    count = asked.worlds.measured
    exact = exact_measure(whole, count, level)
    if exact is not None:
        return replace(goal, numerator=exact, denominator=ONE)
    if goal.log2 and measure.share * count > 1:
        # the mean of logarithms lies below the logarithm of the mean
        raise NotPosynomial("the mean of a logarithm of a sum over the samples")
    if goal.sign < 0 and measure is not WORST and measure.share > 0:
        raise NotPosynomial(RATIOS)
    if measure.share >= 1.0 and goal.sign > 0 and not has_maxima(whole):
        return replace(goal, numerator=weighted(whole, np.full(count, 1.0 / count)), denominator=ONE)
    return None


def exact_measure(whole: Posynomial, count: int, level: Callable[[Array], Any]) -> Posynomial | None:
    """The measure of a posynomial over ``count`` worlds where it is one whatever the measure is.

    ``level``: the measure of coefficients. One number times the same design in every world has that of the number.
    """
    if certain(whole):
        return at_world(whole, 0)
    if not whole.is_monomial or has_maxima(whole):
        return None
    ((key, c),) = whole.terms.items()
    return Posynomial({key: level(np.asarray(c, float)[..., :count])})


def _ratio_exact(goal: Goal) -> Goal:
    """The objective as it is where it divides by a sum and is the same in every world."""
    if certain(goal.numerator) and certain(goal.denominator):
        return replace(
            goal,
            numerator=at_world(goal.numerator, 0),
            denominator=at_world(goal.denominator, 0),
        )
    raise NotPosynomial(RATIOS)
