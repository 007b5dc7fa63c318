"""Sections V.A to V.C: least time and energy, within a deadline, within an energy budget."""

from __future__ import annotations

import math
from functools import cache

from dse.papers.asking import ask, told
from dse.papers.comparer import Found
from dse.papers.demmel2013 import nbody
from dse.papers.demmel2013.questions import answers, cold_memory, flatness, question
from dse.papers.demmel2013.symbols import Setting
from results.solution import Solution

PINNED_WITHIN = 1e-5  # a decided quantity that a limit holds in place


@cache
def least_energy(s: Setting) -> Solution:
    """Return the run of least energy, with the range of processors on which it is possible."""
    return ask(question(s, minimize="energy"))


def _tolerance_at_flat_optimum(s: Setting, times: float) -> float:
    """Tolerance of what hangs on the memory of least energy."""
    return max(PINNED_WITHIN, times * flatness(s))


@answers("VA_M0")
def _best_memory(s: Setting) -> Found:
    ours = told(least_energy(s), "memory")
    return Found(
        ours, nbody.best_memory(s), tolerance=_tolerance_at_flat_optimum(s, 3.0), told={"flat": flatness(s)}
    )


@answers("18")
def _found_least_energy(s: Setting) -> Found:
    return Found(told(least_energy(s), "objective"), nbody.least_energy(s))


def _end_of_processor_range(s: Setting, place: int) -> float:
    return least_energy(s).ranges.get("processors", (math.nan, math.nan))[place]


@answers("VA_low")
def _fewest(s: Setting) -> Found:
    return Found(
        _end_of_processor_range(s, 0),
        s.n / nbody.best_memory(s),
        tolerance=_tolerance_at_flat_optimum(s, 6.0),
    )


@answers("VA_high")
def _found_most_at_least_energy(s: Setting) -> Found:
    return Found(
        _end_of_processor_range(s, 1),
        (s.n / nbody.best_memory(s)) ** 2,
        tolerance=_tolerance_at_flat_optimum(s, 12.0),
    )


@answers("VA_time")
def _fast(s: Setting) -> Found:
    p_max = 3.0 * s.n**2 / nbody.best_memory(s) ** 2
    ours = told(ask(question(s, minimize="time", p_max=p_max)), "objective")
    return Found(ours, nbody.least_time(s, p_max), told={"p": p_max})


@answers("VA_reach")
def _with_few(s: Setting) -> Found:
    few = 0.5 * s.n / nbody.best_memory(s)
    ours = told(ask(question(s, minimize="energy", p_max=few)), "objective")
    return Found(ours, nbody.least_energy(s), corrected=nbody.clipped_energy(s, few), told={"few": few})


@answers("VA_reach:small")
def _with_small(s: Setting) -> Found:
    small = 0.5 * nbody.best_memory(s)
    ours = told(ask(question(s, minimize="energy", M_max=small)), "objective")
    right = nbody.clipped_energy(s, math.inf, small)
    return Found(ours, nbody.least_energy(s), corrected=right, told={"small": small})


@answers("VA_reach:cold")
def _cold() -> Found:
    s = cold_memory()
    ours = told(ask(question(s, minimize="energy", p_max=1e6)), "objective")
    right = nbody.clipped_energy(s, 1e6)
    return Found(ours, nbody.least_energy(s), corrected=right, told={"cold": s.name})


@answers("VB_threshold")
def _threshold(s: Setting) -> Found:
    ours = ask(question(s, minimize="time", memory=nbody.best_memory(s)))
    return Found(told(ours, "objective"), nbody.time_threshold(s))


@answers("VB_loose")
def _loose(s: Setting) -> Found:
    T = 2.0 * nbody.time_threshold(s)
    ours = ask(question(s, minimize="energy", limits={"time": T}))
    return Found(told(ours, "objective"), nbody.least_energy(s), told={"T": T})


def _tight(s: Setting) -> float:
    """Return a deadline that E* does not meet."""
    return nbody.time_threshold(s) / 4.0


