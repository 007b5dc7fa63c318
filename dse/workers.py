"""Helper processes for long runs: a Dask scheduler in this process, workers started as ``python -m``.

Workers that multiprocessing starts would import the caller's main module, which fails or hangs from standard
input, a notebook or a script without a guard (and Dask's nannies do the same). Ours import only what they are
told to, have one thread each (Pyomo deadlocks in threads), and end when the calling process does.
"""

from __future__ import annotations

import logging
import subprocess
import sys
import tempfile
from typing import Any, Self

from dse.processes import end_with_parent, environment

HOST = "127.0.0.1"
TALKATIVE = ("distributed.batched", "distributed.comm", "distributed.core")
RESTARTS = 20
START_SECONDS = 60.0


class WorkersLost(RuntimeError):
    """The helper processes, or the cluster they belong to, are gone; the message says what is known."""


def dask_setup(worker: Any) -> None:
    """Run in a worker when it starts (``--preload dse.workers``): end it when its parent ends."""
    end_with_parent()


class LocalWorkers:
    """A scheduler in this process and ``count`` worker processes of one thread each.

    ``preload``: modules that a worker imports while it starts. A context manager: leaving it ends them all.
    """

    def __init__(self, count: int, preload: tuple[str, ...] = ()) -> None:
        from distributed import Client, LocalCluster

        # a worker that dies in the middle of a message leaves a traceback in the log, even after the cluster's end
        for name in TALKATIVE:
            logging.getLogger(name).setLevel(logging.CRITICAL)
        self._preload = ("dse.workers", *preload)
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the workers
        self.restarts = 0  # since the last task that came to an end
        self._processes: list[subprocess.Popen[bytes]] = []
        self._cluster = LocalCluster(
            n_workers=0,
            host=HOST,
            dashboard_address=None,
            silence_logs=logging.CRITICAL,
            # even without a dashboard there is a page of metrics, on port 8787 unless told otherwise
            scheduler_kwargs={"dashboard": False, "dashboard_address": f"{HOST}:0"},
        )
        try:
            self.client = Client(self._cluster, set_as_default=False)
            self._processes += [self._start() for _ in range(count)]
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-P", "-m", "distributed.cli.dask_worker", self._cluster.scheduler_address]
        command += ["--no-nanny", "--nthreads", "1", "--no-dashboard", "--memory-limit", "0"]
        command += ["--death-timeout", str(START_SECONDS)]
        for module in self._preload:
            command += ["--preload", module]
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            env=environment(DASK_LOGGING__DISTRIBUTED="warning"),
            # Ctrl-C at the terminal is ours alone to handle
            start_new_session=True,
        )

    @property
    def pids(self) -> tuple[int, ...]:
        """Process ids of the workers."""
        return tuple(p.pid for p in self._processes)

    def tend(self) -> None:
        """Start workers again that have died; raises WorkersLost where they keep dying."""
        for place, process in enumerate(self._processes):
            if process.poll() is None:
                continue
            if self.restarts >= RESTARTS:
                raise WorkersLost(
                    f"helper processes end again and again; the last one said:\n{self._last_words()}"
                )
            self.restarts += 1
            self._processes[place] = self._start()

    def _last_words(self) -> str:
        self._log.seek(0)
        return self._log.read().decode(errors="replace")[-2000:].strip() or "(nothing)"

    def close(self) -> None:
        """End the workers, at once where they are busy, and the scheduler."""
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.wait()
        if hasattr(self, "client"):
            self.client.close(timeout=2)
        self._cluster.close(timeout=2)
        self._log.close()
