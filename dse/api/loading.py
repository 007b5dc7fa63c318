"""Reading what a Python program asks, and refusing what a verb is not made for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import scenarios
from dse.api.arguments import refuse_impossible
from scenarios import Scenario

if TYPE_CHECKING:
    import xarray as xr

Source = Scenario | str | Path | Mapping[str, Any]


def load(source: Source, machine: str | None = None) -> Scenario:
    """Read and check a scenario: a path, the name of a library scenario, or a mapping shaped like a file.

    ``machine``: a machine in place of the one named there: a name, the path of a machine file, or of a map of machines
    "ENTRY=NAME"; the scenario's text, which results repeat, says so.

    Raises ScenarioError, which lists every mistake with its place and its repair.
    """
    refuse_impossible("machine", machine)
    return scenarios.load(source, machine)


def certain(asked: Scenario, what: str) -> None:
    """Refuse a question with uncertain numbers, which ``what`` is not made for."""
    if asked.uncertain is not None:
        from scenarios.uncertain import refuse

        refuse(asked, what)


def one_answer(asked: Scenario) -> None:
    """Refuse a question of many answers: axes, several objectives, worlds without a measure."""
    from dse.uncertain import worlds

    if asked.uncertain is not None:
        worlds.measured(asked)
    several = len(asked.goals) > 1
    if several and asked.sweep:
        wrong = f"this scenario has several objectives, and sweeps {', '.join(asked.sweep)}"
        _refuse_question(asked, "objective", wrong, "front FILE")
    if asked.sweep:
        _refuse_question(
            asked, "sweep", f"this scenario sweeps {', '.join(asked.sweep)}", "sweep FILE -o STORE"
        )
    if several:
        _refuse_question(asked, "objective", "this scenario has several objectives", "front FILE")
    if asked.uncertain is not None:
        from solvers.robust.searches import chances  # slow to import, and most questions are certain

        chances.refuse_too_few(asked.file, scenarios.grid(asked).first)


def _refuse_question(asked: Scenario, key: str, wrong: str, command: str) -> None:
    raise scenarios.ScenarioError.of(
        asked.file, key, wrong, f"use `dse {command}`, in Python dse.{command.split(maxsplit=1)[0]}(scenario)"
    )


def pictured(dataset: xr.Dataset) -> xr.Dataset:
    """Return a dataset; from now on it, and every other, has its pictures under ``.dse``."""
    import results.accessor  # noqa: F401 (registers itself)

    return dataset
