"""Conflicts over samples in which menus, and what nothing decided or nothing uncertain moves, play no part."""

from __future__ import annotations

from typing import Any

import pytest
from plain_roofline import RUN

import dse
from results.solution import Status
from solvers.robust.boxes import box_tree
from solvers.robust.explaining import sets_searched

SETTINGS = [
    {
        "name": name,
        "core_frequency": 8e8,
        "memory_frequency": frequency,
        "energy_per_flop": 5e-11,
        "energy_per_byte": energy,
        "constant_power": power,
    }
    for name, frequency, energy, power in (("s1", 8e8, 2e-10, 8.0), ("s2", 4e8, 4e-10, 5.0))
]


@pytest.mark.parametrize("uncertain", [False, True])
def test_a_menu_of_settings_is_nobodys_limit(*, uncertain: bool) -> None:
    """Time of a phase is the longer of those of its flops and its bytes; both settings stay below 63 GFLOPS."""
    flops = [5e9, 1e10, 2e10] if uncertain else [1e10]
    said: dict[str, Any] = {
        "model": "dvfs",
        "machine": {"flops_per_cycle": 100, "bytes_per_cycle": 16, "settings": SETTINGS},
        "given": {
            "phases": [
                {"name": "p0", "flops": 5e10, "bytes": 1e9},
                {"name": "p1", "flops": 1e10, "bytes": 5e9},
            ]
        },
        "decide": {"setting": {}},
        "objective": {"minimize": "energy"},
        "limits": {"performance": {"min": 63e9}},
    }
    if uncertain:
        said["uncertain"] = {"phases.p1.flops": {"values": flops}, "sampling": {"samples": 4}}
        said["objective"]["measure"] = "mean"
    found = dse.solve(said)
    least = min((5e10 + f) / (max(5e10 / 8e10, 1e9 / 12.8e9) + max(f / 8e10, 5e9 / 12.8e9)) for f in flops)
    assert found.status is Status.INFEASIBLE
    assert found.conflicts == (("performance",),)
    assert found.conflict["performance"] == pytest.approx(least, rel=1e-9)


def test_of_several_limits_that_nothing_decided_breaks_no_value_alone_does() -> None:
    said = {
        "model": "roofline",
        "machine": "gtx-titan-choi2014",
        "given": {"flops": 1e12, "bytes": 1e12},
        "uncertain": {"flops": {"uniform": [0.5e12, 1.5e12]}, "sampling": {"samples": 4}},
        "objective": {"minimize": "energy", "measure": "mean"},
        "limits": {"time": {"max": 1.0}, "energy": {"max": 10.0}},
    }
    found = dse.solve(said)
    assert found.conflicts == (("time",), ("energy",))
    assert found.conflict == {"time": None, "energy": None}
    one = dse.solve({**said, "limits": {"time": {"max": 1.0}}})
    kept = dse.solve({**said, "limits": {"time": {"max": one.conflict["time"] * (1 + 1e-9)}}})
    assert kept.status is Status.EVALUATED


@pytest.mark.parametrize("limit", [{"energy": {"max": 1.0}}, {"nameplate_power": {"max": 1.0}}])
def test_what_makes_a_design_is_no_part_of_a_conflict(limit: dict[str, Any]) -> None:
    """In proportion each kind of block needs hundreds of joules: no number of them reaches 1 J, nor draws 1 W."""
    said = {
        "model": "blocks",
        "machine": {"a": "gtx-titan-choi2014", "b": "arndale-gpu-choi2014"},
        "given": {"flops": 1e12, "bytes": 1e12},
        "decide": {"count.a": {"max": 3}, "count.b": {"max": 5}},
        "objective": {"minimize": "energy", "measure": "mean"},
        "uncertain": {"bytes": {"uniform": [0.5e12, 1.5e12]}, "sampling": {"samples": 16}},
        "limits": limit,
    }
    found = dse.solve(said)
    assert found.status is Status.INFEASIBLE
    assert found.conflicts == (tuple(limit),)
    (value,) = found.conflict.values()
    assert value is not None
    (name,) = limit
    assert dse.solve({**said, "limits": {name: {"max": value * (1 + 1e-6)}}}).status is Status.OPTIMAL
    assert dse.solve({**said, "limits": {name: {"max": value * (1 - 1e-4)}}}).status is Status.INFEASIBLE


