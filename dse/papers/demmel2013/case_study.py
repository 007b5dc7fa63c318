"""Section VI: efficiency of the two-socket machine when its energy parameters improve (Figures 6 and 7).

The paper does not say which M its curves use. We read M = 3 n^2/p (three matrices spread over both
sockets): it is the one natural choice with which the text's three claims hold together. The others are worked
out beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise

from dse import machines
from dse.papers.asking import ask, metrics
from dse.papers.comparer import Found
from dse.papers.demmel2013 import costs
from dse.papers.demmel2013.questions import answers, setting
from dse.papers.demmel2013.symbols import Setting, as_machine, from_machine
from dse.papers.sources import table
from dse.system.records import dataclass
from results.solution import Status

ORDER, SOCKETS = setting("jaketown-printed").n, 2.0
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


READINGS = tuple(
    Reading(row["reading"], float(row["memory"]), row["machine"]) for row in table("demmel2013/readings")
)
_BY_NAME = {reading.name: reading for reading in READINGS}
CHOSEN, TABLE_I = _BY_NAME["M = 3n²/p"], _BY_NAME["M = 2^34 (Table I)"]


@cache
def _case_study_machine(name: str) -> Setting:
    """Return the case-study machine as printed, or with the delta_e of the corrected catalogue machine."""
    printed = from_machine(name, ORDER, 1.0, machines.get("jaketown-printed").parameters)
    if name == "jaketown-printed":
        return printed
    return replace(printed, delta_e=machines.get("jaketown").parameters["memory_power_per_word"])


def efficiency(reading: Reading, halved: Sequence[str], generations: int) -> float:
    """flop/J of 2.5D multiplication (n^3 flops) after that many halvings of the named machine parameters."""
    machine = as_machine(_case_study_machine(reading.machine))
    for name in halved:
        machine[name] /= 2.0**generations
    # two sockets with three matrices lie outside the 2.5D range, as the paper itself says
    return metrics("matmul", machine, _case_study_design(reading), "replication")["efficiency"]


def _case_study_design(reading: Reading) -> dict[str, float]:
    return {"order": ORDER, "processors": SOCKETS, "memory": reading.memory}


@cache
def curves(reading: Reading = CHOSEN) -> Mapping[str, tuple[float, ...]]:
    """flop/J by generation, for every parameter alone and for all together (Figures 6 and 7)."""
    return {
        name: tuple(efficiency(reading, halved, g) for g in GENERATIONS) for name, halved in SCALED.items()
    }


def first_passing(values: Sequence[float], target: float) -> float:
    """Return the first generation that reaches so many flop/J (infinite when none listed does)."""
    return next(
        (float(g) for g, value in zip(GENERATIONS, values, strict=True) if value >= target), float("inf")
    )


@answers("VI_outside")
def _outside(reading: str) -> bool:
    """The design lies outside the range of replication."""
    of = _BY_NAME[reading]
    asked = ask(
        {
            "model": "matmul",
            "machine": as_machine(_case_study_machine(of.machine)),
            "given": _case_study_design(of),
        }
    )
    return asked.status is Status.INFEASIBLE and "replication" in asked.conflict


@answers("VI_together")
def _generations(reading: str, target: str) -> float:
    return first_passing(curves(_BY_NAME[reading])["together"], float(target) * 1e9)


@answers("VI_printed")
def _by_table_i(reading: str, target: str, right: str) -> Found:
    return Found(_generations(reading, target), corrected=float(right))


@answers("VI_beta")
def _by_words(reading: str) -> Found:
    word = curves(_BY_NAME[reading])["energy_per_word"]
    return Found(word[-1] / word[0] < 1.0001, told={"gain": word[-1] / word[0] - 1.0})


@answers("VI_gamma")
def _by_flops(reading: str) -> Found:
    flop = curves(_BY_NAME[reading])["energy_per_flop"]
    gains = [after / before - 1.0 for before, after in pairwise(flop[6:])]
    return Found(max(gains) < 0.1, told={"gain": gains[0]})


@answers("VI_alpha")
def _third(reading: str) -> Found:
    of = _BY_NAME[reading]
    found = curves(of)
    message = efficiency(of, ("energy_per_message",), 5) / found["energy_per_flop"][0]
    memory = found["memory_power_per_word"][5] / found["energy_per_flop"][0]
    ours = "δe" if message == 1.0 and memory > 1.0 else "αe"
    return Found(ours, corrected="δe", told={"gain": memory - 1.0})


def _formula(reading: Reading, gamma: float = 1.0, others: float = 1.0) -> float:
    """Return flop/J by (10) with gamma_e, and with beta_e and delta_e, times these factors."""
    s = _case_study_machine(reading.machine)
    scaled = replace(s, gamma_e=gamma * s.gamma_e, beta_e=others * s.beta_e, delta_e=others * s.delta_e)
    return ORDER**3 / costs.matmul_energy(scaled, reading.memory)


@answers("VI_start")
def _curves_start(reading: str) -> Found:
    of = _BY_NAME[reading]
    return Found(curves(of)["together"][0] / 1e9, _formula(of) / 1e9)


@answers("VI_five")
def _five(reading: str, target: str) -> Found:
    of = _BY_NAME[reading]
    ours, printed = curves(of)["together"][5] / 1e9, _formula(of, 1.0 / 32.0, 1.0 / 32.0) / 1e9
    return Found(ours, printed, told={"generation": _generations(reading, target)})


@answers("VI_share")
def _percent_of_limit_found(reading: str) -> Found:
    of = _BY_NAME[reading]
    limit = _formula(of, gamma=0.0)
    alone = curves(of)["energy_per_flop"][5]
    return Found(100.0 * alone / limit, 100.0 * _formula(of, gamma=1.0 / 32.0) / limit)
