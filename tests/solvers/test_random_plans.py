"""Plan spaces of training at random: answers, next best and conflicts as an oracle finds them that tries every plan."""

import copy
import random
from typing import Any

import numpy as np
import oracle_plans as oracle
import oracle_reading as reading
import pytest

import dse

MACHINES = ["dgx-a100-bf16", "dgx-h100-bf16", "dgx-h200-bf16", "dgx-b200-bf16"]
BLOCKS = 6
EACH = 20


def drawn(seed: int) -> dict[str, Any]:
    """Return a question about a plan space of at most some thousand plans."""
    r = random.Random(seed)
    layers, heads = r.choice([12, 24, 30, 40]), r.choice([8, 16, 24, 40])
    given: dict[str, Any] = {
        "layers": layers,
        "heads": heads,
        "hidden": heads * r.choice([64, 80, 128]),
        "sequence": r.choice([1024, 2048, 4096]),
        "global_batch": r.choice([16, 24, 50, 64, 96]),
    }
    given |= {"tokens": r.choice([1e10, 2e12])} if r.random() < 0.5 else {}
    given |= {"kv_heads": 8} if heads % 8 == 0 and r.random() < 0.5 else {}
    given |= {"gated": "on", "ffn": 3.5 * given["hidden"]} if r.random() < 0.5 else {}
    decide: dict[str, Any] = {
        "data_parallel": {"divides": "global_batch"},
        "tensor_parallel": {"divides": r.choice(["heads", ["heads", "global_batch"]]), "max": 16},
        "pipeline_parallel": r.choice(
            [{"divides": "layers"}, {"values": [1, 2, 3, 4, 5, 8]}, {"powers_of": 2}]
        ),
    }
    for name, entry in (
        ("interleaving", {"divides": "layers"}),
        ("micro_batch", {"divides": "global_batch", "max": 4}),
    ):
        if r.random() < 0.3:
            decide[name] = copy.copy(entry)
    texts = {"zero": ["0", "1", "2", "3"], "recomputation": ["none", "selective", "full"]}
    texts["sequence_parallel"] = ["off", "on"]
    for name, menu in texts.items():
        some = sorted(r.sample(menu, 1 if r.random() < 0.7 else 2))
        (decide if len(some) > 1 else given)[name] = {"values": some} if len(some) > 1 else some[0]
    source: dict[str, Any] = {"model": "transformer_training", "given": given, "decide": decide}
    if r.random() < 0.3:
        decide["machine"] = {"values": sorted(r.sample(MACHINES, 2))}
    else:
        changed = {"memory_efficiency": r.uniform(0.5, 1), "time_per_word": r.uniform(2e-11, 2e-10)}
        source["machine"] = {"base": r.choice(MACHINES), **changed}
    goals = [{"minimize": n} for n in ("time", "energy", "device_memory", "energy_per_token", "devices")]
    source["objective"] = r.choice([*goals, {"maximize": "tokens_per_second"}, {"maximize": "efficiency"}])
    n = 2 ** r.randint(2, 9)
    source["limits"] = {"devices": r.choice([{"max": n}, {"min": n, "max": 2 * n}, {"min": n}])}
    if r.random() < 0.5:
        source["limits"]["device_memory"] = {"max": r.uniform(2e10, 1.2e11)}
    if r.random() < 0.4:
        source["limits"]["step_time"] = {"max": 10 ** r.uniform(-1, 1.5)}
    return source


@pytest.mark.parametrize(
    "block", [pytest.param(k, marks=() if k < 2 else pytest.mark.slow) for k in range(BLOCKS)]
)
def test_answers_are_those_of_every_plan_tried(block: int) -> None:
    """200 spaces: status, optimum, next best, and where there is none every minimal conflict."""
    for seed in range(block * EACH, (block + 1) * EACH):
        source = drawn(seed)
        expected, found = oracle.answer(source), dse.solve(source)
        if expected.objective is None:
            assert found.status == "infeasible", seed
            sets = {frozenset(names) for names in expected.conflicts}
            told = {frozenset(names) for names in found.conflicts}
            assert told == sets, seed
            continue
        assert found.status == "optimal", seed
        assert found.objective == pytest.approx(expected.objective, rel=1e-9), seed
        assert found.bound == pytest.approx(found.objective, rel=1e-9), seed
        if expected.next_best is None:
            assert found.next_best is None, seed
        else:
            assert found.next_best is not None, seed
            assert found.next_best.objective == pytest.approx(expected.next_best, rel=1e-9), seed


def test_the_spaces_are_of_both_kinds() -> None:
    found = [oracle.answer(drawn(seed)).objective is None for seed in range(40)]
    assert 4 <= sum(found) <= 36


@pytest.mark.parametrize("name", oracle.FRONTS)
def test_no_plan_betters_a_point_of_the_front(name: str) -> None:
    """The ready fronts over plans and clocks: points are undominated among all, and the ends are the extremes."""
    source = reading.load(reading.ROOT / "scenarios" / "library" / f"{name}.toml")
    wanted = source["objective"]["minimize"]
    single = source | {"objective": {"minimize": "energy"}}
    parts = []
    for at in oracle.tables(single):
        fits = np.logical_and.reduce(
            [oracle.holds(single, n, at) for n in ("devices", "micro_batch", *oracle.OWN)]
        )
        parts.append(np.stack([np.broadcast_to(at[n], fits.shape)[fits] for n in wanted]))
    every = np.concatenate(parts, axis=1)
    found = dse.front(source, points=6 if len(wanted) == 2 else 4)
    points = np.stack([found[n].values for n in wanted], axis=1)
    for point in points:
        no_worse = (every <= point[:, None] * (1 + 1e-9)).all(axis=0)
        assert not (no_worse & (every < point[:, None] * (1 - 1e-9)).any(axis=0)).any()
    assert points.min(axis=0) == pytest.approx(every.min(axis=1), rel=1e-9)
