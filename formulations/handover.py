"""Why points are not answered by the way that was to answer them: counted by reason, never silent.

A *hand-over* is a point that a vectorised way leaves to the next one for a reason that it knows: it says so, or raises
one of ``ARITHMETIC``. A *fallback* is a point that is left because of an exception that nobody expected: a mistake in a
program. Both are answered in the end, point by point, and both are counted here. In strict mode (the environment
variable ``DSE_STRICT``, which helper processes inherit) a fallback is raised instead; the tests run in strict mode.
"""

from __future__ import annotations

import os
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import TypeVar

STRICT = "DSE_STRICT"
ARITHMETIC = (ArithmeticError,)
"""What is not a mistake in a program: a division by zero, an overflow, and what an arithmetic, a way or a model's
equations cannot take (``dse.models.arithmetic.CannotTake``). Any other TypeError or ValueError is a mistake."""
LONGEST_REASON = 200
"""Characters of a reason: the message of an exception may hold a whole array."""
MOST_REASONS_KEPT = 20
"""Reasons that are kept apart: a message may name a number that is another one at every point."""
OTHERS = "other reasons"
_EXCEPTION_NAMED = re.compile(r"(?:^|: )(?!ZeroDivision|Overflow|FloatingPoint|Arithmetic)[A-Z]\w*: ")
Item = TypeVar("Item")


class Tally:
    """Points by the reason for which they were left; ``fallbacks``: the reasons that nobody expected.

    Several threads may count.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self.fallbacks: set[str] = set()

    def count(self, reason: str, points: int, *, fallback: bool = False) -> None:
        """Add points that were left for a reason."""
        reason = reason if len(reason) <= LONGEST_REASON else reason[: LONGEST_REASON - 1] + "…"
        with self._lock:
            if reason not in self._counts and len(self._counts) >= MOST_REASONS_KEPT:
                reason = OTHERS
            self._counts[reason] += points
            if fallback:
                self.fallbacks.add(reason)

    def complete(self, points: int, reason: str) -> None:
        """Count those of ``points`` for which no reason was given yet under ``reason``."""
        missing = points - sum(self.reasons.values())
        if missing > 0:
            self.count(reason, missing)

    def pass_on(self, but: str = "") -> None:
        """Count all of these, ``but`` those of one reason, into the tally that is collected around."""
        around = _now.get()
        for reason, points in self.reasons.items():
            if around is not None and reason != but:
                around.count(reason, points, fallback=reason in self.fallbacks)

    def log_unexpected(self) -> None:
        """Log the fallbacks, of points that go to another way."""
        for reason in self.unexpected:
            _log(reason)

    @property
    def unexpected(self) -> dict[str, int]:
        """Points by reason, of the fallbacks alone."""
        return {reason: points for reason, points in self.reasons.items() if reason in self.fallbacks}

    @property
    def reasons(self) -> dict[str, int]:
        """Points by reason, the most frequent first."""
        with self._lock:
            return merged([self._counts])


_now: ContextVar[Tally | None] = ContextVar("tally", default=None)


def strict() -> bool:
    """Whether a fallback is an error."""
    return os.environ.get(STRICT, "0") not in {"", "0"}


@contextmanager
def collected() -> Iterator[Tally]:
    """Collect what is left within, in this thread and in those of ``side_by_side``."""
    tally = Tally()
    before = _now.set(tally)
    try:
        yield tally
    finally:
        _now.reset(before)


def hand_over(reason: str, points: int = 1) -> None:
    """Count points that a way leaves to the next one."""
    tally = _now.get()
    if tally is not None and points:
        tally.count(reason, points)


def fall_back(where: str, problem: Exception, points: int = 1) -> None:
    """Count points that are left because of an exception that nobody expected; in strict mode raise it.

    ``where``: what was being done. Where nobody collects, it is logged at once.
    """
    if strict():
        raise problem
    reason = f"{where}: {_exception_text(problem)}"
    tally = _now.get()
    if tally is None:
        _log(reason)
    else:
        tally.count(reason, points, fallback=True)


@contextmanager
def guarded(where: str, points: int = 1, expected: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Go on after an exception within, and count ``points`` as left; ``expected``: those that are not mistakes."""
    try:
        yield
    except expected as problem:
        hand_over(f"{where}: {_exception_text(problem)}", points)
    except Exception as problem:
        fall_back(where, problem, points)


def side_by_side(task: Callable[[Item], None], items: Iterable[Item], threads: int) -> None:
    """Do a task for every item, in threads if they are several; all count into the same tally.

    Raises what a task raises.
    """
    every = list(items)
    if min(threads, len(every)) <= 1:
        # to start a thread takes longer than many a task
        for item in every:
            copy_context().run(task, item)
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(threads) as crowd:
        for done in [crowd.submit(copy_context().run, task, item) for item in every]:
            done.result()


def merged(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Add up points by reason, the most frequent first, of equals the first in alphabet."""
    total: Counter[str] = Counter()
    for some in counts:
        total.update(some)
    return dict(sorted(total.items(), key=lambda pair: (-pair[1], pair[0])))


def exceptional(reasons: Mapping[str, int]) -> dict[str, int]:
    """Points by reason, of those that name an exception which is none of ``ARITHMETIC``: a mistake in a program."""
    return {reason: points for reason, points in reasons.items() if _EXCEPTION_NAMED.search(reason)}


def words(reasons: Mapping[str, int]) -> str:
    """Points by reason, in words."""
    return "; ".join(f"{reason} ({points})" for reason, points in reasons.items())


def _log(reason: str) -> None:
    import logging

    logging.getLogger("dse").warning("left to be answered otherwise after an exception in %s", reason)


def _exception_text(problem: Exception) -> str:
    # what an arithmetic of ours cannot take says so itself (``dse.models`` is slow to import)
    ours = isinstance(problem, ARITHMETIC) and type(problem).__module__ != "builtins"
    return str(problem) if ours else f"{type(problem).__name__}: {problem}"
