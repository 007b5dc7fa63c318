"""What comes out of the model, and what always holds."""

from __future__ import annotations

from dse.models.exabounds.levels import ABOVE_CORE, LEVELS, SOURCE, by_level
from dse.models.model import ModelLimit
from dse.models.shared.sums import sum_of
from dse.quantities import Quantity

_PARTS = {
    "base": ("issue of instructions, the reciprocal of the parallelism in use", "(7)"),
    "icache": ("misses of instructions and their addresses", "(2)"),
    "branch": ("mispredicted branches", "(3), (7) corrected"),
    "l1data": ("data that L1 misses", "(4)"),
    "l2data": ("data that L2 misses, as far as the reorder buffer does not hide it", "(5) clamped"),
    "bandwidth": ("queueing for limited bandwidth", "(6) corrected"),
}


def _q(name: str, symbol: str, unit: str, meaning: str, where: str) -> Quantity:
    return Quantity(name, symbol, unit, meaning, f"{SOURCE}{where if where.startswith(',') else f' {where}'}")


_RUN = (
    _q("time", "t", "s", "time to solution", "(8) corrected"),
    _q("energy", "E", "J", "energy of the run at full power", "power times time"),
    _q("power", "P_7", "W", "power of the whole system, all units at work", "(19)"),
    _q("performance", "C_7", "instruction/s", "instructions of the workload per second", "(8) corrected"),
    _q("efficiency", "", "instruction/J", "instructions of the workload per joule", "quotient"),
    _q("energy_delay", "ET", "J*s", "energy times time", "product"),
    _q("cpi", "d_0", "cycle/instruction", "cycles per instruction of one core", "(7)"),
    *(
        _q("cpi", "d", "cycle/instruction", f"cycles of {words}", where).at(part=part)
        for part, (words, where) in _PARTS.items()
    ),
    _q("cores", "", "", "cores of the whole system", "product of the counts"),
    _q(
        "memory_traffic",
        "",
        "byte/s",
        "bandwidth to memory that one core needs so as not to wait for it, given its misses",
        ", question 2 of 5.1",
    ),
)
_SCALING = (
    _q("weak_scaling", "dC/dL", "Hz", "additional performance per additional instruction", "(11)"),
    _q("work_law", "", "s", "lower bound on the time: the work divided perfectly among all units", ", 4.4.3"),
    _q(
        "span_law",
        "",
        "s",
        "lower bound on the time by the parallelism; 0 if a level does not state it",
        ", 4.4.3",
    ),
    *by_level(
        _q("strong_scaling", "dC/dn", "instruction/s", "additional performance per additional unit", "(10)"),
        ABOVE_CORE,
    ),
    *by_level(
        _q(
            "isoefficiency",
            "dL/dn",
            "instruction",
            "additional work per additional unit at equal performance; 0 without overhead",
            "(12), sign corrected",
        ),
        ABOVE_CORE,
    ),
    *by_level(
        _q("amdahl", "AMDAHL", "", "parallel fraction that the speed-up over one unit shows", "(14)"),
        ABOVE_CORE,
    ),
)
_LEVELS = (
    *by_level(
        _q("work", "L", "instruction", "instructions of one unit, overhead apart", ", 4.2.1 and (24)"),
        LEVELS[:-1],
    ),
    *by_level(
        _q("throughput", "C", "instruction/s", "instructions per second of one unit at work", "(8)"), LEVELS
    ),
    *by_level(
        _q("roofline", "", "instruction/s", "most instructions per second of one unit", "(15)"), LEVELS
    ),
    *by_level(
        _q(
            "ridge",
            "",
            "instruction/byte",
            "intensity at which bandwidth and issue bound alike; 0 where bandwidth is ample",
            "(16) corrected",
        ),
        LEVELS,
    ),
    *by_level(
        _q(
            "core_limit",
            "",
            "",
            "cores at work in one unit from which they queue for its link; infinite where nothing limits",
            "(6) solved for n",
        ),
        LEVELS,
    ),
    *by_level(_q("power", "P", "W", "power of one unit", "(19)")),
    *by_level(
        _q("power_added", "", "W", "power of all units of the level, without the units inside", "(19)")
    ),
    *by_level(
        _q("pin_power", "", "W", "power of one signal pin at its bit rate; 0 where no rate is stated", "(21)")
    ),
    *by_level(
        _q("mtbf", "MTBF", "s", "mean time between failures of any unit of the level", "(23) corrected")
    ),
    *by_level(
        _q("cost_added", "", "USD", "price of all units of the level, without the units inside", "(25)")
    ),
)
_POWER = (
    _q("idle_power", "", "W", "power of the whole system while its cores only leak", "(19)"),
    _q(
        "power_processors",
        "",
        "W",
        "power of all cores: what delivery and all else leave for them",
        ", question 1 of 5.1",
    ),
    _q("power_dynamic", "", "W", "dynamic power of all cores", "(17)"),
    _q("power_leakage", "", "W", "leakage power of all cores", "(17)"),
    _q("power_memory", "", "W", "power of all memory", "(19)"),
    _q("power_data", "", "W", "power of all data movement", "(19)"),
    _q("power_ohmic", "", "W", "losses in all supply pins", "(20)"),
    _q("power_glue", "", "W", "power of all else on every level", "(19)"),
    _q("power_delivery", "", "W", "losses of all supplies, by their efficiencies", "(19)"),
)
_TECHNOLOGY = (
    _q(
        "max_frequency",
        "f_max",
        "Hz",
        "fastest clock at the voltage; infinite where no constant is known",
        "(18)",
    ),
    _q("transistors_per_core", "", "", "transistors of one core, as counted", ", 4.8.2"),
    _q("transistors_per_die", "", "", "transistors of one die: as stated, else as counted", ", 4.8.2"),
    _q(
        "unit_to_cache_area",
        "",
        "",
        "area of functional units over that of a core's caches; infinite where no cache is counted",
        ", question 4 of 5.1",
    ),
    _q(
        "area_needed",
        "",
        "m^2",
        "area of the transistors counted on a die; 0 where no density is known",
        ", 4.8.2",
    ),
    _q("area_available", "", "m^2", "area for circuits of a stack of dies; 0 where none is stated", "(27)"),
)
_CACHES = tuple(
    _q("misses", "f", "", words, "(2)-(5)").at(cache=cache)
    for cache, words in (
        ("L1I", "misses per instruction fetched"),
        ("L1D", "misses per access to data"),
        ("L2", "misses of L2 per access to data"),
        ("L3", "misses per access to data that memory serves, those of the last cache"),
    )
)
_MONEY = (
    _q("cost", "$", "USD", "all that is paid: the parts below", "(25), (26) corrected"),
    _q("cost_hardware", "", "USD", "price of the hardware", "(25), (26) corrected"),
    _q("cost_supply", "", "USD", "price of the power supply", ", 4.7 in words"),
    _q("cost_nre", "", "USD", "cost of design, once", "(25) corrected"),
    _q("cost_energy", "", "USD", "price of the energy over the lifetime", "(25) corrected"),
    _q("cost_spares", "", "USD", "price of what is bought again for failed units", "(22) and (25)"),
    _q("run_energy_cost", "", "USD", "price of the energy of one run", "(25)"),
)
METRICS = (
    *_RUN,
    *_POWER,
    _q(
        "mtbf",
        "MTBF",
        "s",
        "mean time between failures of anything; infinite where nothing fails",
        "(23) corrected",
    ),
    *_MONEY,
    *_TECHNOLOGY,
    *_CACHES,
    *_LEVELS,
    *_SCALING,
)
_BY_POWER = frozenset(
    (
        "energy",
        "efficiency",
        "energy_delay",
        "cost",
        "cost_supply",
        "cost_energy",
        "run_energy_cost",
        "max_frequency",
    )
)


