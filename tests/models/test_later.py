"""Metrics that are worked out when they are asked for: the bits of arrays, and nothing that nobody asks for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dse
import scenarios
from dse.models import arithmetic
from formulations import evaluation
from formulations.arithmetics.later import Later, later
from formulations.arithmetics.many import Many

SAMPLES = np.random.default_rng(1).uniform(0.5, 1.5, 50)
POINTS = Many(np.array([[0.5], [1.0], [3.0]]))


def test_models_have_the_same_metrics_as_with_arrays():
    """What is uncertain may be any number: here it is each given one in turn."""
    seen = set[str]()
    for name in scenarios.library():
        asked = _first_question(name)
        if asked.model.name in seen or asked.model.black_box or any(d.choices for d in asked.decide):
            continue
        seen.add(asked.model.name)
        x = {d.name: np.array([[d.values[0] if d.values else 2.0]]) for d in asked.decide}
        for one in [n for n, v in asked.given.items() if isinstance(v, float) and v > 0][:8]:
            values = asked.given[one] * SAMPLES
            with np.errstate(all="ignore"):
                try:
                    arrays = _metrics(asked, {one: values}, x)
                except ArithmeticError:
                    continue
                lazy = _metrics(asked, {one: later(values)}, x)
            assert arrays.keys() == lazy.keys()
            for metric, found in arrays.items():
                assert np.array_equal(np.asarray(lazy[metric]), np.asarray(found), equal_nan=True), (
                    name,
                    metric,
                )
    assert len(seen) > 15


def _first_question(name: str) -> Any:
    grid = scenarios.grid(dse.load(name))
    return grid.first


def _metrics(asked: Any, given: dict[str, Any], x: dict[str, Any]) -> dict[str, Any]:
    return evaluation.metrics(evaluation.unraised(replace(asked, given={**asked.given, **given})), x)


@pytest.mark.parametrize(
    "made",
    [
        lambda v: v**0.5 + 2.0**v - v**2,
        lambda v: arithmetic.maximum(v, 1.0) / arithmetic.minimum(v, POINTS),
        lambda v: arithmetic.reaches(v, 1.0) + arithmetic.reaches(POINTS, v),
        lambda v: arithmetic.pick(1.0 + arithmetic.some(v - 1.0), [v, 3.0]),
        lambda v: arithmetic.rest(v) + arithmetic.uneven(10 * v),
        lambda v: arithmetic.per(POINTS, v) - POINTS / v + v * POINTS,
        lambda v: arithmetic.at_most(v, POINTS) + arithmetic.at_least(v, np.array([[0.5], [0.0], [1.0]])),
        lambda v: arithmetic.exp(arithmetic.log(v)) + np.add.reduce(v),
        lambda v: sum((v for _ in range(3000)), start=0.0),
    ],
)
def test_operations_have_the_bits_of_arrays(made: Any):
    assert np.array_equal(np.asarray(made(later(SAMPLES))), np.asarray(made(SAMPLES)))


def test_only_what_is_asked_for_is_worked_out():
    done = []

    def noted(text: str, v: Any) -> Later:
        return Later(lambda x: done.append(text) or x, v)

    first = later(SAMPLES)
    both = noted("both", first)
    wanted, _ = noted("wanted", both), noted("unwanted", both)
    assert not done
    assert np.array_equal(wanted.values, SAMPLES)
    assert np.array_equal(wanted.values, SAMPLES)
    assert done == ["both", "wanted"]
