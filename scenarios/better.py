"""Towards which side a metric is better: what "within 5 % of its optimum" and the like go by."""

from __future__ import annotations

from dse.quantities import dimension
from scenarios.question import Question

# what is better the larger it is, by what it measures and by name; all else is better the smaller it is
_UNITS = ("flop/s", "flop/J", "op/s", "op/J", "instruction/s", "instruction/J", "byte/s")
_NAMES = frozenset({"mtbf", "mttf", "performance", "efficiency", "throughput", "bandwidth"})


def larger(question: Question, name: str) -> bool:
    """Tell whether a metric is better the larger it is: rates of work, work per energy, times between failures.

    What the question itself minimises or maximises it says so of.
    """
    for goal in question.objectives:
        if goal.name == name:
            return goal.maximize
    return measured(name, question.model.metric(name).unit)


def measured(name: str, unit: str) -> bool:
    """Tell the same of a metric by its name and unit alone."""
    if name.partition(".")[0] in _NAMES:
        return True
    return bool(unit) and any(dimension(unit) == dimension(known) for known in _UNITS)
