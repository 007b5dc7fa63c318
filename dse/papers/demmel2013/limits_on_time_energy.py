"""Sections V.A to V.C: least time and energy, within a deadline, within an energy budget."""

from __future__ import annotations

import math

from dse.papers.asking import NO_RUN, ask, told
from dse.papers.demmel2013 import nbody
from dse.papers.demmel2013.questions import cold_memory, flatness, question, settings
from dse.papers.demmel2013.symbols import Setting
from dse.papers.report import Row
from dse.papers.sources import statements

SAYS = statements("demmel2013")
SURE = 1e-6  # the gap that an optimal answer promises
PINNED = 1e-5  # a decided quantity that a limit holds in place


def rows() -> list[Row]:
    """Every closed form of V.A, V.B and V.C beside the solver's answer, for every parameter set."""
    found = []
    for s in settings():
        found += [*_free(s), *_clipped(s), *_deadline(s), *_deadline_edges(s), *_budget(s), *_budget_edges(s)]
    s = cold_memory()
    cold = ask(question(s, minimize="energy", p_max=1e6))
    item = f"{s.name}: M0 above n, one processor holds all"
    found.append(
        Row(
            SAYS["VA_reach"],
            item,
            nbody.least_energy(s),
            told(cold, "objective"),
            "J",
            nbody.clipped_energy(s, 1e6),
            SURE,
        )
    )
    return found


def _free(s: Setting) -> list[Row]:
    M0, E0 = nbody.best_memory(s), nbody.least_energy(s)
    least = ask(question(s, minimize="energy"))
    p_max = 3.0 * s.n**2 / M0**2
    fast = ask(question(s, minimize="time", p_max=p_max))
    flat = 3.0 * flatness(s)
    why = f"energy is flat: 1e-9 of it leaves {flatness(s):.1g} of M"
    low, high = least.ranges.get("processors", (math.nan, math.nan))
    return [
        Row(
            SAYS["VA_M0"], s.name, M0, told(least, "memory"), "word", tolerance=max(PINNED, flat), remark=why
        ),
        Row(SAYS["18"], s.name, E0, told(least, "objective"), "J", tolerance=SURE),
        Row(SAYS["VA_low"], s.name, s.n / M0, low, "", tolerance=max(PINNED, 2 * flat)),
        Row(SAYS["VA_high"], s.name, (s.n / M0) ** 2, high, "", tolerance=max(PINNED, 4 * flat)),
        Row(
            SAYS["VA_time"],
            f"{s.name}, p <= {p_max:.4g}",
            nbody.least_time(s, p_max),
            told(fast, "objective"),
            "s",
        ),
    ]


def _clipped(s: Setting) -> list[Row]:
    M0, E0 = nbody.best_memory(s), nbody.least_energy(s)
    few, small = 0.5 * s.n / M0, 0.5 * M0
    with_few = ask(question(s, minimize="energy", p_max=few))
    with_small = ask(question(s, minimize="energy", M_max=small))
    found = []
    for item, solution, right in (
        (f"{s.name}, p <= {few:.4g} < n/M0: M = n/p", with_few, nbody.clipped_energy(s, few)),
        (f"{s.name}, M <= {small:.4g} < M0", with_small, nbody.clipped_energy(s, math.inf, small)),
    ):
        found.append(Row(SAYS["VA_reach"], item, E0, told(solution, "objective"), "J", right, SURE))
    return found


