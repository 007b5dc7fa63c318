"""Errors of forms on shapes held out, coverage of their intervals, and a question asked of a fitted form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from dse import models
from dse.fitting import Behaviour, fit_behaviour, forms, ways
from dse.fitting.held_out import folds
from dse.fitting.logfit import log_value
from dse.models.fitted import POSYNOMIAL, SOFTMAX, fit_of
from dse.reproduction.asking import ask
from dse.reproduction.report import Row
from dse.reproduction.rows import Rows
from dse.reproduction.sources import table

Array = NDArray[np.float64]
PAPER = "gemm"
ROWS = Rows(PAPER)
NAMES = {"h100": "H100", "a100": "A100"}
COLUMNS = ("m", "n", "k")

# dense bf16 flops and memory bandwidth by the vendor's data sheets of the SXM modules with 80 GB
SHEET = {"h100": (989.4e12, 3.35e12), "a100": (312e12, 2.039e12)}
BYTES = "(m * k + k * n + m * n)"
ROOFLINE = f"max(b * m * n * k, c * {BYTES})"
WRITTEN = {
    "e_roofline": ROOFLINE,
    "e_launch": f"a + {ROOFLINE}",
    "e_soft": f"a + softmax(b * m * n * k, c * {BYTES})",
    "e_three": f"a + b * m * n * k + c * {BYTES}",
}
FOUND = {"e_sum": ways.Way(POSYNOMIAL, 10), "e_softmax": ways.Way(SOFTMAX, 8)}
# of mean errors in percent: at most this, by statement and machine
BOUNDS: Mapping[str, Mapping[str, float]] = {
    "e_roofline": {"h100": 60.0, "a100": 60.0},
    "e_launch": {"h100": 15.0, "a100": 17.0},
    "e_soft": {"h100": 14.5, "a100": 14.5},
    "e_three": {"h100": 17.0, "a100": 17.0},
    "e_sum": {"h100": 11.0, "a100": 11.0},
    "e_softmax": {"h100": 8.0, "a100": 8.5},
}


@dataclass(frozen=True, slots=True)
class Sample:
    """Runs of one machine: columns (SI), times, and the number of each run's family (n, k)."""

    columns: Mapping[str, Array]
    latency: Array
    family: NDArray[np.intp]

    @property
    def x(self) -> Array:
        """Logarithms of the columns (runs, 3)."""
        return np.log(np.column_stack([self.columns[c] for c in COLUMNS]))

    def rows(self, which: NDArray[np.bool_]) -> dict[str, Array]:
        """Return some runs as a mapping of columns, as ``dse.fit_behaviour`` takes it."""
        return {c: v[which] for c, v in self.columns.items()} | {"latency [s]": self.latency[which]}


@cache
def sample(machine: str) -> Sample:
    """Read the runs of a machine."""
    lines = table(f"gemm_{machine}_sxm_bf16")
    columns = {c: np.array([float(line[c]) for line in lines]) for c in COLUMNS}
    family = np.unique(np.column_stack([columns["n"], columns["k"]]), axis=0, return_inverse=True)[1].ravel()
    return Sample(columns, np.array([float(line["latency [ms]"]) for line in lines]) * 1e-3, family)


def halves(found: Sample) -> NDArray[np.bool_]:
    """Return which runs are held out: half of the families, drawn once."""
    return np.asarray(folds(found.family, 2, seed=0) == 0)


def sheet(machine: str) -> Array:
    """Times by the data sheet's roofline: the longer of flops and bytes."""
    c, (flops, bandwidth) = sample(machine).columns, SHEET[machine]
    moved = 2 * (c["m"] * c["k"] + c["k"] * c["n"] + c["m"] * c["n"])
    return np.maximum(2 * c["m"] * c["n"] * c["k"] / flops, moved / bandwidth)


