"""The terms of the energy roofline, and how its time and energy follow from them and change with them.

    T = λ + max(N_k τ_k for each kind k, (Σ N_k ε_k)/Δπ)
    E = Σ N_k ε_k + π1 T

N_k counts the operations of kind k: flops of one or two precisions, bytes of memory and of caches, random
accesses. That is equations (1) and (3) of Choi et al. 2014, with the launch time λ of a run in front.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dse.system.arrays import Array, Bools, Indices
from dse.system.records import dataclass

Weights = tuple[float, float] | tuple[Array, Array]
"""Of the errors of time and of energy; one number for all runs, or one for each."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of operation: the column that counts it, in which unit, and what it is called where it bounds a run."""

    count: str
    unit: str
    suffix: str
    meaning: str
    bound: str
    also: tuple[str, ...] = ()

    @property
    def time(self) -> str:
        """The machine parameter that is the time of one."""
        return f"time_per_{self.suffix}"

    @property
    def energy(self) -> str:
        """The machine parameter that is the energy of one."""
        return f"energy_per_{self.suffix}"


KINDS = (
    Kind("flops", "flop", "flop", "flop", "compute-bound", ("W", "work")),
    Kind(
        "flops_double",
        "flop",
        "flop_double",
        "flop in double precision",
        "double-precision-bound",
        ("double",),
    ),
    Kind("bytes", "byte", "byte", "byte", "memory-bound", ("Q", "traffic")),
    Kind("bytes_L1", "byte", "byte_L1", "byte from the L1 cache", "L1-bound", ("L1",)),
    Kind("bytes_L2", "byte", "byte_L2", "byte from the L2 cache", "L2-bound", ("L2",)),
    Kind("accesses", "access", "access", "random access to memory", "access-bound", ("random_accesses",)),
)
# far beyond any machine, in the logarithm
_FARTHEST_LOG = 40.0
ALWAYS = ("flops", "bytes")
CAP_BOUND, LAUNCH_BOUND = "cap-bound", "launch-bound"


@dataclass(frozen=True, slots=True)
class Problem:
    """Runs to fit, in units in which their medians are one.

    ``amounts``: counts, one row per kind; ``energy``: None where only times are fitted. ``free``: which
    parameters are fitted, by place: the times of the kinds, their energies, π1, Δπ, λ. One that is not fitted
    has no effect: 0, or no bound for Δπ.
    """

    kinds: tuple[Kind, ...]
    amounts: Array
    time: Array
    energy: Array | None
    free: tuple[int, ...]

    @property
    def constant(self) -> int:
        """The place of the constant power π1; those of Δπ and λ follow."""
        return 2 * len(self.kinds)

    @property
    def cap(self) -> int:
        """The place of the usable power Δπ."""
        return self.constant + 1

    @property
    def launch(self) -> int:
        """The place of the launch time λ."""
        return self.constant + 2

    @property
    def names(self) -> tuple[str, ...]:
        """The machine parameter at each place."""
        times, energies = (k.time for k in self.kinds), (k.energy for k in self.kinds)
        return (*times, *energies, "constant_power", "usable_power", "launch_time")

    @property
    def bounds(self) -> tuple[int, ...]:
        """The places of the terms of the maximum."""
        return (*range(len(self.kinds)), self.cap)

    @property
    def costs(self) -> tuple[int, ...]:
        """The places of the terms of the energy."""
        return tuple(range(len(self.kinds), self.constant + 1))

    @property
    def figures(self) -> int:
        """How many measured numbers there are to fit."""
        return self.time.size * (1 if self.energy is None else 2)

    def part(self, which: Bools | Indices) -> Problem:
        """Return the problem of some of the runs, in the same units."""
        energy = None if self.energy is None else self.energy[which]
        return replace(self, amounts=self.amounts[:, which], time=self.time[which], energy=energy)

    def busy(self, theta: Array) -> tuple[Array, Array, Array]:
        """Return the maximum, which of its terms holds (a kind's place, or their number: the cap), and Σ N ε."""
        many = len(self.kinds)
        dynamic = theta[many : self.constant] @ self.amounts
        terms = np.vstack([self.amounts * theta[:many, None], dynamic / theta[self.cap]])
        return terms.max(axis=0), terms.argmax(axis=0), dynamic

    def model(self, theta: Array) -> tuple[Array, Array]:
        """Return time and energy of each run."""
        busy, _, dynamic = self.busy(theta)
        time = theta[self.launch] + busy
        return time, dynamic + theta[self.constant] * time

    def regimes(self, theta: Array) -> tuple[str, ...]:
        """Say what bounds each run; the launch time does where it is longer than all that follows it."""
        busy, which, _ = self.busy(theta)
        words = (*(k.bound for k in self.kinds), CAP_BOUND)
        waits = theta[self.launch] > busy
        return tuple(LAUNCH_BOUND if w else words[i] for w, i in zip(waits, which, strict=True))

    def residuals(self, theta: Array, weights: Weights) -> Array:
        """Return log(model/measured) of all times, then of all energies, each times its weight."""
        time, energy = self.model(theta)
        of_time: Array = weights[0] * np.log(time / self.time)
        if self.energy is None:
            return of_time
        return np.concatenate([of_time, weights[1] * np.log(energy / self.energy)])

    def jacobian(self, theta: Array, weights: Weights) -> Array:
        """Return the derivatives of ``residuals`` by the free parameters themselves (not their logarithms)."""
        many, cap = len(self.kinds), theta[self.cap]
        busy, which, dynamic = self.busy(theta)
        time = theta[self.launch] + busy
        slope = np.zeros((self.launch + 1, time.size))
        slope[:many] = np.where(which == np.arange(many)[:, None], self.amounts, 0.0)
        slope[many : self.constant] = np.where(which == many, self.amounts / cap, 0.0)
        slope[self.cap] = np.where(which == many, -busy / cap, 0.0)
        slope[self.launch] = 1.0
        found = weights[0] * slope / time
        if self.energy is not None:
            energy = dynamic + theta[self.constant] * time
            of_energy = theta[self.constant] * slope
            of_energy[many : self.constant] += self.amounts
            of_energy[self.constant] += time
            found = np.concatenate([found, weights[1] * of_energy / energy], axis=1)
        rows: Array = found[list(self.free)].T
        return rows

    def inside(self, free: Array) -> Array:
        """Return all parameters from the logarithms of the free ones."""
        theta = np.zeros(self.launch + 1)
        theta[self.cap] = np.inf
        theta[list(self.free)] = np.exp(np.clip(free, -_FARTHEST_LOG, _FARTHEST_LOG))
        return theta

    def residuals_by_logarithm(self, free: Array, weights: Weights) -> Array:
        """Return the residuals at the logarithms of the free parameters."""
        return self.residuals(self.inside(free), weights)

    def jacobian_by_logarithm(self, free: Array, weights: Weights) -> Array:
        """Return their derivatives by the logarithms of the free parameters."""
        theta = self.inside(free)
        rows: Array = self.jacobian(theta, weights) * theta[list(self.free)]
        return rows
