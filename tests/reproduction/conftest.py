"""Papers reproduced once for all tests that look at them."""

from collections.abc import Callable
from functools import cache

import pytest

import dse.reproduction
from dse.reproduction import Report, Row


@pytest.fixture(scope="session")
def reproduced(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Report]:
    """A paper's reproduction by its name, made where it is first asked for."""

    @cache
    def run(paper: str) -> Report:
        return dse.reproduction.run(paper, tmp_path_factory.mktemp(paper) / "new" / "folder")

    return run


@pytest.fixture(scope="module")
def report(request: pytest.FixtureRequest, reproduced: Callable[[str], Report]) -> Report:
    """The reproduction of the paper that the test's file names as ``PAPER``."""
    return reproduced(request.module.PAPER)


@pytest.fixture(scope="module")
def rows(report: Report) -> Callable[[str], list[Row]]:
    """The rows of a statement by its id."""
    return lambda statement: [row for row in report.rows if row.statement.id == statement]
