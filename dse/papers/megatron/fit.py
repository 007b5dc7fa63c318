"""Kernels of an A100 from measured matrix products; ``python -m dse.papers.megatron.fit`` writes the machine.

Nothing of it was fitted to training. The sample is ``gemm_a100_sxm_bf16.csv``. The time of a product is taken as in
``transformer_training``,

    λ + max(2 (m + n0)(n + n0)(k + n0) γt/η, 2 (mn + mk + nk) τm/ηm)

The share ηm of the memory bandwidth is fitted first, with a launch time, to products of at most MOST_THIN_ROWS rows
whose operands take at least SURELY_SLOWER times as long to move as the product to compute by the data sheet. The
share η of the peak rate, the padding n0 and the launch time λ are then fitted to products of at least LEAST_ROWS
rows, as training has; none of these is bound by memory, so they say nothing about ηm. λ is dropped: a host that runs
ahead hides it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import numpy as np
from scipy.optimize import least_squares

from dse import machines
from dse.machines import writing
from dse.papers.gemm.comparison import COLUMNS, sample
from dse.papers.megatron.batches import NAME, SHEET
from dse.system.records import dataclass

LEAST_ROWS = 1024
MOST_THIN_ROWS = 64
SURELY_SLOWER = 2.0
SOFT_ERROR = 0.1
CHECKED = {"checked_hidden_least": 6144, "checked_hidden_most": 12288, "checked_devices": 64}
# bytes of an entry
ENTRY = 2.0
# bus bandwidth of an all-reduce of eight A100 SXM4 80 GB, bytes a second
BUS = 200e9


@dataclass(frozen=True, slots=True)
class Fitted:
    """The constants; of the products of many rows, and of few: the mean error (percent) and how many were used."""

    constants: dict[str, float]
    wide: tuple[float, int]
    thin: tuple[float, int]


def fit() -> Fitted:
    """Fit the share of the bandwidth to products of few rows, the rest to products of many."""
    found = sample("a100")
    m, n, k = (found.columns[c] for c in COLUMNS)
    seconds = found.latency
    sheet = machines.get(SHEET).parameters
    moving = ENTRY * (m * n + m * k + n * k) * sheet["time_per_byte"]
    computing = 2.0 * m * n * k * sheet["time_per_flop"]

    thin = (m <= MOST_THIN_ROWS) & (moving >= SURELY_SLOWER * computing)
    moved, thin_error = _constants_and_error(lambda x: x[1] + moving[thin] / x[0], seconds[thin], [0.8, 4e-6])

    wide = m >= LEAST_ROWS

    def times(x: np.ndarray) -> np.ndarray:
        reached, pad, launch = x
        padded = 2.0 * (m[wide] + pad) * (n[wide] + pad) * (k[wide] + pad) * sheet["time_per_flop"]
        return np.asarray(launch + np.maximum(padded / reached, moving[wide] / moved[0]))

    (reached, pad, _), wide_error = _constants_and_error(times, seconds[wide], [0.8, 50.0, 4e-6])
    constants = {"matrix_efficiency": reached, "matrix_padding": pad, "memory_efficiency": moved[0]}
    return Fitted(constants, (wide_error, int(wide.sum())), (thin_error, int(thin.sum())))


def _constants_and_error(
    times: Callable[[np.ndarray], np.ndarray], seconds: np.ndarray, start: list[float]
) -> tuple[list[float], float]:
    """Return the constants of least robust error of the logarithms of times, and the mean error in percent."""
    best = least_squares(
        lambda x: np.log(times(np.exp(x)) / seconds),
        np.log(start),
        loss="soft_l1",
        f_scale=SOFT_ERROR,
        xtol=1e-12,
        ftol=1e-12,
        gtol=1e-12,
    )
    found = np.exp(best.x)
    return [float(v) for v in found], 100.0 * float(np.abs(times(found) / seconds - 1.0).mean())


def file() -> str:
    """Return the machine file, TOML."""
    found = fit()
    wide = f"at least {LEAST_ROWS} rows"
    thin = f"at most {MOST_THIN_ROWS} rows that memory binds"
    of = dict.fromkeys(found.constants, (wide, found.wide)) | {"memory_efficiency": (thin, found.thin)}
    word = f"{2.0 / BUS:.4g} s/word"
    lines = [
        'title = "NVIDIA DGX A100 nodes with kernels and links as measured, flops in bfloat16"',
        'source = "ai-dynamo/aiconfigurator, measured matrix products (Apache-2.0); nccl-tests; figures of dgx-a100"',
        "year = 2020",
        'figures_of = "dgx-a100"',
        'rate = "peak_bf16"',
        'notes = "What matrix products reach of the peak rate and of the memory bandwidth, and what messages reach '
        'within a node. Nothing is fitted to training runs. No energies were measured: they follow from the figures."',
        "",
        "[parameters.core_time_per_word]",
        f'value = "{word}"',
        f'interval = ["{2.0 / 208e9:.4g} s/word", "{word}"]',
        'evidence = "measured"',
        'source = "github.com/NVIDIA/nccl-tests/issues/149: all-reduce of eight A100 SXM4 80 GB, about 200 GB/s"',
        'doubt = "one node of one user; another reports 208 GB/s between two devices (issues/178)"',
    ]
    for name, value in found.constants.items():
        rows, (error, many) = of[name]
        lines += ["", f"[parameters.{name}]", f'value = "{value:.4g}"', 'evidence = "fitted to measurements"']
        lines.append(
            f'source = "fitted on {many} products of {rows} of gemm_a100_sxm_bf16.csv, '
            f'which they miss by {error:.0f} %"'
        )
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
