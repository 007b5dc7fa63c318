"""The designs of a table: every combination of the few values that decided quantities may have, and how to judge them.

What a single question is asked by enumeration (``solvers.scan``) or as a whole-number program is judged here by the
same tolerances and the same rule for ties.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.models.arithmetic import CannotTake
from formulations import evaluation
from formulations.evaluation import RowKey
from formulations.many import Array, Many, plain
from formulations.problem import formulate
from formulations.tolerances import TIE
from scenarios.question import HALVINGS, Decision, Question, combinations
from solvers import cases, scan
from solvers.boxes import FEASIBLE

LARGEST = 40_000
"""Designs of a table that is still worth evaluating at many points."""
NOISE = 1e-12

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Rule:
    """How designs are judged: as the method does that a single question goes to.

    ``scanned``: whether that is an enumeration, which grants limits a slack of its own and knows all designs.
    """

    scanned: bool

    @property
    def slack(self) -> float:
        """By how much a ratio may be above 1."""
        return FEASIBLE if self.scanned else NOISE

    @property
    def spare(self) -> float:
        """What settles ties may differ by, beside ``TIE`` of its size."""
        return 0.0 if self.scanned else TIE * 1e-3


@dataclass(frozen=True, slots=True)
class Table:
    """All designs of one combination of names: the value of every decided quantity in each."""

    chosen: Mapping[str, str]
    question: Question
    x: Mapping[str, Array]

    @property
    def size(self) -> int:
        """Number of designs."""
        return len(next(iter(self.x.values()))) if self.x else 1


def tables(question: Question) -> Iterator[Table]:
    """Go through the combinations of names, each with its table; the last quantity changes fastest.

    Raises CannotTake where something decided is no short list.
    """
    for chosen, asked in combinations(question):
        found = _every(asked)
        if found is None or found.size > LARGEST:
            raise CannotTake("something decided is no short list")
        rows = found.at(np.arange(found.size)).T if found.names else ()
        yield Table(chosen, asked, dict(zip(found.names, rows, strict=True)))


def size(question: Question) -> int | None:
    """Number of designs of all combinations of names; None where there are too many, or no list of them."""
    total = 0
    for _, asked in combinations(question):
        found = _every(asked)
        if found is None:
            return None
        total += found.size
        if total > LARGEST:
            return None
    return total


def _every(question: Question) -> scan.Grid | None:
    """All combinations of numbers within the widest of the user's bounds."""
    if not question.decide:
        return scan.Grid((), ())
    return scan.everything(replace(question, decide=tuple(map(_widest, question.decide))))


def _widest(d: Decision) -> Decision:
    """A decision with the widest of its bounds at many points."""

    def end(value: Any, of: Callable[[Array], Any]) -> Any:
        return float(of(value.values)) if isinstance(value, Many) else value

    return replace(d, minimum=end(d.minimum, np.min), maximum=end(d.maximum, np.max))


def rule(question: Question) -> Rule | None:
    """How the designs of a question (of plain numbers) are judged; None where no list of designs is tried."""
    if question.idle or question.model.black_box:
        return None
    if HALVINGS.name in {question.objectives[0].name, *(x.name for x in question.limits)}:
        return None
    if not question.decide:
        return Rule(scanned=True)
    try:
        problem = formulate(question)
    except ArithmeticError:  # a cost that is 0: told of each point by itself
        return None
    if problem.program is not None:
        return Rule(scanned=scan.few(question))
    return Rule(scanned=problem.rows is None and not cases.apply_to(problem))


def numbers(t: Table, near: Question, which: NDArray[np.intp]) -> tuple[dict[str, Any], dict[RowKey, Any]]:
    """What judges the designs of a table at many points: metrics by name, and limits as ratios.

    ``near``: the question at the points that differ in what is given; ``which`` of these each point is like.
    """
    question = t.question
    with np.errstate(all="ignore"):
        every = evaluation.metrics(near, t.x)
        wanted = {*evaluation.bounds(question), *(x.name for x in question.model.limits)}
        wanted |= {*question.tie_order}
        wanted |= {goal.name for goal in question.objectives}
        at = {n: _along(plain(v), which) for n, v in every.items() if n in wanted}
        return at, evaluation.ratios(question, t.x, at)


def _along(values: Any, which: NDArray[np.intp]) -> Any:
    """The numbers of every point from those of the points that they are like."""
    return values[which] if np.ndim(values) == 2 and len(values) > 1 else values


def goal(t: Table, at: Mapping[str, Any]) -> Any:
    """What is to be small."""
    value = plain(evaluation.objective(t.question, t.x, at))
    return -value if t.question.objectives[0].maximize else value


def full(values: Any, shape: tuple[int, int]) -> Array:
    """Numbers at every point of every design."""
    return np.broadcast_to(np.asarray(plain(values), dtype=float), shape)
