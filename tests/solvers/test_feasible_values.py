"""The value that an infeasible answer names is feasible, and nothing tighter is."""

from __future__ import annotations

import copy
import tomllib
from typing import Any

import numpy as np
import points_alone
import pytest
from oracle_reading import ROOT

import dse
from results.solution import Status
from results.telling import words

LIBRARY = ROOT / "scenarios" / "library"
NBODY = {
    "model": "nbody",
    "machine": "jaketown",
    "given": {"bodies": 1e5, "flops_per_pair": 10},
    "decide": {"processors": {}, "memory": {}},
    "objective": {"minimize": "energy"},
}
FFT = NBODY | {"model": "fft", "given": {"points": 1457}}
TIME = {"time": {"max": "10 ms"}}
POWER = {"power": {"max": 21.5}}


def decided(source: dict[str, Any], limits: dict[str, Any], **processors: Any) -> dict[str, Any]:
    memory = {"memory": {}} if source["model"] == "nbody" else {}
    return source | {"decide": {"processors": processors, **memory}, "limits": limits}


def library(name: str, **changes: Any) -> dict[str, Any]:
    return tomllib.loads((LIBRARY / f"{name}.toml").read_text()) | changes


QUESTIONS = {
    "geometric program": decided(NBODY, TIME, max=6),
    "geometric program in whole numbers": decided(NBODY, TIME, max=6, integer=True),
    "geometric program in powers": decided(NBODY, TIME, max=6, powers_of=2),
    "geometric program of listed values": decided(NBODY, TIME, max=6, values=[1, 2, 4, 300]),
    "one whole number": decided(FFT, POWER, max=6, integer=True),
    "one power": decided(FFT, POWER, max=6, powers_of=2),
    "one listed value": decided(FFT, POWER, max=6, values=[1, 2, 4, 300]),
    "mixed-integer program": library("blocks_out_of_reach"),
}


def asked(source: dict[str, Any], name: str, value: float) -> dict[str, Any]:
    """The question with another bound of that name, on the side that it has."""
    source = copy.deepcopy(source)
    part = source["limits"] if name in source.get("limits", {}) else source["decide"]
    (side,) = {"min", "max"} & set(part[name])
    part[name][side] = value
    return source


def tighter(source: dict[str, Any], name: str, value: float) -> float:
    """The next value that allows less: the next smaller one of a variable with gaps, else a millionth less."""
    of = source["decide"].get(name, {}) if "decide" in source else {}
    if of.get("integer"):
        return value - 1.0
    if "powers_of" in of:
        return value / of["powers_of"]
    if "values" in of:
        return max(v for v in of["values"] if v < value)
    down = "max" in (source["limits"] if name in source["limits"] else source["decide"])[name]
    return value * (1.0 - 1e-6 if down else 1.0 + 1e-6)


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_value_named_would_do_and_no_tighter_one(name: str) -> None:
    source = QUESTIONS[name]
    answer = dse.solve(dse.load(source))
    assert answer.status is Status.INFEASIBLE
    named = {
        n: v
        for n, v in answer.conflict.items()
        if v is not None and (n in source["limits"] or n in source["decide"])
    }
    assert named
    for limit, value in named.items():
        values = (value, tighter(source, limit, value))
        there, short = points_alone.briefly(asked(source, limit, v) for v in values)
        assert there.status is Status.OPTIMAL, (limit, value, there.message)
        assert short.status is Status.INFEASIBLE, (limit, value)


def test_only_a_power_that_is_there_would_do() -> None:
    """116.2 processors would hold the power if any number could be taken; of the powers of 2 the least is 128."""
    answer = dse.solve(dse.load(QUESTIONS["one power"]))
    assert answer.conflict["processors"] == 128.0


def test_a_value_is_found_where_nothing_divides_a_ratio_without_a_remainder():
    """The search for the value of a limit takes long enough that it looks for such divisors, and there is none."""
    found = dse.solve(
        {
            "model": "nbody",
            "machine": {"base": "balanced", "torus_dimensions": 7.22882584770474},
            "given": {"bodies": 1e5, "flops_per_pair": 20},
            "decide": {"processors": {"max": 1e6}, "memory": {"integer": True}},
            "objective": {"maximize": "efficiency"},
            "limits": {
                "time": {"max": "100 ms"},
                "efficiency": {"min": 783723874.0296073, "max": 783723874.0296073},
                "message_share": {"max": 0.4486316733961418},
            },
        }
    )
    assert found.status == "infeasible"
    assert set(found.conflict) == {"time", "efficiency", "message_share", "replication"}
    assert found.conflict["message_share"] == pytest.approx(1.0266940451745374, rel=1e-5)


