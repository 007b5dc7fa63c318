"""Which uncertain number matters: Sobol' indices from Saltelli's samples, with bootstrap intervals.

For Y = f(X_1 ... X_d) with independent X and V = Var Y,

    first order  S_i  = Var(E[Y | X_i]) / V            what would be gone of the variance if X_i were known
    total        ST_i = E[Var(Y | all but X_i)] / V    what would be left of it if all but X_i were known

estimated from n rows each of two independent matrices A and B of inputs, and d matrices AB_i, which are A with column i
from B: n (d + 2) values of f. With a, b, ab_i the values less the mean of those of A and B,

    S_i = mean(b (ab_i - a)) / V (Saltelli et al., Comput. Phys. Commun. 181, 2010),   ST_i = mean((a - ab_i)^2) / (2 V)

(Jansen, Comput. Phys. Commun. 117, 1999). These are the estimators of ``scipy.stats.sobol_indices``, which takes no
rows that are left out because they have no value, and whose bootstrap runs through all n (d + 2) values for each
resample; here rows are drawn in up to BLOCKS groups at random, which comes to the same and takes milliseconds.

Of a number that varies in a few rows only, some resamples hold none of these, and have no variance to share out. Where
they are more than an interval leaves out at one end, its ends are 0 and 1: the rows say no more. Nor do they of an
input that acts in fewer than FEW_ROWS of them, or that itself differs in so few and acts in none; all others may then
share less of the variance than these rows show, so that their intervals begin at 0.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.quantities import without_size
from dse.system.records import dataclass
from results.telling.fresh import Estimate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

BLOCKS = 1024
INDEX_DRAWS = 1000
INDEX_LEVEL = 0.95
FEW_ROWS = 10
FLAT_DEVIATION = 1e-7
"""A relative deviation below which a number does not vary: optima are known to about this."""


@dataclass(frozen=True, slots=True)
class Indices:
    """The indices of one number: of each of ``inputs`` the first-order and the total one, with 95 % intervals.

    ``deviation``: standard deviation of the number, in ``unit``; ``rows``: how many rows of A were used.
    """

    name: str
    unit: str
    inputs: tuple[str, ...]
    first: tuple[Estimate, ...]
    total: tuple[Estimate, ...]
    deviation: float
    rows: int

    def record(self) -> dict[str, Any]:
        """Return it as plain data."""
        each = zip(self.inputs, self.first, self.total, strict=True)
        return {
            "name": self.name,
            "unit": without_size(self.unit),
            "deviation": self.deviation,
            "rows": self.rows,
            "inputs": {n: {"first": f._asdict(), "total": t._asdict()} for n, f, t in each},
        }


def of(
    a: Array,
    b: Array,
    ab: Array,
    seed: int = 0,
    draws: int = INDEX_DRAWS,
    moved: NDArray[np.bool_] | None = None,
) -> tuple[list[Estimate], list[Estimate], float] | None:
    """Return the first-order and the total indices of each input, and the standard deviation of the output.

    ``a``, ``b``: (n,), ``ab``: (d, n), all finite; ``moved``: (d, n), in which rows an input itself differs in A and B
    (None: in all). None where the output does not vary. Raises ValueError with fewer than two rows.
    """
    if a.size < 2:
        raise ValueError("indices need two rows at least")
    both = np.concatenate([a, b])
    centre = float(both.mean())
    if not varies(both):
        return None
    moments = _moments(a - centre, b - centre, ab - centre)
    member, counts = _resampled_groups(a.size, seed, draws)
    groups = counts.shape[1]
    sums: Any = np.stack([np.bincount(member, m, groups) for m in (*moments, np.ones(a.size))], axis=-1)
    drawn: Any = counts @ sums
    first, total, deviation = _indices(sums.sum(0), len(ab))
    firsts, totals, _ = _indices(drawn, len(ab))
    ends = [0.5 - INDEX_LEVEL / 2, 0.5 + INDEX_LEVEL / 2]
    rare = _act_rarely(a, ab, moved)
    found = []
    for known, resampled in ((first, firsts), (total, totals)):
        low, high = _interval(resampled, ends)
        if rare.any():
            low, high = np.where(rare, 0.0, np.minimum(low, 0.0)), np.where(rare, 1.0, high)
        value = np.where(rare, np.clip(known, 0.0, 1.0), known)
        found.append(
            [Estimate(float(v), float(p), float(q)) for v, p, q in zip(value, low, high, strict=True)]
        )
    return found[0], found[1], float(deviation)


@lru_cache(maxsize=2)  # the same for each number of a study
def _resampled_groups(rows: int, seed: int, draws: int) -> tuple[NDArray[np.intp], Array]:
    """Return the group of each row, and how often each group is drawn in each resample: (rows,), (draws, groups)."""
    random = np.random.default_rng(seed)
    groups = min(rows, BLOCKS)
    # rows go into groups at random: a run of neighbours in a Sobol sequence is more even than that
    member = random.permutation(np.arange(rows) % groups)
    return member, random.multinomial(groups, np.full(groups, 1.0 / groups), size=draws).astype(float)


def varies(values: Array) -> bool:
    """Tell whether a number varies by more than optima are known to: standard deviation against the mean."""
    return bool(np.std(values) > FLAT_DEVIATION * abs(float(np.mean(values))))


def _act_rarely(a: Array, ab: Array, moved: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
    """Tell which inputs act in so few rows that these say nothing of their share."""
    acts = np.count_nonzero(np.abs(ab - a) > FLAT_DEVIATION * np.abs(a), axis=1)
    moves = np.full(len(ab), a.size) if moved is None else np.count_nonzero(moved, axis=1)
    return np.asarray((acts < FEW_ROWS) & ((acts > 0) | (moves < FEW_ROWS)))


def _interval(resampled: Array, ends: list[float]) -> tuple[Array, Array]:
    """Return the ends for each input, resamples (draws, d); 0 and 1 where too many resamples do not vary."""
    there = resampled[np.isfinite(resampled).all(1)]
    if len(resampled) - len(there) > ends[0] * len(resampled):
        return np.zeros(resampled.shape[1]), np.ones(resampled.shape[1])
    low, high = np.quantile(there, ends, axis=0)
    return low, high


def _moments(a: Array, b: Array, ab: Array) -> list[Array]:
    """What the estimators add up over rows: 2 d products, then those of the variance."""
    return [*(b * (c - a) for c in ab), *((a - c) ** 2 for c in ab), a + b, a * a + b * b]


def _indices(sums: Any, d: int) -> tuple[Array, Array, Any]:
    """First and total indices and the deviation from sums of the moments and of their number, last dimension."""
    count = sums[..., -1:]
    mean, square = sums[..., 2 * d : 2 * d + 1] / (2 * count), sums[..., 2 * d + 1 : 2 * d + 2] / (2 * count)
    variance = square - mean**2
    # what is left by rounding is not a variance
    variance = np.where(variance > 1e-12 * square, variance, np.nan)
    first = sums[..., :d] / count / variance
    total = sums[..., d : 2 * d] / count / (2.0 * variance)
    return first, total, np.sqrt(variance[..., 0])


def matrices(count: int, inputs: int, seed: int) -> Array:
    """Return Saltelli's samples in the unit cube: (inputs + 2, count, inputs), that is A, B, then each AB_i.

    From a scrambled Sobol sequence of twice as many dimensions. ``count``: a power of two.
    """
    from scipy.stats import qmc

    u = qmc.Sobol(2 * inputs, scramble=True, rng=np.random.default_rng(seed)).random(count)
    u = np.clip(u, 2.0**-31, 1.0 - 2.0**-31)
    a, b = u[:, :inputs], u[:, inputs:]
    found = np.repeat(a[None], inputs + 2, axis=0)
    found[1] = b
    for i in range(inputs):
        found[i + 2, :, i] = b[:, i]
    return found


def ranked(found: Indices) -> list[tuple[str, Estimate, Estimate]]:
    """Return inputs with their indices, the one with the largest total index first."""
    rows = list(zip(found.inputs, found.first, found.total, strict=True))
    return sorted(rows, key=lambda row: -row[2].value)


def usable(values: Any) -> Any:
    """Tell which rows have a finite number in all matrices: values (d + 2, n)."""
    return np.isfinite(np.asarray(values)).all(0)
