"""Definitions from a stranger: nothing runs, and what is refused is refused in one message."""

import math
import random

import pytest

import dse
from scenarios import ScenarioError
from scenarios.define.compiling import compiled
from scenarios.define.expressions import MOST_CHARACTERS, MOST_LEVELS, MOST_TOKENS, ExpressionError, parse
from scenarios.language.errors import Problem

BASE = {
    "model": "nbody",
    "machine": "jaketown",
    "given": {"bodies": 1e6, "flops_per_pair": 20, "memory": 1e4},
    "decide": {"processors": {"max": 4096}},
    "objective": {"minimize": "energy"},
}
HOSTILE = [
    "",
    "   ",
    "__import__('os').system('true')",
    "__import__",
    '"" + ""',
    "().__class__.__bases__[0].__subclasses__()",
    "energy.__class__",
    "energy.real",
    "processors.__add__(1)",
    "open(1)",
    "eval(1)",
    "exec(1)",
    "lambda: 1",
    "[1, 2]",
    "{1}",
    "energy if 1 else time",
    "energy; time",
    "energy\\ntime",
    "processors := 3",
    "energy == energy",
    "energy < 3 J",
    "not processors",
    "processors and 1",
    "processors // 2",
    "processors % 2",
    "processors ^ 2",
    "processors @ 2",
    "~processors",
    "processors!",
    "@processors",
    "$processors",
    "#",
    "1 # comment",
    "f'{processors}'",
    "`processors",
    "``",
    "`" + "x" * 300 + "`",
    "`__import__('os')`",
    "processors processors",
    "2processors",
    "2 processors",
    "2 3",
    "2..3",
    "1e",
    "1e5e5",
    "0x10",
    "1_000",
    "0b1",
    "1j",
    "inf",
    "nan",
    "1e999",
    "-1e999",
    "1e-999999",
    "1" * 41,
    "1e308 * 1e308",
    "9**9**9**9",
    "processors*memory",
    "processors+1",
    "2 J*processors",
    "3 J/",
    "3 J//s",
    "3 J ** 2 s",
    "3 J^2",
    "3 % * processors",
    "3 J**99",
    "3 J**-0",
    "3 J**1.5",
    "+",
    "*",
    "1 +",
    "1 + * 2",
    "()",
    "(",
    ")",
    "(1",
    "1)",
    "(1))",
    "maximum()",
    "maximum(1)",
    "maximum(1, 2",
    "maximum(1,, 2)",
    "maximum 1",
    "log",
    "log()",
    "log(1, 2)",
    "log10(10)",
    "abs(1)",
    "pow(2, 3)",
    "sum(1)",
    "log(-1)",
    "sqrt(-1)",
    "log2(0)",
    "gemm.latency(1, 2)",
    "1, 2",
    "0,5",
    "\u0440rocessors",
    "energ\u03b3 * 1",
    "\uff11 + 1",
    "1 \u2212 2",
    "2 \u00d7 3",
    "\u200bprocessors",
    "processors\u00a0+ 1",
    "\ufeff1",
    "\u221a(2)",
    "\u212a",
    "x\u0301 + 1",
    "processors.",
    ".processors",
    "processors..x",
    "machine",
    "machine.",
    "machine.base",
    "machine.__class__",
    "given.bodies",
    "self",
    "weird",
    "energy + time",
    "energy - 1",
    "1 J + 1 W",
    "1 B + 1 word",
    "1 flop + 1 byte",
    "exp(energy)",
    "time**0.5",
    "2**time",
    "energy**energy",
    "(1 J)**(1 / 3)",
    "((1 J)**60)**60",
    "(" * (MOST_LEVELS + 1) + "1" + ")" * (MOST_LEVELS + 1),
    "-" * (MOST_LEVELS + 1) + "1",
    "2**" * (MOST_LEVELS + 1) + "1",
    "log(" * (MOST_LEVELS + 1) + "2" + ")" * (MOST_LEVELS + 1),
    "(" * 5000,
    "1 + " * MOST_TOKENS + "1",
    "1" + " " * MOST_CHARACTERS,
    "x" * 1_000_000,
    "1 + " * 250_000 + "1",
    "(" * 1_000_000,
    "\u0440" * 100_000,
]


def refused(expression: str) -> Problem | None:
    """Return the one mistake for which a definition is refused; None where it is taken."""
    found: tuple[Problem, ...] = ()
    try:
        dse.load({**BASE, "define": {"x": expression}})
    except ScenarioError as error:
        found = error.problems
    assert len(found) <= 1
    assert all(len(str(problem)) < 3000 for problem in found)
    return found[0] if found else None


