"""Limits of 0 on metrics of a model that may be negative: what is exactly 0 meets them."""

import math
from typing import Any

import pytest

import dse
import scenarios
from dse import models
from dse.models import Model
from dse.quantities import Quantity
from results.dataset import STATUS_CODES
from results.solution import Status

LISTED: dict[str, Any] = {"x": {"values": [1, 2, 4]}, "y": {"values": [1, 2, 4]}}
ONE_REAL: dict[str, Any] = {"x": {"min": 1, "max": 4}, "y": {"values": [1, 2, 4]}}


@pytest.fixture
def signed() -> str:
    """A model of x and y: goal = x + 3/y, diff = x - y."""
    metrics = (Quantity("diff", "d", "", "x less y", minimum=-math.inf), Quantity("goal", "g", "", "goal"))
    inputs = (Quantity("x", "x", "", "x", ceiling=1e3), Quantity("y", "y", "", "y", ceiling=1e3))
    models.register(
        Model(
            "signed",
            title="signed",
            source="own",
            machine=(),
            inputs=inputs,
            metrics=metrics,
            limits=(),
            equations=lambda g: {"diff": g.x - g.y, "goal": g.x + 3 / g.y},
        )
    )
    return "signed"


@pytest.mark.parametrize("decide", [LISTED, ONE_REAL], ids=["lists", "one real"])
@pytest.mark.parametrize(
    ("sense", "limit", "best"),
    [
        ("minimize", {"min": 0}, 3.5),
        ("maximize", {"max": 0}, 4.75),
        ("minimize", {"min": 0, "max": 0}, 3.5),
        ("maximize", {"min": 0, "max": 0}, 4.75),
    ],
)
def test_a_difference_of_zero_meets_a_limit_of_zero(
    signed: str, sense: str, limit: dict[str, Any], best: float, decide: dict[str, Any]
) -> None:
    """By hand: of x, y in 1, 2, 4 with x >= y the least x + 3/y is at 2, 2; with x <= y the greatest at 4, 4."""
    found = dse.solve(
        {"model": signed, "decide": decide, "objective": {sense: "goal"}, "limits": {"diff": limit}}
    )
    assert (found.status, found.objective) == (Status.OPTIMAL, pytest.approx(best, rel=1e-8))


RACE = {
    "model": "dvfs",
    "machine": "jetson-tk1-choi2016",
    "given": {"phases": [{"name": "a", "flops": "90 Gflop", "bytes": "4 GB"}]},
    "objective": {"minimize": "time"},
    "limits": {"race_saving": {"min": 0}},
}


def test_the_setting_that_races_to_halt_saves_exactly_nothing() -> None:
    """The fastest setting is what race_saving compares with, so the limit of 0 leaves it."""
    free = dse.solve({**RACE, "limits": {}})
    found = dse.solve(RACE)
    assert found.metrics["race_saving"] == 0
    assert (found.status, found.objective) == (Status.OPTIMAL, free.objective)
    along = {"least": {"path": "limits.race_saving.min", "values": [-1e-9, 0, 1e-3]}}
    swept = dse.sweep({**RACE, "sweep": along}, progress=False)
    assert set(swept["status"].values.tolist()) == {STATUS_CODES[Status.OPTIMAL]}
    assert swept["objective"].values[:2].tolist() == [free.objective] * 2
    assert swept["objective"].values[2] > free.objective


def test_a_least_difference_of_zero_on_a_bound_is_proved(signed: str) -> None:
    """No design beyond the bound by its slack stands in the way of a bound of exactly 0."""
    question = {"model": signed, "given": {"y": 1}, "decide": {"x": {"min": 1, "max": 4096}}}
    found = dse.solve({**question, "objective": {"minimize": "diff"}})
    assert (found.status, found.objective, found.variables["x"]) == (Status.OPTIMAL, 0, 1)


def test_a_starter_of_a_model_without_a_machine_can_be_asked_and_swept_as_it_says(signed: str) -> None:
    text = scenarios.template(signed)
    assert "machine" not in text
    assert 'ties = ["diff", "goal"]' in text
    assert "limits.diff.max" in text
    assert "limits.power" not in text
    assert dse.solve(scenarios.from_text(text)).status is Status.OPTIMAL
