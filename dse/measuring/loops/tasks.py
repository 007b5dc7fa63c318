"""What is measured on processors: each task does its work a number of times on threads of its own."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier
from types import TracebackType
from typing import Any, Self

import numpy as np

from dse.measuring.errors import MeasuringError
from dse.measuring.hardware import Hardware
from dse.measuring.loops import kernels
from dse.system.records import dataclass

PRECISIONS: dict[str, Any] = {"single": np.float32, "double": np.float64}
OUTER = "outer product"
"""Products of few inner columns, where a library compiles no polynomials."""
ORDERS = (64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048)
"""Of the square matrices that are multiplied."""
_QUICK_ORDER = 1024
_MEMORY_TIMES, _MOST_OF_MEMORY, _LEAST_SIZE = 4, 0.25, 8 << 10


@dataclass(frozen=True, slots=True)
class Task:
    """What ``run(passes)`` does in each pass, all threads together; see ``runs.Run`` for the names.

    ``waits``: whether the work is done elsewhere, and the threads here only wait for it.
    """

    kernel: str
    precision: str
    level: str
    threads: int
    size: int
    flops: float
    bytes: float
    accesses: float
    run: Callable[[int], object]
    order: int = 0
    waits: bool = False

    def __str__(self) -> str:
        threads = f"{self.threads} thread{'s' if self.threads > 1 else ''}"
        return " ".join(filter(None, (self.kernel, self.precision, self.level, f"on {threads}")))


class Team:
    """Threads that work side by side, each on memory of its own that it has touched first; a context.

    Inside it the BLAS of NumPy uses as many threads. ``most``: bytes of all their memory, at least four times
    the last cache. Raises MeasuringError where there is no room for them.
    """

    def __init__(self, hardware: Hardware, threads: int) -> None:
        self.hardware, self.threads = hardware, threads
        self.most = memory_size(hardware, threads)
        room = int(_MOST_OF_MEMORY * hardware.available)
        if self.most > room:
            wrong = (
                f"{self.most >> 20} MiB are needed to measure the memory and not the caches, and a quarter of"
            )
            raise MeasuringError(f"{wrong} the free memory is {room >> 20} MiB: close other programs")
        self._pool = ThreadPoolExecutor(threads)
        self._barrier = Barrier(threads)
        self._memory = self.each(lambda i: np.full(self.most // threads // 8, 0.5))

    def each(self, do: Callable[[int], Any]) -> list[Any]:
        """Call ``do`` with each thread's number, in that thread, all at once; return what they give."""

        def together(i: int) -> Any:
            # no thread takes the work of another
            self._barrier.wait()
            return do(i)

        futures = [self._pool.submit(together, i) for i in range(self.threads)]
        return [f.result() for f in futures]

    def arrays(self, size: int, count: int, kind: Any) -> list[list[Any]]:
        """Return for each thread ``count`` arrays of 0.5, ``size`` bytes for all threads together."""
        if not 0 < size <= self.most:
            raise ValueError(f"the arrays of a team have at most {self.most} bytes, not {size}")
        length = size // self.threads // count // np.dtype(kind).itemsize
        found = []
        for memory in self._memory:
            view = memory.view(kind)
            memory_of_thread = [view[i * length : (i + 1) * length] for i in range(count)]
            found.append(memory_of_thread)
        self.each(lambda i: [a.fill(0.5) for a in found[i]])
        return found

    def __enter__(self) -> Self:
        from threadpoolctl import threadpool_limits

        self._limits = threadpool_limits(self.threads, "blas")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._limits.restore_original_limits()
        # after Ctrl-C some threads may wait for others that were never started
        self._barrier.abort()
        self._pool.shutdown(cancel_futures=True)
        self._memory = []


