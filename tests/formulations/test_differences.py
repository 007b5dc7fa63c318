"""Differences of posynomials: a limit on one is a ratio of sums that says the same, whatever the signs."""

import math
import random

import pytest

import dse
from dse.models import arithmetic
from formulations.arithmetics.differences import Difference
from formulations.arithmetics.posynomial import Ratio, Refused, symbol

NAMES = ("x", "y")


def grown(dice: random.Random, symbols: dict, numbers: dict, depth: int) -> tuple:
    """Return one expression on symbols and on floats; small whole coefficients keep rounding out of it."""
    if depth == 0 or dice.random() < 0.2:
        name = dice.choice([*NAMES, 2.0, 0.5, 3.0, -1.0, 0.0])
        return (symbols[name], numbers[name]) if isinstance(name, str) else (name, name)
    (a, u), (b, v) = (grown(dice, symbols, numbers, depth - 1) for _ in range(2))
    match dice.choice(["+", "-", "-", "*", "/", "2"]):
        case "+":
            return a + b, u + v
        case "-":
            return arithmetic.difference(a, b), u - v
        case "*":
            return a * b, u * v
        case "/" if v != 0 and not isinstance(b, Difference | Refused):
            return a / b, u / v
    return a**2, u**2


def test_a_limit_on_a_difference_says_what_it_says_of_floats():
    """2000 seeded expressions at seeded points: the ratio is above 1 exactly where the limit is broken."""
    dice = random.Random(3)
    held = differences = 0
    for _ in range(2000):
        numbers = {n: dice.choice([0.25, 0.5, 2.0, 3.0, 5.0]) for n in NAMES}
        try:
            found, value = grown(dice, {n: symbol(n) for n in NAMES}, numbers, 3)
        except ZeroDivisionError:
            continue
        if not isinstance(found, Difference):
            continue
        bound = dice.choice([-3.0, -0.5, 0.0, 0.5, 4.0])
        differences += 1
        for read, broken in ((arithmetic.at_most, value > bound), (arithmetic.at_least, value < bound)):
            ratio = read(found, bound)
            if not isinstance(ratio, Ratio) or math.isclose(value, bound, rel_tol=1e-9, abs_tol=1e-9):
                continue
            top, bottom = ratio.numerator(**numbers), ratio.denominator(**numbers)
            assert (top > bottom) is broken, (value, bound)
            held += 1
        plus, minus = (r.numerator(**numbers) / r.denominator(**numbers) for r in (found.plus, found.minus))
        assert plus - minus == pytest.approx(value, rel=1e-9, abs=1e-9 * (plus + minus))
    assert differences > 300
    assert held > 300


def test_what_a_difference_cannot_do_is_refused_not_raised():
    x, y = symbol("x"), symbol("y")
    d = arithmetic.difference(x, y)
    for value in (1 / d, x / d, d**0.5, d**-1, 2.0**d, arithmetic.log(d), arithmetic.maximum(x, d), x**d):
        assert isinstance(value, Refused)
    assert isinstance(x * d, Difference)
    assert isinstance(arithmetic.difference(x, 0.0), Ratio)
    assert isinstance(x - y, Refused), "only what asks for a difference gets one"


def test_a_limit_on_a_difference_is_proved_as_a_geometric_program():
    """What is left of the deadline, limited, is the deadline itself."""
    asked = {
        "model": "nbody",
        "machine": "jaketown",
        "given": {"bodies": 1e6, "flops_per_pair": 20, "deadline": "2 s"},
        "decide": {"processors": {"max": 4096}, "memory": {}},
        "define": {"left": "deadline - time"},
        "objective": {"minimize": "processors"},
    }
    direct = dse.solve(dse.load({**asked, "limits": {"time": {"max": "1.5 s"}}}))
    found = dse.solve(dse.load({**asked, "limits": {"left": {"min": "0.5 s"}}}))
    assert found.status == "optimal"
    assert "interval" not in found.certificate
    assert found.objective == pytest.approx(direct.objective, rel=1e-6)
    swept = {"path": "limits.left.min", "values": ["0.5 s", "0 s", "-1 s"]}
    grid = dse.sweep(dse.load({**asked, "sweep": {"least_left": swept}}), progress=False)
    assert (grid["left"].to_numpy() >= [0.5 - 1e-7, -1e-7, -1 - 1e-7]).all()
    assert (grid["status"] == 1).all()


def test_a_sweep_over_limits_on_a_difference_goes_together():
    asked = {
        "model": "nbody",
        "machine": "jaketown",
        "given": {"bodies": 1e6, "flops_per_pair": 20, "deadline": "2 s"},
        "decide": {"processors": {"max": 4096}, "memory": {}},
        "define": {"left": "deadline - time"},
        "objective": {"minimize": "processors"},
        "limits": {"left": {"min": "0.1 s"}},
    }
    axis = {"start": "0.1 s", "stop": "1.9 s", "num": 600}
    by_left = dse.sweep(
        dse.load({**asked, "sweep": {"least": {"path": "limits.left.min", **axis}}}), progress=False, audit=0
    )
    latest = {**asked, "limits": {"time": {"max": "1.9 s"}}}
    by_time = dse.sweep(
        dse.load({**latest, "sweep": {"latest": {"path": "limits.time.max", **axis}}}),
        progress=False,
        audit=0,
    )
    assert by_left["processors"].to_numpy() == pytest.approx(by_time["processors"].to_numpy()[::-1], rel=1e-6)
