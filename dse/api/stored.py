"""What Python programs call with results in hand: open, verify, status, diff, compare, export, report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.api.arguments import checked, refuse_impossible
from dse.api.loading import Source, load, pictured
from scenarios import Scenario

if TYPE_CHECKING:
    import xarray as xr

    from dse.sweeping.verifying import Verdict
    from dse.system.progress import Report
    from results.differing.differences import Difference
    from results.side_by_side.comparison import Comparison
    from results.solution import Solution


@checked("store", "audit")
def verify(
    store: str | Path,
    scenario: Source | None = None,
    audit: int = 20,
    progress: bool | Report | None = None,
    *,
    repair: bool = False,
) -> Verdict:
    """Verify the store of a sweep: checksums, and every answer re-evaluated by the model, chunk by chunk.

    ``scenario``: the question, if the stored one can no longer be read; ``audit``: number of points, and of infeasible
    points, that are answered again by other methods; ``repair``: first compute missing or damaged parts from the stored
    question, as the same sweep would. ``Verdict.passed`` says whether there are no errors, ``Verdict.troubles`` lists
    them. Raises StoreError if there is no store of a sweep, and StoreDamaged if it does not contain its question.
    """
    from dse.sweeping import verifying

    asked = None if scenario is None else load(scenario)
    if repair:
        verifying.repair(store, asked, progress=progress)
    return verifying.verify(store, asked, audit, progress)


@checked("store")
def status(store: str | Path) -> dict[str, Any]:
    """Return the progress of the store of a sweep: points done, failed and pending, the rate (points/s), the process.

    Raises StoreError if there is no store of a sweep.
    """
    from dse.sweeping import store_status

    return store_status.status(store)


@checked("store")
def open(store: str | Path) -> xr.Dataset:
    """Open a dataset: that of a sweep's store, finished or not (status 0: not computed yet), or an exported one.

    ``store``: a Zarr store of a sweep, a front or dataset written as .zarr, or a NetCDF file (.nc). Raises StoreError
    if there is none.
    """
    import results.export.reading

    return pictured(results.export.reading.open(store))


def diff(
    first: Source | Solution | xr.Dataset,
    second: Source | Solution | xr.Dataset,
    tolerance: float = 1e-9,
    ignore: Sequence[str] = (),
) -> Difference:
    """Compare two scenarios, two answers or two datasets; the result is false if nothing differs.

    Each is an object, or a path: of a scenario, a .json file that ``dse solve --json`` printed, a store, a .zarr or a
    .nc file. Scenarios are compared by meaning, with numbers in SI units, not by their text; times of computation and
    titles are ignored. ``tolerance``: numbers this close count as equal, relative; for gaps, sensitivities and slack
    absolute. ``ignore``: sections to leave out, of question, grid, statuses, answer, values, provenance.

    Raises ScenarioError, and StoreError if something cannot be read or the two are not of one kind.
    """
    refuse_impossible("tolerance", tolerance, needed=True)
    refuse_impossible("ignore", ignore, needed=True)
    from dse.comparing import sides as comparing

    return comparing.diff(first, second, tolerance, ignore)


@checked("machines", "over", "points", "metric")
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
    """Answer several questions and compare the answers, with ratios to one of them.

    ``questions``: scenarios, each solved on every one of ``machines`` if these are given. ``baseline``: the label
    (file or machine) or the index of the baseline; None: the first. If models, objectives or units differ, the common
    numbers are compared, and ``Comparison.not_shared()`` lists the rest.
    ``over``: a number of the files (given.intensity, limits.time.max). Each crossing with the baseline along it is
    enclosed to 1e-6 relative, with what bounds prove on both sides (``Comparison.curve``). It is searched from
    ``start`` to ``stop`` (numbers in SI units or texts; None: as a file's axis says) at ``points`` values (33). Two
    changes between two of these values are not seen. ``metric``: the number compared, None: the objective.

    Raises ScenarioError if a file is wrong, sweeps axes (without ``over``) or has several objectives, or if
    ``baseline``, ``over`` or ``metric`` names nothing that the questions have.
    """
    from dse.comparing import side_by_side

    asked = side_by_side.asked(questions, machines)
    if over is None:
        return side_by_side.compare(asked, baseline, progress)
    from dse.comparing.break_even import Range

    wanted = Range(over, start, stop, points)
    return side_by_side.compare_along(asked, wanted, metric, baseline, progress)


@checked("path", "columns")
def export(
    source: Source | Solution | xr.Dataset, path: str | Path, columns: Sequence[str] | None = None
) -> Path:
    """Write results in the format that ``path`` ends in, with units and provenance; returns the path.

    ``source``: a dataset, a solution, the path of a store or of a file that ``open`` takes, a .json file that
    ``dse solve --json`` printed, or a scenario, which is answered first. ``path``: .csv, .jsonl, .parquet, .md, .tex,
    .nc, .zarr, .png, .svg or .pdf. ``columns``: the axes and variables of a table, in this order, or those that a
    picture shows. Large stores are read and written in pieces.

    Raises ScenarioError, and StoreError if something cannot be read, written, or shown in that format.
    """
    from dse.reporting import exporting

    return exporting.export(source, path, columns)


@checked("file")
def report(
    source: Source | Solution | xr.Dataset,
    file: str | Path,
    points: int | None = None,
    indices: bool | int = False,
) -> Path:
    """Write one self-contained HTML page about a store, a dataset, an answer, or a scenario; returns its path.

    Of a dataset of chosen points (``isel``) it says which part of the question that is. A scenario is answered first; a
    ``.json`` file is an answer that `dse solve --json` printed. ``points``: the number of points of a front.
    ``indices``: for a scenario, also show which uncertain numbers matter (``what_matters``); a number sets the rows.
    ``file``: a name that ends in .html. Raises ScenarioError, StoreError (also if the page cannot be written), and
    ValueError for indices of an answer.
    """
    from dse.reporting import reports
    from results import page
    from results.export.reading import opened, read_for
    from results.solution import Solution
    from results.stores.files.storage import spared, writable

    page.check(file)
    target, found = writable(file), opened(source)
    spared([target], read_for(source, found))
    if indices and not isinstance(found, Scenario):
        raise ValueError("indices need answers in samples of their own: give the scenario, not an answer")
    if isinstance(found, Solution):
        made = reports.of_solution(found)
    elif not isinstance(found, Scenario):
        made = reports.of_dataset(found, reports.command(source) if isinstance(source, str | Path) else "")
    elif indices:
        made = reports.with_indices(found, points, None if indices is True else indices)
    else:
        made = reports.of_scenario(found, points)
    return page.save(made, target)
