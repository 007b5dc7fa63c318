"""Miss rates from reuse-distance histograms: how often data is used again after how much other data.

A question states its histograms row by row (Table 2's D_data-reuse and D_instr-reuse):

    [[given.data_reuse]]            share of the accesses before whose repetition ``distance`` bytes of
    [[given.instruction_reuse]]     data are used, their own included; without a distance: used for the first time

A cache that replaces the least recently used holds what comes back within its size,

    misses(S) = Σ share [distance > S] + first use,

which takes the place of miss rates and of the rule (9) between sizes. Data is looked for in L1D, then in
L2, then in the core's part S/n_1 of an L3 that the cores of a die share; so more cores can slow each other
down, where their parts no longer hold what they use again. What all of them miss crosses the
link of the socket, where memory is (B_2 of Table 4), a line per miss, and queues there by (6):

    B_app = line F_mem misses/d_rest     [byte/cycle], besides what ``demand.socket`` states

In Python ``histogram`` holds, for each distance counted in lines of a cache (0: the line used last), the
share of accesses that come back after that many other lines; ``cold`` is the share of first uses.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from dse.models.arithmetic import maximum, reaches
from dse.models.exabounds.levels import SOURCE, of, total
from dse.models.shared.structure import Table
from dse.quantities import Quantity

SUM = 1e-6
DATA, INSTRUCTIONS = "data_reuse", "instruction_reuse"
# caches whose sizes a histogram needs, and inputs that it takes the place of
NEEDED = {DATA: ("cache.L1D", "cache.L2"), INSTRUCTIONS: ("cache.L1I",)}
INSTEAD = {
    DATA: ("miss_rate.L1D", "miss_rate.L2", "miss_rate.L3", "measured_cache.L1D", "measured_cache.L2"),
    INSTRUCTIONS: ("miss_rate.L1I", "measured_cache.L1I"),
}
_NUMBERS = (
    Quantity(
        "distance",
        "",
        "byte",
        "data used from one use to the next, their own included; absent: used for the first time",
        f"{SOURCE}, Table 2",
        optional=True,
    ),
    Quantity(
        "share", "D", "", "share of the accesses", f"{SOURCE}, Table 2", maximum=1.0, floor=1e-9, ceiling=1.0
    ),
)
TABLES = tuple(
    Table(
        name,
        "distance",
        f"a histogram of how soon {what} used again",
        _NUMBERS,
        required=False,
        whole="share",
    )
    for name, what in ((DATA, "data is"), (INSTRUCTIONS, "instructions are"))
)
Rows = Sequence[tuple[Any, Any]]


def rows(g: Any, table: str) -> Rows:
    """Return a question's histogram as pairs of distance (None: first use) and share; empty where it has none."""
    names = [n.removesuffix(".share") for n in vars(g) if n.startswith(f"{table}.") and n.endswith(".share")]
    return [(getattr(g, f"{n}.distance", None), getattr(g, f"{n}.share")) for n in names]


def resolved(g: Any) -> Any:
    """Return the question with its histograms read at the caches' sizes: as miss rates, and ``memory_misses``."""
    made = SimpleNamespace(**vars(g))
    m, data, instructions = g.machine, rows(g, DATA), rows(g, INSTRUCTIONS)
    if instructions:
        setattr(made, "miss_rate.L1I", _misses_per_access(instructions, of(m, "cache", "L1I")))
    if data:
        setattr(made, "miss_rate.L1D", _misses_per_access(data, of(m, "cache", "L1D")))
        setattr(made, "miss_rate.L2", _misses_per_access(data, of(m, "cache", "L2")))
        made.memory_misses = _misses_per_access(data, _farthest(m))
    return made


def _misses_per_access(found: Rows, size: Any) -> Any:
    """Return the misses per access of a cache of ``size`` bytes."""
    return total(
        share if distance is None else share * (1.0 - reaches(size, distance)) for distance, share in found
    )


def _farthest(m: Any) -> Any:
    """Return the size that holds what needs no memory: L2, or the core's part of L3 where that is more."""
    own, shared = of(m, "cache", "L2"), of(m, "cache", "L3")
    return own if shared is None else maximum(own, shared / of(m, "count", "die"))


def checked(histogram: Sequence[float], cold: float = 0.0) -> np.ndarray:
    """Return the histogram as an array; raises ValueError where its shares are none or do not sum to 1."""
    shares = np.asarray(histogram, float)
    if shares.ndim != 1 or not shares.size:
        raise ValueError("a histogram of reuse distances is a list with one share per distance 0, 1, 2, …")
    bad = np.flatnonzero(~(np.isfinite(shares) & (shares >= 0)))
    if bad.size or not cold >= 0:
        which = f"the share at distance {bad[0]} is {shares[bad[0]]:g}" if bad.size else f"cold is {cold:g}"
        raise ValueError(f"{which}: shares of accesses are numbers of at least 0")
    whole = float(shares.sum()) + cold
    if abs(whole - 1.0) > SUM:
        raise ValueError(
            f"the shares of the histogram and cold sum to {whole:.6g}, not to 1: divide counts by their sum"
        )
    return shares


def from_histogram(
    histogram: Sequence[float], size: float, line_size: float = 64.0, cold: float = 0.0
) -> float:
    """Return the miss rate of a cache of ``size`` bytes in lines of ``line_size`` bytes.

    Raises ValueError for a histogram that does not sum to 1 and for sizes that are not positive.
    """
    shares = checked(histogram, cold)
    if not (size > 0 and line_size > 0):
        raise ValueError(f"sizes in bytes are positive: a cache of {size:g} has lines of {line_size:g}")
    return float(shares[int(size // line_size) :].sum()) + cold


def miss_rates(
    histogram: Sequence[float], sizes: Sequence[float], line_size: float = 64.0, cold: float = 0.0
) -> tuple[float, ...]:
    """Return the miss rate at each of several cache sizes, in bytes; raises ValueError as ``from_histogram``."""
    return tuple(from_histogram(histogram, size, line_size, cold) for size in sizes)
