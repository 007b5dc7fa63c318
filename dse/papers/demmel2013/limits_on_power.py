"""Sections V.D to V.F: within total power, within power per processor, machine parameters for a target."""

from __future__ import annotations

import math
from dataclasses import replace

from dse.papers.asking import NO_RUN, ask, told
from dse.papers.demmel2013 import nbody
from dse.papers.demmel2013.questions import flatness, question, settings
from dse.papers.demmel2013.symbols import Setting, greek
from dse.papers.report import Row
from dse.papers.sources import statements

SAYS = statements("demmel2013")
SURE = 1e-6  # the gap that an optimal answer promises
PINNED = 1e-5  # a decided quantity that a limit holds in place


def rows() -> list[Row]:
    """Every closed form of V.D, V.E and V.F beside the solver's answer, for every parameter set."""
    found = []
    for s in settings():
        found += [
            *_total_power(s),
            *_least_energy_within(s),
            *_processor_power(s),
            *_processor_edges(s),
            *_target(s),
        ]
    return found


def _total_power(s: Setting) -> list[Row]:
    M0 = nbody.best_memory(s)
    low, high, g = s.n / M0, (s.n / M0) ** 2, nbody.processor_power(s, M0)
    P = g * math.sqrt(low * high)
    at_M0 = ask(question(s, minimize="time", memory=M0, limits={"power": P}))
    found = [
        Row(
            SAYS["19"],
            f"{s.name}, P = {P:.4g} W, M = M0",
            nbody.p_for_power(s, P, M0),
            told(at_M0, "processors"),
            "",
            tolerance=PINNED,
        ),
    ]
    for id_, power, told_as in (
        ("VD_middle", P, "power binds between the limits: M = M0, T = E*/P"),
        ("VD_rich", 2.0 * g * high, "2D limit, cubic n² g(M) = P M²"),
        ("VD_poor", 0.6 * g * low, "1D limit, quadratic n g(M) = P M"),
    ):
        solution = ask(question(s, minimize="time", limits={"power": power}))
        printed = nbody.time_most_processors(s, power)
        item = f"{s.name}, P = {power:.4g} W: {told_as}"
        found.append(
            Row(
                SAYS[id_],
                item,
                printed,
                told(solution, "objective"),
                "s",
                nbody.time_for_power(s, power),
                SURE,
            )
        )
    return found


def _least_energy_within(s: Setting) -> list[Row]:
    M0 = nbody.best_memory(s)
    g = nbody.processor_power(s, M0)
    P = g * (s.n / M0) ** 1.5
    solution = ask(question(s, minimize="energy", limits={"power": P}))
    _, high = solution.ranges.get("processors", (math.nan, math.nan))
    item, flat = f"{s.name}, P = {P:.4g} W", max(PINNED, 4.0 * flatness(s))
    return [
        Row(SAYS["VD_energy"], item, nbody.least_energy(s), told(solution, "objective"), "J", tolerance=SURE),
        Row(SAYS["VD_range"], item, P / g, high, "", tolerance=flat),
    ]


def _processor_power(s: Setting) -> list[Row]:
    """Both roots of (20), as the most and the least memory within the power of a processor."""
    P = nbody.processor_power(s, 2.0 * nbody.best_memory(s))
    lower, upper = nbody.memory_for_power(s, P)
    limits = {"power_per_processor": P}
    most = ask(question(s, maximize="memory", limits=limits))
    least = ask(question(s, minimize="memory", limits=limits))
    printed = nbody.memory_for_power_printed(s, P)
    item = f"{s.name}, P_max = {P:.6g} W"
    p_max = 1e3 * (s.n / nbody.best_memory(s)) ** 2
    floor = max(1.0, s.n / p_max)
    holds = "lower root" if lower > floor else "D <= 0 or root below M >= max(1, n/p_max): that end holds"
    said = "no real root" if math.isnan(printed) else printed
    return [
        Row(SAYS["20"], f"{item}, most memory", said, told(most, "objective"), "word", upper, PINNED),
        Row(
            SAYS["20_lower"],
            f"{item}, least memory ({holds})",
            floor,
            told(least, "objective"),
            "word",
            max(lower, floor),
            PINNED,
        ),
    ]


