"""A decided number that divides given ones has a menu of their divisors, of each machine and each value swept."""

import math
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dse
from scenarios import ScenarioError, grid, load
from scenarios.define import divisors
from scenarios.question import Decision, combinations
from scenarios.questions import question
from scenarios.templates.templates import template

NBODY: dict[str, Any] = {
    "model": "nbody",
    "machine": "balanced",
    "given": {"bodies": 96_000, "flops_per_pair": 10},
    "decide": {"processors": {"divides": "bodies", "max": 64}, "memory": {}},
    "objective": {"minimize": "energy"},
    "limits": {"time": {"max": "5 s"}},
}


def asked(**changes: Any) -> dict[str, Any]:
    return NBODY | changes


def menu(entry: dict[str, Any], **changes: Any) -> tuple[float, ...]:
    found = question(load(asked(decide={"processors": entry, "memory": {}}, **changes)))
    return found.decide[0].values or ()


def dividing(*numbers: int, most: int = 100_000) -> list[float]:
    return [float(k) for k in range(1, most + 1) if all(n % k == 0 for n in numbers)]


@given(st.integers(1, 3000))
def test_divisors_are_all_that_divide(number: int) -> None:
    assert list(divisors.divisors(number)) == dividing(number, most=number)


def test_the_menu_holds_what_divides_one_number_or_each_of_several() -> None:
    assert list(menu({"divides": "bodies"})) == dividing(96_000)
    assert list(menu({"divides": ["bodies", "flops_per_pair"]})) == dividing(96_000, 10)
    assert list(menu({"divides": "machine.word_size"})) == [1, 2, 4, 8]


def test_of_listed_values_and_powers_those_stay_that_divide() -> None:
    assert menu({"divides": "bodies", "values": [7, 5, 48, 2.5]}) == (5, 48)
    assert menu({"divides": "bodies", "powers_of": 2}) == tuple(2.0**k for k in range(9))


def test_definitions_of_given_numbers_may_be_divided() -> None:
    define = {"tiles": "bodies / side", "side": "machine.word_size * 1000 word / 8 byte / 1 word"}
    with pytest.raises(ScenarioError):
        menu({"divides": "tiles"}, define=define | {"side": "memory / 1 word"})
    assert list(menu({"divides": "tiles"}, define={"tiles": "bodies / 1000"})) == dividing(96)


def test_a_bound_stays_a_limit_and_the_menu_is_none() -> None:
    found = dse.solve(asked(decide={"processors": {"divides": "bodies", "min": 26, "max": 29}, "memory": {}}))
    assert (found.status, found.conflict) == ("infeasible", {"processors": pytest.approx(30)})


def test_the_answer_is_the_best_divisor() -> None:
    each = {
        p: dse.solve(asked(decide={"memory": {}}, given=NBODY["given"] | {"processors": p}))
        for p in dividing(96_000, most=64)
    }
    best = min(s.objective for s in each.values() if s.objective is not None)
    found = dse.solve(NBODY)
    assert found.status == "optimal"
    assert found.objective == pytest.approx(best, rel=1e-6)
    assert 96_000 % found.variables["processors"] == 0


def test_each_value_that_is_swept_has_a_menu_of_its_own() -> None:
    sizes = [96_000, 99_990]
    swept = asked(sweep={"size": {"path": "bodies", "values": sizes}})
    found = grid(load(swept))
    for i, size in enumerate(sizes):
        at = found.question((i,))
        assert list(at.decide[0].values or ()) == dividing(size)
        assert at.given["bodies"] == size
    told = dse.sweep(swept)
    for size, processors in zip(sizes, told.processors.values, strict=True):
        alone = dse.solve(asked(given=NBODY["given"] | {"bodies": size}))
        assert size % processors == 0
        assert processors == alone.variables["processors"]


def test_factors_of_a_divided_number_multiply_the_value_in_the_file() -> None:
    found = grid(load(asked(sweep={"size": {"path": "bodies", "factors": [1, 2]}})))
    assert [found.question((i,)).given["bodies"] for i in range(2)] == [96_000, 192_000]
    assert list(found.question((1,)).decide[0].values or ()) == dividing(192_000, most=192_000)


