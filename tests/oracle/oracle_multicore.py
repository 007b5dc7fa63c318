"""The chip of docs/examples/multicore by itself: every number of cores, the rest in closed form.

For a time T the cheapest clock is the slowest that is fast enough, W/(r n T), and so is the bandwidth, Q/T:
energy rises with both.
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

W, Q, R = 1e15, 2e13, 16.0
CORES = np.arange(1.0, 513.0)
CLOCK = (0.5e9, 3.5e9)
BANDWIDTH = (5e10, 2e12)


def energy(time: Array | float, cores: Array, clock: Array, bandwidth: Array | float) -> Array:
    watts = 60.0 + 0.02 * cores + 20.0 * (bandwidth / 1e12)
    return W * 5e-27 * clock**2 + 48e-12 * Q + watts * time + 40.0 * cores


def least_energy(deadline: float, refine: int = 20001) -> tuple[float, float]:
    """Return the least energy of all chips that finish by a deadline, and the time of that chip.

    Finishing earlier than asked may cost less: times are scanned too, on a fine grid of ratios.
    """
    best = (np.inf, np.nan)
    fastest = max(W / (R * CORES[-1] * CLOCK[1]), Q / BANDWIDTH[1])
    for time in np.geomspace(fastest, deadline, refine):
        clock = np.maximum(W / (R * CORES * time), CLOCK[0])
        cost = energy(time, CORES, clock, max(Q / time, BANDWIDTH[0]))
        cost = np.where(clock <= CLOCK[1] * (1 + 1e-12), cost, np.inf)
        n = int(np.argmin(cost))
        if cost[n] < best[0]:
            best = (float(cost[n]), float(time))
    return best


def least_energies(deadlines: Array, *, whole: bool) -> Array:
    """The least energy of all chips that take exactly each of these times, or less where 1000 trials find less.

    In whole cores every number of them is tried; in parts the best number is where the derivative of
    a/n^2 + (0.02 T + 40) n is 0, kept where the clock is possible.
    """
    trials = np.unique(np.concatenate([np.geomspace(deadlines.min(), deadlines.max(), 1000), deadlines]))
    if whole:
        found = _at(trials[:, None], CORES[None]).min(1)
    else:
        slow, fast = W / (R * trials * CLOCK[1]), W / (R * trials * CLOCK[0])
        best = np.cbrt(2.0 * W * 5e-27 * (W / (R * trials)) ** 2 / (0.02 * trials + 40.0))
        found = _at(trials, np.clip(best, np.maximum(slow, 1.0), np.maximum(np.minimum(fast, 512.0), slow)))
        # more cores than the slowest clock can use
        found = np.where(slow <= 512.0 * (1 + 1e-12), found, np.inf)
    return np.minimum.accumulate(found)[np.searchsorted(trials, deadlines)]


def _at(time: Array, cores: Array) -> Array:
    """Energy of a chip that takes this time, with the slowest clock and memory that will do."""
    clock = np.maximum(W / (R * cores * time), CLOCK[0])
    bandwidth = Q / time
    cost = energy(time, cores, clock, np.maximum(bandwidth, BANDWIDTH[0]))
    possible = (clock <= CLOCK[1] * (1 + 1e-12)) & (bandwidth <= BANDWIDTH[1] * (1 + 1e-12))
    return np.where(possible, cost, np.inf)
