"""Seven constants of an A100 node, fitted to vTrain's runs.

``python -m dse.reproduction.vtrain2024.fit`` writes the machine. What is fitted to one set alone stays confounded:
sizes, devices and batches change together. So all 973 runs are fitted at once by one rule, and both sets weigh the
same. Rates of arithmetic, memory and links within a node are those of the data sheet, times what is reached of them.
The rest is software: launches, fixed times, messages.

    minimise over log c of    Σ_i w_i² ρ(log(T_i(c)/t_i))

with the soft absolute value ρ, which is quadratic up to about 5 % (SciPy's ``soft_l1``), as a few runs are far off.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from dse.machines import writing
from dse.reproduction.vtrain2024.runs import SETS, Array, Runs, joined, layers_of, measured, modelled

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
SOFT = 0.05
DRAWS, ENDS = 50, (0.025, 0.975)
DIGITS = 4
MODULE = '''"""Layers that were measured, by how much longer they take than modelled.

Made by ``python -m dse.reproduction.vtrain2024.fit`` from 900 runs on one node of A100 (vTrain, MIT):
by hidden size, tensor parallelism and micro batch, with 16 heads, a sequence of 1024 tokens, and all activations
computed again, the median of measured over modelled time of a layer. They hold at any depth. They do not carry over to
other sizes, where the factor is 1.
"""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any

from dse.models.arithmetic import reaches
from dse.models.families import nothing

SEQUENCE = 1024
# (hidden, tensor_parallel, micro_batch): factor
FACTORS = {
%s
}


def factor(g: Any) -> Any:
    """Return the factor of the time of a layer: measured over modelled where it is known, 1 elsewhere."""
    share = g.machine.measured_layers
    if nothing(share):
        return 1.0
    here = {
        place: {size: _is(value, float(size)) for size in sorted({key[place] for key in FACTORS})}
        for place, value in enumerate((g.hidden, g.tensor_parallel, g.micro_batch))
    }
    known = (
        (more - 1.0) * here[0][hidden] * here[1][tensor] * here[2][batch]
        for (hidden, tensor, batch), more in FACTORS.items()
    )
    return 1.0 + share * _is(g.sequence, float(SEQUENCE)) * reduce(add, known)


def _is(value: Any, size: float) -> Any:
    """Return 1 where a whole number is this one, else 0."""
    return reaches(value, size - 0.5) * (1.0 - reaches(value, size + 0.5))
'''


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
        residuals, np.log(list(first.values())), loss="soft_l1", f_scale=SOFT, xtol=1e-10, ftol=1e-10
    )
    return dict(zip(first, map(float, np.exp(found.x)), strict=True))


def everything() -> Runs:
    """Return all runs that ship."""
    return joined([measured(which) for which in SETS])


def intervals(runs: Runs, found: Mapping[str, float]) -> dict[str, tuple[float, float]]:
    """Return 95 % intervals: runs of one width, batch and tensor parallelism are drawn again together."""
    keys = np.column_stack([runs.plans[n] for n in ("hidden", "micro_batch", "tensor_parallel")])
    group: NDArray[np.intp] = np.unique(keys, axis=0, return_inverse=True)[1].ravel()
    many, rng = int(group.max()) + 1, np.random.default_rng(0)
    drawn = []
    for _ in range(DRAWS):
        times = np.bincount(rng.integers(0, many, many), minlength=many).astype(float)[group]
        drawn.append(list(fit(runs.only(times > 0), times[times > 0], found).values()))
    ends = np.quantile(np.array(drawn), ENDS, axis=0)
    return {n: (float(ends[0, i]), float(ends[1, i])) for i, n in enumerate(found)}


def file() -> str:
    """Return the machine file, TOML."""
    runs = everything()
    found = fit(runs)
    ends = intervals(runs, found)
    named = " and ".join(f"vtrain_{which}.csv" for which in SETS)
    source = f"fitted on {runs.seconds.size} iteration times of {named}; 95 % interval"
    layers = "times of layers of single_node.csv, as factors in dse.models.transformer_measured"
    lines = [
        'title = "NVIDIA A100 nodes as vTrain\'s authors measured them, training in bfloat16"',
        'source = "VIA-Research/vTrain, measured iteration times (MIT); figures of dgx-a100"',
        "year = 2024",
        'figures_of = "dgx-a100"',
        'rate = "peak_bf16"',
        'notes = "Seven constants of transformer_training, fitted to 900 runs on one node and 73 on 8 and 64 nodes '
        "under Megatron-DeepSpeed, with all activations computed again: what is reached of the peak rate and of the "
        "memory bandwidth, launches of kernels, fixed times, messages within a node, the network. Links within a node "
        'are those of the data sheet. No energies were measured: they follow from the figures."',
    ]
    for name, value in found.items():
        unit = START[name][1]
        low, high = (min(ends[name][0], value), max(ends[name][1], value))
        told = [f'"{f"{v:.{DIGITS}g} {unit}".rstrip()}"' for v in (value, low, high)]
        lines += ["", f"[parameters.{name}]", f"value = {told[0]}", f"interval = [{told[1]}, {told[2]}]"]
        lines += ['evidence = "fitted to measurements"', f'source = "{source}"']
    lines += [
        "",
        "[parameters.measured_layers]",
        'value = "1"',
        'evidence = "measured"',
        f'source = "{layers}"',
    ]
    return writing.completed("\n".join([*lines, "", writing.MARK, ""]), NAME)


def factors(runs: Runs, constants: Mapping[str, float]) -> dict[tuple[int, int, int], float]:
    """Return measured over modelled time of a layer by hidden size, tensor parallelism and micro batch: medians."""
    whole = modelled(runs, SHEET, constants)
    ratio = 1.0 + (runs.seconds - whole) / layers_of(runs, SHEET, constants)
    keys = np.column_stack([runs.plans[n] for n in ("hidden", "tensor_parallel", "micro_batch")]).astype(int)
    kinds, group = np.unique(keys, axis=0, return_inverse=True)
    return {
        (int(h), int(t), int(b)): round(float(np.median(ratio[group.ravel() == i])), 3)
        for i, (h, t, b) in enumerate(kinds)
    }


def module() -> str:
    """Return the module of measured layers."""
    rows = factors(measured("single_node"), fit(everything()))
    return MODULE % "\n".join(f"    {key}: {value}," for key, value in rows.items())


def write(folder: Path) -> None:
    """Write the machine file into ``folder``."""
    (folder / f"{NAME}.toml").write_text(file(), encoding="utf-8")


if __name__ == "__main__":
    write(Path(str(files("dse.machines"))))
    (Path(str(files("dse.models"))) / "transformer_measured.py").write_text(module(), encoding="utf-8")
