"""Lists, and whole numbers that a user asked for, as limits that may be a part of a conflict."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np

from dse.models.arithmetic import CannotTake
from dse.system.arrays import Array, Bools, Codes, Points
from formulations.arithmetics.posynomial import NotPosynomial
from scenarios.question import Question, with_asked_gaps
from solvers.mechanisms.conflicts import CAN_HOLD, NOT_KNOWN
from solvers.mechanisms.why import Entering, Why, any_may, in_columns
from solvers.patterns import groups


def with_gaps(
    found: Why,
    question: Question,
    of_free: Callable[[Collection[str]], Why],
    nearest: Callable[[str], float],
    entering: Entering = any_may,
) -> Why:
    """Return what tells why there is no design with the gaps of decided numbers as limits beside the others.

    ``found``: what tells it of the limits and bounds alone. ``of_free``: the same with numbers free of bounds and gaps;
    raises CannotTake, or NotPosynomial, where that is not told. ``nearest``: a value of such a number that would do:
    infinite where none does, NaN where that is not known. ``entering``: which of such numbers enter limits.
    """
    gaps = with_asked_gaps(question)
    if not gaps:
        return found
    own = {x.name for x in question.model.limits}
    decided = [d.name for d in question.decide if d.name in gaps or d.name in found.names]
    limits = (n for n in found.names if n not in own and n not in decided)
    names = tuple(dict.fromkeys((*limits, *decided, *found.names)))
    of_sets: dict[frozenset[str], Why] = {}

    def met(points: Points, kept: Bools) -> Codes:
        # what holds with all gaps holds without them
        codes = np.asarray(in_columns(found.met, names, found.names)(points, kept), np.int8)
        for which, kind in groups(kept):
            some, held = which[codes[which] != CAN_HOLD], set(itertools.compress(names, kind))
            free = frozenset(gaps).difference(held)
            # what is allowed for a number that enters none of them is all the same
            free = entering(free, held)
            if not free or not some.size:
                continue
            codes[some] = NOT_KNOWN
            with suppress(CannotTake, NotPosynomial):
                of = of_sets.get(free) or of_sets.setdefault(free, of_free(free))
                codes[some] = in_columns(of.met, names, of.names)(points[some], kept[some])
        return codes

    def values(points: Points, wanted: Sequence[str]) -> Mapping[str, Array]:
        told = dict(found.values(points, [n for n in wanted if n in found.names]))
        for n in wanted:
            value = told.get(n, np.full(points.size, np.inf))
            # a bound gives first, with the numbers kept that are allowed
            told[n] = np.where(np.isinf(value), nearest(n), value) if n in gaps else value
        return told

    return replace(found, names=names, met=met, values=values)
