"""Whole processes: what a user waits for before anything happens, and one answer end to end."""

from __future__ import annotations

import json
import sys

from benchmarks.harness import Bench, Way, agrees

PYTHON = sys.executable
TITLE = "Whole processes"


def benches() -> list[Bench]:
    """Start-up, and a question from its file to its answer."""
    return [
        Bench(
            "start-up",
            _dse("dse --help", "--help"),
            (
                _python("python -c pass", "pass"),
                _python("import dse", "import dse"),
                _dse("dse models", "models"),
                _python("import scipy.optimize", "import scipy.optimize"),
                _python("import pyomo.environ", "import pyomo.environ"),
                _python("import cvxpy", "import cvxpy"),
            ),
        ),
        Bench(
            "nbody_deadline, end to end",
            Way(
                "dse solve nbody_deadline --json",
                command=(PYTHON, "-m", "dse", "solve", "nbody_deadline", "--json"),
                read=lambda printed: json.loads(printed)["objective"],
                bound="yes",
            ),
            (
                _dse("dse solve nbody_deadline (table)", "solve", "nbody_deadline"),
                Way(
                    "script: Pyomo + SCIP, scaled by hand",
                    command=(PYTHON, "-m", "benchmarks.without_dse.by_hand"),
                    read=lambda printed: float(printed.split()[-1]),
                    bound="yes, in floats",
                ),
            ),
            check=agrees,
        ),
    ]


def _dse(name: str, *arguments: str) -> Way:
    return Way(name, command=(PYTHON, "-m", "dse", *arguments))


def _python(name: str, code: str) -> Way:
    return Way(name, command=(PYTHON, "-c", code))
