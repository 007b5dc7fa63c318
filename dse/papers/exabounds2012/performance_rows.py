"""Equations (1) to (16): the POWER7 of Table 4 with stated miss rates, and scaling."""

from __future__ import annotations

from collections.abc import Mapping

from dse.papers.exabounds2012 import formulas as paper
from dse.papers.exabounds2012.rows import derived
from dse.papers.exabounds2012.systems import MISSES, POWER7, of, plain, power7
from dse.papers.report import Row

PARTS = ("base", "icache", "branch", "l1data", "l2data", "bandwidth")
CONTROL, MOVED, ALP = 0.15, 0.5, 4.0
# Table 4: cycles to L2 and memory, instructions of front end and reorder buffer, capacity and length of the pipeline
L2, L3, DRAM, FRONT, ROB, CAPACITY, LENGTH = 8.0, 25.0, 400.0, 54.0, 48.0, 120.0, 20.0
CLOCK, CORES = 4e9, 8
RATES = ", ".join(f"{name.removeprefix('miss_rate.')} {rate:g}" for name, rate in MISSES.items())
CYCLES = "cycle"


def rows() -> list[Row]:
    """The stack, queueing, throughput, and what section 4.4 makes of them."""
    return [*_stack(), *_second_level(), *_queueing(), *_throughput(), *_scaling(), *_roofline()]


def parts() -> Mapping[str, float]:
    """Return the printed parts of the stack of the POWER7 as corrected, from Table 4 and the stated miss rates."""
    branch = paper.mispredicted(LENGTH, FRONT, ROB, ALP) * CONTROL * MISSES["misprediction_rate"]
    return {
        "base": 1.0 / ALP,
        "icache": paper.icache(L2, MISSES["miss_rate.L1I"], DRAM, MISSES["miss_rate.ITLB"]),
        "branch": branch,
        "l1data": L2 * MISSES["miss_rate.L1D"] * MOVED,
        "l2data": paper.l2data(DRAM, ROB, ALP, MISSES["miss_rate.L2"]) * MOVED,
    }


def _stack() -> list[Row]:
    ours, said = power7(MISSES), parts()
    mispredicted = CONTROL * MISSES["misprediction_rate"]
    event = paper.mispredicted(LENGTH, FRONT, ROB, ALP)
    share = {part: ours[f"cpi.{part}"] for part in PARTS}
    return [
        derived("e7_base", "min(6, 4)", said["base"], share["base"], CYCLES),
        derived("e2", "", said["icache"], share["icache"], CYCLES, remark=RATES),
        derived(
            "e3",
            "",
            paper.mispredicted(CAPACITY, FRONT, ROB, ALP),
            share["branch"] / mispredicted,
            CYCLES,
            corrected=event,
        ),
        derived("e4", "", said["l1data"], share["l1data"], CYCLES),
        derived("e5", "without L3", said["l2data"], share["l2data"], CYCLES),
        derived("e7", "", event * CONTROL, share["branch"], CYCLES, corrected=event * mispredicted),
        derived("e1", "sum of the parts as corrected", sum(said.values()), ours["cpi"], CYCLES),
    ]


def _second_level() -> list[Row]:
    near = power7(MISSES, latency__DRAM=10 / CLOCK)["cpi.l2data"]
    missed, half = MISSES["miss_rate.L2"], 0.5
    through = power7(dict(MISSES) | {"miss_rate.L3": half})["cpi.l2data"]
    both = (1 - half) * paper.l2data(L3, ROB, ALP, missed) + half * paper.l2data(DRAM, ROB, ALP, missed)
    without = paper.l2data(DRAM, ROB, ALP, missed) * MOVED
    return [
        derived(
            "e5_clamp",
            "memory after 10 cycles, 12 hidden",
            paper.l2data(10.0, ROB, ALP, missed) * MOVED,
            near,
            CYCLES,
            corrected=0.0,
        ),
        derived("e5_l3", "half of the misses found in L3", without, through, CYCLES, corrected=both * MOVED),
    ]


