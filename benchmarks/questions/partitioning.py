"""Twelve regions on two processors, and a setting for each of six phases: one question, and 60 deadlines.

Ours is dse.solve and dse.sweep from a loaded scenario to the labelled dataset; every value is checked to 1e-9.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import dse
from benchmarks.harness import Bench, Result, Way, agrees
from benchmarks.questions.solving import EVERY, FLOATS
from benchmarks.report import spread
from benchmarks.without_dse import by_hand_programs as by_hand
from benchmarks.without_dse.by_hand_programs import Array
from formulations.programs.program import program
from scenarios import Scenario
from scenarios.questions import question
from solvers.linear import milp

TITLE = "Partitions and settings"
AGREE = 1e-9
DEADLINE, PHASES_DEADLINE = 1.0, 9.0
# from where no design is quick enough to where a later deadline saves nothing more
FIRST, LAST = 0.93, 1.16
PHASES_FIRST, PHASES_LAST = 8.5, 10.5
# the flops of a region (Gflop) and the GPU's time per byte (seconds per GB) that are swept; points solved by hand
REGION, WORK, BYTE, SAMPLE = 6, (10.0, 120.0), (0.006, 0.018), 500
NAMES = ("flops", "flops_double", "integer_operations", "bytes")
FRESH = "Pyomo + HiGHS, built for each point"


def benches(points: int = 60, many: int = 100_000) -> list[Bench]:
    """Whole regions, divisible regions, settings: the single question and the sweep of each; programs by the many."""
    whole, divided = _partition(whole=True), _partition(whole=False)
    settings = _settings()
    return [
        _single("MILP: 12 whole regions, least energy by a deadline", whole, DEADLINE, _others(whole=True)),
        _sweep(f"{points} deadlines of it", whole, (FIRST, LAST), points, _others(whole=True)),
        _single("LP: 12 divisible regions, the same", divided, DEADLINE, _others(whole=False)),
        _sweep(f"{points} deadlines of it, divisible", divided, (FIRST, LAST), points, _others(whole=False)),
        _single("MILP: 6 phases, 16 settings", settings, PHASES_DEADLINE, _others_of_settings()),
        _sweep(
            f"{points} deadlines of the phases",
            settings,
            (PHASES_FIRST, PHASES_LAST),
            points,
            _others_of_settings(),
        ),
        _over_axes(divided, many),
    ]


def _partition(*, whole: bool) -> dict[str, Any]:
    regions = [
        {"flops": float(f) * 1e9, "bytes": float(b) * 1e9, "divisible": not whole} for f, b in by_hand.REGIONS
    ]
    return {
        "model": "partition",
        "machine": {"cpu": "i3-2100t-tang2017", "gpu": "gtx-750-tang2017"},
        "given": {"regions": regions},
        "objective": {"minimize": "energy"},
    }


def _settings() -> dict[str, Any]:
    phases = [
        {"name": f"phase{i}"} | {n: float(v) * 1e9 for n, v in zip(NAMES, row, strict=True)}
        for i, row in enumerate(by_hand.PHASES)
    ]
    return {
        "model": "dvfs",
        "machine": "jetson-tk1-choi2016",
        "given": {"phases": phases},
        "objective": {"minimize": "energy"},
    }


Others = dict[str, tuple[Callable[[Array], Array], str]]


def _others(*, whole: bool) -> Others:
    """What answers for an array of deadlines, by name, with what it proves."""
    build = partial(by_hand.pyomo_partition, whole=whole)
    found: Others = {
        FRESH: (partial(by_hand.pyomo_fresh, build), FLOATS),
        "Pyomo + HiGHS, one model, parameter changed": (partial(by_hand.pyomo_persistent, build), FLOATS),
        "highspy, one object, bound changed": (partial(by_hand.highs_partition, whole=whole), FLOATS),
    }
    return found | ({"NumPy, 4096 placements once": (by_hand.every_placement, EVERY)} if whole else {})


def _others_of_settings() -> Others:
    build = by_hand.pyomo_settings
    return {
        FRESH: (partial(by_hand.pyomo_fresh, build), FLOATS),
        "Pyomo + HiGHS, one model, parameter changed": (partial(by_hand.pyomo_persistent, build), FLOATS),
        "NumPy, all 16^6 combinations once": (by_hand.every_combination, EVERY),
        "NumPy, phase by phase, dominated ones left out": (by_hand.phase_by_phase, EVERY),
    }


def _single(name: str, asked: dict[str, Any], deadline: float, others: Others) -> Bench:
    scenario = dse.load({**asked, "limits": {"time": {"max": deadline}}})
    at = np.array([deadline])
    return Bench(
        name,
        Way("dse.solve, whole answer", lambda: dse.solve(scenario).objective, bound="yes"),
        tuple(
            Way(n, lambda task=task: float(task(at)[0]), bound=bound) for n, (task, bound) in others.items()
        ),
        bare=Way("dse, bare optimum", partial(_optimum, scenario), bound="yes"),
        check=partial(agrees, within=AGREE),
    )


def _optimum(scenario: Scenario) -> float:
    """Only read the question, write it as a program and find its certified minimum."""
    p = program(question(scenario))
    assert p.goal is not None, "the question has an objective"
    assert p.under is not None, "the question has an objective"
    return milp.least(p, milp.numbers(p), p.goal, p.under).bound


def _sweep(name: str, asked: dict[str, Any], ends: tuple[float, float], points: int, others: Others) -> Bench:
    axis = {"path": "limits.time.max", "start": ends[0], "stop": ends[1], "num": points}
    scenario = dse.load({**asked, "sweep": {"deadline": axis}})
    deadlines = np.linspace(*ends, points)

    def sweep() -> Any:
        return dse.sweep(scenario, workers=1, progress=False)["energy"].to_numpy()

    ours = Way("dse.sweep, whole answers", sweep, bound="yes", points=points)
    ways = {n: Way(n, partial(task, deadlines), bound=b, points=points) for n, (task, b) in others.items()}

    def faster(result: Result) -> str:
        times = spread([1 / r for r in result.ratios(ours, ways[FRESH])])
        return f"The sweep is {times} times faster than Pyomo built for each point."

    return Bench(
        name,
        ours,
        tuple(ways.values()),
        check=_same_points,
        rounds=7,
        remark=faster,
    )


def _over_axes(asked: dict[str, Any], points: int) -> Bench:
    """As many linear programs over a workload and a machine axis; by hand at every so many of them."""
    side = round(points**0.5)
    flops, byte = np.linspace(*WORK, side), np.linspace(*BYTE, side)
    axes = {
        "work": {
            "path": f"given.regions.{REGION + 1}.flops",
            "start": WORK[0] * 1e9,
            "stop": WORK[1] * 1e9,
            "num": side,
        },
        "byte": {
            "path": "machine.gpu.time_per_byte",
            "start": BYTE[0] / 1e9,
            "stop": BYTE[1] / 1e9,
            "num": side,
        },
    }
    scenario = dse.load({**asked, "limits": {"time": {"max": DEADLINE}}, "sweep": axes})
    every = max(1, side**2 // SAMPLE)
    chosen = [(float(f), float(b)) for f in flops for b in byte][::every]

    def sweep() -> Any:
        return dse.sweep(scenario, workers=1, progress=False, audit=0)["energy"].to_numpy().ravel()

    def by_pyomo() -> Any:
        found = np.full(side**2, np.nan)
        found[::every] = by_hand.pyomo_over_axes(DEADLINE, REGION, chosen)
        return found

    ours = Way("dse.sweep, whole answers", sweep, bound="yes", points=side**2)
    theirs = Way(
        f"Pyomo + HiGHS, one model, parameters changed ({len(chosen)} points)",
        by_pyomo,
        bound=FLOATS,
        points=len(chosen),
    )

    def faster(result: Result) -> str:
        times = spread([1 / r for r in result.ratios(ours, theirs)])
        return (
            f"Per point the sweep is {times} times faster than one Pyomo model with its parameters changed."
        )

    return Bench(
        f"{side**2} LPs: 12 divisible regions, by a region's flops and the GPU's time per byte",
        ours,
        (theirs,),
        check=partial(_same_where_both, every=every),
        rounds=5,
        remark=faster,
    )


def _same_where_both(ours: Array, theirs: Array, every: int) -> str:
    """Compare the points that were solved by hand."""
    return _same_points(ours[::every], theirs[::every])


def _same_points(ours: Array, theirs: Array) -> str:
    """Say whether the same points have a design, and of those whether the values are the same."""
    missing = int((np.isnan(ours) != np.isnan(theirs)).sum())
    if missing:
        return f"NO: {missing} points have a design in one of them only"
    none = int(np.isnan(ours).sum())
    return agrees(ours, theirs, within=AGREE) + (f", {none} without a design" if none else "")
