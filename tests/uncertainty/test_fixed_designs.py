"""Designs that come from elsewhere, set beside the best of each sample: what they break, and what is no design."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
from plain_roofline import PRICE, TWO_UNCERTAIN

import dse
from scenarios import ScenarioError

LATER: dict[str, Any] = {
    **PRICE,
    "objective": {"minimize": "price"},
    "uncertain": {**TWO_UNCERTAIN, "sampling": {"samples": 16}},
}


def deciding(**x: Any) -> dict[str, Any]:
    return {**LATER, "decide": {"x": x if "values" in x else {"min": 0.01, "max": 9, **x}}}


def beside(asked: Any, **given: Any) -> Any:
    return dse.uncertainty(asked, workers=1, progress=False, **given)


@pytest.mark.parametrize(
    ("bounds", "x"),
    [
        ({"max": 1.0}, 1.5),
        ({"min": 2.0}, 1.5),
        ({"min": 1, "max": 4, "integer": True}, 5),
        ({"values": [1, 2, 3], "max": 2}, 3),
    ],
)
def test_a_bound_is_a_limit_that_a_design_may_break(bounds: dict[str, Any], x: float) -> None:
    """The design may be better than the best that keeps the bound: that is no loss of 0 %."""
    found = beside(deciding(**bounds), design={"x": x})
    assert (found.broken.count, found.broken.of) == (16, 16)
    assert [(s.name.removesuffix(".min"), s.count) for s in found.broken_by] == [("x", 16)]
    assert found.regret is None
    assert re.search("samples in which it breaks a limit +100 %", str(found))


def test_at_its_bound_a_design_holds() -> None:
    """What a search leaves beyond a bound is within the slack of limits."""
    found = beside(deciding(max=1.0), design={"x": 1.0 + 1e-9})
    assert found.broken.count == 0
    assert found.regret.worlds == 16


@pytest.mark.parametrize(
    ("decided", "design", "told"),
    [
        ({"min": 1, "integer": True}, {"x": 1.5}, "1.5 is not a whole number\n    write 1 or 2"),
        ({"values": [1, 2, 4]}, {"x": 3}, "3 is not one of its values\n    write 2 or 4"),
        ({"values": [1, 2, 4]}, {"x": 8}, "8 is not one of its values\n    write 4"),
        ({}, {"x": math.nan}, "nan is not a finite number"),
        ({}, {"x": math.inf}, "inf is not a finite number"),
        ({}, {"x": -1.0}, "-1 is negative"),
        ({}, {"x": "much"}, "'much' is not one number"),
        ({}, {"x": 1.0, "y": 2.0}, 'a value of "y", which is not decided\n    there are: x'),
        ({}, {1: 2.0, "x": 1.0}, "a value of 1, which is not decided"),
        ({}, {}, "the design has no value of x"),
        ({}, "answer.json", '"answer.json" is no design'),
    ],
)
def test_what_cannot_be_decided_is_refused(decided: dict[str, Any], design: Any, told: str) -> None:
    for ask in (beside, dse.what_matters):
        with pytest.raises(ScenarioError) as problem:
            ask(deciding(**decided), design=design)
        assert told in str(problem.value)


def test_a_name_that_is_not_to_be_chosen_is_refused() -> None:
    with pytest.raises(ScenarioError) as problem:
        beside("roofline_titan_or_arndale_unknown_intensity", samples=8, design={"machine": "gtx-titan"})
    assert "machine cannot be \"gtx-titan\"\n    did you mean 'gtx-titan-choi2014'" in str(problem.value)


def test_a_design_is_read_as_a_file_is_and_rounding_is_no_other_value() -> None:
    nbody = {
        "model": "nbody",
        "machine": "jaketown",
        "given": {"bodies": 1e6, "flops_per_pair": 20},
        "decide": {"processors": {"integer": True}, "memory": {"values": ["1 MB", "2 MB"]}},
        "objective": {"minimize": "energy"},
        "uncertain": {"bodies": {"uniform": [0.9e6, 1.1e6]}, "sampling": {"samples": 8}},
    }
    found = beside(nbody, design={"processors": 99.999999999999, "memory": "1 MB"})
    words = float(dse.solve({k: v for k, v in nbody.items() if k != "uncertain"}).variables["memory"])
    assert found.fixed.design == {"processors": 100.0, "memory": words}


def test_halvings_of_a_design_are_limited_and_lost() -> None:
    """Two halvings where one would do: an objective and a limit that belong to the design alone."""
    asked = {
        **LATER,
        "decide": {"machine.energy_per_flop": {"max_halvings": 4}},
        "given": {**LATER["given"], "x": 1.0},
        "objective": {"minimize": "halvings"},
        "limits": {"energy": {"max": "21 J"}},
        "uncertain": {"machine.constant_power": {"uniform": ["10 W", "11 W"]}, "sampling": {"samples": 8}},
    }
    # 10 W and 1 J of bytes leave 10 J to flops less what the power exceeds 10 W
    lost = beside(asked, design={"machine.energy_per_flop": "2.5 pJ/flop"})
    assert lost.broken.count == 0
    assert lost.regret.absolute.value == pytest.approx(
        2.0 - float(lost.samples["objective"].mean()), rel=1e-6
    )
    within = {**asked, "limits": {**asked["limits"], "halvings": {"max": 1}}}
    broken = beside(within, design={"machine.energy_per_flop": "2.5 pJ/flop"})
    assert [(s.name, s.count) for s in broken.broken_by] == [("halvings", 8)]


@pytest.mark.parametrize(
    ("samples", "told"),
    [
        (0, "samples: 0 is not possible\n    write a whole number from 1"),
        (-3, "samples: -3 is not possible"),
        (1.5, "samples: 1.5 is not a whole number"),
        ("8", "samples: this is not a number"),
    ],
)
def test_a_number_of_samples_is_a_count(samples: Any, told: str) -> None:
    with pytest.raises(ScenarioError) as problem:
        beside(LATER, samples=samples)
    assert told in str(problem.value)
    with pytest.raises(ScenarioError, match="indices: "):
        dse.what_matters(LATER, rows=samples)
