"""A question's numbers at a point, on any arithmetic: metrics, limits as ratios, objective.

Every path (NumPy, posynomials, Pyomo, intervals, pint) goes through these functions, so an equation and the way a
limit is read from it stand once.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dse import models
from dse.models import arithmetic
from dse.models.model import Model, evaluate, not_returned, unstated
from dse.models.shared import economics
from dse.quantities import Quantity
from dse.system.records import dataclass
from formulations.arithmetics.differences import Difference
from formulations.arithmetics.posynomial import Ratio
from formulations.row_keys import RowKey
from scenarios.define import composed
from scenarios.question import FARTHEST_ENDS, HALVINGS, STRETCH, Decision, Limit, Question, without

# powers of the elapsed time in the metrics that idling changes
ELAPSED = {"time": 1, "energy_delay": 1, "power": -1, "power_per_processor": -1, "performance": -1}
ELAPSED |= dict.fromkeys(economics.KEPT, 1)


# ends of a search: what it begins with beside the model's own, and what it never goes beyond
SEARCH_REACH = 1.0
AT_SEARCHED_END = 1.0 + 1e-6
"""Factor of an end that only a search has, within which a range ends there."""
LEAST_FLOAT, LARGEST_FLOAT = 1e-300, 1e300
LEAST_CALCULABLE, LARGEST_CALCULABLE = 1e-100, 1e100
"""How far floats go that are squared and cubed on the way to a metric: no search without structure goes farther."""


def metrics(question: Question, x: Mapping[str, Any]) -> dict[str, Any]:
    """All metrics and the model's own limit ratios at ``x`` (one entry per decided variable), by name."""
    run = {n: v for n, v in x.items() if n != STRETCH.name}
    found = dict(evaluate(question.model, {**question.given, **run}))
    if STRETCH.name in x:
        for name, power in ELAPSED.items():
            if name in found:
                found[name] = found[name] * x[STRETCH.name] ** power
        found |= economics.again(found)
        found |= composed.recomputed(question.model, {**question.given, **run, **found})
    if any(d.base is not None for d in question.decide):
        found[HALVINGS.name] = halvings(question, x)
    return found


def halvings(question: Question, x: Mapping[str, Any]) -> Any:
    """How often the decided machine parameters are halved at ``x``, in all."""
    return arithmetic.log2(
        math.prod((d.base / x[d.name] for d in question.decide if d.base is not None), start=1.0)
    )


def unraised(question: Question) -> Question:
    """Return the question with its given numbers as NumPy has them.

    Under ``np.errstate`` what overflows is then infinite, where Python's own floats raise.
    """
    given: dict[str, Any] = {
        n: np.float64(v) if isinstance(v, float) else v for n, v in question.given.items()
    }
    return replace(question, given=given)


def beyond_floats(question: Question, x: Mapping[str, Any]) -> bool:
    """Tell whether a number on the way to metrics and limits at ``x`` is too large or too small for a float.

    What is then no number, or infinite, says nothing of the design: the exact value may be an ordinary one.
    """
    point = {n: np.asarray(v, float)[()] for n, v in x.items()}
    asked = unraised(question)
    try:
        with np.errstate(all="ignore", over="raise", under="raise"):
            ratios(asked, point, metrics(asked, point))
    except (FloatingPointError, OverflowError):
        return True
    return False


def ratios(question: Question, x: Mapping[str, Any], at: Mapping[str, Any]) -> dict[RowKey, Any]:
    """Every limit as a ratio that must be <= 1; ``at`` is what ``metrics`` returned for ``x``.

    The user's limits and bounds first, in file order, then the model's own limits that are not waived.
    """
    rows: dict[RowKey, Any] = {}
    signed = composed.signed(question.model)
    for name, (low, high) in bounds(question).items():
        value = at[name] if name in at else x.get(name, question.given.get(name))
        sized = name in signed and not isinstance(value, Ratio | Difference)
        every = {**question.given, **x, **at} if sized else {}
        for side, sign, bound in (("max", 1.0, high), ("min", -1.0, low)):
            if bound is not None:
                size = composed.size(question.model, name, every, bound) if sized else None
                rows[RowKey(name, side)] = _limit_ratio(value, bound, sign, size)
    for own in question.model.limits:
        # a limit that needs what this machine does not state (its memory, say) is not there
        if own.name in at and own.name not in question.waive:
            rows[RowKey(own.name, "model")] = at[own.name]
        elif own.name not in question.waive:
            _refuse_forgotten(question, x, own.name)
    return rows


