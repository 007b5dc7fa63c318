"""Models of a user's own whose equations are not arithmetic: found out before anything relies on it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

from dse import models
from dse.models.described.witness import Seen, returned_of, seen_of
from dse.models.model import Model, not_returned
from scenarios.language.errors import Findings, ScenarioError
from scenarios.question import STRETCH, Question, combinations
from scenarios.sweep.grids import Grid

MOST_KINDS_TRIED = 200


def marked(grid: Grid, file: str = "") -> Grid:
    """Return a grid whose model says that it is a black box, if it is one.

    Where equations look at a number that is decided or uncertain, nothing but plain numbers tells what they mean. Where
    they look at swept numbers only, each point has equations like any others, but many points have none together. The
    models that come with dse are known not to. Texts are tried in all combinations, up to 200. ``file``: where the
    question stands. Raises ScenarioError for equations that fail whatever their numbers are.
    """
    model = next(iter(grid.bases.values())).model
    if models.our_own(model) or model.black_box:
        return grid
    plain = _seen(grid, ())
    _refuse_faults(grid, plain, file)
    why = _not_arithmetic(plain)
    if why:
        return _with(grid, replace(model, black_box=why))
    swept = [c.target.name for c in grid.changes if c.of.numeric and c.target.kind == "given"]
    why = _not_arithmetic(_seen(grid, swept)) if swept else ""
    if not why:
        return grid
    found = _with(grid, replace(model, black_box=why))
    return replace(found, at_a_point=at_a_point) if any(q.decide for q in grid.bases.values()) else found


def at_a_point(question: Question) -> Question:
    """Return the question at a point of a grid whose equations look at swept numbers: a black box only if it is one."""
    plain = replace(question, model=replace(question.model, black_box=""))
    alone = marked(Grid((), (), {(): plain}, {}))
    return alone.bases[()]


def _with(grid: Grid, model: Model) -> Grid:
    return replace(grid, bases={i: replace(q, model=model) for i, q in grid.bases.items()})


def _varying(question: Question) -> Iterator[str]:
    """The numbers of a question that vary while it is answered: what is decided, and what is uncertain."""
    yield from (d.name for d in question.decide if d.name != STRETCH.name)
    yield from question.uncertain.marginals if question.uncertain is not None else ()


def _seen(grid: Grid, swept: Sequence[str]) -> list[Seen]:
    """Run the equations on numbers that vary, or are ``swept``, until they do something other than arithmetic."""
    asked = itertools.islice(grid.kinds(), MOST_KINDS_TRIED)
    every = itertools.chain.from_iterable(combinations(grid.untied(index)) for index in asked)
    found: list[Seen] = []
    for _, q in itertools.islice(every, MOST_KINDS_TRIED):
        # where nothing varies it is only asked what they return, and numbers they look at say nothing
        free = [*swept, *_varying(q)]
        found.append(seen_of(q.model, q.given, free) if free else returned_of(q.model, q.given))
        if found[-1].refusal:
            break
    return found


def _not_arithmetic(seen: Sequence[Seen]) -> str:
    return seen[-1].refusal if seen else ""


def _refuse_faults(grid: Grid, seen: Sequence[Seen], file: str) -> None:
    """Raise ScenarioError for equations that fail whatever their numbers are, or lack what they declare.

    That is a metric that is asked for, and any limit that is not waived.
    """
    first = next(iter(grid.bases.values()))
    model, findings = first.model, Findings(file)
    right = f"correct the equations of model {model.name}"
    for fault in dict.fromkeys(s.fault for s in seen if s.fault):
        findings.add(
            "model", f"the equations of model {model.name} fail whatever their numbers are: {fault}", right
        )
    declared = {q.name for q in model.metrics}
    asked = [("objective", o.name) for o in first.objectives] + [
        (f"limits.{x.name}", x.name) for x in first.limits
    ]
    for key, name in asked:
        if name in declared and any(s.metrics is not None and name not in s.metrics for s in seen):
            right = f"return {name} from the equations, or ask for another metric"
            findings.add(key, not_returned(model, "metric", name), right)
    for name in dict.fromkeys(n for s in seen for n in s.forgotten if n not in first.waive):
        right = f"return {name} from the equations, a ratio of at most 1, or take the limit out of the model"
        findings.add("model", not_returned(model, "limit", name), right)
    if findings.problems:
        raise ScenarioError(findings.problems)
