"""What the given numbers are worth at many optima of geometric programs at once, by the envelope theorem.

The Lagrangian is differenced in each number with design and multipliers held: one run of the model's arithmetic, with
arrays of all points and both steps of every number.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from formulations import batch, handover
from formulations.batch import Batch
from formulations.problem import Problem
from scenarios.question import HALVINGS, Question
from solvers import gp
from solvers.batched.geometric_answers import Answers
from solvers.gp_terms import Array
from solvers.sensitivity import STEP

LEAST = 1e-8
MOVED = "the worth of given numbers at many points at once"


def elasticities(first: Problem, made: Batch, found: Answers) -> Mapping[str, Array]:
    """Percent of the objective per percent of each given number, at every point; empty where that is not known.

    ``first``: the question at one point in mathematics (see ``formulations.batch.of_question``).
    """
    question = made.question
    names = [n for n, v in question.given.items() if not isinstance(v, str) and v > 0]
    # a count of halvings has no share, and discrete decisions have no rates
    if not names or made.discrete is not None or question.objectives[0].name == HALVINGS.name:
        return {}
    size, steps = made.size, 2 * len(names)
    moved = None
    # a number may be an exponent, or decide how a model goes on: others know a way
    with handover.guarded(MOVED, size, handover.ARITHMETIC):
        moved = batch.of_question(first, _moved(question, names, size), (steps, size))
    if moved is None or moved.keys != made.keys or moved.table.exponents.shape != made.table.exponents.shape:
        return {}
    y = np.log(np.stack([np.broadcast_to(found.x[v.name], size) for v in made.problem.variables], axis=1))
    t = moved.table
    with np.errstate(all="ignore"):
        rows = gp.evaluate(t.exponents, t.logc, t.ptr, np.tile(y, (steps, 1))).reshape(steps, size, -1)
        total = rows[..., 0] + (rows[..., 1:] * found.multipliers).sum(-1)
        slope = (total[0::2] - total[1::2]) / (math.log1p(STEP) - math.log1p(-STEP))
    sign = -1.0 if question.objectives[0].maximize else 1.0
    return {n: sign * slope[i] for i, n in enumerate(names)}


def _moved(question: Question, names: list[str], size: int) -> Question:
    """The question with each number a little more and a little less, one at a time, at all points."""
    given: dict[str, Any] = dict(question.given)
    for i, name in enumerate(names):
        factors = np.ones((2 * len(names), 1))
        factors[2 * i], factors[2 * i + 1] = 1.0 + STEP, 1.0 - STEP
        given[name] = given[name] * factors
    return dataclasses.replace(question, given=given)


def of_point(worth: Mapping[str, Array], i: int) -> dict[str, float]:
    """What is felt at one point."""
    at = {n: float(v[i]) for n, v in worth.items()}
    return {n: e for n, e in at.items() if math.isfinite(e) and abs(e) > LEAST}
