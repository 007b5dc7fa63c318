"""Standard streams that may be closed, text that may hold control characters, and Ctrl-C before anything runs."""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

TYPE_CHECKING = (
    False  # typing takes a while to import, and Ctrl-C shows a traceback until this module is there
)
if TYPE_CHECKING:
    from typing import Any, TextIO

INTERRUPTED = 130
_GONE = frozenset({errno.EPIPE, errno.EBADF})
# marks of direction and of no width hide or turn text
_HIDING = (0x200B, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A), 0xFEFF)
_CONTROLS = {c: f"\\u{c:04x}" for c in (*range(0x20), *range(0x7F, 0xA0), *_HIDING) if chr(c) not in "\n\t"}


def _leave(_signal: int, _frame: Any) -> None:
    os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)


@contextmanager
def leaving_at_once() -> Iterator[None]:
    """Let Ctrl-C end the process with exit code 130 and without a traceback, where nothing is to be tidied up.

    An exception would not do: some of what runs during an import reports it and goes on.
    """
    before = end_quietly()
    try:
        yield
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)


def end_quietly() -> Any:
    """Let Ctrl-C end the process from now on; return what it did before (None: it is not ours to change)."""
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:
        return None
    try:
        return signal.signal(signal.SIGINT, _leave)
    except ValueError:
        # only the main thread may change it
        return None


@contextmanager
def ended_as_by_ctrl_c() -> Iterator[None]:
    """Let a request to end (SIGTERM, of a scheduler or a shutdown) raise KeyboardInterrupt, as Ctrl-C does."""
    try:
        before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    except ValueError:
        # only the main thread may change it
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def leave() -> None:
    """End an interrupted process now: the interpreter would wait for threads, and those of a solver abort it."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(INTERRUPTED)


def prepare() -> None:
    """Open standard streams that are closed, to nowhere, and let none fail at a character that it cannot show.

    Else the next file that is opened would become standard output, and be printed into.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115 (for good)
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def put(text: str, stream: TextIO) -> None:
    """Print a text; whoever reads it may stop reading at any time.

    Raises OSError where the stream is there and does not take it: a full disk.
    """
    import click

    try:
        click.echo(text, file=stream)
    except OSError as problem:
        _to_nowhere(stream)
        if problem.errno not in _GONE:
            raise


def _to_nowhere(stream: TextIO) -> None:
    """Let the rest go nowhere, also what the interpreter flushes when it ends."""
    try:
        number = stream.fileno()
    except io.UnsupportedOperation:
        return
    os.dup2(os.open(os.devnull, os.O_WRONLY), number)


def visible(text: str) -> str:
    r"""Return a text with its control characters spelled out (\u001b), new lines and tabs apart.

    A terminal obeys them, whoever wrote them. In JSON they mean the same spelled out.
    """
    return text.translate(_CONTROLS)


def controls(text: str) -> bool:
    """Tell whether a text holds control characters other than new lines and tabs."""
    return any(ord(c) in _CONTROLS for c in text)
