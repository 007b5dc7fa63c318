"""What a user would write without dse: regions on two processors and settings of phases, in other tools.

The equations of Tang et al. 2017, (14)-(17) and (24), and of Choi et al. 2016, (9), typed in again: nothing here
comes from dse. Work is in Gflop and GB, so that every coefficient is of order one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]
# the gap that answers are asked for
GAP = 1e-9
# twelve regions: Gflop, GB
REGIONS = np.array(
    [
        (0.0, 0.6),
        (1.2, 14.4),
        (3.5, 7.0),
        (20.0, 2.5),
        (64.0, 1.0),
        (0.8, 6.4),
        (40.0, 10.0),
        (150.0, 3.0),
        (5.0, 20.0),
        (12.0, 3.0),
        (90.0, 9.0),
        (2.5, 0.3),
    ]
)


class Processor(NamedTuple):
    """Seconds and joules per Gflop and per GB, and static watts."""

    flop: float
    byte: float
    flop_energy: float
    byte_energy: float
    static: float


# Tang et al. 2017, Table IV
CPU = Processor(0.025, 0.073, 0.135, 0.581, 9.7)
GPU = Processor(0.0019, 0.0148, 0.078, 0.169, 16.4)
STATIC = CPU.static + GPU.static


# regions on two processors


def pyomo_partition(deadline: float, *, whole: bool) -> Any:
    """Build least energy within a deadline; the deadline is a parameter that may be changed."""
    import pyomo.environ as pyo

    model, (work, data) = pyo.ConcreteModel(), REGIONS.T.tolist()
    regions = range(len(work))
    model.x = pyo.Var(regions, domain=pyo.Binary if whole else pyo.UnitInterval)
    model.time = pyo.Var(domain=pyo.NonNegativeReals)
    model.most = pyo.Param(initialize=deadline, mutable=True)
    model.rows = pyo.ConstraintList()
    model.rows.add(model.time >= CPU.flop * sum(work[i] * model.x[i] for i in regions))
    model.rows.add(model.time >= CPU.byte * sum(data[i] * model.x[i] for i in regions))
    model.rows.add(model.time >= GPU.flop * sum(work[i] * (1 - model.x[i]) for i in regions))
    model.rows.add(model.time >= GPU.byte * sum(data[i] * (1 - model.x[i]) for i in regions))
    model.rows.add(model.time <= model.most)
    on_cpu, on_gpu = (p.flop_energy * REGIONS[:, 0] + p.byte_energy * REGIONS[:, 1] for p in (CPU, GPU))
    energy = sum(float(on_cpu[i]) * model.x[i] + float(on_gpu[i]) * (1 - model.x[i]) for i in regions)
    model.goal = pyo.Objective(expr=energy + STATIC * model.time)
    return model


def pyomo_over_axes(deadline: float, region: int, points: Iterable[tuple[float, float]]) -> Array:
    """Build the divisible partition once, with the flops of a region and the GPU's time per byte as parameters.

    ``points``: these two, in Gflop and seconds per GB; one solver sees what has changed from point to point.
    """
    import pyomo.environ as pyo

    model, (work, data) = pyo.ConcreteModel(), REGIONS.T.tolist()
    regions = range(len(work))
    model.x = pyo.Var(regions, domain=pyo.UnitInterval)
    model.time = pyo.Var(domain=pyo.NonNegativeReals, bounds=(0, deadline))
    model.flops = pyo.Param(initialize=1.0, mutable=True)
    model.byte = pyo.Param(initialize=1.0, mutable=True)
    work[region] = model.flops
    model.rows = pyo.ConstraintList()
    model.rows.add(model.time >= CPU.flop * sum(work[i] * model.x[i] for i in regions))
    model.rows.add(model.time >= CPU.byte * sum(data[i] * model.x[i] for i in regions))
    model.rows.add(model.time >= GPU.flop * sum(work[i] * (1 - model.x[i]) for i in regions))
    model.rows.add(model.time >= model.byte * sum(data[i] * (1 - model.x[i]) for i in regions))
    energy = sum(
        (p.flop_energy * work[i] + p.byte_energy * data[i]) * share
        for i in regions
        for p, share in ((CPU, model.x[i]), (GPU, 1 - model.x[i]))
    )
    model.goal = pyo.Objective(expr=energy + STATIC * model.time)
    solver, found = highs_in_pyomo(), []
    for model.flops.value, model.byte.value in points:
        found.append(with_pyomo(model, solver))
    return np.array(found)


def with_pyomo(model: Any, solver: Any = None) -> float:
    """Solve a Pyomo model with HiGHS; NaN where it has no design. ``solver``: one to use again."""
    found = (solver or highs_in_pyomo()).solve(
        model,
        rel_gap=GAP,
        threads=1,
        load_solutions=False,
        raise_exception_on_nonoptimal_result=False,
    )
    return float("nan") if found.incumbent_objective is None else float(found.incumbent_objective)


def highs_in_pyomo() -> Any:
    """Return Pyomo's interface to HiGHS."""
    import pyomo.environ as pyo
    from pyomo.contrib.solver.common.factory import SolverFactory

    assert pyo, "Pyomo's solvers are registered by importing its environment"
    return SolverFactory("highs")


