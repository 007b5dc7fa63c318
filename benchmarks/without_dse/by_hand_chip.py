"""What a user would write without dse: the chip of docs/examples/multicore, its time against its energy.

The equations of that example typed in again, with the clock in GHz and the bandwidth in TB/s: nothing here comes
from dse. Every searcher has so many seconds, and returns the designs it saw that no other one of them betters, as
rows of time (s) and energy (J) by rising time.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Search = Callable[[int, float], Array]
CORES, CLOCK, BANDWIDTH = (1, 512), (0.5, 3.5), (0.05, 2.0)
COMPUTE = 1e15 / 16e9
"""Core-seconds at 1 GHz: 1e15 flop, 16 in a cycle of a core."""
MOVE = 20.0
"""Seconds at 1 TB/s: 2e13 byte."""
FLOPS, BYTES = 1e15 * 5e-27 * 1e18, 48e-12 * 2e13
CONSTANT, PER_CORE, PER_BANDWIDTH, START = 60.0, 0.02, 20.0, 40.0


def evaluated(cores: Any, clock: Any, bandwidth: Any) -> tuple[Any, Any]:
    """Return time (s) and energy (J) of designs, element by element."""
    seconds = np.maximum(COMPUTE / (cores * clock), MOVE / bandwidth)
    watts = CONSTANT + PER_CORE * cores + PER_BANDWIDTH * bandwidth
    return seconds, FLOPS * clock**2 + BYTES + watts * seconds + START * cores


def unbettered(points: Array) -> Array:
    """Return the rows (time, energy) that no other one betters, by rising time."""
    rows = points[np.lexsort((points[:, 1], points[:, 0]))]
    best = np.minimum.accumulate(rows[:, 1])
    return rows[np.concatenate([[True], best[1:] < best[:-1]])]


def grid(seed: int, seconds: float) -> Array:
    """Try every number of cores with as many clocks and bandwidths as there is time for."""
    began, steps, spent, front = time.perf_counter(), 8, 0.0, np.empty((0, 2))
    while True:
        front, spent = _grid(steps), time.perf_counter() - began - spent
        left = seconds - (time.perf_counter() - began)
        # a grid is chosen beforehand: as fine as the last one says that there is time for, with some to spare
        finer = math.floor(steps * math.sqrt(max(left, 0.0) / (1.25 * spent)))
        if finer <= steps:
            return front
        steps = finer if finer < 4 * steps else 4 * steps
        spent = time.perf_counter() - began


def _grid(steps: int) -> Array:
    clock, bandwidth = (np.geomspace(*ends, steps) for ends in (CLOCK, BANDWIDTH))
    front = np.empty((0, 2))
    for cores in range(CORES[0], CORES[1] + 1):
        found = np.stack([x.ravel() for x in evaluated(cores, clock[:, None], bandwidth)], axis=1)
        front = unbettered(np.concatenate([front, unbettered(found)]))
    return front


def pymoo(seed: int, seconds: float) -> Array:
    """NSGA-II of pymoo with its defaults, a generation at once as arrays; cores are rounded."""
    from pymoo.algorithms.moo.nsga2 import NSGA2
    from pymoo.core.problem import Problem
    from pymoo.optimize import minimize

    seen: list[Array] = []

    class Chip(Problem):  # type: ignore[misc]
        def __init__(self) -> None:
            low, high = zip(CORES, CLOCK, BANDWIDTH, strict=True)
            super().__init__(n_var=3, n_obj=2, xl=np.array(low), xu=np.array(high))

        def _evaluate(self, x: Array, out: dict[str, Any], *_: Any, **__: Any) -> None:
            out["F"] = np.stack(evaluated(np.rint(x[:, 0]), x[:, 1], x[:, 2]), axis=1)
            seen.append(out["F"])

    minimize(Chip(), NSGA2(pop_size=100), ("time", seconds), seed=seed, verbose=False)
    return unbettered(np.concatenate(seen))


def optuna(name: str, seed: int, seconds: float) -> Array:
    """A sampler of Optuna with its defaults, design by design."""
    import optuna

    made = {"NSGA-II": optuna.samplers.NSGAIISampler, "TPE": optuna.samplers.TPESampler}[name]
    seen: list[tuple[float, float]] = []

    def objectives(trial: optuna.Trial) -> tuple[float, float]:
        cores = trial.suggest_int("cores", *CORES)
        clock, bandwidth = trial.suggest_float("clock", *CLOCK), trial.suggest_float("bandwidth", *BANDWIDTH)
        found, cost = evaluated(cores, clock, bandwidth)
        seen.append((float(found), float(cost)))
        return seen[-1]

    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        study = optuna.create_study(directions=["minimize"] * 2, sampler=made(seed=seed))
        study.optimize(objectives, timeout=seconds)
    finally:
        optuna.logging.set_verbosity(verbosity)
    return unbettered(np.array(seen))


class Program:
    """The geometric program of least energy within a deadline, in cvxpy, built once (deadline a parameter).

    ``whole``: the number of cores is a parameter too.
    """

    def __init__(self, *, whole: bool = False) -> None:
        import cvxpy as cp

        self._clock, self._bandwidth, seconds = (cp.Variable(pos=True) for _ in range(3))
        self.cores = cp.Parameter(pos=True) if whole else cp.Variable(pos=True)
        self.deadline = cp.Parameter(pos=True)
        limits = [
            COMPUTE / (self.cores * self._clock) <= seconds,
            MOVE / self._bandwidth <= seconds,
            seconds <= self.deadline,
            *(
                e
                for v, ends in ((self._clock, CLOCK), (self._bandwidth, BANDWIDTH))
                for e in _between(v, ends)
            ),
        ]
        if not whole:
            limits += _between(self.cores, CORES)
        watts = CONSTANT + PER_CORE * self.cores + PER_BANDWIDTH * self._bandwidth
        cost = FLOPS * self._clock**2 + BYTES + watts * seconds + START * self.cores
        self._least_energy = cp.Problem(cp.Minimize(cost), limits)
        self._least_time = cp.Problem(cp.Minimize(seconds), limits)

    def solved(self, deadline: float, *, fastest: bool = False) -> tuple[float, float, float] | None:
        """Return cores, clock (GHz) and bandwidth (TB/s) of least energy or time; None where there are none."""
        self.deadline.value = deadline
        problem = self._least_time if fastest else self._least_energy
        problem.solve(solver="CLARABEL", gp=True, enforce_dpp=True)
        if problem.status not in {"optimal", "optimal_inaccurate"}:
            return None
        return float(self.cores.value), float(self._clock.value), float(self._bandwidth.value)


def _between(variable: Any, ends: tuple[float, float]) -> list[Any]:
    return [variable >= ends[0], variable <= ends[1]]


LATE = 1e6
"""Seconds: a deadline that forbids nothing."""


def ends(program: Program) -> tuple[float, float]:
    """Return the least time there is, and the time of the design of least energy."""
    fastest, cheapest = program.solved(LATE, fastest=True), program.solved(LATE)
    assert fastest is not None, "without a deadline there are designs"
    assert cheapest is not None, "without a deadline there are designs"
    return float(evaluated(*fastest)[0]), float(evaluated(*cheapest)[0])


def cvxpy(seed: int, seconds: float) -> Array:
    """Deadlines one after the other: the program solved, then again with the cores rounded down and up."""
    until = time.perf_counter() + seconds
    relaxed, rounded = Program(), Program(whole=True)
    first, last = ends(relaxed)
    found: list[tuple[float, float]] = []
    for level in _levels():
        # a hair later than the least time, which a solver's tolerance may miss
        deadline = first * (1 + 1e-6) * (last / first) ** level
        design = relaxed.solved(deadline)
        for cores in {math.floor(design[0]), math.ceil(design[0])} if design else ():
            rounded.cores.value = min(max(cores, CORES[0]), CORES[1])
            whole = rounded.solved(deadline)
            if whole is not None:
                place = evaluated(whole[0], np.clip(whole[1], *CLOCK), np.clip(whole[2], *BANDWIDTH))
                found.append((float(place[0]), float(place[1])))
        if time.perf_counter() >= until:
            break
    return unbettered(np.array(found))


def deadlines(deadlines: Array) -> Array:
    """Return the least energy within each deadline, cores divisible."""
    program = Program()
    found = [program.solved(float(d)) for d in deadlines]
    return np.array([np.nan if x is None else evaluated(*x)[1] for x in found])


def _levels() -> Iterator[float]:
    """Both ends, then ever finer halves: whenever one stops, they are spread evenly."""
    yield from (0.0, 1.0)
    parts = 2
    while True:
        yield from (k / parts for k in range(1, parts, 2))
        parts *= 2
