"""Equations (17) to (27): power, reliability, cost and area, and the four questions of section 5.1."""

from __future__ import annotations

from collections.abc import Mapping
from math import exp, log, prod

from dse.papers.comparer import Found
from dse.papers.exabounds2012 import formulas as paper
from dse.papers.exabounds2012.formulas import Stage
from dse.papers.exabounds2012.performance_rows import ALP, CLOCK, CONTROL, DRAM, FRONT, LENGTH, MOVED, ROB
from dse.papers.exabounds2012.rows import answers, printed
from dse.papers.exabounds2012.systems import SUPPLIED, of, plain, power7

HOUR = 3600.0
FIT = 1e-9 / HOUR
CELLS = printed("table3_hw")
VOLTAGE, THRESHOLD = CELLS["V_0"], CELLS["V_t"]
K_V, K_ALPHA = 5e9, 1.3
"""Examples of ours: section 4.5.1 prints no value, only figure 13 plots those of many designs, and leaves the choice to
those who design. What is compared with (18) holds for any."""
# what the source of (21) measured, mW by Gb/s
REFERENCE_6 = {5.0: answers.printed("e21_source"), 15.0: answers.printed("e21_source:15")}


def at_voltage(voltage: float, exponent: float = K_ALPHA) -> Mapping[str, float]:
    """Return all metrics of a core with Table 3's threshold at its fastest clock (18) for a voltage."""
    technology = {"clock_constant": K_V, "clock_exponent": exponent, "threshold_voltage": THRESHOLD}
    fastest = plain(technology | {"voltage": voltage, "frequency": 1e3})["max_frequency"]
    # a hair below it, since the limit is an equality there
    return plain(technology | {"voltage": voltage, "frequency": fastest * (1 - 1e-12)})


@answers("e17")
def _core(farad: str, activity: str, kelvin: str, leak: str) -> Found:
    clock, current, temperature = CELLS["f_0"], float(leak), float(kelvin)
    hardware = {
        "dynamic_capacitance": float(farad),
        "frequency": clock,
        "voltage": VOLTAGE,
        "threshold_voltage": THRESHOLD,
        "leakage_current": current,
        "temperature": temperature,
    }
    ours = plain(hardware, activity=float(activity))["power.core"]
    switched = float(farad), VOLTAGE, clock, float(activity)
    return Found(ours, paper.core_power(*switched, current, THRESHOLD, temperature))


@answers("e18")
def _highest_clock_found(voltage: str) -> Found:
    said = paper.fastest(K_V, float(voltage), THRESHOLD, K_ALPHA)
    return Found(at_voltage(float(voltage))["max_frequency"], said)


@answers("linear")
def _power_ratio_at_clocks(times: str) -> float:
    slow, fast = (plain({"frequency": clock})["power"] for clock in (1e9, 1e9 * float(times)))
    return fast / slow


@answers("square")
def _square(exponent: str) -> Found:
    each = float(exponent)
    low, high = at_voltage(0.8, each), at_voltage(VOLTAGE, each)
    ours = log(high["power"] / low["power"]) / log(high["performance"] / low["performance"])
    clocks = [paper.fastest(K_V, v, THRESHOLD, each) for v in (VOLTAGE, 0.8)]
    right = log((VOLTAGE / 0.8) ** 2 * clocks[0] / clocks[1]) / log(clocks[0] / clocks[1])
    return Found(ours, corrected=right)


# sockets of the system of Table 3
SOCKETS = prod(CELLS[symbol] for symbol in ("n_3", "n_4", "n_5", "n_6", "n_7"))


@answers("e20")
def _ohmic(ohm: str, pins: str, ampere: str) -> float:
    """A core of 1 nF at 1 V draws an ampere for every gigahertz."""
    supply = {"supply_resistance.socket": float(ohm), "supply_pins.socket": float(pins)}
    return plain(supply | {"frequency": float(ampere) * 1e9})["power_ohmic"]


@answers("e20_forms")
def _both_forms(ohm: str, pins: str) -> Found:
    supply = {"supply_resistance.socket": float(ohm), "supply_pins.socket": float(pins)}
    socket = of("table3", dict(SUPPLIED) | supply, {})
    said = paper.ohmic(socket["power.die"] / VOLTAGE, float(pins), float(ohm))
    return Found(socket["power_ohmic"] / SOCKETS, said)


@answers("e19_b")
def _moving(pins: str, rate: str) -> Found:
    each = paper.per_gigabit(float(rate)) * float(rate) * 1e-3
    ours = of("table3", SUPPLIED, {})["power_data"] / SOCKETS
    return Found(ours, each, corrected=float(pins) * each)


# a die of 4 cores, sockets of 2 dies, cards of 2 sockets, a system of 10 cards: all that (19) and (25) name
SMALL: Mapping[str, float] = {
    "count.die": 4.0,
    "count.socket": 2.0,
    "count.card": 2.0,
    "count.system": 10.0,
    "supply_resistance.socket": 0.3,
    "supply_pins.socket": 600.0,
    "glue_power.card": 10.0,
    "power_efficiency.card": 0.95,
    "power_efficiency.system": 0.9,
    "silicon_cost": 8e-19,
    "transistors.core": 40e6,
    "packaging_cost.socket": 300.0,
    "packaging_cost.card": 150.0,
    "packaging_cost.system": 2000.0,
}
DESIGN: Mapping[str, float] = {"nre_cost.die": 1e6, "nre_cost.card": 1e4}
STAGES = (
    Stage(4.0, nre=1e6),
    Stage(2.0, package=300.0),
    Stage(2.0, own_power=10.0, efficiency=0.95, package=150.0, nre=1e4),
    Stage(10.0, efficiency=0.9, package=2000.0),
)
SUPPLY_PINS = {1: 0.3 / 600}
RUN = 1e15


