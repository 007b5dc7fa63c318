"""Sections V.D to V.F: within total power, within power per processor, machine parameters for a target."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

from dse.papers.asking import ask, told
from dse.papers.comparer import Found
from dse.papers.demmel2013 import nbody
from dse.papers.demmel2013.limits_on_time_energy import PINNED_WITHIN
from dse.papers.demmel2013.questions import answers, flatness, question
from dse.papers.demmel2013.symbols import Setting, greek
from results.solution import Solution


def _power_at_best_memory(s: Setting) -> float:
    """Power of a processor at M0."""
    return nbody.processor_power(s, nbody.best_memory(s))


def _power_between_limits(s: Setting) -> float:
    """Return a total power that binds between the 1D and the 2D limit."""
    return _power_at_best_memory(s) * math.pow(s.n / nbody.best_memory(s), 1.5)


@answers("19")
def _most_processors(s: Setting) -> Found:
    M0, P = nbody.best_memory(s), _power_between_limits(s)
    ours = told(ask(question(s, minimize="time", memory=M0, limits={"power": P})), "processors")
    return Found(ours, nbody.p_for_power(s, P, M0), told={"P": P})


def _least_time_within_power(s: Setting, P: float) -> Found:
    ours = told(ask(question(s, minimize="time", limits={"power": P})), "objective")
    return Found(ours, nbody.time_most_processors(s, P), corrected=nbody.time_for_power(s, P), told={"P": P})


answers("VD_middle")(lambda s: _least_time_within_power(s, _power_between_limits(s)))
answers("VD_rich")(
    lambda s: _least_time_within_power(s, 2.0 * _power_at_best_memory(s) * (s.n / nbody.best_memory(s)) ** 2)
)
answers("VD_poor")(
    lambda s: _least_time_within_power(s, 0.6 * _power_at_best_memory(s) * s.n / nbody.best_memory(s))
)


@cache
def _frugal(s: Setting) -> Solution:
    return ask(question(s, minimize="energy", limits={"power": _power_between_limits(s)}))


@answers("VD_energy")
def _least_energy(s: Setting) -> Found:
    return Found(told(_frugal(s), "objective"), nbody.least_energy(s), told={"P": _power_between_limits(s)})


@answers("VD_range")
def _upper_end(s: Setting) -> Found:
    P = _power_between_limits(s)
    _, high = _frugal(s).ranges.get("processors", (math.nan, math.nan))
    return Found(
        high, P / _power_at_best_memory(s), tolerance=max(PINNED_WITHIN, 4.0 * flatness(s)), told={"P": P}
    )


def _twice(s: Setting) -> float:
    """Power of a processor with twice M0."""
    return nbody.processor_power(s, 2.0 * nbody.best_memory(s))


@answers("20")
def _most_memory(s: Setting) -> Found:
    P = _twice(s)
    printed, (_, upper) = nbody.memory_for_power_printed(s, P), nbody.memory_for_power(s, P)
    most = ask(question(s, maximize="memory", limits={"power_per_processor": P}))
    said = "no real root" if math.isnan(printed) else printed
    return Found(told(most, "objective"), said, corrected=upper, told={"P": P})


@answers("20_lower")
def _least_memory(s: Setting) -> Found:
    P = _twice(s)
    lower, _ = nbody.memory_for_power(s, P)
    least = ask(question(s, minimize="memory", limits={"power_per_processor": P}))
    floor = max(1.0, s.n / (1e3 * (s.n / nbody.best_memory(s)) ** 2))
    holds = "lower root" if lower > floor else "D <= 0 or root below M >= max(1, n/p_max): that end holds"
    return Found(told(least, "objective"), floor, corrected=max(lower, floor), told={"P": P, "holds": holds})


@answers("VE_time")
def _least_time(s: Setting) -> Found:
    M0, P = nbody.best_memory(s), _twice(s)
    p = (s.n / M0) ** 2 / 8.0
    fast = ask(question(s, minimize="time", limits={"power_per_processor": P}, p_max=p))
    return Found(told(fast, "objective"), nbody.time(s, p, 2.0 * M0), told={"P": P, "p": p})


def _energy_within(s: Setting, P: float, printed: float | None) -> Found:
    ours = told(ask(question(s, minimize="energy", limits={"power_per_processor": P})), "objective")
    return Found(ours, printed, told={"P": P})


@answers("VE_M0")
def _energy_at_enough_power(s: Setting) -> Found:
    return _energy_within(s, _twice(s), nbody.least_energy(s))


@answers("VE_energy")
def _thrifty(s: Setting) -> Found:
    M = math.sqrt(nbody.memory_of_least_power(s) * nbody.best_memory(s))
    return _energy_within(s, nbody.processor_power(s, M), nbody.energy(s, M))


@answers("VE_none")
def _none(s: Setting) -> Found:
    return _energy_within(s, 0.9 * nbody.processor_power(s, nbody.memory_of_least_power(s)), None)


@cache
def _most_efficient(s: Setting) -> Solution:
    return ask(question(s, maximize="efficiency"))


@answers("VF_ratio")
def _efficiency_found(s: Setting, times: str) -> Found:
    size = float(times) * s.n
    ours = told(_most_efficient(replace(s, n=size)), "objective")
    return Found(ours, nbody.best_efficiency(s), told={"size": size})


@answers("VF_list")
def _parameter_that_counts(s: Setting) -> Found:
    elasticity = _most_efficient(s).parameters.get("machine.time_per_flop", 0.0)
    return Found("γt" if elasticity != 0.0 else "γe twice", corrected="γt")


# parameters of the machine that a target is met by alone, and the closed form of the paper for each
BY = {
    "gamma_e": ("energy_per_flop", nbody.flop_energy_for_target),
    "delta_e": ("memory_power_per_word", nbody.memory_power_for_target),
}


@answers("VF_target")
def _target(s: Setting, symbol: str) -> Found:
    name, closed = BY[symbol]
    now = getattr(s, symbol)
    target = nbody.best_efficiency(replace(s, **{symbol: now / 3.0}))
    solution = ask(
        question(
            s,
            minimize="halvings",
            at_least={"efficiency": target},
            decide={f"machine.{name}": {"max_halvings": 60}},
            p_max=1e6 * (s.n / nbody.best_memory(s)) ** 2,
        ),
    )
    halvings = math.log2(now / closed(s, target))
    return Found(told(solution, "objective"), halvings, told={"target": target, "letter": greek(symbol)})
