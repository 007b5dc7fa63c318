"""Sweeps of designs that are decided now: answered together where the worst case is at one vertex, else one by one."""

from typing import Any

import numpy as np
import points_alone
import pytest

import dse
import scenarios
from results.dataset import CONFLICTING, STATUS_CODES, to_arrays
from results.dataset import layout as laid_out

QUESTION: dict[str, Any] = {
    "model": "nbody",
    "machine": "dgx-h100",
    "given": {"bodies": 1e8, "flops_per_pair": 20},
    "decide": {"processors": {"max": 4096}, "memory": {}},
    "uncertain": {
        "machine.energy_per_flop": {"uniform": ["1 pJ/flop", "10 pJ/flop"]},
        "machine.leakage_power": {"uniform": ["0 W", "1275 W"]},
    },
    "objective": {"minimize": "energy", "measure": "worst"},
    "limits": {"time": {"max": "2 s"}},
    "sweep": {
        "deadline": {"path": "limits.time.max", "values": ["5 ms", "1 s", "2 s", "4 s"]},
        "n": {"path": "given.bodies", "values": [2e7, 5e7, 1e8, 3e8]},
    },
}
AT_VERTEX = "the worst case, proved to be at one vertex"


def test_points_whose_worst_case_is_at_one_vertex_are_answered_together_as_each_by_itself():
    scenario = dse.load(QUESTION)
    grid = scenarios.grid(scenario)
    found = dse.sweep(scenario, progress=False, audit=2)
    assert found.attrs["method"].startswith(AT_VERTEX)
    assert int(found.attrs["points_solved_singly"]) == 0
    places = ((0, 3), (0, 0), (1, 0), (2, 2), (3, 1))
    for place, alone in zip(places, points_alone.answers(grid, places), strict=True):
        arrays = to_arrays(laid_out(grid), [alone], (1, 1))
        here = found.isel(deadline=place[0], n=place[1])
        assert int(here.status) == STATUS_CODES[alone.status]
        for name, value in arrays.items():
            if name in here and value.dtype.kind == "f" and name not in {"seconds", "gap"}:
                wanted = value[0, 0]
                tolerance = 1e-4 if name == "elasticity" else 1e-6
                np.testing.assert_allclose(here[name].values, wanted, rtol=tolerance, err_msg=name)
        np.testing.assert_array_equal(here.binding.values, arrays["binding"][0, 0])


def test_more_processors_would_do_where_no_deadline_can_be_kept():
    asked = {**QUESTION, "limits": {"time": {"max": "5 ms"}}, "given": {"bodies": 3e8, "flops_per_pair": 20}}
    del asked["sweep"]
    found = dse.solve(dse.load(asked))
    assert found.status == "infeasible"
    assert found.conflicts == (("time", "processors"),)
    needed = found.conflict["processors"]
    assert needed > 1.2 * 4096
    wider = {**asked, "decide": {"processors": {"max": 1.001 * needed}, "memory": {}}}
    assert dse.solve(dse.load(wider)).status == "optimal"


@pytest.mark.parametrize(
    ("measure", "method"),
    [("mean", "geometric programs that grow by the samples"), ("worst", "each point solved by itself")],
)
def test_where_no_vertex_is_proved_points_go_another_way(measure: str, method: str):
    energies = {"machine.time_per_word": {"uniform": ["1 ps/word", "3 ps/word"]}}
    # power divides by the time, so that its mean is no posynomial
    goal = {"minimize": "power", "measure": measure}
    sweep = {"deadline": {"path": "limits.time.max", "values": ["2 s", "4 s"]}}
    asked = {**QUESTION, "uncertain": energies, "objective": goal, "sweep": sweep}
    found = dse.sweep(dse.load(asked), progress=False, audit=0)
    assert found.attrs["method"].startswith(method)
    assert (found.status == STATUS_CODES["optimal"]).all()
    assert not (found.binding == CONFLICTING).any()
