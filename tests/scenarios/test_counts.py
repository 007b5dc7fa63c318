"""What a model declares as a count is decided in whole numbers, unless the file says otherwise."""

from typing import Any

import pytest

import dse
from dse import models
from scenarios import ScenarioError, load
from scenarios.question import Decision
from scenarios.questions import question

SERVING: dict[str, Any] = {
    "model": "transformer_inference",
    "machine": {"base": "h100-sxm-bf16", "launch_time": "4.66 us"},
    "given": {"layers": 32, "hidden": 4096, "heads": 32, "kv_heads": 8, "ffn": 14336, "gated": "on"}
    | {"vocabulary": 128256, "prompt": 512, "output": 128, "request_rate": 100},
    "decide": {"replicas": {"max": 40}, "batch": {"max": 300}},
    "objective": {"minimize": "devices"},
    "limits": {"time_per_output_token": {"max": "30 ms"}, "time_to_first_token": {"max": "500 ms"}},
}
COUNTED = {
    "transformer_inference": ("replicas", "batch", "tensor_parallel", "pipeline_parallel", "layers", "heads"),
    "transformer_training": ("micro_batch", "global_batch", "data_parallel", "interleaving", "layers"),
    "exabounds": ("machine.count.die", "machine.stacked_dies", "machine.io_pins.socket"),
}


def decided(decide: dict[str, Any]) -> Decision:
    return question(load(SERVING | {"decide": {"batch": {"max": 300}} | decide})).decide[-1]


def test_a_count_is_whole_without_a_word() -> None:
    answer = dse.solve(SERVING)
    assert (answer.status, answer.variables["replicas"]) == ("optimal", 2.0)
    assert float(answer.variables["batch"]).is_integer()


def test_a_count_is_real_where_the_file_says_so() -> None:
    fixed = SERVING | {"given": SERVING["given"] | {"batch": 104}}
    answer = dse.solve(fixed | {"decide": {"replicas": {"max": 40, "integer": False}}})
    assert answer.status == "optimal"
    assert 1.0 < answer.variables["replicas"] < 2.0
    assert decided({"replicas": {"integer": False}}) == Decision("replicas")


def test_lists_and_menus_of_counts_are_whole_by_themselves() -> None:
    assert decided({"replicas": {"values": [1, 3]}}) == Decision("replicas", values=(1.0, 3.0), count=True)
    assert (decided({"tensor_parallel": {"divides": "heads"}}).values or ())[:3] == (1.0, 2.0, 4.0)
    with pytest.raises(ScenarioError, match=r"(?s)2\.5 is not a whole number.*list whole numbers only"):
        decided({"replicas": {"values": [1, 2.5]}})


def test_no_count_lies_between_two_bounds() -> None:
    with pytest.raises(ScenarioError, match=r"(?s)no whole number lies between .* or write integer = false"):
        decided({"replicas": {"min": 1.2, "max": 1.8}})


@pytest.mark.parametrize("model", models.names())
def test_which_inputs_are_counts(model: str) -> None:
    """Processors of the algorithms of Demmel et al. are real, as in the paper."""
    whole = {name for name, q in models.get(model).parameters().items() if q.whole}
    assert whole.issuperset(COUNTED.get(model, ()))
    assert bool(whole) == (model in COUNTED)
    assert not whole & {"prompt", "output", "tokens", "throttle"}, "means and totals"


def test_counts_without_an_end_have_an_answer_and_where_it_changes() -> None:
    """Where a limit moves, better designs are listed: there is no end of those that are no better."""
    answer = dse.solve(
        SERVING | {"decide": {"replicas": {}, "batch": {}}, "objective": {"minimize": "energy"}}
    )
    assert (answer.status, answer.variables) == ("optimal", {"replicas": 2.0, "batch": 246.0})
    state = answer.limits["time_per_output_token"]
    assert state.next_change is not None
    limits = SERVING["limits"] | {"time_per_output_token": {"max": state.next_change * (1 + 1e-9)}}
    at = dse.solve(SERVING | {"limits": limits, "objective": {"minimize": "energy"}})
    assert at.objective == pytest.approx(state.next_objective, rel=1e-6)


PLANS: dict[str, Any] = {
    "model": "transformer_training",
    "machine": "dgx-h100-bf16",
    "given": {"layers": 40, "hidden": 5120, "heads": 40, "sequence": 4096, "global_batch": 1000}
    | {"sequence_parallel": "on", "zero": "1"},
    "decide": {
        "tensor_parallel": {"min": 11, "max": 19},
        "pipeline_parallel": {"powers_of": 2, "max": 16},
        "data_parallel": {"values": [16, 32, 64]},
        "micro_batch": {"values": [1, 2]},
    },
    "objective": {"minimize": "step_time"},
}


def test_conflicts_of_degrees_that_do_not_divide_are_proved() -> None:
    """By hand: 40 has no divisor from 11 to 19, and 16, 32 or 64 times 1 or 2, a list each, does not divide 1000."""
    answer = dse.solve(PLANS)
    assert answer.status == "infeasible"
    assert {frozenset(c) for c in answer.conflicts} == {
        frozenset({"tensor_parallel", "heads_split"}),
        frozenset({"batch_split"}),
    }
    assert "as far as" not in answer.certificate


def test_the_degree_that_would_do_divides() -> None:
    answer = dse.solve(PLANS | {"decide": PLANS["decide"] | {"data_parallel": {"values": [20, 40]}}})
    assert answer.conflict["tensor_parallel"] in (10.0, 20.0)
    assert "fractions" not in str(answer)


def test_a_conflict_asks_for_whole_replicas() -> None:
    """1.6 replicas suffice, so that 2 are asked for."""
    asked = SERVING | {"decide": {"replicas": {"max": 1}, "batch": {"max": 300}}}
    answer = dse.solve(asked | {"limits": SERVING["limits"] | {"time_to_first_token": {"max": "20 ms"}}})
    assert answer.status == "infeasible"
    assert answer.conflict["replicas"] == 2.0
