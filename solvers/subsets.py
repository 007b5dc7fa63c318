"""Which limits of an infeasible question contradict each other, and what value of each would do.

Works on any question a few variables wide: designs are found and their absence is proved by enumeration and
by interval branch and bound, so that nothing here needs structure.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from formulations import evaluation
from formulations.posynomial import NotPosynomial
from formulations.program import is_linear, program
from results.solution import Status
from scenarios.question import Decision, Objective, Question
from solvers import boxes, interval, milp_conflicts, scan
from solvers.boxes import FEASIBLE
from solvers.conflicts import CONFLICT, FEW, FEW_SEARCHED, MET, UNKNOWN, minimal_conflicts, singly
from solvers.outcome import Conflicts, Outcome

ENUMERATED = 2_000_000
WORK = 20_000
SECONDS = 10.0


@dataclass(slots=True)
class _Known:
    """What designs have shown: the sets of limits that some design breaks (all others it holds).

    ``complete``: there are no other designs, whatever limits are left out.
    """

    names: tuple[str, ...]
    broken: set[int] = field(default_factory=set)
    complete: bool = False

    def met(self, kept: int) -> bool:
        return any(not kept & b for b in self.broken)


def limit_names(question: Question) -> tuple[str, ...]:
    """Names of all limits that may be in conflict, in file order.

    Limits, bounds or whole numbers of variables, model's own.
    """
    names = dict.fromkeys(limit.name for limit in question.limits)
    # what is decided in whole numbers or from a menu by its nature is nobody's limit
    nature = {u.name for u in question.model.unknowns}
    names |= dict.fromkeys(
        d.name
        for d in question.decide
        if _bounded(d) and not (d.name in nature and d.minimum is None and d.maximum is None)
    )
    # a limit that needs what this question does not state is not there
    somewhere = {d.name: np.float64(d.values[0] if d.values else 1.0) for d in question.decide}
    with np.errstate(all="ignore"):
        there = evaluation.metrics(question, somewhere)
    own = [limit.name for limit in question.model.limits if not limit.always]
    names |= dict.fromkeys(n for n in own if n in there and n not in question.waive)
    return tuple(names)


def _bounded(d: Decision) -> bool:
    return d.integer or d.values is not None or d.minimum is not None or d.maximum is not None


def without(question: Question, names: Iterable[str]) -> Question:
    """Drop these limits from the question; a variable's name drops its bounds and makes it continuous."""
    dropped = frozenset(names)
    return replace(
        question,
        limits=tuple(limit for limit in question.limits if limit.name not in dropped),
        decide=tuple(
            replace(d, minimum=None, maximum=None, integer=False, values=None) if d.name in dropped else d
            for d in question.decide
        ),
        waive=question.waive | dropped,
    )


def conflicts(question: Question) -> Conflicts:
    """Find the minimal sets of limits of an infeasible question that contradict each other.

    A set is met when a known design breaks only limits outside it, and otherwise decided by interval branch and
    bound (see ``conflicts.minimal_conflicts``). Empty where the question is feasible.
    """
    names = limit_names(question)
    quick = scan.few(question) and not any(d.name in names for d in question.decide)
    linear = None if quick else _linear(question)
    if linear is not None and linear.minimal:
        return linear
    known = _Known(names)
    _sample(question, known)
    ask = singly(lambda kept: _can_meet(question, known, sum(1 << int(i) for i in np.flatnonzero(kept))))
    few = FEW if known.complete else FEW_SEARCHED
    found = minimal_conflicts(1, len(names), ask, every=True, few=few)
    sets = found.names(names)
    # of a program the first set is told, as where its conflicts are searched for
    told = sets[:1] if quick and is_linear(question) else sets
    would_do = {name: value_that_would_do(question, name) for name in dict.fromkeys(itertools.chain(*told))}
    return Conflicts(sets, would_do, bool(found.sure[0]), bool(found.every[0]))


def _linear(question: Question) -> Conflicts | None:
    """Conflicts of limits that are all affine, whatever the objective is; None of others."""
    if not is_linear(question):
        return None
    try:
        return milp_conflicts.explain(program(replace(question, objectives=())))
    except (NotPosynomial, ArithmeticError):
        return None


def _can_meet(question: Question, known: _Known, kept: int) -> int:
    """Whether some design meets the limits ``kept``; a new design is remembered."""
    if known.met(kept) or known.complete:
        return MET if known.met(kept) else CONFLICT
    dropped = [n for i, n in enumerate(known.names) if not kept >> i & 1]
    found = solve(replace(without(question, dropped), objectives=()))
    if found.x is None:
        return CONFLICT if found.status is Status.INFEASIBLE else UNKNOWN
    x = np.array([[found.x[d.name] for d in question.decide]])
    known.broken |= {int(mask) & ~kept for mask in broken(question, known.names, x)}
    return MET


