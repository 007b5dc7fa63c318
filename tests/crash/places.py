"""A sweep in processes that can be hurt: where it runs, how it is watched, and a cluster or a network for it."""

import json
import os
import random
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

import results.stores.files.locks
import results.stores.store

ROOT = Path(__file__).parents[2]
WORKERS = 2
TTL = "20s"
"""How long a worker of somebody else's scheduler may be silent; five minutes unless told otherwise."""
# evaluated point by point: what is tried is not the solving
GRID = """
title   = "Energy of an n-body step"
model   = "nbody"
machine = "balanced"

[given]
bodies         = 1e5
flops_per_pair = 10
processors     = 100
memory         = 1e4

[sweep.size]
path    = "given.bodies"
start   = 1e4
stop    = 1e6
num     = 80
spacing = "log"

[sweep.leakage]
path   = "machine.leakage_power"
values = [0, 10, 50]
"""


class NotPossible(Exception):
    """This cannot be tried on this machine; the message says why."""


class Place:
    """A folder with a question, and the processes that were started in it."""

    def __init__(self, folder: Path, dice: random.Random) -> None:
        self.folder, self.dice = folder, dice
        self.store: Path | str = folder / "s.zarr"
        self.journal = folder / "journal.txt"
        self.surroundings: dict[str, str] = {}
        self.look = 0.05
        self.started: list[subprocess.Popen[bytes]] = []
        (folder / "grid.toml").write_text(GRID)

    def start(self, *command: str, inside: tuple[str, ...] = (), **more: str) -> subprocess.Popen[bytes]:
        """Start a Python module; ``inside``: a command that starts commands, ``more``: of its environment."""
        surroundings = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent / "hooks"), str(ROOT)]),
            "CRASH_JOURNAL": str(self.journal),
            # the moments below are between the first and the fifth of twelve chunks, and each chunk is long enough
            "CHUNK_PAUSE": "0.1",
            "CHUNK_HOLD": "7",
            "CHUNK_RELEASE": str(self.folder / "release"),
            **self.surroundings,
            **more,
        }
        process = subprocess.Popen(
            [*inside, sys.executable, "-m", *command],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd=self.folder,
            env=surroundings,
            start_new_session=True,
        )
        self.started.append(process)
        return process

    def sweep(self, workers: int = WORKERS, *more: str) -> subprocess.Popen[bytes]:
        where = more or ("--workers", str(workers))
        # each variable is a file for each chunk, and what happens to one happens to all
        return self.start("dse", "sweep", "grid.toml", "-o", str(self.store), "--metrics", "energy", *where)

    def ended(self, process: subprocess.Popen[bytes], code: int, words: str = "") -> None:
        (self.folder / "release").touch()
        self.is_over(process, code, words)

    def is_over(self, process: subprocess.Popen[bytes], code: int, words: str) -> None:
        """Wait until a command has ended, and look how; whatever is held stays so."""
        _, told = process.communicate(timeout=240)
        text = told.decode(errors="replace")
        assert process.returncode == code, text
        assert words in text, text
        assert "Traceback" not in text, text

    def moment(self, process: subprocess.Popen[bytes]) -> None:
        """Wait for a random moment at which the sweep is under way."""
        first = self.dice.randrange(1, 6)
        wait_for(lambda: self.done() >= first or process.poll() is not None, pause=self.look)
        assert process.poll() is None, "it ended before anything could happen to it"
        time.sleep(self.dice.random() * 0.3)

    def done(self) -> int:
        return len(results.stores.store.done(self.store)) if results.stores.store.exists(self.store) else 0

    def end(self) -> None:
        for process in self.started:
            for child in children(process.pid):
                child.kill()
            process.kill()
            process.wait()


def children(process: int) -> list[psutil.Process]:
    try:
        return psutil.Process(process).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def wait_for(what: Callable[[], object], seconds: float = 120.0, pause: float = 0.02) -> None:
    ends = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < ends, "it did not happen in time"
        time.sleep(pause)


@contextmanager
def cluster(
    place: Place, host: str = "127.0.0.1", away: tuple[str, ...] = ()
) -> Iterator[tuple[list[subprocess.Popen[bytes]], str]]:
    """Start a scheduler and workers of somebody else; ``away``: the command by which the first worker is started.

    Gives the processes, the scheduler last, and its address.
    """
    file = place.folder / f"scheduler-{place.dice.randrange(10**9)}.json"
    told = ("--host", host, "--port", "0", "--no-dashboard", "--scheduler-file", str(file))
    scheduler = place.start(
        "distributed.cli.dask_scheduler", *told, DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL=TTL
    )
    wait_for(lambda: file.exists() and file.read_text().strip().endswith("}"))
    address = str(json.loads(file.read_text())["address"])
    command = ("distributed.cli.dask_worker", address, "--no-nanny", "--nthreads", "1", "--no-dashboard")
    workers = [place.start(*command, inside=away if n == 0 else ()) for n in range(WORKERS)]
    yield [*workers, scheduler], address
    for process in (*workers, scheduler):
        process.kill()
        process.wait()


@contextmanager
def network(place: Place) -> Iterator[tuple[str, tuple[str, ...], Callable[[], None]]]:
    """Make a network of two machines: our address, the command that runs a command on the other, what cuts it."""
    space, net = f"dse{os.getpid()}", f"10.213.{os.getpid() % 256}"
    here, there = f"{space}a", f"{space}b"
    made = [
        f"netns add {space}",
        f"link add {here} type veth peer name {there} netns {space}",
        f"addr add {net}.1/30 dev {here}",
        f"link set {here} up",
        f"-n {space} addr add {net}.2/30 dev {there}",
        f"-n {space} link set {there} up",
    ]

    def ip(command: str) -> bool:
        return not subprocess.run(["ip", *command.split()], check=False, capture_output=True).returncode

    def cut() -> None:
        assert ip(f"-n {space} link set {there} down")

    if shutil.which("ip") is None:
        raise NotPossible("there is no command `ip`")
    try:
        if not all(map(ip, made)):
            raise NotPossible("a network of one's own needs privileges")
        yield f"{net}.1", ("ip", "netns", "exec", space), cut
    finally:
        # its end of the cable, and with it ours, goes with it
        ip(f"netns del {space}")


def reachable(port: int) -> bool:
    with socket.socket() as asked:
        return asked.connect_ex(("127.0.0.1", port)) == 0
