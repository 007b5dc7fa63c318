"""In which units a linear program goes to HiGHS: what it would take for 0 there is seen, or stands in no bound."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dse.system.arrays import Array
from solvers.linear.linear_program import Numbers

if TYPE_CHECKING:
    import highspy

MIP_GAP = 1e-9
HIGHS_FEASIBLE = 1e-10
MIP_WHOLE = 1e-9
TOLERANCES = {
    "primal_feasibility_tolerance": HIGHS_FEASIBLE,
    "dual_feasibility_tolerance": HIGHS_FEASIBLE,
    "mip_feasibility_tolerance": MIP_WHOLE,
}
SEARCHES_WITHIN = ("rins", "rens", "root_reduced_cost")
"""Searches of smaller programs for a better design, which HiGHS goes without: they take longer than all the rest."""
PRESOLVED = 2000
"""Numbers in the rows of a linear program from which on presolve saves time; below it takes longer than the rest."""
PROGRAM_SECONDS = 120.0
"""Of one search."""
SCALING_PASSES = 4
MOST_RAISED = 2.0**20
"""How far a row is multiplied beyond what brings its largest number near 1."""
LEAST_SHARE_OF_COLUMN = 1e6
"""So much smaller than the unit of its column the end of a number may be: slack is 1e-10 of that unit."""
LEAST_ENTRY = 1e-12
"""HiGHS takes smaller numbers of balanced rows for 0: as small as it lets us, 1e-9 lost sockets in a limit of 1e20."""
LEAST_IN_SEARCH = 2e-9
"""Of numbers before whole numbers its search takes those below 1e-9 for 0, whatever it is told."""
LEAST_COST = 1e-7
"""Of the largest cost; HiGHS' tolerances are 1e-10 of the unit of costs."""

LEFT_OF_CONSTANT, MUCH_CANCELS = 4e-15, 1e3
"""Of a constant what its difference to costs is off by at most, and how much larger than that it is where it counts."""

FINER = 2.0**-13
"""Of their unit: in what costs are told there, so that HiGHS' absolute tolerances are small beside what is left."""


def least_entry(n: Numbers) -> float:
    """What a number of a balanced row is to be at least, for HiGHS to see it."""
    return LEAST_IN_SEARCH if n.integer.any() else LEAST_ENTRY


def unit_of_costs(costs: Array) -> float:
    """What costs are divided by: the largest, or less of it where the least would be lost in HiGHS' tolerances."""
    most = float(costs.max(initial=0.0)) or 1.0
    least = float(costs[costs > 0.0].min(initial=most)) / most
    return most * max(math.sqrt(least), LEAST_COST) if least < LEAST_COST else most


def cancels(bound: float, constant: float) -> bool:
    """Whether next to nothing is left of a constant of costs and of what is taken off it."""
    return abs(constant) > MUCH_CANCELS * abs(bound)


def lost(constant: float, cut: float) -> float:
    """By how much a bound may be above the true one there: rounding, and the ``cut`` below which nothing is sought."""
    return LEFT_OF_CONSTANT * abs(constant) + cut


def balance(n: Numbers) -> tuple[Array, Array]:
    """Factors of rows and continuous columns that bring the numbers near 1; whole numbers stay as they are."""
    size = np.abs(n.rows[:, :-1])
    row, column = np.ones(len(size)), np.ones(size.shape[1])
    shared = np.count_nonzero(size, axis=1) > 1
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.where(shared[:, None] | (size == 0.0), 0.0, size / np.abs(n.rows[:, -1:]))
    # of its least end a column must not be so small a part that slack is larger
    alone = np.where(np.isfinite(ends), ends, 0.0).max(axis=0, initial=0.0)
    for _ in range(SCALING_PASSES):
        row = _reciprocal((size * column).max(axis=1, initial=0.0))
        # a row of one number is an end of it, whatever its unit
        wide = (size * row[:, None])[shared].max(axis=0, initial=0.0)
        wide = np.where((wide == 0.0) | (alone > LEAST_SHARE_OF_COLUMN * wide), np.maximum(alone, wide), wide)
        column = np.where(n.integer, 1.0, _reciprocal(wide))
    row = _reciprocal((size * column).max(axis=1, initial=0.0))
    return row, column


