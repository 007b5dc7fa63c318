"""The reproduction of Stanley-Marbell 2012 (ExaBounds): every row holds, every picture is there."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

from dse.models.exabounds import workloads
from dse.papers import Report
from dse.papers.exabounds2012 import correlator, formulas, table_one
from dse.papers.exabounds2012.systems import cell, exa, idle_cell, processors
from dse.papers.sources import statements, table

pytestmark = pytest.mark.slow

PAPER = "exabounds2012"


def ours(report: Report, statement: str) -> dict[str, object]:
    return {row.item: row.ours for row in report.rows if row.statement.id == statement}


def test_nothing_that_the_paper_says_is_left_out(report: Report):
    assert {row.statement.id for row in report.rows} == set(statements(PAPER))
    places = " ".join({row.statement.place for row in report.rows})
    assert all(f"Table {n}" in places for n in range(1, 6))
    texts = " ".join(row.statement.text for row in report.rows)
    assert [n for n in range(1, 28) if f"({n})" not in texts] == []


def test_every_row_of_tables_3_and_4_is_set_beside_the_catalogue(report: Report):
    """What has a reading of its own stands in rows of its own: density, transistors of a die, resistance, length."""
    for statement, name, apart in (
        ("t3", "exabounds2012/table3_hw", {"R_2_supply", "n_0_xpc", "rho_xistor"}),
        ("t4", "exabounds2012/table4_power7", {"n_0_pipe"}),
    ):
        wanted = {row["description"] for row in table(name) if row["symbol"] not in apart}
        assert set(ours(report, statement)) == wanted


def test_both_readings_of_the_yearly_energy_cost_by_hand():
    """i.MX515, floating point: 3.3 MW idle a fifth of 8760 h is 0.867 MUSD; 2.5 GW in the rest 2628 MUSD."""
    assert exa("MX5", "dpflop", 0.0)["cost_energy"] == pytest.approx(0.867e6, rel=1e-3)
    assert exa("MX5", "dpflop")["cost_energy"] == pytest.approx(2628e6 + 0.867e6, rel=1e-6)
    assert len({(s, k) for s in processors() for k in table_one.KINDS}) == 20
    assert idle_cell("OMP", "intop") == "2.4e5"
    assert float(cell("OMP", "intop", "idle")) == 2.4e8


def test_the_frontiers_that_table_1_gives():
    fronts = {
        (kind, peak): table_one.frontier(table_one.points(kind, peak))
        for kind in table_one.KINDS
        for peak in (0.0, 0.8)
    }
    assert fronts == {
        ("dpflop", 0.0): ("ATM", "MX5", "OMP"),
        ("dpflop", 0.8): ("ATM", "MX5"),
        ("intop", 0.0): ("MX5", "OMP", "MSP"),
        ("intop", 0.8): ("MX5", "SM9", "C55"),
    }


def test_two_ways_to_a_frontier_agree_also_on_ties():
    rng = np.random.default_rng(5)
    for _ in range(50):
        found = {
            str(k): (float(a), float(b))
            for k, (a, b) in enumerate({tuple(x) for x in rng.integers(0, 9, (12, 2))})
        }
        assert table_one.frontier(found) == table_one.stairs(found)


def test_the_numbers_of_the_text(report: Report):
    pins = ours(report, "e21")
    assert [round(float(str(pins[f"{r} Gb/s"])), 1) for r in (5, 10, 20)] == [13.5, 35.9, 136.6]
    assert ours(report, "e20") == {"1 V, 100 W": pytest.approx(5.0)}
    assert ours(report, "kpwr")[""] == pytest.approx(0.149, abs=5e-5)
    assert ours(report, "s3_corr")[""] == 3300 * 3301 / 2 * 17000 * 4
    assert ours(report, "work")["one socket"] == pytest.approx(120e12 / (8 * 16 * 6 * 10 * 2))


def test_the_stack_of_the_power7_by_hand(report: Report):
    """n = 4: 0.25; 8 * 0.01 + 400 * 1e-4; 45.5 * 0.15 * 0.05; 8 * 0.05 * 0.5; 388 * 0.01 * 0.5."""
    sums = 0.25 + 0.12 + 0.34125 + 0.2 + 1.94
    assert ours(report, "e1") == {"sum of the parts as corrected": pytest.approx(sums)}


def test_the_printed_time_between_failures_is_its_integral():
    """(23) by quadrature, in units of the mean time of one: u = λt."""
    for rate, n in ((0.1, 4), (1e-3, 50), (0.5, 3)):
        area, _ = quad(lambda u, r=rate, m=n: u * np.exp(-u) * (1 - r * np.exp(-u)) ** (m - 1) / r, 0, 60)
        assert formulas.mtbf_printed(rate, n) == pytest.approx(area, rel=1e-6)


def test_the_listing_of_the_correlator_visits_every_pair_once():
    assert len(set(correlator.listed(7))) == len(correlator.listed(7)) == workloads.pairs(7) == 28
    assert correlator.defined(13) == 13


def test_pictures_are_those_of_the_figures(report: Report):
    assert [p.path.name for p in report.pictures] == [
        "figure1.png",
        "figure6.png",
        "cpi_stack.png",
        "voltage_clock.png",
        "pin_power.png",
        "levels.png",
    ]
