"""Time, power, reliability and cost of a system of eight levels, from the core up (ExaBounds).

A run of ``instructions`` is divided level by level among as many units as there are and as the application
can use. Levels that a question does not care about are left out: one unit, no overhead, no cost. Hardware
is the machine (``"count.die" = 8`` in its table), the application and its budget are inputs. What of the
paper is corrected is said with the equation's number in the part that uses it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import inf
from typing import Any

from dse.models.arithmetic import per
from dse.models.exabounds import (
    cost,
    performance,
    power,
    reliability,
    reuse,
    scaling,
    technology,
    work,
    workloads,
)
from dse.models.exabounds.application import INPUTS
from dse.models.exabounds.levels import LEVELS, SOURCE, of, product, units
from dse.models.exabounds.metrics import LIMITS, METRICS, SUMS, of_power
from dse.models.exabounds.quantities import MACHINE
from dse.models.model import Model, Spared
from dse.models.shared.families import nothing, row_inputs
from dse.models.shared.structure import Parts, Structure

__all__ = ["EXABOUNDS", "equations"]


def equations(g: Any) -> Mapping[str, Any]:
    """Work by level (24), cycles per instruction (1)-(9), power (17)-(21), MTBF (22)-(24), cost (25), (26)."""
    g = performance.prepared(g)
    parts = work.shares(g)
    extra = work.overhead(g)
    time = performance.duration(g, parts, extra)
    built = technology.metrics(g.machine)
    drawn = power.metrics(g, parts) if power.known(g.machine) else {}
    return {
        "time": time,
        "performance": per(g.instructions, time),
        **power.of_run(g, drawn, time),
        "cores": units(g.machine)["core"],
        **performance.labelled(g, parts),
        **_metrics_per_level(g, parts, time),
        **drawn,
        **built,
        **scaling.metrics(g, parts, time, extra),
        **reliability.metrics(g.machine),
        **reliability.limits(g.machine),
        **power.limits(g.machine),
        **cost.metrics(g, built["transistors_per_core"], time, drawn),
    }


def _metrics_per_level(g: Any, parts: Mapping[str, Any], time: Any) -> Mapping[str, Any]:
    """Return work, throughput and what bounds it, for one unit of every level."""
    m = g.machine
    of_each = work.divided(g, parts)
    peak = m.frequency / parts["core"] * g.instruction
    found: dict[str, Any] = {f"work.{level}": of_each[level] for level in LEVELS[:-1]}
    for i, level in enumerate(LEVELS):
        cores = product(of(m, "count", inside) for inside in LEVELS[1 : i + 1])
        found |= {f"{k}.{level}": v for k, v in performance.roofline(g, peak, level, cores).items()}
        found[f"throughput.{level}"] = per(of_each[level], time)
        asked, given = performance.demand(g, level), performance.bandwidth(m, level)
        found[f"core_limit.{level}"] = inf if given is None or nothing(asked) else per(given, asked)
        rated = of(m, "bit_rate", level)
        found[f"pin_power.{level}"] = 0.0 if rated is None else rated * technology.pin_energy(m, level)
    missed = performance.from_memory(g) * of(g, "data_share", "core")
    return {**found, "memory_traffic": m.frequency / g.rest * missed * m.line_size, **performance.misses(g)}


def expand(parts: Parts) -> Model:
    """Return the plain model of a question with these histograms, which take the place of its miss rates."""
    given = {t.name: parts.rows.get(t.name, ()) for t in reuse.TABLES}
    instead = {name for table, rows in given.items() if rows for name in reuse.INSTEAD[table]}
    needed = tuple(name for table, rows in given.items() if rows for name in reuse.NEEDED[table])
    more = tuple(q for t in reuse.TABLES for q in row_inputs(t, given[t.name]))
    return replace(
        EXABOUNDS,
        inputs=(*(q for q in INPUTS if q.name not in instead), *more),
        needs=lambda _: needed,
        structure=None,
        expand=None,
    )


def without_power(model: Model) -> Model:
    """Return the model for a machine that does not say what its cores draw: time, hardware and failures alone."""
    return replace(
        model,
        machine=tuple(replace(q, optional=True) if q.name in power.NEEDED else q for q in model.machine),
        metrics=tuple(q for q in model.metrics if not of_power(q.name)),
        sums=tuple(s for s in model.sums if not of_power(s.metric)),
    )


EXABOUNDS = Model(
    name="exabounds",
    title="Performance, power, reliability and cost of a hierarchy",
    source=f"{SOURCE}, corrected",
    machine=MACHINE,
    inputs=INPUTS,
    metrics=METRICS,
    limits=LIMITS,
    equations=equations,
    sums=SUMS,
    structure=Structure(reuse.TABLES),
    expand=expand,
    spared=Spared(power.NEEDED, "power, energy, total cost and the fastest clock", without_power),
    notes="\n\n".join(
        f"{m.__doc__}"
        for m in (work, performance, reuse, scaling, power, technology, reliability, cost, workloads)
    ),
)
