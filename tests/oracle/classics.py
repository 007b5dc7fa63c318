"""Engineering classics and classical geometric programs, written as a user writes models of their own.

Pressure vessel (Sandgren 1990), tension spring (Arora 1989) and speed reducer (Golinski 1970) as they are stated in
Coello Coello, Computers in Industry 41 (2000) 113-127, and Mezura-Montes and Coello Coello (2005). The geometric
programs are those of Dembo (Mathematical Programming 10, 1976) and Rijckaert and Martens (JOTA 26, 1978).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dse.models.model import Model, ModelLimit
from dse.quantities import Quantity

PROGRAMS = json.loads(
    (Path(__file__).parents[1] / "data" / "classical_gps.json").read_text(encoding="utf-8")
)["programs"]
Equations = Callable[[Any], Mapping[str, Any]]


def model(name: str, inputs: tuple[str, ...], limits: tuple[str, ...], equations: Equations) -> Model:
    """A model of plain numbers with one metric, the cost, and limits of its own."""
    quantities = tuple(Quantity(n, n, "", n, "as in the paper") for n in inputs)
    own = tuple(ModelLimit(n, n, n, "as in the paper") for n in limits)
    cost = Quantity("cost", "c", "", "what is least", "as in the paper")
    return Model(name, name, "as in the paper", (), quantities, (cost,), own, equations)


def vessel(g: Any) -> Mapping[str, Any]:
    """Least cost of material, forming and welding; thicknesses in steps of 1/16 inch."""
    shell, head, r, length = 0.0625 * g.shell_steps, 0.0625 * g.head_steps, g.radius, g.length
    volume = math.pi * r**2 * length + 4.0 / 3.0 * math.pi * r**3
    cost = 0.6224 * shell * r * length + 1.7781 * head * r**2
    return {
        "cost": cost + 3.1661 * shell**2 * length + 19.84 * shell**2 * r,
        "shell_holds": 0.0193 * r / shell,
        "head_holds": 0.00954 * r / head,
        "holds_enough": 1296000.0 / volume,
    }


def spring(g: Any) -> Mapping[str, Any]:
    """Least weight of a tension spring."""
    d, diameter, n = g.wire, g.coil, g.turns
    shear = (4.0 * diameter**2 - d * diameter) / (12566.0 * (diameter * d**3 - d**4)) + 1.0 / (5108.0 * d**2)
    return {
        "cost": (n + 2.0) * diameter * d**2,
        "deflection": 71785.0 * d**4 / (diameter**3 * n),
        "shear": shear,
        "surge": diameter**2 * n / (140.45 * d),
        "outside": (diameter + d) / 1.5,
    }


def reducer(g: Any) -> Mapping[str, Any]:
    """Least weight of a speed reducer."""
    b, m, z, l1, l2, d1, d2 = g.face, g.module, g.teeth, g.length1, g.length2, g.shaft1, g.shaft2
    gears = 0.7854 * b * m**2 * (3.3333 * z**2 + 14.9334 * z - 43.0934)
    shafts = 7.4777 * (d1**3 + d2**3) + 0.7854 * (l1 * d1**2 + l2 * d2**2)
    return {
        "cost": gears - 1.508 * b * (d1**2 + d2**2) + shafts,
        "bending": 27.0 / (b * m**2 * z),
        "contact": 397.5 / (b * m**2 * z**2),
        "deflection1": 1.93 * l1**3 / (m * z * d1**4),
        "deflection2": 1.93 * l2**3 / (m * z * d2**4),
        "stress1": ((745.0 * l1 / (m * z)) ** 2 + 16.9e6) ** 0.5 / (110.0 * d1**3),
        "stress2": ((745.0 * l2 / (m * z)) ** 2 + 157.5e6) ** 0.5 / (85.0 * d2**3),
        "space": m * z / 40.0,
        "narrow": 5.0 * m / b,
        "wide": b / (12.0 * m),
        "bearing1": (1.5 * d1 + 1.9) / l1,
        "bearing2": (1.1 * d2 + 1.9) / l2,
    }


VESSEL = model(
    "vessel",
    ("shell_steps", "head_steps", "radius", "length"),
    ("shell_holds", "head_holds", "holds_enough"),
    vessel,
)
SPRING = model("spring", ("wire", "coil", "turns"), ("deflection", "shear", "surge", "outside"), spring)
REDUCER = model(
    "reducer",
    ("face", "module", "teeth", "length1", "length2", "shaft1", "shaft2"),
    (
        *("bending", "contact", "deflection1", "deflection2", "stress1", "stress2"),
        *("space", "narrow", "wide", "bearing1", "bearing2"),
    ),
    reducer,
)
DECIDED: dict[str, dict[str, Any]] = {
    "vessel": {
        "shell_steps": {"integer": True, "min": 1, "max": 99},
        "head_steps": {"integer": True, "min": 1, "max": 99},
        "radius": {"min": 10, "max": 200},
        "length": {"min": 10, "max": 200},
    },
    "spring": {
        "wire": {"min": 0.05, "max": 2.0},
        "coil": {"min": 0.25, "max": 1.3},
        "turns": {"min": 2.0, "max": 15.0},
    },
    "reducer": {
        "face": {"min": 2.6, "max": 3.6},
        "module": {"min": 0.7, "max": 0.8},
        "teeth": {"integer": True, "min": 17, "max": 28},
        "length1": {"min": 7.3, "max": 8.3},
        "length2": {"min": 7.3, "max": 8.3},
        "shaft1": {"min": 2.9, "max": 3.9},
        "shaft2": {"min": 5.0, "max": 5.5},
    },
}


def asked(name: str) -> dict[str, Any]:
    """The question of one of the classics."""
    return {"model": name, "decide": DECIDED[name], "objective": {"minimize": "cost"}}


def program(p: Mapping[str, Any]) -> tuple[Model, dict[str, Any]]:
    """A classical geometric program as a model, and its question."""
    names = tuple(f"x{i}" for i in range(len(p["A"][0])))
    rows, at = [], 0
    for count in p["nterm"]:
        rows.append(range(at, at + count))
        at += count
    limits = tuple(f"limit{k}" for k in range(1, len(rows)))

    def equations(g: Any) -> Mapping[str, Any]:
        return {n: _sum(p, row, g, names) for n, row in zip(("cost", *limits), rows, strict=True)}

    label = f"gp-{p['name'].lower()}"
    question = {"model": label, "decide": {n: {} for n in names}, "objective": {"minimize": "cost"}}
    return model(label, names, limits, equations), question


def _sum(p: Mapping[str, Any], row: range, g: Any, names: tuple[str, ...]) -> Any:
    total: Any = 0.0
    for j in row:
        term: Any = float(p["coef"][j])
        for n, e in zip(names, p["A"][j], strict=True):
            if e:
                term = term * getattr(g, n) ** e
        total = total + term
    return total
