"""Conflicts beside rules that one number divides another: what may have few values keeps them, alone and in a sweep."""

from __future__ import annotations

from typing import Any

import pytest
from decoders import LLAMA_70B

import dse
from results.dataset import CONFLICTING
from results.telling.limits import base_name
from solvers.sampling import sampler

SERVING: dict[str, Any] = {
    "model": "transformer_inference",
    "machine": {"base": "a100-sxm-80gb-measured"},
    "given": {
        **LLAMA_70B,
        "prompt": 1000,
        "output": 250,
    },
    "decide": {
        "tensor_parallel": {"values": [2, 4, 8]},
        "batch": {"min": 1, "max": 512, "integer": True},
    },
    "objective": {"minimize": "energy_per_token"},
    "limits": {"time_per_output_token": {"max": "100 ms"}, "memory": {"min": 44.9e9}},
}
TRAINING: dict[str, Any] = {
    "model": "transformer_training",
    "machine": {"base": "dgx-h100-bf16", "time_per_word": "1.6 ns/word"},
    "given": {
        **LLAMA_70B,
        "sequence": 4096,
        "global_batch": 1536,
        "sequence_parallel": "on",
        "zero": "3",
        "recomputation": "selective",
    },
    "decide": {
        "machine.time_per_word": {"integer": True, "max_halvings": 8},
        "data_parallel": {"divides": ["global_batch"]},
        "tensor_parallel": {"divides": ["heads", "kv_heads"]},
        "pipeline_parallel": {"divides": ["layers"]},
        "micro_batch": {"max": 8, "divides": ["global_batch"]},
    },
    "objective": {"maximize": "machine.time_per_word"},
    "limits": {"devices": {"min": 512, "max": 512}, "energy_per_token": {"max": 1.5}},
}


def served(stages: float, byte: float) -> dict[str, Any]:
    """The question with so many stages of layers and this time of a byte."""
    machine = {**SERVING["machine"], "time_per_byte": byte}
    return SERVING | {"machine": machine, "given": SERVING["given"] | {"pipeline_parallel": stages}}


def stored(swept: Any) -> list[set[str]]:
    """The names in conflict at each point."""
    clash = swept["binding"].values.reshape(-1, swept.sizes["limit"]) == CONFLICTING
    return [{base_name(n) for n in swept["limit"].values[own]} for own in clash]


@pytest.mark.parametrize("most", [512, 1e9])
def test_what_has_to_divide_keeps_its_list_whatever_else_is_swept(most: float):
    """With one stage nothing is sent between stages, so that points differ in structure where bounds are alike."""
    stages, bytes_, least = (2, 1), (7.511e-13, 9.700829533926794e-12), (43.4e9, 44.9e9)
    asked = SERVING | {"decide": SERVING["decide"] | {"batch": {"min": 1, "max": most, "integer": True}}}
    sweep = {
        "stages": {"path": "given.pipeline_parallel", "values": list(stages)},
        "byte": {"path": "machine.time_per_byte", "values": list(bytes_)},
        "least": {"path": "limits.memory.min", "values": list(least)},
    }
    late, both = {"time_per_output_token"}, {"memory", "time_per_output_token"}
    assert stored(dse.sweep(asked | {"sweep": sweep})) == [both, both, late, late, set(), set(), late, late]
    alone = dse.solve(served(2, bytes_[1]) | {"decide": asked["decide"]})
    assert alone.conflicts == (("time_per_output_token",),)


def test_the_headline_is_the_smallest_conflict():
    """Three stages do not divide 80 layers, whatever limits are asked for: many of which may be in conflict."""
    found = dse.solve(served(3, 7.511e-13))
    assert found.conflicts[0] == ("layers_split",)
    assert set(found.conflict) == {"layers_split"}


def test_which_end_has_to_give_is_told_without_a_sampler(monkeypatch: pytest.MonkeyPatch):
    """Halvings stay whole beside such rules: designs are few, and none has to be sought."""

    asked, solve = [], sampler.solve
    monkeypatch.setattr(sampler, "solve", lambda *args: asked.append(args) or solve(*args))
    axis = {"path": "limits.performance.max", "values": [4e16]}
    swept = dse.sweep(TRAINING | {"sweep": {"most": axis}})
    value = dict(zip(swept["limit"].values, swept["would_do"].values[0], strict=True))
    assert stored(swept) == [{"devices", "energy_per_token", "performance"}]
    assert value["devices.min"] == 96.0
    assert not asked
