"""A measure that is only limited is told from the side of its limit, whichever way the objective goes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from plain_roofline import RUN
from scipy.stats import qmc

import dse
from results.solution import Solution, Status

SAMPLES = 128
LOADS = 1 + 2 * qmc.Sobol(1, scramble=True, rng=np.random.default_rng(0)).random(SAMPLES)[:, 0]
"""The uniform loads that the questions draw."""


def asked(way: str, measure: dict[str, object], limit: dict[str, object], **more: Any) -> dict[str, Any]:
    """Nodes over load made greatest or least, with a limit on a measure of nodes times load."""
    return {
        **RUN,
        "given": {**RUN["given"], "load": 2.0},
        "decide": {"nodes": {"min": 1, "max": 4, "integer": True}},
        "define": {"speed": "nodes / load", "toll": "nodes * load"},
        "uncertain": {"load": {"uniform": [1, 3]}, "sampling": {"samples": SAMPLES}},
        "objective": {way: "speed", "measure": "mean", "measures": {"paid": {"of": "toll"} | measure}},
        "limits": {"paid": limit},
        **more,
    }


def told(found: Solution, least: float, right: float) -> None:
    assert found.status is Status.OPTIMAL
    assert found.metrics["paid"] == pytest.approx(right, rel=1e-6)
    assert found.limits["paid"].value == pytest.approx(right, rel=1e-6)
    assert found.limits["paid"].slack == pytest.approx(least, abs=1e-6)
    assert found.fresh is not None
    assert found.fresh.measures["paid"].value == pytest.approx(right, rel=0.03)


def test_a_greatest_quantile_beside_what_is_maximised():
    # the level that 33 % of the samples do not exceed, at four nodes; 67 % reach another one
    right = 4 * np.sort(LOADS)[int(np.ceil(0.33 * SAMPLES)) - 1]
    told(dse.solve(asked("maximize", {"quantile": 0.33}, {"max": 8})), (8 - right) / 8, right)


def test_a_least_quantile_beside_what_is_minimised():
    # the level that 90 % of the samples reach
    level = -np.sort(-LOADS)[int(np.ceil(0.9 * SAMPLES)) - 1]
    nodes = np.ceil(3 / level)
    found = dse.solve(asked("minimize", {"quantile": 0.9}, {"min": 3}))
    told(found, nodes * level / 3 - 1, nodes * level)
    assert found.variables["nodes"] == nodes


def test_the_mean_of_a_tail_beside_what_is_maximised():
    # two nodes: the mean of the tenth with the largest loads, 12.8 of 128 samples
    ordered = np.sort(LOADS)[::-1]
    right = 2 * (ordered[:12].sum() + 0.8 * ordered[12]) / 12.8
    told(dse.solve(asked("maximize", {"cvar": 0.9}, {"max": 8})), (8 - right) / 8, right)


@pytest.mark.parametrize("measure", [{"quantile": 0.33}, {"cvar": 0.9}])
def test_a_sweep_of_such_limits_passes_its_check(measure: dict[str, object], tmp_path: Path):
    sweep = {"most": {"path": "limits.paid.max", "values": [7, 8, 9]}}
    store = tmp_path / "most.zarr"
    dse.sweep(asked("maximize", measure, {"max": 8}, sweep=sweep), store)
    assert dse.verify(store).passed


THROTTLED: dict[str, Any] = {
    "model": "roofline",
    "machine": "gtx-titan-choi2014",
    "given": {"flops": 1e12, "intensity": 4},
    "decide": {"throttle": {"values": [1, 2, 4, 8]}},
    "uncertain": {"intensity": {"uniform": [2, 8]}, "sampling": {"samples": 16}},
}


@pytest.mark.parametrize(("most", "there"), [(1.2, True), (0.1, False)])
def test_a_limit_on_a_measure_is_one_on_its_metric_in_each_sample(most: float, *, there: bool) -> None:
    asked: dict[str, Any] = {
        **THROTTLED,
        "objective": {
            "minimize": "power",
            "measure": "mean",
            "measures": {"mean_time": {"of": "time", "measure": "mean"}},
        },
        "limits": {"mean_time": {"max": most}},
    }
    found = dse.uncertainty(asked, progress=False)
    assert "limits.mean_time is a limit on time there" in " ".join(found.notes)
    assert (found.fixed is not None) is there
    assert any("no fixed design" in note for note in found.notes) is not there
    times = found.samples["time"].values
    assert not (times > most * (1 + 1e-9)).any()


def test_several_limits_on_measures_of_one_metric_all_count_in_each_sample() -> None:
    """Each was left out, since the metric had a limit: the other one."""
    asked: dict[str, Any] = {
        **THROTTLED,
        "objective": {
            "minimize": "power",
            "measure": "mean",
            "measures": {"mean_time": {"of": "time", "measure": "mean"}, "late": {"of": "time", "cvar": 0.8}},
        },
        "limits": {"mean_time": {"max": 1.7}, "late": {"max": 1.2}},
    }
    found = dse.uncertainty(asked, progress=False)
    one = {"measures": {"late": asked["objective"]["measures"]["late"]}}
    tighter = {**asked, "objective": {**asked["objective"], **one}, "limits": {"late": {"max": 1.2}}}
    tighter = dse.uncertainty(tighter, progress=False)
    assert found.samples["status"].values.tolist() == tighter.samples["status"].values.tolist()
    np.testing.assert_array_equal(found.samples["throttle"].values, tighter.samples["throttle"].values)
    assert not any("left out" in note for note in found.notes)
