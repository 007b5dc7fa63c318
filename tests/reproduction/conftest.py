"""Papers reproduced once for all tests that look at them, in whichever process they run."""

import pickle
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import pytest

import dse.papers
from dse.papers import Report, Row


@pytest.fixture(scope="session")
def reproduced(made_once: Callable[[str, Callable[[Path], object]], Path]) -> Callable[[str], Report]:
    """A paper's reproduction by its name; it takes up to half a minute."""

    def make(paper: str, folder: Path) -> None:
        report = dse.papers.run(paper, folder / "new" / "folder")
        (folder / "report.pickle").write_bytes(pickle.dumps(report))

    @cache
    def run(paper: str) -> Report:
        folder = made_once(f"reproduction {paper}", partial(make, paper))
        found: Report = pickle.loads((folder / "report.pickle").read_bytes())
        return found

    return run


@pytest.fixture(scope="module")
def report(request: pytest.FixtureRequest, reproduced: Callable[[str], Report]) -> Report:
    """The reproduction of the paper that the test's file names as ``PAPER``."""
    return reproduced(request.module.PAPER)


@pytest.fixture(scope="module")
def rows(report: Report) -> Callable[[str], list[Row]]:
    """The rows of a statement by its id."""
    return lambda statement: [row for row in report.rows if row.statement.id == statement]
