"""Nothing decided: a block evaluated as arrays says what the answer to each of its points says."""

from itertools import pairwise
from typing import Any

import numpy as np
import points_alone
import pytest

import dse
import scenarios
from dse.sweeping.points import chunk_work
from results.dataset import to_arrays
from solvers import paths
from solvers.answer import answer

NBODY = {
    "model": "nbody",
    "machine": "balanced",
    "given": {"bodies": 1e5, "flops_per_pair": 10},
    "objective": {"minimize": "energy"},
    "limits": {"time": {"min": "1 ms", "max": "1 s"}, "power": {"max": "2 kW"}},
    "sweep": {
        "processors": {"path": "given.processors", "start": 1e1, "stop": 1e4, "num": 9, "spacing": "log"},
        "memory": {"path": "given.memory", "start": 1e1, "stop": 1e5, "num": 8, "spacing": "log"},
        "deadline": {"path": "limits.time.max", "values": ["10 ms", "1 s", "100 s"]},
        "soonest": {"path": "limits.time.min", "values": ["1 ms", 0, "50 ms"]},
    },
}
MACHINES = {
    "model": "nbody",
    "machine": "balanced",
    "given": {"bodies": 1e5, "flops_per_pair": 10, "memory": 1e3},
    "limits": {"efficiency": {"min": 1e9}},
    "sweep": {
        "machine": {"path": "machine", "values": ["balanced", "jaketown"]},
        "processors": {"path": "given.processors", "values": [10, 100, 1000, 1e4]},
        "flop_energy": {"path": "machine.energy_per_flop", "values": ["1 nJ/flop", "1 pJ/flop"]},
    },
}
ROOFLINE = {
    "model": "roofline",
    "machine": "gtx-titan-choi2014",
    "limits": {"power": {"max": "250 W"}},
    "sweep": {
        "flops": {"path": "given.flops", "start": 1e9, "stop": 1e12, "num": 11, "spacing": "log"},
        "intensity": {"path": "given.intensity", "start": 0.125, "stop": 512, "num": 13, "spacing": "log"},
    },
}
PLACED = {
    "model": "partition",
    "machine": {"cpu": "i7-2600k", "gpu": "gtx-titan-tang2017"},
    "given": {"regions": [{"name": "a", "flops": 1e9, "bytes": 1e8}], "share.a.cpu": 0.25},
    "limits": {"energy": {"max": "1.2 J"}},
    "sweep": {
        "flops": {"path": "given.regions.a.flops", "start": 1e8, "stop": 1e11, "num": 7, "spacing": "log"}
    },
}


def both(asked: dict[str, Any]) -> tuple[Any, dict[str, Any], dict[str, Any], Any]:
    """The layout, a whole grid as arrays, the same point by point, and what the arrays left over."""
    grid = scenarios.grid(dse.load(asked))
    at = chunk_work.ready(grid)
    assert at.path is not None
    found, left = at.path.solve(at.plan, tuple(slice(0, n) for n in grid.shape))
    alone = points_alone.answers(grid, np.ndindex(*grid.shape))
    return at.plan, found, to_arrays(at.plan, alone, grid.shape), left


@pytest.mark.parametrize(
    "asked", [NBODY, MACHINES, ROOFLINE, PLACED], ids=["nbody", "machines", "roofline", "list"]
)
def test_a_block_says_what_each_point_says(asked: dict[str, Any]):
    plan, found, alone, left = both(asked)
    assert not left.any()
    assert found.keys() == alone.keys()
    statuses = set(np.unique(alone["status"]).tolist())
    assert statuses == {3, 6}, "both evaluated and infeasible, else this shows little"
    for variable in plan.variables:
        if variable.role == "seconds":
            continue
        if variable.dtype == "float64":
            ours = found[variable.name]
            if variable.role == "would_do":
                # a block has infinity where it is known that no value would do
                ours = np.where(np.isinf(ours), np.nan, ours)
            # arrays and floats take powers by different routines: an ulp or two each
            np.testing.assert_allclose(ours, alone[variable.name], rtol=1e-13, err_msg=variable.name)
        else:
            np.testing.assert_array_equal(found[variable.name], alone[variable.name], err_msg=variable.name)


def test_the_first_broken_limit_is_the_conflict_and_an_empty_bound_is_no_limit():
    _, found, _, _ = both(NBODY)
    limits = chunk_work.ready(scenarios.grid(dse.load(NBODY))).plan.limits
    binding = found["binding"]
    assert {-1, 0, 2} <= set(np.unique(binding).tolist())
    soonest = limits.index("time.min")
    # a least time of 0 says nothing, unless the other side of the name is in conflict
    assert set(np.unique(binding[:, :, :, 1, soonest]).tolist()) <= {-1, 2}
    infeasible = found["status"] == 3
    assert ((binding == 2).any(axis=-1) == infeasible).all()


