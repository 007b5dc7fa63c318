"""Equations (1) to (16): the POWER7 of Table 4 with stated miss rates, and scaling."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from dse.papers.comparer import Found
from dse.papers.exabounds2012 import formulas as paper
from dse.papers.exabounds2012.rows import answers, printed
from dse.papers.exabounds2012.systems import MISSES, POWER7, of, plain, power7

PARTS = ("base", "icache", "branch", "l1data", "l2data", "bandwidth")
APPLICATION, CHIP = printed("table2_app"), printed("table4_power7")
CONTROL, MOVED, ALP = (APPLICATION[symbol] for symbol in ("F_0_ctrl", "F_i_dmo", "ALP_0"))
# cycles to L2, L3 and memory, instructions of front end and reorder buffer, capacity of the pipeline, clock, cores
_SYMBOLS = ("T_0_dmo", "T_1_dmo", "T_2_dmo", "n_0_front", "n_0_ROB", "n_0_pipe", "f_0", "n_1_cor")
L2, L3, DRAM, FRONT, ROB, CAPACITY, CLOCK, CORES = (CHIP[symbol] for symbol in _SYMBOLS)
# cycles: the front end has nine stages
LENGTH = CAPACITY / (FRONT / 9)
MISPREDICTED = CONTROL * MISSES["misprediction_rate"]
MISSED = MISSES["miss_rate.L2"]


@cache
def parts() -> Mapping[str, float]:
    """Return the printed parts of the stack of the POWER7 as corrected, from Table 4 and the stated miss rates."""
    return {
        "base": 1.0 / ALP,
        "icache": paper.icache(L2, MISSES["miss_rate.L1I"], DRAM, MISSES["miss_rate.ITLB"]),
        "branch": paper.mispredicted(LENGTH, FRONT, ROB, ALP) * MISPREDICTED,
        "l1data": L2 * MISSES["miss_rate.L1D"] * MOVED,
        "l2data": paper.l2data(DRAM, ROB, ALP, MISSED) * MOVED,
    }


@cache
def stack() -> Mapping[str, float]:
    """Return all metrics of the POWER7 with the stated miss rates."""
    return power7(MISSES)


@answers("e2")
def _icache() -> Found:
    rates = ", ".join(f"{name.removeprefix('miss_rate.')} {rate:g}" for name, rate in MISSES.items())
    return Found(stack()["cpi.icache"], parts()["icache"], told={"rates": rates})


answers("e7_base")(lambda: Found(stack()["cpi.base"], parts()["base"]))
answers("e4")(lambda: Found(stack()["cpi.l1data"], parts()["l1data"]))
answers("e5")(lambda: Found(stack()["cpi.l2data"], parts()["l2data"]))
answers("e1")(lambda: Found(stack()["cpi"], sum(parts().values())))


@answers("e3")
def _mispredicted() -> Found:
    said, right = (paper.mispredicted(length, FRONT, ROB, ALP) for length in (CAPACITY, LENGTH))
    return Found(stack()["cpi.branch"] / MISPREDICTED, said, corrected=right)


@answers("e7")
def _branches() -> Found:
    event = paper.mispredicted(LENGTH, FRONT, ROB, ALP)
    return Found(stack()["cpi.branch"], event * CONTROL, corrected=event * MISPREDICTED)


@answers("e5_clamp")
def _hidden(latency: str) -> Found:
    near = power7(MISSES, latency__DRAM=float(latency) / CLOCK)["cpi.l2data"]
    return Found(near, paper.l2data(float(latency), ROB, ALP, MISSED) * MOVED, corrected=0.0)


@answers("e5_l3")
def _through_l3() -> Found:
    half = 0.5
    through = power7(dict(MISSES) | {"miss_rate.L3": half})["cpi.l2data"]
    near, far = (paper.l2data(latency, ROB, ALP, MISSED) * MOVED for latency in (L3, DRAM))
    return Found(through, far, corrected=(1 - half) * near + half * far)


@answers("e6")
def _queueing(share: str) -> Found:
    rest, supply = sum(parts().values()), CHIP["BW_2"] / CORES / CLOCK
    asked = float(share) * supply
    ours = power7(dict(MISSES) | {"demand.socket": asked})["cpi.bandwidth"]
    said, right = paper.queueing_printed(asked, supply, MOVED), paper.queueing(rest, asked, supply)
    return Found(ours, said, corrected=right, told={"asked": asked, "supply": supply})


@answers("e8")
def _throughput() -> Found:
    cpi = sum(parts().values())
    return Found(stack()["throughput.core"], 1.0 / cpi, corrected=CLOCK / cpi)


@answers("e9")
def _buffer(times: str) -> Found:
    """A buffer so many times as large as the one at which the demand was measured."""
    alone = power7({"demand.socket": 3.0}, buffer__socket=2.0**20)
    measured = 2.0**20 / float(times)
    larger = power7({"demand.socket": 3.0, "measured_buffer.socket": measured}, buffer__socket=2.0**20)
    gained = larger["core_limit.socket"] / alone["core_limit.socket"]
    root = float(times) ** 0.5
    return Found(gained, 1 / root, corrected=root)


# a run of 1e9 instructions on 8 cores, each with 1e7 more for dividing it; differences by H on either side
SIZE, EXTRA, MANY_CORES, H = 1e9, 1e7, 8.0, 1e-4


def _rate_with_overhead(cores: float, work: float) -> float:
    return work / ((work / cores + EXTRA) / 1e9)


def _per_core() -> float:
    return (
        _rate_with_overhead(MANY_CORES * (1 + H), SIZE) - _rate_with_overhead(MANY_CORES * (1 - H), SIZE)
    ) / (2 * H * MANY_CORES)


def _per_work() -> float:
    return (
        _rate_with_overhead(MANY_CORES, SIZE * (1 + H)) - _rate_with_overhead(MANY_CORES, SIZE * (1 - H))
    ) / (2 * H * SIZE)


@cache
def _run_over_many_cores() -> Mapping[str, float]:
    return plain({"count.die": MANY_CORES}, **{"instructions": SIZE, "overhead_work.die": EXTRA})


answers("e10")(lambda: Found(_run_over_many_cores()["strong_scaling.die"], _per_core()))
answers("e11")(lambda: Found(_run_over_many_cores()["weak_scaling"], _per_work()))


@answers("e12")
def _isoefficiency() -> Found:
    said = _per_core() / _per_work()
    return Found(_run_over_many_cores()["isoefficiency.die"], said, corrected=-said)


@answers("e14")
def _fraction() -> Found:
    return Found(
        _run_over_many_cores()["amdahl.die"],
        paper.amdahl(MANY_CORES, _rate_with_overhead(MANY_CORES, SIZE), _rate_with_overhead(1.0, SIZE)),
    )


@answers("e14:speed_up")
def _speed_up() -> Found:
    return Found(
        paper.speed_up(_run_over_many_cores()["amdahl.die"], MANY_CORES),
        _rate_with_overhead(MANY_CORES, SIZE) / _rate_with_overhead(1.0, SIZE),
    )


@cache
def _run_on_one_die() -> Mapping[str, float]:
    """A run with a parallelism of five on the cores of one die."""
    outer = ("socket", "card", "unit", "rack", "aisle", "system")
    most = {"parallelism.die": 5.0} | {f"parallelism.{level}": 1.0 for level in outer}
    return plain({"count.die": MANY_CORES}, **({"instructions": SIZE} | most))


answers("laws")(lambda: Found(_run_on_one_die()["work_law"], SIZE / MANY_CORES / 1e9))
answers("laws:span")(lambda: Found(_run_on_one_die()["span_law"], SIZE / 5 / 1e9))
answers("laws:time")(lambda: Found(_run_on_one_die()["time"], SIZE / 5 / 1e9))

# the roofline of a socket for accesses of eight bytes
ACCESS_BYTES = 8.0


def _power7_at_data_share(moved: str) -> Mapping[str, float]:
    return of("power7", POWER7, {"data_share.socket": float(moved)})


@answers("e15")
def _under_the_roof(moved: str) -> Found:
    said = min(CLOCK * ALP * CORES, CHIP["BW_2"] / (ACCESS_BYTES * float(moved)))
    return Found(_power7_at_data_share(moved)["roofline.socket"], said)


@answers("e16")
def _ridge() -> Found:
    """Where the roofline bends."""
    peak, supply = CLOCK * ALP * CORES, CHIP["BW_2"]
    bend = 1.0 / (_power7_at_data_share("0.5")["ridge.socket"] * ACCESS_BYTES)
    return Found(bend, peak / supply, corrected=supply / (peak * ACCESS_BYTES))
