"""How much the next best design loses: told where every design was tried, over choices too."""

import itertools
import json
from typing import Any

import numpy as np
import pytest

import dse
from results.export import answer_files
from results.export.jsonable import to_json
from solvers import designs, enumeration

NBODY: dict[str, Any] = {
    "model": "nbody",
    "machine": "balanced",
    "given": {"bodies": 96_000, "flops_per_pair": 10},
    "decide": {
        "processors": {"integer": True, "max": 50},
        "memory": {"values": [2000.0, 3000.0, 4000.0, 10_000.0]},
    },
    "objective": {"minimize": "energy"},
    "limits": {"time": {"max": "5 s"}},
}


def levels(source: dict[str, Any], name: str = "energy") -> list[float]:
    """Return the objectives of all designs, each evaluated by itself, least first, equal ones once."""
    found: list[float] = []
    fixed = {k: v for k, v in source.items() if k != "decide"}
    for p, m in itertools.product(range(1, 51), source["decide"]["memory"]["values"]):
        told = dse.solve(fixed | {"given": source["given"] | {"processors": p, "memory": m}})
        if told.status == "evaluated":
            found.append(told.metrics[name])
    distinct: list[float] = []
    for value in sorted(found):
        if not distinct or value > distinct[-1] * (1 + 1e-9):
            distinct.append(value)
    return distinct


def test_the_next_best_is_the_second_of_all_objectives() -> None:
    source = NBODY | {"decide": NBODY["decide"] | {"memory": {"values": [3000.0, 4000.0]}}}
    found = dse.solve(source)
    assert found.next_best is not None
    assert [found.objective, found.next_best.objective] == pytest.approx(levels(source)[:2], rel=1e-12)
    again = dse.solve(NBODY | {"decide": {}, "given": NBODY["given"] | dict(found.next_best.variables)})
    assert again.metrics["energy"] == found.next_best.objective
    text = str(found)
    more = 100 * (found.next_best.objective / (found.objective or 1) - 1)
    assert f"{more:.3g} % more: processors" in " ".join(text.split())


def test_a_single_design_has_no_next_best() -> None:
    found = dse.solve(NBODY | {"decide": {"processors": {"values": [50]}, "memory": {"values": [4000.0]}}})
    assert (found.status, found.next_best) == ("optimal", None)
    assert "next_best" not in to_json(found)


def test_it_goes_through_json() -> None:
    found = dse.solve(NBODY)
    again = answer_files.from_json(json.loads(json.dumps(to_json(found))))
    assert again.next_best == found.next_best


@pytest.mark.parametrize("maximize", [False, True])
def test_of_choices_it_is_the_next_over_all_of_them(maximize: bool) -> None:
    machines = ["balanced", "jaketown"]
    goal = {"maximize": "efficiency"} if maximize else {"minimize": "energy"}
    source = {k: v for k, v in NBODY.items() if k != "machine"} | {"objective": goal, "limits": {}}
    each = [dse.solve(source | {"machine": m}) for m in machines]
    found = dse.solve(source | {"decide": source["decide"] | {"machine": {"values": machines}}})
    sign = -1 if maximize else 1
    every = [v for s in each for v in (s.objective, s.next_best and s.next_best.objective) if v is not None]
    ordered = sorted(every, key=lambda v: sign * v)
    assert found.next_best is not None
    assert [found.objective, found.next_best.objective] == ordered[:2]
    assert found.next_best.variables["machine"] in machines


@pytest.mark.parametrize("maximize", [False, True])
def test_none_of_a_large_list_is_left_out(maximize: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where intervals exclude designs, the second best is still among those left."""
    from scenarios import load
    from scenarios.questions import question

    goal = {"maximize": "efficiency"} if maximize else {"minimize": "energy"}
    memory = {"values": list(np.linspace(2e3, 1e4, 40))}
    decide = {"processors": {"integer": True, "max": 400}, "memory": memory}
    asked = question(load(NBODY | {"objective": goal, "decide": decide}))
    whole = enumeration.optimum(asked)
    monkeypatch.setattr(designs, "OUTRIGHT", 1000)
    pruned = enumeration.optimum(asked)
    assert pruned.certificate != whole.certificate
    assert whole.next_best is not None
    assert pruned.next_best is not None
    assert pruned.bound == pytest.approx(whole.bound, rel=1e-12)
    assert pruned.next_best.objective == pytest.approx(whole.next_best.objective, rel=1e-12)
