"""What goes into a training step of a decoder and what comes out: names, units, meanings, sources."""

from __future__ import annotations

from dse.models.model import ModelLimit
from dse.models.transformers.decoder import KV_HEADS, KV_SPLIT, OFF, ON, OURS, count
from dse.models.transformers.decoder import inputs as decoder_inputs
from dse.quantities import Quantity

ACTIVATIONS = "Korthikanti et al. 2022 (arXiv 2205.05198)"
PIPELINE = "Narayanan et al. 2021 (arXiv 2104.04473)"
ZERO = "Rajbhandari et al. 2020 (arXiv 1910.02054)"
NONE, SELECTIVE, FULL = "none", "selective", "full"
SEPARATE, FUSED = "separate", "fused"


def _bytes(name: str, symbol: str, meaning: str, default: float, source: str) -> Quantity:
    return Quantity(name, symbol, "byte", meaning, source, floor=0.125, ceiling=64.0, default=default)


def _choice_quantity(
    name: str, meaning: str, source: str, choices: tuple[str, ...], default: str
) -> Quantity:
    return Quantity(name, "", "", meaning, source, choices=choices, default=default)


INPUTS = (
    # Megatron-LM's head shares the embedding's weights
    *decoder_inputs(tied=ON),
    count("sequence", "s", "tokens of a sequence", f"{ACTIVATIONS}, Table 1"),
    count("global_batch", "B", "sequences of a step", f"{PIPELINE}, section 2"),
    Quantity("tokens", "D", "", "tokens of the run; absent: the run is one step", OURS, minimum=1.0, floor=1.0,
             ceiling=1e18, optional=True),
    count("micro_batch", "b", "sequences of a micro batch", f"{ACTIVATIONS}, Table 1", default=1.0),
    count("data_parallel", "d", "replicas of the model", f"{PIPELINE}, section 2", default=1.0),
    count("tensor_parallel", "t", "devices that share each layer", f"{ACTIVATIONS}, Table 1", default=1.0),
    count("pipeline_parallel", "p", "stages of the pipeline", f"{ACTIVATIONS}, Table 1", default=1.0),
    count("interleaving", "v", "parts of the model on each stage", f"{PIPELINE}, section 2.2", default=1.0),
    _choice_quantity("sequence_parallel", "whether what is not in tensor parallelism is split along the sequence",
                     f"{ACTIVATIONS}, section 4.2.2", (OFF, ON), OFF),
    _choice_quantity("zero", "what replicas split among them: 0 nothing, 1 the optimiser, 2 gradients too, 3 "
                     "parameters too", ZERO, ("0", "1", "2", "3"), "0"),
    _choice_quantity("recomputation", "activations that are computed again in the backward pass, not stored",
                     f"{ACTIVATIONS}, section 5", (NONE, SELECTIVE, FULL), NONE),
    _choice_quantity("attention", "whether scores are written to memory and read again, or stay on the chip",
                     "Dao et al. 2022 (arXiv 2205.14135)", (SEPARATE, FUSED), SEPARATE),
    _choice_quantity("overlap",
                     "whether replicas exchange gradients during the backward pass and parameters during the forward "
                     "pass, or after it", "Li et al. 2020 (arXiv 2006.15704)", (OFF, ON), OFF),
    _bytes("parameter_bytes", "", "bytes of a parameter", 2.0, f"{ACTIVATIONS}, section 6"),
    _bytes("gradient_bytes", "", "bytes of a gradient", 4.0, f"{ACTIVATIONS}, section 6"),
    _bytes("optimiser_bytes", "", "bytes of the optimiser for a parameter: a copy and two moments in 4 bytes each",
           12.0, f"{ACTIVATIONS}, section 6"),
    _bytes("activation_bytes", "", "bytes of an activation, and of what products read; masks have half", 2.0,
           f"{ACTIVATIONS}, section 4"),
)  # fmt: skip


def _machine_quantity(
    name: str, symbol: str, unit: str, meaning: str, default: float, **ends: float
) -> Quantity:
    return Quantity(name, symbol, unit, meaning, OURS, default=default, **ends)  # type: ignore[arg-type]


