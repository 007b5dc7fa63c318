"""Runs: one timed repetition of one loop each, and the CSV file that keeps them."""

from __future__ import annotations

import csv
import io
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path

from dse.fitting import FittingError
from dse.fitting.reading import Column, read
from dse.measuring.errors import MeasuringError
from dse.system.records import dataclass


@dataclass(frozen=True, slots=True)
class Run:
    """One repetition.

    ``kernel``: what ran (polynomial, triad, matmul, ...); ``precision``: single, double, or empty; ``level``:
    where the data lay (L1, L2, L3, memory, or empty between two levels); ``threads``: how many shared it;
    ``size``: bytes of data; ``order``: of the matrices of a product, else 0; ``flops``, ``bytes``,
    ``accesses``: what it did; ``start``: seconds since 1970; ``time``: s; ``energy``: J, None where unknown;
    ``own``: share of the time in which its threads had a processor; ``others``: share of all processors that
    other programs and the host took meanwhile.
    """

    kernel: str
    precision: str
    level: str
    threads: int
    size: float
    order: int
    flops: float
    bytes: float
    accesses: float
    start: float
    time: float
    energy: float | None
    own: float
    others: float

    @property
    def key(self) -> Key:
        """What all repetitions of one measurement have in common."""
        work = self.flops / self.bytes if self.bytes else 0.0
        return self.kernel, self.precision, self.level, self.threads, self.size, round(work, 9)


Key = tuple[str, str, str, int, float, float]

_COLUMNS = (
    Column("kernel", text=True, required=True),
    Column("precision", text=True, required=True),
    Column("level", text=True, required=True),
    Column("threads", required=True, positive=True),
    Column("size", "byte", required=True),
    Column("order", required=True),
    Column("flops", "flop", required=True),
    Column("bytes", "byte", required=True),
    Column("accesses", "access", required=True),
    Column("start", "s", required=True),
    Column("time", "s", required=True, positive=True),
    Column("energy", "J", positive=True),
    Column("own", required=True),
    Column("others", required=True),
)
_WHOLE = frozenset({"threads", "order"})


def csv_text(runs: Sequence[Run], notes: Iterable[str] = ()) -> str:
    """Return the runs as CSV, ``notes`` above them as comments; energy is there only where all runs have it."""
    columns = [c for c in _COLUMNS if c.name != "energy" or all(r.energy is not None for r in runs)]
    text = io.StringIO()
    for note in notes:
        text.write(f"# {' '.join(note.split())}\n")
    table = csv.writer(text, lineterminator="\n")
    table.writerow([f"{c.name} [{c.unit}]" if c.unit else c.name for c in columns])
    table.writerows([getattr(r, c.name) for c in columns] for r in runs)
    return text.getvalue()


def read_runs(path: str | Path) -> list[Run]:
    """Read what ``csv_text`` wrote; raises MeasuringError with all that is wrong with the file."""
    try:
        found = read(path, _COLUMNS)
    except FittingError as problem:
        told = "\n".join(f"  {p}" for p in problem.problems)
        raise MeasuringError(f"{path} holds no runs of dse measure:\n{told}") from None
    numbers: Mapping[str, list[float]] = {k: v.tolist() for k, v in found.numbers.items()}
    made = []
    for i in range(found.runs):
        row = {k: v[i] for k, v in numbers.items()} | {k: v[i] for k, v in found.texts.items()}
        whole = {k: math.ceil(float(row[k])) for k in _WHOLE}
        made.append(Run(**{f.name: row.get(f.name) for f in fields(Run)} | whole))  # type: ignore[arg-type]
    return made


def grouped(runs: Iterable[Run]) -> dict[Key, list[Run]]:
    """Return the runs by measurement, in the order in which they were made."""
    found: dict[Key, list[Run]] = {}
    for run in runs:
        found.setdefault(run.key, []).append(run)
    return found


def spread(values: Sequence[float]) -> float:
    """Return the interquartile range over the median: how far repetitions lie apart. 0 for fewer than two."""
    if len(values) < 2:
        return 0.0
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return (high - low) / middle


def doubt_of_median(values: Sequence[float]) -> float:
    """Return the half-width of the 95 % interval of the median, relative: 1.57 IQR/√n (McGill et al. 1978)."""
    return 1.57 * spread(values) / math.sqrt(len(values))
