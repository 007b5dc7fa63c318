"""The least measure over few samples as one mixed-integer program, in which each sample has columns of its own.

What is decided is shared, and so is whatever is the same function of it in all samples: its value in one of them is
that in each. Everything else stands there once for each sample (the extensive form: Birge and Louveaux, Introduction to
Stochastic Programming, 2011, section 1.2).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dse.models.arithmetic import CannotTake
from dse.system.arrays import Array, Bools
from dse.system.records import dataclass
from formulations.programs.program import Program, program
from scenarios.question import Question
from solvers.linear import highs, milp
from solvers.linear.linear_program import Numbers

MOST_COLUMNS = 5000
"""Of such a program: from there on a search may take minutes."""


@dataclass(frozen=True, slots=True)
class Joint:
    """The best design by name, None where none was found, and the least that the mean can be."""

    x: dict[str, float] | None
    bound: float


def least_measure(questions: Sequence[Question], share: float) -> Joint:
    """Find the design whose objective has the least mean over the worst ``share`` of samples, within all their limits.

    Of what is made greatest the measure of its negative is least, and that is bounded. The mean of the worst is the
    least of ``t + sum of max(loss - t, 0) / tail`` over t (see ``formulations.uncertainty.measures``).

    Raises CannotTake, or NotPosynomial, where the samples are not mixed-integer programs that can be put together.
    """
    programs = [program(q, searched=True) for q in questions]
    first = programs[0]
    losses = [_form_to_be_small(p) for p in programs]
    count = len(programs)
    tail = max(share * count, 1.0)
    above = 0 if share >= 1.0 else 1 + count
    shared = [c for c in first.columns if all(c in p.columns for p in programs)]
    own_columns = sum(len(p.columns) - len(shared) for p in programs)
    size = len(shared) + own_columns + above
    if size > MOST_COLUMNS:
        raise CannotTake("too many samples for one program")
    place = {c: k for k, c in enumerate(shared)}
    low, high, integer = np.full(size, -np.inf), np.full(size, np.inf), np.zeros(size, bool)
    cost, rows, equal, taken = np.zeros(size + 1), list[Array](), list[Bools](), len(shared)
    level = size - above
    if above:
        low[level + 1 :] = 0.0
        cost[level], cost[level + 1 : size] = 1.0, 1.0 / tail
    for i, (p, loss) in enumerate(zip(programs, losses, strict=True)):
        own = [c for c in p.columns if c not in place]
        here = place | {c: taken + k for k, c in enumerate(own)}
        taken += len(own)
        at = np.array([here[c] for c in p.columns])
        n = milp.numbers(p)
        wide = np.zeros((len(n.rows), size + 1))
        wide[:, [*at, size]] = n.rows
        rows.append(wide)
        equal.append(n.equal)
        low[at], high[at] = np.maximum(low[at], n.low), np.minimum(high[at], n.high)
        integer[at] = n.integer
        form = np.zeros(size + 1)
        form[[*at, size]] = loss
        if above:
            form[level], form[level + 1 + i] = -1.0, -1.0
            rows.append(form[None])
            equal.append(np.zeros(1, bool))
        else:
            cost += form / count
    every, alike = np.concatenate(rows), np.concatenate(equal)
    # what only shared columns enter is said by each sample
    once = np.sort(np.unique(np.column_stack([every, alike]), axis=0, return_index=True)[1])
    found = highs.minimise(Numbers(every[once], alike[once], low, high, integer), cost)
    if found.u is None:
        return Joint(None, -np.inf)
    u = np.ones(len(first.columns) + 1)
    u[[k for k, c in enumerate(first.columns) if c in place]] = found.u[: len(shared)]
    return Joint(first.design(u), min(found.bound, found.value))


def _form_to_be_small(p: Program) -> Array:
    """What is to be small in a sample, as one affine form."""
    if p.exact or p.open or p.goal is None or p.under is None or p.boxed.any():
        raise CannotTake("maxima that are chosen apart, or numbers that only a search ends")
    if not p.integer.any():
        raise CannotTake("a sample that is no mixed-integer program")
    of, by = (p.goal, p.under) if p.sign > 0 else (-p.under, p.goal)
    if by[:-1].any() or not by[-1] > 0.0:
        raise CannotTake("a sum that is divided by another one")
    return np.asarray(of / by[-1])