def _deadline(s: Setting) -> list[Row]:
    M0, E0, T0 = nbody.best_memory(s), nbody.least_energy(s), nbody.time_threshold(s)
    tight = T0 / 4.0
    p = nbody.p_min(s, tight)
    threshold = ask(question(s, minimize="time", memory=M0))
    loose = ask(question(s, minimize="energy", limits={"time": 2.0 * T0}))
    held = ask(question(s, minimize="energy", limits={"time": tight}))
    late = ask(question(s, minimize="energy", limits={"time": tight}, p_max=0.5 * p))
    item = f"{s.name}, T_max = {tight:.4g} s"
    return [
        Row(SAYS["VB_threshold"], s.name, T0, told(threshold, "objective"), "s", tolerance=SURE),
        Row(
            SAYS["VB_loose"],
            f"{s.name}, T_max = {2 * T0:.4g} s",
            E0,
            told(loose, "objective"),
            "J",
            tolerance=SURE,
        ),
        Row(SAYS["VB_pmin"], item, p, told(held, "processors"), "", tolerance=PINNED),
        Row(
            SAYS["VB_2d"],
            item,
            nbody.energy(s, s.n / math.sqrt(p)),
            told(held, "objective"),
            "J",
            tolerance=SURE,
        ),
        Row(SAYS["VB_fewer"], f"{item}, p <= p_min/2", NO_RUN, told(late, "objective")),
    ]


def _deadline_edges(s: Setting) -> list[Row]:
    """T_max above the paper's threshold, yet too few processors for M0 within it: more memory."""
    M0 = nbody.best_memory(s)
    p = 0.25 * (s.n / M0) ** 2
    T_max = nbody.time(s, p, 1.5 * M0)
    solution = ask(question(s, minimize="energy", limits={"time": T_max}, p_max=p))
    right = nbody.energy(s, nbody.memory_for_deadline(s, p, T_max))
    item = f"{s.name}, p <= {p:.4g}, T_max = {T_max:.6g} s"
    return [Row(SAYS["VB_few"], item, nbody.least_energy(s), told(solution, "objective"), "J", right, SURE)]


def _budget(s: Setting) -> list[Row]:
    E_max = nbody.energy(s, nbody.best_memory(s) / 3.0)
    p = nbody.p_for_energy(s, E_max)
    solution = ask(question(s, minimize="time", limits={"energy": E_max}))
    none = ask(question(s, minimize="time", limits={"energy": 0.999 * nbody.least_energy(s)}))
    item = f"{s.name}, E_max = {E_max:.6g} J"
    # p hangs on E_max as 1/(dlog E/dlog M): a tolerance of 1e-8 in the limit moves it by that much
    loose = 1e-8 * nbody.energy(s, nbody.best_memory(s) / 3.0) / (s.n**2 * math.sqrt(s.B * s.c)) + PINNED
    below = f"{s.name}, E_max = 0.999 E*: imaginary root"
    return [
        Row(SAYS["VC_p"], item, p, told(solution, "processors"), "", tolerance=loose),
        Row(
            SAYS["VC_T"],
            item,
            nbody.least_time(s, p),
            told(solution, "objective"),
            "s",
            tolerance=max(SURE, loose),
        ),
        Row(SAYS["VC_below"], below, NO_RUN, told(none, "objective")),
    ]


def _budget_edges(s: Setting) -> list[Row]:
    M0 = nbody.best_memory(s)
    E_max, found = nbody.energy(s, M0 / 3.0), []
    for p_max, held in ((2.0 * (s.n / M0) ** 2, "2D limit"), ((s.n / M0) ** 2 / 20.0, "energy")):
        solution = ask(question(s, minimize="time", limits={"energy": E_max}, p_max=p_max))
        right = nbody.clipped_time_for_energy(s, E_max, p_max)
        printed = nbody.least_time(s, nbody.p_for_energy(s, E_max))
        item = f"{s.name}, E_max = {E_max:.6g} J, p <= {p_max:.4g}: memory held by {held}"
        found.append(Row(SAYS["VC_few"], item, printed, told(solution, "objective"), "s", right, SURE))
    far = 0.5 * s.n**2 * (s.A - 2.0 * math.sqrt(s.B * s.c))
    if far > 0:
        solution = ask(question(s, minimize="time", limits={"energy": far}))
        item = f"{s.name}, E_max = {far:.6g} J, far below E*: the root is real again, p"
        printed = nbody.p_for_energy(s, far)
        found.append(Row(SAYS["VC_far"], item, printed, told(solution, "objective"), "", NO_RUN))
    return found
