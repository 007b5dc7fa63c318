"""Brute force for questions over training plans: every plan, by equations typed again from papers and page in NumPy.

This is the one oracle of training; it shares nothing with dse. Activations: arXiv 2205.05198, (1)-(6). Pipeline:
arXiv 2104.04473, 2.2 and 4.1. All-reduce: a ring of 2 (n-1) steps. ZeRO: Rajbhandari et al. 2020.

All plans of a combination of names stand in flat arrays, one entry for each; divisors are found by trial.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import oracle_reading as reading

FRONTS = ("training_energy_time_front", "training_energy_time_cost_front")
HOW = "every plan, by equations typed again"
TEXTS = {"gated": "off", "sequence_parallel": "off", "zero": "0", "recomputation": "none"}
TEXTS |= {"tied": "on", "attention": "separate", "overlap": "off"}
PLAIN = {"vocabulary": 51200.0, "micro_batch": 1.0, "data_parallel": 1.0, "tensor_parallel": 1.0}
PLAIN |= {"pipeline_parallel": 1.0, "interleaving": 1.0, "parameter_bytes": 2.0, "gradient_bytes": 4.0}
PLAIN |= {"optimiser_bytes": 12.0, "activation_bytes": 2.0}
MENUS = {"zero": ["0", "1", "2", "3"], "recomputation": ["none", "selective", "full"]}
MENUS |= {"sequence_parallel": ["off", "on"], "gated": ["off", "on"], "tied": ["off", "on"]}
MENUS |= {"attention": ["separate", "fused"], "overlap": ["off", "on"]}
MACHINE = {"launch_time": 0.0, "matrix_efficiency": 1.0, "matrix_padding": 0.0, "memory_efficiency": 1.0}
MACHINE |= {"launch_spread": 0.0}
MACHINE |= {"micro_batch_time": 0.0, "overhead_power": 0.0, "processors_per_node": 8.0}
MACHINE |= {"core_time_per_message": 0.0, "time_per_message": 0.0}
OWN = (
    "memory_capacity",
    "heads_split",
    "layers_split",
    "batch_split",
    "schedule",
    "kv_heads_shared",
    "kv_heads_split",
)
GRAMS_PER_KWH = {"world": 481.0, "europe": 300.0}
DEFINED = {
    "rent_of_cluster": lambda at: at["rent"] * at["devices"] * at["time"],
    "bill": lambda at: at["rent"] * at["devices"] * at["time"] + at["tariff"] * at["energy"],
    "site_power": lambda at: at["power"] * at["site"],
    "device_power": lambda at: at["machine.constant_power"] + at["machine.usable_power"],
    "within_a_node": lambda at: at["tensor_parallel"] / at["machine.processors_per_node"],
}


@dataclass(frozen=True)
class Found:
    """The best objective (None: no plan), what is sought, the value of the next best, and how."""

    objective: float | None
    goal: str
    conflicts: tuple[tuple[str, ...], ...] = ()
    how: str = HOW
    next_best: float | None = None
    plan: Mapping[str, Any] | None = None


def answer(question: Mapping[str, Any]) -> Found:
    """Try every plan of a question without a sweep."""
    goals = {k: v for k, v in question.get("objective", {}).items() if k in {"minimize", "maximize"}}
    ((sense, goal),) = goals.items() or [("minimize", "step_time")]
    sign = -1.0 if sense == "maximize" else 1.0
    every, masks, plans = [], [], []
    names = (*question.get("limits", {}), *bounded(question), *OWN)
    for at in tables(question):
        value = np.broadcast_to(np.asarray(at[goal], float) * sign, np.shape(at["#"]))
        broken = np.zeros(value.shape, dtype=np.int64)
        for bit, name in enumerate(names):
            broken |= np.where(holds(question, name, at), 0, 1 << bit)
        every.append(value)
        masks.append(broken)
        plans.append(at)
    value, broken = np.concatenate(every), np.concatenate(masks)
    fits = broken == 0
    if not fits.any():
        return Found(None, goal, tuple(minimal(names, set(broken.tolist()))))
    good = np.sort(value[fits])
    best = good[0]
    others = good[good > best + 1e-9 * abs(best)]
    following = sign * float(others[0]) if others.size else None
    which = int(np.flatnonzero(fits & (value == best))[0])
    for at, part in zip(plans, every, strict=True):
        if which < part.size:
            plan = {n: np.broadcast_to(v, part.shape)[which] for n, v in at.items() if not isinstance(v, str)}
            break
        which -= part.size
    return Found(sign * float(best), goal, how=HOW if question.get("decide") else "the equations",
                 next_best=following, plan=plan)  # fmt: skip


def bounded(question: Mapping[str, Any]) -> Iterator[str]:
    """Go through the decided numbers with bounds of their own."""
    for name, entry in question.get("decide", {}).items():
        if {"min", "max"} & set(entry):
            yield name


def minimal(names: tuple[str, ...], broken: set[int]) -> Iterator[tuple[str, ...]]:
    """Go through the smallest sets of limits of which each plan breaks one."""
    found: list[int] = []
    for size in range(1, len(names) + 1):
        for some in itertools.combinations(range(len(names)), size):
            bits = sum(1 << i for i in some)
            if not any(f & bits == f for f in found) and all(b & bits for b in broken):
                found.append(bits)
                yield tuple(names[i] for i in some)


def holds(question: Mapping[str, Any], name: str, at: Mapping[str, Any]) -> Any:
    """Say of which plans a limit holds."""
    if name in question.get("waive", ()):
        return True
    if name in OWN:
        return at[f"#{name}"]
    entry = question.get("limits", {}).get(name) or question["decide"][name]
    # of what is in words bytes are read as such; device_memory is in bytes
    words = at["machine.word_size"] if name == "machine.memory_capacity" else None
    low = number(entry["min"], words) if "min" in entry else -math.inf
    high = number(entry["max"], words) if "max" in entry else math.inf
    return (at[name] >= low - 1e-8 * abs(low)) & (at[name] <= high + 1e-8 * abs(high))


def tables(question: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Go through the combinations of names, each with all its plans and what they come to."""
    decide = dict(question.get("decide", {}))
    texts = {n: decide.pop(n).get("values") or MENUS[n] for n in list(decide) if n in MENUS or n == "grid"}
    machines = decide.pop("machine", {}).get("values") or [question.get("machine")]
    for chosen in itertools.product(machines, *texts.values()):
        m = machine(chosen[0])
        given = dict(question["given"])
        known = {n: v if n in TEXTS or n == "grid" else number(v, m["word_size"]) for n, v in given.items()}
        x: dict[str, Any] = TEXTS | PLAIN | known | dict(zip(texts, chosen[1:], strict=True))
        menus = [menu(entry, n, x, m) for n, entry in decide.items()]
        columns = [c.ravel() for c in np.meshgrid(*menus, indexing="ij")] if menus else []
        own = dict(m)
        for n, column in zip(decide, columns, strict=True):
            if n.startswith("machine."):
                own[n.removeprefix("machine.")] = column
            else:
                x[n] = column
        at = {"#": columns[0] if columns else np.zeros(1)}
        if "clock" in x:
            own["time_per_flop"] = own["time_per_flop"] / x["clock"]
            own["usable_power"] = own["usable_power"] * x["clock"] ** 3
        at |= x | {f"machine.{n}": v for n, v in own.items()}
        at |= metrics(x, own)
        at |= {n: of(at) for n, of in DEFINED.items() if n in question.get("define", {})}
        yield at


