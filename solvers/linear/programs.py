"""The path of every question whose arithmetic is affine: optimum, bound, ties, and what stands beside them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from dse.system.arrays import Array
from dse.system.records import dataclass
from formulations import evaluation
from formulations.arithmetics.forms import Some
from formulations.programs import row_ends
from formulations.programs.program import Program, branch_count, linear_cost, program
from formulations.tolerances import SLACK, TIE
from results.solution import LimitState, Solution, Status
from solvers import designs, judgement
from solvers.linear import highs, least_misses, milp, milp_conflicts, milp_explained, milp_ties
from solvers.linear.linear_program import ROUNDED_AWAY, End, Numbers, Result, no_worse
from solvers.mechanisms.sensitivity import jump_note, off_zero
from solvers.outcome import Outcome

SOLVER = "HiGHS"
LP = "linear program; bound from its multipliers by weak duality, independent of the solver's tolerances"
MILP = "mixed-integer linear program; bound of HiGHS' branch and bound"
RATIO = (
    "least ratio by Dinkelbach's iteration; bound from the last program's own bound and the least denominator"
)
BRANCHED = "of {} programs, one for each term that may be the largest"
NO_DESIGN = "{}, by the bound of a program in which every limit may give"
BEYOND = "of all designs within the other limits the best misses {} by {:.1e} of its value, by a bound"
PART_OF_ONE = 0.1
"""Of a whole number: as much as wider limits may let in."""
HIDDEN_SHARE = 0.1
"""Of the gap asked for: what a part of a search that is let go may still hide."""
MISSED = "every design breaks some limit by {:.1e} of its size or more"


@dataclass(frozen=True, slots=True)
class Settled:
    """An outcome with what the explanations need; ``rest``: see ``milp_ties.Chosen``."""

    outcome: Outcome
    ranges: dict[str, tuple[float, float]]
    best: Result | None = None
    u: Array | None = None
    rest: Result | None = None


def optimise(
    p: Program, *, ties: bool = True, refuted: Callable[[], Outcome | None] | None = None
) -> Settled:
    """Solve a program; the design is unique by the tie rule (``ties`` False: any of the best).

    ``refuted``: another proof that there is no design, of whole numbers that divisible ones do not refute.
    """
    p = milp.of_possible_entries(p)
    asked = milp_ties.without_goal(p)
    goal, under = milp.objective(asked)
    best = _least(p, asked)
    if best.end is End.UNBOUNDED:
        return Settled(unbounded_along(p, best.ray), {})
    if p.sign < 0 and not math.isfinite(best.value) and not evaluation.inverted(p.question):
        return _of_negatives(p, ties=ties)
    if best.u is None:
        ended = _infeasible(p, refuted)
        if ended.status is Status.INFEASIBLE:
            return Settled(ended, {})
        # what no design meets, and no proof excludes, may hold within the slack that limits are granted
        eased = milp.numbers(p, factors=dict.fromkeys([k for k in p.keys if k is not None], 1.0 + SLACK))
        best, ties = milp.least(asked, eased, goal, under), False
        if best.u is None:
            return Settled(ended, {})
    if p.goal is not None:
        n = milp.numbers(p)
        held = milp.runaway(
            p, best.u, lambda high: milp.least(p, replace(n, high=high), goal, under).value, best.value
        )
        if held:
            return Settled(unbounded(held), {})
    missed = _beyond_others(p) if milp_conflicts.breaks(p, best.u) else None
    if missed is not None:
        return Settled(missed, {})
    chosen = milp_ties.chosen(asked, best) if ties else milp_ties.Chosen(best.u, {})
    if ties and p.integer.all() and milp_conflicts.breaks(p, chosen.u):
        chosen = milp_ties.chosen(asked, replace(best, numbers=milp.numbers(p)))
    if p.goal is None:
        text = "a design that meets all limits"
        return Settled(Outcome(Status.FEASIBLE, p.design(chosen.u), None, text, SOLVER), chosen.ranges)
    outcome = Outcome(Status.OPTIMAL, p.design(chosen.u), to_user(p, best.bound), proof(p), SOLVER)
    return Settled(outcome, chosen.ranges, best, chosen.u, chosen.rest)


def _least(p: Program, asked: Program) -> Result:
    """The least of what is minimised.

    Of few whole numbers alone first with limits that are wider by ``ROUNDED_AWAY``, unless what is best there breaks
    one: HiGHS' presolve rounds rows of whole numbers, and loses designs that meet a limit exactly. Of numbers so large
    that this lets more of them in, it would have to tell apart what differs by so little.
    """
    goal, under = milp.objective(asked)
    n = milp.numbers(p)
    if p.integer.all():
        most = row_ends.upper_ends(n.rows, n.low, n.high, n.integer).max(initial=0.0)
        keys = [k for k in p.keys if k is not None]
        if most * ROUNDED_AWAY < PART_OF_ONE:
            wider = milp.numbers(p, factors=dict.fromkeys(keys, 1.0 + ROUNDED_AWAY))
            wide = milp.least(asked, wider, goal, under)
            if wide.u is None or not milp_conflicts.breaks(p, wide.u):
                return wide
    return milp.least(asked, n, goal, under)


def _of_negatives(p: Program, *, ties: bool) -> Settled:
    """The optimum of what is negative at best: its negative is made least, where one over it has no value."""
    assert p.goal is not None, "something is made greatest"
    assert p.under is not None, "something is made greatest"
    found = optimise(replace(p, goal=-p.under, under=p.goal, sign=1), ties=ties)
    bound = found.outcome.bound
    # what limits are worth is told of ratios alone
    return Settled(replace(found.outcome, bound=None if bound is None else -bound), found.ranges)


def needed_ends(endless: Program, best: Result) -> Array:
    """Upper ends beyond which no design better than ``best`` is needed; ``endless``: has no ends of a search."""
    n = milp.numbers(endless, more=(no_worse(*milp.objective(endless), best.bound, -TIE),))
    return row_ends.sufficient_ends(n.rows, n.equal, n.low, n.high, n.integer)


def is_bound_of_all(endless: Program, best: Result) -> bool:
    """Whether divisible numbers show that no design is better than ``best``; ``endless``: has no ends of a search."""
    better, n = no_worse(*milp.objective(endless), best.bound, -TIE), milp.divisible(milp.numbers(endless))
    parts = (highs.minimise(m, better) for m in milp.branched(endless, n))
    # a linear program without a point has no better one
    return all(found.end is End.INFEASIBLE or found.bound >= 0.0 for found in parts)


def without_end(p: Program, endless: Program) -> Outcome | None:
    """The outcome where divisible numbers improve without end and a design is there; None where that is not found.

    Whole numbers then improve without end, too, from that design on: multiples of a rational direction are whole
    (R. R. Meyer, Mathematical Programming 7, 1974, 223-235). ``endless``: ``p`` without ends of a search, where nothing
    may say which amounts are there: those that grow are there from the start. All may grow, or one of them alone.
    """
    n = milp.numbers(endless)
    if np.isfinite(row_ends.upper_ends(n.rows, n.low, n.high, n.integer)).all():
        # nothing grows for ever
        return None
    goal, under = milp.objective(endless)
    if goal[:-1].any() and under[:-1].any():
        return None
    cost = linear_cost(goal, under)
    amounts = {name for c in p.columns if isinstance(c, Some) for name in c.amount.terms}
    for n, near in zip(*(milp.branched(one, milp.numbers(one)) for one in (endless, p)), strict=True):
        for grow in (amounts, *({name} for name in sorted(amounts, key=str))):
            held = [c in amounts and c not in grow for c in p.columns]
            ray = highs.minimise(replace(n.relaxed(), high=np.where(held, n.low, n.high)), cost).ray
            if ray is None and grow is amounts:
                # nor does it, then, where fewer grow
                break
            if ray is not None and is_there(p, near, ray):
                return unbounded_along(endless, ray)
    return None


def is_there(p: Program, near: Numbers, ray: Array) -> bool:
    """Whether some design of a program has any of all that grows along a direction."""
    grows = dict(zip(p.columns, ray.tolist(), strict=True))
    flags = [isinstance(c, Some) and any(map(grows.get, c.amount.terms)) for c in p.columns]
    some = replace(near, low=np.where(flags, near.high, near.low))
    return highs.minimise(some, np.zeros(len(ray) + 1)).u is not None


def proof(p: Program) -> str:
    """Say what proves the optimum of a program."""
    text = MILP if p.integer.any() else LP
    if all(form[:-1].any() for form in milp.objective(p)):
        text = f"{RATIO}; {text}"
    count = branch_count(p)
    return text if count == 1 else f"{BRANCHED.format(count)}: {text}"


def to_user(p: Program, ratio: float) -> float | None:
    """The user's objective from the ratio that is minimised."""
    if not math.isfinite(ratio):
        return 0.0 if p.sign < 0 and ratio > 0 else None
    if p.sign > 0:
        return ratio
    return 1.0 / ratio if ratio > 0 else None


