"""Axes over a level of a measure, over a probability and over a spread: each point is its own question, asked alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
from plain_roofline import PRICE

import dse
import scenarios
from scenarios import ScenarioError
from scenarios.uncertainty.drawing import draw

QUESTION: dict[str, Any] = {
    **PRICE,
    "objective": {"minimize": "price", "cvar": 0.9},
    "uncertain": {
        "rise": {"lognormal": [1.0, 1.5]},
        "fall": {"normal": [2.0, 0.2]},
        "sampling": {"samples": 128},
    },
}


def over(path: str, values: list[float], **more: Any) -> dict[str, Any]:
    return {**QUESTION, "sweep": {"along": {"path": path, "values": values}}, **more}


def test_along_a_cvar_level_each_point_is_the_question_of_that_level():
    swept = dse.sweep(over("objective.cvar", [0.0, 0.5, 0.9]), progress=False)
    mean = dse.solve({**QUESTION, "objective": {"minimize": "price", "measure": "mean"}})
    assert swept["objective"].values[0] == pytest.approx(mean.objective, rel=1e-9)
    for k, level in enumerate((0.5, 0.9), 1):
        alone = dse.solve({**QUESTION, "objective": {"minimize": "price", "cvar": level}})
        assert swept["objective"].values[k] == pytest.approx(alone.objective, rel=1e-9)
    assert (np.diff(swept["objective"].values) > 0).all()


def test_along_a_quantile_level_and_a_measure_of_its_own():
    goal = {"minimize": "enough", "measures": {"enough": {"of": "price", "quantile": 0.9}}}
    swept = dse.sweep(over("objective.measures.enough.quantile", [0.5, 0.8], objective=goal), progress=False)
    for k, level in enumerate((0.5, 0.8)):
        alone = dse.solve({**QUESTION, "objective": {"minimize": "price", "quantile": level}})
        assert swept["objective"].values[k] == pytest.approx(alone.objective, rel=1e-9)


@pytest.mark.parametrize(
    ("name", "kind", "values"), [("rise", "lognormal", [1.1, 2.0]), ("fall", "normal", [0.1, 0.3])]
)
def test_along_a_spread_each_point_has_the_same_random_numbers(name: str, kind: str, values: list[float]):
    asked = over(f"uncertain.{name}.spread", values)
    swept = dse.sweep(asked, progress=False)
    middle = QUESTION["uncertain"][name][kind][0]
    for k, value in enumerate(values):
        uncertain = {**QUESTION["uncertain"], name: {kind: [middle, value]}}
        alone = dse.solve({**QUESTION, "uncertain": uncertain})
        assert swept["objective"].values[k] == pytest.approx(alone.objective, rel=1e-9)
    grid = scenarios.grid(scenarios.load(asked))
    drawn = [draw(grid.question((k,)).uncertain, 64) for k in range(2)]
    # the same uniform numbers behind both: what is asked of the other number is the same, and worlds keep their order
    other = {"rise": "fall", "fall": "rise"}[name]
    np.testing.assert_array_equal(drawn[0][other], drawn[1][other])
    np.testing.assert_array_equal(np.argsort(drawn[0][name]), np.argsort(drawn[1][name]))


def test_of_three_axes_at_once_all_hold():
    sweep = {
        "tail": {"path": "objective.cvar", "values": [0.5, 0.9]},
        "wide": {"path": "uncertain.rise.spread", "values": [1.1, 2.0]},
        "even": {"path": "uncertain.fall.spread", "values": [0.1, 0.3]},
    }
    swept = dse.sweep({**QUESTION, "sweep": sweep}, progress=False)
    uncertain = {**QUESTION["uncertain"], "rise": {"lognormal": [1.0, 2.0]}, "fall": {"normal": [2.0, 0.3]}}
    alone = dse.solve({**QUESTION, "uncertain": uncertain, "objective": {"minimize": "price", "cvar": 0.5}})
    assert float(swept["objective"].sel(tail=0.5, wide=2.0, even=0.3)) == pytest.approx(alone.objective)


BAD = [
    ("objective.cvr", [0.5], "sweep.along.path", "is not a level of a measure"),
    ("objective.quantile", [0.5], "sweep.along.path", "objective has no quantile to sweep"),
    ("objective.measures.one.cvar", [0.5], "sweep.along.path", "objective.measures.one has no cvar"),
    ("objective.cvar", [0.5, 1.0], "sweep.along.values[1]", "1 is not a cvar"),
    ("uncertain.rise", [1.5], "sweep.along.path", "is not a spread of a distribution"),
    ("uncertain.rice.spread", [1.5], "sweep.along.path", 'no uncertain number "rice"'),
    ("uncertain.rise.spread", [1.5, 1.0], "sweep.along.values[1]", "outside its domain"),
    ("uncertain.fall.spread", [0.2, 1.0], "sweep.along", "outside its domain"),
]


@pytest.mark.parametrize(("path", "values", "key", "wrong"), BAD)
def test_mistakes_are_told_by_their_key(path: str, values: list[float], key: str, wrong: str):
    with pytest.raises(ScenarioError) as told:
        dse.sweep(over(path, values), progress=False)
    (problem,) = told.value.problems
    assert problem.key == key
    assert wrong in problem.wrong


def test_what_is_to_be_written_in_place_of_a_wrong_path_is_there():
    with pytest.raises(ScenarioError) as told:
        dse.sweep(over("uncertain.sampling.samples", [10]), progress=False)
    (problem,) = told.value.problems
    assert "write uncertain.rise.spread" in problem.right


def test_a_spread_is_not_swept_where_each_world_is_decided_by_itself():
    with pytest.raises(ScenarioError, match="each sample is decided by itself"):
        dse.sweep(over("uncertain.rise.spread", [1.5], objective={"minimize": "price"}), progress=False)


def test_the_audit_judges_measures_limits_on_them_and_leaves_cases_that_differ(tmp_path: Path):
    """A regime that differs between worlds has no mean; a stored measure is worked out again by its definition."""
    swept = dse.sweep("roofline_energy_by_spread_sweep", progress=False)
    assert json.loads(swept.attrs["audit"])["passed"]
    goal = {
        "minimize": "enough",
        "measures": {"enough": {"of": "price", "quantile": 0.9}, "paid": {"of": "price", "measure": "mean"}},
    }
    asked = {
        **QUESTION,
        "decide": {"x": {"values": [0.8, 1.2, 1.6, 2.0]}},
        "objective": goal,
        "sweep": {"most": {"path": "limits.paid.max", "values": [3.0, 4.0]}},
    }
    store = tmp_path / "s.zarr"
    dse.sweep(asked, store, progress=False)
    assert dse.verify(store).passed
    group = zarr.open_group(store)
    group["paid"][...] = group["paid"][...] * 1.01
    assert not dse.verify(store).passed
