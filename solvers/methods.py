"""Problems without posynomial structure: which method answers them."""

from __future__ import annotations

from formulations.problem import Problem
from solvers.conflicts import Conflicts
from solvers.outcome import Outcome


def unstructured(problem: Problem) -> Outcome:
    raise NotImplementedError


def conflicts_of(problem: Problem) -> Conflicts:
    raise NotImplementedError
