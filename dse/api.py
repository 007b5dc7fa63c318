"""What Python programs call: load, solve, sweep, front, evaluate, open, verify, register and their like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import scenarios
from dse.models import Model, register
from results.stores.storage import local
from scenarios import Scenario
from scenarios.language.searches import searched

if TYPE_CHECKING:
    import xarray as xr

    from dse.comparing.ratios import Baseline
    from dse.pyomo_door.pyomo_points import By
    from dse.sweeping.progress import Report
    from dse.sweeping.verifying import Verdict
    from results.differing.differences import Difference
    from results.side_by_side.comparison import Comparison
    from results.solution import Solution
    from results.uncertainty.matters import Matters
    from results.uncertainty.worlds import Worlds

Source = Scenario | str | Path | Mapping[str, Any]

__all__ = [
    "Model",
    "Scenario",
    "compare",
    "diff",
    "evaluate",
    "export",
    "front",
    "load",
    "open",
    "pyomo",
    "read",
    "register",
    "report",
    "solve",
    "status",
    "sweep",
    "uncertainty",
    "verify",
    "what_matters",
]


def load(source: Source, machine: str | None = None) -> Scenario:
    """Read and check a scenario: a path, the name of a library scenario, or a mapping shaped like a file.

    ``machine``: a machine in place of the one named there: a name, the path of a machine file, or of a map of machines
    "ENTRY=NAME"; the scenario's text, which results repeat, says so.

    Raises ScenarioError, which lists every mistake with its place and its repair.
    """
    return scenarios.load(source, machine)


def solve(scenario: Source, solver: str | None = None, seconds: float = 60.0, **search: Any) -> Solution:
    """Answer a scenario: the best design with its certificate, or why there is none.

    ``solver``: a solver that Pyomo knows ("scip", "highs", "ipopt", "gurobi", …) answers, each choice among names
    within ``seconds``; its design is re-evaluated, and ``optimal`` only where our own bound says so too.
    ``search``: keys of the scenario's [search], which they stand in for: ``sampler="TPE"``, ``trials``, ``seed``,
    ``storage``, ``study``, ``workers``, ``compare``. A sampler then answers, without proof.

    Raises ScenarioError where the scenario is wrong, sweeps axes (see ``sweep``) or has several objectives
    (see ``front``), SolverError where there is no such solver or it takes no such question, and StoreError where
    trials are to be kept and cannot be.
    """
    from scenarios.questions import question
    from solvers.answer import answer

    asked = searched(load(scenario), search)
    _one_answer(asked)
    if solver is not None or asked.search is not None:
        _certain(asked, "a sampler" if solver is None else "another solver")
    if solver is None:
        return answer(question(asked))
    if asked.search is not None:
        wrong = "a sampler and a solver are both asked for"
        raise scenarios.ScenarioError(
            [scenarios.Problem(asked.file, "search", wrong, "leave one of them out")]
        )
    from solvers.others.pyomo_answers import answered

    return answered(question(asked), solver, seconds)


def pyomo(
    scenario: Source,
    form: str = "plain",
    choice: Mapping[str, str] | str | None = None,
    *,
    gdp: bool = False,
    tight: bool = True,
) -> Any:
    """Return the Pyomo model of a scenario: a ConcreteModel to change, and to solve with any solver.

    ``form``: "plain", written in the decided quantities, or "log", with the logarithm ``y`` of each beside it, in which
    geometric programs are convex. Each decided quantity is a variable under its own name (``model.decided`` has them
    all), its unit in ``doc``; limits are ``model.limits[name, side]``; ``model.objective_value`` is what was asked,
    in its own unit (``model.objective`` is scaled). ``choice``: what is chosen among names; without it a scenario with
    such choices gives a mapping, a model for each. Axes of a sweep are mutable parameters, where the structure is the
    same at all their points; else there is a model for each value, and ``why`` of the mapping says why. ``gdp``: one
    model with a ``pyomo.gdp.Disjunction`` over the choices and maxima, to be transformed before it is solved.
    ``tight``: ends of variables are what the limits leave, which helps solvers; False where you take limits out.

    Raises ScenarioError where the question has no formulas, and says why.
    """
    from dse.pyomo_door import pyomo_models

    asked = load(scenario)
    _certain(asked, "a Pyomo model")
    return pyomo_models.models(asked, form, choice, gdp=gdp, tight=tight)


def read(model: Any, scenario: Source, solver: str | None = None, seconds: float = 60.0) -> Solution:
    """Bring the design of a solved model of ``pyomo`` back: judged against its scenario, re-evaluated in plain floats.

    ``optimal`` only where our own bound of the scenario says so; ``feasible`` with that bound where the model was
    changed. ``solver``: solves the model first, within ``seconds``.

    Raises ScenarioError where the model is of another scenario or of no point of its axes, and SolverError where it
    has no values, still holds a Disjunction, or cannot be solved.
    """
    from dse.pyomo_door import pyomo_models

    return pyomo_models.read(model, load(scenario), solver, seconds)


def _certain(asked: Scenario, what: str) -> None:
    """Refuse a question with uncertain numbers, which ``what`` is not made for."""
    if asked.uncertain is not None:
        from scenarios.uncertainty.uncertain import refuse

        refuse(asked, what)


def _one_answer(asked: Scenario) -> None:
    from dse.uncertain import worlds

    goal = asked.objective
    if asked.uncertain is not None:
        worlds.measured(asked)
    several = goal is not None and len((goal.minimize or ()) + (goal.maximize or ())) > 1
    if several and asked.sweep:
        wrong = f"this scenario has several objectives, and sweeps {', '.join(asked.sweep)}"
        _refuse(asked, "objective", wrong, "front FILE")
    if asked.sweep:
        _refuse(asked, "sweep", f"this scenario sweeps {', '.join(asked.sweep)}", "sweep FILE -o STORE")
    if several:
        _refuse(asked, "objective", "this scenario has several objectives", "front FILE")


def _refuse(asked: Scenario, key: str, wrong: str, command: str) -> None:
    right = f"use `dse {command}`, in Python dse.{command.split(maxsplit=1)[0]}(scenario)"
    raise scenarios.ScenarioError([scenarios.Problem(asked.file, key, wrong, right)])


def sweep(
    scenario: Source,
    store: str | Path | None = None,
    client: Any = None,
    workers: int | None = None,
    progress: bool | Report | None = None,
    metrics: Sequence[str] | None = None,
    patience: float | None = None,
    audit: int | None = None,
    *,
    retry_failed: bool = False,
    baseline: Source | None = None,
    extend: bool = False,
    solver: str | None = None,
    seconds: float = 60.0,
) -> xr.Dataset:
    """Answer a scenario at every point of its grid: a labelled dataset.

    ``store``: path of a Zarr store (or ``s3://…``), filled chunk by chunk and continued where it exists; None: in
    memory. ``client``: a Dask client; else ``workers`` processes of this machine. ``progress``: True, False, a
    function (done, total), or None for a bar where there is a terminal. ``metrics``: names of those to keep
    beside the answers; None: all. ``patience``: seconds that a client's cluster may be without any worker before
    WorkersLost is raised; None: for ever. ``audit``: how many points are answered again by other means (None: 20,
    of a thousand and more that a fast way answered); ``retry_failed``: also solve points again that failed in an
    earlier run; ``extend``: the store may hold the same question with fewer values on its axes, whose points are kept.
    What the audit found is the attribute ``audit``, as JSON.

    ``baseline``: a scenario without axes, or with some of the same axes; objective, metrics and what is decided are
    then there as multiples of its own too (``ratio.objective``, ``ratio.time``), in the store as well.

    ``solver``: a solver that Pyomo knows answers every point, each choice among names within ``seconds``, as in
    ``solve``; ``message`` then quotes what it claimed. That is slow: one model for each structure, whose parameters
    are set.

    Where numbers are uncertain, the axis ``sample`` has the worlds that were drawn; each is answered by itself. With a
    measure of the objective (``measure``, ``cvar``) one design for all worlds is decided at each point instead.

    Raises ScenarioError, StoreError and WorkersLost, see ``dse.sweeping.sweeps.sweep``; SolverError as ``solve`` does.
    """
    from dse.sweeping import sweeps
    from dse.uncertain import worlds

    asked = worlds.swept(load(scenario))
    base = None if baseline is None else _baseline(load(baseline), asked)
    found = sweeps.sweep(
        asked,
        store,
        client,
        workers,
        progress,
        metrics,
        patience,
        audit,
        retry_failed=retry_failed,
        extend=extend,
        by=_by(solver, seconds),
    )
    if base is not None:
        found = base.added(found, store)
    return _pictured(found)


def _by(solver: str | None, seconds: float) -> By | None:
    """Return who answers in place of our own methods; raises SolverError where there is no such solver."""
    if solver is None:
        return None
    from dse.pyomo_door import pyomo_points

    return pyomo_points.by(solver, seconds)


def uncertainty(
    scenario: Source,
    store: str | Path | None = None,
    samples: int | None = None,
    design: Mapping[str, float | str] | Solution | None = None,
    client: Any = None,
    workers: int | None = None,
    progress: bool | Report | None = None,
    patience: float | None = None,
) -> Worlds:
    """Answer a scenario with uncertain numbers in every world that is drawn, and say how the answers are distributed.

    Each world has its own certified optimum, as if all were known before the design is chosen: objective, decided
    numbers and metrics with quantiles, how often each limit binds and each choice wins, how many worlds have no design.
    Beside it a fixed design in every world: how often it breaks a limit, and what it loses to the best. ``design``: it,
    as values by name or a solution; None: the optimum with every number at its nominal value. ``samples``: how many
    worlds, in place of what the file says. ``store``: a Zarr store of the worlds, which is continued, and extended
    where it holds fewer. ``client`` to ``patience`` as in ``sweep``. The answers themselves are ``Worlds.samples``.

    Raises ScenarioError where nothing is uncertain, axes are swept, or there are several objectives; StoreError and
    WorkersLost as ``sweep`` does.
    """
    from dse.uncertain import uncertainties
    from results.solution import Solution

    fixed = design.variables if isinstance(design, Solution) else design
    return uncertainties.uncertainty(
        load(scenario), store, samples, fixed, client, workers, progress, patience
    )


def what_matters(
    scenario: Source,
    rows: int | None = None,
    design: Mapping[str, float | str] | Solution | None = None,
    client: Any = None,
    workers: int | None = None,
    progress: bool | Report | None = None,
    patience: float | None = None,
) -> Matters:
    """Say which uncertain numbers of a scenario matter: Sobol' indices, and what is lost through not knowing each.

    The indices are those of the certified optimum of each world and of all that is reported of it; with a ``design``
    (values by name, or a solution) those of its metrics. ``rows``: of Saltelli's samples, a power of two (1024): each
    is as many worlds as there are uncertain numbers, and two. ``client`` to ``patience`` as in ``sweep``.

    Raises ScenarioError where nothing is uncertain, axes are swept, there are several objectives, or the uncertain
    numbers depend on one another.
    """
    from dse.uncertain import indices
    from results.solution import Solution

    fixed = design.variables if isinstance(design, Solution) else design
    return indices.matters(load(scenario), rows, fixed, client, workers, progress, patience)


def _baseline(asked: Scenario, swept: Scenario) -> Baseline:
    """Answer a baseline, before what is set against it: without an answer nothing is swept."""
    from dse.comparing import ratios

    return ratios.baseline(asked, swept)


def _pictured(dataset: xr.Dataset) -> xr.Dataset:
    """Return a dataset; from now on it, and every other, has its pictures under ``.dse``."""
    import results.accessor  # noqa: F401 (registers itself)

    return dataset


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
    """Say how far the store of a sweep is: points done, failed and pending, the rate, who fills it.

    Raises StoreError where there is no store of a sweep.
    """
    from dse.sweeping import store_status

    return store_status.status(store)


def front(
    scenario: Source,
    points: int | None = None,
    tolerance: float | None = None,
    progress: bool | Report | None = None,
    solver: str | None = None,
    seconds: float = 60.0,
    **search: Any,
) -> xr.Dataset:
    """Find the Pareto front of a scenario with several objectives: a dataset along ``front``.

    Of a scenario with [sweep] it is the front at each place of the grid, in one dataset along the axes and ``front``.
    ``points``, ``tolerance``: how finely, instead of what the scenario says. ``search``: keys of [search] as in
    ``solve``, for a front that a sampler finds. ``solver``, ``seconds``: as in ``solve``, for every point of the front.
    Raises ScenarioError, and StoreError and SolverError as ``solve`` does.
    """
    from dse.fronts import swept_fronts

    found = searched(load(scenario), search)
    return _pictured(swept_fronts.front(found, points, tolerance, progress, _by(solver, seconds)))


def evaluate(
    scenario: Source,
    store: str | Path | None = None,
    metrics: Sequence[str] | None = None,
    client: Any = None,
    workers: int | None = None,
    progress: bool | Report | None = None,
    patience: float | None = None,
    *,
    extend: bool = False,
) -> xr.Dataset:
    """Compute metrics of a scenario in which nothing is decided, over its grid if it has one: all, or those named.

    All points at once, as arrays; they are read-only, ``copy(deep=True)`` makes one's own. Limits play no part.
    ``store``: a Zarr store to fill chunk by chunk instead, for grids that no memory holds; ``client``, ``workers``,
    ``progress``, ``patience`` and ``extend`` are then as in ``sweep``. Raises ScenarioError where something is decided.
    """
    from dse.sweeping import evaluating

    asked = load(scenario)
    _certain(asked, "an evaluation")
    found = evaluating.evaluate(asked, store, metrics, client, workers, progress, patience, extend=extend)
    return _pictured(found)


def open(store: str | Path) -> xr.Dataset:
    """Open a dataset: that of a sweep's store, finished or not (status 0: not computed yet), or an exported one.

    ``store``: a Zarr store of a sweep, a front or dataset written as .zarr, or a NetCDF file (.nc). Raises StoreError
    where there is none.
    """
    import results.export.reading

    return _pictured(results.export.reading.open(store))


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

    Raises ScenarioError.
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

    from dse.reporting import exporting, reports
    from results import page
    from results.export import answer_files
    from results.solution import Solution
    from results.stores.store import explained

    target = local(file)
    answered = isinstance(source, xr.Dataset | Solution) or (
        isinstance(source, str | Path) and (exporting.is_stored(source) or Path(source).suffix == ".json")
    )
    if answered and indices:
        raise ValueError("indices need answers in worlds of their own: give the scenario, not an answer")
    if isinstance(source, xr.Dataset):
        made = reports.of_dataset(source)
    elif isinstance(source, Solution):
        made = reports.of_solution(source)
    elif isinstance(source, str | Path) and exporting.is_stored(source):
        made = reports.of_store(source)
    elif isinstance(source, str | Path) and Path(source).suffix == ".json":
        made = reports.of_solution(answer_files.read(source))
    elif indices:
        made = reports.with_indices(load(source), points, None if indices is True else indices)
    else:
        made = reports.of_scenario(load(source), points)
    with explained(target, "write"):
        return page.save(made, target)
