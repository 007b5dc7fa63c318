"""What the machine is: caches, memory, processors; read from the system, guessed where it does not say."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping
from pathlib import Path

from dse.system.records import dataclass

SYS, PROC = Path("/sys"), Path("/proc")
_GUESS = {1: 32 << 10, 2: 512 << 10, 3: 8 << 20}
_UNITS = {"K": 10, "M": 20, "G": 30}


@dataclass(frozen=True, slots=True)
class Cache:
    """A data cache: bytes of one of its kind, and how many processors (hardware threads) share it."""

    level: int
    size: int
    shared: int


@dataclass(frozen=True, slots=True)
class Hardware:
    """Processors this program may use, their name, data caches by level, memory in bytes; ``guessed`` caches."""

    name: str
    processors: int
    caches: tuple[Cache, ...]
    memory: int
    available: int
    guessed: bool = False

    def reach(self, cache: Cache, threads: int) -> float:
        """Return the bytes that threads hold in the caches of a kind, on processors as near as can be."""
        return cache.size * max(1.0, threads / cache.shared)

    def spread(self, cache: Cache, threads: int) -> float:
        """Return the bytes that they hold there on processors as far apart as can be."""
        return cache.size * max(1.0, min(threads, self.processors / cache.shared))

    def level(self, size: float, threads: int) -> str:
        """Say where ``size`` bytes lie when ``threads`` threads share them: empty where it may be two levels."""
        below = 0.0
        for cache in self.caches:
            # half a cache: the rest is for what else runs; 1.5 times the one below: little of it helps
            if 1.5 * below <= size <= 0.5 * self.reach(cache, threads):
                return f"L{cache.level}"
            below = self.spread(cache, threads)
        return "memory" if size >= 3.5 * below else ""


def look(sys: Path = SYS, proc: Path = PROC) -> Hardware:
    """Look at this machine (or at copies of its system folders)."""
    import psutil

    found = _caches(sys / "devices/system/cpu/cpu0/cache")
    memory = psutil.virtual_memory()
    caches = found or tuple(Cache(level, size, 1 if level < 3 else 1 << 20) for level, size in _GUESS.items())
    return Hardware(_name(proc), processors(), caches, memory.total, memory.available, guessed=not found)


def processors() -> int:
    """Return the number of processors that this program may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _name(proc: Path) -> str:
    match = re.search(r"^model name\s*:\s*(.+)$", text(proc / "cpuinfo"), re.MULTILINE)
    return match[1].strip() if match else platform.processor() or platform.machine()


def _caches(folder: Path) -> tuple[Cache, ...]:
    found: dict[int, Cache] = {}
    for entry in sorted(folder.glob("index*")):
        read: Mapping[str, str] = {
            k: text(entry / k).strip() for k in ("level", "type", "size", "shared_cpu_list")
        }
        size = re.fullmatch(r"(\d+)([KMG]?)", read["size"])
        if read["type"] in {"Data", "Unified"} and size and read["level"].isdigit():
            level, amount = int(read["level"]), int(size[1]) << _UNITS.get(size[2], 0)
            found[level] = Cache(level, amount, _count_of_cpus(read["shared_cpu_list"]))
    return tuple(found[level] for level in sorted(found) if found[level].size)


def _count_of_cpus(cpus: str) -> int:
    """Count a list such as "0-3,8-11"."""
    spans = re.findall(r"(\d+)(?:-(\d+))?", cpus)
    return max(1, sum(int(last or first) - int(first) + 1 for first, last in spans))


def text(path: Path) -> str:
    """Return what a system file holds; empty where it is not there or may not be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
