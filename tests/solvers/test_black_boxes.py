"""Black boxes that have no number somewhere, or read their numbers as text: counted, told, never called optimal."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import pytest

import dse
from dse.models.model import Model, ModelLimit
from dse.quantities import Quantity
from results.solution import Status
from scenarios import ScenarioError

INPUTS = (
    Quantity("x", "x", "", "x", minimum=0, maximum=10),
    Quantity("n", "n", "", "n", minimum=1, maximum=20, whole=True),
)
DECIDE = {"x": {"min": 0.5, "max": 10}, "n": {"min": 1, "max": 12}}


FITS = ModelLimit("fits", "x <= 2", "it fits", "me")
ROOM = Quantity("room", "r", "", "room", "me", optional=True)


def registered(
    name: str,
    equations: Any,
    metrics: tuple[str, ...] = ("cost",),
    limits: tuple[ModelLimit, ...] = (),
    machine: tuple[Quantity, ...] = (),
) -> str:
    own = tuple(Quantity(m, m, "", m, minimum=-math.inf) for m in metrics)
    dse.register(
        Model(name, "t", "me", machine, limits=limits, equations=equations, metrics=own, inputs=INPUTS)
    )
    return name


def as_text(g: Any) -> dict[str, Any]:
    """A simulator that is handed its number as text."""
    return {"cost": g.x + 16 / g.x + g.n + (1.0 if f"{g.n}" == "5.0" else 31.0)}


def test_a_number_handed_over_as_text_is_found_out():
    asked = {"model": registered("as_text", as_text), "decide": DECIDE, "objective": {"minimize": "cost"}}
    found = dse.solve(asked, trials=300, seed=1)
    assert found.status is Status.FEASIBLE
    assert "writes a number that varies as text" in found.certificate
    assert found.variables["n"] == 5
    # 8 at x = 4 is the least of the first two terms
    assert 14.0 <= found.objective < 14.5


def nowhere(g: Any) -> dict[str, Any]:
    return {"cost": math.nan if float(g.n) > 0 else 1.0}


def test_a_model_that_has_a_number_nowhere_says_so():
    asked = {"model": registered("nowhere", nowhere), "decide": DECIDE, "objective": {"minimize": "cost"}}
    found = dse.solve(asked, trials=20)
    assert found.status is Status.ERROR
    assert "could not be evaluated at any of 20 designs: cost is not a number" in found.message


def ending(g: Any) -> dict[str, Any]:
    if float(g.n) == 3:
        sys.exit(3)
    return {"cost": g.n + 1j if float(g.n) == 1 else float(g.n) + 3 * (float(g.n) == 2)}


def test_one_that_ends_the_program_or_has_complex_numbers_fails_there():
    asked = {
        "model": registered("ending", ending),
        "decide": DECIDE,
        "objective": {"minimize": "cost"},
    }
    found = dse.solve(asked, trials=60, sampler="random")
    assert found.status is Status.FEASIBLE
    assert found.variables["n"] == 4
    assert "the model failed at" in found.certificate


def endless(g: Any) -> dict[str, Any]:
    x, n = float(g.x), float(g.n)
    return {"cost": x + n, "use": math.inf if n == 8 else 10 + n - 2 * x}


def test_a_design_without_a_finite_number_has_no_place_on_a_front():
    asked = {"model": registered("endless", endless, ("cost", "use")), "decide": DECIDE}
    front = dse.front(asked | {"objective": {"maximize": ["cost", "use"]}}, sampler="random", trials=150)
    assert front.sizes["front"]
    assert math.isfinite(float(front.use.max()))
    best = dse.solve(asked | {"objective": {"maximize": "use"}}, sampler="random", trials=150)
    assert float(front.use.max()) == pytest.approx(best.objective)


def test_a_search_says_that_it_settles_no_ties():
    asked = {"model": registered("endless", endless, ("cost", "use")), "decide": DECIDE}
    found = dse.solve(asked | {"objective": {"minimize": "n", "ties": ["cost"]}}, trials=20)
    assert "does not look at cost" in found.certificate


def test_a_study_names_all_samplers_that_searched_it(tmp_path: Path):
    asked = {
        "model": registered("endless", endless, ("cost", "use")),
        "decide": DECIDE,
        "objective": {"minimize": "cost"},
    }
    store = str(tmp_path / "study.db")
    first = dse.solve(asked, sampler="CMA-ES", trials=12, storage=store)
    assert "12 trials of Optuna CMA-ES, seed 0" in first.certificate
    assert "begun with" not in first.certificate
    more = dse.solve(asked, sampler="random", trials=15, seed=3, storage=store)
    assert "15 trials of Optuna random, seed 3, begun with CMA-ES, seed 0" in more.certificate


def stepped(g: Any) -> dict[str, Any]:
    """Arithmetic in what is decided, with a step in a given number."""
    return {"cost": (2.0 if g.n > 5 else 1.0) * g.x + 8.0 / (g.n * g.x)}


STEPPED: dict[str, Any] = {
    "decide": {"x": {"min": 0.1, "max": 10}},
    "objective": {"minimize": "cost"},
    "given": {"n": 2},
}


def of_step(n: int) -> float:
    """The least of c x + 8 / (n x) is 2 sqrt(8 c / n)."""
    return 2.0 * math.sqrt(8.0 * (2.0 if n > 5 else 1.0) / n)


def test_a_step_in_a_given_number_leaves_a_proof():
    found = dse.solve({"model": registered("stepped", stepped), **STEPPED})
    assert found.status is Status.OPTIMAL
    assert found.objective == pytest.approx(of_step(2), rel=1e-6)  # the gap of a proof
    assert "Optuna" not in found.solver


def test_a_sweep_over_a_step_proves_each_point():
    n = [2, 4, 6, 8, 12]
    axis = {"n": {"path": "given.n", "values": n}}
    found = dse.sweep({"model": registered("stepped", stepped), **STEPPED, "sweep": axis})
    assert found.attrs["method"] == "each point solved by itself"
    assert set(found.status.values.tolist()) == {
        int(found.status.attrs["flag_meanings"].split().index("optimal"))
    }
    assert found.cost.values == pytest.approx([of_step(k) for k in n], rel=1e-6)


def test_a_step_in_an_uncertain_number_is_searched_without_proof():
    asked = {**STEPPED, "uncertain": {"n": {"values": [4, 8]}, "sampling": {"samples": 64}}}
    asked["objective"] = {"minimize": "cost", "measure": "mean"}
    found = dse.solve({"model": registered("stepped", stepped), **asked})
    assert found.status is Status.FEASIBLE
    # the mean is 1.5 x + 1.5 / x, least at x = 1
    assert found.objective == pytest.approx(3.0, rel=1e-3)


def unknown_input(g: Any) -> dict[str, Any]:
    return {"cost": g.x + g.m}


def without_end(g: Any) -> dict[str, Any]:
    return without_end(g)


@pytest.mark.parametrize(
    ("equations", "why"), [(unknown_input, "no attribute 'm' in test_black"), (without_end, "RecursionError")]
)
def test_equations_that_no_numbers_would_mend_are_a_mistake(equations: Any, why: str):
    asked = {"model": registered("faulty", equations), "decide": DECIDE, "objective": {"minimize": "cost"}}
    with pytest.raises(ScenarioError, match=why) as caught:
        dse.solve(asked)
    assert caught.value.problems[0].key == "model"


def test_a_metric_that_is_declared_and_not_returned_is_a_mistake_where_it_is_asked_for():
    name = registered("half", lambda g: {"cost": g.x + g.n}, ("cost", "power"))
    asked: dict[str, Any] = {"model": name, "decide": DECIDE, "objective": {"minimize": "cost"}}
    assert dse.solve(asked).status is Status.OPTIMAL
    with pytest.raises(
        ScenarioError, match="declares metric power, and its equations do not return it"
    ) as caught:
        dse.solve({**asked, "limits": {"power": {"max": 1}}})
    assert caught.value.problems[0].key == "limits.power"


FORGETS = "declares limit fits, and its equations do not return it"


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("forgets", {"decide": DECIDE}),
        ("forgets_at_a_point", {"given": {"x": 1, "n": 2}}),
        ("forgets_in_a_sweep", {"given": {"n": 2}, "sweep": {"x": {"path": "given.x", "values": [1, 2]}}}),
    ],
)
def test_a_limit_that_is_declared_and_not_returned_is_a_mistake(name: str, changes: dict[str, Any]):
    """It would be dropped, and a design that breaks it called optimal."""
    registered(name, lambda g: {"cost": g.x + g.n}, limits=(FITS,))
    asked = {"model": name, "objective": {"minimize": "cost"}} | changes
    with pytest.raises(ScenarioError, match=FORGETS) as caught:
        (dse.sweep if "sweep" in changes else dse.solve)(asked)
    assert caught.value.problems[0].key == "model"


def looks_and_forgets(g: Any) -> dict[str, Any]:
    return {"cost": g.x + (1.0 if float(g.n) > 3 else 2.0)}


def test_a_black_box_that_forgets_a_limit_has_no_answer():
    name = registered("looks_and_forgets", looks_and_forgets, limits=(FITS,))
    asked: dict[str, Any] = {"model": name, "objective": {"minimize": "cost"}}
    for part in ({"decide": DECIDE}, {"given": {"x": 1, "n": 2}}):
        found = dse.solve(asked | part, trials=20)
        assert found.status is Status.ERROR
        assert FORGETS in found.message


def in_a_room(g: Any) -> dict[str, Any]:
    return {"cost": 1 / g.x + g.n} | ({"fits": g.x / g.machine.room} if hasattr(g.machine, "room") else {})


def test_a_limit_may_be_absent_where_the_machine_does_not_state_what_it_needs():
    name = registered("in_a_room", in_a_room, limits=(FITS,), machine=(ROOM,))
    asked: dict[str, Any] = {"model": name, "objective": {"minimize": "cost"}, "decide": DECIDE}
    assert dse.solve(asked).variables["x"] == pytest.approx(10.0)
    assert dse.solve(asked | {"machine": {"room": 2}}).variables["x"] == pytest.approx(2.0)
    name = registered("never_in_a_room", lambda g: {"cost": g.x + g.n}, limits=(FITS,), machine=(ROOM,))
    with pytest.raises(ScenarioError, match=FORGETS):
        dse.solve(asked | {"model": name})


@pytest.mark.parametrize(("returned", "what"), [([1, 2], "a list"), (None, "nothing")])
@pytest.mark.parametrize("changes", [{"decide": DECIDE}, {"given": {"x": 1, "n": 2}}])
def test_equations_that_return_no_mapping_are_a_mistake(returned: Any, what: str, changes: dict[str, Any]):
    name = registered(f"returns_{what[-4:]}_{'_'.join(changes)}", lambda g: returned)
    with pytest.raises(ScenarioError, match=f"the equations return {what}, not a mapping") as caught:
        dse.solve({"model": name, "objective": {"minimize": "cost"}} | changes)
    assert [p.key for p in caught.value.problems] == ["model"]
