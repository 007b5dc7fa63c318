"""The paper's equations as printed and as corrected, apart from the model: plain numbers in SI units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import comb, exp

from dse.system.records import dataclass

BOLTZMANN_OVER_CHARGE = 8.617333262e-5


def icache(t_l2: float, l1i: float, t_dram: float, itlb: float) -> float:
    """Return (2), cycles per instruction."""
    return t_l2 * l1i + t_dram * itlb


def mispredicted(length: float, front: float, rob: float, n: float) -> float:
    """Return (3), cycles."""
    return length + (front + rob) / n


def l2data(latency: float, rob: float, n: float, missed: float) -> float:
    """Return (5) as printed, cycles per access: negative where the buffer hides more than the latency."""
    return (latency - rob / n) * missed


def queueing_printed(asked: float, share: float, moved: float) -> float:
    """Return (6) as printed, cycles per instruction."""
    return asked / min(asked, share) / moved


def queueing(rest: float, asked: float, share: float) -> float:
    """Return (6) corrected, cycles per instruction: the slow-down of the rest."""
    return rest * (asked / min(asked, share) - 1.0)


def amdahl(n: float, many: float, one: float) -> float:
    """Return (14) from the performance of n units and of one."""
    return n * (many - one) / ((n - 1.0) * many)


def speed_up(fraction: float, n: float) -> float:
    """Return (13)."""
    return 1.0 / ((1.0 - fraction) + fraction / n)


def core_power(
    capacitance: float,
    voltage: float,
    clock: float,
    activity: float,
    leak: float,
    threshold: float,
    kelvin: float,
) -> float:
    """Return (17) of a device that is off (V_gs = 0), W; ``leak``: K_pleak, A."""
    leaked = voltage * leak * exp(-threshold / (BOLTZMANN_OVER_CHARGE * kelvin))
    return capacitance * voltage**2 * clock * activity + leaked


def fastest(constant: float, voltage: float, threshold: float, exponent: float) -> float:
    """Return (18), Hz."""
    return float(constant * (voltage - threshold) ** exponent / voltage)


def ohmic(current: float, pins: float, resistance: float) -> float:
    """Return (20) by the current, W."""
    return (current / pins) ** 2 * resistance * pins


def per_gigabit(rate: float) -> float:
    """Return (21), mW per Gb/s at a rate in Gb/s, its unit behind the whole sum."""
    return float(0.0170 * rate**1.86 + 2.36)


def mtbf_printed(rate: float, n: int) -> float:
    """Return the integral of (23), hours, for a rate in 1/h: expanded by the binomial theorem, term by term."""
    return sum(comb(n - 1, k) * (-rate) ** k / (k + 1) ** 2 for k in range(n)) / rate


@dataclass(frozen=True, slots=True)
class Stage:
    """One level of (19) and (25): units of the level below, and what one unit draws, loses and costs itself."""

    count: float
    own_power: float = 0.0
    efficiency: float = 1.0
    package: float = 0.0
    nre: float = 0.0


def powers(core: float, stages: Sequence[Stage], ohmic_of: Mapping[int, float]) -> list[float]:
    """Return (19) from the core up, W; ``ohmic_of``: R/(n V²) of the levels with supply pins, 1/W."""
    found = [core]
    for i, stage in enumerate(stages):
        fed = stage.count * found[-1]
        found.append((fed + stage.own_power + fed**2 * ohmic_of.get(i, 0.0)) / stage.efficiency)
    return found


def cost_printed(
    first: float, stages: Sequence[Stage], power: Sequence[float], price: float, time: float
) -> float:
    """Return (25) as printed, USD: the energy of one unit of the level below at every level, design per unit."""
    cost = first + price * power[0] * time
    for i, stage in enumerate(stages):
        cost = stage.nre + stage.package + price * power[i] * time + stage.count * cost
    return cost


def cost(first: float, stages: Sequence[Stage], power: Sequence[float], price: float, time: float) -> float:
    """Return (25) corrected, USD; ``first``: hardware of one core without design."""
    hardware = first
    for stage in stages:
        hardware = stage.package + stage.count * hardware
    return hardware + sum(stage.nre for stage in stages) + price * power[-1] * time
