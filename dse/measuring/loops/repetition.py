"""Repeating a task until its median is known well enough."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from dse.measuring.energy.meters import Meter
from dse.measuring.loops.tasks import Task
from dse.measuring.runs import Run, doubt_of_median


@dataclass(frozen=True, slots=True)
class Effort:
    """How hard to try: seconds that one repetition lasts at least, repetitions, seconds for all of a task.

    ``close``: half-width of the median's 95 % interval, relative, at which repeating ends; ``total``: seconds
    for all tasks together, of which each that is left gets twice its part, since most end before.
    """

    least: float
    fewest: int
    most: int
    seconds: float
    close: float
    total: float

    def shared(self, spent: float, left: int) -> Effort:
        """Return the effort for the next of ``left`` tasks, after ``spent`` seconds."""
        return replace(self, seconds=min(self.seconds, 2 * max(0.0, self.total - spent) / left))


QUICK = Effort(least=0.02, fewest=5, most=15, seconds=0.3, close=0.02, total=10.0)
FULL = Effort(least=0.05, fewest=7, most=40, seconds=2.0, close=0.01, total=100.0)


def repeat(task: Task, effort: Effort, meter: Meter | None, keep: Callable[[Run], None]) -> None:
    """Warm a task up, and run it until its median time is known; ``keep`` is told each run once it has ended.

    The last number of a run, the share of the processors that others took, is known from all of them together:
    of single runs it would be too coarse.
    """
    passes = _passes(task, max(effort.least, meter.least if meter else 0.0))
    busy = Busy()
    times: list[float] = []
    runs: list[Run] = []
    begun = time.monotonic()
    try:
        while len(times) < effort.fewest or not _is_repeated_enough(times, effort, time.monotonic() - begun):
            runs.append(_once(task, passes, meter))
            times.append(runs[-1].time)
    finally:
        others = busy.others()
        for run in runs:
            keep(replace(run, others=others))


def _is_repeated_enough(times: Sequence[float], effort: Effort, spent: float) -> bool:
    return doubt_of_median(times) <= effort.close or len(times) >= effort.most or spent >= effort.seconds


def _passes(task: Task, least: float) -> int:
    """Return how many passes last long enough; the attempts compile and warm up."""
    task.run(1)
    passes = 1
    while True:
        begun = time.perf_counter()
        task.run(passes)
        spent = time.perf_counter() - begun
        if spent >= 0.5 * least:
            return max(1, round(passes * max(1.0, least / spent)))
        passes = max(2 * passes, min(100 * passes, int(passes * least / max(spent, 1e-9))))


def _once(task: Task, passes: int, meter: Meter | None) -> Run:
    first = meter.mark() if meter else None
    start, own, begun = time.time(), time.process_time(), time.perf_counter()
    task.run(passes)
    spent, own = time.perf_counter() - begun, time.process_time() - own
    energy = meter.between(first, meter.mark()) if meter else None
    return Run(
        task.kernel,
        task.precision,
        task.level,
        task.threads,
        float(task.size),
        task.order,
        task.flops * passes,
        task.bytes * passes,
        task.accesses * passes,
        start,
        spent,
        energy,
        1.0 if task.waits else min(1.0, own / (spent * task.threads)),
        0.0,
    )


class Busy:
    """What the processors were busy with since this was made."""

    def __init__(self) -> None:
        self._since = self._now()

    def others(self) -> float:
        """Return the share of all processors that other programs, and the host of a virtual machine, took."""
        (all_before, used_before, own_before), (all_, used, own) = self._since, self._now()
        passed = all_ - all_before
        return min(1.0, max(0.0, (used - used_before) - (own - own_before)) / passed) if passed > 0 else 0.0

    @staticmethod
    def _now() -> tuple[float, float, float]:
        import psutil

        times = psutil.cpu_times()
        # time of guests is counted in user's already
        idle = times.idle + getattr(times, "iowait", 0.0)
        guests = getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)
        every = sum(times) - guests
        return every, every - idle, time.process_time()
