"""A problem in words: variables, objective, limits as formulas, class, method and the certificate to expect."""

from __future__ import annotations

import dataclasses
import math
import textwrap
from collections.abc import Callable, Iterator, Mapping

from dse.models.shared import validity
from dse.quantities import show
from formulations import evaluation
from formulations.arithmetics.maxima import names_in
from formulations.arithmetics.posynomial import NotPosynomial, Posynomial
from formulations.culprits import culprit
from formulations.problem import Kind, Problem, Variable
from formulations.programs.program import is_linear, product
from formulations.pyomo_models.program_text import Formulas, method, sum_text
from formulations.row_keys import RowKey
from scenarios.define.composed import definitions_of
from scenarios.define.divisors import Divisors
from scenarios.question import Question

Way = Callable[[str, str], tuple[str, str]]
EXPECT = {
    Kind.EVALUATION: ("one evaluation of the model", "none needed: nothing is decided"),
    Kind.LP: ("interior point in log variables", "optimal, lower bound from Lagrangian duality"),
    Kind.GP: (
        "interior point in log variables, where the problem is convex",
        "optimal, lower bound from Lagrangian duality",
    ),
    Kind.MILP: (
        "branch and bound on discrete values",
        "optimal, lower bounds from Lagrangian duality",
    ),
    Kind.MIGP: (
        "branch and bound on discrete values, each node a geometric program",
        "optimal, lower bounds from Lagrangian duality",
    ),
    Kind.NLP: (
        "branch and bound: monomial secants replace divisors, so each node is a geometric program",
        "optimal, lower bounds from Lagrangian duality",
    ),
    Kind.MINLP: (
        "branch and bound on discrete values and on secants, each node a geometric program",
        "optimal, lower bounds from Lagrangian duality",
    ),
}
PRODUCT = (
    "programs (HiGHS) that minimise the first factor on intervals of the second",
    "optimal, lower bound of each part from its own program",
)
SEARCHED = "feasible, never optimal; where a certified method applies, how far its answer is away"
UNPROVED = ("a sampler, design by design", "feasible, never optimal")
UNSTRUCTURED = (
    "enumeration where all is discrete; branch and bound over the numbers with which the rest is a program; else "
    "interval branch and bound; last a global solver or a sampler",
    "optimal with bound by enumeration or intervals; feasible, never optimal, from a sampler",
)
GIVEN_WIDTH = 100
FEW_MEMBERS = 8
UNBROKEN = "\xa0"


def explain(
    problem: Problem,
    *,
    full: bool = False,
    designs: int | None = None,
    way: Way | None = None,
) -> str:
    """The problem for a human, as plain text; ``full`` leaves out none of what lists and long menus add.

    ``designs``: how many combinations there are in all, where they are so few that every one is tried. ``way``: says
    how it is solved and what proves it where numbers are uncertain, from both where they are those given.
    """
    question = problem.question
    formulas = Formulas(problem.program, full=full) if problem.program is not None else None
    objective, limits = _objective_line(problem, formulas), _limit_lines(problem, formulas)
    where = formulas.where() if formulas is not None else []
    parts = [
        question.title or question.model.title,
        "",
        f"model      {question.model.name}: {question.model.title} ({question.model.source})",
        f"class      {problem.kind.value}",
        *_refusal_lines(problem),
        "",
        "variables",
        *(_variable_line(question, v) for v in problem.variables),
        *(["  none: everything is given"] if not problem.variables else []),
        "",
        "objective",
        f"  {objective}",
        "",
        "limits",
        *limits,
        "",
        *(["where", *where, ""] if where else []),
        *_defined(problem),
        "given",
        *given_lines({n: _shown_value(question, n, v) for n, v in question.given.items()}, full=full),
        "",
        *_method(problem, designs, way),
    ]
    return "\n".join(line for part in parts for text in part.split("\n") for line in wrapped(text))


def _defined(problem: Problem) -> list[str]:
    """Write every definition as the file has it, and in what is decided where it is a ratio of sums of powers."""
    every = definitions_of(problem.question.model)
    if not every:
        return []
    known = {v.name for v in problem.variables}
    lines = []
    for d in every:
        lines.append(f"  {d.name} = {d.text}")
        found = problem.known.get(d.name)
        if found is not None and known.issuperset(names_in((found.numerator, found.denominator))):
            lines.append(f"      = {_shown_fraction(found.numerator, found.denominator)}")
    return ["defined", *lines, ""]


