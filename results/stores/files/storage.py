"""Where a store's files are: a directory of this machine, or an object store.

A ``Folder`` (a ``LocalFolder`` or an ``ObjectFolder``) has the few verbs that a store needs; names are relative, with
"/" between the parts. What is put is there as a whole or not at all.
"""

from __future__ import annotations

import errno
import glob
import os
import re
import shutil
import socket
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from dse.system.files import impossible, shortened
from dse.system.streams import visible
from results.stores.files.inside import readable, replaceable
from results.stores.files.object_storage import ROOT, ObjectFolder
from results.stores.files.trouble import StoreError, explained

Place = str | os.PathLike[str]

LOCAL = frozenset({"file", "local"})
FLEETING = frozenset({"memory"})
OF_PAGES = frozenset({".html", ".htm"})
OF_FILES = OF_PAGES | {
    *(".csv", ".jsonl", ".nc", ".parquet", ".md", ".tex", ".png", ".svg", ".pdf", ".json", ".toml", ".txt")
}
"""How names of files end, which no store is to have."""
IN_THE_WAY = "a folder that is not empty stands in place of this file; move it away"
_URL = re.compile(r"^[a-z][a-z0-9+.-]+://")


def named(place: Place) -> str:
    """Return the path or the address that is meant: ``file:///x`` is the path /x.

    Raises StoreError for an address at which nothing could be kept.
    """
    text = os.fspath(place)
    kind, mark, rest = text.partition("://")
    if not text:
        raise StoreError("a store has a name, such as study.zarr; this one is empty")
    if not mark:
        return _below_root(text)
    if not _URL.match(text):
        raise StoreError(f"{text} is not an address of a store; one is s3://bucket/study.zarr")
    if kind in LOCAL:
        if not rest.startswith("/"):
            raise StoreError(f"{text} names no path; write {kind}:///folder/study.zarr, or the path alone")
        return _below_root(unquote(rest))
    if kind in FLEETING:
        raise StoreError(f"{text} would be lost when this command ends; name a folder, such as study.zarr")
    if not rest.strip("/"):
        raise StoreError(f"{text} names no bucket; write {kind}://bucket/study.zarr")
    return text


def fillable(place: Place) -> None:
    """Raise StoreError for what cannot be the name of a Zarr store to fill."""
    text = named(place)
    if text == "-":
        raise StoreError("a store is a folder, and standard output takes none: name it, such as study.zarr")
    kind = Path(text).suffix.lower()
    if kind in OF_FILES:
        more = ", of which dse report makes a page" if kind in OF_PAGES else ""
        raise StoreError(f"{text}: this fills a Zarr store (a folder): name it {Path(text).stem}.zarr{more}")
    if remote(text):
        # that no library reaches it is said of this name, before others are made from it
        folder(text)


def _possible(text: str) -> str:
    """Return a path; StoreError where no file can have it."""
    if wrong := impossible(text):
        raise StoreError(f"{visible(shortened(text))}: {wrong}")
    return text


def _below_root(text: str) -> str:
    _possible(text)
    if not Path(text).absolute().name:
        raise StoreError(f"{text} is the root of all folders; name one of its own, such as study.zarr")
    return text


def local(path: Place) -> Path:
    """Return the path of a file to write; StoreError for an address."""
    text = os.fspath(path)
    if not text:
        raise StoreError("no file is named: the name to write to is empty")
    if "://" in text:
        raise StoreError(f"{text} is an address, and this writes a file of this machine: give a path")
    return Path(_possible(text))


def writable(path: Place) -> Path:
    """Return the path of a file that will be written after some work; StoreError at once where none can stand there.

    A file is made where it will be, or in the nearest folder that is there, and removed.
    """
    target = local(path)
    stores = [p for p in target.absolute().parents if (p / ROOT).is_file()]
    if stores:
        raise StoreError(
            f"{target}: {stores[-1].name} is a store, which holds its own files only: name a file beside it"
        )
    with explained(target, "write"):
        _refuse_folder(target)
        folder = next(p for p in target.absolute().parents if p.exists())
        trial = folder / f".{uuid.uuid4().hex}.partial"
        trial.touch(exist_ok=False)
        trial.unlink()
    return target


