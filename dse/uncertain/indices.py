"""What matters: Sobol' indices of the optimum, or of a fixed design, and what is lost through not knowing a number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

import scenarios
from dse.sweeping import sweeps
from dse.sweeping.points import fixed_designs
from dse.uncertain import worlds
from results import flat
from results.axes import ANSWERED
from results.dataset import objectives
from results.telling import sizes
from results.uncertainty import indices
from results.uncertainty.indices import Indices
from results.uncertainty.matters import Matters
from results.uncertainty.worlds import NOT_TOLD
from scenarios import Scenario, ScenarioError
from scenarios.questions import question
from scenarios.uncertain import at_samples
from solvers.robust import losses

if TYPE_CHECKING:
    import xarray as xr

    from dse.system.progress import Report
    from scenarios.distributions import Uncertain

INDEX_ROWS = 1024
FEWEST_ROWS = 16
OPTIMUM, DESIGN = "the optimum of each sample", "a fixed design"


def matters(
    asked: Scenario,
    rows: int | None = None,
    design: Mapping[str, float | str] | None = None,
    client: Any = None,
    workers: int | None = None,
    progress: bool | Report | None = None,
    patience: float | None = None,
    *,
    lost: bool = True,
) -> Matters:
    """Say which uncertain numbers matter.

    Each world of Saltelli's samples (``results.uncertainty.indices.matrices``: ``rows`` times the number of
    uncertain numbers and two, a power of two) is answered by its certified optimum; with a ``design``, that is
    evaluated there. ``lost``: also what is lost through not knowing each number (``solvers.robust.losses``). Raises
    ScenarioError where nothing is uncertain, axes are swept, or numbers depend on one another.
    """
    uncertain = _independent(asked)
    seed = uncertain.sampling.seed
    count = _power_of_two(asked, INDEX_ROWS if rows is None else rows)
    cube = indices.matrices(count, len(uncertain.marginals), seed).reshape(-1, len(uncertain.marginals))
    values = {path: m.quantile(cube[:, i]) for i, (path, m) in enumerate(uncertain.marginals.items())}
    there = at_samples(asked, values, f"Saltelli's samples: {count} rows, seed {seed}")
    fixed = None if design is None else fixed_designs.checked(scenarios.grid(there), design, asked.file)
    if fixed is None:
        found = sweeps.sweep(there, None, client, workers, progress, patience=patience)
    else:
        found = fixed_designs.evaluated(scenarios.grid(there), fixed)
    names = tuple(uncertain.marginals)
    drawn = [np.asarray(values[n]).reshape(len(names) + 2, count) for n in names]
    moved = np.array([x[0] != x[1] for x in drawn])
    each = list(_indices(found, names, count, moved, judged=design is None))
    good = _good(found, judged=design is None).reshape(len(names) + 2, count).all(0)
    cost = losses.losses(question(asked)) if lost and design is None else None
    return Matters(
        asked.title or "What matters",
        OPTIMUM if design is None else DESIGN,
        tuple(one for one in each if not isinstance(one, str)),
        count,
        int(count - good.sum()),
        seed,
        cost,
        found,
        tuple(one for one in each if isinstance(one, str)),
    )


def _independent(asked: Scenario) -> Uncertain:
    uncertain = worlds.at_one_point(asked, "ask at one point: leave the axes out")
    if not uncertain.independent:
        told = uncertain.sampling.correlation
        key = "uncertain.sampling.correlation" if told else "uncertain"
        wrong = "indices say how much each number matters by itself, and these depend on one another"
        right = "leave the correlation out, or give each number a distribution of its own, to ask for indices"
        assert asked.uncertain is not None
        own = {frozenset(pair[:2]) for pair in asked.uncertain.sampling.correlation or ()}
        of_file = dict.fromkeys(n for *pair, r in told if r and frozenset(pair) not in own for n in pair)
        if of_file:
            wrong = f"{wrong}: the machine file states correlations of {', '.join(of_file)}"
            right = "write correlation = [] under [uncertain.sampling] to draw each by itself, or give each "
            right += "number a distribution of its own, to ask for indices"
        raise ScenarioError.of(asked.file, key, wrong, right)
    return uncertain


def _power_of_two(asked: Scenario, rows: int) -> int:
    count = worlds.counted(asked, "indices", rows)
    if count < FEWEST_ROWS or count & (count - 1):
        wrong = f"{count} rows of samples cannot be used for indices"
        least = max(FEWEST_ROWS, 1 << (count - 1).bit_length())
        raise ScenarioError.of(
            asked.file, "indices", wrong, f"write a power of two, {FEWEST_ROWS} at least: {least}"
        )
    return count


def _good(found: xr.Dataset, *, judged: bool) -> Any:
    """Tell in which worlds there is an optimum; a fixed design is itself in every world."""
    return np.isin(found["status"].values, ANSWERED) | (not judged)


def _indices(
    found: xr.Dataset, names: tuple[str, ...], count: int, moved: Any, *, judged: bool
) -> Iterator[Indices | str]:
    """Go through the numbers, the objective first, each over the rows in which all worlds have it.

    Of one that does not vary its name.
    """
    good = _good(found, judged=judged)
    goals = objectives(found)
    numbers = []
    if goals and "objective" in found:
        goal = next(iter(goals))
        numbers.append((goal, sizes.unit_of_array(found["objective"].attrs), found["objective"].values))
    for c in flat.columns(found):
        if c.axis or c.text or c.words is not None or c.name in NOT_TOLD or c.name in goals or c.labels:
            continue
        numbers.append((c.label, c.shown_unit, flat.values(found, c)))
    for name, unit, values in numbers:
        y: Any = np.where(good, np.asarray(values, float), np.nan).reshape(len(names) + 2, count)
        usable = indices.usable(y)
        y = y[:, usable]
        if y.shape[1] < FEWEST_ROWS:
            continue
        made = indices.of(y[0], y[1], y[2:], moved=moved[:, usable])
        if made is None:
            yield name
        else:
            first, total, deviation = made
            yield Indices(name, unit, names, tuple(first), tuple(total), deviation, y.shape[1])
