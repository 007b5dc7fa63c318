"""One question of each class, answered inside the process."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness import Bench, Way, agrees
from benchmarks.without_dse import by_hand
from formulations import evaluation
from formulations.canonical import canonical
from formulations.problem import formulate
from scenarios import load
from scenarios.question import Question
from scenarios.questions import question
from solvers import enumeration
from solvers.answer import answer
from solvers.geometric.programs import branch

TITLE = "One question inside the process"
FLOATS = "yes, in floats"
EVERY = "yes, all designs tried"
INPUT = {"bodies": 1e5, "flops_per_pair": 10}
FREE = {"max": by_hand.MOST}
WHOLE = {**FREE, "integer": True}
POWERS = {**FREE, "powers_of": 2}
DEADLINE, CAP, CAP_TOO_LOW = 0.05, 1000.0, 500.0
POINTS, MOST, FFT_DEADLINE = 2**24, 100_000, 0.02
ORDINARY = np.geomspace(1.0, by_hand.MOST, 1000)
COUNTS = np.arange(1.0, by_hand.MOST + 1)
LEAST = np.array([1e-11, 1e-8])


def nbody(
    processors: Mapping[str, Any], minimize: str = "energy", **limits: Mapping[str, Any]
) -> dict[str, Any]:
    """Write an n-body question with memory to be decided, shaped like a file."""
    return {
        "model": "nbody",
        "machine": "balanced",
        "given": INPUT,
        "decide": {"processors": processors, "memory": {}},
        "objective": {"minimize": minimize},
        "limits": limits,
    }


def benches() -> list[Bench]:
    """One bench per class."""
    return [*_easy(), *_integers(), *_capped(), _scan(), _linear(), _conflict()]


def objective(asked: Question) -> float:
    """Answer a question whole, as dse.solve does once the file is read."""
    found = answer(asked).objective
    return math.nan if found is None else found


def optimum(asked: Question) -> float:
    """Only formulate a question and find its certified minimum."""
    problem = formulate(asked)
    assert problem.goal is not None, "the question has an objective"
    return problem.goal.to_user(branch.closely(canonical(problem, problem.goal)).value[0])


def _whole(asked: Question, task: Callable[[Question], Any] = objective, bound: str = "yes") -> Way:
    return Way("dse, whole answer", partial(task, asked), bound=bound)


def _bare(asked: Question) -> Way:
    return Way("dse, bare optimum", partial(optimum, asked), bound="yes")


def _scip(goal: str, deadline: float = math.inf, cap: float = math.inf, **whole: bool) -> Way:
    return Way(
        "Pyomo + SCIP, scaled by hand", partial(by_hand.scip, goal, deadline, cap, **whole), bound=FLOATS
    )


def _slsqp(goal: str, deadline: float = math.inf, cap: float = math.inf) -> Way:
    return Way("SciPy SLSQP, logs, one start", partial(by_hand.slsqp, goal, deadline, cap), bound="no")


def _grid(goal: str, counts: np.ndarray[Any, Any], deadline: float = math.inf, cap: float = math.inf) -> Way:
    name = f"NumPy grid, {counts.size} x 1000"
    return Way(name, partial(by_hand.grid, goal, counts, 1000, deadline, cap), bound="no")


def _easy() -> list[Bench]:
    scenario = nbody(FREE, time={"max": DEADLINE})
    asked = question(load(scenario))
    fixed = {
        "model": "nbody",
        "machine": "balanced",
        "given": {**INPUT, "processors": 1024, "memory": 2000},
    }
    known = question(load(fixed))
    return [
        Bench(
            "evaluation",
            _whole(known, lambda q: answer(q).metrics["energy"], "nothing decided"),
            (Way("plain Python, all metrics", lambda: by_hand.metrics(1024.0, 2000.0)["energy"]),),
            bare=Way("dse, metrics only", lambda: evaluation.metrics(known, {})["energy"]),
            check=agrees,
            rounds=100,
        ),
        Bench(
            "GP: deadline",
            _whole(asked),
            (
                Way("dse, from mapping to answer", lambda: objective(question(load(scenario))), bound="yes"),
                Way("cvxpy DGP + Clarabel", partial(by_hand.cvxpy_energy, DEADLINE), bound="no"),
                _scip("energy", DEADLINE),
                _slsqp("energy", DEADLINE),
                _grid("energy", ORDINARY, DEADLINE),
            ),
            bare=_bare(asked),
            check=agrees,
        ),
    ]


def _integers() -> list[Bench]:
    found = []
    for name, processors, counts in (
        ("MIGP: deadline, whole processors", WHOLE, COUNTS),
        ("MIGP: deadline, powers of two", POWERS, 2.0 ** np.arange(13)),
    ):
        asked = question(load(nbody(processors, time={"max": DEADLINE})))
        others = (
            _scip("energy", DEADLINE, whole=processors is WHOLE, menu=processors is POWERS),
            Way(
                "NumPy, every p, best M derived by hand",
                partial(by_hand.every_count, counts, DEADLINE),
                bound=EVERY,
            ),
            _grid("energy", counts, DEADLINE),
        )
        found.append(Bench(name, _whole(asked), others, bare=_bare(asked), check=agrees))
    return found


def _capped() -> list[Bench]:
    found = []
    for name, processors, counts in (
        ("NLP: least time, power cap", FREE, ORDINARY),
        ("MINLP: least time, power cap, whole processors", WHOLE, COUNTS),
    ):
        asked = question(load(nbody(processors, "time", power={"max": CAP})))
        others = [_scip("time", cap=CAP, whole=processors is WHOLE), _grid("time", counts, cap=CAP)]
        if processors is FREE:
            others.insert(1, _slsqp("time", cap=CAP))
        found.append(Bench(name, _whole(asked), tuple(others), bare=_bare(asked), check=agrees))
    return found


def _scan() -> Bench:
    asked = question(
        load(
            {
                "model": "fft",
                "machine": "balanced",
                "given": {"points": POINTS, "all_to_all": "tree"},
                "decide": {"processors": {"max": MOST, "integer": True}},
                "objective": {"minimize": "energy"},
                "limits": {"time": {"max": FFT_DEADLINE}},
            }
        )
    )
    by_numpy = partial(by_hand.fft_scan, POINTS, MOST, FFT_DEADLINE)
    return Bench(
        "integer scan: FFT, 100 000 counts",
        _whole(asked, bound=EVERY),
        (Way("NumPy argmin", by_numpy, bound=EVERY),),
        bare=Way("dse, scan only", lambda: enumeration.optimum(asked).bound, bound=EVERY),
        check=agrees,
    )


def _linear() -> Bench:
    asked = question(
        load(
            {
                "model": "nbody",
                "machine": "balanced",
                "given": {**INPUT, "processors": 1024, "memory": 2000},
                "decide": {
                    "machine.energy_per_flop": {"min": LEAST[0], "max": 1e-9},
                    "machine.energy_per_word": {"min": LEAST[1], "max": 1e-5},
                },
                "objective": {"minimize": "energy"},
                "limits": {"efficiency": {"min": 1e9}},
            }
        )
    )
    by_scipy = partial(by_hand.linear, 1024.0, 2000.0, 1e9, LEAST)
    return Bench(
        "LP: energies of a machine",
        _whole(asked),
        (Way("SciPy linprog, scaled by hand", by_scipy, bound="no"),),
        bare=_bare(asked),
        check=agrees,
    )


def _conflict() -> Bench:
    asked = question(load(nbody(WHOLE, time={"max": DEADLINE}, power={"max": CAP_TOO_LOW})))

    def why(asked: Question) -> np.ndarray[Any, Any]:
        conflict = answer(asked).conflict
        return np.array([conflict[name] for name in ("time", "power")], float)

    def proof(asked: Question) -> None:
        problem = formulate(asked)
        found = branch.closely(canonical(problem, problem.goal))
        assert found.status[0] == branch.INFEASIBLE, "the two limits conflict"

    return Bench(
        "infeasible: which limits conflict, and the values that make it feasible",
        _whole(asked, why),
        (
            Way(
                "Pyomo + SCIP, three solves by hand",
                partial(by_hand.would_do, DEADLINE, CAP_TOO_LOW),
                bound=FLOATS,
            ),
        ),
        bare=Way("dse, proof only", partial(proof, asked), bound="yes"),
        check=agrees,
    )
