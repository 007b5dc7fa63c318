"""Questions about serving transformers, typed again: every design by NumPy, one number by bisection.

Nothing is imported from the model. One layer on one of t processors, m rows, n keys for each, c cached tokens a
sequence, b sequences; numbers of 2 bytes unless said:

    products    h x (a d + 2 d kv)/t, a d/t x h, h x 2 f/t, f/t x h       kv = max(k/t, 1) heads of keys and values
    attention   4 m n a d/t flops; 2 m a d/t numbers, and c 2 d kv of the cache for each sequence
    two norms 2 m h each, gate and activation 3 m f/t                     bytes only
    two all-reduces of m h numbers: 2 log2 t messages, 2 (t - 1)/t of the bytes

Each of the eight operators takes a launch, then the longest of flops, bytes and energy over the usable power.
Erlang's probability to wait is bounded as by Janssen et al. (2011), with the normal distribution by a logistic curve.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import oracle_reading as reading
from oracle_definitions import Found
from scipy.stats import loguniform, qmc

NAMES = {
    "serving_bandwidth_for_token_deadline",
    "serving_bytes_per_weight_for_latency",
    "serving_cheapest_million_tokens",
    "serving_energy_by_token_deadline_sweep",
    "serving_greenest_for_1000_requests_per_second",
    "serving_largest_batch_within_latency",
    "serving_longest_prompt_in_memory_sweep",
    "serving_nodes_for_uncertain_load",
    "serving_power_cap",
    "serving_replicas_by_request_rate_sweep",
}
L8 = {"layers": 32, "hidden": 4096, "heads": 32, "kv": 8, "ffn": 14336, "words": 128256}
L70 = {"layers": 80, "hidden": 8192, "heads": 64, "kv": 8, "ffn": 28672, "words": 128256}
EVERY = "every design in NumPy, the model typed by hand"
BISECTED = "the only number bisected, the model typed by hand"
H100 = {"launch_time": 4.66e-6}
# time, energy of bytes and messages, energy of flops
Costs = tuple[Any, ...]
# kilograms per joule
EUROPE = 0.3 / 3.6e6
# metrics may miss a limit by this much
SLACK = 1 + 1e-9


def answer(name: str, _source: Any, index: tuple[int, ...]) -> Found:
    """Answer one of the questions, at a place of its axis where it has one."""
    short = name.removeprefix("serving_").removesuffix("_sweep")
    return globals()[f"_{short}"](*index)


def both(*costs: Costs) -> Costs:
    """Add up costs."""
    return tuple(sum(parts) for parts in zip(*costs, strict=True))


def times(n: Any, cost: Costs) -> Costs:
    """Return a cost n times over."""
    return tuple(n * part for part in cost)


def machine(name: str, **more: float) -> SimpleNamespace:
    """Return a machine's numbers with changes."""
    return SimpleNamespace(**{"launch_time": 0.0, "time_per_word": 0.0, "time_per_message": 0.0,
                              "energy_per_word": 0.0} | dict(reading.catalogue(name)) | more)  # fmt: skip


