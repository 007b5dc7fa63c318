"""Helper processes for long runs: a Dask scheduler in this process, workers forked in a nursery.

Workers that multiprocessing starts would import the caller's main module, which fails or hangs from standard
input, a notebook or a script without a guard (and Dask's nannies do the same). Ours import only what they are
told to, and once for all of them (``dse.system.nursery``), have one thread each (Pyomo deadlocks in threads), and end
when the calling process does.

They and the scheduler listen on the loopback only, hear nobody who has not the key of the run
(``dse.sweeping.cluster.credentials``: Dask's protocol lets whoever is heard run code), and show no pages.
"""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from dse.sweeping.cluster import credentials
from dse.system.nursery import Forked, Nursery
from dse.system.processes import WorkersLost, end_with_parent

HOST = "127.0.0.1"
_PORT = f"{HOST}:0"
TALKATIVE = ("distributed.batched", "distributed.comm", "distributed.core")
RESTARTS = 20
START_SECONDS = 60.0
REMOVAL_SECONDS = 5.0
FOLDER = "DSE_WORKERS_FOLDER"
_WORKER = "distributed.cli.dask_worker"


def dask_setup(worker: Any) -> None:
    """Run in a worker when it starts (``--preload dse.sweeping.cluster.workers``): end it when its parent ends."""
    # a parent that was killed could not take its folder away
    end_with_parent(lambda: _take_away(Path(os.environ[FOLDER])))


def _take_away(folder: Path) -> None:
    """Remove a folder into which workers may be writing."""
    ends = time.monotonic() + REMOVAL_SECONDS
    while folder.exists() and time.monotonic() < ends:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def guarded(folder: str, *, pages: bool = False) -> Iterator[None]:
    """Let a Dask scheduler that is made meanwhile keep its files in ``folder``, and answer no pages unless wanted.

    Whoever reaches the port of pages could read them. Dask's own folder is one that all users share, and first where
    Python looks for modules: another user who made it could put some there.
    """
    import dask.config

    changed: dict[str, Any] = {"temporary-directory": folder}
    if not pages:
        changed["distributed.scheduler.http.routes"] = []
    with dask.config.set(changed):
        yield


class LocalWorkers:
    """A scheduler in this process and ``count`` worker processes of one thread each.

    ``preload``: modules that are imported before the workers start. A context manager: leaving it ends them all.
    """

    def __init__(self, count: int, preload: tuple[str, ...] = ()) -> None:
        from distributed import Client, LocalCluster

        # a worker that dies in the middle of a message leaves a traceback in the log, even after the cluster's end
        for name in TALKATIVE:
            logging.getLogger(name).setLevel(logging.CRITICAL)
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the workers
        # only we may look inside
        self._folder = tempfile.TemporaryDirectory(prefix="dse-workers-", ignore_cleanup_errors=True)
        self._security = credentials.of_one_run()
        self.restarts = 0  # since the last task that came to an end
        self._processes: list[Forked] = []
        self._nursery = Nursery(
            (_WORKER, __name__, *preload),
            self._log,
            {
                "DASK_LOGGING__DISTRIBUTED": "warning",
                "DASK_DISTRIBUTED__WORKER__HTTP__ROUTES": "[]",
                FOLDER: self._folder.name,
                **credentials.handed_over(self._security),
            },
        )
        try:
            with guarded(self._folder.name):
                self._cluster = LocalCluster(
                    n_workers=0,
                    host=HOST,
                    protocol="tls://",
                    security=self._security,
                    dashboard_address=None,
                    silence_logs=logging.CRITICAL,
                    # a page is listened for even without a dashboard, on port 8787 unless told otherwise
                    scheduler_kwargs={"dashboard": False, "dashboard_address": _PORT},
                )
        except (OSError, RuntimeError) as problem:
            # Dask reads its keys from temporary files: a full disk shows here first
            self._log.close()
            self._folder.cleanup()
            raise WorkersLost(
                f"the helper processes cannot be started: {problem}; what is stored stays valid"
            ) from problem
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

    def _start(self) -> Forked:
        options = f"--host {HOST} --protocol tls --no-dashboard --dashboard-address {_PORT} --no-nanny --nthreads 1 "
        options += f"--memory-limit 0 --death-timeout {START_SECONDS} --preload {__name__}"
        told = ("--local-directory", self._folder.name)
        return self._nursery.start(_WORKER, self._cluster.scheduler_address, *options.split(), *told)

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
        self._nursery.close()
        if hasattr(self, "client"):
            self.client.close(timeout=2)
        self._cluster.close(timeout=2)
        self._log.close()
        self._folder.cleanup()
