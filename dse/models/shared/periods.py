"""A run that repeats every period: after its work is done, what it runs on idles until the period ends."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from dse.models.arithmetic import per
from dse.models.model import ModelLimit
from dse.quantities import Quantity

SOURCE = "our addition"
PERIOD = Quantity(
    "period",
    "Tp",
    "s",
    "time after which the run starts again, idling from the end of its work; absent: it ends with its work",
    SOURCE,
    optional=True,
)
IDLE_POWER = Quantity(
    "idle_power",
    "",
    "W",
    "power from the end of the work to the end of the period; absent: the constant power",
    SOURCE,
    optional=True,
)
ENERGY_IDLE = Quantity(
    "energy_idle", "", "J", "energy from the end of the work to the end of the period", SOURCE
)
IN_PERIOD = ModelLimit("in_period", "T <= period", "the work is done within the period", SOURCE)


def metrics(asked: Collection[str]) -> tuple[Quantity, ...]:
    """Return what is told where a question speaks of a period."""
    return (ENERGY_IDLE,) if PERIOD.name in asked else ()


def limits(asked: Collection[str]) -> tuple[ModelLimit, ...]:
    """Return the limit that a period is."""
    return (IN_PERIOD,) if PERIOD.name in asked else ()


def parts(asked: Collection[str]) -> dict[str, str]:
    """Return what a period adds to the parts of the energy."""
    return {"idling": ENERGY_IDLE.name} if PERIOD.name in asked else {}


def kept_for(asked: Collection[str]) -> str:
    """Return for how long a run has its hardware: until its work ends, or the period, which it idles out."""
    return PERIOD.name if PERIOD.name in asked else "time"


def told(g: Any, time: Any, energy: Any, idle: Any, work: Any) -> dict[str, Any]:
    """Return what a period changes and adds: power and performance are averages over it.

    ``energy``: of the whole period, ``idle`` that of its idling; ``work``: flops. Nothing where no period is given.
    """
    if not hasattr(g, PERIOD.name):
        return {}
    return {
        "power": per(energy, g.period),
        "performance": per(work, g.period),
        ENERGY_IDLE.name: idle,
        IN_PERIOD.name: per(time, g.period),
    }
