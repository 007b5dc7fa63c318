"""What is said of the objective of a written file, by another solver's optimum of that file."""

import math
from pathlib import Path

import pytest
from click.testing import CliRunner
from pyscipopt import Model

import dse
from dse.cli import main


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
    file = tmp_path / "problem.nl"
    found = CliRunner().invoke(main, ["explain", name, "--format", "nl", "-o", str(file)])
    assert found.exit_code == 0, found.stderr
    said = (found.stdout + found.stderr).partition("objective in SI = ")[2].splitlines()[0].rstrip(".")
    model = Model()
    model.hideOutput()
    model.readProblem(str(file))
    model.optimize()
    assert model.getStatus() == "optimal"
    value = eval(said.replace("that of the file", "v"), {"exp": math.exp, "v": model.getObjVal()})
    # SCIP's own tolerance is 1e-6 of each row, of which a difference of sums has several times its own size
    assert value == pytest.approx(dse.solve(name).objective, rel=1e-4)
