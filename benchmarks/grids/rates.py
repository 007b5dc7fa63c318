"""``python -m benchmarks.grids.rates``: points per core-second of every ready question on every machine of its model.

Each grid has two numeric axes over a factor of ten around the ready scenario's values: one over a limit or a machine
parameter, one over a given number. A rate is points / processor seconds of a warm ``dse.sweep`` into a store without
audit, on one thread; the processor time of the process and of its children counts, so that a busy machine does not
show. A grid of 4 x 4 points is swept before, which imports what grids need, and two corners of the grid are answered,
which compiles. Of up to 200 points the goal is what a store takes and twice what the points take one by
one.

A row that takes longer than ``--most`` seconds of processor time is given up, and says so. A table that is there is
gone on with: what stands in it is left out, so that it can be made in pieces.
"""

from __future__ import annotations

import argparse
import copy
import csv
import itertools
import json
import math
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

TABLE = Path(__file__).with_name("rates.csv")
ROW = ("scenario", "machine", "points")
HEADER = (*ROW, "class", "axes", "seconds", "rate", "goal", "way", "singly", "why", "status")
SIDES = {9: 3, 36: 6, 200: 14, 1000: 32, 40_000: 200}
SMALL, SINGLES = 500, 9
"""Points up to which a grid is held against its points one by one, and how many of these are answered so."""
OF_A_STORE = 0.3
"""Seconds of a small grid that its store takes."""
SPAN = 10**0.5
SLOWEST_CLOCK = 2.0
"""Seconds of the clock, per second of processor time that a row may take, after which it is given up."""
# points a second at 1000 points and at 40 000, by class
GOALS = {
    "GP": (1500, 20_000),
    "MIGP": (400, 2000),
    "NLP": (400, 2000),
    "MINLP": (400, 2000),
    "LP": (1000, 20_000),
    "MILP": (40, 80),
}
WHOLE = (20, 60)
"""Two or more whole numbers beside real ones."""
FEW_WHOLE = (200, 2000)
"""Mixed-integer programs with a limit as an axis, or whose whole numbers have few combinations."""
COMBINATIONS = 20_000
TABLE_OF = 300
"""Designs of a table that is to reach its goal at 1000 points; a larger one in proportion."""
TABLES = (1000, 20_000)
CELLS = {"exabounds": 1.5e6}
"""Designs evaluated a second at 40 000 points, by model; ``MOST_CELLS`` of cheap ones."""
MOST_CELLS = 2e7


