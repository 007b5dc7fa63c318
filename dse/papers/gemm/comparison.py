"""Errors of forms on shapes held out, coverage of their intervals, and a question asked of a fitted form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial

import numpy as np

from dse import machines, models
from dse.fitting import Behaviour, fit_behaviour
from dse.fitting.behaviours import forms, ways
from dse.fitting.behaviours.logfit import Loss, log_value
from dse.fitting.held_out import folds
from dse.models.described.fitted import POSYNOMIAL, SOFTMAX, fit_of
from dse.papers.asking import ask
from dse.papers.comparer import Answers, Found
from dse.papers.sources import table
from dse.system.arrays import Array, Bools, Indices
from dse.system.records import dataclass

PAPER = "gemm"
NAMES = {"h100": "H100", "a100": "A100"}
answers = Answers(PAPER, name=lambda case: NAMES[case["machine"]])
COLUMNS = ("m", "n", "k")

SHEETS = {"h100": "h100-sxm", "a100": "a100-sxm-80gb"}
"""The machines of the catalogue that state the vendor's data sheets of the modules that were measured."""
BYTES = "(m * k + k * n + m * n)"
ROOFLINE = f"max(b * m * n * k, c * {BYTES})"
WRITTEN = {
    "e_roofline": ROOFLINE,
    "e_launch": f"a + {ROOFLINE}",
    "e_soft": f"a + softmax(b * m * n * k, c * {BYTES})",
    "e_three": f"a + b * m * n * k + c * {BYTES}",
}
FOUND = {"e_sum": ways.Way(POSYNOMIAL, 10), "e_softmax": ways.Way(SOFTMAX, 8)}
# how often the families are cut in halves at random
HALVES = 5


@dataclass(frozen=True, slots=True)
class Sample:
    """Runs of one machine: columns (SI), times, and the number of each run's family (n, k)."""

    columns: Mapping[str, Array]
    latency: Array
    family: Indices

    @property
    def x(self) -> Array:
        """Logarithms of the columns (runs, 3)."""
        return np.log(np.column_stack([self.columns[c] for c in COLUMNS]))

    def rows(self, which: Bools) -> dict[str, Array]:
        """Return some runs as a mapping of columns, as ``dse.fit_behaviour`` takes it."""
        return {c: v[which] for c, v in self.columns.items()} | {"latency [s]": self.latency[which]}


@cache
def sample(machine: str) -> Sample:
    """Read the runs of a machine."""
    return sample_of(table(f"gemm/gemm_{machine}_sxm_bf16"), "latency [ms]")


def sample_of(lines: Sequence[Mapping[str, str]], latency: str) -> Sample:
    """Return runs from the lines of a table; ``latency``: the column of times (ms)."""
    columns = {c: np.array([float(line[c]) for line in lines]) for c in COLUMNS}
    family = np.unique(np.column_stack([columns["n"], columns["k"]]), axis=0, return_inverse=True)[1].ravel()
    return Sample(columns, np.array([float(line[latency]) for line in lines]) * 1e-3, family)


def halves(found: Sample, seed: int = 0) -> Bools:
    """Return which runs are held out: half of the families, drawn at random."""
    return np.asarray(folds(found.family, 2, seed=seed) == 0)


def rates_of(machine: str) -> tuple[float, float]:
    """Dense bf16 flops and bytes a second by the data sheet of a machine."""
    figures = machines.get(SHEETS[machine]).figures
    return float(figures["peak_bf16"].value), float(figures["memory_bandwidth"].value)


def sheet(found: Sample, rates: tuple[float, float]) -> Array:
    """Times by a data sheet's rates (flops and bytes a second): the longer of flops and bytes."""
    c, (flops, bandwidth) = found.columns, rates
    moved = 2 * (c["m"] * c["k"] + c["k"] * c["n"] + c["m"] * c["n"])
    return np.maximum(2 * c["m"] * c["n"] * c["k"] / flops, moved / bandwidth)


def missed(modelled: Array, measured: Array) -> float:
    """Mean of |modelled/measured - 1| in percent."""
    return 100 * float(np.abs(modelled / measured - 1).mean())


@cache
def errors_of(machine: str, which: str) -> Array:
    """Mean errors in percent on halves of the families held out, one for each; ``which``: a statement."""
    found = sample(machine)
    return np.array([error(found, which, halves(found, seed), rates_of(machine)) for seed in range(HALVES)])