NEEDED = ("time_per_flop", "time_per_byte", "word_size", "memory_capacity", "core_time_per_word", "time_per_word",
          "constant_power", "usable_power", *MACHINE)  # fmt: skip
UNITS = {
    "year": 31557600.0,
    "day": 86400.0,
    "h": 3600.0,
    "USD/h": 1 / 3600.0,
    "USD/kWh": 1 / 3.6e6,
    "kg": 1.0,
}


def number(value: Any, word_size: float | None = None) -> float:
    """Return a number in SI; bytes stay bytes where no word size is given."""
    if isinstance(value, str) and " " not in value:
        return float(value)
    if isinstance(value, str) and value.split(" ", 1)[1] in UNITS:
        digits, unit = value.split(" ", 1)
        return float(digits) * UNITS[unit]
    if isinstance(value, str) and word_size is None and value.split(" ", 1)[1] in reading.BYTES:
        return reading.number(value, 1.0)
    return reading.number(value, word_size)


def machine(entry: Any) -> dict[str, float]:
    """Return what a machine states, of what is needed here, straight from its data file."""
    own = {} if isinstance(entry, str) else {k: v for k, v in entry.items() if k != "base"}
    name = entry if isinstance(entry, str) else entry["base"]
    whole = reading.machine_file(name)
    file = whole["parameters"]
    found = {n: number(file[n]["value"]) for n in NEEDED if n in file}
    if "embodied_carbon" in whole.get("figures", {}):
        found["embodied_carbon"] = number(whole["figures"]["embodied_carbon"]["value"])
    return MACHINE | found | {n: number(v, found["word_size"]) for n, v in own.items()}


