"""Measure ways to answer the same question, in turns, after checking that they agree.

Nothing here asserts a time: numbers are printed, people judge.
"""

from __future__ import annotations

import math
import os
import resource
import statistics
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
AGREE = 1e-6
Answer = Any
Task = Callable[[], Answer]


@dataclass(frozen=True, slots=True)
class Way:
    """One way to an answer.

    ``task``: called again and again; returns the number or array to compare (NaN: not computed here, None:
    there is nothing to compare). ``command``: instead of a task, a whole process; ``read`` finds the number
    in what it prints. ``bound``: what it proves about its answer. ``points``: answers per call, by which
    times are divided.
    """

    name: str
    task: Task | None = None
    command: tuple[str, ...] = ()
    read: Callable[[str], Answer] | None = None
    bound: str = ""
    points: int = 1


@dataclass(frozen=True, slots=True)
class Bench:
    """Ways that are compared in one run, round by round.

    ``ours`` is what ratios are taken of; ``bare``, where there is one, is our way without what makes an
    answer whole, and is compared too. ``check`` says whether an answer agrees with ours; ``judge`` says more of
    an answer beside ours (of ours, too), in columns of their own. ``warm``: whether
    the answers come from an untimed call first (else from the first round). ``rounds``: at most so many.
    ``memory``: whether the untimed call is watched for the memory it allocates. ``remark``: a sentence
    computed from the results. ``during``: a context that lasts as long as the bench (worker processes).
    ``slowest_first``: whether the rows of the table are in the order of their times.
    """

    name: str
    ours: Way
    others: tuple[Way, ...]
    bare: Way | None = None
    check: Callable[[Answer, Answer], str] | None = None
    judge: Callable[[Answer, Answer], Mapping[str, str]] | None = None
    warm: bool = True
    rounds: int = 15
    memory: bool = False
    remark: Callable[[Result], str] | None = None
    during: Callable[[], AbstractContextManager[object]] = nullcontext
    slowest_first: bool = False

    @property
    def ways(self) -> tuple[Way, ...]:
        """All ways, ours first."""
        return (self.ours, *((self.bare,) if self.bare else ()), *self.others)


@dataclass(slots=True)
class Measured:
    """Seconds of each round, per point; what agreement was found; what else is said; megabytes at the peak."""

    seconds: list[float] = field(default_factory=list)
    agreement: str = ""
    judged: Mapping[str, str] = field(default_factory=dict)
    megabytes: float = math.nan

    @property
    def median(self) -> float:
        """Median of the rounds."""
        return statistics.median(self.seconds)


@dataclass(frozen=True, slots=True)
class Result:
    """A bench with what was measured of each way, by its name."""

    bench: Bench
    measured: dict[str, Measured]

    def ratios(self, mine: Way, other: Way) -> list[float]:
        """Time of ``mine`` over that of ``other``, round by round."""
        ours, theirs = self.measured[mine.name].seconds, self.measured[other.name].seconds
        return [a / b for a, b in zip(ours, theirs, strict=True)]


def agrees(ours: Answer, theirs: Answer, within: float = AGREE) -> str:
    """Say whether two answers are the same to ``within`` relative, and if not, by how much they differ."""
    a, b = np.broadcast_arrays(np.asarray(ours, float), np.asarray(theirs, float))
    both = np.isfinite(a) & np.isfinite(b)
    if not both.any():
        return "no answer to compare"
    difference = (b[both] - a[both]) / np.maximum(np.abs(a[both]), 1e-300)
    worst = float(difference[np.abs(difference).argmax()])
    return f"yes ({abs(worst):.0e})" if abs(worst) <= within else f"NO: off by {worst:+.1e}"


def measure(bench: Bench, seconds: float) -> Result:
    """Check that all ways agree, then time them in turns for about ``seconds``, three rounds at least.

    A bench that allows fewer than three rounds gets so many.
    """
    measured = {w.name: Measured() for w in bench.ways}
    with bench.during():
        if bench.warm:
            _compare(bench, measured, {w.name: _first(w, bench.memory, measured[w.name]) for w in bench.ways})
        for number in _rounds(bench, seconds):
            # the first of a round finds caches cold: take turns at that too
            shift = number % len(bench.ways)
            answers = {}
            for way in (*bench.ways[shift:], *bench.ways[:shift]):
                spent, answers[way.name], peak = _timed(way)
                measured[way.name].seconds.append(spent / way.points)
                if way.command:
                    measured[way.name].megabytes = peak
            if number == 0 and not bench.warm:
                _compare(bench, measured, answers)
    return Result(bench, measured)


def _rounds(bench: Bench, seconds: float) -> Iterator[int]:
    began = time.perf_counter()
    for number in range(bench.rounds):
        if number >= 3 and time.perf_counter() - began > seconds:
            return
        yield number


def _compare(bench: Bench, measured: dict[str, Measured], answers: dict[str, Answer]) -> None:
    for way in bench.ways:
        answer = answers[way.name]
        if bench.judge is not None:
            measured[way.name].judged = bench.judge(answers[bench.ours.name], answer)
        if way is bench.ours or bench.check is None:
            continue
        measured[way.name].agreement = "" if answer is None else bench.check(answers[bench.ours.name], answer)


def _first(way: Way, memory: bool, into: Measured) -> Answer:
    """Answer once without timing, watching the memory where that is wanted."""
    if way.command or not memory:
        return _timed(way)[1]
    tracemalloc.start()
    try:
        answer = _timed(way)[1]
        into.megabytes = tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()
    return answer


def _timed(way: Way) -> tuple[float, Answer, float]:
    if way.command:
        return _process(way)
    assert way.task is not None, "a way is a task or a command"
    began = time.perf_counter()
    answer = way.task()
    return time.perf_counter() - began, answer, math.nan


def _process(way: Way) -> tuple[float, Answer, float]:
    """Run a whole process: its wall time, what it answers, its largest resident memory in MB."""
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    began = time.perf_counter()
    with subprocess.Popen(
        way.command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None, "the output is a pipe"
        printed = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    spent = time.perf_counter() - began
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(way.command)} ended with {process.returncode}")
    # a child starts with the peak of the process it was forked from: below that, its own is unknown
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Linux counts in kilobytes, macOS in bytes
    unit = 1e6 if sys.platform == "darwin" else 1e3
    peak = usage.ru_maxrss / unit if usage.ru_maxrss > 1.02 * own else math.nan
    return spent, way.read(printed) if way.read else None, peak
