"""A design that is best for one of two objectives, stated as best for the other one.

On a front that is convex in logarithms both say the same: the dual bound is a line that no design passes, so it bounds
either objective where the other one is given, and its slope is the sensitivity of a limit.
"""

from __future__ import annotations

from dataclasses import replace

from results.solution import LimitState, Solution, Status
from results.telling.limits import base_name
from scenarios.question import Objective, Question
from solvers.certain import checked
from solvers.fronts.asking import at_level, in_logs
from solvers.fronts.levels import SOLVER, Found
from solvers.outcome import Outcome


def stated(question: Question, found: Found, goal: Objective, other: Objective) -> Solution | None:
    """The answer for ``goal`` with ``other`` limited to what it is at a design found as best for ``other``.

    None where the slope of the front is too small there to bound ``goal`` well enough.
    """
    support, design = found.support, found.solution
    if support is None or design.status is not Status.OPTIMAL or not support.weight[goal.name] > 0:
        return None
    numbers = {**design.variables, **design.metrics}
    level = float(numbers[other.name])
    # what the line leaves of the goal's coordinate where the other objective has this value
    rest = support.least - support.weight[other.name] * in_logs(other).small(level)
    bound = float(in_logs(goal).values(rest / support.weight[goal.name]))
    asked = at_level(question, goal, {other.name: level})
    x = {n: float(v) for n, v in design.variables.items()}
    solution = checked(asked, Outcome(Status.OPTIMAL, x, bound, design.certificate, SOLVER))
    if solution.status is not Status.OPTIMAL:
        return None
    given = _limit_label(design, goal.name, "min" if goal.maximize else "max")
    slope = None if given is None else design.limits[given].elasticity
    if not slope:
        return solution
    return replace(
        solution,
        limits=_elasticities_along_front(solution, design, other, slope, given),
        parameters={n: -e / slope for n, e in design.parameters.items()},
        seconds=design.seconds,
    )


def _elasticities_along_front(
    solution: Solution, design: Solution, other: Objective, slope: float, given: str | None
) -> dict[str, LimitState]:
    """Elasticities with the other objective held in place of the goal: the chain rule along the front.

    ``given``: the limit on the goal that the design was found with, ``slope`` its sensitivity.
    """
    limits = dict(solution.limits)
    held = _limit_label(solution, other.name, "min" if other.maximize else "max")
    for name, state in limits.items():
        elasticity = design.limits[name].elasticity if name in design.limits else None
        if name == given and not state.binding:
            # a limit of the user's own on the goal, which the design was not held by
            limits[name] = replace(state, elasticity=0.0)
        elif elasticity is not None and name not in (held, given):
            limits[name] = replace(state, elasticity=-elasticity / slope + 0.0 if state.binding else 0.0)
    if held is not None:
        limits[held] = replace(limits[held], elasticity=1.0 / slope)
    return limits


def _limit_label(found: Solution, name: str, side: str) -> str | None:
    """How an answer calls the limit on one side of a name."""
    return next((n for n, s in found.limits.items() if base_name(n) == name and s.side == side), None)
