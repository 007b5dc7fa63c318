"""Errors of forms on measured matrix products over several random halves of the shapes.

    python -m benchmarks.fits.gemm_halves [halves] [loss=error] [h100=FILE.csv a100=FILE.csv]

``halves``: how many (default 5); ``loss``: of the fits (default: tukey). Without files the sample that ships is taken;
a file has the columns m, n, k and latency (ms). Printed are the mean over halves, the least and the greatest: errors
of each form on the half of the families (n, k) held out, then error and coverage of the softmax's 90 % interval there,
and with a quarter of all k held out.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import cast

import numpy as np

from dse.fitting.behaviours.logfit import Loss
from dse.papers.gemm import comparison
from dse.papers.gemm.comparison import Sample

FORMS = ("e_sheet", *comparison.WRITTEN, *comparison.FOUND)


def read(path: str) -> Sample:
    """Read the runs of a file."""
    with Path(path).open(encoding="utf-8") as stream:
        return comparison.sample_of(list(csv.DictReader(stream)), "latency")


def told(name: str, machine: str, values: list[float]) -> None:
    """Print a line: mean, least and greatest."""
    print(
        f"{name:24} {machine}  {np.mean(values):5.1f}  {min(values):5.1f} to {max(values):5.1f}", flush=True
    )


def main(words: list[str]) -> None:
    """Print the table."""
    many = next((int(w) for w in words if w.isdigit()), comparison.HALVES)
    given = dict(w.split("=", 1) for w in words if "=" in w)
    loss = cast("Loss", given.pop("loss", "tukey"))
    for machine in given or comparison.NAMES:
        found = read(given[machine]) if given else comparison.sample(machine)
        cuts = [comparison.halves(found, seed) for seed in range(many)]
        for which in FORMS:
            off = [comparison.error(found, which, out, comparison.rates_of(machine), loss) for out in cuts]
            told(which, machine, off)
        for group, of in (("n, k", 2), ("k", 4)):
            parts = [comparison.apart(found, group, of, seed) for seed in range(many)]
            tried = [comparison.softmax(found, group, out, machine, loss) for out in parts]
            told(f"softmax, {group} held out", machine, [off for _, off, _ in tried])
            told("  inside its interval", machine, [inside for _, _, inside in tried])


if __name__ == "__main__":
    main(sys.argv[1:])