@pytest.mark.parametrize(
    ("limits", "name", "least"),
    [
        ({"block_power": {"max": 1.0}, "blocks": {"min": 3}}, "block_power", 46.8),
        ({"block_power": {"min": 600.0}, "blocks": {"max": 2}}, "blocks", 5.0),
    ],
    ids=["power", "count"],
)
def test_what_would_do_of_throttled_blocks_leaves_them_power_to_work(
    limits: dict[str, Any], name: str, least: float
):
    """Three boards draw 46.8 W before they do anything: with these the question ended in "time is infinite"."""
    asked: dict[str, Any] = {
        "model": "blocks",
        "machine": {"gtx680": "gtx680-choi2014", "apu_gpu": "apu-gpu-choi2014"},
        "given": {"flops": 1e15, "intensity": 2, "sharing": "free"},
        "objective": {"minimize": "time"},
        "limits": limits,
    }
    told = dse.solve(asked).conflict[name]
    assert told is not None
    assert told == pytest.approx(least, rel=2e-6)
    assert told > least or name == "blocks"
    assert dse.solve(asked | {"limits": limits | {name: {"max": told}}}).status == "optimal"
    axis = {"path": "flops", "start": 1e15, "stop": 3e15, "num": 60}
    swept = dse.sweep(dse.load(asked | {"sweep": {"work": axis}}), workers=1)
    assert (swept.would_do.sel(limit=name).values == told).all()


def test_points_that_differ_in_the_limit_that_gives_share_the_value_that_would_do():
    """A power cap of an n-body step: one search for all caps, and the value that a single answer names."""
    asked = library("nbody_least_time_processor_power")
    axes = {
        "cap": {"path": "limits.power_per_processor.max", "start": 1e-6, "stop": 1e-4, "num": 12},
        "n": {"path": "bodies", "start": 1e4, "stop": 1e6, "num": 6},
    }
    swept = dse.sweep(dse.load(asked | {"sweep": axes}), workers=1).load()
    would_do = swept.would_do.sel(limit="power_per_processor").transpose("cap", "n").values
    assert (would_do > 1e-4).all()
    assert (would_do == would_do[:1]).all()
    asked["limits"]["power_per_processor"]["max"] = float(swept.cap[3])
    asked["given"]["bodies"] = float(swept.n[2])
    alone = dse.solve(asked).conflict["power_per_processor"]
    # a search without end stops at this gap
    assert would_do[3, 2] == pytest.approx(alone, rel=1e-4)


BETWEEN = {
    "powers": ({"powers_of": 2, "max": 65536}, {}),
    "powers from 4 on": ({"powers_of": 2, "min": 4, "max": 65536}, {}),
    "powers up to what is too few": ({"powers_of": 2, "max": 2500}, {}),
    "a list within a limit": ({"values": [100, 2000, 9000]}, {"processors": {"max": 5000}}),
    "a list": ({"values": [100, 2000, 9000]}, {}),
}


@pytest.mark.parametrize(("processors", "more"), BETWEEN.values(), ids=BETWEEN)
def test_no_other_bound_is_named_where_only_a_value_between_those_allowed_would_do(
    processors: dict[str, Any], more: dict[str, Any]
):
    """A maximum below that of the file was told to help, where what it allows was allowed before."""
    found = dse.solve(
        NBODY
        | {
            "machine": "balanced",
            "given": {"bodies": 96_000, "flops_per_pair": 10},
            "decide": {"processors": processors, "memory": {}},
            "limits": {"time": {"max": "30 ms"}, "power": {"max": "1500 W"}, **more},
        }
    )
    assert found.status is Status.INFEASIBLE
    told = dict(words.conflict(found))["processors"]
    assert told == f"{found.conflict['processors']:.6g}, if any value were allowed"
    assert 3080 < found.conflict["processors"] < 3252


def test_a_power_beyond_the_maximum_is_named_as_a_bound():
    decide = {"processors": {"powers_of": 2, "max": 1024}, "memory": {}}
    given = {"bodies": 96_000, "flops_per_pair": 10}
    found = dse.solve(
        NBODY
        | {"machine": "balanced", "given": given, "decide": decide, "limits": {"time": {"max": "30 ms"}}}
    )
    assert dict(words.conflict(found))["processors"] == "≤ 4096 (asked: ≤ 1024)"


def test_of_a_choice_too_no_other_bound_is_named_where_a_value_between_would_do():
    machines = {"values": ["balanced", "jaketown"]}
    found = dse.solve(
        {
            "model": "nbody",
            "objective": {"minimize": "energy"},
            "given": {"bodies": 96_000, "flops_per_pair": 10},
            "decide": {"machine": machines, "processors": {"powers_of": 2, "max": 2500}, "memory": {}},
            "limits": {"time": {"max": "30 ms"}, "power": {"max": "1500 W"}},
        }
    )
    (refused,) = (a for a in found.alternatives if a.status is Status.INFEASIBLE)
    said = words.unless(found, refused.conflict, refused.between)
    assert said == f" unless time ≤ 45.11 ms or processors may be {refused.conflict['processors']:.6g}"


TITANS_AND_BOARDS: dict[str, Any] = {
    "model": "blocks",
    "machine": {"titan": "gtx-titan-choi2014", "board": "arndale-gpu-choi2014"},
    "given": {"flops": "10 Pflop", "bytes": "1 PB"},
    "objective": {"minimize": "energy"},
    "limits": {"time": {"max": "25 min"}, "power.titan": {"max": "181 W"}},
}
TITAN_WATTS = 259.469
"""What one of the blocks draws at most (Choi et al. 2014, table I: constant power and power cap)."""


