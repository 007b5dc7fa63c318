"""The energy roofline with a power cap of Choi et al. 2014: one processor, flops and bytes, three bounds on time.

``W`` flops and ``Q`` bytes overlap as far as they can; above the constant power π1 the processor can use at
most Δπ (no bound where the machine states none), which a throttle k >= 1 lowers to Δπ/k. Before them passes
the launch time λ of the run, which the paper does not have (0 where the machine states none):

    T = λ + max(W τf, Q τm, (W εf + Q εm) k/Δπ)                 (3)
    E = W εf + Q εm + π1 T                                      (1)

The launch time counts in time and energy, and so in all metrics derived from them. The regime, the balances and
the peak power below are those of runs so long that the launch time is negligible.

With the intensity I = W/Q the run is compute-bound for I >= B+, memory-bound for I <= B-, and throttled by the
cap between the two, where B = τm/τf and

    B+ = max(B, εm/(Δπ/k τf - εf)), infinite where Δπ/k <= εf/τf        (5), corrected
    B- = min(B, (Δπ/k τm - εm)/εf), zero where Δπ/k <= εm/τm            (6)

The paper prints (5) in terms of powers, B max(1, πm/(Δπ - πf)), which is the same where Δπ > πf, but gives
B+ = B where Δπ <= πf, and there the processor never reaches its peak. Without a cap B- = B+ = B.

``precision`` picks τf and εf, ``level`` picks τm and εm. Random accesses cost time and energy per access; with
the default of 1 byte per access, ``bytes`` counts accesses. ``flops`` is always given, and with it either
``bytes`` or ``intensity``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import add
from typing import Any

from dse.models.arithmetic import maximum, per
from dse.models.model import Model
from dse.models.platforms import roofline_levels as levels
from dse.models.platforms.roofline_levels import DATA, FLOP
from dse.models.shared.sums import held, sum_of
from dse.models.shared.totals import totals
from dse.quantities import Quantity

SOURCE = "Choi et al. 2014"


def _time_and_energy_quantities(
    names: tuple[str, str], mark: str, unit: str, what: str, where: str
) -> tuple[Quantity, Quantity]:
    return (
        Quantity(
            names[0], f"τ{mark}", f"s/{unit}", f"time of {what} at the sustained rate", where, optional=True
        ),
        Quantity(names[1], f"ε{mark}", f"J/{unit}", f"energy of {what}", where, optional=True),
    )


CONSTANT_POWER = Quantity(
    "constant_power", "π1", "W", "power drawn as long as the run lasts, whatever runs", f"{SOURCE} (1)"
)
USABLE_POWER = Quantity(
    "usable_power",
    "Δπ",
    "W",
    "most power above the constant one; absent: no cap",
    f"{SOURCE} (3)",
    optional=True,
)
LAUNCH_TIME = Quantity(
    "launch_time",
    "λ",
    "s",
    "fixed time of a run before its flops and bytes; absent: none",
    "our addition to (3)",
    optional=True,
)
MACHINE = (
    *_time_and_energy_quantities(
        FLOP["single"], "f", "flop", "one flop in single precision", f"{SOURCE} (1), (3)"
    ),
    *_time_and_energy_quantities(
        FLOP["double"], "fd", "flop", "one flop in double precision", f"{SOURCE}, Table I"
    ),
    *_time_and_energy_quantities(DATA["memory"], "m", "byte", "one byte from memory", f"{SOURCE} (1), (3)"),
    *_time_and_energy_quantities(
        DATA["L1"], "L1", "byte", "one byte from the L1 cache", f"{SOURCE}, Table I"
    ),
    *_time_and_energy_quantities(
        DATA["L2"], "L2", "byte", "one byte from the L2 cache", f"{SOURCE}, Table I"
    ),
    *_time_and_energy_quantities(
        DATA["random"], "r", "access", "one access at a random place of memory", f"{SOURCE}, Table I"
    ),
    CONSTANT_POWER,
    USABLE_POWER,
    LAUNCH_TIME,
)
INPUTS = (
    Quantity("flops", "W", "flop", "flops of the run", f"{SOURCE}, section III"),
    Quantity(
        "bytes", "Q", "byte", "bytes moved, or random accesses", f"{SOURCE}, section III", optional=True
    ),
    Quantity(
        "intensity",
        "I",
        "flop/byte",
        "flops per byte (of both precisions together), in place of bytes",
        f"{SOURCE}, section III",
        floor=1e-15,
        ceiling=1e15,
        optional=True,
    ),
    Quantity(
        "precision",
        "",
        "",
        "precision of the flops",
        f"{SOURCE}, Table I",
        default="single",
        choices=tuple(FLOP),
    ),
    Quantity(
        "level",
        "",
        "",
        "where the bytes come from",
        f"{SOURCE}, Table I",
        default="memory",
        choices=tuple(DATA),
    ),
    Quantity(
        "bytes_per_access",
        "a",
        "byte/access",
        "bytes of use in one random access; 1: bytes counts accesses",
        f"{SOURCE}, section IV",
        floor=1e-3,
        ceiling=1e9,
        default=1.0,
    ),
    Quantity(
        "throttle",
        "k",
        "",
        "divisor of the usable power",
        f"{SOURCE}, section V.D",
        minimum=1.0,
        floor=1.0,
        ceiling=1e9,
        default=1.0,
    ),
    *levels.FURTHER,
)
METRICS = (
    Quantity("time", "T", "s", "time of the run", f"{SOURCE} (3)"),
    Quantity("energy", "E", "J", "energy of the run", f"{SOURCE} (1)"),
    Quantity("power", "P", "W", "average power of the run, energy/time", f"{SOURCE} (7)"),
    Quantity("performance", "R", "flop/s", "flops per second", f"{SOURCE}, section III"),
    Quantity(
        "efficiency", "η", "flop/J", "flops per joule (GFLOPS/W is 1e9 flop/J)", f"{SOURCE}, section III"
    ),
    Quantity("energy_delay", "ET", "J*s", "energy times time", "product of (1) and (3)"),
    Quantity("bandwidth", "", "byte/s", "bytes per second", f"{SOURCE}, section III"),
    Quantity("energy_flop", "Ef", "J", "energy of the flops, W εf", f"{SOURCE} (1)"),
    Quantity("energy_data", "Em", "J", "energy of the bytes, Q εm", f"{SOURCE} (1)"),
    Quantity("energy_constant", "E1", "J", "energy of the constant power, π1 T", f"{SOURCE} (1)"),
    Quantity("flops_per_byte", "W/Q", "flop/byte", "intensity of the run", f"{SOURCE} (2)"),
    Quantity(
        "balance", "Bτ", "flop/byte", "intensity at which flops and bytes take equally long", f"{SOURCE} (4)"
    ),
    Quantity(
        "balance_low", "B-", "flop/byte", "intensity up to which the run is memory-bound", f"{SOURCE} (6)"
    ),
    Quantity(
        "balance_high",
        "B+",
        "flop/byte",
        "intensity from which the run is compute-bound; infinite where the cap never lets go",
        f"{SOURCE} (5), corrected",
    ),
    Quantity(
        "energy_balance",
        "Bε",
        "flop/byte",
        "intensity at which flops and bytes cost equal energy",
        f"{SOURCE} (2)",
    ),
    Quantity(
        "peak_power",
        "Pmax",
        "W",
        "most power the machine draws at any intensity: π1 + Δπ/k, or less where flops and bytes need less",
        f"{SOURCE} (7)",
    ),
    Quantity(
        "regime",
        "",
        "",
        "what bounds the time: 0 compute, 1 the power cap, 2 memory",
        f"{SOURCE} (3)",
        maximum=2.0,
        floor=0.0,
        ceiling=2.0,
        flags=("compute", "cap", "memory"),
    ),
)

SUMS = (
    sum_of(
        "energy",
        "what it is spent on",
        {"flops": "energy_flop", "bytes": "energy_data", "constant power": "machine.constant_power time"},
    ),
)


def equations(g: Any) -> Mapping[str, Any]:
    """Time by (3), energy by (1); W flops and Q = W/I bytes at the costs of ``precision`` and ``level``."""
    m = g.machine
    flop, byte = levels.cost(m, FLOP[g.precision]), levels.cost(m, DATA[g.level])
    if g.level == "random":
        byte = levels.Cost(byte.time / g.bytes_per_access, byte.energy / g.bytes_per_access)
    flops = levels.flops(g)
    data = g.bytes if hasattr(g, "bytes") else per(flops, g.intensity)
    computes, moved = levels.computing(g, flop), levels.moving(g, data, byte)
    energy_data = reduce(add, (c.energy for c in moved.values()))
    dynamic = computes.energy + energy_data
    at_peak = levels.peak(g, flop, byte)
    times = [(levels.REGIMES.index(level), c.time) for level, c in moved.items()]
    if hasattr(m, "usable_power"):
        usable = m.usable_power / g.throttle
        times = [(levels.REGIMES.index("cap"), per(dynamic, usable)), *times]
        at_peak = _smaller(at_peak, usable)
    time, regime = levels.greatest([(0, computes.time), *times])
    if hasattr(m, LAUNCH_TIME.name):
        time = m.launch_time + time
    energy_constant = m.constant_power * time
    energy = dynamic + energy_constant
    one_kind = not any(hasattr(g, name) for name in levels.NAMES)
    return {
        **totals(time, energy, flops),
        "bandwidth": per(data, time),
        "energy_flop": computes.energy,
        "energy_data": energy_data,
        "energy_constant": energy_constant,
        "flops_per_byte": per(flops, data),
        **(_balances(g, flop, byte) if one_kind else levels.told(g, moved, computes)),
        "peak_power": m.constant_power + at_peak,
        "regime": regime,
    }


def _balances(g: Any, flop: levels.Cost, byte: levels.Cost) -> dict[str, Any]:
    low = high = balance = per(byte.time, flop.time)
    if hasattr(g.machine, "usable_power"):
        low, high = _balance_interval(balance, g.machine.usable_power / g.throttle, flop, byte)
    return {
        "balance": balance,
        "balance_low": low,
        "balance_high": high,
        "energy_balance": per(byte.energy, flop.energy),
    }


def _balance_interval(
    balance: Any, usable: Any, flop: tuple[Any, Any], byte: tuple[Any, Any]
) -> tuple[Any, Any]:
    """Return B- and B+ for the usable power; ``flop``, ``byte``: time and energy of one."""
    # what a flop, a byte may cost above its own energy at full speed; max(a, b) - b is a - b or zero
    for_data = maximum(usable * flop[0], flop[1]) - flop[1]
    for_flops = maximum(usable * byte[0], byte[1]) - byte[1]
    low = per(1.0, maximum(per(1.0, balance), per(flop[1], for_flops)))
    return low, maximum(balance, per(byte[1], for_data))


def _smaller(a: Any, b: Any) -> Any:
    # by way of the reciprocals, since only a maximum is understood by every arithmetic
    return per(1.0, maximum(per(1.0, a), per(1.0, b)))


def needs(choices: Mapping[str, str]) -> tuple[str, ...]:
    """Return the machine parameters that a precision and a level make necessary."""
    return (*FLOP[choices["precision"]], *DATA[choices["level"]])


ROOFLINE = Model(
    name="roofline",
    title="Energy roofline under a power cap",
    source="Choi et al. 2014 (1)-(7), (5) corrected",
    machine=MACHINE,
    inputs=INPUTS,
    metrics=METRICS,
    limits=(),
    further=levels.NAMES,
    extend=levels.extended,
    equations=equations,
    sums=SUMS,
    work=("flops",),
    hardware=(held("processor"),),
    notes=f"{__doc__}\n## Several levels and precisions\n\n{levels.__doc__}",
    one_of=(("bytes", "intensity"),),
    any_of=(("flops", "bytes"),),
    needs=needs,
)