def spared(outputs: Iterable[Place], read: Iterable[Place]) -> None:
    """Raise StoreError, before anything is computed, where an output would replace a file that is ``read`` for it.

    Files are the same by whatever path, or link, they are named.
    """
    known = [Path(r) for r in read if Path(r).exists()]
    for output in outputs:
        target = Path(output)
        if target.exists() and any(target.samefile(k) for k in known):
            raise StoreError(f"{output} is read for this answer, which would replace it: choose another name")


def _refuse_folder(target: Path) -> None:
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))


@contextmanager
def replacing(path: Place, what: str = "write") -> Iterator[Path]:
    """Give a name to write to, which replaces ``path`` once all is written, and is removed where that fails.

    ``what`` is done with the file. Raises StoreError where the file cannot be written.
    """
    target = local(path)
    writing = target.with_name(f".{target.name}.{uuid.uuid4().hex}.partial")
    with explained(target, what):
        _refuse_folder(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield writing
            writing.replace(target)
        finally:
            writing.unlink(missing_ok=True)


def write_text(path: Place, text: str) -> Path:
    """Write a text file, which is replaced once all is written; StoreError where that cannot be done."""
    with replacing(path) as writing:
        writing.write_text(text, encoding="utf-8")
    return Path(path)


def remote(place: Place) -> bool:
    """Whether a place is the address of an object store (``s3://bucket/study.zarr``)."""
    return _URL.match(named(place)) is not None


def absolute(place: Place) -> str:
    """Return a place such that other processes, with another working directory, find it too.

    Of a link it is the place that the link leads to: what replaces a store stands where the store is, not on the link.
    """
    if remote(place):
        return named(place).rstrip("/")
    path = Path(named(place)).absolute()
    return os.path.realpath(path) if path.is_symlink() else str(path)


def folder(place: Place) -> Folder:
    """Return the folder at a path or address; StoreError where nothing could be kept there."""
    if remote(place):
        return ObjectFolder(absolute(place))
    return LocalFolder(Path(named(place)))


def replaced(root: Path, name: str, data: bytes | memoryview, *, sync: bool) -> None:
    """Write a file below a folder under another name, and rename it.

    Folders between are made, the root never: a store that was taken away is not made again. ``sync``: wait until the
    file is on the disk. Raises FileNotFoundError where the root is gone, and OSError where a link leads out of it.
    """
    file = replaceable(root, name)
    writing = file.with_name(f"{file.name}.{uuid.uuid4().hex}.partial")
    try:
        try:
            handle = writing.open("wb")
        except FileNotFoundError:
            for parent in reversed(Path(name).parents[:-1]):
                with suppress(FileExistsError):
                    (root / parent).mkdir()
            handle = writing.open("wb")
        with handle:
            handle.write(data)
            if sync:
                handle.flush()
                os.fsync(handle.fileno())
        try:
            writing.replace(file)
        except IsADirectoryError:
            # an empty folder in place of a file is nobody's loss; one that holds something is left
            _remove_empty(file, name)
            writing.replace(file)
    finally:
        writing.unlink(missing_ok=True)


def _remove_empty(folder: Path, name: str) -> None:
    try:
        folder.rmdir()
    except OSError:
        # of no number that the system has, as what is refused inside a store
        raise OSError(0, IN_THE_WAY, name) from None


class LocalFolder:
    """A directory: files appear by a temporary name that is renamed."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __fspath__(self) -> str:
        return str(self.path)

    def __str__(self) -> str:
        return str(self.path)

    def exists(self) -> bool:
        """Whether anything is there; an empty directory is nothing."""
        return self.path.exists() and not (self.path.is_dir() and not any(self.path.iterdir()))

    def create(self, files: Mapping[str, bytes]) -> None:
        """Make the directory of these files, all or none, under another name, and rename it.

        Where another process was faster, its folder stays.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        building = self.path.with_name(f".{self.path.name}.{_builder()}.{uuid.uuid4().hex}.building")
        try:
            for name, data in files.items():
                file = building / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(data)
            self._rename(building)
        finally:
            shutil.rmtree(building, ignore_errors=True)

    def _rename(self, building: Path) -> None:
        try:
            building.rename(self.path)
        except OSError as problem:
            # another process that was faster with the same store wins
            if problem.errno not in {errno.EEXIST, errno.ENOTEMPTY}:
                raise

    def read(self, name: str) -> bytes:
        """Return the bytes of a file; FileNotFoundError (or NotADirectoryError) where there is none.

        OSError where it is not inside the folder, or no regular file.
        """
        try:
            return readable(self.path, name).read_bytes()
        except OSError as problem:
            # on a network file system: replaced by another machine while it was open here
            if problem.errno != errno.ESTALE:
                raise
            return readable(self.path, name).read_bytes()

    def read_many(self, names: Iterable[str]) -> dict[str, bytes]:
        """Return those of the files that are there."""
        found = {}
        for name in names:
            with suppress(FileNotFoundError, NotADirectoryError):
                found[name] = self.read(name)
        return found

    def names(self, below: str) -> list[str]:
        """Return the names of the files directly below a name, without what stands before them; none: no files."""
        try:
            return [file.name for file in (self.path / below).iterdir()]
        except (FileNotFoundError, NotADirectoryError):
            return []

    def sizes(self) -> dict[str, int]:
        """Return the sizes of all files, by a listing: none is opened."""
        found: dict[str, int] = {}
        below = [""]
        while below:
            prefix = below.pop()
            # paths as texts: a store has a folder for each chunk of each variable
            with suppress(OSError), os.scandir(f"{self.path}/{prefix}") as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        below.append(f"{prefix}{entry.name}/")
                    else:
                        with suppress(OSError):
                            found[prefix + entry.name] = entry.stat().st_size
        return found

    def put(self, name: str, data: bytes) -> None:
        """Write a file under another name, see it on the disk, and rename it."""
        replaced(self.path, name, data, sync=True)

    def remove(self, name: str) -> None:
        """Remove a file, if it is there, or an empty folder in its place."""
        file = replaceable(self.path, name)
        try:
            file.unlink(missing_ok=True)
        except IsADirectoryError:
            _remove_empty(file, name)

    def settle(self, name: str) -> None:
        """See a file on the disk (an all-empty chunk has none)."""
        file = readable(self.path, name)
        if file.exists():
            handle = os.open(file, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)

    def tidy(self) -> None:
        """Remove half-written files, and half-made directories whose maker is gone."""
        for file in self.path.rglob("*.partial"):
            file.unlink(missing_ok=True)
        for building in self.path.parent.glob(f".{glob.escape(self.path.name)}.*.building"):
            if not _building(building.name):
                shutil.rmtree(building, ignore_errors=True)

    def zarr(self, *, write: bool) -> Any:
        """Return the path, which is all that Zarr needs."""
        return str(self.path)


Folder = LocalFolder | ObjectFolder
"""All files of one store."""


def _builder() -> str:
    return f"{socket.gethostname().replace('.', '_')}.{os.getpid()}"


def _building(name: str) -> bool:
    """Whether the process that makes this directory is still there, as far as can be seen from here."""
    host, process = name.split(".")[-4:-2]
    if host != _builder().split(".", maxsplit=1)[0]:
        return True
    try:
        os.kill(int(process), 0)
    except (ProcessLookupError, ValueError):
        return False
    except PermissionError:
        return True
    return int(process) != os.getpid()
