"""Random questions whose limits may fail in some of at most 12 two-point worlds, and every set of worlds tried.

The questions are those of ``decide_now_instances``. For each set of worlds that may fail the least objective over all
others is found by SciPy's SLSQP in log p and log M with the equations typed there; nothing of the engine is used for
it. Run for 200 instances:

    PYTHONPATH=.:tests/oracle python tests/oracle/chance_instances.py 200
"""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from dataclasses import replace
from typing import Any

import decide_now_instances as plain
import numpy as np
from scipy.optimize import minimize

NEAR = 2e-6
counts: Counter[str] = Counter()


def instance(number: int, machine: dict[str, float]) -> tuple[plain.Instance, tuple[str, ...], int]:
    """Return a question of energy or time, the limits that may fail together, and in how many worlds."""
    rng = np.random.default_rng([16, number])
    while True:
        q = plain.instance(rng, machine)
        limits = {n: v * rng.uniform(0.8, 1.0) for n, v in q.limits.items() if n in ("time", "energy")}
        goal = "energy" if "time" in limits else "time"
        limits.pop(goal, None)
        if limits and q.count >= 3:
            break
    measure = str(rng.choice(["mean", "worst"]))
    if rng.random() < 0.3:
        # limits of two metrics that fail together; the mean of energy times delay is a posynomial, too
        limits = {"time": next(iter(limits.values())), **limits}
        at = plain.metrics(q, np.array([q.most**0.5]), np.array([q.bodies / q.most**0.35]))
        limits = {n: float(np.quantile(at[n], 0.7) * rng.uniform(0.9, 1.5)) for n in ("time", "energy")}
        goal = "energy_delay"
    return replace(q, goal=goal, measure=measure, limits=limits), tuple(limits), int(rng.integers(1, 3))


def by_hand(q: plain.Instance, may_fail: int) -> float:
    """Return the least measure over every set of worlds that may fail (infinite: no set leaves a design)."""
    best = np.inf
    for out in itertools.combinations(range(q.count), min(may_fail, q.count)):
        best = min(best, _least(q, np.setdiff1d(np.arange(q.count), out)))
    return float(best)


def _least(q: plain.Instance, kept: np.ndarray) -> float:
    def at(y: np.ndarray) -> dict[str, np.ndarray]:
        found = plain.metrics(q, np.exp(y[:1]), np.exp(y[1:2]))
        return {n: v[0] for n, v in found.items()}

    def room(y: np.ndarray) -> np.ndarray:
        now = at(y)
        rows = [np.log(bound) - np.log(now[n][kept]) for n, bound in q.limits.items()]
        n = np.log(q.bodies)
        ends = np.array([y[0] + y[1] - n, n - y[1] - y[0] / 2])
        worst = [y[2] - np.log(now[q.goal])] if q.measure == "worst" else []
        return np.concatenate([*rows, ends, *worst])

    def goal(y: np.ndarray) -> float:
        return float(y[2]) if q.measure == "worst" else float(np.log(at(y)[q.goal].mean()))

    best, ends = np.inf, [(0.0, np.log(q.most)), (0.0, np.log(q.bodies))]
    for share in (0.5, 0.95):
        u = share * np.log(q.most)
        start = np.array([u, max(np.log(q.bodies) - 0.75 * u, 0.0)])
        if q.measure == "worst":
            start = np.append(start, np.log(at(start)[q.goal].max()))
        found = minimize(
            goal,
            start,
            bounds=ends + ([(None, None)] if q.measure == "worst" else []),
            constraints={"type": "ineq", "fun": room},
            method="SLSQP",
            options={"ftol": 1e-13, "maxiter": 300},
        )
        if room(found.x).min() >= -1e-8:
            best = min(best, float(np.exp(goal(found.x))))
    return best


def wrong(number: int, machine: dict[str, float]) -> str:
    """What is wrong with the engine's answer to an instance; empty where it agrees with enumeration."""
    from scenarios.uncertainty.promises import Promise
    from solvers.robust.robust_answers import answered

    q, names, may_fail = instance(number, machine)
    promise = Promise(names, 1.0 - may_fail / q.count, 0.0)
    asked: Any = replace(plain.asked(q), promised=((promise, may_fail),))
    told, truth = answered(asked), by_hand(q, may_fail)
    if told.status.value == "infeasible":
        counts["infeasible"] += 1
        return "" if np.isinf(truth) else f"called infeasible, and enumeration has {truth}"
    if told.status.value != "optimal" or told.objective is None or told.bound is None:
        return f"{told.status.value}: {told.message} {told.certificate} {told.gap}"
    counts[f"{q.measure} of {q.goal}"] += 1
    p, memory = (np.array([told.variables[n]]) for n in ("processors", "memory"))
    at = plain.metrics(q, p, memory)
    broken = np.any([at[n][0] > bound * (1 + 1e-8) for n, bound in q.limits.items()], axis=0)
    if broken.sum() > may_fail:
        return f"the design fails in {broken.sum()} worlds, not {may_fail}"
    own = float(plain.measured(q, at[q.goal])[0])
    if abs(own - told.objective) > 1e-9 * own:
        return f"the objective is {own}, not {told.objective}"
    # SLSQP may end early; it never goes below the optimum
    if abs(truth / told.objective - 1) > NEAR and not told.objective < truth:
        return f"enumeration has {truth}, the engine {told.objective}"
    if told.objective < truth * (1 - 1e-3):
        return f"enumeration ends far above: {truth}, the engine {told.objective}"
    return ""


def main(count: int) -> int:
    """Compare so many instances; the number of those that differ."""
    from dse import machines

    machine = {n: float(machines.get("balanced").parameters[n]) for n in plain.PARAMETERS}
    bad = 0
    for number in range(count):
        said = wrong(number, machine)
        bad += bool(said)
        if said:
            print(number, said, instance(number, machine)[0].goal)
    print(f"{count} instances, {bad} differ from enumeration; {dict(counts)}")
    return bad


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 20) > 0)
