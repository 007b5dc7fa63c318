"""What the paper prints, beside the model: stack of the POWER7, power of pins, ohmic loss, work by level."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dse import machines

System = Callable[..., dict[str, Any]]


def machine(name: str) -> dict[str, float]:
    return {f"machine.{k}": v for k, v in machines.get(name).parameters.items()}


POWER7 = machine("power7-exabounds2012")


def test_the_stack_of_the_power7_with_stated_miss_rates(system: System):
    """Hand-computed: n̂ = 4, memory 400 cycles, 48/4 = 12 cycles hidden, (54 + 48)/4 = 25.5 to resolve a branch."""
    rates = {"miss_rate.L1I": 0.01, "miss_rate.ITLB": 1e-4, "miss_rate.L1D": 0.05, "miss_rate.L2": 0.01}
    got = system(POWER7 | rates | {"misprediction_rate": 0.05})
    assert got["cpi.base"] == pytest.approx(0.25)
    assert got["cpi.icache"] == pytest.approx(8 * 0.01 + 400 * 1e-4)
    assert got["cpi.branch"] == pytest.approx((20 + 25.5) * 0.15 * 0.05)
    assert got["cpi.l1data"] == pytest.approx(8 * 0.05 * 0.5)
    assert got["cpi.l2data"] == pytest.approx((400 - 12) * 0.01 * 0.5)
    assert got["cpi.bandwidth"] == 0
    # half of the misses of L2 find their data in L3, 25 cycles away
    found = system(POWER7 | rates | {"miss_rate.L3": 0.5})["cpi.l2data"]
    assert found == pytest.approx((388 * 0.5 + 13 * 0.5) * 0.01 * 0.5)


def test_queueing_is_demand_over_supply_and_nothing_where_that_is_ample(system: System):
    """100 GB/s for 8 cores are 3.125 B per cycle and core: 6.25 asked for take twice as long, and 3 no longer."""
    for asked, slow in ((3.0, 1.0), (3.125, 1.0), (6.25, 2.0), (31.25, 10.0)):
        got = system(POWER7 | {"demand.socket": asked})
        assert got["cpi.bandwidth"] == pytest.approx(0.25 * (slow - 1), abs=1e-12)
        assert got["cpi"] == pytest.approx(0.25 * slow)
        assert got["core_limit.socket"] == pytest.approx(25 / asked)


@pytest.mark.parametrize(("gigabits", "milliwatts"), [(5, 13.5), (10, 35.9), (20, 136.6), (15, 75)])
def test_the_power_of_a_pin(system: System, gigabits: float, milliwatts: float):
    """(21) times the rate; at 15 Gb/s its own source measured 75 mW."""
    got = system({"machine.bit_rate.socket": gigabits * 1e9 / 8})
    assert 1e3 * got["pin_power.socket"] == pytest.approx(milliwatts, rel=5e-3 if gigabits != 15 else 1e-1)


def test_five_watts_are_lost_by_a_hundred_amperes(system: System):
    """(20) at 300 mΩ and 600 pins."""
    pins = {"machine.supply_resistance.socket": 0.3, "machine.supply_pins.socket": 600.0}
    # 1 nF at 1 V and 100 GHz are 100 W
    got = system(pins | {"machine.frequency": 100e9})
    assert got["power_dynamic"] == pytest.approx(100)
    assert got["power_ohmic"] == pytest.approx(5.0)
    halved = system(pins | {"machine.frequency": 100e9, "machine.supply_voltage.socket": 2.0})
    assert halved["power_ohmic"] == pytest.approx(1.25)


def test_the_price_of_energy_is_15_cents_a_kilowatt_hour(system: System):
    got = system({"lifetime": 3600.0, "machine.frequency": 1e12})
    assert got["power"] == pytest.approx(1000)
    assert got["cost_energy"] == pytest.approx(0.149, abs=5e-4)


def test_yearly_energy_of_table_1_and_its_missing_share_at_peak(system: System):
    """i.MX515: 3.3 MW idle for 1e18 flop/s; printed are 0.86 MUSD, idle 20 % of the year; at peak 2.5 nJ/flop more."""
    year, price = 8760 * 3600.0, 0.15 / 3.6e6
    # a core of 1 V that leaks 3.3 MA and switches 2.5 GW less 3.3 MW
    x = {
        "machine.leakage_current": 3.3e6,
        "machine.dynamic_capacitance": 2.5 - 3.3e-3,
        "machine.frequency": 1e9,
        "lifetime": year,
        "energy_price": price,
    }
    idle = system(x | {"peak_share": 0.0, "idle_share": 0.2})
    assert idle["cost_energy"] == pytest.approx(0.86e6, rel=0.02)
    whole = system(x | {"peak_share": 0.8, "idle_share": 0.2})
    assert whole["power"] == pytest.approx(2.5e9)
    assert whole["cost_energy"] == pytest.approx(0.8 * 2.5e9 * year * price + idle["cost_energy"])


def test_work_by_level(system: System):
    """Table 2 on Table 3: 120e12 instructions divided by 8 aisles, 16 racks, 6 units, 10 cards, 2 sockets, 8 cores."""
    got = system(machine("table3-exabounds2012") | {"instructions": 120e12})
    left = 120e12
    for level, many in (
        ("aisle", 8),
        ("rack", 16),
        ("unit", 6),
        ("card", 10),
        ("socket", 2),
        ("die", 1),
        ("core", 8),
    ):
        left /= many
        assert got[f"work.{level}"] == pytest.approx(left), level
    # 10e9 instructions, as in Table 2, are those of 12000 units
    spread = system({"instructions": 120e12, "machine.count.system": 12000.0})
    assert spread["work.aisle"] == pytest.approx(10e9)


def test_parallelism_bounds_the_units_that_work(system: System):
    """100 cores share work that 7 can do at a time; of 10 cores of which 5 % are under repair 9.5 do."""
    few = system({"machine.count.die": 100.0, "parallelism.die": 7.0})
    assert few["work.core"] == pytest.approx(1e12 / 7)
    failing = {"machine.failure_rate.core": 1e-6, "machine.repair_time.core": 0.05e6}
    lost = system({"machine.count.die": 10.0, **failing})
    assert lost["work.core"] == pytest.approx(1e12 / 9.5)
    assert system({"machine.count.die": 10.0, **failing, "parallelism.die": 8.0})[
        "work.core"
    ] == pytest.approx(1e12 / 8)


def test_mean_time_between_failures_falls_with_the_number_of_units(system: System):
    """A million sockets of 100 FIT fail every 10 hours; with ten thousand cards of 200 FIT still sooner."""
    fit = 1e-9 / 3600
    x = {"machine.count.card": 100.0, "machine.count.unit": 1e4, "machine.failure_rate.socket": 100 * fit}
    assert system(x)["mtbf"] == pytest.approx(10 * 3600)
    both = system(x | {"machine.failure_rate.card": 200 * fit})
    assert both["mtbf.card"] == pytest.approx(500 * 3600)
    assert both["mtbf"] == pytest.approx(3600 / (1 / 10 + 1 / 500))


def test_the_fastest_clock_and_its_limit_agree(system: System):
    """(18) at 1.2 V over a threshold of 0.4 V: K 0.8^1.3/1.2; the limit is reached there and nowhere below."""
    x = {"machine.clock_constant": 5e9, "machine.clock_exponent": 1.3, "machine.voltage": 1.2}
    x |= {"machine.threshold_voltage": 0.4}
    fastest = 5e9 * 0.8**1.3 / 1.2
    got = system(x | {"machine.frequency": fastest})
    assert got["max_frequency"] == pytest.approx(fastest)
    assert got["clock"] == pytest.approx(1.0)
    assert system(x | {"machine.frequency": 1.01 * fastest})["clock"] > 1
    assert system(x | {"machine.frequency": 0.99 * fastest})["clock"] < 1
    below = system(x | {"machine.voltage": 0.3})
    assert below["max_frequency"] == 0
    assert below["threshold"] > 1
    assert below["clock"] > 1


def test_leakage_falls_a_decade_for_each_60_millivolts_at_300_kelvin(system: System):
    """kT/q ln 10 at 300 K."""
    x = {"machine.leakage_current": 1.0, "machine.temperature": 300.0}
    powers = [system(x | {"machine.threshold_voltage": v})["power_leakage"] for v in (0.0, 0.0595, 0.119)]
    assert powers[0] == pytest.approx(1.0)
    assert powers[1] == pytest.approx(0.1, rel=2e-3)
    assert powers[2] == pytest.approx(0.01, rel=4e-3)


def test_the_effective_area_of_a_stack_and_what_fits_on_it(system: System):
    """(27): two layers of 200 mm² less 10 % and 5 % of vias are 340 mm²; at 2e12 per m² 680 million fit."""
    stack = {
        "machine.die_area": 200e-6,
        "machine.stacked_dies": 2.0,
        "machine.power_via_share": 0.10,
        "machine.signal_via_share": 0.05,
        "machine.transistor_density": 2e12,
    }
    got = system(stack | {"machine.transistors.core": 85e6, "machine.count.die": 8.0})
    assert got["area_available"] == pytest.approx(340e-6)
    assert got["area_needed"] == pytest.approx(340e-6)
    assert got["area"] == pytest.approx(1.0)


def test_caches_four_times_as_large_miss_half_as_often(system: System):
    """The √2 rule behind (9), at most one miss per access."""
    x = {"machine.latency.L2": 10.0, "miss_rate.L1D": 0.2, "measured_cache.L1D": 32.0}
    for size, rate in ((32, 0.2), (128, 0.1), (8, 0.4), (0.5, 1.0)):
        got = system(x | {"machine.cache.L1D": float(size)})
        assert got["cpi.l1data"] == pytest.approx(10 * rate * 0.5)


def test_the_ridge_of_the_roofline(system: System):
    """POWER7: 8 cores of 4 instructions at 4 GHz over 100 GB/s; at half an access of 8 bytes each 25 G/s remain."""
    got = system(POWER7 | {"data_share.socket": 0.5})
    assert got["ridge.socket"] == pytest.approx(128e9 / 100e9)
    assert got["roofline.socket"] == pytest.approx(100e9 / 4)
    assert system(POWER7)["roofline.socket"] == pytest.approx(128e9)


@pytest.mark.parametrize(("name", "cores"), [("wimpy", 24), ("brawny", 8)])
def test_the_systems_of_figure_20(system: System, name: str, cores: int):
    assert system(machine(f"{name}-exabounds2012"))["cores"] == cores


def test_money_is_spent_once(system: System):
    """Design is paid once however many units there are, hardware for each; a spare socket costs what a socket does."""
    x = {
        "machine.count.card": 10.0,
        "machine.packaging_cost.socket": 100.0,
        "machine.packaging_cost.card": 50.0,
        "machine.failure_rate.socket": 1e-6,
        "machine.supply_cost": 2.0,
        "nre_cost.die": 1000.0,
        "lifetime": 1e6,
    }
    got = system(x)
    assert got["cost_hardware"] == pytest.approx(1050)
    assert got["cost_nre"] == 1000
    assert got["cost_spares"] == pytest.approx(10 * 1e-6 * 100 * 1e6)
    assert got["cost_supply"] == pytest.approx(2.0 * got["power"])
    assert got["cost"] == pytest.approx(
        sum(got[f"cost_{p}"] for p in ("hardware", "nre", "spares", "supply", "energy"))
    )
    # silicon: 8e-19 USD for each hertz and transistor
    chips = system({"machine.silicon_cost": 8e-19, "machine.transistors.core": 1e9, "machine.count.die": 4.0})
    assert chips["cost_hardware"] == pytest.approx(4 * 8e-19 * 1e9 * 1e9)
    # what a die is said to have besides is no part of (26)
    stated = {"machine.silicon_cost": 8e-19, "machine.transistors.core": 1e9, "machine.transistors.die": 1e11}
    assert system(stated)["cost_hardware"] == pytest.approx(8e-19 * 1e9 * 1e9)


def test_cells_of_the_tables_that_are_in_doubt_say_so():
    """Rows shifted or merged, units that cannot be, second values in parentheses."""
    power7, example = (machines.get(f"{n}-exabounds2012").doubts for n in ("power7", "table3"))
    assert {"pipeline_length", "bandwidth.die", "latency.L3"} <= set(power7)
    assert "125 cycles" in power7["latency.L3"]
    doubtful = {
        "count.die",
        "io_pins.card",
        "supply_resistance.socket",
        "transistors.core",
        "transistors.die",
    }
    assert {*doubtful, "transistor_density"} <= set(example)
    assert "300 milliohm" in example["supply_resistance.socket"]


def test_the_example_system_runs_the_example_application(system: System):
    """Tables 2 and 3: 122 880 cores at 4 GHz, four instructions of which are parallel but one is issued."""
    got = system(machine("table3-exabounds2012") | {"instructions": 120e12})
    assert got["cores"] == 8 * 2 * 10 * 6 * 16 * 8
    assert got["time"] == pytest.approx(120e12 / 122880 / 4e9)
    assert got["area"] < 1
