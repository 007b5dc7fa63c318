"""[define]: each mistake has one message."""

from typing import Any

import pytest
from definition_questions import mistakes

import dse
from scenarios import ScenarioError

WRONG = [
    ({"time": "3 s"}, "define.time", "time is a metric, which nbody computes"),
    ({"time_per_flop": "3 s/flop"}, "define.time_per_flop", "time_per_flop is a machine parameter"),
    ({"one_copy": "3"}, "define.one_copy", "one_copy is a limit of nbody itself"),
    ({"joule": "3"}, "define.joule", "joule is a unit"),
    ({"fb": "3"}, "define.fb", "fb is a unit (femtobit)"),
    ({"sqrt": "3"}, "define.sqrt", "sqrt is a function"),
    ({"objective": "3"}, "define.objective", "objective is a reserved name"),
    ({"halvings": "3"}, "define.halvings", "halvings is a metric"),
    ({"machine.clock": "3"}, "define.machine.clock", 'there is no machine parameter of nbody "clock"'),
    (
        {"machine.word_size": "8 byte/word"},
        "define.machine.word_size",
        "the size of a word cannot be defined",
    ),
    ({"a b": "3"}, "define.a b", '"a b" can name no quantity'),
    ({"x": "y + 1", "y": "x + 1"}, "define.x", "definitions go in a circle: x needs y; y needs x"),
    ({"x": "x + 1"}, "define.x", "definitions go in a circle: x needs x"),
    (
        {"machine.time_per_flop": "time / 1e12 flop"},
        "define.machine.time_per_flop",
        "machine.time_per_flop needs time, which nbody computes from machine.time_per_flop",
    ),
    ({"x": "energy + time"}, "define.x", "an energy (J) and a time (s) do not add up (column 8)"),
    ({"x": "energy + 3"}, "define.x", "an energy (J) and a plain number do not add up"),
    ({"x": "maximum(energy, time)"}, "define.x", "maximum compares an energy (J) with a time (s)"),
    ({"x": "energy**1.5"}, "define.x", "only plain numbers have the power 1.5"),
    ({"x": "energy**processors"}, "define.x", "only plain numbers have a power that is not a fixed number"),
    ({"x": "2**energy"}, "define.x", "an exponent is a plain number, and this one is an energy (J)"),
    ({"x": "log(energy)"}, "define.x", "log takes a plain number, and this is an energy (J)"),
    ({"x": "sqrt(energy * time)"}, "define.x", "has no square root in whole units"),
    ({"machine.time_per_flop": "1 / 3 GHz"}, "define.machine.time_per_flop", "the expression is a time (s)"),
    (
        {"cost": "energy"},
        "define.cost",
        "the expression is an energy (J), and cost is an amount of money (USD)",
    ),
    ({"x": "clock * 2"}, "define.x", 'there is no quantity "clock" (column 1)'),
    ({"x": "2 * proccessors"}, "define.x", 'there is no quantity "proccessors"'),
    ({"x": "time_per_flop"}, "define.x", "time_per_flop is a machine parameter"),
    ({"x": "machine"}, "define.x", "machine is a whole machine"),
    ({"x": "GHz * 3"}, "define.x", 'there is no quantity "GHz"'),
    ({"x": "3 parsec"}, "define.x", "unknown unit 'parsec'"),
    ({"x": "3 flops"}, "define.x", "ambiguous"),
    ({"x": "halvings"}, "define.x", "halvings are counted after everything else"),
    ({"x": "1 / 0"}, "define.x", "this divides by zero"),
    ({"x": "energy / (2 - 2)"}, "define.x", "this divides by zero"),
    ({"x": "(-8)**0.5"}, "define.x", "these numbers give no finite number"),
    ({"x": "10**400"}, "define.x", "these numbers give no finite number"),
    ({"x": "exp(1000)"}, "define.x", "these numbers give no finite number"),
    ({"x": 3}, "define.x", "3 is not an expression"),
    ({"x": True}, "define.x", "true is not an expression"),
    ({"x": ["3"]}, "define.x", "is not an expression"),
    ({"processors": "64"}, "decide.processors", "processors is decided and defined"),
    ({"bodies": "64"}, "given.bodies", "bodies is given and defined"),
]


@pytest.mark.parametrize(("define", "key", "part"), WRONG)
def test_a_mistake_has_one_message(define: dict[str, Any], key: str, part: str):
    """Each mistake alone, at its key, with what is wrong."""
    (problem,) = mistakes(define=define)
    assert problem.key == key
    assert part in problem.wrong