def pyomo_fresh(build: Callable[[float], Any], deadlines: Iterable[float]) -> Array:
    """Build and solve anew for each deadline."""
    return np.array([with_pyomo(build(float(t))) for t in deadlines])


def pyomo_persistent(build: Callable[[float], Any], deadlines: Iterable[float]) -> Array:
    """Build once and change the parameter, with one solver that sees what has changed."""
    model, solver, found = build(1.0), highs_in_pyomo(), []
    for deadline in deadlines:
        model.most.value = float(deadline)
        found.append(with_pyomo(model, solver))
    return np.array(found)


def highs_partition(deadlines: Iterable[float], *, whole: bool) -> Array:
    """Hand the same rows to HiGHS itself, once, and change the upper end of the time for each deadline."""
    import highspy

    n = len(REGIONS)
    cpu, gpu = (np.array([p.flop, p.byte])[:, None] * REGIONS.T for p in (CPU, GPU))
    energy = [p.flop_energy * REGIONS[:, 0] + p.byte_energy * REGIONS[:, 1] for p in (CPU, GPU)]
    columns = np.arange(n + 1, dtype=np.int32)
    h = _highs()
    for i in range(n):
        h.addVar(0.0, 1.0)
        h.changeColCost(i, float(energy[0][i] - energy[1][i]))
        if whole:
            h.changeColIntegrality(i, highspy.HighsVarType.kInteger)
    h.addVar(0.0, highspy.kHighsInf)
    h.changeColCost(n, STATIC)
    h.changeObjectiveOffset(float(energy[1].sum()))
    for row in cpu:
        h.addRow(-highspy.kHighsInf, 0.0, n + 1, columns, np.append(row, -1.0))
    for row in gpu:
        h.addRow(-highspy.kHighsInf, -float(row.sum()), n + 1, columns, np.append(-row, -1.0))
    return np.array([_solved(h, n, float(t)) for t in deadlines])


def _highs() -> Any:
    import highspy

    h = highspy.Highs()
    for name, value in {"output_flag": False, "threads": 1, "mip_rel_gap": GAP}.items():
        h.setOptionValue(name, value)
    return h


def _solved(h: Any, column: int, most: float) -> float:
    """Solve with another upper end of one column; NaN where there is no design."""
    import highspy

    h.changeColBounds(column, 0.0, most)
    h.run()
    optimal = h.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return float(h.getInfo().objective_function_value) if optimal else float("nan")


def every_placement(deadlines: Iterable[float]) -> Array:
    """Compute time and energy of all placements, sort them by time, and look every deadline up."""
    n = len(REGIONS)
    x = ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(float)
    sums = x @ REGIONS, (1.0 - x) @ REGIONS
    time = np.max([p[k] * s[:, k] for p, s in zip((CPU, GPU), sums, strict=True) for k in (0, 1)], axis=0)
    energy = STATIC * time
    for p, s in zip((CPU, GPU), sums, strict=True):
        energy += s @ np.array([p.flop_energy, p.byte_energy])
    return _looked_up(time, energy, deadlines)


def _looked_up(time: Array, energy: Array, deadlines: Iterable[float]) -> Array:
    """Find the least energy within each deadline among designs; NaN where none meets it."""
    order = np.argsort(time)
    least = np.append(np.nan, np.minimum.accumulate(energy[order]))
    # a deadline that a design meets but for rounding is met
    return np.asarray(least[np.searchsorted(time[order], np.asarray(deadlines) * (1 + 1e-12), side="right")])


# a setting for each phase

