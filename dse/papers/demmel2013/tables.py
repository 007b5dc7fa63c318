"""Tables I and II: machine parameters from the data sheets, beside the print and the machine catalogue."""

from __future__ import annotations

from collections.abc import Mapping

from dse import machines
from dse.papers.demmel2013.symbols import greek
from dse.papers.report import Row
from dse.papers.sources import rounding, statements, table

PAPER = "demmel2013"
EXACT = 1e-12
CATALOGUE_DIGITS = 1e-5  # a catalogue may keep the printed digits of a value it does not correct


def rows() -> list[Row]:
    """Every derived value of both tables, and what the text says about them."""
    printed = {row["symbol"]: row for row in table("demmel2013_table1")}
    return [*_table_one(printed), *_units(printed), *_table_two(), _no_device_reaches_ten()]


def from_data_sheet(printed: Mapping[str, Mapping[str, str]]) -> dict[str, float]:
    """Machine parameters from the raw lines of Table I, by the recipes of section VI (SI)."""
    raw = {symbol: float(row["value_SI"]) for symbol, row in printed.items()}
    peak = raw["f_core"] * raw["simd"] * raw["cores_node"] * 2.0
    memory = raw["dimms_socket"] * 8.0 * 2.0**30 / raw["data_width"]
    time_per_word = raw["data_width"] / raw["link_bw"]
    return {
        "peak_fp": peak,
        "M": memory,
        "gamma_t": 1.0 / peak,
        "gamma_e": raw["tdp"] / peak,
        "beta_t": time_per_word,
        "beta_e": time_per_word * raw["link_active_power"],
        "delta_e": raw["dimms_socket"] * raw["dimm_power"] / memory,
        "alpha_t": raw["link_latency"],
        "alpha_e": raw["link_idle_power"] * raw["link_latency"],
        "epsilon_e": 0.0,
    }


def _table_one(printed: Mapping[str, Mapping[str, str]]) -> list[Row]:
    says, derived, found = statements(PAPER), from_data_sheet(printed), []
    corrected, as_printed = machines.get("jaketown").parameters, machines.get("jaketown-printed").parameters
    for symbol, value in derived.items():
        line = printed[symbol]
        wrong = says.get(f"t1_{symbol}")
        item, name = f"{line['quantity']} {greek(symbol)} = {greek(line['recipe'])}", line["parameter"]
        print_value, unit = float(line["value_printed"]), line["unit_printed"]
        if wrong:
            found.append(
                Row(
                    wrong,
                    item,
                    print_value,
                    corrected[name],
                    unit,
                    corrected=value,
                    tolerance=CATALOGUE_DIGITS,
                )
            )
        else:
            tolerance = max(rounding(line["value_printed"]), EXACT)
            recipe = value * float(line["per_print"])
            found.append(Row(says["t1_derived"], item, print_value, recipe, unit, tolerance=tolerance))
            if name:
                found.append(
                    Row(
                        says["t1_catalogue"],
                        greek(symbol),
                        print_value,
                        corrected[name],
                        unit,
                        tolerance=tolerance,
                    )
                )
        if name:
            found.append(
                Row(says["t1_printed"], greek(symbol), print_value, as_printed[name], unit, tolerance=EXACT)
            )
    return found


def _units(printed: Mapping[str, Mapping[str, str]]) -> list[Row]:
    """Return the two units that cannot be meant: Gb/s of the link, Gb of the memory modules."""
    says = statements(PAPER)
    width, rate = float(printed["data_width"]["value_SI"]), float(printed["link_bw"]["value_printed"]) * 1e9
    tolerance = rounding(printed["beta_t"]["value_printed"])
    time_per_word = machines.get("jaketown").parameters["time_per_word"]
    socket = float(printed["M"]["value_SI"]) * width
    return [
        Row(
            says["t1_link"],
            "βt from 25.6 Gb/s; corrected from 25.6 GB/s",
            width * 8.0 / rate,
            time_per_word,
            "s/word",
            corrected=width / rate,
            tolerance=tolerance,
        ),
        Row(
            says["t1_memory"],
            "2 x 4 x 2 modules of 8 Gb; corrected 8 GB (2^30 byte each)",
            16 * 2.0**30,
            2.0 * socket,
            "byte",
            corrected=128 * 2.0**30,
            tolerance=EXACT,
            remark="ours: two sockets of M words",
        ),
    ]


def _table_two() -> list[Row]:
    says, found = statements(PAPER), []
    for line in table("demmel2013_table2"):
        name, tdp = line["processor"], float(line["tdp_W"])
        lanes = float(line["clock_GHz"]) * float(line["cores"]) * float(line["simd"])
        per_lane = float(line["flops_per_lane"])
        gpu = _gpu(line)
        peak = (lanes * per_lane + gpu) * 1e9
        found += [
            _rounded("t2_peak", name, line["peak_GFLOPS"], peak / 1e9, "GFLOPS"),
            _rounded("t2_time", name, line["time_per_flop"], 1.0 / peak, "s/flop"),
            _rounded("t2_energy", name, line["energy_per_flop"], tdp / peak, "J/flop"),
            _rounded("t2_efficiency", name, line["GFLOPS_per_W"], peak / tdp / 1e9, "GFLOPS/W"),
        ]
        parameters = machines.get(line["machine"]).parameters
        found += [
            _rounded("t2_catalogue_time", name, line["time_per_flop"], parameters["time_per_flop"], "s/flop"),
            _rounded(
                "t2_catalogue_energy", name, line["energy_per_flop"], parameters["energy_per_flop"], "J/flop"
            ),
        ]
        if per_lane != 2.0:
            implied = float(line["peak_GFLOPS"]) / lanes
            found.append(
                Row(
                    says["t2_lanes"],
                    name,
                    2.0,
                    implied,
                    "flop/lane/cycle",
                    corrected=per_lane,
                    tolerance=EXACT,
                )
            )
        if gpu:
            found.append(
                Row(
                    says["t2_gpu"],
                    name,
                    lanes * per_lane,
                    float(line["peak_GFLOPS"]),
                    "GFLOPS",
                    corrected=lanes * per_lane + gpu,
                    tolerance=rounding(line["peak_GFLOPS"]),
                ),
            )
    return found


def _gpu(line: Mapping[str, str]) -> float:
    """GFLOPS of the on-package GPU, one flop per lane and cycle; 0 where there is none."""
    if not line["gpu_cores"]:
        return 0.0
    return float(line["gpu_clock_GHz"]) * float(line["gpu_cores"]) * float(line["gpu_simd"])


def _rounded(statement: str, item: str, printed: str, ours: float, unit: str) -> Row:
    """Return a value that must equal the print to its last digit."""
    return Row(statements(PAPER)[statement], item, float(printed), ours, unit, tolerance=rounding(printed))


def _no_device_reaches_ten() -> Row:
    best = max(
        1e-9 / machines.get(line["machine"]).parameters["energy_per_flop"]
        for line in table("demmel2013_table2")
    )
    return Row(
        statements(PAPER)["t2_ten"],
        "best of the eleven below 10",
        "yes",
        "yes" if best < 10.0 else "no",
        remark=f"the best has {best:.3f} GFLOPS/W",
    )
