"""Ends that only a search has stand in no answer: what they hold in a program is asked again, farther out.

A decided quantity that neither the user nor mathematics ends has a box all the same, so that it can be searched
(``formulations.evaluation.box``). "Infeasible" and "unbounded" are said of a linear or mixed-integer program only where
a search that goes much farther says so too; in the end it is asked without any such end. Problems that are not convex
are searched far beyond these ends from the start (``formulations.evaluation.farthest``), and geometric programs again
with such ends (``solvers.geometric.structured``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np

from dse.names import some_of
from dse.system.records import dataclass
from formulations.evaluation import bounds, box
from formulations.problem import Problem, formulate, reaching
from formulations.programs.program import Program
from results.solution import Solution, Status
from results.telling.facts import HELD_BY
from scenarios.question import Question
from solvers import judgement
from solvers.geometric.structured import Optimum
from solvers.linear.linear_program import no_worse
from solvers.outcome import OF_SETS, Outcome

if TYPE_CHECKING:
    from solvers.linear.programs import Settled

STEPS = (1e3, 1e6)
"""How much farther programs are searched before they are asked without ends."""
MENTIONED = 3
DECIDED = (Status.OPTIMAL, Status.FEASIBLE)
OPEN = (Status.INFEASIBLE, Status.UNBOUNDED)


@dataclass(frozen=True, slots=True)
class Tried:
    """A problem and what a search in its box found."""

    problem: Problem
    found: Settled | Optimum

    @property
    def outcome(self) -> Outcome:
        """The method's word."""
        return self.found.outcome


def without_end(problem: Problem) -> Tried | None:
    """The proof that whole numbers improve without end, which a search for the best of them would not come to."""
    program = problem.program
    if program is None or not program.integer.any() or not np.isfinite(program.high[program.boxed]).any():
        return None
    endless = reaching(problem, math.inf)
    if endless.program is None or endless.program.columns != program.columns:
        return None
    from solvers.linear import programs

    outcome = programs.without_end(program, endless.program)
    return None if outcome is None else Tried(endless, programs.Settled(outcome, {}))


def settled(first: Tried, ask: Callable[[Problem], Tried]) -> Tried:
    """What is left of an outcome without a design, or with one that runs away, when the search goes farther.

    ``ask`` searches a problem in its own box.
    """
    if first.outcome.status not in OPEN and _enclosed(first):
        return first
    last, why = first, None
    if first.outcome.status is Status.INFEASIBLE:
        surely = _impossible(first)
        if surely is not None:
            return surely
    for reach in _wider_reaches(first.problem):
        farther = reaching(first.problem, reach)
        if first.problem.program is not None and farther.program is None:
            if last.outcome.status in DECIDED:
                break
            return replace(last, found=_undecided(last, farther.refusal))
        now = ask(farther)
        if now.outcome.status in DECIDED and not _vague(now):
            if _enclosed(now):
                return now
            last, why = now, None
        # what no search in this box decides may be plain in a wider one
        elif now.outcome.status in OPEN and last.outcome.status not in DECIDED:
            last, why = now, None
        elif last.outcome.status not in DECIDED:
            why = now.outcome.message
    if last.outcome.status is Status.OPTIMAL and not _enclosed(last):
        return replace(last, found=_not_proved(last))
    return last if why is None else replace(last, found=_undecided(last, why))


def encloses(question: Question, objective: float | None) -> bool:
    """Whether limits, and that the objective is no worse than a value (None: limits alone), imply ends within those
    that only a search has. So it is where there are none, and where no program states the question.
    """  # noqa: D205
    from solvers.linear import milp, milp_conflicts

    problem = formulate(question, searched=True)
    p = problem.program
    if p is None or not (p.boxed & np.isfinite(p.high)).any():
        return True
    far = milp_conflicts.next_told(ended(problem, beyond=question.reach))
    if far is None or far.columns != p.columns:
        return False
    if objective is None:
        return milp.implied_within(p, far, [])
    ratio = objective if p.sign > 0 else math.inf if objective == 0.0 else 1.0 / objective
    return math.isfinite(ratio) and milp.implied_within(p, far, [no_worse(*milp.objective(far), ratio)])


