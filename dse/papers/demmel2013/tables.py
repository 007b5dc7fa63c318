"""Tables I and II: machine parameters from the data sheets, beside the print and the machine catalogue."""

from __future__ import annotations

from functools import cache, partial

from dse import machines
from dse.papers.comparer import Found
from dse.papers.demmel2013.questions import answers
from dse.papers.demmel2013.symbols import greek
from dse.papers.sources import rounding, table


@cache
def raw() -> dict[str, float]:
    """Return the lines of Table I, SI, by symbol."""
    return {row["symbol"]: float(row["value_SI"]) for row in table("demmel2013/table1")}


@cache
def from_data_sheet() -> dict[str, float]:
    """Machine parameters from the raw lines of Table I, by the recipes of section VI (SI)."""
    given = raw()
    peak = given["f_core"] * given["simd"] * given["cores_node"] * 2.0
    memory = given["dimms_socket"] * 8.0 * 2.0**30 / given["data_width"]
    time_per_word = given["data_width"] / given["link_bw"]
    return {
        "peak_fp": peak,
        "M": memory,
        "gamma_t": 1.0 / peak,
        "gamma_e": given["tdp"] / peak,
        "beta_t": time_per_word,
        "beta_e": time_per_word * given["link_active_power"],
        "delta_e": given["dimms_socket"] * given["dimm_power"] / memory,
        "alpha_t": given["link_latency"],
        "alpha_e": given["link_idle_power"] * given["link_latency"],
        "epsilon_e": 0.0,
    }


def _recipe(quantity: str, symbol: str, recipe: str) -> dict[str, object]:
    return {"recipe_of": f"{quantity} {greek(symbol)} = {greek(recipe)}"}


@answers("t1_derived")
def _derived(symbol: str, per_print: str, quantity: str, recipe: str) -> Found:
    return Found(from_data_sheet()[symbol] * float(per_print), told=_recipe(quantity, symbol, recipe))


@answers("t1_beta_e", "t1_delta_e")
def _corrected(symbol: str, parameter: str, quantity: str, recipe: str) -> Found:
    right, ours = from_data_sheet()[symbol], machines.get("jaketown").parameters[parameter]
    return Found(ours, corrected=right, told=_recipe(quantity, symbol, recipe))


def _parameter_found(machine: str, symbol: str, parameter: str) -> Found:
    return Found(machines.get(machine).parameters[parameter], told={"letter": greek(symbol)})


answers("t1_catalogue")(partial(_parameter_found, "jaketown"))
answers("t1_printed")(partial(_parameter_found, "jaketown-printed"))


@answers("t1_link")
def _link_unit_found() -> Found:
    """The unit of the link cannot be Gb/s."""
    width, rate = raw()["data_width"], raw()["link_bw"]
    printed = next(row["value_printed"] for row in table("demmel2013/table1") if row["symbol"] == "beta_t")
    ours = machines.get("jaketown").parameters["time_per_word"]
    return Found(ours, width * 8.0 / rate, corrected=width / rate, tolerance=rounding(printed))


@answers("t1_memory")
def _modules(modules: str, giga: str) -> Found:
    """The unit of the modules cannot be Gb."""
    right = float(modules) * float(giga) * 2.0**30
    return Found(2.0 * raw()["M"] * raw()["data_width"], right / 8.0, corrected=right)


def _lanes(clock: str, cores: str, simd: str) -> float:
    """Lanes times their clock, 1e9/s; 0 where the device has none."""
    return float(clock) * float(cores) * float(simd) if cores else 0.0


Rates = tuple[float, float]


def rates(row: dict[str, str]) -> Rates:
    """Return GFLOPS of a device's cores, and of a GPU in its package, one flop per lane and cycle."""
    cores = _lanes(row["clock_GHz"], row["cores"], row["simd"]) * float(row["flops_per_lane"])
    return cores, _lanes(row["gpu_clock_GHz"], row["gpu_cores"], row["gpu_simd"])


@cache
def _peaks() -> dict[str, float]:
    return {row["processor"]: sum(rates(row)) * 1e9 for row in table("demmel2013/table2")}


answers("t2_peak")(lambda processor: _peaks()[processor] / 1e9)
answers("t2_time")(lambda processor: 1.0 / _peaks()[processor])
answers("t2_energy")(lambda processor, tdp_W: float(tdp_W) / _peaks()[processor])
answers("t2_efficiency")(lambda processor, tdp_W: _peaks()[processor] / float(tdp_W) / 1e9)
answers("t2_catalogue_time")(lambda machine: machines.get(machine).parameters["time_per_flop"])
answers("t2_catalogue_energy")(lambda machine: machines.get(machine).parameters["energy_per_flop"])


@answers("t2_lanes")
def _per_lane(clock_GHz: str, cores: str, simd: str, peak_GFLOPS: str, flops_per_lane: str) -> Found:
    return Found(float(peak_GFLOPS) / _lanes(clock_GHz, cores, simd), corrected=float(flops_per_lane))


@answers("t2_gpu")
def _with_gpu(processor: str, peak_GFLOPS: str) -> Found:
    cores, gpu = next(rates(row) for row in table("demmel2013/table2") if row["processor"] == processor)
    return Found(float(peak_GFLOPS), cores, corrected=cores + gpu, tolerance=rounding(peak_GFLOPS))


@answers("t2_ten")
def _no_device_reaches_ten(most: str) -> Found:
    every = (machines.get(row["machine"]).parameters for row in table("demmel2013/table2"))
    best = max(1e-9 / parameters["energy_per_flop"] for parameters in every)
    return Found(best < float(most), told={"best": best})
