"""The roofline fit finds the machine behind runs, says how sure it is, and what runs are missing."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dse
from dse import machines
from dse.fitting import FittingError

Make = Callable[..., dict[str, np.ndarray]]

NAMES = (
    "time_per_flop",
    "time_per_byte",
    "energy_per_flop",
    "energy_per_byte",
    "constant_power",
    "usable_power",
)
CAPPED = ("gtx680-choi2014", "arndale-cpu-choi2014")


@pytest.mark.parametrize("machine", CAPPED)
def test_parameters_come_back_within_their_intervals(machine: str, roofline_runs: Make):
    """Each parameter at least 10 times in 12 (95 % intervals, 3 % noise on time and on energy)."""
    true = {**machines.get(machine).parameters, "launch_time": 0.0}
    held = dict.fromkeys((*NAMES, "launch_time"), 0)
    for seed in range(12):
        for p in dse.fit(roofline_runs(machine, seed), "roofline").parameters:
            held[p.name] += p.holds(true[p.name])
    assert min(held.values()) >= 10, held


@pytest.mark.parametrize("machine", ["gtx580-choi2014", "arndale-gpu-choi2014", "pandaboard-choi2014"])
def test_exact_runs_give_the_parameters_exactly(machine: str, roofline_runs: Make):
    found = dse.fit(roofline_runs(machine, 0, noise=0.0), "roofline")
    true = machines.get(machine).parameters
    assert found.values == pytest.approx({k: true[k] for k in NAMES}, rel=1e-7)
    assert max(e.greatest for e in found.errors.values()) < 1e-7


def test_the_model_without_a_cap_stands_beside_it_and_is_told_apart(roofline_runs: Make):
    """Choi 2014, figure 4: without its cap the Arndale GPU's performance is missed, p < 0.05."""
    found = dse.fit(roofline_runs("arndale-gpu-choi2014", 1), "roofline")
    assert {p.name for p in found.uncapped} == set(NAMES) - {"usable_power"}
    assert not found.outliers
    assert found.uncapped_errors["performance"].mean > 2 * found.errors["performance"].mean
    tests = {c.what: c for c in found.comparisons}
    assert tests["performance"].differ
    assert not tests["energy"].differ


def test_a_machine_without_a_cap_gets_none(roofline_runs: Make):
    free = {k: v for k, v in machines.get("gtx-titan-choi2014").parameters.items() if k != "usable_power"}
    found = dse.fit(roofline_runs(free, 2), "roofline")
    assert "usable_power" not in found.values
    peak = free["energy_per_flop"] / free["time_per_flop"] + free["energy_per_byte"] / free["time_per_byte"]
    # at the balance the machine uses both peaks: a cap cannot lie far below them, and may lie anywhere above
    assert 0.5 * peak < found["usable_power"].low <= 1.05 * peak
    assert found["usable_power"].high == np.inf
    assert "usable_power" not in found.machine().split("[parameters", 1)[1]
    assert not any(c.differ for c in found.comparisons)


def test_a_rate_that_the_cap_hides_is_only_bounded(roofline_runs: Make):
    """The NUC's GPU never reaches its peak under its cap: 20.4 W of flops against 17.7 W."""
    true = machines.get("nuc-gpu-choi2014").parameters
    found = dse.fit(roofline_runs("nuc-gpu-choi2014", 4), "roofline")
    rate = found["time_per_flop"]
    assert "no run shows itself compute-bound" in rate.doubt
    assert rate.low == 0
    assert rate.holds(true["time_per_flop"])
    assert any("do not show time_per_flop" in n for n in found.notes)


def test_units_do_not_matter(roofline_runs: Make):
    runs = roofline_runs("gtx-titan-choi2014", 3)
    scaled = {"flops [Gflop]": runs["flops"] / 1e9, "bytes [MB]": runs["bytes"] / 1e6}
    scaled |= {"time [ms]": runs["time"] * 1e3, "energy [kJ]": runs["energy"] / 1e3}
    assert dse.fit(scaled, "roofline").values == pytest.approx(dse.fit(runs, "roofline").values, rel=1e-6)


def refusal(runs: Any) -> str:
    with pytest.raises(FittingError) as caught:
        dse.fit(runs, "roofline")
    return str(caught.value)


