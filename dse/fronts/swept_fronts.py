"""Fronts over swept axes: one front at each place of the grid, in one dataset with dominance across the axes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import scenarios
from dse.fronts import front as fronts
from dse.fronts.front_search import Front
from dse.sweeping.points import robust_points
from dse.system.progress import Report, reporting
from dse.system.records import dataclass
from formulations import failures
from results.along_fronts import front_places
from results.solution import Solution, Status
from results.stores.files.trouble import StoreError
from scenarios.language.searches import study_at
from scenarios.question import Question
from solvers.others.solver_errors import SolverError

if TYPE_CHECKING:
    import xarray as xr

    from solvers.others.pyomo_points import By

MOST_PLACES = 1000
"""Places of a grid of fronts: at a front a second already a quarter of an hour."""

Place = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Fronts:
    """The fronts found, by their place on the grid; places that an interrupted run did not come to are missing."""

    grid: scenarios.Grid
    found: Mapping[Place, Front]

    def places(self) -> Iterator[tuple[Place, Front | None]]:
        """Go through all places in C order."""
        for place in itertools.product(*(range(n) for n in self.grid.shape)):
            yield place, self.found.get(place)


class Interrupted(KeyboardInterrupt):
    """The user stopped the search; ``fronts`` are those found until then."""

    def __init__(self, found: Fronts) -> None:
        super().__init__()
        self.fronts = found


def front(
    scenario: scenarios.Scenario,
    points: int | None = None,
    tolerance: float | None = None,
    progress: bool | Report | None = None,
    by: By | None = None,
) -> xr.Dataset:
    """Find the Pareto front of a scenario; of one with [sweep] the front at each place of its grid.

    ``points``, ``tolerance`` and ``by`` are as in ``dse.fronts.front.find`` and hold at each place. The dataset is
    along ``front``, of which ``joined`` says which points a segment joins to the next one; of an infeasible scenario
    it has length 0, and its attributes say why. Over axes it has their dimensions before ``front``, see
    ``to_dataset``; a place without a front is empty and says why. Raises ScenarioError as ``dse.fronts.front.find``
    does, and for a grid of more than MOST_PLACES places or an axis whose name the dataset needs; Interrupted, a
    KeyboardInterrupt, with what was found.
    """
    if not scenario.sweep:
        return fronts.to_dataset(fronts.find(scenario, points, tolerance, progress, by))
    return to_dataset(find(scenario, points, tolerance, progress, by))


def find(
    scenario: scenarios.Scenario,
    points: int | None = None,
    tolerance: float | None = None,
    progress: bool | Report | None = None,
    by: By | None = None,
) -> Fronts:
    """Find the fronts as ``front`` does, and return the solutions themselves."""
    grid = scenarios.grid(scenario)
    _refuse_swept_front(scenario, grid)
    first = grid.first
    points, tolerance = fronts.fineness(scenario, first, points, tolerance, by)
    found: dict[Place, Front] = {}
    with reporting(progress, "front") as report:
        report(0, grid.size)
        for place in itertools.product(*(range(n) for n in grid.shape)):
            try:
                found[place] = _front(_question(grid, place), points, tolerance, by)
            except KeyboardInterrupt:
                raise Interrupted(Fronts(grid, found)) from None
            report(len(found), grid.size)
    return Fronts(grid, found)


def _front(question: Question, points: int | None, tolerance: float | None, by: By | None) -> Front:
    try:
        return fronts.at(question, points, tolerance, lambda done, of: None, by)
    except (StoreError, SolverError):
        raise
    except Exception as problem:
        # one place must not take the others down; what is wrong is told with the place
        failed = Solution(Status.ERROR, message=failures.in_words(question, problem))
        return Front(question, refusal=failed, failed=1)


def _question(grid: scenarios.Grid, place: Place) -> Question:
    """Return the question at a place; trials that are kept have a study of their own there."""
    asked = grid.question(place)
    if asked.search is None or not asked.search.storage:
        return asked
    values = {c.of.name: c.of.values[place[c.along]] for c in grid.changes}
    return replace(asked, search=study_at(asked.search, values))


def _refuse_swept_front(scenario: scenarios.Scenario, grid: scenarios.Grid) -> None:
    if grid.size > MOST_PLACES:
        lengths = " × ".join(f"{len(a.values)} {a.name}" for a in grid.axes)
        raise scenarios.ScenarioError.of(
            scenario.file,
            "sweep",
            f"{grid.size} fronts ({lengths}) are more than the {MOST_PLACES} that are found at once",
            "shorten an axis; or keep one objective, limit the others along an axis, and use dse sweep",
        )


def to_dataset(found: Fronts) -> xr.Dataset:
    """Lay out fronts as one dataset with the dimensions of the axes, then ``front``.

    Each variable of a single front (``dse.fronts.front.to_dataset``) stands here for all places; fronts shorter
    than the longest one are filled up at their end (status 0, NaN), and what a single front says of itself in its
    attributes is a variable along the axes: ``front_points``, ``front_status``, ``front_conflict``,
    ``front_method``, ... ``dominated`` is 1 where a design of another place is at least as good in every objective
    and better in one: a point of its front, or a design between two of them that its enclosure proves to be there.
    """
    parts = {place: fronts.to_dataset(f) for place, f in found.found.items()}
    for place, f in found.found.items():
        if f.refusal is not None and f.refusal.message:
            parts[place].attrs["message"] = f.refusal.message
    goals = {g.name: g.maximize for g in found.grid.first.objectives}
    made = front_places.joined(found.grid, parts, goals)
    several = f"a front at each of {math.prod(found.grid.shape)} places"
    return made.assign_attrs(
        robust_points.about(found.grid.first, found.grid),
        method=f"{several} of {' × '.join(a.name for a in found.grid.axes)}",
        solves=sum(f.solves for f in found.found.values()),
        failed_solves=sum(f.failed for f in found.found.values()),
    )
