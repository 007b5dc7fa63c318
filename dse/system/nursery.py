"""Processes forked from one that has imported what they all need: an import of a second is paid once, not by each.

``multiprocessing`` has a fork server too, but what it forks imports the caller's main module, which fails or hangs from
standard input, a notebook or a script without a guard.

Run as ``python -m dse.system.nursery``, it has one thread, and nothing that it imports may start another: a fork takes
along the locks that other threads hold, but not those threads. Where libraries of the system do not survive a fork
(macOS) each process starts anew.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from typing import IO, Self

from dse.system.processes import PARENT, environment

LOOK_EVERY = 0.1
END_SECONDS = 20.0
KILLED = -signal.SIGKILL
NOTHING: Mapping[str, str] = {}
FORKS = sys.platform == "linux"
ANEW = (
    "import importlib, sys; [importlib.import_module(name) for name in sys.argv.pop(1).split()]; del sys.argv[0]; "
    "importlib.import_module(sys.argv[0]).main()"
)
"""What a process that is not forked runs: it imports the modules itself."""


class Forked:
    """A process that a nursery started; ``returncode`` as of ``subprocess.Popen``."""

    def __init__(self, nursery: Nursery) -> None:
        self._nursery = nursery
        self.begun: int | None = None
        self.returncode: int | None = None

    @property
    def pid(self) -> int | None:
        """The process id, waited for; None where the nursery ended before it started this one."""
        while self.begun is None and self.returncode is None:
            self._nursery.hear(None)
        return self.begun

    def poll(self) -> int | None:
        """Return how it ended; None while it runs."""
        self._nursery.hear(0.0)
        return self.returncode


class Nursery:
    """Starts processes, each of which runs ``main`` of a module. A context manager: leaving it kills them all.

    They are in sessions of their own, as Ctrl-C at the terminal is the caller's alone to handle, and end with the
    nursery (``end_with_parent``), which ends with the process that made it. One that died is started again with the
    next process that is wanted.

    ``modules``: imported before the first of them. ``log``: what all of them say. ``forks``: False: each is started
    anew and imports them itself. ``more``: joins their environment.
    """

    def __init__(
        self,
        modules: tuple[str, ...],
        log: IO[bytes],
        more: Mapping[str, str] = NOTHING,
        *,
        forks: bool = FORKS,
    ) -> None:
        self.forks = forks
        self._modules, self._log, self._more = modules, log, more
        self._process: subprocess.Popen[bytes] | None = None
        self._unborn, self._living = deque[Forked](), dict[int, Forked]()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def start(self, *words: str, stdin: int | None = None) -> Forked:
        """Start a process: a module and the arguments of its ``main``; ``stdin``: a handle that it reads."""
        self.hear(0.0)
        if self._process is None:
            self._open()
        made = Forked(self)
        self._unborn.append(made)
        line = json.dumps(words).encode() + b"\n"
        self._line.settimeout(None)
        with open(os.devnull, "rb") as nothing, suppress(OSError):  # noqa: PTH123 - a handle; who is gone is noticed
            socket.send_fds(self._line, [line], [nothing.fileno() if stdin is None else stdin])
        return made

    def _open(self) -> None:
        self._line, theirs = socket.socketpair()
        self._rest = b""
        with theirs:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-P", "-m", "dse.system.nursery", str(theirs.fileno())),
                    *("fork" if self.forks else "anew", *self._modules),
                ],
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                pass_fds=(theirs.fileno(),),
                env=environment(**self._more),
                start_new_session=True,
            )

    def hear(self, seconds: float | None) -> None:
        """Take in what the nursery tells within some time (None: for ever); where it is gone, so are the others."""
        if self._process is None:
            return
        self._line.settimeout(seconds)
        try:
            told = self._line.recv(65536)
        except (BlockingIOError, TimeoutError):
            # somebody who was forked from this process may hold the other end, too
            if self._process.poll() is not None:
                self._lost()
            return
        except ConnectionError:
            told = b""
        if not told:
            self._lost()
            return
        *lines, self._rest = (self._rest + told).split(b"\n")
        for line in lines:
            pid, *code = map(int, line.split())
            if code:
                self._living.pop(pid).returncode = code[0]
            else:
                self._living[pid] = self._unborn.popleft()
                self._living[pid].begun = pid

    def _lost(self) -> None:
        assert self._process is not None, "it was heard of"
        self._line.close()
        self._process.kill()
        self._process.wait()
        self._process = None
        for one in (*self._unborn, *self._living.values()):
            one.returncode = KILLED
        self._unborn.clear()
        self._living.clear()

    def close(self) -> None:
        """Kill all processes."""
        if self._process is None:
            return
        with suppress(OSError):
            self._line.settimeout(None)
            self._line.sendall(b"null\n")
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(END_SECONDS)
        self._lost()


def main() -> None:
    """Import what the command line names, and fork a process for each line of the socket that it names first."""
    line, how, *names = socket.socket(fileno=int(sys.argv[1])), *sys.argv[2:]
    for name in names if how == "fork" else ():
        importlib.import_module(name)
    # what is collected is written to, and what is written to is no longer shared
    gc.freeze()
    with line:
        sys.argv = _forked(line, None if how == "fork" else names)
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()
    importlib.import_module(sys.argv[0]).main()


def _forked(line: socket.socket, anew: list[str] | None) -> list[str]:
    """Serve until the caller is gone; returns in each process that is forked, what it is to do.

    ``anew``: modules that a process imports which is started in place of being forked.
    """
    parent, own = int(os.environ[PARENT]), str(os.getpid())
    living, rest, handles = set[int](), b"", list[int]()
    line.settimeout(LOOK_EVERY)
    with suppress(OSError):
        while os.getppid() == parent:
            while living:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    break
                living.discard(pid)
                line.sendall(b"%d %d\n" % (pid, os.waitstatus_to_exitcode(status)))
            try:
                told, more, *_ = socket.recv_fds(line, 65536, 64)
            except TimeoutError:
                continue
            if not told:
                break
            handles += more
            *asked, rest = (rest + told).split(b"\n")
            for words in map(json.loads, asked):
                if words is None:
                    _end(living)
                handle = handles.pop(0)
                pid = os.fork() if anew is None else _started_anew(anew, words, handle)
                if not pid:
                    os.setsid()
                    os.dup2(handle, 0)
                    for one in (handle, *handles):
                        os.close(one)
                    os.environ[PARENT] = own
                    return list(words)
                os.close(handle)
                living.add(pid)
                line.sendall(b"%d\n" % pid)
    # those that live follow, each in its own way
    os._exit(1)


def _started_anew(names: list[str], words: list[str], handle: int) -> int:
    command = [sys.executable, "-P", "-c", ANEW, " ".join(names), *words]
    surroundings = {**os.environ, PARENT: str(os.getpid())}
    return subprocess.Popen(command, stdin=handle, env=surroundings, start_new_session=True).pid


def _end(living: set[int]) -> None:
    for pid in living:
        os.kill(pid, signal.SIGKILL)
    for pid in living:
        os.waitpid(pid, 0)
    os._exit(0)


if __name__ == "__main__":
    main()
