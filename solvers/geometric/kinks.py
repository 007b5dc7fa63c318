"""What limits and given numbers are worth at an optimum that one or more cases of the question's maxima attain.

A case's rows say how its maxima are held, so the envelope theorem holds for them like for limits. Where several cases
meet in the optimum, a small change one way is not the mirror of one the other way: then the value for relaxing a
limit, or for moving a given number the way that betters the objective, is meant.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dse.system.records import dataclass
from formulations import canonical as canon
from formulations.arithmetics.maxima import SIDE
from solvers.explaining import multipliers, sensitivity
from solvers.explaining.sensitivity import Duals, Optima
from solvers.geometric.kernel import gp
from solvers.geometric.structured import Place
from solvers.judgement import Judged


@dataclass(frozen=True, slots=True)
class Worth:
    """Multipliers of the limits and elasticities of the given numbers; ``one_sided``: numbers better one way only."""

    duals: Duals
    parameters: dict[str, float]
    one_sided: tuple[str, ...]


def worth(judged: Judged, places: Sequence[Place]) -> Worth:
    """Weigh an optimum that one or more cases attain at the same design."""
    at, own = zip(*map(duals, places), strict=True)
    limits = _largest_duals([_of_limits(d) for d in own])
    if not limits.known.all():
        return Worth(limits, {}, ())
    ends = [
        sensitivity.both_ways(o, d, sensitivity.slopes(place.case, judged, place.y[None], o.keys))
        for place, o, d in zip(places, at, own, strict=True)
    ]
    falling = np.max([fall for fall, _ in ends], axis=0)
    rising = np.min([rise for _, rise in ends], axis=0)
    ((parameters, one_sided),) = sensitivity.felt(judged, falling, rising)
    return Worth(limits, parameters, one_sided)


def without_structure(judged: Judged) -> Worth:
    """Weigh an optimum whose equations are not ratios of posynomials, by differences of the model's own."""
    d = sensitivity.numeric_duals(judged.question, judged.x)
    if not d.known.all():
        return Worth(d, {}, ())
    slope = sensitivity.slopes(None, judged, np.zeros((1, 0)), d.keys)
    straight = sensitivity.straight(d, slope)
    ((parameters, _),) = sensitivity.felt(judged, straight, straight)
    return Worth(d, parameters, ())


def duals(place: Place) -> tuple[Optima, Duals]:
    """Multipliers of a case's rows where it attains its optimum, and what the one-sided ones follow from."""
    c = canon.canonical(place.case, place.case.goal)
    r = multipliers.at(c, place.y) if place.known is None else place.known
    a, b = canon.restriction(c, place.y[None])
    o = sensitivity.optima(c.keys, (a, b, c.ptr), (c.low, c.high), place.y[None], r.multipliers)
    return o, sensitivity.duals(o, proved=r.status == gp.OPTIMAL)


def _of_limits(d: Duals) -> Duals:
    kept = np.array([key.side != SIDE for key in d.keys], dtype=bool)
    keys = tuple(key for key in d.keys if key.side != SIDE)
    return Duals(keys, d.value[:, kept], d.least[:, kept], d.most[:, kept], d.known)


def _largest_duals(all_of: Sequence[Duals]) -> Duals:
    """Relaxing a limit buys what it buys in the case where it buys most."""
    value, least, most, known = (
        pick([getattr(d, name) for d in all_of], axis=0)
        for name, pick in (("value", np.max), ("least", np.min), ("most", np.max), ("known", np.all))
    )
    return Duals(all_of[0].keys, value, least, most, known)
