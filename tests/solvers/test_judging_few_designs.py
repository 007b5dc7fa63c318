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


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("counts", [{"values": [22, 23, 28, 30]}, {"min": 22, "max": 30, "integer": True}])
def test_a_list_of_what_is_counted_is_a_part_of_a_conflict(counts: dict[str, Any], *, whole: bool) -> None:
    """0.067 x² n k is below 1 with two of three: x from 2.68 on, n from 22 on, k from 26.9 on."""
    ends = {"x": (0.5, 20.0), "n": (1.0, 30.0), "k": (1.0, 64.0)}
    numbers = tuple(
        Quantity(n, n, "", n, minimum=low, maximum=high, whole=whole and n == "n")
        for n, (low, high) in ends.items()
    )
    told = tuple(Quantity(n, n, "", n) for n in ("size", "sum"))

    def equations(g: Any) -> dict[str, Any]:
        return {"size": 0.067 * g.x**2 * g.n * g.k, "sum": g.n + g.x}

    name = "own_listed"
    dse.register(
        Model(
            name, "lists", "a test", machine=(), inputs=numbers, metrics=told, limits=(), equations=equations
        )
    )
    said = {
        "model": name,
        "decide": {"x": {"min": 2.68, "max": 6.34}, "n": counts, "k": {"values": [26.9, 55.2]}},
        "objective": {"minimize": "sum"},
        "limits": {"size": {"max": 1.0}},
    }
    found = dse.solve(said)
    assert found.status is Status.INFEASIBLE
    assert set(found.conflicts) == {("size", "x", "n"), ("size", "x", "k"), ("size", "n", "k")}
