"""``python -m benchmarks``: run the table, print it, and write it as a page where that is asked."""

from __future__ import annotations

import argparse
import os
import time
from importlib import import_module
from pathlib import Path
from typing import Any

# before NumPy is imported: one thread each, so that ways are compared and not libraries' threads
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ[name] = "1"

# the folder of each part, in the order in which they run
PARTS = {
    "startup": "questions",
    "solving": "questions",
    "asking": "questions",
    "partitioning": "questions",
    "sweeping": "grids",
    "evaluating": "grids",
    "batching": "grids",
    "designs": "grids",
    "planning": "grids",
    "calculon": "fits",
    "scattering": "grids",
    "at_scale": "grids",
    "searching": "questions",
    "fronting": "questions",
    "defining": "questions",
    "deciding_now": "uncertain",
    "promising": "uncertain",
    "mattering": "uncertain",
    "deciding_later": "uncertain",
}
WIDTH = 150
QUICK: dict[str, dict[str, Any]] = {
    "asking": {"names": ("nbody_deadline", "matmul_least_time_power", "lu_deadline")},
    "partitioning": {"points": 12, "many": 400},
    "sweeping": {"points": 20},
    "evaluating": {"sides": (100,)},
    "searching": {"budget": 0.5},
    "defining": {"points": 900},
    "deciding_now": {"counts": (256,)},
    "promising": {"counts": (50,)},
    "mattering": {"rows": (32,)},
    "deciding_later": {"worlds": 5000},
    "fronting": {"budgets": (0.2,), "points": 20, "side": 20},
    "batching": {"points": 22_500, "whole": 2500, "searched": 400},
    "designs": {"points": 100},
    "planning": {"machines": 1},
    "calculon": {"most": 16},
    "scattering": {"points": 22_500},
    "at_scale": {"side": 2000, "sides": (316, 1000), "points": 1500},
}


def main() -> None:
    """Read the options, run, report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)} (default: all)")
    parser.add_argument("--seconds", type=float, default=3.0, help="for the rounds of each bench (default 3)")
    parser.add_argument(
        "--quick", action="store_true", help="three rounds and small sweeps, to see that all runs"
    )
    parser.add_argument("--write", type=Path, metavar="FILE", help="also write the page, as Markdown")
    parser.add_argument("--into", type=Path, metavar="FILE", help="put these parts into a page that there is")
    asked = parser.parse_args()
    unknown = set(asked.parts) - set(PARTS)
    if unknown:
        parser.error(f"no part {', '.join(sorted(unknown))}: there are {', '.join(PARTS)}")
    _run(
        tuple(asked.parts or PARTS),
        0.0 if asked.quick else asked.seconds,
        asked.quick,
        asked.write,
        asked.into,
    )


def _run(parts: tuple[str, ...], seconds: float, quick: bool, page: Path | None, into: Path | None) -> None:
    from rich.console import Console

    from benchmarks import report
    from benchmarks.harness import Result, measure

    console, began, load = Console(), time.perf_counter(), report.load_now()
    if not console.is_terminal:
        console = Console(width=WIDTH)
    console.print(f"{report.machine()}; {load}\n{report.versions()}\n{report.today()}\n", highlight=False)
    found: dict[str, list[Result]] = {}
    try:
        for part in parts:
            module = import_module(f"benchmarks.{PARTS[part]}.{part}")
            console.rule(module.TITLE, align="left")
            options = QUICK.get(part, {}) if quick else {}
            for bench in module.benches(**options):
                found.setdefault(module.TITLE, []).append(measure(bench, seconds))
                report.show(found[module.TITLE][-1], console)
    finally:
        # what was measured before a part failed, or was interrupted, is kept
        spent = time.perf_counter() - began
        console.print(f"{spent:.0f} s in all")
        if page is not None:
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(report.markdown(found, load, spent), encoding="utf-8")
        if into is not None:
            text = report.merged(into.read_text(encoding="utf-8"), found, load, spent)
            into.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
