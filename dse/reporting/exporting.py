"""Exports: a store, a file or an answer, written as the file format that a name ends in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import results.export.reading
import scenarios
from results.export import answer_files, formats
from results.solution import Solution
from results.stores.files.trouble import StoreError
from scenarios.questions import question
from solvers.answer import answer

if TYPE_CHECKING:
    import xarray as xr


def export(source: Any, path: str | Path, columns: Iterable[str] | None = None) -> Path:
    """Write a store, a file or an answer as the format that ``path`` ends in; see ``dse.export``."""
    formats.check(path, columns)
    return formats.write(dataset_of(source), path, columns)


def dataset_of(source: Any) -> xr.Dataset:
    """Return what is to be exported as a dataset: opened, or, of a scenario, answered first.

    Raises ScenarioError, and StoreError where there is nothing that could be opened.
    """
    import xarray as xr

    if isinstance(source, xr.Dataset):
        return source
    if isinstance(source, Solution):
        return answer_files.as_dataset(source)
    if isinstance(source, scenarios.Scenario | Mapping):
        return _answers_as_dataset(
            source if isinstance(source, scenarios.Scenario) else scenarios.load(source)
        )
    if results.export.reading.is_stored(source):
        return results.export.reading.open(source)
    if Path(source).suffix == answer_files.SUFFIX:
        return answer_files.as_dataset(answer_files.read(source), str(source))
    return _answers_as_dataset(scenarios.load(source))


def _answers_as_dataset(asked: scenarios.Scenario) -> xr.Dataset:
    from dse.fronts import front as fronts
    from dse.fronts import swept_fronts
    from dse.sweeping import sweeps

    goal = asked.objective
    several = goal is not None and len((goal.minimize or ()) + (goal.maximize or ())) > 1
    if asked.sweep:
        return swept_fronts.front(asked) if several else sweeps.sweep(asked)
    if not several:
        return answer_files.as_dataset(answer(question(asked)))
    found = fronts.find(asked)
    if found.refusal is not None:
        status = found.refusal.status.value
        raise StoreError(f"{asked.file} has no front: {status}; `dse front {asked.file}` says why")
    return fronts.to_dataset(found)
