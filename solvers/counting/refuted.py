"""Whether limits leave no whole numbers at all, however large: no end that only a search has stands in that proof."""

from __future__ import annotations

import numpy as np

from dse.system.arrays import Array, Bools
from formulations.tolerances import SLACK
from solvers.counting import sets
from solvers.counting.counts import Counts
from solvers.linear.linear_program import weak_duality
from solvers.linear.points import lp
from solvers.outcome import INFEASIBLE


def nowhere(c: Counts) -> Bools:
    """At which points (N,) no design is anywhere, if the search of ``c`` has found none.

    The limits keep all numbers within the ends of that search, or weak duality refutes the rows of each set of things
    that may be there, without these ends. Raises NotLeast where the sets are too many.
    """
    sure = sets.enclosed(c)
    if not sure.all():
        rows, high = sets.numbers(c, [x.form for x in c.limits]), sets.own_ends(c)
        refuted = [_is_refuted(c, rows, high, there.astype(float)) for there in sets.listed(c)]
        sure |= np.logical_and.reduce(refuted) if refuted else np.ones(c.count, bool)
    return sure


def _is_refuted(c: Counts, rows: Array, high: Array, flags: Array) -> Bools:
    """At which points weak duality refutes the rows where the things with ``flags`` are there, with their slack."""
    count, own = len(c.names), np.delete(rows, np.s_[len(c.names) : -1], axis=-1)
    own[..., -1] += np.einsum("pmk,k->pm", rows[..., count:-1], flags)
    slack = SLACK * (np.abs(rows[..., -1]) + np.einsum("pmk,k->pm", np.abs(rows[..., count:-1]), flags))
    absent = (1.0 - flags) @ c.own > 0.0
    ends = c.low[:count], np.where(absent, np.minimum(high, 0.0), high)
    low, most = (np.broadcast_to(e, (c.count, count)) for e in ends)
    equal, nothing = np.zeros(own.shape[1], dtype=bool), np.zeros(count + 1)
    # rows over nothing that is left are broken or not
    broken = (~(own[..., :-1] * (most > 0.0)[:, None]).any(axis=2) & (own[..., -1] > slack)).any(axis=1)
    found = lp.solved(own, equal, low, most, [], c.count)
    missed = weak_duality(own, equal, low, most, nothing, found.y)
    granted = (np.maximum(found.y, 0.0) * slack).sum(axis=1)
    return np.asarray(broken | ((found.end == INFEASIBLE) & (missed > granted)))
