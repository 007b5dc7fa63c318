"""One design for many worlds, where each world is a linear or mixed-integer program: a master program and cuts.

Shares, counts and picks are decided once and stand in every world; a maximum (the time of the slowest processor) has a
value of its own in each, and is cut (``solvers.robust.masters.program_master``).

The bound is that of the master: weak duality for linear programs, HiGHS' branch and bound for mixed-integer ones.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from dse.system.arrays import Array
from formulations.row_keys import RowKey
from formulations.tolerances import BINDS, SLACK
from formulations.uncertainty.measures import Weighing
from formulations.uncertainty.robust_program import posed
from formulations.uncertainty.worlds import Judged, Worlds, judged
from results.solution import Status
from solvers.judgement import relaxed
from solvers.linear import highs, programs
from solvers.linear.linear_program import End, Result, constant_column
from solvers.mechanisms.sensitivity import with_limit
from solvers.outcome import Outcome
from solvers.robust.masters import robust_geometric, robust_program_ties
from solvers.robust.masters.master import MASTER_CLOSE
from solvers.robust.masters.program_master import PROGRAM_ROUNDS, Master, Measured
from solvers.robust.masters.program_ratios import ratio_steps
from solvers.robust.masters.robust_geometric import (
    DISCRETE,
    Elasticity,
    Found,
    needed_worlds,
    some_worlds,
)

STEP, FELT = 1e-4, 1e-3
"""A limit is relaxed by STEP to see what it is worth; what lies below FELT percent per percent is rounding."""
SOLVER = "HiGHS and cuts over samples"
LEVEL = ""
"""What worlds are left out of where the objective may be worse than its measure."""


def minimise(
    worlds: Worlds,
    measure: Weighing,
    *,
    kept: frozenset[str] | None = None,
    left_out: Mapping[str, frozenset[int]] | None = None,
    weigh: bool = True,
    tied: bool = True,
) -> Found:
    """Find the design whose objective has the least measure, with every limit held in every world.

    ``left_out``: of each limit, by name, the worlds in which it need not hold; by LEVEL those that the measure is not
    over. ``weigh``: tell what the limits are worth, where nothing is whole. ``tied``: settle ties by the question's
    rule.

    Raises NotPosynomial where the worlds are not programs of this kind, with the reason.
    """
    out = {n: np.isin(np.arange(worlds.size), list(some)) for n, some in (left_out or {}).items()}
    counts = ~out.pop(LEVEL, np.zeros(worlds.size, bool))[: worlds.measured]
    asked = posed(worlds, measure, kept, may_fail=int(np.any(list(out.values()), axis=0).sum()), ratios=True)
    master = Master(asked, kept, out)
    goal = Measured(lambda u: asked.losses(u)[counts], measure) if asked.goal else None
    u = master.start()
    master.add(u)
    if goal is not None:
        master.cuts.append(goal.cut(u))
    found, best = master.least(goal, MASTER_CLOSE, master.solve)
    if goal is not None and best is not None and asked.ratio:
        found, best, goal = ratio_steps(master, goal, lambda u: asked.under(u)[counts], found, best)
    if best is None:
        return _found_of_empty_master(found, master, worlds)
    needed, cuts = needed_worlds(master.held), len(master.cuts)
    x = master.design(robust_program_ties.settled(master, goal, best) if tied else best)
    if goal is None:
        return Found(Outcome(Status.FEASIBLE, x, None, "a design that meets all limits", SOLVER))
    bound = asked.objective(min(found.bound, goal.value(best)))
    text = programs.MILP if master.integer.any() or master.switches else programs.LP
    outcome = Outcome(Status.OPTIMAL, x, bound, text, SOLVER)
    proved = Found(outcome, needed=needed, cuts=cuts, unweighed=DISCRETE)
    if not weigh or master.integer.any():
        return proved
    again = partial(minimise, measure=measure, kept=kept, left_out=left_out, weigh=False, tied=False)
    elasticities = _limit_elasticities(worlds, again, judged(worlds, x), bound)
    return dataclasses.replace(proved, elasticities=elasticities, unweighed=robust_geometric.UNKNOWN)


def _limit_elasticities(
    worlds: Worlds, again: Callable[[Worlds], Found], at: Judged, now: float
) -> dict[RowKey, Elasticity]:
    """Percent of the measure per percent of each limit or bound of the user's, for relaxing it: 0 unless it binds.

    The optimum is piecewise linear in a limit, so the difference of two optima is its slope unless they are of
    different pieces.
    """
    found: dict[RowKey, Elasticity] = {}
    for key, ratio in at.ratios.items():
        if key.side == "model":
            continue
        if not (np.abs(1.0 - ratio) <= BINDS).any():
            found[key] = 0.0, False
            continue
        eased = again(_eased(worlds, key)).outcome.bound
        if eased is None or not now * eased > 0:
            return {}
        rate = math.log(eased / now) / math.log1p(STEP)
        found[key] = (0.0 if abs(rate) < FELT else rate * (1.0 if key.side == "max" else -1.0)), True
    return found


def _eased(worlds: Worlds, key: RowKey) -> Worlds:
    """Return the worlds with a limit relaxed by STEP, on a metric in each or on a measure over all of them."""
    end = relaxed(worlds.with_caps(worlds.nominal), key, 1.0 + STEP)
    caps = tuple(dataclasses.replace(c, end=end) if c.key == key else c for c in worlds.caps)
    return dataclasses.replace(worlds.changed(lambda q: with_limit(q, key, end)), caps=caps)


def _found_of_empty_master(found: Result, master: Master, worlds: Worlds) -> Found:
    """What a master without a design says of the question; infeasible only where a bound proves it."""
    if found.end is End.INFEASIBLE and least_miss(master) > SLACK:
        text = f"no design meets all limits in {some_worlds(worlds, {i for _, i in master.held})}"
        text += ", by the bound of a program of its own"
        outcome = Outcome(Status.INFEASIBLE, certificate=text, solver=SOLVER)
        return Found(outcome, needed=needed_worlds(master.held))
    if found.end is End.UNBOUNDED:
        return Found(Outcome(Status.ERROR, solver=SOLVER, message="the objective has no end that was found"))
    if found.end is End.FOUND:
        return Found(
            Outcome(Status.ERROR, solver=SOLVER, message=f"{PROGRAM_ROUNDS} rounds of cuts did not end")
        )
    return Found(Outcome(Status.ERROR, solver=SOLVER, message="HiGHS found no answer that a bound proves"))


def least_miss(master: Master) -> float:
    """The least by which limits can be missed, each measured by the size of its numbers: 0 where a design is.

    How large these are follows from the ends of what is decided, where rows that give a little leave some; infinite
    where they leave none.
    """
    base, rows = master.first_numbers(), master.limits()
    size = _sizes(rows, base.high)
    eased = [r - SLACK * s * constant_column(r.size) for r, s in zip(rows, size, strict=True)]
    loose = base.with_rows(*eased).relaxed()
    columns = -np.eye(master.low.size, base.high.size + 1)
    found = [highs.minimise(loose, column) for column in columns]
    if any(r.end is End.INFEASIBLE for r in found):
        return math.inf
    # switches end at 1
    ends = np.append([-r.bound for r in found], np.ones(master.switches))
    size = _sizes(rows, np.minimum(base.high, np.where(np.isnan(ends), np.inf, ends)))
    missed = [r / s for r, s in zip(rows, size, strict=True)]
    return master.least_above(base, missed, 0.0, 1e6).bound


def _sizes(rows: Sequence[Array], high: Array) -> list[float]:
    most = np.where(np.isfinite(high), np.maximum(np.abs(high), 1.0), 1.0)
    return [float(np.abs(r[:-1]) @ most) or 1.0 for r in rows]
