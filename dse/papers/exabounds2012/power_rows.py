"""Equations (17) to (27): power, reliability, cost and area, and the four questions of section 5.1."""

from __future__ import annotations

from collections.abc import Mapping
from math import exp, log

from dse.papers.exabounds2012 import formulas as paper
from dse.papers.exabounds2012.formulas import Stage
from dse.papers.exabounds2012.rows import derived, printed
from dse.papers.exabounds2012.systems import SUPPLIED, of, plain, power7
from dse.papers.report import Row

HOUR = 3600.0
FIT = 1e-9 / HOUR
# Table 3's voltages
VOLTAGE, THRESHOLD = 1.2, 0.4
K_V, K_ALPHA = 5e9, 1.3
K_PWR = 4.14e-8
REFERENCE_6 = {5.0: "14", 15.0: "75"}


def rows() -> list[Row]:
    """Sections 4.5 to 4.8 and 5.1."""
    return [*_core(), *_tower(), *_pins(), *_failures(), *_money(), *_area(), *_questions()]


def at_voltage(voltage: float, exponent: float = K_ALPHA) -> Mapping[str, float]:
    """Return all metrics of a core with Table 3's threshold at its fastest clock (18) for a voltage."""
    technology = {"clock_constant": K_V, "clock_exponent": exponent, "threshold_voltage": THRESHOLD}
    fastest = plain(technology | {"voltage": voltage, "frequency": 1e3})["max_frequency"]
    # a hair below it, since the limit is an equality there
    return plain(technology | {"voltage": voltage, "frequency": fastest * (1 - 1e-12)})


def _core() -> list[Row]:
    leak, kelvin, clock = 1e5, 340.0, 4e9
    hardware = {
        "frequency": clock,
        "voltage": VOLTAGE,
        "threshold_voltage": THRESHOLD,
        "leakage_current": leak,
    }
    ours = plain(hardware | {"temperature": kelvin}, activity=0.3)
    found = [
        derived(
            "e17",
            "1 nF, activity 0.3, 1.2 V, 4 GHz, 340 K, 100 kA",
            paper.core_power(1e-9, VOLTAGE, clock, 0.3, leak, THRESHOLD, kelvin),
            ours["power.core"],
            "W",
            remark="k_leak 1, K_pleak a current",
        )
    ]
    for voltage in (0.6, 0.9, 1.2):
        said = paper.fastest(K_V, voltage, THRESHOLD, K_ALPHA)
        item = f"{voltage:g} V over 0.4 V, K_V 5 GHz, K_alpha 1.3"
        found.append(derived("e18", item, said, at_voltage(voltage)["max_frequency"], "Hz"))
    slow, fast = plain({"frequency": 1e9}), plain({"frequency": 3e9})
    found.append(derived("linear", "three times the clock", 3.0, fast["power"] / slow["power"]))
    for exponent in (1.3, 1.8):
        low, high = at_voltage(0.8, exponent), at_voltage(VOLTAGE, exponent)
        ours_exponent = log(high["power"] / low["power"]) / log(high["performance"] / low["performance"])
        clocks = [paper.fastest(K_V, v, THRESHOLD, exponent) for v in (VOLTAGE, 0.8)]
        right = log((VOLTAGE / 0.8) ** 2 * clocks[0] / clocks[1]) / log(clocks[0] / clocks[1])
        item = f"exponent at K_alpha {exponent:g}"
        found.append(derived("square", item, 2.0, ours_exponent, corrected=right))
    return found


def _tower() -> list[Row]:
    amperes = {"supply_resistance.socket": 0.3, "supply_pins.socket": 600.0, "frequency": 100e9}
    ours = plain(amperes)
    socket = of("table3", dict(SUPPLIED) | {"supply_resistance.socket": 0.3, "supply_pins.socket": 600.0}, {})
    fed = socket["power.die"]
    pins, rate = 64, 1.0
    moved = of("table3", SUPPLIED, {})["power_data"] / (2 * 10 * 6 * 16 * 8)
    each = paper.per_gigabit(rate) * rate * 1e-3
    return [
        derived(
            "e20", "1 V, 100 W", 5.0, ours["power_ohmic"], "W", remark="the paper does not state the current"
        ),
        derived(
            "e20_forms",
            "a socket of Table 3, 1 nF a core",
            paper.ohmic(fed / VOLTAGE, 600, 0.3),
            socket["power_ohmic"] / (2 * 10 * 6 * 16 * 8),
            "W",
        ),
        derived("e19_b", "", each, moved, "W", corrected=pins * each, remark="1 Gb/s a pin"),
        *_levels(),
    ]


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


def _levels() -> list[Row]:
    ours, said = plain(SMALL), paper.powers(1.0, STAGES, SUPPLY_PINS)
    names = ("die", "socket", "card", "system")
    return [
        derived("e19", f"one {name}", power, ours[f"power.{name}"], "W")
        for name, power in zip(names, said[1:], strict=True)
    ]


