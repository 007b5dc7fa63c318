"""Random questions in at most 12 two-point worlds that no geometric program takes, against a grid of designs.

The questions are those of ``decide_now_instances`` with power (a ratio of sums) limited in all but k worlds or in its
mean or CVaR, power made greatest, quantiles, and a CVaR beside limits that may fail. The grid is refined around its
best designs; its equations are those typed in ``decide_now_instances``, nothing of the engine is used for it. Run for
200 instances:

    PYTHONPATH=.:tests/oracle python tests/oracle/box_instances.py 200
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import decide_now_instances as plain
import numpy as np

SIDE, ROUNDS, PLACES = 81, 14, 4
NEAR = 3e-6
counts: Counter[str] = Counter()


@dataclass(frozen=True)
class Drawn:
    """A question: ``base``, of which ``chances`` (names, may fail in) need not hold everywhere; ``caps``: mean or CVaR
    of metrics, at most so much; ``quantile``: the level of the objective in place of the measure; ``maximize``.
    """

    base: plain.Instance
    chances: tuple[tuple[tuple[str, ...], int], ...] = ()
    caps: tuple[tuple[str, float, float], ...] = ()
    quantile: float | None = None
    maximize: bool = False


def instance(number: int, machine: dict[str, float]) -> Drawn:
    """Draw a question of one of five kinds."""
    rng = np.random.default_rng([160, number])
    while True:
        q = plain.instance(rng, machine)
        if q.count >= 4:
            break
    p = np.exp(rng.uniform(0, np.log(q.most)))
    memory = float(
        np.clip(q.bodies / np.sqrt(p) * rng.uniform(0.3, 1), max(q.bodies / p, 1), q.bodies / np.sqrt(p))
    )
    at = {n: v[0] for n, v in plain.metrics(q, np.array([p]), np.array([memory])).items()}

    def near(name: str, share: float) -> float:
        return float(np.quantile(at[name], share) * rng.uniform(0.95, 1.3))

    k, kind = int(rng.integers(1, 3)), number % 5
    measure = str(rng.choice(["mean", "worst", "cvar"]))
    goal = str(rng.choice(["time", "energy_delay"]))
    if kind == 0:
        return Drawn(
            replace(q, goal=goal, measure=measure, limits={"power": near("power", 0.7)}), ((("power",), k),)
        )
    if kind == 1:
        limits = {"power": near("power", 0.8), "energy": near("energy", 0.8)}
        groups = (
            ((("power", "energy"), k),)
            if rng.random() < 0.5
            else ((("power",), k), (("energy",), int(rng.integers(0, 3))))
        )
        level = float(rng.choice([0.5, 0.7, 0.9])) if rng.random() < 0.5 else None
        return Drawn(replace(q, goal="time", measure=measure, limits=limits), groups, quantile=level)
    if kind == 2:
        share = float(rng.choice([1.0, 0.5, 0.25]))
        value = float(at["power"].mean() * rng.uniform(0.9, 1.5))
        return Drawn(replace(q, goal=goal, measure=measure, limits={}), caps=(("power", share, value),))
    if kind == 3:
        limits = {"energy": near("energy", 1.0), "time": near("time", 1.0)}
        return Drawn(replace(q, goal="power", measure=measure, limits=limits), maximize=True)
    limits = {"time": near("time", 0.7)}
    level = float(rng.choice([0.5, 0.75])) if rng.random() < 0.5 else None
    name = str(rng.choice(["energy", "power"]))
    return Drawn(replace(q, goal=name, measure="cvar", limits=limits), ((("time",), k),), quantile=level)


def judged(d: Drawn, p: np.ndarray, memory: np.ndarray, room: float) -> tuple[np.ndarray, np.ndarray]:
    """What is minimised at designs, infinite where limits do not hold; and the objective."""
    q, at = d.base, plain.metrics(d.base, p, memory)
    holds = (memory * p >= q.bodies * (1 - room)) & (memory * np.sqrt(p) <= q.bodies * (1 + room))
    holds &= (p >= 1 - room) & (p <= q.most * (1 + room)) & (memory >= 1 - room)
    free = {n for names, _ in d.chances for n in names}
    for name, bound in q.limits.items():
        if name not in free:
            holds &= (at[name] <= bound * (1 + room)).all(1)
    for names, k in d.chances:
        fails = np.any([at[n] > q.limits[n] * (1 + room) for n in names], axis=0)
        holds &= fails.sum(1) <= k
    for name, share, end in d.caps:
        holds &= tail(at[name], share) <= end * (1 + room)
    losses = -at[q.goal] if d.maximize else at[q.goal]
    if d.quantile is not None:
        place = max(int(np.ceil(d.quantile * q.count - 1e-9)), 1) - 1
        value = np.sort(losses, axis=1)[:, place]
    else:
        value = plain.measured(q, losses)
    return np.where(holds, value, np.inf), -value if d.maximize else value


def tail(values: np.ndarray, share: float) -> np.ndarray:
    """The mean of the worst share, as the least of t + mean(max(v - t, 0)) / share."""
    above = np.maximum(values[:, None, :] - values[:, :, None], 0).mean(2)
    return np.asarray((values + above / share).min(1))


def grid(d: Drawn) -> float:
    """The least that a design of the grid comes to (infinite: none holds)."""
    q, best = d.base, np.inf
    top = float(np.log(q.most))
    places = [(top / 2, 0.5, top / 2, 0.5)]
    for _ in range(ROUNDS):
        found = []
        for u, s, du, ds in places:
            side = SIDE if len(places) == 1 else 25
            us = np.clip(np.linspace(u - du, u + du, side), 0.0, top)
            ss = np.clip(np.linspace(s - ds, s + ds, side), 0.0, 1.0)
            a, b = (v.ravel() for v in np.meshgrid(us, ss))
            value, _ = judged(d, np.exp(a), np.exp(np.log(q.bodies) - a * (1 - b / 2)), 1e-12)
            here = [k for k in np.argsort(value)[:PLACES] if np.isfinite(value[k])]
            found += [(float(value[k]), float(a[k]), float(b[k]), 3 * du / side, 3 * ds / side) for k in here]
        if not found:
            return best
        found.sort()
        best = min(best, found[0][0])
        places = [f[1:] for f in found[:PLACES]]
    return best


def asked(d: Drawn) -> Any:
    """The same question for the engine."""
    from formulations.uncertainty.measures import Quantile, Weighing
    from formulations.uncertainty.worlds import Cap
    from scenarios.question import Objective
    from scenarios.uncertainty.promises import Promise

    made = plain.asked(d.base)
    goal = (Objective(d.base.goal, maximize=d.maximize),)
    nominal, every = (replace(x, objectives=goal) for x in (made.worlds.nominal, made.worlds.every))
    caps = tuple(Cap(n, Weighing(share), "max", end) for n, share, end in d.caps)
    promised = tuple((Promise(names, 1.0 - k / d.base.count, 0.0), k) for names, k in d.chances)
    return replace(
        made,
        worlds=replace(made.worlds, nominal=nominal, every=every, caps=caps),
        measure=made.measure if d.quantile is None else Quantile(d.quantile),
        promised=promised,
    )


def wrong(d: Drawn) -> str:
    """What is wrong with the engine's answer; empty where the grid has nothing against it."""
    from solvers.robust.decide_now import answered

    told, best = answered(asked(d), brief=True), grid(d)
    counts[told.status.value] += 1
    counts[told.solver] += 1
    if told.status.value == "infeasible":
        return "" if np.isinf(best) else f"called infeasible, and the grid has {best}"
    if told.status.value not in ("optimal", "feasible") or told.objective is None or told.bound is None:
        return f"{told.status.value}: {told.message} {told.certificate} {told.gap}"
    p, memory = (np.array([told.variables[n]]) for n in ("processors", "memory"))
    value, own = (float(v[0]) for v in judged(d, p, memory, 1e-8))
    if np.isinf(value):
        return "the design breaks a limit"
    if abs(own - told.objective) > 1e-9 * abs(own):
        return f"the objective is {own}, not {told.objective}"
    sign = -1.0 if d.maximize else 1.0
    if best < sign * told.bound - 1e-9 * abs(best):
        return f"the grid has {best}, beyond the bound {told.bound}"
    if told.status.value == "optimal" and best < value - NEAR * abs(value):
        return f"the grid has {best}, the engine {told.objective}"
    return ""


def main(count: int) -> int:
    """Compare so many instances; the number of those that differ."""
    from dse import machines

    machine = {n: float(machines.get("balanced").parameters[n]) for n in plain.PARAMETERS}
    bad = 0
    for number in range(count):
        said = wrong(instance(number, machine))
        bad += bool(said)
        if said:
            print(number, said)
    print(f"{count} instances, {bad} differ; {dict(counts)}")
    return bad


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 20) > 0)