@pytest.mark.parametrize("expression", HOSTILE, ids=[f"{i}: {e[:30]!r}" for i, e in enumerate(HOSTILE)])
def test_a_hostile_definition_is_refused_in_one_message(expression: str):
    problem = refused(expression)
    assert problem is not None
    assert problem.key == "define.x" or problem.key.startswith("define.x")
    assert problem.wrong


SIGNS = [
    "+",
    "-",
    "*",
    "/",
    "**",
    "(",
    ")",
    ",",
    " ",
    "`",
    ".",
    "^",
    "%",
    "=",
    "1",
    "e9",
    "J",
    "GHz",
    "\u00b5s",
]
WORDS = ["processors", "memory", "energy", "time", "machine.time_per_flop", "log", "maximum", "sqrt", "__x__"]
SOUND = [
    "0.6 V + 0.17 V/GHz * 1 GHz",
    "9000 USD * processors + 0.2 USD/kWh * energy * 1e6",
    "energy * time**2",
    "maximum(processors, memory / 1 word, 3)",
    "log2(1 + processors) * sqrt(energy * power * time)",
    "-processors**2 / (1 + processors)",
]


def test_spoilt_definitions_are_taken_or_refused_in_one_message():
    """400 seeded ones: signs and words put in, taken out and exchanged; nothing else is ever raised."""
    dice = random.Random(14)
    taken = 0
    for _ in range(400):
        text = dice.choice(SOUND)
        for _ in range(dice.randint(1, 5)):
            at = dice.randrange(len(text) + 1)
            cut = dice.choice([0, 0, 1, 2, 5])
            text = text[:at] + dice.choice(dice.choice([SIGNS, WORDS, [""]])) + text[at + cut :]
        taken += refused(text) is None
    assert 0 < taken < 200


def random_expression(dice: random.Random, depth: int) -> tuple[str, str]:
    """Return an expression of plain numbers and the names a, b: as text for us and for Python."""
    kind = dice.random()
    if depth == 0 or kind < 0.2:
        one = dice.choice(["a", "b", "2", "0.5", "3e0", "1.25"])
        return one, one
    if kind < 0.3:
        mine, python = random_expression(dice, depth - 1)
        return f"-{mine}", f"-{python}"
    if kind < 0.45:
        name = dice.choice(["exp", "maximum", "minimum"])
        first, second = random_expression(dice, depth - 1), random_expression(dice, depth - 1)
        if name == "exp":
            return f"exp({first[0]})", f"math.exp({first[1]})"
        return f"{name}({first[0]}, {second[0]})", f"{name[:3]}({first[1]}, {second[1]})"
    if kind < 0.6:
        mine, python = random_expression(dice, depth - 1)
        return f"({mine})", f"({python})"
    sign = dice.choice(["+", "-", "*", "/", "**"])
    blank = dice.choice([(" ", " "), ("", " "), (" ", "")])
    first, second = random_expression(dice, depth - 1), random_expression(dice, depth - 1)
    joined = f"{blank[0]}{sign}{blank[1]}"
    return f"{first[0]}{joined}{second[0]}", f"{first[1]}{joined}{second[1]}"


def test_operators_bind_as_in_python():
    """1500 seeded expressions against Python's own reading of them (here alone is anything evaluated by it)."""
    dice = random.Random(7)
    compared = 0
    for _ in range(1500):
        mine, python = random_expression(dice, 4)
        a, b = dice.uniform(0.5, 2), dice.uniform(0.5, 2)
        try:
            wanted = eval(python, {"math": math, "max": max, "min": min, "a": a, "b": b})
        except (OverflowError, ZeroDivisionError):
            continue
        if isinstance(wanted, complex) or not math.isfinite(wanted):
            continue
        try:
            found = compiled(parse(mine), lambda value, _unit: value)({"a": a, "b": b})
        except ExpressionError as error:
            # a blank on one side of a sign may stand behind a number only, as 2 -1 may not
            raise AssertionError(f"{mine}: {error}") from error
        compared += 1
        assert complex(found).real == pytest.approx(wanted, rel=1e-12, abs=1e-300), mine
    assert compared > 1000


@pytest.mark.parametrize("nested", ["sqrt({})", "sqrt(1 + {})", "({} + 1)**0.7", "sqrt(sqrt({}) + {})"])
def test_roots_in_roots_are_worked_out_once_each(nested: str):
    """Each root was worked out twice by the one around it: 30 of them never ended."""
    expression = "processors"
    for _ in range(20 if nested.count("{}") == 1 else 3):
        expression = nested.replace("{}", expression)
    asked = {
        **BASE,
        "given": {**BASE["given"], "processors": 64},
        "decide": {},
        "define": {"deep": expression},
        "objective": {},
    }
    value = eval(expression.replace("sqrt", "math.sqrt"), {"math": math, "processors": 64.0})
    assert dse.solve({k: v for k, v in asked.items() if v}).metrics["deep"] == pytest.approx(value, rel=1e-12)
