"""What a user would write without dse: the n-body step of Demmel et al. 2013, (15), (16), in other tools.

And the energy roofline of Choi et al. 2014, (1)-(7), in NumPy.

All in one place and as short as it gets, with the scaling that the solvers need done by hand: processors and
memory are in units of 1000, so that every coefficient is of order one. ``python -m benchmarks.without_dse.by_hand``
answers the question of the library's nbody_deadline in a process of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

# the machine "balanced" and the input, typed in again: nothing here comes from dse
GT, BT, AT = 1e-9, 4e-8, 1e-5
GE, BE, AE = 2e-10, 3e-6, 1e-5
DE, EE, MSG = 2e-5, 0.05, 1000.0
N, F = 1e5, 10.0
MOST = 4096
UNIT = 1000.0
TIME_WORD, ENERGY_WORD = BT + AT / MSG, BE + AE / MSG
# with p and M in units of 1000: T = T1/p + T2/(p M), E = E0 + E1/M + E2 M
T1, T2 = F * N**2 * GT / UNIT, N**2 * TIME_WORD / UNIT**2
E0 = F * N**2 * (GE + GT * EE) + N**2 * TIME_WORD * DE
E1 = N**2 * (ENERGY_WORD + TIME_WORD * EE) / UNIT
E2 = F * N**2 * GT * DE * UNIT
ONE_COPY, REPLICATION = N / UNIT**2, N / UNIT**1.5
# the GTX Titan of Choi et al. 2014, Table I: s/flop, s/byte, J/flop, J/byte, W, W
TF, TM, EF, EM, CONSTANT, USABLE = 1 / 4.02e12, 1 / 239e9, 30.4e-12, 267e-12, 123.0, 164.0


def metrics(p: Any, m: Any) -> dict[str, Any]:
    """Return all metrics of the n-body step in plain NumPy; ``m``: words of memory per processor."""
    flops, words = F * N**2 / p, N**2 / (p * m)
    messages = words / MSG
    time = GT * flops + BT * words + AT * messages
    energy = p * (GE * flops + BE * words + AE * messages + DE * m * time + EE * time)
    power = energy / time
    return {
        "time": time,
        "energy": energy,
        "power": power,
        "performance": p * flops / time,
        "efficiency": p * flops / energy,
        "energy_delay": energy * time,
        "power_per_processor": power / p,
        "flops": flops,
        "words": words,
        "messages": messages,
        "message_share": MSG / m,
    }


def roofline(flops: Any, intensity: Any, throttle: Any = 1.0) -> dict[str, Any]:
    """Return all metrics of the roofline in plain NumPy, each in the shape that its formula gives."""
    data, usable = flops / intensity, USABLE / throttle
    computing, moving = flops * TF, data * TM
    energy_flop, energy_data = flops * EF, data * EM
    capped = (energy_flop + energy_data) / usable
    rest = np.maximum(moving, capped)
    time = np.maximum(computing, rest)
    energy_constant = CONSTANT * time
    energy = energy_flop + energy_data + energy_constant
    balance, to_spare = TM / TF, usable * TF - EF
    with np.errstate(divide="ignore"):
        high = np.where(to_spare > 0, np.maximum(balance, EM / to_spare), np.inf)
    regime = np.where(moving >= capped, 2.0, 1.0)
    return {
        "time": time,
        "energy": energy,
        "power": energy / time,
        "performance": flops / time,
        "efficiency": flops / energy,
        "energy_delay": energy * time,
        "bandwidth": data / time,
        "energy_flop": energy_flop,
        "energy_data": energy_data,
        "energy_constant": energy_constant,
        "flops_per_byte": flops / data,
        "balance": balance,
        "balance_low": np.minimum(balance, np.maximum(usable * TM - EM, 0.0) / EF),
        "balance_high": high,
        "energy_balance": EM / EF,
        "peak_power": CONSTANT + np.minimum(EF / TF + EM / TM, usable),
        "regime": np.where(computing > rest, 0.0, regime),
    }


# geometric programs


def cvxpy_problem(deadline: float | None = None) -> tuple[Any, Any]:
    """Build the least energy within a deadline (None: a parameter) as a cvxpy DGP; return both."""
    import cvxpy as cp

    p, m = cp.Variable(pos=True), cp.Variable(pos=True)
    limit = cp.Parameter(pos=True) if deadline is None else deadline
    rows = [
        T1 / p + T2 / (p * m) <= limit,
        ONE_COPY / (p * m) <= 1,
        m * p**0.5 / REPLICATION <= 1,
        p <= MOST / UNIT,
        p >= 1 / UNIT,
        m >= 1 / UNIT,
    ]
    return cp.Problem(cp.Minimize(E0 + E1 / m + E2 * m), rows), limit


def cvxpy_energy(deadline: float) -> float:
    """Solve the geometric program with cvxpy and Clarabel, from nothing."""
    return float(cvxpy_problem(deadline)[0].solve(gp=True, solver="CLARABEL"))


# SLSQP in log variables: the first plain attempt with SciPy


def slsqp(goal: str, deadline: float = math.inf, cap: float = math.inf) -> float:
    """Solve with SciPy's SLSQP in log variables from one start; NaN where it says that it failed."""
    from scipy import optimize

    def time(y: Any) -> float:
        return float(T1 * math.exp(-y[0]) + T2 * math.exp(-y[0] - y[1]))

    def energy(y: Any) -> float:
        return E0 + E1 * math.exp(-y[1]) + E2 * math.exp(y[1])

    rows: list[Callable[[Any], float]] = [
        lambda y: y[0] + y[1] - math.log(ONE_COPY),
        lambda y: math.log(REPLICATION) - y[1] - y[0] / 2,
    ]
    if math.isfinite(deadline):
        rows.append(lambda y: math.log(deadline / time(y)))
    if math.isfinite(cap):
        rows.append(lambda y: math.log(cap * time(y) / energy(y)))
    what = {"energy": energy, "time": time}[goal]
    ends = [(math.log(1 / UNIT), math.log(MOST / UNIT)), (math.log(1 / UNIT), math.log(N / UNIT))]
    limits: Any = [{"type": "ineq", "fun": r} for r in rows]
    options: Any = {"ftol": 1e-12, "maxiter": 200}
    minimize: Any = optimize.minimize
    found = minimize(
        lambda y: math.log(what(y)),
        [0.0, 0.0],
        method="SLSQP",
        bounds=ends,
        constraints=limits,
        options=options,
    )
    return math.exp(found.fun) if found.success else math.nan