def _processor_edges(s: Setting) -> list[Row]:
    M0 = nbody.best_memory(s)
    coolest = nbody.memory_of_least_power(s)
    P = nbody.processor_power(s, 2.0 * M0)
    p = (s.n / M0) ** 2 / 8.0
    fast = ask(question(s, minimize="time", limits={"power_per_processor": P}, p_max=p))
    M1 = math.sqrt(coolest * M0)
    P1 = nbody.processor_power(s, M1)
    thrifty = ask(question(s, minimize="energy", limits={"power_per_processor": P1}))
    enough = ask(question(s, minimize="energy", limits={"power_per_processor": P}))
    P0 = 0.9 * nbody.processor_power(s, coolest)
    none = ask(question(s, minimize="energy", limits={"power_per_processor": P0}))
    return [
        Row(
            SAYS["VE_time"],
            f"{s.name}, P_max = {P:.6g} W, p <= {p:.4g}",
            nbody.time(s, p, 2.0 * M0),
            told(fast, "objective"),
            "s",
        ),
        Row(
            SAYS["VE_M0"],
            f"{s.name}, P_max = {P:.6g} W",
            nbody.least_energy(s),
            told(enough, "objective"),
            "J",
        ),
        Row(
            SAYS["VE_energy"],
            f"{s.name}, P_max = {P1:.6g} W",
            nbody.energy(s, M1),
            told(thrifty, "objective"),
            "J",
        ),
        Row(SAYS["VE_none"], f"{s.name}, P_max = {P0:.6g} W", NO_RUN, told(none, "objective")),
    ]


def _target(s: Setting) -> list[Row]:
    best = nbody.best_efficiency(s)
    same = ask(question(replace(s, n=10.0 * s.n), maximize="efficiency"))
    here = ask(question(s, maximize="efficiency"))
    found = [
        Row(
            SAYS["VF_ratio"],
            f"{s.name}, n = {s.n:.4g}",
            best,
            told(here, "objective"),
            "flop/J",
            tolerance=SURE,
        ),
        Row(
            SAYS["VF_ratio"],
            f"{s.name}, n = {10 * s.n:.4g}",
            best,
            told(same, "objective"),
            "flop/J",
            tolerance=SURE,
        ),
    ]
    tied = "γt" if here.parameters.get("machine.time_per_flop", 0.0) != 0.0 else "γe twice"
    item = f"{s.name}, elasticity of the efficiency to γt is not 0"
    found.append(Row(SAYS["VF_list"], item, "γe twice", tied, corrected="γt"))
    for name, symbol, cheaper in (
        ("energy_per_flop", "gamma_e", replace(s, gamma_e=s.gamma_e / 3.0)),
        ("memory_power_per_word", "delta_e", replace(s, delta_e=s.delta_e / 3.0)),
    ):
        target = nbody.best_efficiency(cheaper)
        closed = nbody.flop_energy_for_target if symbol == "gamma_e" else nbody.memory_power_for_target
        parameter = f"machine.{name}"
        solution = ask(
            question(
                s,
                minimize="halvings",
                at_least={"efficiency": target},
                decide={parameter: {"max_halvings": 60}},
                p_max=1e6 * (s.n / nbody.best_memory(s)) ** 2,
            ),
        )
        halvings = math.log2(getattr(s, symbol) / closed(s, target))
        found.append(
            Row(
                SAYS["VF_target"],
                f"{s.name}, {target:.6g} flop/J by {greek(symbol)} alone",
                halvings,
                told(solution, "objective"),
                "halvings",
                tolerance=PINNED,
            ),
        )
    return found
