"""From runs to figures: sustained rates with their spread."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from dse.measuring.runs import Run, doubt_of_median, grouped, spread
from dse.system.records import dataclass

MOST_DOUBT, MOST_SPREAD, LEAST_OWN = 0.03, 0.10, 0.95
"""Of a steady figure: the median's uncertainty, the spread of repetitions, the time its threads had a processor."""


@dataclass(frozen=True, slots=True)
class Figure:
    """What repetitions of one loop say: the median with the quartiles, SI.

    ``doubt``: half-width of the median's 95 % interval, relative; ``spread``: interquartile range over median.
    """

    name: str
    meaning: str
    unit: str
    value: float
    low: float
    high: float
    runs: int
    doubt: float
    spread: float
    own: float
    kernel: str
    threads: int
    size: float

    def against(self) -> list[str]:
        """Say what forbids to call it measured."""
        apart = f"repetitions lie {self.spread:.0%} apart (at most {MOST_SPREAD:.0%})"
        unsure = f"the median is uncertain by {self.doubt:.0%} (at most {MOST_DOUBT:.0%})"
        shared = f"its threads had a processor {self.own:.0%} of the time (at least {LEAST_OWN:.0%})"
        wrong = {
            apart: self.spread > MOST_SPREAD,
            unsure: self.doubt > MOST_DOUBT,
            shared: self.own < LEAST_OWN,
        }
        return [told for told, is_so in wrong.items() if is_so]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A figure: its name, what it means, per what amount of work, and which runs it is made of.

    ``amount``: flops, bytes or accesses; ``kernels``, ``precision``, ``level``: of the runs, None for any.
    """

    name: str
    meaning: str
    amount: str
    kernels: tuple[str, ...]
    precision: str | None = None
    level: str | None = None

    @property
    def unit(self) -> str:
        """Seconds for one of the amount."""
        return {"flops": "s/flop", "bytes": "s/byte", "accesses": "s/access"}[self.amount]

    def holds(self, run: Run) -> bool:
        """Whether a run counts: one that did nothing has no cost."""
        return (
            run.kernel in self.kernels
            and self.precision in {None, run.precision}
            and self.level in {None, run.level}
            and getattr(run, self.amount) > 0
        )

    def cost(self, run: Run) -> float:
        """Return the seconds for one; of a chain of pointers, which only waits, for one in its own thread."""
        alone = run.threads if run.kernel == "chase" else 1
        return run.time / float(getattr(run, self.amount)) * alone


_PEAK, _PRODUCT = ("polynomial", "matmul"), ("matmul",)
PARAMETERS = (
    Wanted("time_per_flop", "single precision, greatest sustained rate", "flops", _PEAK, "single"),
    Wanted("time_per_flop_double", "double precision, greatest sustained rate", "flops", _PEAK, "double"),
    Wanted("time_per_byte", "memory, STREAM triad", "bytes", ("triad",), level="memory"),
    Wanted("time_per_byte_L1", "L1 cache, STREAM triad", "bytes", ("triad",), level="L1"),
    Wanted("time_per_byte_L2", "L2 cache, STREAM triad", "bytes", ("triad",), level="L2"),
    Wanted(
        "time_per_access", "random reads of memory, many under way", "accesses", ("random",), None, "memory"
    ),
)
"""What goes into a machine file."""
BESIDE = (
    Wanted("product_single", "matrix product by BLAS, single precision", "flops", _PRODUCT, "single"),
    Wanted("product_double", "matrix product by BLAS, double precision", "flops", _PRODUCT, "double"),
    Wanted("byte_L3", "L3 cache, STREAM triad", "bytes", ("triad",), level="L3"),
    *(
        Wanted(f"latency_{level}", f"one read after the other, {level}", "accesses", ("chase",), None, level)
        for level in ("L1", "L2", "L3", "memory")
    ),
)
"""What is told beside it."""


def find(runs: Sequence[Run], wanted: Sequence[Wanted], threads: int) -> list[Figure]:
    """Return the figures for a number of threads: of all sizes that count the one with the best median."""
    groups = [g for g in grouped(runs).values() if g[0].threads == threads]
    found = []
    for want in wanted:
        costs = [([want.cost(r) for r in g], g) for g in groups if want.holds(g[0])]
        if costs:
            found.append(_measured_figure(want, *min(costs, key=lambda pair: statistics.median(pair[0]))))
    return found


def _measured_figure(want: Wanted, costs: Sequence[float], group: Sequence[Run]) -> Figure:
    low, middle, high = statistics.quantiles(costs, n=4, method="inclusive") if costs[1:] else [costs[0]] * 3
    first = group[0]
    return Figure(
        want.name,
        want.meaning,
        want.unit,
        middle,
        low,
        high,
        len(group),
        doubt_of_median(costs),
        spread(costs),
        statistics.median(r.own for r in group),
        f"{first.kernel} of order {first.order}" if first.order else first.kernel,
        first.threads,
        first.size,
    )
