"""Figures of a machine that no model takes as they are: what data sheets print, under ``[figures]`` of its file.

``dse.machines.derivation`` makes machine parameters of them. Rates are those of one processor (one socket, one
accelerator) in one direction; a flop rate counts a fused multiply-add as two and leaves structured sparsity out.
"""

from __future__ import annotations

from dataclasses import replace

from dse.machines.values import TEXT
from dse.quantities import Quantity

# data types with the bytes of a word, most exact first
WORDS = {
    "fp64": 8,
    "fp64_matrix": 8,
    "fp32": 4,
    "fp32_matrix": 4,
    "tf32": 4,
    "bf16": 2,
    "fp16": 2,
    "fp8": 1,
}


def _rate_figure(name: str, meaning: str) -> Quantity:
    return Quantity(f"peak_{name}", "", "flop/s", f"peak rate, {meaning}")


_ALL = (
    _rate_figure("fp64", "double precision on vector units"),
    _rate_figure("fp64_matrix", "double precision on matrix units"),
    _rate_figure("fp32", "single precision on vector units"),
    _rate_figure("fp32_matrix", "single precision on matrix units"),
    _rate_figure("tf32", "TensorFloat-32 on matrix units"),
    _rate_figure("bf16", "bfloat16 on matrix units"),
    _rate_figure("fp16", "half precision on matrix units"),
    _rate_figure("fp8", "8-bit floating point on matrix units"),
    _rate_figure("fp4", "4-bit floating point on matrix units"),
    Quantity("peak_int8", "", "op/s", "peak rate, 8-bit integers on matrix units"),
    Quantity("cores", "", "", "cores of a processor"),
    Quantity("clock", "", "Hz", "clock of the peak rates"),
    Quantity("flops_per_cycle", "", "flop", "double-precision flops of a core in a cycle"),
    Quantity("memory_bandwidth", "", "byte/s", "bandwidth of the memory"),
    Quantity("memory_size", "", "byte", "memory of a processor", minimum=1.0),
    Quantity("memory_type", "", "", "kind of memory", choices=TEXT),
    Quantity("cache_bandwidth", "", "byte/s", "bandwidth of the L2 cache"),
    Quantity("cache_size", "", "byte", "last cache before the memory"),
    Quantity("node_bandwidth", "", "byte/s", "to other processors of the node, one direction"),
    Quantity("node_latency", "", "s", "of a message within the node"),
    Quantity("host_bandwidth", "", "byte/s", "to the host, one direction"),
    Quantity("network_bandwidth", "", "byte/s", "to other nodes, a processor's share, one direction"),
    Quantity("network_latency", "", "s", "of a message between nodes"),
    Quantity("largest_message", "", "byte", "largest message that the network takes"),
    Quantity("processors_per_node", "", "", "processors of a node", minimum=1.0),
    Quantity(
        "thermal_design_power",
        "",
        "W",
        "most power that a processor draws for long; memory on separate modules is not part of it",
    ),
    Quantity("idle_power", "", "W", "power of a processor that does nothing"),
    Quantity("node_power", "", "W", "power of a whole node at work"),
    Quantity("die_area", "", "m^2", "area of all dies of a processor that compute"),
    Quantity("process", "", "", "manufacturing process of these dies", choices=TEXT),
    Quantity("io_die_area", "", "m^2", "area of dies that are made in another process"),
    Quantity("io_process", "", "", "manufacturing process of those", choices=TEXT),
    Quantity("price", "", "USD", "the vendor's price of one processor"),
    Quantity("price_year", "", "", "year of the price"),
    Quantity("embodied_carbon", "", "kg", "carbon dioxide equivalent of making dies, memory and package"),
)
# a rate of 0 has no time; beyond the other end nothing is a machine
_GREATEST = 1e30
_RATES = {"flop/s", "op/s", "byte/s"}
FIGURES = {
    q.name: replace(q, minimum=1.0 if q.unit in _RATES else q.minimum, maximum=_GREATEST) for q in _ALL
}
