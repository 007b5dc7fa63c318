"""Nothing decided: a block of points evaluated as arrays, piece by piece so that a piece stays in the cache.

What arrays cannot say (a division by zero, an overflow: in plain floats these are errors with a message) is left to
be answered point by point.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from dse.system.arrays import Bools
from dse.system.records import dataclass
from formulations import evaluation, failures, handover
from formulations.grids import over_grid
from formulations.grids.over_grid import Region, Spread
from formulations.handover import ARITHMETIC
from formulations.row_keys import RowKey
from formulations.tolerances import BINDS, HOLDS
from results.dataset import (
    BINDING,
    CONFLICTING,
    NOT_APPLICABLE,
    NOT_BINDING,
    STATUS_CODES,
    Arrays,
    Layout,
    blank,
    only,
)
from results.solution import Status
from results.telling.limits import base_name
from results.variables import Variable
from scenarios.question import Question
from scenarios.sweep.grids import Grid
from solvers import judgement, work
from solvers.judgement import Judged
from solvers.many_points.blocks import OverGrid
from solvers.many_points.offers import OTHER_KIND, Offer
from solvers.patterns import groups

EVALUATED, BROKEN = "evaluated; nothing was decided", "evaluated; a limit is broken"
EXTREME = "no number with arrays"
EVALUATED_TOGETHER = 32_768
"""Points of a piece: its dozen arrays of 256 kB stay in a cache of a few MB."""
UNCUT_POINTS = 64
"""A piece of so few points that cannot be evaluated is not cut further: its points are answered one by one."""
AGREE = 1e-12
"""Arrays and floats may round differently in a few dozen operations."""


def way(grid: Grid) -> Offer:
    """Return this way if nothing is decided at any point and the model's equations take arrays.

    A black box does not: it is asked once for each point, in processes of its own.
    """
    if any(question.decide or question.model.black_box for question in map(grid.question, grid.kinds())):
        return OTHER_KIND
    spread = over_grid.spread(grid)
    if _takes_arrays(spread):
        return Offer(Evaluated(spread))
    return Offer(
        reason="evaluation: the model's equations take plain numbers only; write them so that arrays pass"
    )


def _takes_arrays(spread: Spread) -> bool:
    """Try the equations on the first two values of each axis: a model of the user's may know plain floats only."""
    region = tuple(
        slice(0, 1 if alone else min(2, spread.stretches(i, slice(0, n))[0].stop))
        for i, (alone, n) in enumerate(zip(spread.apart, spread.grid.shape, strict=True))
    )
    with np.errstate(all="ignore"):
        try:
            plain = evaluation.metrics(spread.grid.first, {})
        except (
            ArithmeticError,
            TypeError,
            ValueError,
        ):  # what happens at this point is no reason to refuse the others
            return True
        try:
            found = evaluation.metrics(spread.question(region), {})
            firsts = {n: float(np.ravel(v)[0]) for n, v in found.items()}
        except ARITHMETIC:
            return False
    return plain.keys() == firsts.keys() and all(
        np.isclose(firsts[n], float(plain[n]), rtol=AGREE, atol=0.0, equal_nan=True) for n in plain
    )


@dataclass(frozen=True, slots=True)
class Evaluated(OverGrid):
    """The way itself; see ``solvers.paths.Path``. Several threads may use it at once."""

    method: str = "evaluated as arrays; nothing was decided"
    kind: str = "array"
    threads: bool = True
    explains: bool = True

    @property
    def work(self) -> float:
        """Declared seconds of a point: so much for each metric."""
        return work.seconds("evaluated metric", work.metrics(next(iter(self.grid.bases.values()))))

    def solve(self, plan: Layout, region: Region, asked: Bools | None = None) -> tuple[Arrays, Bools]:
        """Evaluate a block: only the variables that are in ``plan``, whatever points are asked.

        Without a status among them limits play no part, and a number that does not exist is inf or NaN, as in NumPy.
        """
        if self.spread.scattered and any(k is not None for k in self.spread.kinds):
            # only where names change need rows of one kind be together
            return over_grid.in_order(self, plan, region)
        shape = over_grid.sides(region)
        arrays = _empty(plan, shape)
        left = np.zeros(shape, bool)
        judged = any(v.role == "status" for v in plan.variables)
        for piece in self.spread.pieces(region, EVALUATED_TOGETHER):
            for done, found in self._numbers(piece, judged=judged):
                at = over_grid.within(done, region)
                if found is None:
                    left[at] = True
                else:
                    _fill(plan, found, {n: a[at] for n, a in arrays.items()}, judged=judged)
        return arrays, left

    def _numbers(self, piece: Region, *, judged: bool) -> Iterator[tuple[Region, Judged | None]]:
        """Evaluate a piece; where that fails somewhere, the parts of it in which it does not (None: it does)."""
        question = self.spread.question(piece)
        if not judged:
            with np.errstate(all="ignore"):
                yield (
                    piece,
                    _judgement_of(question, evaluation.metrics(evaluation.unraised(question), {}), {}),
                )
            return
        found = None
        try:
            with np.errstate(divide="raise", over="raise", invalid="raise", under="ignore"):
                at = evaluation.metrics(question, {})
                if why := failures.no_number(question, at):
                    raise FloatingPointError(why)
                found = _judgement_of(question, at, evaluation.ratios(question, {}, at))
        except ARITHMETIC as problem:  # the points at which it happens are answered (and fail) one by one
            sides = [s.stop - s.start for s in piece]
            longest = int(np.argmax(sides))
            if np.prod(sides) > UNCUT_POINTS:
                middle = piece[longest].start + sides[longest] // 2
                for half in (slice(piece[longest].start, middle), slice(middle, piece[longest].stop)):
                    part = (*piece[:longest], half, *piece[longest + 1 :])
                    yield from self._numbers(part, judged=judged)
                return
            handover.hand_over(f"{EXTREME}: {type(problem).__name__}: {problem}", int(np.prod(sides)))
        yield piece, found


