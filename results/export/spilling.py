"""A file for HDF5, whose library cannot close a file that does not take what is written: it ends the process later."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class Spilling(io.RawIOBase):
    """A new file that takes everything; what the disk does not take is kept in memory, and ``problem`` says why."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w+b", buffering=0)
        self._spilled: list[tuple[int, bytes]] = []
        self._at = self._end = 0
        self.problem: OSError | None = None

    def write(self, data: Any) -> int:
        """Write bytes where the file stands."""
        rest = memoryview(bytes(data))
        try:
            if self.problem is None:
                self._file.seek(self._at)
                while rest:
                    rest = rest[self._file.write(rest) :]
        except OSError as problem:
            self.problem = problem
        if self.problem is not None:
            self._spilled.append((self._at, bytes(data)))
        self._at += len(data)
        self._end = max(self._end, self._at)
        return len(data)

    def readinto(self, buffer: Any) -> int:
        """Read bytes from where the file stands."""
        count = max(0, min(len(buffer), self._end - self._at))
        self._file.seek(self._at)
        found = bytearray((self._file.read(count) or b"").ljust(count, b"\0"))
        for at, data in self._spilled:
            first, last = max(at, self._at), min(at + len(data), self._at + count)
            if first < last:
                found[first - self._at : last - self._at] = data[first - at : last - at]
        buffer[:count] = found
        self._at += count
        return count

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Stand elsewhere in the file."""
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._end}[whence]
        return self._at

    def tell(self) -> int:
        """Return where the file stands."""
        return self._at

    def truncate(self, size: int | None = None) -> int:
        """Set the size of the file."""
        self._end = self._at if size is None else size
        try:
            if self.problem is None:
                self._file.truncate(self._end)
        except OSError as problem:
            self.problem = problem
        return self._end

    def seekable(self) -> bool:
        """Tell that one may stand anywhere in it."""
        return True

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def writable(self) -> bool:
        """Tell that it can be written."""
        return True

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()


@contextmanager
def spilling(path: Path) -> Iterator[Spilling]:
    """Give a file that takes everything, and raise what the disk said once it is closed; Dask ends at once."""
    from dask.callbacks import Callback

    with Spilling(path) as file:

        def stop(*_: Any) -> None:
            if file.problem is not None:
                raise file.problem

        with Callback(pretask=stop):
            yield file
        stop()
