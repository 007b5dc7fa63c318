"""Every combination of whole numbers and menus, evaluated at once: what no other one betters in both objectives."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from formulations.program import Program
from scenarios.question import Decision, Question
from solvers import enumeration
from solvers.designs import Grid, Table
from solvers.enumeration import ONE, full
from solvers.fronts import envelope
from solvers.fronts.envelope import Array, Piece, Vertex
from solvers.linear import highs, milp
from solvers.linear.linear_program import End, Numbers

# 16 settings for each of 5 phases and all of 20 regions are within it
MOST_COMBINED = 2**20
ROW_HOLDS = 1e-9
DISTINCT_DIGITS = 12
APART = 1e-9
KNOWN_COMPARED = 32
"""Points that all others are compared with: more cost more than the sorting that they spare."""
WHOLE_BOUND = 1e-6


def menus(p: Program, most: int = MOST_COMBINED) -> Grid | None:
    """All combinations, in the order of the file; None where something is divisible, or they are more than ``most``."""
    found: list[Array] = []
    if any(not d.integer and d.values is None for d in p.question.decide):
        return None
    n = milp.numbers(p).relaxed()
    for d in p.question.decide:
        values = _values_to_try(p, n, d, most)
        if values is None:
            return None
        found.append(values)
        if math.prod(len(v) for v in found) > most:
            return None
    return Grid(tuple(d.name for d in p.question.decide), tuple(found))


def _values_to_try(p: Program, n: Numbers, d: Decision, most: int) -> Array | None:
    if d.values is not None:
        return np.asarray(d.values, dtype=float)
    own = p.columns.index(d.name)
    if p.high[own] - p.low[own] <= 1.0:
        # nothing that limits say would leave out more than half, and trying it is quick
        return np.arange(math.ceil(p.low[own]), math.floor(p.high[own]) + 1, dtype=float)
    column = p.column(d.name)
    ends = [highs.minimise(n, s * column) for s in (1.0, -1.0)]
    if any(e.u is None for e in ends):
        return np.zeros(0) if ends[0].end is End.INFEASIBLE else None
    low, high = ends[0].bound, -ends[1].bound
    if not high - low < most:
        return None
    return np.arange(math.ceil(low - WHOLE_BOUND), math.floor(high + WHOLE_BOUND) + 1, dtype=float)


def points(question: Question, of: Grid, owner: int, report: Callable[[], None]) -> list[Piece]:
    """The complete set of undominated designs, by rising first objective (falling where it is maximised).

    A vertex' ``at`` are the values of the decided quantities. Of designs that are equal in both objectives the
    one with the smaller decided quantities, in the order of the file, is kept.
    """
    left, kept = Table({}, question, {n: np.zeros(0) for n in of.names}), np.zeros((0, 2))
    for part in of.parts(question):
        at = _coordinates(part)
        near = ~_clearly_worse(at, kept)
        left, kept = left.joined(part.take(near)), np.concatenate([kept, at[near]])
        best = _undominated(kept)
        left, kept = left.take(best), kept[best]
        report()
    if not len(kept):
        return []
    designs = np.reshape(list(left.x.values()), (len(of.names), len(kept))).T
    vertices = [Vertex(float(a), float(b), u, owner) for (a, b), u in zip(kept, designs, strict=True)]
    return envelope.points([Piece(v, v) for v in vertices])


def _coordinates(t: Table) -> Array:
    """Both objectives of some designs, to be small; infinite where a limit is broken."""
    at, ratios = enumeration.numbers(t, t.question, ONE)
    shape = (1, t.size)
    both = np.stack([full(enumeration.minimised(t, at, k), shape)[0] for k in range(2)], axis=1)
    allowed = (enumeration.excess(ratios, shape)[0] <= ROW_HOLDS) & np.isfinite(both).all(axis=1)
    return np.where(allowed[:, None], both, np.inf)


def _clearly_worse(at: Array, known: Array) -> NDArray[np.bool_]:
    """Which points some known one betters in both coordinates by more than rounding: compared before sorting."""
    (a, b), found = at.T, np.zeros(len(at), dtype=bool)
    for first, second in (known + APART * np.abs(known))[:: max(len(known) // KNOWN_COMPARED, 1)]:
        found |= (a > first) & (b > second)
    return found


def _undominated(at: Array) -> NDArray[np.int64]:
    """Places of the undominated points in their order, of equal ones the first."""
    rough = _rounded_levels(at)
    order = np.lexsort((rough[:, 1], rough[:, 0]))
    b = rough[order, 1]
    before = np.concatenate([[np.inf], np.minimum.accumulate(b)[:-1]])
    return np.sort(order[b < before])


def _rounded_levels(at: Array) -> Array:
    """Numbers without the digits that only rounding tells apart."""
    with np.errstate(all="ignore"):
        size = 10.0 ** (DISTINCT_DIGITS - 1 - np.floor(np.log10(np.abs(at))))
        return np.where(np.isfinite(size) & np.isfinite(at), np.round(at * size) / size, at)
