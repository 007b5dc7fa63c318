"""A question answered in every world: how the answers are distributed, what wins, and what a fixed design loses.

    Worlds   one study: its counts, numbers, shares, and what was found of a fixed design
    Number   a number over the worlds that have a design: mean, quantiles, range
    Share    how often something holds

All of it is estimated from the worlds that were drawn, and each estimate has its sampling interval
(``results.telling.estimates``); the optimum in each world is as certain as its status says.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.system.records import dataclass
from formulations.tolerances import TIE
from results import asked, flat
from results.axes import ANSWERED
from results.dataset import BINDING, CONFLICTING, LIMIT, STATUS_CODES, objectives
from results.designs import LEFT_OUT
from results.telling import estimates, sizes
from results.telling.estimates import LEVELS, Array
from results.telling.facts import Status
from results.telling.fresh import Estimate
from results.telling.limits import limit_names
from results.uncertainty import worlds_dataset, worlds_text
from scenarios import ScenarioError, questions
from scenarios.uncertainty.chances import AXIS

if TYPE_CHECKING:
    import xarray as xr

    from scenarios.sweep.grids import Grid

MOST_WINNERS = 16
"""Of whole numbers with more values than this the distribution is told, not the share of each."""
NOT_TOLD = frozenset({*LEFT_OUT, "objective", "status"})
_GOOD = [STATUS_CODES[s] for s in (Status.OPTIMAL, Status.FEASIBLE, Status.EVALUATED)]


@dataclass(frozen=True, slots=True)
class Number:
    """A number over the worlds that have a design, SI; ``role``: "objective", "decided" or "metric"."""

    name: str
    role: str
    unit: str
    mean: Estimate
    quantiles: tuple[Estimate, ...]
    least: float
    greatest: float

    @property
    def median(self) -> Estimate:
        """The median."""
        return self.quantiles[LEVELS.index(0.5)]

    @property
    def ninety(self) -> tuple[float, float]:
        """The ends between which 90 % of the worlds lie."""
        return self.quantiles[0].value, self.quantiles[-1].value


@dataclass(frozen=True, slots=True)
class Share:
    """How often something holds: ``count`` of so many worlds."""

    name: str
    count: int
    of: int

    @property
    def estimate(self) -> Estimate:
        """The probability, with its Clopper-Pearson interval."""
        return estimates.share(self.count, self.of)


@dataclass(frozen=True, slots=True, eq=False)
class Fixed:
    """A design that is fixed before the worlds differ: ``what`` it is, its values, and its metrics in every world.

    ``objective``: its own, where that is the same in every world.
    """

    what: str
    design: Mapping[str, float | str]
    dataset: xr.Dataset
    objective: float | None = None


@dataclass(frozen=True, slots=True)
class Regret:
    """What a fixed design loses to the best of each world, where both are there.

    ``relative``: to the size of the best objective; ``mean``, ``high`` (95 % of worlds lose no more) and ``worst``.
    ``absolute``: the mean in the objective's unit, which is at least the expected value of perfect information, and is
    that value where no fixed design has a better mean.
    """

    worlds: int
    mean: Estimate
    high: Estimate
    worst: float
    absolute: Estimate


@dataclass(frozen=True, slots=True, eq=False)
class Worlds:
    """A question answered in every world.

    ``samples``: the answers along ``sample``; ``statuses``: how many worlds have which; ``none``: those without any
    design; ``binding``: in which each limit binds, of those with a design; ``winners``: of each choice among names or
    few whole numbers, in which each wins; ``fixed``, ``broken``, ``broken_by`` and ``regret``: what a fixed design is,
    in how many worlds it breaks a limit (by the limit that is broken first), and what it loses. ``notes``: what of the
    file plays no part.
    """

    samples: xr.Dataset
    statuses: Mapping[str, int]
    none: Share
    numbers: tuple[Number, ...]
    binding: tuple[Share, ...]
    winners: Mapping[str, tuple[Share, ...]]
    fixed: Fixed | None = None
    broken: Share | None = None
    broken_by: tuple[Share, ...] = ()
    regret: Regret | None = None
    notes: tuple[str, ...] = field(default=())

    @property
    def title(self) -> str:
        """What was asked."""
        return str(self.samples.attrs.get("title", ""))

    @property
    def count(self) -> int:
        """How many worlds were drawn."""
        return int(self.samples.sizes[AXIS])

    @property
    def goal(self) -> tuple[str, bool]:
        """The objective's name, and whether it is maximised; "" without one."""
        return next(iter(objectives(self.samples).items()), ("", False))

    def __str__(self) -> str:
        return worlds_text.to_text(self)

    def _repr_html_(self) -> str:
        """Return the study as HTML, for notebooks; all text is escaped."""
        return worlds_text.to_html(self)

    def record(self) -> dict[str, Any]:
        """Return all of it as JSON has it, numbers in SI units."""
        return worlds_text.to_json(self)

    def to_dataset(self) -> xr.Dataset:
        """Return the statistics as a dataset along ``quantile``, ``end`` of an interval, ``limit`` and choices."""
        return worlds_dataset.to_dataset(self)


