"""``python -m benchmarks.kernels.linear_solvers``: the dual simplex method beside HiGHS, on grids of programs.

Every ready question that is a linear program is asked along one of its limits, if it has one, and one number of its
machine, from a half to twice their values.
Both solve the same programs in the same run, on one core, by processor time. HiGHS keeps one object whose numbers are
changed and whose last basis it starts from; what would follow (the point and its multipliers from the basis, one more
run for each thing that settles ties) is not counted for it, while the simplex method settles all ties as it goes.
"""

from __future__ import annotations

import time
import tomllib
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import highspy
import numpy as np
from numpy.typing import NDArray

import dse
import scenarios
from dse.system.arrays import Array
from results.dataset import layout
from solvers.linear import highs
from solvers.linear.linear_program import Numbers
from solvers.linear.points import linear, lp

POINTS = 20
"""Along each axis."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The programs of one call of ``lp.solved``, and the processor seconds that it took."""

    rows: Array
    equal: NDArray[np.bool_]
    low: Array
    high: Array
    cost: Array
    seconds: float


def grids() -> Iterator[tuple[str, scenarios.Grid]]:
    """Go through the ready questions that are linear programs, each each along one or two axes."""
    for path in sorted((Path(scenarios.__file__).parent / "library").glob("*.toml")):
        source = tomllib.loads(path.read_text(encoding="utf-8"))
        source.pop("sweep", None)
        try:
            question = scenarios.grid(dse.load(source)).question(())
        except scenarios.ScenarioError:  # what it sweeps is not given otherwise
            continue
        if len(question.objectives) != 1 or not linear.is_program(question):
            continue
        ends = (
            (f"limits.{x.name}.{s}", getattr(x, f"{s}imum")) for x in question.limits for s in ("min", "max")
        )
        numbers = (
            (n, v) for n, v in question.given.items() if n.startswith("machine.") and isinstance(v, float)
        )
        firsts = [next(((p, v) for p, v in every if v), None) for every in (ends, numbers)]
        yield path.stem, scenarios.grid(dse.load({**source, "sweep": _axes(a for a in firsts if a)}))


def _axes(of: Iterable[tuple[str, float]]) -> dict[str, Any]:
    return {
        f"axis{k}": {"path": path, "start": value / 2, "stop": value * 2, "num": POINTS}
        for k, (path, value) in enumerate(of)
    }


def asked(grid: scenarios.Grid) -> Asked | None:
    """Answer a grid, and return the largest set of programs that was solved together."""
    seen: list[Asked] = []
    solved = lp.solved

    def spied(rows: Any, equal: Any, low: Any, high: Any, aims: Sequence[Any], count: int) -> Any:
        began = time.process_time()
        found = solved(rows, equal, low, high, aims, count)
        spent = time.process_time() - began
        if aims:
            n = rows.shape[-1]
            shapes = ((rows, (count, rows.shape[-2], n)), (low, (count, n - 1)), (high, (count, n - 1)))
            A, lo, hi = (np.broadcast_to(a, shape) for a, shape in shapes)
            seen.append(Asked(A, equal, lo, hi, np.broadcast_to(aims[0], (count, n)), spent))
        return found

    region = tuple(slice(0, n) for n in grid.shape)
    linear.over(grid).solve(layout(grid), region)  # compiled before it is timed
    with mock.patch.object(lp, "solved", spied):
        linear.over(grid).solve(layout(grid), region)
    return max(seen, key=lambda a: len(a.cost), default=None)


def held_open(a: Asked) -> float:
    """Solve the same programs by one object of HiGHS, and return the processor seconds that it took."""
    first = Numbers(a.rows[0], a.equal, a.low[0], a.high[0], np.zeros(a.low.shape[1], dtype=bool))
    row, column = highs.balance(first)
    h = highs.model(first, a.cost[0], row, column, 1.0, 0.0)
    h.setOptionValue("presolve", "off")
    matrix, right = a.rows[..., :-1] * column * row[:, None], -a.rows[..., -1] * row
    cost, low, high = a.cost[:, :-1] * column, a.low / column, a.high / column
    entries = np.argwhere((matrix != matrix[:1]).any(axis=0)).tolist()
    moved = {
        "rows": np.flatnonzero((right != right[:1]).any(axis=0)),
        "cost": np.flatnonzero((cost != cost[:1]).any(axis=0)).astype(np.int32),
        "ends": np.flatnonzero(((low != low[:1]) | (high != high[:1])).any(axis=0)).astype(np.int32),
    }
    began = time.process_time()
    for p in range(len(cost)):
        for i, j in entries:
            h.changeCoeff(i, j, float(matrix[p, i, j]))
        _change(h, a.equal, moved, right[p], cost[p], (low[p], high[p]))
        h.run()
        h.getBasis()
    return time.process_time() - began


def _change(
    h: Any, equal: Any, moved: Mapping[str, Any], right: Array, cost: Array, ends: tuple[Array, Array]
) -> None:
    for i in moved["rows"].tolist():
        h.changeRowBounds(i, float(right[i]) if equal[i] else -highspy.kHighsInf, float(right[i]))
    for name, change, numbers in (
        ("cost", h.changeColsCost, (cost,)),
        ("ends", h.changeColsBounds, ends),
    ):
        which = moved[name]
        if which.size:
            change(len(which), which, *(n[which] for n in numbers))


def main() -> None:
    """Print the processor time of a program by both, for each grid."""
    warnings.simplefilter("ignore")
    for name, grid in grids():
        a = asked(grid)
        if a is not None:
            ours, theirs = (1e6 * s / len(a.cost) for s in (a.seconds, held_open(a)))
            size = f"{a.rows.shape[1]} rows, {a.rows.shape[2] - 1} columns"
            print(f"{name:40} {size:22} simplex {ours:6.1f} us, HiGHS held open {theirs:6.1f} us", flush=True)


if __name__ == "__main__":
    main()
