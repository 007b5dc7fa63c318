"""What Python programs call with results in hand: open, verify, status, diff, compare, export, report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.api.loading import Source, load, pictured
from results.stores.files.storage import local

if TYPE_CHECKING:
    import xarray as xr

    from dse.sweeping.verifying import Verdict
    from dse.system.progress import Report
    from results.differing.differences import Difference
    from results.side_by_side.comparison import Comparison
    from results.solution import Solution


def verify(
    store: str | Path,
    scenario: Source | None = None,
    audit: int = 20,
    progress: bool | Report | None = None,
    *,
    repair: bool = False,
) -> Verdict:
    """Verify the store of a sweep: checksums, and every answer re-evaluated by the model, chunk by chunk.

    ``scenario``: the question, where the stored one cannot be read any more; ``audit``: how many points, and how
    many of those said to be infeasible, are answered again by other means; ``repair``: first compute what is missing
    or damaged, from the stored question, as the sweep does that is started again. ``Verdict.passed`` says whether all
    is well, ``Verdict.troubles`` what is not. Raises StoreError where there is no store of a sweep, and StoreDamaged
    where it does not say its question.
    """
    from dse.sweeping import verifying

    asked = None if scenario is None else load(scenario)
    if repair:
        verifying.repair(store, asked, progress=progress)
    return verifying.verify(store, asked, audit, progress)


def status(store: str | Path) -> dict[str, Any]:
    """Say how far the store of a sweep is: points done, failed and pending, the rate (points/s), who fills it.

    Raises StoreError where there is no store of a sweep.
    """
    from dse.sweeping import store_status

    return store_status.status(store)


def open(store: str | Path) -> xr.Dataset:
    """Open a dataset: that of a sweep's store, finished or not (status 0: not computed yet), or an exported one.

    ``store``: a Zarr store of a sweep, a front or dataset written as .zarr, or a NetCDF file (.nc). Raises StoreError
    where there is none.
    """
    import results.export.reading

    return pictured(results.export.reading.open(store))


def diff(
    first: Source | Solution | xr.Dataset,
    second: Source | Solution | xr.Dataset,
    tolerance: float = 1e-9,
    ignore: Sequence[str] = (),
) -> Difference:
    """Tell what differs between two scenarios, two answers or two datasets; false where nothing does.

    Each is an object, or a path: of a scenario, a .json file that ``dse solve --json`` printed, a store, a .zarr or a
    .nc file. Scenarios are compared by what they mean, numbers in SI units, not by their text; time taken and titles
    make no difference. ``tolerance``: numbers this close are the same, relative; for gaps, elasticities and slack
    absolute. ``ignore``: sections to leave out, of question, grid, statuses, answer, values, provenance.

    Raises ScenarioError, and StoreError where something cannot be read or two are not of one kind.
    """
    from dse.comparing import sides as comparing

    return comparing.diff(first, second, tolerance, ignore)


def compare(
    *questions: Source,
    machines: Sequence[str] = (),
    baseline: str | int | None = None,
    over: str | None = None,
    start: float | str | None = None,
    stop: float | str | None = None,
    points: int | None = None,
    metric: str | None = None,
    progress: bool | Report | None = None,
) -> Comparison:
    """Answer several questions and set them side by side, with ratios to one of them.

    ``questions``: scenarios, each asked on every one of ``machines`` where these are given. ``baseline``: the label
    (file or machine) or the place of the one that ratios are to; None: the first. Where models, objectives or units
    differ, what is shared is compared, and ``Comparison.not_shared()`` says what is not.

    ``over``: a number of the files (given.intensity, limits.time.max) along which each place is found where one
    overtakes the baseline, enclosed to 1e-6 relative with what bounds prove on both sides (``Comparison.curve``). It
    is searched from ``start`` to ``stop`` (numbers in SI units or texts; None: as a file's axis says) at ``points``
    values (33); ``metric``: what is compared, None: the objective. What changes twice between two of these values is
    not seen.

    Raises ScenarioError where a file is wrong, sweeps axes (without ``over``) or has several objectives, or where
    ``baseline``, ``over`` or ``metric`` names nothing that the questions have.
    """
    from dse.comparing import side_by_side

    asked = side_by_side.asked(questions, machines)
    if over is None:
        return side_by_side.compare(asked, baseline, progress)
    from dse.comparing.break_even import Range

    wanted = Range(over, start, stop, points)
    return side_by_side.compare_along(asked, wanted, metric, baseline, progress)


def export(
    source: Source | Solution | xr.Dataset, path: str | Path, columns: Sequence[str] | None = None
) -> Path:
    """Write results as the format that ``path`` ends in, units and provenance with them; returns the path.

    ``source``: a dataset, a solution, the path of a store or of a file that ``open`` takes, a .json file that
    ``dse solve --json`` printed, or a scenario, which is answered first. ``path``: .csv, .jsonl, .parquet, .md, .tex,
    .nc, .zarr, .png, .svg or .pdf. ``columns``: the axes and variables that a table has, in this order, or that a
    picture shows. Large stores are read and written piece by piece.

    Raises ScenarioError, and StoreError where something cannot be read, written, or shown in that format.
    """
    from dse.reporting import exporting

    return exporting.export(source, path, columns)


def report(
    source: Source | Solution | xr.Dataset,
    file: str | Path,
    points: int | None = None,
    indices: bool | int = False,
) -> Path:
    """Write one self-contained HTML page about a store, a dataset, an answer, or a scenario; returns its path.

    A scenario is answered first; a ``.json`` file is an answer that `dse solve --json` printed. ``points``: of a
    front, how many. ``indices``: of a scenario, also what matters (``what_matters``); a number says of how many rows.
    Raises ScenarioError, StoreError (also where the page cannot be written), ValueError for indices of an answer.
    """
    import xarray as xr

    from dse.reporting import reports
    from results import page
    from results.export import answer_files, reading
    from results.solution import Solution
    from results.stores.store import explained

    target = local(file)
    answered = isinstance(source, xr.Dataset | Solution) or (
        isinstance(source, str | Path)
        and (reading.is_stored(source) or Path(source).suffix == answer_files.SUFFIX)
    )
    if answered and indices:
        raise ValueError("indices need answers in worlds of their own: give the scenario, not an answer")
    if isinstance(source, xr.Dataset):
        made = reports.of_dataset(source)
    elif isinstance(source, Solution):
        made = reports.of_solution(source)
    elif isinstance(source, str | Path) and reading.is_stored(source):
        made = reports.of_store(source)
    elif isinstance(source, str | Path) and Path(source).suffix == answer_files.SUFFIX:
        made = reports.of_solution(answer_files.read(source))
    elif indices:
        made = reports.with_indices(load(source), points, None if indices is True else indices)
    else:
        made = reports.of_scenario(load(source), points)
    with explained(target, "write"):
        return page.save(made, target)
