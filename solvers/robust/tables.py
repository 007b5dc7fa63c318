"""Few designs, many points, one design for many worlds: every design is judged in all worlds at every point.

For questions in which names, entries of menus or few whole numbers are decided now. It is the way of
``solvers.counting.tables`` with worlds as one more dimension; a single question is one point (``searches.scan``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dse.models.arithmetic import CannotTake
from dse.system.arrays import Array, Bools, Points
from formulations import evaluation
from formulations.arithmetics.many import Differ
from formulations.grids import divided, over_grid
from formulations.row_keys import RowKey
from formulations.tolerances import HOLDS
from formulations.uncertainty.wanted import Chance, Wanted
from formulations.uncertainty.worlds import few_at_once, judged
from results.layouts import fresh_layout
from results.variables import PROMISE
from scenarios.axes import chance_axes
from scenarios.define import composed
from scenarios.question import Question, combinations
from scenarios.sweep.grids import Grid
from scenarios.uncertainty import worst_cases
from scenarios.uncertainty.promises import promises
from solvers import designs, work
from solvers.judgement import Judged, relative_gap
from solvers.many_points import best_of, claims
from solvers.many_points.best_of import BestOf
from solvers.many_points.block_answers import BlockAnswers
from solvers.many_points.blocks import Block, ByGroup
from solvers.many_points.offers import OTHER_KIND, Offer
from solvers.mechanisms.why import Why, over_choices
from solvers.robust import decide_now, validation
from solvers.robust.explaining import robust_conflicts
from solvers.robust.robust_answers import weighing
from solvers.robust.searches import chances, scan

CELLS_IN_SAMPLES = 2_000_000
"""Designs times samples times points in one run of the equations: arrays of 16 MB."""
METHOD = "a table of all designs, evaluated in every sample at every point"


def way(grid: Grid) -> Offer:
    """Return this way where all that is decided now comes from a table of few designs."""
    every = list(claims.kinds(grid))
    if not all(map(_few_in_samples, every)):
        return OTHER_KIND
    ends = claims.axes_of_ends(grid)
    if ends and any(map(promises, every)):
        # how many samples may fail depends on how many values a whole number may have
        return Offer(
            reason=f"{ends} changes a bound of what is decided, and with it how many samples may fail"
        )
    return claims.offered(_over_grid(grid), _over_grid(claims.thinned(grid)))


def _few_in_samples(question: Question) -> bool:
    """Whether few designs are judged in samples, and nothing is asked of measures with names."""
    if not question.decide or len(question.objectives) != 1 or question.measures:
        return False
    if not designs.plain(question) or any(d.endless for d in question.decide):
        return False
    every = designs.tables(question)
    return (
        every is not None
        and not worst_cases.over_box(question)
        and _cells_of_largest(question) <= CELLS_IN_SAMPLES
    )


def _cells_of_largest(question: Question) -> int:
    """Designs times samples of the largest combination of names."""
    return question.uncertainty.sampling.samples * _most_designs(question)


def _most_designs(question: Question) -> int:
    """Designs of the largest combination of names."""
    return max(t.size for t in designs.tables(question) or ())


def _limited_at_worst(question: Question) -> bool:
    """Whether a metric at its worst judges each limit: not one that may fail, nor a difference."""
    limited = evaluation.bounds(question)
    return not promises(question) and not any(composed.may_be_negative(question.model, n) for n in limited)


def _over_grid(grid: Grid) -> ByGroup:
    """Return the way over a grid; its declared work is that of all designs in all samples, fresh ones too."""
    every = list(claims.kinds(grid))
    cells, numbers = max(map(_cells_of_largest, every)), work.metrics(every[0])
    # a measure, a spread, and in how many samples what may fail, are the same at all points of a piece
    apart = any(c.target.kind in chance_axes.KINDS for c in grid.changes) or any(map(promises, every))
    at_worst = all(map(_limited_at_worst, every))
    # numbers of a point beside those of its kind: one for each design, or those of all samples; of the best these, too
    own = max(*map(_most_designs, every), every[0].uncertainty.sampling.samples) if at_worst else cells
    together = max(CELLS_IN_SAMPLES // own, 1)
    given = {c.along for c in grid.changes if c.target.kind not in {"limit", "decide"}}
    alike = math.prod(n for k, n in enumerate(grid.shape) if k not in given) if at_worst else 1
    metrics_of_all = cells * len(list(combinations(every[0]))) / min(alike, together) + validation.FRESH
    return ByGroup(
        over_grid.spread(grid),
        _answered_in_worlds,
        together,
        METHOD,
        "batch",
        {"table metric": validation.WORKED_OUT * numbers * metrics_of_all, "alone evaluation": 1.0},
        by_given=True,
        # few designs at a time are looked at in all samples of all kinds
        kinds=1 if apart else max(scan.SCANNED_AT_ONCE // every[0].uncertainty.sampling.samples, 1),
    )


def _wanted_at_points(
    question: Question, near: Question | None, which: Points, some: Points | slice = slice(None)
) -> Wanted:
    """Return a question with ``Many`` numbers in its worlds at ``some`` points; ``near``, ``which``: see ``Worlds``."""
    worlds, (kinds, own) = (
        decide_now.sampled(divided.at(question, some)),
        np.unique(which[some], return_inverse=True),
    )
    if near is not None and divided.shape(question):
        worlds = replace(worlds, near=(decide_now.sampled(divided.at(near, kinds)).every, own.reshape(-1)))
    return Wanted(worlds, weighing(question.measure or worst_cases.AT_WORST))


def failing_allowed(question: Question, convex: bool | None = None) -> tuple[Chance, ...]:
    """Return in how many samples limits may fail; raises CannotTake where there are too few samples.

    ``convex``: see ``chances.is_convex``, where it is known.
    """
    try:
        counted = chances.counted(question, question.uncertainty.sampling.samples, convex)
    except chances.TooFew as few:
        raise CannotTake(str(few)) from None
    return tuple(Chance(p.names, k) for p, k in counted)


def _answered_in_worlds(into: BlockAnswers, block: Block, question: Question, points: Points) -> Bools:
    """Answer some points of a block."""
    first, which = block.alike_given(points)
    first_of_all = block.grid.question(block.place(int(points[0])))
    promised, by_kind = failing_allowed(first_of_all), _limited_at_worst(first_of_all)
    every = []
    asked = (block.question(points, 2), block.question(points[first], 2), question)
    for (_, wide), (_, near), (chosen, one) in zip(*map(combinations, asked), strict=True):
        wanted = partial(_wanted_at_points, wide, near if by_kind else None, which)
        listed = designs.widest(wide)
        assert listed is not None, "they are few"
        try:
            best = scan.best(replace(wanted(), chances=promised), listed)
        except Differ as apart:
            # told of the points that differ in what is given
            raise (Differ(apart.holds[which]) if len(apart.holds) == len(first) else apart) from None
        every.append((chosen, one, wanted, listed.names, best))
    sign = wanted().sign
    found = [
        BestOf(
            chosen,
            one,
            partial(_best_of_table, names, best),
            best.value,
            sign * best.value,
            best.missed,
            np.isinf(best.value) & (best.first >= 0),
        )
        for chosen, one, _, names, best in every
    ]

    def judge(q: Question, x: Mapping[str, Array], bound: Array, shape: tuple[int, ...]) -> Judged:
        return judged_in_worlds(q, promised, x, bound, shape)

    def why(now: Points) -> Why:
        if promised:
            raise CannotTake("why limits conflict that may fail is told point by point")
        return over_choices([robust_conflicts.why(wanted(now)) for _, _, wanted, *_ in every])

    return best_of.put_best(into, found, points, why, judge=judge, also=partial(put_fresh, into))


def _best_of_table(names: tuple[str, ...], best: scan.Best, own: Bools) -> Mapping[str, Array]:
    return dict(zip(names, best.x[best.first[own]].T, strict=True))


def judged_in_worlds(
    question: Question,
    promised: tuple[Chance, ...],
    x: Mapping[str, Array],
    bound: Array,
    shape: tuple[int, ...],
) -> Judged:
    """Judge the best designs of points in all worlds: means of metrics, and limits where they are nearest to broken."""
    parts = [
        _in_worlds(divided.at(question, some), promised, {n: v[some] for n, v in x.items()})
        for some in few_at_once(math.prod(shape), question.uncertainty.sampling.samples)
    ]
    means = {n: np.concatenate([own[n] for own, _, _ in parts]) for n in parts[0][0]}
    ratios = {k: np.concatenate([own[k] for _, own, _ in parts]) for k in parts[0][1]}
    objective = np.concatenate([own for _, _, own in parts])
    return Judged(question, shape, x, means, ratios, objective, bound, relative_gap(objective, bound))


def _in_worlds(
    question: Question, promised: tuple[Chance, ...], x: Mapping[str, Array]
) -> tuple[dict[str, Array], dict[RowKey, Array], Array]:
    """Return means of metrics, limits and the objective of designs at a few points."""
    first, which = divided.alike(question, x)
    wide = divided.before_axes(question, 2)
    near = divided.at(wide, first) if _limited_at_worst(question) else None
    kinds = slice(None) if near is None else first
    wanted = _wanted_at_points(wide, near, which)
    at = judged(wanted.worlds, {n: v[kinds, None, None] for n, v in x.items()})
    assert at.objective is not None, "there is one"

    def each(values: Array) -> Array:
        return np.broadcast_to(wanted.worlds.at_points(values).reshape(-1), which.shape)

    cases = {q.name for q in question.model.metrics if q.flags}
    means = {n: each(scan.mean(v)) for n, v in at.metrics.items()}
    means |= {
        n: np.where(each(np.ptp(at.metrics[n], -1, keepdims=True)) > 0, np.nan, means[n])
        for n in cases & means.keys()
    }
    fails = {
        n: np.any([r > 1 + HOLDS for k, r in at.ratios.items() if k.name in c.names], axis=0)
        for c in promised
        for n in c.names
    }
    ratios = {
        k: each((np.where(fails[k.name], -np.inf, r) if k.name in fails else r).max(-1))
        for k, r in at.ratios.items()
    }
    objective = wanted.measure.value(at.objective, maximize=wanted.sign < 0)
    return means, ratios, each(objective[..., None])


def put_fresh(into: BlockAnswers, points: Points, question: Question, x: Mapping[str, Any]) -> None:
    """Judge the designs ``x`` (N,) of some points in fresh samples; ``question``: with ``Many`` numbers (N,)."""
    labels = into.plan.labels.get(PROMISE, ())
    found = decide_now.validated(divided.before_axes(question, 1), {n: v[:, None] for n, v in x.items()})
    # where nothing changes between points one is like all
    every = found if len(found) == len(points) else found * len(points)
    for v in into.plan.variables:
        if v.role == fresh_layout.ROLE:
            told = [fresh_layout.value(f, v.key, labels) for f in every]
            into.each(v.name, points, [np.nan if value is None else value for value in told])