@answers("e19")
def _level_power_found(level: str) -> Found:
    said = dict(
        zip(("die", "socket", "card", "system"), paper.powers(1.0, STAGES, SUPPLY_PINS)[1:], strict=True)
    )
    return Found(plain(SMALL)[f"power.{level}"], said[level])


def pin(rate: float) -> float:
    """Power of a pin with that many Gb/s, mW."""
    return 1e3 * plain({"bit_rate.socket": rate * 1e9 / 8})["pin_power.socket"]


answers("e21")(lambda rate: Found(pin(float(rate)), paper.per_gigabit(float(rate)) * float(rate)))


@answers("e21_source", "e21_source:15")
def _source(rate: str) -> Found:
    # a fit to several designs, which meets one of them to 4 %
    return Found(pin(float(rate)), slack=0.01)


answers("e22")(lambda: plain({"failure_rate.system": FIT})["mtbf"] / HOUR)


def _mtbf(cards: float) -> float:
    """Hours between failures of cards of 100 FIT."""
    return plain({"failure_rate.card": 100 * FIT, "count.system": cards})["mtbf.card"] / HOUR


@answers("e23")
def _failures(n: str) -> Found:
    return Found(_mtbf(float(n)), paper.mtbf_printed(100e-9, int(n)), corrected=1.0 / (float(n) * 100e-9))


answers("e23_exp")(lambda: Found(_mtbf(20.0) / _mtbf(10.0), exp(-10.0), corrected=0.5))


@answers("e24")
def _repaired(cores: str) -> Found:
    rate, repair, n = 1e-6, 5e4, float(cores)
    hardware = {"failure_rate.core": rate, "repair_time.core": repair, "count.die": n}
    at_work = 1.0 / plain(hardware)["work.core"]
    return Found(at_work, n - rate * repair, corrected=n * (1 - rate * repair))


@answers("e25")
def _money(price: str) -> Found:
    ours = plain(dict(SMALL), **({"instructions": RUN} | dict(DESIGN)))["cost"]
    silicon = SMALL["silicon_cost"] * 1e9 * SMALL["transistors.core"]
    bill = silicon, STAGES, paper.powers(1.0, STAGES, SUPPLY_PINS), float(price), RUN / (160 * 1e9)
    return Found(ours, paper.cost_printed(*bill), corrected=paper.cost(*bill))


answers("kpwr")(lambda: plain({"frequency": 1e12}, lifetime=HOUR)["cost_energy"])


@answers("ksi")
def _silicon(each: str, transistors: str, clock: str) -> Found:
    chip = {"frequency": float(clock), "silicon_cost": float(each), "transistors.core": float(transistors)}
    said = float(each) * float(clock)
    return Found(plain(chip)["cost_hardware"], said, corrected=said * float(transistors))


@answers("e27")
def _area(area: str, dies: str, power: str, signal: str) -> Found:
    stack = {"die_area": float(area), "stacked_dies": float(dies)}
    stack |= {"power_via_share": float(power), "signal_via_share": float(signal)}
    said = float(area) * float(dies) * (1 - float(power) - float(signal))
    return Found(plain(stack)["area_available"], said)


def _full(cap: str, efficiency: str) -> Mapping[str, float]:
    """Cores of 1 W, as many as a power leaves through supplies of an efficiency."""
    cores = float(cap) * float(efficiency)
    return plain({"count.system": cores, "power_efficiency.system": float(efficiency)})


@answers("q1")
def _dynamic_power_found(cap: str, efficiency: str) -> Found:
    return Found(_full(cap, efficiency)["power_dynamic"], float(cap) * float(efficiency))


@answers("q1:drawn")
def _drawn(cap: str, efficiency: str) -> Found:
    return Found(_full(cap, efficiency)["power"], float(cap))


@answers("q2")
def _traffic(missed: str, line: str) -> Found:
    misses = {"miss_rate.L2": float(missed), "misprediction_rate": 0.05}
    branch = paper.mispredicted(LENGTH, FRONT, ROB, ALP) * CONTROL * misses["misprediction_rate"]
    cycles = 1 / ALP + branch + paper.l2data(DRAM, ROB, ALP, float(missed)) * MOVED
    return Found(power7(misses)["memory_traffic"], CLOCK / cycles * float(missed) * MOVED * float(line))


@answers("q3")
def _cores(asked: str) -> Found:
    limited = of("table3", SUPPLIED, {"demand.socket": float(asked)})["core_limit.socket"]
    supply = CELLS["n_2_io"] * CELLS["B_0_dmo"] / 8
    return Found(limited, supply / (float(asked) * CELLS["f_0"]))


@answers("q4")
def _to_caches(units: str, transistors: str) -> Found:
    """Units of three kinds, so many each, and a cache of 256 KiB with six transistors a bit."""
    kinds, each, size, byte = ("INT", "SFP", "DFP"), float(transistors), 2.0**18, 48.0
    chip = {f"functional_units.{k}": float(units) for k in kinds}
    chip |= {f"unit_transistors.{k}": each for k in kinds}
    chip |= {"cache.L2": size, "cache_transistors.L2": byte}
    return Found(plain(chip)["unit_to_cache_area"], len(kinds) * float(units) * each / (size * byte))
