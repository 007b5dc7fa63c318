"""A machine small enough to be measured in a second, and counters that move like those of real ones."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from dse.measuring.asking import Asked, take
from dse.measuring.hardware import Cache, Hardware, processors
from dse.measuring.loops.repetition import Effort
from dse.measuring.session import Measured

SMALL = Hardware("Small", processors(), (Cache(1, 32 << 10, 1), Cache(2, 128 << 10, 1)), 1 << 30, 1 << 30)
"""Caches smaller than this machine's, so that little memory is gone through."""
SHORT = Effort(least=0.002, fewest=3, most=3, seconds=0.1, close=0.01, total=5.0)


@pytest.fixture(scope="session")
def small() -> Hardware:
    return SMALL


@pytest.fixture(scope="session")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Asked:
    nowhere = tmp_path_factory.mktemp("system") / "powercap"
    return Asked(quick=True, threads=(1,), hardware=SMALL, effort=SHORT, powercap=nowhere)


@pytest.fixture(scope="session")
def measured(asked: Asked) -> Measured:
    """Measured once for all tests that only look at it."""
    return take(asked, progress=False)


@pytest.fixture
def zone() -> Callable[..., Path]:
    """Make a zone of powercap; what is returned is its counter."""

    def make(folder: Path, name: str, span: int = 262143328850, value: int = 0) -> Path:
        folder.mkdir(parents=True)
        (folder / "name").write_text(f"{name}\n")
        (folder / "max_energy_range_uj").write_text(f"{span}\n")
        (folder / "energy_uj").write_text(f"{value:020d}\n")
        return folder / "energy_uj"

    return make


@pytest.fixture
def powered() -> Callable[..., Iterator[None]]:
    """Let a counter move as at a given power, starting again after its span, as the kernel's do."""

    @contextmanager
    def run(counter: Path, watts: float, span: int, start: int) -> Iterator[None]:
        over, begun = threading.Event(), time.monotonic()
        handle = os.open(counter, os.O_WRONLY)

        def move() -> None:
            while not over.wait(0.0005):
                used = int(start + watts * (time.monotonic() - begun) * 1e6) % span
                os.pwrite(handle, b"%020d\n" % used, 0)

        thread = threading.Thread(target=move)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            os.close(handle)

    return run


@pytest.fixture
def steady(measured: Measured) -> Measured:
    """The same measurement as if nobody had disturbed: every repetition alike, the machine quiet."""
    first: dict[object, float] = {}
    for run in measured.runs:
        first.setdefault(run.key, run.time / (run.flops + run.bytes + run.accesses))
    runs = [
        replace(r, time=first[r.key] * (r.flops + r.bytes + r.accesses), own=1.0, others=0.0)
        for r in measured.runs
    ]
    return replace(measured, runs=runs, conditions=replace(measured.conditions, others=0.0, neighbours=()))
