"""Slopes of the larger of two quantities: one of them may be the larger although their values overlap."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import dse
from dse.models import arithmetic
from formulations.arithmetics.enclosures import centres
from formulations.arithmetics.slopes import Slope
from results.solution import Status

EXPONENTS = st.floats(-2.0, 2.0)


@given(
    st.tuples(EXPONENTS, EXPONENTS, EXPONENTS, EXPONENTS),
    st.floats(-1.0, 1.0),
    st.tuples(st.floats(0.01, 3.0), st.floats(0.01, 3.0)),
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=8),
)
def test_a_maximum_lies_within_its_value_and_moves_as_its_slopes_say(
    e: tuple[float, float, float, float],
    ratio: float,
    width: tuple[float, float],
    inside: list[tuple[float, float]],
) -> None:
    low, high = np.array([[2.0, 5.0]]), np.array([[2.0 * math.exp(width[0]), 5.0 * math.exp(width[1])]])
    centre = centres(low, high)
    x, y = Slope.inputs(low, centre, high)

    def larger(x: object, y: object) -> object:
        return arithmetic.maximum(x ** e[0] * y ** e[1], math.exp(ratio) * (x ** e[2] * y ** e[3] + 0.01 * y))

    found = larger(x, y)
    at_centre = larger(*map(float, centre[0]))
    for u in inside:
        p = [float(a * (b / a) ** s) for a, b, s in zip(low[0], high[0], u, strict=True)]
        value = larger(*p)
        assert found.value.lo[0] <= value <= found.value.hi[0]
        moves = [math.log(v / c) for v, c in zip(p, centre[0], strict=True)]
        most = sum(max(s.lo[0] * m, s.hi[0] * m) for s, m in zip(_ends(found), moves, strict=True))
        assert math.log(value / at_centre) <= most + 1e-9


def _ends(found: Slope) -> list[object]:
    """Its slopes, each as arrays of boxes."""
    return [type(s)(np.atleast_1d(s.lo), np.atleast_1d(s.hi)) for s in found.slopes]


def test_what_both_have_in_common_does_not_hide_which_is_larger() -> None:
    """Of 2 x y and x y + 1 for x and y from 2 to 20 the first is the larger at each design, and the ends overlap."""
    low, high = np.array([[2.0, 2.0]]), np.array([[20.0, 20.0]])
    x, y = Slope.inputs(low, centres(low, high), high)
    found = arithmetic.maximum(2.0 * x * y, 1.5 * x * y)
    assert [(float(np.max(s.lo)), float(np.min(s.hi))) for s in found.slopes] == [(1.0, 1.0), (1.0, 1.0)]


def test_an_objective_that_does_not_move_along_one_number_is_proved() -> None:
    """Efficiency is that of a flop and a byte, however many; a throttle that does not bind costs nothing."""
    source = {
        "model": "roofline",
        "machine": "gtx-titan-choi2014",
        "given": {"intensity": 2.34},
        "decide": {"throttle": {"min": 1, "max": 40}, "flops": {"min": 1e10, "max": 1e14}},
        "uncertain": {
            "machine.energy_per_byte": {"lognormal": [2.67e-10, 1.3]},
            "intensity": {"loguniform": [0.78, 7.02]},
            "machine.usable_power": {"uniform": [131.2, 196.8]},
            "sampling": {"samples": 12, "seed": 75, "method": "random"},
        },
        "objective": {"maximize": "efficiency", "measure": "mean"},
        "limits": {"energy": {"max": 114.6}},
    }
    found = dse.solve(source)
    fixed = dse.solve(
        {**source, "decide": {"throttle": {"min": 1, "max": 40}}, "given": {"intensity": 2.34, "flops": 2e10}}
    )
    assert found.status is fixed.status is Status.OPTIMAL
    assert abs(found.objective - fixed.objective) <= 1e-6 * fixed.objective
