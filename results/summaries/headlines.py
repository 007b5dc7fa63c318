"""The answer in one sentence, with which a page and a notebook begin."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.quantities import plural
from results import axes
from results.along_fronts.variable_names import FRONT, PLACE_STATUS
from results.dataset import STATUS_CODES, objectives
from results.telling import sizes, words
from results.telling.facts import Facts, Status

if TYPE_CHECKING:
    import xarray as xr


MOST_IN_SENTENCE = 4
"""Decided numbers, or sets of limits, that a sentence names; a list of more is a table."""


def of_solution(solution: Facts) -> str:
    """Say what is best and by which design, or why there is none."""
    solution = sizes.as_asked(solution)
    if solution.status is Status.INFEASIBLE:
        limits = [row[0] for row in words.conflict(solution)]
        if not limits:
            return "There is no such design."
        if words.several_sets(solution):
            sets = words.clashes(solution)
            more = f"; {len(sets) - MOST_IN_SENTENCE} more sets conflict" * (len(sets) > MOST_IN_SENTENCE)
            return f"There is no such design: {'; '.join(sets[:MOST_IN_SENTENCE])}{more}."
        if not words.by_themselves(solution):
            return f"There is no such design: {' and '.join(limits)} cannot hold together."
        each = ", each by itself" if len(limits) > 1 else ""
        return f"There is no such design: {' and '.join(limits)} cannot be met{each}."
    if solution.objective is None or not solution.objective_name:
        return ""
    extreme = "" if solution.status is Status.EVALUATED else "greatest " if solution.maximize else "least "
    told = f"{extreme}{_goal(solution)}: {words.objective(solution)}"
    own = {n: v for n, v in solution.variables.items() if n not in solution.index}
    decided = [f"{axes.words(n)} {words.metric(solution, n, v)}" for n, v in own.items()]
    with_ = f", with {', '.join(decided)}" if 0 < len(decided) <= MOST_IN_SENTENCE else ""
    doubtful = " and ".join(words.doubtful_limits(solution))
    open_ = f"{doubtful} not proved to hold in the whole box" if doubtful else "not proved optimal"
    sure = {Status.OPTIMAL: " (proved optimal)", Status.FEASIBLE: f" ({open_})"}
    return f"{told[0].upper()}{told[1:]}{with_}{sure.get(solution.status, '')}."


def _goal(solution: Facts) -> str:
    """Say what is best: of uncertain numbers a measure, without how samples were drawn."""
    measure = re.sub(r" \([^()]*\)$", "", solution.measure.partition(";")[0])
    return axes.words(measure or solution.objective_name)


def of_dataset(dataset: xr.Dataset) -> str:
    """Say from where to where a front goes, or what is best over a grid."""
    goals = objectives(dataset)
    status = dataset["status"].values if "status" in dataset else np.zeros(0)
    answered = np.isin(status, axes.ANSWERED)
    if goals and status.size and (status == STATUS_CODES[Status.INFEASIBLE]).all():
        return (
            f"There is no design at any of the {status.size} points."
            if status.size > 1
            else "There is no such design."
        )
    if not goals or not answered.any():
        return ""
    # several objectives have no least value: what is left of their fronts is told as designs
    if FRONT in dataset.coords or len(goals) > 1:
        several = dataset["status"].dims not in {(FRONT,), ()}
        return _of_fronts(dataset, list(goals), answered) if several else _of_front(dataset, list(goals))
    name, maximize = next(iter(goals.items()))
    array = dataset["objective"] if "objective" in dataset else dataset[name]
    if array.dims != dataset["status"].dims:
        return ""
    found = np.asarray(array.values, float)[answered]
    low, high = (axes.amount(float(v), array, 4) for v in (found.min(), found.max()))
    called = axes.name_of(dataset, "objective") if "objective" in dataset else name
    told = f"{'Greatest' if maximize else 'Least'} {axes.words(called)}: {low if low == high else f'{low} to {high}'}"
    without = _without(status, "point")
    over = f", over {int(answered.sum())} of {status.size} points" if status.size > 1 else ""
    return f"{told}{over}{without}."


def _without(status: Any, places: str) -> str:
    """Say at how many places there is no design; nothing where there is one at all."""
    none = int(np.count_nonzero(status == STATUS_CODES[Status.INFEASIBLE]))
    return f"; at {plural(none, places)} there is no design" if none else ""


def _of_fronts(dataset: xr.Dataset, goals: list[str], answered: Any) -> str:
    """Say of fronts over axes how many there are, and from where to where their designs go."""
    if any(dataset[n].dims != dataset["status"].dims for n in goals):
        return ""
    dims = list(map(str, dataset["status"].dims))
    over = " and ".join(axes.words(d) for d in dims if d != FRONT)
    count = int(np.count_nonzero(answered.any(dims.index(FRONT)))) if FRONT in dims else 0
    on = f" on {plural(count, 'front')}" if count else ""
    values = {n: np.asarray(dataset[n].values, float)[answered] for n in goals}
    ends = {n: [axes.amount(float(v), dataset[n], 4) for v in (x.min(), x.max())] for n, x in values.items()}
    told = ", ".join(f"{axes.words(n)} {' to '.join(dict.fromkeys(both))}" for n, both in ends.items())
    without = _without(dataset[PLACE_STATUS].values, "place") if PLACE_STATUS in dataset else ""
    return f"{plural(int(answered.sum()), 'design')}{on} over {over}: {told}{without}."


def _of_front(dataset: xr.Dataset, goals: list[str]) -> str:
    first = np.ravel(dataset[goals[0]].values).astype(float)
    kept = np.flatnonzero(np.isfinite(first))
    if not kept.size:
        return ""
    ends = (int(kept[first[kept].argmin()]), int(kept[first[kept].argmax()]))
    told = [
        ", ".join(
            f"{axes.words(n)} {axes.amount(float(np.ravel(dataset[n].values)[i]), dataset[n], 4)}"
            for n in goals
        )
        for i in ends
    ]
    return (
        f"{kept.size} designs, from {told[0]} to {told[1]}." if kept.size > 1 else f"One design: {told[0]}."
    )