def serve(
    m: SimpleNamespace, shape: dict[str, int], prompt: Any, output: float, batch: Any, **more: Any
) -> Any:
    """Return what is asked of a design: times, energies and memory; arrays broadcast."""
    o = {"t": 1.0, "stages": 1.0, "replicas": 1.0, "weight": 2.0, "cache": 2.0, "k": 1.0, "rate": None} | more
    t, stages, h, f = o["t"], o["stages"], shape["hidden"], shape["ffn"]
    d, word = h / shape["heads"], m.word_size
    queries, kv = h / t, 2 * d * np.maximum(shape["kv"] / t, 1.0)
    usable, link = m.usable_power / o["k"], m.time_per_word / word

    def op(flops: Any, data: Any) -> Costs:
        spent, moved = flops * m.energy_per_flop, data * m.energy_per_byte
        busy = np.maximum(
            np.maximum(flops * m.time_per_flop, data * m.time_per_byte), (spent + moved) / usable
        )
        return m.launch_time + busy, moved, spent

    def product(rows: Any, columns: Any, inner: Any) -> Costs:
        return op(2 * rows * columns * inner, columns * inner * o["weight"] + 2 * rows * (columns + inner))

    def layers(sequences: Any, new: Any, keys: Any, cached: Any) -> Costs:
        rows = sequences * new
        sent = 2 * (t - 1) / t * 2 * rows * h
        reduced = 2 * np.log2(t) * m.time_per_message + sent * link, sent * m.energy_per_word / word, 0.0
        norm = op(0.0, 4 * rows * h)
        return times(shape["layers"], both(
            product(rows, queries + kv, h), product(rows, h, queries), product(rows, 2 * f / t, h),
            product(rows, h, f / t),
            op(4 * rows * keys * queries, 4 * rows * queries + sequences * cached * kv * o["cache"]),
            norm, norm, op(0.0, 6 * rows * f / t), reduced, reduced,
        ))  # fmt: skip

    def message(rows: Any) -> Costs:
        size = 2 * rows * h
        return times(stages - 1, (m.time_per_message + size * link, size * m.energy_per_word / word, 0.0))

    context, inside = prompt + output / 2, batch / stages
    reads = [
        layers(1.0, prompt, (prompt + 1) / 2, prompt),
        product(1.0, shape["words"] / t, h),
        message(prompt),
    ]
    writes = [layers(inside, 1.0, context, context), product(inside, shape["words"] / t, h), message(inside)]
    slot, step = (a[0] + stages * b[0] + c[0] for a, b, c in (reads, writes))
    first = sum(x[0] for x in reads)
    token = step + batch / output * slot / stages
    service, places = output * token, o["replicas"] * batch
    moved, spent = (t * (batch * sum(x[i] for x in reads) + output * stages * sum(x[i] for x in writes))
                    for i in (1, 2))  # fmt: skip
    devices = o["replicas"] * t * stages
    rate, wait, load = places / service, 0.0, places
    if o["rate"] is not None:
        rate, load = o["rate"], o["rate"] * service
        wait = waiting(places, load / places) * service / np.maximum(places - load, 1e-6 * places)
    # bytes as in full batches all the time, flops of what is served
    power = o["replicas"] * moved / service + spent / batch * rate + devices * m.constant_power
    # on a device; keys and values of fewer heads than devices have copies
    heavy = shape["layers"] / stages * (h * (2 * h / t + kv) + 3 * h * f / t + 2 * h / t)
    heavy = heavy + np.where(stages == 1, 2, 1) * shape["words"] * h / t
    kept = batch * (prompt + output + 15) * kv * shape["layers"] / stages * o["cache"]
    memory = heavy * o["weight"] + kept + 2 * prompt * (2 * h + 3 * f / t)
    fits = (memory <= 0.9 * m.memory_capacity * word * SLACK) & (t * stages <= (8 if m.time_per_word else 1))
    fits = fits & (stages <= batch) & (load <= places * SLACK)
    return SimpleNamespace(token=token, first=first + wait, power=power, devices=devices, memory=memory, fits=fits,
                           energy=power / (rate * output), seconds=1 / (rate * output))  # fmt: skip


def waiting(places: Any, used: Any) -> Any:
    """Return the bound of Erlang's probability to wait."""
    u = np.minimum(used, 1 - 1e-6)
    x = np.sqrt(-2 * places * (1 - u + np.log(u)))
    with np.errstate(over="ignore"):
        ratio = np.sqrt(2 * np.pi) * np.exp(x**2 / 2) / (1 + np.exp(-1.5976 * x - 0.07056 * x**3))
        return 1 / (u + (1 - u) * (np.sqrt(places) * ratio + 2 / 3))


def _designs(*lists: Any) -> list[Any]:
    return [v.ravel() for v in np.meshgrid(*lists, indexing="ij")]


def _least(goal: str, values: Any, kept: Any, how: str = EVERY) -> Found:
    return Found(goal, float(np.min(np.asarray(values, float)[np.asarray(kept, bool)])), how)


def _bisected(goal: str, low: float, high: float, holds: Any) -> Found:
    """Return the greatest number at which something still holds, in logarithms."""
    assert holds(low)
    assert not holds(high)
    for _ in range(200):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if holds(middle) else (low, middle)
    return Found(goal, low, BISECTED)


def _bandwidth_for_token_deadline() -> Found:
    def holds(byte: float) -> bool:
        m = machine("h100-sxm-bf16", launch_time=2e-6, time_per_message=2e-6, time_per_byte=byte)
        return bool(serve(m, L70, 1000.0, 1000.0, 8.0, t=8.0).token <= 0.01)

    return _bisected("machine.time_per_byte", 2e-14, 1e-12, holds)


def _bytes_per_weight_for_latency() -> Found:
    m = machine("h100-sxm-bf16", **H100)
    asked = lambda w: serve(m, L70, 1000.0, 250.0, 8.0, t=2.0, weight=w)  # noqa: E731
    assert asked(2.0).fits
    return _bisected("parameter_bytes", 0.25, 2.0, lambda w: bool(asked(w).token <= 0.02))


