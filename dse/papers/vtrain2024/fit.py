"""Seven constants of an A100 node, fitted to vTrain's runs.

``dse.papers.vtrain2024.machine`` writes the machine. What is fitted to one set alone stays confounded:
sizes, devices and batches change together. So all 973 runs are fitted at once by one rule, and both sets weigh the
same. Rates of arithmetic, memory and links within a node are those of the data sheet, times what is reached of them.
The rest is software: launches, fixed times, messages.

    minimise over log c of    Σ_i w_i² ρ(log(T_i(c)/t_i))

with the soft absolute value ρ, which is quadratic up to about 5 % (SciPy's ``soft_l1``), as a few runs are far off.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.optimize import least_squares

from dse.papers.vtrain2024.runs import SETS, Runs, joined, layers_of, measured, modelled
from dse.system.arrays import Array, Indices

NAME, SHEET = "dgx-a100-vtrain2024", "dgx-a100-bf16"
# where the search starts, with the unit of each constant
START = {
    "time_per_word": (2e-10, "s/word"),
    "core_time_per_message": (1e-5, "s/message"),
    "launch_time": (2e-5, "s"),
    "launch_spread": (0.05, ""),
    "matrix_efficiency": (0.8, ""),
    "memory_efficiency": (0.7, ""),
    "micro_batch_time": (1e-3, "s"),
}
# relative errors up to about this count as squares
SQUARED_BELOW = 0.05
# what a layer's time was measured for
KINDS = ("hidden", "tensor_parallel", "micro_batch")
RUN_DRAWS, ENDS = 50, (0.025, 0.975)


def weights(runs: Runs) -> Array:
    """Return the weight of each run: those on one node and those on more weigh the same together."""
    many = runs.devices > 8.0
    few = max(int((~many).sum()), 1)
    return np.where(many, np.sqrt(few / max(int(many.sum()), 1)), 1.0)


def fit(runs: Runs, times: Array | None = None, start: Mapping[str, float] | None = None) -> dict[str, float]:
    """Return the constants (SI) that fit runs best; ``times``: how often each counts."""
    weight = weights(runs) * (1.0 if times is None else np.sqrt(times))
    first = {n: v for n, (v, _) in START.items()} if start is None else dict(start)

    def residuals(logs: Array) -> Array:
        constants = dict(zip(first, np.exp(logs), strict=True))
        return np.asarray(weight * np.log(modelled(runs, SHEET, constants) / runs.seconds))

    found = least_squares(
        residuals, np.log(list(first.values())), loss="soft_l1", f_scale=SQUARED_BELOW, xtol=1e-10, ftol=1e-10
    )
    return dict(zip(first, map(float, np.exp(found.x)), strict=True))


def everything() -> Runs:
    """Return all runs that ship."""
    return joined([measured(which) for which in SETS])


def intervals(runs: Runs, found: Mapping[str, float]) -> dict[str, tuple[float, float]]:
    """Return 95 % intervals: runs of one width, batch and tensor parallelism are drawn again together."""
    keys = np.column_stack([runs.plans[n] for n in KINDS])
    group: Indices = np.unique(keys, axis=0, return_inverse=True)[1].ravel()
    many, rng = int(group.max()) + 1, np.random.default_rng(0)
    drawn = []
    for _ in range(RUN_DRAWS):
        times = np.bincount(rng.integers(0, many, many), minlength=many).astype(float)[group]
        drawn.append(list(fit(runs.only(times > 0), times[times > 0], found).values()))
    ends = np.quantile(np.array(drawn), ENDS, axis=0)
    return {n: (float(ends[0, i]), float(ends[1, i])) for i, n in enumerate(found)}


def factors(runs: Runs, constants: Mapping[str, float]) -> dict[tuple[int, int, int], float]:
    """Return measured over modelled time of a layer by hidden size, tensor parallelism and micro batch: medians."""
    whole = modelled(runs, SHEET, constants)
    ratio = 1.0 + (runs.seconds - whole) / layers_of(runs, SHEET, constants)
    keys = np.column_stack([runs.plans[n] for n in KINDS]).astype(int)
    kinds, group = np.unique(keys, axis=0, return_inverse=True)
    return {
        (int(h), int(t), int(b)): round(float(np.median(ratio[group.ravel() == i])), 3)
        for i, (h, t, b) in enumerate(kinds)
    }
