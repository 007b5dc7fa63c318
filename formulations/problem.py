"""A question turned into mathematics: variables, goal, rows, and the class its own arithmetic shows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from enum import StrEnum
from typing import Any

import numpy as np

from dse.system.records import dataclass
from formulations import evaluation
from formulations.arithmetics import maxima, posynomial
from formulations.arithmetics.many import plain
from formulations.arithmetics.posynomial import LogMonomial, NotPosynomial, Posynomial, Ratio, symbol
from formulations.programs.program import Program, Run, is_linear, program, run_again
from formulations.row_keys import RowKey
from scenarios.question import Decision, Question

LARGER = "the larger of two unknown quantities"  # why maxima are not ratios of posynomials as they stand


class Kind(StrEnum):
    """The class of a problem."""

    EVALUATION = "evaluation"
    LP = "LP"
    MILP = "MILP"
    GP = "GP"
    MIGP = "MIGP"
    NLP = "NLP"
    MINLP = "MINLP"
    BLACK_BOX = "black box"


WHOLE = {Kind.LP: Kind.MILP, Kind.GP: Kind.MIGP, Kind.NLP: Kind.MINLP}
"""The classes of problems some of whose variables are discrete."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A decided number: its domain box (SI, positive) and which ends of it are the domain's own.

    ``real_low`` / ``real_high``: the end is mathematical (one processor), not merely there to have a box.
    ``auxiliary``: it stands for a maximum and is nobody's decision. ``divided_low``: of a whole number that may be let
    go, the least it is then.
    """

    name: str
    low: float
    high: float
    real_low: bool
    real_high: bool
    decision: Decision
    auxiliary: bool = False
    divided_low: float | None = None

    @property
    def discrete(self) -> bool:
        """Whole numbers or listed values only."""
        return self.decision.integer or self.decision.values is not None


@dataclass(frozen=True, slots=True)
class Row:
    """A limit as ``numerator <= denominator``; coefficients include the limit's value."""

    key: RowKey
    numerator: Posynomial
    denominator: Posynomial


@dataclass(frozen=True, slots=True)
class Goal:
    """Minimise numerator/denominator; ``sign`` and ``log2`` lead back to the user's objective.

    objective = (numerator/denominator)^sign, or sign * log2(numerator/denominator) where ``log2``.
    """

    name: str
    numerator: Posynomial
    denominator: Posynomial
    sign: int = 1
    log2: bool = False

    def to_user(self, log_value: Any) -> Any:
        """The user's objective from the logarithm of what is minimised: a number, or an array of them."""
        if self.log2:
            return no_halvings(self.sign * log_value / math.log(2.0))
        return np.exp(np.minimum(self.sign * log_value, 700.0))


def no_halvings(value: Any) -> Any:
    """A logarithm that is zero but for rounding is zero: a relative gap would be meaningless there."""
    return value * (np.abs(value) >= 1e-9) + 0.0


@dataclass(frozen=True, slots=True)
class Problem:
    """The mathematics of one question.

    ``rows`` is None where the arithmetic refused to be posynomial; ``refusal`` then says why. ``refusal`` is also
    set for ratios whose denominator is a sum (the problem is signomial, not a GP). ``cases``: where only maxima
    stand in the way, problems with ``rows`` whose designs together are those of the question; their auxiliary
    variables stand for the maxima, and the rows that say so have the side ``maxima.SIDE``. ``known``: every metric and
    decided variable that is a ratio of posynomials (``symbols``). ``by_reach``: what ``reaching`` has returned.
    """

    question: Question
    kind: Kind
    variables: tuple[Variable, ...]
    goal: Goal | None
    rows: tuple[Row, ...] | None
    refusal: str = ""
    program: Program | None = None
    cases: tuple[Problem, ...] = ()
    known: Mapping[str, Ratio] = field(default_factory=dict)
    by_reach: dict[float, Problem] = field(default_factory=dict, compare=False, repr=False)

    @property
    def aim(self) -> Goal:
        """What is minimised, of a problem with an objective."""
        assert self.goal is not None, "only what has an objective is minimised"
        return self.goal

    @property
    def structured(self) -> bool:
        """Whether it is anything beside a question for intervals."""
        return self.rows is not None or self.program is not None or bool(self.cases)


