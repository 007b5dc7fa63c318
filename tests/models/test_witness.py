"""Equations that look at a number that varies are found out; plain arithmetic passes."""

import copy
import dataclasses
import functools
import math
from collections.abc import Callable
from fractions import Fraction
from numbers import Number
from typing import Any

import numpy as np
import pytest

from dse import models
from dse.models import arithmetic as arith
from dse.models.described.witness import refusal
from dse.models.model import Model, evaluate
from dse.quantities import Quantity

Equations = Callable[[Any], dict[str, Any]]


def model(equations: Equations, black_box: str = "") -> Model:
    inputs = (Quantity("x", "x", "", "one"), Quantity("y", "y", "", "other"))
    return Model(
        "own", "", "", (), inputs, (Quantity("c", "c", "", "cost"),), (), equations, black_box=black_box
    )


def swallowed(g: Any) -> dict[str, Any]:
    try:
        return {"c": 1.0 if g.x > 2 else 2.0}
    except TypeError:
        return {"c": g.x}


@dataclasses.dataclass
class Pair:
    one: Any
    other: Any


@functools.singledispatch
def twice(x: Any) -> Any:
    return x


@twice.register
def _(x: float) -> float:
    return 2.0 * x


ARITHMETIC: list[Equations] = [
    lambda g: {"c": g.x**2 + 3 / g.y - 2.0 * g.x**g.y + 2.0**g.x},
    lambda g: {"c": arith.maximum(g.x, 2.0, g.y) + arith.log(g.x) + arith.log2(g.y) + arith.exp(-g.x)},
    lambda g: {"c": arith.pick(g.x, [1.0, g.y]) + arith.pick(2.0, [1.0, g.y]) + arith.per(1.0, g.x)},
    lambda g: {
        "c": arith.reaches(g.x, 3.0) + arith.reaches(3.0, g.x) + arith.differs(g.x, g.y) + arith.some(g.y)
    },
    lambda g: {"c": np.float64(2.0) * g.x + sum([g.x, g.y])},
    lambda g: {"c": g.x if g.y is None else 1.0},
    lambda g: {"c": sum(dataclasses.asdict(Pair(g.x, g.y)).values()) + Fraction(1, 3) * copy.deepcopy(g.x)},
]
OTHERS: list[Equations] = [
    lambda g: {"c": 1.0 if g.x > 3 else 2.0},
    lambda g: {"c": 1.0 if g.x == 3 else g.x},
    lambda g: {"c": {3.0: 1.0}.get(g.x, g.x)},
    lambda g: {"c": 1.0 if g.x in (1.0, 2.0) else g.x},
    lambda g: {"c": g.y or g.x},
    lambda g: {"c": max(g.x, g.y)},
    lambda g: {"c": [1.0, 2.0][g.x]},
    lambda g: {"c": np.interp(g.x, [0.0, 1.0], [1.0, 2.0])},
    lambda g: {"c": np.where(g.x > 3, 1.0, 2.0)},
    lambda g: {"c": np.sum([g.x, g.y])},
    lambda g: {"c": np.maximum(g.x, g.y)},
    lambda g: {"c": math.sqrt(g.x)},
    lambda g: {"c": g.x // 2},
    lambda g: {"c": g.x.item()},
    lambda g: {"c": 1.0 / 0.0 * g.x},
    swallowed,
    lambda g: {"c": twice(g.x) * g.y},
    lambda g: {"c": {"5.0": 1.0}.get(str(g.x), g.x)},
    lambda g: {"c": float(f"{g.x}".count("5"))},
    lambda g: {"c": float(len(repr([g.x])))},
    lambda g: {"c": 1.0 if isinstance(g.x, int | float) else g.x},
    lambda g: {"c": 1.0 if isinstance(g.x, Number) else g.x},
    lambda g: {"c": 1.0 if g.x.__class__ is float else g.x},
]


@pytest.mark.parametrize("equations", ARITHMETIC)
def test_arithmetic_passes(equations: Equations):
    assert refusal(model(equations), {}, ["x", "y"]) == ""


def test_a_limit_that_one_number_divides_another_is_arithmetic():
    """As docs/own_models.md writes it: ``ModelLimit(..., divides=("y", "x"))``."""
    limited = model(lambda g: {"c": arith.divides(g.x, g.y) + arith.fractional_power(g.x, 0.5, float)})
    assert refusal(limited, {}, ["x", "y"]) == ""


@pytest.mark.parametrize("equations", OTHERS)
def test_whatever_else_is_done_is_named(equations: Equations):
    assert refusal(model(equations), {}, ["x", "y"])


@pytest.mark.parametrize("equations", OTHERS[:4])
def test_what_is_given_may_be_looked_at(equations: Equations):
    assert refusal(model(equations), {"x": 3.0}, ["y"]) == ""


@pytest.mark.parametrize("name", ["nbody", "fft", "matmul_two_level", "roofline"])
def test_our_own_models_are_arithmetic(name: str):
    own = models.get(name)
    texts = {q.name: q.choices[0] for q in own.inputs if q.choices}
    assert refusal(own, texts, [n for n in own.parameters() if n not in texts]) == ""


def test_a_black_box_is_run_design_by_design():
    def equations(g: Any) -> dict[str, Any]:
        return {"c": np.array([g.x + 1.0 if g.x > 2 else g.y])}

    x, y = np.array([[1.0], [3.0]]), np.array([10.0, 20.0, 30.0])
    found = evaluate(model(equations, "looks"), {"x": x, "y": y})
    assert found["c"].tolist() == [[10.0, 20.0, 30.0], [4.0, 4.0, 4.0]]
    alone = evaluate(model(equations, "looks"), {"x": 3.0, "y": 1.0})
    assert alone["c"] == 4.0
    assert isinstance(alone["c"], float)


def test_where_a_black_box_fails_there_is_no_number_and_a_warning():
    box = model(lambda g: {"c": math.sqrt(g.x)}, "looks")
    with pytest.warns(RuntimeWarning, match="at 1 of 3 designs .ValueError: "):
        found = evaluate(box, {"x": np.array([4.0, -1.0, 9.0]), "y": 1.0})
    assert np.array_equal(found["c"], [2.0, np.nan, 3.0], equal_nan=True)
    with pytest.raises(ValueError, match=r"math domain error|nonnegative"):
        evaluate(box, {"x": np.array([-4.0, -1.0]), "y": 1.0})
    with pytest.raises(ValueError, match="2 numbers for c"):
        evaluate(model(lambda g: {"c": [g.x, g.x]}, "looks"), {"x": 1.0, "y": 1.0})
