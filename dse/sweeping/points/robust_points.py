"""What a dataset says of itself where each point is one design for many worlds: measures, worlds, fresh samples."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from results.uncertainty import kept
from results.variables import OBJECTIVE_MEASURE
from scenarios.uncertainty import uncertain_words
from solvers.robust import validation

if TYPE_CHECKING:
    from scenarios.question import Question
    from scenarios.sweep.grids import Grid


def about(question: Question, grid: Grid | None = None) -> dict[str, Any]:
    """Return the attributes of a dataset whose designs are decided before the worlds are known; else nothing.

    ``grid``: of which it is the first question, whose axes may change the level of a measure.
    ``objective_measure``: what the objective is of its metric. ``measures``: what each name is that stands for a
    measure, as JSON. ``worlds``: which samples were drawn, or that it is all values, in words.
    ``fresh_samples`` and ``fresh_seed``: those in which the designs are judged.
    """
    if question.uncertain is None:
        return {}
    swept = {} if grid is None else grid.levels
    measures = {
        n: uncertain_words.named(m, swept=("measure", n) in swept) for n, m in question.measures.items()
    }
    sampling, goal = question.uncertain.sampling, next(iter(question.objectives), None)
    own = {}
    if goal is not None and question.measure is not None and goal.name not in measures:
        own = {
            OBJECTIVE_MEASURE: uncertain_words.named(
                question.measure, goal.name, swept=("measure", "") in swept
            )
        }
    return {
        **own,
        "measures": json.dumps(measures, ensure_ascii=False),
        "worlds": uncertain_words.worlds(question),
        kept.SAMPLES: validation.FRESH,
        kept.SEED: sampling.seed + validation.VALIDATION_SEED,
    }
