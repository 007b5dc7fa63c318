"""Any question as sums of exponentials of log variables, written as plain data.

With y = log x every monomial c x^a is exp(log c + a.y), so the magnitudes of SI units disappear into
exponents. What a model divides by, raises to a power or takes a logarithm of, and what is a sum, gets a log
variable of its own with the equation "sum of exp(terms - t) = 1", which is exact in every direction. All rows
are then of order one, whatever the units.
"""

from __future__ import annotations

import contextlib
import math
import statistics
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from functools import wraps
from typing import Any

import numpy as np

from dse.models import arithmetic
from dse.models.arithmetic import CannotTake, number
from dse.system.records import dataclass
from formulations import evaluation
from formulations.arithmetics.intervals import Interval
from formulations.arithmetics.operators import Operators
from formulations.arithmetics.posynomial import NotPosynomial, Refused, refuses
from formulations.problem import variable_of
from formulations.pyomo_models.log_data import (
    GOAL,
    LogProgram,
    LogRow,
    LogVariable,
    Swept,
    Term,
    within_reach,
)
from formulations.pyomo_models.log_ranges import (
    certain_sign,
    leading,
    range_of_log,
    range_of_terms,
)
from formulations.row_keys import RowKey
from scenarios.question import Decision, Question

GOAL_END = 1e15
SIZED, GOLDEN, SMALL = 15, (math.sqrt(5.0) - 1.0) / 2.0, 1e-3
MOST_FACTORS = 8  # powers up to this are products of what may be 0 or negative


@dataclass(slots=True)
class _Builder:
    """Collects auxiliary log variables and what defines each of them; ``exact``: see ``log_program``."""

    exact: bool = True
    variables: dict[str, LogVariable] = field(default_factory=dict)
    equations: dict[str, LogRow] = field(default_factory=dict)
    maxima: dict[str, tuple[str, str]] = field(default_factory=dict)
    known: dict[tuple[Any, ...], str] = field(default_factory=dict)

    def add(self, low: float, high: float) -> str:
        """Make a new log variable with these bounds and return its name."""
        name = f"t{len(self.variables)}"
        self.variables[name] = LogVariable(name, low, high)
        return name

    def box(self) -> dict[str, Interval]:
        """Bounds of the log variables as intervals."""
        return {v.name: Interval(v.low, v.high) for v in self.variables.values()}

    def logarithm(self, x: Expression) -> str:
        """Return the log variable that is log x, made where there is none yet."""
        key = tuple((t.sign, t.constant, *sorted(t.exponents.items()), repr(t.factors)) for t in x.terms)
        if key not in self.known:
            name = self.add(*within_reach(*range_of_log(x.terms, self.box()), exact=self.exact))
            down = Term(1.0, 0.0, {name: -1.0})
            self.equations[name] = LogRow("", "", tuple(t.times(down) for t in x.terms), 1.0, True, name)
            self.known[key] = name
        return self.known[key]

    def needed(self, names: set[str]) -> set[str]:
        """``names`` and all that defines them, directly or not."""
        found, todo = set(names), list(names)
        while todo:
            name = todo.pop()
            more = set(self.maxima.get(name, ()))
            if name in self.equations:
                more |= _mentioned(self.equations[name].terms)
            todo += more - found
            found |= more
        return found


def _mentioned(terms: tuple[Term, ...]) -> set[str]:
    return {n for t in terms for part in (t.exponents, *t.factors) for n in part if n}


def _yielding(operation: Callable[..., Any]) -> Callable[..., Any]:
    """Let an operation return why it refuses; with what is refused it is left to that operand, which stays refused."""

    @wraps(operation)
    def run(a: Expression, *b: Any) -> Any:
        if any(isinstance(x, Refused) for x in b):
            return NotImplemented
        try:
            return operation(a, *b)
        except NotPosynomial as refusal:
            return Refused(str(refusal))

    return run


