"""Tables 2 to 5 and Figure 20: every cell beside the catalogue or what the model makes of it."""

from __future__ import annotations

from dse.models.exabounds import EXABOUNDS
from dse.papers.exabounds2012.rows import derived, printed
from dse.papers.exabounds2012.systems import catalogue, of, plain
from dse.papers.report import Row
from dse.papers.sources import table

# our parameter of every row of Table 3 that has one reading, and how many of the file's unit ours has
TABLE_3 = {
    "B_0_dmo": ("bit_rate.socket", 8.0),
    "T_0_dmo": ("latency.DRAM", 1.0),
    "M_0": ("memory.core", 1.0),
    "n_0_bits": ("datapath_width", 8.0),
    "n_0_pipe": ("pipeline_length", 1.0),
    "n_0_INT": ("functional_units.INT", 1.0),
    "n_0_SFP": ("functional_units.SFP", 1.0),
    "n_0_DFP": ("functional_units.DFP", 1.0),
    "n_0_xcore": ("transistors.core", 1.0),
    "n_2_die": ("count.die", 1.0),
    "n_3_io": ("io_pins.card", 1.0),
    "n_3": ("count.card", 1.0),
    "n_4": ("count.unit", 1.0),
    "n_5": ("count.rack", 1.0),
    "n_6": ("count.aisle", 1.0),
    "n_7": ("count.system", 1.0),
    "f_0": ("frequency", 1.0),
    "V_0": ("voltage", 1.0),
    "V_t": ("threshold_voltage", 1.0),
    "n_1_apd": ("die_area", 1.0),
    "n_2_supply": ("supply_pins.socket", 1.0),
    "n_2_io": ("io_pins.socket", 1.0),
}
TABLE_4 = {
    "BW_0": ("bandwidth.core", 1.0),
    "BW_1": ("bandwidth.die", 1.0),
    "BW_2": ("bandwidth.socket", 1.0),
    "T_0_dmo": ("latency.L2", 1.0),
    "T_1_dmo": ("latency.L3", 1.0),
    "T_2_dmo": ("latency.DRAM", 4e9),
    "M_0": ("cache.L2", 1.0),
    "M_1": ("cache.L3", 1.0),
    "n_0_bits": ("datapath_width", 8.0),
    "n_0_front": ("frontend_capacity", 1.0),
    "n_0_ROB": ("reorder_buffer", 1.0),
    "n_0_INT": ("functional_units.INT", 1.0),
    "n_0_DPFP": ("functional_units.DFP", 1.0),
    "n_1_cor": ("count.die", 1.0),
    "n_2_die": ("count.socket", 1.0),
    "f_0": ("frequency", 1.0),
    "n_1_apd": ("die_area", 1.0),
    "n_0_tpc": ("transistors.die", 1.0),
}
FIGURE_20 = {
    "wimpy": {"core": 2, "die": 1, "socket": 1, "card": 24, "unit": 1},
    "brawny": {"core": 4, "die": 4, "socket": 1, "card": 2, "unit": 1},
}
TERABIT = 1e12 / 8


def rows() -> list[Row]:
    """Every cell of Tables 2 to 5 and the counts of Figure 20."""
    return [*_two(), *_three(), *_four(), *_five(), *_twenty()]


def _cells(statement: str, name: str, known: dict[str, tuple[str, float]], machine: str) -> list[Row]:
    found = []
    for row in table(name):
        if row["symbol"] not in known:
            continue
        parameter, scale = known[row["symbol"]]
        ours = catalogue(machine)[parameter] * scale
        remark = f"{parameter}; {row['note']}" if row["note"] else parameter
        found.append(
            derived(
                statement, row["description"], float(row["value_SI"]), ours, row["unit_SI"], remark=remark
            )
        )
    return found


