"""The first trials of a search that several processes share: made by this process, while others begin."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dse.models.model import Model
from dse.quantities import Quantity
from scenarios.question import Decision, Objective, Question, Search
from solvers.sampling import studies


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(studies, "TIMED_SECONDS", 0.05)


def question(equations: Callable[[Any], dict[str, Any]]) -> Question:
    size = Quantity("size", "n", "", "size", minimum=1, maximum=100)
    cost = (Quantity("cost", "C", "", "cost"),)
    model = Model("slow", "waits", "", (), (size,), cost, (), equations, black_box="waits for others")
    return Question(model, {}, (Decision("size"),), (Objective("cost"),), ())


def wait_for_another(folder: str, first: int) -> None:
    """Say in a worker that it works; in the first process wait until one says so."""
    import time

    other, until = Path(folder) / "other", time.monotonic() + 60
    if os.getpid() != first:
        other.touch()
        return
    while not other.exists():
        time.sleep(0.01)
        if time.monotonic() > until:
            raise RuntimeError("nobody else works")


def test_others_begin_while_the_first_slow_trial_is_under_way(tmp_path: Path) -> None:
    folder, first = str(tmp_path), os.getpid()

    def equations(g: Any) -> dict[str, Any]:
        wait_for_another(folder, first)
        return {"cost": g.size}

    found = studies.search(question(equations), Search("random", trials=6, workers=2))
    assert (found.trials, found.failed) == (6, 0)
    assert "2 workers" in found.effort


def test_who_interrupts_the_first_trial_ends_those_who_share_the_others(tmp_path: Path) -> None:
    folder, first = str(tmp_path), os.getpid()

    def equations(g: Any) -> dict[str, Any]:
        import time

        wait_for_another(folder, first)
        if os.getpid() != first:
            time.sleep(600)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        studies.search(question(equations), Search("random", trials=6, workers=2))
