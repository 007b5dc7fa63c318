"""Global solution by SCIP through Pyomo, in a process of its own that can be killed.

An independent cross-check and a fallback. The question goes to the child as a log program (on standard
input); ``python -m solvers.nonlinear.scip`` builds the Pyomo model and solves it. SCIP's bound is a
number of a floating-point solver (it has been seen to overshoot by 1e-9), and its "infeasible" alone proves
nothing.
"""

from __future__ import annotations

import json
import math
import pickle
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from dse.system.processes import end_with_parent, environment
from formulations import evaluation
from formulations.arithmetics.posynomial import NotPosynomial
from formulations.pyomo_models.log_data import LARGEST_LOG, LogProgram
from formulations.pyomo_models.log_program import log_program
from formulations.tolerances import HOLDS
from results.solution import Status
from scenarios.question import Question
from solvers import boxes, judgement
from solvers.outcome import BY_SCIP, Outcome
from solvers.sampling import descent

SOLVER = BY_SCIP
SCIP_GAP = 1e-7
TOLERANCE = 1e-9
CLOCK_SECONDS, GRACE = 3.0, 20.0
"""Seconds of the clock for one of the processor that a child may take, and more, before it is killed."""
DESIGNS_BESIDE, BESIDE_FOLLOWED = 4096, 8
"""Designs that are scattered before a bound of SCIP is believed, and how many of them are followed downhill."""


def solve(
    question: Question,
    *,
    seconds: float = 60.0,
    isolated: bool = True,
    known: Sequence[Mapping[str, float]] = (),
) -> Outcome:
    """Minimise the first objective with SCIP.

    ``known``: designs; what interval arithmetic shows to be worse than the best of them is not searched.
    ``seconds``: of the processor, which SCIP may take; the child is killed long after. ``isolated``: solve in a child
    process (False: in this one, faster by the start of a process, but a stuck SCIP then cannot be stopped).
    The point is re-evaluated: where it breaks a limit by more than 1e-8, and where SCIP says "infeasible",
    the outcome is ``error`` with the word of SCIP in ``message``, for the caller to prove or to refute.
    """
    where = boxes.space(question)
    zero = [name for name, low in zip(where.names, where.low, strict=True) if low == 0]
    if zero:
        return Outcome(
            Status.ERROR, solver=SOLVER, message=f"SCIP is asked in logarithms, and {zero[0]} may be 0"
        )
    best = _best(question, where, known)
    kept = boxes.tighten(question, where, best)
    if kept is None and best < math.inf:
        return Outcome(
            Status.ERROR,
            solver=SOLVER,
            message="SCIP is not asked: no part of the box is as good as what is known",
        )
    if kept is None:
        text = "interval arithmetic: no part of the box can meet all limits"
        return Outcome(Status.INFEASIBLE, certificate=text, solver="interval arithmetic")
    box = {name: (float(low), float(high)) for name, low, high in zip(where.names, *kept, strict=True)}
    try:
        program = log_program(question, box)
    except NotPosynomial as refusal:
        return Outcome(Status.ERROR, solver=SOLVER, message=f"SCIP cannot be asked: {refusal}")
    word = _in_child(program, seconds) if isolated else run(program, seconds)
    return heard(question, where, program, word, best)


def _best(question: Question, where: boxes.Space, known: Sequence[Mapping[str, float]]) -> float:
    """What is minimised at the best of some designs; infinite where none meets all limits."""
    if not known or not question.objectives:
        return math.inf
    worst, goal = boxes.measured(question, np.array([[x[name] for name in where.names] for x in known]))
    return float(np.min(np.where((worst <= 1 + HOLDS) & ~np.isnan(goal), goal, np.inf)))


def heard(
    question: Question, where: boxes.Space, program: LogProgram, word: dict[str, Any], best: float = math.inf
) -> Outcome:
    """Turn what SCIP said (see ``run``) into an outcome.

    Its point is re-evaluated, its "infeasible" not believed. ``best``: what is not searched is
    worse than that.
    """
    if word.get("y") is None:
        return Outcome(Status.ERROR, solver=SOLVER, message=f"SCIP: {word['status']}")
    logs = np.array([[min(word["y"][name], LARGEST_LOG) for name in where.names]])
    point = where.point(np.exp(logs))
    worst, goal = boxes.measured(question, point)
    if worst[0] > 1 + HOLDS:
        # a design that uses SCIP's tolerance is pulled back inside its limits
        point = descent.descents(question, where, point)
        worst, goal = boxes.measured(question, point)
    x = dict(zip(where.names, map(float, point[0]), strict=True))
    if not worst[0] <= 1 + HOLDS:
        return Outcome(
            Status.ERROR, solver=SOLVER, message=f"SCIP's design breaks a limit by {worst[0] - 1:.1e}"
        )
    if not question.objectives:
        return Outcome(Status.FEASIBLE, x, certificate="a design that meets all limits", solver=SOLVER)
    bound = None if word.get("bound") is None else program.objective(word["bound"])
    value = evaluation.to_minimise(question, goal[0])
    if bound is not None and best < math.inf:
        bound = question.sign * min(
            question.sign * bound, question.sign * float(evaluation.to_minimise(question, best))
        )
    closed = bound is not None and judgement.relative_gap(value, bound) <= question.gap
    text = f"bound of SCIP's branch and bound (status {word['status']}), floating point"
    found = Outcome(Status.OPTIMAL if closed else Status.FEASIBLE, x, bound, text, SOLVER)
    return believed(question, found, [x, *(_scattered(question, where, program) if closed else ())])


