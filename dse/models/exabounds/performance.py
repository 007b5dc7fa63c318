"""Cycles per instruction as a labelled stack (1) to (9), and time to solution (8).

    cpi.base      1/n̂_0,  n̂_0 = min(n_0, ALP_0)
    cpi.icache    T_L2 f_iL1 + T_DRAM f_iTLB                                                       (2)
    cpi.branch    (n_pipe + (n_front + n_ROB)/n̂_0) F_ctrl r_mispredict                             (3), (7)
    cpi.l1data    T_L2 f_L1D F_mem                                                                 (4)
    cpi.l2data    f_L2D F_mem ((1-s) max(0, T_L3 - n_ROB/n̂_0) + s max(0, T_DRAM - n_ROB/n̂_0))       (5)
    cpi.bandwidth rest max_i(0, B_app,i f_0/share_i - 1),  share_i = B_i n_io,i/(cores at work in it)  (6)

Corrected: n_pipe in (3) is a length in cycles (Table 4's 120 is a capacity in instructions); (7) charges
every branch, although only mispredicted ones cost cycles, so F_ctrl is multiplied by the misprediction
rate; (5) becomes negative where the reorder buffer hides all of the latency, so it is clamped at 0; its
miss rate is per access to memory. L3 is absent from the paper's equations though Table 4 has one: s is the
share of L2 misses that also miss L3, and the default of 1 reproduces the paper. (6) prints n̂_0 twice, of which
one must be n_io, and gives 1/F even where bandwidth is ample; here queueing multiplies the other parts by
demand/supply, and adds nothing where the supply is ample. The most congested level counts, since a core waits
for all of its links at once. B_app is per cycle of a core, as in the paper, also while the core waits for
memory: at a congested link a faster clock only raises the demand. Overhead instructions queue like all others.

(8) prints C = (L + L_ovhd)/d, which has no clock frequency and counts overhead as useful work; here

    t = (L_1 + Σ L_ovhd) d_0/f_0,  C_7 = L_sys/t, as (25) needs it.

A miss rate measured at one cache size S' holds at another size S as f sqrt(S'/S), at most 1: the rule (9).
It prints 1/sqrt(S) as the bandwidth available, but that is the bandwidth demanded; what is available grows
with sqrt(S). So a level's demand is B_app sqrt(S'/S) too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dse.models.arithmetic import maximum, per
from dse.models.exabounds import reuse
from dse.models.exabounds.levels import ABOVE_CORE, CACHES, LEVELS, largest, of, product, total
from dse.models.exabounds.work import share
from dse.models.shared.families import nothing

# whose link leads to memory
MEMORY = "socket"


def miss_rate(g: Any, cache: str) -> Any:
    """Return the misses per access at the machine's cache size; as given where the sizes are not both known."""
    rate, measured, own = (
        of(g, "miss_rate", cache),
        of(g, "measured_cache", cache),
        of(g.machine, "cache", cache),
    )
    if nothing(rate) or measured is None or own is None:
        return rate
    # at most 1, by way of the reciprocal, since only a maximum is understood by every arithmetic
    return per(1.0, maximum(1.0, per(1.0, rate * per(measured, own) ** 0.5)))


def from_memory(g: Any) -> Any:
    """Return the misses per access to data that memory serves: those of L2, of which L3 may hold some."""
    if hasattr(g, "memory_misses"):
        return g.memory_misses
    rate = miss_rate(g, "L2")
    return rate if nothing(rate) else rate * of(g, "miss_rate", "L3")


def misses(g: Any) -> Mapping[str, Any]:
    """Return the misses per access by cache; those of L3 are what memory serves."""
    return {f"misses.{c}": miss_rate(g, c) for c in CACHES[:3]} | {"misses.L3": from_memory(g)}


def prepared(g: Any) -> Any:
    """Return the question with what is used all over worked out once.

    Miss rates by its histograms, ``stack`` (the cycles per instruction by part, queueing apart, as plain
    numbers) and ``rest``, their sum. All else here takes what this returns.
    """
    made = reuse.resolved(g)
    made.stack = _stack(made, share(g, "core"))
    made.rest = total(made.stack.values())
    return made


def _stack(g: Any, base: Any) -> Mapping[str, Any]:
    m = g.machine
    dram = getattr(m, "latency.DRAM") * m.frequency
    memory = of(g, "data_share", "core")
    mispredicted = g.control_share * g.misprediction_rate
    return {
        "base": base,
        "icache": getattr(m, "latency.L2") * miss_rate(g, "L1I") + dram * of(g, "miss_rate", "ITLB"),
        "branch": (m.pipeline_length + (m.frontend_capacity + m.reorder_buffer) * base) * mispredicted,
        "l1data": getattr(m, "latency.L2") * miss_rate(g, "L1D") * memory,
        "l2data": _second_level(g, dram, m.reorder_buffer * base) * memory,
    }


