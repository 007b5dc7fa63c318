"""Machines from measurements: runs in, machine parameters with intervals and cross-validation out."""

from __future__ import annotations

import datetime
from dataclasses import replace
from pathlib import Path
from typing import Any

from dse.fitting.errors import FittingError
from dse.fitting.result import Estimate, Fit
from dse.names import unknown

MODELS = ("dvfs", "roofline")

__all__ = ["MODELS", "Estimate", "Fit", "FittingError", "fit"]


def fit(
    data: Any,
    model: str,
    name: str | None = None,
    folds: int | None = None,
    confidence: float = 0.95,
    *,
    relative: bool = True,
    date: str | None = None,
) -> Fit:
    """Fit a machine to measured runs.

    ``data``: path of a CSV file, a DataFrame, or a mapping of columns; headers carry units ("time [ms]").
    ``model``: "dvfs" or "roofline". ``name``: of the machine (default: the file's). ``folds``: of the
    cross-validation over settings (dvfs). ``confidence``: of the parameters' intervals. ``relative``: errors
    in percent, else in joules (dvfs). ``date``: of the fit (default: today). Raises FittingError for data that
    cannot be fitted, with everything that is wrong; UnknownName for a model that cannot be.
    """
    from numpy.linalg import LinAlgError

    from dse.fitting import dvfs, roofline
    from dse.fitting.reading import read

    if model not in MODELS:
        raise unknown("model that can be fitted", model, MODELS)
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence lies between 0 and 1, such as 0.95, not {confidence!r}")
    called = name or (Path(data).stem if isinstance(data, str | Path) else "fitted")
    day = date or datetime.datetime.now(datetime.UTC).date().isoformat()
    if model == "roofline" and (folds is not None or not relative):
        raise ValueError("folds and absolute errors are for the model dvfs")
    runs = read(data, dvfs.COLUMNS if model == "dvfs" else roofline.COLUMNS)
    try:
        if model == "dvfs":
            found = dvfs.fit(runs, called, day, folds, confidence, relative=relative)
        else:
            found = roofline.fit(runs, called, day, confidence)
    except (ArithmeticError, LinAlgError) as problem:
        wrong = f"the numbers allow no fit: {problem} (columns that differ by many powers of ten?)"
        raise FittingError(runs.source, [wrong]) from problem
    left = (f"columns not used: {', '.join(runs.unused)}",) if runs.unused else ()
    return replace(found, notes=(*found.notes, *left))