def _refuse_forgotten(question: Question, x: Mapping[str, Any], limit: str) -> None:
    """Raise ValueError for a limit that a stranger's equations forget: the question states all that is optional."""
    model = question.model
    if not models.our_own(model) and not unstated(model, {**question.given, **x}):
        raise ValueError(not_returned(model, "limit", limit))


def no_numbers(question: Question, at: Mapping[str, Any]) -> list[str]:
    """Return which of the metrics that are asked for, or limited by the user, are no number (NaN) somewhere."""
    asked = dict.fromkeys([*(o.name for o in question.objectives), *(x.name for x in question.limits)])
    return [n for n in asked if n in at and np.isnan(np.asarray(at[n], float)).any()]


def _limit_ratio(value: Any, bound: Any, sign: float, size: Any) -> Any:
    """Read a limit as a ratio <= 1; ``size``: what to measure a value by that may be negative, None where it cannot.

    The inverse of a negative value would turn a broken lower limit into one that holds.
    """
    if size is None:
        return arithmetic.at_most(value, bound) if sign > 0 else arithmetic.at_least(value, bound)
    if np.ndim(bound) == 0 and bound != 0:
        share = value / bound
        return share if (bound > 0) == (sign > 0) else 2.0 - share
    return 1.0 + (value - bound) * sign / (size + abs(bound))


def bounds(question: Question) -> dict[str, tuple[float | None, float | None]]:
    """The user's limits and bounds by name; where both speak of one variable the tighter ones hold."""
    found: dict[str, tuple[float | None, float | None]] = {}
    holders: list[Limit | Decision] = [*question.limits, *question.decide]
    for holder in holders:
        low, high = found.get(holder.name, (None, None))
        lows = [v for v in (low, holder.minimum) if v is not None]
        highs = [v for v in (high, holder.maximum) if v is not None]
        found[holder.name] = (_tightest(lows, max, np.maximum), _tightest(highs, min, np.minimum))
    return found


def _tightest(values: Sequence[Any], one: Callable[..., Any], many: np.ufunc) -> Any:
    """The tightest of some bounds, at each point where they differ between points; None where there is none."""
    if any(np.ndim(v) for v in values):
        return functools.reduce(many, values)
    return one(values, default=None)


def read_by_limits(question: Question, every: Collection[str]) -> set[str]:
    """Which of these metrics limits are read from: all of them where a difference is measured against its parts."""
    limited = {*bounds(question), *(own.name for own in question.model.limits)}
    if not composed.signed(question.model).isdisjoint(limited):
        return {*every}
    return limited.intersection(every)


def label(key: RowKey, keys: Container[RowKey]) -> str:
    """How an answer calls a limit: its name, with ``.min`` where the same name also has a max among ``keys``."""
    return f"{key.name}.min" if key.side == "min" and RowKey(key.name, "max") in keys else key.name


def objective(question: Question, x: Mapping[str, Any], at: Mapping[str, Any], which: int = 0) -> Any:
    """The value of objective number ``which``, in its own sense and unit."""
    name = question.objectives[which].name
    return at[name] if name in at else {**question.given, **x}[name]


def to_minimise(question: Question, goal: Any) -> Any:
    """Return what is made least in the place of the first objective, or of what is made least the objective.

    Of what is made greatest that is one over it, or its negative where it may be negative.
    """
    if not question.objectives[0].maximize:
        return goal
    if not inverted(question):
        return -goal
    # intervals have one of their own
    reciprocal = getattr(goal, "reciprocal", None)
    return 1.0 / goal if reciprocal is None else reciprocal()


def inverted(question: Question) -> bool:
    """Whether one over the first objective is made least: that is in its order only where it cannot be negative."""
    goal = question.objectives[0]
    return goal.maximize and not composed.may_be_negative(question.model, goal.name)


def quantity(model: Model, name: str) -> Quantity:
    """The quantity behind a metric, an input, a machine parameter or a limit of the model's own of that name."""
    if name in (HALVINGS.name, STRETCH.name):
        return HALVINGS if name == HALVINGS.name else STRETCH
    return _quantities(model)[name]


