"""Programs whose coefficients depend on decided numbers: how fast a machine is, beside how its work is shared."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dse
import scenarios
from formulations.arithmetics.between import between
from formulations.programs.program import program
from results.solution import Status
from scenarios.question import Question
from solvers.answer import answer
from solvers.linear.boxes import program_boxes
from solvers.linear.boxes import split as splits

PARTITION: dict[str, Any] = {
    "model": "partition",
    "machine": {"cpu": "i7-2600k-tang2017", "large": "gtx-titan-tang2017"},
    "given": {
        "regions": [
            {"name": "map", "flops": "40 Gflop", "bytes": "12 GB", "divisible": False},
            {"name": "plan", "flops": "120 Gflop", "bytes": "4 GB"},
            {"name": "render", "flops": "60 Gflop", "bytes": "16 GB"},
        ]
    },
}
SPEED = "machine.large.time_per_byte"
BLOCKS: dict[str, Any] = {
    "model": "blocks",
    "given": {"flops": "1 Pflop", "intensity": 0.25},
    "machine": {"titan": "gtx-titan-choi2014", "phi": "xeon-phi-choi2014", "arndale": "arndale-gpu-choi2014"},
}
SWITCHED = dse.load("partition_switched_off").model_dump(exclude_none=True, exclude_defaults=True)
SMALL = "machine.small.time_per_byte"
QUESTIONS: dict[str, dict[str, Any]] = {
    "slowest memory within a deadline": PARTITION
    | {
        "objective": {"maximize": SPEED},
        "decide": {SPEED: {"min": "1 ps/byte", "max": "1 ns/byte"}},
        "limits": {"time": {"max": "0.6 s"}},
    },
    "least energy, power capped": PARTITION
    | {
        "objective": {"minimize": "energy"},
        "decide": {SPEED: {"min": "2 ps/byte", "max": "1 ns/byte"}},
        "limits": {"time": {"max": "0.6 s"}, "power": {"max": "150 W"}},
    },
    "two numbers": PARTITION
    | {
        "objective": {"minimize": "time"},
        "decide": {
            SPEED: {"min": "2 ps/byte", "max": "20 ps/byte"},
            "machine.large.energy_per_flop": {"min": "1e-12 J/flop", "max": "1e-10 J/flop"},
        },
        "limits": {"energy": {"max": "60 J"}},
    },
    "counts": BLOCKS
    | {
        "objective": {"maximize": "performance"},
        "decide": {"machine.phi.energy_per_byte": {"min": 4.5e-11, "max": 4e-10}},
        "limits": {"block_power": {"max": "600 W"}},
    },
    "most power that a count may have": BLOCKS
    | {
        "objective": {"maximize": "machine.titan.constant_power"},
        "decide": {"machine.titan.constant_power": {"min": "40 W", "max": "360 W"}},
        "limits": {"block_power": {"max": "600 W"}, "performance": {"min": "205 GFLOPS"}},
    },
    "whether there is any of an amount": SWITCHED
    | {"decide": {SMALL: {"min": "10 ps/byte", "max": "100 ps/byte"}}},
    "settings": {
        "model": "dvfs",
        "machine": "jetson-tk1-choi2016",
        "given": {
            "phases": [
                {"name": "far", "flops": "30 Gflop", "integer_operations": "15 Gop", "bytes": "40 GB"},
                {"name": "near", "flops": "700 Gflop", "integer_operations": "200 Gop", "bytes": "3 GB"},
            ]
        },
        "objective": {"minimize": "energy"},
        "decide": {"machine.540-204.energy_per_flop": {"min": 6e-12, "max": 6e-11}},
        "limits": {"time": {"max": "7 s"}},
    },
}


def _question(source: dict[str, Any]) -> Question:
    return scenarios.grid(dse.load(source)).question(())


def _fixed(question: Question, at: dict[str, float]) -> Question:
    rest = tuple(d for d in question.decide if d.name not in at)
    return replace(question, given={**question.given, **at}, decide=rest)


SPLITS = {kind: splits.split(_question(source)) for kind, source in QUESTIONS.items()}


@pytest.mark.parametrize("kind", QUESTIONS)
def test_no_fixed_numbers_are_better_than_the_optimum(kind: str):
    """Against the same question with the numbers given, which linear and mixed-integer programs answer."""
    question = _question(QUESTIONS[kind])
    found = answer(question)
    assert found.status is Status.OPTIMAL, found
    assert found.objective is not None
    assert "boxes" in found.certificate
    split = SPLITS[kind]
    assert split is not None
    names = [d.name for d in split.numbers]
    sign = -1.0 if question.objectives[0].maximize else 1.0
    share = np.random.default_rng(0).uniform(size=(6, len(names)))
    points = [*np.exp(np.log(split.low) + share * np.log(split.high / split.low)), split.low, split.high]
    for point in points:
        fixed = answer(_fixed(question, dict(zip(names, map(float, point), strict=True))), neighbours=False)
        if fixed.status is Status.OPTIMAL and fixed.objective is not None:
            assert sign * fixed.objective >= sign * found.objective * (1.0 - sign * 2e-6)
    best = {n: float(found.variables[n]) for n in names}
    again = answer(_fixed(question, best), neighbours=False)
    assert again.objective == pytest.approx(found.objective, rel=1e-6)


def test_the_slowest_memory_within_a_deadline_is_where_the_deadline_is_missed():
    source = QUESTIONS["slowest memory within a deadline"]
    found = answer(_question(source))
    assert found.objective is not None
    for factor, status in ((1.0 - 1e-5, Status.OPTIMAL), (1.0 + 1e-5, Status.INFEASIBLE)):
        fixed = {**source, "objective": {"minimize": "energy"}, "decide": {}}
        fixed["machine"] = {
            "cpu": "i7-2600k-tang2017",
            "large": {"base": "gtx-titan-tang2017", "time_per_byte": found.objective * factor},
        }
        assert answer(_question(fixed), neighbours=False).status is status


def test_why_there_is_no_design_is_told_and_the_value_named_is_enough():
    source = PARTITION | {
        "objective": {"minimize": "energy"},
        "decide": {SPEED: {"min": "2 ps/byte", "max": "1 ns/byte"}},
        "limits": {"time": {"max": "0.06 s"}, "power": {"max": "120 W"}},
    }
    found = answer(_question(source))
    assert found.status is Status.INFEASIBLE
    assert found.conflicts
    for name in {n for clash in found.conflicts for n in clash}:
        value = found.conflict[name]
        if value is None or name not in source["limits"]:
            continue
        for factor, status in ((1.0 + 1e-6, Status.OPTIMAL), (1.0 - 1e-3, Status.INFEASIBLE)):
            asked = _question({**source, "limits": {**source["limits"], name: {"max": value * factor}}})
            then = program_boxes.minimise(asked)
            assert then is not None
            assert then.status is status


@settings(max_examples=20)
@given(st.sampled_from(sorted(QUESTIONS)), st.floats(0.0, 1.0), st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_no_point_of_a_box_has_smaller_coefficients(kind: str, one: float, other: float, inside: float):
    split = SPLITS[kind]
    assert split is not None
    low, high = (np.exp(np.log(split.low) + s * np.log(split.high / split.low)) for s in sorted((one, other)))
    (loose,) = split.programs(low[None], high[None])
    point = np.exp(np.log(low) + inside * np.log(high / low))
    (exact,) = split.programs(point[None], point[None])
    room = 1e-12 * np.abs(exact.rows) + 1e-300
    assert len(exact.columns) == len(loose.columns)
    assert (loose.rows <= exact.rows + room).all()
    assert exact.goal is not None
    assert loose.goal is not None
    assert (loose.goal <= exact.goal + 1e-12 * np.abs(exact.goal)).all()
    # what the model comes to in plain floats is what the program of a point says
    named = dict(zip((d.name for d in split.numbers), point.tolist(), strict=True))
    plain = program(_fixed(split.question, named))
    if len(plain.columns) == len(exact.columns):
        assert plain.goal is not None
        assert exact.goal == pytest.approx(plain.goal, rel=1e-9)


def test_what_is_asked_of_numbers_between_ends_is_certain_or_refused():
    some, none = between(np.array([1.0, 2.0]), np.array([2.0, 3.0])), between(np.zeros(2), np.zeros(2))
    assert some > 0.5
    assert not some < 1.0
    assert (some != none) is True
    assert (none == 0.0) is True
    with pytest.raises(ArithmeticError):
        bool(some > 2.5)
    assert (some * 0.0) == 0.0
    assert math.isinf(float(np.max((1.0 / between(np.zeros(1), np.ones(1))).values)))


def test_a_number_of_a_small_unit_keeps_to_its_bounds():
    """Its row beside a time of 4e5 s was balanced, its bounds of 4e-11 s/byte were not."""
    source = dse.load("blocks_arndale_gpus_for_titan_power").model_dump(
        exclude_none=True, exclude_defaults=True
    )
    name = "machine.arndale_gpu.time_per_byte"
    found = answer(_question(source | {"decide": {name: {"min": "40 ps/byte", "max": "400 ps/byte"}}}))
    assert found.status is Status.OPTIMAL
    assert found.variables[name] == pytest.approx(4e-11)
    assert found.variables["count.arndale_gpu"] == 46.0


def test_a_number_that_is_in_no_row_but_its_own_bounds_keeps_to_them():
    """Its unit is small: nothing but its own ends says how large it is."""
    source = PARTITION | {
        "objective": {"minimize": "time"},
        "decide": {"machine.large.energy_per_byte": {"min": "2 pJ/byte", "max": "1 nJ/byte"}},
    }
    found = answer(_question(source))
    assert found.status is Status.OPTIMAL
    assert found.variables["machine.large.energy_per_byte"] == pytest.approx(2e-12)
    assert found.ranges["machine.large.energy_per_byte"] == pytest.approx((2e-12, 1e-9))


LINKED: dict[str, Any] = {
    "model": "partition",
    "given": {
        "regions": [
            {"name": "a", "flops": 4e10, "bytes": 4e11},
            {"name": "b", "flops": 1e9, "bytes": 2e10},
        ],
        "transfers": [{"name": "t", "from": "a", "to": "b", "bytes": 1e9}],
        "link_overlap": "serial",
    },
    "machine": {"cpu": "i3-2100t-tang2017", "gpu": "a100-pcie-40gb"},
    "decide": {"link_bandwidth": {"values": [6e9, 12e9]}},
    "objective": {"minimize": "energy"},
}


def _linked(name: str, value: float) -> dict[str, Any]:
    """The same with a number of the link given."""
    if name == "transfers.t.bytes":
        transfers = [{**LINKED["given"]["transfers"][0], "bytes": value}]
        return LINKED | {
            "given": {**LINKED["given"], "transfers": transfers, "link_bandwidth": 6e9},
            "decide": {},
        }
    given = {"link_bandwidth": 6e9, **LINKED["given"], name: value}
    return LINKED | {"given": given, "decide": {}}


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("link_bandwidth", [1e8, 6e9, 12e9]),
        ("transfers.t.bytes", [1e9, 8e9]),
        ("link_energy_per_byte", [0.0, 1e-9]),
    ],
)
def test_the_best_value_of_a_listed_number_of_the_link_is_the_best_of_all_alone(
    name: str, values: list[float]
):
    asked = {"objective": {"minimize": "time"}, "limits": {"power": {"max": "190 W"}}}
    source = LINKED | asked | {"decide": {name: {"values": values}}}
    if name != "link_bandwidth":
        source["given"] = {**LINKED["given"], "link_bandwidth": 6e9}
    if name == "transfers.t.bytes":
        source["given"]["transfers"] = [
            {k: v for k, v in LINKED["given"]["transfers"][0].items() if k != "bytes"}
        ]
    found = answer(_question(source))
    alone = [answer(_question(_linked(name, v) | asked)).objective for v in values]
    assert found.status is Status.OPTIMAL
    assert found.objective == pytest.approx(min(v for v in alone if v is not None), rel=1e-7)
    assert "each a program of its own" in found.certificate


def test_a_list_of_which_no_value_helps_is_no_part_of_a_conflict():
    """The least energy is the same with any link: nothing needs to cross it."""
    found = answer(_question(LINKED | {"limits": {"energy": {"max": 45}}}))
    assert found.conflicts == (("energy",),)
    assert found.conflict["energy"] == pytest.approx(53.39443276442, rel=1e-9)


def test_a_list_is_a_part_of_a_conflict_where_another_value_would_do():
    """Of a half of the first region and at most a tenth of the other a part of what passes has to cross the link."""
    shares = {"share.a.cpu": {"min": 0.5}, "share.b.cpu": {"max": 0.1}}
    within = LINKED | {"limits": {"time": {"max": "20 s"}}}
    found = answer(_question(within | {"decide": {"link_bandwidth": {"values": [1e3, 1e6]}, **shares}}))
    assert [set(c) for c in found.conflicts] == [{"time", "link_bandwidth", *shares}]
    value = found.conflict["link_bandwidth"]
    assert value is not None
    for factor, status in ((1.0 + 1e-5, Status.OPTIMAL), (1.0 - 1e-3, Status.INFEASIBLE)):
        given = _linked("link_bandwidth", value * factor)["given"]
        assert answer(_question(within | {"given": given, "decide": shares})).status is status


def test_values_that_are_as_good_are_told_as_a_range():
    found = answer(_question(LINKED))
    assert found.variables["link_bandwidth"] == 6e9
    assert found.ranges["link_bandwidth"] == (6e9, 12e9)
