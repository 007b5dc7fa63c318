"""Papers reproduced once for all tests that look at them, in whichever process they run."""

import fcntl
import os
import pickle
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

import dse.papers
from dse.papers import Report, Row


@pytest.fixture(scope="session")
def reproduced(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Report]:
    """A paper's reproduction by its name, made where it is first asked for.

    It takes up to half a minute, so that the processes of pytest-xdist share it.
    """
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    @cache
    def run(paper: str) -> Report:
        with (shared / f"{paper}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return _made(paper, shared)

    return run


def _made(paper: str, shared: Path) -> Report:
    file = shared / f"{paper}.pickle"
    if not file.exists():
        report = dse.papers.run(paper, shared / paper / "new" / "folder")
        file.write_bytes(pickle.dumps(report))
    found: Report = pickle.loads(file.read_bytes())
    return found


@pytest.fixture(scope="module")
def report(request: pytest.FixtureRequest, reproduced: Callable[[str], Report]) -> Report:
    """The reproduction of the paper that the test's file names as ``PAPER``."""
    return reproduced(request.module.PAPER)


@pytest.fixture(scope="module")
def rows(report: Report) -> Callable[[str], list[Row]]:
    """The rows of a statement by its id."""
    return lambda statement: [row for row in report.rows if row.statement.id == statement]