Stated = tuple[maxima.Maxima, Mapping[str, Ratio], Goal | None, tuple[Row, ...]]
"""The maxima that a model has taken, what is known by name, goal and rows."""


def formulate(question: Question, *, searched: bool = False) -> Problem:
    """Recognise the class of a question by running its model on symbols.

    Of several objectives the first is minimised. ``searched``: see ``program.program``. Categorical choices must be
    fixed beforehand. Ends that only a search has are far away unless it is convex (see ``evaluation.farthest``).
    """
    if not (variables := _variables(question)):
        return Problem(question, Kind.EVALUATION, (), None, None)
    if question.model.black_box:
        return Problem(question, Kind.BLACK_BOX, variables, None, None, f"it {question.model.black_box}")
    if is_linear(question):
        return _linear_problem(question, variables, searched=searched)
    try:
        stated = _, known, goal, rows = _with_maxima(question)
        cases = _cases(question, stated)
    except NotPosynomial as refusal:
        return _without_structure(question, refusal)
    if cases:
        asked, variables = cases[0].question, tuple(v for v in cases[0].variables if not v.auxiliary)
        kind = cases[0].kind if len(cases) == 1 else kind_of(variables, Kind.NLP)
        limits = [f"limit {r.key.name} ({r.key.side})" for r in rows if _holds_maximum(r)]
        why = f"the {[*limits, f'objective {goal and goal.name}'][0]} holds {LARGER}"
        return Problem(asked, kind, variables, None, None, why, cases=cases, known=known)
    refusal_text = _signomial(goal, rows)
    kind = kind_of(variables, Kind.LP if _affine(goal, rows) else Kind.NLP if refusal_text else Kind.GP)
    asked = evaluation.farthest(question) if refusal_text or kind in WHOLE.values() else question
    return Problem(asked, kind, _variables(asked), goal, rows, refusal_text, known=known)


def kind_of(variables: Sequence[Variable], continuous: Kind) -> Kind:
    """Return the class of a problem with these variables; ``continuous``: the one that it has if none is discrete."""
    return WHOLE[continuous] if any(v.discrete for v in variables) else continuous


def _without_structure(question: Question, refusal: NotPosynomial) -> Problem:
    variables = _variables(far := evaluation.farthest(question))
    return Problem(far, kind_of(variables, Kind.NLP), variables, None, None, str(refusal))


def reaching(problem: Problem, reach: float) -> Problem:
    """Return the same question (of its first objective) with the ends that only a search has so many times farther out.

    A program is one for a search, for which the model does not run again: only these ends depend on their distance.
    """
    question, known = replace(problem.question, reach=reach), problem.by_reach
    if problem.program is None:
        return formulate(question)
    known.setdefault(problem.question.reach, problem)
    if reach not in known:
        made = _linear_problem(question, _variables(question), problem.program.run, searched=True)
        known[reach] = replace(made, by_reach=known)
    return known[reach]


def _linear_problem(
    question: Question, variables: tuple[Variable, ...], known: Run | None = None, *, searched: bool = False
) -> Problem:
    try:
        made = program(question, known or run_again(question), searched=searched)
    except NotPosynomial as refusal:
        return _without_structure(question, refusal)
    kind = Kind.MILP if made.integer.any() else Kind.LP
    return Problem(question, kind, variables, None, None, program=made)


def symbols(question: Question) -> dict[str, Ratio]:
    """Run the model on symbols: every metric and decided variable that is a ratio of posynomials, by name.

    Maxima are unknowns of their own, as in the ``cases`` of a problem.
    """
    x = {d.name: symbol(d.name) for d in question.decide}
    with maxima.named():
        return _ratios(x, evaluation.metrics(question, x))


def _ratios(x: Mapping[str, Ratio], at: Mapping[str, Any]) -> dict[str, Ratio]:
    return {n: v for n, v in {**x, **at}.items() if isinstance(v, Ratio)}


def moved(case: Problem, question: Question) -> tuple[Goal | None, tuple[Row, ...]]:
    """Return goal and rows of a case at other given numbers: the same maxima, held in the same way."""
    taken, _, goal, rows = _with_maxima(question)
    every = {r.key: r for r in (*rows, *(Row(key, *pair) for key, pair in taken.rows().items()))}
    return goal, tuple(every[r.key] for r in case.rows or ())


