"""An answer does not depend on the unit of its objective: neither status and design, nor the gap and next changes."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dse
from results.solution import Solution, Status
from solvers import judgement

LIBRARY = Path(__file__).resolve().parents[2] / "scenarios" / "library"
FACTORS = (1e-20, 1e10)

READY = (
    # geometric programs
    "lu_deadline",
    "matmul_least_energy",
    "nbody_two_level_deadline",
    "kernels_cheapest_runs",
    "platforms_age_of_replacement",
    "roofline_free_throttling",
    # divisors that are sums, and whole numbers
    "matmul_average_power_deadline",
    "matmul_least_time_power",
    "nbody_deadline",
    "nbody_least_time",
    "nbody_near_the_least_power",
    "strassen_energy_budget",
    "kernels_idle_processors_leak_sweep",
    "matmul_energy_delay_squared",
    # linear and mixed-integer programs
    "blocks_arndale_gpus_for_titan_power",
    "blocks_several_levels",
    "dvfs_energy_budget",
    "dvfs_switching_cost",
    "partition_twelve_regions_mixed",
    "partition_clocks_on_both_sides",
    "station_least_cost",
    "station_most_flops_in_10_kw",
    # lists of designs
    "fft_deadline",
    "fft_least_time_power",
    "gemm_cheapest_tokens",
    "gemm_most_rows_within_deadline",
    "hardware_cores_or_dies",
    "hardware_pins_or_bit_rate",
    "serving_power_cap",
    "training_bandwidth_for_half_the_energy",
    "training_70b_does_not_fit",
    # intervals
    "correlator_fastest_in_10_mw",
    "correlator_in_small_blocks",
    "nbody_voltage_by_the_alpha_power_law",
    "kernels_nbody_and_fft_deadline",
    "platforms_longest_mtbf",
    "fft_fat_tree_deadline",
    # over samples
    "nbody_worst_energy_within_data_sheets",
    "nbody_deadline_in_95_of_100_worlds",
    "nbody_mean_power_between_readings",
    "roofline_processor_for_95_percent_of_kernels",
    "serving_nodes_for_uncertain_load",
)  # fmt: skip
AT_MANY_POINTS = (
    "nbody_deadline_sweep",
    "clock_by_deadline_sweep",
    "dvfs_deadline_sweep",
    "partition_twelve_regions_deadline_sweep",
    "serving_energy_by_token_deadline_sweep",
    "gemm_rows_by_deadline_sweep",
    "hardware_clock_within_heat_sweep",
)


def _asked(name: str, factor: float, *, sweeps: bool = False) -> dict[str, Any]:
    """Return a ready question with its objective in another unit."""
    asked = tomllib.loads((LIBRARY / f"{name}.toml").read_text(encoding="utf-8"))
    if not sweeps:
        asked.pop("sweep", None)
    side = "minimize" if "minimize" in asked["objective"] else "maximize"
    asked["define"] = {**asked.get("define", {}), "goal": f"{factor:g} * {asked['objective'][side]}"}
    asked["objective"] |= {side: "goal"}
    return asked


def _assert_alike(one: Solution, other: Solution, factor: float) -> None:
    assert other.status is one.status, other.message
    if one.objective is not None:
        assert other.objective is not None
        assert other.objective / factor == pytest.approx(one.objective, rel=3e-9)
        assert (other.gap is None) == (one.gap is None)
    if one.status is Status.OPTIMAL and one.bound is not None:
        assert other.bound is not None
        assert abs(other.objective - other.bound) <= 1e-6 * abs(other.objective)
    for n, value in one.variables.items():
        assert other.variables[n] == (value if isinstance(value, str) else pytest.approx(value, rel=1e-5)), n
    for n, state in one.limits.items():
        same = other.limits[n]
        for kind in ("next_change", "elasticity"):
            value = getattr(state, kind)
            expected = None if value is None else pytest.approx(value, rel=1e-4, abs=1e-7)
            assert getattr(same, kind) == expected, (n, kind)


@pytest.mark.parametrize("name", READY)
def test_ready_questions_have_the_same_answers_in_any_unit(name: str):
    one = dse.solve(_asked(name, 1.0))
    for factor in FACTORS:
        _assert_alike(one, dse.solve(_asked(name, factor)), factor)


@pytest.mark.parametrize("name", AT_MANY_POINTS)
def test_ready_sweeps_have_the_same_answers_in_any_unit(name: str):
    one = dse.sweep(_asked(name, 1.0, sweeps=True))
    for factor in FACTORS:
        other = dse.sweep(_asked(name, factor, sweeps=True))
        np.testing.assert_array_equal(other["status"].values, one["status"].values)
        np.testing.assert_allclose(other["objective"].values / factor, one["objective"].values, rtol=3e-9)
        optimal = (one["status"].values == 1) & np.isfinite(one["bound"].values)
        far = np.abs(other["objective"].values - other["bound"].values)[optimal]
        assert (far <= 1e-6 * np.abs(other["objective"].values[optimal])).all()


VALLEYS = """
log(x)**2 * (log(x) - 2)**2 + log(y)**2 * (log(y) - 2)**2 + 0.01 * log(x * y / 9) + 1
- 0.9 * exp(0 - 4000 * (log(x / 2.7)**2 + log(y / 2.7)**2))
"""


def _with_valleys(factor: float) -> dict[str, Any]:
    return {
        "model": "nbody",
        "machine": "jaketown",
        "given": {"bodies": 1e6, "flops_per_pair": 20, "processors": 64, "memory": 1e5},
        "decide": {"x": {"min": 0.5, "max": 9}, "y": {"min": 0.5, "max": 9}},
        "define": {"f": f"{factor:g} * ({' '.join(VALLEYS.split())})"},
        "objective": {"minimize": "f"},
    }


def test_the_deepest_of_many_valleys_is_proved_where_all_of_them_are_tiny():
    """With a gap that is absolute below 1e-12 the first box was enough, with a bound a tenth of the design."""
    one = dse.solve(_with_valleys(1.0))
    assert one.status is Status.OPTIMAL
    for factor in (1e-20, 1e-12):
        _assert_alike(one, dse.solve(_with_valleys(factor)), factor)


def _risk(factor: float) -> dict[str, Any]:
    return {
        "model": "nbody",
        "machine": "balanced",
        "given": {"bodies": 1e5, "flops_per_pair": 10},
        "define": {"goal": f"{factor:g} * energy / (flops * processors)"},
        "decide": {"processors": {"max": 16384}, "memory": {}},
        "uncertain": {
            "machine.energy_per_word": {"uniform": ["1 uJ/word", "6 uJ/word"]},
            "bodies": {"normal": [1e5, 5e3]},
            "sampling": {"samples": 4, "seed": 2},
        },
        "objective": {
            "minimize": "dear",
            "measures": {
                "dear": {"of": "goal", "cvar": 0.9},
                "mean_power": {"of": "power", "measure": "mean"},
            },
        },
        "limits": {"mean_power": {"max": "300 W"}},
    }


def test_a_search_over_samples_is_as_sure_of_a_tiny_measure():
    one, other = dse.solve(_risk(1.0)), dse.solve(_risk(1e-20))
    assert other.status is one.status
    assert other.gap == pytest.approx(one.gap, rel=0.5)


@pytest.mark.parametrize("bound", [0.0, -1e-306])
def test_a_bound_that_is_0_in_any_unit_leaves_an_objective_of_0_no_gap(bound: float):
    assert judgement.relative_gap(0.0, bound) == 0.0
    assert judgement.relative_gap(0.0, -1e-30) == np.inf


def test_an_objective_of_0_has_no_gap_and_needs_a_bound_of_0():
    asked = _with_valleys(1.0) | {"define": {"f": "maximum(x - 2, 0) + maximum(y - 3, 0)"}}
    found = dse.solve(asked)
    assert (found.status, found.objective, found.gap) == (Status.OPTIMAL, 0.0, 0.0)
    best = dse.solve(asked | {"define": {"f": "1e-15 * ((x - 2)**2 + (y - 3)**2)"}})
    assert best.objective is not None
    assert best.bound == 0.0
    # what is no proof in one unit is none in another
    assert (best.status is Status.OPTIMAL) == (best.objective == 0.0)


def test_a_least_of_0_that_is_proved_is_not_told_as_a_search_that_stopped():
    """The bound of the search is below 0 by its own rounding alone."""
    asked = _with_valleys(1.0) | {
        "decide": {"x": {"min": 1, "max": 5}},
        "define": {"f": "1 - exp(-(x - 2)**2)"},
    }
    found = dse.solve(asked)
    assert (found.status, found.objective, found.bound, found.gap) == (Status.OPTIMAL, 0.0, 0.0, 0.0)
    assert "boxes leave 0, but for rounding" in found.certificate
    assert "stopped" not in found.certificate
