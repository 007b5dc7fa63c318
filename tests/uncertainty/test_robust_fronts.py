"""Fronts of measures and limits on measures: against grids of designs judged by NumPy and SciPy alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from plain_roofline import PRICE, RUN, TWO_UNCERTAIN
from scipy.stats import qmc

import dse
from dse.commands.commandline import main
from results.solution import Solution, Status
from scenarios import ScenarioError
from scenarios.question import Question
from solvers.robust import decide_now

SAMPLES = 128
QUESTION: dict[str, Any] = {
    **PRICE,
    "define": {"price": "rise * x + fall / x", "slow": "maximum(fall / x, 0.2 * fall)"},
    "uncertain": {**TWO_UNCERTAIN, "sampling": {"samples": SAMPLES}},
}
GRID = np.exp(np.linspace(np.log(0.3), np.log(10), 4001))
STEP = 2e-3  # between neighbours of the grid no measure changes by more


def asked(first: dict[str, Any], second: dict[str, Any], **more: Any) -> dict[str, Any]:
    goal = {"minimize": ["one", "two"], "measures": {"one": first, "two": second}}
    return {**QUESTION, "objective": goal, **more}


def drawn() -> tuple[np.ndarray, np.ndarray]:
    """The two uncertain numbers, drawn again."""
    rng = np.random.default_rng(0)
    u = qmc.Sobol(2, scramble=True, rng=rng).random(SAMPLES)
    return 0.2 + 1.6 * u[:, 0], 0.8 + 2.4 * u[:, 1]


def price(x: np.ndarray) -> np.ndarray:
    rise, fall = drawn()
    return rise * x[:, None] + fall / x[:, None]


def slow(x: np.ndarray) -> np.ndarray:
    _, fall = drawn()
    return np.maximum(fall / x[:, None], 0.2 * fall[None])


def tail(values: np.ndarray, level: float) -> np.ndarray:
    """CVaR by Rockafellar and Uryasev: the least over t of t + mean(max(v - t, 0)) / (1 - level)."""
    ordered = np.sort(values, axis=-1)
    size = ordered.shape[-1]
    above = (np.cumsum(ordered[:, ::-1], axis=-1)[:, ::-1] - ordered * np.arange(size, 0, -1)) / size
    return (ordered + above / (1 - level)).min(-1)


def quantile(values: np.ndarray, level: float) -> np.ndarray:
    return np.sort(values, axis=-1)[:, int(np.ceil(level * values.shape[-1])) - 1]


def is_front(front: Any, one: np.ndarray, two: np.ndarray, within: float = 2e-6) -> None:
    """No design of the grid betters a point, none lies outside the enclosure, and ends are the grid's."""
    a, b = front["one"].values, front["two"].values
    assert len(a) >= 4
    assert (front["status"].values == 1).all()
    for p, q in zip(a, b, strict=True):
        assert not ((one < p * (1 - within)) & (two < q * (1 - within))).any()
    assert a[0] == pytest.approx(one.min(), rel=STEP)
    assert b[-1] == pytest.approx(two.min(), rel=STEP)
    at, low, high = (front[f"enclosure_{n}"].values for n in ("at", "lower", "upper"))
    for left in range(len(at) - 1):
        if at[left + 1] <= at[left]:
            continue
        middle = (at[left] + at[left + 1]) / 2
        best = two[one <= middle].min()
        assert low[left] * (1 - 1e-5) <= best <= high[left] * (1 + STEP)


def test_mean_against_the_mean_of_the_worst_tenth():
    front = dse.front(asked({"of": "price", "measure": "mean"}, {"of": "price", "cvar": 0.9}), points=4)
    is_front(front, price(GRID).mean(-1), tail(price(GRID), 0.9))
    assert json.loads(front.attrs["measures"]) == {
        "one": "mean of price",
        "two": "mean of the worst 10 % of price",
    }
    fresh = front["two_fresh"].values
    assert ((front["two_fresh_low"].values <= fresh) & (fresh <= front["two_fresh_high"].values)).all()
    np.testing.assert_allclose(fresh, front["two"].values, rtol=0.05)


