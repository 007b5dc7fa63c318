"""Fronts of questions with uncertain numbers: each objective is a measure of a metric over the worlds.

Each point is a question that is decided now (``solvers.robust.decide_now``): the least of one measure with limits
on the others. What is proved of a point, and of the enclosure between points, is proved of the samples that were
drawn, which are the same at all points. What the designs come to in the world is estimated in fresh samples, point
by point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

import scenarios
from dse.fronts import tied
from dse.fronts.front_search import Front, Search
from dse.quantities import plural
from dse.system.progress import Report
from results.solution import Solution, Status
from results.telling import sizes
from results.variables import ENDS
from scenarios.question import Question
from scenarios.uncertainty import uncertain_words
from scenarios.uncertainty.worst_cases import without_samples
from solvers.robust import decide_now
from solvers.robust.searches import chances

if TYPE_CHECKING:
    import xarray as xr

    from solvers.others.pyomo_points import By

ROBUST_POINTS = 9
"""Points unless asked otherwise: each takes one to three answers over all worlds."""
SAMPLED = "of the sampled problem"


def check(asked: scenarios.Scenario, question: Question, by: By | None = None) -> None:
    """Refuse what a front over uncertain numbers cannot be; raises ScenarioError.

    Nothing says what of an objective counts, a sampler or another solver (``by``) is to find it, or a limit is tied to
    an optimum.
    """
    decided = {d.name for d in question.decide}
    lacking = [
        g.name for g in question.objectives if g.name not in question.measures and g.name not in decided
    ]
    if lacking:
        raise scenarios.ScenarioError.of(
            asked.file,
            "objective.measures",
            f"no measure of {' and '.join(lacking)} is given",
            f'write measure = "mean" (or cvar, quantile) under [objective] for all; or [objective.measures] '
            f'tail = {{ of = "{lacking[0]}", cvar = 0.9 }} and list tail under minimize',
        )
    if by is not None or question.search is not None:
        raise scenarios.ScenarioError.of(
            asked.file,
            "search" if by is None else "uncertain",
            f"numbers are uncertain here, and {'a sampler' if by is None else by.solver} takes each as known",
            "leave it out: dse finds this front itself",
        )
    if any(x.within is not None for x in question.limits):
        raise scenarios.ScenarioError.of(
            asked.file,
            "limits",
            "a limit within a share of an optimum is not known in a front over uncertain numbers",
            "write min or max",
        )
    chances.refuse_too_few(asked.file, question)


def search(question: Question, report: Report, expected: int) -> tuple[Search, list[str]]:
    """Return a search whose questions are decided now, each objective by its measure.

    With it a list to which each question without an answer adds why.
    """
    trouble: list[str] = []

    def by(asked: Question) -> Solution:
        limited = any(x.name in asked.measures for x in asked.limits)
        found = decide_now.answer_now(asked, fresh=False, brief=limited)
        if found.status is Status.ERROR:
            trouble.append(found.message)
        return found

    return Search(question, report, expected, by, tied.loose), trouble


def finished(found: Front, trouble: Sequence[str] = ()) -> Front:
    """Return a front with its designs judged in fresh samples, and with words that say what is proved of what.

    ``trouble``: why questions had no answer.
    """
    points = tuple(_validated(found.question, s) for s in found.points)
    band = found.band
    if band is not None:
        band = replace(band, how=f"{band.how}; {SAMPLED}, not of the distributions")
    method = found.method
    if trouble:
        method += (
            f"; {len(trouble)} of the questions between had no answer ({'; '.join(dict.fromkeys(trouble))})"
        )
    return replace(found, points=points, band=band, method=method)


def _validated(question: Question, solution: Solution) -> Solution:
    return replace(solution, fresh=decide_now.validated(question, solution.variables, solution.metrics)[0])


def with_fresh(dataset: xr.Dataset, found: Front) -> xr.Dataset:
    """Add what the designs come to in fresh samples: NAME_fresh with its 95 % interval, for each measure."""
    points = [s.fresh for s in found.points]
    if not any(points):
        return dataset
    count = next(f.count for f in points if f is not None)
    at_worst = without_samples(found.question)
    over = uncertain_words.worlds(found.question) if at_worst else plural(found.points[0].worlds, "sample")
    for name, measure in found.question.measures.items():
        if name not in dataset:
            continue
        words = uncertain_words.named(measure)
        dataset[name].attrs["long_name"] = f"{words} over {over}"
        nan = (np.nan,) * 3
        values = [nan if f is None else f.measures.get(name, nan) for f in points]
        units, what = sizes.units(dataset[name].attrs), f"{words} in {count} fresh samples"
        if measure.kind == "worst":
            units, what = (
                {"units": "1"},
                f"share of {count} fresh samples in which {measure.of} is no worse than {name}",
            )
        for k, end in enumerate(("", *(f"_{e}" for e in ENDS))):
            told = what + (f", {end[1:]} end of the 95 % interval" if end else "")
            column = np.array([v[k] for v in values])
            dataset[f"{name}_fresh{end}"] = ("front", column, {**units, "long_name": told})
    return dataset
