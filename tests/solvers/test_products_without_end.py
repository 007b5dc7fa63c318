"""Greatest products of metrics that no limit ends, and metrics that zeros among the given numbers make infinite."""

from __future__ import annotations

from typing import Any

import pytest

import dse
from results.solution import Status
from scenarios.questions import question
from solvers.nonlinear import interval


def _station(**changes: Any) -> dict[str, Any]:
    types = {
        "a": (4e8, 3e-10, 3e-11, 6e-8),
        "b": (2e8, 2e-10, 5e-11, 9e-8),
    }
    names = (
        "integer_rate",
        "energy_per_integer_operation",
        "idle_energy_per_integer_operation",
        "cost_per_integer_rate",
    )
    given = {
        "power_step": 1.0,
        "cost_per_power_step": 25.0,
        "socket_failures": 1e-10,
        "levels": [{"name": "full", "frequency": 1, "voltage": 1}],
        "cards": [{"name": "k4", "sockets": 4, "cost": 3, "power": 0.05}],
    }
    machine = {name: dict(zip(names, numbers, strict=True)) for name, numbers in types.items()}
    asked = {"model": "sockets", "machine": machine, "given": given | changes.pop("given", {})}
    return asked | changes


def _greatest(product: str, **limits: Any) -> dict[str, Any]:
    return _station(define={"z": product}, objective={"maximize": "z"}, limits=limits)


@pytest.mark.parametrize("limits", [{}, {"efficiency": {"min": 1e9}}, {"throughput": {"min": 1e11}}])
def test_a_greatest_product_may_have_no_end(limits: dict[str, Any]):
    found = dse.solve(_greatest("cost * power", **limits))
    assert found.status == "unbounded"
    assert "grows without limit" in found.message


def test_a_limit_ends_a_product():
    found = dse.solve(_greatest("cost * power", throughput={"max": 1e11}))
    assert found.status == "optimal"
    # one socket more of the dearer type is beyond the limit: 2e8 op/s each, all cards full
    assert found.metrics["throughput"] == pytest.approx(1e11, rel=1e-12)


def test_no_bound_is_told_that_ends_where_the_search_does():
    """The square of the cost grows for ever: 1.4e67 was told with a bound a little above it."""
    found = interval.solve(question(dse.load(_greatest("cost ** 2"))), work=2000)
    assert found.status is Status.FEASIBLE
    assert found.bound is None


@pytest.mark.parametrize("sense", ["minimize", "maximize"])
def test_numbers_given_as_0_that_make_a_metric_infinite_are_named(sense: str):
    found = dse.solve(_station(objective={sense: "mttf"}, given={"socket_failures": 0}))
    assert found.status == "error"
    assert "mttf" in found.message
    assert "socket_failures, card_failures, power_step_failures are all 0" in found.message


def test_a_product_with_a_factor_below_0_has_an_end():
    """More of the first factor makes it smaller; it was called unbounded."""
    asked = _station(
        define={"z": "(cost + 1 USD) * (sockets - 30)"},
        objective={"maximize": "z"},
        decide={f"sockets.{name}.full.k4": {"max": 12} for name in "ab"},
    )
    found = dse.solve(asked)
    assert found.status in ("optimal", "feasible")
    # one socket of the cheaper type: (18 + 3 + 25 + 1) USD times -29
    assert found.objective == pytest.approx(-47.0 * 29.0, rel=1e-6)