def test_runs_that_cannot_determine_the_machine_are_refused(roofline_runs: Make):
    runs = roofline_runs("gtx-titan-choi2014", 0)
    assert "5 runs are too few for 6 parameters" in refusal({k: v[:5] for k, v in runs.items()})
    one = {**runs, "bytes": runs["flops"] / 4}
    assert "flops and bytes are collinear: the runs have 1 intensity" in refusal(one)
    two = {**runs, "bytes": runs["flops"] / np.where(np.arange(75) % 2, 4, 8)}
    assert "2 intensities" in refusal(two)
    assert "no run has any bytes" in refusal({**runs, "bytes": 0 * runs["bytes"]})
    nothing = {
        k: np.where(np.arange(75) == 6, 0.0, v) if k in {"flops", "bytes"} else v for k, v in runs.items()
    }
    assert "run 7 has neither flops nor bytes" in refusal(nothing)
    assert "column energy [J] is missing" in refusal({k: v for k, v in runs.items() if k != "energy"})
    assert "not a positive number" in refusal({**runs, "energy": -runs["energy"]})


def test_runs_that_are_all_compute_bound_are_refused(roofline_runs: Make):
    runs = roofline_runs("gtx-titan-choi2014", 0, noise=0.0)
    high = runs["flops"] / runs["bytes"] > 64
    noisy = roofline_runs("gtx-titan-choi2014", 1)
    # noise must not make up a regime that is not there
    assert "energy_per_flop, constant_power cannot" in refusal({k: v[high] for k, v in noisy.items()})
    told = refusal({k: v[high] for k, v in runs.items()})
    assert "energy_per_flop, constant_power cannot be separated: all runs are compute-bound" in told
    assert "add runs of other intensities" in told


def compute_bound(seed: int) -> dict[str, np.ndarray]:
    """Runs whose flops take at least 3.4 times as long as their bytes, with 3 % noise."""
    rng = np.random.default_rng(seed)
    intensity = np.repeat(2.0 ** np.arange(5, 10), 3)
    moved = 1e9 * rng.uniform(0.5, 2, intensity.size)
    time = intensity * moved / 1.6e12
    energy = 30e-12 * intensity * moved + 200e-12 * moved + 122 * time
    noise = 1 + 0.03 * rng.standard_normal((2, intensity.size))
    return {"flops": intensity * moved, "bytes": moved, "time": time * noise[0], "energy": energy * noise[1]}


def test_noise_at_the_end_of_the_range_makes_no_run_memory_bound():
    for seed in (12, 21):
        assert "all runs are compute-bound, none is" in refusal(compute_bound(seed))
    found = dse.fit(compute_bound(11), "roofline")["time_per_byte"]
    assert "not visible" in found.doubt
    assert found.holds(1 / 171e9)


def test_pure_streams_and_pure_arithmetic_take_part(roofline_runs: Make):
    runs = roofline_runs("gtx-titan-choi2014", 5, noise=0.0)
    p = machines.get("gtx-titan-choi2014").parameters
    flops, moved = np.array([0.0, 1e12]), np.array([1e10, 0.0])
    time = np.array([moved[0] * p["time_per_byte"], flops[1] * p["time_per_flop"]])
    spent = flops * p["energy_per_flop"] + moved * p["energy_per_byte"] + p["constant_power"] * time
    more = {"flops": flops, "bytes": moved, "time": time, "energy": spent}
    found = dse.fit({k: np.concatenate([v, more[k]]) for k, v in runs.items()}, "roofline")
    assert found.values == pytest.approx({k: p[k] for k in NAMES}, rel=1e-7)
    assert np.isfinite(found.runs.modelled["performance"]).all()


@pytest.mark.parametrize("options", [{"folds": 3}, {"relative": False}, {"confidence": 1.0}])
def test_options_without_a_meaning_are_refused(options: dict[str, Any], roofline_runs: Make):
    with pytest.raises(ValueError, match=r"are for the model dvfs|between 0 and 1"):
        dse.fit(roofline_runs("gtx-titan-choi2014", 0), "roofline", **options)


def test_an_unknown_model_is_told_what_was_meant():
    with pytest.raises(KeyError, match="did you mean 'roofline'"):
        dse.fit({}, "rooflin")