def test_mean_against_a_quantile():
    front = dse.front(asked({"of": "price", "measure": "mean"}, {"of": "price", "quantile": 0.9}), points=4)
    is_front(front, price(GRID).mean(-1), quantile(price(GRID), 0.9))


def test_two_quantiles_of_two_metrics_with_a_maximum_in_one():
    front = dse.front(asked({"of": "price", "quantile": 0.95}, {"of": "slow", "quantile": 0.8}), points=4)
    is_front(front, quantile(price(GRID), 0.95), quantile(slow(GRID), 0.8))


def test_the_tail_of_a_maximum_is_limited_by_cuts():
    front = dse.front(asked({"of": "price", "cvar": 0.8}, {"of": "slow", "cvar": 0.5}), points=4)
    is_front(front, tail(price(GRID), 0.8), tail(slow(GRID), 0.5))


def test_worst_against_worst_is_of_the_box():
    """Both are at their worst where rise and fall are greatest: 1.8 x + 3.2 / x and max(3.2 / x, 0.64)."""
    front = dse.front(
        asked({"of": "price", "measure": "worst"}, {"of": "slow", "measure": "worst"}), points=5
    )
    is_front(front, 1.8 * GRID + 3.2 / GRID, np.maximum(3.2 / GRID, 0.64))
    assert (front["one_fresh"].values == 1).all()  # no world of the box is worse
    assert front.attrs["worlds"] == "all values of 2 numbers"
    assert front["one"].attrs["long_name"] == "worst of price over all values of 2 numbers"


def test_the_worst_beside_a_mean_is_that_of_the_samples():
    front = dse.front(asked({"of": "price", "measure": "mean"}, {"of": "slow", "measure": "worst"}), points=4)
    is_front(front, price(GRID).mean(-1), slow(GRID).max(-1))


def test_one_measure_for_all_objectives_names_each_of_them():
    question = {**QUESTION, "objective": {"minimize": ["price", "slow", "x"], "cvar": 0.9}}
    front = dse.front(question, points=4)
    assert json.loads(front.attrs["measures"]) == {
        "price_cvar90": "mean of the worst 10 % of price",
        "slow_cvar90": "mean of the worst 10 % of slow",
    }
    assert {"price_cvar90", "slow_cvar90", "x", "price_cvar90_fresh"} <= set(front.data_vars)


@pytest.mark.parametrize(
    ("measure", "value"),
    [({"measure": "mean"}, lambda v: v.mean(-1)), ({"cvar": 0.9}, lambda v: tail(v, 0.9))],
)
def test_a_limit_on_a_measure(measure: dict[str, Any], value: Any):
    question = {
        **QUESTION,
        "objective": {"minimize": "slow", "cvar": 0.75, "measures": {"paid": {"of": "price", **measure}}},
        "limits": {"paid": {"max": 5.5}},
    }
    found = dse.solve(question)
    within = value(price(GRID)) <= 5.5 * (1 + 1e-9)
    best = tail(slow(GRID), 0.75)[within].min()
    assert found.status == "optimal"
    assert found.objective == pytest.approx(best, rel=STEP)
    assert found.bound <= best * (1 + 1e-9)
    assert found.limits["paid"].value == pytest.approx(
        float(value(price(np.array([found.variables["x"]])))[0])
    )
    none = dse.solve({**question, "limits": {"paid": {"max": 2.0}, "slow": {"max": 9.0}}})
    assert none.status == "infeasible"
    assert none.conflicts == (("paid",),)
    assert none.conflict["paid"] == pytest.approx(value(price(GRID)).min(), rel=1e-5)


