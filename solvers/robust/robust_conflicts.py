"""Why no design holds in all of many worlds: minimal sets of limits, and for each limit the feasible value."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from dse.models.arithmetic import CannotTake
from formulations import evaluation
from formulations.arithmetics.posynomial import NotPosynomial
from formulations.row_keys import RowKey
from formulations.uncertainty import robust, robust_program
from formulations.uncertainty.measures import WORST, Measured
from formulations.uncertainty.worlds import Cap, Worlds, judged
from results.solution import Status
from scenarios.question import Objective, Question
from solvers.mechanisms import conflicts
from solvers.mechanisms.why import Why, of_each
from solvers.robust import chances, robust_scan
from solvers.robust.chances import Counted
from solvers.robust.masters import ends, robust_geometric
from solvers.robust.robust_ways import found_by

FINE, FARTHEST = 1e-6, 40.0
"""How finely, in logarithms, and how far a limit's feasible value is searched where no program tells it."""


def why(asked: Worlds, measure: Measured, promised: tuple[Counted, ...] = ()) -> Why:
    """What tells why no design holds all limits in all worlds."""
    worlds = dataclasses.replace(
        asked,
        nominal=dataclasses.replace(asked.nominal, objectives=()),
        every=dataclasses.replace(asked.every, objectives=()),
    )
    worlds = ends.farther(worlds) if ends.holds_whole(worlds.nominal) else worlds
    question = worlds.nominal
    names = tuple(dict.fromkeys(key.name for key in _breakable_limits(worlds)))

    def met(row: np.ndarray) -> int:
        kept = frozenset(n for n, k in zip(names, row, strict=True) if k)
        status = found_by(worlds, measure, kept=kept, tied=False, promised=promised).outcome.status
        if status in (Status.OPTIMAL, Status.FEASIBLE):
            return conflicts.CAN_HOLD
        return conflicts.CANNOT_HOLD if status is Status.INFEASIBLE else conflicts.NOT_KNOWN

    unknown = set[str]()
    values = of_each(lambda n: _would_do(worlds, question, n, names, promised, unknown))
    few, ended = conflicts.FEW_SEARCHED, lambda: frozenset(unknown)
    return Why(names, conflicts.singly(met), values, lambda _: question, few, ended=ended)


def _breakable_limits(worlds: Worlds) -> tuple[RowKey, ...]:
    """The limits that a design may break: all but those that are the same for every design."""
    middle = {
        d.name: (d.values[0] if d.values else evaluation.box(worlds.nominal, d.name).low)
        for d in worlds.nominal.decide
    }
    return tuple(judged(worlds, middle).ratios)


def _would_do(
    worlds: Worlds,
    question: Question,
    name: str,
    names: tuple[str, ...],
    promised: tuple[Counted, ...],
    unknown: set[str],
) -> float | None:
    """The value of one limit at which, all else kept, some design holds in every world.

    Where a search decides nothing the name joins ``unknown``.
    """
    others = frozenset(n for n in names if n != name)
    cap = next((c for c in worlds.caps if c.name == name), None)
    if cap is not None:
        return _least_measure(worlds, cap, others, promised, unknown)
    low, high = evaluation.bounds(question).get(name, (None, None))
    if low is not None and high is not None and any(x.name == name for x in question.limits):
        # one end gives and the other stays: the upper one first, as for a question without worlds
        for side, end, sign in (("max", high, 1.0), ("min", low, -1.0)):
            factor = _by_halves(worlds, name, unknown, (side,), promised)
            if factor is not None:
                return float(end * factor**sign)
        return None
    try:
        if promised:
            factor = chances.least_limit(worlds, promised, name, others)
        elif robust_scan.few(worlds):
            factor = robust_scan.least_limit(worlds, name, others)
        else:
            factor = robust_geometric.least_limit(robust.posed(worlds), name, others)
    except NotPosynomial:
        factor = None if promised else _factor_by_trials(worlds, name, others, unknown)
    if factor is None:
        # whether nothing does or nothing was found is known only where the other limits are refuted
        rest = found_by(worlds, WORST, kept=others, tied=False, promised=promised).outcome.status
        unknown.update([name] if rest is not Status.INFEASIBLE else [])
        return None
    if high is not None:
        return float(np.min(high)) * factor
    return factor if low is None else float(np.max(low)) / factor


def _least_measure(
    worlds: Worlds, cap: Cap, others: frozenset[str], promised: tuple[Counted, ...], unknown: set[str]
) -> float | None:
    """The best that a limited measure can be where the other limits hold."""
    goal = (Objective(cap.name, maximize=cap.side == "min"),)
    asked = dataclasses.replace(
        worlds,
        nominal=dataclasses.replace(worlds.nominal, objectives=goal),
        every=dataclasses.replace(worlds.every, objectives=goal),
    )
    try:
        found = found_by(asked, cap.measure, kept=others, tied=False, promised=promised).outcome
    except (NotPosynomial, CannotTake):
        unknown.add(cap.name)
        return None
    if found.x is None or found.status is not Status.OPTIMAL:
        unknown.update([cap.name] if found.status is not Status.INFEASIBLE else [])
        return None
    return float(cap.level(judged(asked, found.x).metrics[cap.name][: worlds.measured]))


def _factor_by_trials(worlds: Worlds, name: str, others: frozenset[str], unknown: set[str]) -> float | None:
    """The factor where no geometric program tells it: over all designs where they can be listed, else by halves."""
    try:
        program = bool(robust_program.posed(worlds).parts)
    except NotPosynomial:
        program = False
    factor = None if program else robust_scan.least_limit(worlds, name, others)
    return _by_halves(worlds, name, unknown) if factor is None else factor


def _by_halves(
    worlds: Worlds,
    name: str,
    unknown: set[str],
    sides: tuple[str, ...] = ("min", "max"),
    promised: tuple[Counted, ...] = (),
) -> float | None:
    """The least factor, to FINE, by which a user's limit would have to give at these ends; None beyond FARTHEST."""
    if all(x.name != name for x in worlds.nominal.limits):
        return None

    def met(factor: float) -> bool:
        eased = worlds.eased(name, factor, sides)
        try:
            kept = frozenset(k.name for k in _breakable_limits(eased))
            found = found_by(eased, WORST, kept=kept, tied=False, promised=promised)
        except CannotTake:
            unknown.add(name)
            return False
        if found.outcome.status not in (Status.OPTIMAL, Status.FEASIBLE, Status.INFEASIBLE):
            unknown.add(name)
        return found.outcome.status in (Status.OPTIMAL, Status.FEASIBLE)

    low, high = 0.0, 1.0
    while not met(math.exp(high)):
        low, high = high, 2.0 * high
        if high > FARTHEST:
            return None
    while high - low > FINE:
        middle = (low + high) / 2
        low, high = (low, middle) if met(math.exp(middle)) else (middle, high)
    return math.exp(high)
