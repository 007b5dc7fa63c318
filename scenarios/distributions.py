"""Uncertain numbers: their distributions, how worlds are sampled from them, and by what a design is judged over them.

A distribution is one of SciPy's, cut at the domain of its quantity. SciPy is imported when a number is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from dse.system.records import dataclass

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

METHODS = ("sobol", "random", "latin")
MOST_CUT = 1e-6
"""The largest probability that may lie outside the domain of a quantity, where its distribution is cut."""
PROMISE_CONFIDENCE = 0.99
"""With which confidence a probability is kept in the world, unless the file says otherwise."""
# how SciPy is asked for a distribution, of the numbers of each kind
_SCIPY: Mapping[str, tuple[str, Callable[..., dict[str, float]]]] = {
    "normal": ("norm", lambda mean, deviation: {"loc": mean, "scale": deviation}),
    "lognormal": ("lognorm", lambda median, factor: {"s": math.log(factor), "scale": median}),
    "uniform": ("uniform", lambda low, high: {"loc": low, "scale": high - low}),
    "loguniform": ("loguniform", lambda low, high: {"a": low, "b": high}),
    "triangular": (
        "triang",
        lambda low, mode, high: {"c": (mode - low) / (high - low), "loc": low, "scale": high - low},
    ),
    "beta": ("beta", lambda a, b, low, high: {"a": a, "b": b, "loc": low, "scale": high - low}),
}
CONTINUOUS = tuple(_SCIPY)
HALVES = "halves"
"""Two halves of lognormal distributions about one median: of an interval whose ends are not equally far from it."""


@dataclass(frozen=True, eq=False)
class Marginal:
    """The distribution of one uncertain number, SI.

    ``kind``: one of CONTINUOUS with its ``numbers`` as the file has them (normal: mean, standard deviation; lognormal:
    median, geometric standard deviation; uniform, loguniform: ends; triangular: least, most probable, greatest; beta:
    both shapes, then the ends); HALVES: median, geometric standard deviations below and above it; "values":
    ``numbers`` with ``weights`` that sum to 1; "table": a row of ``numbers`` each as probable as any other, the same
    row for all numbers of one ``table``; "residuals": evenly spaced quantiles of the logarithm of a factor, with
    straight lines between. ``low`` and ``high``: the ends at which it is cut.
    """

    kind: str
    numbers: tuple[float, ...]
    low: float = -math.inf
    high: float = math.inf
    weights: tuple[float, ...] = ()
    table: str = ""

    def __eq__(self, other: object) -> bool:
        """Tell whether two are the same distribution."""
        return isinstance(other, Marginal) and self._key() == other._key()

    def __hash__(self) -> int:
        """Return a hash that equal distributions share."""
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        return self.kind, self.numbers, self.low, self.high, self.weights, self.table

    @property
    def bounded(self) -> bool:
        """Whether its own support is bounded, before it is cut anywhere."""
        return self.kind not in ("normal", "lognormal", HALVES)

    @property
    def smooth(self) -> bool:
        """Whether it has a density: one of CONTINUOUS, or HALVES."""
        return self.kind in CONTINUOUS or self.kind == HALVES

    @property
    def discrete(self) -> bool:
        """Whether it has a few values only, and none between them."""
        return self.kind in ("values", "table")

    def support(self) -> tuple[float, float]:
        """Return the least and the greatest value (SI); infinite, or an end of the domain, where it is unbounded."""
        return _support(self)

    def outside(self) -> float:
        """Return the probability that lies outside ``low`` to ``high``."""
        if not self.smooth:
            return float(sum(w for v, w in self._atoms() if not self.low <= v <= self.high))
        found = self._scipy()
        return float(found.cdf(self.low) + found.sf(self.high))

    def _atoms(self) -> list[tuple[float, float]]:
        values = [math.exp(v) for v in self.numbers] if self.kind == "residuals" else self.numbers
        even = 1 / len(values)
        return list(zip(values, self.weights or [even] * len(values), strict=True))

    def quantile(self, u: Array) -> Array:
        """Return the values (SI, the shape of ``u``) below which the probabilities ``u`` lie."""
        import numpy as np

        if self.smooth:
            found = self._scipy()
            below = float(found.cdf(self.low)) if math.isfinite(self.low) else 0.0
            above = float(found.cdf(self.high)) if math.isfinite(self.high) else 1.0
            values: Array = np.clip(found.ppf(below + u * (above - below)), self.low, self.high)
            return values
        numbers = np.asarray(self.numbers)
        if self.kind == "residuals":
            factors: Array = np.exp(np.interp(u, np.linspace(0.0, 1.0, len(numbers)), numbers))
            return factors
        if self.kind == "table":
            return numbers[np.minimum((u * len(numbers)).astype(np.int64), len(numbers) - 1)]
        steps = np.cumsum(self.weights)
        return numbers[np.minimum(np.searchsorted(steps, u, side="right"), len(numbers) - 1)]

    def median(self) -> float:
        """Return the median (SI)."""
        import numpy as np

        return float(self.quantile(np.array([0.5]))[0])

    def mean(self) -> float:
        """Return the mean (SI), before it is cut."""
        if self.smooth:
            return float(self._scipy().mean())
        if self.kind == "residuals":
            # of exp of a straight line between two quantiles
            import numpy as np

            a, b = np.asarray(self.numbers[:-1]), np.asarray(self.numbers[1:])
            flat = np.isclose(a, b, rtol=0, atol=1e-9)
            step = np.where(flat, 1.0, b - a)
            return float(np.mean(np.where(flat, np.exp((a + b) / 2), (np.exp(b) - np.exp(a)) / step)))
        return float(sum(v * w for v, w in self._atoms()))

    def _scipy(self) -> Any:
        return _frozen(self.kind, self.numbers)


@dataclass(frozen=True, slots=True)
class _Halves:
    """What is asked of SciPy's distributions, of HALVES: ``below`` and ``above`` are deviations of the logarithm."""

    middle: float
    below: float
    above: float

    def ppf(self, u: Any) -> Any:
        """Return the values below which the probabilities u lie."""
        import numpy as np
        from scipy.special import ndtri

        z = ndtri(u)
        return self.middle * np.exp(np.where(z < 0.0, self.below, self.above) * z)

    def cdf(self, x: float) -> float:
        """Return the probability of what is no more than x."""
        from scipy.special import ndtr

        if x <= 0.0:
            return 0.0
        return float(ndtr(math.log(x / self.middle) / (self.below if x < self.middle else self.above)))

    def sf(self, x: float) -> float:
        """Return the probability of what is more than x."""
        return 1.0 - self.cdf(x)

    def mean(self) -> float:
        """Return the mean."""
        from scipy.special import ndtr

        half = [
            math.exp(s * s / 2.0) * float(ndtr(sign * s)) for s, sign in ((self.below, -1), (self.above, 1))
        ]
        return self.middle * sum(half)

    def support(self) -> tuple[float, float]:
        """Return the least and the greatest value."""
        return 0.0, math.inf


