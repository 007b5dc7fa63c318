"""What is to be measured on the processors of this machine."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from dse.measuring.errors import MeasuringError
from dse.measuring.hardware import Hardware
from dse.measuring.loops.tasks import Team, blas_name, plan
from dse.measuring.session import Place


def places(hardware: Hardware, threads: Sequence[int], *, quick: bool) -> list[Place]:
    """Return a place for each number of threads; numbers between the first and the last are measured quickly.

    Raises MeasuringError for more threads than processors.
    """
    if wrong := [n for n in threads if n > hardware.processors]:
        raise MeasuringError(
            f"--threads {','.join(map(str, wrong))}: this program may use {hardware.processors} processors"
        )
    between = set(threads[1:-1])
    return [
        Place(n, partial(Team, hardware, n), plan(hardware, n, quick=quick or n in between)) for n in threads
    ]


def counts(processors: int, *, quick: bool) -> list[int]:
    """Return the numbers of threads to measure with: all (quick), else 1 and its doubles up to all."""
    if quick:
        return [processors]
    return sorted(
        {*(1 << i for i in range(processors.bit_length())), processors} & set(range(1, processors + 1))
    )


def facts(hardware: Hardware) -> dict[str, str]:
    """Return what the machine is and what measured it, in words, by name."""
    import numba
    import numpy as np

    caches = ", ".join(
        f"L{c.level} {c.size >> 10} KiB{f' shared by {c.shared}' if c.shared > 1 else ''}"
        for c in hardware.caches
    )
    return {
        "processor": hardware.name,
        "processors": str(hardware.processors),
        "caches": f"{caches}{' (sizes guessed: the system does not say)' if hardware.guessed else ''}",
        "memory": f"{hardware.memory / 2**30:.1f} GiB",
        "libraries": f"numpy {np.__version__}, {blas_name()}, numba {numba.__version__}",
    }
