"""The reference cases of Demmel et al. 2013 (tests/data/cases_demmel.csv) as questions that a user asks.

Each row becomes one question or a few, each with what must come out.
"""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROWS = list(csv.DictReader((Path(__file__).parents[1] / "data" / "cases_demmel.csv").open(encoding="utf-8")))

STATIONARY = {"nbody-01", "nbody-09", "nbody-25", "nbody-33", "mm25d-22", "strassen-21"}

MODELS = {"nbody": "nbody", "mm25d": "matmul", "strassen": "strassen", "fft": "fft"}
SIZES = {"nbody": "bodies", "matmul": "order", "strassen": "order", "fft": "points"}
MACHINE = {
    "gamma_t": "time_per_flop",
    "beta_t": "time_per_word",
    "alpha_t": "time_per_message",
    "gamma_e": "energy_per_flop",
    "beta_e": "energy_per_word",
    "alpha_e": "energy_per_message",
    "delta_e": "memory_power_per_word",
    "epsilon_e": "leakage_power",
    "m": "max_message",
}
LIMITS = {"T_max": "time", "E_max": "energy", "P_tot_max": "power", "P_proc_max": "power_per_processor"}
OBJECTIVES = {"E": "energy", "T": "time", "P": "power", "EDP": "energy_delay"}
CONFLICTS = {
    "Tmax": "time",
    "Emax": "energy",
    "Ptot": "power",
    "Pproc": "power_per_processor",
    "pav": "processors",
    "Mphys": "memory",
    "one_d": "one_copy",
    "two_d": "replication",
    "target": "efficiency",
}
# The row names the whole group; freeing the energy per word alone, which hardly counts, does not help: its
# bound is in no minimal set (the brute force confirms it).
CAPS = {"mm25d-34": ("machine.energy_per_flop", "machine.memory_power_per_word")}
ANSWERS = {"E_J": "energy", "T_s": "time", "P_tot_W": "power", "P_proc_W": "power_per_processor"}


@dataclass(frozen=True)
class Case:
    """One question with what must come out; ``pinned`` and ``flat``: values of variables and metrics."""

    name: str
    mapping: dict[str, Any]
    objective: float | None = None
    pinned: dict[str, float] = field(default_factory=dict)
    flat: dict[str, float] = field(default_factory=dict)
    processors: tuple[float, float] | None = None
    conflicts: frozenset[frozenset[str]] = frozenset()


def cases(row: dict[str, str]) -> list[Case]:
    """Turn a row into questions."""
    kind = row["objective"]
    if kind in {"p range", "p_min,p_max"}:
        return processor_range(row)
    if kind == "E,T":
        return front(row)
    if "log2" in kind or "halvings" in kind:
        return [target(row)]
    return [design(row)]


def question(row: dict[str, str]) -> dict[str, Any]:
    """Say what all questions of a row share: machine, problem, decided design, limits."""
    model = MODELS[row["family"]]
    given: dict[str, Any] = {SIZES[model]: float(row["n"])}
    if model == "nbody":
        given["flops_per_pair"] = float(row["f"])
    if model == "strassen":
        given["exponent"] = float(row["omega"])
    if model == "fft":
        given["all_to_all"] = json.loads(row["extra"])["all_to_all"]
    processors: dict[str, Any] = {"max": float(row["p_av"])} if row["p_av"] else {}
    processors |= {"int": {"integer": True}, "pow2": {"powers_of": 2}}.get(row["p_set"], {})
    decide = {"processors": processors}
    if model != "fft":
        decide["memory"] = {"max": float(row["M_phys"])} if row["M_phys"] else {}
    return {
        "title": row["question"],
        "model": model,
        "machine": {name: float(row[column]) for column, name in MACHINE.items()},
        "given": given,
        "decide": decide,
        "limits": {name: {"max": float(row[column])} for column, name in LIMITS.items() if row[column]},
    }


def design(row: dict[str, str]) -> Case:
    """Ask for the best processors and memory under limits."""
    mapping = question(row) | {"objective": {"minimize": OBJECTIVES[row["objective"]]}}
    if row["status"] == "infeasible":
        return Case(row["id"], mapping, conflicts=conflicts(row))
    values = {name: float(row[column]) for column, name in ANSWERS.items()}
    values |= {"processors": float(row["p"]), "memory": float(row["M_words"])}
    many = row["objective"] == "E" and row["p_lo"] != row["p_hi"]
    return Case(
        row["id"],
        mapping,
        objective=float(row["answer"]),
        pinned={} if row["id"] in STATIONARY else values,
        flat=values if row["id"] in STATIONARY else {},
        processors=(float(row["p_lo"]), float(row["p_hi"])) if many else None,
    )


def processor_range(row: dict[str, str]) -> list[Case]:
    """Ask for the ends of a range of processors: least and most processors."""
    mapping = question(row)
    extra = json.loads(row["extra"])
    if "M" in extra:
        mapping["given"]["memory"] = extra["M"]
        del mapping["decide"]["memory"]
    return [
        Case(f"{row['id']}/{sense}", mapping | {"objective": {sense: "processors"}}, objective=value)
        for sense, value in zip(("minimize", "maximize"), json.loads(row["answer"]), strict=True)
    ]


def front(row: dict[str, str]) -> list[Case]:
    """Ask for points of a front: least time within a share more than the least energy."""
    points = json.loads(row["answer"])
    found = []
    for share, (energy, time, p, memory) in zip((0.0, 0.01, 0.03, 0.1, 0.3), points, strict=True):
        mapping = question(row)
        values = {"processors": p, "memory": memory}
        if share == 0.0:
            mapping["objective"] = {"minimize": "energy"}
            found.append(Case(f"{row['id']}/0", mapping, objective=energy, flat=values | {"time": time}))
            continue
        mapping |= {"objective": {"minimize": "time"}, "limits": {"energy": {"max": energy}}}
        found.append(
            Case(f"{row['id']}/{share:g}", mapping, objective=time, pinned=values | {"energy": energy})
        )
    return found


def target(row: dict[str, str]) -> Case:
    """Ask for the machine that reaches an efficiency with the fewest halvings."""
    mapping = question(row)
    extra = json.loads(row["extra"])
    subset = extra.get("subset", ["gamma_e", "beta_e", "delta_e"])
    halvings: dict[str, Any] = {"max_halvings": extra.get("cap", 12)}
    if row["objective"] == "sum of halvings":
        halvings["integer"] = True
    fixed = extra.get("M") or float(row["M_words"] or 0)
    if fixed:
        mapping["given"] |= {"processors": 2, "memory": fixed}
        mapping["decide"] = {}
        mapping["waive"] = ["replication"]
    mapping["decide"] |= {f"machine.{MACHINE[name]}": halvings for name in subset}
    mapping |= {
        "objective": {"minimize": "halvings"},
        "limits": {"efficiency": {"min": extra["target_flop_per_J"]}},
    }
    if row["status"] == "infeasible":
        return Case(row["id"], mapping, conflicts=conflicts(row))
    return Case(row["id"], mapping, objective=float(row["answer"]))


def conflicts(row: dict[str, str]) -> frozenset[frozenset[str]]:
    """Translate the row's minimal conflicting sets into the user's names."""
    sets = []
    for text in row["conflicts"].split(";"):
        names: set[str] = set()
        for part in text.strip().split("+"):
            names |= set(CAPS[row["id"]]) if part == "subset(cap)" else {CONFLICTS[part]}
        sets.append(frozenset(names))
    return frozenset(sets)


CASES = [case for row in ROWS for case in cases(row)]
