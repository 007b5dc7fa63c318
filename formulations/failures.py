"""What to say of a question whose arithmetic fails: which of its numbers leave what a computer can hold."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Iterator

import numpy as np

from dse.models.described.fitted import NotPositive
from dse.names import some_of
from formulations import evaluation
from scenarios.language.errors import ScenarioError
from scenarios.question import Decision, Limit, Question, combinations

FAR_NUMBER = 1e60
"""A number beyond this, or below one over this, is named: its fifth power overflows or underflows."""
MOST_NAMED = 3
OVERFLOW = "the numbers of this point overflow"
DIVIDES = "the objective or a limit divides by zero at every design: is a cost parameter 0?"


def in_words(question: Question, problem: Exception) -> str:
    """Say in the user's words why a question of plain numbers could not be computed.

    Where numbers overflow, or underflow to 0 and something is divided by them, those farthest from 1 are named. Any
    other failure keeps the name of its exception.
    """
    if isinstance(problem, NotPositive):
        return str(problem)
    if isinstance(problem, ValueError) and _is_infinite(question):
        return infinite(question.objectives[0].name)
    far = list(_far(question))
    words = f"{type(problem).__name__}: {problem}"
    if isinstance(problem, OverflowError) or (far and isinstance(problem, ArithmeticError | ValueError)):
        how = "" if isinstance(problem, ArithmeticError) else f" ({words})"
        what = some_of(far, MOST_NAMED) or "a result, or a power on the way to it,"
        return f"{OVERFLOW}: {what} is too far from 1 to be computed with{how}"
    return DIVIDES if isinstance(problem, ZeroDivisionError) else words


def infinite(name: str) -> str:
    """Say of an objective that it is infinite at a design, where only numbers can be compared."""
    return f"{name} is infinite: it overflows, or the costs that stand against it are all 0"


def no_number(names: Iterable[str]) -> str:
    """Say of metrics that are asked for, or limited, that they are no numbers (NaN)."""
    return f"{' and '.join(names)} is no number: on the way to it 0 is divided by 0, or multiplied by what is infinite"


def _is_infinite(question: Question) -> bool:
    """Whether the objective is infinite at the design of ones, under the first of choices."""
    _, asked = next(combinations(question))
    x = {d.name: np.float64(d.values[0] if d.values else 1.0) for d in asked.decide}
    with contextlib.suppress(ArithmeticError, ValueError), np.errstate(all="ignore"):
        asked = evaluation.unraised(asked)
        return bool(asked.objectives) and bool(
            np.isinf(evaluation.objective(asked, x, evaluation.metrics(asked, x)))
        )
    return False


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
