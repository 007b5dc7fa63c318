"""Geometric programs: all points of a block solved together, each with its own certificate.

The model's arithmetic runs once with arrays for coefficients; an interior-point kernel then solves point after point.
Large grids are worth a compiler, smaller ones are solved by the same method in NumPy.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations import batch, evaluation, handover, over_grid
from formulations.batch import Batch
from formulations.evaluation import RowKey
from formulations.over_grid import Region, Spread
from results.dataset import BINDING, CONFLICTING, SLACK, STATUS_CODES, Arrays, Layout
from results.limits import base_name
from results.solution import Status
from results.variables import Variable
from scenarios.grids import Grid
from solvers import gp, work
from solvers.batched import geometric_near, geometric_ties, relaxed_limits
from solvers.batched.evaluated import blank
from solvers.batched.geometric_answers import OTHER_TIES, Answers, answered, binding, elasticity
from solvers.batched.geometric_near import Anchors, Found
from solvers.batched.geometric_ties import Solver, Stages
from solvers.batched.offers import OF_A_STRUCTURE, OTHER_KIND, Offer, cut_up, pays, too_few
from solvers.gp_terms import Array

WAY = "geometric programs solved together"
KIND = "geometric program"
PIECE = 50_000
"""Points of a piece: setting up the arithmetic takes some ms, and two of them make a chunk."""
FEWEST_NEAR = 8
"""Points for each that is answered in full from which the others start from those."""


def way(grid: Grid) -> Offer:
    """Return this way if every point's question is a geometric program."""
    if not _structured(grid):
        return OTHER_KIND
    if grid.size < OF_A_STRUCTURE:
        return too_few(KIND, OF_A_STRUCTURE)
    found = Geometric(batch.apart(grid), pays(Geometric(over_grid.spread(grid), compiled=False), grid))
    if found.spread.runs * OF_A_STRUCTURE > max(grid.size, 1):
        # most of the work would be in setting up blocks of a few points
        return cut_up(KIND)
    return Offer(found)


def _structured(grid: Grid) -> bool:
    """Whether the question is a geometric program at the first point, for all names and machines."""
    return all(batch.structure(grid.question(index)) is not None for index in grid.kinds())


@dataclass(frozen=True, slots=True)
class Geometric:
    """The way itself; see ``solvers.batched.path.Path``."""

    spread: Spread
    compiled: bool
    kind: str = "batch"
    threads: bool = True

    @property
    def method(self) -> str:
        """How, in words."""
        how = "compiled interior point" if self.compiled else "interior point"
        return f"{how} over all points of a chunk, each with its own bound; what that leaves over one by one"

    @property
    def work(self) -> float:
        """Declared seconds of a point: so much for each term of its program."""
        problem = work.first_problem(self.spread.grid)
        whole = problem is not None and any(v.discrete for v in problem.variables)
        how = "compiled" if self.compiled else "numpy"
        return work.seconds(f"geometric {how}{' whole' * whole} term", work.terms(problem))

    def solve(self, plan: Layout, region: Region) -> tuple[Arrays, NDArray[np.bool_]]:
        """Answer a block: the arrays of its dataset, and the points left to be solved one by one."""
        if self.spread.scattered:
            return over_grid.in_order(self, plan, region)
        shape = tuple(s.stop - s.start for s in region)
        arrays, left = blank(plan, shape), np.ones(shape, bool)

        def answer(piece: Region) -> None:
            at = tuple(slice(p.start - s.start, p.stop - s.start) for p, s in zip(piece, region, strict=True))
            size = math.prod(s.stop - s.start for s in piece)
            with handover.guarded(WAY, size):
                made = self._batch(piece)
                if made is None:
                    return
                found = self._answered(made, self._anchors(piece))[0]
                if found is None:
                    handover.hand_over(OTHER_TIES, size)
                    return
                _fill(plan, made, found, {name: a[at] for name, a in arrays.items()}, self._solver(made))
                for reason, points in Counter(found.why[found.status == 0]).items():
                    handover.hand_over(reason, points)
                left[at] = (found.status == 0).reshape(made.shape)

        # the compiler has a lock: a thread that waits for it finds what the other one compiled
        handover.side_by_side(answer, batch.pieces(self.spread, region, PIECE), threads())
        return arrays, left

    def _batch(self, piece: Region) -> Batch | None:
        """Run the model's arithmetic for a piece; None, with a reason, where that is not the same as for one point."""
        size = math.prod(
            len(range(*s.indices(n))) for s, n in zip(piece, self.spread.grid.shape, strict=True)
        )
        made = None
        with handover.guarded(batch.NOT_ARRAYS, size, handover.ARITHMETIC):
            made = batch.batch(self.spread, piece)
            if made is None:
                handover.hand_over(batch.NOT_ARRAYS, size)
        return made

    def _anchors(self, piece: Region, steps: tuple[int, ...] | None = None) -> Anchors | None:
        """Answer a few points around a piece, for the others to start from; None where that is not worth it.

        ``steps``: how far these are from each other. They are settled from fewer ones still in their turn.
        """
        shape, alone = self.spread.grid.shape, self.spread.apart
        steps = steps or geometric_near.strides(shape, alone)
        if not self.compiled or math.prod(steps) < FEWEST_NEAR:
            return None
        region, which = geometric_near.places(piece, batch.runs(self.spread, piece), steps)
        made = self._batch(region)
        if made is None or made.discrete is not None:
            return None
        farther = geometric_near.farther(steps, shape)
        start = None if farther is None else self._anchors(region, farther)
        found, rule, near = self._answered(made, start)
        if found is None or rule is None:
            return None
        best, conflicting = (found.status == STATUS_CODES[s] for s in (Status.OPTIMAL, Status.INFEASIBLE))
        y = np.log(np.stack([found.x[v.name] for v in made.problem.variables], axis=-1))
        conflict = found.conflict & conflicting[:, None]
        told = None if start is None or near is None else (start, near)
        return Anchors(geometric_near.known(rule, best, y, found.multipliers, conflict, told), which)

    def _answered(
        self, made: Batch, start: Anchors | None
    ) -> tuple[Answers | None, Stages | None, Found | None]:
        """Answer a batch, as far as that goes from what is known near by."""
        rule = geometric_ties.stages(made, self._solver(made))
        if rule is None:
            return None, None, None
        near = None if start is None else geometric_near.settled(rule, start)
        return answered(made, rule.solve, rule=rule, near=near), rule, near

    def _solver(self, made: Batch) -> Solver:
        if not self.compiled:
            return gp.solve
        from solvers.batched import kernel

        return partial(kernel.solve, width=made.low.shape[1])


