"""A store that a sweep over more values is to replace: what it knows of the larger grid, and how the two change places.

The larger store is made beside the one that is extended, is filled from it and with what is missing, and takes its
place when it is finished. In an object store, where nothing is renamed, its objects are copied there, behind a mark by
which that is begun again if it is cut off. Arrays that grow where they are would not do: values come between others as
often as behind them, a larger grid is cut otherwise, and a chunk that is written anew is lost to whoever is killed
meanwhile.
"""

from __future__ import annotations

import ctypes
import math
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.system.arrays import Bools, Integers
from dse.system.records import dataclass
from results.stores import store
from results.stores.files import locks
from results.stores.files.object_storage import MAKING, ROOT, ObjectFolder
from results.stores.files.storage import folder, remote
from results.stores.files.trouble import StoreError, decoded, explained, listed
from results.stores.identities import SAME_NUMBER
from results.variables import COLUMNS

if TYPE_CHECKING:
    from results.dataset import Arrays, Layout
    from results.stores.chunks import ChunkIndex

Region = tuple[slice, ...]
_HERE, _EXCHANGE = -100, 2
MOST_LOST_VALUES = 3
REPLACES = "chunks_done/replaces"
"""Object of a larger store that is finished: it is to take the place of the other one."""


@dataclass(frozen=True, slots=True)
class Before:
    """The store that is extended.

    ``places``: of each place along each axis of the larger grid its place there, -1: none;
    ``chunks`` and ``done``: how it is cut, and what of it is finished; ``damaged``: chunks that are not what was
    written, which do not count as done.
    """

    path: str
    places: tuple[Integers, ...]
    chunks: tuple[int, ...]
    done: frozenset[ChunkIndex]
    damaged: frozenset[ChunkIndex] = frozenset()

    def known(self, region: Region) -> Bools:
        """Tell which points of a block are in the store."""
        own = [p[s] for p, s in zip(self.places, region, strict=True)]
        found: Bools = np.zeros([len(p) for p in own], bool)
        for _, at in self._stored(own):
            found[np.ix_(*at)] = True
        return found

    def fill(self, arrays: Arrays, region: Region) -> None:
        """Put what is known of a block into its arrays, bit for bit."""
        own = [p[s] for p, s in zip(self.places, region, strict=True)]
        opened = store.group(self.path)
        with decoded(self.path):
            held = {name: opened[name] for name in arrays}
        for _, at in self._stored(own):
            there = [p[i] for p, i in zip(own, at, strict=True)]
            block = tuple(slice(int(t.min()), int(t.max()) + 1) for t in there)
            for name, array in arrays.items():
                with decoded(self.path):
                    read = np.asarray(held[name][block])
                array[np.ix_(*at)] = read[np.ix_(*(t - b.start for t, b in zip(there, block, strict=True)))]

    def missing(self, region: Region) -> Iterator[list[Integers]]:
        """Go through products of places in a block that together are all that is not known of it."""
        own = [p[s] for p, s in zip(self.places, region, strict=True)]
        there = [np.flatnonzero(p >= 0) for p in own]
        for i, p in enumerate(own):
            fresh = np.flatnonzero(p < 0)
            if fresh.size and all(t.size for t in there[:i]):
                yield [*there[:i], fresh, *(np.arange(len(q)) for q in own[i + 1 :])]
        for index, at in self._chunks(own):
            if index not in self.done:
                yield at

    def _stored(self, own: Sequence[Integers]) -> Iterator[tuple[ChunkIndex, list[Integers]]]:
        return ((index, at) for index, at in self._chunks(own) if index in self.done)

    def _chunks(self, own: Sequence[Integers]) -> Iterator[tuple[ChunkIndex, list[Integers]]]:
        """Go through the store's chunks that a block has points of, each with the places of these in the block."""
        parts: list[tuple[ChunkIndex, list[Integers]]] = [((), [])]
        for p, size in zip(own, self.chunks, strict=True):
            chunk = np.where(p >= 0, p // size, -1)
            each = [(int(c), np.flatnonzero(chunk == c)) for c in np.unique(chunk[chunk >= 0])]
            parts = [((*index, c), [*at, here]) for index, at in parts for c, here in each]
        yield from parts


def before(path: str, plan: Layout, damaged: frozenset[ChunkIndex] = frozenset()) -> Before:
    """Find the points of a grid in a store of fewer of them; StoreError, which says what is not there any more."""
    opened = store.group(path)
    with listed(path):
        arrays = dict(opened.arrays())
        places = tuple(_places_of_chunks(path, plan, arrays, axis) for axis in plan.sizes)
    return Before(path, places, store.chunks_of(path), frozenset(store.done(path)) - damaged, damaged)


def _places_of_chunks(path: str, plan: Layout, arrays: Mapping[str, Any], axis: str) -> Integers:
    asked = {c.name: c for c in plan.coordinates if c.dims == (axis,)}
    stored = {n: np.asarray(arrays[n][...]) for n in asked if n in arrays}
    rows = [n for n in asked if n != axis] if COLUMNS in asked[axis].attributes else []
    if set(stored) != set(asked):
        raise StoreError(f"{path} has other columns along {axis}; choose another path")
    found, lost = np.full(len(asked[axis].values or ()), -1), []
    if not rows and stored[axis].dtype.kind == "f":
        values = np.asarray(asked[axis].values, float)
        order = np.argsort(values)
        for i, v in enumerate(stored[axis].tolist()):
            near = order[np.clip(np.searchsorted(values[order], v) + np.array([-1, 0]), 0, len(values) - 1)]
            at = next((int(k) for k in near if math.isclose(values[k], v, rel_tol=SAME_NUMBER)), -1)
            lost += [f"{v:.12g}"] if at < 0 else []
            found[at] = i if at >= 0 else found[at]
    else:
        mine = [asked[n].values or () for n in rows or [axis]]
        theirs = [stored[n].tolist() for n in rows or [axis]]
        free: dict[Any, list[int]] = {}
        for k, key in reversed(list(enumerate(zip(*mine, strict=True)))):
            free.setdefault(key, []).append(k)
        for i, key in enumerate(zip(*theirs, strict=True)):
            if free.get(key):
                found[free[key].pop()] = i
            else:
                lost.append(", ".join(f"{v:.12g}" if isinstance(v, float) else str(v) for v in key))
    if lost:
        what, more = "rows" if rows else "values", f" and {len(lost) - MOST_LOST_VALUES} more"
        told = "; ".join(lost[:MOST_LOST_VALUES]) + more * (len(lost) > MOST_LOST_VALUES)
        raise StoreError(
            f"{path} has {what} along {axis} that are not asked for any more: {told}; an extension keeps them all, "
            "so add them or choose another path"
        )
    return found


def beside(path: str) -> str:
    """Return where the larger store is made."""
    above, slash, name = path.rpartition("/")
    return f"{above}{slash}.{name}.extending"


def discard(path: str) -> None:
    """Remove what is beside a store, where the larger one is made; in an object store also what is left of one."""
    with explained(path, "replace"):
        larger = folder(beside(path))
        if isinstance(larger, ObjectFolder):
            _emptied(larger)
            larger.remove(MAKING)
        else:
            shutil.rmtree(beside(path))


def _replaced(path: str) -> Path:
    return Path(path).with_name(f".{Path(path).name}.replaced")


def swap(path: str) -> None:
    """Let the larger store take the place of the one it extends, which is removed."""
    if remote(path):
        with explained(path, "replace"):
            folder(beside(path)).put(REPLACES, b"")
            _copied(path)
        return
    mine, larger, old = Path(path), Path(beside(path)), _replaced(path)
    with explained(path, "replace"):
        shutil.rmtree(old, ignore_errors=True)
        if _exchanged(mine, larger):
            larger.rename(old)
        else:
            mine.rename(old)
            larger.rename(mine)
        shutil.rmtree(old, ignore_errors=True)


def recover(path: str) -> None:
    """Put things right where ``swap`` was cut off: a store is at ``path`` again, and no other one is left over.

    In an object store that takes its lock; StoreBusy where somebody is at it.
    """
    if remote(path):
        if _begun(path):
            with locks.held(path), explained(path, "replace"):
                # who held the lock may have finished it
                if _begun(path):
                    _copied(path)
        return
    mine, old = Path(path), _replaced(path)
    with explained(path, "replace"):
        if old.exists() and not mine.exists():
            old.rename(mine)
        elif old.exists():
            shutil.rmtree(old, ignore_errors=True)


def _begun(path: str) -> bool:
    """Tell whether a larger store that is finished was taking the place of another one in an object store."""
    with explained(path, "look at"):
        return len(folder(beside(path)).read_many([REPLACES, ROOT])) > 1


def _copied(path: str) -> None:
    """Copy the larger store to where the other one is, its root last; begun again it does the same.

    Until that is done there is no store at ``path``, only the mark of one in the making.
    """
    mine, larger = folder(path), folder(beside(path))
    assert isinstance(mine, ObjectFolder), "only objects are copied"
    assert isinstance(larger, ObjectFolder), "both are in the same service"
    wanted = larger.sizes().keys() - {ROOT, REPLACES, MAKING, locks.NAME}
    _emptied(mine, frozenset(wanted | {locks.NAME}))
    mine.copy(larger, sorted(wanted))
    mine.put(ROOT, larger.read(ROOT))
    mine.remove(MAKING)
    _emptied(larger)
    larger.remove(MAKING)


def _emptied(where: ObjectFolder, kept: frozenset[str] = frozenset()) -> None:
    """Remove all objects but those ``kept`` and a mark, the root first: without it nothing there is a store."""
    where.put(MAKING, b"")
    where.remove(ROOT)
    for name in where.sizes().keys() - kept - {MAKING}:
        where.remove(name)


def _exchanged(one: Path, other: Path) -> bool:
    """Let two folders change their names in one step, as Linux can; False where it cannot, and nothing is changed."""
    call = getattr(ctypes.CDLL(None), "renameat2", None)
    return call is not None and call(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0
