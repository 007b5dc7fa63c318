"""Several processes that work on one study: forked in a nursery, told what to do on their standard input."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Callable
from typing import IO

import cloudpickle

from dse.system.nursery import Forked, Nursery
from scenarios.question import Question, Search
from solvers.sampling.databases import PACE, Pace, StudyError

RESTARTS = 20
WORKER = "solvers.sampling.study_worker"
OF_STORAGE = ("alembic.command", "sqlalchemy.orm")
"""What Optuna imports when it opens a storage."""
LOOK_EVERY = 0.1


def run(
    question: Question,
    asked: Search,
    finished: Callable[[], bool],
    *,
    pace: Pace = PACE,
    report: Callable[[tuple[int, ...]], None] | None = None,
) -> None:
    """Let ``asked.workers`` processes work on a study until it is ``finished``.

    One that dies is replaced; its trial is tried again by whoever first notices that it is silent. ``report``:
    called with the process ids whenever they change. Raises StudyError where they die again and again. They
    end with this process.
    """
    task = cloudpickle.dumps((question, asked, pace))
    with tempfile.TemporaryFile() as log, Nursery((WORKER, *OF_STORAGE), log) as nursery:
        crowd = [_started_worker(nursery, task, number) for number in range(asked.workers)]
        _report_processes(report, crowd)
        restarts = 0
        while any(p.poll() is None for p in crowd):
            time.sleep(LOOK_EVERY)
            done = finished()
            for place, process in enumerate(crowd):
                if process.poll() in (None, 0) or done:
                    continue
                restarts += 1
                if restarts > RESTARTS:
                    raise StudyError(f"{asked.storage}: workers end again and again: {_last_words(log)}")
                # a number of its own: it must not draw what the one that died has drawn
                crowd[place] = _started_worker(nursery, task, asked.workers + restarts)
                _report_processes(report, crowd)
        if not finished():
            raise StudyError(f"{asked.storage}: all workers have ended early: {_last_words(log)}")


def _started_worker(nursery: Nursery, task: bytes, number: int) -> Forked:
    """Start a worker; what it works on goes through a pipe, since others can read command lines."""
    theirs, ours = os.pipe()
    made = nursery.start(WORKER, str(number), stdin=theirs)
    os.close(theirs)
    with contextlib.suppress(BrokenPipeError), open(ours, "wb") as pipe:  # noqa: PTH123 - a handle
        pipe.write(task)
    return made


def _report_processes(report: Callable[[tuple[int, ...]], None] | None, crowd: list[Forked]) -> None:
    if report is not None:
        report(tuple(p.pid for p in crowd if p.pid is not None))


def _last_words(log: IO[bytes]) -> str:
    log.seek(0)
    lines = log.read().decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "they said nothing"
