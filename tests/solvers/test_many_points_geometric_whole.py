"""Grids of geometric programs with whole numbers: each point as if it were asked alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import points_alone
import pytest
from geometric_grids import at_once, grid, log, share

import dse
import results.dataset
from results.dataset import STATUS_CODES
from results.solution import Status
from solvers.answer import answer


def test_whole_processors_are_those_of_an_enumeration():
    """Every p up to 40 with its own best memory, written out: the same least energy, or none."""
    asked = grid(
        {"limits.time.max": log("1 us", "10 ms", 40), "given.bodies": "values = [50, 200, 1000]"},
        decide="processors = { max = 40, integer = true }\nmemory = {}",
        limits='time = { max = "1 s" }',
    )
    m = {n.removeprefix("machine."): v for n, v in asked.question((0, 0)).given.items()}
    _, arrays, left = at_once(asked)
    deadline = np.array(asked.axes[0].values)[:, None, None]
    n = np.array(asked.axes[1].values)[None, :, None]
    p = np.arange(1.0, 41.0)
    # T = a + b/M and E = p (c + d/M + (e M + l) T) at fixed p, with n/p <= M <= n/sqrt(p) and M >= 1
    work = m["flops_per_pair"] * n**2 / p
    a, b = (
        m["time_per_flop"] * work,
        (m["time_per_word"] + m["time_per_message"] / m["max_message"]) * n**2 / p,
    )
    d = (m["energy_per_word"] + m["energy_per_message"] / m["max_message"]) * n**2 / p
    e, leak = m["memory_power_per_word"], m["leakage_power"]
    with np.errstate(divide="ignore", invalid="ignore"):
        low = np.maximum(np.maximum(n / p, 1.0), np.where(deadline > a, b / (deadline - a), np.inf))
        high = n / np.sqrt(p) * np.ones_like(deadline)
        M = np.clip(np.sqrt((d + leak * b) / (e * a)), low, np.maximum(low, high))
        energy = p * (m["energy_per_flop"] * work + d / M + (e * M + leak) * (a + b / M))
    best = np.where(low <= high * (1 + 1e-9), energy, np.inf).min(-1)
    there = np.isfinite(best)
    assert 0.1 < (~there).mean() < 0.9
    assert left.mean() < 0.05
    expected = np.where(there, STATUS_CODES[Status.OPTIMAL], STATUS_CODES[Status.INFEASIBLE])
    np.testing.assert_array_equal(arrays["status"][~left], expected[~left])
    sure = there & ~left
    np.testing.assert_allclose(arrays["objective"][sure], best[sure], rtol=1e-8)
    assert (arrays["bound"][sure] <= best[sure] * (1 + 1e-11)).all()


def test_where_no_allowed_value_will_do_the_conflict_is_told_with_all_others():
    """At the longer deadlines some number between 3 and 5000 would do, and neither of the two does."""
    asked = grid(
        {"limits.time.max": log("1 ms", "10 s", 16)},
        decide="processors = { values = [3, 5000] }\nmemory = {}",
        limits='time = { max = "1 s" }\nprocessors = { max = 1000 }',
    )
    _, arrays, left = at_once(asked)
    assert not left.any()
    assert share(arrays, Status.INFEASIBLE) == 1.0
    for i in (0, 15):
        alone = answer(asked.question((i,)), neighbours=False)
        assert alone.conflicts == (("time", "processors"),)
        assert (arrays["binding"][i, :2] == 2).all()
        np.testing.assert_allclose(arrays["would_do"][i, :2], list(alone.conflict.values()), rtol=1e-6)


WHOLE = {
    "whole processors": grid(
        {
            "limits.time.max": log("1 ms", "10 s", 8),
            "given.bodies": "values = [1e2, 1e3, 1e4]",
            "machine.energy_per_word": "factors = [0.1, 10]",
        },
        decide="processors = { max = 65536, integer = true }\nmemory = {}",
        limits='time = { max = "1 s" }',
    ),
    "a power of two": grid(
        {"limits.time.max": log("1 ms", "10 s", 8), "given.bodies": "values = [1e2, 1e3, 1e4]"},
        decide="processors = { max = 65536, powers_of = 2 }\nmemory = {}",
        limits='time = { max = "1 s" }',
    ),
    "listed processors": grid(
        {"limits.time.max": log("1 ms", "10 s", 8), "given.bodies": "values = [1e2, 1e3, 1e4]"},
        decide="processors = { values = [3, 10, 50, 51, 1000] }\nmemory = {}",
        objective='minimize = "energy_delay"',
        limits='time = { max = "1 s" }',
    ),
    "whole processors, two limits": grid(
        {
            "limits.time.max": log("10 ms", "100 s", 8),
            "limits.energy.max": "values = [1, 100, 1e5]",
            "given.order": "values = [1e2, 1e3, 3e3]",
        },
        model="matmul",
        given="order = 1e3",
        decide="processors = { max = 500, integer = true }\nmemory = {}",
        objective='minimize = "energy_delay"',
        limits='time = { max = "1 s" }\nenergy = { max = 1e3 }',
    ),
    "whole processors and listed messages": grid(
        {"limits.time.max": log("1 ms", "10 s", 8), "given.bodies": "values = [1e2, 1e3, 1e4]"},
        decide="processors = { max = 65536, integer = true }\nmemory = {}\n"
        '"machine.max_message" = { values = [10, 100, 1000] }',
        limits='time = { max = "1 s" }',
    ),
}


@pytest.mark.parametrize("name", WHOLE)
def test_discrete_variables_are_those_of_the_question_alone(name: str):
    """Objective, bound, status and conflict; of designs equally good one that is no slower."""
    asked = WHOLE[name]
    plan, arrays, left = at_once(asked)
    assert left.mean() < 0.1
    assert share(arrays, Status.OPTIMAL) > 0.5
    assert np.nanmax(arrays["gap"]) <= 1e-6
    places = np.argwhere(~left)
    one = (1,) * left.ndim
    drawn = points_alone.drawn(places, 12, seed=2)
    for place, alone in zip(drawn, points_alone.answers(asked, drawn), strict=True):
        expected = {n: v[(0,) * left.ndim] for n, v in results.dataset.to_arrays(plan, [alone], one).items()}
        found = {n: v[place] for n, v in arrays.items()}
        assert found["status"] == expected["status"]
        np.testing.assert_array_equal(found["binding"] == 2, expected["binding"] == 2)
        np.testing.assert_allclose(found["objective"], expected["objective"], rtol=1e-6)
        np.testing.assert_allclose(found["bound"], expected["bound"], rtol=1e-6)
        assert np.isnan(found["elasticity"]).all()
        if found["status"] == STATUS_CODES[Status.OPTIMAL]:
            assert found["processors"] == round(found["processors"])
            assert found["time"] <= expected["time"] * (1 + 1e-4)


@pytest.mark.parametrize(
    ("changes", "memory"),
    [
        # n-body of few bytes: the largest memory that still saves words, M = n / sqrt(p)
        ({"machine": {"base": "jaketown", "energy_per_flop": 1e-10}}, lambda p: 1e5 / np.sqrt(p)),
        # dense product: M = n^2 / p^(2/3)
        ({"model": "matmul", "given": {"order": 1e4}}, lambda p: 1e8 / p ** (2 / 3)),
    ],
)
def test_fewest_processors_beside_a_power_cap_take_the_least_time(
    changes: dict[str, Any], memory: Callable[[float], float]
):
    """Of the designs of as many processors that one counts which is fastest, whatever energy that saves or costs."""
    asked = {
        "model": "nbody",
        "machine": "balanced",
        "given": {"bodies": 1e5, "flops_per_pair": 10},
        "decide": {"processors": {"integer": True, "min": 10, "max": 300}, "memory": {}},
        "objective": {"minimize": "processors"},
        "limits": {"power": {"max": 8808.0}},
        **changes,
    }
    alone = dse.solve(dse.load(asked))
    caps = {"path": "limits.power.max", "values": [5725.0, 8808.0]}
    found = dse.sweep(dse.load({**asked, "sweep": {"cap": caps}}))
    assert found.attrs["left_over"] == "{}"
    np.testing.assert_array_equal(found["processors"], 10.0)
    # a search ends within 1e-9 of the objective
    np.testing.assert_allclose(found["memory"], memory(10.0), rtol=1e-6)
    np.testing.assert_allclose(found["time"], alone.metrics["time"], rtol=1e-9)
