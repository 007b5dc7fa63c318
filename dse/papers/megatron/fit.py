"""Kernels of an A100 from measured matrix products; ``python -m dse.papers.megatron.fit`` writes the machine.

Nothing of it was fitted to training: to the products of at least LEAST_ROWS rows of the sample
(``gemm_a100_sxm_bf16.csv``), as training has, the time of a product of ``transformer_training`` is fitted,

    λ + max(2 (m + n0)(n + n0)(k + n0) γt/η, 2 (mn + mk + nk) τm/ηm)

for the share η of the peak rate, the padding n0, the share ηm of the memory bandwidth, and a launch time λ, which is
then dropped: a host that runs ahead hides it.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import numpy as np
from scipy.optimize import least_squares

from dse import machines
from dse.machines import writing
from dse.papers.gemm.comparison import COLUMNS, sample
from dse.papers.megatron.batches import NAME, SHEET

LEAST_ROWS = 1024
SOFT_ERROR = 0.1
CHECKED = {"checked_hidden_least": 6144, "checked_hidden_most": 12288, "checked_devices": 64}
# bytes of an entry
ENTRY = 2.0
START = {"matrix_efficiency": 0.8, "matrix_padding": 50.0, "memory_efficiency": 0.8, "launch": 4e-6}
# bus bandwidth of an all-reduce of eight A100 SXM4 80 GB, bytes a second
BUS = 200e9


def fit() -> tuple[dict[str, float], float, int]:
    """Return the constants, the mean error (percent) on the products that were used, and how many they are."""
    found = sample("a100")
    used = found.columns["m"] >= LEAST_ROWS
    m, n, k = (found.columns[c][used] for c in COLUMNS)
    seconds = found.latency[used]
    sheet = machines.get(SHEET).parameters

    def times(logs: np.ndarray) -> np.ndarray:
        reached, pad, moved, launch = np.exp(logs)
        computing = 2.0 * (m + pad) * (n + pad) * (k + pad) * sheet["time_per_flop"] / reached
        moving = ENTRY * (m * n + m * k + n * k) * sheet["time_per_byte"] / moved
        return np.asarray(launch + np.maximum(computing, moving))

    best = least_squares(
        lambda x: np.log(times(x) / seconds), np.log(list(START.values())), loss="soft_l1", f_scale=SOFT_ERROR
    )
    error = 100.0 * float(np.abs(times(best.x) / seconds - 1.0).mean())
    constants = dict(zip(START, map(float, np.exp(best.x)), strict=True))
    return {n: v for n, v in constants.items() if n != "launch"}, error, int(used.sum())


def file() -> str:
    """Return the machine file, TOML."""
    found, error, many = fit()
    used = f"{many} products of at least {LEAST_ROWS} rows of gemm_a100_sxm_bf16.csv"
    source = f"fitted on {used}, which they miss by {error:.0f} %"
    word = f"{2.0 / BUS:.4g} s/word"
    lines = [
        'title = "NVIDIA DGX A100 nodes with kernels and links as measured, flops in bfloat16"',
        'source = "ai-dynamo/aiconfigurator, measured matrix products (Apache-2.0); nccl-tests; figures of dgx-a100"',
        "year = 2020",
        'figures_of = "dgx-a100"',
        'rate = "peak_bf16"',
        'notes = "What matrix products reach of the peak rate and of the memory bandwidth, and what messages reach '
        'within a node. Nothing of it comes from training. No energies were measured: they follow from the figures."',
        "",
        "[parameters.core_time_per_word]",
        f'value = "{word}"',
        f'interval = ["{2.0 / 208e9:.4g} s/word", "{word}"]',
        'evidence = "measured"',
        'source = "github.com/NVIDIA/nccl-tests/issues/149: all-reduce of eight A100 SXM4 80 GB, about 200 GB/s"',
        'doubt = "one node of one user; another reports 208 GB/s between two devices (issues/178)"',
    ]
    for name, value in found.items():
        lines += ["", f"[parameters.{name}]", f'value = "{value:.4g}"', 'evidence = "fitted to measurements"']
        lines.append(f'source = "{source}"')
    for name, end in CHECKED.items():
        lines += ["", f"[parameters.{name}]", f'value = "{end}"', 'evidence = "published"']
        lines.append(
            'source = "arXiv 2205.05198, Table 5: runs that times were checked on; nothing is fitted to them"'
        )
    return writing.completed("\n".join([*lines, "", writing.MARK, ""]), NAME)


def write(folder: Path) -> None:
    """Write the machine file into ``folder``."""
    (folder / f"{NAME}.toml").write_text(file(), encoding="utf-8")


if __name__ == "__main__":
    write(Path(str(files("dse.machines"))))
