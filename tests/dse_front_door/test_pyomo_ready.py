"""Every ready question that has algebra: SCIP on the door's model gives the objective that the oracle of it has."""

import csv
from pathlib import Path
from typing import Any

import pyomo.environ as pyo
import pytest

import dse
from scenarios import ScenarioError
from scenarios.questions import grid
from solvers.others import pyomo_solvers

LIBRARY = Path(__file__).parents[2] / "scenarios" / "library"
# limits and integers to 1e-9, gaps to 1e-7, and the figures of the oracles to 1e-6
CLOSE = 5e-6
NOTHING = "nothing is decided"
UNCERTAIN = "numbers are uncertain"
SEVERAL = "a Pyomo model has one objective"
LARGER = "the larger of two quantities that may be negative"
STEP = "it depends on a step"
NO_MODEL = {
    "dvfs_sure_energy_or_time_front": UNCERTAIN,
    "matmul_mean_energy_or_sure_time_front": UNCERTAIN,
    "roofline_energy_by_quantile_sweep": UNCERTAIN,
    "roofline_energy_by_spread_sweep": UNCERTAIN,
    "roofline_energy_by_tail_sweep": UNCERTAIN,
    "roofline_mean_energy_or_slow_tenth_front": UNCERTAIN,
    "dvfs_setting_within_measurement_error": UNCERTAIN,
    "matmul_as_printed_or_as_derived": UNCERTAIN,
    "nbody_processor_of_table_ii": UNCERTAIN,
    "roofline_titan_or_arndale_unknown_intensity": UNCERTAIN,
    "dvfs_energy_time_front": SEVERAL,
    "hardware_memory_bandwidth_per_core_sweep": NOTHING,
    "hardware_units_or_caches": "it depends on a step",
    "kernels_conjugate_gradients_on_twelve_platforms": NOTHING,
    "kernels_fmm_overlapped_sweep": NOTHING,
    "matmul_energy_time_front": SEVERAL,
    "matmul_generations_sweep": NOTHING,
    "nbody_energy_time_front": SEVERAL,
    "nbody_mean_energy_over_table_ii": UNCERTAIN,
    "nbody_mean_power_between_readings": UNCERTAIN,
    "nbody_worst_energy_within_data_sheets": UNCERTAIN,
    "roofline_one_processor_for_any_kernel": UNCERTAIN,
    "nbody_deadline_in_95_of_100_worlds": UNCERTAIN,
    "nbody_fewest_processors_within_time_and_energy": UNCERTAIN,
    "roofline_processor_for_95_percent_of_kernels": UNCERTAIN,
    "partition_da_energy_sweep": NOTHING,
    "partition_da_time_sweep": NOTHING,
    "partition_energy_time_front_divisible": SEVERAL,
    "partition_energy_time_front_whole": SEVERAL,
    "partition_front_of_each_pair": SEVERAL,
    "partition_la_energy_sweep": NOTHING,
    "partition_la_time_sweep": NOTHING,
    "partition_sa_as_published": NOTHING,
    "partition_sa_energy_sweep": NOTHING,
    "partition_sa_time_sweep": NOTHING,
    "training_70b_cheapest_cluster": LARGER,
    "training_70b_does_not_fit": LARGER,
    "training_70b_machine_of_four": LARGER,
    "training_bandwidth_for_half_the_energy": LARGER,
    "training_batch_sweep": LARGER,
    "training_best_plan_on_512_h100": STEP,
    "training_energy_time_cost_front": SEVERAL,
    "training_energy_time_front": SEVERAL,
    "training_heads_do_not_divide": NOTHING,
    "training_least_carbon": STEP,
    "training_memory_without_recomputation": LARGER,
    "training_network_too_slow": STEP,
    "training_plan_in_how_many_worlds": UNCERTAIN,
    "training_power_cap_for_energy": STEP,
    "training_time_by_devices_sweep": LARGER,
    # one of its technologies has no room for a core, which is a step
    "platforms_technology_sweep": "it depends on a step",
    "roofline_least_carbon": NOTHING,
    "roofline_platform_double_precision": NOTHING,
    "roofline_platform_efficiency_sweep": NOTHING,
    "roofline_platform_least_energy": NOTHING,
    "roofline_jetson_utilization_sweep": NOTHING,
    "roofline_platform_random_access": NOTHING,
    "roofline_platform_streaming": NOTHING,
    "roofline_precision_and_level_sweep": NOTHING,
    "roofline_throttling_sweep": NOTHING,
    "roofline_today_efficiency_sweep": NOTHING,
    "roofline_carbon_by_grid_sweep": NOTHING,
    "roofline_energy_by_intensity_sweep": NOTHING,
    "roofline_regions_on_an_fpga": LARGER,
    "roofline_jetson_settings_intensity_sweep": NOTHING,
    "roofline_levels_platform_least_energy": NOTHING,
    "roofline_mixed_precision_sweep": NOTHING,
    "kernels_gathers_on_eight_platforms": NOTHING,
    "partition_clocks_on_both_sides": "the logarithm of share.powers.cpu, which may be 0",
    "serving_cheapest_million_tokens": LARGER,
    "serving_energy_by_token_deadline_sweep": "whether one number divides another",
    "serving_greenest_for_1000_requests_per_second": LARGER,
    "serving_nodes_for_uncertain_load": UNCERTAIN,
    "serving_replicas_by_request_rate_sweep": LARGER,
    "station_cost_sweep": "it would be 10000 models",
}
# of those that choose among names, the best choice; the other models are of the same class
BEST = {
    "correlator_fastest_in_10_mw": "platform-c55x",
    "correlator_in_small_blocks": "platform-c55x",
    "hardware_power_for_processors": "platform-cortex-a8",
    "nbody_simple_or_complex_processors": "nvidia-gtx590",
    "platforms_energy_of_a_year": "platform-c55x",
    "platforms_least_cost_15_years": "platform-gpu",
    "platforms_least_cost_per_performance": "platform-gpu",
    "platforms_least_power": "platform-c55x",
    "platforms_longest_mtbf": "platform-server-power",
    "platforms_most_performance_in_10_kw": "platform-c55x",
    "platforms_mtbf_alike_sweep": "platform-server-power",
    "platforms_repair_sweep": "platform-c55x",
    "roofline_platform_node_power": "gtx680-choi2014",
    "station_least_cost": "imx515",
    "station_most_flops_in_10_kw": "imx515",
    "station_least_cost_in_10_kw": "tms320c5515",
    "station_least_power": "tms320c5515",
    "station_longest_mttf_in_10_kw": "at91sam9m10",
    "station_most_throughput_in_10_kw": "tms320c5515",
}
# with a power cap of each processor SCIP has the optimum soon, and its bound only after a quarter of a minute
UNPROVED = {
    "matmul_energy_delay_squared",
    "nbody_least_energy_processor_power",
    "strassen_least_energy_processor_power",
}
# of a linear model, but with a definition that is none
CURVED = {"station_checkpoint_interval"}
FAST = {  # one of each class, the rest is slow
    "blocks_budget_sweep",
    "dvfs_deadline",
    "fft_deadline",
    "gemm_fastest_tile_in_cache",
    "kernels_clock_for_a_portfolio",
    "kernels_nbody_and_fft_deadline",
    "matmul_price_over_a_lifetime",
    "nbody_deadline",
    "nbody_deadline_out_of_reach",
    "nbody_machine_for_efficiency",
    "nbody_near_the_least_power",
    "nbody_voltage_by_the_alpha_power_law",
    "partition_twelve_regions_divisible",
    "partition_twelve_regions_power_cap",
    "platforms_longest_mtbf",
    "roofline_usable_power_for_performance",
    "station_least_power",
}


