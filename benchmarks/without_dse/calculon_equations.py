"""Calculon's equations for a step of training, typed anew in NumPy, for comparison only.

Isaev, McDonald, Dennison and Vuduc, "Calculon: a methodology and tool for high-level co-design of systems and large
language models", SC '23 (doi 10.1145/3581784.3607102). The equations and the figures of the A100 system are those of
the authors' own tool (calculon-ai/calculon, revision caa4b11), where the paper leaves counts open. Nothing of its code
is used. Left out: offloading, overlap of messages, inference, multi-query attention, layers that stages do not divide.

A block is a list of operators. Each takes for its flops W and its bytes Q, one after the other,

    W/(F e(W)) + Q/(B e(Q))

with the peak rate of matrix or vector units, and shares e that are steps in the size of the operator. Forward, the
gradients of activations and those of weights are separate operators. A message of n bytes among t takes
latency + n c (1 + o/t)/(bandwidth e) with c and o by kind. A step is

    m L/p (forward + backward + again + messages) + m v (messages between stages)
      + (p-1) (L/(p v) (forward + backward + again + messages) + messages between stages) + replicas + L/p optimiser

Embedding, head and loss are not in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

# A100 with 80 GB: (from so many flops or bytes, share of the peak)
MATRIX, MATRIX_STEPS = 312e12, ((128e9, 0.95), (16e9, 0.9), (1e9, 0.6), (0.0, 0.1))
VECTOR, VECTOR_STEPS = 78e12, ((16e9, 0.95), (1e9, 0.5), (0.0, 0.1))
MEMORY, MEMORY_STEPS = 2048e9, ((100e6, 0.9), (10e6, 0.75), (1e6, 0.6), (0.0, 0.3))
NODE = 8
# by network (within a node, between nodes): bytes a second, latency, and (c, o) by kind of message
NEAR = (300e9 * 0.65, 1e-5, {"p2p": (1.0, 0.0), "half": (1.5, -1.0), "reduce": (2.0, -1.0)})
FAR = (25e9 * 0.9, 2e-5, {"p2p": (1.0, 0.0), "half": (1.0, 0.0), "reduce": (1.0, 0.0)})
VALUE, MASTER = 2.0, 4.0


class Operator(NamedTuple):
    """Flops and bytes forward, of gradients of activations and of weights; weights; bytes kept for going back.

    ``again``: 1 where the operator is done again, ``kept``: what of its input is stored, ``gone``: what of its output
    is not, ``worked``: its input while the block is worked on, ``graded``: gradients of its output.
    """

    matrix: bool
    flops: tuple[Any, Any, Any]
    data: tuple[Any, Any, Any]
    weights: Any = 0.0
    again: bool = False
    kept: Any = 0.0
    gone: Any = 0.0
    worked: Any = 0.0
    graded: Any = 0.0


def share(amount: Any, steps: Sequence[tuple[float, float]]) -> Any:
    """Return the share of a peak that an operator of this size reaches."""
    return np.select([amount >= least for least, _ in steps], [e for _, e in steps])


def processing(flops: Any, data: Any, *, matrix: bool) -> Any:
    """Return the time of an operator's flops and bytes, one after the other."""
    peak, steps = (MATRIX, MATRIX_STEPS) if matrix else (VECTOR, VECTOR_STEPS)
    return flops / (peak * share(flops, steps)) + data / (MEMORY * share(data, MEMORY_STEPS))


def message(kind: str, size: Any, peers: Any, far: Any) -> Any:
    """Return the time of a message of this many bytes among so many devices."""
    found = []
    for rate, latency, kinds in (NEAR, FAR):
        scale, offset = kinds[kind]
        found.append(latency + size * scale * (1.0 + offset / peers) / rate)
    return np.where(far, found[1], found[0])


def _linear(
    rows: Any, inner: Any, out: Any, *, again: bool, kept: bool = True, shared: bool = False
) -> Operator:
    a, b, w = rows * inner * VALUE, rows * out * VALUE, inner * out
    flops = 2.0 * rows * inner * out
    held = a if kept else 0.0
    return Operator(
        True, (flops,) * 3, (a + b + w * VALUE,) * 3, w, again, held, 0.0, 0.0 if shared else a, b
    )