@lru_cache(maxsize=256)
def _frozen(kind: str, numbers: tuple[float, ...]) -> Any:
    """SciPy's distribution with these numbers; making one takes a millisecond."""
    import scipy.stats

    if kind == HALVES:
        return _Halves(numbers[0], math.log(numbers[1]), math.log(numbers[2]))
    name, asked = _SCIPY[kind]
    return getattr(scipy.stats, name)(**asked(*numbers))


@dataclass(frozen=True, slots=True)
class Sampling:
    """How worlds are sampled: how many, by which of METHODS, from which seed, with which correlations.

    ``correlation``: of normal variables behind the numbers (a Gaussian copula), by pairs of paths.
    """

    samples: int = 1024
    method: str = "sobol"
    seed: int = 0
    correlation: tuple[tuple[str, str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Uncertain:
    """What is uncertain in a question: the distribution of each number by its path, and how it is sampled."""

    marginals: Mapping[str, Marginal]
    sampling: Sampling = Sampling()

    @property
    def independent(self) -> bool:
        """Whether no two numbers depend on one another: no correlation, and no table of several numbers."""
        return not any(r for _, _, r in self.sampling.correlation) and not self.tied

    @property
    def tied(self) -> bool:
        """Whether several numbers are from the rows of one table."""
        tables = [m.table for m in self.marginals.values() if m.table]
        return len(tables) > len(set(tables))


MEASURES = ("mean", "worst", "quantile", "cvar")


@dataclass(frozen=True, slots=True)
class Measure:
    """By what of an objective's distribution a design is judged: its ``kind`` of MEASURES.

    ``level``: of a quantile, the probability below it; of cvar (the mean of the worst), the share left out: 0.9 is the
    mean of the worst tenth. None for mean and worst. ``of``: the metric, where the measure has a name of its own.
    """

    kind: str
    level: float | None = None
    of: str = ""


@dataclass(frozen=True, slots=True)
class Joint:
    """Limits that hold together with a probability; ``confidence`` 0: in the samples only."""

    of: tuple[str, ...]
    probability: float
    confidence: float = PROMISE_CONFIDENCE


@lru_cache(maxsize=256)
def _support(m: Marginal) -> tuple[float, float]:
    """The ends of a distribution, that are asked for at every point of a sweep."""
    if m.kind == "residuals":
        ends = (math.exp(m.numbers[0]), math.exp(m.numbers[-1]))
    elif m.smooth:
        low, high = m._scipy().support()
        ends = (float(low), float(high))
    else:
        ends = (min(m.numbers), max(m.numbers))
    return max(ends[0], m.low), min(ends[1], m.high)
