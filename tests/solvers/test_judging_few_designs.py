"""Few designs of a model of one's own: which end of a limit gives, and what floats cannot evaluate."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

import dse
from dse.models.arithmetic import exp
from dse.models.model import Model
from dse.quantities import Quantity
from results.solution import Status

Equations = Callable[[Any], Mapping[str, Any]]


def own(equations: Equations, *metrics: str) -> str:
    numbers = tuple(Quantity(n, n, "", n, minimum=1, maximum=100) for n in ("n", "k"))
    told = tuple(Quantity(n, n, "", n) for n in metrics)
    dse.register(
        Model(
            "own_few",
            "few designs",
            "a test",
            machine=(),
            inputs=numbers,
            metrics=told,
            limits=(),
            equations=equations,
        )
    )
    return "own_few"


@pytest.mark.parametrize(("ends", "nearest"), [((8.001, 15.0), 8.0), ((7.0, 7.9), 8.0), ((8.9, 15.9), 16.0)])
def test_of_two_ends_the_one_gives_that_has_to_give_less(ends: tuple[float, float], nearest: float) -> None:
    """What is listed comes to 6, 8 or 16; a sweep says the same as a single question."""
    said: dict[str, Any] = {
        "model": own(lambda g: {"size": g.k * g.n}, "size"),
        "decide": {"k": {"values": [3, 4, 8]}},
        "objective": {"minimize": "size"},
        "limits": {"size": dict(zip(("min", "max"), ends, strict=True))},
    }
    found = dse.solve({**said, "given": {"n": 2.0}})
    assert found.status is Status.INFEASIBLE
    assert found.conflict["size"] == pytest.approx(nearest)
    points = dse.sweep({**said, "sweep": {"n": {"path": "n", "values": [2.0, 2.0000001]}}}, audit=0)
    side = "size" if nearest > ends[1] else "size.min"
    assert float(points["would_do"].sel(limit=side)[0]) == pytest.approx(nearest)


@pytest.mark.parametrize(("least", "best"), [(0.5, 30.0), (500.0, None)])
def test_what_intervals_refute_need_not_be_evaluated(least: float, best: float | None) -> None:
    """exp(-1728) is 0 in floats: that design is below every least value, and no reason to doubt the model."""
    said = {
        "model": own(
            lambda g: {"low": exp(-(g.n**2) * g.k / 10) * g.n * g.k, "size": g.n * g.k}, "low", "size"
        ),
        "decide": {"n": {"values": [1, 24]}, "k": {"values": [1, 30]}},
        "objective": {"maximize": "size"},
        "limits": {"low": {"min": least}},
    }
    found = dse.solve(said)
    assert found.status is (Status.INFEASIBLE if best is None else Status.OPTIMAL)
    assert found.objective == best
