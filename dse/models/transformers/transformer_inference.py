"""Serving a decoder: prompts are read, tokens are generated, requests wait for a place.

A *replica* is t P processors of a node (one, where the machine does not state its links): each layer is shared by t
of them (tensor parallelism, two all-reduces a layer), and P stages have L/P layers each. It works on B sequences at
the same time, B/P in each stage. l is the time of a layer's operators and messages, e of the head, s of a message to
the next stage, as said below.

    reading a prompt    Tp = L l + e + (P - 1) s      b = 1, q = S, n = (S + 1)/2, caches of S
    a step of all B     Td = L l + P e + (P - 1) s    b = B/P, q = 1, n = S + O/2, caches of n
    in a full batch     TPOT = Td + (B/O) (L l + P e + (P - 1) s)/P, the latter of a prompt

with b sequences of q new tokens, n keys for each (S for a prompt where attention is separate), caches of so many
tokens each. The second part of TPOT is for the prompts of others. Stages take turns in slots as long as the last
stage's, which has the head. Each sequence holds a place for O TPOT, in which its replica reads B prompts and makes O
steps: R replicas have c = R B places and serve at most c/(O TPOT) requests per second. Chunks of prompts, batches
that are not full and machines that only read or only generate (disaggregation) are not in the model.

**Memory** of the fullest processor: its share of the weights (stages with the embedding or the head hold V h more),
the caches of all B sequences at their full length, S + O tokens and at most a page less one token more, and the
activations of one prompt. All of it fits ``memory_share`` of the capacity.

    weights        bw (L/P (w + 2 h/t) + V h/t)
    cache          bc B (S + O + page - 1) L/P z
    activations    ba S (2 h + 2 f/t), with 3 f/t where gated

with a processor's weights w of a layer's matrices and its keys and values z of a token, as said of the decoder below,
and 2 V h/t where P = 1 and the head has weights of its own.

**Energy.** Flops, bytes and data on links have the machine's energies; all n = R t P processors draw constant power
all the time. For each place once, a replica reads B prompts and makes O steps. With l, e and s now the energies of
one processor for a layer, the head and a message, that is

    C = t (B (L l + e + (P - 1) s of a prompt) + O P (L l + e + (P - 1) s of a step))
    E = D/(B O) C_flops + N (C_bytes + C_links) + n π1 T
    N = R T/(O TPOT),   T = D TPOT/(B R), or D/(λ O) where a rate of requests is given

Flops, and with them ``performance``, ``efficiency`` and ``utilisation_of_flops``, are those of the tokens that are
served. If fewer requests arrive than could be served, bytes and messages are counted as if replicas ran steps with
full batches all the time. This is an estimate, not a bound: steps of smaller batches move fewer bytes each, but follow
each other faster.

**Queue.** Requests arrive at random (Poisson) with the rate λ, and take any free place of any replica, each for
O TPOT on average: M/M/c with the load ρ = λ O TPOT and its share u = ρ/c of the places. Erlang's probability to wait
is replaced by its upper bound by Janssen, van Leeuwaarden and Zwart (Operations Research 59, 2011, theorem 2), which
refines square-root staffing c = ρ + β √ρ:

    α = 1/(u + (1 - u)(√c Φ(x)/φ(x) + 2/3)),   x² = -2 c (1 - u + log u)
    mean wait Tw = α O TPOT/(c - ρ)

with Φ(x) = 1/(1 + exp(-1.5976 x - 0.07056 x³)), within 0.00015. Beside Erlang's formula α is too large by at most
8.5 % for one place, where next to nobody waits (6 % from a load of 0.1 on), and by 0.6 % from 16 places on. As a
picture of serving it is an approximation: the length of requests varies otherwise than exponentially, replicas have
queues of their own, and a place is faster in a batch that is not full.

**Evidence.** Whole layers were measured on A100 only, with a batch of 8, up to 3072 tokens and four processors:
``dse reproduce llmcompass`` shows by how much operators and layers are missed. ``checked`` says of each answer
whether it is near them, by tokens and tensor parallelism: on ``a100-sxm-80gb-measured`` only. Throughput, energy,
several stages, other machines and quantised weights: not checked. Flops run at the machine's rate whatever the bytes
of a weight.

``time``, ``energy``, ``cost`` and ``carbon`` belong to a run of ``tokens`` generated tokens, a million unless said:
cost is then in USD and carbon in kg per million tokens.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from dse.models.arithmetic import divides, exp, log, maximum, per, reaches
from dse.models.model import Model
from dse.models.shared.sums import held
from dse.models.shared.totals import totals
from dse.models.transformers import collectives
from dse.models.transformers import transformer_operators as operators
from dse.models.transformers.collectives import lacking_for_links, linked
from dse.models.transformers.decoder import PAGE, Decoder, decoder
from dse.models.transformers.transformer_inference_quantities import (
    INPUTS,
    LIMITS,
    MACHINE,
    METRICS,
    SUMS,
    VALID,
)
from dse.models.transformers.transformer_operators import (
    Cost,
    Processor,
    Step,
    Widths,
    head,
    layer,
    together,
)
from dse.models.transformers.transformer_starts import SERVING

# what keeps a wait finite where all places are taken, and a logarithm where none is
LEAST_FREE, FREE_FLOOR = 1e-12, 1e-15
NORMAL_1, NORMAL_3 = 1.5976, 0.07056


def equations(g: Any) -> Mapping[str, Any]:
    """Times of a prompt and of a step, from them rates, energies and the queue; memory of the fullest processor."""
    d, processor = decoder(g), Processor(g)
    width = Widths(g.parameter_bytes, g.activation_bytes, g.cache_bytes)
    t, stages, batch, output = g.tensor_parallel, g.pipeline_parallel, g.batch, g.output
    fused = g.attention == "fused"

    def parts(step: Step) -> tuple[Cost, Cost, Cost]:
        whole = processor.run(layer(d, step, t, width, g.flop, fused=fused), t)
        last = processor.operator(head(d, step.sequences, t, width, g.flop))
        message = processor.sent(step.rows * d.hidden * width.activation)
        return whole.times(d.layers), last, message.times(stages - 1.0)

    keys = (g.prompt + 1.0) / 2.0 if fused else g.prompt
    reading = Step(1.0, g.prompt, keys, g.prompt)
    layers, last, sent = parts(reading)
    prefill_time = layers.time + last.time + sent.time
    prefill_slot = (layers.time + stages * last.time + sent.time) / stages
    prompt = together([layers, last, sent])
    context = g.prompt + output / 2.0
    layers, last, sent = parts(Step(batch / stages, 1.0, context, context))
    decode_time = layers.time + stages * last.time + sent.time
    step = together([layers, last, sent]).times(stages)
    prefill_share = batch / output * prefill_slot
    token_time = decode_time + prefill_share
    service = output * token_time
    # what a replica does while it serves each of its places once
    cycle = together([prompt.times(batch), step.times(output)]).times(t)
    generating = Step(batch, 1.0, context, context)
    flops = batch * operators.model_flops(d, reading) + output * operators.model_flops(d, generating)
    return {
        **_service_metrics(g, service, cycle, flops * g.flop, prefill_time),
        **_memory_metrics(g, d),
        "parameters": d.parameters,
        "prefill_time": prefill_time,
        "decode_time": decode_time,
        "prefill_share": prefill_share,
        "time_per_output_token": token_time,
        **_checked(g),
        "within_node": t * stages / (g.machine.processors_per_node if linked(g) else 1.0),
        "heads_split": divides(t, d.heads),
        **d.kv_split(t),
        "layers_split": divides(stages, d.layers),
        "batch_split": stages / batch,
    }


def _checked(g: Any) -> dict[str, Any]:
    """Return whether times were checked near a design (0 on no layers, 1 further away, 2 near), and how far."""
    m, tokens = g.machine, g.prompt + g.output
    somewhere = reaches(m.checked_context, 1.0)
    inside = reaches(m.checked_context, tokens) * reaches(m.checked_tensor, g.tensor_parallel)
    longer = tokens / maximum(m.checked_context, 1.0)
    beyond = maximum(longer, g.tensor_parallel / maximum(m.checked_tensor, 1.0))
    return {"checked": somewhere + inside * somewhere, "checked_range": somewhere * beyond}


def _service_metrics(g: Any, service: Any, cycle: Cost, flops: Any, prefill_time: Any) -> dict[str, Any]:
    """Return rates, energies and the queue.

    ``service``: how long a place is held, ``cycle``: what R = 1 does in it, with so many ``flops`` of the model.
    """
    devices = g.replicas * g.tensor_parallel * g.pipeline_parallel
    places = g.replicas * g.batch
    if hasattr(g, "request_rate"):
        rate, load = g.request_rate, g.request_rate * service
        time = g.tokens / (rate * g.output)
        kept = devices * time
        # replicas never rest
        cycles = g.replicas * time / service
        free = maximum(1.0 - load / places, LEAST_FREE)
        probability = wait_probability(places, free)
        queue = {
            "wait": probability * service / (free * places),
            "wait_probability": probability,
            "served": load / places,
        }
    else:
        rate, load = places / service, places
        cycles = g.tokens / (g.batch * g.output)
        time = cycles / g.replicas * service
        # however many replicas there are
        kept = g.tensor_parallel * g.pipeline_parallel * cycles * service
        queue = {"wait": 0.0 * service, "wait_probability": 0.0 * places / places}
    constant = g.machine.constant_power * kept
    # each sequence has its flops, in whatever batch; a cycle is of g.batch sequences
    served = g.tokens / (g.batch * g.output)
    spent = [served * cycle.flop_energy, cycles * cycle.data_energy, cycles * cycle.link_energy]
    beside, flops = spent[0] + spent[1] + spent[2], served * flops
    # apart from what is drawn all the time, which no range of designs then goes below
    power = per(beside, kept) + g.machine.constant_power
    found = totals(time, beside + constant, flops, devices * power)
    return {
        **found,
        **queue,
        "devices": devices,
        "places": places,
        "load": load,
        "requests_per_second": rate,
        "tokens_per_second": rate * g.output,
        "energy_per_token": found["energy"] / g.tokens,
        "power_per_device": power,
        "utilisation_of_flops": flops * g.machine.time_per_flop / kept,
        "time_to_first_token": queue["wait"] + prefill_time,
        "latency": queue["wait"] + service,
        "energy_flop": spent[0],
        "energy_data": spent[1],
        "energy_link": spent[2],
        "energy_constant": constant,
    }


def wait_probability(places: Any, free: Any) -> Any:
    """Return the probability to wait for one of c places of which the share 1 - u is free on average, 0 < 1 - u.

    1/(u + (1 - u)(√c Φ(x)/φ(x) + 2/3)), x² = -2 c (1 - u + log u): at least Erlang's formula (Janssen et al. 2011).
    """
    used = 1.0 - free
    # the first term of its series is less, and all that rounding leaves where next to nothing is free
    square = places * maximum(-2.0 * (free + log(used + FREE_FLOOR)), free * free)
    x = square**0.5
    # as 1/φ, which would overflow where nobody waits
    density = exp(-0.5 * square)
    root = math.sqrt(2.0 * math.pi) * places**0.5 / (1.0 + exp(-(NORMAL_1 * x + NORMAL_3 * x * square)))
    return density / (density * (used + 2.0 / 3.0 * free) + root * free)


def _memory_metrics(g: Any, d: Decoder) -> dict[str, Any]:
    t, stages = g.tensor_parallel, g.pipeline_parallel
    # one stage has embedding and head, of several the first has the one, the last the other
    words = d.word_weights if d.tied else maximum(1.0, 3.0 - stages) * d.word_weights
    # norms are split as matrices are: they do not count
    layers = d.layers / stages * (d.own_matrices(t) + 2.0 * d.hidden / t)
    weights = (layers + words / t) * g.parameter_bytes
    tokens = g.prompt + g.output + (g.page - 1.0)
    cache = g.batch * tokens * d.own_cache(t) * (d.layers / stages) * g.cache_bytes
    activations = g.prompt * (2.0 * d.hidden + d.matrices * d.ffn / t) * g.activation_bytes
    memory = weights + cache + activations
    capacity = g.machine.memory_capacity / g.word * g.machine.word_size
    return {
        "memory": memory,
        "memory_parameters": weights,
        "memory_cache": cache,
        "memory_activations": activations,
        "memory_capacity": memory / (g.memory_share * capacity),
    }


TRANSFORMER_INFERENCE = Model(
    name="transformer_inference",
    title="Serving a decoder transformer: prompts, tokens, cache, replicas, queue",
    source="our addition: rooflines of operators, collectives, M/M/c; see the notes",
    machine=MACHINE,
    inputs=INPUTS,
    metrics=METRICS,
    limits=LIMITS,
    equations=equations,
    beside=lacking_for_links,
    notes=f"{__doc__}\n## Operators\n\n{operators.__doc__}\n{collectives.PAGE}\n{PAGE}",
    sums=SUMS,
    hardware=(held("processors", "devices"),),
    start=SERVING,
    valid=VALID,
    checked="checked",
)
