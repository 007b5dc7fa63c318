"""Stores filled with made-up chunks, here and in other processes."""

import hashlib
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable
from pathlib import Path

from results.dataset import Arrays, Layout
from results.stores import store
from results.stores.chunks import chunk_slices

IDENTITY = {"scenario": "abc123", "dse": "0.1.0"}
ROOT = Path(__file__).parents[2]
Fill = Callable[[tuple[slice, ...]], Arrays]


FILLED = tempfile.TemporaryDirectory(prefix="filled-")
"""New stores that were filled in this process, of which the next ones like them are copies."""


def fill(path: Path, plan: Layout, arrays_of: Fill, most: int = 10**9) -> tuple[int, ...]:
    """Fill a store of the made-up answers of a layout, a new one or what is left of one, by so many chunks at most."""
    if path.exists():
        return _filled(path, plan, arrays_of, most)
    name = hashlib.sha256(pickle.dumps((plan, most))).hexdigest()
    kept = Path(FILLED.name, name)
    if kept.exists():
        shutil.copytree(kept, path)
        return store.create(path, plan, IDENTITY)
    chunks = _filled(path, plan, arrays_of, most)
    shutil.copytree(path, kept)
    return chunks


def _filled(path: Path, plan: Layout, arrays_of: Fill, most: int) -> tuple[int, ...]:
    chunks = store.create(path, plan, IDENTITY)
    todo = [c for c in chunk_slices(plan.shape, chunks) if c[0] not in store.done(path)]
    for index, region in todo[:most]:
        store.write_chunk(path, index, arrays_of(region))
    return chunks


def start(code: str, plan: Layout, tmp_path: Path) -> subprocess.Popen[str]:
    """Run ``code`` in a process of its own that knows the layout as ``plan``."""
    # another process may be reading what was written for it
    written, pickled = tmp_path / "plan.written", str(tmp_path / "plan.pickle")
    written.write_bytes(pickle.dumps(plan))
    written.replace(pickled)
    head = f"import pickle, pathlib\nplan = pickle.loads(pathlib.Path({pickled!r}).read_bytes())\n"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", head + textwrap.dedent(code)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


WRITER = """
    import numpy as np
    from results import dataset
    from results.stores import roots, store
    from results.stores.files import seals, storage
    from results.stores.chunks import chunk_slices
    chunks = store.create(PATH, plan, {"scenario": "big"})
    for index, region in chunk_slices(plan.shape, chunks):
        points = tuple(s.stop - s.start for s in region)
        arrays = dataset.blank(plan, points)
        noise = np.random.default_rng(index).random
        for v in plan.variables:
            if v.dtype == "float64":
                arrays[v.name][...] = noise(arrays[v.name].shape)
        arrays["status"][...] = 1
        if index not in store.done(PATH):
            store.write_chunk(PATH, index, arrays)
        print(*index, flush=True)
"""
