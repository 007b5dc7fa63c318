"""The cost formulas of sections III and IV, term by term as printed, and corrected where the print is wrong.

Like the closed forms they stand apart from ``dse.models`` and serve as checks only. ``s.n`` is the order of
the matrices, or the number of points (FFT).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dse.papers.demmel2013.symbols import Setting


def matmul_time(s: Setting, p: float, M: float) -> float:
    """(9): seconds of 2.5D matrix multiplication."""
    return float(
        s.gamma_t * s.n**3 / p + s.beta_t * s.n**3 / (M**0.5 * p) + s.alpha_t * s.n**3 / (s.m * M**0.5 * p)
    )


def matmul_energy(s: Setting, M: float) -> float:
    """(10): joules of 2.5D matrix multiplication; independent of p."""
    n3 = s.n**3
    return float(
        (s.gamma_e + s.gamma_t * s.epsilon_e) * n3
        + ((s.beta_e + s.beta_t * s.epsilon_e) + (s.alpha_e + s.alpha_t * s.epsilon_e) / s.m) * n3 / M**0.5
        + s.delta_e * s.gamma_t * M * n3
        + (s.delta_e * s.beta_t + s.delta_e * s.alpha_t / s.m) * M**0.5 * n3
    )


def matmul_energy_3d(s: Setting, p: float) -> float:
    """(11): joules at the 3D limit M = n^2/p^(2/3)."""
    n = s.n
    return float(
        (s.gamma_e + s.gamma_t * s.epsilon_e) * n**3
        + ((s.beta_e + s.beta_t * s.epsilon_e) + (s.alpha_e + s.alpha_t * s.epsilon_e) / s.m)
        * n**2
        * math.cbrt(p)
        + s.delta_e * s.gamma_t * n**5 / p ** (2 / 3)
        + (s.delta_e * s.beta_t + s.delta_e * s.alpha_t / s.m) * n**4 / math.cbrt(p)
    )


def strassen_energy(s: Setting, w: float, M: float) -> float:
    """(13): joules of fast matrix multiplication with exponent w and limited memory."""
    nw = s.n**w
    return float(
        (s.gamma_e + s.gamma_t * s.epsilon_e) * nw
        + ((s.beta_e + s.beta_t * s.epsilon_e) + (s.alpha_e + s.alpha_t * s.epsilon_e) / s.m)
        * nw
        / M ** (w / 2 - 1)
        + s.delta_e * s.gamma_t * M * nw
        + (s.delta_e * s.beta_t + s.delta_e * s.alpha_t / s.m) * M ** (2 - w / 2) * nw
    )


def strassen_energy_unlimited(s: Setting, w: float, p: float, third: float) -> float:
    """(14): joules at M = n^2/p^(2/w); ``third``: power of n in the third term (5 printed, w + 2 right)."""
    n = s.n
    return float(
        (s.gamma_e + s.gamma_t * s.epsilon_e) * n**w
        + ((s.beta_e + s.beta_t * s.epsilon_e) + (s.alpha_e + s.alpha_t * s.epsilon_e) / s.m)
        * n**2
        * p ** (1 - 2 / w)
        + s.delta_e * s.gamma_t * n**third * p ** (-2 / w)
        + (s.delta_e * s.beta_t + s.delta_e * s.alpha_t / s.m) * n**4 * p ** (1 - 4 / w)
    )


def lu_messages(s: Setting, p: float, M: float) -> float:
    """LU: S = n^2/W with W = n^3/(p sqrt(M))."""
    return float(s.n**2 / (s.n**3 / (p * M**0.5)))


def fft_time(s: Setting, p: float) -> float:
    """FFT with the tree all-to-all, logarithms to base 2."""
    n = s.n
    return s.gamma_t * n * math.log2(n) / p + s.beta_t * n * math.log2(p) / p + s.alpha_t * math.log2(p)


def fft_energy(s: Setting, p: float) -> float:
    """FFT with the tree all-to-all and M = n/p, logarithms to base 2, as printed."""
    n, ln, lp = s.n, math.log2(s.n), math.log2(p)
    return float(
        (s.gamma_e + s.epsilon_e * s.gamma_t) * n * ln
        + (s.alpha_e + s.epsilon_e * s.alpha_t) * p * lp
        + (s.beta_e + s.epsilon_e * s.beta_t + s.delta_e * s.alpha_t) * n * lp
        + s.delta_e * s.gamma_t * n**2 * ln / p
        + s.delta_e * s.beta_t * n**2 * lp / p
    )


@dataclass(frozen=True, slots=True)
class TwoLevel:
    """A two-level machine by the paper's symbols, without latency: nodes (n) of cores (l)."""

    n: float
    f: float
    p_n: float
    p_l: float
    M_n: float
    M_l: float
    gamma_t: float
    gamma_e: float
    epsilon_e: float
    beta_t_n: float
    beta_t_l: float
    beta_e_n: float
    beta_e_l: float
    delta_n: float
    delta_l: float

    @property
    def p(self) -> float:
        """All cores."""
        return self.p_n * self.p_l


