"""What a meter of energy is, and which of them can be read here."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol


class Unavailable(Exception):
    """A meter cannot be read here; the message says why, and what to do."""


class Meter(Protocol):
    """Something that knows how much energy has been used.

    ``name`` says what it counts; ``least``: seconds that a run must last for the meter's steps not to matter.
    """

    name: str
    least: float

    def mark(self) -> Any:
        """Note where the meter stands; raises Unavailable."""

    def between(self, first: Any, last: Any) -> float:
        """Return the joules between two marks; raises Unavailable where they are not known."""

    def close(self) -> None:
        """Stop reading."""


class Log:
    """Joules used since some moment, known at some times and in proportion between them."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self.joules: list[float] = []

    def add(self, moment: float, joules: float) -> None:
        """Note that ``joules`` more were used since the last entry."""
        self.joules.append((self.joules[-1] if self.joules else 0.0) + joules)
        self.times.append(moment)

    def covers(self, first: float, last: float) -> bool:
        """Whether both moments lie inside the log."""
        return len(self.times) > 1 and self.times[0] <= first <= last <= self.times[-1]

    def between(self, first: float, last: float) -> float:
        """Return the joules between two moments inside the log."""
        import numpy as np

        begun, ended = np.interp([first, last], self.times, self.joules)
        return float(ended - begun)


def refuse_still(meter: Meter, wait: float = 0.05, tries: int = 10) -> None:
    """Raise Unavailable where a counter never moves, as some virtual machines show them."""
    first = meter.mark()
    for _ in range(tries):
        time.sleep(wait)
        if meter.between(first, meter.mark()) > 0:
            return
    raise Unavailable(
        f"{meter.name}: the counter stands still (a virtual machine may show one that never moves)"
    )


def first_of(ways: Iterable[Callable[[], Meter]]) -> tuple[Meter | None, Sequence[str]]:
    """Return the first meter that can be read, or None and why none can."""
    reasons = []
    for way in ways:
        try:
            return way(), ()
        except Unavailable as problem:
            reasons.append(str(problem))
    return None, reasons
