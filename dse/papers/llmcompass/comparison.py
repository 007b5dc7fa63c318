"""Launch time and shares of peak and bandwidth from operators alone; layers that no constant was fitted to."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from types import SimpleNamespace

import numpy as np

from dse import machines
from dse.fitting.behaviours import forms, ways
from dse.fitting.behaviours.logfit import log_value
from dse.models.transformers.decoder import decoder
from dse.models.transformers.transformer_operators import Operator, Processor, Step, Widths, layer
from dse.papers.comparer import Answers, Found
from dse.papers.sources import premises, table
from dse.system.arrays import Array
from dse.system.records import dataclass

PAPER = "llmcompass"
SHEET, MEASURED = "a100-sxm-80gb-bf16", "a100-sxm-80gb-measured"
# the layer that was measured: GPT-3's, on four processors, numbers of two bytes
ASKED = premises(PAPER)
TENSOR, WIDTHS = ASKED["tensor"], Widths(*[ASKED["bytes"]] * 3)
STEPS = {
    "prefill": Step(ASKED["prefill_batch"], *[ASKED["prefill_tokens"]] * 3),
    "decode": Step(ASKED["decode_batch"], 1.0, *[ASKED["decode_context"]] * 2),
}
NAMES = {"prefill": "a prompt", "decode": "a token"}
answers = Answers(PAPER, name=lambda case: NAMES[case["phase"]])
KIND_OF = {"softmax": "softmax", "norm_attention": "layernorm", "norm_mlp": "layernorm", "activation": "gelu"}
# a form and its columns, of products and of all others
WRITTEN = {"product": ("a + max(b * flops, c * bytes)", ("flops", "bytes"))}
ELSE = ("a + c * bytes", ("bytes",))


@dataclass(frozen=True, slots=True)
class Runs:
    """Operators of one kind, measured alone: flops, bytes, seconds."""

    flops: Array
    bytes: Array
    time: Array


@dataclass(frozen=True, slots=True)
class Constants:
    """What was fitted: launch time (s), time of a flop and of a byte (s; the data sheet's where nothing shows it)."""

    launch: float
    flop: float
    byte: float

    def times(self, runs: Runs) -> Array:
        """Modelled times."""
        return np.asarray(self.launch + np.maximum(runs.flops * self.flop, runs.bytes * self.byte))


@cache
def measured(kind: str) -> Runs:
    """Read the operators of a kind."""
    if kind == "product":
        lines = table("llmcompass/matmul_a100")
        m, k, n, ms = (np.array([float(r[c]) for r in lines]) for c in ("m", "k", "n", "latency [ms]"))
        return Runs(2 * m * n * k, 2 * (m * k + k * n + m * n), ms * 1e-3)
    lines = [r for r in table("llmcompass/elementwise_a100") if r["operator"] == kind]
    numbers = np.array([float(r["rows"]) * float(r["columns"]) for r in lines])
    time = numbers / np.array([float(r["rate [Gnumbers/s]"]) for r in lines]) / 1e9
    return Runs(np.zeros_like(numbers), 4 * numbers, time)


def sheet() -> Constants:
    """Return the data sheet's times, without any launch."""
    found = machines.get(SHEET).parameters
    return Constants(0.0, found["time_per_flop"], found["time_per_byte"])


def fitted(kind: str, which: Array | None = None) -> Constants:
    """Fit the constants of a kind to some of its runs (all, unless said), by residuals of logarithms."""
    runs = measured(kind) if which is None else _runs_where(measured(kind), which)
    text, columns = WRITTEN.get(kind, ELSE)
    written = forms.parse(text, columns)
    # in units near 1
    amounts = {"flops": runs.flops * 1e-12, "bytes": runs.bytes * 1e-9}
    x = np.log(np.column_stack([amounts[c] for c in columns]))
    way = ways.Way(written.form, written=written, columns=columns)
    form = ways.solve(way, x, runs.time, np.zeros(len(columns)), 0)
    launch = float(np.exp(form.logc[~form.exponents.any(axis=1)]).sum())
    rate = {c: float(np.exp(form.logc[form.exponents[:, i] > 0]).sum()) for i, c in enumerate(columns)}
    made = Constants(launch, rate["flops"] * 1e-12 if "flops" in rate else sheet().flop, rate["bytes"] * 1e-9)
    assert np.allclose(np.log(made.times(runs)), log_value(form, x)), "the form is ours"
    return made


def _runs_where(runs: Runs, which: Array) -> Runs:
    return Runs(runs.flops[which], runs.bytes[which], runs.time[which])


def missed(modelled: Array, against: Array) -> float:
    """Mean of |modelled/measured - 1| in percent."""
    return 100 * float(np.abs(modelled / against - 1).mean())


@answers("s_sheet", "s_sheet:others")
def _by_sheet(kind: str, least: str, most: str) -> Found:
    """Operators alone by the data sheet."""
    off = missed(sheet().times(measured(kind)), measured(kind).time)
    return Found(float(least) <= off <= float(most), told={"off": off})


@answers("s_fitted", "s_fitted:softmax", "s_fitted:layernorm", "s_fitted:gelu")
def _by_fit(kind: str, most: str) -> Found:
    """Operators alone by constants fitted to every second one, tried on the others, both ways."""
    off, c, base = unseen(kind), fitted(kind), sheet()
    peak = f", {base.flop / c.flop:.0%} of the peak" if kind == "product" else ""
    told = {"off": off, "launch": c.launch * 1e6, "peak": peak, "bandwidth": base.byte / c.byte}
    return Found(off <= float(most), told=told)


def unseen(kind: str) -> float:
    """Return by how much operators are missed (percent) that the constants were not fitted to."""
    runs = measured(kind)
    second = np.arange(len(runs.time)) % 2 == 0
    parts = [(_runs_where(runs, ~s), fitted(kind, s)) for s in (second, ~second)]
    return float(np.mean([missed(c.times(r), r.time) for r, c in parts]))


@cache
def times(phase: str) -> Mapping[str, float]:
    """Measured times of a layer's operators."""
    return {r["operator"]: float(r[f"{phase} [s]"]) for r in table("llmcompass/layer_a100")}


def processor(machine: str, constants: Constants | None = None) -> Processor:
    """Return the model's processor of a machine, with fitted times in place of its own."""
    stated = dict(machines.get(machine).parameters)
    stated |= {"matrix_efficiency": 1.0, "memory_efficiency": 1.0, "link_efficiency": 1.0}
    if constants is not None:
        stated |= {"time_per_flop": constants.flop, "time_per_byte": constants.byte}
        stated |= {"launch_time": constants.launch}
    return Processor(
        SimpleNamespace(machine=SimpleNamespace(**stated), throttle=1.0, flop=1.0, word=1.0, message=1.0)
    )


def operators(phase: str) -> list[Operator]:
    """Return the model's operators of the layer that was measured."""
    shape = SimpleNamespace(
        layers=1.0, hidden=12288.0, heads=96.0, gated="off", tied="on", vocabulary=50257.0
    )
    return layer(decoder(shape), STEPS[phase], TENSOR, WIDTHS, 1.0, fused=False)


def modelled(phase: str, by: Processor) -> dict[str, float]:
    """Return the model's times of a layer's operators."""
    found = {o.name: float(by.operator(o).time) for o in operators(phase)}
    reduced = [float(by.reduced(o.reduced, TENSOR).time) for o in operators(phase) if o.reduced is not None]
    return found | dict(zip(("reduce_attention", "reduce_mlp"), reduced, strict=True))


@cache
def by_kind(phase: str) -> Mapping[str, float]:
    """Return the model's times with the constants of each kind of operator."""
    products = processor(SHEET, fitted("product"))
    found = modelled(phase, products)
    # measured as three products, one launch each
    found["queries_keys_values"] += 2.0 * fitted("product").launch
    for name, kind in KIND_OF.items():
        found[name] = modelled(phase, processor(SHEET, fitted(kind)))[name]
    return found


def _error_of_total_percent(phase: str, found: Mapping[str, float]) -> float:
    return 100 * (sum(found.values()) / sum(times(phase).values()) - 1)


def of(which: str, phase: str) -> Mapping[str, float]:
    """Return the model's times of a layer by the constants of a statement."""
    if which == "l_kinds":
        return by_kind(phase)
    made = {
        "l_sheet": lambda: processor(SHEET),
        "l_measured": lambda: processor(MEASURED),
        "l_products": lambda: processor(SHEET, fitted("product")),
    }
    return modelled(phase, made[which]())


def _mean_error_of_parts(phase: str, found: Mapping[str, float]) -> float:
    return missed(np.array([found[n] for n in times(phase)]), np.array(list(times(phase).values())))


def _layer(which: str, phase: str, least: str, most: str) -> Found:
    """Whole layers, by a set of constants that was not fitted to them."""
    found = of(which, phase)
    off = _error_of_total_percent(phase, found)
    return Found(
        float(least) <= off <= float(most), told={"off": off, "each": _mean_error_of_parts(phase, found)}
    )


for constants in ("l_sheet", "l_measured", "l_products", "l_kinds"):
    answers(constants, f"{constants}:decode")(partial(_layer, constants))


@answers("o_each")
def _each(phase: str, operator: str, least: str, most: str) -> Found:
    """Every operator of the layers by the constants of its kind."""
    real = times(phase)[operator]
    ratio = by_kind(phase)[operator] / real
    return Found(float(least) <= ratio <= float(most), told={"microseconds": 1e6 * real, "ratio": ratio})