def test_a_limit_that_no_number_meets_conflicts_alone_beside_others_of_another_kind() -> None:
    """Of any x, y, z > 0 the ratio is at most max(aa, bb/cc), which falls below 1.5 in some sample."""
    said = {
        "model": "roofline",
        "machine": "gtx-titan-choi2014",
        "given": {"flops": 1e12, "intensity": 4.0, "aa": 0.3, "bb": 0.5, "cc": 0.5},
        "decide": {
            "x": {"values": [1, 2, 5, 7, 12]},
            "y": {"min": 1, "max": 8, "integer": True},
            "z": {"values": [0.5, 1, 2, 5]},
        },
        "define": {
            "ratio": "(aa * x + bb * y) / (x + cc * y + z)",
            "largest": "maximum(aa * x, bb * y, cc * z)",
            "powers": "x**aa * y**0.3 / z",
            "least": "minimum(aa * x, bb * y) + cc * z",
        },
        "uncertain": {
            "aa": {"loguniform": [0.3, 3]},
            "bb": {"uniform": [0.5, 2]},
            "cc": {"values": [0.5, 1, 1.5, 4]},
            "sampling": {"samples": 40, "seed": 3, "correlation": [["aa", "bb", 0.95]]},
        },
        "objective": {"maximize": "least", "cvar": 0.9},
        "limits": {
            "largest": {"max": 3.4659},
            "powers": {"max": 0.757858},
            "ratio": {"min": 1.51694},
            "joint": {"of": ["largest", "powers"], "probability": 0.75, "confidence": 0},
        },
    }
    assert dse.solve(said).conflicts == (("ratio",),)


def test_limits_that_nothing_uncertain_moves_conflict_as_without_it() -> None:
    """Each set of limits was searched for in all samples: 40 s where the question without samples took half of one."""
    said = {
        **RUN,
        "given": {**RUN["given"], "load": 2.0},
        "decide": {
            "nodes": {"min": 1, "max": 6, "integer": True},
            "size": {"values": [5.3, 7.1]},
            "width": {"powers_of": 2, "min": 1, "max": 16},
        },
        "define": {
            "gain": "0.4 * width * size**2 + 0.6 * width**1.5 - 1.8 * nodes**3 * width**0.5",
            "fit": "maximum(gain, 3.6 - width - 2 * maximum(0, width - 3))",
            "outlay": "width**2 + load",
        },
        "objective": {"minimize": "outlay"},
        "limits": {"gain": {"min": 5.8}, "fit": {"max": -38.0}},
    }
    plain = dse.solve(said)
    spread = {"load": {"uniform": [1, 3]}, "sampling": {"samples": 8, "method": "random"}}
    found = dse.solve({**said, "objective": {"minimize": "outlay", "quantile": 0.5}, "uncertain": spread})
    assert plain.status is found.status is Status.INFEASIBLE
    assert found.conflicts == plain.conflicts
    assert dict(found.conflict) == dict(plain.conflict)


EXABOUNDS: dict[str, Any] = {
    "model": "exabounds",
    "machine": "platform-server-power",
    "given": {
        "instructions": 36e12,
        "lifetime": 1e8,
        "peak_share": 0.8,
        "idle_share": 0.2,
        "energy_price": 4.14e-08,
        "misprediction_rate": 0.05,
        "data_reuse": [
            {"name": "near", "share": 0.98, "distance": 1024},
            {"name": "far", "share": 0.0192, "distance": 131072},
            {"name": "never", "share": 0.0008},
        ],
    },
    "decide": {
        "machine.count.rack": {"integer": True, "max": 4},
        "machine.voltage": {"values": [0.9, 1.3]},
        "machine.frequency": {"values": [1.6e9, 2.4e9, 3.6e9, 4.4e9]},
    },
    "uncertain": {
        "machine.temperature": {"uniform": [300.0, 360.0]},
        "activity": {"triangular": [0.3, 0.6, 1.0]},
        "sampling": {"samples": 1, "seed": 23},
    },
    "objective": {
        "minimize": "power",
        "quantile": 0.8,
        "measures": {
            "own_performance": {"of": "performance", "cvar": 0.7},
            "own_mtbf": {"of": "mtbf", "cvar": 0.7},
        },
    },
    "limits": {"own_performance": {"min": 3.6e11}, "own_mtbf": {"min": 6e7}},
}


def test_no_set_of_menus_is_searched_for_twice(monkeypatch: pytest.MonkeyPatch):
    """Sets that differ in menus alone ask the same of designs within the menus, and most follow from others.

    Of those that have no design none is looked for before a few boxes prove it.
    """
    looked: list[int] = []
    look = box_tree.Tree.look
    monkeypatch.setattr(box_tree.Tree, "look", lambda *a: (looked.append(1), look(*a))[1])
    asked: list[Any] = []
    search = sets_searched.of_some_limits

    def seen(wanted: Any) -> Any:
        asked.append((wanted.kept, wanted.worlds.nominal.decide))
        return search(wanted)

    monkeypatch.setattr(sets_searched, "of_some_limits", seen)
    found = dse.solve(EXABOUNDS, depth="limits")
    assert found.status is Status.INFEASIBLE
    limits = ("own_performance", "own_mtbf")
    assert found.conflicts == ((*limits, "machine.frequency"), (*limits, "machine.voltage", "clock"))
    assert asked
    assert len(looked) <= 2
    assert len(asked) == len({repr(one) for one in asked})
