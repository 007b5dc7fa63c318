"""Why many points have no design under any choice of names and listed values.

Limits conflict that do under every choice. Each choice fixes a value of each list, so that such a set may hold between
the listed values: these limits alone are asked with the list's number free. Where they have a design the list is a part
of the set.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

import numpy as np

from dse.system.arrays import Bools, Codes, Points
from dse.system.records import dataclass
from formulations import handover
from formulations.grids import divided
from formulations.grids.over_grid import Region
from results.dataset import CONFLICTING, Arrays
from results.telling.limits import base_name
from scenarios.question import Question, combinations, fixed
from scenarios.sweep.grids import Grid
from solvers.many_points import blocks
from solvers.many_points.block_answers import BlockAnswers
from solvers.many_points.blocks import Block
from solvers.mechanisms.conflicts import CAN_HOLD, CANNOT_HOLD, NOT_KNOWN
from solvers.mechanisms.why import Why, loosest, over_choices

WhyListed = Callable[[Question, int], Why]
"""What tells why so many points of a question, flat, have no design, where lists may be a part of the reason."""
OF_LISTS = "no design under any choice, where it is not certain whether a list is a part of the reason"
Whys = Callable[[Points], Sequence[Why | None]]
"""The same of each choice at some points of a block; None where nothing tells it."""
Holds = Callable[[Grid, Region, Bools, Collection[str]], Codes]
"""Whether some limits alone, by name, can hold together at some points of a block (see ``conflicts``)."""


@dataclass(frozen=True, slots=True)
class Structured:
    """What tells of questions with a structure whether limits can hold whatever is listed, and why points of a block
    have no design.
    """  # noqa: D205

    holds: Holds
    why: Callable[[Block, Points], Why | None]


def of_lists(why: WhyListed, block: Block) -> Whys:
    """What tells it of the choices among names, where lists may be a part of the reason."""
    return lambda points: [why(divided.flat(q), len(points)) for _, q in combinations(block.question(points))]


def tell(whys: Whys, answers: BlockAnswers, block: Block, nowhere: Points) -> Bools:
    """Tell of points without a design under any choice why; tells which are left."""
    left = np.zeros(answers.arrays["status"].size, bool)

    def told(points: Points) -> Bools:
        every = whys(points)
        known = [why for why in every if why is not None]
        if len(known) < len(every):
            return np.zeros(len(points), bool)
        return answers.conflicts(points, over_choices(known))

    for group in block.alike():
        own = np.intersect1d(group, nowhere)
        for missed in blocks.together(own, told) if own.size else ():
            left[missed] = True
    return left.reshape(answers.arrays["status"].shape)


def put_common(
    lists: Collection[str],
    holds: Holds,
    block: Block,
    answers: BlockAnswers,
    answered: Sequence[Arrays],
    nowhere: Bools,
) -> Bools:
    """Complete the limits in conflict of the points ``nowhere`` with a design, which all choices share.

    ``answers``: holds the set that is common to all choices; of each ``answered`` what it says. ``lists``: what is
    chosen from beforehand. Tells which points are left.
    """
    arrays, plan = answers.arrays, answers.plan
    listed = np.array([base_name(label) in lists for label in plan.limits], bool)
    left, needed = np.zeros_like(nowhere), np.zeros_like(nowhere)
    if lists:
        codes = _codes_without_list(holds, lists, block, answers, nowhere)
        # each of the limits is needed for some value of the list
        needed = nowhere & (codes == CAN_HOLD)
        left = nowhere & (codes == NOT_KNOWN)
        arrays["binding"][needed[..., None] & listed] = CONFLICTING
    handover.hand_over(OF_LISTS, int(np.count_nonzero(left)))
    if "would_do" in arrays:
        _put_loosest(block, answers, answered, nowhere & ~left)
        arrays["would_do"][needed[..., None] & listed] = np.nan
    return left


def _codes_without_list(
    holds: Holds, lists: Collection[str], block: Block, answers: BlockAnswers, nowhere: Bools
) -> Codes:
    """Tell whether the limits in conflict of the points ``nowhere`` can hold together whatever the list is."""
    found = np.full(nowhere.shape, NOT_KNOWN, np.int8)
    if len(lists) > 1:
        return found
    own = answers.arrays["binding"] == CONFLICTING
    free = {k: _freed(q, lists) for k, q in block.grid.bases.items()}
    chosen = [names for names, _ in combinations(next(iter(free.values())))]
    grids = [replace(block.grid, bases={k: fixed(q, names) for k, q in free.items()}) for names in chosen]
    for kept in np.unique(own[nowhere], axis=0):
        some = nowhere & (own == kept).all(axis=-1)
        limits = {base_name(n) for n, k in zip(answers.plan.limits, kept, strict=True) if k}
        codes = np.stack([holds(g, block.region, some, limits) for g in grids])
        met, none = (codes == CAN_HOLD).any(axis=0), (codes == CANNOT_HOLD).all(axis=0)
        found[some] = np.where(met, CAN_HOLD, np.where(none, CANNOT_HOLD, NOT_KNOWN))[some]
    return found


def _freed(question: Question, lists: Collection[str]) -> Question:
    """The question with the numbers of these lists free to be anything."""
    free = (replace(d, values=None, integer=d.count) if d.name in lists else d for d in question.decide)
    return replace(question, decide=tuple(free))


def _put_loosest(block: Block, answers: BlockAnswers, answered: Sequence[Arrays], nowhere: Bools) -> None:
    """Put in the loosest of the feasible values, where no combination has a design.

    A limit that is in no conflict of a combination helps it in nothing.
    """
    labels, into = answers.plan.limits, answers.arrays
    clash = [a["binding"].reshape(-1, len(labels)) == CONFLICTING for a in answered]
    found = [a["would_do"].reshape(-1, len(labels)) for a in answered]
    values = into["would_do"].reshape(-1, len(labels))
    conflicting = into["binding"].reshape(-1, len(labels)) == CONFLICTING
    for group in block.alike():
        for i, label in enumerate(labels):
            some = group[nowhere.reshape(-1)[group] & conflicting[group, i]]
            if len(some):
                asked = block.question(some)
                own = [np.where(c[some, i], v[some, i], np.inf) for c, v in zip(clash, found, strict=True)]
                values[some, i] = loosest(base_name(label), [(asked, v) for v in own])