def of_power(name: str) -> bool:
    """Whether a metric needs the power of the cores, or their voltage."""
    drawn = {q.name for q in _POWER}
    return name in _BY_POWER | drawn or name.partition(".")[0] in ("power", "power_added")


SUMS = (
    sum_of(
        "cpi",
        "what cycles go to",
        {
            "issue": "cpi.base",
            "instruction misses": "cpi.icache",
            "mispredicted branches": "cpi.branch",
            "L1 data misses": "cpi.l1data",
            "L2 data misses": "cpi.l2data",
            "bandwidth": "cpi.bandwidth",
        },
    ),
    sum_of(
        "power",
        "what it is spent on",
        {
            "switching of cores": "power_dynamic",
            "leakage of cores": "power_leakage",
            "memory": "power_memory",
            "data movement": "power_data",
            "supply pins": "power_ohmic",
            "all else": "power_glue",
            "supplies": "power_delivery",
        },
    ),
    sum_of("power", "level", {level: f"power_added.{level}" for level in LEVELS}),
    sum_of(
        "cost",
        "what is paid for",
        {
            "hardware": "cost_hardware",
            "power supply": "cost_supply",
            "design": "cost_nre",
            "energy": "cost_energy",
            "spares": "cost_spares",
        },
    ),
    sum_of("cost_hardware", "level", {level: f"cost_added.{level}" for level in LEVELS}),
)
LIMITS = (
    ModelLimit(
        "threshold", "V_t <= V_0", "the supply voltage is at least the threshold voltage", f"{SOURCE} (17)"
    ),
    ModelLimit("clock", "f_0 <= f_max", "the clock is at most the fastest at this voltage", f"{SOURCE} (18)"),
    ModelLimit(
        "area",
        "needed/(A n_stack) + F_PwrTSV + F_IoTSV <= 1",
        "circuits and vias fit on their stack of dies",
        f"{SOURCE} (27)",
    ),
    ModelLimit("duty", "peak + idle <= 1", "the shares of the lifetime add up to at most 1", "definition"),
    *(
        ModelLimit(
            f"pins.{level}",
            "n_supply + n_io <= pins",
            f"supply and signal pins of one {level} are at most those of its package",
            f"{SOURCE}, 4.5.2",
        )
        for level in ABOVE_CORE
    ),
    *(
        ModelLimit(
            f"failover.{level}",
            "λ MTTR <= 1",
            f"not more than all units inside one {level} are under repair",
            f"{SOURCE} (24)",
        )
        for level in ABOVE_CORE
    ),
)