@pytest.mark.parametrize(
    ("titans", "would_do"),
    [
        # of four titans 1038 W were told: the other powers cost so much that HiGHS did not see one less
        ({"powers_of": 2, "max": 4}, {"power.titan": TITAN_WATTS}),
        ({"powers_of": 2, "max": 1000000}, {"power.titan": TITAN_WATTS}),
        # without titans there is a design, and that was told of their upper bound, without a value
        ({"min": 1, "max": 4}, {"power.titan": TITAN_WATTS, "count.titan": 0.0}),
    ],
    ids=["powers to 4", "powers to a million", "one at least"],
)
def test_what_would_do_of_few_blocks_of_a_kind(titans: dict[str, Any], would_do: dict[str, float]):
    decide = {"count.titan": titans, "count.board": {"values": [2, 216, 892]}}
    source = TITANS_AND_BOARDS | {"decide": decide}
    assert dse.solve(source).conflict == pytest.approx(would_do)
    for name, value in would_do.items():
        eased = copy.deepcopy(source)
        part = eased["limits"] if name in eased["limits"] else eased["decide"]
        part[name]["max" if name == "power.titan" else "min"] = value
        assert dse.solve(eased).status is Status.OPTIMAL


def test_no_value_of_one_limit_would_do_where_another_is_broken_by_the_numbers_given():
    """Time was told with the value that the numbers give, and energy, which is broken as well, not at all."""
    source: dict[str, Any] = {
        "model": "nbody",
        "machine": "balanced",
        "given": {"bodies": 1e5, "flops_per_pair": 10, "processors": 300, "memory": 5000},
        "limits": {"time": {"max": "100 ms"}, "energy": {"max": "20 J"}},
    }
    both = dse.solve(source)
    assert both.conflicts == (("time",), ("energy",))
    assert both.conflict == {"time": None, "energy": None}
    assert "energy cannot be met either" in dict(words.conflict(both))["time"]
    eased = source | {"limits": source["limits"] | {"energy": {"max": "1 kJ"}}}
    assert dse.solve(eased).conflict == {"time": both.metrics["time"]}
    caps = {"e": {"path": "limits.energy.max", "values": [20, 1000]}}
    would = dse.sweep(dse.load(source | {"sweep": caps}), progress=False)["would_do"]
    assert np.isnan(would[0]).all()
    assert float(would[1].sel(limit="time")) == both.metrics["time"]


@pytest.mark.parametrize(
    ("values", "nearest"),
    [([16.0, 8000.0], 2004.48), ([6000.0, 8000.0], 2297.87), ([16.0, 17.0], 2004.48)],
)
def test_of_a_list_the_nearest_value_that_would_do_is_named(values: list[float], nearest: float) -> None:
    """Of processors that may be any number: the fewest within the deadline, and the most within the power."""
    source = {
        "model": "nbody",
        "machine": "balanced",
        "given": {"bodies": 1e5, "flops_per_pair": 10.0},
        "decide": {"processors": {"values": values}, "memory": {}},
        "objective": {"minimize": "energy"},
        "limits": {"time": {"max": 0.05}, "power": {"max": 1000.0}},
    }
    found = dse.solve(dse.load(source)).conflict["processors"]
    assert found == pytest.approx(nearest, rel=1e-5)
    # what is told is what asking finds: it does, and a little nearer to the list does not
    nearer = 1.0001 if nearest < values[0] else 0.9999
    for factor, status in ((1.0, "optimal"), (nearer, "infeasible")):
        asked = source | {"decide": {"processors": {"values": [found * factor]}, "memory": {}}}
        assert dse.solve(dse.load(asked)).status.value == status


def test_of_whole_numbers_the_nearest_fraction_is_named() -> None:
    """The efficiency of 1e-31 machines of one kind is that of none of them, which is farther from one than need be."""
    machine = dict.fromkeys(("time_per_flop", "energy_per_flop", "time_per_byte", "energy_per_byte"), 1e-12)
    source = {
        "model": "roofline",
        "machine": {**machine, "constant_power": 1.0},
        "given": {"flops": 1.0, "bytes": 1.0},
        "decide": {
            name: {"integer": True, "min": 1.0, "max": most} for name, most in (("n_b", 4.0), ("n_c", 40.0))
        },
        "define": {
            "money": "n_b * 2.76 + n_c * 5.54",
            "eff": "(n_b * 6.78 + n_c * 14.2) / (n_b * 165 + n_c * 162 + 442)",
        },
        "objective": {"minimize": "money"},
        "limits": {"money": {"max": 141.75}, "eff": {"min": 0.07834}},
    }
    found = dse.solve(dse.load(source)).conflict["n_b"]
    # 25 of the other kind, and an efficiency that is just reached: an equation of the first degree
    least = (25 * (14.2 - 0.07834 * 162) - 0.07834 * 442) / (0.07834 * 165 - 6.78)
    assert found == pytest.approx(least, rel=1e-6)
