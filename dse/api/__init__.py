"""What Python programs call: load, solve, sweep, front, evaluate, open, verify, register and their like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import scenarios
from dse.api.arguments import checked
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


@checked("solver", "seconds")
def solve(
    scenario: Source, solver: str | None = None, seconds: float = 60.0, depth: str = "full", **search: Any
) -> Solution:
    """Answer a scenario: the best design with its certificate, or why there is none. All numbers are in SI units.

    ``solver``: a solver that Pyomo knows ("scip", "highs", "ipopt", "gurobi", …) answers, each choice among names
    within ``seconds``. Its design is re-evaluated, and the answer is ``optimal`` only if our own bound confirms it.
    ``search``: keys that replace those of the scenario's [search]: ``sampler="TPE"``, ``trials``, ``seed``,
    ``storage``, ``study``, ``workers``, ``compare``. A sampler then answers, without proof.
    ``depth``: "full", or "limits": of whole numbers and lists without where the answer next changes, which is quicker.

    Raises ScenarioError if the scenario is wrong, sweeps axes (see ``sweep``) or has several objectives (see
    ``front``); SolverError if the solver is unknown, not installed, or cannot take the question; StoreError if the
    trials of a search cannot be kept.
    """
    from scenarios.questions import question
    from solvers.answer import answer

    full = _is_full(depth)
    asked = searched(load(scenario), search)
    one_answer(asked)
    if solver is not None or asked.search is not None:
        certain(asked, "a sampler" if solver is None else "another solver")
    if solver is None:
        return answer(question(asked), neighbours=full)
    if asked.search is not None:
        raise scenarios.ScenarioError.of(
            asked.file, "search", "a sampler and a solver are both asked for", "leave one of them out"
        )
    from solvers.others.pyomo_answers import answered

    return answered(question(asked), solver, seconds)


DEPTHS = ("limits", "full")
"""What is told of an answer: its limits, or also all that stands beside it."""


def _is_full(depth: str) -> bool:
    if depth not in DEPTHS:
        raise ValueError(f"depth is {depth!r}; it may be {' or '.join(map(repr, DEPTHS))}")
    return depth == DEPTHS[-1]


def pyomo(
    scenario: Source,
    form: str = "plain",
    choice: Mapping[str, str] | str | None = None,
    *,
    gdp: bool = False,
    tight: bool = True,
) -> Any:
    """Return the Pyomo model of a scenario: a ConcreteModel that can be changed, and solved with any solver.

    ``form``: "plain", written in the decided quantities, or "log", which also has the logarithm ``y`` of each, in which
    geometric programs are convex. Each decided quantity is a variable under its own name (``model.decided`` has them
    all), with its unit in ``doc``; limits are ``model.limits[name, side]``; ``model.objective_value`` is the objective
    of the scenario in its own unit (``model.objective`` is scaled). ``choice``: the choice among names; without it a
    scenario with such choices gives a mapping with a model for each. Axes of a sweep are mutable parameters if the
    structure is the same at all their points; else there is a model for each value, and ``why`` of the mapping gives
    the reason. ``gdp``: one model with a ``pyomo.gdp.Disjunction`` over the choices and maxima, to be transformed
    before it is solved. ``tight``: the limits tighten the bounds of variables, which helps solvers; use False if you
    remove limits.

    Raises ScenarioError if the question has no formulas, with the reason.
    """
    from solvers.others import pyomo_models

    asked = load(scenario)
    certain(asked, "a Pyomo model")
    return pyomo_models.models(asked, form, choice, gdp=gdp, tight=tight)


@checked("solver", "seconds")
def read(model: Any, scenario: Source, solver: str | None = None, seconds: float = 60.0) -> Solution:
    """Check the design of a solved model of ``pyomo`` against its scenario, re-evaluated in plain floats.

    The answer is ``optimal`` only if our own bound of the scenario confirms it; if the model was changed, it is
    ``feasible`` with that bound. ``solver``: solves the model first, within ``seconds``.

    Raises ScenarioError if the model is of another scenario or of no point of its axes, and SolverError if it
    has no values, still holds a Disjunction, or cannot be solved.
    """
    from solvers.others import pyomo_models

    return pyomo_models.read(model, load(scenario), solver, seconds)


@checked("store", "client", "workers", "metrics", "patience", "audit", "solver", "seconds")
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
    depth: str = "limits",
) -> xr.Dataset:
    """Answer a scenario at every point of its grid: a labelled dataset.

    Its dimensions are the axes of [sweep], in their order; its numbers are in SI units, which the attribute ``units``
    of each variable names. ``status`` is a code for the answer at each point.

    ``store``: path of a Zarr store (or ``s3://…``), filled chunk by chunk and continued if it exists; None: in
    memory. ``client``: a Dask client; else ``workers`` processes of this machine. ``progress``: True, False, a
    function (done, total), or None for a bar on a terminal. ``metrics``: names of the metrics to keep; None: all.
    ``patience``: seconds that a client's cluster may be without any worker before WorkersLost is raised; None: no end.
    ``audit``: number of points that are answered again by other methods (None: 20 for sweeps of at least a thousand
    points that a method for many points answered); the result is the attribute ``audit``, as JSON. ``retry_failed``:
    also solve points again that failed in an earlier run. ``extend``: the store may hold the same question with fewer
    values on its axes, whose points are kept.

    ``baseline``: a scenario without axes, or with some of the same axes; the dataset and the store then also have the
    ratios of objective, metrics and decided quantities to it (``ratio.objective``, ``ratio.time``).
    ``solver``: a solver that Pyomo knows answers every point, each choice among names within ``seconds``, as in
    ``solve``; ``message`` then quotes its claim. This is slow.
    ``depth``: "limits", or "full": also what ``solve`` tells beside an answer (ranges, sensitivities to given numbers,
    where the answer next changes, choices, all conflicts, certificate). Geometric programs and power caps
    without whole numbers get it for many points at once; all other points are then answered one by one.
    With uncertain numbers the axis ``sample`` has the samples that were drawn, each answered by itself. With a
    measure of the objective (``measure``, ``cvar``) each point has one design for all samples instead.

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
        by=_other_solver(solver, seconds),
        full=_is_full(depth),
    )
    if base is not None:
        found = base.added(found, store)
    return pictured(found)