def main() -> None:
    """Measure the rows that the table does not have."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.grids.rates", description=__doc__)
    parser.add_argument("names", nargs="*", help="scenarios (default: all that ask one question)")
    parser.add_argument("--points", type=int, choices=tuple(SIDES), default=200)
    parser.add_argument("--machines", choices=("own", "all"), default="own")
    parser.add_argument(
        "--most", type=float, default=60.0, metavar="SECONDS", help="for one row (default 60)"
    )
    parser.add_argument(
        "--stop", type=float, default=1e9, metavar="SECONDS", help="begin no row after so long"
    )
    parser.add_argument("--table", type=Path, default=TABLE)
    parser.add_argument("--row", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.row:
        name, machine, side = json.loads(asked.row)
        print(json.dumps(_measured(name, machine, side, asked.most)))
        return
    began, done = time.perf_counter(), _read(asked.table)
    with asked.table.open("a", newline="") as file:
        out = csv.DictWriter(file, HEADER)
        if not done:
            out.writeheader()
        for name, machine in _rows(asked.names, asked.machines == "all"):
            if time.perf_counter() - began > asked.stop:
                break
            if (name, machine, str(asked.points)) in done:
                continue
            row = _row(name, machine, asked.points, asked.most)
            if row:
                out.writerow(dict(zip(ROW, (name, machine, asked.points), strict=True)) | row)
                file.flush()
                print(name, machine, row.get("class"), row.get("rate"), row.get("status"), flush=True)


def _read(table: Path) -> set[tuple[str, ...]]:
    if not table.exists():
        return set()
    with table.open(newline="") as file:
        return {tuple(r[name] for name in ROW) for r in csv.DictReader(file)}


def _rows(names: list[str], everywhere: bool) -> Iterator[tuple[str, str]]:
    import dse
    import scenarios
    from dse import machines

    for name in names or scenarios.library():
        asked = dse.load(name)
        yield name, ""
        if everywhere and isinstance(asked.machine, str):
            for machine in machines.names():
                if machine != asked.machine and _fits(name, machine):
                    yield name, machine


def _fits(name: str, machine: str) -> bool:
    import dse
    import scenarios

    try:
        scenarios.grid(dse.load(name, machine))
    except scenarios.ScenarioError:
        return False
    return True


def _row(name: str, machine: str, points: int, most: float) -> dict[str, Any]:
    """One row, from a process of its own that is ended where it takes too long."""
    told = json.dumps([name, machine, SIDES[points]])
    command = [sys.executable, "-m", "benchmarks.grids.rates", "--most", str(most), "--row", told]
    single = {f"{x}_NUM_THREADS": "1" for x in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
    surroundings = {**os.environ, **single, "DASK_NUM_WORKERS": "1"}
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=surroundings, start_new_session=True, **pipes) as process:
        try:
            printed, said = process.communicate(timeout=SLOWEST_CLOCK * most)
        except subprocess.TimeoutExpired:
            # worker processes have a limit each, and are begun again
            os.killpg(process.pid, signal.SIGKILL)
            printed, said = process.communicate()
    if process.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return {"status": f"not done in {most:g} s"}
    if process.returncode:
        return {"status": said.strip().splitlines()[-1][:120]}
    row: dict[str, Any] = json.loads(printed.strip().splitlines()[-1])
    return row


def _measured(name: str, machine: str, side: int, most: float) -> dict[str, Any]:
    import dask

    import dse
    import scenarios
    from dse.uncertain import worlds

    asked = dse.load(name, machine or None)
    several = asked.objective.minimize if asked.objective is not None else None
    if isinstance(several, tuple) and len(several) > 1:
        return {}
    data = _without_sweep(asked)
    axes = next((two for two in _axes(data) if _can_be_asked(data, two)), ())
    if not axes:
        return {"status": "no two numbers to sweep"}
    # where each sample is answered by itself the samples are points
    once = dse.Scenario(**data)
    late = worlds.decided_late(once) if once.uncertain is not None else once
    side = max(round(side / math.sqrt(scenarios.grid(late).size)), 2)
    with dask.config.set(scheduler="synchronous"), tempfile.TemporaryDirectory() as folder:
        dse.sweep(_swept_over(data, axes, min(side, 4)), Path(folder) / "first.zarr", audit=0)
        question = _swept_over(data, axes, side)
        _warm(question)
        began = _spent()
        # of processor time: on a busy machine the clock says nothing
        limit = int(began + most)
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))
        swept = dse.sweep(question, Path(folder) / "grid.zarr", audit=0)
        told = _told(question, swept.load(), axes, _spent() - began)
    return told | ({"goal": round(_goal_of_small(question), 1)} if swept["status"].size < SMALL else {})


def _goal_of_small(question: Any) -> float:
    """Return points a second where a store takes its time and each point twice what it takes by itself."""
    import scenarios
    from solvers.answer import answer

    grid = scenarios.grid(question)
    places = list(itertools.product(*map(range, grid.shape)))
    some = places[:: max(len(places) // SINGLES, 1)]
    answer(grid.question(some[0]), neighbours=False)
    began = _spent()
    for place in some:
        answer(grid.question(place), neighbours=False)
    each = (_spent() - began) / len(some)
    return grid.size / (OF_A_STORE + 2 * grid.size * each)


def _warm(question: Any) -> None:
    """Compile what a grid needs, which takes as long as a small grid."""
    import scenarios
    from dse.sweeping.points import chunk_work

    at = chunk_work.ready(scenarios.grid(question))
    if at.path is not None and "compiled" in at.path.method:
        for end in (slice(0, 2), slice(-2, None)):
            at.path.solve(at.plan, tuple(slice(*end.indices(n)) for n in at.plan.shape))


def _told(question: Any, swept: Any, axes: Sequence[str], spent: float) -> dict[str, Any]:
    from scenarios import grid

    kind, goal = _class_and_goal(grid(question).question((0, 0)), axes)
    points = swept["status"].size
    left = swept.attrs.get("left_over", "{}")
    reasons: Mapping[str, int] = json.loads(left) if isinstance(left, str) else left
    return {
        "class": kind,
        "axes": " x ".join(axes),
        "seconds": round(spent, 3),
        "rate": round(points / spent, 1),
        "goal": goal[points > 10_000] or "",
        "way": str(swept.attrs.get("method", ""))[:80],
        "singly": sum(reasons.values()),
        "why": "; ".join(f"{n}: {why}" for why, n in reasons.items())[:160],
        "status": " ".join(_counts(swept)),
    }


def _class_and_goal(first: Any, axes: Sequence[str]) -> tuple[str, tuple[float, ...]]:
    """Return the class, and points a second to reach at 1000 points and at 40 000 (0: not said).

    Of a choice among names they are those of one of them, over their number.
    """
    from formulations.problem import formulate
    from scenarios.question import combinations
    from solvers.designs import tables

    limited = any(path.startswith("limits.") for path in axes)
    listed = tables(first) if first.decide else None
    choices = [asked for _, asked in itertools.islice(combinations(first), 1000)]
    kind = str(formulate(choices[0]).kind)
    whole = sum(d.integer for d in first.decide)
    goal: tuple[float, ...] = GOALS.get(kind, (0, 0))
    if kind in ("MIGP", "MINLP") and whole > 1:
        goal = WHOLE
    elif kind == "MILP" and (limited or _combinations(choices[0]) <= COMBINATIONS):
        goal = FEW_WHOLE
    if len(choices) > 1:
        kind, goal = "choices", tuple(round(g / len(choices), 1) for g in goal)
    if listed is not None:
        size = sum(t.size for t in listed)
        cells = CELLS.get(first.model.name, MOST_CELLS) / size
        most = TABLES[1] if limited else min(cells, TABLES[1])
        few = TABLES[0] * min(1.0, TABLE_OF / size)
        return f"table of {size}", tuple(round(max(x, g)) for x, g in zip((few, most), goal, strict=True))
    return kind, goal


def _combinations(question: Any) -> float:
    """Count the combinations of what is whole or listed, whatever limits say."""
    from solvers import boxes

    where = boxes.space(question)
    ends = zip(where.low, where.high, where.values, where.discrete, strict=True)
    counts = [high - low + 1 if some is None else len(some) for low, high, some, gaps in ends if gaps]
    return float(math.prod(counts))


def _counts(swept: Any) -> Iterator[str]:
    import numpy as np

    words = swept["status"].attrs["flag_meanings"].split()
    values, counts = np.unique(swept["status"].values, return_counts=True)
    yield from (f"{words[int(v)]}:{n}" for v, n in zip(values, counts, strict=True))


def _without_sweep(asked: Any) -> dict[str, Any]:
    """Return a scenario as a mapping, with the middle value of each axis that it sweeps."""
    import scenarios

    data: dict[str, Any] = asked.model_dump(exclude_none=True, exclude_defaults=True)
    data.pop("sweep", None)
    for axis in scenarios.grid(asked).axes if asked.sweep else ():
        for part in axis.parts:
            more = copy.deepcopy(data)
            _put(more, part.path, part.values[len(part.values) // 2])
            if _mistakes(more) <= _mistakes(data):
                data = more
    return data


def _mistakes(data: Mapping[str, Any]) -> int:
    import dse
    import scenarios

    try:
        scenarios.grid(dse.Scenario(**data))
    except scenarios.ScenarioError as error:
        return len(error.problems)
    return 0


def _put(data: dict[str, Any], path: str, value: float | str) -> None:
    """Write the value of an axis where the file would have it."""
    section, _, name = path.partition(".")
    if section in ("limits", "decide"):
        name, _, end = name.rpartition(".")
        _table(_table(data, section), name)[end] = value
    elif path == "machine":
        data["machine"] = value
    elif section == "machine":
        machine, (entry, _, parameter) = _table(data, section), name.partition(".")
        if entry not in machine or not parameter:
            machine[name] = value
        else:
            _table(machine, entry)[parameter] = value
    elif section != "objective":
        _table(data, "given")[path.removeprefix("given.")] = value


def _table(data: dict[str, Any], name: str) -> dict[str, Any]:
    """Return an entry as a mapping of its own; a machine's name is its base."""
    found = data.get(name, {})
    data[name] = {"base": found} if isinstance(found, str) else dict(found)
    changed: dict[str, Any] = data[name]
    return changed


