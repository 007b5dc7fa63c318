"""Where answers of listed designs next change: of all limits in one pass, as each is found by a search of its own."""

import dataclasses
from typing import Any

import pytest

from formulations.evaluation import bounds
from formulations.row_keys import RowKey
from scenarios import load
from scenarios.questions import question
from solvers import enumeration
from solvers.answer import answer
from solvers.explaining import explanation

TRAINING: dict[str, Any] = {
    "model": "transformer_training",
    "machine": "dgx-h100-bf16",
    "given": {"layers": 24, "hidden": 4096, "heads": 32, "sequence": 2048, "global_batch": 96, "zero": "1"},
    "decide": {
        "data_parallel": {"divides": "global_batch", "max": 24},
        "tensor_parallel": {"divides": "heads"},
        "pipeline_parallel": {"divides": "layers"},
        "micro_batch": {"divides": "global_batch"},
    },
    "objective": {"minimize": "time"},
    "limits": {"devices": {"min": 40, "max": 64}, "power": {"max": "120 kW"}},
}


@pytest.mark.parametrize("goal", [{"minimize": "time"}, {"maximize": "efficiency"}])
def test_all_limits_in_one_pass_are_as_each_by_itself(goal: dict[str, str]) -> None:
    asked = question(load(TRAINING | {"objective": goal}))
    best = answer(asked, neighbours=False)
    assert best.objective is not None
    keys = [
        RowKey(n, side)
        for n, ends in bounds(asked).items()
        for side, end in zip(("min", "max"), ends, strict=True)
        if end
    ]
    found = explanation.listed_changes(asked, best.objective, keys)
    assert found is not None
    alone = explanation.searched_changes(asked, best.objective, keys)
    assert found.keys() == alone.keys()
    for key, changed in found.items():
        assert changed == pytest.approx(alone[key], rel=1e-7) if changed else alone[key] is None, key
    assert any(found.values())


def test_a_limit_moved_there_gives_that_answer() -> None:
    asked = question(load(TRAINING))
    best = answer(asked)
    changed = {n: s for n, s in best.limits.items() if s.next_change is not None}
    assert "devices" in changed or "power" in changed
    for name, state in changed.items():
        if name.endswith(".min") or name == "data_parallel":
            continue
        limits = tuple(
            dataclasses.replace(x, maximum=state.next_change) if x.name == name else x for x in asked.limits
        )
        moved = enumeration.optimum(dataclasses.replace(asked, limits=limits))
        assert moved.bound == pytest.approx(state.next_objective, rel=1e-9)


def test_too_many_designs_are_left_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explanation, "MOST_LISTED_DESIGNS", 10)
    asked = question(load(TRAINING))
    assert explanation.listed_changes(asked, 1.0, []) is None
