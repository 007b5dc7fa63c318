"""How far a long run is: a bar on a terminal, a line every few seconds elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from dse.system.nouns import plural, several
from dse.system.streams import put

Report = Callable[[int, int], None]
LINE_EVERY = 5.0
_shown = threading.Lock()


def announce(progress: bool | Report | None, text: str) -> None:
    """Print a line on standard error where progress is shown there (see ``reporting``)."""
    if _is_shown(progress):
        sys.stderr.write(f"{text}\n")


def _is_shown(progress: bool | Report | None) -> bool:
    if callable(progress) or sys.stderr is None or progress is False:
        return False
    return bool(progress) or sys.stderr.isatty()


@contextmanager
def reporting(progress: bool | Report | None, what: str = "point") -> Iterator[Report]:
    """Give a function that is told how many of how many ``what`` (the name of one) are done.

    ``progress``: a function of one's own (done, total), True for a bar or lines on standard error, False for
    silence, None for a bar only where standard error is a terminal. While one bar is shown no other is: what runs
    inside counts for it.
    """
    if callable(progress):
        yield progress
    elif not _is_shown(progress):
        yield lambda done, total: None
    elif sys.stderr.isatty():
        with _one_bar(what) as report:
            yield report
    else:
        yield _line_reporter(what, sys.stderr)


@contextmanager
def _one_bar(what: str) -> Iterator[Report]:
    if not _shown.acquire(blocking=False):
        yield lambda done, total: None
        return
    try:
        with _bar(what) as report:
            yield report
    finally:
        _shown.release()


@contextmanager
def _bar(what: str) -> Iterator[Report]:
    from rich import progress
    from rich.console import Console

    columns = (
        progress.TextColumn(several(what)),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TextColumn("{task.fields[pace]}"),
        progress.TimeElapsedColumn(),
        progress.TextColumn("left"),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=None, pace="")
        pace = _Pace(what)

        def report(done: int, total: int) -> None:
            rate = pace.rate(done)
            bar.update(task, completed=done, total=total, pace=pace.words(rate))

        yield report


def _line_reporter(what: str, stream: TextIO) -> Report:
    pace = _Pace(what)
    last = -LINE_EVERY

    def report(done: int, total: int) -> None:
        nonlocal last
        rate, now = pace.rate(done), time.monotonic()
        if now - last < LINE_EVERY and done < total:
            return
        last = now
        left = f", {span((total - done) / rate)} left" if rate and done < total else ""
        rated = f", {pace.words(rate)}" if rate else ""
        put(f"{done} of {plural(total, what)}{rated}{left}", stream)

    return report


class _Pace:
    """Points per second since the first report: what an earlier run had done does not count."""

    def __init__(self, what: str) -> None:
        self.what = what
        self._first: tuple[float, int] | None = None

    def rate(self, done: int) -> float:
        """Return the rate in 1/s, 0 as long as there is none."""
        now = time.monotonic()
        if self._first is None:
            self._first = (now, done)
        began, before = self._first
        return (done - before) / (now - began) if now > began else 0.0

    def words(self, rate: float) -> str:
        """Say a rate in words, nothing where there is none."""
        return f"{rate:.3g} {several(self.what)}/s" if rate else ""


def span(seconds: float) -> str:
    """Say a time in words: "5 s", "3 min 20 s", "2 h 5 min"."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{seconds // 60:.0f} min {seconds % 60:.0f} s"
    return f"{seconds // 3600:.0f} h {seconds % 3600 // 60:.0f} min"