# SCIP through Pyomo


def pyomo_model(goal: str, deadline: float, cap: float, whole: bool, menu: bool) -> Any:
    """Build the problem in u = log(p/1000), v = log(M/1000); the goal is the variable ``goal``."""
    import pyomo.environ as pyo

    model = pyo.ConcreteModel()
    model.u = pyo.Var(bounds=(math.log(1 / UNIT), math.log(MOST / UNIT)), initialize=0.0)
    model.v = pyo.Var(bounds=(math.log(1 / UNIT), math.log(N / UNIT)), initialize=0.0)
    model.goal = pyo.Var(bounds=(1e-3, 1e6), initialize=1.0)
    time = T1 * pyo.exp(-model.u) + T2 * pyo.exp(-model.u - model.v)
    energy = E0 + E1 * pyo.exp(-model.v) + E2 * pyo.exp(model.v)
    model.rows = pyo.ConstraintList()
    model.rows.add(model.u + model.v >= math.log(ONE_COPY))
    model.rows.add(model.v + model.u / 2 <= math.log(REPLICATION))
    if math.isfinite(deadline):
        model.rows.add(time / deadline <= 1)
    if math.isfinite(cap):
        model.rows.add(energy <= cap * time)
    if whole:
        model.p = pyo.Var(domain=pyo.Integers, bounds=(1, MOST), initialize=1000)
        model.rows.add(model.u == pyo.log(model.p) - math.log(UNIT))
    if menu:
        model.k = pyo.Var(domain=pyo.Integers, bounds=(0, int(math.log2(MOST))))
        model.rows.add(model.u == model.k * math.log(2.0) - math.log(UNIT))
    model.rows.add(
        {"energy": energy, "time": time, "power": energy}[goal]
        <= model.goal * (time if goal == "power" else 1)
    )
    model.objective = pyo.Objective(expr=model.goal)
    return model