def enough(best: float, gap: float) -> float:
    """A bound from which on a part of a search that is to leave a relative gap holds nothing that counts."""
    return float(designs.as_good_as(best, -HIDDEN_SHARE * gap))


def impossible(p: Program, *, whole: bool = False) -> Outcome | None:
    """The proof that a program has no design, even were all numbers divisible unless ``whole``; None without one."""
    missed = least_misses.least_violation(p, whole=whole)
    if missed <= SLACK:
        return None
    share = least_misses.share_missed(p, missed)
    said = MISSED.format(share) if share is not None else "no design meets all limits"
    return Outcome(Status.INFEASIBLE, certificate=NO_DESIGN.format(said), solver=SOLVER)


def _infeasible(p: Program, refuted: Callable[[], Outcome | None] | None) -> Outcome:
    proved = None
    if refuted is not None and p.integer.any():
        # a bound of whole numbers may take HiGHS seconds
        proved = impossible(p) or refuted()
    proved = proved or impossible(p, whole=True) or _beyond_others(p)
    if proved is not None:
        return proved
    message = "HiGHS finds no design, and no bound proves that there is none"
    return Outcome(Status.ERROR, solver=SOLVER, message=message)


def _beyond_others(p: Program) -> Outcome | None:
    missed = milp_conflicts.beyond_others(p)
    if missed is None:
        return None
    label = evaluation.label(missed[0], [k for k in p.keys if k is not None])
    return Outcome(Status.INFEASIBLE, certificate=BEYOND.format(label, missed[1] - 1.0), solver=SOLVER)