def _sample(question: Question, known: _Known) -> None:
    """Learn from enumerable combinations (of the whole box) and from designs scattered over the domain."""
    own = [limit.name for limit in question.model.limits]
    fixed = not any(d.name in known.names for d in question.decide)
    every = scan.grid(without(question, [*known.names, *own])) if fixed else None
    known.complete = every is not None and every.size <= ENUMERATED
    combinations = every if known.complete else scan.grid(without(question, own))
    if combinations is not None and combinations.size <= ENUMERATED:
        for start in range(0, combinations.size, scan.CHUNK):
            points = combinations.at(np.arange(start, min(start + scan.CHUNK, combinations.size)))
            known.broken |= set(np.unique(broken(question, known.names, points)).tolist())
    if known.complete:
        return
    wide = boxes.space(without(question, known.names))
    generator = np.random.default_rng(0)
    u = generator.random((4096, len(wide.names)))
    points = wide.spread(wide.low, wide.high, u)
    known.broken |= set(np.unique(broken(question, known.names, points)).tolist())


def broken(question: Question, names: tuple[str, ...], points: np.ndarray) -> np.ndarray:
    """For each design (rows) the set of limits it breaks, as bits in the order of ``names``."""
    x = {d.name: points[:, j] for j, d in enumerate(question.decide)}
    place = {name: 1 << i for i, name in enumerate(names)}
    # what breaks a limit that nothing may break is no design at all
    everything = (1 << len(names)) - 1
    masks = np.zeros(len(points), dtype=np.int64)
    with np.errstate(all="ignore"):
        at = evaluation.metrics(question, x)
        for key, value in evaluation.ratios(question, x, at).items():
            masks |= np.where(np.asarray(value) <= 1 + FEASIBLE, 0, place.get(key.name, everything))
    for d in question.decide:
        allowed = x[d.name]
        if d.integer:
            allowed = np.round(x[d.name])
        elif d.values is not None:
            values = np.array(d.values)
            allowed = values[np.abs(x[d.name][:, None] - values).argmin(1)]
        masks |= (
            np.where(np.abs(allowed - x[d.name]) <= 1e-9 * np.abs(allowed), 0, place.get(d.name, everything))
            if _gaps(d)
            else 0
        )
    return masks


def _gaps(d: Decision) -> bool:
    return d.integer or d.values is not None


def value_that_would_do(question: Question, name: str) -> float | None:
    """Return the value of one limit that would make the question feasible with all others kept, or None.

    For a limit on both sides the upper side is tried first. A variable's bound is first moved with its whole
    numbers, powers or listed values kept; only where none of them does, to the least value of any kind.
    """
    for relaxed, goal in relaxations(question, name):
        found = solve(replace(relaxed, objectives=(goal,)))
        if found.x is not None:
            x = {d.name: np.array(found.x[d.name]) for d in question.decide}
            return float(
                evaluation.objective(replace(relaxed, objectives=(goal,)), x, evaluation.metrics(relaxed, x))
            )
    return None


def relaxations(question: Question, name: str) -> list[tuple[Question, Objective]]:
    """Questions with one side of the limit open, each with what then measures how far it has to move."""
    down, up = Objective(name), Objective(name, maximize=True)
    out: list[tuple[Question, Objective]] = []
    for i, limit in enumerate(question.limits):
        if limit.name == name:
            before, after = question.limits[:i], question.limits[i + 1 :]
            if limit.maximum is not None:
                out.append((replace(question, limits=(*before, replace(limit, maximum=None), *after)), down))
            if limit.minimum is not None:
                out.append((replace(question, limits=(*before, replace(limit, minimum=None), *after)), up))
    for i, d in enumerate(question.decide):
        if d.name == name:
            for free, goal in _moved(d):
                decide = (*question.decide[:i], free, *question.decide[i + 1 :])
                out.append((replace(question, decide=decide), goal))
    if any(own.name == name for own in question.model.limits):
        out.append((replace(question, waive=question.waive | {name}), down))
    return out


def _moved(d: Decision) -> list[tuple[Decision, Objective]]:
    down, up = Objective(d.name), Objective(d.name, maximize=True)
    out = []
    if d.maximum is not None:
        out.append((replace(d, maximum=None), down))
    if d.minimum is not None:
        out.append((replace(d, minimum=None), up))
    if _gaps(d):
        out.append((replace(d, integer=False, values=None, minimum=None, maximum=None), down))
    return out


def solve(question: Question) -> Outcome:
    """Answer by enumeration where combinations are few, else by interval branch and bound."""
    count = scan.enumerable(question)
    if count is not None and count <= ENUMERATED:
        return scan.scan(question)
    return interval.solve(question, work=WORK, seconds=SECONDS)