def _heads(count: Any, left: Any, inner: Any, right: Any, *, again: bool, gone: bool) -> Operator:
    a, b = count * (left * inner + inner * right) * VALUE, count * left * right * VALUE
    flops = 2.0 * count * left * inner * right
    return Operator(
        True, (flops, 2.0 * flops, 0.0), (a + b, a + b, 0.0), 0.0, again, a, b if gone else 0.0, a, b
    )


def _values(
    values: Any,
    flops: tuple[float, float],
    *,
    again: bool,
    mask: bool = False,
    kept: bool = True,
    gone: bool = False,
) -> Operator:
    """An operation on single values; one with a mask moves a byte more of each, and keeps the mask alone."""
    moved = (2.0 * VALUE + (1.0 if mask else 0.0)) * values
    held = values if mask else values * VALUE
    out = values * VALUE if gone else 0.0
    counts = (flops[0] * values, flops[1] * values, 0.0)
    return Operator(False, counts, (moved, moved, 0.0), 0.0, again, held if kept else 0.0, out, held, held)


def _norm(values: Any, hidden: Any, *, again: bool) -> Operator:
    moved = 2.0 * (values + hidden) * VALUE
    counts = (9.0 * values, 14.0 * values, 7.0 * values)
    return Operator(False, counts, (moved,) * 3, 2.0 * hidden, again, 0.0, 0.0, 0.0, values * VALUE)


def _fork(values: Any, users: float, *, again: bool, kept: bool = True) -> Operator:
    held = values * VALUE
    data = (0.0, held * (users + 1.0), 0.0)
    return Operator(
        False, (0.0, users * values, 0.0), data, 0.0, again, held if kept else 0.0, 0.0, held, 0.0
    )


def _residual(values: Any, *, again: bool) -> Operator:
    moved = 3.0 * values * VALUE
    return Operator(
        False, (values, 2.0 * values, 0.0), (moved, moved, 0.0), 0.0, again, 0.0, 0.0, 0.0, values * VALUE
    )


def block(x: Mapping[str, Any]) -> Iterator[Operator]:
    """Go through the operators of a block but for messages."""
    s, b, h, a, t = (x[n] for n in ("sequence", "micro_batch", "hidden", "heads", "tensor_parallel"))
    f = x.get("ffn", 4.0 * h)
    rows, d = b * s, h / a
    split = x["sequence_parallel"] == "on"
    full, core = x["recomputation"] == "full", x["recomputation"] != "none"
    gather = core or (split and not full)
    gather_mlp = full or (split and not full)
    own = rows * h / t if split else rows * h
    scores = a / t * s * s * b
    yield _fork(own, 2.0, again=full)
    yield _norm(own, h, again=full)
    yield _fork(rows * h, 3.0, again=gather, kept=not gather)
    for _ in range(3):
        yield _linear(rows, h, h / t, again=full, kept=False, shared=True)
    yield _heads(b * a / t, s, d, s, again=core, gone=core)
    yield _values(scores, (5.0, 8.0), again=core, gone=core)
    yield _values(scores, (1.0, 1.0), again=core, mask=True, kept=not core)
    yield _heads(b * a / t, s, s, d, again=full, gone=False)
    yield _linear(rows, h / t, h, again=full)
    yield _values(own, (1.0, 1.0), again=full, mask=True)
    yield _residual(own, again=full)
    yield _fork(own, 2.0, again=full)
    yield _norm(own, h, again=full)
    yield _linear(rows, h, f / t, again=full, kept=not gather_mlp)
    yield _values(f * rows / t, (8.0, 13.0), again=full)
    yield _linear(rows, f / t, h, again=full)
    yield _values(own, (1.0, 1.0), again=full, mask=True)
    yield _residual(own, again=full)


