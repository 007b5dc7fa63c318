"""The Zarr store through which numbers are read, which compares each file with what was recorded of it.

So whoever computes with a dataset, however lazily, gets what was written or a StoreDamaged that says which file is not.
"""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Mapping
from typing import Any

from zarr.storage import LocalStore, WrapperStore

from results.stores import markers, roots
from results.stores.files import seals
from results.stores.files.inside import readable, replaceable
from results.stores.files.storage import Folder, folder, replaced
from results.stores.files.trouble import damaged, explained
from results.stores.soundness import DATA

LINGER = 5.0


class Standing(LocalStore):  # type: ignore[misc]
    """A Zarr store in a local folder that is never made again where somebody took it away.

    No name and no link leads out of it (see ``results.stores.files.inside``).
    """

    async def _open(self, *, mode: Any = None) -> None:
        # Zarr would make the folder
        if not self.root.is_dir():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self.root))
        await super()._open(mode=mode)

    async def get(self, key: str, prototype: Any = None, byte_range: Any = None) -> Any:
        """Return a file; OSError where it is not inside the folder, or no regular file."""
        readable(self.root, key)
        return await super().get(key, prototype, byte_range)

    async def delete(self, key: str) -> None:
        """Remove a file; OSError where it is not inside the folder."""
        replaceable(self.root, key)
        await super().delete(key)

    async def set(self, key: str, value: Any) -> None:
        """Write a file; FileNotFoundError where the folder is gone."""
        self._check_writable()
        await asyncio.to_thread(replaced, self.root, key, value.as_buffer_like(), sync=False)


class Patient(WrapperStore[Any]):  # type: ignore[misc]
    """A Zarr store on a network file system, where another machine may replace a file that is open here."""

    async def get(self, key: str, prototype: Any, byte_range: Any = None) -> Any:
        """Return a file."""
        try:
            return await self._store.get(key, prototype, byte_range)
        except OSError as problem:
            if problem.errno != errno.ESTALE:
                raise
            return await self._store.get(key, prototype, byte_range)


class Checked(Patient):
    """A Zarr store whose files are compared with records as they are read.

    ``place``: of the store, ``metadata``: what its root records, ``axes``: how many axes are swept.
    """

    def __init__(
        self, store: Any, place: str, metadata: Mapping[str, seals.Record | None], axes: int
    ) -> None:
        super().__init__(store)
        self._place, self._metadata, self._axes = place, metadata, axes
        self._notes: dict[tuple[int, ...], Mapping[str, Any]] = {}

    def _with_store(self, store: Any) -> Checked:
        return type(self)(store, self._place, self._metadata, self._axes)

    async def get(self, key: str, prototype: Any, byte_range: Any = None) -> Any:
        """Return a file; raises StoreDamaged where it is not what was written, StoreForbidden where we may not."""
        try:
            data = await super().get(key, prototype, byte_range)
        except PermissionError:
            with explained(self._place, "read"):
                raise
        except OSError:
            await asyncio.to_thread(self._judge, key, None)
            raise
        if byte_range is None:
            await asyncio.to_thread(self._judge, key, None if data is None else data.to_bytes())
        return data

    def _judge(self, key: str, data: bytes | None) -> None:
        if key in self._metadata:
            wrong = roots.compared(self._metadata[key], data)
        elif DATA in key:
            wrong = self._of_chunk(key, data)
        else:
            return
        if wrong:
            raise damaged(self._place, {key: wrong})

    def _of_chunk(self, key: str, data: bytes | None) -> str:
        index = tuple(int(i) for i in key.partition(DATA)[2].split("/")[: self._axes])
        where = folder(self._place)
        for fresh in (False, True):
            # the chunk may have been written anew since its marker was read
            if fresh or index not in self._notes:
                self._notes[index] = self._note(where, index)
            files = seals.recorded(self._notes[index])
            if files is None or key not in files:
                return "" if data is None else undecodable(data)
            if fresh:
                return roots.differing(where, {key: files[key]}).get(key, "")
            if not roots.compared(files[key], data):
                return ""
        return ""

    def _note(self, where: Folder, index: tuple[int, ...]) -> Mapping[str, Any]:
        with explained(self._place, "read"):
            return markers.notes(where, [index]).get(index, {})


def undecodable(data: bytes) -> str:
    """Say what is wrong with a file of which nothing is recorded; "" where its own checksum is right."""
    from numcodecs.zstd import decompress

    try:
        decompress(data)
    except Exception as problem:
        # a decoder may raise anything on damaged bytes
        return f"cannot be read: {problem}"
    return ""


class Written(Patient):
    """A Zarr store that keeps what is recorded of each file that is written."""

    def __init__(self, store: Any, files: dict[str, seals.Record] | None = None) -> None:
        super().__init__(store)
        self.files: dict[str, seals.Record] = {} if files is None else files

    def _with_store(self, store: Any) -> Written:
        return type(self)(store, self.files)

    async def set(self, key: str, value: Any) -> None:
        """Write a file."""
        await self._store.set(key, value)
        self.files[key] = seals.record(value.to_bytes())


def settle() -> None:
    """Wait for reads that Zarr leaves behind where one of a call found damage: a process that ends would show them."""
    from zarr.core import sync

    async def ended() -> None:
        if others := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(others, timeout=LINGER)

    if (loop := sync.loop[0]) is not None:
        asyncio.run_coroutine_threadsafe(ended(), loop).result()


def opened(where: Folder, *, write: bool) -> Any:
    """Return the Zarr store of a folder, unwrapped."""
    found = where.zarr(write=write)
    return Standing(found, read_only=not write) if isinstance(found, str) else found
