"""Fitted models as kernels, and what is refused of them."""

from pathlib import Path

import pytest
from fitted_questions import GEMM, by_hand, refused

import dse
import scenarios
from scenarios import ScenarioError, from_text
from scenarios.language.machine_files import pins


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "gemm.toml").write_text(GEMM)
    return tmp_path


WRONG = [
    ("gemm.time(rows, 2)", "gemm.time takes 3 numbers, and 2 stand in its brackets (column 1)"),
    ("gemm.tme(rows, 2, 1 s)", "did you mean 'gemm.time'"),
    ("gem.time(rows, 20, 1 s)", "there is no function gem.time"),
    ("1 s + gemm.time(rows, 20, 1 s) + power", "do not add up"),
    ("gemm.time(rows, 20, 3)", "wait of gemm.time(m, n, wait) is a time (s), and this is a plain number"),
    ("gemm.time(memory, 20, 1 s)", "m of gemm.time(m, n, wait) is a plain number, and this is"),
    ("gemm.time(rows - 7, 20, 1 s)", "is above 0, and this may be negative (column 16)"),
    ("gemm.time(0, 20, 1 s)", "m of gemm.time(m, n, wait) is above 0, and this is 0"),
    ("gemm.time * 2 + gemm.time(rows, 20, 1 s)", "gemm.time is a function"),
    ("gemm.time(rows, 20, 1 s", "this bracket is not closed"),
    ("energy * 2", "models.gemm: no definition uses a function of gemm"),
]


@pytest.mark.parametrize(("expression", "said"), WRONG)
def test_a_mistake_is_one_clear_message(expression: str, said: str, folder: Path):
    assert said in refused(folder, f'x = "{expression}"', given="rows = 50" if "rows" in expression else "")


def test_a_model_that_is_no_function_is_refused(folder: Path):
    question = {"model": "nbody", "machine": "jaketown", "define": {"x": "a.time(1)"}}
    given = {"bodies": 1, "flops_per_pair": 1, "processors": 1, "memory": 1}
    (folder / "broken.toml").write_text(GEMM.replace("[target]", "[goal]"))
    for named, said in {
        "nbody": "nbody is not a fitted model",
        "gemm-h10": "did you mean 'gemm-h100'",
        "./none.toml": "it cannot be read",
        str(folder / "broken.toml"): "goal",
    }.items():
        with pytest.raises(ScenarioError, match=said):
            dse.load({**question, "given": given, "models": {"a": named}})
    for name in ("time", "machine", "bodies", "s", "x"):
        with pytest.raises(ScenarioError, match=f"models.{name}"):
            dse.load({**question, "given": given, "models": {name: "gemm-h100"}})
    with pytest.raises(ScenarioError, match="no definition uses a function of a"):
        dse.load({**question, "given": given, "define": {}, "models": {"a": "gemm-h100"}})


def test_a_fitted_model_of_time_energy_and_performance_is_a_kernel(folder: Path):
    path = folder / "kernels.toml"
    path.write_text("""
machine = "jaketown"
[[kernels]]
name = "forces"
model = "nbody"
given = { bodies = 1e5, flops_per_pair = 20, processors = 64, memory = 10000 }
[[kernels]]
name = "product"
model = "./gemm.toml"
given = { m = 100, n = 200, wait = "1 ms" }
repeat = 3
[limits]
time = { max = "10 min" }
""")
    question = scenarios.load(path)
    assert [p for p, _ in pins(question.text)] == ["./gemm.toml"]
    found = dse.solve(from_text(question.text))
    once = by_hand(100, 200, 1e-3)
    assert found.metrics["product.time"] == pytest.approx(once, rel=1e-13)
    assert found.metrics["time"] == pytest.approx(found.metrics["forces.time"] + 3 * once, rel=1e-13)
    assert found.metrics["energy"] == pytest.approx(found.metrics["forces.energy"] + 900 * once, rel=1e-13)
    path.write_text(question.text.replace("m = 100,", "m = 3,"))
    far = dse.solve(scenarios.load(path))
    assert list(far.conflict) == ["product.measured_range.m.min"]


WITHOUT_ENERGY = """
[[kernels]]
name = "small"
model = "./gemm.toml"
given = { m = 100, n = 200, wait = "1 ms" }
repeat = 3
[[kernels]]
name = "large"
model = "./gemm.toml"
given = { m = 1000, n = 2000, wait = "1 ms" }
"""


def test_a_kernel_that_says_no_energy_is_asked_for_its_time(folder: Path):
    """By hand: times add up, or overlap to the longest; what would need the energy is not there."""
    without = GEMM.replace('name = "energy"', 'name = "joules"')
    (folder / "gemm.toml").write_text(without)
    path = folder / "kernels.toml"
    path.write_text(WITHOUT_ENERGY)
    found = dse.solve(scenarios.load(path))
    small, large = by_hand(100, 200, 1e-3), by_hand(1000, 2000, 1e-3)
    assert found.metrics["time"] == pytest.approx(3 * small + large, rel=1e-13)
    flops = 3 * 2 * 100 * 200**2 + 2 * 1000 * 2000**2
    assert found.metrics["performance"] == pytest.approx(flops / found.metrics["time"], rel=1e-12)
    assert not {"energy", "power", "efficiency", "energy_delay"} & found.metrics.keys()
    path.write_text("overlap = true\n" + WITHOUT_ENERGY)
    assert dse.solve(scenarios.load(path)).metrics["time"] == pytest.approx(max(3 * small, large), rel=1e-13)
    for more, said in {
        '[objective]\nminimize = "energy"': "does not say what energy a run of small has, so the whole has no energy",
        '[limits]\npower = { max = "1 W" }': "so the whole has no power",
        '[define]\nbill = "2 * efficiency"\n[objective]\nminimize = "bill"': "efficiency",
    }.items():
        path.write_text(WITHOUT_ENERGY + more)
        with pytest.raises(ScenarioError, match=said):
            scenarios.load(path)
    path.write_text('idle = "on"\n' + WITHOUT_ENERGY)
    with pytest.raises(ScenarioError, match="does not declare the parts of its energy"):
        scenarios.load(path)
    (folder / "gemm.toml").write_text(without.replace('name = "performance"', 'name = "rate"'))
    path.write_text(WITHOUT_ENERGY)
    assert "performance" not in dse.solve(scenarios.load(path)).metrics
    (folder / "gemm.toml").write_text(
        without.replace('name = "time"', 'name = "lag"')
        .replace("time = -1", "lag = -1")
        .replace("time = 1", "lag = 1")
    )
    with pytest.raises(ScenarioError, match="does not say what time a run has"):
        scenarios.load(path)
