"""Where answers of listed designs next change: of all limits in one pass, as each is found by a search of its own."""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

import dse
from formulations.evaluation import bounds
from formulations.row_keys import RowKey
from formulations.tolerances import HOLDS
from scenarios import load
from scenarios.questions import question
from solvers import boxes, designs, enumeration
from solvers.answer import answer
from solvers.enumeration import ONE
from solvers.explaining import explanation
from solvers.mechanisms.sensitivity import with_limit

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


def test_counts_with_ends_change_where_trying_every_count_says_so() -> None:
    """The counts of a system are few, and what a bound of one hides is found by the program, not by trying all."""
    names = ["gtx580", "gtx680", "gtx_titan"]
    asked: dict[str, Any] = {
        "model": "blocks",
        "machine": {n: f"{n.replace('_', '-')}-choi2014" for n in names},
        "given": {"flops": "1 Pflop", "intensity": 0.25},
        "decide": {f"count.{n}": {"max": 1} for n in names},
        "objective": {"maximize": "performance"},
        "limits": {"block_power": {"max": "600 W"}},
    }
    plain = question(load(asked))
    best = answer(plain)
    assert best.solver == "enumeration"
    assert best.objective is not None
    changes = {n: best.limits[n].next_change for n in ("block_power", *asked["decide"])}
    tried = explanation.searched_changes(plain, best.objective, [RowKey(n, "max") for n in changes])
    for name, changed in changes.items():
        alone = tried.get(RowKey(name, "max"))
        there = (changed, best.limits[name].next_objective)
        assert there == ((None, None) if alone is None else pytest.approx(alone, rel=1e-6)), name
    assert any(changes.values())


def test_boxes_without_each_limit_in_turn_are_tightened_together(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, tightened = question(load("gemm_cheapest_tokens")), boxes.tightened
    keys = [RowKey("layer", "max"), RowKey("gpus", "max"), RowKey("gpus", "min")]
    opened = [with_limit(asked, key, None) for key in keys]
    monkeypatch.setattr(designs, "OUTRIGHT", 0)
    alone = [designs.grid(q) for q in opened]
    calls = []

    def counted(*values: Any, **named: Any) -> Any:
        calls.append(len(named["given_up"]))
        return tightened(*values, **named)

    monkeypatch.setattr(boxes, "tightened", counted)
    together = designs.each_without(asked, keys, opened, math.inf)
    assert calls == [len(keys)]
    assert [g.shape for g in together] == [g.shape for g in alone if g is not None]
    assert len({g.shape for g in together}) > 1


def test_designs_of_a_mesh_are_judged_as_those_of_a_list() -> None:
    asked = question(load(TRAINING))
    every = designs.everything(asked)
    assert every is not None
    table = every.table(asked)
    assert table.mesh is not None
    over_mesh, listed = (enumeration.judged(t, asked, ONE) for t in (table, table.take(slice(None))))
    np.testing.assert_array_equal(over_mesh.reached, listed.reached)
    np.testing.assert_array_equal(over_mesh.best, listed.best)
    parts = [part.x["micro_batch"] for part in every.parts(asked)]
    np.testing.assert_array_equal(np.concatenate(parts), every.designs(np.arange(every.size))["micro_batch"])


@pytest.mark.parametrize("most", [0, 1])
def test_designs_are_left_out_that_limits_of_few_numbers_exclude(most: int) -> None:
    """Of a question of many designs few are evaluated: the others break limits that not all quantities enter."""
    asked = question(load("training_power_cap_for_energy"))
    every = designs.everything(asked)
    assert every is not None
    _, ratios = enumeration.numbers(table := every.table(asked), asked, ONE)
    broken = {k: ~(enumeration.full(r, (1, table.size))[0] <= 1 + HOLDS) for k, r in ratios.items()}
    own = np.any([b for k, b in broken.items() if k.side == "model"], axis=0)
    count = np.sum([b for k, b in broken.items() if k.side != "model"], axis=0)
    kept = np.concatenate(
        [np.stack(list(part.x.values())) for part in enumeration.parts(asked, every, most)], axis=1
    )
    assert kept.shape[1] < every.size / 4
    told = {tuple(design) for design in kept.T}
    counts = np.stack(list(table.x.values()))[:, ~own & (count <= most)]
    assert counts.size
    assert all(tuple(design) in told for design in counts.T)


def test_another_choice_may_be_better_before_the_best_one_changes() -> None:
    """Each machine's own next change is not the question's: 210 W pay for another machine, 600 W for more of this."""
    asked: dict[str, Any] = {
        "model": "nbody",
        "given": {"bodies": 1e5, "flops_per_pair": 10},
        "decide": {
            "machine": {"values": ["balanced", "jaketown", "contrived"]},
            "processors": {"powers_of": 2, "max": 1024},
            "memory": {"values": [1e3, 3e3, 1e4, 3e4, 1e5]},
        },
        "objective": {"minimize": "time"},
        "limits": {"power": {"max": 200.0}},
    }
    found = dse.solve(asked)
    state = found.limits["power"]
    assert found.variables["machine"] == "jaketown"
    assert state.next_change is not None
    there = dse.solve(asked | {"limits": {"power": {"max": state.next_change}}})
    before = dse.solve(asked | {"limits": {"power": {"max": 0.999 * state.next_change}}})
    assert there.variables["machine"] == "balanced"
    assert there.objective == pytest.approx(state.next_objective, rel=1e-9)
    assert before.objective == found.objective


def test_no_next_change_is_told_that_is_worse_than_the_answer():
    # one real memory is nearly flat, so that searches at other limits end before they are closed
    machine = {
        "time_per_flop": 3e-9,
        "energy_per_flop": 2e-10,
        "leakage_power": 0.15,
        "node_time_per_word": 4e-8,
        "node_energy_per_word": 9e-6,
        "node_memory_power_per_word": 2e-6,
        "core_time_per_word": 4e-8,
        "core_energy_per_word": 5e-8,
        "core_memory_power_per_word": 2e-5,
    }
    asked = {
        "model": "nbody_two_level",
        "machine": machine,
        "given": {"bodies": 10000, "flops_per_pair": 20, "cores": 8},
        "decide": {"nodes": {"max": 16, "integer": True}, "node_memory": {}, "core_memory": {}},
        "objective": {"minimize": "power_per_processor"},
        "limits": {
            "node_copies": {"min": 1},
            "node_replication": {"max": 1},
            "core_replication": {"max": 1},
            "performance": {"min": "5.698 Gflop/s"},
        },
    }
    found = dse.solve(asked)
    assert found.status == "optimal"
    told = [s.next_objective for s in found.limits.values() if s.next_objective is not None]
    assert all(objective <= found.objective for objective in told)
