"""What goes into serving a decoder and what comes out: names, units, meanings, sources."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dse.models.algorithms import distributed, two_level
from dse.models.model import ModelLimit
from dse.models.platforms import roofline
from dse.models.shared.sums import sum_of
from dse.models.transformers.decoder import KV_HEADS, KV_SPLIT, OFF, OURS, count
from dse.models.transformers.decoder import inputs as decoder_inputs
from dse.quantities import Quantity

TENSOR = "Shoeybi et al. 2019 (arXiv 1909.08053)"
PAGES = "Kwon et al. 2023 (arXiv 2309.06180)"
QUEUE = "M/M/c; Janssen et al. 2011"
MEASURED = "LLMCompass (Zhang et al. 2024)"


def _bytes(name: str, symbol: str, meaning: str) -> Quantity:
    return Quantity(name, symbol, "byte", meaning, OURS, floor=0.125, ceiling=64.0, default=2.0)


INPUTS = (
    *decoder_inputs(tied=OFF),
    # means over requests, which need not be whole
    count("prompt", "S", "tokens of a request's prompt", whole=False),
    count("output", "O", "tokens that a request generates", whole=False),
    count("batch", "B", "sequences that a replica works on at the same time", OURS),
    count("tensor_parallel", "t", "processors that share each layer", TENSOR, default=1.0),
    count("pipeline_parallel", "P", "stages of layers, one after the other", OURS, default=1.0),
    count("replicas", "R", "copies of the decoder that serve side by side", OURS, default=1.0),
    _bytes("parameter_bytes", "bw", "bytes of a weight as it is stored and read"),
    _bytes("activation_bytes", "ba", "bytes of an activation"),
    _bytes("cache_bytes", "bc", "bytes of a number in the cache of keys and values"),
    count("page", "pg", "tokens of a page of the cache: the least that is taken for a sequence", PAGES, default=16.0),
    Quantity("memory_share", "", "", "share of the memory that weights, cache and activations may take", PAGES,
             maximum=1.0, floor=1e-3, ceiling=1.0, default=0.9),
    Quantity("attention", "", "", "whether scores stay on the chip, or are written to memory and read again",
             "Dao et al. 2022 (arXiv 2205.14135)", default="fused", choices=("fused", "separate")),
    Quantity("throttle", "k", "", "divisor of the usable power", roofline.SOURCE, minimum=1.0, floor=1.0, ceiling=1e9,
             default=1.0),
    Quantity("request_rate", "λ", "1/s", "requests that arrive; absent: as many as can be served", QUEUE,
             floor=1e-9, ceiling=1e12, optional=True, open=True),
    count("tokens", "D", "generated tokens of the run, to which time, energy, cost and carbon belong", OURS,
          default=1e6, whole=False),
)  # fmt: skip

_OF = {q.name: q for q in (*two_level.MACHINE, *distributed.MACHINE, *roofline.MACHINE)}


def _input_made_optional(name: str, *, optional: bool) -> Quantity:
    return replace(_OF[name], optional=optional)


def _share_quantity(name: str, symbol: str, meaning: str) -> Quantity:
    return Quantity(name, symbol, "", meaning, OURS, maximum=1.0, floor=1e-3, ceiling=1.0, default=1.0)


MACHINE = (
    *(_input_made_optional(n, optional=False) for n in ("time_per_flop", "energy_per_flop", "time_per_byte")),
    *(_input_made_optional(n, optional=False) for n in ("energy_per_byte", "constant_power", "memory_capacity")),
    _input_made_optional("word_size", optional=False),
    *(_input_made_optional(n, optional=True) for n in ("time_per_word", "time_per_message", "energy_per_word")),
    *(_input_made_optional(n, optional=True) for n in ("usable_power", "launch_time", "core_time_per_word")),
    *(_input_made_optional(n, optional=True) for n in ("core_time_per_message", "core_energy_per_word")),
    Quantity("processors_per_node", "nn", "", "processors of a node", OURS, minimum=1.0, floor=1.0, ceiling=1e6,
             default=8.0),
    Quantity("checked_context", "", "", "tokens of a sequence in the longest layer that times were checked on; 0: none",
             MEASURED, default=0.0),
    Quantity("checked_tensor", "", "", "most processors that shared a layer that times were checked on; 0: none",
             MEASURED, default=0.0),
    _share_quantity("matrix_efficiency", "ηf", "share of the peak rate that large matrix products reach"),
    _share_quantity("memory_efficiency", "ηm", "share of the memory bandwidth that kernels reach"),
    _share_quantity("link_efficiency", "ηl", "share of the bandwidth of its links that a collective reaches"),
)  # fmt: skip


def _metric(name: str, symbol: str, unit: str, meaning: str, source: str = OURS, **more: Any) -> Quantity:
    return Quantity(name, symbol, unit, meaning, source, **more)


METRICS = (
    _metric("time", "T", "s", "time of the run: its tokens at the rate of the whole"),
    _metric("energy", "E", "J", "energy of the run, all processors; without the site (PUE)"),
    _metric("power", "P", "W", "average power of all processors"),
    _metric("performance", "R", "flop/s", "flops of all processors per second"),
    _metric("efficiency", "η", "flop/J", "flops per joule"),
    _metric("energy_delay", "ET", "J*s", "energy times time"),
    _metric("devices", "n", "", "processors: replicas times tensor times pipeline parallelism"),
    _metric("parameters", "N", "", "weights of the decoder"),
    _metric("tokens_per_second", "", "1/s", "generated tokens per second of all replicas"),
    _metric("requests_per_second", "", "1/s", "requests per second of all replicas"),
    _metric("energy_per_token", "", "J", "energy of a generated token, with its share of the prompt"),
    _metric("power_per_device", "P/n", "W", "average power of one processor"),
    _metric("utilisation_of_flops", "", "", "flops over those at peak rate in the same time"),
    _metric("prefill_time", "Tp", "s", "time to read a prompt, alone on its replica"),
    _metric("wait", "Tw", "s", "mean time until a place is free; 0 where no rate of requests is given", QUEUE),
    _metric("time_to_first_token", "TTFT", "s", "mean time from arrival to the first token, Tw + Tp"),
    _metric("decode_time", "Td", "s", "time of a step that gives each sequence one more token"),
    _metric("prefill_share", "", "s", "what the prompts of others add to the time of a token"),
    _metric("time_per_output_token", "TPOT", "s", "mean time between tokens of a sequence, in a full batch"),
    _metric("latency", "", "s", "mean time from arrival to the last token, Tw + O TPOT"),
    _metric("places", "c", "", "sequences that all replicas work on at most, R B", QUEUE),
    _metric("load", "ρ", "", "sequences in work on average, λ O TPOT; the places where no rate is given", QUEUE),
    _metric("wait_probability", "α", "", "share of the requests that wait for a place", QUEUE),
    _metric("memory", "M", "byte", "memory of the fullest processor"),
    _metric("memory_parameters", "", "byte", "part of it: weights"),
    _metric("memory_cache", "", "byte", "part of it: keys and values of all sequences at their full length", PAGES),
    _metric("memory_activations", "", "byte", "part of it: activations of a prompt that is read"),
    _metric("energy_flop", "", "J", "energy of the flops of the run", roofline.SOURCE),
    _metric("energy_data", "", "J", "energy of the bytes from memory", roofline.SOURCE),
    _metric("energy_link", "", "J", "energy of what goes over links"),
    _metric("energy_constant", "", "J", "energy of the constant power of all processors", roofline.SOURCE),
    _metric("checked", "", "", "whether times were checked on layers measured near this design", MEASURED, maximum=2.0,
            floor=0.0, ceiling=2.0, flags=("not on this machine", "beyond the layers", "within the layers")),
    _metric("checked_range", "", "", "tokens and tensor parallelism over those of the layers measured; 0: none",
            MEASURED),
)  # fmt: skip

LIMITS = (
    ModelLimit("memory_capacity", "M <= share Mcap", "weights, cache and activations fit the memory", PAGES),
    ModelLimit(
        "within_node",
        "t P <= nn",
        "a replica lies within a node; one processor where no links are stated",
        OURS,
    ),
    ModelLimit(
        "heads_split",
        "t divides a",
        "tensor_parallel divides heads",
        TENSOR,
        divides=("heads", "tensor_parallel"),
    ),
    KV_HEADS,
    KV_SPLIT,
    ModelLimit(
        "layers_split",
        "P divides L",
        "pipeline_parallel divides layers",
        OURS,
        divides=("layers", "pipeline_parallel"),
    ),
    ModelLimit("batch_split", "P <= B", "each stage has a sequence at least", OURS),
    ModelLimit("served", "ρ <= c", "there are places for the requests that arrive", QUEUE),
)
VALID = (
    ModelLimit(
        "checked_range", "S + O <= Smax, t <= tmax", "within the layers that times were checked on", MEASURED
    ),
)

SUMS = (
    sum_of("energy", "what it is spent on", {"flops": "energy_flop", "bytes": "energy_data", "links": "energy_link",
                                             "constant power": "energy_constant"}),
    sum_of("time_per_output_token", "what it is spent on",
           {"decode": "decode_time", "prompts of others": "prefill_share"}),
    sum_of("time_to_first_token", "what it is spent on", {"wait": "wait", "prompt": "prefill_time"}),
    sum_of("memory", "what is held", {"weights": "memory_parameters", "cache": "memory_cache",
                                      "activations": "memory_activations"}),
)  # fmt: skip
