"""Questions in which limits may fail, as masters: a level of the objective, or a factor by which limits give.

A quantile is the least level that all but some samples keep. The value at which a limit would do, and whether limits
can hold together, is the least factor by which they would have to give.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

import numpy as np

from dse.system.arrays import Bools
from formulations import canonical as canon
from formulations.arithmetics.maxima import SIDE
from formulations.arithmetics.posynomial import ONE, NotPosynomial, Posynomial
from formulations.problem import Goal, Row, Variable
from formulations.row_keys import RowKey
from formulations.uncertainty import robust, world_cuts
from formulations.uncertainty.measures import WORST, Measured, Quantile, Weighing
from formulations.uncertainty.robust import Posed
from formulations.uncertainty.wanted import Chance
from formulations.uncertainty.world_cuts import Point
from scenarios.question import Decision
from solvers.robust.masters import robust_caps
from solvers.robust.masters.master import EASED, MEASURE, Master

FACTOR = Posynomial({((EASED, 1.0),): 1.0})
LEAST_FACTOR, FARTHEST = Goal(EASED, FACTOR, ONE), canon.LOG_BOX / 2


def stated(asked: Posed, measure: Measured, chances: Sequence[Chance]) -> tuple[Master, tuple[Chance, ...]]:
    """Return what is asked, with its measure, and what may fail: of what only some samples exceed a level, too.

    Raises NotPosynomial where the measure is none of programs.
    """
    count = asked.worlds.size
    exact = None if isinstance(measure, Quantile) else world_cuts.exact_goal(asked, measure)
    within = measure.place(count) + 1 if isinstance(measure, Quantile) else count
    plain = asked.goal is None or bool(exact) or not chances
    if isinstance(measure, Weighing) and (plain or measure.share * count > 1):
        master = Master(asked, measure, exact)
    else:
        master, chances = level(asked), (*chances, Chance((MEASURE,), count - within))
    return master, tuple(chances)


def takes(master: Master, chances: Sequence[Chance]) -> bool:
    """Whether what may fail is told here: limits in one promise each, posynomials or the largest of some, no cuts.

    All samples have the same terms: with an exponent that is uncertain each has terms of its own.

    Raises NotPosynomial where a limit is the largest of too many.
    """
    asked, names = master.asked, [n for c in chances for n in c.names]
    return not chances or (
        not master.takes_cuts
        and _are_rows(master)
        and asked.worlds.counted is None
        and len(set(names)) == len(names)
        and all(r.denominator.is_monomial and _of_each_sample(asked, r) for r in asked.rows)
    )


def _of_each_sample(asked: Posed, row: Row) -> bool:
    """Whether a limit is the largest of some posynomials that have the same terms in all samples."""
    parts = world_cuts.largest_of(asked, row.numerator)
    return bool(parts) and all(np.all(c != 0) for p in parts for c in p.terms.values())


def _are_rows(master: Master) -> bool:
    """Whether limits on measures, if any, are rows of one question: means of posynomials. Raises NotPosynomial."""
    caps = master.asked.worlds.caps
    return not caps or (
        master.count == 1 and all(robust_caps.exact(master.asked, cap) is not None for cap in caps)
    )


def eased(asked: Posed, key: RowKey, others: frozenset[str]) -> Master:
    """Return the question for the least factor by which a limit has to give, where ``others`` hold.

    Raises NotPosynomial where the limit is no row.
    """
    held = robust.kept(asked, others | {key.name})
    if all(r.key != key for r in held.rows):
        raise NotPosynomial("a limit that is no row")
    return giving(replace(held, variables=robust.kept(asked, others - {key.name}).variables), {key})


def level(asked: Posed) -> Master:
    """Return the question for the least level of the objective, a limit ``MEASURE`` that may fail in some samples.

    Raises NotPosynomial where the objective is no posynomial.
    """
    goal, key = asked.goal, RowKey(MEASURE, SIDE)
    whole = None if goal is None or goal.log2 else world_cuts.folded(goal)
    if goal is None or whole is None:
        raise NotPosynomial("a level of what is no posynomial")
    whole_and_rest = replace(asked, rows=(*asked.rows, Row(key, whole, ONE)))
    return giving(whole_and_rest, {key}, replace(goal, numerator=FACTOR, denominator=ONE))


def giving(
    asked: Posed, keys: AbstractSet[RowKey], goal: Goal = LEAST_FACTOR, least: float = math.exp(-FARTHEST)
) -> Master:
    """Return the question for the least factor, of at least ``least``, by which some limits have to give."""
    unknown = Variable(EASED, least, math.exp(FARTHEST), True, True, Decision(EASED), auxiliary=True)
    rows = tuple(replace(r, denominator=r.denominator * FACTOR) if r.key in keys else r for r in asked.rows)
    posed = replace(asked, variables=(*asked.variables, unknown), rows=rows, goal=goal)
    return Master(posed, WORST, goal, eased=frozenset(keys))


def without_failing(master: Master, chances: Sequence[Chance], x: Point) -> Master:
    """Return what is asked without the samples that fail most at designs (P, 1), as many as may fail."""
    at, found = master.judged(x), dict[str, Bools]()
    for c in chances:
        ratios = [master.ratios(r.key, x, at) for r in master.asked.rows if r.key.name in c.names]
        if ratios:
            order = np.argsort(-np.nan_to_num(np.max(ratios, axis=0), nan=np.inf), axis=1, kind="stable")
            out = np.zeros(order.shape, bool)
            np.put_along_axis(out, order[:, : c.may_fail], values=True, axis=1)
            found |= dict.fromkeys(c.names, out)
    return replace(master, left_out=found)
