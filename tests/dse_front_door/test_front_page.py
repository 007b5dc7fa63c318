"""Fronts on the terminal: what was decided stays readable, however long the lists are."""

import math
from pathlib import Path
from typing import Any

import pytest

import scenarios
from dse.commands.terminal.front_page import show_front
from dse.commands.terminal.printing import PAGE_WIDTH
from dse.fronts import front as fronts
from dse.fronts.front_search import Front

MACHINES = {"cpu": "i3-2100t-tang2017", "gpu": "gtx-750-tang2017"}


def found(count: int, **flags: Any) -> Front:
    regions = [
        {"name": f"region{i}", "flops": 1e9 * (i + 1), "bytes": 4e8 * (count - i), **flags}
        for i in range(count)
    ]
    asked = {
        "model": "partition",
        "machine": MACHINES,
        "given": {"regions": regions},
        "objective": {"minimize": ["energy", "time"]},
    }
    return fronts.find(scenarios.load(asked))


def shown(front: Front, capsys: pytest.CaptureFixture[str]) -> list[str]:
    show_front(front, "dse front file", ())
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= PAGE_WIDTH
    return lines


def test_one_design_is_not_told_of_as_many_points(capsys: pytest.CaptureFixture[str]):
    asked = {
        "model": "nbody",
        "machine": "balanced",
        "given": {"bodies": 1e5, "flops_per_pair": 10, "memory": 5e4},
        "decide": {"processors": {"max": 8}},
        "objective": {"minimize": ["energy", "time"]},
    }
    told = " ".join(shown(fronts.find(scenarios.load(asked)), capsys))
    assert " 1 point, " in told
    assert "Between the points" not in told


def test_few_decisions_have_a_column_each(capsys: pytest.CaptureFixture[str]):
    lines = shown(found(3, divisible=False), capsys)
    assert "region0" in next(line for line in lines if "energy" not in line and "region" in line)
    assert not any("in this order" in line for line in lines)


@pytest.mark.parametrize("divisible", [False, True])
def test_many_shares_are_signs_in_one_column(divisible: bool, capsys: pytest.CaptureFixture[str]):
    front = found(12, divisible=divisible)
    lines = shown(front, capsys)
    text = " ".join(lines)
    assert all(f"region{i}," in text for i in range(12))
    for number, point in enumerate(front.points):
        row = next(line.split() for line in lines if line.split()[:1] == [str(number)])
        (word,) = (cell for cell in row if set(cell) <= set("○●◐"))
        shares = [point.variables[f"share.region{i}.cpu"] for i in range(12)]
        assert [{"○": 0.0, "●": 1.0}.get(sign, 0.5) for sign in word] == [
            x if x in (0.0, 1.0) else 0.5 for x in map(float, shares)
        ]


def test_a_list_beyond_any_line_is_left_out_and_said_to_be(capsys: pytest.CaptureFixture[str]):
    lines = shown(found(60, divisible=True), capsys)
    assert any(line.startswith("share cpu of 60, left out here: --json") for line in lines)


def test_a_table_keeps_its_words_whole_where_many_lists_are_decided(capsys: pytest.CaptureFixture[str]):
    """What is the same at every point is told below the table, and what then has no room is named there."""
    names = ("at91sam7s16", "at91sam9m10", "imx515")
    asked = {
        "model": "sockets",
        "machine": {name: f"{name}-exabounds2012" for name in names},
        "given": {
            "power_step": 500,
            "cost_per_power_step": 100,
            "levels": [
                {"name": "full", "frequency": 1, "voltage": 1},
                {"name": "slow", "frequency": 0.5, "voltage": 0.8},
            ],
            "cards": [
                {"name": "small", "sockets": 4, "cost": 10},
                {"name": "large", "sockets": 64, "cost": 80},
            ],
        },
        "objective": {"minimize": ["cost", "power"], "front": {"points": 4}},
        "limits": {"throughput": {"min": "1e12 op/s"}},
    }
    lines = shown(fronts.find(scenarios.load(asked)), capsys)
    assert any("cost" in line and "status" in line for line in lines)
    assert sum(" optimal " in line and "kUSD" in line for line in lines) == 4
    assert any("at every point" in line for line in lines)


def test_settings_have_their_names(capsys: pytest.CaptureFixture[str]):
    library = Path(scenarios.__file__).parent / "library"
    front = fronts.find(scenarios.load(library / "dvfs_energy_time_front.toml"))
    first = next(line.split() for line in shown(front, capsys) if line.split()[:1] == ["0"])
    settings = [front.points[0].menus[n][round(float(v)) - 1] for n, v in front.points[0].variables.items()]
    assert first[5:10] == settings


def test_an_exchange_names_the_change_of_the_first_objective_where_it_is_not_one_percent():
    from dse.commands.terminal.front_page import _exchange_text

    assert _exchange_text(0.001, -2.0) == "-2 % for +0.001 %"
    assert _exchange_text(1.0, -3.25) == "-3.25 %"
    assert _exchange_text(float("nan"), float("nan")) == ""


def test_the_exchange_is_what_one_percent_brings_on_the_way_to_the_next_point(
    capsys: pytest.CaptureFixture[str],
):
    front = fronts.find(scenarios.load("nbody_energy_time_front"), points=8)
    told = next(line for line in shown(front, capsys) if line.split()[:1] == ["0"])
    (e0, e1), (t0, t1) = ([p.metrics[n] for p in front.points[:2]] for n in ("energy", "time"))
    by_one_percent = (t1 / t0) ** (math.log(1.01) / math.log(e1 / e0)) - 1
    assert f" {100 * by_one_percent:+.3g} %" in told
    # the slope in logarithms is not that change
    assert math.log(t1 / t0) / math.log(e1 / e0) < 100 * by_one_percent - 2
