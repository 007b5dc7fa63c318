"""Systems of the paper as questions to the model ``exabounds``, whose every metric comes back."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from dse import machines
from dse.papers.asking import metrics
from dse.papers.exabounds2012.rows import PAPER, answers
from dse.papers.sources import premises, table

CALENDAR_YEAR = 8760 * 3600.0
# Table 1's price of energy
PRICE = answers.printed("kpwr") / 3.6e6
PEAK, IDLE = premises(PAPER)["peak_share"], premises(PAPER)["idle_share"]
SCALE = 1e18

# a core of which only what a statement is about is stated
PLAIN: Mapping[str, float] = {"frequency": 1e9, "voltage": 1.0, "dynamic_capacitance": 1e-9}
# Tables 3 and 4 state no switched capacitance, Table 4 no voltage
SUPPLIED: Mapping[str, float] = {"dynamic_capacitance": 1e-9}
POWER7: Mapping[str, float] = {"dynamic_capacitance": 1e-9, "voltage": 1.1}
# miss rates stated here, since those of the paper stand in pictures only
MISSES: Mapping[str, float] = {
    "misprediction_rate": 0.05,
    "miss_rate.L1I": 0.01,
    "miss_rate.ITLB": 1e-4,
    "miss_rate.L1D": 0.05,
    "miss_rate.L2": 0.01,
}
# one rack of Blue Gene/P by its public description: 4 cores, 32 cards in each of 32 node cards
BLUE_GENE_P: Mapping[str, float] = {"count.die": 4.0, "count.unit": 32.0, "count.rack": 32.0}


def plain(hardware: Mapping[str, float] | None = None, **given: float) -> Mapping[str, float]:
    """Return all metrics of a plain core with other hardware; ``given``: inputs of the model."""
    return of(None, hardware or {}, given)


def of(
    base: str | None, hardware: Mapping[str, float], given: Mapping[str, float], *waive: str
) -> Mapping[str, float]:
    """Return all metrics of a machine of the catalogue (None: the plain core) with other hardware and inputs.

    ``waive``: limits of the model that are set aside.
    """
    more = dict(PLAIN) if base is None else {"base": f"{base}-{PAPER}"}
    return metrics("exabounds", more | dict(hardware), {"instructions": 1.0} | dict(given), *waive)


def power7(given: Mapping[str, float], **hardware: float) -> Mapping[str, float]:
    """Return all metrics of the POWER7 of Table 4; ``hardware`` names parameters with __ for a dot."""
    changed = {name.replace("__", "."): value for name, value in hardware.items()}
    return of("power7", dict(POWER7) | changed, given)


@cache
def catalogue(name: str) -> Mapping[str, float]:
    """Return the parameters of a machine of the paper, SI."""
    return machines.get(f"{name}-{PAPER}").parameters


@cache
def processors() -> Mapping[str, Mapping[str, str]]:
    """Return the rows of Table 1 by the short names of Figure 1, as printed."""
    return {row["short"]: row for row in table(f"{PAPER}/table1_processors")}


def cell(short: str, kind: str, column: str) -> str:
    """Return a cell of Table 1, SI: ``kind`` dpflop or intop, ``column`` energy, idle, cost or eopex; "" if black."""
    name = {
        "energy": f"energy_per_{kind}_J",
        "idle": f"idle_power_1e18_{kind}_W",
        "cost": f"device_cost_1e18_{kind}_USD",
        "eopex": f"eopex_1yr_1e18_{kind}_USD",
    }[column]
    return processors()[short][name]


def idle_cell(short: str, kind: str) -> str:
    """Return the idle power of Table 1 with the one cell corrected that cannot be right."""
    right = processors()[short]["idle_power_1e18_intop_W_corrected"]
    return right if kind == "intop" else cell(short, kind, "idle")


@cache
def exa(short: str, kind: str, peak: float = PEAK) -> Mapping[str, float]:
    """Return all metrics of a system of 1e18 operations per second over a year, ``peak`` of it at work.

    One core stands for the system: an operation per cycle at 1e18 Hz, at 1 V, leaking its idle power.
    """
    energy, idle = float(cell(short, kind, "energy")), float(idle_cell(short, kind))
    hardware = {
        "frequency": SCALE,
        "voltage": 1.0,
        "dynamic_capacitance": energy - idle / SCALE,
        "leakage_current": idle,
        "packaging_cost.core": float(cell(short, kind, "cost") or 0.0),
    }
    given = {"lifetime": CALENDAR_YEAR, "peak_share": peak, "idle_share": IDLE, "energy_price": PRICE}
    return metrics("exabounds", hardware, {"instructions": SCALE} | given)
