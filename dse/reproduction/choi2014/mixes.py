"""Systems of equal building blocks: speed and powers add up, and work is shared in proportion to speed."""

from __future__ import annotations

import math
from collections.abc import Mapping

from dse.reproduction.choi2014.platforms import Spec, run


def block_system(count: int, spec: Spec, intensity: float, **given: float) -> Mapping[str, float]:
    """Return performance, efficiency and powers of that many equal blocks."""
    one = run(spec, intensity=intensity, **given)
    return {
        "performance": count * one["performance"],
        "efficiency": one["efficiency"],
        "block_power": count * one["power"],
        "nameplate_power": count * one["peak_power"],
    }


def most_within(spec: Spec, budget: float) -> int:
    """Return the most equal blocks whose nameplate power fits into a budget (W)."""
    return math.floor(budget / run(spec, intensity=1.0)["peak_power"])