def _second_level(g: Any, dram: Any, hidden: Any) -> Any:
    """Return the stall per access for misses of L2 (5); ``dram``: cycles to memory, ``hidden``: by reordering."""
    missed = miss_rate(g, "L2")
    if nothing(missed):
        return 0.0
    far, near = _beyond(dram, hidden), _beyond(getattr(g.machine, "latency.L3"), hidden)
    if hasattr(g, "memory_misses"):
        memory = g.memory_misses
        held = 0.0 if of(g.machine, "cache", "L3") is None else missed - memory
        return total([far * memory, 0.0 if nothing(held) else near * held])
    s = of(g, "miss_rate", "L3")
    return far * missed if _is_one(s) else (far * s + near * (1.0 - s)) * missed


def _is_one(x: Any) -> bool:
    return isinstance(x, int | float) and x == 1


def _beyond(latency: Any, hidden: Any) -> Any:
    """Return max(0, latency - hidden)."""
    return latency if nothing(hidden) else maximum(latency, hidden) - hidden


def bandwidth(machine: Any, level: str) -> Any:
    """Return the bandwidth of one unit of a level: as stated, else that of its pins; None where neither is known."""
    stated = of(machine, "bandwidth", level)
    if stated is not None:
        return stated
    pins, rate = of(machine, "io_pins", level), of(machine, "bit_rate", level)
    return None if pins is None or rate is None else pins * rate


def demand(g: Any, level: str) -> Any:
    """Return the data rate that one core at work asks of a level's link, byte/s; plain 0 where there is none."""
    stated = _demanded_rate(g, level)
    lines = _bytes_per_instruction(g, level)
    return total([stated, 0.0 if nothing(lines) else lines * g.machine.frequency / g.rest])


def _demanded_rate(g: Any, level: str) -> Any:
    asked, measured, own = (
        of(g, "demand", level),
        of(g, "measured_buffer", level),
        of(g.machine, "buffer", level),
    )
    if nothing(asked):
        return 0.0
    rate = asked * g.machine.frequency
    return rate if measured is None or own is None else rate * per(measured, own) ** 0.5


def _bytes_per_instruction(g: Any, level: str) -> Any:
    """Return the data that one instruction moves over a level's link by a histogram, byte; plain 0 where none."""
    if level != MEMORY or not hasattr(g, "memory_misses") or nothing(g.memory_misses):
        return 0.0
    return g.machine.line_size * of(g, "data_share", "core") * g.memory_misses


def waits(g: Any, parts: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the cycles per instruction that every link allows which is known and used. ``parts``: 1/n̂ by level."""
    found: dict[str, Any] = {}
    cores: Any = 1.0
    for level in LEVELS:
        # cores at work below one unit of the level
        cores = cores if level == "core" else per(cores, parts[level])
        stated, lines, given = (
            _demanded_rate(g, level),
            _bytes_per_instruction(g, level),
            bandwidth(g.machine, level),
        )
        if given is not None and not (nothing(stated) and nothing(lines)):
            moved = [
                0.0 if nothing(stated) else g.rest * stated,
                0.0 if nothing(lines) else lines * g.machine.frequency,
            ]
            found[level] = per(total(moved) * cores, given)
    return found


def cycles(g: Any, parts: Mapping[str, Any]) -> Any:
    """Return the cycles per instruction with queueing, a plain number (7)."""
    return largest([g.rest, *waits(g, parts).values()])


def duration(g: Any, parts: Mapping[str, Any], extra: Any) -> Any:
    """Return the time to solution (8); ``extra``: overhead instructions of every core."""
    own = g.instructions * product(parts[level] for level in ABOVE_CORE)
    todo = own if nothing(extra) else own + extra
    return todo * cycles(g, parts) / g.instruction / g.machine.frequency


def labelled(g: Any, parts: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the whole stack as metrics, cycles per instruction each."""
    found = {f"cpi.{name}": value / g.instruction for name, value in g.stack.items()}
    whole = cycles(g, parts)
    queueing = whole - g.rest if waits(g, parts) else 0.0 * g.rest
    return found | {"cpi.bandwidth": queueing / g.instruction, "cpi": whole / g.instruction}


def roofline(g: Any, work_rate: Any, level: str, cores: Any) -> Mapping[str, Any]:
    """Return the roofline of one unit of a level (15) and where it bends (16).

    ``work_rate``: instructions per second of one core at its peak; ``cores``: those of the unit. F_dmo is the
    reciprocal of the operational intensity per access, not the intensity as printed, so that the ridge lies
    where n f = B n_io/(F_dmo * bytes of an access); peak and bandwidth alone decide at which intensity.
    """
    peak, given = work_rate * cores, bandwidth(g.machine, level)
    moved = of(g, "data_share", level)
    if given is None:
        return {"roofline": peak, "ridge": 0.0 * peak}
    ridge = per(peak, given)
    if nothing(moved):
        return {"roofline": peak, "ridge": ridge}
    needed = moved * g.machine.datapath_width / g.instruction
    return {"roofline": per(1.0, maximum(per(1.0, peak), per(needed, given))), "ridge": ridge}
