"""The certified optimum in every world: a million of them for the energy of an n-body step, beside the closed form.

Two uncertain costs, two decided numbers. The closed form, E = a + 2 sqrt(b d), is known of this question alone and
proves nothing; it is the least that any way could take.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import dse
from benchmarks.harness import Bench, Way, agrees
from scenarios import load
from scenarios.uncertain import at_samples, draw, uncertain_of

TITLE = "The optimum in every world"
BODIES, FLOPS = 1e6, 20.0
Array = np.ndarray[Any, Any]


def benches(worlds: int = 1_000_000) -> list[Bench]:
    """Draw the worlds and find the best design of each."""
    asked = load(
        {
            "model": "nbody",
            "machine": "balanced",
            "given": {"bodies": BODIES, "flops_per_pair": FLOPS},
            "decide": {"processors": {"min": 1, "max": 65536}, "memory": {}},
            "objective": {"minimize": "energy"},
            "uncertain": {
                "machine.energy_per_word": {"lognormal": ["3 uJ/word", 1.2]},
                "machine.energy_per_flop": {"normal": ["200 pJ/flop", "10 pJ/flop"]},
            },
        }
    )
    uncertain = uncertain_of(asked)
    assert uncertain is not None

    def certified() -> Any:
        there = at_samples(asked, draw(uncertain, worlds))
        return dse.sweep(there, progress=False, metrics=[])["objective"].to_numpy()

    def closed() -> Array:
        return _closed(draw(uncertain, worlds))

    return [
        Bench(
            f"{worlds} worlds of an n-body step, two decided",
            Way("dse, drawn, solved and audited", certified, bound="yes", points=worlds),
            (Way("closed form in NumPy", closed, points=worlds),),
            check=lambda mine, theirs: agrees(mine, theirs, 1e-6),
            rounds=3,
        )
    ]


def _closed(worlds: dict[str, Array]) -> Array:
    """Return a + 2 sqrt(b d), where b/M + d M are the terms of Demmel et al. 2013, (16), that depend on memory."""
    p = dse.machines.get("balanced").parameters
    flop, word = worlds["machine.energy_per_flop"], worlds["machine.energy_per_word"]
    time_word = p["time_per_word"] + p["time_per_message"] / p["max_message"]
    energy_word = word + p["energy_per_message"] / p["max_message"]
    squared, leak, kept = BODIES**2, p["leakage_power"], p["memory_power_per_word"]
    steady = FLOPS * squared * (flop + leak * p["time_per_flop"]) + kept * time_word * squared
    moved = squared * (energy_word + leak * time_word)
    found: Array = steady + 2 * np.sqrt(moved * kept * FLOPS * squared * p["time_per_flop"])
    return found
