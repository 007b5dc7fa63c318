"""The closed forms of section V for the direct n-body problem, as printed and corrected.

These are the paper's own formulas, worked out on plain floats and apart from ``dse.models``: they check the
solver's answers and are never the way to one.
"""

from __future__ import annotations

import math

import numpy as np

from dse.papers.demmel2013.symbols import Setting


def time(s: Setting, p: float, M: float) -> float:
    """(15): seconds on p processors with M words each."""
    return (s.gamma_t * s.f + s.word_time / M) * s.n**2 / p


def energy(s: Setting, M: float) -> float:
    """(16): joules with M words per processor; independent of p."""
    return s.n**2 * (s.A + s.B / M + s.c * M)


def processor_power(s: Setting, M: float) -> float:
    """V.E: watts of one processor with M words."""
    busy = (s.gamma_e * s.f + s.word_energy / M) / (s.gamma_t * s.f + s.word_time / M)
    return busy + s.delta_e * M + s.epsilon_e


def best_memory(s: Setting) -> float:
    """V.A: M0, the words per processor of least energy."""
    return math.sqrt(s.B / s.c)


def least_energy(s: Setting) -> float:
    """(18): E*, joules at M0."""
    return s.n**2 * (s.A + 2.0 * math.sqrt(s.B * s.c))


def clipped_energy(s: Setting, p_max: float, M_max: float = math.inf) -> float:
    """V.A corrected: least energy where memory must lie in [n/p_max, min(n, M_max)]."""
    return energy(s, min(max(best_memory(s), s.n / p_max), s.n, M_max))


def least_time(s: Setting, p_max: float) -> float:
    """V.A: least time, all processors and the 2D limit M = n/sqrt(p)."""
    return time(s, p_max, s.n / math.sqrt(p_max))


def time_threshold(s: Setting) -> float:
    """V.B: the least T_max that still allows E*, reached at p = n^2/M0^2."""
    M0 = best_memory(s)
    return s.gamma_t * s.f * M0**2 + s.word_time * M0


def p_min(s: Setting, T_max: float) -> float:
    """V.B: processors needed to finish in T_max."""
    bn = s.word_time * s.n
    root = math.sqrt(bn**2 + 4.0 * T_max * s.gamma_t * s.f * s.n**2)
    return ((bn + root) / (2.0 * T_max)) ** 2


def memory_for_deadline(s: Setting, p: float, T_max: float) -> float:
    """V.B, case the paper leaves out: words so that p processors just meet T_max."""
    return s.word_time / (p * T_max / s.n**2 - s.gamma_t * s.f)


def p_for_energy(s: Setting, E_max: float) -> float:
    """V.C as printed: most processors of a 2D run within E_max; NaN where the root is imaginary."""
    room = E_max - s.A * s.n**2
    radicand = room**2 - 4.0 * s.B * s.n**4 * s.c
    return ((room + math.sqrt(radicand)) / (2.0 * s.n * s.B)) ** 2 if radicand >= 0 else math.nan


def most_memory_for_energy(s: Setting, E_max: float) -> float:
    """Return the larger memory at which (16) equals E_max (E_max must be at least E*)."""
    room = E_max / s.n**2 - s.A
    return (room + math.sqrt(room**2 - 4.0 * s.B * s.c)) / (2.0 * s.c)


def clipped_time_for_energy(s: Setting, E_max: float, p_max: float) -> float:
    """V.C corrected for p_max below the 2D run: all processors, memory up to energy or 2D limit."""
    return time(s, p_max, min(s.n / math.sqrt(p_max), most_memory_for_energy(s, E_max)))


def p_for_power(s: Setting, P: float, M: float) -> float:
    """(19): most processors within total power P at memory M."""
    return P / processor_power(s, M)


def _power_polynomial(s: Setting) -> np.ndarray:
    """Coefficients (M^2, M, 1) of (gamma_t f M + B') g(M)."""
    busy = np.array([0.0, s.gamma_e * s.f, s.word_energy])
    rest = np.polymul([s.delta_e, s.epsilon_e], [s.gamma_t * s.f, s.word_time])
    return np.asarray(np.polyadd(busy, rest))


def _positive_root(coefficients: np.ndarray) -> float:
    """Return the only positive real root of a polynomial that has one sign change.

    The unknown is scaled first so that the outer coefficients are 1, else the small ones drown.
    """
    degree = len(coefficients) - 1
    scale = abs(coefficients[-1] / coefficients[0]) ** (1.0 / degree)
    scaled = coefficients * scale ** np.arange(degree, -1, -1)
    roots = np.roots(scaled / abs(scaled[-1]))
    real = roots[(abs(roots.imag) < 1e-9 * abs(roots)) & (roots.real > 0)].real
    return float(real.max() * scale)