def scip(
    goal: str,
    deadline: float = math.inf,
    cap: float = math.inf,
    *,
    whole: bool = False,
    menu: bool = False,
) -> float:
    """Solve with SCIP through Pyomo; NaN where there is no design. Its bound is within 1e-7 of the answer."""
    import pyomo.environ as pyo
    from pyomo.contrib.solver.common.factory import SolverFactory

    assert pyo, "Pyomo's solvers are registered by importing its environment"
    found = SolverFactory("scip_direct").solve(
        pyomo_model(goal, deadline, cap, whole, menu),
        time_limit=30,
        threads=1,
        rel_gap=1e-7,
        load_solutions=False,
        raise_exception_on_nonoptimal_result=False,
        solver_options={"numerics/feastol": 1e-9},
    )
    return math.nan if found.incumbent_objective is None else float(found.incumbent_objective)


def would_do(deadline: float, cap: float) -> np.ndarray[Any, Any]:
    """Find the feasible values: the infeasible problem, then each limit minimised without the other."""
    assert math.isnan(scip("energy", deadline, cap, whole=True)), "the two limits conflict"
    return np.array([scip("time", cap=cap, whole=True), scip("power", deadline, whole=True)])


# brute force with NumPy


def grid(
    goal: str, counts: np.ndarray[Any, Any], memories: int, deadline: float = math.inf, cap: float = math.inf
) -> float:
    """Evaluate every pair of ``counts`` and log-spaced memories that the limits allow, and take the best."""
    p, m = np.meshgrid(counts, np.geomspace(1.0, N, memories), indexing="ij", sparse=True)
    time = GT * F * N**2 / p + TIME_WORD * N**2 / (p * m)
    energy = F * N**2 * GE + ENERGY_WORD * N**2 / m + p * (DE * m + EE) * time
    allowed = (p * m >= N) & (m * np.sqrt(p) <= N) & (time <= deadline) & (energy <= cap * time)
    return float(np.where(allowed, {"energy": energy, "time": time}[goal], np.inf).min())


def every_count(counts: np.ndarray[Any, Any], deadline: float) -> float:
    """Find the least energy within a deadline: every count, its best memory by a formula derived by hand."""
    p = counts / UNIT
    with np.errstate(divide="ignore"):
        slack = deadline * p - T1
        low = np.maximum(np.where(slack > 0, T2 / slack, np.inf), ONE_COPY / p)
    high = REPLICATION / np.sqrt(p)
    m = np.clip(math.sqrt(E1 / E2), low, high)
    return float(np.where(low <= high, E0 + E1 / m + E2 * m, np.inf).min())


def fft_scan(points: int, most: int, deadline: float) -> float:
    """Find the least energy of an FFT within a deadline: the formulas at every whole number of processors."""
    p = np.arange(1.0, most + 1)
    share = points / p
    flops, words, messages = share * math.log2(points), share * np.log2(p), np.log2(p)
    time = GT * flops + BT * words + AT * messages
    energy = p * (GE * flops + BE * words + AE * messages + (DE * share + EE) * time)
    return float(energy[np.where(time <= deadline, energy, np.inf).argmin()])


def linear(processors: float, memory: float, efficiency: float, low: np.ndarray[Any, Any]) -> float:
    """Find the least energy over the energies per flop and per word, above ``low``, in scaled units."""
    from scipy.optimize import linprog

    at = metrics(processors, memory)
    work = processors * np.array([at["flops"], at["words"]])
    rest = processors * (AE * at["messages"] + (DE * memory + EE) * at["time"])
    cost = work * low
    most = processors * at["flops"] / efficiency - rest
    found = linprog(cost / most, A_ub=[cost / most], b_ub=[1.0], bounds=[(1.0, None)] * 2, method="highs")
    return float(found.fun * most + rest)


if __name__ == "__main__":
    print(scip("energy", 0.05, 1000.0, whole=True))
