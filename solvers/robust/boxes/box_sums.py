"""Bounds of ratios of posynomials on boxes of designs, in every world at once.

Where each number is N/D, N and D posynomials whose coefficients alone differ between worlds, a box takes few products
of matrices: coefficients times monomials. With δ the logarithmic distance from the centre m of a box, log N and log D
are convex in δ, so each is at least its tangent at m, and exceeds it nowhere by more than at some corner:

    log N(m) − log D(m) + s·δ − e_D  ≤  log N/D  ≤  log N(m) − log D(m) + s·δ + e_N,      s = ∇log N − ∇log D at m,

e the largest excess at the corners. Of a geometric program D is a monomial and e_D is 0.
"""

from __future__ import annotations

import itertools

import numpy as np

from dse.models.arithmetic import CannotTake
from dse.system.arrays import Array, Bools
from dse.system.records import dataclass
from formulations.arithmetics.posynomial import NotPosynomial, Posynomial
from formulations.row_keys import RowKey
from formulations.uncertainty import robust, world_cuts
from formulations.uncertainty.wanted import Wanted
from solvers import boxes

CORNERS_OF = 6
"""Decided numbers of which all corners of a box are looked at."""
NEARLY_STRAIGHT = 0.5
"""Logarithm by which a divisor may rise above its tangent on a box; beyond, interval slopes tell more."""
LOST_IN_SUMS = 1e-12
"""Of logarithms of sums: far more than floats lose in them."""


@dataclass(frozen=True, slots=True)
class Sums:
    """Numbers of a question as ratios of sums of ``exponents`` (T, k): coefficients (T, N) of each, by rows.

    The first rows are the limits ``keys``; one more is the objective, where there is one.
    """

    keys: tuple[RowKey, ...]
    exponents: Array
    tops: tuple[Array, ...]
    bottoms: tuple[Array, ...]

    def enclosed(self, low: Array, high: Array) -> tuple[boxes.Enclosure, Bools]:
        """Bound all rows on boxes (B, k) in every world, boxes first; also tell which boxes are too wide for this."""
        centre = boxes.centres(low, high)
        with np.errstate(all="ignore"):
            width = np.log(np.stack([low, high]) / centre).transpose(0, 2, 1)
            ends = np.stack([low, high])[:, :, None] ** self.exponents
            least, most = (
                np.nan_to_num(f(ends, axis=0).prod(-1), nan=x, posinf=np.inf)
                for f, x in ((np.min, 0.0), (np.max, np.inf))
            )
            middle = (centre[:, None] ** self.exponents).prod(-1)
            corners = np.array(list(itertools.product((0, 1), repeat=low.shape[1])))
            steps = np.stack([width[c, np.arange(low.shape[1])] for c in corners])
            moved = middle * np.exp(np.einsum("ckb,tk->cbt", steps, self.exponents))
            tops, bottoms = (
                [self._at(c, middle, moved, steps) for c in each] for each in (self.tops, self.bottoms)
            )
            ratio = np.stack([n[0] / d[0] for n, d in zip(tops, bottoms, strict=True)])
            slope = np.stack([n[1] - d[1] for n, d in zip(tops, bottoms, strict=True)])
            excess = [np.stack([x[2] for x in each]) for each in (tops, bottoms)]
            over, under = (np.exp(x + LOST_IN_SUMS) for x in excess)
            floor, ceiling = (
                np.stack([(a @ n) / (b @ d) for n, d in zip(self.tops, self.bottoms, strict=True)])
                for a, b in ((least, most), (most, least))
            )
            centre_low, centre_high = ratio / under, ratio * over
        rows, count, worlds = ratio.shape
        flat = (rows, count * worlds)
        slopes = slope.reshape(rows, -1, count * worlds)
        found = boxes.Enclosure(
            self.keys,
            np.nan_to_num(floor, nan=0.0, posinf=np.inf).reshape(flat) * (1 - LOST_IN_SUMS),
            np.nan_to_num(ceiling, nan=np.inf, posinf=np.inf).reshape(flat) * (1 + LOST_IN_SUMS),
            centre_low.reshape(flat),
            centre_high.reshape(flat),
            slopes,
            slopes.copy(),
            np.repeat(width, worlds, axis=2),
        )
        return boxes.with_mean_value_form(found), np.asarray(~(excess[1] <= NEARLY_STRAIGHT).all((0, 2)))

    def _at(self, c: Array, middle: Array, moved: Array, steps: Array) -> tuple[Array, Array, Array]:
        """A sum (B, N) at centres, its logarithmic slopes (k, B, N), and how far it rises above its tangent at most."""
        value = middle @ c
        slope = np.stack([(middle * a) @ c / value for a in self.exponents.T])
        above = [
            np.log(there @ c / value) - np.einsum("kb,kbn->bn", step, slope)
            for there, step in zip(moved, steps, strict=True)
        ]
        return value, slope, np.maximum(np.max(above, axis=0), 0.0)


def sums(wanted: Wanted) -> Sums | None:
    """Return the numbers of a question as ratios of sums; None where they are others, or have maxima in them."""
    worlds, names = wanted.worlds, [d.name for d in wanted.worlds.nominal.decide]
    if len(names) > CORNERS_OF or worlds.caps:
        return None
    try:
        asked = robust.posed(worlds)
    except (NotPosynomial, CannotTake, ArithmeticError):
        return None
    pairs = [(r.numerator, r.denominator) for r in asked.rows]
    if asked.goal is not None:
        goal = asked.goal
        if goal.log2:
            return None
        pairs.append(
            (goal.numerator, goal.denominator) if goal.sign > 0 else (goal.denominator, goal.numerator)
        )
    if any(world_cuts.has_maxima(p) for pair in pairs for p in pair):
        return None
    rows = tuple(r.key for r in asked.rows)
    if wanted.eased is not None and wanted.eased not in rows:
        return None
    keys = list(dict.fromkeys(key for pair in pairs for p in pair for key in p.terms))
    exponents = np.array([[dict(key).get(n, 0.0) for n in names] for key in keys]).reshape(-1, len(names))

    def coefficients(p: Posynomial) -> Array:
        return np.stack([np.broadcast_to(np.asarray(p.terms.get(k, 0.0), float), worlds.size) for k in keys])

    tops, bottoms = (tuple(coefficients(pair[i]) for pair in pairs) for i in (0, 1))
    return Sums(rows, exponents, tops, bottoms)
