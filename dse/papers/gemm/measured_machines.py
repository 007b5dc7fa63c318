"""The measured machines that ship: a launch time and effective rates, fitted to the sample of matrix products.

``python -m dse.papers.gemm.measured_machines`` writes them. Time = launch + max(flops τ_flop, bytes τ_byte), by
``dse fit --model roofline --time-only``; what else a machine has follows from the figures of its data sheet.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

import numpy as np

from dse import fitting
from dse.fitting.behaviours.logfit import Form, Free, fitted, form_of
from dse.machines import writing
from dse.papers.gemm import comparison
from dse.papers.gemm.comparison import NAMES, Sample
from dse.system.arrays import Array, Indices
from dse.system.records import dataclass

# machines of the catalogue: by the sample, the name of the file and the machine whose figures it has
FILES = {"h100": ("h100-sxm-measured", "h100-sxm"), "a100": ("a100-sxm-80gb-measured", "a100-sxm-80gb")}
YEARS = {"h100": 2022, "a100": 2020}
# bytes of an entry and flops of a product of two
ENTRY, FLOPS = 2.0, 2.0
FAMILY_DRAWS, ENDS = 200, (0.025, 0.975)
PARAMETERS = {"time_per_flop": "s/flop", "time_per_byte": "s/byte", "launch_time": "s"}
# layers of decoders that times were checked on with this machine (``dse.papers.llmcompass``)
CHECKED = {"a100": {"checked_context": 3072, "checked_tensor": 4}}
LAYERS = (
    "LLMCompass, layers of GPT-3 on four A100: ends of what times were checked on; nothing is fitted to them"
)
# launch time, products, entries read and written
_FORM = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])


@dataclass(frozen=True, slots=True)
class Found:
    """Parameters of one machine with their 95 % intervals (SI), and mean errors on shapes held out (percent).

    ``fastest``: the highest rate of a run, launch and all (flop/s).
    """

    values: Mapping[str, float]
    intervals: Mapping[str, tuple[float, float]]
    fastest: float
    error: float
    sheet: float


def counts(found: Sample) -> tuple[Array, Array]:
    """Return flops and bytes of each run."""
    m, n, k = (found.columns[c] for c in comparison.COLUMNS)
    return FLOPS * m * n * k, ENTRY * (m * k + k * n + m * n)


def fit(machine: str) -> Found:
    """Fit a machine to its sample."""
    found = comparison.sample(machine)
    flops, moved = counts(found)
    made = fitting.fit({"flops": flops, "bytes": moved, "time": found.latency}, "roofline", only_time=True)
    values = {name: made[name].value for name in PARAMETERS}
    x, y = np.log(np.column_stack([flops, moved])), np.log(found.latency)
    order = ("launch_time", "time_per_flop", "time_per_byte")
    start = form_of(np.log([values[n] for n in order]), _FORM, [0, 1, 2])
    drawn = np.array([_again(start, x, y, w) for w in _draws(found.family)])
    ends = np.quantile(drawn, ENDS, axis=0)
    intervals = {n: (float(ends[0, i]), float(ends[1, i])) for i, n in enumerate(order)}
    off = []
    for seed in range(comparison.HALVES):
        out = comparison.halves(found, seed)
        launch, per_flop, per_byte = _again(start, x[~out], y[~out], np.ones(int((~out).sum())))
        time = launch + np.maximum(per_flop * flops[out], per_byte * moved[out])
        off.append(comparison.missed(time, found.latency[out]))
    fastest = float((flops / found.latency).max())
    sheet = float(comparison.errors_of(machine, "e_sheet").mean())
    return Found(values, intervals, fastest, float(np.mean(off)), sheet)


def _draws(family: Indices) -> list[Array]:
    """Return how often each run counts in each of FAMILY_DRAWS draws of whole families."""
    rng = np.random.default_rng(0)
    many = int(family.max()) + 1
    return [
        np.bincount(rng.integers(0, many, many), minlength=many).astype(float)[family]
        for _ in range(FAMILY_DRAWS)
    ]


def _again(start: Form, x: Array, y: Array, weight: Array) -> Array:
    kept = weight > 0
    form, _ = fitted(start, x[kept], y[kept], Free(), "squares", weight=weight[kept])
    return np.exp(form.logc)


def file(machine: str) -> str:
    """Return the machine file, TOML."""
    found, (_, sheet), name = fit(machine), FILES[machine], NAMES[machine]
    runs = comparison.sample(machine).latency.size
    source = f"least squares of {runs} times of gemm_{machine}_sxm_bf16.csv; 95 % interval"
    notes = (
        f"The launch time of a kernel, and rates that measured matrix products in bfloat16 reach on an {name} SXM. "
        f"Their mean error on products of other shapes (n, k) of the same measurements is {found.error:.0f} %, that of "
        f"the data sheet {found.sheet:.0f} %. Intervals by resampling of shapes. No energies were measured: they "
        "follow from the figures at these rates."
    )
    lines = [
        f'title = "NVIDIA {name} SXM 80 GB as measured, flops in bfloat16 on matrix units"',
        'source = "ai-dynamo/aiconfigurator, measured matrix products (Apache-2.0); figures of '
        + f'{sheet}"',
        f"year = {YEARS[machine]}",
        f'figures_of = "{sheet}"',
        'rate = "peak_bf16"',
        f'notes = "{notes}"',
    ]
    for parameter, unit in PARAMETERS.items():
        low, high = found.intervals[parameter]
        lines += [
            "",
            f"[parameters.{parameter}]",
            f'value = "{found.values[parameter]:.4g} {unit}"',
            f'interval = ["{low:.4g} {unit}", "{high:.4g} {unit}"]',
            'evidence = "fitted to measurements"',
            f'source = "{source}"',
        ]
        if parameter == "time_per_flop":
            lines.append(
                f'doubt = "a mean over shapes: the fastest run has {found.fastest / 1e12:.0f} TFLOPS"'
            )
    for parameter, most in CHECKED.get(machine, {}).items():
        lines += [
            "",
            f"[parameters.{parameter}]",
            f'value = "{most}"',
            'evidence = "measured"',
            f'source = "{LAYERS}"',
        ]
    return writing.completed("\n".join([*lines, "", writing.MARK, ""]), FILES[machine][0])


def write(folder: Path) -> None:
    """Write the machine files into ``folder``."""
    for machine, (name, _) in FILES.items():
        (folder / f"{name}.toml").write_text(file(machine), encoding="utf-8")


if __name__ == "__main__":
    write(Path(str(files("dse.machines"))))
