"""A step of training typed a second time, from the papers, in plain Python numbers; shares nothing with dse.

Activations: Korthikanti et al. 2022 (arXiv 2205.05198), equations (1), (2), (4), (5) and section 5 in the paper's own
shape, sbh (10 + 24/t + 5 a s/(h t)). Pipeline: Narayanan et al. 2021 (arXiv 2104.04473), 2.2 and 4.1. All-reduce: a
ring, 2 (n-1) steps. ZeRO: Rajbhandari et al. 2020. Everything is built from lists of operations, one after the other.
"""

from __future__ import annotations

from typing import Any


def activations(x: dict[str, Any]) -> float:
    """Bytes of the first stage's activations, for a plain MLP of width 4 h without groups, 2 bytes a value."""
    s, b, h, a, t = (x[n] for n in ("sequence", "micro_batch", "hidden", "heads", "tensor_parallel"))
    p, v, layers = x["pipeline_parallel"], x["interleaving"], x["layers"]
    split = x["sequence_parallel"] == "on"
    if x["recomputation"] == "full":
        one = 2 * s * b * h / (t if split else 1)
    else:
        square = 5 * a * s / (h * t) if x["recomputation"] == "none" else 0.0
        one = s * b * h * (34 / t + square) if split else s * b * h * (10 + 24 / t + square)
    m = x["global_batch"] / (b * x["data_parallel"])
    if v == 1:
        # one forward, one backward: as many micro batches as stages, or all there are
        return one * (layers / p) * min(p, m)
    # interleaved: L (1 + (p-1)/(p v)), or all micro batches
    return one * min(layers * (1 + (p - 1) / (p * v)), layers / p * m)


def ring(n: float, g: float, data: float, x: dict[str, Any], *, both: bool = True) -> float:
    """Seconds of a reduce-scatter over n devices, g of them in a node; twice that for an all-reduce."""
    word = x["word_size"]
    inner = sum(1 for _ in range(int(g) - 1)) * (
        data / g / word * x["core_time_per_word"] + x["core_time_per_message"]
    )
    outer = (n / g - 1) * (data / n / word * x["time_per_word"] + x["time_per_message"])
    return (inner + outer) * (2 if both else 1)


def step(x: dict[str, Any]) -> dict[str, float]:
    """Seconds of a step, seconds of its communication by kind, and bytes by what they hold."""
    s, b, h, a, t = (x[n] for n in ("sequence", "micro_batch", "hidden", "heads", "tensor_parallel"))
    d, p, v, layers = (x[n] for n in ("data_parallel", "pipeline_parallel", "interleaving", "layers"))
    m = x["global_batch"] / (b * d)
    pad, rows = x["matrix_padding"], b * s

    def gemm(r: float, c: float, k: float) -> float:
        flops = 2 * (r + pad) * (c + pad) * (k + pad)
        moved = 2 * (r * c + r * k + c * k)
        return max(flops * x["time_per_flop"] / x["matrix_efficiency"], move(moved))

    def move(moved: float) -> float:
        return moved * x["time_per_byte"] / x["memory_efficiency"]

    apart = t if x["sequence_parallel"] == "on" else 1
    heads = b * a / t
    attention = heads * (gemm(s, s, h / a) + gemm(s, h / a, s))
    matrices = (
        gemm(rows, 3 * h / t, h) + gemm(rows, h, h / t) + gemm(rows, 4 * h / t, h) + gemm(rows, h, 4 * h / t)
    )
    # bytes: norms 8, dropout and sum 14; softmax 4, its dropout 5; the activation function reads and writes 4 h
    forward_core = attention + move(9 * heads * s * s)
    forward = forward_core + matrices + move(22 * rows * h / apart) + move(4 * rows * 4 * h / t)
    backward = 2 * (attention + matrices) + move(
        11 * heads * s * s + 22 * rows * h / apart + 24 * rows * h / t
    )
    again = {"none": 0.0, "selective": forward_core, "full": forward}[x["recomputation"]]
    reductions = 6 if x["recomputation"] == "full" else 4
    in_node = min(t, x["processors_per_node"])
    talk = reductions * ring(t, in_node, 2 * rows * h, x)
    launched = {"none": 90, "selective": 95, "full": 120}[x["recomputation"]]
    launches = launched * x["launch_time"] * (1 + x["launch_spread"] * (t - 1))
    layer = max(forward + backward + again + talk, launches)

    weights = (12 * h * h * layers / p + x["vocabulary"] * h) / t
    logits = 3 * gemm(rows, x["vocabulary"] / t, h) + move(52 * rows * x["vocabulary"] / t)
    summing = move(2 * x["gradient_bytes"] * weights)
    stage = layers / p * layer
    total = m * (stage + logits + summing + x["micro_batch_time"]) + (p - 1) / v * (
        stage + x["micro_batch_time"]
    )

    if p > 1:
        far = t * d >= x["processors_per_node"]
        word, message = (
            ("time_per_word", "time_per_message") if far else ("core_time_per_word", "core_time_per_message")
        )
        passing = 2 * rows * h / t / x["word_size"] * x[word] + x[message]
        if apart == 1:
            passing += ring(t, in_node, 2 * rows * h, x, both=False)
        total += 2 * v * m * passing

    group = min(d, max(1, x["processors_per_node"] / t))
    gradients = ring(d, group, x["gradient_bytes"] * weights, x, both=False)
    gathered = ring(d, group, x["parameter_bytes"] * weights, x, both=False)
    total += {
        "0": 2 * gradients,
        "1": gradients + gathered,
        "2": m * gradients + gathered,
        "3": m * gradients + 2 * m * gathered,
    }[x["zero"]]
    read_and_written = 7 * x["gradient_bytes"] + x["optimiser_bytes"] * 7 / 3 + x["parameter_bytes"]
    total += move(read_and_written * weights / (d if x["zero"] != "0" else 1))

    zero = int(x["zero"])
    return {
        "step_time": total,
        "memory_activations": activations(x),
        "memory_parameters": x["parameter_bytes"] * weights / (d if zero == 3 else 1),
        "memory_gradients": x["gradient_bytes"] * weights / (d if zero >= 2 else 1),
        "memory_optimiser": x["optimiser_bytes"] * weights / (d if zero >= 1 else 1),
        "flops": 72
        * x["global_batch"]
        * layers
        * s
        * h
        * h
        * (1 + s / (6 * h) + x["vocabulary"] / (12 * h * layers)),
    }
