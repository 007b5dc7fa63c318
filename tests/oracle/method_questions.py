"""Questions for the tests of single methods, and closed forms of n-body apart from the engine."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import dse.models
from scenarios.question import Decision, Limit, Objective, Question

NBODY = {
    "time_per_flop": 1e-9,
    "time_per_word": 4e-8,
    "time_per_message": 1e-5,
    "energy_per_flop": 2e-10,
    "energy_per_word": 3e-6,
    "energy_per_message": 1e-5,
    "memory_power_per_word": 2e-5,
    "leakage_power": 0.05,
    "max_message": 1e3,
}
FFT = {
    "time_per_flop": 1e-11,
    "time_per_word": 1e-9,
    "time_per_message": 1e-6,
    "energy_per_flop": 1e-10,
    "energy_per_word": 2e-9,
    "energy_per_message": 1e-6,
    "memory_power_per_word": 1e-3,
    "leakage_power": 1.0,
    "max_message": 1.0,
}
BODIES, FLOPS = 1e5, 10.0
POINTS = 2.0**20


def question(
    model: str,
    given: Mapping[str, float | str],
    machine: Mapping[str, float],
    decide: tuple[Decision, ...],
    minimize: str | None,
    *,
    maximize: str | None = None,
    **limits: tuple[float | None, float | None],
) -> Question:
    """A question; ``limits`` are (minimum, maximum) by metric."""
    goal = (Objective(minimize),) if minimize else (Objective(maximize, maximize=True),) if maximize else ()
    decided = {d.name for d in decide}
    everything = {**given, **{f"machine.{k}": v for k, v in machine.items()}}
    return Question(
        dse.models.get(model),
        {k: v for k, v in everything.items() if k not in decided},
        decide,
        goal,
        tuple(Limit(name, low, high) for name, (low, high) in limits.items()),
    )


def nbody(
    minimize: str | None = "energy",
    *,
    p: Decision | None = None,
    memory: Decision | None = None,
    machine: Mapping[str, float] = NBODY,
    bodies: float = BODIES,
    maximize: str | None = None,
    **limits: tuple[float | None, float | None],
) -> Question:
    """Direct n-body with processors and memory decided, on the machine of the reference cases."""
    decide = (p or Decision("processors"), memory or Decision("memory"))
    given = {"bodies": bodies, "flops_per_pair": FLOPS}
    return question(
        "nbody", given, machine, decide, None if maximize else minimize, maximize=maximize, **limits
    )


def fft(
    minimize: str | None = "energy",
    *,
    p: Decision | None = None,
    exchange: str = "tree",
    maximize: str | None = None,
    **limits: tuple[float | None, float | None],
) -> Question:
    """The fast Fourier transform of the reference cases; processors decided, whole unless ``p`` differs."""
    decide = (p or Decision("processors", integer=True),)
    given: dict[str, Any] = {"points": POINTS, "all_to_all": exchange}
    return question("fft", given, FFT, decide, None if maximize else minimize, maximize=maximize, **limits)


def fixed_design(decide: tuple[Decision, ...], minimize: str | None, **limits: Any) -> Question:
    """N-body on 100 processors with 5000 words each.

    Machine parameters are decided, so that costs are linear.
    """
    given = {"bodies": BODIES, "flops_per_pair": FLOPS, "processors": 100.0, "memory": 5000.0}
    return question("nbody", given, NBODY, decide, minimize, **limits)


def least_energy_by_deadline(m: Mapping[str, float], n: float, deadline: float) -> float:
    """Demmel V.A and V.B in closed form: least energy with any number of processors, time <= ``deadline``.

    E = n^2 (A + B/M + c M); inside the deadline the best memory is sqrt(B/c), else the replication limit p =
    n^2/M^2 and the deadline meet.
    """
    word_time = m["time_per_word"] + m["time_per_message"] / m["max_message"]
    word_energy = m["energy_per_word"] + m["energy_per_message"] / m["max_message"]
    a = FLOPS * (m["energy_per_flop"] + m["time_per_flop"] * m["leakage_power"])
    a += m["memory_power_per_word"] * word_time
    b = word_energy + m["leakage_power"] * word_time
    c = m["memory_power_per_word"] * m["time_per_flop"] * FLOPS
    f = FLOPS * m["time_per_flop"]
    best = math.sqrt(b / c)
    if f * best**2 + word_time * best <= deadline:
        memory = best
    else:
        memory = (-word_time + math.sqrt(word_time**2 + 4 * f * deadline)) / (2 * f)
    return n**2 * (a + b / memory + c * memory)