def menu(entry: Mapping[str, Any], name: str, x: Mapping[str, Any], m: Mapping[str, float]) -> Any:
    """Return the values of a decided number, by trial."""
    if "max_halvings" in entry:
        base = m[name.removeprefix("machine.")]
        return np.array([base / 2.0**k for k in range(int(entry["max_halvings"]) + 1)])
    values = [number(v, m["word_size"]) for v in entry["values"]] if "values" in entry else None
    if "powers_of" in entry:
        values = [float(entry["powers_of"] ** k) for k in range(24)]
    if "divides" in entry:
        of = [entry["divides"]] if isinstance(entry["divides"], str) else entry["divides"]
        wholes = [int(m[n[8:]] if n.startswith("machine.") else x[n]) for n in of]
        tried = values if values is not None else [float(k) for k in range(1, min(wholes) + 1)]
        values = [v for v in tried if all(w % v == 0 for w in wholes)]
    assert values is not None, name
    return np.array(values)


def metrics(x: Mapping[str, Any], m: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a plan comes to, and under # which of the model's limits hold."""
    L, h, a, s, V, B = (x[n] for n in ("layers", "hidden", "heads", "sequence", "vocabulary", "global_batch"))
    b, d, t, p, v = (
        x[n] for n in ("micro_batch", "data_parallel", "tensor_parallel", "pipeline_parallel", "interleaving")
    )
    f, w, gate, fused = (
        x.get("ffn", 4 * h),
        x["activation_bytes"],
        x["gated"] == "on",
        x["attention"] == "fused",
    )
    side = x.get("head_size", h / a)
    # of queries, and of keys and values: on a device, and of all in the model
    q, q_all = a / t * side, a * side
    ak = x.get("kv_heads", a)
    kv, kv_all = 2 * side * (np.maximum(ak / t, 1) if "kv_heads" in x else a / t), 2 * side * ak
    sp = t if x["sequence_parallel"] == "on" else 1.0
    zero, redo = int(x["zero"]), x["recomputation"]
    n, mb, rows = d * t * p, B / (b * d), b * s
    up = 2 if gate else 1
    layer_parameters = h * (q_all + kv_all) + q_all * h + (up + 1) * h * f
    mine_layer = h * (q + kv) + q * h + (up + 1) * h * f / t
    copies = np.where(p == 1, 2, 1) if x["tied"] == "off" else 1
    mine = L / p * mine_layer + copies * V * h / t
    # memory, in bytes of inputs of norms and products; a mask has half
    bsh, scores = rows * h, b * a * s * s / t
    plain = 5 * w * bsh / sp + w * rows * (2 * q + kv + (up + 1) * f / t)
    square = 4 * b * a * s / t if fused else (w + w / 2 + w) * scores
    kept = {"none": plain + square, "selective": plain, "full": w * bsh / sp}[redo]
    held = np.where(v >= 2, L * (1 + (p - 1) / (p * v)), L)
    stored = kept * np.minimum(held, mb * L / p)
    work = {"none": 0.0, "selective": square, "full": plain + square}[redo]
    most = np.maximum(mine_layer, V * h / t)
    gathered = x["gradient_bytes"] * most if zero >= 2 else 0.0
    gathered = gathered + (x["parameter_bytes"] * (most + mine_layer) if zero == 3 else 0.0)
    gathered = np.where(d > 1, gathered, 0.0)
    parts = {"parameters": x["parameter_bytes"] * mine / (d if zero == 3 else 1)}
    parts["gradients"] = x["gradient_bytes"] * mine / (d if zero >= 2 else 1)
    parts["optimiser"] = x["optimiser_bytes"] * mine / (d if zero >= 1 else 1)
    # the last stage: what is in flight there, in turns of v parts, and the logits in 4 bytes
    turns = np.minimum((v - 1) * p + 1, mb * v)
    end = kept * L / (p * v) * turns + 2 * w * rows * V / t
    memory = sum(parts.values()) + work + gathered + np.maximum(stored, end)
    # one layer
    tau = m["time_per_byte"] / m["memory_efficiency"]

    def arithmetic(count: Any, r: Any, c: Any, k: Any) -> Any:
        pad = m["matrix_padding"]
        return 2 * count * (r + pad) * (c + pad) * (k + pad) * m["time_per_flop"] / m["matrix_efficiency"]

    def gemm(count: Any, r: Any, c: Any, k: Any) -> Any:
        return np.maximum(arithmetic(count, r, c, k), w * count * (r * c + r * k + c * k) * tau)

    linear = (
        gemm(1, rows, q + kv, h) + gemm(1, rows, h, q) + gemm(up, rows, f / t, h) + gemm(1, rows, h, f / t)
    )
    if fused:
        flash, io = arithmetic(b * a / t, s, s, side), w * rows * (q + kv + q) * tau
        core, core_back = np.maximum(2 * flash, io), np.maximum(5 * flash, 2 * io)
    else:
        attention = gemm(b * a / t, s, s, side) + gemm(b * a / t, s, side, s)
        # bytes of softmax 4, of its dropout 5; backward 11
        core, core_back = attention + 9 / 2 * w * scores * tau, 2 * attention + 11 / 2 * w * scores * tau
    # bytes of norms 8, of dropout and sum 14; the activation function reads each matrix's result, writes one
    forward = core + linear + w / 2 * (22 * bsh / sp + (2 + 2 * up) * rows * f / t) * tau
    backward = core_back + 2 * linear + w / 2 * (22 * bsh / sp + (2 + 4 * up) * rows * f / t) * tau
    again = {"none": 0.0, "selective": core, "full": forward}[redo]

    def half(count: Any, inside: Any, data: Any) -> Any:
        words, nodes = data / m["word_size"], count / inside
        near = (inside - 1) * (words / inside * m["core_time_per_word"] + m["core_time_per_message"])
        return near + (nodes - 1) * (words / count * m["time_per_word"] + m["time_per_message"])

    ring = 2 * half(t, np.minimum(t, m["processors_per_node"]), w * bsh)
    working = forward + backward + again
    kernels = 26 if fused else 30
    relaunched = {"none": 0, "selective": 1 if fused else 5, "full": kernels}[redo]
    launches = (3 * kernels + relaunched) * m["launch_time"] * (1 + m["launch_spread"] * (t - 1))
    of_stage = L / p * np.maximum(working + (6 if redo == "full" else 4) * ring, launches)
    logits = 3 * gemm(1, rows, V / t, h) + 26 * w * rows * V / t * tau
    each = logits + 2 * x["gradient_bytes"] * mine * tau + m["micro_batch_time"]
    # tensor, data, pipeline: the last stage's first device is t d (p - 1), in node 0 only if all are
    far = t * d * p > m["processors_per_node"]
    hop = np.where(far, m["time_per_word"], m["core_time_per_word"]) * w * bsh / t / m["word_size"]
    hop = hop + np.where(far, m["time_per_message"], m["core_time_per_message"])
    if x["sequence_parallel"] == "off":
        hop = hop + ring / 2
    hop = np.where(p >= 2, hop, 0.0)
    near = np.minimum(d, np.maximum(m["processors_per_node"] / t, 1))
    gradients = half(d, near, x["gradient_bytes"] * mine)
    weights = half(d, near, x["parameter_bytes"] * mine)
    ahead, back = of_stage * forward / working, of_stage * (backward + again) / working

    def exposed(exchange: Any, behind: Any) -> Any:
        if x["overlap"] == "off":
            return exchange
        last = exchange / (L / p)
        return last + np.maximum(exchange - last - behind, 0.0)

    replicas = [
        exposed(2 * gradients, back),
        exposed(gradients, back) + exposed(weights, ahead),
        mb * exposed(gradients, back) + exposed(weights, ahead),
        mb * (exposed(gradients + weights, back) + exposed(weights, ahead)),
    ][zero]
    touched = 7 * x["gradient_bytes"] + 7 / 3 * x["optimiser_bytes"] + x["parameter_bytes"]
    touched = touched * mine / (d if zero else 1)
    step = mb * (of_stage + each) + (p - 1) / v * (of_stage + m["micro_batch_time"])
    step = step + 2 * v * mb * hop + replicas + touched * tau
    busy = mb * (L / p * working + each)
    joules = n * ((m["constant_power"] + m["overhead_power"]) * step + m["usable_power"] * busy)
    steps = x["tokens"] / (B * s) if "tokens" in x else 1.0
    flops = 3 * (L * (2 * B * s * layer_parameters + 4 * B * s * s * q_all) + 2 * B * s * h * V)
    found = {"time": steps * step, "energy": steps * joules, "power": joules / step, "step_time": step}
    found |= {"devices": n, "device_memory": memory, "energy_per_token": joules / (B * s), "flops": flops}
    found |= {f"memory_{name}": value for name, value in parts.items()}
    if "lifetime" in x:
        embodied = m["embodied_carbon"] * n * found["time"] / number(x["lifetime"])
        grams = GRAMS_PER_KWH[x["grid"]]
        found["carbon"] = found["energy"] * x["power_usage_effectiveness"] * grams / 3.6e9 + embodied
    found |= {"tokens_per_second": B * s / step, "efficiency": flops / joules}
    found |= {
        "model_flops_utilisation": flops * m["time_per_flop"] / (n * step),
        "memory_activations": stored,
    }
    fits = memory <= m["memory_capacity"] * m["word_size"] * (1 + 1e-8)
    stated = "kv_heads" in x
    return found | {
        "#memory_capacity": fits,
        "#heads_split": whole_number(a / t),
        "#layers_split": whole_number(L / (p * v)),
        "#batch_split": whole_number(B / (b * d)),
        "#schedule": (v < 2) | whole_number(mb / p),
        "#kv_heads_shared": np.broadcast_to((not stated) | whole_number(a / ak), np.shape(fits)),
        "#kv_heads_split": np.broadcast_to(
            (not stated) | whole_number(ak / t) | whole_number(t / ak), np.shape(fits)
        ),
    }


def whole_number(quotient: Any) -> Any:
    """Say where a quotient is whole and not 0."""
    near = np.round(quotient)
    return (near >= 1) & (np.abs(quotient - near) <= 1e-9 * np.abs(quotient))
