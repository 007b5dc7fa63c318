"""Limits by which one number divides another say which numbers these are, not a percentage."""

from typing import Any

import pytest

import dse
from dse.models.model import ModelLimit
from results.telling import division
from results.telling.division import Division
from scenarios import ScenarioError

PLAN: dict[str, Any] = {
    "model": "transformer_training",
    "machine": "dgx-h100-bf16",
    "given": {"layers": 40, "hidden": 5120, "heads": 40, "sequence": 4096, "global_batch": 96, "zero": "1"}
    | {"recomputation": "selective", "sequence_parallel": "on", "tensor_parallel": 8, "pipeline_parallel": 2},
}


def told(**given: Any) -> str:
    return str(dse.solve(PLAN | {"given": PLAN["given"] | given}))


def cells(text: str, name: str) -> list[str]:
    """The line of a limit in the table of limits, blanks put together."""
    line = next(x for x in reversed(text.splitlines()) if x.split()[:1] == [name])
    return line.split("model's own")[1].split()


def test_what_divides_is_said_with_its_numbers() -> None:
    text = told(data_parallel=4, micro_batch=2)
    assert cells(text, "heads_split") == ["8", "divides", "40", "holds"]
    assert cells(text, "layers_split") == ["2", "divides", "40", "holds"]
    assert cells(text, "batch_split") == ["8", "divides", "96", "holds"]
    assert cells(text, "schedule") == ["does", "not", "apply"]


def test_what_does_not_divide_is_said_with_what_would_do() -> None:
    text = told(tensor_parallel=16)
    assert "40 is not divisible by 16, but by 10 and 20" in " ".join(text.split())
    assert cells(text, "heads_split") == ["16", "does", "not", "divide", "40", "violated"]


def test_of_a_product_the_product_is_said() -> None:
    text = told(interleaving=3)
    assert cells(text, "layers_split") == ["6", "does", "not", "divide", "40", "violated"]
    assert "40 is not divisible by 6, but by 5 and 8" in " ".join(text.split())


def test_where_degrees_are_decided_the_divisors_are_listed() -> None:
    asked = PLAN | {
        "given": {n: v for n, v in PLAN["given"].items() if n != "tensor_parallel"},
        "decide": {"tensor_parallel": {"values": [3, 6, 12]}},
        "objective": {"minimize": "step_time"},
    }
    answer = dse.solve(asked)
    assert answer.status == "infeasible"
    assert "40 has the divisors 1, 2, 4, 5, 8, 10, 20, 40" in " ".join(str(answer).split())


@pytest.mark.parametrize(
    ("whole", "part", "holds", "text"),
    [
        (64.0, 16.0, True, ""),
        (64.0, 12.0, False, "64 is not divisible by 12, but by 8 and 16"),
        (8.0, 16.0, False, "8 is not divisible by 16, but by 8"),
        (40.5, 8.0, False, ""),
        (None, 8.0, False, ""),
    ],
)
def test_next_to_what_does_not_divide(whole: float | None, part: float, holds: bool, text: str) -> None:
    found = Division(whole, part)
    assert found.holds == holds
    assert holds or division.divides_if(found) == text


def test_only_limits_that_divide_have_numbers() -> None:
    limits = (ModelLimit("a", "", "", ""), ModelLimit("b", "", "", "", divides=("n", "k", "l")))
    assert division.divisions(limits, {"n": 24.0, "k": 2.0, "l": 3.0}) == {"b": Division(24.0, 6.0)}
    assert division.divisions(limits, {"n": "many", "k": 2.0}) == {"b": Division(None, None)}


MACHINES = {"values": ["dgx-a100-bf16", "dgx-h100-bf16", "dgx-b200-bf16"]}


def test_where_no_choice_has_a_design_the_loosest_value_is_told_and_each_says_what_it_needs() -> None:
    """In the order of the file an A100 comes first; a B200 is the fastest."""
    asked = {n: v for n, v in PLAN.items() if n != "machine"} | {
        "decide": {"machine": MACHINES, "data_parallel": {"values": [1, 2, 4]}},
        "objective": {"minimize": "energy"},
        "limits": {"step_time": {"max": "50 ms"}, "devices": {"max": 64}},
    }
    answer = dse.solve(asked)
    needed = {a.choice["machine"]: a.conflict["step_time"] for a in answer.alternatives}
    assert (answer.status, min(needed, key=lambda n: needed[n] or 0)) == ("infeasible", "dgx-b200-bf16")
    assert answer.conflict["step_time"] == needed["dgx-b200-bf16"]
    text = " ".join(str(answer).split())
    assert "limits conflict if they do under every choice" in text
    assert text.count("infeasible unless step_time ≤") == 3
    for machine, time in needed.items():
        one = asked | {"machine": machine, "limits": {"step_time": {"max": time}, "devices": {"max": 64}}}
        decide = {"decide": {"data_parallel": {"values": [1, 2, 4]}}}
        assert dse.solve(one | decide).status == "optimal"


@pytest.mark.parametrize(("given", "said"), [({"zero": 1}, '"1"'), ({"gated": True}, '"on"')])
def test_a_number_in_place_of_a_name_is_to_be_quoted(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ScenarioError, match=f"(?s)write {said}, in quotes"):
        told(**given)
