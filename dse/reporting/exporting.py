"""Exports: a store, a file or an answer, written as the file format that a name ends in."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import scenarios
from results.export import answer_files, formats, reading
from results.solution import Solution
from results.stores.files.storage import spared
from results.stores.files.trouble import StoreError
from scenarios.questions import question
from solvers.answer import answer

if TYPE_CHECKING:
    import xarray as xr


def export(source: Any, path: str | Path, columns: Iterable[str] | None = None) -> Path:
    """Write a store, a file or an answer as the format that ``path`` ends in; see ``dse.export``."""
    formats.check(path, columns)
    return formats.write(dataset_of(source, [path]), path, columns)


def dataset_of(source: Any, outputs: Iterable[str | Path]) -> xr.Dataset:
    """Return what is to be exported as a dataset: opened, or, of a scenario, answered first.

    Raises ScenarioError, and StoreError where there is nothing that could be opened, or where one of the ``outputs``
    would replace what is read.
    """
    found = reading.opened(source)
    spared(outputs, reading.read_for(source, found))
    if isinstance(found, Solution):
        return answer_files.as_dataset(found, str(source) if isinstance(source, str | Path) else "")
    return _answers_as_dataset(found) if isinstance(found, scenarios.Scenario) else found


def _answers_as_dataset(asked: scenarios.Scenario) -> xr.Dataset:
    from dse.fronts import front as fronts
    from dse.fronts import swept_fronts
    from dse.sweeping import sweeps

    several = len(asked.goals) > 1
    if asked.sweep:
        return swept_fronts.front(asked) if several else sweeps.sweep(asked)
    if not several:
        return answer_files.as_dataset(answer(question(asked)))
    found = fronts.find(asked)
    if found.refusal is not None:
        status = found.refusal.status.value
        raise StoreError(f"{asked.file} has no front: {status}; `dse front {asked.file}` says why")
    return fronts.to_dataset(found)