TIME_PER_FLOP = Quantity("time_per_flop", "γt", "s/flop", "time of one flop on one processor", "peak rate")
TIME_PER_BYTE = Quantity("time_per_byte", "τm", "s/byte", "time of one byte from memory", "memory bandwidth")
PROCESSORS_PER_NODE = _machine_quantity(
    "processors_per_node", "nn", "", "processors of a node", 8.0, minimum=1.0, floor=1.0, ceiling=1e6
)
OVERHEAD_POWER = _machine_quantity(
    "overhead_power", "Po", "W", "power of a processor's share of its node: host, network, cooling", 0.0
)
MACHINE = (
    TIME_PER_FLOP,
    TIME_PER_BYTE,
    Quantity("word_size", "ws", "byte", "bytes in a word", "type of the flops", floor=1e-3, ceiling=1e6),
    Quantity("memory_capacity", "Mcap", "word", "memory that one processor has", "data sheet", minimum=1.0,
             floor=1.0, ceiling=1e18),
    Quantity("core_time_per_word", "βl", "s/word", "time per word between processors of a node", "bandwidth"),
    Quantity("core_time_per_message", "αl", "s/message", "time per message between processors of a node", OURS,
             default=0.0),
    Quantity("time_per_word", "βn", "s/word", "time per word between nodes, all processors sending", "bandwidth"),
    Quantity("time_per_message", "αn", "s/message", "time per message between nodes", OURS, default=0.0),
    PROCESSORS_PER_NODE,
    _machine_quantity("launch_time", "λ", "s", "time in which the host launches one kernel", 0.0),
    _machine_quantity("launch_spread", "κ", "",
                      "by how much longer launches take for each further device of a layer's group", 0.0),
    _machine_quantity("measured_layers", "wl", "", "1 where times of layers that were measured are taken as measured",
                      0.0, maximum=1.0, floor=0.0, ceiling=1.0),
    _machine_quantity("matrix_efficiency", "η", "", "share of the peak rate that large matrix products reach", 1.0,
                      maximum=1.0, floor=1e-3, ceiling=1.0),
    _machine_quantity("matrix_padding", "n0", "", "by how much longer a side of a product counts in its time", 0.0),
    _machine_quantity("memory_efficiency", "ηm", "", "share of the memory bandwidth that kernels reach", 1.0,
                      maximum=1.0, floor=1e-3, ceiling=1.0),
    _machine_quantity("micro_batch_time", "λb", "s", "fixed time of a micro batch in a stage", 0.0),
    _machine_quantity("checked_hidden_least", "", "",
                      "least hidden size of the training runs that times were checked on", 0.0),
    _machine_quantity("checked_hidden_most", "", "", "greatest hidden size of these runs; 0: there are none", 0.0),
    _machine_quantity("checked_devices", "", "", "most devices of these runs; 0: there are none", 0.0),
    Quantity("constant_power", "π1", "W", "power of a processor that waits", "data sheet"),
    Quantity("usable_power", "Δπ", "W", "further power of a processor that computes", "data sheet"),
    OVERHEAD_POWER,
)  # fmt: skip


def _time_quantity(name: str, symbol: str, meaning: str, source: str) -> Quantity:
    return Quantity(name, symbol, "s", meaning, source)


def _bytes_quantity(name: str, symbol: str, meaning: str, source: str) -> Quantity:
    return Quantity(name, symbol, "byte", meaning, source)


