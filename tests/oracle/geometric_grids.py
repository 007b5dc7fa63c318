"""Grids of n-body questions, answered at once, and each point as the question alone answers it."""

from __future__ import annotations

import numpy as np
import points_alone

import results.dataset
import scenarios
from formulations.grids import over_grid
from formulations.grids.batch import Batch
from results.dataset import STATUS_CODES, Arrays, Layout
from results.solution import Status
from scenarios.sweep.grids import Grid
from solvers.geometric.points import geometric
from solvers.many_points.blocks import Block

NBODY = "bodies = 1e5\nflops_per_pair = 10"
FREE = "processors = { max = 65536 }\nmemory = {}"
LEAST_ENERGY = 'minimize = "energy"'


def grid(
    axes: dict[str, str],
    *,
    model: str = "nbody",
    machine: str = '"balanced"',
    waive: str = "",
    given: str = NBODY,
    decide: str = FREE,
    objective: str = LEAST_ENERGY,
    limits: str = "",
) -> Grid:
    """A question of a distributed machine with an axis for each path."""
    text = f'model = "{model}"\nmachine = {machine}\n{waive}\n[given]\n{given}\n[decide]\n{decide}\n'
    text += f"[objective]\n{objective}\n[limits]\n{limits}\n"
    for i, (path, values) in enumerate(axes.items()):
        text += f'[sweep.axis{i}]\npath = "{path}"\n{values}\n'
    return scenarios.grid(scenarios.from_text(text, "grid.toml"))


def log(start: str | float, stop: str | float, num: int) -> str:
    ends = (f'"{x}"' if isinstance(x, str) else x for x in (start, stop))
    return 'start = {}\nstop = {}\nnum = {}\nspacing = "log"'.format(*ends, num)


def batches(asked: Grid) -> tuple[Batch, ...]:
    """The programs of all points, of each case."""
    block = Block(over_grid.spread(asked), over_grid.whole(asked))
    points = np.arange(block.size)
    return geometric.made_of(block, block.question(points), points) or ()


def at_once(asked: Grid) -> tuple[Layout, Arrays, np.ndarray]:
    """All points together, by NumPy."""
    way = geometric.over(asked, compiled=False)
    plan = results.dataset.layout(asked, {})
    return plan, *way.solve(plan, tuple(slice(0, n) for n in asked.shape))


def assert_alike(asked: Grid, sample: int, seed: int) -> tuple[Arrays, np.ndarray]:
    """Compare every variable of the dataset, at points drawn by lot, with the answer to the point's question."""
    plan, arrays, left = at_once(asked)
    # the interior point may leave a value open: it is asked by itself, and counted
    assert points_alone.completed(asked, plan, arrays, left) <= 0.01 * left.size
    chosen = points_alone.drawn(np.argwhere(~left), sample, seed)
    points_alone.assert_same(asked, plan, arrays, chosen)
    return arrays, left


def share(arrays: Arrays, status: Status) -> float:
    return float((arrays["status"] == STATUS_CODES[status]).mean())
