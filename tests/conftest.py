"""The same random examples in every run, however slow the machine; ``--hypothesis-profile=explore`` draws others."""

import fcntl
import gc
import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# an exception that nobody expected is an error here, in helper processes too (see ``formulations.handover``)
os.environ["DSE_STRICT"] = "1"

# as many processes as cores work already: threads of linear algebra only wait for each other
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

# hundreds of processes are started, and each would compile all modules anew; so would each process of pytest-xdist
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# neither how long an example takes nor how long it takes to draw it says anything of the code
UNHURRIED = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("same", derandomize=True, database=None, **UNHURRIED)
settings.register_profile("explore", **UNHURRIED)
settings.load_profile("same")


COUNT = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))


def pytest_collection(session: pytest.Session) -> None:
    """Let each process of pytest-xdist import another part of the tests first: it finds the others' compiled.

    Nothing is collected when garbage is, as next to nothing that is imported is garbage.
    """
    gc.disable()
    if COUNT > 1 and session.config.args == session.config.getini("testpaths"):
        files = sorted(str(f) for f in Path(__file__).parent.rglob("test_*.py"))
        start = len(files) * WORKER // COUNT
        session.config.args[:] = files[start:] + files[:start]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let each process of pytest-xdist begin with its part of the long tests: none of them is left to the end."""
    if COUNT == 1:
        return
    # pytest-xdist asks for the same order in all processes
    items.sort(key=lambda item: str(item.path))
    long = [item for item in items if item.get_closest_marker("slow")]
    others = [item for item in items if not item.get_closest_marker("slow")]

    def part(of: list[pytest.Item], n: int) -> list[pytest.Item]:
        return of[len(of) * n // COUNT : len(of) * (n + 1) // COUNT]

    # pytest-xdist hands out neighbours, and as many to each
    items[:] = [item for n in range(COUNT) for item in (*part(long, n), *part(others, n))]


def pytest_collection_finish() -> None:
    """Keep the collected tests and the imported modules from being gone through with every collection of garbage.

    What tests import later is not frozen, so that all of it is gone through more seldom.
    """
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """Let a process end: pytest goes through all that is there five times, and Python once more."""
    gc.freeze()
    gc.disable()


@pytest.fixture(autouse=True)
def models_of_a_test_are_gone_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep what a test registers from the tests that go through all models, whatever the order."""
    from dse.models import registry

    monkeypatch.setattr(registry, "_registered", dict(registry._registered))


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Callable[[Path], object]], Path]:
    """Give a folder by its name, filled where it is first asked for: the processes of pytest-xdist share it.

    What fills it gets an empty folder. Tests only read what is there.
    """
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def made(name: str, fill: Callable[[Path], object]) -> Path:
        folder = shared / "made_once" / re.sub(r"\W+", "-", name)
        folder.parent.mkdir(exist_ok=True)
        with folder.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            whole = folder.with_suffix(".whole")
            if not whole.exists():
                shutil.rmtree(folder, ignore_errors=True)  # of a test that failed to fill it
                folder.mkdir()
                fill(folder)
                whole.touch()
        return folder

    return made


@pytest.fixture
def nodes_of_trees(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The nodes of each search for geometric programs with divisors that are sums, or whole numbers, in a test."""
    from solvers.geometric.programs import tree

    counts: list[int] = []
    search = tree.search

    def counted(*arguments: Any, **options: Any) -> tree.Searched:
        found = search(*arguments, **options)
        counts.extend(found.nodes.tolist())
        return found

    monkeypatch.setattr(tree, "search", counted)
    return counts
