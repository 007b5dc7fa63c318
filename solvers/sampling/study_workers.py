"""Several processes that work on one study: started as ``python -m``, told what to do on their standard input."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import IO

import cloudpickle

from dse.system.processes import environment
from scenarios.question import Question, Search
from solvers.sampling.studies import PACE, Pace, StudyError

RESTARTS = 20
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
    with tempfile.TemporaryFile() as log, _crowd() as crowd:
        crowd.extend(_started_worker(task, number, log) for number in range(asked.workers))
        _report_processes(report, crowd)
        restarts = 0
        while any(p.poll() is None for p in crowd):
            time.sleep(LOOK_EVERY)
            for place, process in enumerate(crowd):
                if process.poll() in (None, 0) or finished():
                    continue
                restarts += 1
                if restarts > RESTARTS:
                    raise StudyError(f"{asked.storage}: workers end again and again: {_last_words(log)}")
                # a number of its own: it must not draw what the one that died has drawn
                crowd[place] = _started_worker(task, asked.workers + restarts, log)
                _report_processes(report, crowd)
        if not finished():
            raise StudyError(f"{asked.storage}: all workers have ended early: {_last_words(log)}")


@contextlib.contextmanager
def _crowd() -> Iterator[list[subprocess.Popen[bytes]]]:
    crowd: list[subprocess.Popen[bytes]] = []
    try:
        yield crowd
    finally:
        for process in crowd:
            process.kill()
        for process in crowd:
            process.wait()


def _started_worker(task: bytes, number: int, log: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start a worker; what it works on goes through a pipe, since others can read command lines."""
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "solvers.sampling.study_worker", str(number)],
        stdin=subprocess.PIPE,
        stdout=log,
        stderr=log,
        env=environment(),
        # Ctrl-C at the terminal is ours alone to handle
        start_new_session=True,
    )
    assert process.stdin is not None, "it is a pipe"
    with contextlib.suppress(BrokenPipeError), process.stdin as pipe:
        pipe.write(task)
    return process


def _report_processes(
    report: Callable[[tuple[int, ...]], None] | None, crowd: list[subprocess.Popen[bytes]]
) -> None:
    if report is not None:
        report(tuple(p.pid for p in crowd))


def _last_words(log: IO[bytes]) -> str:
    log.seek(0)
    lines = log.read().decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "they said nothing"
