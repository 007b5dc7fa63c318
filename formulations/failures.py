"""What to say of a question whose arithmetic fails: which of its numbers leave what a computer can hold."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dse.models.described.fitted import NotPositive
from dse.names import some_of
from formulations import evaluation
from scenarios.language.errors import ScenarioError
from scenarios.question import Decision, Limit, Question, combinations
from scenarios.sweep import undefined

FAR_NUMBER = 1e60
"""A number beyond this, or below one over this, is named: its fifth power overflows or underflows."""
MOST_NAMED = 3
OVERFLOW = "the numbers of this point overflow"
DIVIDES = "the objective or a limit divides by zero at every design"


def in_words(question: Question, problem: Exception) -> str:
    """Say in the user's words why a question of plain numbers could not be computed.

    Where numbers overflow, or underflow to 0 and something is divided by them, those farthest from 1 are named. Any
    other failure keeps the name of its exception.
    """
    if isinstance(problem, NotPositive):
        return str(problem)
    if isinstance(problem, ValueError) and _is_infinite(question):
        return infinite(question)
    far = list(_far(question))
    words = f"{type(problem).__name__}: {problem}"
    if isinstance(problem, OverflowError) or (far and isinstance(problem, ArithmeticError | ValueError)):
        how = "" if isinstance(problem, ArithmeticError) else f" ({words})"
        what = some_of(far, MOST_NAMED) or "a result, or a power on the way to it,"
        return f"{OVERFLOW}: {what} is too far from 1 to be computed with{how}"
    return _divides(question) if isinstance(problem, ZeroDivisionError) else words


def refuse_overflow(question: Question) -> None:
    """Raise OverflowError where a number of a question in which nothing is decided overflows on the way to another."""
    try:
        with np.errstate(over="raise", divide="ignore", invalid="ignore", under="ignore"):
            evaluation.metrics(evaluation.unraised(question), {})
    except FloatingPointError as problem:
        raise OverflowError(str(problem)) from None


def infinite(question: Question) -> str:
    """Say of the first objective that it is infinite at a design, where only numbers can be compared."""
    name = question.objectives[0].name
    said, nothing = f"{name} is infinite", _nothings(question, name)
    if nothing:
        return f"{said}, since {nothing}"
    return f"{said}: it overflows, or the costs that stand against it are all 0"


def _divides(question: Question) -> str:
    """Say of a question that divides by 0 what does so, and which of its numbers are 0."""
    named = [*(o.name for o in question.objectives), *(x.name for x in question.limits)]
    for name in dict.fromkeys(named):
        nothing = _nothings(question, name)
        if nothing:
            return f"{name} is divided by 0 at every design, since {nothing}"
    return DIVIDES if question.decide else _without_value(question) or "a number is divided by 0"


def _without_value(question: Question) -> str:
    """Say which definitions of a question in which nothing is decided have no value; empty where none is to blame."""
    with contextlib.suppress(ArithmeticError, ValueError, KeyError), np.errstate(all="ignore"):
        return no_number(question, evaluation.metrics(evaluation.unraised(question), {}))
    return ""


def _nothings(question: Question, name: str) -> str:
    """What is given as 0 and makes a metric infinite at designs that differ, in words; empty where nothing does."""
    _, asked = next(combinations(question))
    if math.isfinite(_at_ones(asked, name)) or math.isfinite(_at_ones(asked, name, further=1)):
        return ""
    zeros = [n for n, v in asked.given.items() if isinstance(v, float) and v == 0.0]
    ones = dict.fromkeys(zeros, 1.0)
    if not zeros or not math.isfinite(_at_ones(replace(asked, given={**asked.given, **ones}), name)):
        return ""
    # those of which one alone does not help stand for all
    alone = [n for n in zeros if math.isfinite(_at_ones(replace(asked, given={**asked.given, n: 1.0}), name))]
    return f"{some_of(alone or zeros, MOST_NAMED)} {'are all' if len(alone or zeros) > 1 else 'is'} 0"


def _at_ones(question: Question, name: str, further: int = 0) -> float:
    """A metric at the design of ones; not a number where it has none there.

    ``further``: by how much each number is larger than the one before it, listed values are the last then.
    """
    x = {
        d.name: np.float64(d.values[-bool(further)] if d.values else 1.0 + further * (j + 1))
        for j, d in enumerate(question.decide)
    }
    with contextlib.suppress(ArithmeticError, ValueError, KeyError), np.errstate(all="ignore"):
        asked = evaluation.unraised(question)
        return float({**asked.given, **x, **evaluation.metrics(asked, x)}[name])
    return math.nan


def no_number(question: Question, at: Mapping[str, Any]) -> str:
    """Say why metrics at one point or many of a question in which nothing is decided are no answer; empty if they are.

    A definition of the file has a value; of the model's own metrics what is asked for, or limited, is a number.
    """
    lost = undefined.lost(question, at)
    if lost:
        return "; ".join(f"define.{name}: {why}" for name, why in lost.items())
    none = evaluation.no_numbers(question, at)
    how = "is no number: on the way to it 0 is divided by 0, or multiplied by what is infinite"
    return f"{' and '.join(none)} {how}" if none else ""


def _is_infinite(question: Question) -> bool:
    """Whether the objective is infinite at the design of ones, under the first of choices."""
    _, asked = next(combinations(question))
    return bool(asked.objectives) and math.isinf(_at_ones(asked, asked.objectives[0].name))


def refused(file: str, question: Question, problem: Exception) -> ScenarioError:
    """Say of a question that cannot be computed that its numbers are wrong."""
    return ScenarioError.of(
        file,
        "",
        in_words(question, problem),
        "keep it above 0" if isinstance(problem, NotPositive) else "write numbers that are nearer to 1",
    )


def _far(question: Question) -> Iterator[str]:
    """Go through the numbers of a question that are far from 1, the farthest first."""
    found: list[tuple[float, str]] = []
    for name, value in _numbers_of_question(question):
        if math.isfinite(value) and value and not 1.0 / FAR_NUMBER <= abs(value) <= FAR_NUMBER:
            name_of = name.removesuffix(".min").removesuffix(".max")
            unit = evaluation.quantity(question.model, name_of).unit
            found.append((-abs(math.log10(abs(value))), f"{name} = {value:.6g}{' ' * bool(unit)}{unit}"))
    yield from (text for _, text in sorted(found))


def _numbers_of_question(question: Question) -> Iterator[tuple[str, float]]:
    yield from ((n, float(v)) for n, v in question.given.items() if not isinstance(v, str))
    holders: list[Limit | Decision] = [*question.limits, *question.decide]
    for held in holders:
        for side, end in (("min", held.minimum), ("max", held.maximum)):
            if end is not None:
                yield f"{held.name}.{side}", float(end)
