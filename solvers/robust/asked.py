"""A question that is decided now; where only an end of a search may have decided it, it is asked farther out."""

from __future__ import annotations

import dataclasses
import math
from functools import partial

from dse.system.records import dataclass
from formulations.programs.program import is_linear
from formulations.tolerances import TIE
from formulations.uncertainty.measures import Measured
from formulations.uncertainty.wanted import Chance, Level, Wanted
from formulations.uncertainty.worlds import Worlds
from results.solution import Status
from scenarios.question import Question, without
from solvers import beyond
from solvers.explaining import wider
from solvers.outcome import ENUMERATION
from solvers.robust.boxes import robust_boxes
from solvers.robust.masters import ends
from solvers.robust.masters.robust_geometric import Found
from solvers.robust.searches.chances import Counted
from solvers.robust.searches.robust_ways import found_by

WORLDS_ASKED = 8
"""Worlds that are asked whether anything may be beyond the end of a search: one of them is enough."""
MOST_WORLDS_ASKED = 128
"""Worlds that are all asked before a question is asked again farther out."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that is to be decided now.

    ``measure``: what is made least of the objective over the worlds, ``words``: its name, as in "mean of energy over
    1024 samples (Sobol, seed 0)". ``promised``: what may fail in how many of the worlds (see
    ``searches.chances``). ``level``: what other choices reach.
    """

    worlds: Worlds
    measure: Measured
    words: str
    promised: tuple[Counted, ...] = ()
    level: Level | None = None

    @property
    def wanted(self) -> Wanted:
        """The question as methods take it."""
        chances = tuple(Chance(p.names, k) for p, k in self.promised)
        return Wanted(self.worlds, self.measure, chances, level=self.level)


def asked_farther(asked: Asked, found: Found, *, tied: bool) -> Found:
    """Ask again, farther out, where only the end of a search of whole numbers may have forbidden or held a design."""
    if not ends.holds_whole(asked.worlds.nominal):
        return found
    return found_by(dataclasses.replace(asked, worlds=ends.farther(asked.worlds)).wanted, tied=tied)


def off_ends(asked: Asked, found: Found, *, tied: bool) -> tuple[Asked, Found]:
    """Ask farther out while an end of the search holds an optimum, or a better one may be beyond; what is worse there
    is no answer.
    """  # noqa: D205
    for reach in (*wider.STEPS, math.inf):
        x, best = found.outcome.x, found.outcome.bound
        if found.outcome.status is not Status.OPTIMAL or x is None or best is None:
            break
        held = ends.held(asked.worlds.nominal, x)
        if not held and _is_enclosed(asked, best):
            break
        wide = dataclasses.replace(asked, worlds=asked.worlds.changed(partial(_reaching, reach=reach)))
        # so far out thousands of designs are as good, and HiGHS may not come back from choosing one
        far = found_by(wide.wanted, tied=tied and reach < math.inf)
        sign, now = asked.wanted.sign, far.outcome.bound
        if (
            far.outcome.status is not Status.OPTIMAL
            or now is None
            or sign * now > sign * best + TIE * abs(best)
        ):
            break
        if not held and sign * now >= sign * best - TIE * abs(best):
            # so much farther out there is nothing better
            break
        asked, found = wide, far
    return asked, found


def _is_enclosed(asked: Asked, best: float) -> bool:
    """Whether limits, and that the measure is no worse than its ``best``, imply ends within those of the search.

    Limits hold in each world, and an objective is no worse than its measure in one of them at least. Of equations that
    are not linear that is not asked.
    """
    if not is_linear(asked.worlds.nominal):
        return True
    may_fail = {n for promise, count in asked.promised if count for n in promise.names}

    def encloses(i: int, objective: float | None) -> bool:
        return wider.encloses(without(asked.worlds.at(i), may_fail), objective)

    size = asked.worlds.size
    if any(encloses(i, None) for i in range(min(size, WORLDS_ASKED))):
        return True
    return size <= MOST_WORLDS_ASKED and all(encloses(i, best) for i in range(size))


def _reaching(question: Question, *, reach: float) -> Question:
    return dataclasses.replace(question, reach=max(question.reach, reach))


def nothing_beyond(asked: Asked, found: Found) -> bool:
    """Whether a search through boxes or lists shows, in some world, that nothing is beyond where it ended."""
    if found.outcome.solver not in (ENUMERATION, robust_boxes.SOLVER) or asked.promised or asked.worlds.caps:
        return True
    return any(beyond.nothing_beyond(asked.worlds.at(i)) for i in range(min(asked.worlds.size, WORLDS_ASKED)))
