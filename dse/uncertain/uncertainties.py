"""How far an optimum can be trusted: the certified optimum in every world, and a fixed design beside it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import scenarios
from dse.sweeping import sweeps
from dse.sweeping.points import fixed_designs
from dse.uncertain import worlds
from results.telling.facts import Status
from results.uncertainty.worlds import Fixed, Worlds, summarised
from scenarios import Scenario, ScenarioError
from scenarios.questions import question
from scenarios.uncertain import nominal, of_measures
from solvers.answer import answer

if TYPE_CHECKING:
    from dse.sweeping.points.fixed_designs import Design
    from dse.system.progress import Report
    from scenarios.sweep.grids import Grid

NOMINAL = "the optimum with every number at its nominal value"
DECIDED = "the one that the file asks for, decided before the samples are known"
NO_FIXED = "there is no fixed design to set beside them: {}, is {}; `dse solve` says why"
GIVEN = "the design that was given"


def uncertainty(
    asked: Scenario,
    store: str | Path | None = None,
    samples: int | None = None,
    design: Design | None = None,
    client: Any = None,
    workers: int | None = None,
    progress: bool | Report | None = None,
    patience: float | None = None,
) -> Worlds:
    """Answer a question in every world and say how the answers are distributed; see ``dse.uncertainty``."""
    _askable(asked)
    there = worlds.in_worlds(asked, samples)
    # what cannot be a design is refused before all samples are answered
    given = None if design is None else fixed_designs.checked(scenarios.grid(there), design, asked.file)
    dataset = sweeps.sweep(
        there, store, client, workers, progress, patience=patience, extend=store is not None
    )
    fixed, why_not = _fixed_in_worlds(asked, there, given)
    return summarised(dataset, fixed, (*_decided_now_notes(asked), *why_not))


def _askable(asked: Scenario) -> None:
    goal = asked.objective
    several = goal is not None and len((goal.minimize or ()) + (goal.maximize or ())) > 1
    worlds.at_one_point(
        asked, "use `dse sweep FILE -o STORE`, which asks in every sample at each point of the axes"
    )
    if several:
        raise ScenarioError.of(
            asked.file, "objective", "this scenario has several objectives", "keep one of them"
        )


def _decided_now_notes(asked: Scenario) -> tuple[str, ...]:
    """Say what of the file speaks of one design for all worlds."""
    first, limited = worlds.decided_now(asked), of_measures(asked)
    told = [f"each sample is decided by itself: {first} counts for the fixed design only"] if first else []
    told += [
        f"in one sample a measure is what it measures: limits.{name} is a limit on {of} there"
        for name, of, _ in limited
    ]
    return tuple(told)


def _fixed_in_worlds(
    asked: Scenario, there: Scenario, design: Design | None
) -> tuple[Fixed | None, tuple[str, ...]]:
    """Evaluate a fixed design in every world; None where there is none, and a line that says why.

    Unless one is given it is the one that the file asks for, before the worlds are known, else the nominal optimum.
    """
    grid = scenarios.grid(there)
    decided = grid.decided()
    if not decided:
        return None, ()
    if design is not None:
        return _in_each_world(GIVEN, grid, design), ()
    now = bool(worlds.decided_now(asked))
    there_is = DECIDED if now else NOMINAL
    solution = answer(question(asked) if now else nominal(asked), neighbours=False)
    if solution.status not in (Status.OPTIMAL, Status.FEASIBLE):
        return None, (NO_FIXED.format(there_is, solution.status.value),)
    found = {n: solution.variables[n] for n in decided if n in solution.variables}
    return _in_each_world(there_is, grid, found), ()


def _in_each_world(what: str, grid: Grid, design: Design) -> Fixed:
    own = fixed_designs.decided_objective(grid, design)
    return Fixed(what, design, fixed_designs.evaluated(grid, design), own)