@cache
def _least_energy_within_time(s: Setting) -> Solution:
    return ask(question(s, minimize="energy", limits={"time": _tight(s)}))


@answers("VB_pmin")
def _processors_for_time(s: Setting) -> Found:
    return Found(
        told(_least_energy_within_time(s), "processors"), nbody.p_min(s, _tight(s)), told={"T": _tight(s)}
    )


@answers("VB_2d")
def _at_2d_limit(s: Setting) -> Found:
    printed = nbody.energy(s, s.n / math.sqrt(nbody.p_min(s, _tight(s))))
    return Found(told(_least_energy_within_time(s), "objective"), printed, told={"T": _tight(s)})


@answers("VB_fewer")
def _late(s: Setting) -> Found:
    p = 0.5 * nbody.p_min(s, _tight(s))
    late = ask(question(s, minimize="energy", limits={"time": _tight(s)}, p_max=p))
    return Found(told(late, "objective"), told={"T": _tight(s)})


@answers("VB_few")
def _too_few_processors(s: Setting) -> Found:
    """T_max above the paper's threshold, yet too few processors for M0 within it: more memory."""
    M0 = nbody.best_memory(s)
    p = 0.25 * (s.n / M0) ** 2
    T = nbody.time(s, p, 1.5 * M0)
    ours = told(ask(question(s, minimize="energy", limits={"time": T}, p_max=p)), "objective")
    right = nbody.energy(s, nbody.memory_for_deadline(s, p, T))
    return Found(ours, nbody.least_energy(s), corrected=right, told={"p": p, "T": T})


def _budget(s: Setting) -> float:
    """Return an energy that allows three times more than E* does."""
    return nbody.energy(s, nbody.best_memory(s) / 3.0)


@cache
def _least_time_within_energy(s: Setting) -> Solution:
    return ask(question(s, minimize="time", limits={"energy": _budget(s)}))


def _on_budget(s: Setting) -> float:
    # p hangs on E_max as 1/(dlog E/dlog M): a tolerance of 1e-8 in the limit moves it by that much
    return 1e-8 * _budget(s) / (s.n**2 * math.sqrt(s.B * s.c)) + PINNED_WITHIN


@answers("VC_p")
def _most_processors(s: Setting) -> Found:
    ours, E = told(_least_time_within_energy(s), "processors"), _budget(s)
    return Found(ours, nbody.p_for_energy(s, E), tolerance=_on_budget(s), told={"E": E})


@answers("VC_T")
def _least_time(s: Setting) -> Found:
    ours, E = told(_least_time_within_energy(s), "objective"), _budget(s)
    printed = nbody.least_time(s, nbody.p_for_energy(s, E))
    return Found(ours, printed, tolerance=_on_budget(s), told={"E": E})


@answers("VC_below")
def _too_little(s: Setting) -> float | str:
    below = 0.999 * nbody.least_energy(s)
    return told(ask(question(s, minimize="time", limits={"energy": below})), "objective")


@answers("VC_few")
def _few_within(s: Setting, held: str) -> Found:
    square, E = (s.n / nbody.best_memory(s)) ** 2, _budget(s)
    p = 2.0 * square if held == "2D limit" else square / 20.0
    ours = told(ask(question(s, minimize="time", limits={"energy": E}, p_max=p)), "objective")
    printed = nbody.least_time(s, nbody.p_for_energy(s, E))
    right = nbody.clipped_time_for_energy(s, E, p)
    return Found(ours, printed, corrected=right, told={"E": E, "p": p})


@answers("VC_far")
def _far(s: Setting) -> Found | None:
    far = 0.5 * s.n**2 * (s.A - 2.0 * math.sqrt(s.B * s.c))
    if far <= 0:
        return None
    ours = told(ask(question(s, minimize="time", limits={"energy": far})), "objective")
    return Found(ours, nbody.p_for_energy(s, far), corrected="no run", told={"E": far})
