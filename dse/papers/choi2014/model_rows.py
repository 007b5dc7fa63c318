"""Section III: formulas (1) to (7) on the cells of Table I beside the model, over intensities and throttles."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import cache

import numpy as np

from dse import machines
from dse.papers.choi2014.formulas import Platform, platforms
from dse.papers.choi2014.platforms import RUN_WORK, curves, label, machine, run, uncapped
from dse.papers.choi2014.rows import answers
from dse.papers.comparer import Found

THROTTLES = (1.0, 2.0, 4.0, 8.0)
INTENSITIES = 2.0 ** np.linspace(-8.0, 12.0, 401)
# the printed ends and ours differ in the last bits, so that a point close to one may fall on either side of it
ENDS_ROUNDING = 1e-12
FAR_INTENSITY = 2.0**60


@cache
def _throttled_intensities() -> tuple[tuple[str, Platform, float, int], ...]:
    """Every platform, throttle and place among the intensities."""
    return tuple(
        (name, p.throttled(k), k, i)
        for name, p in platforms().items()
        for k in THROTTLES
        for i in range(len(INTENSITIES))
    )


@cache
def _ours(name: str, k: float, metric: str) -> tuple[float, ...]:
    found = curves(name, INTENSITIES, throttle=k)[metric]
    return tuple(np.broadcast_to(found, INTENSITIES.shape).tolist())


def _worst(metric: str, said: Callable[[Platform, float], tuple[float, float]]) -> Found:
    """Return the largest difference from either of two formulas over all points."""
    worst = max(
        abs(_ours(name, k, metric)[i] / value - 1.0)
        for name, p, k, i in _throttled_intensities()
        for value in said(p, float(INTENSITIES[i]))
    )
    points = {"points": len(_throttled_intensities()), "first": INTENSITIES[0], "last": INTENSITIES[-1]}
    return Found(worst < ENDS_ROUNDING, told={**points, "worst": worst})


answers("m_time")(
    lambda: _worst("time", lambda p, I: (p.time_3(RUN_WORK, RUN_WORK / I), p.time_4(RUN_WORK, I)))
)
answers("m_energy")(
    lambda: _worst("energy", lambda p, I: (p.energy_1(RUN_WORK, RUN_WORK / I), p.energy_2(RUN_WORK, I)))
)


@answers("m_order")
def _ends_in_order() -> Found:
    ends = [(n, k) for n in platforms() for k in THROTTLES]
    low, middle, high = ("balance_low", "balance", "balance_high")
    ordered = [_ours(n, k, low)[0] <= _ours(n, k, middle)[0] <= _ours(n, k, high)[0] for n, k in ends]
    return Found(all(ordered), told={"count": len(ends)})


@answers("m_five")
def _five(name: str, p: Platform) -> Found | None:
    """A platform at the least of the throttles that leaves it less than πf."""
    k = next((k for k in THROTTLES if p.throttled(k).delta_pi <= p.pi_flop), None)
    if k is None:
        return None
    at = p.throttled(k)
    ours = run(name, intensity=1.0, throttle=k)["balance_high"]
    told = {"k": k, "cap": at.delta_pi, "flops": p.pi_flop}
    return Found(ours, at.B_plus_printed, corrected=at.B_plus, told=told)


def _throttled_platforms(k: float) -> Iterator[tuple[Platform, float, float]]:
    """Every platform throttled by k at every intensity, with our power."""
    for name, p, throttle, i in _throttled_intensities():
        if throttle == k:
            yield p, float(INTENSITIES[i]), _ours(name, k, "power")[i]


@answers("m_power")
def _worst_power_found(k: str) -> Found:
    worst = max(abs(p.power_7(I, p.B_plus) / ours - 1.0) for p, I, ours in _throttled_platforms(float(k)))
    return Found(worst < ENDS_ROUNDING, told={"worst": worst})


@answers("m_power_printed")
def _power_printed(k: str) -> Found:
    by_print, by_formula = 1.0, 1.0
    for p, I, ours in _throttled_platforms(float(k)):
        as_printed = p.power_7(I, p.B_plus_printed)
        by_print = max(by_print, as_printed / ours)
        by_formula = max(
            by_formula, as_printed * p.time_3(RUN_WORK, RUN_WORK / I) / p.energy_1(RUN_WORK, RUN_WORK / I)
        )
    return Found(by_print, corrected=by_formula)


def _metrics_at_enough_power(name: str, p: Platform) -> Mapping[str, float]:
    """Metrics at I = Bτ of a platform given as much as flops and memory take."""
    own = machines.get(machine(name)).parameters
    return run({**own, "usable_power": (p.pi_flop + p.pi_mem) * (1 + 1e-9)}, intensity=p.B_tau)


@answers("m_enough")
def _level() -> bool:
    level = True
    for name, p in platforms().items():
        found = _metrics_at_enough_power(name, p)
        ends = (found["balance_low"], found["balance"], found["balance_high"])
        level &= max(ends) - min(ends) <= 1e-8 * p.B_tau
    return level


@answers("m_enough:power")
def _at_balance() -> bool:
    found = [
        (_metrics_at_enough_power(name, p)["power"], p.pi_1 + p.pi_flop + p.pi_mem)
        for name, p in platforms().items()
    ]
    return all(math.isclose(ours, most, rel_tol=1e-8) for ours, most in found)


@answers("m_plateau")
def _plateau() -> bool:
    plateau = True
    for name, p in platforms().items():
        power = np.array(_ours(name, 1.0, "power"))
        low, high = p.B_minus * (1 + ENDS_ROUNDING), p.B_plus * (1 - ENDS_ROUNDING)
        inside = (low <= INTENSITIES) & (high >= INTENSITIES)
        most = p.pi_1 + p.delta_pi
        plateau &= bool(np.allclose(power[inside], most, rtol=ENDS_ROUNDING))
        plateau &= bool((power[~inside] < most).all()) and bool(inside.any())
    return plateau


def _tends(name: str, p: Platform, I: float) -> Found:
    own = p.pi_flop if I > 1.0 else p.pi_mem
    corrected = p.pi_1 + p.delta_pi if own >= p.delta_pi else None
    return Found(run(name, intensity=I)["power"], p.pi_1 + own, corrected)


answers("m_to_infinity")(lambda name, p: _tends(name, p, FAR_INTENSITY))
answers("m_to_zero")(lambda name, p: _tends(name, p, 1.0 / FAR_INTENSITY))


@answers("m_severe")
def _severe(least: str) -> Found:
    """By how much the earlier model, without the cap, is too fast at the intensity where it matters most."""
    factors = {
        name: run(uncapped(name), intensity=p.B_tau)["performance"]
        / run(name, intensity=p.B_tau)["performance"]
        for name, p in platforms().items()
    }
    worst = sorted(factors, key=factors.__getitem__, reverse=True)
    order = ", ".join(f"{label(n)} {factors[n]:.2f}" for n in worst)
    return Found(factors[worst[0]] > float(least), told={"order": order})
