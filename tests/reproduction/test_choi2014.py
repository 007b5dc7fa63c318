"""The reproduction of Choi et al. 2014: every statement has its row, every row holds or says why not."""

from __future__ import annotations

import csv
import io
import json
import math
from collections import Counter
from pathlib import Path

import pytest
from rich.console import Console

import dse.reproduction
from dse.reproduction import Report, Row, Verdict
from dse.reproduction.choi2014 import platforms, table_one
from dse.reproduction.choi2014.formulas import platform
from dse.reproduction.sources import statements

pytestmark = pytest.mark.slow

PAPER = "choi2014"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return dse.reproduction.run(PAPER, tmp_path_factory.mktemp("reproduced") / "new" / "folder")


def rows(report: Report, statement: str) -> list[Row]:
    return [row for row in report.rows if row.statement.id == statement]


def test_every_row_agrees_or_says_why_not(report: Report):
    assert [(r.statement.place, r.item, r.ours, r.expected) for r in report.disagreements] == []
    assert report.exit_code == 0


def test_nothing_that_the_paper_says_is_left_out(report: Report):
    assert {row.statement.id for row in report.rows} == set(statements(PAPER))


def test_every_fault_shows_in_some_row_and_says_what_holds_instead(report: Report):
    faulty = {s.id for s in statements(PAPER).values() if s.fault}
    shown = {row.statement.id for row in report.rows if row.verdict is not Verdict.AGREES}
    assert shown == faulty
    assert all(s.correction for s in statements(PAPER).values() if s.fault)
    assert [row for row in report.rows if row.corrected is not None and not row.statement.fault] == []


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
def test_answers_are_those_worked_out_by_hand(report: Report, statement: str, values: list[float]):
    found = [row.ours for row in rows(report, statement)]
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


def test_twenty_three_blocks_are_nowhere_2_8_times_as_fast(report: Report):
    (row,) = rows(report, "n_faster")
    assert "at most 2.709" in row.remark
    assert "at 140 W 3.12" in row.remark


def test_five_as_printed_fails_only_where_the_cap_is_below_the_power_of_flops(report: Report):
    gaps = {row.item for row in rows(report, "d_B_plus") if row.verdict is Verdict.GAP}
    assert gaps == {"NUC GPU"}
    assert all(row.ours == math.inf for row in rows(report, "m_five"))
    worst = [row.ours for row in rows(report, "m_power_printed")]
    assert all(isinstance(ratio, float) and ratio > 1.5 for ratio in worst)


def test_derived_values_are_those_of_the_reference_table(report: Report):
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
        found = [row.ours for row in rows(report, statement)]
        assert found == pytest.approx([float(line[column]) for line in reference], rel=1e-12), column


def test_a_cell_that_is_not_in_the_catalogue_is_noticed(monkeypatch: pytest.MonkeyPatch):
    other = [dict(row) for row in platforms.cells().values()]
    other[7]["eps_mem_J_per_byte"] = "2.77e-10"
    caches = (platforms.cells, platform)
    for cache in caches:
        cache.cache_clear()
    monkeypatch.setattr(platforms, "table", lambda _: other)
    try:
        found = Counter(row.verdict for row in table_one._cells())
    finally:
        for cache in caches:
            cache.cache_clear()
    assert found[Verdict.DIFFERS] == 1


def test_pictures_are_written_and_not_blank(report: Report):
    from matplotlib.image import imread

    names = {"figure1", "half-power", "figure5", "figure6", "figure7a", "figure7b"}
    assert {p.path.stem for p in report.pictures} == names
    for picture in report.pictures:
        pixels = imread(picture.path)[..., :3]
        assert min(pixels.shape[:2]) > 600
        assert pixels.reshape(-1, 3).std(axis=0).min() > 0.05
        assert picture.caption


def test_tables_hold_every_row_and_every_curve(report: Report):
    with (report.folder / "rows.csv").open(encoding="utf-8", newline="") as stream:
        read = list(csv.DictReader(stream))
    assert len(read) == len(report.rows)
    numbers = [(row.ours, line["ours"]) for row, line in zip(report.rows, read, strict=True)]
    assert all(float(text) == ours for ours, text in numbers if isinstance(ours, float))
    with (report.folder / "figures1-5-6-7.csv").open(encoding="utf-8", newline="") as stream:
        curves = list(csv.DictReader(stream))
    assert {(line["machine"], line["throttle"]) for line in curves} == {
        (platforms.machine(p), k) for p in platforms.cells() for k in ("1.0", "2.0", "4.0", "8.0")
    }
    assert all(float(line["power"]) <= float(line["peak_power"]) * (1 + 1e-12) for line in curves)
    page = (report.folder / "report.md").read_text(encoding="utf-8")
    assert all(picture.path.name in page for picture in report.pictures)


def test_the_terminal_shows_places_verdicts_and_where_the_files_are(report: Report):
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(report)
    text = console.export_text()
    for word in (
        "Table I, derived",
        "V-D: power bounding",
        "disagrees",
        "unchecked",
        "figure7a.png",
        "rows:",
    ):
        assert word in text


def test_json_has_no_numbers_that_json_lacks(report: Report):
    told = json.loads(json.dumps(dse.reproduction.to_json(report), allow_nan=False))
    assert len(told["rows"]) == len(report.rows)


def test_the_page_tells_the_counts_of_this_run(report: Report):
    page = (Path(__file__).parents[2] / "docs" / "papers" / "choi2014.md").read_text(encoding="utf-8")
    n = report.counts
    assert (
        f"{len(report.rows)} rows: {n['agrees']} agree, {n['disagrees']} disagree, "
        f"{n['gap']} show a gap of (5) or (7), {n['misprint']} a misprint, {n['unchecked']} cannot be checked."
    ) in page
