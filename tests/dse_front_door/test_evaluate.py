"""Metrics of a grid in which nothing is decided: as arrays, and as point by point."""

import numpy as np
import pytest

import dse
import scenarios
from formulations.evaluation import metrics
from scenarios.sweep.grids import Grid

GIVEN = {"bodies": 1e5, "flops_per_pair": 10, "processors": 1000, "memory": 1000}
FILE = {
    "model": "nbody",
    "machine": "balanced",
    "given": GIVEN,
    "limits": {"time": {"max": "1 s"}},
    "sweep": {
        "bodies": {"path": "given.bodies", "start": 1e4, "stop": 1e6, "num": 5, "spacing": "log"},
        "machine": {"path": "machine", "values": ["balanced", "jaketown", "jaketown-printed"]},
        "flop_energy": {"path": "machine.energy_per_flop", "values": ["1 nJ/flop", "2 nJ/flop"]},
        "deadline": {"path": "limits.time.max", "values": ["1 s", "1 ms"]},
    },
}


def points_of(grid: Grid) -> list[tuple[int, ...]]:
    return list(np.ndindex(*grid.shape))


def test_a_grid_of_numbers_and_machines_is_what_each_point_gives():
    found = dse.evaluate(FILE)
    grid = scenarios.grid(dse.load(FILE))
    assert found.sizes == {"bodies": 5, "machine": 3, "flop_energy": 2, "deadline": 2}
    for place in points_of(grid):
        question = grid.question(place)
        at = found.isel(dict(zip(found.sizes, place, strict=True)))
        for name, value in metrics(question, {}).items():
            if name in found:
                # the same formula on arrays and on floats
                np.testing.assert_allclose(float(at[name]), float(value), rtol=1e-14)


def test_a_choice_among_names_is_swept_too():
    found = dse.evaluate(
        {
            "model": "fft",
            "machine": "balanced",
            "given": {"points": 2**20, "processors": 64},
            "sweep": {"exchange": {"path": "given.all_to_all", "values": ["tree", "naive"]}},
        }
    )
    assert float(found.messages.sel(exchange="tree")) < float(found.messages.sel(exchange="naive"))


def test_one_point_has_no_dimension_and_units():
    found = dse.evaluate({k: v for k, v in FILE.items() if k != "sweep"})
    assert found.energy.dims == ()
    assert found.energy.attrs["units"] == "J"
    assert float(found.power) == pytest.approx(float(found.energy / found.time), rel=1e-14)


def test_what_is_decided_cannot_be_evaluated():
    asked = {"model": "nbody", "machine": "balanced", "given": dict(GIVEN), "decide": {"memory": {}}}
    del asked["given"]["memory"]
    with pytest.raises(scenarios.ScenarioError, match=r"memory is to be decided.*\n.*dse\.solve"):
        dse.evaluate(asked)


def test_what_does_not_depend_on_an_axis_is_repeated_and_not_stored_again():
    intensity = {"path": "given.intensity", "start": 0.125, "stop": 512, "num": 50, "spacing": "log"}
    flops = {"path": "given.flops", "start": "1 Gflop", "stop": "1 Tflop", "num": 40, "spacing": "log"}
    file = {"model": "roofline", "machine": "gtx-titan-choi2014", "sweep": {"flops": flops, "i": intensity}}
    found = dse.evaluate(file)
    assert found.sizes == {"flops": 40, "i": 50}
    assert all(found[name].shape == (40, 50) for name in found)
    assert not any(found.balance.to_numpy().strides)
    # what is shared cannot be changed by mistake; a copy can
    with pytest.raises(ValueError, match=r"copy\(\)|read-only"):
        found.balance[0, 0] = 0.0
    own = found.copy(deep=True)
    own.balance[0, 0] = 0.0
    assert float(own.balance[0, 1]) == float(found.balance[0, 0]) > 0