OWN = [
    (
        {"given": {"clok": 3}, "define": {"x": "2 * time"}},
        "given.clok",
        "no definition uses a number of this name",
    ),
    ({"decide": {"clok": {"min": 1}}, "define": {"x": "2 * time"}}, "decide.clok", "no definition uses"),
    ({"given": {"clok": 3}}, "given.clok", 'there is no input of nbody "clok"'),
    (
        {"decide": {"clock": {}}, "define": {"x": "2 * clock"}},
        "decide.clock",
        "nothing else says where it ends",
    ),
    (
        {"decide": {"clock": {"min": "1 GHz", "max": "3 s"}}, "define": {"x": "2 * clock"}},
        "decide.clock",
        "decide.clock.max is a time (s), and decide.clock.min is a frequency (Hz)",
    ),
    ({"decide": {"k": {"values": [0, 1]}}, "define": {"x": "2 * k"}}, "decide.k", "k can be 0"),
    (
        {"decide": {"k": {"values": ["a"]}}, "define": {"x": "2 * k"}},
        "decide.k.values[0]",
        "is not one number",
    ),
    (
        {"decide": {"k": {"max_halvings": 3}}, "define": {"x": "2 * k"}},
        "decide.k.max_halvings",
        "only a machine",
    ),
    ({"given": {"k": [1]}, "define": {"x": "2 * k"}}, "given.k", "k is one number"),
    ({"given": {"k": "1 parsec"}, "define": {"x": "2 * k"}}, "given.k", "unknown unit 'parsec'"),
    ({"given": {"GHz": 1}, "define": {"x": "2 * GHz"}}, "given.GHz", "GHz is a unit"),
    (
        {
            "given": {"k": 1},
            "define": {"x": "2 * k"},
            "sweep": {"k": {"path": "k", "values": [1, 2]}},
        },
        "given.k",
        "k is also the name of an axis",
    ),
    (
        {"define": {"x": "2 * time"}, "sweep": {"other": {"path": "x", "values": [1, 2]}}},
        "sweep.other.path",
        "x is swept and defined",
    ),
    (
        {"machine": {"base": "jaketown", "k": 1}, "define": {"k": "2 * machine.k"}},
        "define.k",
        "k is also a number of the machine table",
    ),
    (
        {
            "machine": {"base": "jaketown", "time_per_flop": "1 ps/flop"},
            "define": {"machine.time_per_flop": "2 ps/flop"},
        },
        "machine.time_per_flop",
        "stands in the machine table and is defined",
    ),
    ({"define": {"x": "2 * machine.memory_capacity"}}, "machine", "has no memory_capacity"),
    (
        {
            "decide": {"memory": None, "block": {"min": 1, "max": 9}},
            "define": {"memory": "block**2"},
            "limits": {"memory": {"max": "0.5 word"}},
        },
        "limits.memory.max",
        '"0.5 word" is too small',
    ),
    (
        {
            "decide": {"memory": None, "block": {"min": 1, "max": 9}},
            "define": {"memory": "block**2"},
            "waive": ["memory"],
        },
        "waive[0]",
        'there is no limit of nbody itself called "memory"',
    ),
]


@pytest.mark.parametrize(("more", "key", "part"), OWN)
def test_a_mistake_with_own_numbers_has_one_message(more: dict[str, Any], key: str, part: str):
    """Each mistake alone, at its key, with what is wrong."""
    (problem,) = mistakes(**more)
    assert problem.key == key
    assert part in problem.wrong


def test_a_caret_points_at_the_place():
    (problem,) = mistakes(define={"x": "2 * energy + time"})
    line, caret = problem.right.split("\n")[:2]
    assert line == "2 * energy + time"
    assert caret.index("^") - 4 == line.index("+")


BESIDE = {"limits": {"energy": {"max": "3 s"}, "tim": {"max": 1}}, "decide": {"processors": {"max": "x"}}}
BESIDE_KEYS = {"limits.energy.max", "limits.tim", "decide.processors.max"}


@pytest.mark.parametrize("text", ["2 * enrgy", "2 *", "energy + time", "energy / price"])
def test_a_mistake_in_a_definition_hides_none_of_those_elsewhere(text: str):
    found = mistakes(define={"joules": text}, **BESIDE)
    assert {p.key for p in found} == BESIDE_KEYS | {"define.joules"}


def test_what_may_be_right_once_a_definition_is_is_no_mistake():
    """What bears the name of a definition, or is named in one, cannot be judged before it is read."""
    found = mistakes(
        given={"bodies": 1e5, "flops_per_pair": 10, "rate": "2 USD/J"},
        define={"price": "rate * enrgy", "dear": "2 * price"},
        objective={"minimize": "price"},
        limits={"dear": {"max": "3 USD"}, "power": {"max": "3 s"}},
        sweep={"tariff": {"path": "rate", "values": ["1 USD/J", "2 USD/J"]}},
    )
    assert {p.key for p in found} == {"define.price", "limits.power.max"}


def test_a_number_that_only_a_definition_needs_is_no_mistake_beside_another_one():
    settings = [{"name": "low", "constant_power": 2.0}, {"name": "high", "constant_power": 5.0}]
    asked = {
        "model": "dvfs",
        "given": {"phases": [{"name": "a", "times": {"low": 2.0, "high": 1.0}}]},
        "machine": {"settings": settings, "other_power": 2.0},
        "objective": {"minimize": "energy"},
        "define": {"lost": "2 * machine.other_power", "more": "enrgy * 2"},
    }
    with pytest.raises(ScenarioError) as caught:
        dse.load(asked)
    assert [p.key for p in caught.value.problems] == ["define.more"]