def summarised(dataset: xr.Dataset, fixed: Fixed | None = None, notes: tuple[str, ...] = ()) -> Worlds:
    """Summarise answers along ``sample``; ``fixed``: a design to set beside the best of each world.

    Raises ValueError for a dataset that has other dimensions, or no such axis.
    """
    if tuple(map(str, dataset["status"].dims)) != (AXIS,):
        raise ValueError(f"samples stand along {AXIS}; choose one place of the other axes with isel")
    held = dataset.load()
    status = held["status"].values
    answered = np.isin(status, ANSWERED)
    decided = _decided_discrete(held)
    judged = status != 0
    failed = status == STATUS_CODES[Status.ERROR]
    counts = {s.value: int(np.count_nonzero(status == code)) for s, code in STATUS_CODES.items()}
    without = np.isin(status, [STATUS_CODES[Status.INFEASIBLE], STATUS_CODES[Status.UNBOUNDED]])
    none = Share("no design", int(without.sum()), int((judged & ~failed).sum()))
    numbers = tuple(_numbers_of_worlds(held, answered, decided))
    made = Worlds(
        held,
        {name: n for name, n in counts.items() if n},
        none,
        numbers,
        tuple(_binding(held, answered)),
        dict(_winners(held, answered, decided)),
        notes=notes,
    )
    return made if fixed is None else _worlds_with_fixed(made, fixed, answered)


def _grid_of(dataset: xr.Dataset) -> Grid | None:
    """Return the grid of a dataset's own question; None where it cannot be read."""
    try:
        return questions.grid(asked.question(dataset))
    except (KeyError, ScenarioError):
        return None


def _decided_discrete(dataset: xr.Dataset) -> dict[str, bool]:
    """Return the names of what is decided, and whether each is a choice or a whole number."""
    grid = _grid_of(dataset)
    if grid is None:
        return {}
    first = grid.first
    every = {d.name: d for d in first.decide}
    return {n: n in every and (every[n].integer or every[n].values is not None) for n in grid.decided()}


def _numbers_of_worlds(dataset: xr.Dataset, answered: Any, decided: Mapping[str, bool]) -> Iterator[Number]:
    goals = objectives(dataset)
    if goals:
        name = next(iter(goals))
        values = dataset["objective"].values[answered]
        yield number(name, "objective", sizes.unit_of_array(dataset["objective"].attrs), values)
    rows = []
    for c in flat.columns(dataset):
        if c.axis or c.text or c.words is not None or c.name in NOT_TOLD or c.name in goals:
            continue
        values = np.asarray(flat.values(dataset, c), float)[answered]
        dotted = ".".join((c.name, *c.labels.values()))
        role = "decided" if dotted.removeprefix("decided.") in decided else "metric"
        rows.append(number(c.label, role, c.shown_unit, values))
    yield from sorted(rows, key=lambda n: n.role)


