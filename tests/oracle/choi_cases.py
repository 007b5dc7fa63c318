"""Questions about mixes, partitions and settings, as a user asks them, and the reference cases they are asked of.

From data/cases_choi_peapaw_systems.csv.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

with (Path(__file__).parents[1] / "data" / "cases_choi_peapaw_systems.csv").open(encoding="utf-8") as table:
    CASES = {
        r["id"]: (json.loads(r["inputs_json"]), json.loads(r["answer_json"])) for r in csv.DictReader(table)
    }
PLATFORMS = ["nehalem", "nuc_cpu", "nuc_gpu", "apu_cpu", "apu_gpu", "gtx580", "gtx680", "gtx_titan"]
PLATFORMS += ["xeon_phi", "pandaboard", "arndale_cpu", "arndale_gpu"]
PROCESSORS = {
    "i7": "i7-2600k-tang2017",
    "i3": "i3-2100t-tang2017",
    "Titan": "gtx-titan-tang2017",
    "750": "gtx-750-tang2017",
}


def blocks(names: list[str], given: dict[str, Any], goal: dict[str, str], **limits: float) -> dict[str, Any]:
    return {
        "model": "blocks",
        "machine": {n: n.replace("_", "-") + "-choi2014" for n in names},
        "given": {"flops": 1e15, **given},
        "objective": goal,
        "limits": {n: {"max": v} for n, v in limits.items()},
    }


def regions(asked: dict[str, Any]) -> list[dict[str, Any]]:
    if "W" in asked:
        return [{"flops": asked["W"], "bytes": asked["Q"], "independent": True}]
    divided = [(r, True) for r in asked.get("divisible_F_B", asked.get("regions_F_B", []))]
    whole = [(r, False) for r in asked.get("indivisible_F_B", [])]
    return [{"flops": f, "bytes": b, "divisible": d} for (f, b), d in (*whole, *divided)]


def partition(asked: dict[str, Any], goal: str, *, whole: bool = False) -> dict[str, Any]:
    cpu, gpu = asked["platform"].split("+")
    listed = regions(asked)
    return {
        "model": "partition",
        "machine": {"cpu": PROCESSORS[cpu], "gpu": PROCESSORS[gpu]},
        "given": {"regions": [{**r, "divisible": False} for r in listed] if whole else listed},
        "objective": {"minimize": goal},
    }


def phases(counts: dict[str, list[float]]) -> list[dict[str, Any]]:
    names = ("flops", "flops_double", "integer_operations", "bytes")
    return [{"name": n, **dict(zip(names, c, strict=True))} for n, c in counts.items()]


def settings(asked: dict[str, Any], goal: str, **more: Any) -> dict[str, Any]:
    given = {"phases": phases(asked["phases_s_d_i_b"])} | more.pop("given", {})
    return {
        "model": "dvfs",
        "machine": "jetson-tk1",
        "given": given,
        "objective": {"minimize": goal},
        **more,
    }