def _longest_prompt_in_memory(place: int) -> Found:
    width, m = (2.0, 1.0, 0.5)[place], machine("a100-sxm-80gb-measured")
    fits = lambda s: bool(serve(m, L8, s, 500.0, 16.0, cache=width).memory <= 0.9 * 80 * 2**30)  # noqa: E731
    return _bisected("prompt", 1.0, 1e6, fits)


def _cheapest_million_tokens() -> Found:
    t, stages, batch = _designs([1.0, 2.0, 4.0, 8.0], [1.0, 2.0, 4.0, 8.0], 2.0 ** np.arange(3, 11))
    f = serve(machine("h100-sxm-bf16", **H100), L70, 1000.0, 250.0, batch, t=t, stages=stages)
    hardware = f.devices * 30000 * f.seconds / (4 * 365.25 * 86400 * 0.6)
    cost = 1e6 * (f.energy * 1.3 * 0.12 / 3.6e6 + hardware)
    return _least("cost", cost, f.fits & (f.token <= 0.06) & (f.first <= 0.3))


def _energy_by_token_deadline(place: int) -> Found:
    t, batch = _designs([2.0, 4.0, 8.0], np.arange(1.0, 513.0))
    f = serve(machine("a100-sxm-80gb-measured"), L70, 1000.0, 250.0, batch, t=t)
    return _least("energy_per_token", f.energy, f.fits & (f.token <= (25, 30, 40, 60, 80, 120)[place] * 1e-3))


def _greenest_for_1000_requests_per_second() -> Found:
    best = []
    for name in ("l4-bf16", "a100-sxm-80gb-measured", "h100-sxm-measured"):
        m = machine(name)
        t, batch, nodes = _designs([1.0, 2.0, 4.0, 8.0], 2.0 ** np.arange(5, 9), np.arange(1.0, 65.0))
        f = serve(m, L8, 512.0, 128.0, batch, t=t, replicas=8 * nodes / t, rate=1000.0)
        file = reading.machine_file(name)
        embodied = float(file["figures"]["embodied_carbon"]["value"].split()[0])
        made = f.devices * embodied * f.seconds / (4 * 365.25 * 86400)
        carbon = 1e6 * (f.energy * 1.3 * EUROPE + made)
        kept = f.fits & (f.token <= 0.05) & (f.first <= 0.5)
        best += list(carbon[np.asarray(kept, bool)])
    return Found("carbon", float(min(best)), EVERY)


def _largest_batch_within_latency() -> Found:
    batch = np.arange(1.0, 4097.0)
    f = serve(machine("h100-sxm-bf16", **H100), L70, 2000.0, 500.0, batch, t=8.0)
    return Found("batch", float(batch[np.asarray(f.fits & (f.token <= 0.04), bool)].max()), EVERY)


def _power_cap() -> Found:
    k, batch = _designs(
        [1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.8, 2, 2.5, 3],
        [16.0, 32.0, 48.0, 64.0, 80.0, 96.0, 112.0, 128.0, 160.0, 192.0, 256.0],
    )
    f = serve(machine("h100-sxm-bf16", **H100), L70, 1000.0, 250.0, batch, t=8.0, k=k)
    return _least("energy_per_token", f.energy, f.fits & (f.power / f.devices <= 450) & (f.token <= 0.05))


def _replicas_by_request_rate(place: int) -> Found:
    replicas, rate = np.arange(1.0, 2001.0), (1.0, 5.0, 20.0, 100.0, 500.0, 2000.0)[place]
    f = serve(machine("h100-sxm-bf16", **H100), L70, 1000.0, 250.0, 64.0, t=8.0, replicas=replicas, rate=rate)
    return _least("replicas", replicas, f.fits & (f.first <= 0.4))


def _nodes_for_uncertain_load() -> Found:
    u = qmc.Sobol(1, scramble=True, rng=np.random.default_rng(0)).random(1024)
    rate = loguniform(50.0, 200.0).ppf(u[:, 0])
    replicas, batch = (v[:, None] for v in _designs(np.arange(1.0, 61.0), [32.0, 64.0, 128.0, 256.0]))
    m = machine("h100-sxm-bf16", **H100)
    f = serve(m, L70, 1000.0, 250.0, batch, t=8.0, replicas=replicas, rate=rate[None])
    kept = (f.fits & (f.first <= 1.0) & (f.token <= 0.08)).all(1)
    return _least("energy_per_token", np.asarray(f.energy, float).mean(1), kept)