def _queueing() -> list[Row]:
    rest, supply = sum(parts().values()), 100e9 / CORES / CLOCK
    found = []
    for asked in (1.0, supply, 2 * supply, 4 * supply):
        ours = power7(dict(MISSES) | {"demand.socket": asked})["cpi.bandwidth"]
        item = f"{asked:g} of {supply:g} byte/cycle asked for"
        said, right = paper.queueing_printed(asked, supply, MOVED), paper.queueing(rest, asked, supply)
        found.append(derived("e6", item, said, ours, CYCLES, corrected=right))
    return found


def _throughput() -> list[Row]:
    ours, cpi = power7(MISSES), sum(parts().values())
    alone = power7({"demand.socket": 3.0}, buffer__socket=2.0**20)
    # four times the buffer at which the demand was measured
    larger = power7({"demand.socket": 3.0, "measured_buffer.socket": 2.0**18}, buffer__socket=2.0**20)
    gained = larger["core_limit.socket"] / alone["core_limit.socket"]
    return [
        derived(
            "e8",
            "one instruction, no overhead",
            1.0 / cpi,
            ours["throughput.core"],
            "instruction/s",
            corrected=CLOCK / cpi,
        ),
        derived("e9", "cores served, as a multiple", 1 / 4**0.5, gained, corrected=4**0.5),
    ]


def _scaling() -> list[Row]:
    """A run of 1e9 instructions on 8 cores, each with 1e7 more for dividing it; differences by h on either side."""
    size, extra, n, h = 1e9, 1e7, 8.0, 1e-4

    def rate(cores: float, work: float) -> float:
        return work / ((work / cores + extra) / 1e9)

    ours = plain({"count.die": n}, **{"instructions": size, "overhead_work.die": extra})
    per_core = (rate(n * (1 + h), size) - rate(n * (1 - h), size)) / (2 * h * n)
    per_work = (rate(n, size * (1 + h)) - rate(n, size * (1 - h))) / (2 * h * size)
    fraction = paper.amdahl(n, rate(n, size), rate(1.0, size))
    alone, most = ours["amdahl.die"], {"parallelism.die": 5.0} | {f"parallelism.{i}": 1.0 for i in _OUTER}
    few = plain({"count.die": n}, **({"instructions": size} | most))
    close = 1e-6
    return [
        derived("e10", "8 cores", per_core, ours["strong_scaling.die"], "instruction/s", tolerance=close),
        derived("e11", "8 cores", per_work, ours["weak_scaling"], "Hz", tolerance=close),
        derived(
            "e12",
            "8 cores",
            per_core / per_work,
            ours["isoefficiency.die"],
            "instruction",
            corrected=-per_core / per_work,
            tolerance=close,
        ),
        derived("e14", "8 cores, fraction (14)", fraction, alone),
        derived(
            "e14",
            "8 cores, speed-up (13)",
            rate(n, size) / rate(1.0, size),
            paper.speed_up(alone, n),
        ),
        derived("laws", "work, 8 cores of 1 GHz", size / n / 1e9, few["work_law"], "s"),
        derived("laws", "span, parallelism of 5", size / 5 / 1e9, few["span_law"], "s"),
        derived("laws", "time is the longer", size / 5 / 1e9, few["time"], "s"),
    ]


_OUTER = ("socket", "card", "unit", "rack", "aisle", "system")


def _roofline() -> list[Row]:
    """Return the roofline of a socket of 8 cores on 100 GB/s, for accesses of 8 bytes, and where it bends."""
    supply, peak, width = 100e9, CLOCK * ALP * CORES, 8.0
    found = []
    for moved in (0.05, 0.2, 0.5):
        ours = of("power7", POWER7, {"data_share.socket": moved})
        said = min(peak, supply / (width * moved))
        item = f"{moved:g} accesses of memory an instruction"
        found.append(derived("e15", item, said, ours["roofline.socket"], "instruction/s"))
    bend = 1.0 / (ours["ridge.socket"] * width)
    return [*found, derived("e16", "", peak / supply, bend, corrected=supply / (peak * width))]
