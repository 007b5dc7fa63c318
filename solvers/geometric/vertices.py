"""The exact optimum of a structured problem that is linear as it stands: a vertex of a program, found by HiGHS.

Secants close in on an optimum on a flat face step by step; the program has the face itself, and its ends. Each
variable is counted in units of its typical size, since a solver's tolerances are absolute.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from formulations.linear_forms import program_of, typical_size
from formulations.problem import Goal, Problem
from formulations.programs.program import Program
from results.solution import Status
from solvers.geometric.programs import ties
from solvers.linear import milp, programs
from solvers.linear.programs import Settled

VERTEX_HOLDS = 1e-9
# of the size of what makes up a reduced cost; less is rounding
COST_ROUNDED = 1e-9


def optimum(problem: Problem, goal: Goal) -> Settled | None:
    """The optimum of an LP or MILP with its bound, its design by the tie rule; None where the program has none.

    What has no design or no end is left to the methods that prove it whatever the numbers' sizes are.
    """
    sizes = {v.name: 1.0 if v.decision.integer else typical_size(problem, v.name) for v in problem.variables}
    stages = [g for g in ties.tie_goals(problem, goal.name) if g.name in problem.question.tie_order]
    affine = {
        g.name: (g.numerator, g.denominator)
        for g in stages
        if g.numerator.is_affine and g.denominator.is_affine
    }
    made = program_of(problem, affine)
    assert made is not None, "only an LP or MILP has a vertex"
    p = _in_sizes(made, problem, sizes)
    settled = programs.optimise(p)
    outcome = settled.outcome
    if outcome.status is not Status.OPTIMAL or outcome.x is None or outcome.bound is None:
        return None
    real = {v.name for v in problem.variables if v.real_low}
    if not _limits_hold_in_floats(p, settled) or _held_by_box(p, settled, real):
        return None
    x = {name: value * sizes[name] for name, value in outcome.x.items()}
    ranges = {n: (low * sizes[n], high * sizes[n]) for n, (low, high) in settled.ranges.items()}
    return Settled(replace(outcome, x=x), ranges)


def _limits_hold_in_floats(p: Program, settled: Settled) -> bool:
    """Whether every limit holds in plain floats: sizes far apart may hide one from the solver's tolerances."""
    if settled.u is None:
        return False
    return bool((p.rows @ settled.u <= VERTEX_HOLDS * np.maximum(p.denominators @ settled.u, 0.0)).all())


def _held_by_box(p: Program, settled: Settled, real: Collection[str]) -> bool:
    """Whether of an LP a lower end that is only there to have a box (not ``real``) holds the objective."""
    best = settled.best
    if best is None or settled.u is None or best.multipliers is None or best.cost is None:
        return False
    slope = best.cost + best.multipliers @ p.rows
    size = np.abs(best.cost) + np.abs(best.multipliers) @ np.abs(p.rows)
    at_low = settled.u[:-1] <= p.low * (1.0 + milp.AT_PROGRAM_END)
    open_ = np.array([a not in real for a in p.columns], dtype=bool)
    return bool((open_ & at_low & (slope[:-1] > COST_ROUNDED * size[:-1])).any())


def _in_sizes(p: Program, problem: Problem, sizes: Mapping[str, float]) -> Program:
    """The program over ``variable / size``, listed values too, whose lower ends are those of the problem."""
    size = np.array([*(sizes[a] if isinstance(a, str) else 1.0 for a in p.columns), 1.0])
    ends = {v.name: v.low for v in problem.variables}
    goal, under = milp.objective(p)
    decide = tuple(
        replace(d, values=d.values and tuple(value / sizes[d.name] for value in d.values))
        for d in p.question.decide
    )
    return replace(
        p,
        question=replace(p.question, decide=decide),
        low=np.array([ends[a] if isinstance(a, str) else 0.0 for a in p.columns]) / size[:-1],
        high=p.high / size[:-1],
        numerators=p.numerators * size,
        denominators=p.denominators * size,
        goal=goal * size,
        under=under * size,
        ties=tuple((name, above * size, below * size) for name, above, below in p.ties),
    )
