"""What is compiled is compiled once: processes that start together wait for the first and read what it kept."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CODE = """

import numpy as np
from solvers.geometric.kernel.compiled import kept

def inner(x):
    return x + 1.0

inner = kept(inner)

def outer(x):
    total = 0.0
    for i in range(x.size):
        total += inner(x[i])
    return total

outer = kept(outer)
print(outer(np.arange(3.0)), sum(outer.stats.cache_misses.values()), sum(inner.stats.cache_misses.values()))
"""


def test_processes_that_start_together_compile_once(tmp_path: Path) -> None:
    """Of two processes one compiles, the other reads; a kept function that calls another does not wait for itself."""
    script = tmp_path / "small.py"
    script.write_text(CODE)
    surroundings = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kept"), "PYTHONPATH": str(Path.cwd())}
    both = [
        subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True, env=surroundings)
        for _ in range(2)
    ]
    told = sorted(p.communicate(timeout=300)[0].split() for p in both)
    assert [p.returncode for p in both] == [0, 0]
    assert [words[0] for words in told] == ["6.0", "6.0"]
    assert [int(words[1]) for words in told] == [0, 1]


def test_where_nothing_can_be_locked_it_is_compiled_all_the_same(tmp_path: Path) -> None:
    """A folder that is not a folder for locks only costs the wait."""
    script = tmp_path / "small.py"
    script.write_text(CODE)
    (tmp_path / "kept").mkdir()
    surroundings = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kept"), "PYTHONPATH": str(Path.cwd())}
    code = "import fcntl\ndef no(*a): raise OSError\nfcntl.flock = no\n"
    script.write_text(code + CODE)
    found = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, env=surroundings, check=True
    )
    assert found.stdout.split()[0] == "6.0"


RAISES_ONCE = """
import numba.core.codegen as codegen

library = codegen.CPUCodeLibrary
usual = library._object_compiled_hook.__func__
raised = []

def hook(cls, module, code):
    if not raised:
        raised.append(module)
        raise {what}
    return usual(cls, module, code)

library._object_compiled_hook = classmethod(hook)
"""


@pytest.mark.parametrize("what", ["KeyboardInterrupt", "MemoryError"])
def test_what_is_raised_within_the_compiler_is_not_lost(what: str, tmp_path: Path) -> None:
    """Ctrl-C ends the program, though ctypes swallows it; after anything else the code is there all the same."""
    script = tmp_path / "small.py"
    script.write_text(RAISES_ONCE.format(what=what) + CODE)
    surroundings = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kept"), "PYTHONPATH": str(Path.cwd())}
    found = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, env=surroundings, check=False
    )
    last = found.stderr.strip().splitlines()[-1]
    if what == "KeyboardInterrupt":
        assert (found.returncode != 0, found.stdout, last) == (True, "", what)
    else:
        assert (found.returncode, found.stdout.split()[0]) == (0, "6.0"), found.stderr
