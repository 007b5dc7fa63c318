"""The fitted models that ship: made from the sample by ``python -m dse.papers.gemm.shipped``."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path

from dse.fitting import Behaviour, fit_behaviour
from dse.papers.gemm.comparison import NAMES

DATE = "2026-11-22"
MEANINGS = {
    "m": "rows of the result (tokens in flight)",
    "n": "columns of the result",
    "k": "inner length",
    "time": "the latency, as a kernel calls it",
    "performance": "flops per second, 2 m n k / latency",
    "traffic": "bytes of both factors and the result, two for each entry",
}
ALSO = (
    "time [s] = latency",
    "performance [flop/s] = 2 * m * n * k / latency",
    "traffic [byte] = 2 * m * k + 2 * k * n + 2 * m * n",
)


def made(machine: str) -> Behaviour:
    """Fit the model of a machine to its sample."""
    with as_file(files("dse.papers") / "data" / "gemm" / f"gemm_{machine}_sxm_bf16.csv") as path:
        found = fit_behaviour(
            path,
            "latency",
            "m, n, k",
            form="softmax",
            terms=8,
            group="n, k",
            also=ALSO,
            name=f"gemm-{machine}",
            title=f"Matrix product of m x k and k x n in bf16, as measured on an {NAMES[machine]} SXM",
            date=DATE,
        )
    fit = found.fitted
    told = replace(
        fit,
        source=f"ai-dynamo/aiconfigurator systems data (Apache-2.0), {fit.source}",
        meaning="time of one matrix product",
        columns=tuple(replace(c, meaning=MEANINGS[c.name]) for c in fit.columns),
        derived=tuple(replace(d, meaning=MEANINGS[d.name]) for d in fit.derived),
    )
    return replace(found, fitted=told)


def write(folder: Path) -> None:
    """Write the model files into ``folder``."""
    for machine in NAMES:
        found = made(machine)
        name = found.fitted.name
        text = found.file().replace(f'model = "./{name}.toml"', f'model = "{name}"')
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(Path(str(files("dse.models") / "measured")))
