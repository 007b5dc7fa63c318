"""Values at which limits that may fail would do: of geometric programs, of lists, and of boxes just below the value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dse
from formulations.row_keys import RowKey
from results.solution import Solution, Status
from solvers.robust.explaining import robust_conflicts
from solvers.robust.masters import failing
from solvers.robust.masters.at_points import Optima
from solvers.robust.masters.master import Master

LATE: dict[str, Any] = {
    "model": "nbody",
    "machine": "balanced",
    "given": {"bodies": 1e5, "flops_per_pair": 10},
    "decide": {"processors": {"min": 1, "max": 4096}, "memory": {"min": 30, "max": 1e5}},
    "objective": {"minimize": "power_per_processor", "cvar": 0.5},
    "uncertain": {
        "machine.energy_per_word": {"loguniform": [1.5e-6, 6e-6]},
        "sampling": {"samples": 16, "seed": 55},
    },
    "limits": {"energy_delay": {"max": 1.12792, "probability": 0.9, "confidence": 0}},
}
"""Too slow for 4096 processors; more, more memory than may be replicated, or a later end would do."""

LISTED: dict[str, Any] = {
    "model": "nbody",
    "machine": "balanced",
    "given": {"bodies": 1e4, "flops_per_pair": 10},
    "decide": {"processors": {"values": [16, 64, 256]}, "memory": {"values": [1000, 2000]}},
    "objective": {"minimize": "energy", "measure": "mean"},
    "uncertain": {
        "machine.time_per_flop": {"lognormal": ["1 ns/flop", 1.2]},
        "machine.energy_per_word": {"lognormal": ["3 uJ/word", 1.3]},
        "sampling": {"samples": 400, "seed": 3},
    },
}


RANDOM = {"sampling": {"samples": 16, "method": "random"}}
"""As samples are drawn where a limit has a probability."""


@pytest.fixture
def _without_boxes(monkeypatch: pytest.MonkeyPatch) -> None:
    def searched(*_: object) -> None:
        raise AssertionError("boxes of designs were searched")

    monkeypatch.setattr(robust_conflicts, "feasible_value", searched)


@pytest.mark.usefixtures("_without_boxes")
def test_a_dear_limit_of_the_model_has_a_value_from_programs() -> None:
    """The granted slack of 1e-8 moves this value by 1.4e-6: the bound of 400 nodes never closed."""
    told = dse.solve(LATE)
    assert told.status == "infeasible"
    assert told.conflicts == (("energy_delay", "processors", "replication"),)
    # as 20 s of boxes had it
    assert told.conflict["replication"] == pytest.approx(3.339042512992457, rel=4e-7)
    more = {**LATE["decide"], "processors": {"min": 1, "max": told.conflict["processors"] * (1 + 1e-6)}}
    assert dse.solve({**LATE, "decide": more}).status == "optimal"


@pytest.mark.usefixtures("_without_boxes")
def test_the_upper_of_two_ends_gives_at_many_points() -> None:
    """Processors have both ends; as for one question the upper one gives, and the lower one where that is no help."""
    axis = {"by": {"path": "limits.energy_delay.max", "values": [0.8, 0.9, 1.0, 1.1]}}
    swept = dse.sweep({**LATE, "objective": {"minimize": "energy", "measure": "mean"}, "sweep": axis})
    told = swept["would_do"].sel(limit="processors").values
    assert (told > 4096).all()
    assert (np.diff(told) < 0).all()
    assert np.isnan(swept["would_do"].sel(limit="processors.min").values).all()


def test_points_that_differ_in_one_limit_share_what_it_would_have_to_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is searched once, at whichever of them, and is the same number to the last bit."""
    searched, best = list[int](), failing.best

    def counted(master: Master, *rest: Any, **how: Any) -> Optima:
        searched.extend([master.count] if RowKey("energy_delay", "max") in master.eased else [])
        return best(master, *rest, **how)

    monkeypatch.setattr(failing, "best", counted)
    axis = {"by": {"path": "limits.energy_delay.max", "values": [0.8, 0.9, 1.0, 1.1]}}
    asked = {**LATE, "objective": {"minimize": "energy", "measure": "mean"}, "sweep": axis}
    told = dse.sweep(asked)["would_do"].sel(limit="energy_delay").values
    assert set(searched) == {1}
    assert np.unique(told).size == 1
    alone = dse.solve({**asked, "sweep": {}}).conflict["energy_delay"]
    assert told[0] == pytest.approx(alone, rel=1e-8)


