"""Section III: formulas (1) to (7) on the cells of Table I beside the model, over intensities and throttles."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from dse import machines
from dse.papers.choi2014.formulas import Platform, platforms
from dse.papers.choi2014.platforms import WORK, curves, label, machine, run, uncapped
from dse.papers.choi2014.rows import derived, holds
from dse.papers.report import Row

THROTTLES = (1.0, 2.0, 4.0, 8.0)
INTENSITIES = 2.0 ** np.linspace(-8.0, 12.0, 401)
# the printed ends and ours differ in the last bits, so that a point close to one may fall on either side of it
ROUNDED = 1e-12
FAR = 2.0**60


def rows() -> list[Row]:
    """Formulas that are one, the ends of the capped range, the power (7), and what it tends to."""
    return [*_formulas(), *_five(), *_power(), *_enough(), *_tends(), *_severe()]


@cache
def _grid() -> tuple[tuple[str, Platform, float, int], ...]:
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


def _formulas() -> list[Row]:
    points = (
        f"{len(_grid())} points: 12 platforms, Δπ/k, {INTENSITIES[0]:.2g} to {INTENSITIES[-1]:g} flop:Byte"
    )
    worst = {"m_time": 0.0, "m_energy": 0.0}
    for name, p, k, i in _grid():
        I = float(INTENSITIES[i])
        for statement, metric, said in (
            ("m_time", "time", (p.time_3(WORK, WORK / I), p.time_4(WORK, I))),
            ("m_energy", "energy", (p.energy_1(WORK, WORK / I), p.energy_2(WORK, I))),
        ):
            ours = _ours(name, k, metric)[i]
            worst[statement] = max(worst[statement], *(abs(ours / s - 1.0) for s in said))
    found = [
        holds(statement, points, ours=error < ROUNDED, remark=f"largest difference {error:.0e}")
        for statement, error in worst.items()
    ]
    ends = [(n, k) for n in platforms() for k in THROTTLES]
    ordered = [
        _ours(n, k, "balance_low")[0] <= _ours(n, k, "balance")[0] <= _ours(n, k, "balance_high")[0]
        for n, k in ends
    ]
    return [*found, holds("m_order", f"{len(ends)} platforms and throttles", ours=all(ordered))]


def _five() -> list[Row]:
    """Every platform at the least of the throttles that leaves it less than πf."""
    found = []
    for name, p in platforms().items():
        k = next((k for k in THROTTLES if p.throttled(k).delta_pi <= p.pi_flop), None)
        if k is not None:
            at = p.throttled(k)
            item = f"{label(name)}, Δπ/{k:g} = {at.delta_pi:.3g} W, πf = {p.pi_flop:.3g} W"
            ours = run(name, intensity=1.0, throttle=k)["balance_high"]
            found.append(derived("m_five", item, at.B_plus_printed, ours, "flop/byte", corrected=at.B_plus))
    return found


def _power() -> list[Row]:
    found = []
    for k in THROTTLES:
        right, by_print, by_formula = 0.0, 1.0, 1.0
        for name, p, throttle, i in _grid():
            if throttle != k:
                continue
            I, ours = float(INTENSITIES[i]), _ours(name, k, "power")[i]
            right = max(right, abs(p.power_7(I, p.B_plus) / ours - 1.0))
            as_printed = p.power_7(I, p.B_plus_printed)
            by_print = max(by_print, as_printed / ours)
            by_formula = max(by_formula, as_printed * p.time_3(WORK, WORK / I) / p.energy_1(WORK, WORK / I))
        item = f"Δπ/{k:g}"
        found += [
            holds("m_power", item, ours=right < ROUNDED, remark=f"largest difference {right:.0e}"),
            derived(
                "m_power_printed", f"{item}: largest ratio of the two", 1.0, by_print, corrected=by_formula
            ),
        ]
    return found


def _enough() -> list[Row]:
    level, at_balance, plateau = True, True, True
    for name, p in platforms().items():
        enough = {
            **machines.get(machine(name)).parameters,
            "usable_power": (p.pi_flop + p.pi_mem) * (1 + 1e-9),
        }
        found = run(enough, intensity=p.B_tau)
        ends = (found["balance_low"], found["balance"], found["balance_high"])
        level &= max(ends) - min(ends) <= 1e-8 * p.B_tau
        at_balance &= math.isclose(found["power"], p.pi_1 + p.pi_flop + p.pi_mem, rel_tol=1e-8)
        power = np.array(_ours(name, 1.0, "power"))
        low, high = p.B_minus * (1 + ROUNDED), p.B_plus * (1 - ROUNDED)
        inside = (low <= INTENSITIES) & (high >= INTENSITIES)
        most = p.pi_1 + p.delta_pi
        plateau &= bool(np.allclose(power[inside], most, rtol=ROUNDED))
        plateau &= bool((power[~inside] < most).all()) and bool(inside.any())
    return [
        holds("m_enough", "12 platforms given Δπ = πf + πm: the ends", ours=level),
        holds("m_enough", "12 platforms given Δπ = πf + πm: the power at I = Bτ", ours=at_balance),
        holds("m_plateau", "12 platforms as they are: each has less than πf + πm", ours=plateau),
    ]


def _tends() -> list[Row]:
    found = []
    for statement, I in (("m_to_infinity", FAR), ("m_to_zero", 1.0 / FAR)):
        for name, p in platforms().items():
            own = p.pi_flop if I > 1.0 else p.pi_mem
            limit = p.pi_1 + own
            corrected = p.pi_1 + p.delta_pi if own >= p.delta_pi else None
            ours = run(name, intensity=I)["power"]
            found.append(derived(statement, label(name), limit, ours, "W", corrected=corrected))
    return found


def _severe() -> list[Row]:
    """By how much the earlier model, without the cap, is too fast at the intensity where it matters most."""
    factors = {
        name: run(uncapped(name), intensity=p.B_tau)["performance"]
        / run(name, intensity=p.B_tau)["performance"]
        for name, p in platforms().items()
    }
    worst = sorted(factors, key=factors.__getitem__, reverse=True)
    told = ", ".join(f"{label(n)} {factors[n]:.2f}" for n in worst)
    item = "without the cap some platform is more than 1.5 times too fast at I = Bτ"
    return [holds("m_severe", item, ours=factors[worst[0]] > 1.5, remark=told)]
