"""Measures of what one design comes to in N equally likely worlds: mean, worst, and mean of the worst share.

For losses L₁ … L_N (a metric to be small, or minus one to be large) and a level β,

    CVaR_β = min over t of  t + (1/((1 − β) N)) Σ max(Lᵢ − t, 0)  =  max over w of  Σ wᵢ Lᵢ,
             0 ≤ wᵢ ≤ 1/((1 − β) N),  Σ wᵢ = 1

(Rockafellar and Uryasev, Journal of Risk 2, 2000, and its dual). The mean is β = 0 and the worst is 1 − β ≤ 1/N, so
each measure here is the largest of weighted means, and ``weights`` attains it.
"""

from __future__ import annotations

import numpy as np

from dse.system.arrays import Array
from dse.system.records import dataclass


@dataclass(frozen=True, slots=True)
class Weighing:
    """A measure: the mean of the worst ``share`` of the worlds (1: the mean; 0: the worst world)."""

    share: float

    def value(self, values: Array, *, maximize: bool = False) -> Array:
        """Return the measure along the last dimension; of what is maximised the worst are the smallest."""
        losses = -values if maximize else values
        if self.share >= 1.0:
            # rows one behind the other have the same bits beside any others
            return np.asarray(np.ascontiguousarray(values).mean(-1))
        count = losses.shape[-1]
        tail = max(self.share * count, 1.0)
        whole = int(np.floor(tail * (1 + 1e-12)))
        kept = min(whole + 1, count)
        # the worst first; only these are put in order
        worst = np.sort(np.partition(losses, count - kept, axis=-1)[..., count - kept :], axis=-1)[..., ::-1]
        part = np.zeros(kept)
        part[:whole] = 1.0
        if kept > whole:
            part[whole] = max(tail - whole, 0.0)
        # of infinite losses outside the tail nothing enters; a row with what is not a number has no measure
        # added up row by row, so that a row has the same bits beside any others
        total = (np.where(part > 0, worst, 0.0) * (part / part.sum())).sum(-1)
        total = np.where(np.isnan(losses).any(-1), np.nan, total)
        return np.asarray((-total if maximize else total) + 0.0)  # no minus zero

    def weights(self, losses: Array) -> Array:
        """Return the weights (N,) of the worlds that attain the measure of these losses (N,)."""
        count = losses.size
        if self.share >= 1.0:
            return np.full(count, 1.0 / count)
        tail = max(self.share * count, 1.0)
        order = np.argsort(-losses, kind="stable")
        found = np.zeros(count)
        found[order] = np.clip(tail - np.arange(count), 0.0, 1.0) / tail
        return found


@dataclass(frozen=True, slots=True)
class Quantile:
    """A measure: the least value that at least the share ``level`` of the worlds does not exceed.

    Of what is maximised the greatest value that as many worlds reach. It is not a mean with weights, and not convex.
    """

    level: float

    def place(self, count: int) -> int:
        """Which of ``count`` worlds it is, from the better side; from 0 on."""
        return min(max(int(np.ceil(self.level * count - 1e-9 * count)), 1), count) - 1

    def value(self, values: Array, *, maximize: bool = False) -> Array:
        """Return the measure along the last dimension: number ceil(level n) of n in order, from the better side."""
        place = self.place(values.shape[-1])
        losses = np.partition(-values if maximize else values, place, axis=-1)[..., place]
        return np.asarray((-losses if maximize else losses) + 0.0)


Measured = Weighing | Quantile


def of_one_world(measure: Measured, count: int) -> bool:
    """Whether a measure is the value in one of the worlds: then what rises with the objective may stand for it."""
    return isinstance(measure, Quantile) or measure.share * count <= 1


MEAN, WORST = Weighing(1.0), Weighing(0.0)


def cvar(level: float) -> Weighing:
    """Return the mean of the worst 1 - ``level`` of the worlds."""
    return Weighing(1.0 - level)
