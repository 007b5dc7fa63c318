"""Whether another design may be as good as the best one for an objective, and better for another one."""

from __future__ import annotations

from dataclasses import replace

from results.solution import Solution, Status
from results.telling.limits import base_name
from scenarios.question import TIES, Objective, Question
from solvers.certain import checked
from solvers.designs import as_good
from solvers.nonlinear import methods


def held(found: Solution, goal: Objective) -> bool:
    """Whether a limit on an objective keeps it from being better: as a rule many designs are then as good."""
    side = "max" if goal.maximize else "min"
    return any(s.binding and s.side == side and base_name(n) == goal.name for n, s in found.limits.items())


def loose(found: Solution, other: Objective) -> bool:
    """Whether another design may be as good and better: where no limit on ``other`` holds the design up."""
    return not any(s.binding for n, s in found.limits.items() if base_name(n) == other.name)


def best_at_zero(asked: Question, found: Solution) -> Solution | None:
    """The answer of a question whose limits ``found`` holds, all held but for rounding; None where it is not known.

    A limit of 0 holds within a part of the sizes that cancel: what is gained by that is of designs that are worse.
    """
    known = {n: v for n, v in found.variables.items() if not isinstance(v, str)}
    outcome = methods.among_as_good(asked, known) if asked.uncertain is None else None
    if outcome is None:
        return None
    # the design that is known is as good a one, if the proof says so
    same = replace(checked(asked, replace(outcome, x=known)), metrics=found.metrics)
    best = same if same.status is Status.OPTIMAL else checked(asked, outcome)
    return best if best.status is Status.OPTIMAL else None


def goes_to(question: Question, goal: Objective, other: Objective) -> bool:
    """Whether ties of ``goal`` already go to ``other``, by the usual order of ties."""
    first = next(name for name in TIES if name != goal.name)
    return not question.ties and not other.maximize and other.name == first


def may_be_better(question: Question, found: Solution, goal: Objective, other: Objective) -> bool:
    """Whether what our own methods say of an answer leaves room for a design as good that is better for ``other``."""
    reached = [a.objective for a in found.alternatives if a.objective is not None]
    if found.objective is not None and sum(as_good(v, found.objective) for v in reached) > 1:
        # of choices that are as good the first one is handed out, or what the file's own order of ties prefers
        return True
    if not methods.settles_ties(question, found.solver):
        # such a method does not tell what is not unique either
        return loose(found, other)
    if other.name in found.variables:
        # what is decided is told to differ, or does not
        return other.name in found.ranges
    return bool(found.ranges and not goes_to(question, goal, other))
