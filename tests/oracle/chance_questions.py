"""An n-body question whose deadline may fail in some samples, its samples, and its answer."""

from __future__ import annotations

from typing import Any

import dse
import scenarios
from formulations.uncertainty import worlds as many_worlds
from formulations.uncertainty.worlds import Worlds
from results.solution import Solution
from scenarios.uncertain import draw
from solvers.robust import decide_now

NBODY: dict[str, Any] = {
    "model": "nbody",
    "machine": "balanced",
    "given": {"bodies": 1e5, "flops_per_pair": 10},
    "decide": {"processors": {"max": 4096}, "memory": {}},
    "objective": {"minimize": "energy", "measure": "mean"},
    "limits": {"time": {"max": "50 ms", "probability": 0.9}},
    "uncertain": {
        "machine.time_per_flop": {"lognormal": ["1 ns/flop", 1.2]},
        "machine.energy_per_word": {"lognormal": ["3 uJ/word", 1.3]},
        "sampling": {"samples": 400, "seed": 3},
    },
}


def world_of(data: dict[str, Any]) -> Worlds:
    question = scenarios.grid(dse.Scenario(**data)).question(())
    assert question.uncertain is not None
    samples = draw(question.uncertain, question.uncertain.sampling.samples)
    return many_worlds.of_values(question, samples)


def answered(data: dict[str, Any]) -> tuple[Solution, Worlds]:
    question = scenarios.grid(dse.Scenario(**data)).question(())
    return decide_now.answer_now(question), world_of(data)