def test_a_group_that_one_number_orders_stays_left_out_beside_another_group():
    """Of slow the worst fifth fails for good, whichever tenth of price does: 1.9851 was met by worse designs only."""
    question = {
        **QUESTION,
        "objective": {
            "minimize": "one",
            "measures": {"one": {"of": "price", "quantile": 0.95}, "two": {"of": "slow", "quantile": 0.8}},
        },
    }
    for most in (1.5, 1.9, 1.9851):
        found = dse.solve({**question, "limits": {"two": {"max": most}}})
        best = quantile(price(GRID), 0.95)[quantile(slow(GRID), 0.8) <= most].min()
        assert found.bound <= best
        assert found.objective <= best * (1 + 1e-9)


def test_a_front_of_a_cvar_against_a_quantile():
    """No geometric program: each point by boxes of designs, with its bound."""
    front = dse.front(asked({"of": "price", "cvar": 0.75}, {"of": "slow", "quantile": 0.9}), points=3)
    assert front.sizes["front"] == 3
    one, two = tail(price(GRID), 0.75), quantile(slow(GRID), 0.9)
    for at in range(3):
        most = float(front["two"][at]) * (1 + 1e-9)
        assert front["one"][at] == pytest.approx(one[two <= most].min(), rel=STEP)


def test_few_designs_are_each_judged():
    listed = [0.5, 0.8, 1.0, 1.3, 1.6, 2.0, 3.0]
    question = asked({"of": "price", "measure": "mean"}, {"of": "slow", "quantile": 0.9})
    front = dse.front({**question, "decide": {"x": {"values": listed}}})
    one, two = price(np.array(listed)).mean(-1), quantile(slow(np.array(listed)), 0.9)
    best = [
        i
        for i in range(len(listed))
        if not ((one < one[i]) & (two <= two[i]) | (one <= one[i]) & (two < two[i])).any()
    ]
    assert sorted(front["x"].values) == [listed[i] for i in best]
    assert front.attrs["method"].startswith("complete")


def test_a_front_that_is_a_small_share_of_its_values_is_complete():
    """A thousandth of what is asked for, and bent away from the ends: limits hold to 1e-8 of all of it."""
    listed = [0.01, 0.6, 1.0]
    question = {
        "model": "roofline",
        "machine": "gtx-titan-choi2014",
        "given": {"flops": 1e12, "intensity": 4, "u": 1},
        "decide": {"x": {"values": listed}},
        "define": {"first": "1000 + x * u", "other": "1000 - x**2 * u"},
        "uncertain": {"u": {"uniform": [0.9, 1.1]}, "sampling": {"samples": 16, "seed": 1}},
        "objective": {
            "minimize": ["one", "two"],
            "measures": {
                "one": {"of": "first", "measure": "mean"},
                "two": {"of": "other", "measure": "worst"},
            },
        },
    }
    front = dse.front(question)
    assert sorted(front["x"].values) == listed
    assert front.attrs["method"].startswith("complete")


def test_a_front_without_a_design_names_the_conflict(tmp_path: Path):
    question = asked(
        {"of": "price", "measure": "mean"}, {"of": "slow", "cvar": 0.9}, limits={"price": {"max": 1.0}}
    )
    front = dse.front(question)
    assert front.sizes["front"] == 0
    assert "price" in json.loads(front.attrs["conflict"])


