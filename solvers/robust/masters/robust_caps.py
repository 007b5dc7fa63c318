"""Limits on the mean or the CVaR of a metric over the worlds, as posynomials: exact ones, or cuts at a design.

Where a limit in one world is a posynomial p_i(x) <= 1, one on a weighted mean is sum_i w_i p_i(x) <= 1 (see
``formulations.uncertainty.measures``): exact for the mean, and below the CVaR for all x, with equality at the
design whose worst worlds have these weights.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dse.system.arrays import Array
from formulations.arithmetics.posynomial import NotPosynomial, Posynomial
from formulations.problem import Goal, Row
from formulations.uncertainty import world_cuts
from formulations.uncertainty.robust import Posed
from formulations.uncertainty.world_cuts import folded
from formulations.uncertainty.worlds import Cap
from scenarios.define.composed import may_be_negative


def posynomial(asked: Posed, cap: Cap) -> Posynomial:
    """Return a limit on a measure as a posynomial p_i <= 1 for each world; raises NotPosynomial where it is none."""
    row = asked.caps.get(cap.key)
    if may_be_negative(asked.worlds.nominal.model, cap.name):
        # posed as a quotient of its terms, whose mean is not that of the difference
        raise NotPosynomial(f"a limit on the mean or CVaR of a difference, {cap.name}")
    whole = None if row is None else folded(Goal(cap.name, row.numerator, row.denominator))
    if whole is None:
        raise NotPosynomial(f"a limit on the mean or CVaR of a ratio of sums, {cap.name}")
    return whole


def exact(asked: Posed, cap: Cap) -> Posynomial | None:
    """Return a limit on a measure as one posynomial <= 1; None where it takes cuts. Raises NotPosynomial."""
    whole = posynomial(asked, cap)
    sign = 1.0 if cap.side == "max" else -1.0
    count = asked.worlds.count_of(cap.name)
    one = world_cuts.exact_measure(whole, count, lambda each: float(cap.level(each**sign)) ** sign)
    if one is not None:
        return one
    if cap.side == "min":
        raise NotPosynomial(f"a least mean or CVaR of a sum, {cap.name}")
    if cap.measure.share >= 1.0 and not world_cuts.has_maxima(whole):
        return world_cuts.weighted(whole, np.full(count, 1.0 / count))
    return None


def row(asked: Posed, cap: Cap, x: Mapping[str, float], values: Array) -> Row:
    """Return a limit on a measure, or its cut at a design, where its metric has these ``values`` (N,)."""
    found = exact(asked, cap)
    if found is None:
        found = world_cuts.weighted(
            world_cuts.settled(asked, posynomial(asked, cap), x), cap.measure.weights(values)
        )
    return Row(cap.key, found, Posynomial({(): 1.0}))
