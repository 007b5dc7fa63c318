"""The paper's formulas (1) to (7) on the cells of Table I, apart from the model and only to check it."""

from __future__ import annotations

import math
from functools import cache

from dse.papers.choi2014.platforms import cells
from dse.system.records import dataclass


@dataclass(frozen=True, slots=True)
class Platform:
    """Constants of a platform in single precision: seconds and joules per flop and byte, watts."""

    tau_flop: float
    tau_mem: float
    eps_flop: float
    eps_mem: float
    pi_1: float
    delta_pi: float

    @property
    def pi_flop(self) -> float:
        """Power of flops at full rate, εf/τf."""
        return self.eps_flop / self.tau_flop

    @property
    def pi_mem(self) -> float:
        """Power of the memory at full rate, εm/τm."""
        return self.eps_mem / self.tau_mem

    @property
    def B_tau(self) -> float:
        """Time balance τm/τf."""
        return self.tau_mem / self.tau_flop

    @property
    def B_eps(self) -> float:
        """Energy balance εm/εf."""
        return self.eps_mem / self.eps_flop

    def throttled(self, k: float) -> Platform:
        """Return the platform with Δπ/k."""
        return Platform(
            self.tau_flop, self.tau_mem, self.eps_flop, self.eps_mem, self.pi_1, self.delta_pi / k
        )

    def time_3(self, W: float, Q: float) -> float:
        """(3): time of W flops and Q bytes."""
        energy = W * self.eps_flop + Q * self.eps_mem
        return max(W * self.tau_flop, Q * self.tau_mem, energy / self.delta_pi)

    def time_4(self, W: float, I: float) -> float:
        """(4): time of W flops at intensity I."""
        capped = self.pi_flop / self.delta_pi * (1.0 + self.B_eps / I)
        return W * self.tau_flop * max(1.0, self.B_tau / I, capped)

    def energy_1(self, W: float, Q: float) -> float:
        """(1): energy of W flops and Q bytes."""
        return W * self.eps_flop + Q * self.eps_mem + self.pi_1 * self.time_3(W, Q)

    def energy_2(self, W: float, I: float) -> float:
        """(2): energy of W flops at intensity I."""
        return W * self.eps_flop * (1.0 + self.B_eps / I) + self.pi_1 * self.time_4(W, I)

    @property
    def B_plus_printed(self) -> float:
        """(5) as printed."""
        spare = self.delta_pi - self.pi_flop
        return self.B_tau * max(1.0, self.pi_mem / spare if spare else math.inf)

    @property
    def B_plus(self) -> float:
        """(5) with the case it leaves out: infinite where Δπ <= πf."""
        return self.B_plus_printed if self.delta_pi > self.pi_flop else math.inf

    @property
    def B_minus(self) -> float:
        """(6), not below 0."""
        return max(0.0, self.B_tau * min(1.0, (self.delta_pi - self.pi_mem) / self.pi_flop))

    def power_7(self, I: float, B_plus: float) -> float:
        """(7): average power at intensity I, with the upper end of the capped range."""
        if B_plus <= I:
            return self.pi_1 + self.pi_flop + self.pi_mem * self.B_tau / I
        if self.B_minus >= I:
            return self.pi_1 + self.pi_flop * I / self.B_tau + self.pi_mem
        return self.pi_1 + self.delta_pi

    @property
    def flop_per_joule(self) -> float:
        """Energy efficiency when nothing is moved, by (1) and (3)."""
        return 1.0 / self.energy_1(1.0, 0.0)

    @property
    def joule_per_byte(self) -> float:
        """Energy of a byte when nothing is computed, by (1) and (3)."""
        return self.energy_1(0.0, 1.0)


@cache
def platform(name: str) -> Platform:
    """Return the constants of a platform from the printed cells."""
    row = cells()[name]
    return Platform(
        1.0 / float(row["sust_single_flop_per_s"]),
        1.0 / float(row["sust_mem_B_per_s"]),
        float(row["eps_single_J_per_flop"]),
        float(row["eps_mem_J_per_byte"]),
        float(row["pi1_W"]),
        float(row["delta_pi_W"]),
    )


@cache
def platforms() -> dict[str, Platform]:
    """Return the constants of all twelve, in the order of Table I."""
    return {name: platform(name) for name in cells()}
