"""From questions to answers: of one question, or of the points of a block of a grid.

A block is given to the ways that answer many points at once and are for its questions (``solvers.paths`` asks them),
what one leaves over to the next. What is left in the end is answered as single questions are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dse.system.arrays import Bools
from formulations import handover
from results import dataset
from results.solution import Solution
from scenarios.question import Question
from solvers import certain, feasible_values

if TYPE_CHECKING:
    from results.dataset import Arrays, Layout
    from scenarios.sweep.grids import Grid
    from solvers.many_points import Path

NO_REASON = "no reason was kept"


def answer(question: Question, *, neighbours: bool = True, brief: bool = False, why: bool = True) -> Solution:
    """Answer a question with at most one objective.

    ``neighbours``: for integer problems also look for the limit values at which the answer next changes (slower).
    ``brief``: only the objective, its bound and status are of interest: any of the best designs is handed out, and why
    there is none is not told.
    ``why``: where there is no design, which limits conflict and what would do (slow where questions are programs; of
    samplers, and questions whose numbers are uncertain, it is always told).
    Never raises for a well-formed question: what goes wrong becomes status ``error`` with its message. Only a
    database that is asked to keep the trials of a sampler, and cannot, is a StoreError.
    """
    if question.uncertain is not None:
        from solvers.robust import decide_now  # slow to import, and most questions are certain

        return decide_now.answer_now(question, fresh=not brief, brief=brief)
    return certain.answer(question, neighbours=neighbours, brief=brief, why=why)


def answers(
    grid: Grid,
    plan: Layout,
    region: tuple[slice, ...],
    ways: Iterable[Path],
    apart: Callable[[Bools], Sequence[Solution]],
) -> tuple[Arrays, int, handover.Tally]:
    """Answer the points of a block of a grid; also says how many points its ways left over, and why.

    ``plan``: what is kept of an answer. ``ways``: what answers whole blocks; what one leaves over is given to the next.
    ``apart``: answers the points of the block that are left in the end, in C order, each by itself.
    """
    shape = tuple(s.stop - s.start for s in region)
    arrays, left = dataset.blank(plan, shape), np.ones(shape, bool)
    began, last, asked = time.perf_counter(), handover.Tally(), np.zeros(shape, bool)
    with handover.collected() as why:
        for path in ways:
            last.log_unexpected()
            asked = left
            with handover.collected() as last, handover.guarded(path.method, int(np.count_nonzero(asked))):
                found, still = path.solve(plan, region, None if asked.all() else asked)
                left = asked & still
                arrays = found if asked.all() else merged(arrays, found, asked & ~left)
            last.complete(int(np.count_nonzero(left)), NO_REASON)
            if not left.any():
                break
        last.pass_on()
        alone = int(np.count_nonzero(left & asked))
        if asked.any():
            if "seconds" in arrays:
                arrays["seconds"][...] = (time.perf_counter() - began) / max(left.size, 1)
            feasible_values.complete(grid, plan, region, arrays, left, partial(answer, neighbours=False))
        if left.any():
            put_alone(plan, arrays, left, apart(left))
        feasible_values.keep_on_own_side(grid, plan, region, arrays)
    return arrays, alone, why


def merged(arrays: Arrays, others: Arrays, there: Bools) -> Arrays:
    """Put what others say of some points into the arrays of a block."""
    for name, values in others.items():
        arrays[name][there] = values[there]
    return arrays


def put_alone(plan: Layout, arrays: Arrays, left: Bools, solutions: Sequence[Solution]) -> None:
    """Put the answers of the points that are ``left`` into the arrays of their block."""
    for name, values in dataset.to_arrays(plan, solutions, (len(solutions),)).items():
        arrays[name][left] = values
