"""Every ready question by itself: warm, as a second ``dse.solve`` in one process, from its name to its whole answer.

Beside the time: processor seconds, calls of the interior-point kernel, and the programs in them. A call costs for 16
programs what it costs for one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any
from unittest import mock

import dse
import scenarios
from benchmarks.harness import Bench, Result, Way
from dse.uncertain.worlds import decided_now
from solvers.geometric.kernel import gp

TITLE = "Every ready question by itself"


@dataclass(frozen=True, slots=True)
class Asked:
    """What one answer cost; ``programs``: instances that the kernel solved."""

    status: str
    processor: float
    calls: int
    programs: int


def benches(names: tuple[str, ...] = ()) -> list[Bench]:
    """One bench of all ready questions that ask for one answer, the dearest first."""
    # these first answers import what each class needs
    found = {name: ask(name) for name in names or alone()}
    ways = [Way(name, partial(ask, name)) for name in sorted(found, key=lambda n: -found[n].processor)]
    return [
        Bench(
            "warm, slowest first",
            ways[0],
            tuple(ways[1:]),
            judge=_judged,
            warm=False,
            rounds=1,
            remark=_remark,
            slowest_first=True,
        )
    ]


def alone() -> Iterator[str]:
    """Ready scenarios without axes and with one objective at most."""
    for name in scenarios.library():
        asked = dse.load(name)
        goal = asked.objective
        if asked.uncertain is not None and not decided_now(asked):
            # one answer in each world, and none alone
            continue
        if not asked.sweep and len((goal and (goal.minimize or ()) + (goal.maximize or ())) or ()) < 2:
            yield name


def ask(name: str) -> Asked:
    """Answer a ready question and count."""
    with counted() as calls:
        began = time.process_time()
        status = dse.solve(dse.load(name)).status
        return Asked(str(status), time.process_time() - began, len(calls), sum(calls))


@contextmanager
def counted() -> Iterator[list[int]]:
    """Count calls of the kernel: of each, how many programs it solves."""
    calls: list[int] = []
    with mock.patch.object(gp, "solve", _counting(gp.solve, calls)):
        yield calls


def _counting(solve: Callable[..., gp.Result], calls: list[int]) -> Callable[..., gp.Result]:
    def run(*arguments: Any, **options: Any) -> gp.Result:
        found = solve(*arguments, **options)
        calls.append(len(found.y))
        return found

    return run


def _judged(_ours: Asked, found: Asked) -> Mapping[str, str]:
    return {
        "status": found.status,
        "processor s": f"{found.processor:.3f}",
        "kernel calls": str(found.calls) if found.calls else "",
        "programs": str(found.programs) if found.programs else "",
    }


def _remark(result: Result) -> str:
    spent = {name: float(m.judged["processor s"]) for name, m in result.measured.items()}
    slow = [name for name, s in spent.items() if s > 0.2]
    most = max(int(m.judged["kernel calls"] or 0) for m in result.measured.values())
    return (
        f"{len(slow)} of {len(spent)} take more than 0.2 s of processor; {sum(spent.values()):.1f} s in all; "
        f"at most {most} calls of the kernel."
    )
