"""Machines of measured products: the catalogue has the least squares of the runs that ship, beside the data sheet."""

from __future__ import annotations

import csv
import json
from importlib.resources import files

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.optimize import least_squares

import dse
from dse import machines
from dse.cli import main
from dse.machines import derivation

MEASURED = {"h100-sxm-measured": ("h100", "h100-sxm"), "a100-sxm-80gb-measured": ("a100", "a100-sxm-80gb")}
FITTED = ("launch_time", "time_per_flop", "time_per_byte")


@pytest.mark.parametrize("name", MEASURED)
def test_rates_and_launch_time_are_the_least_squares_of_the_runs(name: str):
    """By SciPy's trust region, from the data sheet's rates: another method and another start; values have 4 digits."""
    file = files("dse.papers") / "data" / "gemm" / f"gemm_{MEASURED[name][0]}_sxm_bf16.csv"
    runs = np.array(list(csv.reader(file.read_text().splitlines()))[1:], float).T
    m, n, k = runs[:3]
    flops, moved, time = 2 * m * n * k, 2 * (m * k + k * n + m * n), runs[3] * 1e-3

    def residuals(logs: np.ndarray) -> np.ndarray:
        launch, of_flop, of_byte = np.exp(logs)
        return np.log((launch + np.maximum(of_flop * flops, of_byte * moved)) / time)

    machine = machines.get(name)
    sheet = machines.get(MEASURED[name][1])
    peak, bandwidth = (sheet.figures[f].value for f in ("peak_bf16", "memory_bandwidth"))
    found = least_squares(residuals, np.log([2e-6, 1 / peak, 1 / bandwidth]), xtol=1e-12, ftol=1e-12)
    stated = [machine.parameters[p] for p in FITTED]
    # the corner of the maximum makes shallow minima beside the least one
    assert (residuals(np.log(stated)) ** 2).sum() <= 2 * found.cost * (1 + 1e-4)
    assert stated == pytest.approx(np.exp(found.x), rel=0.01)
    assert all(machine.evidence[p] == "fitted to measurements" for p in FITTED)
    for p in FITTED:
        low, high = machine.intervals[p]
        # whole shapes are drawn, which makes intervals wider than single runs would
        assert 0.01 < (high - low) / machine.parameters[p] < 0.3


def test_the_page_shows_the_difference_to_the_data_sheet():
    shown = CliRunner().invoke(main, ["machines", "h100-sxm-measured"]).stdout
    lines = {line.split()[0]: line for line in shown.splitlines() if line.strip()}
    assert "by the data sheet" in lines["measured"]
    assert "1.28" in shown
    assert "989 TFLOPS" in shown
    assert "771 TFLOPS" in shown
    told = json.loads(CliRunner().invoke(main, ["machines", "h100-sxm-measured", "--json"]).stdout)
    assert told["parameters"]["launch_time"]["interval"][0] < 3.578e-6
    assert "by the data sheet" not in CliRunner().invoke(main, ["machines", "h100-sxm"]).stdout


@pytest.mark.parametrize("name", MEASURED)
def test_a_roofline_on_it_counts_the_launch_time(name: str):
    p = machines.get(name).parameters
    found = dse.solve({"model": "roofline", "machine": name, "given": {"flops": 1e9, "bytes": 1e7}})
    by_hand = p["launch_time"] + max(1e9 * p["time_per_flop"], 1e7 * p["time_per_byte"])
    assert found.metrics["time"] == pytest.approx(by_hand, rel=1e-12)
    assert found.metrics["energy"] >= p["constant_power"] * by_hand


def test_what_is_stated_is_kept_and_the_rest_follows_from_it():
    """By hand: at twice the time of a flop its energy doubles; half the constant power leaves the rest to use."""
    figures = machines.get("h100-sxm").figures
    plain = {n: v.value for n, v in derivation.parameters(figures).items()}
    stated = {"time_per_flop": 2 * plain["time_per_flop"], "constant_power": 175.0}
    made = derivation.parameters(figures, "", stated)
    assert not stated.keys() & made.keys()
    assert plain.keys() == stated.keys() | made.keys()
    assert made["usable_power"].value == 525.0
    assert made["energy_per_flop"].value == pytest.approx(525 / 2 * stated["time_per_flop"], rel=1e-12)
    assert made["energy_per_flop"].interval == (0.0, pytest.approx(700 * stated["time_per_flop"], rel=1e-12))
    assert "x time_per_flop" in made["energy_per_flop"].source
    assert made["time_per_byte"].value == plain["time_per_byte"]