def raised(n: Numbers, row: Array, column: Array, least: float, slack: float) -> Array:
    """Row factors with which a solver that takes entries below ``least`` for 0 loses none that counts, if it can.

    An entry counts where its column can change its row by more than ``slack``.
    """
    size = np.abs(n.rows[:, :-1]) * column * row[:, None]
    with np.errstate(invalid="ignore"):
        most = size * np.maximum(np.abs(n.low), np.abs(n.high)) / column
    lost = (size < least) & (size * MOST_RAISED >= least) & (most > slack)
    found = np.where(lost, size, least).min(axis=1, initial=least)
    return np.asarray(row * 2.0 ** np.ceil(np.log2(least / found)))


def seen(matrix: Array, low: Array, high: Array, least: float) -> tuple[Array, Array, Array]:
    """The entries that a solver sees which takes those below ``least`` for 0; what the others add at least, at most."""
    lost = (matrix != 0.0) & (np.abs(matrix) < least)
    if not lost.any():
        return matrix, np.zeros(len(matrix)), np.zeros(len(matrix))
    with np.errstate(invalid="ignore"):
        ends = np.where(lost, np.stack([matrix * low, matrix * high]), 0.0)
    return np.where(lost, 0.0, matrix), ends.min(0).sum(1), ends.max(0).sum(1)


def _reciprocal(size: Array) -> Array:
    # powers of two, so that nothing is rounded
    with np.errstate(divide="ignore"):
        found = 2.0 ** -np.round(np.log2(size))
    found[size <= 0.0] = 1.0
    return np.asarray(found)


def model(
    n: Numbers,
    cost: Array,
    row: Array,
    column: Array,
    size: float,
    gap: float,
    share: float = MIP_GAP,
    *,
    presolve: bool = True,
) -> highspy.Highs:
    """Return HiGHS with a program whose rows and columns are multiplied by factors, its costs divided by ``size``."""
    import highspy

    h = highspy.Highs()
    for name, value in {
        "output_flag": False,
        "threads": 1,
        "mip_rel_gap": share,
        "mip_abs_gap": max(gap / size, 1e-12),
        "time_limit": PROGRAM_SECONDS,
        "small_matrix_value": LEAST_ENTRY,
        **TOLERANCES,
        **dict.fromkeys((f"mip_heuristic_run_{name}" for name in SEARCHES_WITHIN), False),
    }.items():
        h.setOptionValue(name, value)
    lp = highspy.HighsLp()
    low, high = n.low / column, n.high / column
    # bounds hold whatever HiGHS loses
    matrix, fall, rise = seen(n.rows[:, :-1] * column * row[:, None], low, high, least_entry(n))
    right = -n.rows[:, -1] * row
    lp.num_col_, lp.num_row_ = len(column), len(row)
    lp.col_cost_ = cost[:-1] * column / size
    lp.col_lower_, lp.col_upper_ = low, high
    lp.row_lower_, lp.row_upper_ = np.where(n.equal, right - rise, -highspy.kHighsInf), right - fall
    used = matrix != 0.0
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = np.concatenate([[0], np.cumsum(used.sum(axis=1))]).astype(np.int32)
    lp.a_matrix_.index_ = np.nonzero(used)[1].astype(np.int32)
    lp.a_matrix_.value_ = matrix[used]
    if not presolve or (not n.integer.any() and n.rows.size < PRESOLVED):
        h.setOptionValue("presolve", "off")
    if n.integer.any():
        kinds = highspy.HighsVarType
        lp.integrality_ = [kinds.kInteger if i else kinds.kContinuous for i in n.integer]
    h.passModel(lp)
    return h