# MHz of the processor and of its memory; pJ per flop, double flop, integer operation and byte; watts:
# Choi et al. 2016, Table I
SETTINGS = np.array(
    [
        (852, 924, 29.0, 139.1, 60.0, 377.0, 6.8),
        (396, 924, 16.2, 77.7, 33.5, 377.0, 6.1),
        (852, 528, 29.0, 139.1, 60.0, 286.2, 6.3),
        (648, 528, 21.7, 103.8, 44.8, 286.2, 5.9),
        (396, 528, 16.2, 77.7, 33.5, 286.2, 5.6),
        (852, 204, 29.0, 139.1, 60.0, 236.5, 6.0),
        (648, 204, 21.7, 103.8, 44.8, 236.5, 5.6),
        (396, 204, 16.2, 77.7, 33.5, 236.5, 5.2),
        (756, 924, 24.7, 118.3, 51.0, 377.0, 6.6),
        (180, 528, 15.8, 75.7, 32.7, 286.2, 5.5),
        (540, 528, 19.3, 92.5, 39.9, 286.2, 5.8),
        (540, 204, 19.3, 92.5, 39.9, 236.5, 5.4),
        (756, 204, 24.7, 118.3, 51.0, 236.5, 5.8),
        (72, 68, 15.8, 75.7, 32.7, 236.5, 5.2),
        (756, 68, 24.7, 118.3, 51.0, 236.5, 5.8),
        (180, 924, 15.8, 75.7, 32.7, 377.0, 6.0),
    ]
)
# six phases: Gflop, double Gflop, integer Gop, GB
PHASES = np.array(
    [
        (600.0, 0.0, 300.0, 2.0),
        (40.0, 0.0, 60.0, 60.0),
        (50.0, 0.0, 20.0, 10.0),
        (20.0, 1.0, 30.0, 12.0),
        (0.0, 8.0, 20.0, 4.0),
        (0.0, 6.0, 40.0, 10.0),
    ]
)
# per cycle: flops, double flops, integer operations; bytes per cycle of the memory
PER_CYCLE = (384.0, 16.0, 192.0, 16.0)


def phase_costs() -> tuple[Array, Array]:
    """Return seconds and joules of each phase (rows) at each setting (columns)."""
    core, memory = SETTINGS[:, 0] / 1e3, SETTINGS[:, 1] / 1e3
    rates = np.stack([core * PER_CYCLE[0], core * PER_CYCLE[1], core * PER_CYCLE[2], memory * PER_CYCLE[3]])
    time = (PHASES[:, :, None] / rates).max(axis=1)
    return time, PHASES @ SETTINGS[:, 2:6].T / 1e3 + SETTINGS[:, 6] * time


def pyomo_settings(deadline: float) -> Any:
    """Build least energy within a deadline: one binary for each phase and setting."""
    import pyomo.environ as pyo

    time, energy = (a.tolist() for a in phase_costs())
    model = pyo.ConcreteModel()
    phases, settings = range(len(PHASES)), range(len(SETTINGS))
    model.x = pyo.Var(phases, settings, domain=pyo.Binary)
    model.most = pyo.Param(initialize=deadline, mutable=True)
    model.rows = pyo.ConstraintList()
    for i in phases:
        model.rows.add(sum(model.x[i, k] for k in settings) == 1)
    model.rows.add(sum(time[i][k] * model.x[i, k] for i in phases for k in settings) <= model.most)
    model.goal = pyo.Objective(expr=sum(energy[i][k] * model.x[i, k] for i in phases for k in settings))
    return model


def every_combination(deadlines: Iterable[float]) -> Array:
    """Add up time and energy of all 16**6 combinations, block by block, and keep the best within each deadline."""
    time, energy = phase_costs()
    ends = np.asarray(deadlines)
    best = np.full(len(ends), np.inf)
    for first in range(len(SETTINGS)):
        t, e = (_all_sums([a[0, first : first + 1], *a[1:]]) for a in (time, energy))
        # each design by the first deadline that it meets
        place = np.searchsorted(ends * (1 + 1e-12), t)
        for k in range(len(ends)):
            best[k] = min(best[k], e[place == k].min(initial=np.inf))
    best = np.minimum.accumulate(best)
    return np.where(np.isfinite(best), best, np.nan)


def _all_sums(parts: list[Array]) -> Array:
    found = parts[0]
    for part in parts[1:]:
        found = (found[:, None] + part).ravel()
    return found


def phase_by_phase(deadlines: Iterable[float]) -> Array:
    """Join the phases one by one, each time without the combinations that another betters in time and energy."""
    times, energies = phase_costs()
    time, energy = np.zeros(1), np.zeros(1)
    for t, e in zip(times, energies, strict=True):
        time, energy = _undominated((time[:, None] + t).ravel(), (energy[:, None] + e).ravel())
    return _looked_up(time, energy, deadlines)


def _undominated(time: Array, energy: Array) -> tuple[Array, Array]:
    order = np.lexsort((energy, time))
    t, e = time[order], energy[order]
    kept = e < np.append(np.inf, np.minimum.accumulate(e)[:-1])
    return t[kept], e[kept]
