"""Strong and weak scaling (10), (11), isoefficiency (12), Amdahl's fraction (13), (14), work and span laws.

With C = L_sys/t, t = (L_1 + O) d/f and L_1 = L_sys/Π n̂:

    dC/dn_z = C/n_z [n_z in use] (L_1/(L_1 + O) - [queueing at or above z])          (10)
    dC/dL   = C/L O/(L_1 + O)                                                        (11)
    dL/dn_z = -(dC/dn_z)/(dC/dL)                                                      (12)
    AMDAHL  = n (C(n) - C(1))/((n - 1) C(n))                                          (14)

[n_z in use]: 1 while the level's parallelism exceeds its units, else 0: more units have no effect.
[queueing]: 1 if the most congested link belongs to level z or above: more units then only queue longer.
At constant C the total derivative dC = 0 gives (12) its minus sign, which the paper leaves out.
Without overhead dC/dL is 0 and (12) is undefined; it is reported as 0. (13) and (14) are correct as
printed; for n = 1 they are undefined, and AMDAHL is reported as 0.

The work law is the lower bound on the time of perfectly divided work, L_sys d/(f Π n); the span law has Π ALP in
place of Π n.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dse.models.arithmetic import maximum, per, reaches
from dse.models.exabounds.levels import ABOVE_CORE, LEVELS, below, largest, of, product
from dse.models.exabounds.performance import cycles, duration, waits
from dse.models.exabounds.work import down, share
from dse.models.shared.families import nothing


def metrics(g: Any, parts: Mapping[str, Any], time: Any, extra: Any) -> Mapping[str, Any]:
    """Return everything about scaling; ``parts``: 1/n̂ by level, ``time``: to solution, ``extra``: overhead."""
    rate = per(g.instructions, time)
    own = g.instructions * product(parts[level] for level in ABOVE_CORE)
    useful, wasted = (1.0, 0.0) if nothing(extra) else (per(own, own + extra), per(extra, own + extra))
    waiting = waits(g, parts)
    weak = rate * wasted / g.instructions
    found = {"weak_scaling": weak, **_laws(g, parts)}
    for level in ABOVE_CORE:
        many = of(g.machine, "count", level)
        gain = _in_use(g, level) * (useful - _queueing(g, waiting, level))
        alone = duration(g, {**parts, level: share(g, level, 1.0)}, extra)
        more = maximum(many - 1.0, 1e-9)
        found |= {
            f"strong_scaling.{level}": rate * gain / many,
            f"isoefficiency.{level}": 0.0 * own
            if nothing(extra)
            else -gain * (own + extra) / extra * g.instructions / many,
            f"amdahl.{level}": many * (1.0 - per(time, alone)) / more,
        }
    return found


def _in_use(g: Any, level: str) -> Any:
    parallelism = of(g, "parallelism", level)
    if parallelism is None:
        return 1.0
    return reaches(parallelism, of(g.machine, "count", level) * (1.0 - down(g.machine, below(level))))


def _queueing(g: Any, waiting: Mapping[str, Any], level: str) -> Any:
    """Return 1 where the link that slows most is at this level or above it, and does slow; else 0."""
    outer = [q for where, q in waiting.items() if LEVELS.index(where) >= LEVELS.index(level)]
    inner = [q for where, q in waiting.items() if LEVELS.index(where) < LEVELS.index(level)]
    return reaches(largest(outer), largest([g.rest, *inner])) if outer else 0.0


def _laws(g: Any, parts: Mapping[str, Any]) -> Mapping[str, Any]:
    alone = g.instructions * cycles(g, parts) / g.instruction / g.machine.frequency
    limits = [of(g, "parallelism", level) for level in ABOVE_CORE]
    span = 0.0 * alone if any(x is None for x in limits) else alone * product(per(1.0, x) for x in limits)
    return {
        "work_law": alone * product(per(1.0, of(g.machine, "count", level)) for level in ABOVE_CORE),
        "span_law": span,
    }