def error(found: Sample, which: str, out: Bools, rates: tuple[float, float], loss: Loss = "tukey") -> float:
    """Mean error in percent on the runs held ``out`` of a form fitted to the others, or of the data sheet's rates."""
    if which == "e_sheet":
        return missed(sheet(found, rates)[out], found.latency[out])
    way = FOUND.get(which)
    if way is None:
        written = forms.parse(WRITTEN[which], COLUMNS)
        way = ways.Way(written.form, written=written, columns=COLUMNS)
    way = replace(way, loss=loss)
    middle = found.x[~out].mean(0)
    x = found.x - middle
    form = ways.solve(way, x[~out], found.latency[~out], middle, way.terms or 0, ways.FOLD_STARTS)
    return missed(np.exp(log_value(form, x[out])), found.latency[out])


def apart(found: Sample, group: str, of: int, seed: int = 0) -> Bools:
    """Return which runs are held out: one of several parts of whole values of "n, k" or of "k"."""
    labels = found.family if group == "n, k" else np.unique(found.columns["k"], return_inverse=True)[1]
    return np.asarray(folds(np.asarray(labels, np.intp), of, seed=seed) == 0)


def softmax(
    found: Sample, group: str, out: Bools, name: str, loss: Loss = "tukey"
) -> tuple[Behaviour, float, float]:
    """Fit a softmax of eight terms to the runs not held ``out``; its error and coverage on the others, percent."""
    made = fit_behaviour(
        found.rows(~out), "latency", "m, n, k", form="softmax", terms=8, group=group, name=name, loss=loss
    )
    modelled = np.asarray(made.fitted.value({c: v[out] for c, v in found.columns.items()}))
    ratio = found.latency[out] / modelled
    inside = float(((ratio >= made.held.low) & (ratio <= made.held.high)).mean())
    return made, missed(modelled, found.latency[out]), 100 * inside


@cache
def fitted(machine: str, group: str, of: int = 2) -> tuple[Behaviour, float, float]:
    """A softmax of eight terms without one of several parts of whole groups; its error and coverage there, percent."""
    found = sample(machine)
    return softmax(found, group, apart(found, group, of), machine)


def _halves(off: Array) -> dict[str, float]:
    return {"mean": off.mean(), "low": off.min(), "high": off.max(), "count": off.size}


@answers("e_sheet")
def _by_sheet(machine: str, least: str) -> Found:
    off = errors_of(machine, "e_sheet")
    return Found(bool(off.mean() >= float(least)), told=_halves(off))


def _by_form(which: str, machine: str, most: str) -> Found:
    off = errors_of(machine, which)
    return Found(bool(off.mean() <= float(most)), told=_halves(off))


for form in (*WRITTEN, *FOUND):
    apart_for_a100 = (f"{form}:a100",) if form in {"e_launch", "e_softmax"} else ()
    answers(form, *apart_for_a100)(partial(_by_form, form))


@answers("i_families")
def _families(machine: str, least: str, most: str) -> Found:
    """What the intervals of a softmax hold, of families that it has not seen."""
    made, _, inside = fitted(machine, "n, k")
    told = {"inside": inside, "low": made.held.low, "high": made.held.high}
    return Found(float(least) <= inside <= float(most), told=told)


@answers("i_inner")
def _inner(machine: str, least: str, most: str) -> Found:
    """The same of whole k."""
    _, off, inside = fitted(machine, "k", of=4)
    return Found(off <= float(most) and inside >= float(least), told={"off": off, "inside": inside})


@answers("e_elsewhere")
def _elsewhere(least: str, most: str) -> Found:
    """Ask the measured machine for products that another project measured on such a machine."""
    found = sample_of(table("llmcompass/matmul_a100"), "latency [ms]")
    fit = machines.get("a100-sxm-80gb-measured").parameters
    rates = (1 / fit["time_per_flop"], 1 / fit["time_per_byte"])
    ours = missed(fit["launch_time"] + sheet(found, rates), found.latency)
    theirs = missed(sheet(found, rates_of("a100")), found.latency)
    holds = all(float(least) <= off <= float(most) for off in (ours, theirs))
    return Found(holds, told={"fitted": ours, "sheet": theirs})


@answers("q_deadline")
def _deadline(machine: str, size: str, microseconds: str) -> Found:
    """Ask the fitted models that ship: the design is proved, and just keeps the deadline."""
    given = {"n": float(size), "k": float(size)}
    asked = {
        "model": f"gemm-{machine}",
        "given": given,
        "decide": {"m": {}},
        "objective": {"maximize": "m"},
        "limits": {"latency": {"max": f"{microseconds} us"}},
    }
    answer = ask(asked)
    m = float(answer.variables["m"])
    fit = fit_of(models.get(f"gemm-{machine}"))
    assert fit is not None, "the model that ships was fitted"
    off = abs(float(fit.value({"m": m, **given})) / (float(microseconds) * 1e-6) - 1)
    told = {"m": m, "status": answer.status}
    return Found(answer.status == "optimal" and off < 1e-6, told=told)