def _pins() -> list[Row]:
    found = []
    for rate in (5.0, 10.0, 15.0, 20.0):
        pin = {"bit_rate.socket": rate * 1e9 / 8}
        ours = 1e3 * plain(pin)["pin_power.socket"]
        found.append(derived("e21", f"{rate:g} Gb/s", paper.per_gigabit(rate) * rate, ours, "mW"))
        if rate in REFERENCE_6:
            # a fit to several designs, which meets one of them to 4 %
            item, text = f"{rate:g} Gb/s", REFERENCE_6[rate]
            found.append(printed("e21_source", item, text, ours, "mW", slack=0.01, remark="a fit"))
    return found


def _failures() -> list[Row]:
    one = plain({"failure_rate.system": FIT})
    found = [derived("e22", "", 1e9, one["mtbf"] / HOUR, "h")]
    for n in (10, 1000):
        ours = plain({"failure_rate.card": 100 * FIT, "count.system": float(n)})["mtbf.card"] / HOUR
        said, right = paper.mtbf_printed(100e-9, n), 1.0 / (n * 100e-9)
        found.append(derived("e23", f"{n} cards of 100 FIT", said, ours, "h", corrected=right))
    several = [
        plain({"failure_rate.card": 100 * FIT, "count.system": n})["mtbf.card"] for n in (1.0, 10.0, 20.0)
    ]
    item = "20 against 10 units, over one unit"
    found.append(
        derived("e23_exp", item, exp(-10.0), several[2] / several[1], corrected=0.5, remark="printed: e^-n")
    )
    rate, repair, cores = 1e-6, 5e4, 100.0
    hardware = {"failure_rate.core": rate, "repair_time.core": repair, "count.die": cores}
    at_work = 1.0 / plain(hardware)["work.core"]
    return [
        *found,
        derived(
            "e24",
            "100 cores, 5 % under repair",
            cores - rate * repair,
            at_work,
            "core",
            corrected=cores * (1 - rate * repair),
        ),
    ]


def _money() -> list[Row]:
    ours = plain(dict(SMALL), **({"instructions": RUN} | dict(DESIGN)))
    power = paper.powers(1.0, STAGES, SUPPLY_PINS)
    time = RUN / (160 * 1e9)
    silicon = 8e-19 * 1e9 * 40e6
    said = paper.cost_printed(silicon, STAGES, power, K_PWR, time)
    right = paper.cost(silicon, STAGES, power, K_PWR, time)
    hour = plain({"frequency": 1e12}, lifetime=HOUR)
    found = [
        derived("e25", "160 cores, 1e15 instructions", said, ours["cost"], "USD", corrected=right),
        printed("kpwr", "", "0.15", hour["cost_energy"], "USD/kWh", remark="a kilowatt for an hour"),
    ]
    for each in (8e-19, 2e-19):
        chip = {"frequency": 4e9, "silicon_cost": each, "transistors.core": 40e6}
        item = f"{each:g} USD/Hz"
        found.append(
            derived("ksi", item, each * 4e9, plain(chip)["cost_hardware"], "USD", corrected=each * 4e9 * 40e6)
        )
    return found


def _area() -> list[Row]:
    stack = {"die_area": 200e-6, "stacked_dies": 4.0, "power_via_share": 0.05, "signal_via_share": 0.03}
    said = 200e-6 * 4 * (1 - 0.05 - 0.03)
    item = "4 dies of 200 mm^2, vias 5 % and 3 %"
    return [derived("e27", item, said, plain(stack)["area_available"], "m^2")]


def _questions() -> list[Row]:
    cap, efficiency, cores = 10e3, 0.92, 9200.0
    full = plain({"count.system": cores, "power_efficiency.system": efficiency})
    misses = {"miss_rate.L2": 0.01, "misprediction_rate": 0.05}
    memory = power7(misses)
    cycles = 1 / 4 + paper.mispredicted(20, 54, 48, 4) * 0.15 * 0.05 + paper.l2data(400, 48, 4, 0.01) * 0.5
    asked = 0.5
    limited = of("table3", SUPPLIED, {"demand.socket": asked})["core_limit.socket"]
    units, transistors = {"INT": 8.0, "SFP": 8.0, "DFP": 8.0}, 1e6
    chip = {f"functional_units.{k}": n for k, n in units.items()}
    chip |= {f"unit_transistors.{k}": transistors for k in units} | {"cache.L2": 2.0**18}
    chip |= {"cache_transistors.L2": 48.0}
    return [
        derived("q1", "9200 cores of 1 W", cap * efficiency, full["power_dynamic"], "W"),
        derived("q1", "drawn", cap, full["power"], "W"),
        derived(
            "q2",
            "POWER7, 1 % of accesses miss L2",
            4e9 / cycles * 0.01 * 0.5 * 64,
            memory["memory_traffic"],
            "byte/s",
            remark="lines of 64 bytes, half of the instructions access memory",
        ),
        derived(
            "q3",
            "Table 3: 64 pins of 1 Gb/s, 0.5 byte/cycle a core",
            64 * 1e9 / 8 / (asked * 4e9),
            limited,
            "core",
            remark="its 8 cores queue",
        ),
        derived(
            "q4",
            "24 units of 1e6 transistors, 256 KiB of 6 a bit",
            24 * transistors / (2**18 * 48),
            plain(chip)["unit_to_cache_area"],
        ),
    ]
