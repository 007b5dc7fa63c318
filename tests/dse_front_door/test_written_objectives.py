"""What is said of the objective of a written file, by another solver's optimum of that file."""

import math
from pathlib import Path

import pytest
from click.testing import CliRunner
from pyscipopt import Model

import dse
from dse.cli import main


def _as_said(asked: str | Path, file: Path) -> float:
    """The optimum of a written file by SCIP, in SI as is said when it is written."""
    found = CliRunner().invoke(main, ["explain", str(asked), "--format", "nl", "-o", str(file)])
    assert found.exit_code == 0, found.stderr
    said = (found.stdout + found.stderr).partition("objective in SI = ")[2].splitlines()[0].rstrip(".")
    model = Model()
    model.hideOutput()
    model.readProblem(str(file))
    model.optimize()
    assert model.getStatus() == "optimal"
    return float(eval(said.replace("that of the file", "v"), {"exp": math.exp, "v": model.getObjVal()}))


@pytest.mark.parametrize(
    "name",
    [
        # halvings: their logarithm stands in the file, as they are seen to be positive within the limits
        "matmul_faster_flops_for_75_gflops_per_watt",
        "kernels_machine_for_75_gflops_per_watt",
        "matmul_machine_for_75_gflops_per_watt",
        "nbody_deadline",
        "nbody_clock_decided",
        "nbody_average_power_deadline",
        # tenths of a nanojoule as the difference of sums: scaled, or within every solver's tolerance
        "station_checkpoint_interval",
    ],
)
def test_the_objective_follows_from_that_of_the_file_as_is_said(name: str, tmp_path: Path):
    value = _as_said(name, tmp_path / "problem.nl")
    # SCIP's own tolerance is 1e-6 of each row, of which a difference of sums has several times its own size
    assert value == pytest.approx(dse.solve(name).objective, rel=1e-4)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize(
    ("goal", "bounds", "best"),
    [
        # 0 but for rounding in the middle of the box, in logarithms
        ("y * (x - 10 / x)", {"x": (1, 10), "y": (1, 100)}, -900.0),
        ("log(x / 10) + 0.0 * x", {"x": (0.1, 1000)}, math.log(0.01)),
        # without a value at most designs of the box
        ("log(x - 5) - 3 + 1 / x", {"x": (6, 1000)}, math.log(1) - 3 + 1 / 6),
        # small at every design, and of either sign
        ("1e-12 * (x - 3) * (x - 9)", {"x": (1, 10)}, -9e-12),
    ],
)
def test_an_objective_of_either_sign_keeps_its_optimum(
    goal: str, bounds: dict[str, tuple[float, float]], best: float, tmp_path: Path
):
    asked = {
        "model": "roofline",
        "machine": "gtx-titan-choi2014",
        "given": {"flops": 1e12, "intensity": 4},
        "define": {"odd": goal},
        "decide": {n: {"min": low, "max": high} for n, (low, high) in bounds.items()},
        "objective": {"minimize": "odd"},
    }
    file = tmp_path / "asked.toml"
    file.write_text(dse.Scenario(**asked).text, encoding="utf-8")
    assert _as_said(file, tmp_path / "problem.nl") == pytest.approx(best, rel=1e-4)
