"""What follows from the time and the energy of a run, whatever the model."""

from __future__ import annotations

from typing import Any

from dse.models.arithmetic import per


def totals(time: Any, energy: Any, work: Any) -> dict[str, Any]:
    """Return the metrics of a run of ``time`` (s) and ``energy`` (J) that does ``work`` (flops), on any arithmetic."""
    return {
        "time": time,
        "energy": energy,
        "power": per(energy, time),
        "performance": per(work, time),
        "efficiency": per(work, energy),
        "energy_delay": energy * time,
    }