def _quantities(model: Model) -> Mapping[str, Quantity]:
    """All quantities of a model by name; of the model asked about last they are kept."""
    global _last  # noqa: PLW0603
    known, found = _last
    if known is not model:
        # what a limit of the model's own comes to is asked for where it is told why there is no design
        own = {x.name: Quantity(x.name, x.name, "", x.meaning) for x in model.limits}
        found = own | {q.name: q for q in model.metrics} | model.parameters()
        _last = (model, found)
    return found


_last: tuple[Model | None, Mapping[str, Quantity]] = (None, {})


@dataclass(frozen=True, slots=True)
class Box:
    """What a decided quantity may be whatever the limits say; ``searched``: which ends only a search has.

    The other ends are the quantity's own (p >= 1). The user's bounds play no part here.
    """

    low: float
    high: float
    searched: tuple[bool, bool]


def farthest(question: Question) -> Question:
    """Return a question whose searched ends are as far away as a proof needs them.

    Of a convex problem an optimum inside a smaller box is the optimum everywhere, and what an end forbids or holds
    shows. Of any other problem a better design beyond the box shows nowhere, so that it is searched this far.
    """
    return replace(question, reach=max(question.reach, FARTHEST_ENDS))


def nearest(question: Question) -> Question:
    """Return a question whose searched ends are where designs are likely: for searches that prove nothing."""
    return replace(question, reach=1.0)


def with_all_powers(d: Decision, searched: tuple[bool, bool]) -> Decision:
    """Return a decision with all powers of its number that floats have, where it lists powers without end.

    ``searched``: whether what ends the list below, and above, is the end of a search (see ``box``), and no domain.
    """
    if not d.endless or d.values is None or len(d.values) < 2:
        return d
    of = d.values[1] / d.values[0]
    # a whole number is no power below 1
    least = 1.0 if d.integer else LEAST_FLOAT
    before = itertools.accumulate(itertools.repeat(of), operator.truediv, initial=d.values[0])
    after = itertools.accumulate(itertools.repeat(of), operator.mul, initial=d.values[-1])
    less = list(itertools.takewhile(lambda v: v >= least, before))
    more = list(itertools.takewhile(lambda v: v <= LARGEST_FLOAT, after))
    below, above = less[:0:-1] if searched[0] else (), more[1:] if searched[1] else ()
    return replace(d, values=(*below, *d.values, *above))


def told_range(question: Question, name: str, low: Any, high: Any) -> tuple[Any, Any]:
    """Return a range of a decided quantity, or many, with 0 or infinity for ends that only a search has.

    It goes no farther than the user's bounds: designs are granted the slack of limits.
    """
    least, most = bounds(question).get(name, (None, None))
    low = low if least is None else np.maximum(low, least)
    high = high if most is None else np.minimum(high, most)
    own = box(replace(question, reach=1.0), name)
    if own.searched[0]:
        low = np.where(low <= own.low * AT_SEARCHED_END, 0.0, low)
    if own.searched[1]:
        high = np.where(high >= own.high / AT_SEARCHED_END, np.inf, high)
    return low, high


def box(question: Question, name: str) -> Box:
    """The finite box of a decided quantity, in which a search can be made. No proof may rest on its searched ends.

    Of a question whose ``reach`` is infinite these ends are as far as floats can be reckoned with.
    """
    q = quantity(question.model, name)
    endless_low, endless_high = q.minimum <= 0.0 < q.floor, not math.isfinite(q.maximum)
    far = question.reach * SEARCH_REACH
    high = min(q.ceiling * far, LARGEST_CALCULABLE) if endless_high else q.maximum
    if not endless_low:
        return Box(max(q.minimum, 0.0), high, (False, endless_high))
    if any(d.name == name and d.integer and d.values is None for d in question.decide):
        # above 0 a whole number is at least 1
        return Box(1.0, high, (False, endless_high))
    return Box(max(q.floor / far, LEAST_CALCULABLE), high, (True, endless_high))


def divided_low(question: Question, d: Decision) -> float | None:
    """The least that a whole number may be where it need not be whole, an end that only a search has.

    None where its domain ends it as well, and where that it is whole is nobody's to let go.
    """
    if not d.integer or d.count or d.values is not None:
        return None
    free = box(without(question, [d.name]), d.name)
    return free.low if free.searched[0] else None