def memory_rich_power(s: Setting, P: float) -> float:
    """V.D corrected, P > g(M0) n^2/M0^2: the 2D run that draws P, root of the cubic n^2 g(M) = P M^2."""
    return _positive_root(
        np.polysub(P * np.array([s.gamma_t * s.f, s.word_time, 0.0, 0.0]), s.n**2 * _power_polynomial(s))
    )


def memory_poor_power(s: Setting, P: float) -> float:
    """V.D corrected, P < g(M0) n/M0: the 1D run that draws P, root of the quadratic n g(M) = P M.

    P must be at least g(n), the power of one processor that holds all.
    """
    return _positive_root(
        np.polysub(P * np.array([s.gamma_t * s.f, s.word_time, 0.0]), s.n * _power_polynomial(s))
    )


def time_for_power(s: Setting, P: float) -> float:
    """V.D corrected: least time within total power P (no other limit on p)."""
    M0 = best_memory(s)
    g = processor_power(s, M0)
    if g * s.n**2 / M0**2 < P:
        M = memory_rich_power(s, P)
        return time(s, s.n**2 / M**2, M)
    M = max(M0, memory_poor_power(s, P)) if g * s.n / M0 > P else M0
    return energy(s, M) / P


def time_most_processors(s: Setting, P: float) -> float:
    """V.D as printed: the run on the most processors that (19) and both limits leave, over all M >= 1."""
    M = np.geomspace(1.0, s.n, 200_001)
    g = (s.gamma_e * s.f + s.word_energy / M) / (s.gamma_t * s.f + s.word_time / M)
    p = np.minimum(P / (g + s.delta_e * M + s.epsilon_e), s.n**2 / M**2)
    p = np.where(p >= s.n / M, p, 0.0)
    best = int(p.argmax())
    return time(s, float(p[best]), float(M[best]))


def _C(s: Setting, P: float) -> float:
    return s.gamma_t * s.f * (P - s.epsilon_e) - s.gamma_e * s.f - s.delta_e * s.word_time


def memory_for_power_printed(s: Setting, P: float) -> float:
    """(20) exactly as printed; NaN where its root is imaginary."""
    D = s.word_energy - s.word_time * P - s.epsilon_e * s.word_time
    radicand = _C(s, P) ** 2 - 4.0 * s.gamma_e * s.gamma_t * s.f * D
    return (_C(s, P) + math.sqrt(radicand)) / (2.0 * s.c) if radicand >= 0 else math.nan


def memory_for_power(s: Setting, P: float) -> tuple[float, float]:
    """(20) corrected: the interval of M within power P per processor; NaN twice where there is none.

    Radicand C^2 - 4 delta_e gamma_t f D with D = b - B'(P - epsilon_e); the lower root counts only when D > 0
    (then it is written as D/(c M_upper), which loses no digits).
    """
    D = s.word_energy - s.word_time * (P - s.epsilon_e)
    C = _C(s, P)
    radicand = C**2 - 4.0 * s.c * D
    if radicand < 0 or (D > 0 and C <= 0):
        return math.nan, math.nan
    upper = (C + math.sqrt(radicand)) / (2.0 * s.c) if C > 0 else -2.0 * D / (math.sqrt(radicand) - C)
    return max(D / (s.c * upper), 0.0), upper


def memory_of_least_power(s: Setting) -> float:
    """Return the memory of least power per processor (at least one word)."""
    falling = s.gamma_t * s.f * s.word_energy - s.gamma_e * s.f * s.word_time
    if falling <= 0:
        return 1.0
    return max(1.0, (math.sqrt(falling / s.delta_e) - s.word_time) / (s.gamma_t * s.f))


def best_efficiency(s: Setting) -> float:
    """V.F: flop/J at E*; independent of n."""
    return s.f * s.n**2 / least_energy(s)


def flop_energy_for_target(s: Setting, target: float) -> float:
    """V.F solved for gamma_e: joules per flop that give ``target`` flop/J at E*, all else kept."""
    rest = s.f * s.gamma_t * s.epsilon_e + s.delta_e * s.word_time + 2.0 * math.sqrt(s.B * s.c)
    return (s.f / target - rest) / s.f


def memory_power_for_target(s: Setting, target: float) -> float:
    """V.F solved for delta_e: a quadratic in sqrt(delta_e)."""
    room = s.f / target - s.f * (s.gamma_e + s.gamma_t * s.epsilon_e)
    half = math.sqrt(s.gamma_t * s.f * s.B)
    return (room / (half + math.sqrt(half**2 + s.word_time * room))) ** 2
