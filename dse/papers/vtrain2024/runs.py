"""The runs of vTrain as plans of ``transformer_training``, and what the model says of them on a machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np

from dse import machines, models
from dse.models.model import MACHINE_PREFIX
from dse.papers.sources import table
from dse.system.arrays import Array, Bools
from dse.system.records import dataclass

# columns of the tables and the inputs that they are
COLUMNS = {
    "global batch": "global_batch",
    "micro batch": "micro_batch",
    "hidden size": "hidden",
    "attention heads": "heads",
    "# layers": "layers",
    "sequence length": "sequence",
    "tensor parallelism": "tensor_parallel",
    "data parallelism": "data_parallel",
    "pipeline parallelism": "pipeline_parallel",
}
TIME = "iteration time (ms)"
# what the tables do not say: all activations are computed again, gradients are summed in 16 bits
HOW: Mapping[str, float | str] = {"recomputation": "full", "gradient_bytes": 2.0}
SETS = ("single_node", "multi_node")
# plans compete where devices, batch, width and depth are the same
GROUP = ("devices", "global_batch", "hidden", "layers")


@dataclass(frozen=True, slots=True)
class Runs:
    """Plans by the model's names, and their measured times (s)."""

    plans: Mapping[str, Array]
    seconds: Array

    def only(self, which: Bools) -> Runs:
        """Return some of the runs."""
        return Runs({n: v[which] for n, v in self.plans.items()}, self.seconds[which])

    @property
    def devices(self) -> Array:
        """Devices of each plan."""
        return np.asarray(
            self.plans["data_parallel"] * self.plans["tensor_parallel"] * self.plans["pipeline_parallel"]
        )


def runs_of(lines: Sequence[Mapping[str, str]]) -> Runs:
    """Return runs from the lines of a table with vTrain's columns; KeyError where one is absent."""
    plans = {ours: np.array([float(line[theirs]) for line in lines]) for theirs, ours in COLUMNS.items()}
    return Runs(plans, np.array([float(line[TIME]) for line in lines]) * 1e-3)


@cache
def measured(which: str) -> Runs:
    """Return the runs of a set that ship: "single_node" or "multi_node"."""
    return runs_of(table(f"vtrain2024/vtrain_{which}"))


def joined(parts: Sequence[Runs]) -> Runs:
    """Return several sets as one."""
    plans = {n: np.concatenate([p.plans[n] for p in parts]) for n in COLUMNS.values()}
    return Runs(plans, np.concatenate([p.seconds for p in parts]))


def metrics(runs: Runs, machine: str, constants: Mapping[str, float] | None = None) -> Mapping[str, Array]:
    """Return the metrics of plans on a machine of the catalogue; ``constants``: parameters in place of its own."""
    model = models.get("transformer_training")
    x = {q.name: q.default for q in model.inputs if q.default is not None}
    x |= {MACHINE_PREFIX + q.name: q.default for q in model.machine if q.default is not None}
    stated = {**machines.get(machine).parameters, **(constants or {})}
    x |= {MACHINE_PREFIX + n: v for n, v in stated.items()}
    return {n: np.asarray(v) for n, v in models.evaluate(model, {**x, **HOW, **runs.plans}).items()}


def modelled(runs: Runs, machine: str, constants: Mapping[str, float] | None = None) -> Array:
    """Return the times of plans (s) as ``metrics`` does."""
    return metrics(runs, machine, constants)["step_time"]


def layers_of(runs: Runs, machine: str, constants: Mapping[str, float]) -> Array:
    """Return the part of the times of plans (s) that is in proportion to the time of a layer."""
    found, stages = metrics(runs, machine, constants), runs.plans["pipeline_parallel"]
    passes = found["micro_batches"] + stages - 1.0
    return np.asarray(passes * runs.plans["layers"] / stages * found["layer_time"])


def missed(modelled: Array, measured: Array) -> float:
    """Mean of |modelled/measured - 1| in percent."""
    return 100.0 * float(np.abs(modelled / measured - 1.0).mean())


def chosen(runs: Runs, modelled: Array, least: int) -> Array:
    """Return by how much the plan that the model picks is slower than the best measured one, group by group.

    Groups of fewer than ``least`` plans are left out.
    """
    columns = {**runs.plans, "devices": runs.devices}
    keys = np.column_stack([columns[n] for n in GROUP])
    _, group = np.unique(keys, axis=0, return_inverse=True)
    found = []
    for number in range(int(group.max()) + 1):
        of = np.flatnonzero(group.ravel() == number)
        if of.size >= least:
            found.append(runs.seconds[of[modelled[of].argmin()]] / runs.seconds[of].min() - 1.0)
    return np.array(found)