def _scattered(question: Question, where: boxes.Space, program: LogProgram) -> list[dict[str, float]]:
    """Return designs that SCIP has no part in: the best of many scattered ones, and where these lead downhill.

    To SCIP numbers nearer than 1e-9 are one, so that where exponentials are next to nothing it has lost designs.
    """
    ends = {v.name: (v.low, v.high) for v in program.variables}
    low, high = np.exp([ends[name] for name in where.names]).T
    scattered = np.random.default_rng(0).random((DESIGNS_BESIDE, low.size))
    points = where.point(where.spread(low, high, scattered))
    for _ in range(2):
        worst, goal = boxes.measured(question, points)
        held = np.flatnonzero((worst <= 1 + judgement.END_ROUNDING) & ~np.isnan(goal))
        best = points[held[np.argsort(goal[held], kind="stable")[:BESIDE_FOLLOWED]]]
        points = np.concatenate([best, descent.descents(question, where, best)])
    return [dict(zip(where.names, map(float, x), strict=True)) for x in best]


def believed(question: Question, found: Outcome, designs: Iterable[Mapping[str, float]]) -> Outcome:
    """Return SCIP's answer to a question, without its bound where one of these designs, in its box, is better."""
    if found.bound is None:
        return found
    where = boxes.space(question)
    for x in designs:
        point = np.array([x[name] for name in where.names])
        inside = (where.low * (1 - HOLDS) <= point) & (point <= where.high * (1 + HOLDS))
        reached = float(evaluation.objective(question, x, evaluation.metrics(question, x)))
        if inside.all() and judgement.disproves(question, reached, found.bound):
            text = f"SCIP's bound {found.bound:g} is not believed: a design reaches {reached:g}"
            return replace(found, status=Status.FEASIBLE, bound=None, certificate=text)
    return found


def _in_child(program: LogProgram, seconds: float) -> dict[str, Any]:
    """Solve in a child process; killed when it does not come back in time."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", "solvers.nonlinear.scip"],
            input=pickle.dumps((program, seconds)),
            capture_output=True,
            timeout=CLOCK_SECONDS * seconds + GRACE,
            env=environment(),
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"status": f"killed: it did not stop within {CLOCK_SECONDS * seconds + GRACE:g} s"}
    if done.returncode != 0:
        return {"status": f"the child failed: {done.stderr.decode().strip().splitlines()[-1:]}"}
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def run(program: LogProgram, seconds: float) -> dict[str, Any]:
    """Solve a log program here.

    Status, log variables ``y`` (None: no point) and the bound of the goal variable.
    """
    import pyomo.environ as pyo

    from formulations.pyomo_models.log_models import log_model

    assert pyo, "Pyomo's solvers are registered by importing its environment"
    model = log_model(program)
    result = pyomo_solver().solve(
        model,
        time_limit=seconds,
        threads=1,
        abs_gap=SCIP_GAP if program.goal and not program.plain else None,
        rel_gap=0.0 if program.goal and not program.plain else SCIP_GAP,
        load_solutions=False,
        raise_exception_on_nonoptimal_result=False,
        # of the processor, so that what else runs here changes no answer
        solver_options={"numerics/feastol": TOLERANCE, "timing/clocktype": 1, "display/verblevel": 0},
    )
    word: dict[str, Any] = {"status": result.termination_condition.name, "y": None, "bound": None}
    if result.incumbent_objective is not None:
        values = result.solution_loader.get_vars([model.y[v.name] for v in program.variables])
        word["y"] = {v.name: float(values[model.y[v.name]]) for v in program.variables}
    bound = result.objective_bound
    if program.goal and bound is not None and math.isfinite(bound):
        word["bound"] = float(bound)
    return word


class _Unlocked:
    """A model of SCIP that lets other threads of Python run while it is solved.

    Pyomo reads what is written meanwhile, by a thread; SoPlex's warnings, too, which no option silences. With the lock
    held nobody reads them, and a full pipe stops SCIP for ever, so that its own limit of time cannot end it.
    """

    def __init__(self, model: Any) -> None:
        self._model = model

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def optimize(self) -> None:
        """Solve."""
        self._model.optimizeNogil()


@cache
def _pyomo_solver_class() -> Any:
    from pyomo.contrib.solver.solvers.scip.scip_direct import ScipDirect

    def made(self: Any, model: Any, config: Any) -> tuple[Any, ...]:
        of_scip, *rest = ScipDirect._create_solver_model(self, model, config)
        return _Unlocked(of_scip), *rest

    return type("UnlockedScip", (ScipDirect,), {"_create_solver_model": made})


def pyomo_solver() -> Any:
    """Return Pyomo's interface to SCIP, which others of this process can run beside."""
    return _pyomo_solver_class()()


def main() -> None:
    """Read a program from standard input, solve it, write the answer as the last line of standard output."""
    end_with_parent()
    word = run(*pickle.load(sys.stdin.buffer))
    sys.stdout.write("\n" + json.dumps(word) + "\n")


if __name__ == "__main__":
    main()
