"""Counts that nothing ends near by, over samples: what no limit ends is unbounded, and what one ends far out is not."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import dse
from solvers.linear import highs
from solvers.linear.linear_program import Numbers

QUESTION: dict[str, Any] = {
    "model": "blocks",
    "machine": {
        "b": {"base": "gtx-titan-choi2014", "time_per_flop": 4e-13, "time_per_byte": 5e-12},
        "c": {"base": "gtx-titan-choi2014", "time_per_flop": 4e-13, "time_per_byte": 4e-12},
    },
    "given": {"flops": 1e12, "intensity": 2},
    "uncertain": {
        "machine.b.time_per_byte": {"uniform": [4e-12, 6e-12]},
        "sampling": {"samples": 2, "method": "random", "seed": 66},
    },
    "objective": {"minimize": "time", "measure": "mean"},
}


def asked(**more: Any) -> Any:
    return dse.solve({**copy.deepcopy(QUESTION), **more})


def many(blocks: float) -> dict[str, float]:
    return {"count.b": 0.0, "count.c": blocks}


@pytest.mark.parametrize("samples", [2, 16])
def test_the_mean_of_a_time_that_more_blocks_always_lower_has_no_end(samples: int):
    uncertain = QUESTION["uncertain"] | {"sampling": {"samples": samples, "method": "random", "seed": 66}}
    found = asked(uncertain=uncertain)
    assert found.status == "unbounded"
    # twice as many blocks are twice as fast
    one, two = (asked(uncertain=uncertain, given=QUESTION["given"] | n) for n in (many(1e15), many(2e15)))
    assert two.objective == pytest.approx(one.objective / 2, rel=1e-9)


@pytest.mark.parametrize("most", [1e10, 1e11, 1e12, 1e13, 1e20])
def test_a_limit_far_out_ends_it(most: float):
    found = asked(limits={"blocks": {"max": most}})
    assert found.status in ("optimal", "feasible")
    # all of the quicker kind: 2 s in all for one of them
    assert found.bound is None or found.bound <= 2.0 / most * (1 + 1e-9)
    if found.status == "optimal":
        assert found.objective == pytest.approx(2.0 / most, rel=2e-9)


def test_a_limit_on_another_quantity_ends_it_too():
    found = asked(limits={"power": {"max": 1e16}})
    assert found.status in ("optimal", "feasible")
    assert found.metrics["power"] <= 1e16 * (1 + 1e-9)


def test_an_end_of_the_user_far_out_is_no_other_end():
    found = asked(decide={"count.b": {"max": 1e15}, "count.c": {"max": 1e15}})
    assert found.status in ("optimal", "feasible")
    assert found.bound is None or found.bound <= found.objective <= 1.2e-12


def test_small_numbers_before_large_counts_count():
    # at least 4.67 - 1.94e-12 b - 2.73e-12 c, counts up to 1e12: HiGHS takes numbers below 1e-12 for 0
    rows = np.array([[-4.16e-13, -5.84e-13, -1.0, 1.0]])
    n = Numbers(
        rows, np.array([False]), np.zeros(3), np.array([1e12, 1e12, 10.0]), np.array([True, True, False])
    )
    found = highs.minimise(n, np.array([0.0, 0.0, 1.0, 0.0]))
    assert found.bound <= 1e-9
    assert found.value == pytest.approx(0.0, abs=1e-9)


def test_numbers_too_small_to_be_seen_lose_no_bound():
    # 1e-21 before 1e20 of them: no factor of a row shows both that and 1
    rows = np.array([[-1e-21, 0.0, -1.0, 1.0], [0.0, 1.0, 1.0, -3.0]])
    high = np.array([1e20, 5.0, 10.0])
    n = Numbers(rows, np.array([False, False]), np.zeros(3), high, np.array([True, True, False]))
    found = highs.minimise(n, np.array([0.0, 0.0, 1.0, 0.0]))
    assert found.bound <= 0.9 + 1e-9
