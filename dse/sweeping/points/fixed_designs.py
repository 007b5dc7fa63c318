"""A design that is fixed before the uncertain is known, evaluated in every world."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import results.dataset
from dse.sweeping.points import chunk_work
from scenarios.question import STRETCH, Question, fixed
from scenarios.sweep.grids import Grid

if TYPE_CHECKING:
    import xarray as xr

Design = Mapping[str, float | str]


def evaluated(grid: Grid, design: Design) -> xr.Dataset:
    """Evaluate one design at every point of a grid: metrics, objective, and whether all limits hold (status).

    ``design``: a value for all that is decided, SI, or the name of a choice. Time spent idling is chosen at each point
    anew: it costs nothing to decide it late. Raises KeyError for a decided quantity without a value.
    """
    bases = {key: pinned(base, design) for key, base in grid.bases.items()}
    at = chunk_work.ready(replace(grid, bases=bases))
    return results.dataset.to_dataset(at.plan, chunk_work.everything(at))


def pinned(question: Question, design: Design) -> Question:
    """Return the question with all that is decided given.

    Without an objective that is no metric of the model (a decided quantity, halvings), which is then a given number.
    """
    chosen = {d.name: str(design[d.name]) for d in question.decide if d.choices is not None}
    left = fixed(question, chosen)
    numbers = {d.name: float(design[d.name]) for d in left.decide if d.name != STRETCH.name}
    metrics = {q.name for q in left.model.metrics}
    return replace(
        left,
        given={**left.given, **numbers},
        decide=tuple(d for d in left.decide if d.name == STRETCH.name),
        objectives=tuple(o for o in left.objectives if o.name in metrics),
        limits=tuple(
            x for x in left.limits if x.name in metrics or x.name in numbers or x.name in left.given
        ),
    )