def test_of_a_limit_with_two_ends_and_a_probability_one_end_gives():
    def asked(least: float, most: float) -> Solution:
        time = {"min": f"{least} s", "max": f"{most} s", "probability": 0.9}
        return dse.solve({**LISTED, "limits": {"time": time}})

    middle = asked(1e-6, 1e3).metrics["time"]
    found = asked(0.99 * middle, 1.01 * middle)
    assert found.status is Status.INFEASIBLE
    assert found.conflicts == (("time",),)
    would = found.conflict["time"]
    assert would is not None
    # nothing is slower, so that the upper end does not help
    assert would < 0.99 * middle
    assert asked(would * (1 - 1e-6), 1.01 * middle).status is Status.OPTIMAL
    assert asked(would * (1 + 1e-6), 1.01 * middle).status is Status.INFEASIBLE
    fast = asked(1e-6, 0.5 * middle).metrics["time"]
    would = asked(0.99 * fast, 1.01 * fast).conflict["time"]
    assert would is not None
    assert would > 1.01 * fast
    assert asked(0.99 * fast, would * (1 + 1e-6)).status is Status.OPTIMAL
    assert asked(0.99 * fast, would * (1 - 1e-6)).status is Status.INFEASIBLE


def test_a_limit_on_a_quantile_is_told_with_the_quantile_and_not_with_the_worst_sample() -> None:
    answer = dse.solve(
        {
            "model": "nbody",
            "machine": "jaketown",
            "given": {"bodies": 1e6, "flops_per_pair": 20},
            "decide": {"processors": {"max": 2048}, "memory": {}},
            "uncertain": {
                "machine.time_per_flop": {"uniform": ["2 ps/flop", "4 ps/flop"]},
                "sampling": {"samples": 40, "method": "random"},
            },
            "objective": {
                "minimize": "mean_energy",
                "measures": {
                    "mean_energy": {"of": "energy", "measure": "mean"},
                    "middle_time": {"of": "time", "quantile": 0.5},
                },
            },
            "limits": {"middle_time": {"max": "1 s"}},
        }
    )
    told = answer.limits["middle_time"]
    assert told.value == answer.metrics["middle_time"]
    assert told.slack == pytest.approx(1.0 - told.value / told.bound)


def test_a_joint_promise_that_no_sample_may_break_tells_the_values_that_would_do() -> None:
    """A promise that spares no sample was left out of the search, and the limit that has to give with it."""
    asked = {
        "model": "roofline",
        "machine": "gtx-titan-choi2014",
        "given": {"flops": 1e12, "intensity": 4},
        "decide": {"throttle": {"values": [1, 2, 4, 8]}},
        "uncertain": {"intensity": {"uniform": [2, 8]}, "sampling": {"samples": 16}},
        "objective": {"minimize": "energy", "measure": "mean"},
        "limits": {"time": {"max": 3.0}, "power": {"max": 200.0}},
    }
    promise = {"joint": {"of": ["time", "power"], "probability": 0.65}}
    told = dse.solve({**asked, "limits": {**asked["limits"], **promise}})
    # 99 % confidence of 0.65 in 16 samples: none may fail, so that it is what holds in each of them
    certain = dse.solve({**asked, "uncertain": {**asked["uncertain"], **RANDOM}})
    assert told.conflicts == certain.conflicts == (("time", "power", "throttle"),)
    assert told.conflict == pytest.approx(certain.conflict)
    for name in ("time", "power"):
        limits = {**asked["limits"], name: {"max": told.conflict[name] * (1 + 1e-9)}, **promise}
        assert dse.solve({**asked, "limits": limits}).status is Status.OPTIMAL


def test_a_limit_that_only_its_slack_allows_has_the_design_that_needs_it() -> None:
    """Limits hold to 1e-8: a hair below the least wait there are still designs, and they were never taken."""
    least = 0.6043195208202425
    asked: dict[str, Any] = {
        "model": "nbody",
        "machine": "balanced",
        "given": {"bodies": 34257, "flops_per_pair": 6, "rate": "5.92691064124098e-08 USD/J"},
        "decide": {"processors": {"max": 1184}, "memory": {}},
        "define": {
            "price": "1.201e-08 USD * processors * log(processors + 2) + rate * energy",
            "wait": "time + 9.324e-07 s * processors",
            "heat": "energy * power / 1 J",
        },
        "objective": {"minimize": "price", "cvar": 0.75},
        "limits": {
            "wait": {"max": least, "probability": 0.8, "confidence": 0},
            "heat": {"max": 43.992},
        },
        "uncertain": {
            "flops_per_pair": {"uniform": [5.451715921052296, 9.467021811790598]},
            "machine.time_per_flop": {"uniform": [7.341788568277338e-10, 1.694672157584396e-09]},
            "sampling": {"samples": 16, "method": "random"},
        },
    }
    there = dse.solve(asked)
    asked["limits"]["wait"]["max"] = least * (1 - 1e-8)
    beside = dse.solve(asked)
    assert there.status is beside.status is Status.OPTIMAL
    # designs of a valley move as the root of the slack
    assert beside.objective == pytest.approx(there.objective, rel=1e-4)
    for name in ("processors", "memory"):
        assert beside.variables[name] == pytest.approx(there.variables[name], rel=1e-2)