class Expression(Operators):
    """A quantity as a sum of terms.

    The arithmetic that a model runs on. Auxiliary variables go to ``program``.
    """

    __slots__ = ("program", "terms")
    comparison = "a comparison of unknowns has no answer"

    def __init__(self, program: _Builder, terms: tuple[Term, ...]) -> None:
        self.program = program
        self.terms = _collected(terms)

    def of(self, x: Any) -> Expression:
        """``x`` as an Expression of the same program."""
        if isinstance(x, Expression):
            return x
        c = number(x)
        return Expression(
            self.program, () if c == 0 else (Term(math.copysign(1.0, c), math.log(abs(c)), {}),)
        )

    @_yielding
    def __add__(self, other: Any) -> Any:
        return Expression(self.program, self.terms + self.of(other).terms)

    def __neg__(self) -> Any:
        return self * -1.0

    @_yielding
    def __mul__(self, other: Any) -> Any:
        pairs = ((a, b) for a in self.terms for b in self.of(other).terms)
        return Expression(self.program, tuple(a.times(b) for a, b in pairs))

    @_yielding
    def __truediv__(self, other: Any) -> Any:
        return self * self.of(other) ** -1.0

    def __rtruediv__(self, other: Any) -> Any:
        return Expression.__truediv__(self.of(other), self)

    @_yielding
    def __pow__(self, exponent: Any) -> Any:
        if isinstance(exponent, Expression):
            if certain_sign(self.terms, self.program.box()) != 1:
                raise NotPosynomial("a decided power of what may be 0 or negative")
            return exp(exponent * log(self))
        e = number(exponent)
        if e.is_integer() and 0 <= e <= 2:
            return self.of(1.0) if e == 0 else self if e == 1 else self * self
        sign = certain_sign(self.terms, self.program.box())
        if sign == -1 and e.is_integer():
            return (-self) ** e * (-1.0) ** (e % 2)
        if sign is None and e.is_integer() and 0 < e <= MOST_FACTORS:
            # a logarithm would cut away the designs at which this is 0 or negative
            return self * self ** (e - 1.0)
        if sign is None and self.program.exact:
            raise NotPosynomial(f"the power {e:g} of what may be 0 or negative")
        (t,) = self.monomial().terms
        return Expression(
            self.program, (Term(1.0, t.constant * e, {n: a * e for n, a in t.exponents.items()}),)
        )

    def __rpow__(self, base: Any) -> Any:
        return exp(self * math.log(number(base)))

    def monomial(self) -> Expression:
        """Write the same (positive) quantity as one exponential, by a log variable of its own for a sum."""
        if len(self.terms) == 1 and self.terms[0].sign > 0 and not self.terms[0].factors:
            return self
        if not self.terms:
            raise ZeroDivisionError("a model divides by zero or takes its logarithm")
        lead = leading(self.terms, self.program.box())
        rest = self if lead is None else self * Expression(self.program, (lead.inverse(),))
        name = Term(1.0, 0.0, {self.program.logarithm(rest): 1.0})
        return Expression(self.program, (name if lead is None else name.times(lead),))


def _collected(terms: tuple[Term, ...]) -> tuple[Term, ...]:
    """Terms with equal exponents and no factors added up."""
    sums: dict[tuple[tuple[str, float], ...], float] = {}
    rest = []
    for t in terms:
        if t.factors:
            rest.append(t)
            continue
        key = tuple(sorted((n, round(a, 15)) for n, a in t.exponents.items()))
        sums[key] = sums.get(key, 0.0) + t.sign * math.exp(t.constant)
    plain = (Term(math.copysign(1.0, c), math.log(abs(c)), dict(key)) for key, c in sums.items() if c != 0)
    return (*plain, *rest)


@_yielding
def log(x: Expression) -> Any:
    """Natural logarithm: linear in the log variables."""
    (t,) = x.monomial().terms
    return Expression(x.program, (Term(1.0, 0.0, {}, ({**t.exponents, "": t.constant},)),))


@_yielding
def exp(x: Expression) -> Any:
    """Exponential: a log variable that equals the expression."""
    value = range_of_terms(x.terms, x.program.box())
    name = x.program.add(*within_reach(float(value.lo), float(value.hi), exact=x.program.exact))
    own = Term(-1.0, 0.0, {}, ({name: 1.0},))
    x.program.equations[name] = LogRow("", "", (*x.terms, own), 0.0, True, name)
    return Expression(x.program, (Term(1.0, 0.0, {name: 1.0}),))


