"""Designs that floats cannot judge are neither dropped from a proof nor called infeasible."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from decoders import LLAMA_70B

import dse
from formulations.uncertainty.measures import MEAN, Weighing, cvar
from results.solution import Status

ASKED: dict[str, Any] = {
    "model": "nbody",
    "machine": "balanced",
    "given": {"bodies": 1e5, "flops_per_pair": 10, "aa": 0.5},
    "decide": {"processors": {"max": 8, "integer": True}, "memory": 1e5, "bb": {"values": [4.0, 5.0]}},
}
WORLDS = {"aa": {"uniform": [0.5, 3]}, "sampling": {"samples": 64}}


def asked(text: str, objective: dict[str, Any], limits: dict[str, Any], **more: Any) -> dict[str, Any]:
    decide = {**ASKED["decide"], "memory": {"values": [1e5]}}
    return {
        **ASKED,
        "decide": decide,
        "define": {"odd": text},
        "objective": objective,
        "limits": limits,
        **more,
    }


# both are e^(aa bb), at most 3.3e6, or its inverse; on the way to it something is beyond 1e308 or below 1e-308
BEYOND = ["exp(100 * aa * bb) / exp(99 * aa * bb)", "exp(-100 * aa * bb) / exp(-99 * aa * bb)"]


@pytest.mark.parametrize("text", BEYOND)
@pytest.mark.parametrize(
    ("objective", "limits"),
    [
        ({"minimize": "odd", "measure": "mean"}, {}),
        ({"minimize": "odd", "cvar": 0.5}, {}),
        ({"minimize": "odd", "measure": "mean"}, {"odd": {"max": 1e9, "probability": 0.6}}),
        ({"minimize": "energy", "measure": "mean"}, {"odd": {"max": 1e9}}),
    ],
)
def test_worlds_in_which_floats_end_prove_nothing(text: str, objective: Any, limits: Any) -> None:
    found = dse.solve(asked(text, objective, limits, uncertain=WORLDS))
    assert (found.status.value, "overflow" in found.message) == ("error", True)


@pytest.mark.parametrize("text", BEYOND)
def test_one_question_and_a_sweep_of_it_are_no_less_careful(text: str) -> None:
    near = asked(text, {"minimize": "odd"}, {})
    swept = {**near, "sweep": {"size": {"path": "given.aa", "values": [0.5, 1.0, 2.5, 3.0]}}}
    made = dse.sweep(swept, progress=False, audit=0)
    assert made["status"].values.tolist() == [1, 1, 5, 5]
    # one design that cannot be judged may be the best
    mixed = {**near, "given": {**near["given"], "aa": 1.6}}
    assert dse.solve(mixed).status.value == "error"


def test_a_broken_limit_is_broken_whatever_else_overflows() -> None:
    found = dse.solve(
        asked(BEYOND[0], {"minimize": "odd", "measure": "mean"}, {"time": {"max": "1 ns"}}, uncertain=WORLDS)
    )
    # more processors, and more words than may be replicated, would be fast enough together
    clash = (("time", "processors"), ("time", "replication"))
    assert (found.status.value, found.conflicts) == ("infeasible", clash)


def test_nothing_divided_by_nothing_is_no_design() -> None:
    found = dse.solve(
        asked("aa * (bb - 4) / (bb - 4) + bb", {"minimize": "odd", "measure": "mean"}, {}, uncertain=WORLDS)
    )
    assert (found.status.value, found.variables["bb"]) == ("optimal", 5.0)


@pytest.mark.parametrize("measure", [MEAN, cvar(0.5), Weighing(0.0)])
def test_a_measure_of_what_is_no_number_is_none(measure: Weighing) -> None:
    values = np.array([[1.0, 2.0, math.nan, 4.0], [1.0, 2.0, 3.0, 4.0]])
    assert np.isnan(measure.value(values)).tolist() == [True, False]
    assert np.isnan(measure.value(values, maximize=True)).tolist() == [True, False]


SERVING: dict[str, Any] = {
    "model": "transformer_inference",
    "given": {
        **LLAMA_70B,
        "prompt": 4000,
        "output": 100,
        "request_rate": 60,
        "tensor_parallel": 8,
        "batch": 32,
    },
    "decide": {"replicas": {"min": 1, "max": 40, "integer": True}},
    "uncertain": {"request_rate": {"loguniform": [30, 120]}, "sampling": {"samples": 32}},
    "objective": {"minimize": "latency", "measure": "mean"},
    "limits": {
        "time_per_output_token": {"max": 0.2871},
        "energy_per_token": {"max": 21.61, "probability": 0.75, "confidence": 0},
    },
}
"""Too many requests for 40 replicas of the older machine in a few of the samples: there their wait has no end."""


def test_what_fails_in_some_samples_is_no_design_where_another_limit_may_fail():
    alone = dse.solve({**SERVING, "machine": "dgx-a100-bf16"})
    assert alone.status is Status.INFEASIBLE
    assert alone.conflicts == (("replicas", "served"),)
    assert alone.conflict["replicas"] is not None
    needed = {"replicas": {"min": 1, "max": alone.conflict["replicas"], "integer": True}}
    more = {**SERVING, "machine": "dgx-a100-bf16", "decide": needed}
    assert "served" not in {n for c in dse.solve(more).conflicts for n in c}


def test_a_choice_without_a_design_leaves_the_other_its_optimum():
    names = ["dgx-h100-bf16", "dgx-a100-bf16"]
    both = dse.solve({**SERVING, "decide": {**SERVING["decide"], "machine": {"values": names}}})
    assert both.status is Status.OPTIMAL
    assert both.objective == dse.solve({**SERVING, "machine": names[0]}).objective
