"""What limits and parameters are worth where the model takes maxima.

A case's rows say how its maxima are held, so the envelope theorem holds for them like for limits. Where several cases
meet in the optimum, or where multipliers are not unique, a small change one way is not the mirror of one the other
way: then the value for relaxing a limit, or for moving a parameter the way that betters the objective, is meant.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence

import numpy as np

from formulations import canonical as canon
from formulations.canonical import Array
from formulations.maxima import SIDE
from formulations.problem import Goal, Row, moved
from scenarios.question import Question
from solvers import sensitivity
from solvers.polish import derivatives
from solvers.sensitivity import ACTIVE, STEP, Duals
from solvers.structured import Place

APART = 1e-6
LEAST = 1e-8


@dataclasses.dataclass(frozen=True, slots=True)
class Worth:
    """Multipliers of the limits and elasticities of the parameters; ``one_sided``: parameters better one way only."""

    duals: Duals
    parameters: dict[str, float]
    one_sided: tuple[str, ...]


def worth(question: Question, x: Mapping[str, float], places: Sequence[Place]) -> Worth:
    """Weigh an optimum that one or more cases attain at the same design."""
    own = [_duals(place) for place in places]
    limits = _together([_of_limits(d) for d in own])
    if not limits.known or not question.objectives:
        return Worth(limits, {}, ())
    slopes = [_slopes(question, place, d) for place, d in zip(places, own, strict=True)]
    falling = {n: max(s[n][0] for s in slopes) for n in slopes[0]}
    rising = {n: min(s[n][1] for s in slopes) for n in slopes[0]}
    scale = sensitivity.per_objective(question, x)
    values = {n: scale * _bettering(falling[n], rising[n]) for n in falling}
    felt = {n: e for n, e in values.items() if math.isfinite(e) and abs(e) > LEAST}
    return Worth(limits, felt, tuple(n for n in felt if abs(rising[n] - falling[n]) > APART))


def _duals(place: Place) -> Duals:
    return sensitivity.duals(canon.canonical(place.case, place.case.goal), place.y, place.known)


def _of_limits(d: Duals) -> Duals:
    kept = np.array([key.side != SIDE for key in d.keys], dtype=bool)
    keys = tuple(key for key in d.keys if key.side != SIDE)
    return Duals(keys, d.value[kept], d.least[kept], d.most[kept], d.known)


def _together(all_of: Sequence[Duals]) -> Duals:
    """Relaxing a limit buys what it buys in the case where it buys most."""
    value, least, most = (
        pick([getattr(d, name) for d in all_of], axis=0)
        for name, pick in (("value", np.max), ("least", np.min), ("most", np.max))
    )
    return Duals(all_of[0].keys, value, least, most, all(d.known for d in all_of))


def _bettering(falling: float, rising: float) -> float:
    """The slope of what is minimised on the side where it gets better: for less of a parameter, or for more."""
    less, more = max(falling, 0.0), min(rising, 0.0)
    return less if less >= -more else more


def _slopes(question: Question, place: Place, d: Duals) -> dict[str, tuple[float, float]]:
    """Slopes of log(what is minimised) in the log of each given number, when that falls and when it rises."""
    names = [n for n, v in question.given.items() if not isinstance(v, str) and v > 0]
    if not names:
        return {}
    lagrangian = np.array([_gradient(question, place, n) for n in names])
    straight = lagrangian[:, 0] + lagrangian[:, 1:] @ d.value
    if not np.any(d.one_sided):
        return {n: (float(s), float(s)) for n, s in zip(names, straight, strict=True)}
    c = canon.canonical(place.case, place.case.goal)
    f, g, _ = derivatives(c, place.y)
    active = np.flatnonzero(f[1:] > -ACTIVE)
    ends = sensitivity.extremes(c, place.y, g, active, lagrangian[:, 1:][:, active])
    low, high = (lagrangian[:, 0] + end for end in ends)
    return {n: (float(a), float(b)) for n, a, b in zip(names, low, high, strict=True)}


def _gradient(question: Question, place: Place, name: str) -> Array:
    """Slope of the logarithms of goal and rows in the log of one given number, at the design as it is."""
    point = {v.name: math.exp(t) for v, t in zip(place.case.variables, place.y, strict=True)}
    value = float(question.given[name])
    more, less = (
        _logs(*moved(place.case, _given(question, name, value * (1 + step))), point) for step in (STEP, -STEP)
    )
    return (more - less) / (math.log1p(STEP) - math.log1p(-STEP))


def _given(question: Question, name: str, value: float) -> Question:
    return dataclasses.replace(question, given={**question.given, name: value})


def _logs(goal: Goal | None, rows: Sequence[Row], point: Mapping[str, float]) -> Array:
    assert goal is not None, "only questions with an objective get here"
    pairs = [(goal.numerator, goal.denominator)]
    pairs += [(r.numerator, r.denominator) for r in rows]
    return np.array([math.log(top(**point)) - math.log(bottom(**point)) for top, bottom in pairs])
