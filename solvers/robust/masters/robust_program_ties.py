"""Which of several equally good designs for many worlds is handed out, where each world is a linear program.

The rule is that of one world (``Question.tie_order``, then the smaller decided quantities in file order), with metrics
at their means over the worlds. Each of them in turn is made least over the designs that are no worse in what came
before: a program of the same kind, whose cuts are made where a design shows them to be missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dse.models.arithmetic import CannotTake
from dse.system.arrays import Array, Bools
from formulations.tolerances import TIE
from formulations.uncertainty.measures import MEAN
from formulations.uncertainty.robust_program import Posed, ties
from solvers.designs import as_good_as
from solvers.linear import milp, milp_ties
from solvers.robust.masters.program_master import Cuts, Master, Measured, new


def settled(master: Master, goal: Measured | None, u: Array) -> Array:
    """Return the design that the rule of ties takes of those as good as ``u``; the master's rows are used up.

    A step that no program can take is left out.
    """
    asked = master.posed
    held = [] if goal is None else [_no_worse(goal, u)]

    def worse(u: Array, *_: Any) -> bool:
        cuts = [(h.cut(u), h.end) for h in held]
        grown = [new(master.rows, row) for row, end in cuts if float(row @ u) > TIE * abs(end)]
        return any(grown)

    # what bounded the measure so far bounds it still
    master.rows += [_ended(c, h.end) for c in master.cuts for h in held]
    metrics = list(ties(asked))
    for k, of in enumerate([*metrics, *_decided(asked)]):
        # whether there is another design takes longer than a step where there are many: asked before and in between
        if k in (0, len(metrics)) and not master.switches and milp_ties.alone(master.numbers(), u):
            break
        step = Measured(of, MEAN)
        try:
            master.cuts = [step.cut(u)]
            _, then = master.least(step, TIE, master.solve, worse)
        except CannotTake:  # a number over a sum that may be 0
            continue
        # of what has no divisor at all 0 / 0 is no ratio
        if then is None or (asked.ratio and not (asked.under(then) @ then > 0.0).all()):
            continue
        before = list(master.rows)
        held.append(_no_worse(step, then))
        master.rows += [_ended(c, held[-1].end) for c in master.cuts]
        if (far := _at_ends(master, then)).any():
            # what costs nothing may be at its end, while what has no end settles nothing
            few = Measured(partial(_row_of, far / master.high), MEAN)
            master.cuts = [few.cut(then)]
            _, less = master.least(few, TIE, master.solve, worse)
            if less is None or _at_ends(master, less).any():
                held.pop()
                master.rows = before
                continue
            then = less
        u = then
    return u


def _at_ends(master: Master, u: Array) -> Bools:
    """Which of the shared columns are at an end that only a search has."""
    p, shared = master.posed.program, master.posed.shared
    return np.asarray(p.boxed[shared] & (u[:-1] >= master.high * (1.0 - milp.AT_PROGRAM_END)))


def _row_of(columns: Array, _u: Array) -> Array:
    """A sum of shared columns as the row of one world."""
    return np.append(columns, 0.0)[None]


def _no_worse(step: Measured, u: Array) -> Measured:
    return replace(step, end=float(as_good_as(step.value(u))))


def _ended(cut: Array, end: float) -> Array:
    row = cut.copy()
    row[-1] -= end
    return row


def _decided(asked: Posed) -> Iterator[Cuts]:
    """What is decided, in file order."""
    p, shared = asked.program, asked.shared
    for d in p.question.decide[: milp_ties.MOST_RANGED]:
        form = p.column(d.name)[[*shared, -1]][None]
        yield lambda u, form=form: form  # type: ignore[misc]