def _axes(data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Go through pairs of numbers that are not 0.

    A limit, else a machine parameter, and a given number; then a limit and a machine parameter, two machine parameters,
    two given numbers, two limits. Numbers of rows and of machines of a map have names with dots.
    """
    import dse
    import scenarios

    question = scenarios.grid(dse.Scenario(**data)).question(())
    limits = [
        f"limits.{x.name}.{end}"
        for x in question.limits
        for end, value in (("max", x.maximum), ("min", x.minimum))
        if value
    ]
    numbers = [n for n, value in question.given.items() if not isinstance(value, str) and value > 0]
    machine = [n for n in numbers if n.startswith("machine.")]
    machine.sort(key=lambda n: not n.rpartition(".")[2].startswith("energy"))
    # what the file says before what it leaves to the model
    given = [f"given.{n}" for n in numbers if n not in machine]
    given.sort(
        key=lambda n: "." not in n.partition(".")[2] and n.partition(".")[2] not in data.get("given", {})
    )
    for one, other in ((limits, given), (machine, given), (limits, machine)):
        yield from itertools.product(one, other)
    for some in (machine, given, limits):
        yield from itertools.combinations(some, 2)


def _swept_over(data: Mapping[str, Any], axes: Sequence[str], n: int) -> Any:
    import dse

    swept = {f"axis_{i}": {"path": path, "factors": _factors(n)} for i, path in enumerate(axes)}
    return dse.Scenario(**{**data, "sweep": swept})


def _can_be_asked(data: Mapping[str, Any], axes: Sequence[str]) -> bool:
    """Whether both numbers may be a third of what they are, and three times as much."""
    import scenarios

    try:
        grid = scenarios.grid(_swept_over(data, axes, 2))
        for corner in itertools.product((0, 1), repeat=2):
            grid.question(corner)
    except (scenarios.ScenarioError, ValueError):
        return False
    return True


def _factors(n: int) -> list[float]:
    return [float(SPAN ** (2 * i / (n - 1) - 1)) for i in range(n)]


def _spent() -> float:
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


if __name__ == "__main__":
    main()
