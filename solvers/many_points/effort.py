"""What the trial of a way may cost: counted as it goes, never read from a clock, so that all processes decide alike.

A way is tried at a few points of a grid to tell how long it takes (``solvers.many_points.claims.tried``). What takes
long in it says what it is about to do, in declared seconds; outside a trial nobody listens.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from dse.models.arithmetic import CannotTake
from dse.system.records import dataclass

FEW_SECONDS = 1.0
"""Declared seconds of a trial beyond which fewer points are tried."""
TRIAL_SECONDS, QUICK = 5.0, 0.5
"""Seconds counted within a trial after which it ends without a verdict: of a sweep, and of whoever only asks."""
BOX_SECONDS = 5e-5
"""Seconds of a box in which designs are looked for."""


class TooLong(CannotTake):
    """A trial has cost enough."""


@dataclass(slots=True)
class Trial:
    """What a trial may still cost."""

    left: float
    quick: bool

    @property
    def ended(self) -> bool:
        """Whether it ended without a verdict."""
        return self.left < 0.0


_now: ContextVar[Trial | None] = ContextVar("trial", default=None)
_most: ContextVar[float] = ContextVar("most", default=TRIAL_SECONDS)


@contextmanager
def quickly() -> Iterator[None]:
    """Let trials within be short ones: for who asks which way a grid goes, and answers none of it."""
    before = _most.set(QUICK)
    try:
        yield
    finally:
        _most.reset(before)


def only_asked() -> bool:
    """Tell whether trials are of someone who answers none of the grid."""
    return _most.get() < TRIAL_SECONDS


@contextmanager
def trial() -> Iterator[Trial]:
    """Count within, in this thread and in those that copy its context."""
    found = Trial(_most.get(), quick=only_asked())
    before = _now.set(found)
    try:
        yield found
    finally:
        _now.reset(before)


def spend(seconds: float) -> None:
    """Say what is about to be done; raises TooLong where that is more than the trial around may still cost."""
    around = _now.get()
    if around is not None:
        around.left -= seconds
        if around.ended:
            raise TooLong("too much work to be tried")
