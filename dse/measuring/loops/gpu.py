"""What is to be measured on a GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from dse.measuring.errors import MeasuringError
from dse.measuring.loops.gpu_libraries import Library
from dse.measuring.loops.tasks import OUTER, Task
from dse.measuring.session import Place

_PRECISIONS = {"single": ("float32", 4), "double": ("float64", 8)}
_DEGREES = (1, 4, 16, 64, 256)
_WIDTHS = (8, 32, 128, 512)
_ROOM, _MOST_BYTES, _LEAST_BYTES = 0.25, 2 << 30, 1 << 20


def place(library: Library, *, quick: bool, most: int = _MOST_BYTES) -> Place:
    """Return what to measure; arrays take a quarter of the free memory, at most ``most`` bytes.

    Raises MeasuringError where there is next to none.
    """
    room = min(most, int(_ROOM * library.free()))
    if room < _LEAST_BYTES:
        raise MeasuringError(f"{library.name} has no memory left: end what else runs on it")
    plan: list[Callable[[Library], Task]] = [partial(_triad, size=room)]
    # matrices of a third of the room each
    side = 1 << ((room // 24).bit_length() - 1) // 2
    orders = [side] if quick else [side >> i for i in range(5) if side >> i >= 64][::-1]
    for precision in _PRECISIONS:
        plan += [partial(_matrices, kernel="matmul", precision=precision, order=n, inner=n) for n in orders]
        if library.polynomial is None:
            outer = partial(_matrices, kernel=OUTER, precision=precision, order=side)
            plan += [partial(outer, inner=min(w, side)) for w in _WIDTHS]
        else:
            plan += [partial(_polynomial, precision=precision, degree=d, size=room) for d in _DEGREES]
    return Place(1, partial(_opened, library), plan)


@contextmanager
def _opened(library: Library) -> Iterator[Library]:
    with library.device():
        yield library


def _task(
    library: Library,
    kernel: str,
    precision: str,
    size: int,
    work: tuple[float, float],
    once: Callable[[], object],
    order: int = 0,
) -> Task:
    def run(passes: int) -> None:
        for _ in range(passes):
            once()
        library.wait()

    return Task(kernel, precision, "memory", 1, size, work[0], work[1], 0.0, run, order, waits=True)


def _triad(library: Library, size: int) -> Task:
    n = size // 24
    a, b, c = (library.full((n,), "float64") for _ in range(3))
    return _task(library, "triad", "double", size, (2.0 * n, 24.0 * n), lambda: library.triad(a, b, c))


def _polynomial(library: Library, precision: str, degree: int, size: int) -> Task:
    assert library.polynomial is not None
    kind, width = _PRECISIONS[precision]
    n = size // (2 * width)
    x, y = (library.full((n,), kind) for _ in range(2))
    loop = library.polynomial(degree, kind)
    return _task(
        library, "polynomial", precision, size, (2.0 * degree * n, 2.0 * width * n), lambda: loop(x, y)
    )


def _matrices(library: Library, kernel: str, precision: str, order: int, inner: int) -> Task:
    """Multiply ``order`` x ``inner`` by ``inner`` x ``order``: few inner columns are few flops per byte."""
    kind, width = _PRECISIONS[precision]
    a, b = library.full((order, inner), kind), library.full((inner, order), kind)
    c = library.full((order, order), kind)
    moved = width * (2 * order * inner + order * order)
    work = 2.0 * order * order * inner, float(moved)
    return _task(library, kernel, precision, moved, work, lambda: library.product(a, b, c), order)
