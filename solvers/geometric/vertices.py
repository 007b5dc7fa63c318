"""The exact optimum of a structured problem that is linear as it stands: a vertex of a program, found by HiGHS.

Secants close in on an optimum on a flat face step by step; the program has the face itself, and its ends. Each
variable is counted in units of its typical size, since a solver's tolerances are absolute.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from formulations.arithmetics.forms import Atom, Entry
from formulations.arithmetics.posynomial import Posynomial
from formulations.linear_forms import linear_goal, linear_rows, typical_size
from formulations.problem import Goal, Problem, Variable
from formulations.programs.program import Program
from results.solution import Status
from scenarios.question import Decision
from solvers.geometric.programs import ties
from solvers.linear import milp, programs
from solvers.linear.linear_program import Array
from solvers.linear.programs import Settled

VERTEX_HOLDS = 1e-9
# of the size of what makes up a reduced cost; less is rounding
COST_ROUNDED = 1e-9


def optimum(problem: Problem, goal: Goal) -> Settled | None:
    """The optimum of an LP or MILP with its bound, its design by the tie rule; None where the program has none.

    What has no design or no end is left to the methods that prove it whatever the numbers' sizes are.
    """
    sizes = {v.name: 1.0 if v.decision.integer else typical_size(problem, v.name) for v in problem.variables}
    p = _program(problem, goal, sizes)
    settled = programs.optimise(p)
    outcome = settled.outcome
    if outcome.status is not Status.OPTIMAL or outcome.x is None or outcome.bound is None:
        return None
    if not _limits_hold_in_floats(p, settled) or _held_by_box(
        p, settled, [v.real_low for v in problem.variables]
    ):
        return None
    x = {name: value * sizes[name] for name, value in outcome.x.items()}
    ranges = {n: (low * sizes[n], high * sizes[n]) for n, (low, high) in settled.ranges.items()}
    return Settled(replace(outcome, x=x, bound=goal.sign * outcome.bound), ranges)


def _limits_hold_in_floats(p: Program, settled: Settled) -> bool:
    """Whether every limit holds in plain floats: sizes far apart may hide one from the solver's tolerances."""
    if settled.u is None:
        return False
    return bool((p.rows @ settled.u <= VERTEX_HOLDS * np.maximum(p.denominators @ settled.u, 0.0)).all())


def _held_by_box(p: Program, settled: Settled, real: Sequence[bool]) -> bool:
    """Whether of an LP a lower end that is only there to have a box (not ``real``) holds the objective."""
    best = settled.best
    if best is None or settled.u is None or best.multipliers is None or best.cost is None:
        return False
    slope = best.cost + best.multipliers @ p.rows
    size = np.abs(best.cost) + np.abs(best.multipliers) @ np.abs(p.rows)
    at_low = settled.u[:-1] <= p.low * (1.0 + milp.AT_PROGRAM_END)
    return bool((~np.array(real) & at_low & (slope[:-1] > COST_ROUNDED * size[:-1])).any())


def _program(problem: Problem, goal: Goal, sizes: Mapping[str, float]) -> Program:
    """The rows and the goal over ``variable / size``; of a maximised metric the negative is minimised."""
    made = [(atom, v, factor) for v in problem.variables for atom, factor in _columns(v, sizes[v.name])]

    def vector(p: Posynomial) -> Array:
        assert p.is_affine, "every part of an LP or MILP is affine"
        of = [p.terms.get(((v.name, 1.0),), 0.0) * factor * sizes[v.name] for _, v, factor in made]
        return np.array([*of, p.terms.get((), 0.0)], dtype=float)

    rows = [(key, vector(top), vector(bottom)) for key, top, bottom in linear_rows(problem)]
    unit = vector(Posynomial({(): 1.0}))
    menus = [
        (None, np.array([*(float(v is w) for _, w, _ in made), 0.0]), unit)
        for v in problem.variables
        if v.decision.values is not None
    ]
    every = [*rows, *menus]
    stages = [g for g in ties.tie_goals(problem, goal.name) if g.name in problem.question.tie_order]
    return Program(
        question=replace(
            problem.question,
            decide=tuple(_in_units_of_size(d, sizes[d.name]) for d in problem.question.decide),
        ),
        columns=tuple(atom for atom, _, _ in made),
        low=np.array([0.0 if isinstance(a, Entry) else v.low / sizes[v.name] for a, v, _ in made]),
        high=np.array([1.0 if isinstance(a, Entry) else _high(v) / sizes[v.name] for a, v, _ in made]),
        integer=np.array([v.discrete for _, v, _ in made], dtype=bool),
        keys=tuple(key for key, _, _ in every),
        numerators=np.array([top for _, top, _ in every]).reshape(len(every), unit.size),
        denominators=np.array([bottom for _, _, bottom in every]).reshape(len(every), unit.size),
        equal=np.array([key is None for key, _, _ in every], dtype=bool),
        goal=vector(linear_goal(goal)),
        under=unit,
        sign=1,
        exact=(),
        ties=tuple(
            (g.name, vector(g.numerator), vector(g.denominator))
            for g in stages
            if g.numerator.is_affine and g.denominator.is_affine
        ),
    )


def _columns(v: Variable, size: float) -> list[tuple[Atom, float]]:
    """The columns that a variable is the sum of, each times its factor: itself, or an entry for each value."""
    if v.decision.values is None:
        return [(v.name, 1.0)]
    return [(Entry(v.name, k), value / size) for k, value in enumerate(v.decision.values)]


def _high(v: Variable) -> float:
    """The upper end of a variable; one that is only there to have a box is none of a program's."""
    return v.high if v.real_high else math.inf


def _in_units_of_size(d: Decision, size: float) -> Decision:
    """A decision whose listed values are in units of its size."""
    return d if d.values is None else replace(d, values=tuple(value / size for value in d.values))