def maximum(a: Any, b: Any) -> Expression | Refused:
    """Take the larger of two quantities of which one is positive at least, exactly; refused where signs are open."""
    refused = next((x for x in (a, b) if isinstance(x, Refused)), None)
    if refused is not None:
        return refused
    first = a if isinstance(a, Expression) else b
    program = first.program
    left, right = first.of(a), first.of(b)
    known = [certain_sign(side.terms, program.box()) for side in (left, right)]
    if known[0] is None or known[1] is None:
        return Refused("the larger of two quantities that may be negative")
    if min(known[0], known[1]) < 1:
        # what is zero or negative has no logarithm, and is the larger of nothing
        return left if known[0] == 1 else right
    try:
        sides = [program.logarithm(side) for side in (left, right)]
    except NotPosynomial as refusal:
        return Refused(str(refusal))
    box = program.box()
    low, high = (
        max(float(end) for end in ends) for ends in zip(*((box[s].lo, box[s].hi) for s in sides), strict=True)
    )
    name = program.add(low, high)
    program.maxima[name] = (sides[0], sides[1])
    return Expression(program, (Term(1.0, 0.0, {name: 1.0}),))


arithmetic.log.register(Expression)(log)
arithmetic.exp.register(Expression)(exp)
arithmetic.register_maximum(Expression)(maximum)


@arithmetic.register_minimum(Expression)
def _minimum(a: Expression, b: Any) -> Any:
    # both are positive: the smaller is one over the larger of their inverses
    return 1.0 / arithmetic.maximum(1.0 / a, 1.0 / b)


refuses(Expression, "whether one number divides another, which has no logarithm", arithmetic.uneven.register)
refuses(Expression, "a step, which has no logarithm", arithmetic.register_reaches)


def log_program(
    question: Question,
    box: Mapping[str, tuple[float, float]] | None = None,
    swept: Swept | None = None,
    *,
    exact: bool = True,
) -> LogProgram:
    """Write a question as sums of exponentials by running its model's own equations.

    ``box``: SI bounds of decided variables where they are known to be tighter than domain and user's bounds.
    ``swept``: numbers that stay open. ``exact``: else what is divided by is above 0, and logarithms end at 700.
    Raises CannotTake for a choice among names, and NotPosynomial where a step decides (which quantity is larger).
    """
    program = _Builder(exact)
    for d in question.decide:
        program.variables[d.name] = _log_variable(question, d, (box or {}).get(d.name))
    x = {d.name: Expression(program, (Term(1.0, 0.0, {d.name: 1.0}),)) for d in question.decide}
    template = next(iter(x.values()))
    free = swept or Swept()
    at = evaluation.metrics(_open_question(question, program, free), x)
    rows = [
        LogRow(key.name, key.side, _open_terms(question, key, template.of(value).terms, free), 1.0)
        for key, ratio in evaluation.ratios(question, x, at).items()
        for value in [_not_refused(f"the limit {key.name} ({key.side})", ratio)]
    ]
    goal: dict[str, Any] = {}
    if question.objectives:
        goal_name = f"the objective {question.objectives[0].name}"
        wanted = template.of(_not_refused(goal_name, evaluation.objective(question, x, at)))
        size = _size(question, program)
        row, plain = _goal_row(program, wanted, goal_name, question.objectives[0].maximize, size)
        rows.append(row)
        goal = {"goal": GOAL, "sign": question.sign, "plain": plain, "size": size if plain else 1.0}
    used = program.needed({n for r in rows for n in _mentioned(r.terms)} | set(x))
    return LogProgram(
        tuple(v for v in program.variables.values() if v.name in used and v.name not in free.ranges),
        (*rows, *(r for name, r in program.equations.items() if name in used)),
        tuple((name, *sides) for name, sides in program.maxima.items() if name in used),
        **goal,
    )