BAD: list[tuple[dict[str, Any], str, str]] = [
    ({"minimize": ["price", "slow"]}, "objective.measures", "no measure of price and slow is given"),
    (
        {"minimize": "one", "measures": {"one": {"of": "prize", "cvar": 0.9}}},
        "objective.measures.one",
        "prize",
    ),
    (
        {"minimize": "one", "measures": {"one": {"of": "price"}}},
        "objective.measures.one",
        "no measure of",
    ),
    (
        {"minimize": "one", "measures": {"one": {"cvar": 0.9}}},
        "objective.measures.one.of",
        "no metric is named",
    ),
    (
        {"minimize": "one", "measures": {"one": {"of": "price", "cvar": 0.9, "quantile": 0.5}}},
        "objective.measures.one",
        "exclude each other",
    ),
    (
        {"minimize": "one", "measures": {"one": {"of": "price", "cvar": 1.5}}},
        "objective.measures.one.cvar",
        "is not a probability",
    ),
    (
        {"minimize": "price", "measure": "mean", "measures": {"one": {"of": "slow", "cvar": 0.9}}},
        "objective.measures.one",
        "neither an objective nor limited",
    ),
    (
        {"minimize": "one", "measures": {"one": {"of": "x", "cvar": 0.9}}},
        "objective.measures.one.of",
        "decided",
    ),
    (
        {"minimize": "one", "measure": "mean", "measures": {"one": {"of": "price", "cvar": 0.9}}},
        "objective.measure",
        "one is a measure",
    ),
    ({"minimize": "one", "measures": {"one": {"off": "price"}}}, "objective.measures.one.off", "unknown key"),
]


@pytest.mark.parametrize(("goal", "key", "wrong"), BAD)
def test_mistakes_are_told_by_their_key(goal: dict[str, Any], key: str, wrong: str):
    ask = dse.front if isinstance(goal["minimize"], list) else dse.solve
    with pytest.raises(ScenarioError) as told:
        ask({**QUESTION, "objective": goal})
    problems = {p.key: p for p in told.value.problems}
    assert key in problems, problems
    assert wrong in problems[key].wrong


def test_the_command_tells_samples_and_world_apart(tmp_path: Path):
    from scenarios import load

    file = tmp_path / "front.toml"
    question = asked({"of": "price", "measure": "mean"}, {"of": "price", "cvar": 0.9})
    file.write_text(load(question).text)
    table = tmp_path / "front.csv"
    ran = CliRunner().invoke(main, ["front", str(file), "--points", "4", "-o", str(table)])
    assert ran.exit_code == 0, ran.output
    assert "one: mean of price; two: mean of the worst 10 % of price" in ran.output
    assert "certified on these samples" in ran.output
    assert "10000 fresh samples" in " ".join(ran.output.split())
    head = table.read_text().splitlines()[0]
    assert "two_fresh_low" in head


FEW = {
    **RUN,
    "given": {**RUN["given"], "load": 2.0},
    "decide": {
        n: {"min": 1, "max": m, "integer": True} for n, m in {"nodes": 6, "cards": 30, "disks": 6}.items()
    },
    "define": {"size": "(nodes + cards + disks) * load", "speed": "(10 * nodes + 1 / disks) * load"},
    "uncertain": {"load": {"values": [1, 2, 3]}, "sampling": {"samples": 3}},
    "objective": {
        "maximize": ["whole", "sure"],
        "measures": {"whole": {"of": "size", "measure": "mean"}, "sure": {"of": "speed", "quantile": 0.7}},
    },
}
"""Three samples: 70 % of them are all three."""


def test_a_quantile_that_asks_for_all_of_few_samples_has_a_whole_front():
    # with six nodes and thirty cards each disk more is more size and less speed
    found = dse.front(FEW)
    np.testing.assert_array_equal(found["disks"].values, range(6, 0, -1))
    assert (found["nodes"].values == 6).all()
    assert (found["cards"].values == 30).all()
    assert (found["status"].values == 1).all()


def test_a_point_is_not_optimal_where_the_second_question_of_its_ties_has_no_answer(
    monkeypatch: pytest.MonkeyPatch,
):
    answer_now = decide_now.answer_now

    def only_without_limits(question: Question, **options: bool) -> Solution:
        return Solution(Status.ERROR) if question.limits else answer_now(question, **options)

    monkeypatch.setattr(decide_now, "answer_now", only_without_limits)
    found = dse.front({**FEW, "decide": {n: {"values": [1, 2, 3]} for n in ("nodes", "cards", "disks")}})
    # three disks and three cards are not better for "sure" than any other cards: one of them is handed out
    dominated = found.isel(front=found["sure"].values.argmax())
    assert dominated["status"] != 1
