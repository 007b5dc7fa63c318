"""Random points of every model, drawn from its own declarations."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import strategies as st

from dse import models
from dse.quantities import Quantity

# wide enough for every term of every sum to count somewhere
RANGES = {"exponent": (2.1, 2.9), "processors": (1.0, 1e6), "points": (2.0, 1e9), "throttle": (1.0, 8.0)}
CENTRES = {
    "s/flop": 1e-9,
    "s/word": 1e-8,
    "s/message": 1e-6,
    "s/byte": 1e-9,
    "s/access": 1e-7,
    "J/byte": 1e-9,
    "J/access": 1e-7,
    "byte/access": 64.0,
    "J/flop": 1e-9,
    "J/word": 1e-7,
    "J/message": 1e-6,
    "W/word": 1e-6,
    "W": 1.0,
}


def value(q: Quantity) -> st.SearchStrategy[Any]:
    if q.choices:
        return st.sampled_from(q.choices)
    centre = CENTRES.get(q.unit, 1e3)
    return st.floats(*RANGES.get(q.name, (centre / 30, centre * 30)))


@pytest.fixture(scope="session")
def points() -> Callable[..., st.SearchStrategy[dict[str, Any]]]:
    """Return a function that gives the strategy of a model's points: a value for every parameter."""

    def of(name: str, **fixed: Any) -> st.SearchStrategy[dict[str, Any]]:
        parameters = models.get(name).parameters()
        return st.fixed_dictionaries(
            {k: st.just(fixed[k]) if k in fixed else value(q) for k, q in parameters.items()}
        )

    return of
