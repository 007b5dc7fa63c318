"""Phases of a program at settings of voltage and frequency (Choi and Vuduc 2016): which setting for which phase.

A phase has counts of operations by kind (flops in single and double precision, integer operations, bytes from
shared memory, from the L2 cache and from memory). At a setting s it takes, and costs,

    t_s = times.s, or where none are given the longest of count_k/(rate_k f_s)
    E_s = Σ count_k ε_k,s + π0_s t_s                                        (9)

with rate_k operations per cycle of the clock f of the core (of the memory for bytes from memory) as the machine
states them. ε and π0 are stated by the setting, or follow from its voltages and the machine's
circuit constants by (6) to (8). Phases run one after another, in the order of the file. Each time that a phase
has another setting than the one before it, ``switch_time`` and ``switch_energy`` are added once.
``switch_energy`` is the whole energy of a switch, and ``power.<phase>`` is that of the phase without its switch.

``setting.<phase>`` is the setting of one phase, a number of the menu counted from 1; ``setting`` is one for all
phases that have none of their own.

With a ``period`` the run repeats: its work must end within the period, and until that ends the machine draws its
``idle_power``, or where it states none the least constant power of its menu (going there costs no switch):

    E = Σ over phases + switches + idle_power (period - T)

Power and performance are then averages over the period, and race-to-halt idles for as long as it is faster.

Race-to-halt runs as fast as possible: each phase at the setting of least time (of several the one of least energy,
of several the first), or, if one setting is used for all phases, the setting of least total time. ``race_time`` and
``race_energy`` are its time and energy, switches included; ``race_saving`` is the share of that energy that is
saved.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from itertools import pairwise
from typing import Any

from dse.models.arithmetic import differs, maximum, minimum, per, pick, reaches
from dse.models.model import Model, Unknown
from dse.models.platforms.dvfs_energy import CIRCUIT, SOURCE, constant_power, energies
from dse.models.platforms.dvfs_phases import (
    PHASES,
    RATES,
    TIMES,
    Phase,
    Plan,
    Setting,
    clock,
    counts,
    listed,
    machine,
    without_effect,
)
from dse.models.shared import periods
from dse.models.shared.families import choose, entry, only_expanded, row
from dse.models.shared.periods import PERIOD
from dse.models.shared.structure import Parts, Structure
from dse.models.shared.sums import Sum, held, sum_of
from dse.models.shared.totals import totals
from dse.quantities import Quantity
from dse.system.records import dataclass

# two times or energies that differ by less are equal: the same product in another order
_TIE = 1e-12
_MOST_SETTINGS = 1e6


INPUTS = (
    Quantity(
        "switch_time", "ts", "s", "time of going from one setting to another", "our addition", default=0.0
    ),
    Quantity(
        "switch_energy",
        "Es",
        "J",
        "energy of going from one setting to another, all of it",
        "our addition",
        default=0.0,
    ),
    PERIOD,
)
IDLE_POWER = replace(
    periods.IDLE_POWER,
    meaning="power from the end of the work to the end of the period; absent: the least constant power of the menu",
)
CHOICE = Quantity(
    "setting",
    "s",
    "",
    "setting of voltage and frequency",
    f"{SOURCE}, Table I",
    minimum=1.0,
    maximum=_MOST_SETTINGS,
    floor=1.0,
    ceiling=_MOST_SETTINGS,
    optional=True,
)
METRICS = (
    Quantity("time", "T", "s", "time of all phases and switches", f"{SOURCE} (9)"),
    Quantity("energy", "E", "J", "energy of all phases and switches", f"{SOURCE} (9)"),
    Quantity("power", "P", "W", "average power, energy/time", "quotient"),
    Quantity("performance", "R", "flop/s", "flops of both precisions per second", "quotient"),
    Quantity("efficiency", "η", "flop/J", "flops of both precisions per joule", "quotient"),
    Quantity("energy_delay", "ET", "J*s", "energy times time", "product"),
    Quantity("energy_compute", "", "J", "energy of flops and integer operations", f"{SOURCE} (9), figure 7"),
    Quantity("energy_data", "", "J", "energy of all bytes", f"{SOURCE} (9), figure 7"),
    Quantity(
        "energy_constant", "", "J", "energy of the constant power over all phases", f"{SOURCE} (9), figure 7"
    ),
    Quantity("energy_switching", "", "J", "energy of the switches", "switches times switch_energy"),
    Quantity("switches", "", "", "how often a phase has another setting than the one before", "count"),
    Quantity(
        "phase_power", "", "W", "average power of the phase that draws most", "maximum of power.<phase>"
    ),
    Quantity("race_time", "", "s", "time of race-to-halt", f"{SOURCE}, section II-E"),
    Quantity("race_energy", "", "J", "energy of race-to-halt", f"{SOURCE}, section II-E"),
    Quantity(
        "race_saving",
        "",
        "",
        "share of the energy of race-to-halt that is saved",
        f"{SOURCE}, section II-E",
        minimum=-math.inf,
    ),
)
OF_PHASE = (
    Quantity("time", "t", "s", "time of the phase", f"{SOURCE} (9)"),
    Quantity("energy", "E", "J", "energy of the phase", f"{SOURCE} (9)"),
    Quantity("power", "P", "W", "average power of the phase", "quotient"),
)
RACE_SETTING = replace(
    CHOICE,
    name="race_setting",
    symbol="",
    meaning="setting of race-to-halt",
    source=f"{SOURCE}, section II-E",
    optional=False,
)


@dataclass(frozen=True, slots=True)
class Costs:
    """What one phase takes and costs, one entry per setting."""

    time: Sequence[Any]
    compute: Sequence[Any]
    data: Sequence[Any]
    constant: Sequence[Any]

    @property
    def energy(self) -> list[Any]:
        """Return the whole energy at every setting (9)."""
        return [a + b + c for a, b, c in zip(self.compute, self.data, self.constant, strict=True)]


def equations(g: Any, plan: Plan) -> Mapping[str, Any]:
    """Times and energies of every phase at every setting; what is chosen picks from these tables."""
    stated = [entry(g, s.name) for s in plan.settings]
    prices = [_prices(g, s, at) for s, at in zip(plan.settings, stated, strict=True)]
    costs = [_costs_of_phase(g, plan, phase, stated, prices) for phase in plan.phases]
    chosen = [choose(g, f"setting.{p.name}", choose(g, "setting")) for p in plan.phases]

    def picked(table: str) -> list[Any]:
        return [pick(which, getattr(c, table)) for which, c in zip(chosen, costs, strict=True)]

    times, used = picked("time"), picked("energy")
    powers = [
        pick(which, [per(e, t) for e, t in zip(c.energy, c.time, strict=True)])
        for which, c in zip(chosen, costs, strict=True)
    ]
    switches = _switches(chosen)
    time = sum(times) + switches * g.switch_time
    switching = switches * g.switch_energy
    flops = _flops(g, plan)
    places, race_time, race_energy = _race(g, plan, costs)
    idle, race_idle = (_idle_energy(g, prices, t) for t in (time, race_time))
    energy = _energy_with_idle(sum(used) + switching, idle)
    race_energy = _energy_with_idle(race_energy, race_idle)
    found = {
        **totals(time, energy, flops),
        **periods.told(g, time, energy, idle, flops),
        "energy_compute": sum(picked("compute")),
        "energy_data": sum(picked("data")),
        "energy_constant": sum(picked("constant")),
        "energy_switching": switching,
        "switches": switches,
        "phase_power": reduce(maximum, powers),
        "race_time": race_time,
        "race_energy": race_energy,
        "race_saving": 1.0 - per(energy, race_energy),
    }
    for name, values in (("time", times), ("energy", used), ("power", powers), ("race_setting", places)):
        found |= {f"{name}.{p.name}": v for p, v in zip(plan.phases, values, strict=True)}
    return found


def _idle_energy(g: Any, prices: Sequence[tuple[Mapping[str, Any], Any]], time: Any) -> Any:
    """Return the energy from the end of a run to the end of the period; None where there is none."""
    if not hasattr(g, PERIOD.name):
        return None
    stated = getattr(g.machine, IDLE_POWER.name, None)
    return (reduce(minimum, [constant for _, constant in prices]) if stated is None else stated) * (
        g.period - time
    )


def _energy_with_idle(energy: Any, idle: Any) -> Any:
    return energy if idle is None else energy + idle


def _costs_of_phase(
    g: Any,
    plan: Plan,
    phase: Phase,
    entries: Sequence[Any],
    prices: Sequence[tuple[Mapping[str, Any], Any]],
) -> Costs:
    """``entries`` and ``prices``: what every setting states, and what it costs."""
    counts = row(g, PHASES.name, phase.name)
    table: list[tuple[Any, Any, Any, Any]] = []
    for setting, stated, (each, constant) in zip(plan.settings, entries, prices, strict=True):
        time = _phase_time(g, phase, setting, counts, stated)
        spent = {o: getattr(counts, o.count) * each[o.energy] for o in phase.operations}
        # nothing of a kind is not an energy, which has a unit like the others
        none = 0.0 * constant * time
        compute = sum((e for o, e in spent.items() if o.unit != "byte"), none)
        data = sum((e for o, e in spent.items() if o.unit == "byte"), none)
        table.append((time, compute, data, constant * time))
    return Costs(*(list(column) for column in zip(*table, strict=True)))


def _prices(g: Any, setting: Setting, stated: Any) -> tuple[Mapping[str, Any], Any]:
    """Return the energies per operation of a setting by name, and its constant power."""
    circuit = vars(g.machine)
    core, memory = (getattr(stated, name, None) for name in ("core_voltage", "memory_voltage"))
    needed = {o.capacitance: circuit[o.capacitance] for o in setting.derived}
    each = vars(stated) | energies(needed, core, memory)
    return each, constant_power(circuit, core, memory) if setting.leaks else stated.constant_power


def _phase_time(g: Any, phase: Phase, setting: Setting, counts: Any, stated: Any) -> Any:
    if phase.timed:
        return getattr(counts, f"{TIMES.name}.{setting.name}")
    return reduce(
        maximum,
        [
            per(
                getattr(counts, o.count),
                getattr(g.machine, f"{o.count}_per_cycle") * getattr(stated, clock(o)),
            )
            for o in phase.operations
        ],
    )


def _flops(g: Any, plan: Plan) -> Any:
    return sum(
        (
            getattr(row(g, PHASES.name, p.name), o.count)
            for p in plan.phases
            for o in p.operations
            if o.unit == "flop"
        ),
        0.0 * g.flop,
    )


def _switches(chosen: Sequence[Any]) -> Any:
    """Return how often neighbours differ."""
    return sum((differs(a, b) for a, b in pairwise(chosen) if a is not b), 0.0)


def _race(g: Any, plan: Plan, costs: Sequence[Costs]) -> tuple[list[Any], Any, Any]:
    """Return the settings, the time and the energy of race-to-halt."""
    together = not any(hasattr(g, f"setting.{p.name}") for p in plan.phases)
    if together:
        place = _fastest_setting(_totals([c.time for c in costs]), _totals([c.energy for c in costs]))
        places = [place] * len(costs)
    else:
        places = [_fastest_setting(c.time, c.energy) for c in costs]
    switches = _switches(places)
    time = sum(pick(place, c.time) for place, c in zip(places, costs, strict=True))
    energy = sum(pick(place, c.energy) for place, c in zip(places, costs, strict=True))
    return places, time + switches * g.switch_time, energy + switches * g.switch_energy


def _totals(tables: Sequence[Sequence[Any]]) -> list[Any]:
    return [sum(of_setting) for of_setting in zip(*tables, strict=True)]


def _fastest_setting(times: Sequence[Any], energies_: Sequence[Any]) -> Any:
    """Return the number of the setting of least time, among equals of least energy, among equals the first.

    By maxima and comparisons alone, so that times and energies may be arrays.
    """
    highest = reduce(maximum, [per(1.0, t) for t in times])
    fast = [reaches(per(1.0, t) * (1.0 + _TIE), highest) for t in times]
    top = reduce(maximum, energies_)
    gain = reduce(maximum, [f * (top - e) for f, e in zip(fast, energies_, strict=True)])
    frugal = [f * reaches(top - e + _TIE * top, gain) for f, e in zip(fast, energies_, strict=True)]
    many = len(times)
    return many + 1.0 - reduce(maximum, [f * (many - i) for i, f in enumerate(frugal)])


def expand(parts: Parts) -> Model:
    """Return the plain model of these phases and settings: setting.<phase>, machine.<setting>.energy_per_flop, ...

    Raises ValueError where there is no phase or no setting, where a phase states nothing, and where a setting
    lacks what a phase needs, naming it.
    """
    asked = listed(parts)
    menu = tuple(s.name for s in asked.settings)
    choice = replace(CHOICE, menu=menu, maximum=float(len(menu)), ceiling=float(len(menu)))
    own = tuple(choice.at(phase=p.name) for p in asked.phases)
    race = replace(RACE_SETTING, menu=menu, maximum=choice.maximum, ceiling=choice.ceiling)
    return replace(
        DVFS,
        machine=(*machine(asked), IDLE_POWER),
        inputs=(*INPUTS, *counts(asked), choice, *own),
        metrics=(
            *METRICS,
            *periods.metrics(parts.asked),
            *(q.at(phase=p.name) for q in (*OF_PHASE, race) for p in asked.phases),
        ),
        limits=periods.limits(parts.asked),
        equations=partial(equations, plan=asked),
        sums=_dvfs_sums(asked, parts.asked),
        hardware=(held("processor", time=periods.kept_for(parts.asked)),),
        partless=without_effect(asked),
        unknowns=_unknown_settings(own),
        structure=None,
        expand=None,
    )


def _dvfs_sums(plan: Plan, spoken_of: Collection[str]) -> tuple[Sum, ...]:
    kinds = {
        "computing": "energy_compute",
        "data": "energy_data",
        "constant power": "energy_constant",
        "switching": "energy_switching",
    }
    names, idle = [p.name for p in plan.phases], periods.parts(spoken_of)
    return (
        sum_of("time", "phase", {n: f"time.{n}" for n in names} | {"switching": "switches switch_time"}),
        sum_of("energy", "what it is spent on", kinds | idle),
        sum_of(
            "energy", "phase", {n: f"energy.{n}" for n in names} | {"switching": "energy_switching"} | idle
        ),
    )


def _unknown_settings(settings: tuple[Quantity, ...]) -> tuple[Unknown, ...]:
    return tuple(Unknown(q.name, integer=True) for q in settings)


_OF_A_PHASE = CHOICE.at(phase="<phase>")
DVFS = Model(
    name="dvfs",
    title="A setting of voltage and frequency for each phase",
    source="Choi et al. 2016 (5)-(9)",
    machine=(*RATES, *CIRCUIT, IDLE_POWER),
    inputs=(*INPUTS, CHOICE, _OF_A_PHASE),
    metrics=(*METRICS, periods.ENERGY_IDLE, *(q.at(phase="<phase>") for q in (*OF_PHASE, RACE_SETTING))),
    limits=(periods.IN_PERIOD,),
    equations=only_expanded,
    hardware=(held("processor"),),
    notes=__doc__ or "",
    unknowns=_unknown_settings((_OF_A_PHASE,)),
    structure=Structure((PHASES,), settings=True),
    expand=expand,
)