def test_each_machine_has_a_menu_of_its_own() -> None:
    decide = {"processors": {"divides": "machine.word_size"}, "memory": {}}
    narrow = {"base": "balanced", "word_size": 4}
    for machine, most in (("balanced", 8), (narrow, 4)):
        found = question(load(asked(machine=machine, decide=decide)))
        assert max(found.decide[0].values or ()) == most
    open_machine = {k: v for k, v in NBODY.items() if k != "machine"}
    chosen = open_machine | {"decide": decide | {"machine": {"values": ["balanced", "jaketown"]}}}
    whole = question(load(chosen))
    assert next(d for d in whole.decide if d.name == "processors").values is None
    for _, at in combinations(whole):
        size = at.given["machine.word_size"]
        assert isinstance(size, float)
        (own,) = (d for d in at.decide if d.name == "processors")
        assert list(own.values or ()) == dividing(int(size))
    assert dse.solve(chosen).status == "optimal"


@pytest.mark.parametrize(
    ("entry", "wrong", "right"),
    [
        ({"divides": "bodys"}, "there is no given number of nbody", "did you mean 'bodies'"),
        ({"divides": "time"}, "time is a metric", "given"),
        ({"divides": "memory"}, "memory is decided", "given"),
        ({"divides": []}, "the list is empty", 'divides = "heads"'),
        ({"divides": ["bodies", "bodies"]}, "listed twice", "once"),
        ({"divides": 4}, "4", "write"),
        ({"divides": "bodies", "values": [7, 11]}, "none of 7, 11 divides bodies = 96000", "1, 2, 3"),
        ({"divides": "bodies", "max_halvings": 2}, "divides and max_halvings", "one of them"),
        ({"divides": "machine.time_per_flop"}, "machine.time_per_flop is", "from 1 to"),
    ],
)
def test_mistakes(entry: dict[str, Any], wrong: str, right: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        menu(entry)
    problem = next(p for p in caught.value.problems if wrong in p.wrong)
    assert right in problem.right


def test_what_is_uncertain_or_no_whole_number_has_no_menu() -> None:
    with pytest.raises(ScenarioError, match="bodies is uncertain"):
        question(load(asked(uncertain={"bodies": {"uniform": [95_000, 97_000]}})))
    with pytest.raises(ScenarioError, match=r"bodies is 96000.5, no whole number"):
        question(load(asked(given=NBODY["given"] | {"bodies": 96_000.5})))
    with pytest.raises(ScenarioError, match="memory is a number of words"):
        question(load(asked(decide={"processors": {}, "memory": {"divides": "bodies"}})))
    with pytest.raises(ScenarioError, match="tiles rests on memory, which is decided"):
        menu({"divides": "tiles"}, define={"tiles": "memory / 1 word"})


def test_a_number_of_the_file_s_own_may_divide() -> None:
    define = {"chunks": "chunk * 2"}
    found = question(
        load(asked(define=define, decide=NBODY["decide"] | {"chunk": {"divides": "flops_per_pair"}}))
    )
    assert found.decide[-1] == Decision("chunk", values=(1.0, 2.0, 5.0, 10.0), menu=found.decide[-1].menu)
    assert math.isfinite(
        dse.solve(
            asked(define=define, decide=NBODY["decide"] | {"chunk": {"divides": "flops_per_pair"}})
        ).objective
        or math.inf
    )


def test_a_starter_file_lets_degrees_divide() -> None:
    text = template("transformer_training")
    assert 'pipeline_parallel = { divides = "layers" }' in text
    assert dse.solve(tomllib.loads(text)).status == "optimal"


def test_solvers_of_pyomo_get_the_menu() -> None:
    asked_of = asked(
        decide={"processors": {"divides": "bodies", "max": 64}}, given=NBODY["given"] | {"memory": 4000}
    )
    own, other = dse.solve(asked_of), dse.solve(asked_of, solver="scip")
    assert other.objective == pytest.approx(own.objective, rel=1e-6)
    assert 96_000 % other.variables["processors"] == 0
