"""By how much some limit of a linear or mixed-integer program is missed at least, over all designs: proved bounds."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace

import numpy as np

from dse.system.arrays import Array, Bools
from formulations.arithmetics.many import plain
from formulations.programs.program import Program, branches
from formulations.programs.row_ends import refuted
from formulations.row_keys import RowKey
from formulations.tolerances import SLACK
from scenarios.question import Question
from solvers.judgement import bound_of
from solvers.linear import highs, large_numbers, milp, scaling
from solvers.linear.linear_program import End, Numbers

ENOUGH_MISSED = 1e-7
LITTLE_MISSED = 0.01
# no limit is missed by more; an end keeps the bound finite
LARGEST_MISS = 1e9


def is_violated(p: Program, drop: Collection[str]) -> bool:
    """Whether it is proved that every design misses some limit, but for those that are left out (``drop``)."""
    shares = (highs.ROUGH_SHARE, scaling.MIP_GAP) if p.integer.any() else (scaling.MIP_GAP,)
    return any(least_violation(p, drop=drop, share=share) > SLACK for share in shares)


def least_violation(
    p: Program, *, whole: bool = True, drop: Collection[str] = (), share: float = scaling.MIP_GAP
) -> float:
    """Proven lower bound of the largest amount by which some limit is missed, over all designs (0: none known).

    A program of its own: every limit may give by the same multiple of its size (``sizes_of_rows``), which is minimised.
    ``whole``: whether to go on with whole numbers where divisible ones say nothing; ``drop``: limits that are left out;
    ``share``: relative gap that is enough.
    """
    kept, n = milp.kept_rows(p, drop, p.rows), milp.numbers(p, drop=drop, giving=True)
    give, n = sizes_of_rows(p)[0][kept], replace(n, rows=n.rows - let_pass(p)[kept])

    # designs that break a row by more than its size say no more
    n, raw = milp.possible(p, n, give), n
    most = math.inf if n is raw else 1.0

    def least(of: Numbers) -> float:
        # a term that can never be the largest leaves its branch empty: there the choice of the term gives, too
        return min(
            most,
            *(
                _violation(
                    of.with_rows(extra), np.append(give, np.abs(extra).max(axis=1, initial=0.0)), share
                )
                for extra in branches(p)
            ),
        )

    # where even divisible numbers do not help, that is proved at once
    divided = least(n.relaxed())
    if divided <= ENOUGH_MISSED and n.integer.any():
        # of designs that miss limits by little, whole numbers end where the rows end them that give so much
        near = milp.divisible(replace(n, rows=_given(n.rows, LITTLE_MISSED * give)))
        divided = max(divided, min(LITTLE_MISSED, least(replace(near, rows=n.rows))))
    if divided > ENOUGH_MISSED or not whole or not n.integer.any():
        return divided
    # where only larger numbers would do, a search over whole ones proves nothing: floats do not hold its rows
    return (
        least(n)
        if large_numbers.may_be_searched(n, lambda near: least(near.relaxed()) <= ENOUGH_MISSED)
        else 0.0
    )


def let_pass(p: Program) -> Array:
    """What judgement lets pass of rows (..., m, n + 1) of which no share is known; of a limit of 0 nothing is one."""
    sizes, share = sizes_of_rows(p)
    zero = np.array([_is_zero(p.question, key) for key in p.keys], dtype=bool)
    return np.where((sizes > 0.0) & ~share & ~zero, SLACK, 0.0)[..., None] * np.abs(p.denominators)


def _is_zero(question: Question, key: RowKey | None) -> bool:
    """Whether a row says that something is at most 0."""
    bound = bound_of(question, key) if key is not None and key.side == "max" else None
    return bound is not None and bool(np.all(np.less_equal(plain(bound), 0.0)))


def share_missed(p: Program, missed: float) -> float | None:
    """The share of its value by which every design breaks some limit, from ``least_violation``; None: not proved.

    A multiple of a limit's size is a share only if the size is one number. Rows of amounts do not give although limits
    may have made them, so that the designs that break these limits are not all in the program.
    """
    sizes, share = sizes_of_rows(p)
    if p.amounts or missed >= LARGEST_MISS or not share[sizes > 0.0].all():
        return None
    # the inverse of a value below its limit: a ratio 1 + t of it is a share t / (1 + t) less
    inverse = any(
        k is not None and k.side == "min" and n[:-1].any() for k, n in zip(p.keys, p.numerators, strict=True)
    )
    return missed / (1.0 + missed) if inverse else missed


def sizes_of_rows(p: Program) -> tuple[Array, Bools]:
    """By what each row gives (0: not at all), and whether that is a share of the limit's value at every design."""
    named = np.array([k is not None for k in p.keys], dtype=bool)
    above, below = np.abs(p.numerators), np.abs(p.denominators)
    # of a lower limit the value is below, where it is no inverse
    above_first = np.array([k is not None and k.side == "min" for k in p.keys], dtype=bool) & _plain(above)
    one = np.where(above_first | ~_plain(below), above[..., -1], below[..., -1])
    share = (_plain(above) | _plain(below)) & (one > 0.0)
    size = np.where(share, one, np.maximum(below.max(axis=-1, initial=0.0), milp.ABOVE_ZERO))
    return np.where(named, size, 0.0), share


def _plain(forms: Array) -> Bools:
    """Which forms are one number for all designs."""
    return np.asarray(~forms[..., :-1].any(axis=-1))


def _violation(n: Numbers, give: Array, share: float) -> float:
    found = highs.minimise(*n.eased(give, LARGEST_MISS), share=share)
    missed = LARGEST_MISS if found.end is End.INFEASIBLE else found.bound if found.u is not None else 0.0
    if missed > SLACK:
        return missed
    # over numbers as large as 1e15 HiGHS' own slack hides what the ends of the numbers show
    near = _given(n.rows, large_numbers.NEAR_MISS * give)
    return large_numbers.NEAR_MISS if refuted(near, n.low, n.high, n.integer) else missed


def _given(rows: Array, give: Array) -> Array:
    """Rows (m, n + 1) that give so much."""
    return np.column_stack([rows[:, :-1], rows[:, -1] - give])
