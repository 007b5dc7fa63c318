"""Enumeration finds the exact optimum, breaks ties by the rule, and knows when there is none."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from method_questions import FFT, POINTS, fft, nbody

import dse
from results.solution import Status
from scenarios.question import Decision
from solvers import boxes, designs, enumeration
from solvers.nonlinear import methods

POWERS = Decision("processors", values=tuple(2.0**k for k in range(21)))


def brute_force(exchange: str) -> dict[str, np.ndarray]:
    """The paper's equations for every p from 1 to n, written out again."""
    p, n, g = np.arange(1.0, POINTS + 1), POINTS, FFT
    words = n * np.log2(p) / p if exchange == "tree" else n / p
    messages = np.log2(p) if exchange == "tree" else p
    flops = n * np.log2(n) / p
    time = g["time_per_flop"] * flops + g["time_per_word"] * words + g["time_per_message"] * messages
    per_processor = (
        g["energy_per_flop"] * flops
        + g["energy_per_word"] * words
        + g["energy_per_message"] * messages
        + (g["memory_power_per_word"] * n / p + g["leakage_power"]) * time
    )
    energy = p * per_processor
    return {"time": time, "energy": energy, "power": energy / time, "energy_delay": energy * time}


def test_least_energy_over_powers_of_two() -> None:
    # reference case fft-03: exhaustive over 21 values
    found = enumeration.optimum(fft(p=POWERS))
    assert found.status is Status.OPTIMAL
    assert found.x == {"processors": 512.0}
    assert found.bound == pytest.approx(0.0690284527616, rel=1e-11)


def test_least_energy_delay_over_a_million_counts() -> None:
    # reference case fft-15: exhaustive over 1048576 values; the runner-up is 7e-8 worse
    question = fft("energy_delay")
    assert designs.grid(question).size == 1048576
    found = enumeration.optimum(question)
    assert found.x == {"processors": 1211.0}
    assert found.bound == pytest.approx(1.53402914212e-06, rel=1e-11)


@pytest.mark.parametrize(
    "limits", [{"power": (None, 1000.0)}, {"energy": (None, 0.068338)}], ids=["fft-07", "fft-11"]
)
def test_infeasible_is_said_when_no_count_meets_the_limits(limits: dict[str, tuple[None, float]]) -> None:
    assert enumeration.optimum(fft("time", **limits)).status is Status.INFEASIBLE


@given(
    st.sampled_from(["tree", "naive"]),
    st.sampled_from(["time", "energy", "power", "energy_delay"]),
    st.sampled_from(["time", "energy", "power"]),
    st.floats(1.0001, 30),
    st.booleans(),
)
@settings(max_examples=25, deadline=None)
def test_enumeration_equals_brute_force(
    exchange: str, goal: str, limited: str, room: float, maximize: bool
) -> None:
    table = brute_force(exchange)
    most = float(table[limited].min() * room)
    values = np.where(table[limited] <= most * (1 + 1e-8), table[goal], np.nan)
    best = np.nanmax(values) if maximize else np.nanmin(values)
    way = {"maximize": goal} if maximize else {"minimize": goal}
    found = enumeration.optimum(fft(exchange=exchange, **way, **{limited: (None, most)}))
    assert found.status is Status.OPTIMAL
    assert found.bound == pytest.approx(best, rel=1e-12)
    assert found.x is not None
    assert table[goal][int(found.x["processors"]) - 1] == pytest.approx(best, rel=2e-9)


def test_ties_go_to_least_time_then_to_the_smaller_quantity() -> None:
    # energy of n-body does not depend on p inside the scaling range: the fastest is the most processors
    memory = Decision("memory", values=(3881.0,))
    p = Decision("processors", values=(100.0, 200.0, 400.0))
    found = enumeration.optimum(nbody(p=p, memory=memory))
    assert found.x == {"processors": 400.0, "memory": 3881.0}
    smaller = replace(nbody(p=p, memory=memory), ties=("processors",))
    assert enumeration.optimum(smaller).x == {"processors": 100.0, "memory": 3881.0}


def test_two_variables_at_once() -> None:
    p = Decision("processors", minimum=20, maximum=400, integer=True)
    memory = Decision("memory", minimum=1000, maximum=9000, integer=True)
    question = nbody("energy_delay", p=p, memory=memory, energy=(None, 41.0))
    found = enumeration.optimum(question)
    assert found.status is Status.OPTIMAL
    count = designs.grid(question).size
    assert count is not None
    assert count <= 381 * 8001
    # more processors only help below the replication limit, where p^(1/2) M <= n
    assert found.x is not None
    assert found.x["processors"] == 400
    assert abs(found.x["memory"] - 3881) < 800


def test_what_cannot_be_enumerated_says_so() -> None:
    assert designs.grid(nbody()) is None
    assert designs.grid(fft(p=Decision("processors", choices=("a", "b")))) is None
    with pytest.raises(ValueError, match="not few whole numbers"):
        enumeration.optimum(nbody())


def test_without_an_objective_any_design_that_holds_is_feasible() -> None:
    found = enumeration.optimum(fft(None, time=(None, 2e-5)))
    assert found.status is Status.FEASIBLE
    assert found.x is not None
    assert brute_force("tree")["time"][int(found.x["processors"]) - 1] <= 2e-5
    assert math.isclose(found.x["processors"], 8595)


def test_what_limits_leave_is_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    # once for the count and the designs, once more for those that may beat what a sample reaches
    asked, tighten = [], boxes.tightened

    def counted(*values: Any, **named: Any) -> Any:
        asked.append(named.get("target", math.inf))
        return tighten(*values, **named)

    monkeypatch.setattr(boxes, "tightened", counted)
    found = methods.unstructured(fft("energy_delay"))
    assert found.x == {"processors": 1211.0}
    assert [math.isfinite(target) for target in asked] == [False, True]


def test_of_tied_designs_one_of_them_is_handed_out_whatever_a_level_lacks() -> None:
    owner, nothing = np.array([0, 0, 2, 2]), math.nan
    levels = [[nothing, nothing, nothing, 1.0], [2.0, 1.0, 0.0, 0.0]]
    # nothing is tied at the second point; where no design has a value the next level decides
    assert designs.first_of_tied(owner, 3, levels).tolist() == [1, -1, 3]


@pytest.mark.parametrize("room", [0.0, 1.0])
def test_of_many_whole_numbers_most_may_be_held_to_one_value(room: float):
    """NumPy has 64 dimensions at most, and a station of seven types has 57 whole numbers: this was an error."""
    asked = dse.load("station_cheapest_mix_in_10_kw").model_dump(exclude_none=True)
    best = dse.solve(asked)
    around = {
        n: {"min": max(v - room, 0.0) if v else 0.0, "max": v + room * (v > 0)}
        for n, v in best.variables.items()
    }
    held = dse.solve(asked | {"decide": around})
    assert (held.status, held.variables) == (best.status, best.variables)
    assert held.objective == pytest.approx(best.objective, rel=1e-12)
    out = dse.solve(asked | {"decide": around, "limits": asked["limits"] | {"power": {"max": "5 kW"}}})
    assert out.status is Status.INFEASIBLE