def number(name: str, role: str, unit: str, values: Array) -> Number:
    """Summarise the values of a number, SI; those that do not exist are left out."""
    there = np.asarray(values, float)
    there = there[~np.isnan(there)]
    ends = (float(there.min()), float(there.max())) if there.size else (math.nan, math.nan)
    return Number(name, role, unit, estimates.mean(there), tuple(estimates.quantiles(there, LEVELS)), *ends)


def _binding(dataset: xr.Dataset, answered: Any) -> Iterator[Share]:
    if "binding" not in dataset:
        return
    states, free = dataset["binding"].values[answered], _without_bound(dataset)
    for i, name in enumerate(dataset[LIMIT].values):
        if str(name) not in free:
            yield Share(str(name), int(np.count_nonzero(states[:, i] == BINDING)), int(answered.sum()))


def _without_bound(dataset: xr.Dataset) -> set[str]:
    """Name what can be in conflict, a list say, and has no bound that might bind."""
    grid = _grid_of(dataset)
    if grid is None:
        return set()
    first = grid.first
    return {*limit_names(first)} - {*limit_names(first, gaps=False)}


def _winners(
    dataset: xr.Dataset, answered: Any, decided: Mapping[str, bool]
) -> Iterator[tuple[str, tuple[Share, ...]]]:
    """Go through what is chosen among few, each with how often each of its values wins, the most frequent first."""
    total = int(answered.sum())
    for c in flat.columns(dataset):
        if c.axis or c.text or c.name in NOT_TOLD:
            continue
        dotted = ".".join((c.name, *c.labels.values())).removeprefix("decided.")
        if dotted not in decided or (c.words is None and not decided[dotted]):
            continue
        values, counts = np.unique(np.asarray(flat.values(dataset, c), float)[answered], return_counts=True)
        if c.words is None and len(values) > MOST_WINNERS:
            continue
        told = [f"{v:.12g}" if c.words is None else str(c.words.get(v, f"{v:g}")) for v in values.tolist()]
        shares = [Share(t, int(n), total) for t, n in zip(told, counts.tolist(), strict=True)]
        if shares:
            yield c.label, tuple(sorted(shares, key=lambda s: -s.count))


def _worlds_with_fixed(found: Worlds, fixed: Fixed, answered: Any) -> Worlds:
    """Set a fixed design beside the best of each world."""
    from dataclasses import replace

    there = fixed.dataset
    status = there["status"].values
    holds = np.isin(status, _GOOD)
    judged = status != STATUS_CODES[Status.ERROR]
    broken = Share("breaks a limit", int((judged & ~holds).sum()), int(judged.sum()))
    by = []
    if "binding" in there:
        states = there["binding"].values[judged]
        for i, name in enumerate(there[LIMIT].values):
            count = int(np.count_nonzero(states[:, i] == CONFLICTING))
            by += [Share(str(name), count, int(judged.sum()))] if count else []
    return replace(
        found, fixed=fixed, broken=broken, broken_by=tuple(by), regret=_regret(found, fixed, answered & holds)
    )


def _regret(found: Worlds, fixed: Fixed, both: Any) -> Regret | None:
    name, largest = found.goal
    if not name or not both.any():
        return None
    best = found.samples["objective"].values[both]
    if "objective" in fixed.dataset and name in objectives(fixed.dataset):
        mine = fixed.dataset["objective"].values[both]
    else:
        # what is decided is the same in every world
        mine = np.full(best.shape, math.nan if fixed.objective is None else fixed.objective)
    lost = (best - mine) if largest else (mine - best)
    # what is lost in the last digits of either is nothing, and no design is better than the best
    lost = np.where(lost > TIE * np.abs(best), lost, 0.0)
    relative = lost / np.maximum(np.abs(best), 1e-300)
    return Regret(
        int(both.sum()),
        estimates.mean(relative),
        estimates.quantiles(relative, (0.95,))[0],
        float(relative.max()),
        estimates.mean(lost),
    )
