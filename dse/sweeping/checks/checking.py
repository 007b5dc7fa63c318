"""A block of answers re-evaluated by the model as arrays, and judged by nothing but its own numbers.

This shares no code with what solves: only the model's equations, which stand once. What is judged of each point:
metrics and objective are what the model says at the design; limits, bounds, whole numbers and lists of values hold;
the gap is that of objective and bound, and small where the answer is called optimal; nothing is said where there is no
answer.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dse.sweeping.checks import dual_bounds, world_checks
from dse.sweeping.checks.findings import EXAMPLES, Findings
from dse.sweeping.checks.parts import (
    ARRAYS_AGREE,
    EVALUATED,
    FEASIBLE,
    INFEASIBLE,
    OPTIMAL,
    Array,
    Part,
    Told,
    element_at,
    question_at_mask,
    relative_excess,
    stored_number,
)
from formulations import evaluation, handover
from formulations.grids.over_grid import Region, Spread, whole, within
from formulations.tolerances import HOLDS
from results.dataset import CONFLICTING, STATUS_CODES, Arrays, Layout
from results.solution import Status
from scenarios.axes import chance_axes
from scenarios.question import Question

CHECK = "the check of answers with arrays"
CHECKED_TOGETHER = 65_536
THIN_POINTS = 4_096

ERROR, UNBOUNDED = STATUS_CODES[Status.ERROR], STATUS_CODES[Status.UNBOUNDED]


def judged(spread: Spread, plan: Layout, region: Region, arrays: Arrays) -> Findings:
    """Judge a block as soon as it is computed.

    All of it where something is decided. Where nothing is, what is computed and what it would be held against are the
    same equations on the same arrays, so that a part of it is judged, to find what was put in the wrong place. Bounds
    are proved once more for such a part too: that takes as long as solving.
    """
    decided = any(base.decide for base in spread.grid.bases.values())
    whole = check(spread, plan, region, arrays) if decided else Findings()
    if decided and any(base.uncertain is not None for base in spread.grid.bases.values()):
        # the bound of one design for many worlds is not proved here
        return whole
    dice = np.random.default_rng([s.start for s in region])
    part: list[slice] = []
    room = THIN_POINTS
    for s in reversed(region):
        side = max(1, min(s.stop - s.start, room))
        room //= side
        start = int(dice.integers(s.start, s.stop - side + 1))
        part.insert(0, slice(start, start + side))
    at = within(tuple(part), region)
    some = check(spread, plan, tuple(part), {name: a[at] for name, a in arrays.items()}, bounds=decided)
    if not decided:
        return some
    whole.proved, whole.unproved, whole.doubtful = some.proved, some.unproved, some.doubtful
    return whole


def check(spread: Spread, plan: Layout, region: Region, arrays: Arrays, *, bounds: bool = False) -> Findings:
    """Judge the answers of a block; ``arrays`` hold the variables of ``plan`` over ``region``.

    ``bounds``: also prove those of optima once more, where the problem is convex.
    Designs of a black box are not evaluated again: a run may take hours, and may have effects.
    """
    if spread.scattered and any(k is not None for k in spread.kinds):
        return _in_order(spread, plan, region, arrays, bounds=bounds)
    found = Findings()
    base = next(iter(spread.grid.bases.values()))
    asked_once = base.model.black_box and spread.grid.at_a_point is None
    for piece in _alike_uncertain(spread, region):
        at = within(piece, region)
        part = Part(spread, plan, piece, {name: values[at] for name, values in arrays.items()})
        found.points += math.prod(part.shape)
        found.not_run += math.prod(part.shape) if asked_once else 0
        with np.errstate(all="ignore"):
            if "status" in arrays:
                _statuses(part, found)
            for asked, chosen, mask in () if asked_once else part.questions():
                if asked.uncertain is not None:
                    world_checks.check(part, asked, mask, found)
                    continue
                _check_designs_at(part, asked, chosen, mask, found)
                if bounds:
                    _bounds(part, asked, chosen, mask, found)
    return found


def _alike_uncertain(spread: Spread, region: Region) -> Iterator[Region]:
    """Go through the pieces of a block in each of which what is uncertain, and how it is measured, is the same."""
    apart = {c.along for c in spread.grid.changes if c.target.kind in chance_axes.KINDS}
    for piece in spread.pieces(region, CHECKED_TOGETHER):
        yield from itertools.product(
            *(
                [slice(i, i + 1) for i in range(s.start, s.stop)] if k in apart else [s]
                for k, s in enumerate(piece)
            )
        )


def _in_order(spread: Spread, plan: Layout, region: Region, arrays: Arrays, *, bounds: bool) -> Findings:
    """Judge a block in whose rows names change with those of one kind together; places stay those of the grid."""
    part, places = spread.in_order(region)
    at = np.ix_(*(p - s.start for p, s in zip(places, region, strict=True)))
    found = check(part, plan, whole(part.grid), {name: a[at] for name, a in arrays.items()}, bounds=bounds)

    def back(place: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(int(p[i]) for p, i in zip(places, place, strict=True))

    found.examples = [replace(e, place=back(e.place)) for e in found.examples]
    found.doubtful = [back(place) for place in found.doubtful]
    return found


def _statuses(part: Part, found: Findings) -> None:
    """Judge what each status promises, numbers aside."""
    status = part.arrays["status"]
    found.tell(
        ~np.isin(status, list(STATUS_CODES.values())),
        part.origin,
        "status",
        "not a status that an answer can have",
    )
    question = part.question()
    designed = (status == OPTIMAL) | (status == FEASIBLE) | (status == EVALUATED)
    for name in ("objective", "bound", "gap"):
        if name in part.arrays and not (name == "objective" and not question.decide):
            said = ~np.isnan(part.arrays[name]) & ~designed
            found.tell(said & (status != 0), part.origin, name, "a number where there is no answer")
    if "message" in part.arrays:
        silent = (status == ERROR) & (part.arrays["message"] == "")
        found.tell(silent, part.origin, "message", "an error without a message")
    if "binding" in part.arrays:
        clash = (part.arrays["binding"] == CONFLICTING).any(-1)
        found.tell(
            (status == INFEASIBLE) & ~clash, part.origin, "binding", "infeasible, and no limit in conflict"
        )
        found.tell(designed & clash, part.origin, "binding", "an answer, and a limit in conflict")
    if question.objectives and "gap" in part.arrays and question.decide:
        _check_gaps(part, question, found)


def _check_gaps(part: Part, question: Question, found: Findings) -> None:
    status, objective = part.arrays["status"], part.arrays["objective"]
    bound, gap = part.arrays["bound"], part.arrays["gap"]
    apart = np.abs(objective - bound)
    with np.errstate(divide="ignore", invalid="ignore"):
        proven = np.where(apart <= evaluation.LEAST_FLOAT, 0.0, apart / np.abs(objective))
    optimal = status == OPTIMAL
    found.tell(
        optimal & ~(proven <= question.gap),
        part.origin,
        "gap",
        f"called optimal with a gap above {question.gap:g}",
    )
    # the gap is a difference of nearly equal numbers: it is as exact as these are
    same = (gap == proven) | (np.isnan(gap) & np.isnan(proven))
    with np.errstate(invalid="ignore"):
        other = ~same & ~(np.abs(gap - proven) <= 1e-12 + ARRAYS_AGREE * np.abs(proven))
    designed = optimal | (status == FEASIBLE)
    found.tell(designed & other, part.origin, "gap", "not |objective - bound| / |objective|")
    if optimal.any():
        found.gap = max(found.gap, float(np.max(proven, where=optimal, initial=0.0)))
    goal = question.objectives[0]
    beyond = (objective - bound) * (1.0 if not goal.maximize else -1.0)
    better = (status == FEASIBLE) & (beyond < -question.gap * np.abs(objective))
    found.tell(better, part.origin, "bound", "the objective is better than its proved bound")


def _check_designs_at(
    part: Part, asked: Question, chosen: Mapping[str, str], mask: Array, found: Findings
) -> None:
    """Re-evaluate the designs at the points of ``mask``."""
    question = question_at_mask(asked, part.shape, mask)
    kept = {d.name: stored_number(part.plan, d.name, part.arrays) for d in question.decide}
    x = {name: values[mask] for name, values in kept.items() if values is not None}
    missing = [d.name for d in question.decide if d.name not in x]
    if missing:
        found.tell(mask, part.origin, missing[0], "decided, but not stored")
        return
    at = {**chosen, **_metrics_of_model(question, x, int(mask.sum()))}
    told = Told(part, mask, found)
    for name, pair in _reported(part, at, question, x, mask):
        told.differ(name, pair)
    _judge_decisions(question, x, told)
    if not (part.question().decide or "status" not in part.arrays):
        _judge_evaluated(question, x, at, told)
    elif part.question().decide:
        _judge_limits(question, x, at, told)


def _metrics_of_model(question: Question, x: Mapping[str, Any], count: int) -> Mapping[str, Any]:
    """Run the model on arrays, or point by point where it knows plain numbers only."""
    with handover.guarded(CHECK, count, handover.ARITHMETIC):
        return evaluation.metrics(question, x)

    def there(value: Any, i: int) -> Any:
        return value if isinstance(value, str) else float(np.broadcast_to(value, (count,))[i])

    found = []
    for i in range(count):
        given = {name: there(value, i) for name, value in question.given.items()}
        alone = {name: np.float64(there(value, i)) for name, value in x.items()}
        found.append(evaluation.metrics(replace(question, given=given), alone))
    names = dict.fromkeys(name for at in found for name in at)
    return {name: np.array([at.get(name, math.nan) for at in found], float) for name in names}


def _bounds(part: Part, asked: Question, chosen: Mapping[str, str], mask: Array, found: Findings) -> None:
    """Prove the bounds of the optima at the points of ``mask`` once more."""
    if "elasticity" not in part.arrays or "status" not in part.arrays:
        return
    mask = mask & (part.arrays["status"] == OPTIMAL)
    if not mask.any() or not dual_bounds.convex(part.spread.grid, part.origin, chosen):
        return
    question = question_at_mask(asked, part.shape, mask)
    x = {d.name: stored_number(part.plan, d.name, part.arrays)[mask] for d in question.decide}
    worth = part.arrays["elasticity"][mask]
    weights = {name: worth[:, i] for i, name in enumerate(part.plan.limits)}
    gaps = None
    # a model of the user's may know plain numbers only
    with handover.guarded(CHECK, int(mask.sum()), handover.ARITHMETIC):
        gaps = dual_bounds.gaps(question, x, weights)
    if gaps is None:
        return
    proved = gaps <= question.gap + dual_bounds.BOUND_ROUNDING
    found.proved += int(proved.sum())
    found.unproved += int((~proved).sum())
    for spot in np.argwhere(mask)[~proved][: EXAMPLES - len(found.doubtful)]:
        found.doubtful.append(tuple(int(o + i) for o, i in zip(part.origin, spot, strict=True)))


def _reported(
    part: Part, at: Mapping[str, Any], question: Question, x: Mapping[str, Any], mask: Array
) -> Iterator[tuple[str, tuple[Any, Any]]]:
    """Go through what is stored beside what the model says of it."""
    count = int(mask.sum())

    def flat(value: Any) -> Any:
        return np.broadcast_to(np.asarray(value, float), (count,))

    for variable in part.variables("metric"):
        if variable.key in at:
            yield variable.name, (part.arrays[variable.name][mask], flat(at[variable.key]))
    known = {**question.given, **x, **at}
    for variable in part.variables("family"):
        for place, name in variable.elements.items():
            if name in known:
                yield name, (element_at(part.arrays[variable.name], place)[mask], flat(known[name]))
    if question.objectives and "objective" in part.arrays:
        computed = flat(evaluation.objective(question, x, at))
        yield "objective", (part.arrays["objective"][mask], computed)


def _judge_decisions(question: Question, x: Mapping[str, Any], told: Told) -> None:
    """Judge what is decided by itself: in its domain, whole where it must be, of the list where there is one."""
    for d in question.decide:
        values = x[d.name]
        q = evaluation.quantity(question.model, d.name)
        outside = (values < q.minimum * (1 - HOLDS)) | (values > q.maximum * (1 + HOLDS)) | np.isnan(values)
        told.tell(outside, d.name, "outside its domain")
        if d.integer:
            told.tell(values != np.round(values), d.name, "not a whole number")
        if d.values is not None:
            told.tell(~_among_allowed(values, d.values), d.name, "not one of the allowed values")


def _among_allowed(values: Any, allowed: Any) -> Any:
    """Whether each value is one of those allowed; other processors read "850 mV" with another last digit."""
    ordered = np.sort(np.asarray(allowed))
    if ordered.dtype.kind != "f":
        return np.isin(values, ordered)
    after = np.searchsorted(ordered, values).clip(1, max(ordered.size - 1, 1))
    around = [ordered[(after - 1).clip(0, ordered.size - 1)], ordered[after.clip(0, ordered.size - 1)]]
    return np.logical_or.reduce([np.isclose(values, v, rtol=ARRAYS_AGREE, atol=0.0) for v in around])


def _judge_limits(question: Question, x: Mapping[str, Any], at: Mapping[str, Any], told: Told) -> None:
    """Judge every limit."""
    for name, missed in relative_excess(question, x, at):
        told.tell(missed > HOLDS, name, "a limit is broken")
        fine = np.where(missed <= HOLDS, missed, 0.0)
        told.found.limit = max(told.found.limit, float(np.max(fine, initial=0.0)))


def _judge_evaluated(question: Question, x: Mapping[str, Any], at: Mapping[str, Any], told: Told) -> None:
    """With nothing decided the limits say which status a point has."""
    status = told.part.arrays["status"][told.mask]
    broken = np.zeros(status.shape, bool)
    for _, missed in relative_excess(question, x, at):
        broken |= missed > HOLDS
    told.tell(broken & (status == EVALUATED), "status", "evaluated, and a limit is broken")
    told.tell(~broken & (status == INFEASIBLE), "status", "infeasible, and no limit is broken")