def _refusal_lines(problem: Problem) -> list[str]:
    if not problem.refusal:
        return []
    if problem.kind is Kind.BLACK_BOX:
        return [f"           the equations are not arithmetic: {problem.refusal}"]
    start = "not a geometric program: " if problem.rows is not None else "not posynomial: "
    if is_linear(problem.question):
        start = "not linear: "
    if problem.cases:
        count = len(problem.cases)
        ways = "" if count == 1 else f"; {count} cases, one for each term that can be the largest"
        return [f"           maxima are unknowns of their own{ways}"]
    found = culprit(problem)
    return [f"           {start}{problem.refusal}", *([f"           {found}"] if found else [])]


def _method(problem: Problem, designs: int | None, way: Way | None) -> list[str]:
    asked = problem.question.search
    if asked is not None and problem.variables:
        many = "" if asked.workers == 1 else f" by {asked.workers} workers"
        text = f"{asked.trials} trials of Optuna {asked.sampler}{many}, seed {asked.seed}, as [search] asks"
        return [f"solved by  {text}", f"expect     {SEARCHED}"]
    # where all is discrete enumeration may be the shorter way
    split = problem.cases and not all(v.discrete for v in problem.variables)
    without = problem.rows is None and not split and problem.kind is not Kind.EVALUATION
    how, proof = UNSTRUCTURED if without else EXPECT[problem.kind]
    if problem.kind is Kind.BLACK_BOX:
        how, proof = UNPROVED
    if designs is not None:
        how, proof = (
            f"enumeration: every one of {designs} combinations is tried",
            "optimal, by complete enumeration",
        )
    elif problem.program is not None:
        how, proof = method(problem.program)
    elif _is_product(problem.question):
        how, proof = PRODUCT
    how, proof = (how, proof) if way is None else way(how, proof)
    return [f"solved by  {how}", f"expect     {proof}"]


def _is_product(question: Question) -> bool:
    try:
        return is_linear(question) and product(question) is not None
    except NotPosynomial:
        return False


def _shown_value(question: Question, name: str, value: float | str) -> str:
    return (
        value
        if isinstance(value, str)
        else show(float(value), evaluation.quantity(question.model, name).unit)
    )


def _variable_line(question: Question, v: Variable) -> str:
    q, d = evaluation.quantity(question.model, v.name), v.decision
    unit = q.unit
    low = show(d.minimum if d.minimum is not None else v.low, unit)
    high = show(d.maximum if d.maximum is not None else v.high, unit)
    kept = [x for x in d.values or () if (d.minimum or 0.0) <= x <= (d.maximum or math.inf)]
    if q.menu:
        return f"  {v.name}: one of {', '.join(q.menu[round(x) - 1] for x in kept)}"
    if kept and not d.endless:
        what = "divisors" if isinstance(d.menu, Divisors) else "values"
        return f"  {v.name}: one of {len(kept)} {what}, {show(kept[0], unit)} … {show(kept[-1], unit)}"
    kind = "whole number" if d.integer else f"one of {len(kept)} values" if d.values is not None else "real"
    whose = (
        ""
        if d.maximum is not None or v.real_high
        else " (the upper end is the box of the search, not a limit)"
    )
    return f"  {v.name}: {kind} in {low} … {high}{whose}"


def _objective_line(problem: Problem, formulas: Formulas | None = None) -> str:
    if not problem.question.objectives:
        return "none: any design that meets all limits"
    more = problem.question.objectives[1:]
    if more:
        further = ", ".join(f"{'maximise' if o.maximize else 'minimise'} {o.name}" for o in more)
        first = dataclasses.replace(problem.question, objectives=problem.question.objectives[:1])
        alone = _objective_line(dataclasses.replace(problem, question=first), formulas)
        return f"{alone}\n  and {further}: a Pareto front, each point with limits on the others"
    wanted = problem.question.objectives[0]
    verb = "maximise" if wanted.maximize else "minimise"
    if formulas is not None:
        return f"{verb} {wanted.name} = {formulas.objective()}"
    if problem.goal is None:
        return f"{verb} {wanted.name}"
    top, bottom = problem.goal.numerator, problem.goal.denominator
    if wanted.maximize:
        top, bottom = bottom, top
    fraction = _shown_fraction(top, bottom)
    return f"{verb} {wanted.name} = {f'log2({fraction})' if problem.goal.log2 else fraction}"


