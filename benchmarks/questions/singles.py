"""``python -m benchmarks.questions.singles``: time and kernel calls of every ready question.

Everything is imported before, and each question is asked once before it is measured. Then it is asked until its least
time does not fall, at most ``--rounds`` times. A table that is there is gone on with: questions that stand in it are
left out, so that a run can be broken off.

Kernel calls are calls of what does the work: interior point (``solvers/geometric/kernel/gp.py``), a run of HiGHS
(``solvers/linear/highs.py``), SCIP, and tables of designs.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest import mock

# before NumPy is imported: processor time of one thread
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

HEADER = ("scenario", "class", "status", "seconds", "kernel_calls", "calls")
GOALS = {"MILP": 0.5}
GOAL, CALLS = 0.2, 25
LIST = Path(__file__).with_name("singles.csv")


def main() -> None:
    """Measure every ready scenario that asks one question; print what is over the goal."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.questions.singles", description=__doc__)
    parser.add_argument("names", nargs="*", help="scenarios (default: all)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--most", type=float, default=1e9, metavar="SECONDS", help="stop after so long")
    parser.add_argument("--table", type=Path, default=LIST)
    asked = parser.parse_args()
    done = _read(asked.table)
    began = time.perf_counter()
    with asked.table.open("a", newline="") as file:
        out = csv.writer(file)
        if not done:
            out.writerow(HEADER)
        for scenario in asked.names or _ready():
            if (scenario in done and not asked.names) or time.perf_counter() - began > asked.most:
                continue
            row = _measured(scenario, asked.rounds)
            if row is not None:
                out.writerow(row)
                file.flush()
                print(*row, flush=True)
    _tell(_read(asked.table))


def _ready() -> list[str]:
    import scenarios

    return list(scenarios.library())


def _read(table: Path) -> dict[str, dict[str, str]]:
    if not table.exists():
        return {}
    with table.open(newline="") as file:
        return {row["scenario"]: row for row in csv.DictReader(file)}


def _measured(name: str, rounds: int) -> tuple[Any, ...] | None:
    import dse
    from formulations.problem import formulate
    from scenarios import ScenarioError
    from scenarios.questions import question

    scenario = dse.load(name)
    if scenario.sweep or (scenario.search is not None):
        return None
    try:
        asked = question(scenario)
        if len(asked.objectives) > 1:
            return None
        kind = "choices" if any(d.choices is not None for d in asked.decide) else ""
        kind = kind or str(formulate(asked).kind)
    except Exception as problem:
        kind = f"no class: {type(problem).__name__}"
    try:
        answer = dse.solve(scenario)
    except ScenarioError:  # an answer in each world, not one
        return None
    with ExitStack() as stack:
        counts = _counted(stack)
        dse.solve(scenario)
    least = float("inf")
    for _ in range(rounds):
        began = time.process_time()
        dse.solve(scenario)
        spent, least = time.process_time() - began, min(least, time.process_time() - began)
        if spent > 2:
            break
    told = " ".join(f"{k}:{n}" for k, n in sorted(counts.items()))
    return name, kind, str(answer.status), f"{least:.4f}", sum(counts.values()), told


def _counted(stack: ExitStack) -> Counter[str]:
    """Count the calls of what does the work, until the stack is left."""
    from solvers import enumeration
    from solvers.geometric.kernel import gp_together
    from solvers.linear import highs
    from solvers.nonlinear import scip

    counts: Counter[str] = Counter()

    def wrapped(kind: str, home: Any, name: str) -> None:
        inner: Callable[..., Any] = getattr(home, name)

        def counting(*values: Any, **named: Any) -> Any:
            counts[kind] += 1
            return inner(*values, **named)

        stack.enter_context(mock.patch.object(home, name, counting))

    wrapped("interior point", gp_together, "solve_apart")
    wrapped("HiGHS", highs, "_called_highs")
    wrapped("SCIP", scip, "solve")
    wrapped("designs", enumeration, "judged")
    return counts


def _tell(done: dict[str, dict[str, str]]) -> None:
    rows = sorted(done.values(), key=lambda r: -float(r["seconds"]))
    over = [r for r in rows if float(r["seconds"]) > GOALS.get(r["class"], GOAL)]
    many = [r for r in rows if int(r["kernel_calls"]) > CALLS]
    print(f"\n{len(rows)} questions, {len(over)} over the goal of {GOAL} s ({GOALS})")
    print(f"{len(many)} with more than {CALLS} calls")
    for r in over:
        print(
            f"  {float(r['seconds']):7.3f} s {r['kernel_calls']:>5} calls  {r['class']:<10} {r['scenario']}"
        )


if __name__ == "__main__":
    sys.exit(main())
