"""Under what conditions is measured: clock, load, neighbours; what they say against calling it a measurement."""

from __future__ import annotations

import os
import platform
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from dse.measuring.hardware import PROC, SYS, text
from dse.measuring.loops.repetition import Busy
from dse.system.records import dataclass

MOST_OTHERS = 0.05
"""Share of the processors that others may take."""
_NEIGHBOUR, _SHOWN = 0.02, 3


@dataclass(frozen=True, slots=True)
class Conditions:
    """How the machine stood: by name, in words, and what may disturb.

    ``others``: share of all processors that other programs and the host took; ``neighbours``: the busiest of
    the programs that can be seen, with the processors each took.
    """

    facts: Mapping[str, str]
    others: float
    neighbours: tuple[str, ...]

    def against(self) -> list[str]:
        """Say what in them forbids to call the machine measured."""
        if self.others <= MOST_OTHERS:
            return []
        who = f" ({', '.join(self.neighbours)})" if self.neighbours else ""
        most = f"at most {MOST_OTHERS:.0%} is quiet"
        return [f"others took {self.others:.0%} of the processors while it was measured{who}; {most}"]


class Watch:
    """Looks at the machine when it is made, and when it is asked for the conditions since."""

    def __init__(self) -> None:
        self._facts = facts()
        self._busy, self._since, self._used = Busy(), time.monotonic(), _used()

    def conditions(self) -> Conditions:
        """Return what there was to see since this was made."""
        spent = max(1e-9, time.monotonic() - self._since)
        now = _used()
        took = {k: (now[k] - self._used.get(k, 0.0)) / spent for k in now if k[0] != os.getpid()}
        busiest = sorted(took, key=took.__getitem__, reverse=True)[:_SHOWN]
        told = tuple(f"{name} {took[pid, name]:.2g}" for pid, name in busiest if took[pid, name] > _NEIGHBOUR)
        return Conditions(self._facts, self._busy.others(), told)


def facts(sys: Path = SYS, proc: Path = PROC) -> dict[str, str]:
    """Return governor, clock, boost, load and what else is known, in words; what is not known is absent."""
    clock = sys / "devices/system/cpu"
    governors = {text(f).strip() for f in clock.glob("cpu[0-9]*/cpufreq/scaling_governor")} - {""}
    found = {
        "system": f"{platform.system()} {platform.release()}",
        "virtual": "yes, a virtual machine"
        if re.search(r"^flags\s*:.*\bhypervisor\b", text(proc / "cpuinfo"), re.M)
        else "",
        "governor": ", ".join(sorted(governors)),
        "clock": _clock_range_text(clock / "cpu0/cpufreq"),
        "boost": _boost(clock),
        "load": _load(),
    }
    return {k: v for k, v in found.items() if v}


def _clock_range_text(folder: Path) -> str:
    least, most = (text(folder / f"cpuinfo_{end}_freq").strip() for end in ("min", "max"))
    return f"{int(least) / 1e6:g} to {int(most) / 1e6:g} GHz" if least.isdigit() and most.isdigit() else ""


def _boost(clock: Path) -> str:
    off = text(clock / "intel_pstate/no_turbo").strip()
    on = text(clock / "cpufreq/boost").strip()
    if off:
        return "off" if off == "1" else "on"
    return {"1": "on", "0": "off"}.get(on, "")


def _load() -> str:
    try:
        return ", ".join(f"{x:.2f}" for x in os.getloadavg())
    except (OSError, AttributeError):
        return ""


def advice(facts: Mapping[str, str]) -> Sequence[str]:
    """Say what would make a measurement steadier."""
    found = ["close other programs, or wait until they have ended"]
    if facts.get("governor", "performance") != "performance":
        found.append("fix the clock: sudo cpupower frequency-set -g performance")
    if "virtual" in facts:
        found.append("measure on the host itself: neighbours of a virtual machine cannot be seen")
    return found


def _used() -> dict[tuple[int, str], float]:
    import psutil

    found = {}
    for process in psutil.process_iter(["pid", "name", "cpu_times"]):
        times = process.info["cpu_times"]
        if times is not None:
            found[process.info["pid"], process.info["name"] or "?"] = times.user + times.system
    return found