def _judgement_of(question: Question, at: Mapping[str, Any], ratios: Mapping[RowKey, Any]) -> Judged:
    """The numbers of a piece; its objective is computed where it is put."""
    none = np.empty(0)
    return Judged(question, (), {}, at, ratios, none, none, none)


FILLED = frozenset({"metric", "family", "objective"})
"""Roles whose numbers are put in at every point, NaN where there is none."""


def _empty(plan: Layout, shape: tuple[int, ...]) -> Arrays:
    """Arrays for a block, as if nothing were computed, but for what is ``FILLED`` anyway."""
    rest = blank(only(plan, {v.name for v in plan.variables if v.role not in FILLED}), shape)
    filled = {v.name: np.empty(plan.shape_of(v, shape), v.numpy_dtype) for v in plan.variables}
    return {**filled, **rest}


def _fill(plan: Layout, found: Judged, into: Mapping[str, Any], *, judged: bool) -> None:
    """Put the numbers of a piece where they belong."""
    for variable in plan.variables:
        array = into[variable.name]
        if variable.role == "metric":
            array[...] = found.at.get(variable.key, np.nan)
        elif variable.role == "family":
            _fill_family(variable, found, array)
        elif variable.role == "objective":
            asked = found.question.objectives
            array[...] = evaluation.objective(found.question, {}, found.at) if asked else np.nan
    if judged:
        _judge(plan, found, into)


def _fill_family(variable: Variable, found: Judged, array: Any) -> None:
    numbers = {**found.question.given, **found.at}
    if len(variable.elements) < np.prod(array.shape[-len(next(iter(variable.elements))) :]):
        array[...] = np.nan
    for place, name in variable.elements.items():
        array[(..., *place)] = numbers.get(name, np.nan)


def _judge(plan: Layout, found: Judged, into: Mapping[str, Any]) -> None:
    """Say at each point whether all limits hold, and the state of each of them."""
    states = next((into[v.name] for v in plan.variables if v.role == "binding"), None)
    needed = next((into[v.name] for v in plan.variables if v.role == "would_do"), None)
    clash = next(into[v.name] for v in plan.variables if v.role == "status")
    broken: Any = np.zeros(clash.shape, bool)
    each: dict[str, Any] = {}
    places = {name: i for i, name in enumerate(plan.limits)}
    for key, ratio in found.ratios.items():
        name = evaluation.label(key, found.ratios)
        slack = judgement.slack(found.question, key, ratio, found.value(key))
        applies = _applies(found, key)
        missed = (slack < -HOLDS) & applies
        each[base_name(name)] = each.get(base_name(name), False) | missed
        new = missed & ~broken
        if states is not None:
            if name in places:
                here = states[..., places[name]]
                state = np.where(
                    applies, np.where(np.abs(slack) <= BINDS, BINDING, NOT_BINDING), NOT_APPLICABLE
                )
                # that another side of the same name is in conflict was said before
                here[...] = np.where(here == CONFLICTING, CONFLICTING, state)
            # the limit that is broken first is told under all its names, with the value at which it would hold
            for i in (
                i for i, other in enumerate(plan.limits) if base_name(name) in {other, base_name(other)}
            ):
                states[..., i][np.broadcast_to(new, clash.shape)] = CONFLICTING
                if needed is not None:
                    needed[..., i] = np.where(new, found.value(key), needed[..., i])
        broken |= new
    if needed is not None:
        # where several are broken no value of one of them would do
        many = sum((np.broadcast_to(b, clash.shape) for b in each.values()), np.zeros(clash.shape, int)) > 1
        needed[many] = np.where(np.isnan(needed[many]), np.nan, np.inf)
    clash[...] = np.where(broken, STATUS_CODES[Status.INFEASIBLE], STATUS_CODES[Status.EVALUATED])
    if plan.full:
        _explain(each, clash.shape, into)


def _explain(broken: Mapping[str, Any], shape: tuple[int, ...], into: Mapping[str, Any]) -> None:
    """Tell what stands beside the numbers: which limits are broken, each of them a conflict of its own."""
    if "certificate" in into:
        some = np.logical_or.reduce([np.broadcast_to(b, shape) for b in broken.values()], initial=False)
        into["certificate"][...] = np.where(np.broadcast_to(some, shape), BROKEN, EVALUATED)
    if "conflicts" in into and broken:
        flat = np.stack([np.broadcast_to(b, shape).ravel() for b in broken.values()], axis=1)
        texts = np.empty(len(flat), dtype=into["conflicts"].dtype)
        for which, kind in groups(flat):
            names = [[name] for name, b in zip(broken, kind, strict=True) if b]
            texts[which] = json.dumps(names) if names else ""
        into["conflicts"][...] = texts.reshape(shape)


def _applies(found: Judged, key: RowKey) -> Any:
    """Return where a limit is a limit: not where its bound says nothing, nor where its value does not exist."""
    there = ~np.isnan(np.asarray(found.value(key)))
    if key.side != "min":
        return there
    low = evaluation.bounds(found.question)[key.name][0]
    return there & (np.asarray(low, float) != over_grid.NO_BOUND)
