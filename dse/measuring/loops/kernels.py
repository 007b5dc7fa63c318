"""The loops that are timed, compiled by numba: STREAM, polynomials, random reads, a chain of pointers.

Importing this module imports numba. Every loop runs without Python's lock, so that threads run side by side.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from solvers.geometric.kernel.compiled import loop

Kernel = Callable[..., Any]

LINE = 64
"""Bytes between two places of the chain of pointers: a cache line of nearly every machine."""
CACHED_ELEMENTS = 1024
"""Elements that a long polynomial works on at a time: few enough for the first cache."""
UNROLLED_STEPS = 16
"""Steps of a polynomial that stay in registers; longer ones are made of several such parts."""
DEGREES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
"""Steps of the polynomials: 2 flops each for every element."""
STREAMS = {"copy": 2, "scale": 2, "add": 3, "triad": 3}
"""Numbers that each STREAM kernel moves for every element, as STREAM counts them."""


@loop
def copy(a: Any, b: Any, c: Any, passes: int) -> None:
    """Do c = a (McCalpin's STREAM)."""
    for _ in range(passes):
        for i in range(c.size):
            c[i] = a[i]


@loop
def scale(a: Any, b: Any, c: Any, passes: int) -> None:
    """Do b = 3 c."""
    three = c.dtype.type(3)
    for _ in range(passes):
        for i in range(b.size):
            b[i] = three * c[i]


@loop
def add(a: Any, b: Any, c: Any, passes: int) -> None:
    """Do c = a + b."""
    for _ in range(passes):
        for i in range(c.size):
            c[i] = a[i] + b[i]


@loop
def triad(a: Any, b: Any, c: Any, passes: int) -> None:
    """Do a = b + 3 c."""
    three = c.dtype.type(3)
    for _ in range(passes):
        for i in range(a.size):
            a[i] = b[i] + three * c[i]


@loop
def random_reads(x: Any, reads: int, seed: int) -> Any:
    """Add up elements at places that do not depend on each other; the size of ``x`` is a power of two."""
    mask = np.uint64(x.size - 1)
    state = np.uint64(seed)
    total = x.dtype.type(0)
    for _ in range(reads):
        # Knuth's linear congruential generator; its upper bits are the random ones
        state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        total += x[(state >> np.uint64(33)) & mask]
    return total


@loop
def chase(following: Any, steps: int) -> Any:
    """Go from place to place, each read from the one before: what one read takes when nothing hides it.

    The places are unsigned: of others numba asks each time whether they count from the end.
    """
    place = following[0]
    for _ in range(steps):
        place = following[place]
    return place


@loop
def chain(following: Any, stride: int, seed: int) -> None:
    """Link every ``stride``-th element into one cycle in random order (Sattolo's shuffle)."""
    places = following.size // stride
    np.random.seed(seed)  # noqa: NPY002 - numba has no other
    order = np.arange(places)
    for i in range(places - 1, 0, -1):
        j = np.random.randint(0, i)  # noqa: NPY002
        order[i], order[j] = order[j], order[i]
    for i in range(places - 1):
        following[order[i] * stride] = order[i + 1] * stride
    following[order[places - 1] * stride] = order[0] * stride


def polynomial(degree: int) -> Kernel:
    """Return a loop over arrays x and y: y = a polynomial of x by Horner's rule, ``degree`` steps of 2 flops.

    Called as (x, y, passes); each pass reads x and writes y once, so that ``degree`` sets the flops per byte.
    """
    first, parts = _steps(min(degree, UNROLLED_STEPS)), degree // UNROLLED_STEPS
    if parts <= 1:
        return first
    more = _long(UNROLLED_STEPS)

    def long(x: Any, y: Any, passes: int) -> None:
        more(x, y, passes, parts)

    return long


def _steps(degree: int) -> Kernel:
    @loop
    def steps(x: Any, y: Any, passes: int) -> None:
        half = x.dtype.type(0.5)
        for _ in range(passes):
            for i in range(x.size):
                value = x[i]
                found = value
                for _step in range(degree):
                    found = found * value + half
                y[i] = found

    return steps


def _long(degree: int) -> Kernel:
    first = _steps(degree)

    @loop
    def onward(x: Any, y: Any) -> None:
        half = x.dtype.type(0.5)
        for i in range(x.size):
            value = x[i]
            found = y[i]
            for _step in range(degree):
                found = found * value + half
            y[i] = found

    @loop
    def long(x: Any, y: Any, passes: int, parts: int) -> None:
        # chunk by chunk, so that only the first part fetches from where the data lie
        for _ in range(passes):
            for begin in range(0, x.size, CACHED_ELEMENTS):
                end = min(begin + CACHED_ELEMENTS, x.size)
                first(x[begin:end], y[begin:end], 1)
                for _part in range(parts - 1):
                    onward(x[begin:end], y[begin:end])

    return long
