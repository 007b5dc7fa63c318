"""The paper's own equations on its printed constants; they stand apart from the model and only check it."""

from __future__ import annotations

from functools import cache

from dse.papers.sources import table
from dse.system.records import dataclass

PLATFORMS = {row["platform"]: (row["cpu"], row["gpu"]) for row in table("tang2017/platforms")}


@dataclass(frozen=True, slots=True)
class Processor:
    """A column of Table II with the values of Table IV."""

    t_f: float
    t_b: float
    e_f: float
    e_b: float
    p_s: float

    def performance_2(self, I: float) -> float:
        """Flops per second alone, (2)."""
        return 1.0 / (self.t_b * max(self.t_f / self.t_b, 1.0 / I))


@dataclass(frozen=True, slots=True)
class Platform:
    """A CPU and a GPU."""

    C: Processor
    G: Processor

    @property
    def static(self) -> float:
        """p_sC + p_sG."""
        return self.C.p_s + self.G.p_s

    def performance_19(self, I: float) -> float:
        """Flops per second of p-DP."""
        return self.C.performance_2(I) + self.G.performance_2(I)

    def performance_20(self, I: float, I_C: float, I_G: float) -> float:
        """Flops per second of a partition with these intensities, not all equal."""
        c, g = (I - I_G) / (I * (I_C - I_G)), (I - I_C) / (I * (I_G - I_C))
        return 1.0 / max(self.C.t_f * I_C * c, self.C.t_b * c, self.G.t_f * I_G * g, self.G.t_b * g)

    def efficiency_25(self, f_C: float, b_C: float, f_G: float, b_G: float) -> float:
        """Flops per joule of a partition with these flops and bytes."""
        return (f_C + f_G) / self.energy_24(f_C, b_C, f_G, b_G)

    def energy_24(self, f_C: float, b_C: float, f_G: float, b_G: float) -> float:
        """Joules of a partition with these flops and bytes."""
        T = max(self.C.t_f * f_C, self.C.t_b * b_C, self.G.t_f * f_G, self.G.t_b * b_G)
        moved = self.C.e_f * f_C + self.C.e_b * b_C + self.G.e_f * f_G + self.G.e_b * b_G
        return self.static * T + moved

    def efficiency_26(self, I: float, I_C: float, I_G: float) -> float:
        """Flops per joule as (26) is printed: flop terms without the factors I_C/I and I_G/I."""
        c, g = (I - I_G) / (I_C - I_G), (I - I_C) / (I_G - I_C)
        T = max(self.C.t_f * c, self.C.t_b * c / I, self.G.t_f * g, self.G.t_b * g / I)
        moved = self.C.e_f * c + self.C.e_b * c / I + self.G.e_f * g + self.G.e_b * g / I
        return 1.0 / (moved + self.static * T)

    def efficiency_of_p_dp(self, I: float) -> float:
        """Flops per joule by (25) where each side has the share P/(P_C + P_G) of all flops and bytes."""
        x = self.C.performance_2(I) / self.performance_19(I)
        return self.efficiency_25(x * I, x, (1 - x) * I, 1 - x)

    def above_go_31(self, f_C: float, b_C: float, f_G: float, b_G: float, *, corrected: bool) -> float:
        """Joules of a partition above GO by (31), as printed or with the GPU's times in the last maximum."""
        last, f, b = self.G if corrected else self.C, f_C + f_G, b_C + b_G
        now = max(self.C.t_f * f_C, self.C.t_b * b_C, self.G.t_f * f_G, self.G.t_b * b_G)
        moved = (self.C.e_f - self.G.e_f) * f_C + (self.C.e_b - self.G.e_b) * b_C
        return moved + self.static * (now - max(last.t_f * f, last.t_b * b))

    @property
    def gradients(self) -> tuple[float, float]:
        """ΔGP_f and ΔGP_b by (28) and (29)."""
        flop = abs(self.C.e_f - self.G.e_f) - self.static * self.G.t_f
        return flop, abs(self.C.e_b - self.G.e_b) - self.static * self.G.t_b

    @property
    def printed_categories(self) -> tuple[str, ...]:
        """E-Paw categories whose identifiers hold as printed."""
        f, b = self.gradients
        C, G = self.C, self.G
        both = f > 0 and b > 0
        identifiers = {
            "CPU-only": both and C.e_f < G.e_f and C.e_b < G.e_b,
            "GPU-only": both and C.e_f > G.e_f and C.e_b > G.e_b,
            "CPU_COMP-GPU_MEM": both and C.e_f < G.e_f and C.e_b > G.e_b,
            "CPU_MEM-GPU_COMP": both and C.e_f > G.e_f and C.e_b < G.e_b,
            "Race-to-halt": f + b < 0,
            "CPU_COMP-GPU_COMP": f > 0 and b < 0,
            "CPU_MEM-GPU_MEM": f < 0 and b > 0,
        }
        return tuple(name for name, holds in identifiers.items() if holds)


@cache
def platform(name: str) -> Platform:
    """Return one of the four platforms from Table IV as printed."""
    printed = {row["processor_id"]: row for row in table("tang2017/processors")}
    columns = ("t_flop_s", "t_byte_s", "e_flop_J", "e_byte_J", "p_static_W")
    C, G = (Processor(*(float(printed[p][c]) for c in columns)) for p in PLATFORMS[name])
    return Platform(C, G)


def sides(I: float, I_C: float, I_G: float) -> tuple[float, float, float, float]:
    """Return flops and bytes of the CPU and of the GPU, for one byte in all, by (10)-(13)."""
    b_C, b_G = (I - I_G) / (I_C - I_G), (I - I_C) / (I_G - I_C)
    return I_C * b_C, b_C, I_G * b_G, b_G
