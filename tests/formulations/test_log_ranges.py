"""What interval arithmetic says of sums of exponentials is true at every point of their box."""

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.arithmetics.intervals import Interval
from formulations.pyomo_models.log_data import Term
from formulations.pyomo_models.log_ranges import certain_sign, range_of_log

SIDES = st.tuples(st.floats(-2, 2), st.floats(0, 2)).map(lambda x: (x[0], x[0] + x[1]))
SHARES = st.floats(0, 1)
TERMS = st.lists(
    st.builds(
        lambda sign, constant, a, b: Term(sign, constant, {"x": float(a), "y": float(b)}),
        st.sampled_from([1.0, -1.0]),
        st.floats(-2, 2),
        st.integers(-4, 4),
        st.integers(-4, 4),
    ),
    min_size=1,
    max_size=4,
)


@given(TERMS, SIDES, SIDES, SHARES, SHARES)
@settings(max_examples=300)
def test_a_certain_sign_is_that_of_every_point(
    terms: list[Term], x: tuple[float, float], y: tuple[float, float], across: float, up: float
) -> None:
    box = {"x": Interval(*x), "y": Interval(*y)}
    at = {"x": x[0] + across * (x[1] - x[0]), "y": y[0] + up * (y[1] - y[0])}
    every = [t.sign * math.exp(t.constant + sum(a * at[n] for n, a in t.exponents.items())) for t in terms]
    value, rounding = math.fsum(every), 1e-12 * math.fsum(map(abs, every))
    sign = certain_sign(terms, box)
    assert sign is None or value * sign > -rounding
    if value > rounding:
        low, high = range_of_log(terms, box)
        assert low - 1e-9 <= math.log(value) <= high + 1e-9


def test_a_difference_is_seen_to_be_positive_where_its_parts_overlap() -> None:
    # c d^3 - d^4 for 0.05 <= d <= 0.0821 and 0.315 <= c <= 0.98: the spring of the engineering classics
    ends = {"c": (0.315, 0.98), "d": (0.05, 0.0821)}
    box = {n: Interval(math.log(low), math.log(high)) for n, (low, high) in ends.items()}
    terms = [Term(1.0, 0.0, {"c": 1.0, "d": 3.0}), Term(-1.0, 0.0, {"d": 4.0})]
    assert certain_sign(terms, box) == 1
    assert certain_sign([t.times(Term(-1.0, 0.0, {})) for t in terms], box) == -1
    assert certain_sign(terms, box | {"c": Interval(math.log(0.08), 0.0)}) is None
