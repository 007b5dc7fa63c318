"""The reproduction of Tang et al. 2017 (PeaPaw): every row holds, every picture is there."""

from __future__ import annotations

import csv
import itertools

import numpy as np
import pytest

from dse.papers import Report
from dse.papers.sources import statements
from dse.papers.tang2017 import comparisons
from dse.papers.tang2017.formulas import PLATFORMS, platform, sides
from dse.papers.tang2017.platforms import CASES, estimate, intensities
from dse.papers.tang2017.surfaces import axis, surface

pytestmark = pytest.mark.slow

PAPER = "tang2017"


def test_nothing_that_the_paper_says_is_left_out(report: Report):
    assert {row.statement.id for row in report.rows} == set(statements(PAPER))
    tables = {f"Table {n}" for n in ("I", "II", "III", "IV", "V", "VI")}
    assert tables <= {row.statement.place for row in report.rows}


def test_the_code_partition_is_estimated_fastest_in_two_of_twelve_combinations():
    fastest = {
        (case, name)
        for case, name in itertools.product(CASES, PLATFORMS)
        if comparisons.best(case, name, "performance") == "CP"
    }
    assert fastest == {("SA", "i3+Titan"), ("DA", "i3+750")}


# what CP gains on DP, percent, worked out by hand for each reading of the numbers
GAINS = {
    ("SA", "i7+Titan", "performance"): (-0.46, -1.04, -0.64),
    ("SA", "i7+750", "performance"): (-14.89, -15.32, -16.02),
    ("SA", "i3+Titan", "performance"): (3.06, 2.44, 3.06),
    ("LA", "i7+Titan", "performance"): (-2.07, -0.12, -2.07),
    ("LA", "i3+Titan", "performance"): (-1.50, -7.51, -1.50),
    ("LA", "i7+750", "performance"): (-14.94, -13.24, -14.94),
    ("LA", "i3+750", "performance"): (-13.39, -11.66, -13.39),
    ("SA", "i7+Titan", "efficiency"): (2.48, 2.42, 2.54),
    ("SA", "i3+Titan", "efficiency"): (1.07, 1.13, 1.07),
    ("SA", "i3+750", "efficiency"): (1.87, 1.88, 1.61),
    ("SA", "i7+750", "efficiency"): (-0.45, -0.57, -0.81),
}


@pytest.mark.parametrize(("key", "wanted"), GAINS.items(), ids=lambda x: "-".join(map(str, x)))
def test_percentages_of_section_6_4(key: tuple[str, str, str], wanted: tuple[float, ...]):
    found = [comparisons.gain(*key, numbers) for numbers in "ABC"]
    assert found == pytest.approx(list(wanted), abs=0.005)


@pytest.mark.parametrize("name", PLATFORMS)
@pytest.mark.parametrize("case", CASES)
def test_surfaces_are_equations_20_and_25_where_partitions_are(case: str, name: str):
    """Point by point, NaN where both sides lie above or below the whole."""
    p, I, values = platform(name), intensities(case)[0], axis(case)
    speed, frugal = surface(case, name, "performance"), surface(case, name, "efficiency")
    possible = (values[None, :] - I) * (values[:, None] - I) < 0
    np.testing.assert_array_equal(np.isnan(speed), ~possible)
    for row, column in ((3, 150), (60, 190), (150, 4), (190, 111)):
        I_C, I_G = float(values[column]), float(values[row])
        assert speed[row, column] == pytest.approx(p.performance_20(I, I_C, I_G), rel=1e-9)
        assert frugal[row, column] == pytest.approx(p.efficiency_25(*sides(I, I_C, I_G)), rel=1e-9)


def test_pictures_are_those_of_the_figures(report: Report):
    assert {p.path.stem for p in report.pictures} == {f"figure{n}" for n in range(5, 11)}


def test_tables_hold_every_estimate(report: Report):
    with (report.folder / "estimates.csv").open(encoding="utf-8", newline="") as stream:
        read = list(csv.DictReader(stream))
    assert len(read) == 3 * 4 * 4
    for line in read:
        ours = estimate(line["case"], line["platform"], line["partition"])
        assert float(line["efficiency"]) == pytest.approx(float(ours["efficiency"]), rel=1e-15)
