"""What is cut off a box never held a design; what is granted to a box is what its designs reach."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from method_questions import FFT, NBODY, fft, nbody, question

from formulations.arithmetics import enclosures
from formulations.tolerances import HOLDS
from scenarios import load
from scenarios.question import Decision, Question
from scenarios.questions import question as asked_of
from solvers import beyond, boxes

SHARES = st.floats(0, 1)
LOSSES = {
    "model": "nbody",
    "machine": "balanced",
    "given": {"bodies": 1e5, "flops_per_pair": 10},
    "decide": {"processors": {"min": 2, "max": 1e4}, "memory": {"min": 100, "max": 1e5}},
    "define": {"loss": "energy / 100 J - 1e6 / processors - 2 * log(memory / 1 word)"},
    "limits": {"time": {"max": "3 s"}},
    "objective": {"minimize": "loss"},
}
"""What is minimised is negative in some boxes, positive in others, and both in the rest."""
FREE = dict.fromkeys(("time_per_message", "energy_per_message", "leakage_power"), 0.0)
QUESTIONS = {
    "losses": asked_of(load(LOSSES)),
    "deadline": nbody(time=(None, 0.5)),
    "caps": nbody("time", power=(None, 800.0), power_per_processor=(None, 0.5)),
    "at least": nbody("power", efficiency=(2.2e9, None), performance=(1e10, None)),
    "zero costs": nbody("energy_delay", machine=NBODY | FREE, energy=(None, 60.0)),
    "logarithms": fft("time", p=Decision("processors"), power=(None, 5000.0), energy=(None, 0.1)),
    "cheap messages": question(
        "fft",
        {"points": 2.0**20, "all_to_all": "naive"},
        FFT | FREE,
        (Decision("processors"),),
        "energy",
        power=(None, 5e3),
    ),
}


@pytest.mark.parametrize("name", QUESTIONS)
@given(data=st.data())
@settings(max_examples=20, deadline=None)
def test_no_design_is_ever_cut_off(name: str, data: st.DataObject) -> None:
    asked: Question = QUESTIONS[name]
    where = boxes.space(asked)
    low, high = boxes.tighten(asked, where) or (where.low, where.high)
    sides = np.sort(np.array([[data.draw(SHARES), data.draw(SHARES)] for _ in where.names]), axis=1)
    a, b = (low * (high / low) ** sides[:, i] for i in (0, 1))
    x = np.clip(a * (b / a) ** np.array([data.draw(SHARES) for _ in where.names]), a, b)
    worst, goal = boxes.measured(asked, x[None])
    e = boxes.enclose(asked, a[None], b[None])
    assert e.low[-1, 0] <= goal[0] <= e.high[-1, 0]
    assert np.all(e.low[:-1, 0] <= worst[0])
    if worst[0] > 1:
        return
    target = float(goal[0]) + 1e-12 * abs(float(goal[0]))
    cut_low, cut_high = enclosures.contract(e, a[None], b[None], boxes.cutoffs(asked, e, target))
    assert np.all(cut_low[0] <= x)
    assert np.all(x <= cut_high[0])


@pytest.mark.parametrize("name", QUESTIONS)
def test_tightening_keeps_every_design(name: str) -> None:
    asked = QUESTIONS[name]
    where = boxes.space(asked)
    generator = np.random.default_rng(1)
    x = np.clip(10 ** generator.uniform(0, 8, (200_000, len(where.names))), where.low, where.high)
    worst, _ = boxes.measured(asked, x)
    designs = x[worst <= 1 + HOLDS]
    kept = boxes.tighten(asked, where)
    assert kept is not None
    assert len(designs) > 100
    assert np.all(kept[0] <= designs)
    assert np.all(designs <= kept[1])


def test_whole_and_listed_values_snap_inwards() -> None:
    where = boxes.space(
        nbody(
            p=Decision("processors", minimum=2.2, maximum=9.7, integer=True),
            memory=Decision("memory", values=(1000.0, 2000.0, 4000.0)),
        )
    )
    assert where.low.tolist() == [3.0, 1000.0]
    assert where.high.tolist() == [9.0, 4000.0]
    low, high = where.snap(np.array([[3.1, 1001.0]]), np.array([[8.9, 3999.0]]))
    assert low.tolist() == [[4.0, 2000.0]]
    assert high.tolist() == [[8.0, 2000.0]]
    assert where.point(np.array([[4.4, 2900.0]])).tolist() == [[4.0, 4000.0]]


def test_domain_ends_are_told_from_the_users() -> None:
    where = boxes.space(nbody(p=Decision("processors", maximum=100.0)))
    assert where.names == ("processors", "memory")
    # one processor and one word are mathematical, the largest memory is only there to have a box
    assert where.ends == ((False, False), (False, True))


def test_a_side_of_one_value_may_lie_outside_of_a_space() -> None:
    """A whole number that limits leave at one value, beyond the near ends, is no part of what was searched near by."""
    ends = np.array([1.0, 1.0]), np.array([10.0, 10.0])
    near = boxes.Space(("a", "b"), *ends, np.zeros(2, bool), (None, None), ((False, True),) * 2)
    low, high = np.array([20.0, 2.0]), np.array([20.0, 30.0])
    ((lo, hi),) = beyond.outside(near, low, high)
    assert (lo == low).all()
    assert (hi == high).all()
    assert not list(beyond.outside(near, np.array([1.0, 2.0]), np.array([10.0, 2.0])))
    every = list(beyond.outside(near, np.array([0.5, 0.5]), np.array([20.0, 20.0])))
    assert len(every) == 4
