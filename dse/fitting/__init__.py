"""Machines and models from measurements: runs in, parameters with intervals and cross-validation out."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.fitting.behaviours.behaviour import Behaviour
from dse.fitting.behaviours.behaviour import fit as fit_behaviour
from dse.fitting.errors import FittingError
from dse.fitting.machine_fits import clocks, dvfs, network, roofline
from dse.fitting.machine_fits.result import Estimate, Fit
from dse.fitting.reading import read
from dse.fitting.table import table
from dse.machines.fit_records import LEAST_CONFIDENCE
from dse.names import unknown
from dse.system.records import dataclass

if TYPE_CHECKING:
    from dse.fitting.outliers import Outlier
    from dse.fitting.reading import Measurements

MODELS = ("dvfs", "network", "roofline")

__all__ = ["MODELS", "Behaviour", "Estimate", "Fit", "FittingError", "fit", "fit_behaviour"]


@dataclass(frozen=True, slots=True)
class _Way:
    """How a model is fitted to runs, and how the runs that lie far from it are found."""

    fit: Callable[[Measurements], Fit]
    suspects: Callable[[Measurements], tuple[Outlier, ...]]


def fit(
    data: Any,
    model: str,
    name: str | None = None,
    folds: int | None = None,
    confidence: float = 0.95,
    *,
    relative: bool = True,
    date: str | None = None,
    columns: Mapping[str, str] | None = None,
    only_time: bool = False,
    keep_outliers: bool = False,
    word_size: float | None = None,
) -> Fit:
    """Fit a machine to measured runs.

    ``data``: path of a CSV file, a DataFrame, or a mapping of columns; headers carry units ("time [ms]").
    ``model``: "dvfs", "network" or "roofline". ``name``: of the machine (default: the file's). ``folds``: of the
    cross-validation over settings (dvfs). ``confidence``: of the parameters' intervals. ``relative``: errors
    in percent, else in joules (dvfs). ``date``: of the fit (default: today). ``columns``: the header in which a
    column stands, by the column's name ({"time": "duration_ms"}). ``only_time``: no energies were measured
    (roofline). ``keep_outliers``: fit all runs by least squares; else runs that lie far from a robust fit are left
    out and named, and the least squares of all runs stands beside. ``word_size``: bytes of a word, in which the
    machine file of a network counts (default 8). Raises FittingError for data that cannot be
    fitted, with everything that is wrong; UnknownName for a model or a column that cannot be.
    """
    from numpy.linalg import LinAlgError

    if model not in MODELS:
        raise unknown("model that can be fitted", model, MODELS)
    if not LEAST_CONFIDENCE <= confidence < 1:
        least = f" and is at least {LEAST_CONFIDENCE:g}" if 0 < confidence < 1 else ""
        raise ValueError(f"a confidence lies between 0 and 1{least}, such as 0.95, not {confidence!r}")
    if model != "dvfs" and (folds is not None or not relative):
        raise ValueError("folds and absolute errors are for the model dvfs")
    if model != "network" and word_size is not None:
        raise ValueError("a word size is for the model network")
    if word_size is not None and not 0 < word_size < float("inf"):
        raise ValueError(f"a word has a positive number of bytes, not {word_size!r}")
    if model != "roofline" and only_time:
        raise ValueError("times alone are fitted by the model roofline, and always by the model network")
    called = name or (Path(data).stem if isinstance(data, str | Path) else "fitted")
    day = date or datetime.datetime.now(datetime.UTC).date().isoformat()

    if model == "dvfs":
        runs, way = _dvfs(data, columns or {}, called, day, folds, confidence, relative)
    elif model == "network":
        runs, way = _network(data, columns or {}, called, day, confidence, word_size)
    else:
        runs, way = _way_of_roofline(data, columns or {}, called, day, confidence, only_time)
    try:
        found = _fit_without_outliers(runs, way, keep_outliers)
    except (ArithmeticError, LinAlgError) as problem:
        wrong = f"the fit failed: {problem} (columns that differ by many powers of ten?)"
        raise FittingError(runs.source, [wrong]) from problem
    left = (f"columns not used: {', '.join(runs.unused)}",) if runs.unused else ()
    return replace(found, notes=(*found.notes, *runs.notes, *left))


def _fit_without_outliers(runs: Measurements, way: _Way, keep: bool) -> Fit:
    """Fit the runs that are not outliers, and put the least squares of all runs beside."""
    import numpy as np

    far = () if keep else way.suspects(runs)
    if not far:
        return way.fit(runs)
    near = np.ones(runs.runs, bool)
    near[[o.run for o in far]] = False
    try:
        found = way.fit(runs.kept(near))
    except FittingError as problem:
        whole = way.fit(runs)
        why = "; ".join(problem.problems)
        many = f"{len(far)} run{'s' * (len(far) > 1)} that lie{'s' * (len(far) == 1)} far from the model"
        return replace(whole, notes=(*whole.notes, f"{many} stay in, since without them: {why}"))
    try:
        whole = way.fit(runs)
    except FittingError:
        return replace(found, outliers=far)
    return replace(found, outliers=far, all_runs=whole.parameters, all_runs_errors=whole.errors)


def _dvfs(
    data: Any,
    names: Mapping[str, str],
    called: str,
    day: str,
    folds: int | None,
    confidence: float,
    relative: bool,
) -> tuple[Measurements, _Way]:
    cells = table(data)
    if clocks.meant(cells, names):
        if folds is not None or not relative:
            raise FittingError(cells.source, ["folds and absolute errors are for runs with voltages"])
        runs = read(cells, clocks.COLUMNS, names, clocks.check)
        return runs, _Way(lambda r: clocks.fit(r, called, day, confidence), clocks.suspects)
    runs = read(cells, dvfs.COLUMNS, names)

    def fitted(part: Measurements) -> Fit:
        return dvfs.fit(part, called, day, folds, confidence, relative=relative)

    # errors in joules differ by powers of ten among runs: no spread is common to them
    return runs, _Way(fitted, dvfs.suspects if relative else lambda _: ())


def _network(
    data: Any, names: Mapping[str, str], called: str, day: str, confidence: float, word: float | None
) -> tuple[Measurements, _Way]:
    runs = read(data, network.COLUMNS, names, network.check)
    return runs, _Way(
        lambda r: network.fit(r, called, day, confidence, word or network.WORD), network.suspects
    )


def _way_of_roofline(
    data: Any, names: Mapping[str, str], called: str, day: str, confidence: float, only_time: bool
) -> tuple[Measurements, _Way]:
    wanted = roofline.ONLY_TIME if only_time else roofline.COLUMNS
    runs = read(data, wanted, names, roofline.check)
    return runs, _Way(lambda r: roofline.fit(r, called, day, confidence), roofline.suspects)
