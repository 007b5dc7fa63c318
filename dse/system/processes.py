"""Processes that work for this one: what they see around them, and that they end when it does."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache

PARENT = "DSE_PARENT_PROCESS"
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
"""Names of glibc's mallopt."""
KILL_WITH_PARENT = 1
"""What Linux' prctl calls PR_SET_PDEATHSIG."""
KEPT_MEMORY, LARGEST_KEPT = 32 << 20, 10 << 20
"""Bytes that stay with a process that frees them, and of the largest array that is among them: larger ones would add up
to as much again as a chunk of a large grid takes."""


@lru_cache(maxsize=1)
def keep_freed_memory() -> None:
    """Keep the memory of arrays that are freed for the next ones, where the C library is one that can be told so.

    What is given back to the system comes again as pages of zeros: up to a third of the time of sweeps over samples.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, TypeError, AttributeError):
        return
    mallopt(TRIM_THRESHOLD, KEPT_MEMORY)
    mallopt(MMAP_THRESHOLD, LARGEST_KEPT)


class WorkersLost(RuntimeError):
    """The helper processes, or the cluster they belong to, are gone; the message says what is known."""


def environment(**more: str) -> dict[str, str]:
    """Let a process find the same modules, compute in one thread and know its parent; ``more`` joins it."""
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(p or os.getcwd() for p in sys.path),  # noqa: PTH109 - as a text
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        **more,
        PARENT: str(os.getpid()),
    }


def _nothing() -> None:
    """Do nothing."""


def end_with_parent(last: Callable[[], object] = _nothing) -> None:
    """End this process, whatever it does then, when the one that started it has ended; ``last``: called before."""
    parent = int(os.environ.get(PARENT, "0"))
    if parent:
        if last is _nothing:
            _killed_with_parent()
        threading.Thread(target=_follow, args=(parent, last), daemon=True, name="follow-parent").start()


def _killed_with_parent() -> None:
    """Let Linux kill this process: a solver of others may never let a thread of Python look (SCIP does not)."""
    with suppress(OSError, TypeError, AttributeError):
        ctypes.CDLL(None).prctl(KILL_WITH_PARENT, int(signal.SIGKILL), 0, 0, 0)


def _follow(parent: int, last: Callable[[], object]) -> None:
    while os.getppid() == parent:
        time.sleep(0.3)
    last()
    # a thread may be deep in a solver: an ordinary exit would wait for it
    os._exit(1)
