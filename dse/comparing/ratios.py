"""A sweep with ratios to a baseline, in memory or in its store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import results.stores.files.storage
import results.stores.store
import scenarios
from dse.comparing.side_by_side import machine_of, shown_machines
from dse.sweeping import sweeps
from dse.system.records import dataclass
from results import dataset as datasets
from results.export import answer_files
from results.side_by_side.comparison import ANSWERED
from results.stores import baselines, remarks
from results.stores.files.trouble import StoreError
from scenarios import Scenario
from scenarios.questions import question
from solvers.answer import answer

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True, slots=True)
class Baseline:
    """A baseline and its answer; ``label``: what it is called, ``text``: its question."""

    label: str
    text: str
    answer: xr.Dataset

    def added(self, dataset: xr.Dataset, store: str | Path | None) -> xr.Dataset:
        """Return a sweep with its ratios to the baseline, which its store keeps.

        Raises StoreError where the baseline does not fit, or is not the one that the store has ratios to already.
        """
        known = dataset.attrs.get("baseline_scenario")
        if known is not None and known != self.text:
            had = dataset.attrs.get(baselines.ATTRIBUTE)
            raise StoreError(f"{store} has ratios to {had} already: take the same baseline, or another store")
        if known is not None:
            return dataset
        told = baselines.record(dataset, self.answer, self.label, self.text)
        if store is None:
            return baselines.attached(dataset.assign_attrs({baselines.ATTRIBUTE: told}))
        remarks.annotate(results.stores.files.storage.absolute(store), {baselines.ATTRIBUTE: told})
        return results.stores.store.open(results.stores.files.storage.absolute(store))


def baseline(asked: Scenario, swept: Scenario) -> Baseline:
    """Answer a baseline; raises ScenarioError where it has no answer, StoreError where its axes are not the sweep's."""
    if asked.sweep and swept.sweep:
        baselines.same_axes(*(_axes_of_sweep(q) for q in (swept, asked)))
    named = machine_of(asked, shown_machines([asked]))
    machine = f" on {named}" if named else ""
    label = Path(asked.file).stem
    return Baseline(label + machine, asked.text, _answered_baseline(asked, label))


def _axes_of_sweep(asked: Scenario) -> xr.Dataset:
    """Return the axes of a sweep alone."""
    plan = datasets.only(datasets.layout(scenarios.grid(asked)), ())
    return datasets.to_dataset(plan, {})


def _answered_baseline(baseline: Scenario, label: str) -> xr.Dataset:
    """Answer the baseline: at each point of its axes, or the one question."""
    if baseline.sweep:
        return sweeps.sweep(baseline, progress=False)
    solution = answer(question(baseline), neighbours=False)
    if solution.status not in ANSWERED:
        raise scenarios.ScenarioError.of(
            baseline.file,
            "baseline",
            f"the baseline has no answer: {solution.status.value}",
            "`dse solve` of the same file and machine says why; ratios need a design",
        )
    found: Any = answer_files.as_dataset(solution)
    return found.squeeze([d for d in found.dims if found.sizes[d] == 1], drop=True) if found.dims else found