def _two() -> list[Row]:
    cells = {row["symbol"]: row for row in table("exabounds2012_table2_app")}
    defaults = {q.name: q.default for q in EXABOUNDS.inputs if isinstance(q.default, float)}
    size = float(cells["L_sys"]["value_SI"])
    run = of("table3", {"dynamic_capacitance": 1e-9}, {"instructions": size})
    asked = plain(
        **{"demand.core": float(cells["B_app_i_dmo"]["value_SI"])}, hardware={"bandwidth.core": 1e9}
    )
    return [
        printed("t2", "overall workload size", "120e12", run["performance"] * run["time"], "instruction"),
        printed("t2", "instructions that move data", "0.5", defaults["data_share.core"]),
        printed("t2", "parallelism at level 0", "4", defaults["parallelism.core"]),
        printed("t2", "control instructions", "0.15", defaults["control_share"]),
        printed(
            "t2",
            "data movement per cycle",
            "0.5",
            1e9 / asked["core_limit.core"] / 1e9,
            "byte/cycle",
            remark="named accesses, but given in bytes: what a core of 1 GHz takes of 1 GB/s",
        ),
        derived(
            "t2_li",
            "one socket of Table 3",
            float(cells["L_i"]["value_SI"]),
            run["work.socket"],
            "instruction",
            corrected=size / (8 * 16 * 6 * 10 * 2),
        ),
    ]


def _three() -> list[Row]:
    cells = {row["symbol"]: float(row["value_SI"]) for row in table("exabounds2012_table3_hw")}
    stated = {k: v for k, v in catalogue("table3").items() if k != "transistor_density"}
    # without a density of its own the model takes that of the die
    ours = of(None, stated | {"dynamic_capacitance": 1e-9}, {}, "area")
    counted = ours["transistors_per_core"] * catalogue("table3")["count.die"]
    per_die, area = cells["n_0_xpc"], cells["n_1_apd"]
    lost = {r: _loss(r) for r in (cells["R_2_supply"], 0.3)}
    return [
        *_cells("t3", "exabounds2012_table3_hw", TABLE_3, "table3"),
        derived(
            "t3_density",
            "",
            cells["rho_xistor"],
            counted / ours["area_needed"],
            "1/m^2",
            corrected=per_die / area,
        ),
        derived("t3_die", "8 cores", per_die, counted, corrected=8 * cells["n_0_xcore"]),
        derived(
            "t3_ohm",
            "loss of 600 pins at 100 A",
            lost[cells["R_2_supply"]],
            lost[0.3],
            "W",
            corrected=(100.0 / 600) ** 2 * 0.3 * 600,
        ),
    ]


def _loss(resistance: float) -> float:
    pins = {"supply_resistance.socket": resistance, "supply_pins.socket": 600.0}
    return plain(hardware=pins | {"frequency": 100e9})["power_ohmic"]


def _four() -> list[Row]:
    cells = {row["symbol"]: float(row["value_SI"]) for row in table("exabounds2012_table4_power7")}
    width = cells["n_0_front"] / 9
    length = derived(
        "t4_pipe",
        "",
        cells["n_0_pipe"],
        catalogue("power7")["pipeline_length"],
        "cycle",
        corrected=cells["n_0_pipe"] / width,
    )
    return [*_cells("t4", "exabounds2012_table4_power7", TABLE_4, "power7"), length]


def _five() -> list[Row]:
    """Energies of a bit, as the power of moving 1 Tb/s: a picojoule a bit is a watt."""
    found = []
    for item, each in (
        ("on the die, optical", 90e-18),
        ("board", 2e-12),
        ("between boards, optical", 10e-12),
        ("20 mm on the die", 20 * 18e-15),
    ):
        moved = {"data_energy.socket": 8 * each, "bandwidth.socket": TERABIT}
        ours = plain(hardware=moved)["power_data"]
        found.append(derived("t5_bits", f"{item}, 1 Tb/s", each * 1e12, ours, "W"))
    return found


def _twenty() -> list[Row]:
    found = []
    for name, counts in FIGURE_20.items():
        for level, many in counts.items():
            ours = catalogue(name)[f"count.{level}"]
            found.append(derived("f20", f"{name}, n of {level}", float(many), ours))
        cores = of(name, {"frequency": 1e9, "voltage": 1.0, "dynamic_capacitance": 1e-9}, {})["cores"]
        expected = float(counts["die"] * counts["socket"] * counts["card"] * counts["unit"])
        found.append(derived("f20", f"{name}, cores", expected, cores))
    return found
