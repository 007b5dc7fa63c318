"""The value of one limit at which, all else kept, some design holds in every one of many worlds."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from dse.models.arithmetic import CannotTake
from formulations import evaluation
from formulations.arithmetics.posynomial import NotPosynomial
from formulations.programs.program import is_linear
from formulations.row_keys import RowKey
from formulations.uncertainty.measures import WORST, Measured, Quantile
from formulations.uncertainty.wanted import Wanted, end_that_does, reached
from formulations.uncertainty.worlds import Worlds, judged
from results.solution import Status
from scenarios.define import composed
from scenarios.question import HALVINGS, Decision, Objective, Question
from solvers.explaining.least_values import without_gaps
from solvers.mechanisms.sensitivity import with_limit
from solvers.mechanisms.why import relaxation_factor
from solvers.outcome import Outcome
from solvers.robust.masters import robust_program
from solvers.robust.searches import scan
from solvers.robust.searches.robust_ways import of_some_limits


def feasible_value(wanted: Wanted, name: str, names: frozenset[str], unknown: set[str]) -> float | None:
    """The value of one limit at which, all else kept, some design holds in every world.

    Of two ends the one gives that has to give less, and the other stays. Where a search
    decides nothing, or less than the best, the name joins ``unknown``.
    """
    ends_of_limit = ends_of(wanted.worlds, name)
    groups = [wanted.chances[g] for g in wanted.failing(name)]
    by_itself = not groups or (len(groups) == 1 and groups[0].names == (name,) and len(ends_of_limit) == 1)
    asked = replace(wanted, kept=names)
    values = list[float]()
    for side, end in ends_of_limit.items():
        try:
            value, status = (
                _best_level(wanted, name, names, side)
                if by_itself
                else _eased_end(asked, RowKey(name, side), end)
            )
        except (NotPosynomial, CannotTake, OverflowError):
            # beyond a bound that gives, designs may leave the range of floats
            value, status = None, Status.ERROR
        unknown.update([name] if status not in (Status.OPTIMAL, Status.INFEASIBLE) else [])
        values += [] if value is None else [value]
    question = wanted.worlds.with_caps(wanted.worlds.nominal)
    return min(values, key=lambda v: relaxation_factor(question, name, np.array([v]))[0], default=None)


def ends_of(worlds: Worlds, name: str) -> dict[str, float]:
    """The ends of a limit by their sides; a limit of the model is a ratio of at most 1."""
    cap = next((c for c in worlds.caps if c.name == name), None)
    if cap is not None:
        return {cap.side: cap.end}
    low, high = evaluation.bounds(worlds.nominal).get(name, (None, 1.0))
    return {side: end for side, end in (("max", high), ("min", low)) if end is not None}


def _with_level_as_goal(question: Question, name: str, side: str) -> Question:
    """Return a question whose objective is what one end of a limit holds, without that end."""
    goal = Objective(name, maximize=side == "min")
    return replace(with_limit(question, RowKey(name, side), None), objectives=(goal,))


def _best_level(wanted: Wanted, name: str, names: frozenset[str], side: str) -> tuple[float | None, Status]:
    """The best that what one end of a limit holds can be where everything else holds."""
    worlds = wanted.worlds
    loose = worlds.changed(lambda q: _with_level_as_goal(q, name, side))
    if name in worlds.wide:
        loose = replace(loose, counted=None, limited=worlds.count_of(""))
    measure: Measured = next((c.measure for c in worlds.caps if c.name == name), WORST)
    for g in wanted.failing(name):
        measure = Quantile(1.0 - wanted.chances[g].may_fail / worlds.measured)
    others = tuple(c for c in wanted.chances if name not in c.names)
    kept = names if len(ends_of(worlds, name)) > 1 else names - {name}
    if _is_own_of_program(wanted, name):
        # nobody can set it: what no master of programs finds of it, as of a ratio of sums, is not searched for
        found = robust_program.minimise(loose, WORST, kept=kept, weigh=False, tied=False).outcome
    else:
        found = of_some_limits(Wanted(loose, measure, others, kept))
    if found.x is None or found.status not in (Status.OPTIMAL, Status.FEASIBLE):
        return None, found.status
    level = judged(loose, found.x).objective
    assert level is not None, "it is the objective"
    # at least 0 is no limit
    return float(measure.value(level, maximize=side == "min")) or None, found.status


def _is_own_of_program(wanted: Wanted, name: str) -> bool:
    """Whether a limit is the model's own, in samples that are programs of shares and counts, of many designs."""
    nominal = wanted.worlds.nominal
    own = any(x.name == name for x in nominal.model.limits)
    return own and is_linear(nominal) and not wanted.chances and not scan.few(wanted.worlds)


def _eased_end(wanted: Wanted, key: RowKey, end: float) -> tuple[float | None, Status]:
    """The value at which an end of a limit would do that may fail, together with its other end or other limits."""
    eased = replace(wanted, eased=key)
    found = of_some_limits(eased)
    if found.status is Status.OPTIMAL and found.x is not None:
        if not gives_by_factor(wanted.worlds.nominal, key.name):
            value = end_that_does(eased, found.x)
            if end or not value:
                return value, Status.OPTIMAL
            # beside 0 a difference is measured by its parts, which are not alike for all designs
            changed = wanted.worlds.changed(lambda q: with_limit(q, key, value))
            return _eased_end(replace(wanted, worlds=changed), key, value)
        factor = float(reached(eased, found.x).goal[0])
        return end * factor if key.side == "max" else end / factor, Status.OPTIMAL
    # whether nothing does or nothing was found is known only where the other limits are refuted
    loose = wanted.worlds.changed(lambda q: with_limit(q, key, None))
    rest = of_some_limits(replace(wanted, worlds=loose)).status
    return None, rest if rest is Status.INFEASIBLE else Status.ERROR


def nearest_value(wanted: Wanted, name: str, names: frozenset[str], unknown: set[str]) -> float:
    """The value of a listed or whole number that would do if any were allowed; infinite where none does."""
    (asked,) = (d for d in wanted.worlds.nominal.decide if d.name == name)
    for free, goal in without_gaps(asked):

        def opened(question: Question, free: Decision = free, goal: Objective = goal) -> Question:
            decide = tuple(free if d.name == name else d for d in question.decide)
            return replace(question, decide=decide, objectives=(goal,))

        try:
            found = of_some_limits(Wanted(wanted.worlds.changed(opened), WORST, wanted.chances, names))
        except (NotPosynomial, CannotTake, OverflowError):
            found = Outcome(Status.ERROR)
        unknown.update([name] if found.status not in (Status.OPTIMAL, Status.INFEASIBLE) else [])
        if found.x is not None and found.status in (Status.OPTIMAL, Status.FEASIBLE):
            return found.x[name]
    return math.inf


def gives_by_factor(question: Question, name: str) -> bool:
    """Whether the factor by which a limit has to give is that of its end: of a difference or a logarithm it is not."""
    return name != HALVINGS.name and not composed.may_be_negative(question.model, name)
