"""How far an optimum can be trusted: the certified optimum in every world, and a fixed design beside it."""

from __future__ import annotations

from collections.abc import Mapping
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
    dataset = sweeps.sweep(
        there, store, client, workers, progress, patience=patience, extend=store is not None
    )
    fixed, why_not = _fixed_in_worlds(asked, there, design)
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
    asked: Scenario, there: Scenario, design: Mapping[str, float | str] | None
) -> tuple[Fixed | None, tuple[str, ...]]:
    """Evaluate a fixed design in every world; None where there is none, and a line that says why.

    Unless one is given it is the one that the file asks for, before the worlds are known, else the nominal optimum.
    """
    grid = scenarios.grid(there)
    decided = grid.decided()
    if not decided:
        return None, ()
    if design is not None:
        missing = [n for n in decided if n not in design]
        if missing:
            raise ScenarioError.of(
                asked.file,
                "design",
                f"the design has no value of {', '.join(missing)}",
                f"it needs {', '.join(decided)}",
            )
        return Fixed(GIVEN, dict(design), fixed_designs.evaluated(grid, design)), ()
    now = bool(worlds.decided_now(asked))
    solution = answer(question(asked) if now else nominal(asked), neighbours=False)
    if solution.status not in (Status.OPTIMAL, Status.FEASIBLE):
        why = NO_FIXED.format(DECIDED if now else NOMINAL, solution.status.value)
        return None, (why,)
    found = {n: solution.variables[n] for n in decided}
    there_is = DECIDED if now else NOMINAL
    return Fixed(there_is, found, fixed_designs.evaluated(grid, found), solution.objective), ()
