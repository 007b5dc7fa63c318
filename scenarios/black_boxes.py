"""Models of a user's own whose equations are not arithmetic: found out before anything relies on it."""

from __future__ import annotations

import itertools
from dataclasses import replace

from dse import models
from dse.models.described.witness import refusal
from scenarios.question import STRETCH, combinations
from scenarios.sweep.grids import Grid

MOST_KINDS_TRIED = 200


def marked(grid: Grid) -> Grid:
    """Return a grid whose model says that it is a black box, if it is one.

    Where equations look at a number that is decided or swept, nothing but plain numbers tells what they mean.
    The models that come with dse are known not to. Texts are tried in all combinations, up to 200.
    """
    model = next(iter(grid.bases.values())).model
    if models.our_own(model) or model.black_box:
        return grid
    why = next(filter(None, _refusals(grid)), "")
    if not why:
        return grid
    box = replace(model, black_box=why)
    return replace(grid, bases={i: replace(q, model=box) for i, q in grid.bases.items()})


def _refusals(grid: Grid) -> itertools.chain[str]:
    swept = [c.target.name for c in grid.changes if c.of.numeric and c.target.kind == "given"]
    asked = itertools.islice(grid.kinds(), MOST_KINDS_TRIED)
    every = itertools.chain.from_iterable(combinations(grid.question(index)) for index in asked)
    tried = (
        refusal(q.model, q.given, [*swept, *(d.name for d in q.decide if d.name != STRETCH.name)])
        for _, q in itertools.islice(every, MOST_KINDS_TRIED)
    )
    return itertools.chain(tried)
