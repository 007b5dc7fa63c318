"""What a question must state beyond its model's own needs: one of two inputs, the costs of its choices."""

from __future__ import annotations

from typing import Any

import pytest

from scenarios import ScenarioError, grid, load
from scenarios.questions import question

BASE: dict[str, Any] = {"model": "roofline", "machine": "gtx680", "given": {"flops": 1e12, "intensity": 2}}


def refused(**entries: Any) -> str:
    with pytest.raises(ScenarioError) as caught:
        load(BASE | entries)
    return str(caught.value)


def test_bytes_or_intensity_not_both_not_neither():
    assert "roofline needs bytes or intensity" in refused(given={"flops": 1})
    both = refused(given={"flops": 1, "bytes": 1, "intensity": 1})
    assert "given.intensity: bytes and intensity state the same quantity twice" in both
    assert "decide.intensity" in refused(given={"flops": 1, "bytes": 1}, decide={"intensity": {}})
    assert "state the same quantity" in refused(sweep={"q": {"path": "bytes", "values": [1, 2]}})


@pytest.mark.parametrize(
    "entries",
    [
        {"given": {"flops": 1}, "decide": {"intensity": {"max": 9}}},
        {"given": {"flops": 1, "bytes": "1 GB"}},
        {"given": {"flops": 1}, "sweep": {"i": {"path": "intensity", "values": [1, 2]}}},
    ],
)
def test_one_of_them_may_be_given_decided_or_swept(entries: dict[str, Any]):
    assert grid(load(BASE | entries)).size >= 1


def test_a_misread_one_is_not_missing_as_well():
    message = refused(given={"flops": 1, "bytes": "one"})
    assert "given.bytes" in message
    assert "needs bytes or intensity" not in message


def test_a_precision_that_the_machine_lacks_names_the_parameter():
    message = refused(machine="arndale-gpu", given={"flops": 1, "intensity": 1, "precision": "double"})
    assert 'machine "arndale-gpu" has no time_per_flop_double, energy_per_flop_double' in message
    assert 'which roofline needs for precision = "double" and level = "memory"' in message
    assert 'time_per_flop_double = "2.5 ps/flop"' in message


def test_a_level_with_half_of_its_costs_names_the_other_half():
    message = refused(machine="arndale-gpu", given={"flops": 1, "intensity": 1, "level": "random"})
    assert "has no energy_per_access, which" in message


def test_every_choice_that_is_swept_or_decided_counts():
    given = {"flops": 1, "intensity": 1}
    swept = {"p": {"path": "precision", "values": ["single", "double"]}}
    assert "energy_per_flop_double" in refused(machine="apu-gpu", given=given, sweep=swept)
    decided = {"level": {"values": ["L1", "L2"]}}
    assert "energy_per_byte_L2" in refused(machine="apu-gpu", given=given, decide=decided)
    load(BASE | {"machine": "apu-gpu", "given": given, "decide": {"level": {"values": ["L1", "memory"]}}})


def test_each_of_several_machines_is_checked():
    chosen = {"machine": {"values": ["gtx680", "nuc-gpu", "arndale-gpu"]}}
    entries = {k: v for k, v in BASE.items() if k != "machine"} | {"decide": chosen}
    load(entries)
    entries["given"] = BASE["given"] | {"precision": "double"}
    with pytest.raises(ScenarioError) as caught:
        load(entries)
    assert [p.key for p in caught.value.problems] == ["decide.machine.values[1]", "decide.machine.values[2]"]


def test_what_is_decided_or_supplied_is_not_lacking():
    double = {"flops": 1, "intensity": 1, "precision": "double"}
    costs = {"time_per_flop_double": "10 ps/flop", "energy_per_flop_double": "100 pJ/flop"}
    asked = question(load(BASE | {"machine": {"base": "arndale-gpu", **costs}, "given": double}))
    assert asked.given["machine.time_per_flop_double"] == 1e-11
    decide = {f"machine.{k}": {"min": 1e-13, "max": 1e-9} for k in costs}
    assert (
        len(question(load(BASE | {"machine": "arndale-gpu", "given": double, "decide": decide})).decide) == 2
    )


def test_a_machine_of_another_kind_is_told_what_it_lacks():
    message = refused(machine="jaketown")
    assert "has no time_per_byte, energy_per_byte, constant_power" in message