def _between_devices(x: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """Return the times of a block's messages forward, backward and done again, with what is added up for them."""
    t = x["tensor_parallel"]
    values = x["micro_batch"] * x["sequence"] * x["hidden"]
    size = VALUE * values
    summing = values * (t - 1.0) / t
    plain, added = (processing(n, 2.0 * size, matrix=False) for n in (0.0 * values, summing))
    full = x["recomputation"] == "full"
    if x["sequence_parallel"] == "on":
        half = message("half", size, t, t > NODE)
        # two gathers and two scatters each way; of gathers each is done again
        again = (4.0 if full else 2.0) * half
        times = 4.0 * half + 2.0 * plain + 2.0 * added, 4.0 * half + 2.0 * plain + 2.0 * added, again
    else:
        reduced = message("reduce", size, t, t > NODE)
        times = 2.0 * (reduced + added), 2.0 * (reduced + added), (2.0 if full else 0.0) * reduced
    alone = t == 1
    forward, backward, again = (np.where(alone, 0.0, time) for time in times)
    return forward, backward, again


def step(x: Mapping[str, Any]) -> Any:
    """Return the seconds of a step; numbers may be arrays, texts are one for all.

    ``x``: sequence, micro_batch, hidden, heads, layers, tensor_parallel, pipeline_parallel, interleaving,
    data_parallel, global_batch; recomputation, sequence_parallel ("on" gathers again, as in the authors' validation),
    zero ("0" or "1").
    """
    t, p, d, v = (x[n] for n in ("tensor_parallel", "pipeline_parallel", "data_parallel", "interleaving"))
    m, in_stage = x["global_batch"] / (x["micro_batch"] * d), x["layers"] / p
    operators = list(block(x))
    forward, backward, again = _between_devices(x)
    for o in operators:
        ahead = processing(o.flops[0], o.data[0], matrix=o.matrix)
        forward = forward + ahead
        again = again + (ahead if o.again else 0.0)
        for flops, data in zip(o.flops[1:], o.data[1:], strict=True):
            backward = backward + processing(flops, data, matrix=o.matrix)
    over = d if x["zero"] == "1" else 1.0
    # Adam: 11 flops a weight on vector units, a copy and two moments of 4 bytes
    optimiser = sum(
        processing(11.0 * o.weights / over, 3.0 * MASTER * o.weights / over, matrix=False)
        for o in operators
        if np.any(o.weights)
    )
    far = t * p * d > NODE
    size = (
        VALUE
        * x["micro_batch"]
        * x["sequence"]
        * x["hidden"]
        / (t if x["sequence_parallel"] == "on" else 1.0)
    )
    passed = np.where(p > 1, 2.0 * message("p2p", size, 2.0, far), 0.0)
    passes = forward + backward + again
    short = np.where(m % p != 0, (v - 1.0) * (p - m % p), 0.0)
    bubble = (p - 1.0 + short) * (in_stage / v * passes + passed)
    weights = VALUE * sum(o.weights for o in operators)
    kind, halves = ("half", 2.0) if x["zero"] == "1" else ("reduce", 1.0)
    replicas = np.where(d > 1, halves * message(kind, weights, d, far), 0.0)
    return m * (in_stage * passes + v * passed) + bubble + in_stage * (replicas + optimiser)


def memory(x: Mapping[str, Any]) -> dict[str, Any]:
    """Return the bytes of a device: weights, gradients, optimiser, activations (stored, and gradients of one block)."""
    p, d, v = x["pipeline_parallel"], x["data_parallel"], x["interleaving"]
    m, in_stage = x["global_batch"] / (x["micro_batch"] * d), x["layers"] / p
    operators, over = list(block(x)), d if x["zero"] == "1" else 1.0
    weights = sum(o.weights for o in operators)
    flying = np.minimum(m, p) * np.where(v > 1, 1.0 + (p - 1.0) / (v * p), 1.0)
    values = VALUE * x["micro_batch"] * x["sequence"] * x["hidden"]
    # the four messages of a block keep their inputs, gathers for the backward pass too
    split, t = x["sequence_parallel"] == "on", x["tensor_parallel"]
    sent = np.where(t > 1, values / t if split else values, 0.0)
    worked = sum(o.worked for o in operators) + (4.0 if split else 2.0) * sent
    stored = sum(o.kept - o.gone for o in operators) + (2.0 if split else 0.0) * sent
    if x["recomputation"] == "full":
        activations = worked + in_stage * values * flying
    else:
        activations = worked + stored * (in_stage * flying - 1.0)
    graded = sum(o.graded for o in operators) + (4.0 if split else 2.0) * sent
    gradients = weights * (MASTER + VALUE / over * (in_stage - 1.0))
    return {"weights": VALUE * weights * in_stage, "gradients": gradients, "activations": activations,
            "optimiser": 3.0 * MASTER * weights / over * in_stage, "graded": graded}  # fmt: skip
