"""The variables of a dataset that hold what designs that are decided now come to in fresh samples.

An answer has this as ``results.telling.fresh.Fresh``; ``results.uncertainty.kept`` reads it from a dataset again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from formulations.evaluation import quantity
from results.telling import estimates
from results.telling.limits import base_name, limit_names
from results.variables import ENDS, PROMISE, Variable
from scenarios.uncertainty.promises import promises

if TYPE_CHECKING:
    from results.telling.fresh import Estimate, Fresh
    from scenarios.question import Question

ROLE = "fresh"
KEPT, PROMISED, MEAN = "kept", "promised", "fresh_mean"
QUANTILES = {"fresh_q05": 0.05, "fresh_q50": 0.5, "fresh_q95": 0.95}
JOIN = " and "
"""Between the names of limits that hold together."""


def promised(question: Question) -> dict[str, tuple[str, ...]]:
    """Return the limits that are evaluated in fresh samples by their label; those that hold together as one more.

    Limits on what is decided and on measures are none of them: the first hold in every world, the others have an
    estimate of their own.
    """
    if question.uncertain is None:
        return {}
    apart = {d.name for d in question.decide} | set(question.measures)
    names = dict.fromkeys(base_name(n) for n in limit_names(question))
    found: dict[str, tuple[str, ...]] = {n: (n,) for n in names if n not in apart}
    return found | {JOIN.join(p.names): p.names for p in promises(question) if not apart & set(p.names)}


def coordinate(labels: Sequence[str]) -> Variable:
    """Return the coordinate of the limits that are evaluated in fresh samples."""
    about = {"long_name": "limits, alone or together, that are evaluated in fresh samples"}
    return Variable(PROMISE, "text", (PROMISE,), about, "coordinate", values=tuple(labels))


def laid_out(question: Question, dims: tuple[str, ...], labels: Sequence[str]) -> Iterator[Variable]:
    """Go through the variables of designs that are decided now; none where nothing is uncertain."""
    if question.uncertain is None:
        return
    if labels:
        what = "share of fresh samples in which the limit holds"
        for key, told in _with_ends(KEPT, what):
            yield Variable(key, "float64", (*dims, PROMISE), {"units": "1", "long_name": told}, ROLE, key)
        about = {"units": "1", "long_name": "probability that was asked for, NaN where none was"}
        yield Variable(PROMISED, "float64", (*dims, PROMISE), about, ROLE, PROMISED)
    goal = question.objectives[0].name if question.objectives else ""
    if not goal or goal in question.measures:
        return
    unit = quantity(question.model, goal).unit or "1"
    for key, told in _with_ends(MEAN, f"mean {goal} in fresh samples"):
        yield Variable(key, "float64", dims, {"units": unit, "long_name": told}, ROLE, key)
    for key, level in QUANTILES.items():
        told = f"{goal} that {100 * level:g} % of fresh samples do not exceed"
        yield Variable(key, "float64", dims, {"units": unit, "long_name": told}, ROLE, key)


def _with_ends(name: str, what: str) -> Iterator[tuple[str, str]]:
    yield name, what
    for end in ENDS:
        yield f"{name}_{end}", f"{what}, {end} end of the 95 % interval"


def value(fresh: Fresh | None, key: str, labels: Sequence[str]) -> Any:
    """Return what a variable holds at a point; None where nothing was judged there."""
    if fresh is None:
        return None
    if key in QUANTILES:
        found = fresh.quantiles.get(QUANTILES[key])
        return None if found is None else found.value
    if key.startswith(MEAN):
        return None if fresh.mean is None else _end_or_estimate(fresh.mean, key)
    every = {JOIN.join(k.names): k for k in fresh.limits}
    if key == PROMISED:
        asked = (every[n].asked if n in every else None for n in labels)
        return [math.nan if p is None else p for p in asked]
    # of limits that hold in all fresh samples an answer tells nothing
    always = estimates.share(fresh.count, fresh.count)
    return [_end_or_estimate(every[n].held if n in every else always, key) for n in labels]


def _end_or_estimate(found: Estimate, key: str) -> float:
    end = key.rpartition("_")[2]
    return getattr(found, end) if end in ENDS else found.value
