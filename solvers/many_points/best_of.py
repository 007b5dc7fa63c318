"""The best of several combinations of names at many points, each answered apart: judged, and put into a block."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from dse.system.arrays import Array, Bools, Points
from dse.system.records import dataclass
from formulations.grids import divided
from scenarios.question import Question
from solvers.judgement import Judged, judge
from solvers.many_points import blocks
from solvers.many_points.block_answers import BlockAnswers
from solvers.mechanisms import parts
from solvers.mechanisms.why import Why

SURE = 1e-7
"""What is missed by less is left to the single path."""


@dataclass(frozen=True, slots=True)
class BestOf:
    """The best designs of one combination of names, at N points.

    ``x``: the numbers of those at some of the points; ``value`` (N,): what is minimised (infinite: there is none);
    ``bound`` (N,): of the objective, in the user's sense; ``missed`` (N,): the least by which some limit is broken;
    ``unsure`` (N,): where nothing is proved.
    """

    chosen: Mapping[str, str]
    question: Question
    x: Callable[[Bools], Mapping[str, Array]]
    value: Array
    bound: Array
    missed: Array
    unsure: Bools


def put_best(
    answers: BlockAnswers,
    every: Sequence[BestOf],
    points: Points,
    why: Callable[[Points], Why],
    nowhere: Callable[[Points], Points] = lambda none: none,
    judge: Callable[[Question, Mapping[str, Array], Array, tuple[int, ...]], Judged] = judge,
    also: Callable[[Points, Question, Mapping[str, Array]], None] | None = None,
) -> Bools:
    """Take over the best of all combinations at each point, as for a single one the first of those that are as good.

    ``why``: what tells why some of the points, by their places, have no design under any choice; ``nowhere``: which
    surely have none; ``judge``: what judges designs; ``also``: what tells more of those that are good.
    """
    unsure = np.any([b.unsure for b in every], axis=0)
    values = np.stack([b.value for b in every])
    which, some = np.argmin(values, axis=0), np.isfinite(values).any(axis=0)
    sign = every[0].question.sign
    bound = sign * parts.bound_of_all(np.isfinite(values), sign * np.stack([b.bound for b in every]))
    good = np.zeros(len(points), dtype=bool)
    for k, b in enumerate(every):
        own = some & (which == k) & ~unsure
        if own.any():
            judged = judge(divided.at(b.question, own), b.x(own), bound[own], (int(own.sum()),))
            good[own] = judged.good
            answers.put(points[own], judged, judged.good, {}, b.chosen)
            own &= good
            if also is not None and own.any():
                also(points[own], divided.at(b.question, own), b.x(own))
    missed = np.min([b.missed for b in every], axis=0) > SURE
    none = nowhere(np.flatnonzero(~some & ~unsure & missed))
    return good | blocks.told_why(answers, points, none, why)
