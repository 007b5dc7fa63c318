"""Answers outside the range in which a model was derived: at how many points, and by which of its conditions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dse.quantities import plural
from formulations.tolerances import HOLDS
from results.axes import ANSWERED
from results.variables import VALIDITY

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import xarray as xr

    from results.solution import Solution


def counts(parts: Iterable[xr.Dataset]) -> dict[str, int]:
    """Return at how many answered points each ratio is above 1, of those that are at most 1 where a model was derived.

    ``parts``: of a dataset, each point in one of them. A ratio that was not kept is not counted.
    """
    found: dict[str, int] = {}
    for part in parts:
        answered = np.isin(part["status"].values, ANSWERED) if "status" in part else np.True_
        for name, array in part.data_vars.items():
            if VALIDITY in array.attrs:
                above = array.values > 1.0 + HOLDS
                found[str(name)] = found.get(str(name), 0) + int(np.count_nonzero(above & answered))
    return {name: n for name, n in found.items() if n}


def of_solutions(solutions: Iterable[Solution]) -> dict[str, int]:
    """Return the same of answers."""
    found: dict[str, int] = {}
    for solution in solutions:
        for name in solution.outside:
            found[name] = found.get(name, 0) + 1
    return found


def words(found: Mapping[str, int], points: int, kind: str = "point") -> str:
    """Say it of so many answered points (or samples), to stand after "outside"; empty where none is."""
    if not found:
        return ""
    told = ", ".join(f"{name} above 1 at {n} of {plural(points, kind)}" for name, n in found.items())
    return f"the range in which the model was derived: {told}"
