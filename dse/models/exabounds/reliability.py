"""Time between failures (22) to (24).

Failures of a level's units are independent, with exponential times between them (22) at the rate λ per
unit:

    MTBF_i = 1/(N_i λ_i),  MTBF = 1/Σ N_i λ_i,  N_i = Π_{j>i} n_j

(23) as printed, an integral or the hypergeometric function that it equals, is not meaningful: 1 - λ e^(-λt)
subtracts a density (1/time) from a plain number, and for small λ it is about 1/λ whatever n is. The least of N
exponential times has the mean 1/(N λ). So the mean time between failures of n devices falls as 1/n, not
"exponentially". Rates are in failure/s; FIT, failures in 1e9 hours, is a unit: "100 FIT". ``work`` (24)
subtracts the failed units.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any

from dse.models.arithmetic import per
from dse.models.exabounds.levels import ABOVE_CORE, LEVELS, below, of, total, units
from dse.models.exabounds.work import down
from dse.models.shared.families import nothing


def failures(m: Any) -> Mapping[str, Any]:
    """Return the failures per second among all units of every level; plain 0 where they never fail."""
    many = units(m)
    rates = {level: of(m, "failure_rate", level) for level in LEVELS}
    return {level: 0.0 if nothing(rate) else many[level] * rate for level, rate in rates.items()}


def metrics(m: Any) -> Mapping[str, Any]:
    """Return mean times between failures, s; infinite where nothing fails. And the share of units under repair."""
    rates = failures(m)
    every = total(rates.values())
    found = {f"mtbf.{level}": _mean_time_to_failure(rate) for level, rate in rates.items()}
    return found | {"mtbf": _mean_time_to_failure(every)}


def _mean_time_to_failure(rate: Any) -> Any:
    return inf if nothing(rate) else per(1.0, rate)


def limits(m: Any) -> Mapping[str, Any]:
    """Return, by level, the share of the units inside that is under repair, which must not exceed 1."""
    found = {f"failover.{level}": down(m, below(level)) for level in ABOVE_CORE}
    return {name: share for name, share in found.items() if not nothing(share)}
