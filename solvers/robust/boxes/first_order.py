"""Limit sensitivities of a design that boxes or secants prove best: multipliers from the first-order conditions.

Bounds of boxes have no multipliers. At a best design y (in logarithms) with the rows that bind, limit k in world i,

    ∇ log f(y) + Σ λ_ki ∇ log r_ki(y) + bounds = 0,      λ ≥ 0,

which is solved for λ by non-negative least squares, with slopes by central differences. By the envelope theorem the
optimum then moves by Σ_i λ_ki percent for a percent of limit k. Worlds that fail a limit with a probability are left
as they are: relaxing a limit buys at least as much as it does for these.

Nothing is told where the conditions do not hold closely (a kink of the measure, a design that is not sharp enough) or
where λ is not unique.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

import numpy as np

from dse.system.arrays import Array
from formulations.row_keys import RowKey
from formulations.tolerances import BINDS
from formulations.uncertainty.measures import Quantile
from formulations.uncertainty.wanted import Wanted
from formulations.uncertainty.worlds import judged
from scenarios.question import Question
from solvers import boxes
from solvers.robust.masters.robust_geometric import DISCRETE, Elasticity
from solvers.sampling import descent

CLOSE = 1e-3
"""Of the slope of the objective, what the first-order conditions may leave."""
INDEPENDENT = 1e-4
"""Slopes of binding rows are independent where the least singular value is this part of the largest."""
FELT_MULTIPLIER = 1e-6
SAID = "sensitivities from the first-order conditions at the design"
LEFT = ", with the samples that fail left as they are"


def elasticities(
    wanted: Wanted, x: Mapping[str, float], left_out: Mapping[str, frozenset[int]]
) -> tuple[dict[RowKey, Elasticity], str]:
    """Return percent of the measure per percent of each limit, or why that is not known."""
    question = wanted.worlds.nominal
    where = boxes.space(question)
    if where.discrete.any():
        return {}, DISCRETE
    if isinstance(wanted.measure, Quantile):
        return {}, "which samples lie above the level changes with a limit"
    ratios = {k: r for k, r in judged(wanted.worlds, x).ratios.items() if wanted.counts(k.name)}
    binding = _binding(ratios, left_out)
    point = np.log(np.array([x[n] for n in where.names]))
    low, high = np.log(where.low), np.log(where.high)
    free = (point > low + BINDS) & (point < high - BINDS)
    rows, slope = _slopes_of_binding(wanted, binding, point)
    if not (np.isfinite(slope).all() and np.isfinite(rows).all()):
        return {}, "slopes at the design are not finite"
    found = _multipliers(rows[:, free], slope[free], float(np.abs(slope).max()))
    if isinstance(found, str):
        return {}, found
    given: dict[RowKey, Elasticity] = {}
    for key in ratios:
        if key.side not in ("max", "min"):
            continue
        total = sum(v for (k, _), v in zip(binding, found, strict=True) if k == key)
        toward = -1.0 if key.side == "max" else 1.0
        given[key] = toward * wanted.sign * float(total), bool(wanted.chances)
    return given, ""


def _binding(
    ratios: Mapping[RowKey, Array], left_out: Mapping[str, frozenset[int]]
) -> list[tuple[RowKey, int]]:
    """Return which limits bind in which worlds."""
    found: list[tuple[RowKey, int]] = []
    for key, ratio in ratios.items():
        out = left_out.get(key.name, frozenset())
        near = (int(i) for i in np.flatnonzero(np.abs(1.0 - ratio) <= BINDS) if int(i) not in out)
        # what is the same in every world is one row
        found += [(key, i) for i in (near if np.ptp(ratio) > 0 else islice(near, 1))]
    return found


def _slopes_of_binding(
    wanted: Wanted, binding: list[tuple[RowKey, int]], point: Array
) -> tuple[Array, Array]:
    """Return the slopes of binding rows (rows, variables), and that of what is minimised, at logarithms."""
    worlds = wanted.worlds

    def numbers(_: Question, points: Mapping[str, Any]) -> tuple[dict[RowKey, Any], Any]:
        at = judged(worlds, {n: np.asarray(v, float)[:, None] for n, v in points.items()})
        count = len(next(iter(points.values())))
        rows = {
            RowKey(str(k), "row"): np.broadcast_to(at.ratios[key], (count, at.ratios[key].shape[-1]))[:, i]
            for k, (key, i) in enumerate(binding)
        }
        assert at.objective is not None, "there is an objective"
        return rows, np.asarray(wanted.measure.value(at.objective, maximize=wanted.sign < 0))

    _, slope = descent.tangents(worlds.nominal, np.exp(point)[None], numbers)
    return slope[0, :-1], slope[0, -1]


def _multipliers(rows: Array, slope: Array, size: float) -> Array | str:
    """Solve the first-order conditions (rows, free variables); or say why they are not solved."""
    from scipy.optimize import nnls  # slow to import

    if not rows.size:
        left, found = float(np.abs(slope).max(initial=0.0)), np.zeros(len(rows))
    else:
        found, left = nnls(rows.T, -slope)
    if left > CLOSE * max(size, FELT_MULTIPLIER):
        return "the first-order conditions do not hold closely enough at the design"
    held = found > FELT_MULTIPLIER
    kept = rows[held]
    singular = np.linalg.svd(kept, compute_uv=False)
    if held.any() and (len(kept) > kept.shape[1] or singular.min() < INDEPENDENT * singular.max()):
        return "the multipliers are not unique"
    return np.where(held, found, 0.0)