def _limit_lines(problem: Problem, formulas: Formulas | None = None) -> list[str]:
    question = problem.question
    lines = []
    for name, (low, high) in evaluation.bounds(question).items():
        unit = evaluation.quantity(question.model, name).unit
        for side, end, sign in (("min", low, "≥"), ("max", high, "≤")):
            if end is not None:
                lines.append(
                    f"  {name} {sign} {show(end, unit)}{_as_row(problem, RowKey(name, side), formulas)}"
                )
    known = {r.key for r in problem.rows or ()}
    if problem.program is not None:
        known = {k for k in problem.program.keys if k is not None}
    for own in question.model.limits:
        key = RowKey(own.name, "model")
        stated = problem.rows is not None or problem.program is not None
        if stated and key not in known and own.name not in question.waive:
            continue
        waived = " (waived by the scenario)" if own.name in question.waive else ""
        held = "as asked" if own.name.startswith(validity.PREFIX) else "always applies"
        formula = _as_row(problem, key, formulas)
        lines.append(f"  {own.name}: {own.formula}, {held}{waived}{formula}")
    return lines or ["  none"]


def _as_row(problem: Problem, key: RowKey, formulas: Formulas | None) -> str:
    if formulas is not None:
        decided = key.name in {v.name for v in problem.variables}
        row_text = "" if decided else formulas.limit(key)
        return f"\n      {row_text}" if row_text else ""
    row = next((r for r in problem.rows or () if r.key == key), None)
    if row is None or key.name in {v.name for v in problem.variables}:
        return ""
    return f"\n      {_shown_sum(row.numerator)} ≤ {_shown_sum(row.denominator)}"


def _shown_fraction(top: Posynomial, bottom: Posynomial) -> str:
    if len(bottom.terms) == 1 and () in bottom.terms and math.isclose(bottom.terms[()], 1.0):
        return _shown_sum(top)
    return f"({_shown_sum(top)}) / ({_shown_sum(bottom)})"


def _shown_sum(p: Posynomial) -> str:
    powers = {key: "·".join(name if e == 1 else f"{name}^{e:.4g}" for name, e in key) for key in p.terms}
    return sum_text([(c, powers[key]) for key, c in p.terms.items()])


def given_lines(values: Mapping[str, str], *, full: bool) -> Iterator[str]:
    """Go through lines of at most ``GIVEN_WIDTH`` columns that say what is given; ``values``: as text, by name.

    Lists of more than a few rows are told by the names of their rows; ``full`` tells all their numbers.
    """
    rows: dict[str, dict[str, str]] = {}
    for name, value in values.items():
        row, _, key = name.rpartition(".") if name.count(".") > 1 else ("", "", name)
        rows.setdefault(row, {})[key] = value
    lists: dict[str, list[str]] = {}
    for row in rows:
        lists.setdefault(row.partition(".")[0], []).append(row)
    for start, members in lists.items():
        if not start:
            yield from (f"  {name} = {value}" for name, value in rows[""].items())
        elif full or len(members) <= FEW_MEMBERS:
            for row in members:
                numbers = ", ".join(
                    f"{key} = {value}".replace(" ", UNBROKEN) for key, value in rows[row].items()
                )
                yield from (line.replace(UNBROKEN, " ") for line in wrapped(f"  {row}: {numbers}"))
        else:
            names = ", ".join(row.partition(".")[2] for row in members)
            yield from wrapped(f"  {start}: {len(members)} rows of numbers (--full shows them): {names}")


def wrapped(line: str) -> list[str]:
    """Break a line that is too long, the rest of it further in than its start."""
    start = line[: len(line) - len(line.lstrip())]
    return (
        textwrap.wrap(
            line,
            GIVEN_WIDTH,
            subsequent_indent=f"{start}    ",
            break_long_words=False,
            break_on_hyphens=False,
        )
        if len(line) > GIVEN_WIDTH
        else [line]
    )
