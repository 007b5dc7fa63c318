"""Time and power over the clock: both forms come back, exponent included, for each kernel."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dse
import scenarios
from dse.fitting import FittingError
from scenarios.uncertain import draw, uncertain_of

TRUE = {"fixed_time": 0.4, "cycles": 1.1e9, "fixed_power": 60.0, "clock_power": 40.0, "clock_exponent": 2.4}
CLOCKS = np.repeat(np.arange(0.5, 2.01, 0.1), 3)


def runs(seed: int, noise: float = 0.02, **true: float) -> dict[str, Any]:
    p = TRUE | true
    wide = np.exp(noise * np.random.default_rng(seed).standard_normal((2, CLOCKS.size)))
    time = (p["fixed_time"] + p["cycles"] / (CLOCKS * 1e9)) * wide[0]
    power = (p["fixed_power"] + p["clock_power"] * CLOCKS ** p["clock_exponent"]) * wide[1]
    return {"clock [MHz]": CLOCKS * 1e3, "time": time, "power": power}


def test_constants_and_exponent_come_back_within_their_intervals():
    """95 % intervals: each at least 3 of 5 times."""
    held = dict.fromkeys(TRUE, 0)
    for seed in range(5):
        found = dse.fit(runs(seed), "dvfs")
        assert not found.outliers
        for name, value in TRUE.items():
            held[name] += found[name].holds(value)
    assert min(held.values()) >= 3, held


def test_exact_runs_give_the_constants():
    found = dse.fit(runs(0, noise=0.0), "dvfs")
    assert {k: found[k].value for k in TRUE} == pytest.approx(TRUE, rel=1e-4)


def test_the_clock_of_least_energy_is_that_of_the_forms():
    found = dse.fit(runs(1), "dvfs")
    f = np.linspace(0.5, 2.0, 100_001)
    energy = (0.4 + 1.1 / f) * (60 + 40 * f**2.4)
    (told,) = [n for n in found.notes if n.startswith("least energy")]
    where = float(told.split(" at ")[1].split()[0])
    assert where == pytest.approx(1e3 * f[energy.argmin()], rel=0.05)
    assert "clock measured" not in told
    flat = dse.fit(runs(1, fixed_power=1.0, clock_exponent=3.0), "dvfs")
    assert any("the lowest clock measured" in n for n in flat.notes)


def test_the_model_file_answers_which_clock_takes_least_energy(tmp_path: Path):
    found = dse.fit(runs(1), "dvfs", name="my kernel")
    path = found.save(tmp_path / "kernel.toml")
    goal = {"decide": {"core_frequency": {}}, "objective": {"minimize": "energy"}}
    answer = dse.solve({"model": str(path), **goal})
    p = {k: found[k].value for k in TRUE}
    f = np.linspace(0.5, 2.0, 100_001)
    energy = (p["fixed_time"] + p["cycles"] / f / 1e9) * (
        p["fixed_power"] + p["clock_power"] * f ** p["clock_exponent"]
    )
    assert answer.objective == pytest.approx(energy.min(), rel=1e-6)
    assert answer.variables["core_frequency"] == pytest.approx(f[energy.argmin()] * 1e9, rel=1e-3)
    (told,) = [n for n in found.notes if n.startswith("least energy")]
    assert f"at {answer.variables['core_frequency'] / 1e6:.1f} MHz" in told
    assert "convex in log variables" in answer.certificate
    fast = dse.solve({"model": str(path), **goal, "limits": {"time": {"max": "1 s"}}})
    assert fast.metrics["time"] == pytest.approx(1.0, rel=1e-6)


def test_the_errors_of_the_time_are_a_distribution(tmp_path: Path):
    """[uncertain] error = { from = "residuals" }: measured/modelled of runs held out, 2 % of noise."""
    path = dse.fit(runs(1), "dvfs").save(tmp_path / "kernel.toml")
    question = {
        "model": str(path),
        "given": {"error": 1, "core_frequency": 1e9},
        "define": {"measured_time": "time * error"},
        "uncertain": {"error": {"from": "residuals"}},
    }
    found = uncertain_of(scenarios.load(question))
    assert found is not None
    drawn = np.log(draw(found, 4096)["error"])
    assert drawn.std() == pytest.approx(0.02, rel=0.3)
    assert abs(drawn.mean()) < 0.005


def test_a_model_file_has_one_kernel(tmp_path: Path):
    both = {k: np.concatenate([v, v]) for k, v in runs(3).items()}
    both["kernel"] = ["gemm"] * CLOCKS.size + ["stream"] * CLOCKS.size
    with pytest.raises(
        FittingError, match="a model file is of one kernel, and these runs are of 2: gemm, stream"
    ):
        dse.fit(both, "dvfs").save(tmp_path / "both.toml")


def test_what_does_not_change_with_the_clock_is_not_visible():
    found = dse.fit(runs(2, cycles=0.0, clock_power=0.0), "dvfs")
    for name in ("cycles", "clock_power", "clock_exponent"):
        assert "not visible" in found[name].doubt or "uncertain by" in found[name].doubt
    assert found["fixed_time"].value == pytest.approx(0.4, rel=0.05)


def test_each_kernel_has_constants_of_its_own_and_watts_may_be_joules():
    one, two = runs(3), runs(4, cycles=3e9, fixed_power=20.0)
    both = {k: np.concatenate([one[k], two[k]]) for k in one}
    both["energy"] = both.pop("power") * both["time"]
    both["kernel"] = ["gemm"] * CLOCKS.size + ["stream"] * CLOCKS.size
    found = dse.fit(both, "dvfs")
    assert found["cycles.gemm"].value == pytest.approx(1.1e9, rel=0.1)
    assert found["cycles.stream"].value == pytest.approx(3e9, rel=0.1)
    assert found["fixed_power.stream"].holds(20.0)
    assert [len(a.get_lines()) for a in found.plot().axes] == [4, 4]


def test_an_outlier_is_named():
    spoilt = runs(5)
    spoilt["power"][9] *= 3
    found = dse.fit(spoilt, "dvfs")
    assert [(o.run, o.what) for o in found.outliers] == [(9, "power")]
    assert found.all_runs_errors["power"].mean > found.errors["power"].mean


def test_too_few_clocks_are_refused():
    few = {k: v[:9] for k, v in runs(0).items()}
    with pytest.raises(FittingError, match="the runs have 3 clocks; at least 4 are needed"):
        dse.fit(few, "dvfs")
