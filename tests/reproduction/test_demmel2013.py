"""The reproduction of Demmel et al. 2013: every row holds, every picture is there."""

from __future__ import annotations

import pytest

from dse.papers import Report

pytestmark = pytest.mark.slow

PAPER = "demmel2013"


@pytest.mark.parametrize(
    ("reading", "start", "after_five", "share"),
    [
        ("M = n²/p", 2.584, 82.7, 43.0),
        ("M = 3n²/p", 2.470, 79.0, 69.0),
        ("M = 3n²", 2.317, 74.1, 82.0),
        ("M = 2^32", 2.270, 72.6, 84.0),
        ("M = 2^34 (Table I)", 1.592, 50.9, 95.0),
        ("M = 2^34, δe corrected", 2.270, 72.6, 84.0),
    ],
)
def test_readings_of_figures_6_and_7_give_the_efficiencies_worked_out_by_hand(
    report: Report, reading: str, start: float, after_five: float, share: float
):
    found = {row.statement.id: row.ours for row in report.rows if row.item == reading}
    assert found["VI_start"] == pytest.approx(start, abs=5e-4)  # the hand-worked numbers have these digits
    assert found["VI_five"] == pytest.approx(after_five, abs=0.05)
    assert found["VI_share"] == pytest.approx(share, abs=0.5)


def test_pictures_are_those_of_the_figures(report: Report):
    names = {"figure3", "lower-bounds", "figure4a", "figure4b", "figure4c", "figure6", "figure7"}
    assert {p.path.stem for p in report.pictures} == names
