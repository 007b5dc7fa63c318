"""Which of several equally good designs for many worlds is handed out, where each world is a linear program.

The rule is that of one world (``Question.tie_order``, then the smaller decided quantities in file order), with metrics
at their means over the worlds. Each of them in turn is made least over the designs that are no worse in what came
before: a program of the same kind, whose cuts are made where a design shows them to be missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dse.system.records import dataclass
from formulations.row_keys import RowKey
from formulations.tolerances import TIE
from formulations.uncertainty.measures import MEAN, Weighing
from formulations.uncertainty.robust_program import Posed, ties
from solvers.linear import highs
from solvers.linear.linear_program import End, Numbers, Result

Array = NDArray[np.float64]
Cuts = Callable[[Array], Array]
"""Affine functions (n, S + 1) of the shared columns, exact at a design, below the true ones elsewhere."""
MOST_TIED = 40
"""Decided quantities that settle ties, at most."""
TIE_ROUNDS = 100
APART = 1e-7
ROBUST_TIE_SEED = 20260101


class Master(Protocol):
    """The program over the worlds so far (``solvers.robust.masters.robust_program``)."""

    rows: list[Array]
    cuts: list[Array]

    def numbers(self) -> Numbers:
        """The rows over the shared columns, without the measure."""

    def add(self, u: Array, ratios: Mapping[RowKey, Array]) -> bool:
        """Hold what is broken; tell whether there was anything."""

    def solve(self) -> Result:
        """Minimise the largest of the cuts."""


@dataclass(frozen=True, slots=True)
class _Held:
    """What may not get worse: the measure of these cuts at most ``end``."""

    of: Cuts
    measure: Weighing
    end: float

    def row(self, u: Array) -> tuple[Array, float]:
        """The row (S + 1) <= 0 that is exact at a design, and how far that lies beyond it."""
        forms = self.of(u)
        row = self.measure.weights(forms @ u) @ forms
        row[-1] -= self.end
        return row, float(row @ u)


def settled(
    asked: Posed,
    master: Master,
    measure: Weighing,
    u: Array,
    ratios: Callable[[Array], Mapping[RowKey, Array]],
) -> Array:
    """Return the design that the rule of ties takes of those as good as ``u``; the master's rows are used up.

    ``ratios``: of all limits at a design. A step that no program can take is left out.
    """
    held = [_no_worse(asked.losses, measure, u)] if asked.goal else []
    # what bounded the measure so far bounds it still
    master.rows += [_ended(c, h.end) for c in master.cuts for h in held]
    for of in _steps(asked):
        if _is_only_point(master.numbers(), u):
            break
        then = _least_mean_design(master, of, held, u, ratios)
        if then is None:
            continue
        u = then
        held.append(_no_worse(of, MEAN, u))
        master.rows += [_ended(c, held[-1].end) for c in master.cuts]
    return u


def _no_worse(of: Cuts, measure: Weighing, u: Array) -> _Held:
    value = float(measure.value(of(u) @ u))
    return _Held(of, measure, value + TIE * abs(value))


def _ended(cut: Array, end: float) -> Array:
    row = cut.copy()
    row[-1] -= end
    return row


def _steps(asked: Posed) -> Iterator[Cuts]:
    """What ties go by, in order."""
    yield from ties(asked)
    p, shared = asked.program, asked.shared
    for d in p.question.decide[:MOST_TIED]:
        form = p.column(d.name)[[*shared, -1]][None]
        yield lambda u, form=form: form  # type: ignore[misc]


def _is_only_point(n: Numbers, u: Array) -> bool:
    """Whether no other point holds all rows: none lies apart along a direction in which all differ."""
    w = np.append(np.random.default_rng(ROBUST_TIE_SEED).uniform(1.0, 2.0, u.size - 1), 0.0)
    at, scale = float(w @ u), APART * max(float(np.abs(u[:-1]).max(initial=0.0)), 1.0)
    ends = [highs.minimise(n, s * w) for s in (1.0, -1.0)]
    return all(e.u is not None and abs(float(w @ e.u) - at) <= scale for e in ends)


def _least_mean_design(
    master: Master,
    of: Cuts,
    held: list[_Held],
    u: Array,
    ratios: Callable[[Array], Mapping[RowKey, Array]],
) -> Array | None:
    """Return the design with the least mean of one step; None where no program finds it."""
    master.cuts = [of(u).mean(0)]
    for _ in range(TIE_ROUNDS):
        found = master.solve()
        if found.end is not End.FOUND or found.u is None:
            return None
        there = np.append(found.u[:-2], 1.0)
        grown = master.add(there, ratios(there))
        for h in held:
            row, beyond = h.row(there)
            if beyond > TIE * abs(h.end) and not any(np.array_equal(row, r) for r in master.rows):
                master.rows.append(row)
                grown = True
        forms = of(there)
        cut = forms.mean(0)
        value = float(cut @ there)
        fresh = not any(np.array_equal(cut, c) for c in master.cuts)
        if not grown and (not fresh or value - found.bound <= TIE * abs(value)):
            return there
        if fresh:
            master.cuts.append(cut)
    return None