METRICS = (
    _time_quantity("time", "T", "time of the run", "steps times the time of a step"),
    Quantity("energy", "E", "J", "energy of the run, all devices; without the site (PUE)", OURS),
    Quantity("power", "P", "W", "average power of the run, energy/time", OURS),
    Quantity("performance", "R", "flop/s", "flops of the model per second, all devices", f"{PIPELINE}, section 5.1"),
    Quantity("efficiency", "η", "flop/J", "flops of the model per joule", OURS),
    Quantity("energy_delay", "ET", "J*s", "energy times time", OURS),
    Quantity("devices", "n", "", "devices: data times tensor times pipeline parallelism", f"{PIPELINE}, section 3"),
    Quantity("steps", "", "", "steps of the run, tokens over those of a step", OURS),
    Quantity("micro_batches", "m", "", "micro batches of a replica in a step", f"{PIPELINE}, section 3"),
    Quantity("flops", "F", "flop", "flops of the model in a step, without those done again",
             f"{ACTIVATIONS}, appendix A"),
    Quantity("parameters", "N", "", "parameters of the matrices and of the embedding", f"{ACTIVATIONS}, section 3"),
    Quantity("tokens_per_second", "", "1/s", "tokens per second", OURS),
    Quantity("energy_per_token", "", "J", "energy of a token", OURS),
    Quantity("model_flops_utilisation", "MFU", "", "flops of the model over those at the peak rate",
             f"{ACTIVATIONS}, section 6.3"),
    Quantity("checked", "", "", "whether times were checked on training runs near this plan", OURS, maximum=2.0,
             floor=0.0, ceiling=2.0, flags=("not on this machine", "beyond the runs", "within the runs")),
    Quantity("checked_range", "", "", "hidden size and devices over those of the runs that times were checked on; "
             "0: there are none", OURS),
    _time_quantity("layer_time", "cl", "time of a layer for a micro batch, forward and backward", OURS),
    _time_quantity("step_time", "Ts", "time of a step", "the sum of its parts"),
    _time_quantity("step_compute", "", "part of it: layers and logits, forward and backward", OURS),
    _time_quantity("step_recompute", "", "part of it: what is computed again", f"{ACTIVATIONS}, section 5"),
    _time_quantity("step_tensor", "", "part of it: messages of tensor parallelism", f"{ACTIVATIONS}, section 4.2"),
    _time_quantity("step_pipeline", "", "part of it: messages between stages", f"{PIPELINE}, section 3.2"),
    _time_quantity("step_bubble", "", "part of it: stages that wait, first and last", f"{PIPELINE}, section 2.2"),
    _time_quantity("step_data", "", "part of it: messages between replicas", f"{PIPELINE}, section 3.3"),
    _time_quantity("step_optimiser", "", "part of it: the optimiser", OURS),
    _bytes_quantity("device_memory", "M", "memory of a device of the fuller end stage", "the sum of its parts"),
    _bytes_quantity("memory_parameters", "", "part of it: parameters", ZERO),
    _bytes_quantity("memory_gradients", "", "part of it: gradients", ZERO),
    _bytes_quantity("memory_optimiser", "", "part of it: the optimiser", ZERO),
    _bytes_quantity("memory_activations", "", "part of it: stored activations of all micro batches in flight",
                    f"{ACTIVATIONS}, sections 4 and 5"),
    _bytes_quantity("memory_working", "", "part of it: a layer computed again, what ZeRO gathers, and what the last "
                    "stage has beyond the first", OURS),
)  # fmt: skip

VALID = (
    ModelLimit(
        "checked_range", "least <= h <= most, n <= nmax", "within the runs that times were checked on", OURS
    ),
)
LIMITS = (
    ModelLimit("memory_capacity", "M <= Mcap", "the first stage fits its memory", "data sheet"),
    ModelLimit("heads_split", "t divides a", "tensor_parallel divides heads", f"{PIPELINE}, section 2.3",
               divides=("heads", "tensor_parallel")),
    KV_HEADS,
    KV_SPLIT,
    ModelLimit("layers_split", "p v divides L", "pipeline_parallel times interleaving divides layers",
               f"{PIPELINE}, section 2.2", divides=("layers", "pipeline_parallel", "interleaving")),
    ModelLimit("batch_split", "b d divides B", "micro_batch times data_parallel divides global_batch",
               f"{PIPELINE}, section 3", divides=("global_batch", "micro_batch", "data_parallel")),
    ModelLimit("schedule", "p divides m where v > 1", "stages of an interleaved pipeline divide its micro batches",
               f"{PIPELINE}, section 2.2", divides=("micro_batches", "pipeline_parallel")),
)  # fmt: skip
