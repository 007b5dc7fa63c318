"""Section VI: efficiency of the two-socket machine when its energy parameters improve (Figures 6 and 7).

The paper does not say which M its curves use. We read M = 3 n^2/p (three matrices spread over both
sockets): it is the one natural choice with which the text's three claims hold together. The others are worked
out beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise

from dse import machines
from dse.papers.asking import ask, metrics
from dse.papers.demmel2013 import costs
from dse.papers.demmel2013.symbols import Setting, as_machine, from_machine
from dse.papers.report import Row
from dse.papers.sources import statements
from results.solution import Status

ORDER, SOCKETS, TARGET = 35000.0, 2.0, 75e9
GENERATIONS = tuple(range(11))
SCALED = {
    "energy_per_flop": ("energy_per_flop",),
    "energy_per_word": ("energy_per_word",),
    "memory_power_per_word": ("memory_power_per_word",),
    "together": ("energy_per_flop", "energy_per_word", "memory_power_per_word"),
}


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to read the M of Figures 6 and 7 (words per socket), and the machine taken."""

    name: str
    memory: float
    machine: str


CHOSEN = Reading("M = 3n²/p", 3.0 * ORDER**2 / SOCKETS, "jaketown-printed")
TABLE_I = Reading("M = 2^34 (Table I)", 2.0**34, "jaketown-printed")
READINGS = (
    Reading("M = n²/p", ORDER**2 / SOCKETS, "jaketown-printed"),
    CHOSEN,
    Reading("M = 3n²", 3.0 * ORDER**2, "jaketown-printed"),
    Reading("M = 2^32", 2.0**32, "jaketown-printed"),
    TABLE_I,
    Reading("M = 2^34, δe corrected", 2.0**34, "jaketown-printed, delta_e corrected"),
)


@cache
def _machine(name: str) -> Setting:
    """Return the case-study machine as printed, or with the delta_e of the corrected catalogue machine."""
    printed = from_machine(name, ORDER, 1.0, machines.get("jaketown-printed").parameters)
    if name == "jaketown-printed":
        return printed
    return replace(printed, delta_e=machines.get("jaketown").parameters["memory_power_per_word"])


def efficiency(reading: Reading, halved: Sequence[str], generations: int) -> float:
    """flop/J of 2.5D multiplication (n^3 flops) after that many halvings of the named machine parameters."""
    machine = as_machine(_machine(reading.machine))
    for name in halved:
        machine[name] /= 2.0**generations
    # two sockets with three matrices lie outside the 2.5D range, as the paper itself says
    return metrics("matmul", machine, _design(reading), "replication")["efficiency"]


def _design(reading: Reading) -> dict[str, float]:
    return {"order": ORDER, "processors": SOCKETS, "memory": reading.memory}


@cache
def curves(reading: Reading = CHOSEN) -> Mapping[str, tuple[float, ...]]:
    """flop/J by generation, for every parameter alone and for all together (Figures 6 and 7)."""
    return {
        name: tuple(efficiency(reading, halved, g) for g in GENERATIONS) for name, halved in SCALED.items()
    }


def first_passing(values: Sequence[float]) -> float:
    """Return the first generation that reaches 75 GFLOPS/W (infinite when none listed does)."""
    return next(
        (float(g) for g, value in zip(GENERATIONS, values, strict=True) if value >= TARGET), float("inf")
    )


def rows() -> list[Row]:
    """Return what section VI says, then the table of readings."""
    return [*_claims(), *(row for reading in READINGS for row in _reading(reading))]


def _claims() -> list[Row]:
    says, found = statements("demmel2013"), curves()
    flop, word = found["energy_per_flop"], found["energy_per_word"]
    gains = [after / before - 1.0 for before, after in pairwise(flop[6:])]
    machine = as_machine(_machine("jaketown-printed"))
    inside = ask({"model": "matmul", "machine": machine, "given": _design(CHOSEN)})
    outside = inside.status is Status.INFEASIBLE and "replication" in inside.conflict
    message = efficiency(CHOSEN, ("energy_per_message",), 5) / flop[0]
    memory = found["memory_power_per_word"][5] / flop[0]
    everything = first_passing(curves(TABLE_I)["together"])
    return [
        Row(
            says["VI_outside"],
            CHOSEN.name,
            "yes",
            "yes" if outside else "no",
            remark="replication is waived for the curves",
        ),
        Row(
            says["VI_together"],
            CHOSEN.name,
            5.0,
            first_passing(found["together"]),
            "generation",
            tolerance=0.0,
        ),
        Row(
            says["VI_printed"],
            TABLE_I.name,
            5.0,
            everything,
            "generation",
            corrected=6.0,
            tolerance=0.0,
            remark="with the corrected δe 75 is missed by 3 % at generation 5",
        ),
        Row(
            says["VI_beta"],
            f"{CHOSEN.name}, ten halvings",
            "yes",
            "yes" if word[-1] / word[0] < 1.0001 else "no",
            remark=f"gain {word[-1] / word[0] - 1.0:.1e}",
        ),
        Row(
            says["VI_gamma"],
            f"{CHOSEN.name}, under 10 % per halving from generation 6 on",
            "yes",
            "yes" if max(gains) < 0.1 else "no",
            remark=f"the next one gains {gains[0]:.1%}",
        ),
        Row(
            says["VI_alpha"],
            "third parameter that is scaled",
            "αe",
            "δe" if message == 1.0 and memory > 1.0 else "αe",
            corrected="δe",
            remark=f"five halvings of αe = 0 gain nothing, of δe {memory - 1.0:.0%}",
        ),
    ]


def _reading(reading: Reading) -> list[Row]:
    """Start, five joint generations, and how far five halvings of gamma_e go: (10) beside the model."""
    says, found, s = statements("demmel2013"), curves(reading), _machine(reading.machine)

    def formula(gamma: float = 1.0, others: float = 1.0) -> float:
        """Return flop/J by (10) with gamma_e, and with beta_e and delta_e, times these factors."""
        scaled = replace(s, gamma_e=gamma * s.gamma_e, beta_e=others * s.beta_e, delta_e=others * s.delta_e)
        return ORDER**3 / costs.matmul_energy(scaled, reading.memory)

    limit, alone = formula(gamma=0.0), formula(gamma=1.0 / 32.0)
    together = found["together"]
    reaches = f"75 GFLOPS/W first reached at generation {first_passing(together):.0f}"
    exact = 1e-9
    return [
        Row(says["VI_start"], reading.name, formula() / 1e9, together[0] / 1e9, "GFLOPS/W", tolerance=exact),
        Row(
            says["VI_five"],
            reading.name,
            formula(1.0 / 32.0, 1.0 / 32.0) / 1e9,
            together[5] / 1e9,
            "GFLOPS/W",
            None,
            exact,
            reaches,
        ),
        Row(
            says["VI_share"],
            reading.name,
            100.0 * alone / limit,
            100.0 * found["energy_per_flop"][5] / limit,
            "%",
            tolerance=exact,
        ),
    ]
