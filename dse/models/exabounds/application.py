"""What goes into the model of the application: its work, and how long and with what it is paid."""

from __future__ import annotations

from dataclasses import replace

from dse.models.exabounds.levels import ABOVE_CORE, CACHES, LEVELS, SOURCE, by_level
from dse.models.exabounds.quantities import at_caches, counted, share, stated
from dse.quantities import Quantity

_TABLE2 = f"{SOURCE}, Table 2"

_APPLICATION = (
    stated("instructions", "L_sys", "instruction", "work of the run", _TABLE2),
    share("control_share", "F_ctrl", "share of instructions that are branches", _TABLE2, 0.15),
    share("misprediction_rate", "", "share of branches that are mispredicted", f"{SOURCE} (7), corrected"),
    *at_caches(share("miss_rate", "f", "misses per access to a cache", f"{SOURCE} (2)-(5)"), CACHES[:3]),
    share("miss_rate", "f_iTLB", "misses of instruction addresses per instruction", f"{SOURCE} (2)").at(
        cache="ITLB"
    ),
    share("miss_rate", "", "share of the misses of L2 that miss L3 as well", "our addition", 1.0).at(
        cache="L3"
    ),
    *at_caches(
        stated(
            "measured_cache",
            "",
            "byte",
            "size of the cache at which its miss rate was measured; absent: its own size",
            f"{SOURCE} (9)",
            optional=True,
        ),
        CACHES[:3],
    ),
    share("activity", "s_0", "share of the maximum number of transitions per cycle", f"{SOURCE} (17)", 1.0),
)
_APPLICATION_LEVELS = (
    counted(
        "parallelism",
        "ALP",
        "most units of work in progress at once in one unit of the level; absent: no limit",
        _TABLE2,
        optional=True,
    ),
    stated(
        "demand",
        "B_app",
        "byte/cycle",
        "data that one core moves over the level's link per cycle",
        f"{SOURCE} (6)",
        0.0,
    ),
    share("data_share", "F_dmo", "share of instructions that move data over the level's link", _TABLE2),
    stated(
        "measured_buffer",
        "",
        "byte",
        "size of the level's buffer at which its demand was measured; absent: its own",
        f"{SOURCE} (9)",
        optional=True,
    ),
)
# the example application of Table 2
_EXAMPLE = {"parallelism.core": 4.0, "data_share.core": 0.5}
OVERHEAD = stated(
    "overhead_work",
    "L_ovhd",
    "instruction",
    "additional instructions on every core for dividing work at this level",
    f"{SOURCE} (8)",
    0.0,
)
_PAID = (
    stated(
        "lifetime",
        "",
        "s",
        "time over which energy and spares are paid; absent: the run itself",
        "our addition",
        optional=True,
    ),
    share("peak_share", "", "share of the lifetime at peak power", f"{SOURCE}, Table 1", 1.0),
    share("idle_share", "", "share of the lifetime at idle power; the rest is off", f"{SOURCE}, Table 1"),
    stated("energy_price", "K_pwr", "USD/J", "price of energy", f"{SOURCE}, 4.7", 4.14e-8),
    stated(
        "cooling_factor",
        "K_cool",
        "",
        "energy paid per energy drawn; 1 where the efficiencies include cooling",
        f"{SOURCE} (25)",
        1.0,
        minimum=1.0,
        floor=1.0,
        ceiling=1e3,
    ),
)
NRE = stated("nre_cost", "K_NRE", "USD", "cost of designing the level, paid once", f"{SOURCE} (25)", 0.0)


def _with_example(q: Quantity) -> Quantity:
    return replace(q, default=_EXAMPLE[q.name], optional=False) if q.name in _EXAMPLE else q


INPUTS = (
    *_APPLICATION,
    *(_with_example(q) for family in _APPLICATION_LEVELS for q in by_level(family, LEVELS)),
    *by_level(OVERHEAD, ABOVE_CORE),
    *_PAID,
    *by_level(NRE),
)
