"""Categorical decisions: every combination is a question of its own; the best answer wins, the others are told."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from formulations.tolerances import TIE
from results.solution import Alternative, Solution, Status
from results.telling.facts import NextBest
from scenarios.question import Question, combinations
from solvers import side_by_side
from solvers.outcome import ENUMERATION

__all__ = ["best_of", "categorical", "combinations"]

GOOD = (Status.OPTIMAL, Status.FEASIBLE, Status.EVALUATED)
RANK = (Status.UNBOUNDED, Status.OPTIMAL, Status.ERROR, Status.INFEASIBLE)


def categorical(question: Question) -> bool:
    """Tell whether any decision is a choice among names."""
    return any(d.choices is not None for d in question.decide)


def best_of(
    question: Question, brief: Callable[[Question], Solution], whole: Callable[[Question], Solution]
) -> Solution:
    """Answer every combination and hand out the best, with all of them as ``alternatives``.

    ``brief`` answers without explanations, which only the best one gets from ``whole``. A bound holds for the
    whole question only where every other choice is proved worse or impossible.
    """
    asked = list(combinations(question))
    briefs = side_by_side.run([partial(brief, q) for _, q in asked])
    answered = [(choice, s) for (choice, _), s in zip(asked, briefs, strict=True)]
    maximize = bool(question.objectives) and question.objectives[0].maximize

    def order(item: tuple[Mapping[str, str], Solution]) -> tuple[int, float]:
        s = item[1]
        value = s.objective if s.objective is not None else 0.0
        if s.status is Status.INFEASIBLE:
            return RANK.index(s.status), _least_change(s)
        proven = Status.OPTIMAL if s.status in (Status.FEASIBLE, Status.EVALUATED) else s.status
        return RANK.index(proven), -value if maximize else value

    number = min(range(len(answered)), key=lambda k: order(answered[k]))
    if question.ties:
        number = _tied(question, [s for _, s in answered], number, lambda k: whole(asked[k][1]))
    choice, best = answered[number]
    unexplained = best.status is Status.INFEASIBLE and not best.conflicts
    if best.status in (Status.OPTIMAL, Status.FEASIBLE) or unexplained:
        best = whole(asked[number][1])
    told = tuple(Alternative(c, s.status, s.objective, s.conflict) for c, s in answered)
    unsure = any(s.status in (Status.ERROR, Status.FEASIBLE) for _, s in answered)
    status = Status.FEASIBLE if best.status is Status.OPTIMAL and unsure else best.status
    if best.status is Status.EVALUATED and question.objectives:
        best = dataclasses.replace(best, bound=best.objective, gap=0.0, certificate="every choice evaluated")
        status = Status.OPTIMAL
    told_of = f"{len(answered)} choices, each answered by itself"
    if status in (Status.INFEASIBLE, Status.ERROR):
        # nothing is chosen; what is shown is why one of them has no design
        named = ", ".join(f"{n} = {v}" for n, v in choice.items())
        near = math.isfinite(_least_change(best))
        which = "which needs the least change of one limit" if near else "and another choice may need less"
        text = f"none of {told_of}, has a design; conflicts and values are those of {named} alone, {which}; "
        text += best.certificate
        return dataclasses.replace(best, status=status, alternatives=told, certificate=text)
    text = f"best of {told_of}; {best.certificate}"
    variables = {**choice, **best.variables}
    following = _next_best(question, best, [a for k, a in enumerate(answered) if k != number], choice)
    return dataclasses.replace(
        best,
        status=status,
        variables=variables,
        alternatives=told,
        certificate=text,
        next_best=following,
    )


def _least_change(s: Solution) -> float:
    """Return by how much, as the logarithm of a ratio, the limit has to move that alone makes a choice feasible."""
    found = [math.inf]
    for name, needed in s.conflict.items():
        asked = [s.limits[n].bound for n in (name, f"{name}.min") if n in s.limits]
        if s.divisions.get(name) is None and needed and needed > 0:
            # of a model's own limit what is needed is the factor that it is missed by
            found += [abs(math.log(needed / b)) for b in asked or [1.0] if b > 0]
    return min(found)


def _next_best(
    question: Question,
    best: Solution,
    others: Sequence[tuple[Mapping[str, str], Solution]],
    choice: Mapping[str, str],
) -> NextBest | None:
    """Return the next better design over all choices; None unless all of them say which theirs is.

    What is as good as the best is no next better one: of such a choice the design behind it is.
    """
    if best.objective is None or (best.variables and best.solver != ENUMERATION):
        return None
    maximize = question.objectives[0].maximize
    found = [] if best.next_best is None else [_joined(choice, best.next_best)]
    for other, s in others:
        if s.status is Status.INFEASIBLE:
            continue
        if s.objective is None or s.status not in (Status.OPTIMAL, Status.EVALUATED):
            return None
        if abs(s.objective - best.objective) > TIE * abs(best.objective):
            found.append(NextBest({**other, **s.variables}, s.objective))
        elif s.next_best is not None:
            found.append(_joined(other, s.next_best))
        elif s.variables and s.solver != ENUMERATION:
            return None
    return min(found, key=lambda n: -n.objective if maximize else n.objective, default=None)


def _joined(choice: Mapping[str, str], told: NextBest) -> NextBest:
    return dataclasses.replace(told, variables={**choice, **told.variables})


def _tied(
    question: Question, answered: Sequence[Solution], best: int, whole: Callable[[int], Solution]
) -> int:
    """Return which of the choices that are as good as the best one the file's order of ties prefers."""
    value = answered[best].objective
    if value is None or answered[best].status not in GOOD:
        return best
    alike = [
        k
        for k, s in enumerate(answered)
        if s.status in GOOD and s.objective is not None and abs(s.objective - value) <= TIE * abs(value)
    ]
    if len(alike) == 1:
        return best
    designs = {k: whole(k) for k in alike}
    left = [k for k in alike if designs[k].status in GOOD]
    for name in question.tie_order:
        levels = {k: {**designs[k].variables, **designs[k].metrics}.get(name) for k in left}
        known = {k: float(v) for k, v in levels.items() if v is not None and not isinstance(v, str)}
        if len(known) == len(left) and known:
            least = min(known.values())
            left = [k for k in left if known[k] <= least + TIE * abs(least)]
    return left[0] if left else best