def test_a_point_does_not_depend_on_the_block_it_is_in():
    at = chunk_work.ready(scenarios.grid(dse.load(ROOFLINE)))
    whole, _ = at.path.solve(at.plan, (slice(0, 11), slice(0, 13)))
    for cut in ([0, 11], [0, 1, 4, 11]):
        for low, high in pairwise(cut):
            part, _ = at.path.solve(at.plan, (slice(low, high), slice(3, 9)))
            for name in ("time", "energy", "status", "power"):
                np.testing.assert_array_equal(part[name], whole[name][low:high, 3:9])


def test_pieces_cover_a_block_once_and_are_small(monkeypatch: pytest.MonkeyPatch):
    from solvers.many_points import evaluated

    at = chunk_work.ready(scenarios.grid(dse.load(NBODY)))
    region = (slice(1, 9), slice(0, 7), slice(0, 3), slice(1, 3))
    seen = np.zeros(at.plan.shape, int)
    for piece in at.path.spread.pieces(region, 20):
        assert 0 < seen[piece].size <= 20
        seen[piece] += 1
    assert (seen[region] == 1).all()
    assert seen.sum() == seen[region].size
    whole, _ = at.path.solve(at.plan, region)
    monkeypatch.setattr(evaluated, "EVALUATED_TOGETHER", 20)
    cut, _ = at.path.solve(at.plan, region)
    for name in ("energy", "status", "binding"):
        np.testing.assert_array_equal(cut[name], whole[name])


def test_where_floats_fail_arrays_leave_the_point_and_only_points_near_it(monkeypatch: pytest.MonkeyPatch):
    """A machine without any cost of time has no power: a mistake in floats, with a message."""
    from solvers.many_points import evaluated

    asked = {
        "model": "roofline",
        "machine": {"base": "gtx-titan-choi2014", "usable_power": "164 W"},
        "given": {"intensity": 4},
        "sweep": {
            "free": {"path": "machine.time_per_flop", "values": [0.0, 1e-12]},
            "moved": {"path": "machine.time_per_byte", "values": [0.0, 1e-12, 2e-12, 3e-12]},
            "flops": {"path": "given.flops", "start": 1e9, "stop": 1e12, "num": 40, "spacing": "log"},
        },
    }
    monkeypatch.setattr(evaluated, "UNCUT_POINTS", 1)
    found = dse.sweep(asked, workers=1, progress=False)
    grid = scenarios.grid(dse.load(asked))
    for place in ((0, 0, 3), (0, 1, 3), (1, 0, 39), (1, 3, 0)):
        alone = answer(grid.question(place), neighbours=False)
        at = found.isel(dict(zip(found.status.dims, place, strict=True)))
        assert at.status.attrs["flag_meanings"].split()[int(at.status)] == alone.status.value
        assert str(at.message.values) == (alone.message if alone.status.value == "error" else "")
        if alone.status.value != "error":
            assert float(at.time) == pytest.approx(alone.metrics["time"], rel=1e-13)


def test_what_is_decided_or_knows_no_arrays_goes_another_way(monkeypatch: pytest.MonkeyPatch):
    from dse.models.model import Model
    from dse.quantities import Quantity

    decided = {**NBODY, "decide": {"memory": {}}, "sweep": {"deadline": NBODY["sweep"]["deadline"]}}
    decided["given"] = {**NBODY["given"], "processors": 100}
    way = paths.chosen(scenarios.grid(dse.load(decided))).path
    assert way is None or "nothing was decided" not in way.method

    def scalar(g: Any) -> dict[str, Any]:
        return {"time": 2.0 * g.size if g.size > 2 else 1.0}

    size, time = Quantity("size", "n", "", "size"), Quantity("time", "T", "s", "time")
    model = Model("scalar_only", "takes numbers", "", (), (size,), (time,), (), scalar)
    dse.models.register(model)
    asked = {
        "model": "scalar_only",
        "sweep": {"size": {"path": "given.size", "values": [1.0, 2.0, 3.0, 4.0]}},
    }
    assert paths.chosen(scenarios.grid(dse.load(asked))).path is None
    assert dse.sweep(asked, progress=False).time.values.tolist() == [1.0, 1.0, 6.0, 8.0]


FREE = dict.fromkeys(("energy_per_flop", "energy_per_byte", "constant_power", "usable_power"), 0)
WITHOUT_POWER: dict[str, Any] = {
    "model": "roofline",
    "machine": {"time_per_flop": 1e-9, "time_per_byte": 1e-9} | FREE,
    "given": {"flops": 1e12, "intensity": 4},
}


@pytest.mark.parametrize(
    "asked", [{"objective": {"minimize": "energy"}}, {"limits": {"energy": {"max": 1}}}], ids=str
)
def test_what_is_asked_for_and_is_no_number_is_an_error_at_a_point_and_in_a_block(asked: dict[str, Any]):
    """No energy under a power of 0 takes no end, and an endless time at no power has no energy."""
    found = dse.solve(WITHOUT_POWER | asked)
    assert found.status == "error"
    assert "energy is no number" in found.message
    axis = {"cap": {"path": "machine.usable_power", "values": [0.0, 1.0]}}
    swept = dse.sweep(WITHOUT_POWER | asked | {"sweep": axis})
    words = swept.status.attrs["flag_meanings"].split()
    assert [words[code] for code in swept.status.values] == ["error", "evaluated"]
