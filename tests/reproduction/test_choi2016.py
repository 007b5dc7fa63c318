"""The reproduction of Choi and Vuduc 2016: every statement has its row, every row holds or says why not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import nnls

from dse import machines
from dse.papers import Report, Row, Verdict, sources
from dse.papers.choi2016 import autotuning, jetson, multipole
from dse.papers.choi2016.rows import answers

pytestmark = pytest.mark.slow

PAPER = "choi2016"
SETTINGS = machines.get("jetson-tk1").settings


def test_what_cannot_be_checked_has_no_answer_of_ours(report: Report):
    unchecked = [row for row in report.rows if row.verdict is Verdict.UNCHECKED]
    assert {row.ours for row in unchecked} == {""}
    assert {"p_samples", "v_holdout", "v_folds", "b_error"} <= {row.statement.id for row in unchecked}


def test_the_circuit_is_the_one_worked_out_by_hand():
    """The constants of the notes, and another solver of non-negative least squares on (8)."""
    found = jetson.circuit().constants
    hand = [27.353, 131.084, 56.544, 33.360, 84.990, 369.562]
    fitted = [found[o.capacitance] * 1e12 for o in jetson.ENERGIES.values()]
    assert fitted == pytest.approx(hand, abs=6e-4)
    leaks = [found[n] for n in ("core_leakage_current", "memory_leakage_current", "other_power")]
    assert leaks == pytest.approx([2.86813, 3.80976, 0.0], abs=6e-6)
    volts = np.array([[s["core_voltage"], s["memory_voltage"], 1.0] for s in SETTINGS])
    assert leaks == pytest.approx(nnls(volts, [s["constant_power"] for s in SETTINGS])[0], abs=1e-9)
    training = jetson.circuit("T").constants
    assert training["core_leakage_current"] == pytest.approx(2.77182, abs=6e-6)
    assert training["memory_leakage_current"] == pytest.approx(3.90989, abs=6e-6)


def test_table_i_follows_from_the_circuit_within_its_rounding(
    report: Report, rows: Callable[[str], list[Row]]
):
    of_table = [row for row in report.rows if row.statement.id.startswith("q_") and row.unit in {"pJ", "W"}]
    assert len(of_table) == 7 * 16
    errors = {row.item: abs(float(row.ours) - float(row.paper)) for row in of_table}
    assert max(errors.values()) < 0.07
    (nine,) = rows("q_nine")
    assert float(nine.ours) < 1e-12


def test_one_line_of_table_ii_cannot_be(rows: Callable[[str], list[Row]]):
    wrong = [row.item for row in rows("a_consistent") if row.verdict is Verdict.INCONSISTENT]
    assert wrong == ["L2, time oracle: 0 of 9, 10.71 % lost"]


def test_energies_of_three_settings_cannot_be_predicted(rows: Callable[[str], list[Row]]):
    (row,) = rows("b_predict")
    assert row.ours == 5.0
    assert row.remark == "not for S4, S5, S7"


def lost_by_hand(operations: float, rate: float, cost: str) -> tuple[float, float]:
    """Loss of the fastest (most frugal of equals) and of the highest clocks, in a loop over Table I."""
    found = []
    for s in SETTINGS:
        time = max(operations / (rate * s["core_frequency"]), 1e10 / (16.0 * s["memory_frequency"]))
        found.append((time, operations * s[cost] + 1e10 * s["energy_per_byte"] + s["constant_power"] * time))
    fast = min(t for t, _ in found) * (1 + 1e-12)
    least = min(e for _, e in found)
    return min(e for t, e in found if t <= fast) / least - 1, found[0][1] / least - 1


@pytest.mark.parametrize(
    ("operations", "rate", "cost"),
    [
        ("flops", 384.0, "energy_per_flop"),
        ("flops_double", 16.0, "energy_per_flop_double"),
        ("integer_operations", 192.0, "energy_per_integer_operation"),
    ],
)
def test_what_race_to_halt_loses_is_what_a_loop_gives(operations: str, rate: float, cost: str):
    race = autotuning.race(operations)
    for place in range(0, len(autotuning.INTENSITIES), 7):
        wanted = lost_by_hand(float(autotuning.INTENSITIES[place]) * 1e10, rate, cost)
        assert (race.kind[place], race.highest[place]) == pytest.approx(wanted, rel=1e-9, abs=1e-12)


def fastest_is_frugal(cost: str, clock: str, share: float | None = None) -> bool:
    """Whether it is, in a loop over Table I, where constant power takes that share at the highest clocks.

    None: at full speed of the memory.
    """
    first = SETTINGS[0]
    cycles = 1 / 16.0
    if share is not None:
        cycles = share / (1 - share) * first[cost] / first["constant_power"] * first[clock]
    each = [(cycles / s[clock], s[cost] + s["constant_power"] * cycles / s[clock]) for s in SETTINGS]
    fast = min(t for t, _ in each) * (1 + 1e-12)
    return min(e for t, e in each if t <= fast) <= min(e for _, e in each) * (1 + 1e-12)


def test_from_which_share_of_constant_power_on_the_fastest_is_the_most_frugal():
    turn = multipole._turn("flops")
    assert turn == pytest.approx(0.65, abs=5e-3)
    assert fastest_is_frugal("energy_per_flop", "core_frequency", turn + 0.002)
    assert not fastest_is_frugal("energy_per_flop", "core_frequency", turn - 0.002)
    assert fastest_is_frugal("energy_per_byte", "memory_frequency")
    assert "already at full speed" in multipole._from("bytes")


def test_shares_of_energy_are_those_of_the_notes(rows: Callable[[str], list[Row]]):
    """60 % integer instructions: 24.4 % of the energy if a printed energy is that of a flop."""
    (row,) = rows("o_integer")
    assert row.ours == pytest.approx(0.5807, abs=5e-5)
    (same,) = rows("o_regardless")
    assert "24.4" in same.remark
    (micro,) = rows("o_micro")
    dynamic = 384 * 852e6 * 29.0e-12 + 16 * 924e6 * 377e-12
    assert micro.ours == pytest.approx(6.8 / (6.8 + dynamic), rel=1e-12)


def test_a_cell_that_is_not_in_the_catalogue_is_noticed(monkeypatch: pytest.MonkeyPatch):
    other = [dict(row) for row in jetson.cells()]
    other[7]["eps_mem_pJ_per_byte"] = "236.6"
    columns = [name for name in sources.lines(PAPER) if name.startswith("t_")]
    monkeypatch.setattr(sources, "table", lambda _: other)
    found = Counter(row.verdict for name in columns for row in answers.rows_of(name))
    assert found == {Verdict.TRANSCRIBED: 11 * 16 - 1, Verdict.DIFFERS: 1}


def test_pictures_are_those_of_the_figures(report: Report):
    assert {p.path.stem for p in report.pictures} == {"table1", "phases", "race-to-halt"}


def test_the_page_tells_the_counts_of_this_run(report: Report):
    page = (Path(__file__).parents[2] / "docs" / "papers" / "choi2016.md").read_text(encoding="utf-8")
    n = report.counts
    counts = f"{n['agrees']} agree, {n['gap']} shows a gap, {n['inconsistent']} an inconsistency"
    told = f"{len(report.rows)} rows: {counts}, {n['unchecked']} cannot be checked. The other {n['transcribed']} "
    assert told in " ".join(page.split())
