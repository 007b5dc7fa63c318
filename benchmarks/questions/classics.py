"""``python -m benchmarks.questions.classics``: classical programs beside cvxpy with Clarabel, from nothing to the end.

Nine geometric programs of the literature are asked as models of one's own (``tests/oracle/classics.py``), by
``dse.solve`` with all that it tells, and by cvxpy, each time written anew. The least processor time of several runs in
turns is told, and that of three engineering classics that are no geometric programs.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

# before NumPy is imported: processor time of one thread
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"
sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "oracle"))


def main() -> None:
    """Measure and print all."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.questions.classics", description=__doc__)
    options.add_argument("--rounds", type=int, default=5)
    rounds = options.parse_args().rounds
    import classics

    import dse

    print(f"{'program':10} {'dse':>9} {'cvxpy':>9} {'ratio':>6}")
    for p in classics.PROGRAMS:
        model, question = classics.program(p)
        dse.register(model)
        ours, theirs = _least((lambda q=question: _asked(q), lambda p=p: _by_cvxpy(p)), rounds)
        print(f"{p['name']:10} {ours:7.3f} s {theirs:7.3f} s {ours / theirs:6.2f}")
    for model in (classics.VESSEL, classics.SPRING, classics.REDUCER):
        dse.register(model)
        question = classics.asked(model.name)
        print(f"{model.name:10} {_least((lambda q=question: _asked(q),), rounds)[0]:7.3f} s")


def _least(ways: tuple[Callable[[], float], ...], rounds: int) -> list[float]:
    """Ask all ways in turns; the least processor time of each after a first time. Their answers must agree."""
    found = [way() for way in ways]
    if any(abs(value / found[0] - 1.0) > 1e-4 for value in found):
        raise AssertionError(f"the answers differ: {found}")
    times = [[_spent(way) for way in ways] for _ in range(rounds)]
    return [min(column) for column in zip(*times, strict=True)]


def _spent(way: Callable[[], float]) -> float:
    began = time.process_time()
    way()
    return time.process_time() - began


def _asked(question: Mapping[str, Any]) -> float:
    import dse

    found = dse.solve(question)
    if found.status != "optimal":
        raise AssertionError(f"{question['model']} is {found.status}")
    return float(found.objective)


def _by_cvxpy(p: Mapping[str, Any]) -> float:
    import cvxpy as cp

    x = [cp.Variable(pos=True) for _ in p["A"][0]]
    sums, at = [], 0
    for count in p["nterm"]:
        terms = []
        for c, exponents in zip(p["coef"][at : at + count], p["A"][at : at + count], strict=True):
            term: Any = float(c)
            for v, e in zip(x, exponents, strict=True):
                if e:
                    term = term * v**e
            terms.append(term)
        sums.append(sum(terms[1:], terms[0]))
        at += count
    problem = cp.Problem(cp.Minimize(sums[0]), [s <= 1.0 for s in sums[1:]])
    return float(problem.solve(gp=True, solver="CLARABEL"))


if __name__ == "__main__":
    main()
