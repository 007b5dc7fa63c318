"""The energy counters of processor packages (RAPL) in Linux's powercap folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dse.measuring.energy.meters import Unavailable, refuse_still
from dse.measuring.hardware import text
from dse.system.records import dataclass

POWERCAP = Path("/sys/class/powercap")


@dataclass(frozen=True, slots=True)
class Zone:
    """A counter of microjoules in a file; one that has reached ``span`` starts again at 0."""

    file: Path
    name: str
    span: int

    def read(self) -> int:
        """Return the counter; raises Unavailable where it cannot be read."""
        try:
            return int(self.file.read_text(encoding="ascii"))
        except PermissionError:
            every = f"{self.file.parent.parent}/intel-rapl:*/energy_uj"
            raise Unavailable(
                f"{self.file} may be read by root only (the kernel's answer to CVE-2020-8694): let your group "
                f"read it until the next start by sudo chgrp $(id -gn) {every} && sudo chmod g+r {every}"
            ) from None
        except (OSError, ValueError) as problem:
            raise Unavailable(f"{self.file} cannot be read: {problem}") from None


class Rapl:
    """The counters of all packages, and of their memory where it has one of its own."""

    # a counter moves about every millisecond
    least = 0.1

    def __init__(self, folder: Path = POWERCAP) -> None:
        self.zones = _zones(folder)
        self.name = f"RAPL ({', '.join(z.name for z in self.zones)})"
        refuse_still(self)

    def mark(self) -> tuple[int, ...]:
        """Read all counters."""
        return tuple(z.read() for z in self.zones)

    def between(self, first: Sequence[int], last: Sequence[int]) -> float:
        """Return joules; a counter that has become less has started again, once."""
        used = 0
        for zone, before, after in zip(self.zones, first, last, strict=True):
            used += after - before if after >= before else after - before + zone.span
        return used * 1e-6

    def close(self) -> None:
        """Do nothing: files need no end."""


def _zones(folder: Path) -> list[Zone]:
    if not folder.is_dir():
        raise Unavailable(
            f"there is no {folder}: the kernel shows no powercap, as usual in virtual machines and containers "
            "(measure on the host itself)"
        )
    found = []
    # psys counts the packages again, and zones of cores and graphics are parts of their package
    for entry in sorted(folder.glob("intel-rapl:*")):
        name = text(entry / "name").strip()
        if name.startswith("package"):
            found.append(_zone(entry, name))
        elif name == "dram":
            package = entry.with_name(entry.name.rpartition(":")[0])
            found.append(_zone(entry, f"memory of {text(package / 'name').strip()}"))
    if not found:
        raise Unavailable(f"{folder} has no zone of a processor package: try sudo modprobe intel_rapl_msr")
    return found


def _zone(entry: Path, name: str) -> Zone:
    most = text(entry / "max_energy_range_uj").strip()
    # without a stated range: 32 bits, as the register has
    return Zone(entry / "energy_uj", name, int(most) + 1 if most.isdigit() else 1 << 32)