def threads() -> int:
    """How many threads may work side by side: a worker's own, in another process one for each core."""
    if "distributed.worker" in sys.modules:
        from distributed import get_worker

        try:
            return int(get_worker().state.nthreads)
        except ValueError:  # no worker is at work in this thread
            pass
    from dask.system import CPU_COUNT

    return int(CPU_COUNT)


def _fill(plan: Layout, made: Batch, found: Answers, into: Mapping[str, Any], solve: Solver) -> None:
    """Put the answers of a piece where they belong; what is left over stays blank."""
    status = found.status.reshape(made.shape)
    best = status == STATUS_CODES[Status.OPTIMAL]
    numbers = {**made.question.given, **{n: v.reshape(made.shape) for n, v in found.x.items()}, **found.at}
    own = {m.name for m in made.question.model.limits}
    roles = {"objective": found.objective, "bound": found.bound, "gap": found.gap}
    for variable in plan.variables:
        array = into[variable.name]
        if variable.role in roles:
            array[...] = np.where(best, roles[variable.role].reshape(made.shape), np.nan)
        elif variable.role == "status":
            array[...] = status
        elif variable.role == "decided" and variable.key in found.x:
            array[...] = np.where(best, numbers[variable.key], np.nan)
        elif variable.role == "metric" and variable.key in found.at and variable.key not in own:
            array[...] = np.where(best, found.at[variable.key], np.nan)
        elif variable.role == "family":
            for place, name in variable.elements.items():
                if name in numbers:
                    array[(..., *place)] = np.where(best, numbers[name], np.nan)
    _fill_limits(plan, made, found, into, best)
    needed = _of_role(plan, into, "would_do")
    if needed is not None and found.names:
        values = relaxed_limits.of_batch(made, found.names, found.conflict, solve)
        for i, limit in enumerate(plan.limits):
            if base_name(limit) in found.names:
                needed[..., i] = values[:, found.names.index(base_name(limit))].reshape(made.shape)


def _fill_limits(plan: Layout, made: Batch, found: Answers, into: Mapping[str, Any], best: Any) -> None:
    """State and worth of every limit."""
    states = _of_role(plan, into, "binding")
    worth = _of_role(plan, into, "elasticity")
    if states is None or worth is None:
        return
    keys: dict[str, RowKey] = {evaluation.label(key, found.ratios): key for key in found.ratios}
    for i, limit in enumerate(plan.limits):
        here: Any = states[..., i]
        key = keys.get(limit)
        if key is not None:
            state = np.where(binding(made, found, key), BINDING, SLACK).reshape(made.shape)
            # a limit on what does not exist is none
            exists = best & np.isfinite(found.ratios[key]).reshape(made.shape)
            here[...] = np.where(exists, state, here)
            if key.side != "model":
                e: Array = elasticity(made, found, key)
                known = best & np.isfinite(e).reshape(made.shape)
                worth[..., i] = np.where(known, e.reshape(made.shape), np.nan)
        if base_name(limit) in found.names or limit in found.names:
            clash = found.conflict[:, found.names.index(base_name(limit))].reshape(made.shape)
            here[clash] = CONFLICTING


def _of_role(plan: Layout, into: Mapping[str, Any], role: str) -> Any:
    found: list[Variable] = [v for v in plan.variables if v.role == role]
    return into[found[0].name] if found else None
