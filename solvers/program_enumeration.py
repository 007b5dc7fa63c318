"""Every combination of whole numbers and menus, evaluated at once: what no other one betters in both objectives."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations import evaluation
from formulations.program import Program
from scenarios.question import Decision, Question
from solvers import envelope, highs, milp
from solvers.envelope import Array, Piece, Vertex

# 16 settings for each of 5 phases and all of 20 regions are within it
MOST = 2**20
CHUNK = 50_000
HOLDS = 1e-9
DIGITS = 12
WHOLE = 1e-6


@dataclass(frozen=True, slots=True)
class Menus:
    """The values that each decided quantity may have, in the order of the file."""

    question: Question
    values: tuple[Array, ...]

    @property
    def count(self) -> int:
        """How many combinations there are."""
        return math.prod(len(v) for v in self.values)

    def columns(self, numbers: NDArray[np.int64]) -> list[Array]:
        """The values of the combinations of these numbers; the last quantity changes fastest."""
        if not self.values:
            return []
        places = np.unravel_index(numbers, [len(v) for v in self.values])
        return [v[k] for v, k in zip(self.values, places, strict=True)]


def menus(p: Program, most: int = MOST) -> Menus | None:
    """What is to be combined; None where something is divisible, or there are more than ``most`` combinations."""
    found: list[Array] = []
    if any(not d.integer and d.values is None for d in p.question.decide):
        return None
    n = milp.numbers(p).relaxed()
    for d in p.question.decide:
        values = _values(p, n, d, most)
        if values is None:
            return None
        found.append(values)
        if math.prod(len(v) for v in found) > most:
            return None
    return Menus(p.question, tuple(found))


def _values(p: Program, n: highs.Numbers, d: Decision, most: int) -> Array | None:
    if d.values is not None:
        return np.asarray(d.values, dtype=float)
    own = p.columns.index(d.name)
    if p.high[own] - p.low[own] <= 1.0:
        # nothing that limits say would leave out more than half, and trying it is quick
        return np.arange(math.ceil(p.low[own]), math.floor(p.high[own]) + 1, dtype=float)
    column = p.column(d.name)
    ends = [highs.minimise(n, s * column) for s in (1.0, -1.0)]
    if any(e.u is None for e in ends):
        return np.zeros(0) if ends[0].end is highs.End.INFEASIBLE else None
    low, high = ends[0].bound, -ends[1].bound
    if not high - low < most:
        return None
    return np.arange(math.ceil(low - WHOLE), math.floor(high + WHOLE) + 1, dtype=float)


def points(of: Menus, owner: int, report: Callable[[], None]) -> list[Piece]:
    """The complete set of undominated designs, by rising first objective (falling where it is maximised).

    A vertex' ``at`` are the values of the decided quantities. Of designs that are equal in both objectives the
    one with the smaller decided quantities, in the order of the file, is kept.
    """
    kept = np.zeros((0, 2))
    which = np.zeros(0, dtype=np.int64)
    for start in range(0, of.count, CHUNK):
        numbers = np.arange(start, min(start + CHUNK, of.count))
        at = _coordinates(of, numbers)
        every = np.concatenate([kept, at])
        names = np.concatenate([which, numbers])
        best = _undominated(every, names)
        kept, which = every[best], names[best]
        report()
    if not len(which):
        return []
    designs = np.array(of.columns(which)).T if of.values else np.zeros((len(which), 0))
    found = [Vertex(float(a), float(b), u, owner) for (a, b), u in zip(kept, designs, strict=True)]
    return envelope.points([Piece(v, v) for v in found])


def _coordinates(of: Menus, numbers: NDArray[np.int64]) -> Array:
    """Both objectives of some combinations, to be small; infinite where a limit is broken."""
    question = of.question
    x = dict(zip((d.name for d in question.decide), of.columns(numbers), strict=True))
    with np.errstate(all="ignore"):
        at = evaluation.metrics(question, x)
        rows = evaluation.ratios(question, x, at)
        found = [_full(_goal(question, x, at, k), len(numbers)) for k in range(2)]
        allowed = np.ones(len(numbers), dtype=bool)
        for ratio in rows.values():
            allowed &= _full(ratio, len(numbers)) <= 1.0 + HOLDS
    both = np.stack(found, axis=1)
    allowed &= np.isfinite(both).all(axis=1)
    return np.where(allowed[:, None], both, np.inf)


def _goal(question: Question, x: Mapping[str, Any], at: Mapping[str, Any], k: int) -> Any:
    value = evaluation.objective(question, x, at, k)
    return -value if question.objectives[k].maximize else value


def _full(values: Any, count: int) -> Array:
    return np.broadcast_to(np.asarray(values, dtype=float), (count,))


def _undominated(at: Array, names: NDArray[np.int64]) -> NDArray[np.int64]:
    """Places of the undominated points, of equal ones the first by name."""
    rough = _rounded(at)
    order = np.lexsort((names, rough[:, 1], rough[:, 0]))
    b = rough[order, 1]
    before = np.concatenate([[np.inf], np.minimum.accumulate(b)[:-1]])
    return np.asarray(order[b < before])


def _rounded(at: Array) -> Array:
    """Numbers without the digits that only rounding tells apart."""
    with np.errstate(all="ignore"):
        size = 10.0 ** (DIGITS - 1 - np.floor(np.log10(np.abs(at))))
        return np.where(np.isfinite(size) & np.isfinite(at), np.round(at * size) / size, at)
