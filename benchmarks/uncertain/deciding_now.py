"""One design for many worlds: mean, worst and CVaR of the energy of an n-body step, beside cvxpy and SciPy.

Two decided numbers, two uncertain costs, a deadline that holds in every sample. cvxpy (with Clarabel) is given the
epigraph of Rockafellar and Uryasev over all samples in log variables, SciPy's SLSQP the measure as a function (for the
mean, which is smooth). The bare way is the master and its cuts, without drawing, ties, sensitivities and the judgement
in every world.
"""

from __future__ import annotations

import math
import time
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness import Bench, Result, Way
from dse import machines
from formulations.uncertainty.measures import MEAN, WORST, Weighing, cvar
from formulations.uncertainty.robust import posed
from formulations.uncertainty.worlds import Worlds
from scenarios import load
from scenarios.question import Question
from scenarios.questions import question
from solvers.robust.decide_now import answer_now, sampled
from solvers.robust.masters.robust_geometric import minimise

TITLE = "One design for many samples"
BODIES, FLOPS, DEADLINE, MOST = 1e5, 10.0, 0.07, 4096.0
NEAR = 1e-5
"""Clarabel's exponential cones, and SLSQP, end within this of the optimum."""
FEW = 2000
"""Samples up to which cvxpy is asked: of 10 000 it takes most of a minute."""
Array = np.ndarray[Any, Any]


def benches(counts: tuple[int, ...] = (1024, 10_000)) -> list[Bench]:
    """Each measure at each number of samples."""
    kinds: dict[str, tuple[dict[str, Any], Weighing]] = {
        "mean": ({"measure": "mean"}, MEAN),
        "CVaR 0.9": ({"cvar": 0.9}, cvar(0.9)),
        "worst": ({"measure": "worst"}, WORST),
    }
    return [_bench(name, goal, measure, n) for n in counts for name, (goal, measure) in kinds.items()]


def _bench(name: str, goal: dict[str, Any], measure: Weighing, count: int) -> Bench:
    asked = _asked(goal, count)
    worlds = sampled(asked)
    # lognormal: the worst is that of the samples
    terms = _terms(worlds)
    others: list[Way] = []
    if count <= FEW:
        others.append(Way("cvxpy + Clarabel", partial(_convex, terms, name), bound="in floats"))
    if name == "mean":
        others.append(Way("SciPy SLSQP", partial(_slsqp, terms)))
    return Bench(
        f"{name} of energy over {count} samples, two decided",
        Way("dse.solve's answer", lambda: answer_now(asked).objective, bound="yes"),
        tuple(others),
        Way(
            "master and cuts", lambda: minimise(posed(worlds), measure, tied=False).outcome.bound, bound="yes"
        ),
        check=agrees,
        rounds=5,
        remark=partial(by_the_processor, asked),
    )


def agrees(ours: Any, theirs: Any) -> str:
    """Say whether two objectives agree to NEAR, and how far they are apart."""
    if not math.isfinite(theirs):
        return "no answer to compare"
    off = abs(theirs - ours) / ours
    return f"yes ({off:.0e})" if off <= NEAR else f"NO: off by {theirs / ours - 1:+.1e}"


def by_the_processor(asked: Question, _: Result) -> str:
    """Say what processor time one answer takes, and how sure it is."""
    began = time.process_time()
    found = answer_now(asked)
    spent = time.process_time() - began
    gap = "" if found.gap is None else f", gap {found.gap:.1g}"
    return f"processor time of one answer {spent:.2g} s; {found.status.value}{gap}"


def _asked(goal: dict[str, Any], count: int) -> Question:
    text = {
        "model": "nbody",
        "machine": "balanced",
        "given": {"bodies": BODIES, "flops_per_pair": FLOPS},
        "decide": {"processors": {"max": MOST}, "memory": {}},
        "objective": {"minimize": "energy", **goal},
        "limits": {"time": {"max": DEADLINE}},
        "uncertain": {
            "machine.energy_per_word": {"lognormal": [3e-6, 1.3]},
            "machine.time_per_flop": {"uniform": [0.9e-9, 1.2e-9]},
            "sampling": {"samples": count},
        },
    }
    return question(load(text))


