"""Limits that make a design (power supplies suffice, shares come to 1) where given numbers, or bounds, break them."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
import pytest

import dse
import scenarios
from results.dataset import CONFLICTING
from solvers.answer import answer

SOCKETS, CARDS = "sockets.socket.low.large", "cards.socket.low.large"
STEPS = {"path": "given.power_step", "values": ["0.02 W", "200 W", "900 W", "1 kW", "2 kW"]}


def _interval(**changed: Any) -> dict[str, Any]:
    """The interval at which a station saves its state, with an axis for the size of its power supplies."""
    asked = dse.load("station_checkpoint_interval").model_dump(exclude_none=True, exclude_defaults=True)
    return copy.deepcopy(asked) | {"sweep": {"step": STEPS}} | changed


def _station(given: dict[str, float], decide: dict[str, Any]) -> dict[str, Any]:
    asked = _interval(decide=decide, objective={"minimize": "cost"}, limits={"throughput": {"min": 1e6}})
    del asked["define"]
    for n in ("dump", "restart", SOCKETS, CARDS):
        del asked["given"][n]
    asked["given"] |= given
    return asked


def _shares(**changed: Any) -> dict[str, Any]:
    """Two regions on three processors; of the first two shares are given."""
    return {
        "model": "partition",
        "machine": {"cpu": "i7-2600k-tang2017", "gpu": "gtx-750-tang2017", "mic": "xeon-phi-choi2014"},
        "given": {
            "regions": [
                {"name": "a", "flops": 1e12, "bytes": 1e11},
                {"name": "b", "flops": 1e12, "bytes": 1e10},
            ],
            "share.a.cpu": 0.5,
            "share.a.gpu": 0.5,
        },
        "objective": {"minimize": "energy"},
        "sweep": {"of_cpu": {"path": "given.share.a.cpu", "values": np.linspace(0.2, 0.9, 60).tolist()}},
    } | changed


ASKED = {
    "a real number by intervals": _interval(),
    "beside a limit of the user": _interval(limits={"per_operation": {"max": 1e-12}}),
    "beside a limit that nothing decided enters": _interval(limits={"cost": {"max": "1 USD"}}),
    "a list": _interval(decide={"interval": {"values": ["60 s", "1 h", "1 day"]}}),
    "counts of cards, few": _station({SOCKETS: 150_000}, {CARDS: {"max": 3}}),
    "counts of cards, many": _station({SOCKETS: 150_000}, {CARDS: {"max": 1e6}}),
    "all counts": _station({}, {}),
    "shares": _shares(),
    "shares beside a limit of the user": _shares(
        limits={"energy": {"max": 1e-3}}, objective={"minimize": "time"}
    ),
}


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
def test_a_sweep_names_the_same_limits_as_each_question_alone(asked: dict[str, Any]):
    """They are in a conflict where no design meets all of them, and nowhere else."""
    grid, swept = scenarios.grid(dse.load(asked)), dse.sweep(asked)
    assert json.loads(swept.attrs["audit"])["passed"]
    always, count = grid.question((0,)).model.always, grid.shape[0]
    named = set[str]()
    for point in np.unique(np.linspace(0, count - 1, 5).astype(int)):
        alone = answer(grid.question((int(point),)))
        clash = tuple(swept["limit"].values[swept["binding"].values[point] == CONFLICTING].tolist())
        assert bool(clash) == (alone.status == "infeasible")
        assert clash in alone.conflicts if clash else not alone.conflicts
        named |= {*sum(alone.conflicts, ())}
    assert named & always


def test_supplies_that_do_not_suffice_are_named_with_by_how_much():
    """9 steps of 200 W and of 900 W, where 8973 W are drawn: one step is counted on both sides."""
    swept = dse.sweep(_interval())
    found = swept.sel(limit="powered")
    assert found["binding"].values[:3].tolist() == [CONFLICTING] * 3
    drawn, step = float(swept["power"].values[3]), np.array([0.02, 200.0, 900.0])
    np.testing.assert_allclose(found["would_do"].values[:3], (drawn + step) / (10 * step))
