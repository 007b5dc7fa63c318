"""Reading the files that a user names: whole, of a sensible size, and without waiting for ever."""

from __future__ import annotations

import errno
import os
import re
import select
import stat
import sys
from pathlib import Path
from typing import Any, Self

MOST_BYTES = 16_000_000
"""Bytes of a scenario or a machine file; the parser takes about a second for each megabyte."""
MOST_NUMBERS = 200_000_000
"""Bytes of a file of measurements."""
PIPE_SECONDS = 30.0
"""Seconds that a pipe may be silent."""
NOT_REGULAR = "no regular file"
"""What a pipe or a device is that has the name of a file."""
_GIVEN = ("/dev/", "/proc/")
"""Where a process finds the pipes that it was given: /dev/stdin, and /dev/fd/63 of a shell's <(…)."""
DEEPEST_TABLES = 40
"""Tables within tables: a scenario needs six at most."""
_NO_PATH = "its name holds a character that no path has"
_PART = 1 << 20
_LONGEST_SHOWN, _OF_LONGER = 1000, 40
_DOTTED = re.compile(
    r"""(?<![A-Za-z0-9_-])(?:(?:[A-Za-z0-9_-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){100}"""
)
_LONG = re.compile(r"[0-9_]{1000,}")


def content(path: str | Path, most: int = MOST_BYTES) -> bytes:
    """Read a file, or what comes through a pipe, of at most ``most`` bytes.

    Raises OSError, whose ``strerror`` says what is wrong: also where the file is larger, for a pipe that is silent for
    PIPE_SECONDS seconds, and at once for a pipe or device that has a name of its own: nobody may ever write to it.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except ValueError:
        raise OSError(errno.EINVAL, _NO_PATH, str(path)) from None
    try:
        about = os.fstat(handle)
        waits = stat.S_ISFIFO(about.st_mode) and str(path).startswith(_GIVEN)
        if not waits:
            _refuse_irregular(path, about.st_mode)
        if about.st_size > most:
            raise _too_large(path, most)
        parts: list[bytes] = []
        left = most + 1
        while left > 0:
            if waits and not select.select([handle], [], [], PIPE_SECONDS)[0]:
                silent = f"nothing came through this pipe for {PIPE_SECONDS:g} s"
                raise TimeoutError(errno.ETIMEDOUT, silent, str(path))
            part = os.read(handle, min(_PART, left))
            if not part:
                break
            parts.append(part)
            left -= len(part)
    finally:
        os.close(handle)
    if left <= 0:
        raise _too_large(path, most)
    return b"".join(parts)


def regular(path: str | Path) -> None:
    """Raise OSError where a path is no regular file: whoever opens a pipe or a device might wait for ever."""
    _refuse_irregular(path, Path(path).stat().st_mode)


def _refuse_irregular(path: str | Path, mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, f"it is {NOT_REGULAR}", str(path))


def impossible(path: str | os.PathLike[str]) -> str:
    """Say why no file can have this path; "" where one can."""
    try:
        os.lstat(path)
    except ValueError:
        return _NO_PATH
    except OSError as problem:
        return "no path may be so long" if problem.errno == errno.ENAMETOOLONG else ""
    return ""


def shortened(path: str | os.PathLike[str]) -> str:
    """Return a path as a message names it: of one that fills a page its ends."""
    text = os.fspath(path)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_OF_LONGER]}…{text[-_OF_LONGER:]}"


def _too_large(path: str | Path, most: int) -> OSError:
    return OSError(errno.EOVERFLOW, f"it is larger than {most / 1e6:g} MB, the most that is read", str(path))


def text(path: str | Path, most: int = MOST_BYTES) -> str:
    """Read a file of UTF-8 text; raises as ``content``, and UnicodeDecodeError."""
    return content(path, most).decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")


class Held(str):
    """The path of a machine or model file as a question names it, with the ``text`` that the file held.

    It is what the file held that a question is about: nothing is read at that path again. Equal to its path as text.
    """

    __slots__ = ("text",)
    text: str

    def __new__(cls, path: str, text: str) -> Self:
        """Make the name of a file that held ``text``."""
        made = super().__new__(cls, path)
        made.text = text
        return made

    def __reduce__(self) -> tuple[type[Held], tuple[str, str]]:
        """Say how it is made again, in another process too."""
        return Held, (str(self), self.text)

    @property
    def sha256(self) -> str:
        """The SHA-256 of the text, as hexadecimal digits."""
        import hashlib  # loads OpenSSL

        return hashlib.sha256(self.text.encode()).hexdigest()


class Unreadable(ValueError):
    """Text is valid TOML, and more than a file can mean: ``line`` where that stands (None: not one line)."""

    def __init__(self, wrong: str, right: str, line: int | None = None) -> None:
        super().__init__(f"{wrong}; {right}")
        self.wrong, self.right, self.line = wrong, right, line


def toml(written: str) -> dict[str, Any]:
    """Parse TOML; raises tomllib.TOMLDecodeError, or Unreadable for endless numbers and nesting.

    Both are ValueErrors.
    """
    import tomllib

    # the parser takes the square of the time for such keys
    dotted = _DOTTED.search(written)
    if dotted:
        raise _too_deep(_line_number(written, dotted.start()))
    try:
        found = tomllib.loads(written.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError:
        raise
    except RecursionError:
        raise _too_deep() from None
    except ValueError:
        # Python turns no number of so many digits into an integer
        raise _too_long(written) from None
    _refuse_deep_or_long(found, written)
    return found


def _refuse_deep_or_long(found: dict[str, Any], written: str) -> None:
    """Refuse what is nested deeper than DEEPEST_TABLES, and integers that Python would not print; without recursion."""
    here: list[Any] = [found]
    for _ in range(DEEPEST_TABLES + 1):
        inside: list[Any] = []
        for outer in here:
            for value in outer.values() if isinstance(outer, dict) else outer:
                if isinstance(value, dict | list):
                    inside.append(value)
                elif isinstance(value, int) and value.bit_length() > 3 * sys.int_info.default_max_str_digits:
                    raise _too_long(written)
        if not inside:
            return
        here = inside
    raise _too_deep()


def _too_deep(line: int | None = None) -> Unreadable:
    wrong = "the file nests lists or tables too deeply"
    return Unreadable(wrong, f"keep to {DEEPEST_TABLES} levels; a scenario needs six at most", line)


def _too_long(written: str) -> Unreadable:
    place = _LONG.search(written)
    line = _line_number(written, place.start()) if place else None
    return Unreadable("a whole number has thousands of digits", "write it shorter, such as 1e6", line)


def _line_number(written: str, at: int) -> int:
    return written.count("\n", 0, at) + 1
