"""Categorical decisions: every combination is a question of its own; the best answer wins, the others are told."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from dse.quantities import plural
from dse.system.arrays import Indices
from formulations.tolerances import TIE
from results.solution import Alternative, Solution, Status
from results.telling.facts import NextBest
from scenarios.question import Question, combinations
from solvers import designs, judgement, side_by_side
from solvers.mechanisms import parts
from solvers.mechanisms.why import Why, explained, over_choices, remembered
from solvers.outcome import ENUMERATION

__all__ = ["best_of", "categorical", "combinations"]

GOOD = (Status.OPTIMAL, Status.FEASIBLE, Status.EVALUATED)
MENTIONED = 3
"""Proofs that are told, of choices that are proved impossible in different ways."""


def categorical(question: Question) -> bool:
    """Tell whether any decision is a choice among names."""
    return any(d.choices is not None for d in question.decide)


def best_of(
    question: Question,
    brief: Callable[[Question], Solution],
    whole: Callable[[Question], Solution],
    why: Callable[[Question], Why] | None,
    changes: Callable[[Sequence[Question], Solution], Solution | None] | None = None,
) -> Solution:
    """Answer every combination and hand out the best, with all of them as ``alternatives``.

    ``brief`` answers without explanations, which only the best one gets from ``whole``. The bound is that of all
    choices: one that is not closed may be left where its own bound is worse than the best. ``why``: what tells why a
    choice has no design (None: that is not wanted). ``changes``: adds to an answer the next changes that the other
    choices bring (None where these are not known); with it, why there is no design is told of every such choice.
    """
    asked = list(combinations(question))
    why = None if why is None else _once_each(why)
    answered = side_by_side.run([partial(brief, q) for _, q in asked])
    values, _ = parts.of_one(question, [(s.status, s.objective, s.bound) for s in answered])
    number = int(values.argmin())
    if question.ties and question.objectives:
        alike = np.flatnonzero(parts.tied(values, TIE))
        number = _first_of_tied_choices(question, alike, number, lambda k: whole(asked[k][1]))
    choice, best = asked[number][0], answered[number]
    if best.status in (Status.OPTIMAL, Status.FEASIBLE):
        best = whole(asked[number][1])
    alternatives = _alternatives(asked, answered, why if changes is not None else None)
    best = _with_bound_of_all(question, best, [*answered[:number], best, *answered[number + 1 :]])
    status = best.status
    told_of = f"{plural(len(answered), 'choice')}, each answered by itself"
    if status is Status.INFEASIBLE:
        return _without_design([q for _, q in asked], answered, alternatives, why)
    if status is Status.ERROR:
        named = ", ".join(f"{n} = {v}" for n, v in choice.items())
        text = f"none of {told_of}, is known to have a design; the message is that of {named}; {best.certificate}"
        return dataclasses.replace(best, status=status, alternatives=alternatives, certificate=text)
    text = f"best of {told_of}; {best.certificate}" if len(answered) > 1 else best.certificate
    if changes is not None and status is Status.OPTIMAL and question.objectives:
        others = [q for k, (_, q) in enumerate(asked) if k != number]
        listed = best.solver == ENUMERATION or not best.variables
        told = changes(others, best) if listed else None
        if told is None and (listed or any(state.next_change is not None for state in best.limits.values())):
            text = f"{text}; next changes are those of this choice: another choice may be better before"
        best = told or best
    variables = {**choice, **best.variables}
    rest = [(c, s) for k, ((c, _), s) in enumerate(zip(asked, answered, strict=True)) if k != number]
    following = _next_best(question, best, rest, choice)
    return dataclasses.replace(
        best,
        status=status,
        variables=variables,
        alternatives=alternatives,
        certificate=text,
        next_best=following,
    )


def _once_each(why: Callable[[Question], Why]) -> Callable[[Question], Why]:
    """The same, where a choice is asked by itself and beside all others: its sets are asked once."""
    told: dict[int, Why] = {}

    def one(question: Question) -> Why:
        # the combinations stay as they are as long as this is asked
        if id(question) not in told:
            told[id(question)] = remembered(why(question))
        return told[id(question)]

    return one


def _with_bound_of_all(question: Question, best: Solution, every: Sequence[Solution]) -> Solution:
    """The best answer with the bound of ``every`` choice; it is optimal where that closes its gap."""
    if best.status not in GOOD or not question.objectives:
        return best
    if best.status is Status.EVALUATED:
        best = dataclasses.replace(
            best, status=Status.OPTIMAL, certificate="evaluated; nothing else was decided"
        )
    values, bounds = parts.of_one(question, [(s.status, s.objective, s.bound) for s in every])
    bound = question.sign * float(parts.bound_of_all(values < np.inf, bounds))
    if math.isnan(bound):
        return dataclasses.replace(best, status=Status.FEASIBLE, bound=None, gap=None)
    gap = float(judgement.relative_gap(best.objective, bound))
    closed = best.status is Status.OPTIMAL and gap <= question.gap
    status = Status.OPTIMAL if closed else Status.FEASIBLE
    return dataclasses.replace(best, status=status, bound=bound, gap=gap)


def _alternatives(
    asked: Sequence[tuple[Mapping[str, str], Question]],
    answered: Sequence[Solution],
    why: Callable[[Question], Why] | None,
) -> tuple[Alternative, ...]:
    """All choices with what came of them, and where ``why`` tells it with the limits of each that conflict."""

    def conflict(question: Question, s: Solution) -> Mapping[str, float | None]:
        if why is None or s.status is not Status.INFEASIBLE:
            return s.conflict
        return explained(why(question), first=True).feasible_values

    clashes = side_by_side.run([partial(conflict, q, s) for (_, q), s in zip(asked, answered, strict=True)])
    return tuple(
        Alternative(c, s.status, s.objective, clash)
        for (c, _), s, clash in zip(asked, answered, clashes, strict=True)
    )


def _without_design(
    asked: Sequence[Question],
    answered: Sequence[Solution],
    alternatives: tuple[Alternative, ...],
    why: Callable[[Question], Why] | None,
) -> Solution:
    """Say that no choice has a design, and which limits conflict under every one of them."""
    proofs = tuple(dict.fromkeys(s.certificate for s in answered if s.certificate))
    none = f"none of {len(asked)} choices, each answered by itself, has a design"
    texts = [*([none] if len(asked) > 1 else ()), *proofs[:MENTIONED]]
    first = answered[0]
    limits = {n: state for q in reversed(asked) for n, state in judgement.asked_limits(q).items()}
    if why is None:
        conflict, conflicts = first.conflict, first.conflicts
        if conflicts:
            texts.append(
                "conflicts and values are those of the first choice alone, and another may need less"
            )
    else:
        clash = explained(over_choices([why(q) for q in asked]))
        conflict, conflicts = clash.feasible_values, clash.minimal
        texts += [
            clash.certificate,
            "limits conflict if they do under every choice; a value is sufficient if it is under one choice",
        ]
    # numbers of a choice that is evaluated, and breaks a limit, are not those of the question
    return Solution(
        Status.INFEASIBLE,
        limits=limits,
        conflict=conflict,
        conflicts=conflicts,
        alternatives=alternatives,
        certificate="; ".join(filter(None, texts)),
        solver=first.solver,
    )


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
    found = [] if best.next_best is None else [_next_best_with_names(choice, best.next_best)]
    for other, s in others:
        if s.status is Status.INFEASIBLE:
            continue
        if s.objective is None or s.status not in (Status.OPTIMAL, Status.EVALUATED):
            return None
        if not designs.as_good(s.objective, best.objective):
            found.append(NextBest({**other, **s.variables}, s.objective))
        elif s.next_best is not None:
            found.append(_next_best_with_names(other, s.next_best))
        elif s.variables and s.solver != ENUMERATION:
            return None
    return min(found, key=lambda n: question.sign * n.objective, default=None)


def _next_best_with_names(choice: Mapping[str, str], found: NextBest) -> NextBest:
    return dataclasses.replace(found, variables={**choice, **found.variables})


def _first_of_tied_choices(
    question: Question, alike: Indices, best: int, whole: Callable[[int], Solution]
) -> int:
    """Return which of the choices that are as good as the best one the file's order of ties prefers."""
    if len(alike) <= 1:
        return best
    told = [(k, s) for k in map(int, alike) if (s := whole(k)).status in GOOD]
    numbers = [
        {n: np.array([v]) for n, v in {**s.variables, **s.metrics}.items() if not isinstance(v, str)}
        for _, s in told
    ]
    # what else the choices leave to decide settles nothing between them: the first one is handed out
    rule = dataclasses.replace(question, decide=())
    place = int(designs.first_by_rule(rule, numbers, np.ones((len(told), 1), bool))[0])
    return told[place][0] if told else best
