"""What Python programs call: load, solve, sweep, front, evaluate, open, verify, register and their like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import scenarios
from dse.api.loading import Source, certain, load, one_answer, pictured
from dse.api.stored import compare, diff, export, open, report, status, verify
from dse.models import Model, register
from scenarios import Scenario
from scenarios.language.searches import searched

if TYPE_CHECKING:
    import xarray as xr

    from dse.comparing.ratios import Baseline
    from dse.system.progress import Report
    from results.solution import Solution
    from results.uncertainty.matters import Matters
    from results.uncertainty.worlds import Worlds
    from solvers.others.pyomo_points import By

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


def solve(scenario: Source, solver: str | None = None, seconds: float = 60.0, **search: Any) -> Solution:
    """Answer a scenario: the best design with its certificate, or why there is none; its numbers are in SI units.

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
    one_answer(asked)
    if solver is not None or asked.search is not None:
        certain(asked, "a sampler" if solver is None else "another solver")
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
    from solvers.others import pyomo_models

    asked = load(scenario)
    certain(asked, "a Pyomo model")
    return pyomo_models.models(asked, form, choice, gdp=gdp, tight=tight)


def read(model: Any, scenario: Source, solver: str | None = None, seconds: float = 60.0) -> Solution:
    """Bring the design of a solved model of ``pyomo`` back: judged against its scenario, re-evaluated in plain floats.

    ``optimal`` only where our own bound of the scenario says so; ``feasible`` with that bound where the model was
    changed. ``solver``: solves the model first, within ``seconds``.

    Raises ScenarioError where the model is of another scenario or of no point of its axes, and SolverError where it
    has no values, still holds a Disjunction, or cannot be solved.
    """
    from solvers.others import pyomo_models

    return pyomo_models.read(model, load(scenario), solver, seconds)


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

    Its dimensions are the axes of [sweep], in their order; its numbers are in SI units, which the attribute ``units``
    of each variable names. ``status`` tells by a code how each point was answered.

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
    return pictured(found)


def _by(solver: str | None, seconds: float) -> By | None:
    """Return who answers in place of our own methods; raises SolverError where there is no such solver."""
    if solver is None:
        return None
    from solvers.others import pyomo_points

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
    Its numbers are in SI units, which the attribute ``units`` of each variable names.
    ``points``: how many; ``tolerance``: as many as enclose the front to this share (0.02: 2 %) in one objective or in
    the other; None: as the scenario says. ``search``: keys of [search] as in
    ``solve``, for a front that a sampler finds. ``solver``, ``seconds``: as in ``solve``, for every point of the front.
    Raises ScenarioError where there is one objective, or too many places or axes; StoreError and SolverError as
    ``solve`` does.
    """
    from dse.fronts import swept_fronts

    found = searched(load(scenario), search)
    return pictured(swept_fronts.front(found, points, tolerance, progress, _by(solver, seconds)))


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
    ``progress``, ``patience`` and ``extend`` are then as in ``sweep``. The dataset has the axes as
    dimensions and SI units, as there.

    Raises ScenarioError where something is decided, UnknownName (a KeyError) where a metric has no such name, and
    StoreError and WorkersLost as ``sweep`` does.
    """
    from dse.sweeping import evaluating

    asked = load(scenario)
    certain(asked, "an evaluation")
    found = evaluating.evaluate(asked, store, metrics, client, workers, progress, patience, extend=extend)
    return pictured(found)