def _terms(worlds: Worlds) -> tuple[Array, Array, Array, Array]:
    """Log coefficients (N, K) and exponents (K, 2) of time and energy in (p, M), by Demmel et al. (1), (2), (15)."""
    m: dict[str, Any] = {
        n: float(v) for n, v in machines.get("balanced").parameters.items() if isinstance(v, int | float)
    }
    m |= {n.removeprefix("machine."): v for n, v in worlds.uncertain().items()}
    pairs = BODIES**2
    over = m["time_per_word"] + m["time_per_message"] / m["max_message"]
    sent = m["energy_per_word"] + m["energy_per_message"] / m["max_message"]
    took = [(m["time_per_flop"] * FLOPS * pairs, -1.0, 0.0), (over * pairs, -1.0, -1.0)]
    energy = [(m["energy_per_flop"] * FLOPS * pairs, 0.0, 0.0), (sent * pairs, 0.0, -1.0)]
    energy += [(m["memory_power_per_word"] * c, 1 + a, 1 + b) for c, a, b in took]
    energy += [(m["leakage_power"] * c, 1 + a, b) for c, a, b in took]
    found = []
    for terms in (took, energy):
        found.append(np.stack([np.broadcast_to(np.log(c), (worlds.size,)) for c, _, _ in terms], axis=1))
        found.append(np.array([(a, b) for _, a, b in terms]))
    return found[0], found[1], found[2], found[3]


def _convex(terms: tuple[Array, Array, Array, Array], kind: str) -> float:
    import cvxpy as cp

    time_c, time_a, energy_c, energy_a = terms
    y, count = cp.Variable(2), len(time_c)
    size = float(np.exp(energy_c).sum(1).mean())
    ones = np.ones((count, 1))

    def powers(c: Array, a: Array, scale: float) -> Any:
        return cp.exp(c - math.log(scale) + ones @ cp.reshape(a @ y, (1, len(a)), order="C"))

    losses = cp.sum(powers(energy_c, energy_a, size), axis=1)
    limits = [cp.sum(powers(time_c, time_a, DEADLINE), axis=1) <= 1]
    limits += [y[0] >= 0, y[0] <= math.log(MOST), y[1] >= 0]
    limits += [y[0] + y[1] >= math.log(BODIES), y[0] / 2 + y[1] <= math.log(BODIES)]
    if kind == "mean":
        goal: Any = cp.sum(losses) / count
    elif kind == "worst":
        goal = cp.max(losses)
    else:
        t = cp.Variable()
        goal = t + cp.sum(cp.pos(losses - t)) / (0.1 * count)
    try:
        return float(cp.Problem(cp.Minimize(goal), limits).solve(solver="CLARABEL")) * size
    except cp.error.SolverError:  # it says "failed" of some of these
        return math.nan


def _slsqp(terms: tuple[Array, Array, Array, Array]) -> float:
    from scipy.optimize import minimize as slsqp

    time_c, time_a, energy_c, energy_a = terms

    def loss(y: Array) -> float:
        return float(np.log(np.exp(energy_c + energy_a @ y).sum(1).mean()))

    def room(y: Array) -> Array:
        slow = math.log(DEADLINE) - math.log(np.exp(time_c + time_a @ y).sum(1).max())
        return np.array([slow, y[0] + y[1] - math.log(BODIES), math.log(BODIES) - y[0] / 2 - y[1]])

    start = np.array([math.log(3000.0), math.log(BODIES) - 0.6 * math.log(3000.0)])
    ends = [(0.0, math.log(MOST)), (0.0, math.log(BODIES))]
    found = slsqp(
        loss, start, bounds=ends, constraints={"type": "ineq", "fun": room}, options={"ftol": 1e-12}
    )
    return math.exp(found.fun)
