"""A store in an object store (``s3://bucket/study.zarr``), through fsspec.

Every object is written as a whole, so nothing is renamed; a new store's root comes last, and until it is there
a mark says that what stands beside it is a store in the making. Where the service is and who may use it is
said as ever (``AWS_ENDPOINT_URL``, ``AWS_PROFILE``, fsspec's configuration, ...).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from results.stores.files.trouble import StoreError

ROOT = "zarr.json"
"""The file of a store that says what it holds; without it there is no store."""
MAKING = "chunks_done/making"


class ObjectFolder:
    """All objects under one address."""

    def __init__(self, address: str) -> None:
        import fsspec

        self.address = address
        # else s3fs asks for the size of every file that it reads, to read large ones in parts at the same time
        self._options = {"max_concurrency": 1} if address.startswith("s3://") else {}
        try:
            # a listing must show what other processes wrote since
            self._files, self._root = fsspec.url_to_fs(address, use_listings_cache=False, **self._options)
        except ImportError as problem:
            text = f"{address}: {problem}; install what it needs: pip install 'codesign-dse[s3]'"
            raise StoreError(text) from problem
        except ValueError as problem:
            raise StoreError(f"{address} is not a place for a store: {problem}") from problem

    def __fspath__(self) -> str:
        return self.address

    def __str__(self) -> str:
        return self.address

    def _at(self, name: str) -> str:
        return f"{self._root}/{name}" if name else str(self._root)

    def exists(self) -> bool:
        """Whether anything is there; a store whose making was cut off is nothing."""
        if self._files.exists(self._at(ROOT)):
            return True
        return bool(self._files.exists(self._root)) and not self._files.exists(self._at(MAKING))

    def create(self, files: Mapping[str, bytes]) -> None:
        """Write the mark, the files, the root, and take the mark away."""
        self._files.pipe_file(self._at(MAKING), b"")
        for name, data in files.items():
            if name != ROOT:
                self._files.pipe_file(self._at(name), data)
        self.put_new(ROOT, files[ROOT])
        self.remove(MAKING)

    def read(self, name: str) -> bytes:
        """Return the bytes of an object."""
        return bytes(self._files.cat_file(self._at(name)))

    def read_many(self, names: Iterable[str]) -> dict[str, bytes]:
        """Return those of the objects that are there, asked for at the same time."""
        wanted = list(names)
        # not cat(), which takes brackets in an address for a pattern, and leaves out what cannot be reached
        whole = [None] * len(wanted)
        texts = self._files.cat_ranges(list(map(self._at, wanted)), whole, whole, on_error="return")
        found: dict[str, bytes] = {}
        for name, text in zip(wanted, texts, strict=True):
            if isinstance(text, FileNotFoundError):
                continue
            if isinstance(text, BaseException):
                raise text
            found[name] = bytes(text)
        return found

    def names(self, below: str) -> list[str]:
        """Return the names of what is directly below."""
        try:
            listed = self._files.ls(self._at(below), detail=False)
        except FileNotFoundError:
            return []
        return [str(at).rstrip("/").rpartition("/")[2] for at in listed]

    def sizes(self) -> dict[str, int]:
        """Return the sizes of all objects, by a listing: a thousand of them in each answer."""
        listed = self._files.find(self._root, detail=True)
        return {str(at).removeprefix(f"{self._root}/"): int(told["size"]) for at, told in listed.items()}

    def put(self, name: str, data: bytes) -> None:
        """Write an object."""
        self._files.pipe_file(self._at(name), data)

    def put_new(self, name: str, data: bytes) -> bool:
        """Write an object if there is none of that name; False where there is."""
        try:
            self._files.pipe_file(self._at(name), data, mode="create")
        except FileExistsError:
            return False
        return True

    def remove(self, name: str) -> None:
        """Remove an object, if it is there."""
        if self._files.exists(self._at(name)):
            self._files.rm_file(self._at(name))

    def copy(self, other: ObjectFolder, names: Iterable[str]) -> None:
        """Put objects of another folder of the same service here, without their bytes passing through."""
        wanted = list(names)
        # two lists are taken as they are, brackets in an address too
        self._files.copy(list(map(other._at, wanted)), list(map(self._at, wanted)), on_error="raise")

    def settle(self, name: str) -> None:
        """Nothing to do: the service has answered."""

    def tidy(self) -> None:
        """Nothing is ever half written."""
        self.remove(MAKING)

    def zarr(self, *, write: bool) -> Any:
        """Return the store that Zarr opens."""
        from zarr.storage import FsspecStore

        return FsspecStore.from_url(self.address, self._options, read_only=not write)