def at_many(first: Sequence[Problem], question: Question) -> tuple[Problem, ...]:
    """Return the cases of a question of many points; ``first``: those at one of them.

    A term that is the largest nowhere is a case, too: it may be elsewhere. What has no maxima is its own case. None
    where the question has another structure than ``first``, or maxima near where floats end.
    """
    try:
        stated = taken, known, goal, rows = _with_maxima(question)
    except NotPosynomial:
        return ()
    decide = {d.name: replace(d, minimum=plain(d.minimum), maximum=plain(d.maximum)) for d in question.decide}
    variables = [replace(v, decision=decide[v.name]) for v in first[0].variables if not v.auxiliary]
    if len(variables) == len(first[0].variables):
        same = goal is not None and [r.key for r in rows] == [r.key for r in first[0].rows or ()]
        if not same or any(map(_holds_maximum, _stated(goal, rows))):
            return ()
        return (Problem(question, first[0].kind, tuple(variables), goal, rows, known=known),)
    with np.errstate(all="ignore"), suppress(NotPosynomial):  # what is no number at a point is left out
        ends = taken.boxes({v.name: _widest(v) for v in variables}, decide.values())
        cases = tuple(_case(question, stated, variables, way, ends) for way in _ways(question, stated))
        found = [{r.key for r in case.rows or ()} for case in cases]
        return cases if all({r.key for r in case.rows or ()} in found for case in first) else ()
    return ()


def _widest(v: Variable) -> tuple[Any, Any]:
    """The box of a variable, with all that the user allows at any of its points."""
    least, most = v.decision.minimum, v.decision.maximum
    low = v.low if least is None else np.where(np.asarray(least) > 0, np.minimum(v.low, least), v.low)
    return low, v.high if most is None else np.maximum(v.high, most)


def _with_maxima(question: Question) -> Stated:
    """Run the model on symbols, its maxima unknowns of their own."""
    x = {d.name: symbol(d.name) for d in question.decide}
    with maxima.named() as taken:
        at = evaluation.metrics(question, x)
        goal, rows = _goal_and_rows(question, x, at)
    if goal is not None:
        goal = Goal(goal.name, *maxima.split((goal.numerator, goal.denominator)), goal.sign, goal.log2)
    split = tuple(Row(r.key, *maxima.split((r.numerator, r.denominator))) for r in rows)
    return taken, _ratios(x, at), goal, split


def _cases(question: Question, stated: Stated) -> tuple[Problem, ...]:
    """One problem per way the maxima of goal and rows can be held; none where there are no maxima in them."""
    taken, _, goal, rows = stated
    if not any(map(_holds_maximum, _stated(goal, rows))):
        return ()
    ways = _ways(question, stated)

    def made(asked: Question) -> tuple[Problem, ...]:
        variables = _variables(asked)
        ends = taken.boxes({v.name: (v.low, v.high) for v in variables}, asked.decide)
        return tuple(_case(asked, stated, variables, way, ends) for way in ways)

    cases = made(question)
    return cases if [case.kind for case in cases] == [Kind.GP] else made(evaluation.farthest(question))


def _ways(question: Question, stated: Stated) -> list[maxima.Alternative]:
    """Every way the maxima of goal and rows can be held, and of what ties turn on."""
    taken, known, goal, rows = stated
    pairs = [(one.numerator, one.denominator) for one in _stated(goal, rows)]
    wished = [
        maxima.split((known[n].numerator, known[n].denominator)) for n in question.tie_order if n in known
    ]
    return maxima.alternatives(taken, pairs, wished)


def _stated(goal: Goal | None, rows: tuple[Row, ...]) -> tuple[Row | Goal, ...]:
    return rows if goal is None else (*rows, goal)


def _holds_maximum(stated: Row | Goal) -> bool:
    return any(maxima.is_maximum(name) for name in maxima.names_in((stated.numerator, stated.denominator)))


def _case(
    question: Question,
    stated: Stated,
    variables: Sequence[Variable],
    way: maxima.Alternative,
    ends: maxima.Boxes,
) -> Problem:
    _, known, goal, rows = stated
    more = tuple(Variable(n, *ends(n), False, False, Decision(n), auxiliary=True) for n in way.names)
    every = (*rows, *(Row(key, *pair) for key, pair in way.rows.items()))
    refusal = _signomial(goal, every)
    kind = kind_of(variables, Kind.NLP if refusal else Kind.GP)
    return Problem(question, kind, (*variables, *more), goal, every, refusal, known=known)


