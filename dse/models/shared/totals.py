"""What follows from the time and the energy of a run, whatever the model."""

from __future__ import annotations

from typing import Any

from dse.models.arithmetic import per


def totals(time: Any, energy: Any, work: Any, power: Any = None) -> dict[str, Any]:
    """Return the metrics of a run of ``time`` (s) and ``energy`` (J) that does ``work`` (flops), on any arithmetic.

    Where energy or work is not known (None), what needs it is left out. ``power``: energy/time, where another form
    of it has closer bounds over ranges of designs.
    """
    found = {"time": time}
    if energy is not None:
        found |= {"energy": energy, "power": per(energy, time) if power is None else power}
    if work is not None:
        found["performance"] = per(work, time)
    if energy is not None and work is not None:
        found["efficiency"] = per(work, energy)
    return found if energy is None else {**found, "energy_delay": energy * time}
