"""[uncertain]: what it says, what is refused, and worlds drawn from it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from uncertain_questions import BODIES, asked

import scenarios
from scenarios.questions import grid, question
from scenarios.uncertain import at_samples, box, draw, nominal, uncertain_of
from scenarios.uncertainty import uncertain_words
from solvers.robust.decide_now import answer_now


def uncertain(spreads: dict[str, Any], **sampling: Any) -> Any:
    return uncertain_of(scenarios.load(asked({**spreads, "sampling": sampling})))


def test_distributions_have_the_moments_that_their_definitions_say() -> None:
    """Means and quantiles in closed form; 2^16 Sobol points integrate smooth functions to 1e-4."""
    found = uncertain(
        {
            "bodies": {"normal": [1e6, 1e5]},
            "flops_per_pair": {"triangular": [10, 20, 40]},
            "machine.time_per_flop": {"lognormal": ["2 ps/flop", 1.5]},
            "machine.energy_per_flop": {"loguniform": ["1 pJ/flop", "4 pJ/flop"]},
            "machine.energy_per_word": {"beta": [2, 3, "1 pJ/word", "6 pJ/word"]},
            "machine.time_per_word": {"values": ["1 ns/word", "3 ns/word"], "weights": [3, 1]},
        }
    )
    worlds = draw(found, 2**16)
    means = {
        "bodies": 1e6,
        "flops_per_pair": 70 / 3,
        "machine.time_per_flop": 2e-12 * math.exp(math.log(1.5) ** 2 / 2),
        "machine.energy_per_flop": 3e-12 / math.log(4),
        "machine.energy_per_word": 1e-12 + 5e-12 * 2 / 5,
        "machine.time_per_word": 1.5e-9,
    }
    for path, mean in means.items():
        assert worlds[path].mean() == pytest.approx(mean, rel=1e-4), path
        assert found.marginals[path].mean() == pytest.approx(mean, rel=1e-12), path
    assert worlds["bodies"].std() == pytest.approx(1e5, rel=1e-3)
    assert np.median(worlds["machine.time_per_flop"]) == pytest.approx(2e-12, rel=1e-4)
    assert np.exp(np.log(worlds["machine.time_per_flop"]).std()) == pytest.approx(1.5, rel=1e-3)
    assert box(found)["machine.energy_per_word"] == pytest.approx((1e-12, 6e-12))
    assert box(found)["bodies"][1] == math.inf


@pytest.mark.parametrize("method", ["sobol", "random"])
def test_more_worlds_continue_the_same_sequence(method: str) -> None:
    found = uncertain({"bodies": BODIES, "flops_per_pair": {"normal": [20, 1]}}, method=method, seed=5)
    whole, first, rest = draw(found, 96), draw(found, 32), draw(found, 64, skip=32)
    for path in whole:
        np.testing.assert_array_equal(whole[path], np.concatenate([first[path], rest[path]]))
    other = draw(found, 96, seed=6)
    assert not np.array_equal(other["bodies"], whole["bodies"])


def test_a_latin_hypercube_has_one_world_in_each_slice_and_no_continuation() -> None:
    found = uncertain({"bodies": BODIES}, method="latin")
    slices = np.floor((draw(found, 50)["bodies"] - 0.8e6) / 0.4e6 * 50)
    assert sorted(slices) == list(range(50))
    with pytest.raises(ValueError, match="cannot be continued"):
        draw(found, 50, skip=50)


def test_correlation_is_that_of_the_normal_variables_behind_the_numbers() -> None:
    """Of lognormals it is that of the logarithms; of uniforms Spearman's, 6/pi asin(r/2)."""
    r = 0.7
    names = ("machine.time_per_flop", "machine.energy_per_flop")
    found = uncertain(
        {
            "bodies": BODIES,
            names[0]: {"lognormal": ["2 ps/flop", 1.5]},
            names[1]: {"lognormal": ["2 pJ/flop", 2]},
            "flops_per_pair": {"uniform": [10, 20]},
        },
        correlation=[[*names, r], ["bodies", "flops_per_pair", -r]],
    )
    worlds = draw(found, 2**14)
    logs = np.corrcoef(*(np.log(worlds[n]) for n in names))[0, 1]
    assert logs == pytest.approx(r, abs=2e-3)
    ranks = np.corrcoef(worlds["bodies"], worlds["flops_per_pair"])[0, 1]
    assert ranks == pytest.approx(-6 / math.pi * math.asin(r / 2), abs=2e-3)
    assert abs(np.corrcoef(worlds["bodies"], worlds[names[0]])[0, 1]) < 0.01


