"""Stations that cannot be: a sweep names the limits in conflict itself, without asking each point alone."""

from __future__ import annotations

import json

import pytest

import dse
import scenarios
from results.dataset import CONFLICTING
from solvers.answer import answer


def test_a_limit_alone_is_shown_to_hold_although_the_other_one_forbids_that_many_things():
    asked = dse.load("station_least_cost_in_10_kw").model_dump(exclude_none=True, exclude_defaults=True)
    ends = {"path": "limits.throughput.min", "factors": [1.0, 3.0, 4.0, 5.0, 6.0, 8.0]}
    cards = {"path": "given.card_power_limit", "factors": [0.5, 1.0, 2.0]}
    grid = scenarios.grid(dse.Scenario(**asked, sweep={"asked_for": ends, "card_limit": cards}))
    swept = dse.sweep(dse.Scenario(**asked, sweep={"asked_for": ends, "card_limit": cards}))
    words = swept["status"].attrs["flag_meanings"].split()
    assert [words[int(v)] for v in swept["status"].values[4]] == ["infeasible"] * 3
    assert json.loads(swept.attrs.get("left_over", "{}")) == {}
    found = answer(grid.question((4, 2)))
    clash = swept["binding"].values[4, 2] == CONFLICTING
    assert set(swept["limit"].values[clash]) == set(found.conflicts[0]) == {"throughput", "power"}
    values = dict(zip(swept["limit"].values[clash], swept["would_do"].values[4, 2][clash], strict=True))
    for name, value in values.items():
        # HiGHS minimises within 1e-6 of what a row adds up
        assert value == pytest.approx(found.conflict[name], rel=1e-5)


def test_a_type_that_no_card_takes_is_impossible_however_many_there_are():
    """No limit ends the numbers of a station at least cost: the proof is that a card of that type draws too much."""
    asked = dse.load("station_least_cost").model_dump(exclude_none=True, exclude_defaults=True)
    asked["given"]["card_power_limit"] = "6.7 W"
    found = dse.solve(asked)
    assert found.status == "optimal"
    assert {a.choice["machine.socket"]: a.status for a in found.alternatives}["atom-n450"] == "infeasible"
