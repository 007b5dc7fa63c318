"""Which uncertain number should be measured better: what is lost through not knowing it when the design is chosen.

With L(x, U) the objective of a design x, the expected value of partial perfect information about U_j is

    EVPPI_j = min over x of E[L(x, U)] - E over U_j of  min over x of E[L(x, U) | U_j]

(Raiffa and Schlaifer, *Applied Statistical Decision Theory*, 1961). It is estimated by bins: the samples are sorted by
U_j and cut into BINS parts of equally many. In each the best design is found, with proof where the question allows one,
for the samples of that part; limits hold in all of these, or in the share that the file asks for. The mean of the
parts' optima, taken from the optimum over all samples, is what is gained by learning in which part U_j lies.

A design for fewer samples fits them better than the world, so that learning a number of no influence at all seems to
gain something too. That is measured in the same way, with parts that were drawn by lot (the mean of LOTS such
dealings), and told as ``by_chance``: what lies no higher is not shown to be worth measuring.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from formulations import evaluation
from formulations.uncertainty.measures import MEAN
from formulations.uncertainty.worlds import Worlds
from results.solution import Solution, Status
from results.uncertainty.matters import BY_CHANCE, Losses, Lost
from scenarios.question import Question
from scenarios.sizes import unit_in_question
from scenarios.uncertainty.promises import promises
from solvers.robust import decide_now

BINS = 8
SAMPLES = 512
LOSSES_SEED = 314_159
LOTS = 4
GOOD = (Status.OPTIMAL, Status.FEASIBLE)


def losses(question: Question, samples: int = SAMPLES, parts: int = BINS) -> Losses | None:
    """Estimate what is lost through not knowing each uncertain number; None where nothing is decided or minimised.

    The mean of the objective counts, whatever the file's measure. Raises RuntimeError where a part is answered by
    neither a design nor a proof that there is none.
    """
    if not question.decide or len(question.objectives) != 1:
        return None
    worlds = decide_now.sampled(question, samples)
    goal = question.objectives[0]
    whole = _optimum(worlds)
    values = worlds.uncertain()
    random = np.random.default_rng(LOSSES_SEED)

    def lost(name: str, order: Any) -> Lost:
        found = [_optimum(worlds.some(part)) for part in np.array_split(order, parts)]
        there = [v for v in found if v is not None]
        if whole is None or len(there) < parts:
            return Lost(name, None, len(there))
        sizes = [len(part) for part in np.array_split(order, parts)]
        gain = whole - float(np.average(there, weights=sizes))
        return Lost(name, -gain if goal.maximize else gain, parts)

    each = [lost(n, np.argsort(v, kind="stable")) for n, v in values.items()]
    lots = [lost(BY_CHANCE, random.permutation(samples)) for _ in range(LOTS)]
    gains = [x.value for x in lots if x.value is not None]
    by_chance = Lost(BY_CHANCE, float(np.mean(gains)) if gains else None, min(x.designs for x in lots))
    unit = unit_in_question(question, goal.name, evaluation.quantity(question.model, goal.name).unit)
    return Losses(goal.name, unit, whole, tuple(sorted(each, key=_dearest)), by_chance, samples, parts)


def _dearest(x: Lost) -> tuple[float, int]:
    return (-np.inf if x.value is None else -x.value), -x.designs


def _optimum(worlds: Worlds) -> float | None:
    """The best mean of the objective over some worlds; None where no design meets the limits."""
    question = worlds.nominal
    promised = tuple(
        (replace(p, confidence=0.0), int((1.0 - p.probability) * worlds.size + 1e-9))
        for p in promises(question)
    )
    asked = decide_now.Asked(worlds, MEAN, "mean", promised)
    found: Solution = decide_now.answered(asked, brief=True, tied=False)
    if found.status in GOOD:
        return found.objective
    if found.status is Status.INFEASIBLE:
        return None
    raise RuntimeError(found.message or found.status.value)
