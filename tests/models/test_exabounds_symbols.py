"""Every symbol of Tables 2 to 4 moves the metrics that it should; more of a thing never does the opposite."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse import machines, models
from dse.models.exabounds import EXABOUNDS, reuse
from dse.models.model import evaluate
from dse.models.shared.structure import Parts, Row
from dse.papers.sources import table

System = Callable[..., dict[str, Any]]
MACHINE = {f"machine.{k}": v for k, v in machines.get("contrived-exabounds").parameters.items()}
USED = MACHINE | {
    "misprediction_rate": 0.05,
    "miss_rate.L1I": 0.01,
    "miss_rate.ITLB": 1e-4,
    "miss_rate.L1D": 0.05,
    "miss_rate.L2": 0.02,
    "miss_rate.L3": 0.4,
    "demand.socket": 4.0,
    "data_share.socket": 0.1,
    "parallelism.card": 1.5,
    "overhead_work.rack": 1e6,
    "machine.die_area": 300e-6,
    "machine.transistor_density": 2e12,
}
# symbol of the paper, quantity, factor, metrics that grow, metrics that fall
TABLE_2 = (
    ("L_sys", "instructions", 2, ("time", "energy", "work.core", "work.aisle"), ()),
    ("F_dmo at level 0", "data_share.core", 1.5, ("cpi.l1data", "cpi.l2data", "memory_traffic"), ()),
    ("F_dmo at level 2", "data_share.socket", 2, (), ("roofline.socket",)),
    ("B_app_dmo", "demand.socket", 2, ("cpi.bandwidth", "time"), ("core_limit.socket",)),
    ("ALP_0", "parallelism.core", 0.5, ("cpi.base", "cpi.branch", "time"), ("performance",)),
    ("ALP_3", "parallelism.card", 0.8, ("work.core", "time"), ()),
    ("D_data-reuse, by its miss rates", "miss_rate.L1D", 2, ("cpi.l1data",), ()),
    ("D_data-reuse, by its miss rates", "miss_rate.L2", 2, ("cpi.l2data",), ()),
    ("D_instr-reuse, by its miss rates", "miss_rate.L1I", 2, ("cpi.icache",), ()),
    ("D_instr-reuse, by its miss rates", "miss_rate.ITLB", 2, ("cpi.icache",), ()),
    ("F_ctrl", "control_share", 2, ("cpi.branch",), ()),
)
TABLE_3 = (
    ("B_dmo", "machine.bit_rate.socket", 2, ("pin_power.socket",), ()),
    ("T_dmo", "machine.latency.DRAM", 2, ("cpi.icache", "cpi.l2data"), ()),
    ("M_0", "machine.memory.socket", 2, ("power_memory", "power.socket", "energy"), ()),
    ("n_bits", "machine.datapath_width", 2, (), ("roofline.socket",)),
    ("n_pipe", "machine.pipeline_length", 2, ("cpi.branch",), ()),
    ("n_INT", "machine.functional_units.INT", 2, ("transistors_per_core", "unit_to_cache_area"), ()),
    ("n_SFP", "machine.functional_units.SFP", 2, ("transistors_per_core", "unit_to_cache_area"), ()),
    ("n_DFP", "machine.functional_units.DFP", 2, ("transistors_per_core", "unit_to_cache_area"), ()),
    ("n_xcore", "machine.transistors.core", 2, ("transistors_per_core", "area_needed", "cost_hardware"), ()),
    ("n_1", "machine.count.die", 2, ("cores", "power.die"), ("work.core",)),
    ("n_2_die", "machine.count.socket", 2, ("cores", "power.socket"), ("work.core",)),
    ("R_supply", "machine.supply_resistance.socket", 2, ("power_ohmic", "power"), ()),
    ("n_3", "machine.count.card", 2, ("cores", "cost_hardware"), ("mtbf",)),
    ("n_4", "machine.count.unit", 2, ("cores", "cost_hardware"), ("mtbf", "work.core")),
    ("n_5", "machine.count.rack", 2, ("cores", "cost_hardware"), ("mtbf", "work.core")),
    ("n_6", "machine.count.aisle", 2, ("cores", "cost_hardware"), ("mtbf", "work.core")),
    ("n_7", "machine.count.system", 2, ("cores", "cost_hardware"), ("mtbf", "work.core")),
    ("f_0", "machine.frequency", 1.2, ("power_dynamic", "clock", "cpi.bandwidth", "cost_hardware"), ()),
    ("V_0", "machine.voltage", 1.2, ("power_dynamic", "power_leakage", "max_frequency"), ("clock",)),
    ("V_t", "machine.threshold_voltage", 1.2, ("clock",), ("power_leakage", "max_frequency")),
    ("n_xpc", "machine.transistors.die", 2, ("transistors_per_die",), ()),
    ("n_apd", "machine.die_area", 2, ("area_available",), ("area",)),
    ("n_xpc/n_apd", "machine.transistor_density", 2, (), ("area_needed", "area")),
    ("n_supply", "machine.supply_pins.socket", 1.2, ("pins.socket",), ("power_ohmic",)),
    ("n_io", "machine.io_pins.socket", 1.2, ("pins.socket",), ()),
)
TABLE_4 = (
    ("B_0 n_io", "machine.bandwidth.core", 2, ("core_limit.core", "roofline.core"), ("cpi.bandwidth",)),
    ("B_1 n_io", "machine.bandwidth.die", 2, ("core_limit.die", "roofline.die"), ("cpi.bandwidth",)),
    ("B_2 n_io", "machine.bandwidth.socket", 2, ("core_limit.socket", "roofline.socket"), ("cpi.bandwidth",)),
    ("T_0", "machine.latency.L2", 2, ("cpi.icache", "cpi.l1data"), ()),
    ("T_1", "machine.latency.L3", 2, ("cpi.l2data",), ()),
    ("M_0", "machine.cache.L2", 2, ("transistors_per_core",), ("unit_to_cache_area",)),
    ("M_1", "machine.cache.L3", 2, ("area_needed",), ()),
    ("n_front", "machine.frontend_capacity", 2, ("cpi.branch",), ()),
    ("n_ROB", "machine.reorder_buffer", 2, ("cpi.branch",), ("cpi.l2data",)),
    ("issue width n_0", "machine.count.core", 0.5, ("cpi.base", "time"), ()),
)
# 0 in the contrived machine, or absent: what else a symbol needs to count
BESIDE = {
    "machine.bandwidth.core": {
        "machine.bandwidth.core": 1e8,
        "demand.core": 8.0,
        "data_share.core": 1.0,
        "demand.socket": 0.0,
    },
    "machine.bandwidth.die": {
        "machine.bandwidth.die": 1e8,
        "demand.die": 8.0,
        "data_share.die": 1.0,
        "demand.socket": 0.0,
    },
    "machine.functional_units.SFP": {
        "machine.functional_units.SFP": 1.0,
        "machine.unit_transistors.SFP": 1e5,
    },
    "machine.transistors.die": {"machine.transistors.die": 1e9},
    "machine.cache.L3": {"machine.cache_transistors.L3": 48.0},
}


@pytest.mark.parametrize(("symbol", "name", "factor", "grow", "fall"), [*TABLE_2, *TABLE_3, *TABLE_4])
def test_every_symbol_moves_what_it_should(
    system: System, symbol: str, name: str, factor: float, grow: tuple[str, ...], fall: tuple[str, ...]
):
    x = USED | {"machine.datapath_width": 8.0, "machine.count.socket": 1.0, "parallelism.core": 4.0}
    x |= {f"machine.count.{level}": 2.0 for level in ("aisle", "system")}
    x |= {"data_share.core": 0.5, "control_share": 0.15, "instructions": 1e12} | BESIDE.get(name, {})
    before, after = system(x), system(x | {name: x[name] * factor})
    assert grow or fall, symbol
    for metric in grow:
        assert after[metric] > before[metric] * (1 + 1e-9), (symbol, metric)
    for metric in fall:
        assert after[metric] < before[metric] * (1 - 1e-9), (symbol, metric)


# the names of the printed tables' rows in our copies of them, and the quantities that they are here
COPIES = {
    "exabounds2012/table2_app": {
        "L_sys": "instructions",
        "F_i_dmo": "data_share.core",
        "B_app_i_dmo": "demand.socket",
        "ALP_0": "parallelism.core",
        "F_0_ctrl": "control_share",
    },
    "exabounds2012/table3_hw": {
        "B_0_dmo": "machine.bit_rate.socket",
        "T_0_dmo": "machine.latency.DRAM",
        "M_0": "machine.memory.socket",
        "n_0_bits": "machine.datapath_width",
        "n_0_pipe": "machine.pipeline_length",
        "n_0_INT": "machine.functional_units.INT",
        "n_0_SFP": "machine.functional_units.SFP",
        "n_0_DFP": "machine.functional_units.DFP",
        "n_0_xcore": "machine.transistors.core",
        "n_2_die": "machine.count.socket",
        "R_2_supply": "machine.supply_resistance.socket",
        "n_3_io": "machine.io_pins.socket",
        "n_3": "machine.count.card",
        "n_4": "machine.count.unit",
        "n_5": "machine.count.rack",
        "n_6": "machine.count.aisle",
        "n_7": "machine.count.system",
        "f_0": "machine.frequency",
        "V_0": "machine.voltage",
        "V_t": "machine.threshold_voltage",
        "n_0_xpc": "machine.transistors.die",
        "n_1_apd": "machine.die_area",
        "rho_xistor": "machine.transistor_density",
        "n_2_supply": "machine.supply_pins.socket",
        "n_2_io": "machine.io_pins.socket",
    },
    "exabounds2012/table4_power7": {
        "BW_0": "machine.bandwidth.core",
        "BW_1": "machine.bandwidth.die",
        "BW_2": "machine.bandwidth.socket",
        "T_0_dmo": "machine.latency.L2",
        "T_1_dmo": "machine.latency.L3",
        "T_2_dmo": "machine.latency.DRAM",
        "M_0": "machine.cache.L2",
        "M_1": "machine.cache.L3",
        "n_0_bits": "machine.datapath_width",
        "n_0_pipe": "machine.pipeline_length",
        "n_0_front": "machine.frontend_capacity",
        "n_0_ROB": "machine.reorder_buffer",
        "n_0_INT": "machine.functional_units.INT",
        "n_0_DPFP": "machine.functional_units.DFP",
        "n_1_cor": "machine.count.die",
        "n_2_die": "machine.count.socket",
        "f_0": "machine.frequency",
        "n_1_apd": "machine.die_area",
        "n_0_tpc": "machine.transistors.die",
    },
}
# worked out from L_sys (the metric work.<level>), or lists of a question: see the tests of histograms
DERIVED_OR_LISTED = {"L_i", "D_i_data_reuse", "D_0_instr_reuse"}


@pytest.mark.parametrize("name", COPIES)
def test_no_symbol_of_the_tables_is_left_out(name: str):
    """Every row of the copies is a quantity of the model that the test above moves."""
    moved = {quantity for _, quantity, *_ in (*TABLE_2, *TABLE_3, *TABLE_4)}
    printed = {row["symbol"] for row in table(name)}
    assert printed == set(COPIES[name]) | (printed & DERIVED_OR_LISTED)
    assert set(COPIES[name].values()) <= moved
    assert moved <= set(models.get("exabounds").parameters())


def test_the_histograms_of_table_2_move_the_misses():
    """D_data-reuse and D_instr-reuse: a share that moves beyond a cache is missed by it, and waited for."""
    assert EXABOUNDS.expand is not None
    near_far = (Row("near"), Row("far"))
    model = EXABOUNDS.expand(Parts(rows={"data_reuse": near_far, "instruction_reuse": near_far}))
    base = {k: q.default for k, q in model.parameters().items() if q.default is not None} | USED
    base |= {"instructions": 1e12}

    def run(data: float, instructions: float) -> Mapping[str, Any]:
        x = dict(base)
        for name, far in (("data_reuse", data), ("instruction_reuse", instructions)):
            x |= {f"{name}.near.distance": 64.0, f"{name}.near.share": 1 - far}
            x |= {f"{name}.far.distance": 1e9, f"{name}.far.share": far}
        return evaluate(model, x)

    few, more_data, more_code = run(0.01, 0.01), run(0.02, 0.01), run(0.01, 0.02)
    for metric in ("misses.L1D", "misses.L2", "misses.L3", "cpi.l1data", "cpi.l2data", "time"):
        assert more_data[metric] > few[metric] * (1 + 1e-9), metric
    for metric in ("misses.L1I", "cpi.icache", "time"):
        assert more_code[metric] > few[metric] * (1 + 1e-9), metric


def test_a_larger_buffer_asks_less_of_its_link(system: System):
    """(9): the bandwidth demanded falls, and with it what is available grows, with the root of the size."""
    x = {"demand.socket": 4.0, "measured_buffer.socket": 1e6, "machine.bandwidth.socket": 40e9}
    measured, larger = (system(x | {"machine.buffer.socket": size}) for size in (1e6, 16e6))
    assert larger["core_limit.socket"] == pytest.approx(4 * measured["core_limit.socket"])


def test_pins_with_a_rate_are_a_bandwidth(system: System):
    """B times n_io where no bandwidth is stated; so pins taken for supply cost bandwidth."""
    x = {"demand.socket": 2.0, "machine.io_pins.socket": 64.0, "machine.bit_rate.socket": 1e9 / 8}
    assert system(x)["core_limit.socket"] == pytest.approx(64e9 / 8 / 2e9)
    assert system(x | {"machine.io_pins.socket": 128.0})["core_limit.socket"] == pytest.approx(8)


LEVELS = st.sampled_from(["die", "socket", "card", "unit", "rack", "aisle", "system"])


@settings(max_examples=30, deadline=None)
@given(
    level=LEVELS,
    counts=st.tuples(st.integers(1, 64), st.integers(1, 64)),
    without=st.sampled_from(["overhead_work.rack", "demand.socket"]),
)
def test_more_units_never_slow_an_application_with_enough_parallelism(
    system: System, level: str, counts: tuple[int, int], without: str
):
    """More units that queue for a link wait, but do no less, unless each brings overhead of its own to the queue."""
    x = {k: v for k, v in USED.items() if not k.startswith("parallelism") and k != without}
    few, many = (system(x | {f"machine.count.{level}": float(n)})["time"] for n in sorted(counts))
    assert many <= few * (1 + 1e-12)


@settings(max_examples=30, deadline=None)
@given(clocks=st.tuples(st.floats(1e6, 1e10), st.floats(1e6, 1e10)))
def test_a_faster_clock_never_slows_where_bandwidth_is_ample(system: System, clocks: tuple[float, float]):
    """Memory stays as far away in time, and the reorder buffer hides less of it."""
    x = {k: v for k, v in USED.items() if k != "demand.socket"}
    slow, fast = (system(x | {"machine.frequency": f})["time"] for f in sorted(clocks))
    assert fast <= slow * (1 + 1e-12)


@settings(max_examples=30, deadline=None)
@given(volts=st.tuples(st.floats(0.0, 3.0), st.floats(0.0, 3.0)), exponent=st.floats(1.0, 2.0))
def test_a_higher_voltage_never_lowers_the_fastest_clock(
    system: System, volts: tuple[float, float], exponent: float
):
    """For exponents of at least 1: below, (18) itself falls at high voltages."""
    x = MACHINE | {"machine.clock_exponent": exponent}
    low, high = (system(x | {"machine.voltage": max(v, 1e-3)}) for v in sorted(volts))
    assert high["max_frequency"] >= low["max_frequency"] * (1 - 1e-12)


@settings(max_examples=30, deadline=None)
@given(
    prices=st.tuples(st.floats(0, 1e-6), st.floats(0, 1e-6)),
    peak=st.floats(0, 1),
    lifetime=st.none() | st.floats(0, 1e9),
)
def test_cost_never_falls_with_the_price_of_energy(
    system: System, prices: tuple[float, float], peak: float, lifetime: float | None
):
    x = (
        USED
        | {"peak_share": peak, "idle_share": 1 - peak}
        | ({} if lifetime is None else {"lifetime": lifetime})
    )
    low, high = (system(x | {"energy_price": p})["cost"] for p in sorted(prices))
    assert high >= low


@settings(max_examples=30, deadline=None)
@given(
    shares=st.lists(st.floats(0, 1), min_size=1, max_size=50).filter(lambda s: sum(s) > 0),
    sizes=st.tuples(st.floats(64, 1e4), st.floats(64, 1e4)),
    cold=st.floats(0, 0.5),
)
def test_a_larger_cache_never_misses_more(shares: list[float], sizes: tuple[float, float], cold: float):
    """And misses what never was used before, whatever its size."""
    histogram = np.array(shares) / sum(shares) * (1 - cold)
    small, large = reuse.miss_rates(histogram, sorted(sizes), cold=cold)
    assert 1 + 1e-9 >= small >= large >= cold


def test_a_histogram_is_read_by_lines():
    """Distances 0 to 3 with 40, 30, 20, 10 %: a cache of two lines misses the last two."""
    assert reuse.from_histogram([0.4, 0.3, 0.2, 0.1], 128) == pytest.approx(0.3)
    assert reuse.from_histogram([0.4, 0.3, 0.2, 0.1], 191) == pytest.approx(0.3)
    assert reuse.from_histogram([0.4, 0.3, 0.2, 0.1], 1e6) == 0
    assert reuse.from_histogram([0.4, 0.3, 0.2], 1e6, cold=0.1) == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("histogram", "size", "words"),
    [
        ([0.5, 0.4], 128, "sum to 0.9, not to 1"),
        ([12.0, 30.0], 128, "divide counts by their sum"),
        ([0.5, -0.5, 1.0], 128, "share at distance 1 is -0.5"),
        ([0.5, float("nan")], 128, "share at distance 1 is nan"),
        ([], 128, "one share per distance"),
        ([1.0], 0, "sizes in bytes are positive"),
    ],
)
def test_what_is_no_histogram_is_refused_in_words(histogram: list[float], size: float, words: str):
    with pytest.raises(ValueError, match=words):
        reuse.from_histogram(histogram, size)
