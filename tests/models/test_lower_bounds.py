"""Communication lower bounds (3)-(5) and Figure 3, and that the algorithms attain them."""

import lower_bounds as low
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse import models

EXPONENTS = [3.0, float(np.log2(7.0))]


def test_inputs_and_outputs_are_the_least_a_sequential_run_moves():
    assert low.words_sequential(1e6, 1e4, 5e5) == 5e5
    assert low.words_sequential(1e9, 1e4, 5e5) == 1e7
    assert low.messages_sequential(1e9, 1e4, 5e5, 100.0) == 1e5


def test_a_parallel_run_that_holds_its_data_may_send_nothing():
    assert low.words_parallel(1e6, 1e4, 5e5) == 0.0
    assert low.words_parallel(1e9, 1e4, 5e5) == 9.5e6
    assert low.messages_parallel(1e9, 1e4, 5e5, 100.0) == 9.5e4


def test_bounds_take_arrays():
    flops = np.array([1e6, 1e9])
    np.testing.assert_array_equal(low.words_parallel(flops, 1e4, 5e5), [0.0, 9.5e6])


@given(st.floats(1e2, 1e6), st.floats(10, 1e9), st.floats(0, 1), st.sampled_from(EXPONENTS))
def test_algorithms_send_the_least_up_to_the_end_of_scaling(n: float, M: float, where: float, w: float):
    """Inside the range the model's own words are the bound; at its end both bounds meet."""
    start, end = low.scaling_start(n, M), low.scaling_end(n, M, w)
    if start > end:
        return
    p = start * (end / start) ** where
    machine = {f"machine.{q.name}": 1.0 for q in models.get("strassen").machine if not q.optional}
    got = models.evaluate(
        models.get("strassen"), {"order": n, "exponent": w, "processors": p, "memory": M, **machine}
    )
    # powers of powers: the exponents' own rounding times the logarithm of the numbers
    assert got["words"] == pytest.approx(low.words_multiplication(n, p, M, w), rel=1e-12)
    assert low.words_any_memory(n, end, w) == pytest.approx(low.words_multiplication(n, end, M, w), rel=1e-12)


def test_past_the_end_more_processors_help_less():
    n, M = 1e4, 1e4
    end = low.scaling_end(n, M)
    assert low.words_multiplication(n, 8 * end, M) == pytest.approx(low.words_multiplication(n, end, M) / 4)
