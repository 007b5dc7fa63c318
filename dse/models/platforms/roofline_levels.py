"""Work of several kinds in one run under a roofline: bytes from several levels, flops of both precisions.

Beside ``flops`` and ``bytes`` a run may state ``flops_double``, ``bytes_L2``, ``bytes_L1`` and ``accesses`` (at random
places of memory). With the sums over what is stated,

    T = λ + max(W τf + Wd τfd, Q τm, Q_L2 τ_L2, Q_L1 τ_L1, A τr, (Σ energies of all of these) k/Δπ)
    E = W εf + Wd εfd + Q εm + Q_L2 ε_L2 + Q_L1 ε_L1 + A εr + π1 T

so that flops and levels overlap as far as they can. Flops of the two precisions follow each other, as the same units
do both on most processors; where each precision has units of its own the run may be faster. A byte counts
once, at the level that it comes from: the costs of Table I are inclusive (section V.A), so that those of a byte
from memory hold its way through the caches.

Beside the two inputs that stand for them, ``flops`` are in single precision and ``bytes`` those of memory. One
balance does not describe such a run, so the balances are left out. With several levels the time of each part alone
is a metric instead (``time_flops``, ``time_memory``, ``time_L2``, ...), with its energy
(``energy_memory``, ...), and ``flops_total`` where there are two precisions.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any, NamedTuple

from dse.models.arithmetic import maximum, per, reaches
from dse.models.model import Model
from dse.models.shared.sums import Sum, sum_of
from dse.quantities import Quantity

SOURCE = "Choi et al. 2014"

# parameters that each choice makes necessary: time and energy
FLOP = {
    "single": ("time_per_flop", "energy_per_flop"),
    "double": ("time_per_flop_double", "energy_per_flop_double"),
}
DATA = {
    "memory": ("time_per_byte", "energy_per_byte"),
    "L1": ("time_per_byte_L1", "energy_per_byte_L1"),
    "L2": ("time_per_byte_L2", "energy_per_byte_L2"),
    "random": ("time_per_access", "energy_per_access"),
}
# by the numbers that ``regime`` gives them, from 2 on
LEVELS = ("memory", "L2", "L1", "random")
REGIMES = ("compute", "cap", *LEVELS)
FLOPS_DOUBLE = Quantity(
    "flops_double",
    "Wd",
    "flop",
    "flops in double precision, beside flops, which are then in single precision",
    f"{SOURCE}, Table I",
    optional=True,
)
FURTHER_DATA = {
    "L2": Quantity(
        "bytes_L2",
        "Q_L2",
        "byte",
        "bytes that come from the L2 cache, beside bytes, which are then those of memory",
        f"{SOURCE}, Table I",
        optional=True,
    ),
    "L1": Quantity(
        "bytes_L1",
        "Q_L1",
        "byte",
        "bytes that come from the L1 cache (scratchpad), beside bytes, which are then those of memory",
        f"{SOURCE}, Table I",
        optional=True,
    ),
    "random": Quantity(
        "accesses",
        "A",
        "access",
        "accesses at random places of memory, beside bytes, which are then read in order",
        f"{SOURCE}, Table I",
        optional=True,
    ),
}
FURTHER = (FLOPS_DOUBLE, *FURTHER_DATA.values())
NAMES = tuple(q.name for q in FURTHER)
BALANCES = ("balance", "balance_low", "balance_high", "energy_balance")
ALL_FLOPS = Quantity("flops_total", "ΣW", "flop", "flops of both precisions", f"{SOURCE}, Table I")


class Cost(NamedTuple):
    """Time and energy, of one or of many."""

    time: Any
    energy: Any

    def times(self, amount: Any) -> Cost:
        """Return the cost of an amount."""
        return Cost(amount * self.time, amount * self.energy)


def cost(machine: Any, names: tuple[str, str]) -> Cost:
    """Return what one flop, byte or access costs, by the names of its two parameters."""
    return Cost(*(getattr(machine, name) for name in names))


def flops(g: Any) -> Any:
    """Return the flops of both precisions."""
    return g.flops + g.flops_double if hasattr(g, FLOPS_DOUBLE.name) else g.flops


def computing(g: Any, each: Cost) -> Cost:
    """Return what all flops cost; ``each``: one of ``flops``."""
    found = each.times(g.flops)
    if not hasattr(g, FLOPS_DOUBLE.name):
        return found
    more = cost(g.machine, FLOP["double"]).times(g.flops_double)
    return Cost(found.time + more.time, found.energy + more.energy)


def moving(g: Any, data: Any, each: Cost) -> dict[str, Cost]:
    """Return what the data of each level that is stated cost; ``each``: one byte of ``data``, those of memory first."""
    found = {LEVELS[0]: each.times(data)}
    for level in LEVELS[1:]:
        amount = amount_at(g, level)
        if amount is not None:
            found[level] = cost(g.machine, DATA[level]).times(amount)
    return found


def amount_at(g: Any, level: str) -> Any | None:
    """Return what is stated beside ``bytes`` of a level below memory, or of random accesses."""
    return getattr(g, FURTHER_DATA[level].name, None)


def peak(g: Any, flop: Cost, byte: Cost) -> Any:
    """Return the power that all kinds of work draw when each runs at its full rate."""
    units = per(flop.energy, flop.time)
    if hasattr(g, FLOPS_DOUBLE.name):
        double = cost(g.machine, FLOP["double"])
        units = maximum(units, per(double.energy, double.time))
    there = [level for level in LEVELS[1:] if amount_at(g, level) is not None]
    levels = [byte, *(cost(g.machine, DATA[level]) for level in there)]
    return reduce(add, (per(c.energy, c.time) for c in levels), units)


def greatest(times: Sequence[tuple[int, Any]]) -> tuple[Any, Any]:
    """Return the greatest time and its number, as arithmetic without differences; of equals the last.

    ``times``: (number, time) with ascending numbers, the first of which is 0.
    """
    number, most = times[-1]
    which: Any = None
    for before, time in reversed(times[:-1]):
        step = float(number - before)
        which = reaches(most, time) * (step if which is None else step + which)
        most, number = maximum(time, most), before
    return most, which


def told(g: Any, costs: Mapping[str, Cost], computes: Cost) -> dict[str, Any]:
    """Return the metrics that a run of several kinds has beside those of any run."""
    found: dict[str, Any] = {}
    if hasattr(g, FLOPS_DOUBLE.name):
        found[ALL_FLOPS.name] = flops(g)
    if len(costs) > 1:
        found["time_flops"] = computes.time
        found |= {f"time_{level}": c.time for level, c in costs.items()}
        found |= {f"energy_{level}": c.energy for level, c in costs.items()}
    return found


def extended(model: Model, stated: Collection[str]) -> Model:
    """Return the roofline that a question with these further inputs is about."""
    found = [q.name for q in FURTHER if q.name in stated]
    double = FLOPS_DOUBLE.name in found
    levels = [level for level, q in FURTHER_DATA.items() if q.name in found]
    needed = necessary(found)
    metrics = (_regime(q) if q.name == "regime" else q for q in model.metrics if q.name not in BALANCES)
    return replace(
        model,
        machine=tuple(replace(q, optional=False) if q.name in needed else q for q in model.machine),
        inputs=tuple(map(one_way(double, bool(levels)), model.inputs)),
        metrics=(*metrics, *((ALL_FLOPS,) if double else ()), *(_of_levels(levels) if levels else ())),
        sums=(_energy_breakdown(levels),) if levels else model.sums,
        work=(ALL_FLOPS.name,) if double else model.work,
        any_of=(("flops", "bytes", *found),),
    )


def necessary(stated: Collection[str]) -> tuple[str, ...]:
    """Return the machine parameters that further inputs make necessary."""
    levels = [level for level, q in FURTHER_DATA.items() if q.name in stated]
    return (*(FLOP["double"] if FLOPS_DOUBLE.name in stated else ()), *(n for x in levels for n in DATA[x]))


def one_way(double: bool, levels: bool) -> Any:
    """Return what leaves the choices only one text where further inputs say the rest."""
    only = {"precision": "single"} if double else {}
    only |= {"level": "memory"} if levels else {}
    return lambda q: replace(q, choices=(only[q.name],)) if q.name in only else q


def _regime(q: Quantity) -> Quantity:
    last = float(len(REGIMES) - 1)
    meaning = "what bounds the time: 0 compute, 1 the power cap, 2 memory, 3 L2, 4 L1, 5 random accesses"
    return replace(q, meaning=meaning, maximum=last, ceiling=last, flags=REGIMES)


def _of_levels(levels: Sequence[str]) -> tuple[Quantity, ...]:
    ways = [LEVELS[0], *levels]
    return (
        Quantity("time_flops", "Tf", "s", "time that the flops alone need", f"{SOURCE} (3)"),
        *(Quantity(f"time_{x}", f"T{x}", "s", f"time that {_data(x)} need", f"{SOURCE} (3)") for x in ways),
        *(Quantity(f"energy_{x}", f"E{x}", "J", f"energy of {_data(x)}", f"{SOURCE} (1)") for x in ways),
    )


def _data(level: str) -> str:
    return "random accesses alone" if level == "random" else f"the bytes from {level} alone"


def _energy_breakdown(levels: Sequence[str]) -> Sum:
    parts = {"flops": "energy_flop"} | {x: f"energy_{x}" for x in (LEVELS[0], *levels)}
    return sum_of("energy", "what it is spent on", parts | {"constant power": "machine.constant_power time"})
