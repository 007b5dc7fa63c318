"""The reproduction of Choi et al. 2014: every statement has its row, every row holds or says why not."""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from dse.papers import Report, Row, Verdict, sources
from dse.papers.choi2014 import platforms
from dse.papers.choi2014.rows import answers
from dse.papers.report import verdict

pytestmark = pytest.mark.slow

PAPER = "choi2014"


def test_what_cannot_be_checked_has_no_answer_of_ours(report: Report):
    unchecked = [row for row in report.rows if row.verdict is Verdict.UNCHECKED]
    assert {row.ours for row in unchecked} == {""}
    assert "f_ks" in {row.statement.id for row in unchecked}


@pytest.mark.parametrize(
    ("statement", "values"),
    [
        ("a_match", [1.660, 0.8353]),
        ("a_within_two", [2.016]),
        ("a_count", [46.97]),
        ("a_count_within", [46]),
        ("a_bandwidth", [1.650]),
        ("c_titan_peak", [16.39e9]),
        ("c_nehalem_peak", [625.6e6]),
        ("c_arndale_peak", [8.131e9]),
        ("c_seven", [7]),
        ("c_charge", [994.5e-12, 514.6e-12, 152.6e-12]),
        ("c_total", [1130.5e-12, 781.6e-12, 670.6e-12]),
        ("c_correlation", [-0.6030, -0.6030]),
        ("n_half", [143.5]),
        ("n_performance", [0.3124]),
        ("n_count", [22.91, 23]),
        ("n_faster", [2.585]),
        ("v_random", [8.963]),
    ],
)
def test_answers_are_those_worked_out_by_hand(
    rows: Callable[[str], list[Row]], statement: str, values: list[float]
):
    found = [row.ours for row in rows(statement)]
    assert found == pytest.approx(values, rel=5e-4)  # the hand-worked numbers have four digits


def test_text_that_the_constants_contradict_is_called_so(report: Report):
    disagrees = {row.statement.id for row in report.rows if row.verdict is Verdict.DISAGREES}
    assert disagrees == {
        "a_match",
        "a_within_two",
        "a_count_within",
        "c_within_two",
        "h_memory",
        "h_memory_energy",
        "n_faster",
        "v_random",
    }


def test_twenty_three_blocks_are_nowhere_2_8_times_as_fast(rows: Callable[[str], list[Row]]):
    (row,) = rows("n_faster")
    assert "at most 2.709" in row.remark
    assert "at 140 W 3.12" in row.remark


def test_five_as_printed_fails_only_where_the_cap_is_below_the_power_of_flops(
    rows: Callable[[str], list[Row]],
):
    gaps = {row.item for row in rows("d_B_plus") if row.verdict is Verdict.GAP}
    assert gaps == {"NUC GPU"}
    assert all(row.ours == math.inf for row in rows("m_five"))
    worst = [row.ours for row in rows("m_power_printed")]
    assert all(isinstance(ratio, float) and ratio > 1.5 for ratio in worst)


def test_derived_values_are_those_of_the_reference_table(rows: Callable[[str], list[Row]]):
    names = {
        "d_pi_flop": "pi_flop_W",
        "d_pi_mem": "pi_mem_W",
        "d_B_tau": "B_tau_flop_per_B",
        "d_B_eps": "B_eps_flop_per_B",
        "d_B_minus": "B_minus_flop_per_B",
        "d_B_plus": "B_plus_flop_per_B",
        "d_peak_power": "peak_power_W",
        "d_flop_per_J": "peak_flop_per_J_capped",
        "d_J_per_byte": "stream_J_per_B_capped",
        "d_fraction": "pi1_fraction",
    }
    table = Path(__file__).parent.parent / "data" / "choi2014_derived.csv"
    with table.open(encoding="utf-8", newline="") as stream:
        reference = list(csv.DictReader(stream))
    for statement, column in names.items():
        found = [row.ours for row in rows(statement)]
        assert found == pytest.approx([float(line[column]) for line in reference], rel=1e-12), column


def test_a_cell_that_is_not_in_the_catalogue_is_noticed(monkeypatch: pytest.MonkeyPatch):
    other = [dict(row) for row in platforms.cells().values()]
    other[7]["eps_mem_J_per_byte"] = "2.77e-10"
    monkeypatch.setattr(sources, "table", lambda _: other)
    found = Counter(row.verdict for row in answers.rows_of("t_eps_mem_J_per_byte"))
    assert found[Verdict.DIFFERS] == 1


def test_pictures_are_those_of_the_figures(report: Report):
    names = {"figure1", "half-power", "figure5", "figure6", "figure7a", "figure7b"}
    assert {p.path.stem for p in report.pictures} == names


def test_tables_hold_every_curve(report: Report):
    with (report.folder / "figures1-5-6-7.csv").open(encoding="utf-8", newline="") as stream:
        curves = list(csv.DictReader(stream))
    assert {(line["machine"], line["throttle"]) for line in curves} == {
        (platforms.machine(p), k) for p in platforms.cells() for k in ("1.0", "2.0", "4.0", "8.0")
    }
    assert all(float(line["power"]) <= float(line["peak_power"]) * (1 + 1e-12) for line in curves)


def test_the_page_tells_the_counts_of_this_run(report: Report):
    page = (Path(__file__).parents[2] / "docs" / "papers" / "choi2014.md").read_text(encoding="utf-8")
    n = report.counts
    assert (
        f"{len(report.rows)} rows: {n['agrees']} agree, {n['disagrees']} disagree, "
        f"{n['gap']} show a gap of (5) or (7), {n['misprint']} a misprint, {n['unchecked']} cannot be checked. "
        f"The other {n['transcribed']} "
    ) in " ".join(page.split())


def test_what_was_typed_in_from_the_table_is_not_counted_as_agreement(report: Report):
    typed = [row for row in report.rows if row.verdict is Verdict.TRANSCRIBED]
    assert len(typed) == 155
    assert {row.statement.id[:2] for row in typed} == {"t_"}
    counts = report.counts
    assert verdict(report).startswith(f"{counts['agrees']} of {len(report.rows) - 155} rows agree")
    assert "155 more were typed in from the paper" in verdict(report)
    # a typing mistake is still found
    wrong = replace(typed[0], ours=2 * float(typed[0].ours))
    assert wrong.verdict is Verdict.DIFFERS
