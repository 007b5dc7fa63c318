"""The n-body questions of section V as scenarios, and the parameter sets they are asked for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from dse import machines
from dse.papers.comparer import Answers
from dse.papers.demmel2013 import nbody
from dse.papers.demmel2013.symbols import Setting, as_machine, from_machine
from dse.papers.sources import table

PAPER = "demmel2013"
# parameter ``s`` of a function is the parameter set that the case names
answers = Answers(PAPER, s=lambda case: setting(case["name"]))


@cache
def settings(problem: str = "nbody") -> tuple[Setting, ...]:
    """Return the parameter sets for "nbody", "matmul" or "fft": plain numbers, or catalogue machines."""
    found = []
    for row in table("demmel2013/settings"):
        if row["problem"] != problem:
            continue
        name, n, f = row["name"], float(row["n"]), float(row["f"])
        if row["machine"]:
            found.append(from_machine(name, n, f, machines.get(row["machine"]).parameters))
        else:
            symbols = {
                k: float(v) for k, v in row.items() if k not in {"problem", "name", "machine", "n", "f"}
            }
            found.append(Setting(name, n, f, **symbols))
    return tuple(found)


def setting(name: str) -> Setting:
    """Return the parameter set of that name; StopIteration where there is none."""
    every = (s for problem in ("nbody", "matmul", "fft") for s in settings(problem))
    return next(s for s in every if s.name == name)


def cold_memory() -> Setting:
    """Return a set whose M0 exceeds n: memory power is next to nothing."""
    return replace(setting("balanced"), name="balanced, δe = 1e-20 W/word", delta_e=1e-20)


def question(s: Setting, *, limits: Mapping[str, float] | None = None, **parts: Any) -> dict[str, Any]:
    """Ask about n-body on the machine of ``s``.

    ``limits``: greatest value of every limited metric, SI. ``parts``: ``minimize`` or ``maximize``,
    ``p_max``, ``M_max`` (bounds of the decided quantities), ``memory`` (given instead of decided), ``decide``
    (further decided quantities), ``at_least`` (least value of limited metrics).
    """
    given: dict[str, Any] = {"bodies": s.n, "flops_per_pair": s.f}
    p_max = parts.get("p_max", 1e3 * s.n**2 / nbody.best_memory(s) ** 2)
    decide: dict[str, Any] = {"processors": {"max": p_max}}
    if "memory" in parts:
        given["memory"] = parts["memory"]
    else:
        decide["memory"] = {"max": parts["M_max"]} if "M_max" in parts else {}
    sense = "minimize" if "minimize" in parts else "maximize"
    bounds = {name: {"max": value} for name, value in (limits or {}).items()}
    bounds |= {name: {"min": value} for name, value in parts.get("at_least", {}).items()}
    return {
        "model": "nbody",
        "machine": as_machine(s),
        "given": given,
        "decide": decide | parts.get("decide", {}),
        "objective": {sense: parts[sense]},
        "limits": bounds,
    }


def flatness(s: Setting) -> float:
    """Relative change of M that changes the energy by 1e-9 at M0, where solvers stop looking."""
    curvature = math.sqrt(s.B * s.c)
    return math.sqrt(1e-9 * (s.A + 2.0 * curvature) / curvature)