def test_numbers_of_one_table_are_from_one_row(tmp_path: Any) -> None:
    (tmp_path / "fit.csv").write_text("T [ps/flop],E [pJ/flop]\n1,10\n2,20\n3,30\n")
    text = """
model = "nbody"
machine = "balanced"
[given]
bodies = 1e6
flops_per_pair = 20
[uncertain]
"machine.time_per_flop" = { table = "fit.csv", column = "T" }
machine.energy_per_flop = { table = "fit.csv", column = "E" }
[decide]
processors = { min = 1, max = 64 }
memory = {}
[objective]
minimize = "energy"
"""
    (tmp_path / "a.toml").write_text(text)
    asked_ = scenarios.load(tmp_path / "a.toml")
    found = uncertain_of(asked_)
    assert found is not None
    worlds = draw(found, 300)
    times, energies = (worlds[f"machine.{n}_per_flop"] for n in ("time", "energy"))
    np.testing.assert_allclose(energies, times * 10, rtol=1e-12)
    assert {round(t * 1e12) for t in times} == {1, 2, 3}
    assert "sha256:" in asked_.text
    assert scenarios.from_text(asked_.text, tables=asked_.tables.values()) == asked_


def test_worlds_become_an_axis_and_the_nominal_question_has_none() -> None:
    data = asked(
        {"bodies": BODIES, "machine.energy_per_word": {"lognormal": ["0.34 nJ/word", 1.2]}},
        objective__measure="mean",
        limits={
            "time": {"max": 10, "probability": 0.9},
            "joint": {"of": ["power"], "probability": 0.9},
            "power": {"max": 1e9},
        },
    )
    loaded = scenarios.load(data)
    whole = question(loaded)
    assert whole.measure is not None
    assert whole.measure.kind == "mean"
    assert whole.given["bodies"] == 1e6
    assert whole.joint is not None
    assert {x.name: x.probability for x in whole.limits} == {"time": 0.9, "power": None}
    assert whole.uncertain is not None
    assert whole.uncertain.sampling.method == "random"
    worlds = draw(whole.uncertain, 5)
    at = grid(at_samples(loaded, worlds))
    assert at.shape == (5,)
    assert [a.name for a in at.axes] == ["sample"]
    there = at.question((3,))
    assert there.given["bodies"] == worlds["bodies"][3]
    assert there.given["machine.energy_per_word"] == worlds["machine.energy_per_word"][3]
    assert there.uncertain is None
    assert there.measure is None
    assert {x.name: x.probability for x in there.limits} == {"time": None, "power": None}
    plain = nominal(loaded)
    assert plain.given == whole.given
    assert plain.uncertain is None


def test_a_scenario_with_uncertain_numbers_is_the_same_from_its_text() -> None:
    loaded = scenarios.load(
        asked(
            {
                "bodies": BODIES,
                "flops_per_pair": {"normal": [20, 1]},
                "sampling": {"samples": 8, "seed": 4},
            }
        )
    )
    assert scenarios.from_text(loaded.text) == loaded


def test_a_cell_that_is_no_number_is_one_mistake(tmp_path: Any) -> None:
    """It is not told a second time as a number outside the domain."""
    (tmp_path / "t.csv").write_text("n\n1e6\nmany\n")
    file = tmp_path / "asked.toml"
    file.write_text(
        'model = "nbody"\nmachine = "jaketown"\n[given]\nbodies = 1e6\nflops_per_pair = 20\n'
        '[decide]\nprocessors = { max = 64 }\nmemory = {}\n[objective]\nminimize = "energy"\n'
        '[uncertain]\nbodies = { table = "t.csv", column = "n" }\n'
    )
    with pytest.raises(scenarios.ScenarioError) as told:
        scenarios.grid(scenarios.load(file))
    (problem,) = told.value.problems
    assert problem.key == "uncertain.bodies.column, t.csv line 3"
    assert problem.wrong == '"many" is not a finite number'


def test_the_worst_of_which_none_is_left_out_is_the_mean() -> None:
    """As on an axis: the level 0 of a CVaR is every sample."""
    q = question(scenarios.load(asked({"bodies": BODIES}, objective__cvar=0)))
    assert q.measure is not None
    assert (q.measure.kind, q.measure.level) == ("cvar", 0.0)
    assert uncertain_words.measure(q.measure) == "the mean"
    with pytest.raises(scenarios.ScenarioError, match="0 is the mean"):
        scenarios.load(asked({"bodies": BODIES}, objective__cvar=1))


def test_a_level_next_to_one_is_told_apart_from_it() -> None:
    """A quantile of 0.999999 was told as one of 100 %."""
    q = question(scenarios.load(asked({"bodies": BODIES}, objective__quantile=0.999999)))
    assert q.measure is not None
    assert uncertain_words.measure(q.measure) == "the value within which 99.9999 % of samples stay"
    assert uncertain_words.named(q.measure, "energy") == "99.9999 % quantile of energy"
    assert "99.9999 % quantile of energy over" in (answer_now(q, fresh=False, brief=True).measure or "")
