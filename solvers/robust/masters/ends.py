"""Ends that only a search has: how far beyond them a proof over many worlds looks, and what is held by them.

A decided quantity that neither the user nor mathematics ends has a box all the same (``formulations.evaluation.box``).
"Optimal" and "infeasible" are said of many worlds if a search ``FARTHEST_REACH`` beyond these ends says so, as they
are of one world (``solvers.explaining.wider``). A design at such an end is not called "optimal".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from formulations.uncertainty.worlds import Worlds
from scenarios.question import Question
from solvers import boxes
from solvers.explaining.wider import FARTHEST_REACH

AT_END = 1e-6
NOT_ASKED = "lies at an end of the search box that the question does not state, so nothing is proved"


def farther(worlds: Worlds) -> Worlds:
    """Return the same worlds with the ends of the search far away."""
    return replace(
        worlds,
        nominal=replace(worlds.nominal, reach=FARTHEST_REACH),
        every=replace(worlds.every, reach=FARTHEST_REACH),
    )


def held(question: Question, x: Mapping[str, float]) -> str:
    """Name the variables of a design that lie at an end of the search, the near one or the far one."""
    found: dict[str, None] = {}
    for asked in (question, replace(question, reach=FARTHEST_REACH)):
        where = boxes.space(asked)
        for name, low, high, own in zip(where.names, where.low, where.high, where.ends, strict=True):
            sides = [end for end, mine in zip((low, high), own, strict=True) if mine]
            if any(abs(x[name] - end) <= AT_END * end for end in sides):
                found[name] = None
    return ", ".join(found)