def held(question: Question, solution: Solution) -> dict[str, str]:
    """Variables at an end of their domain that no limit, bound or listed value ends, each with the side of that end.

    What may be 0, or picks from a menu, has no end worth telling.
    """
    x = {n: v for n, v in solution.variables.items() if isinstance(v, float) and n not in solution.ranges}
    sides = {n: int(code) for n, code in judgement.ends_that_hold(question, x).items()}
    return {n: HELD_BY[code - 1] for n, code in sides.items() if code}


def _enclosed(tried: Tried) -> bool:
    """Whether no design beyond the ends of a search can be better than the optimum found within them.

    Beyond those of a convex program there is none. Of others the rows, and that the objective is no worse, have to
    imply ends within these, or divisible numbers without ends be no better.
    """
    p, best = tried.problem.program, getattr(tried.found, "best", None)
    if p is None or best is None or not (p.integer.any() or p.exact):
        return True
    boxed = p.boxed & np.isfinite(p.high)
    endless = reaching(tried.problem, math.inf).program if boxed.any() else None
    if endless is None:
        return not boxed.any()
    from solvers.linear import programs

    ends = programs.needed_ends(endless, best)
    return bool((ends <= p.high)[boxed].all()) or programs.is_bound_of_all(endless, best)


def _wider_reaches(problem: Problem) -> Iterator[float]:
    program = problem.program
    if program is not None and np.isfinite(program.high[program.boxed]).any():
        yield from (*STEPS, math.inf)


def farthest(problem: Problem) -> float:
    """How far the ends go that a search asks last before it says that nothing is there."""
    return max([problem.question.reach, *_wider_reaches(problem)])


def ended(problem: Problem, beyond: float = 0.0) -> list[Callable[[], Program | None]]:
    """The programs of a question with the ends of its search farther and farther out, each made when it is asked for.

    The nearest first: HiGHS takes minutes for some rows over whole numbers of 1e10, which few answers need. None where
    the question's own program has no such end, and says what there is. ``beyond``: only those that reach farther.
    """
    p = problem.program
    if p is not None and not p.open and not np.isfinite(p.high[p.boxed]).any():
        return []

    def at(reach: float) -> Program | None:
        return reaching(problem, reach).program

    return [cache(partial(at, reach)) for reach in (1.0, *STEPS, math.inf) if reach > beyond]


def _impossible(first: Tried) -> Tried | None:
    """The proof, by a linear program without ends, that no design is there; None where it does not say so."""
    program = first.problem.program
    if first.outcome.solver == OF_SETS:
        # that proof goes without ends of a search
        return first
    if program is None or not np.isfinite(program.high[program.boxed]).any():
        return None
    endless = reaching(first.problem, math.inf)
    if endless.program is None:
        return None
    from solvers.linear import programs

    outcome = programs.impossible(endless.program)
    return None if outcome is None else Tried(endless, programs.Settled(outcome, {}))


def _vague(tried: Tried) -> bool:
    """Whether a design says nothing, since nothing says which amounts are there."""
    program = tried.problem.program
    return program is not None and program.open


def _not_proved(last: Tried) -> Settled | Optimum:
    """An optimum of a search whose ends nothing implies: nothing is known of better designs beyond."""
    said = f"{last.outcome.certificate}; better designs beyond {_ends_shown(last.problem)} are not excluded"
    outcome = replace(last.outcome, status=Status.FEASIBLE, bound=None, certificate=said)
    return replace(last.found, outcome=outcome)


def _ends_shown(problem: Problem) -> str:
    """The first decided quantities that a search ended, no list and no bound of the user's, and where."""
    asked = bounds(problem.question)
    decided = [v.decision for v in problem.variables if not v.auxiliary]
    boxes = {d.name: box(problem.question, d.name) for d in decided if d.values is None or d.endless}
    ended = {n: b.high for n, b in boxes.items() if b.searched[1]}
    shown = [f"{n} up to {end:g}" for n, end in ended.items() if not _is_below(asked[n][1], end)]
    return some_of(shown, MENTIONED)


def _is_below(bound: float | None, end: float) -> bool:
    return bound is not None and bound <= end


def _undecided(last: Tried, why: str) -> Settled | Optimum:
    """What was searched, where going farther decides nothing."""
    word = "no design" if last.outcome.status is Status.INFEASIBLE else "no optimum"
    message = f"{word} with {_ends_shown(last.problem)}; what is beyond is not known" + (
        f": {why}" if why else ""
    )
    return replace(last.found, outcome=Outcome(Status.ERROR, solver=last.outcome.solver, message=message))
