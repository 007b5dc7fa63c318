"""Work by level: divided among the units of each level that can be used (section 4.2.1), the failed ones left out.

    n̂_i = min(n_i (1 - λ_{i-1} MTTR_{i-1}), ALP_i)          (24), corrected
    L_i = L_{i+1}/n̂_i,  L_7 = L_sys/n̂_7

(24) as printed takes fail_ovhd = MTTR/MTBF from the count n_i. With the MTBF of one unit that would be a
fraction taken from a number of units; with the MTBF of the level, 1/(n λ), it is n λ MTTR, the mean number
of units that are out of service, which is what the text describes and what is used here. λ and MTTR are
those of the units that are counted, so of the level below. The paper's L_i is the work of one unit of level
i-1; here ``work.<level>`` is that of one unit of the level named, so that L_1, the instructions of one
core, is ``work.core``. L_0 divides by the parallelism of instructions, which (7) does already, so it
is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dse.models.arithmetic import maximum, per
from dse.models.exabounds.levels import ABOVE_CORE, below, of, total
from dse.models.shared.families import nothing


def down(machine: Any, level: str) -> Any:
    """Return the share of the units of a level that is out of service, λ MTTR."""
    rate, repair = of(machine, "failure_rate", level), of(machine, "repair_time", level)
    return 0.0 if nothing(rate) or nothing(repair) else rate * repair


def share(g: Any, level: str, count: Any = None) -> Any:
    """Return 1/n̂: the part of a level's work that each of its units gets. ``count``: another n than the machine's.

    The larger of 1/(n (1 - λ MTTR)) and 1/ALP, so that it is one maximum on every arithmetic.
    """
    many = of(g.machine, "count", level) if count is None else count
    lost = 0.0 if level == "core" else down(g.machine, below(level))
    # never less than none: a limit holds up to rounding, and less than no unit would do the work in less than no time
    each = per(1.0, many if nothing(lost) else many * maximum(0.0, 1.0 - lost))
    parallelism = of(g, "parallelism", level)
    return each if parallelism is None else maximum(each, per(1.0, parallelism))


def shares(g: Any) -> Mapping[str, Any]:
    """Return 1/n̂ of every level."""
    return {"core": share(g, "core")} | {level: share(g, level) for level in ABOVE_CORE}


def divided(g: Any, parts: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the work of one unit of every level."""
    found = {"system": g.instructions}
    for level in reversed(ABOVE_CORE):
        found[below(level)] = found[level] * parts[level]
    return found


def overhead(g: Any) -> Any:
    """Return the instructions that every core executes besides its share, the sum over all levels (8)."""
    return total(of(g, "overhead_work", level) for level in ABOVE_CORE)