def _other_solver(solver: str | None, seconds: float) -> By | None:
    """Return who answers in place of our own methods; raises SolverError where there is no such solver."""
    if solver is None:
        return None
    from solvers.others import pyomo_points

    return pyomo_points.by(solver, seconds)


@checked("store", "client", "workers", "patience")
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
    """Answer a scenario with uncertain numbers in every sample, and describe the distribution of the answers.

    Each sample has its own certified optimum, as if all numbers were known before the design is chosen. The result has
    quantiles and means of objective, decided numbers and metrics, the shares of samples in which each limit binds and
    each choice wins, and the share without a design. A fixed design is evaluated in every sample too: how often it
    breaks a limit, bounds among them, and its loss against the optimum. ``design``: this design, as values by name
    (SI, or text with a unit) or a solution; None: the optimum with every number at its nominal value. ``samples``: the
    number of samples, in place of the file's. ``store``: a Zarr store of the samples, which is continued, and extended
    if it holds fewer. ``client`` to ``patience`` as in ``sweep``. The answers themselves are ``Worlds.samples``.

    Raises ScenarioError if nothing is uncertain, axes are swept, there are several objectives, or the design has a
    value that cannot be decided; StoreError and WorkersLost as ``sweep`` does.
    """
    from dse.uncertain import uncertainties
    from results.solution import Solution

    fixed = design.variables if isinstance(design, Solution) else design
    return uncertainties.uncertainty(
        load(scenario), store, samples, fixed, client, workers, progress, patience
    )


@checked("client", "workers", "patience")
def what_matters(
    scenario: Source,
    rows: int | None = None,
    design: Mapping[str, float | str] | Solution | None = None,
    client: Any = None,
    workers: int | None = None,
    progress: bool | Report | None = None,
    patience: float | None = None,
) -> Matters:
    """Compute which uncertain numbers of a scenario matter: Sobol' indices, and the value of knowing each number.

    The indices are those of the certified optimum of each sample and of its metrics; with a ``design`` (values by
    name, or a solution) those of the metrics of this design. ``rows``: of Saltelli's samples, a power of two (1024);
    with d uncertain numbers there are rows · (d + 2) samples. ``client`` to ``patience`` as in ``sweep``.

    Raises ScenarioError if nothing is uncertain, axes are swept, there are several objectives, or the uncertain
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


@checked("solver", "seconds")
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

    With [sweep] in the scenario it has one front at each point of the grid, along the axes and ``front``.
    Its numbers are in SI units, which the attribute ``units`` of each variable names.

    ``points``: the number of points; ``tolerance``: as many points as enclose the front within this share (0.02: 2 %)
    in one of the two objectives; None: as the scenario says. ``search``: keys of [search] as in ``solve``, for a front
    by a sampler. ``solver``, ``seconds``: as in ``solve``, for every point of the front.

    Raises ScenarioError if there is one objective, or if there are too many fronts or axes; StoreError and SolverError
    as ``solve`` does.
    """
    from dse.fronts import swept_fronts

    found = searched(load(scenario), search)
    return pictured(swept_fronts.front(found, points, tolerance, progress, _other_solver(solver, seconds)))


@checked("store", "metrics", "client", "workers", "patience")
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
    """Compute metrics of a scenario without decisions, over its grid if it has one: all metrics, or those named.

    All points are computed at once, as arrays; these are read-only, ``copy(deep=True)`` makes a copy. Limits are
    ignored. ``store``: a Zarr store to fill chunk by chunk instead, for grids larger than memory; ``client``,
    ``workers``, ``progress``, ``patience`` and ``extend`` are then as in ``sweep``. The dataset has the axes as
    dimensions and SI units, as there.

    Raises ScenarioError if something is decided, UnknownName (a KeyError) if a metric has no such name, and
    StoreError and WorkersLost as ``sweep`` does.
    """
    from dse.sweeping import evaluating

    asked = load(scenario)
    certain(asked, "an evaluation")
    found = evaluating.evaluate(asked, store, metrics, client, workers, progress, patience, extend=extend)
    return pictured(found)