def _variables(question: Question) -> tuple[Variable, ...]:
    return tuple(variable_of(question, d) for d in question.decide)


def farther(variables: Sequence[Variable]) -> tuple[Variable, ...]:
    """Return variables with the ends that are only there to have a box where floats end."""
    return tuple(_farther(v) if v.decision.endless or not v.decision.values else v for v in variables)


def _farther(v: Variable) -> Variable:
    low = v.low if v.real_low else np.minimum(v.low, evaluation.LEAST_FLOAT)
    high = v.high if v.real_high else np.maximum(v.high, evaluation.LARGEST_FLOAT)
    every = evaluation.with_all_powers(v.decision, (not v.real_low, not v.real_high))
    divided = None if v.divided_low is None else min(v.divided_low, evaluation.LEAST_FLOAT)
    return replace(v, low=low, high=high, decision=every, divided_low=divided)


def variable_of(question: Question, d: Decision) -> Variable:
    """A decided number in the box of its domain, as far as the user allows more."""
    box = evaluation.box(question, d.name)
    low, high = box.low, box.high
    if d.minimum is not None and d.minimum > 0:
        low = min(low, d.minimum)
    if d.maximum is not None:
        high = max(high, d.maximum)
    divided = evaluation.divided_low(question, d)
    return Variable(d.name, low, high, not box.searched[0], not box.searched[1], d, divided_low=divided)


def symbolic(question: Question) -> tuple[Goal | None, tuple[Row, ...]]:
    """Goal and rows of a question, its numbers plain or arrays; raises NotPosynomial where there is more to it."""
    x = {d.name: symbol(d.name) for d in question.decide}
    return _goal_and_rows(question, x, evaluation.metrics(question, x))


def _goal_and_rows(
    question: Question, x: Mapping[str, Ratio], at: Mapping[str, Any]
) -> tuple[Goal | None, tuple[Row, ...]]:
    rows = []
    for key, value in evaluation.ratios(question, x, at).items():
        if isinstance(value, float) and math.isinf(value):
            raise NotPosynomial(f"the limit {key.name} ({key.side}) cannot hold")
        r = _ratio_of(f"the limit {key.name} ({key.side})", value)
        if r.numerator.terms:
            rows.append(Row(key, r.numerator, r.denominator))
    if not question.objectives:
        return None, tuple(rows)
    wanted = question.objectives[0]
    value = evaluation.objective(question, x, at)
    log2 = isinstance(value, LogMonomial)
    r = value.monomial if isinstance(value, LogMonomial) else _ratio_of(f"the objective {wanted.name}", value)
    if wanted.maximize and r.numerator.terms:
        r = r.inverse()
    return Goal(wanted.name, r.numerator, r.denominator, -1 if wanted.maximize else 1, log2), tuple(rows)


def _ratio_of(what: str, value: Any) -> Ratio:
    try:
        return posynomial.ratio(value)
    except NotPosynomial as refusal:
        raise NotPosynomial(f"{what} holds {refusal}") from None


def _signomial(goal: Goal | None, rows: tuple[Row, ...]) -> str:
    """Why the problem is not a geometric program, in the user's names; empty where it is one."""
    reasons = [
        f"the limit {r.key.name} ({r.key.side}) divides by a sum of {len(r.denominator.terms)} terms"
        for r in rows
        if not r.denominator.is_monomial
    ]
    if goal is not None and not goal.denominator.is_monomial:
        way = "maximising" if goal.sign < 0 else "minimising"
        reasons.insert(0, f"{way} {goal.name} divides by a sum of {len(goal.denominator.terms)} terms")
    return "; ".join(reasons)


def _affine(goal: Goal | None, rows: tuple[Row, ...]) -> bool:
    """Linear as it stands; an objective must be an affine metric."""
    if goal is None or goal.log2:
        return False
    metric, rest = (goal.numerator, goal.denominator) if goal.sign > 0 else (goal.denominator, goal.numerator)
    sides = (side for r in rows for side in posynomial.linear_row(r.numerator, r.denominator))
    return metric.is_affine and rest.same_as(posynomial.ONE) and all(side.is_affine for side in sides)
