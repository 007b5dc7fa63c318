"""Pictures of what is chosen by name, and of times of days and years."""

from __future__ import annotations

from typing import Any

import pytest

import dse
from results import plot

MACHINES = ["gtx-titan-choi2014", "arndale-gpu-choi2014", "gtx680-choi2014"]
YEAR = 365.25 * 86400.0


def legend(figure: Any) -> list[str]:
    return [t.get_text() for g in figure.legends for t in g.get_texts()]


def test_a_map_of_choices_has_a_colour_for_each_name() -> None:
    swept = dse.sweep(
        {
            "model": "roofline",
            "given": {"flops": 1e12},
            "decide": {"machine": {"values": MACHINES}},
            "objective": {"minimize": "energy"},
            "sweep": {
                "intensity": {"path": "intensity", "start": 0.25, "stop": 64, "num": 9, "spacing": "log"},
                "cap": {"path": "limits.power.max", "start": 2, "stop": 400, "num": 9, "spacing": "log"},
            },
        }
    )
    figure = plot.map(swept, variable="machine")
    chosen = {MACHINES[int(v)] for v in swept["machine"].values[swept["status"].values == 1]}
    named = legend(figure)
    assert len(chosen) >= 2
    assert chosen <= set(named)
    assert any(text.startswith("infeasible") for text in named)
    # no scale of numbers beside the one panel
    assert len(figure.axes) == 1


@pytest.mark.parametrize(
    ("ends", "unit", "ticks"),
    [
        ((0.1 * YEAR, 30 * YEAR), "yr", ["0.1", "1", "10"]),
        ((3600.0, 30 * 86400.0), "day", ["0.1", "1", "10"]),
    ],
)
def test_a_logarithmic_axis_of_long_times_has_round_days_or_years(
    ends: tuple[float, float], unit: str, ticks: list[str]
) -> None:
    start, stop = ends
    swept = dse.sweep(
        {
            "model": "roofline",
            "machine": MACHINES[0],
            "given": {"flops": 1e15, "intensity": 4},
            "decide": {"throttle": {"max": 1e9}},
            "objective": {"minimize": "power"},
            "sweep": {
                "most": {"path": "limits.time.max", "start": start, "stop": stop, "num": 8, "spacing": "log"}
            },
        }
    )
    panel = plot.sweep(swept).axes[0]
    panel.figure.canvas.draw()
    assert panel.get_xlabel() == f"most ({unit})"
    shown = [t.get_text() for t in panel.get_xticklabels()]
    assert set(ticks) <= set(shown), shown