def _open_question(question: Question, program: _Builder, free: Swept) -> Question:
    """Return the question with names in place of the given numbers that stay open."""
    for axis, ends in free.ranges.items():
        program.variables[axis] = LogVariable(axis, math.log(ends[0]), math.log(ends[1]))
    given: dict[str, Any] = {
        n: Expression(program, (Term(1.0, 0.0, {a: 1.0}),)) for n, a in free.given.items()
    }
    return replace(question, given={**question.given, **given}) if given else question


def _open_terms(question: Question, key: RowKey, terms: tuple[Term, ...], free: Swept) -> tuple[Term, ...]:
    """Return the terms of a limit's ratio, its bound an open number where it is one."""
    axis = free.limits.get(key)
    if axis is None:
        return terms
    sign = 1.0 if key.side == "max" else -1.0
    now = evaluation.bounds(question)[key.name][key.side == "max"]
    assert now is not None, "only a limit that is there has a bound"
    factor = Term(1.0, sign * math.log(now), {axis: -sign})
    return tuple(t.times(factor) for t in terms)


def _not_refused(what: str, x: Any) -> Any:
    if isinstance(x, Refused):
        raise NotPosynomial(f"{x.reason} (in {what})")
    return x


def _size(question: Question, program: _Builder) -> float:
    """Return a power of ten near what the objective comes to in its box where that is small, else 1.

    It is the median of some designs, since at one the objective may be 0 but for rounding. Nothing is made smaller: the
    optimum may be far below what is usual in a box, and solvers take for 0 what is.
    """
    found = []
    for k in range(SIZED):
        x = {}
        for i, d in enumerate(question.decide, 1):
            v = program.variables[d.name]
            x[d.name] = math.exp(v.low + (v.high - v.low) * math.fmod((k + 0.5) * i * GOLDEN, 1.0))
        with contextlib.suppress(ArithmeticError, ValueError, LookupError), np.errstate(all="ignore"):
            value = abs(float(evaluation.objective(question, x, evaluation.metrics(question, x))))
            found += [value] if 0.0 < value < math.inf else []
    size = statistics.median_low(found) if found else 1.0
    return 10.0 ** round(math.log10(size)) if size < SMALL else 1.0


def _goal_row(
    program: _Builder, objective: Expression, name: str, maximize: bool, size: float
) -> tuple[LogRow, bool]:
    """Make the goal variable; ``name``: what the objective is called, ``size``: by what it is divided if no logarithm.

    Return the row that keeps it above what is minimised, and whether it is not a logarithm.
    """
    value = range_of_terms(objective.terms, program.box())
    if float(value.lo) > 0:
        least = _not_refused(name, objective**-1.0) if maximize else objective
        ends = within_reach(*range_of_log(least.terms, program.box()), exact=program.exact)
        program.variables[GOAL] = LogVariable(GOAL, *ends)
        down = Term(1.0, 0.0, {GOAL: -1.0})
        return LogRow("", "", tuple(t.times(down) for t in least.terms), 1.0, own=GOAL), False
    signed = objective * ((-1.0 if maximize else 1.0) / size)
    most = GOAL_END / size
    ends = float(value.lo) / size, float(value.hi) / size
    low, high = (-ends[1], -ends[0]) if maximize else ends
    program.variables[GOAL] = LogVariable(GOAL, max(low, -most), min(high, most))
    own = Term(-1.0, 0.0, {}, ({GOAL: 1.0},))
    return LogRow("", "", (*signed.terms, own), 0.0, own=GOAL), True


def _log_variable(question: Question, d: Decision, known: tuple[float, float] | None) -> LogVariable:
    if d.choices is not None:
        raise CannotTake(f"{d.name} is a choice among names: fix it first")
    v = variable_of(question, d)
    low, high = known or (v.low, v.high)
    if d.values is not None:
        kept = tuple(v for v in d.values if low * (1 - 1e-12) <= v <= high * (1 + 1e-12)) or d.values
        return LogVariable(d.name, math.log(kept[0]), math.log(kept[-1]), values=kept)
    if d.integer:
        low, high = max(math.ceil(low - 1e-9), 1.0), max(math.floor(high * (1 + 1e-12)), 1.0)
    if low <= 0:
        raise NotPosynomial(f"the logarithm of {d.name}, which may be 0")
    return LogVariable(d.name, math.log(low), math.log(high), integer=d.integer)
