"""Random decide-now questions with two-point distributions, and their optimum on a dense grid refined around the best.

The n-body equations of Demmel et al. 2013, (1), (2), (15) and (16), are written here once more, in plain NumPy; nothing
of the engine is used for the optimum. Run for 200 instances:

    PYTHONPATH=. python tests/oracle/decide_now_instances.py 200
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

PARAMETERS = (
    "time_per_flop", "time_per_word", "time_per_message", "energy_per_flop", "energy_per_word",
    "energy_per_message", "memory_power_per_word", "leakage_power", "max_message",
)  # fmt: skip
SIDE, ROUNDS = 41, 10
COARSE = 1e-3


@dataclass(frozen=True)
class Instance:
    """A question: machine, workload, worlds (arrays by parameter), what is minimised and by which measure, limits."""

    machine: dict[str, float]
    bodies: float
    flops: float
    most: float
    worlds: dict[str, np.ndarray]
    goal: str
    measure: str
    level: float
    limits: dict[str, float]

    @property
    def count(self) -> int:
        return len(next(iter(self.worlds.values())))


def instance(rng: np.random.Generator, machine: dict[str, float]) -> Instance:
    """Draw a question with at most 12 worlds: all combinations of a few two-point numbers, or some of them."""
    names = rng.choice(PARAMETERS[:8], size=rng.integers(1, 4), replace=False)
    low = {n: machine[n] * rng.uniform(0.3, 1.0) for n in names}
    high = {n: low[n] * rng.uniform(1.05, 4.0) for n in names}
    corners = np.array(np.meshgrid(*([0, 1],) * len(names))).reshape(len(names), -1)
    some = rng.permutation(np.tile(np.arange(corners.shape[1]), 2))[: rng.integers(2, 13)]
    worlds = {n: np.where(corners[k][some], high[n], low[n]) for k, n in enumerate(names)}
    bodies, flops, most = (
        float(np.exp(rng.uniform(8, 13))),
        float(rng.uniform(5, 30)),
        float(2 ** rng.integers(4, 14)),
    )
    goal = str(rng.choice(["energy", "time", "energy_delay", "power"], p=[0.5, 0.15, 0.15, 0.2]))
    measure = str(rng.choice(["mean", "worst", "cvar"]))
    drawn = Instance(
        machine, bodies, flops, most, worlds, goal, measure, float(rng.choice([0.5, 0.75, 0.9])), {}
    )
    # limits that some design near the middle keeps, by a margin that may be none
    p = np.exp(rng.uniform(0, np.log(most)))
    memory = float(
        np.clip(bodies / np.sqrt(p) * rng.uniform(0.3, 1), max(bodies / p, 1), bodies / np.sqrt(p))
    )
    at = metrics(drawn, np.array([p]), np.array([memory]))
    limits = {}
    for name in rng.choice(["time", "energy", "power"], size=rng.integers(1, 3), replace=False):
        if name != goal:
            limits[str(name)] = float(at[name].max() * rng.uniform(0.95, 2.0))
    if goal == "power" and "time" not in limits:
        limits["time"] = float(at["time"].max() * rng.uniform(1.0, 2.0))
    return Instance(machine, bodies, flops, most, worlds, goal, measure, drawn.level, limits)


def metrics(q: Instance, p: np.ndarray, memory: np.ndarray) -> dict[str, np.ndarray]:
    """Metrics of designs (D,) in all worlds: arrays (D, N)."""
    p, memory = p[:, None], memory[:, None]
    m = {n: q.worlds.get(n, np.full(q.count, q.machine[n]))[None] for n in PARAMETERS}
    flops, words = q.flops * q.bodies**2 / p, q.bodies**2 / (p * memory)
    messages = words / m["max_message"]
    time = m["time_per_flop"] * flops + m["time_per_word"] * words + m["time_per_message"] * messages
    own = m["energy_per_flop"] * flops + m["energy_per_word"] * words + m["energy_per_message"] * messages
    energy = p * (own + (m["memory_power_per_word"] * memory + m["leakage_power"]) * time)
    return {"time": time, "energy": energy, "power": energy / time, "energy_delay": energy * time}


def measured(q: Instance, values: np.ndarray) -> np.ndarray:
    """The measure over the worlds, by its definition; CVaR as the least of t + mean(max(v - t, 0))/(1 - level)."""
    if q.measure == "mean":
        return values.mean(1)
    if q.measure == "worst":
        return values.max(1)
    above = np.maximum(values[:, None, :] - values[:, :, None], 0).mean(2)
    return (values + above / (1 - q.level)).min(1)


def feasible(
    q: Instance, p: np.ndarray, memory: np.ndarray, at: dict[str, np.ndarray], room: float = 0.0
) -> np.ndarray:
    """Which designs hold every limit in every world."""
    holds = (memory * p >= q.bodies * (1 - room)) & (memory * np.sqrt(p) <= q.bodies * (1 + room))
    holds &= (p >= 1 - room) & (p <= q.most * (1 + room)) & (memory >= 1 - room)
    for name, bound in q.limits.items():
        holds &= (at[name] <= bound * (1 + room)).all(1)
    return holds


def brute_force(q: Instance) -> tuple[float, float] | None:
    """The least measure, and log p there, on a grid refined around its best point; for each p a grid of M, refined too.

    M is taken between n/p words and n/√p, so that both limits of the model are ends of the grid.
    """
    low, high = 0.0, float(np.log(q.most))
    best: tuple[float, float] | None = None
    for _ in range(ROUNDS):
        u = np.linspace(low, high, SIDE)
        value = _least(q, u)
        k = int(value.argmin())
        if np.isfinite(value[k]) and (best is None or value[k] < best[0]):
            best = float(value[k]), float(u[k])
        if best is None:
            return None
        step = 2.5 * (high - low) / (SIDE - 1)
        low, high = max(best[1] - step, 0.0), min(best[1] + step, float(np.log(q.most)))
    return best


def _least(q: Instance, u: np.ndarray) -> np.ndarray:
    """The least measure for each log p (infinite where no M on the grid is allowed)."""
    low, high = np.zeros(u.size), np.ones(u.size)
    best, at_best = np.full(u.size, np.inf), np.full(u.size, 0.5)
    for _ in range(ROUNDS):
        share = low + (high - low) * np.linspace(0, 1, SIDE)[:, None]
        p = np.broadcast_to(np.exp(u), share.shape).ravel()
        memory = np.exp(np.log(q.bodies) - u * (1 - share / 2)).ravel()
        at = metrics(q, p, memory)
        holds = feasible(q, p, memory, at, 1e-12)
        value = np.where(holds, measured(q, at[q.goal]), np.inf).reshape(share.shape)
        k = value.argmin(0)
        here = value[k, np.arange(u.size)]
        better = here < best
        best = np.where(better, here, best)
        at_best = np.where(better, share[k, np.arange(u.size)], at_best)
        step = 1.5 * (high - low) / (SIDE - 1)
        low, high = np.maximum(at_best - step, 0.0), np.minimum(at_best + step, 1.0)
        low, high = np.where(np.isfinite(best), low, 0.0), np.where(np.isfinite(best), high, 1.0)
    return best


def asked(q: Instance) -> Any:
    """The same question for the engine."""
    from formulations.uncertainty.measures import MEAN, WORST, cvar
    from formulations.uncertainty.worlds import of_values
    from scenarios import load
    from scenarios.questions import question
    from solvers.robust.decide_now import Asked

    weighing = {"mean": MEAN, "worst": WORST, "cvar": cvar(q.level)}[q.measure]
    text = {
        "model": "nbody",
        "machine": "balanced",
        "given": {"bodies": q.bodies, "flops_per_pair": q.flops},
        "decide": {"processors": {"max": q.most}, "memory": {}},
        "objective": {"minimize": q.goal},
        "limits": {n: {"max": v} for n, v in q.limits.items()},
    }
    worlds = of_values(question(load(text)), {f"machine.{n}": v for n, v in q.worlds.items()})
    return Asked(worlds, weighing, f"{q.measure} of {q.goal}")


def wrong(q: Instance, near: float = 2e-6) -> str:
    """What is wrong with the engine's answer to a question; empty where it agrees with the grid."""
    from solvers.robust.decide_now import answered

    told, grid = answered(asked(q)), brute_force(q)
    if told.status.value == "infeasible":
        return "" if grid is None else f"called infeasible, and the grid has {grid}"
    if told.status.value != "optimal" or told.objective is None or told.bound is None:
        return f"{told.status.value}: {told.message} {told.certificate} {told.gap}"
    p, memory = (np.array([told.variables[n]]) for n in ("processors", "memory"))
    at = metrics(q, p, memory)
    if not feasible(q, p, memory, at, 1e-8)[0]:
        return "the design breaks a limit"
    own = float(measured(q, at[q.goal])[0])
    if abs(own - told.objective) > 1e-9 * own:
        return f"the objective is {own}, not {told.objective}"
    if grid is None:
        return ""
    if grid[0] < told.bound * (1 - 1e-8):
        return f"the grid has {grid[0]}, below the bound {told.bound}"
    # the design was judged above: what the grid has more is its own coarseness where the allowed strip is thin
    if not told.objective * (1 - near) <= grid[0] <= told.objective * (1 + COARSE):
        return f"the grid has {grid[0]}, the engine {told.objective}"
    return ""


def main(count: int, seed: int = 0) -> int:
    """Compare so many instances; the number of those that differ."""
    from dse import machines

    machine = {n: float(machines.get("balanced").parameters[n]) for n in PARAMETERS}
    bad, kinds = 0, dict[str, int]()
    for k in range(count):
        q = instance(np.random.default_rng([seed, k]), machine)
        said = wrong(q)
        bad += bool(said)
        kinds[f"{q.measure} of {q.goal}"] = kinds.get(f"{q.measure} of {q.goal}", 0) + 1
        if said:
            print(k, q.measure, q.goal, q.limits, said)
    print(f"{count} instances, {bad} differ; {kinds}")
    return bad


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 20) > 0)
