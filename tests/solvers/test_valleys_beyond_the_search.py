"""Valleys: a local optimum within the first box of a search (1e-30 to 1e30), and a deeper one beyond it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dse
from dse.models import arithmetic
from dse.models.model import Model
from dse.quantities import Quantity
from formulations import evaluation
from results.dataset import STATUS_CODES
from results.solution import Status
from scenarios.question import Decision, Limit, Objective, Question
from solvers.answer import answer


def own(equations: Any, names: tuple[str, ...] = ("x",), *, whole: bool = False) -> Question:
    """A question of a model of our own: least f, where c is at most 1."""
    inputs = tuple(
        Quantity(n, n, "", n, minimum=1.0 if whole else 0.0, ceiling=1e15 if whole else 1e30) for n in names
    )
    model = Model(
        "own", "", "", (), inputs, (Quantity("f", "f", "", "f"), Quantity("c", "c", "", "c")), (), equations
    )
    decide = tuple(Decision(n, integer=whole) for n in names)
    return Question(model, {}, decide, (Objective("f"),), (Limit("c", None, 1.0),))


def scanned(question: Question, low: float, high: float) -> float:
    """The least objective of a fine logarithmic grid of one variable, limits held."""
    x = np.geomspace(low, high, 400_001)
    with np.errstate(all="ignore"):
        at = evaluation.metrics(question, {"x": x})
    return float(np.min(np.where(at["c"] <= 1 + 1e-9, at["f"], np.inf)))


def bowl(x: Any, k: float, power: int) -> Any:
    """5 near 1, and 2e-5 near k^power * 1e5^power: the second valley lies beyond any end of the first box."""
    x = x**power
    return (x + 1 / x + 3) / (1 + x**2 / k) + x / (k * 1e10)


VALLEYS = {
    "ratio of sums": lambda k, s: lambda g: {"f": bowl(g.x, k, s), "c": 1.0 / (1 + g.x)},
    "logarithm": lambda k, s: lambda g: {
        "f": bowl(g.x, k, s) + 1e-5 * arithmetic.log(2 + 1 / (g.x**s)), "c": 1.0 / (1 + g.x)
    },
    "island of designs": lambda k, s: lambda g: {
        "f": 1e-4 + bowl(g.x, k, s),
        "c": 0.49 * (g.x**s + 1 / g.x**s) / (1 + g.x ** (2 * s) / k) + 1e-3 * arithmetic.log(1 + 1 / g.x**s),
    },
    "no design near by": lambda k, s: lambda g: {
        "f": bowl(g.x, k, s), "c": 1e3 / (1 + g.x**s / k) + 1e-3 * arithmetic.exp(-g.x)
    },
}  # fmt: skip


@pytest.mark.parametrize("side", [1, -1], ids=["above", "below"])
@pytest.mark.parametrize("k", [1e32, 1e38, 1e44])
@pytest.mark.parametrize("name", VALLEYS)
def test_a_deeper_valley_beyond_the_box_is_found(name: str, k: float, side: int) -> None:
    question = own(VALLEYS[name](k, side))
    found = answer(question)
    ends = sorted(((1e-20) ** side, (k * 1e9) ** side))
    assert found.status is Status.OPTIMAL, found
    assert found.objective == pytest.approx(scanned(question, *ends), rel=1e-6)
    assert found.bound is not None
    assert found.bound <= found.objective * (1 + 1e-9)
    assert abs(math.log10(found.variables["x"])) > 31


def test_two_numbers_are_searched_beyond_their_boxes() -> None:
    k = 1e40
    bare = own(lambda g: {"f": (g.y + 1 / g.y + 3) * bowl(g.x, k, 1), "c": 1.0 / (1 + g.x)}, ("x", "y"))
    found = answer(bare)
    # what depends on y is 5 at its least, and the bowl 2e-5
    assert found.status is Status.OPTIMAL
    assert found.objective == pytest.approx(1e-4, rel=1e-6)


def test_what_floats_hide_from_a_solver_is_not_called_optimal() -> None:
    """SCIP takes 1e20 for infinite: of the valley at 2e45 it said that there is none."""
    k = 1e40
    hard = own(
        lambda g: {
            "f": (g.x + 1 / g.x + 3) * (g.y + 1 / g.y + 3) / (1 + g.x**2 / k)
            + g.x / (k * 1e10)
            + 1e-5 * arithmetic.exp(-g.x),
            "c": 1.0 / (1 + g.x),
        },
        ("x", "y"),
    )
    found = answer(hard)
    # the share of exp(-x) in f there is far below what floats leave of 1 minus the other share
    assert found.status is Status.OPTIMAL
    least = 2 * math.sqrt(5) * 1e-5
    assert found.bound is not None
    assert found.bound <= least * (1 + 1e-9)
    assert found.objective == pytest.approx(least, rel=1e-6)


def test_whole_numbers_beyond_their_box_count() -> None:
    """The first box of this count ends at 1e15; at 8e16 there are designs that cost less."""
    question = own(
        lambda g: {
            "f": 1 + arithmetic.log(1 + g.x) + 1e3 / (1 + (g.x / 1e16) ** 4),
            "c": 0.5 * arithmetic.maximum(g.x / 1e18, 2 / g.x),
        },
        whole=True,
    )
    found = answer(question)
    x = np.geomspace(1, 1e18, 400_001)
    with np.errstate(all="ignore"):
        least = evaluation.metrics(question, {"x": x})["f"].min()
    assert found.status is Status.OPTIMAL
    assert found.objective == pytest.approx(float(least), rel=1e-6)
    assert found.variables["x"] > 1e16


@pytest.mark.parametrize("decision", [Decision("x"), Decision("x", minimum=1e-3), Decision("x", maximum=1e3)])
def test_an_end_of_the_user_ends_the_search(decision: Decision) -> None:
    asked = own(VALLEYS["logarithm"](1e38, 1))
    found = answer(replace(asked, decide=(decision,)))
    near = decision.maximum is not None
    assert found.status is Status.OPTIMAL
    assert found.objective == pytest.approx(5 if near else 2.7e-5, rel=1e-2)


@pytest.mark.parametrize(
    "more", ["", " + 1e-5 * log(2 + 1 / (memory / 1 word))"], ids=["ratios of sums", "one number"]
)
def test_many_points_at_once_find_the_deeper_valley(more: str) -> None:
    x = "(memory / 1 word)"
    swept = dse.sweep(
        dse.load(
            {
                "model": "nbody",
                "machine": "balanced",
                "waive": ["replication"],
                "given": {"bodies": 1e6, "flops_per_pair": 20, "processors": 1, "rise": 1.0},
                "decide": {"memory": {}},
                "define": {"f": f"(rise * {x} + 1 / {x} + 3) / (1 + {x} * {x} / 1e28) + {x} / 1e38{more}"},
                "objective": {"minimize": "f"},
                "sweep": {
                    "r": {"path": "given.rise", "start": 0.5, "stop": 2.0, "num": 24, "spacing": "log"}
                },
            }
        ),
        workers=1,
    )
    assert "each point" not in swept.attrs["method"]
    v = np.geomspace(1e-10, 1e40, 200_001)[:, None]
    f = (swept.r.values * v + 1 / v + 3) / (1 + v * v / 1e28) + v / 1e38
    f += 1e-5 * np.log(2 + 1 / v) if more else 0.0
    assert (swept.status == STATUS_CODES[Status.OPTIMAL]).all()
    assert swept.f.values == pytest.approx(f.min(axis=0), rel=1e-6)


def test_a_range_has_no_end_where_only_the_search_has_one():
    """Nothing depends on the energy of an operation: it may be anything, and no end of a search is told."""
    asked = {
        "model": "nbody",
        "machine": "balanced",
        "given": {"bodies": 1e5, "flops_per_pair": 10},
        "decide": {"processors": {"max": 4096}, "memory": {}, "machine.energy_per_flop": {}},
        "objective": {"minimize": "time"},
    }
    found = dse.solve(dse.load(asked))
    assert found.ranges["machine.energy_per_flop"] == (0.0, math.inf)
    assert "any value" in str(found)
