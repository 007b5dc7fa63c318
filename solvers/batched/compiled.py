"""How the batched kernel is compiled: one place for what numba is told.

Importing this module imports numba; nothing does so before a grid is large enough to be worth a compiler.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

F = TypeVar("F", bound=Callable[..., Any])

# never nnan or ninf: -inf is the logarithm of a term that is not there
FAST = {"contract", "reassoc", "nsz", "arcp"}


def compiled(function: F) -> F:
    """Compile a function that works on one point, or on a row of them."""
    return _compile(function, parallel=False)


def parallel(function: F) -> F:
    """Compile a loop over points that runs on all cores."""
    return _compile(function, parallel=True)


def _compile(function: F, *, parallel: bool) -> F:
    # error_model: a division by zero spoils its own point, not the million others
    how: dict[str, Any] = {"fastmath": FAST, "error_model": "numpy", "parallel": parallel}
    try:
        made: F = numba.njit(cache=True, **how)(function)
    except RuntimeError:  # nowhere to keep what is compiled: neither beside the code nor in the user's cache
        made = numba.njit(**how)(function)
    return made
