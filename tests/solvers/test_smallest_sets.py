"""The search for the smallest conflict among many limits: how much it asks."""

import numpy as np
import pytest

from solvers.mechanisms import smallest_sets


@pytest.mark.parametrize("known", [1.0, 0.7])
@pytest.mark.parametrize("seed", range(5))
def test_in_large_conflicts_of_many_limits_one_is_found_by_few_tests(seed: int, known: float):
    """Three conflicts of eight of twenty limits: 26 tests by halves alone, up to 387 for the smallest one."""
    rng = np.random.default_rng(seed)
    clashes = [frozenset(rng.choice(20, 8, replace=False).tolist()) for _ in range(3)]
    search = smallest_sets.smallest(range(20), sorted(frozenset.intersection(*clashes)))
    asked, answer = 0, None
    try:
        while True:
            some, _ = search.send(answer)
            asked += 1
            answer = any(c <= some for c in clashes) if rng.random() < known else None
    except StopIteration as end:
        found = end.value
    assert any(c <= found for c in clashes)
    if known == 1.0:
        assert found in clashes
    # four for each limit, those of the last set that is grown, and those by halves
    assert asked <= 4 * 20 + 2 * 20 + 40
