"""Results as a table for the terminal and as a Markdown page."""

from __future__ import annotations

import math
import os
import platform
import statistics
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks.harness import ROOT, Result, Way

PACKAGES = (
    "numpy",
    "scipy",
    "pyomo",
    "highspy",
    "pyscipopt",
    "cvxpy",
    "clarabel",
    "optuna",
    "pymoo",
    "moocore",
    "dask",
    "xarray",
    "SALib",
)
INTRODUCTION = """\
# Benchmarks

Made by `python -m benchmarks --write docs/benchmarks.md`; `make bench` prints the same. Nothing is asserted:
times depend on the machine, so read the ratios.

All ways of a table are run in turns, in one run, each round starting with another one. Times are medians over
the rounds, with the least and the greatest. A ratio is the time of our way over the time of the way in that
line, round by round: below 1 ours is faster. "Agrees" says whether the answer is ours to 1e-6 relative (for
partitions and settings to 1e-9), checked in this run, and if not by how much. "Bound" says what a way proves
of its answer; "in floats" is a bound that holds within the tolerances of the solver. Numerical libraries have
one thread. "Peak MB" is the resident memory of a process, blank where it is too small to tell, or what a call
allocates at most.

The whole answer holds what the bare optimum does not: ties decided by the rule, ranges of what is not unique,
binding limits, elasticities, for whole numbers where the answer next changes, and the check of it all in
plain floats.
"""
HEADERS = ("way", "time", "least to greatest", "ours / this", "bare / this", "agrees", "bound", "peak MB")


def machine() -> str:
    """Describe what the times were taken on."""
    return f"{_processor()}, {os.cpu_count()} cores, {_memory()}, {platform.system()} {platform.machine()}"


def versions() -> str:
    """List what was run."""
    commit = _commit()
    mine = f"dse {version_of('dse')}" + (f" ({commit})" if commit else "")
    return ", ".join(
        [
            f"Python {platform.python_version()}",
            mine,
            *(f"{p} {version_of(p)}" for p in PACKAGES if find_spec(p) is not None),
        ]
    )


def version_of(package: str) -> str:
    """Return the version of an installed package; for dse run from its checkout, what the checkout says."""
    if package == "dse":
        from dse.version import VERSION

        return VERSION
    return version(package)


def today() -> str:
    """Return the date of the run."""
    return datetime.now(UTC).date().isoformat()


def load_now() -> str:
    """Say how busy the machine is: a busy one spoils times."""
    return f"load {os.getloadavg()[0]:.1f} when the run began"


def show(result: Result, console: Console) -> None:
    """Print one bench."""
    table = Table(title=result.bench.name, box=box.SIMPLE, title_justify="left", pad_edge=False)
    shown, headers = _shown(result), _headers(result)
    for i, header in enumerate(headers):
        if i in shown:
            table.add_column(header, justify="left" if header in {"way", "agrees", "bound"} else "right")
    for row in _rows(result):
        table.add_row(*(row[i] for i in shown))
    console.print(table)
    if result.bench.remark:
        console.print(result.bench.remark(result) + "\n")


def markdown(parts: dict[str, list[Result]], load: str, seconds: float) -> str:
    """Write the page: what it was run on, then all tables."""
    lines = [INTRODUCTION]
    lines += [f"Run on {today()}; {machine()}; {load}; {seconds:.0f} s in all.", "", f"{versions()}.", ""]
    for title, results in parts.items():
        lines += [f"## {title}", "", *_tables(results)]
    return "\n".join(lines).rstrip() + "\n"


def merged(page: str, parts: dict[str, list[Result]], load: str, seconds: float) -> str:
    """Return a page with these parts in place of its own, or behind them; each says that it was run apart."""
    about = (
        f"Run apart from the rest on {today()}; {machine()}; {load}; {seconds:.0f} s in all; {versions()}."
    )
    first, *others = page.rstrip().split("\n## ")
    sections = {other.partition("\n")[0]: other for other in others}
    for title, results in parts.items():
        sections[title] = "\n".join([title, "", about, "", *_tables(results)]).rstrip() + "\n"
    return "\n## ".join([first, *(f"{text.rstrip()}\n" for text in sections.values())]).rstrip() + "\n"


def _tables(results: list[Result]) -> Iterator[str]:
    for result in results:
        yield from (f"### {result.bench.name}", "", *_table(result), "")
        if result.bench.remark:
            yield from (result.bench.remark(result), "")


def _table(result: Result) -> Iterator[str]:
    shown, headers = _shown(result), _headers(result)
    yield "| " + " | ".join(headers[i] for i in shown) + " |"
    yield "|" + "---|" * len(shown)
    for row in _rows(result):
        yield "| " + " | ".join(row[i] for i in shown) + " |"


def _shown(result: Result) -> list[int]:
    """Columns that hold anything."""
    rows = list(_rows(result))
    return [i for i in range(len(rows[0])) if any(row[i] for row in rows)]


def _headers(result: Result) -> tuple[str, ...]:
    return (*HEADERS, *_judged(result))


def _judged(result: Result) -> tuple[str, ...]:
    """What is said of answers in columns of their own, in the order it is said."""
    return tuple(dict.fromkeys(name for found in result.measured.values() for name in found.judged))


def _rows(result: Result) -> Iterator[tuple[str, ...]]:
    bench = result.bench
    ways = list(bench.ways)
    if bench.slowest_first:
        ways.sort(key=lambda way: -result.measured[way.name].median)
    for way in ways:
        found = result.measured[way.name]
        rate = f" ({1 / found.median:.3g}/s)" if way.points > 1 else ""
        yield (
            way.name,
            pretty(found.median) + rate,
            f"{pretty(min(found.seconds))} to {pretty(max(found.seconds))}",
            _ratio(result, bench.ours, way),
            _ratio(result, bench.bare, way) if bench.bare else "",
            found.agreement,
            way.bound,
            "" if math.isnan(found.megabytes) else f"{found.megabytes:.3g}",
            *(found.judged.get(name, "") for name in _judged(result)),
        )


def _ratio(result: Result, mine: Way, other: Way) -> str:
    if mine is other:
        return "1"
    return spread(result.ratios(mine, other))


def spread(ratios: list[float]) -> str:
    """Write the median of some ratios, the least and the greatest."""
    return f"{short(statistics.median(ratios))} ({short(min(ratios))} to {short(max(ratios))})"


def short(ratio: float) -> str:
    """Write a ratio with two digits, or all it has before the point."""
    return f"{ratio:.0f}" if ratio >= 100 else f"{ratio:.2g}"


def pretty(seconds: float) -> str:
    """Write a time with a prefix that suits it."""
    for size, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def _processor() -> str:
    described = Path("/proc/cpuinfo")
    if described.exists():
        for line in described.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown processor"


def _memory() -> str:
    pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    return f"{pages * size / 2**30:.0f} GiB"


def _commit() -> str:
    asked = ("git", "rev-parse", "--short", "HEAD")
    try:
        done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return f"commit {done.stdout.strip()}" if done.returncode == 0 else ""