def memory_size(hardware: Hardware, threads: int) -> int:
    """Return the bytes that count as memory: four times the last cache or more, a power of two for each thread."""
    least = _MEMORY_TIMES * int(hardware.spread(hardware.caches[-1], threads))
    # random reads find their places by masks
    return threads * (1 << (-(-least // threads) - 1).bit_length())


def sizes(hardware: Hardware, threads: int, *, quick: bool) -> list[int]:
    """Return the sizes to sweep, in bytes: one in each level (quick), else all powers of two from 8 KiB."""
    most = memory_size(hardware, threads)
    if quick:
        return [*(int(hardware.reach(c, threads) / 2) for c in hardware.caches), most]
    count = (most // _LEAST_SIZE).bit_length()
    return [*(_LEAST_SIZE << i for i in range(count) if _LEAST_SIZE << i < most), most]


def plan(hardware: Hardware, threads: int, *, quick: bool) -> list[Callable[[Team], Task]]:
    """Return what to measure with this many threads; a task takes memory when it is made for a team."""
    every = sizes(hardware, threads, quick=quick)
    most = every[-1]
    degrees = kernels.DEGREES[::2] if quick else kernels.DEGREES
    # matrices larger than what counts as memory would show nothing new
    orders = [n for n in ORDERS if 3 * 8 * n * n <= most]
    orders = [n for n in orders if n <= _QUICK_ORDER][-2:] if quick else orders
    found: list[Callable[[Team], Task]] = []
    for precision in PRECISIONS:
        found += [
            partial(polynomial, precision=precision, degree=kernels.UNROLLED_STEPS, size=every[0]),
            *(partial(polynomial, precision=precision, degree=d, size=most) for d in degrees),
            *(partial(product, precision=precision, order=n) for n in orders),
        ]
    return [
        *found,
        *(partial(stream, name="triad", size=size) for size in every),
        *(partial(stream, name=name, size=most) for name in ("copy", "scale", "add") if not quick),
        partial(random_reads, size=most),
        *(partial(chase, size=size) for size in (every[-1:] if quick else every[::-2])),
    ]


def polynomial(team: Team, precision: str, degree: int, size: int) -> Task:
    """Evaluate a polynomial at each element: flops per byte by its degree (Choi et al. 2014, section IV)."""
    kind = PRECISIONS[precision]
    work = kernels.polynomial(degree)
    data = team.arrays(size, 2, kind)
    length = sum(x.size for x, _ in data)
    return Task(
        "polynomial",
        precision,
        team.hardware.level(size, team.threads),
        team.threads,
        size,
        flops=2.0 * degree * length,
        bytes=2.0 * length * np.dtype(kind).itemsize,
        accesses=0.0,
        run=lambda passes: team.each(lambda i: work(*data[i], passes)),
    )


def stream(team: Team, name: str, size: int) -> Task:
    """Run a STREAM kernel in double precision; a line that is fetched only to be written is not counted."""
    work = getattr(kernels, name)
    data = team.arrays(size, 3, np.float64)
    length = sum(a.size for a, *_ in data)
    flops = {"copy": 0, "scale": 1, "add": 1, "triad": 2}[name]
    return Task(
        name,
        "double",
        team.hardware.level(size, team.threads),
        team.threads,
        size,
        flops=float(flops * length),
        bytes=8.0 * kernels.STREAMS[name] * length,
        accesses=0.0,
        run=lambda passes: team.each(lambda i: work(*data[i], passes)),
    )


def random_reads(team: Team, size: int) -> Task:
    """Read at places that do not depend on each other: how many reads a second the memory serves."""
    elements = 1 << (size // team.threads // 8).bit_length() - 1
    data = [x[:elements] for (x,) in team.arrays(size, 1, np.float64)]
    reads = 1 << 16
    return Task(
        "random",
        "",
        team.hardware.level(elements * 8 * team.threads, team.threads),
        team.threads,
        elements * 8 * team.threads,
        flops=0.0,
        bytes=0.0,
        accesses=float(reads * team.threads),
        run=lambda passes: team.each(lambda i: kernels.random_reads(data[i], reads * passes, i + 1)),
    )


def chase(team: Team, size: int) -> Task:
    """Follow a chain of pointers: the latency, one for each thread."""
    data = [x for (x,) in team.arrays(size, 1, np.uint64)]
    stride = kernels.LINE // 8
    team.each(lambda i: kernels.chain(data[i], stride, i + 1))
    steps = 1 << 13
    return Task(
        "chase",
        "",
        team.hardware.level(size, team.threads),
        team.threads,
        size,
        flops=0.0,
        bytes=0.0,
        accesses=float(steps * team.threads),
        run=lambda passes: team.each(lambda i: kernels.chase(data[i], steps * passes)),
    )


def product(team: Team, precision: str, order: int) -> Task:
    """Multiply two square matrices by the BLAS of NumPy, which makes its own threads."""
    kind = PRECISIONS[precision]
    random = np.random.default_rng(1)
    a, b = (random.random((order, order), dtype=kind) for _ in range(2))
    c = np.empty_like(a)

    def run(passes: int) -> None:
        for _ in range(passes):
            np.matmul(a, b, out=c)

    moved = 3 * order * order * np.dtype(kind).itemsize
    return Task(
        "matmul",
        precision,
        team.hardware.level(moved, team.threads),
        team.threads,
        moved,
        flops=2.0 * order**3,
        bytes=float(moved),
        accesses=0.0,
        run=run,
        order=order,
    )


def blas_name() -> str:
    """Say which BLAS NumPy has."""
    from threadpoolctl import threadpool_info

    found = [x for x in threadpool_info() if x["user_api"] == "blas"]
    names = {f"{x['internal_api']} {x['version']} ({x.get('architecture', '')})" for x in found}
    return ", ".join(sorted(names)) or "unknown"