def matmul_time_two_level(s: TwoLevel, power_of_n: int) -> float:
    """T beside (12); ``power_of_n`` in the first term is 2 as printed, 3 right."""
    return float(
        s.gamma_t * s.n**power_of_n / s.p
        + s.beta_t_n * s.n**3 / (s.p_n * s.M_n**0.5)
        + s.beta_t_l * s.n**3 / (s.p * s.M_l**0.5)
    )


def matmul_energy_two_level(s: TwoLevel) -> float:
    """(12), E: right as printed."""
    held = s.delta_n * s.M_n / s.p_l + s.delta_l * s.M_l
    per_element = (
        s.gamma_e
        + s.gamma_t * s.epsilon_e
        + (s.beta_e_n + s.beta_t_n * s.epsilon_e * s.p_l) / s.M_n**0.5
        + (s.beta_e_l + s.beta_t_l * s.epsilon_e) / s.M_l**0.5
        + s.gamma_t * held
        + held * (s.beta_t_n * s.p_l / s.M_n**0.5 + s.beta_t_l / s.M_l**0.5)
    )
    return float(s.n**3 * per_element)


def nbody_time_two_level(s: TwoLevel) -> float:
    """T beside (17): right as printed."""
    n2 = s.n**2
    return s.f * n2 * s.gamma_t / s.p + s.beta_t_n * n2 / (s.M_n * s.p_n) + s.beta_t_l * n2 / (s.M_l * s.p)


def _nbody_pair(s: TwoLevel) -> float:
    """Return the part of (17) that is right as printed: flops, leakage, and products without memory."""
    return float(
        s.f * s.gamma_e
        + s.f * s.gamma_t * s.epsilon_e
        + s.delta_n * s.beta_t_n
        + s.delta_l * s.beta_t_l
        + s.epsilon_e * s.p_l * s.beta_t_n / s.M_n
        + (s.beta_e_l + s.epsilon_e * s.beta_t_l) / s.M_l
    )


def nbody_energy_two_level_printed(s: TwoLevel) -> float:
    """(17), E, as printed; its bare delta_e is read as the core's delta^l."""
    return s.n**2 * (
        _nbody_pair(s)
        + s.p_l * s.beta_e_n / s.M_n
        + s.delta_l * s.f * s.gamma_t * s.M_n / s.p_l
        + s.delta_l * s.f * s.gamma_t * s.M_l
        + s.delta_n * s.beta_t_n * s.M_n / (s.p_l * s.M_l)
        + s.delta_l * s.p_l * s.beta_t_l * s.M_l / s.M_n
    )


def nbody_energy_two_level(s: TwoLevel) -> float:
    """(17), E, corrected."""
    return s.n**2 * (
        _nbody_pair(s)
        + s.beta_e_n / s.M_n
        + s.delta_n * s.f * s.gamma_t * s.M_n / s.p_l
        + s.delta_l * s.f * s.gamma_t * s.M_l
        + s.delta_n * s.beta_t_l * s.M_n / (s.p_l * s.M_l)
        + s.delta_l * s.p_l * s.beta_t_n * s.M_l / s.M_n
    )


def sequential_words(F: float, M: float, inout: float) -> float:
    """(3): least words moved by one processor that starts and ends with nothing in fast memory."""
    return max(inout, F / math.sqrt(M))


def sequential_messages(F: float, M: float, inout: float, m: float) -> float:
    """(4): the same in messages of at most m words."""
    return max(inout / m, F / (m * math.sqrt(M)))


def parallel_words(F: float, M: float, inout: float) -> float:
    """(5): least words a processor of a parallel machine sends or receives."""
    return max(0.0, F / math.sqrt(M) - inout)


def memory_independent_words(n: float, w: float, p: float) -> float:
    """Figure 3: the lower bound that no memory beats, n^2/p^(2/w) words per processor."""
    return float(n**2 / p ** (2 / w))


def memory_dependent_words(n: float, w: float, p: float, M: float) -> float:
    """Figure 3: words per processor inside the perfect scaling range, n^w/(p M^(w/2-1))."""
    return float(n**w / (p * M ** (w / 2 - 1)))
