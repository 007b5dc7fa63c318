"""Maxima that must be one of their arguments are left loose where what is best does not profit from it."""

from typing import Any

import numpy as np
import pytest

import dse
from formulations.arithmetics.forms import Affine, Largest, Maximum
from formulations.programs.chosen_maxima import at_largest, chosen_maxima
from results.solution import Solution, Status
from solvers.linear import highs
from solvers.linear.linear_program import Numbers

WHOLE = ("r1", "r2", "r4")


def asked(watts: float, goal: str = "time") -> dict[str, Any]:
    """Five regions on three processors within a power limit, which more time would help to hold."""
    amounts = [(40, 20), (2, 16), (90, 30), (10, 40), (200, 8)]
    return {
        "model": "partition",
        "given": {
            "link_bandwidth": "12 GB/s",
            "regions": [
                {
                    "name": f"r{k}",
                    "flops": f"{flops} Gflop",
                    "bytes": f"{size} GB",
                    "divisible": f"r{k}" not in WHOLE,
                }
                for k, (flops, size) in enumerate(amounts)
            ],
            "transfers": [{"from": f"r{k}", "to": f"r{k + 1}", "bytes": "0.5 GB"} for k in range(4)],
        },
        "machine": {"cpu": "epyc-9654", "gpu": "h100-pcie", "small": "l4"},
        "objective": {"minimize": goal},
        "limits": {"power": {"max": f"{watts} W"}},
    }


def seen(question: dict[str, Any], monkeypatch: pytest.MonkeyPatch, *, loose: bool) -> tuple[Solution, int]:
    """The answer, and of how many whole numbers the largest search was."""
    searched, call = [0], highs._called_highs

    def called(n: Numbers, *rest: Any, **how: Any) -> Any:
        searched.append(int(n.integer.sum()))
        return call(n, *rest, **how)

    with monkeypatch.context() as patched:
        patched.setattr(highs, "_called_highs", called)
        if not loose:
            patched.setattr(highs, "_with_loose_maxima", lambda *_: None)
        return dse.solve(question), max(searched)


@pytest.mark.parametrize("goal", ["time", "energy", "energy_delay"])
@pytest.mark.parametrize("watts", [150.0, 400.0, 550.0, 1000.0])
def test_loose_maxima_change_no_answer(watts: float, goal: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (one, few), (other, many) = (seen(asked(watts, goal), monkeypatch, loose=x) for x in (True, False))
    assert one.status is other.status
    assert one.conflicts == other.conflicts
    assert (one.objective or 0.0) == pytest.approx(other.objective or 0.0, rel=1e-9)
    assert {n: v for n, v in one.variables.items() if n not in one.ranges} == pytest.approx(
        {n: v for n, v in other.variables.items() if n not in other.ranges}, rel=1e-6, abs=1e-6
    )
    assert one.ranges.keys() == other.ranges.keys()
    for name, ends in one.ranges.items():
        assert ends == pytest.approx(other.ranges[name], rel=1e-6, abs=1e-6)
    assert few <= many


def test_no_search_chooses_maxima_where_power_has_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time is what it is at best: with a power limit that does not bind only whole regions are searched."""
    answer, searched = seen(asked(1000.0), monkeypatch, loose=True)
    assert answer.status is Status.OPTIMAL
    assert not answer.limits["power"].binding
    assert searched == 2 * len(WHOLE)
    assert seen(asked(1000.0), monkeypatch, loose=False)[1] > searched


def test_ranges_hold_designs_with_other_largest_terms() -> None:
    """With the terms that are the largest at the design, 0.31 of region 0 is the most for the CPU."""
    answer = dse.solve(asked(550.0))
    other = dse.solve({**asked(550.0), "decide": {"share.r0.cpu": {"min": 0.41}}})
    assert other.objective == pytest.approx(answer.objective, rel=1e-9)
    assert answer.ranges["share.r0.cpu"][1] >= other.variables["share.r0.cpu"] - 1e-6  # type: ignore[operator]


def test_arguments_are_read_from_rows() -> None:
    """Of t = max(2x, 3 - x), written with slack 9 and as twice the rows, and s = max(t, 1)."""
    t, s = (Maximum((Affine({}),) * 2) for _ in range(2))
    columns = ["x", s, t, *(Largest(s, k) for k in range(2)), *(Largest(t, k) for k in range(2))]
    rows = np.array(
        [
            [0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, -1.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, -1.0],
            [0.0, 1.0, -1.0, 9.0, 0.0, 0.0, 0.0, -9.0],
            [0.0, 1.0, 0.0, 0.0, 9.0, 0.0, 0.0, -10.0],
            [2.0, 0.0, 2.0, 0.0, 0.0, 0.0, 18.0, -24.0],
            [-4.0, 0.0, 2.0, 0.0, 0.0, 18.0, 0.0, -18.0],
        ]
    )
    maxima = chosen_maxima(columns, rows, np.arange(6) < 2)
    assert [m.column for m in maxima] == [1, 2]
    ends = np.zeros(7), np.array([9.0, 99.0, 99.0, 1.0, 1.0, 1.0, 1.0])
    loose = np.array([2.0, 50.0, 60.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    assert at_largest(maxima, loose, *ends).tolist() == [2.0, 4.0, 4.0, 1.0, 0.0, 1.0, 0.0, 1.0]
    # where both are as large, the one that may be chosen
    loose[0], ends[1][5] = 1.0, 0.0
    assert at_largest(maxima, loose, *ends).tolist() == [1.0, 2.0, 2.0, 1.0, 0.0, 0.0, 1.0, 1.0]
    assert chosen_maxima(columns, rows[:5], np.arange(5) < 2) == ()
    assert chosen_maxima([*columns[:-1], columns[-2]], rows, np.arange(6) < 2) == ()