def _rows() -> dict[str, dict[str, str]]:
    """Return the first row of each question that the oracle calls optimal, else the first of all."""
    found: dict[str, dict[str, str]] = {}
    with (LIBRARY / "expected.csv").open() as lines:
        for row in csv.DictReader(lines):
            if row["scenario"] not in found or found[row["scenario"]]["status"] != "optimal" == row["status"]:
                found[row["scenario"]] = row
    return found


ROWS = _rows()
ASKED = [
    pytest.param(name, marks=() if name in FAST else pytest.mark.slow)
    for name in sorted(ROWS)
    if name not in NO_MODEL
]


def _model(name: str, row: dict[str, str]) -> Any:
    """Build the model at the point of a row, in logarithms where it has any."""
    asked = dse.load(name)
    at = grid(asked)
    linear = asked.model in {"blocks", "dvfs", "partition", "sockets"} and name not in CURVED
    if linear and not row["point"]:
        with pytest.raises(ScenarioError, match="has no logarithm: take form 'plain'"):
            dse.pyomo(asked, "log", BEST.get(name))
    found = dse.pyomo(asked, "plain" if linear else "log", BEST.get(name))
    if not row["point"]:
        return found
    values = [a.values[int(i)] for a, i in zip(at.axes, row["point"].split(), strict=True)]
    if isinstance(found, dict):
        first = next(iter(found.values()))
        shut = tuple(v for a, v in zip(at.axes, values, strict=True) if a.name not in first.axes)
        found = found[shut[0] if len(shut) == 1 else shut]
    for axis, value in zip(at.axes, values, strict=True):
        if axis.name in found.axes:
            found.axes[axis.name].set_value(value)
    return found


@pytest.mark.parametrize("name", ASKED)
def test_scip_gives_the_objective_of_the_oracle(name: str) -> None:
    row = ROWS[name]
    m = _model(name, row)
    claim = pyomo_solvers.run(m, "scip", 2.0 if name in UNPROVED else 30.0)
    if row["status"] == "infeasible":
        assert claim.infeasible
        return
    assert claim.optimal or name in UNPROVED, claim
    assert pyo.value(m.objective_value) == pytest.approx(float(row["objective"]), rel=CLOSE)


@pytest.mark.parametrize("name", sorted(NO_MODEL))
def test_the_others_say_why_they_have_none(name: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        dse.pyomo(name)
    assert NO_MODEL[name] in str(refused.value)