def missed(modelled: Array, measured: Array) -> float:
    """Mean of |modelled/measured - 1| in percent."""
    return 100 * float(np.abs(modelled / measured - 1).mean())


@cache
def error(machine: str, which: str) -> float:
    """Mean error in percent on the half of the families that is held out; ``which``: a statement."""
    found = sample(machine)
    out = halves(found)
    if which == "e_sheet":
        return missed(sheet(machine)[out], found.latency[out])
    way = FOUND.get(which)
    if way is None:
        written = forms.parse(WRITTEN[which], COLUMNS)
        way = ways.Way(written.form, written=written, columns=COLUMNS)
    middle = found.x[~out].mean(0)
    x = found.x - middle
    form = ways.solve(way, x[~out], found.latency[~out], middle, way.terms or 0)
    return missed(np.exp(log_value(form, x[out])), found.latency[out])


@cache
def fitted(machine: str, group: str, of: int = 2) -> tuple[Behaviour, float, float]:
    """A softmax of eight terms without one of several parts of whole groups; its error and coverage there, percent."""
    found = sample(machine)
    labels = found.family if group == "n, k" else np.unique(found.columns["k"], return_inverse=True)[1]
    out = np.asarray(folds(np.asarray(labels, np.intp), of, seed=0) == 0)
    made = fit_behaviour(
        found.rows(~out), "latency", "m, n, k", form="softmax", terms=8, group=group, name=machine
    )
    modelled = np.asarray(made.fitted.value({c: v[out] for c, v in found.columns.items()}))
    ratio = found.latency[out] / modelled
    inside = float(((ratio >= made.held.low) & (ratio <= made.held.high)).mean())
    return made, missed(modelled, found.latency[out]), 100 * inside


def errors() -> list[Row]:
    """The table of errors: half of the families (n, k) held out."""
    found = []
    for machine, name in NAMES.items():
        off = error(machine, "e_sheet")
        found.append(ROWS.holds("e_sheet", name, ours=off >= 40.0, remark=f"{off:.1f} % on average"))
    for which, bounds in BOUNDS.items():
        for machine, name in NAMES.items():
            off = error(machine, which)
            found.append(
                ROWS.holds(which, name, ours=off <= bounds[machine], remark=f"{off:.1f} % on average")
            )
    return found


def intervals() -> list[Row]:
    """What the intervals of a softmax hold, of families and of whole k that it has not seen."""
    found = []
    for machine, name in NAMES.items():
        made, _, inside = fitted(machine, "n, k")
        said = f"{inside:.1f} % lie between {made.held.low:.3f} and {made.held.high:.3f} of the model"
        found.append(ROWS.holds("i_families", name, ours=84.0 <= inside <= 96.0, remark=said))
    for machine, name in NAMES.items():
        _, off, inside = fitted(machine, "k", of=4)
        said = f"{off:.1f} % off, {inside:.1f} % inside"
        found.append(ROWS.holds("i_inner", name, ours=off <= 16.0 and inside >= 85.0, remark=said))
    return found


def questions() -> list[Row]:
    """Ask the fitted models that ship: the design is proved, and just keeps the deadline."""
    found = []
    for machine, name in NAMES.items():
        asked = {
            "model": f"gemm-{machine}",
            "given": {"n": 4096.0, "k": 4096.0},
            "decide": {"m": {}},
            "objective": {"maximize": "m"},
            "limits": {"latency": {"max": "300 us"}},
        }
        answer = ask(asked)
        at = {"m": answer.variables["m"], "n": 4096.0, "k": 4096.0}
        fit = fit_of(models.get(f"gemm-{machine}"))
        assert fit is not None, "the model that ships was fitted"
        off = abs(float(fit.value(at)) / 300e-6 - 1)
        said = f"m = {at['m']:.0f}, {answer.status}"
        found.append(
            ROWS.holds("q_deadline", name, ours=answer.status == "optimal" and off < 1e-6, remark=said)
        )
    return found
