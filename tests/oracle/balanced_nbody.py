"""N-body on a machine where every cost matters, with the closed forms of Demmel section V apart from the engine."""

from __future__ import annotations

import math

from method_questions import NBODY

from dse import models
from scenarios.question import Decision, Limit, Objective, Question

BALANCED = {f"machine.{name}": value for name, value in NBODY.items()}
N, F = 1e5, 10.0
P, M = Decision("processors"), Decision("memory")
# constants of Demmel section V for this machine: b of (16), the energy that does not depend on M, and M0
LINK_TIME = 4e-8 + 1e-5 / 1e3
LINK = 3e-6 + 1e-5 / 1e3 + 0.05 * LINK_TIME
FIXED = F * (2e-10 + 1e-9 * 0.05) + 2e-5 * LINK_TIME
M0 = math.sqrt(LINK / (2e-5 * 1e-9 * F))
LEAST = N**2 * (FIXED + 2 * math.sqrt(2e-5 * 1e-9 * F * LINK))


def nbody(
    objective: str | None,
    *limits: Limit,
    p: Decision = P,
    m: Decision = M,
    maximize: bool = False,
    waive: frozenset[str] = frozenset(),
    machine: dict[str, float] | None = None,
) -> Question:
    """A question of ``N`` bodies; processors ``p`` and memory ``m`` are decided."""
    given_ones = {**(machine or BALANCED), "bodies": N, "flops_per_pair": F}
    wanted = () if objective is None else (Objective(objective, maximize),)
    return Question(models.get("nbody"), given_ones, (p, m), wanted, limits, waive)


def below(x: float) -> Decision:
    """Processors decided up to ``x``."""
    return Decision("processors", maximum=x)


def time(p: float, m: float) -> float:
    """Time of a run on ``p`` processors with ``m`` words each, s."""
    return N**2 / p * (1e-9 * F + LINK_TIME / m)


def energy(m: float) -> float:
    """Energy of a run with ``m`` words on each processor, J; the number of processors does not matter."""
    return N**2 * (FIXED + LINK / m + 2e-5 * 1e-9 * F * m)