def unbounded_along(p: Program, ray: Array | None) -> Outcome:
    """The outcome where a direction of a program has no end, called by what grows most along it."""
    names = [d.name for d in p.question.decide if d.values is None]
    name = names[0]
    if ray is not None:
        steps = {n: abs(ray[p.columns.index(n)]) for n in names}
        name = max(steps, key=lambda n: steps[n])
    return unbounded(name)


def unbounded(name: str) -> Outcome:
    """The outcome where nothing ends a variable."""
    return Outcome(Status.UNBOUNDED, certificate=f"more {name} is always better", solver=SOLVER, runaway=name)


def explained(p: Program, settled: Settled, solution: Solution, neighbours: bool) -> Solution:
    """The solution with what its limits and parameters are worth, and which variables are not unique."""
    solution = replace(solution, ranges=settled.ranges)
    best = settled.best
    if best is None or solution.status is not Status.OPTIMAL:
        return solution
    limits = dict(solution.limits)
    if p.integer.any():
        rest = milp_explained.kept_choice(p, settled.rest)
        limits = with_rates(p, rest, limits, kept=True)
        solution = replace(solution, limits=limits)
        return judgement.changed(solution, _changes(p, best, rest, limits)) if neighbours else solution
    limits = with_rates(p, best, limits)
    found, jumps = milp_explained.parameters(p, best) if neighbours else ({}, [])
    one_sided = tuple(name for name, rate in found.items() if rate.one_sided)
    parameters = {name: rate.value for name, rate in found.items()}
    text = "; ".join(t for t in (solution.certificate, jump_note(jumps)) if t)
    return replace(solution, limits=limits, parameters=parameters, one_sided=one_sided, certificate=text)


def with_rates(
    p: Program, best: Result | None, limits: Mapping[str, LimitState], *, kept: bool = False
) -> dict[str, LimitState]:
    """The limits with their elasticities; ``kept``: those of the whole numbers as they are, where they say anything."""
    keys, found = [k for k in p.keys if k is not None], dict(limits)
    for key, rate in (milp_explained.rates(p, best) if best is not None else {}).items():
        label = evaluation.label(key, keys)
        if key.side != "model" and label in found and not (kept and rate.value == 0):
            sided = rate.one_sided or kept
            found[label] = replace(found[label], elasticity=rate.value, one_sided=sided)
    return found


def _changes(
    p: Program, best: Result, rest: Result | None, limits: Mapping[str, LimitState]
) -> dict[str, tuple[float, float | None]]:
    """The value of each limit at which the answer next changes, and the objective there; ``rest``: see ``Settled``."""
    keys, found = [k for k in p.keys if k is not None], dict[str, tuple[float, float | None]]()
    for key in keys:
        label = evaluation.label(key, keys)
        # where the objective moves with the limit at once, there is no next change to wait for
        if key.side == "model" or limits[label].elasticity is not None:
            continue
        asked = off_zero(p.question, key.name)
        if asked is p.question:
            changed = milp_explained.next_change(p, best, key)
        elif milp_explained.moves_at_once(p, rest, key):
            continue
        else:
            # of another program no multipliers are known
            free = program(asked, searched=True)
            changed = milp_explained.next_change(free, replace(best, known=()), key, 0.0)
        at = math.nan if changed is None else float(judgement.relaxed(asked, key, changed[0]))
        if changed is not None and math.isfinite(at):
            found[label] = at, to_user(p, changed[1])
    return found
