"""How the batched kernel is compiled: one place for what numba is told.

Importing this module imports numba; nothing does so before a grid is large enough to be worth a compiler.
"""

from __future__ import annotations

import fcntl
import gc
import hashlib
import logging
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import event

from solvers.geometric.kernel import parts

_log = logging.getLogger("dse")
COMPILES = "compiling loops over many numbers: up to 10 s of processor time, once after an installation"
LOCK = "dse_compiling.lock"
_here = threading.local()
F = TypeVar("F", bound=Callable[..., Any])

# never nnan or ninf: -inf is the logarithm of a term that is not there; numpy's error model, in which a division by
# zero spoils its own point and not the million others
FAST = {"contract", "reassoc", "nsz", "arcp"}


def compiled(function: F, fastmath: Any = FAST) -> F:
    """Compile a function that works on one point; it is kept on disk as part of the loop it ends up in.

    Only compiled functions can call it: what Python would call it through takes a quarter of the time of a compilation.
    """
    # inlined: what a call hands over, some forty numbers, would take as long as what it does
    made: F = numba.njit(
        fastmath=fastmath,
        error_model="numpy",
        forceinline=True,
        no_cpython_wrapper=True,
        no_cfunc_wrapper=True,
        **parts.PART,
    )(function)
    return made


def loop(function: F) -> F:
    """Compile a loop over points, which threads may run side by side, and keep it on disk.

    What is kept is found again by the loop's own file and its closure only: let it close over ``stamp`` of all files
    that it is compiled from.
    """
    return kept(function, fastmath=FAST, nogil=True)


def loop_of_parts(function: F) -> F:
    """Compile such a loop, made of functions that are ``compiled``, with as little effort as these."""
    return kept(function, fastmath=FAST, nogil=True, **parts.LOOP)


def kept(function: F, **how: Any) -> F:
    """Compile a function and keep it on disk: beside the code, else in the user's cache, wherever one may write."""
    try:
        made: Any = numba.njit(cache=True, error_model="numpy", **how)(function)
    except RuntimeError:  # nowhere to keep it
        made = numba.njit(error_model="numpy", **how)(function)
        made.compile = partial(_nothing_lost, made.compile)
    else:
        alone = partial(_nothing_lost, made.compile)
        made.compile = partial(_one_at_a_time, alone, Path(made.stats.cache_path))
    return cast("F", made)


def _nothing_lost(compile_now: Callable[[Any], Any], signature: Any) -> Any:
    """Compile, and raise the Ctrl-C that came while LLVM called back, where ctypes would only print it.

    The code of which an exception was lost so may not be at hand to be kept: it is asked for once more.
    """
    lost: list[BaseException] = []
    usual = sys.unraisablehook

    def keep(told: Any) -> None:
        lost.append(told.exc_value)
        if isinstance(told.exc_value, Exception):
            usual(told)

    sys.unraisablehook = keep
    try:
        return compile_now(signature)
    except Exception:
        if not lost:
            raise
    finally:
        sys.unraisablehook = usual
        for problem in lost:
            if not isinstance(problem, Exception):
                raise problem
    return compile_now(signature)


def _one_at_a_time(compile_now: Callable[[Any], Any], folder: Path, signature: Any) -> Any:
    """Compile, or read from disk, while no other process does: those that wait find what this one kept.

    Where a file cannot be locked each process compiles by itself.
    """
    if getattr(_here, "compiling", False):  # what is compiled calls this function
        return compile_now(signature)
    with ExitStack() as stack:
        _here.compiling = True
        stack.callback(setattr, _here, "compiling", False)
        if gc.isenabled():  # looking for what is no more needed takes a tenth of the time, and finds little
            gc.disable()
            stack.callback(gc.enable)
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            file = stack.enter_context((folder / LOCK).open("w"))
            fcntl.flock(file, fcntl.LOCK_EX)
        return compile_now(signature)


class _Said(event.Listener):  # type: ignore[misc]
    """Says once that something is compiled, and not found on disk."""

    def on_start(self, event: Any) -> None:
        """Say so, and no more after that."""
        if not self.said:
            self.said = True
            _log.warning(COMPILES)

    def on_end(self, event: Any) -> None:
        """Nothing is said of the end."""

    said = False


event.register("numba:compile", _Said())


def stamp(*modules: str) -> int:
    """Return a number that is another one when the source of a module, or how it is compiled, changes."""
    found = hashlib.blake2b(digest_size=6)
    for name in (__name__, parts.__name__, *modules):
        found.update(Path(sys.modules[name].__file__ or "").read_bytes())
    return int.from_bytes(found.digest(), "big")
