"""A step of training a dense decoder on many devices: memory, time and its parts, energy, and what a run takes.

L layers of hidden size h, in p stages of v parts each, each layer on t devices, in d replicas: n = d t p devices. A
step takes B sequences of s tokens in m = B/(b d) micro batches of b for each replica.

**Layout.** Devices are numbered as Megatron-LM does it (its order tp-cp-ep-dp-pp): tensor parallelism fastest, then
data, then pipeline. Replicas lie t devices apart, neighbouring stages t d. Groups are taken to begin where a node
begins: degrees that no node is a multiple of cross between nodes more often than counted here.

**Memory** of a device of the fuller of the first and the last stage. Of N parameters it has N/(p t) of the layers and
V h/t of the embedding, twice that where the head has weights of its own and lies on the same stage, in parameter,
gradient and optimiser bytes. Where kv_heads < t, keys and values have copies, as said of the decoder below. ZeRO
splits the optimiser (1), gradients (2) and parameters (3) over d. What it splits is whole while it is used: with
gradients split, those of one layer or of V h/t words, whichever are more; with parameters split, these and one more
layer, which is gathered ahead. A layer stores for its backward pass (arXiv 2205.05198, (1)-(6); bytes of 16 bits)

    nothing computed again    sbh (10 + 24/t + 5 a s/(h t));
                              sbh/t (34 + 5 a s/h) with sequence parallelism
    selective                 the same without 5 a s/h
    full                      2 sbh (2 sbh/t with sequence parallelism)

(24 sbh/t stands for 2 bs (2 a d/t + z + 2 f/t), with 3 f/t where gated and z as below, where f is not 4 h or heads
are grouped; 4 b a s/t in place of 5 a s² b/t where attention is fused), and the first stage stores as many layers as
are in flight: L in a plain one-forward-one-backward schedule, in an interleaved one L (1 + (p-1)/(p v)), and in both
no more than m micro batches of its L/p; the last stage stores one micro batch of its L/p, in an interleaved schedule
L ((v-1) p + 1)/(p v), and the logits, 4 b s V/t bytes. In addition one layer's activations exist while it is computed
again. Bytes of parameters, gradients, the optimiser and activations are inputs, by which mixed precision is stated;
the rate of arithmetic is that of the machine.

**Time.** A layer takes the times that are below, c forward and c_b backward, of which the core (scores, softmax,
context) has c_k forward, and messages of M = b s h values. The host launches its kernels, K = 30 in a forward
pass (26 with fused attention), one after the other, each in λ; devices that share a layer wait for the slowest host.
The longer of both counts,

    c_l = max(c + c_b + r + q A(t, M), (3 + r_k) K λ (1 + κ (t-1)))

with r = c, r_k = 1 and q = 6 where all is computed again, r = c_k, r_k = 5/K (1/K) and q = 4 where selected, else 0,
0 and 4. A ring of n devices, g of them in each node, passes V bytes on to all, summed, in

    A(n, V) = 2 (g-1) (V/g βl + αl) + 2 (n/g - 1) (V/n βn + αn)

with g = min(t, nn) for layers, and g = min(d, nn/t) for replicas. A machine that states ``measured_layers`` = 1
multiplies c_l by measured over modelled time where that is known (last table). With what a micro batch takes of
logits and loss, the sum of its gradients (2 gradient bytes for each parameter of a device) and a fixed time λb, a
step takes (arXiv 2104.04473, 2.2)

    m (L/p c_l + logits + gradients + λb) + (p-1)/v (L/p c_l + λb) + 2 v m P
        + A(d, gradients) + optimiser

    logits = 3 times a product b s x V/t x h, and 26 values moved for each of b s V/t logits
    P      = M/t β + α + A(t, M)/2,  or M/t β + α with sequence parallelism;  0 where p = 1

where P passes a message on to the next stage, a part from each device (4.1), and without sequence parallelism each
device there gathers all of it. Stages work in step, so the slowest link between two of them counts: that between
nodes where n > nn, as then some stage and the next lie in different nodes. The optimiser reads and writes gradients
seven times, its own bytes 7/3 times and parameters once, with ZeRO 1/d of them. With ZeRO, gradients are summed at
their owners and parameters gathered, each in A(d, …)/2, once a step (1), gradients for each micro batch (2), and
parameters twice for each (3). With ``overlap`` an exchange of gradients, or of parameters for the backward pass, goes
on during the backward pass of a stage's L/p layers, and one of parameters during the forward pass, of which a micro
batch has

    forward   L/p c_l c/(c + c_b + r)
    backward  L/p c_l (c_b + r)/(c + c_b + r)

What is left is max(X - pass, X p/L) of its time X: the last layer's part has nothing to hide behind. Nothing else
overlaps: what a machine hides is part of its fitted constants.

**Energy** is derived, not measured: a device draws π1 + Po all the time and Δπ more while it computes, in a step

    m (L/p (c + c_b + r) + logits + gradients + λb)

The flops of the model in a step, to which ``performance``,
``efficiency`` and ``model_flops_utilisation`` belong, are 3 (L (2 B s W + 4 B s² a d) + 2 B s h V) with W the weights
of a layer's matrices. In the catalogue π1 lies between 0 and the design power, so the energy does, too: ask at both
ends. The site (PUE), the price of electricity and devices and the carbon count in ``cost`` and ``carbon``.

What is left out: biases and norms (13 h of 12 h² parameters), the embedding's time, failures, loading of data.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dse.models.arithmetic import divides, maximum, minimum, reaches
from dse.models.model import Model
from dse.models.shared.sums import held, sum_of
from dse.models.shared.totals import totals
from dse.models.transformers import transformer_layer as layer
from dse.models.transformers import transformer_measured as measured
from dse.models.transformers.collectives import network, node_link, ring_all_reduce, ring_gather
from dse.models.transformers.decoder import OFF, ON, PAGE
from dse.models.transformers.transformer_quantities import (
    FULL,
    INPUTS,
    LIMITS,
    MACHINE,
    METRICS,
    NONE,
    SELECTIVE,
    VALID,
)
from dse.models.transformers.transformer_starts import TRAINING

# kernels that a layer's forward pass launches: products, norms, sums, masks, casts
KERNELS = 30.0
# those of the core: two products, scale and mask, softmax, dropout; fused they are one
CORE_KERNELS = 5.0
# values of an activation's width that the loss reads and writes for each logit, forward and backward, most in 4 bytes
LOSS = 26.0

_STEP = ("compute", "recompute", "tensor", "pipeline", "bubble", "data", "optimiser")
_MEMORY = ("parameters", "gradients", "optimiser", "activations", "working")
SUMS = (
    sum_of("step_time", "what it is spent on", {part: f"step_{part}" for part in _STEP}),
    sum_of("device_memory", "what it holds", {part: f"memory_{part}" for part in _MEMORY}),
)


def equations(g: Any) -> Mapping[str, Any]:
    """Memory of the fuller end of the pipeline, time of a step by its parts, and what follows for a run."""
    x = layer.shape(g, g.micro_batch)
    m, d, t, p = g.machine, g.data_parallel, g.tensor_parallel, g.pipeline_parallel
    micro_batches = g.global_batch / (g.micro_batch * d)
    devices = d * t * p
    # of several stages the first has the embedding, the last the head
    words = x.of.word_weights * (1.0 if x.of.tied else 2.0 - reaches(p, 2.0))
    of_device = g.layers / p * x.of.own_matrices(t) + words / t
    memory = _bytes_of_stages(g, x, micro_batches, of_device)
    layer_time, step_time, step, busy = _step_time_and_parts(g, x, micro_batches, of_device)
    whole = layer.shape(g, g.global_batch)
    model = 3.0 * (
        g.layers * layer.flops(whole) + 2.0 * g.global_batch * g.sequence * g.hidden * g.vocabulary
    )
    work = model * g.flop
    tokens = g.global_batch * g.sequence
    steps = g.tokens / tokens if hasattr(g, "tokens") else 1.0
    idle = m.constant_power + m.overhead_power
    drawn = devices * (idle * step_time + m.usable_power * busy)
    # apart from what is drawn all the time, which no range of designs then goes below
    power = devices * (idle + m.usable_power * busy / step_time)
    held_bytes = _sum_of_parts(memory)
    words = held_bytes / m.word_size * g.word
    return {
        **totals(steps * step_time, steps * drawn, steps * work, power),
        "devices": devices,
        "steps": steps,
        "micro_batches": micro_batches,
        "flops": work,
        "parameters": g.layers * x.of.matrix_weights + x.of.word_weights * (1.0 if x.of.tied else 2.0),
        "tokens_per_second": tokens / step_time,
        "energy_per_token": drawn / tokens,
        "model_flops_utilisation": work * m.time_per_flop / (devices * step_time),
        **_checked(g, devices),
        "layer_time": layer_time,
        "step_time": step_time,
        **{f"step_{name}": value for name, value in step.items()},
        "device_memory": held_bytes,
        **{f"memory_{name}": value for name, value in memory.items()},
        "memory_capacity": words / m.memory_capacity,
        "heads_split": divides(t, g.heads),
        **x.of.kv_split(t),
        "layers_split": divides(p * g.interleaving, g.layers),
        "batch_split": divides(g.micro_batch * d, g.global_batch),
        "schedule": reaches(g.interleaving, 2.0) * divides(p, micro_batches),
    }


def _sum_of_parts(parts: Mapping[str, Any]) -> Any:
    first, *rest = parts.values()
    for value in rest:
        first = first + value
    return first


def _checked(g: Any, devices: Any) -> dict[str, Any]:
    """Return whether times were checked near a plan (0 on no runs, 1 further away, 2 near), and how far."""
    m = g.machine
    somewhere = reaches(m.checked_devices, 1.0)
    inside = reaches(g.hidden, m.checked_hidden_least) * reaches(m.checked_hidden_most, g.hidden)
    inside = inside * reaches(m.checked_devices, devices)
    width = maximum(g.hidden / maximum(m.checked_hidden_most, 1.0), m.checked_hidden_least / g.hidden)
    beyond = maximum(width, devices / maximum(m.checked_devices, 1.0))
    return {"checked": somewhere + inside * somewhere, "checked_range": somewhere * beyond}


def _bytes_of_stages(g: Any, x: layer.Shape, micro_batches: Any, of_device: Any) -> dict[str, Any]:
    """Return the bytes of a device of the first stage by what they hold, and what the last stage holds beyond that."""
    stage, d, p, v = int(g.zero), g.data_parallel, g.pipeline_parallel, g.interleaving
    full = layer.stored(x, core=True)
    kept = {
        NONE: full,
        SELECTIVE: layer.stored(x, core=False),
        FULL: x.width * x.values / x.split,
    }[g.recomputation]
    more = reaches(v, 2.0) * (p - 1.0)
    in_flight = minimum(p * v + more, micro_batches * v) / (p * v)
    at_last = minimum((v - 1.0) * p + 1.0, micro_batches * v) / (p * v)
    again = {NONE: 0.0 * full, SELECTIVE: layer.stored_core(x), FULL: full}[g.recomputation]
    # in 4 bytes, beside the values themselves
    logits = (4.0 / 2.0) * x.width * x.rows * g.vocabulary / x.tensor
    beyond = logits - kept * g.layers * (in_flight - at_last)
    return {
        "parameters": g.parameter_bytes * of_device / (d if stage >= 3 else 1.0),
        "gradients": g.gradient_bytes * of_device / (d if stage >= 2 else 1.0),
        "optimiser": g.optimiser_bytes * of_device / (d if stage >= 1 else 1.0),
        "activations": kept * g.layers * in_flight,
        "working": again + _gathered(g, x) + maximum(0.0 * logits, beyond),
    }


def _gathered(g: Any, x: layer.Shape) -> Any:
    """Return the bytes of parameters and gradients that are split, but whole while a layer is worked on."""
    if g.zero in {"0", "1"}:
        return 0.0 * x.width * x.values
    one = x.of.own_matrices(x.tensor)
    most = maximum(one, x.of.word_weights / x.tensor)
    held = g.gradient_bytes * most
    if g.zero == "3":
        held = held + g.parameter_bytes * (most + one)
    return reaches(g.data_parallel, 2.0) * held


def _step_time_and_parts(
    g: Any, x: layer.Shape, micro_batches: Any, of_device: Any
) -> tuple[Any, Any, dict[str, Any], Any]:
    """Return the time of a layer and of a step, the parts of this, and for how long of it a device computes."""
    m, d, t, p, v = g.machine, g.data_parallel, g.tensor_parallel, g.pipeline_parallel, g.interleaving
    core = layer.core_time(g, x)
    whole = core + layer.rest_time(g, x)
    again = {NONE: 0.0 * core.forward, SELECTIVE: core.forward, FULL: whole.forward}[g.recomputation]
    messages = 6.0 if g.recomputation == FULL else 4.0
    message = x.width * x.values
    reduced = ring_all_reduce(message, t, minimum(t, m.processors_per_node), node_link(g), network(g))
    launching = _launched(g, x) * m.launch_time * (1.0 + m.launch_spread * (t - 1.0))
    working = whole.forward + whole.backward + again
    alone = maximum(working, launching)
    each = maximum(working + messages * reduced, launching)
    # factors were found with all computed again
    plain = g.recomputation == FULL and g.gated == OFF and not x.fused
    factor = measured.factor(g, x.of) if plain else 1.0
    alone, each = alone * factor, each * factor
    in_stage = g.layers / p
    byte = layer.time_of_byte(g)
    logits = 3.0 * layer.product(g, 1.0, x.rows, g.vocabulary / t, g.hidden, x.width)
    logits = logits + LOSS * x.width * x.rows * g.vocabulary / t * byte
    adding = 2.0 * g.gradient_bytes * of_device * byte
    filling = (p - 1.0) / v
    to_next = reaches(p, 2.0) * 2.0 * v * micro_batches * _to_next(g, message)
    data = _between_replicas(g, micro_batches, of_device, in_stage * each, whole.forward / working)
    touched = (7.0 * g.gradient_bytes + 7.0 / 3.0 * g.optimiser_bytes + g.parameter_bytes) * of_device
    optimiser = touched / (d if g.zero != "0" else 1.0) * byte
    in_time = micro_batches * in_stage
    once = micro_batches * (logits + adding + m.micro_batch_time)
    bubble = filling * (in_stage * each + m.micro_batch_time)
    recompute = alone * (again / working)
    parts = {
        "compute": in_time * (alone - recompute) + once,
        "recompute": in_time * recompute,
        "tensor": in_time * (each - alone),
        "pipeline": to_next,
        "bubble": bubble,
        "data": data,
        "optimiser": optimiser,
    }
    # not the sum of the parts, in which differences would widen intervals
    time = in_time * each + once + bubble + to_next + data + optimiser
    return each, time, parts, in_time * working + once


def _launched(g: Any, x: layer.Shape) -> float:
    """Return the kernels of a layer, forward, backward (twice as many) and again."""
    core = 1.0 if x.fused else CORE_KERNELS
    forward = KERNELS - CORE_KERNELS + core
    return 3.0 * forward + {NONE: 0.0, SELECTIVE: core, FULL: forward}[g.recomputation]


def _to_next(g: Any, message: Any) -> Any:
    """Return the time in which a stage passes a message on to the next, a part from each device of its group.

    The next stage lies t d devices further on: of all stages some pair is in different nodes unless all are in one.
    """
    m, t = g.machine, g.tensor_parallel
    near, far = node_link(g), network(g)
    together = reaches(m.processors_per_node, t * g.data_parallel * g.pipeline_parallel)
    time_per_byte = together * near.time_per_byte + (1.0 - together) * far.time_per_byte
    sent = message / t * time_per_byte + together * near.latency + (1.0 - together) * far.latency
    if g.sequence_parallel == ON:
        return sent
    # each device of the next stage needs all of it
    return sent + ring_gather(message, t, minimum(t, m.processors_per_node), near, far)


def _between_replicas(g: Any, micro_batches: Any, of_device: Any, stage: Any, forward: Any) -> Any:
    """Return the time in which replicas exchange gradients, and parameters where these are split.

    ``stage``: time of a micro batch in the layers of a stage; ``forward``: share of it that is the forward pass.
    """
    d, zero = g.data_parallel, g.zero
    within = minimum(d, maximum(g.machine.processors_per_node / g.tensor_parallel, 1.0))
    gradients, parameters = (
        ring_gather(width * of_device, d, within, node_link(g), network(g))
        for width in (g.gradient_bytes, g.parameter_bytes)
    )
    ahead, back = stage * forward, stage * (1.0 - forward)
    if zero == "0":
        return _exposed_exchange_time(g, 2.0 * gradients, back)
    if zero == "1":
        return _exposed_exchange_time(g, gradients, back) + _exposed_exchange_time(g, parameters, ahead)
    if zero == "2":
        return micro_batches * _exposed_exchange_time(g, gradients, back) + _exposed_exchange_time(
            g, parameters, ahead
        )
    return micro_batches * (
        _exposed_exchange_time(g, gradients + parameters, back) + _exposed_exchange_time(g, parameters, ahead)
    )


def _exposed_exchange_time(g: Any, exchange: Any, during: Any) -> Any:
    """Return what is left of the time of an exchange that goes on during a pass of a stage's layers."""
    if g.overlap == OFF:
        return exchange
    return maximum(exchange - during, exchange * g.pipeline_parallel / g.layers)


TRANSFORMER_TRAINING = Model(
    name="transformer_training",
    title="Training a dense decoder in parallel",
    source="Korthikanti et al. 2022 (arXiv 2205.05198), Narayanan et al. 2021 (arXiv 2104.04473)",
    machine=MACHINE,
    inputs=INPUTS,
    metrics=METRICS,
    limits=LIMITS,
    valid=VALID,
    equations=equations,
    sums=SUMS,
    checked="checked",
    work=("flops", "steps"),
    hardware=(held("devices", "devices"),),
    start=TRAINING,
    notes=f"{__doc__}\n## A layer\n\n{layer.__doc__}\n{PAGE}\n{measured.PAGE}",
)
